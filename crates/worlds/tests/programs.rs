//! Functions against a real Python, and programs in the jail.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use agents::play::{Reply, World as _};
use agents::trajectory::{EnvironmentVerdict, EpisodeEnding, EpisodeOutcome, Tool};
use jail::exec::{Outcome, Sandbox, SandboxOptions};
use jail::python::PythonEnv;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use support::reference;
use tasks::stream::Stream;
use tasks::task::TaskId;
use worlds::programs::{ProgramItem, Programs};
use worlds::{Environment as _, GeneratedWorld, Kind as _, Part, Scale, WorldName};

const REFERENCE: &str = "crates/worlds/tests/reference/programs.py";
const CANDIDATES: u64 = 2000;

/// Functions of all parts and both scales.
fn items() -> Vec<(Part, ProgramItem)> {
    let draw = |part: Part, scale: Scale| {
        let stream = Stream::root(6).child(part.name()).child(scale.name());
        let candidate = move |case| Programs::draw(&(), part, scale, stream.index(case));
        (0..CANDIDATES).filter_map(candidate).map(move |item| (part, item))
    };
    let parts = Part::ALL.iter().flat_map(|&part| Scale::ALL.map(|scale| (part, scale)));
    parts.flat_map(|(part, scale)| draw(part, scale)).collect()
}

#[test]
fn every_family_computes_what_its_text_does_in_python() {
    let items: Vec<ProgramItem> = items().into_iter().map(|(_, item)| item).collect();
    let question = |item: &ProgramItem| {
        let mut question = serde_json::to_value(item).unwrap();
        question["check"] = json!(item.check());
        question
    };
    let answers = reference::ask(REFERENCE, items.iter().map(question).collect());
    let mut families: BTreeMap<&str, usize> = BTreeMap::new();
    for (item, answer) in items.iter().zip(&answers) {
        assert_eq!(answer["failed"], 0, "{}{}", item.prompt, item.canonical_solution);
        assert_eq!(answer["examples"], 2, "{}", item.prompt);
        for (test, result) in item.tests.iter().zip(answer["results"].as_array().unwrap()) {
            let call = test.call(&item.entry_point);
            let expected = serde_json::to_value(&test.result).unwrap();
            assert_eq!(&expected, result, "{}{}{call}", item.prompt, item.canonical_solution);
        }
        *families.entry(&item.family).or_default() += 1;
    }
    assert_eq!(families.len(), 87);
    let (rarest, count) = families.iter().min_by_key(|(_, count)| **count).unwrap();
    assert!(*count >= 10, "{rarest} could be drawn {count} times of {}", items.len());
}

#[test]
fn tests_are_5_to_12_and_pass_for_no_constant_and_no_argument() {
    for (_, item) in items() {
        assert!((5..=12).contains(&item.tests.len()), "{item:?}");
        let results: BTreeSet<_> = item.tests.iter().map(|test| &test.result).collect();
        assert!(results.len() > 1, "{item:?}");
        assert!(item.tests.iter().any(|test| !test.arguments.contains(&test.result)), "{item:?}");
        let calls: BTreeSet<String> =
            item.tests.iter().map(|test| test.call(&item.entry_point)).collect();
        assert_eq!(calls.len(), item.tests.len(), "{item:?}");
        assert!(calls.iter().all(|call| !item.prompt.contains(&format!(">>> {call}"))), "{item:?}");
        assert!(!item.prompt.contains('$') && !item.canonical_solution.contains('$'), "{item:?}");
    }
}

#[test]
fn a_tenth_of_the_sealed_items_is_of_families_that_no_other_part_has() {
    let mut families: BTreeMap<Part, BTreeSet<String>> = BTreeMap::new();
    let mut counts: BTreeMap<Part, (f64, f64)> = BTreeMap::new();
    for (part, item) in items() {
        let (new, all) = counts.entry(part).or_default();
        *all += 1.0;
        if item.is_new_family {
            *new += 1.0;
            families.entry(part).or_default().insert(item.family.clone());
        }
        assert!(part.is_sealed() || !item.is_new_family);
    }
    assert_eq!((families[&Part::Dev].len(), families[&Part::Test].len()), (4, 8));
    assert!(families[&Part::Dev].is_disjoint(&families[&Part::Test]));
    for part in [Part::Dev, Part::Test] {
        let (new, all) = counts[&part];
        assert!((0.07..0.13).contains(&(new / all)), "{part}: {new} of {all}");
    }
}

/// A world of one item, with a sandbox.
fn world(item: &ProgramItem) -> (GeneratedWorld<Programs>, TaskId) {
    let spec = WorldName::Programs.generate(Part::Train, Scale::Full, 1).unwrap().spec().clone();
    let id = TaskId::new("programs-train-00000").unwrap();
    let items = BTreeMap::from([(id.clone(), item.clone())]);
    let mut world = GeneratedWorld::<Programs>::new(spec, Part::Train, (), items);
    let options =
        SandboxOptions { modules: Vec::new(), warm_up: false, ..SandboxOptions::default() };
    let sandbox = Sandbox::start(&PythonEnv::locate().unwrap(), options, &[]).unwrap();
    world.set_runner(Arc::new(sandbox));
    (world, id)
}

#[test]
fn programs_are_judged_by_what_they_return() {
    let draws = (0..).map(|case| Programs::draw(&(), Part::Train, Scale::Tiny, Stream::root(case)));
    let item = draws.flatten().find(|item| item.family == "sum_of_multiples").unwrap();
    let (world, id) = world(&item);
    let right = item.solution();
    let step = item.parameters[0];
    let head = "def sum_of_multiples(n):\n";
    let any = "class Any(int):\n    def __eq__(self, other):\n        return True\n\n";
    let judged: Vec<(String, f64, Option<&str>)> = vec![
        (right.clone(), 1.0, None),
        (format!("Here it is:\n```python\n{right}```\nIt adds up."), 1.0, None),
        // Another way, and a result that is equal.
        (format!("{head}    return float(sum(range(0, n, {step})))\n"), 1.0, None),
        (format!("{head}    print('[0]')\n    return sum(range(0, n, {step}))\n"), 1.0, None),
        // The body alone, whose first line loses its indentation.
        (item.canonical_solution.clone(), 0.0, Some("syntax")),
        (format!("{right}\nQuestion: what is next?"), 0.0, Some("syntax")),
        (format!("{head}    return 0\n"), 0.0, Some("wrong")),
        (format!("{head}    return sum(range(0, n + 1, {step}))\n"), 0.0, Some("wrong")),
        (format!("{head}    return missing\n"), 0.0, Some("raised")),
        (format!("{head}    return {{1}}\n"), 0.0, Some("raised")),
        (format!("{head}    return float('nan')\n"), 0.0, Some("raised")),
        ("raise ValueError('no')".to_owned(), 0.0, Some("raised")),
        // What passes where tests are run beside the program.
        ("import os; os._exit(0)".to_owned(), 0.0, Some("no_result")),
        ("exit()".to_owned(), 0.0, Some("no_result")),
        ("import sys; sys.exit(3)".to_owned(), 0.0, Some("no_result")),
        (format!("{any}{head}    return Any()\n"), 0.0, Some("wrong")),
        ("import builtins; builtins.print = lambda *a: None".to_owned(), 0.0, Some("no_result")),
        ("while True: pass".to_owned(), 0.0, Some("timeout")),
        ("x = bytearray(2 << 30)".to_owned(), 0.0, Some("limit")),
        ("\n \n".to_owned(), 0.0, Some("empty")),
        ("```\n```".to_owned(), 0.0, Some("empty")),
    ];
    for (text, score, lost) in judged {
        let mut play = world.open(&id).unwrap();
        assert_eq!(play.respond(&text).unwrap(), Reply::End(EpisodeEnding::Answered));
        // A clock had a part in the one, and a limit in the other.
        assert_eq!(play.is_repeatable(), !matches!(lost, Some("timeout" | "limit")), "{text}");
        let closed = play.close().unwrap();
        let EpisodeOutcome::World(EnvironmentVerdict { reward, score: found, tags, detail }) =
            closed.outcome
        else {
            panic!("an outcome of another environment");
        };
        assert_eq!((reward, found), (score, score), "{text}: {tags:?} {detail}");
        let expected: Vec<&str> = std::iter::once("integers").chain(lost).collect();
        assert_eq!(tags, expected, "{text}: {detail}");
        let turn = &closed.turns[0];
        assert_eq!(turn.tool == Tool::Malformed, lost == Some("empty"), "{text}");
        assert_eq!(turn.outcome.is_none(), lost == Some("empty"), "{text}");
        assert!(!closed.timed_out, "a loop is the policy's, and not masked");
        if lost == Some("timeout") {
            assert_eq!(turn.outcome, Some(Outcome::TimedOut));
        }
    }
}
