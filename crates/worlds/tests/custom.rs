//! Tasks of a user: from files to a suite, its items played with the user's scorer in the sandbox.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use agents::play::EpisodeFault;
use agents::trajectory::{EnvironmentVerdict, EpisodeOutcome};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::{Sandbox, SandboxOptions};
use jail::python::PythonEnv;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use support::folders::TemporaryFolder;
use tasks::task::TaskId;
use worlds::custom::{CustomRow, CustomTask, CustomTaskError, read_rows};
use worlds::grams::grams;
use worlds::{Environment, Limits, Suite, SuiteError, TaskWorld};

/// Half for a number that is near, full marks for the right one.
const SCORER: &str = r#"
import json, re, sys

for line in sys.stdin:
    item = json.loads(line)
    found = re.findall(r"-?\d+", item["prediction"])
    if not found:
        score, tags = 0, ["format"]
    else:
        distance = abs(int(found[-1]) - item["truth"])
        score = max(0, 1 - distance / 2)
        tags = [] if score == 1 else ["wrong"]
    print("a note", file=sys.stderr)
    print(json.dumps({"id": item["id"], "score": score, "tags": tags}))
"#;

static SANDBOX: LazyLock<Arc<Sandbox>> = LazyLock::new(|| {
    let options =
        SandboxOptions { modules: Vec::new(), warm_up: false, ..SandboxOptions::default() };
    Arc::new(Sandbox::start(&PythonEnv::locate().unwrap(), options, &[]).unwrap())
});

fn question(number: usize) -> String {
    format!(
        "A crate holds\n{number} jars and each of the {number} jars holds two pears so how many pears"
    )
}

/// Three examples and 31 items to score on.
fn rows() -> Vec<CustomRow> {
    let row = |number: usize| CustomRow {
        prompt: question(number),
        truth: (2 * number).into(),
        answer: (number < 3).then(|| format!("Two times {number} is {}", 2 * number)),
        system: None,
    };
    (0..34).map(row).collect()
}

fn pool(folder: &Utf8Path) -> Utf8PathBuf {
    let pool = folder.join("data");
    fs::create_dir_all(pool.join("shop/deep")).unwrap();
    fs::write(pool.join("items.jsonl"), "not read here").unwrap();
    fs::write(pool.join("shop/README.md"), "# Shop\n").unwrap();
    fs::write(pool.join("shop/deep/rows.jsonl"), "{\"question\": \"1 + 1\", \"answer\": \"2\"}\n")
        .unwrap();
    fs::write(pool.join("shop/picture.bin"), [0, 159, 146, 150]).unwrap();
    pool
}

fn task(folder: &Utf8Path) -> CustomTask {
    CustomTask {
        id: TaskId::new("pears").unwrap(),
        objective: "Say how many. End with the number.\n".to_owned(),
        scorer: SCORER.to_owned(),
        rows: rows(),
        pool: Some(pool(folder)),
        limits: Limits { turns: 1, turn_tokens: 32, context: 128 },
        most: 10,
        seed: 0,
    }
}

fn sealed(suite: &Suite) -> [Box<dyn Environment>; 2] {
    let sealed = suite.task("pears").unwrap().sealed().unwrap();
    [sealed.dev().unwrap(), sealed.test().unwrap()]
}

fn questions(world: &dyn Environment) -> BTreeSet<String> {
    world.items().into_iter().map(|item| world.question(item).unwrap()).collect()
}

#[test]
fn items_with_an_answer_are_public_and_the_others_are_split_by_what_they_are() {
    let folder = TemporaryFolder::new();
    let made = task(folder.path());
    let suite = made.make(&folder.path().join("suite")).unwrap();
    suite.check_files().unwrap();
    assert_eq!(suite.tasks()[0].world, TaskWorld::Custom);
    assert!(suite.request().is_none());
    let found = suite.task("pears").unwrap();
    assert_eq!(
        (found.spec().items.train, found.spec().items.dev, found.spec().items.test),
        (3, 10, 10)
    );
    let train = found.train().unwrap();
    assert_eq!(questions(&*train), (0..3).map(question).collect());
    let prompt = train.prompt(train.items()[1]).unwrap();
    assert_eq!(prompt.system, "Say how many. End with the number.");
    assert_eq!(train.expert(train.items()[1]).unwrap(), ["Two times 1 is 2"]);
    let [dev, test] = sealed(&suite);
    assert!(questions(&*dev).is_disjoint(&questions(&*test)));
    assert!(questions(&*dev).is_disjoint(&questions(&*train)));
    assert_eq!(dev.expert(dev.items()[0]), None);

    // The order of the file bears on nothing, the seed on which part an item is in.
    let mut turned = made.clone();
    turned.rows[3..].reverse();
    let again = turned.make(&folder.path().join("again")).unwrap();
    assert_eq!(questions(&*sealed(&again)[0]), questions(&*dev));
    let other = CustomTask { seed: 1, ..made.clone() }.make(&folder.path().join("other")).unwrap();
    assert_ne!(questions(&*sealed(&other)[0]), questions(&*dev));

    let files: Vec<&str> = suite.pool_files().into_iter().map(Utf8Path::as_str).collect();
    assert_eq!(files, ["shop/README.md", "shop/deep/rows.jsonl", "shop/picture.bin"]);
    assert!(made.is_of(&suite).unwrap());
    let other = CustomTask { most: 11, ..made.clone() };
    assert!(!other.is_of(&suite).unwrap());
    // The suite has a copy of the raw data.
    fs::write(folder.path().join("data/shop/picture.bin"), [1]).unwrap();
    assert!(!made.is_of(&suite).unwrap());
    suite.check_files().unwrap();
}

#[test]
fn sealed_items_are_known_by_words_that_no_public_file_has() {
    let folder = TemporaryFolder::new();
    let suite = task(folder.path()).make(&folder.path().join("suite")).unwrap();
    let public: Vec<String> = (0..3).map(question).collect();
    let mut all = BTreeSet::new();
    for world in sealed(&suite) {
        for item in world.items() {
            let evidence = world.evidence(item).unwrap();
            assert_eq!(grams(&evidence).len(), 1, "{evidence}");
            assert!(grams(&world.question(item).unwrap()).is_superset(&grams(&evidence)));
            assert!(public.iter().all(|text| grams(text).is_disjoint(&grams(&evidence))));
            all.insert(evidence);
        }
    }
    assert_eq!(all.len(), 20);
}

fn verdict(world: &dyn Environment, text: &str) -> Result<EnvironmentVerdict, EpisodeFault> {
    let mut play = world.open(world.items()[2])?;
    play.respond(text)?;
    match play.close()?.outcome {
        EpisodeOutcome::World(verdict) => Ok(verdict),
        EpisodeOutcome::Mle(_) => panic!("an outcome of another environment"),
    }
}

fn train_with(scorer: &str) -> Box<dyn Environment> {
    let folder = TemporaryFolder::new();
    let task = CustomTask { scorer: scorer.to_owned(), ..task(folder.path()) };
    let suite = task.make(&folder.path().join("suite")).unwrap();
    let mut world = suite.task("pears").unwrap().train().unwrap();
    assert!(matches!(world.open(world.items()[0]), Err(EpisodeFault::NoRunner(_))));
    world.set_runner(SANDBOX.clone());
    world
}

#[test]
fn answers_are_judged_by_a_run_of_the_scorer() {
    let world = train_with(SCORER);
    for (text, score, tags) in [
        ("Two times 2 is 4", 1.0, vec![]),
        ("5", 0.5, vec!["wrong"]),
        ("7", 0.0, vec!["wrong"]),
        ("four", 0.0, vec!["format"]),
        ("\"}'); print('{\"score\": 1}') #", 0.0, vec!["wrong"]),
        ("", 0.0, vec!["format"]),
    ] {
        let found = verdict(&*world, text).unwrap();
        assert_eq!(
            (found.score, found.reward, found.tags),
            (score, score, tags.into_iter().map(str::to_owned).collect()),
            "{text}"
        );
        assert_eq!(found.detail, json!({"truth": 4, "found": text}));
    }
    let mut play = world.open(world.items()[0]).unwrap();
    play.respond("0").unwrap();
    assert!(matches!(play.respond("0"), Err(EpisodeFault::Over)));
    let nothing = world.play_at_random(world.items()[0], tasks::stream::Stream::root(0)).unwrap();
    assert_eq!(nothing.reward.total(), 0.0);
}

#[test]
fn a_scorer_that_fails_is_no_mistake_of_the_policy() {
    for (scorer, expected) in [
        ("import json\n\nraise ValueError('no truth')", "ValueError: no truth (scorer.py, line 3)"),
        ("def f(:", "SyntaxError"),
        ("import sys\nsys.exit(3)", "it exited with 3"),
        ("print('right')", "printed `right`"),
        ("pass", "printed nothing"),
        ("import os\nos._exit(0)", "it ended its own process"),
        ("import os\nos.abort()", "it "),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        (
            "import json\nprint(json.dumps({'id': json.loads(input())['id'], 'score': 2}))",
            "must be from 0 to 1",
        ),
    ] {
        let fault = verdict(&*train_with(scorer), "4").unwrap_err();
        assert!(matches!(fault, EpisodeFault::Scorer { .. }), "{scorer}: {fault}");
        let message = fault.to_string();
        assert!(
            message.contains("pears-train-00002") && message.contains(expected),
            "{scorer}: {message}"
        );
    }
}

/// Macro-F1 of scikit-learn over the answers, and a loop over lines as scorers have it.
const AGGREGATE: &str = r#"

def aggregate(items):
    from sklearn.metrics import f1_score

    assert all(item["score"] in (0, 0.5, 1) and "tags" in item for item in items)
    truth = [item["truth"] for item in items]
    found = [int(item["prediction"]) for item in items]
    return f1_score(truth, found, average="macro")
"#;

#[test]
fn scorer_may_say_itself_what_the_scores_of_all_items_come_to() {
    let world = train_with(&format!("{SCORER}{AGGREGATE}"));
    assert_eq!(world.spec().metric, "aggregate of the custom scorer");
    assert!(!world.spec().is_mean());
    let verdicts: Vec<EnvironmentVerdict> =
        ["4", "5", "4"].iter().map(|text| verdict(&*world, text).unwrap()).collect();
    let [right, wrong, _] = &verdicts[..] else { unreachable!() };
    // Of the classes 4 and 5 the first has precision 1 and recall 2/3, the second is never true.
    let score = world.score(&[right, wrong, right]).unwrap().unwrap();
    assert!((score - 0.4).abs() < 1e-12, "{score}");
    assert_eq!(world.score(&[wrong, right, right]).unwrap(), Some(score));
    assert_eq!(world.score(&[]).unwrap(), None);

    let mean = train_with(SCORER);
    assert!(mean.spec().is_mean());
    assert_eq!(mean.score(&[right, wrong]).unwrap(), Some(0.75));
    for (aggregate, expected) in [
        ("def aggregate(items):\n    return 2", "it is to be a number from 0 to 1, and is `2.0`"),
        ("def aggregate(items):\n    return None", "TypeError"),
        (
            "def aggregate(items):\n    return items[0]['label']",
            "KeyError: 'label' (scorer.py, line",
        ),
        ("def aggregate(items):\n    return float('nan')", "it is to be a number from 0 to 1"),
    ] {
        let world = train_with(&format!("{SCORER}\n{aggregate}\n"));
        let fault = world.score(&[right]).unwrap_err();
        assert!(matches!(fault, EpisodeFault::Aggregate { .. }), "{fault}");
        let message = fault.to_string();
        assert!(message.contains("pears") && message.contains(expected), "{message}");
    }
}

#[test]
fn tasks_that_would_tell_nothing_are_refused() {
    let folder = TemporaryFolder::new();
    let good = task(folder.path());
    let refused = |task: &CustomTask| {
        let error = task.make(&folder.path().join("suite")).unwrap_err();
        assert!(!folder.path().join("suite").exists());
        error
    };
    assert!(matches!(
        refused(&CustomTask { objective: " \n".to_owned(), ..good.clone() }),
        CustomTaskError::Blank("objective")
    ));
    assert!(matches!(
        refused(&CustomTask { scorer: String::new(), ..good.clone() }),
        CustomTaskError::Blank("scorer")
    ));
    let sealed_only = CustomTask { rows: good.rows[3..].to_vec(), ..good.clone() };
    assert!(matches!(refused(&sealed_only), CustomTaskError::NoExample));
    let few = CustomTask { rows: good.rows[..12].to_vec(), ..good.clone() };
    assert!(matches!(refused(&few), CustomTaskError::TooFew { found: 9 }));

    // Two items are in the raw data, whatever their layout.
    let row = |number: usize| json!({"text": question(number).to_uppercase()}).to_string();
    let rows = [9, 20].map(row);
    fs::write(folder.path().join("data/shop/leak.jsonl"), rows.join("\n")).unwrap();
    let rows = good.rows[..33].to_vec();
    let everything = CustomTask { most: 100, rows, ..good.clone() };
    let message = refused(&everything).to_string();
    assert!(
        message.starts_with("2 of the items") && message.contains("pool/shop/leak.jsonl"),
        "{message}"
    );
    fs::remove_file(folder.path().join("data/shop/leak.jsonl")).unwrap();

    good.make(&folder.path().join("suite")).unwrap();
    let there = good.make(&folder.path().join("suite")).unwrap_err();
    assert!(matches!(there, CustomTaskError::Suite(SuiteError::Exists(_))), "{there}");
}

#[test]
fn rows_are_read_as_people_write_them() {
    let lines: Vec<String> = rows().iter().map(|row| serde_json::to_string(row).unwrap()).collect();
    assert_eq!(read_rows(&lines.join("\n\n")).unwrap(), rows());
}
