//! Published benchmarks from files: what of them is public, and how answers are judged.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use agents::trajectory::{EnvironmentVerdict, EpisodeOutcome};
use camino::Utf8Path;
use fs_err as fs;
use jail::exec::{Sandbox, SandboxOptions};
use jail::python::PythonEnv;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};
use support::folders::TemporaryFolder;
use support::reference;
use worlds::grams::grams;
use worlds::import::{Benchmark, Import, ImportError};
use worlds::{Environment, Suite};

const CHECK_CORRECTNESS: &str = "crates/worlds/tests/reference/check_correctness.py";
/// Programs for each function, the released solution among them.
const PROGRAMS: usize = 2;

static SANDBOX: LazyLock<Arc<Sandbox>> = LazyLock::new(|| {
    let options =
        SandboxOptions { modules: Vec::new(), warm_up: false, ..SandboxOptions::default() };
    Arc::new(Sandbox::start(&PythonEnv::locate().unwrap(), options, &[]).unwrap())
});

fn problem(number: usize) -> String {
    let question = format!(
        "A mill number {number} grinds {number} sacks an hour. How many sacks does it grind in 1,000 \
         hours, if it stops for none of them?"
    );
    let thousands = if number == 0 { "0".to_owned() } else { format!("{number},000") };
    let answer = format!(
        "It grinds {number} sacks an hour.\nThat is {number}*1000=<<{number}*1000={number}000>>{number}000 \
         sacks.\n#### {thousands}"
    );
    json!({"question": question, "answer": answer}).to_string()
}

/// A function that adds a number and helps itself with one that its prompt defines.
fn function(number: usize) -> String {
    let prompt = format!(
        "def shifted(x):\n    return x + {number}\n\n\ndef add_{number}(values):\n    \"\"\"Add {number} to \
         each of the values.\n    >>> add_{number}([1])\n    [{}]\n    \"\"\"\n",
        number + 1
    );
    let test = format!(
        "METADATA = {{}}\n\n\ndef check(candidate):\n    assert candidate([1, 2]) == [shifted(1), \
         shifted(2)]\n    assert candidate(values=[]) == []\n    assert abs(candidate([0.5])[0] - \
         {number}.5) < 1e-6\n"
    );
    let body = format!("    return [value + {number} for value in values]\n");
    let row = json!({
        "task_id": format!("HumanEval/{number}"), "prompt": prompt, "entry_point": format!("add_{number}"),
        "canonical_solution": body, "test": test,
    });
    row.to_string()
}

fn write(folder: &Utf8Path, name: &str, lines: impl Iterator<Item = String>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, lines.map(|line| line + "\n").collect::<String>()).unwrap();
}

/// Twelve problems and four to test, and ten functions.
fn files() -> TemporaryFolder {
    let folder = TemporaryFolder::new();
    write(folder.path(), "gsm8k/train.jsonl", (0..12).map(problem));
    write(folder.path(), "gsm8k/test.jsonl", (20..24).map(problem));
    write(folder.path(), "human-eval/HumanEval.jsonl", (0..10).map(function));
    folder
}

fn import(folder: &TemporaryFolder) -> Import {
    let (from, benchmarks) = (folder.path().to_owned(), Benchmark::ALL.to_vec());
    Import { from, benchmarks, any_files: true, seed: 3 }
}

fn parts(suite: &Suite, task: &str) -> [Box<dyn Environment>; 3] {
    let task = suite.task(task).unwrap();
    let sealed = task.sealed().unwrap();
    [task.train().unwrap(), sealed.dev().unwrap(), sealed.test().unwrap()]
}

fn verdict(world: &dyn Environment, item: usize, text: &str) -> EnvironmentVerdict {
    let mut play = world.open(world.items()[item]).unwrap();
    play.respond(text).unwrap();
    match play.close().unwrap().outcome {
        EpisodeOutcome::World(verdict) => verdict,
        EpisodeOutcome::Mle(_) => panic!("an outcome of another environment"),
    }
}

#[test]
fn tests_are_the_published_ones_and_dev_is_taken_out_of_training() {
    let folder = files();
    let suite = import(&folder).make(&folder.path().join("suite")).unwrap();
    suite.check_files().unwrap();
    for (task, sizes) in [("gsm8k", (9, 3, 4)), ("human-eval", (4, 1, 5))] {
        let spec = suite.task(task).unwrap().spec().clone();
        assert_eq!((spec.items.train, spec.items.dev, spec.items.test), sizes, "{task}");
        let [train, dev, test] = parts(&suite, task);
        let asked = |world: &dyn Environment| -> BTreeSet<String> {
            world.items().into_iter().map(|item| world.question(item).unwrap()).collect()
        };
        let (of_train, of_dev, of_test) = (asked(&*train), asked(&*dev), asked(&*test));
        assert_eq!(of_train.union(&of_dev).count(), sizes.0 + sizes.1);
        assert_eq!(of_test.len(), sizes.2);
        assert!(of_test.is_disjoint(&of_train) && of_test.is_disjoint(&of_dev));

        // Sealed items are known by words that nothing public has.
        let public =
            fs::read_to_string(folder.path().join(format!("suite/{task}/public/train.jsonl")));
        let public = grams(&worlds::grams::unescaped(&public.unwrap()));
        for world in [&dev, &test] {
            for item in world.items() {
                let evidence = world.evidence(item).unwrap();
                assert!(grams(&evidence).is_disjoint(&public), "{item}: {evidence}");
            }
        }
    }

    // Neither the order of a file nor the machine bears on what is in a part.
    let bytes =
        |name: &str| fs::read(folder.path().join(name).join("gsm8k/sealed/dev.jsonl")).unwrap();
    import(&folder).make(&folder.path().join("again")).unwrap();
    assert_eq!(bytes("suite"), bytes("again"));
    Import { seed: 4, ..import(&folder) }.make(&folder.path().join("other")).unwrap();
    assert_ne!(bytes("suite"), bytes("other"));
}

#[test]
fn released_answers_earn_full_marks() {
    let folder = files();
    let suite = import(&folder).make(&folder.path().join("suite")).unwrap();
    for task in ["gsm8k", "human-eval"] {
        for mut world in parts(&suite, task) {
            world.set_runner(SANDBOX.clone());
            for (number, item) in world.items().into_iter().enumerate() {
                let [answer] = world.solve(item).unwrap().try_into().unwrap();
                let found = verdict(&*world, number, &answer);
                assert_eq!(found.score, 1.0, "{item}: {answer} {found:?}");
            }
        }
    }
    // Of a number with commas, what is read is behind the last one.
    let [train, ..] = parts(&suite, "gsm8k");
    let answer = &train.solve(train.items()[8]).unwrap()[0];
    assert!(answer.ends_with("000 sacks.\n#### 11000") || !answer.contains(','), "{answer}");
    assert_eq!(verdict(&*train, 8, "#### 11,000").score, 0.0);
}

#[test]
fn programs_are_judged_by_tests_that_they_cannot_reach() {
    let folder = files();
    let suite = import(&folder).make(&folder.path().join("suite")).unwrap();
    let [_, _, mut test] = parts(&suite, "human-eval");
    test.set_runner(SANDBOX.clone());
    let item = test.items()[0];
    let name = test.question(item).unwrap();
    let name = name.split("def ").last().unwrap().split('(').next().unwrap().to_owned();
    let number: usize = name.strip_prefix("add_").unwrap().parse().unwrap();
    let good = format!("def {name}(values):\n    return [value + {number} for value in values]\n");
    let with = |before: &str| format!("{before}\n\n{good}");
    // What a program with the tests at hand could do: take the results from them.
    let peeking = format!(
        "import gc, sys\n\n\ndef {name}(values):\n    texts = [it for it in gc.get_objects() if isinstance(it, \
         str)]\n    frame = sys._getframe()\n    while frame:\n        texts += [str(frame.f_globals), \
         str(frame.f_locals), str(frame.f_code.co_consts)]\n        frame = frame.f_back\n    if \
         any(''.join(['META', 'DATA']) in text for text in texts):\n        return [value + {number} for value in values]\n"
    );
    for (text, tag) in [
        (good.clone(), None),
        (format!("Here it is.\n```python\n{good}```\nDone."), None),
        (with("print('{\"mistake\": null}')"), None),
        (good.replace("value +", "value -"), Some("wrong")),
        (good.replace("in values", "in values.items()"), Some("raised")),
        (format!("def {name}(values):\n    return object()\n"), Some("wrong")),
        (format!("def {name}(values):\n    return [float('inf')]\n"), Some("wrong")),
        (format!("def {name}(values):\n    return [0] * 10 ** 6\n"), Some("no_result")),
        (String::new(), Some("empty")),
        ("    return [value for value in values]\n".to_owned(), Some("syntax")),
        ("def other():\n    pass\n".to_owned(), Some("wrong")),
        (format!("def {name}(values):\n    while True:\n        pass\n"), Some("timeout")),
        (with("import os\nos._exit(0)"), Some("no_result")),
        (with("import sys\nsys.exit(0)"), Some("no_result")),
        (with("import os\nos.abort()"), Some("limit")),
        (with("raise KeyError(1)"), Some("raised")),
        (peeking, Some("wrong")),
        // Lines that say what went well are not believed.
        (
            format!(
                "import atexit, json\njson.dumps = lambda what: '{{\"mistake\": null}}'\natexit.register(print, \
                 '{{\"mistake\": null}}')\n\n\ndef {name}(values):\n    return 0\n"
            ),
            Some("no_result"),
        ),
        (
            format!(
                "class Any:\n    def __eq__(self, other):\n        return True\n\n    def __repr__(self):\n        \
                 return 'Any()'\n\n\ndef {name}(values):\n    return Any()\n"
            ),
            Some("wrong"),
        ),
    ] {
        let found = verdict(&*test, 0, &text);
        let expected: Vec<String> = tag.into_iter().map(str::to_owned).collect();
        assert_eq!((found.score, found.tags), (f64::from(tag.is_none()), expected), "{text}");
    }
}

/// The released file, with the verdicts of the released evaluation.
#[test]
fn programs_are_judged_as_the_released_evaluation_does() {
    let folder = TemporaryFolder::new();
    let [text] = reference::ask(CHECK_CORRECTNESS, vec![json!({"file": true})]).try_into().unwrap();
    let text: String = serde_json::from_value(text).unwrap();
    write(folder.path(), "human-eval/HumanEval.jsonl", text.lines().map(str::to_owned));
    let benchmarks = vec![Benchmark::HumanEval];
    let import = Import { any_files: false, benchmarks, ..import(&folder) };
    let suite = import.make(&folder.path().join("suite")).unwrap();
    let mut worlds = parts(&suite, "human-eval");
    let sizes: Vec<usize> = worlds.iter().map(|world| world.items().len()).collect();
    assert_eq!(sizes, [62, 20, 82]);
    for world in &mut worlds {
        world.set_runner(SANDBOX.clone());
    }

    let places: BTreeMap<String, (usize, usize)> = worlds
        .iter()
        .enumerate()
        .flat_map(|(part, world)| {
            let questions = world.items().into_iter().map(|item| world.question(item).unwrap());
            questions.enumerate().map(move |(item, question)| (question, (part, item)))
        })
        .collect();
    let asked = (0..164).map(|function| json!({"function": function, "programs": PROGRAMS}));
    let verdicts = reference::ask(CHECK_CORRECTNESS, asked.collect());
    let mut passed = 0;
    for (line, verdicts) in text.lines().zip(verdicts) {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let (part, item) = places[row["prompt"].as_str().unwrap()];
        let verdicts: Vec<(String, bool)> = serde_json::from_value(verdicts).unwrap();
        assert!(verdicts[0].1, "{}", row["task_id"]);
        for (program, has_passed) in verdicts {
            let found = verdict(&*worlds[part], item, &program);
            assert_eq!(found.score == 1.0, has_passed, "{}: {found:?}\n{program}", row["task_id"]);
            passed += usize::from(has_passed);
        }
    }
    assert!((164 * PROGRAMS / 2..164 * PROGRAMS * 9 / 10).contains(&passed), "{passed}");
}

#[test]
fn files_that_are_not_the_released_ones_are_refused() {
    let folder = files();
    let out = folder.path().join("suite");
    let refused = |import: &Import| {
        let error = import.make(&out).unwrap_err();
        assert!(!out.exists());
        error
    };
    let released = Import { any_files: false, ..import(&folder) };
    assert!(matches!(refused(&released), ImportError::Changed { found: 12, rows: 7473, .. }));

    let of = |benchmark| Import { benchmarks: vec![benchmark], ..import(&folder) };
    let (gsm8k, human_eval) = (of(Benchmark::Gsm8k), of(Benchmark::HumanEval));
    fs::remove_file(folder.path().join("gsm8k/test.jsonl")).unwrap();
    let message = refused(&gsm8k).to_string();
    assert!(message.contains("gsm8k/test.jsonl` is missing; it is in "), "{message}");

    write(folder.path(), "gsm8k/test.jsonl", (11..14).map(problem));
    assert!(matches!(refused(&gsm8k), ImportError::Shared { count: 1, .. }));
    write(folder.path(), "gsm8k/test.jsonl", std::iter::empty());
    assert!(matches!(refused(&gsm8k), ImportError::TooFew("gsm8k")));
    for (line, why) in [
        ("{\"question\": \"1?\", \"answer\": \"1\"}", "its answer has no `####`"),
        ("{\"question\": \"1?\", \"answer\": \"#### one\"}", "is no whole number"),
        ("{\"question\": \"1?\"}", "missing field `answer`"),
    ] {
        write(folder.path(), "gsm8k/test.jsonl", [problem(30), line.to_owned()].into_iter());
        let message = refused(&gsm8k).to_string();
        assert!(message.starts_with("line 2 of `") && message.contains(why), "{message}");
    }

    write(folder.path(), "human-eval/HumanEval.jsonl", (0..3).map(function));
    assert!(matches!(refused(&human_eval), ImportError::TooFew("human-eval")));
    let broken = function(3).replace("def check(", "def test(");
    write(folder.path(), "human-eval/HumanEval.jsonl", [broken].into_iter());
    let message = refused(&human_eval).to_string();
    assert!(message.contains("its `test` does not define `check`"), "{message}");
}
