//! What holds of every environment and of suites on disk.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use agents::play::{Closed, EpisodeFault, Reply};
use agents::trajectory::{EnvironmentVerdict, EpisodeEnding, EpisodeOutcome, Source};
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::{Sandbox, SandboxOptions};
use jail::python::PythonEnv;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, LazyLock};
use tasks::stream::Stream;
use tasks::task::TaskId;
use worlds::grams::grams;
use worlds::{
    Environment, FolderError, Part, Scale, Suite, SuiteError, SuiteName, SuiteRequest, WorldName,
    demonstrate,
};

const REQUEST: SuiteRequest =
    SuiteRequest { suite: SuiteName::Rlbench, scale: Scale::Tiny, seed: 11 };

/// The files of one tiny suite.
static FILES: LazyLock<BTreeMap<Utf8PathBuf, Vec<u8>>> =
    LazyLock::new(|| REQUEST.render().unwrap());

/// The same suite on disk.
fn suite() -> (tempfile::TempDir, Suite) {
    let folder = tempfile::tempdir().unwrap();
    let out = Utf8Path::from_path(folder.path()).unwrap().join("suite");
    let suite = REQUEST.make(&out).unwrap();
    (folder, suite)
}

/// What runs programs. Nothing is imported beforehand: they need no libraries.
static SANDBOX: LazyLock<Arc<Sandbox>> = LazyLock::new(|| {
    let options =
        SandboxOptions { modules: Vec::new(), warm_up: false, ..SandboxOptions::default() };
    Arc::new(Sandbox::start(&PythonEnv::locate().unwrap(), options, &[]).unwrap())
});

/// The environment with what it needs for episodes.
fn ready(mut world: Box<dyn Environment>) -> Box<dyn Environment> {
    if world.runs_programs() {
        world.set_runner(SANDBOX.clone());
    }
    world
}

/// Every part of every task.
fn environments() -> Vec<Box<dyn Environment>> {
    let (_folder, suite) = suite();
    let tasks = suite.tasks().iter().map(|task| suite.task(task.id.as_str()).unwrap());
    let parts = tasks.flat_map(|task| {
        let sealed = task.sealed().unwrap();
        [task.train().unwrap(), sealed.dev().unwrap(), sealed.test().unwrap()]
    });
    parts.map(ready).collect()
}

fn verdict(closed: &Closed) -> &EnvironmentVerdict {
    match &closed.outcome {
        EpisodeOutcome::World(verdict) => verdict,
        EpisodeOutcome::Mle(_) => panic!("an outcome of another environment"),
    }
}

/// Plays turns until they or the episode are over.
fn play(world: &dyn Environment, item: &TaskId, turns: &[String]) -> (Closed, Vec<Reply>) {
    let mut play = world.open(item).unwrap();
    let mut replies = Vec::new();
    for turn in turns {
        replies.push(play.respond(turn).unwrap());
        if matches!(replies.last(), Some(Reply::End(_))) {
            break;
        }
    }
    (play.close().unwrap(), replies)
}

#[test]
fn a_suite_is_the_same_bytes_for_any_number_of_threads() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let bytes = pool.install(|| REQUEST.render().unwrap());
        assert!(bytes == *FILES, "{threads} threads");
    }
    let other = SuiteRequest { seed: 12, ..REQUEST }.render().unwrap();
    for path in FILES.keys().filter(|path| path.extension() == Some("jsonl")) {
        assert!(FILES[path] != other[path], "{path} does not depend on the seed");
    }
}

#[test]
fn bytes_of_a_suite_are_pinned() {
    // Changes with every change of a generator; then its `VERSION` rises too.
    let mut lines = Vec::new();
    for (path, bytes) in FILES.iter().filter(|(path, _)| path.as_str() != "suite.json") {
        lines.push(format!("{} {path}", &blake3::hash(bytes).to_hex()[..16]));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_solver_wins_every_item() {
    for world in environments() {
        for item in world.items() {
            let turns = world.solve(item).unwrap();
            let (closed, replies) = play(&*world, item, &turns);
            assert_eq!(verdict(&closed).reward, 1.0, "{item}: {turns:?} {replies:?}");
            assert_eq!(closed.reward.total(), 1.0, "{item}");
            assert_eq!(replies.last(), Some(&Reply::End(EpisodeEnding::Answered)), "{item}");
            assert_eq!(replies.len(), turns.len(), "{item}: it ended early");
        }
    }
}

#[test]
fn items_for_language_models_are_won_within_their_limits() {
    for &name in SuiteName::Rlbench.worlds() {
        for part in [Part::Train, Part::Test] {
            let world = ready(name.generate(part, Scale::Full, 1).unwrap());
            let limit = world.spec().limits.turns as usize;
            assert_eq!(world.items().len(), world.spec().items.of(part));
            for item in world.items().into_iter().take(200) {
                let turns = world.solve(item).unwrap();
                let (closed, _) = play(&*world, item, &turns);
                assert_eq!(verdict(&closed).reward, 1.0, "{item}: {turns:?}");
                if part == Part::Train && name == WorldName::Household {
                    let trajectory = demonstrate(&*world, item).unwrap();
                    assert_eq!(trajectory.reward.total(), 1.0, "{item}");
                    assert!(trajectory.turns.len() <= limit, "{item}");
                }
            }
        }
    }
}

/// Tokens of a vocabulary of words with the space before them, single digits, spaces before digits and
/// single signs, at most, with the one that ends a turn.
fn tokens(text: &str) -> usize {
    let letters: Vec<char> = text.chars().collect();
    let begins = |&place: &usize| {
        let (letter, before) = (letters[place], place.checked_sub(1).map(|it| letters[it]));
        let next = letters.get(place + 1);
        match letter {
            ' ' => next.is_some_and(char::is_ascii_digit),
            _ => !(letter.is_alphabetic() && before.is_some_and(char::is_alphabetic)),
        }
    };
    (0..letters.len()).filter(begins).count() + 1
}

#[test]
fn demonstrations_earn_much_and_are_made_of_training_items_alone() {
    for world in environments() {
        let limits = world.spec().limits;
        let limit = limits.turns as usize;
        let mut rewards = Vec::new();
        for item in world.items() {
            match demonstrate(&*world, item) {
                Ok(trajectory) => {
                    assert_eq!(world.part(), Part::Train);
                    assert!(trajectory.turns.len() <= limit, "{item}");
                    let turns =
                        trajectory.segments.iter().filter(|part| part.source == Source::Model);
                    assert_eq!(turns.clone().count(), trajectory.turns.len(), "{item}");
                    // A policy that imitates them is cut off nowhere.
                    for turn in turns {
                        let tokens = tokens(&turn.text);
                        assert!(tokens <= limits.turn_tokens as usize, "{item}: {}", turn.text);
                    }
                    rewards.push(trajectory.reward.total());
                }
                Err(refused) => {
                    assert!(world.part().is_sealed(), "{item}: {refused}");
                    assert!(refused.to_string().contains("training items alone"), "{refused}");
                }
            }
        }
        if world.part() == Part::Train {
            // The expert of the shop buys what fits by its title; the others see all they need.
            let least = if world.spec().world == WorldName::Shop.into() { 0.7 } else { 1.0 };
            let mean = rewards.iter().sum::<f64>() / rewards.len() as f64;
            assert!(mean >= least, "{}: {mean}", world.spec().id);
        }
    }
}

#[test]
fn a_random_player_stays_below_the_floor() {
    for world in environments() {
        let items = world.items();
        let scores = items.iter().map(|item| {
            let closed = world.play_at_random(item, Stream::root(3).child(item.as_str())).unwrap();
            let verdict = verdict(&closed);
            assert!((0.0..=1.0).contains(&verdict.reward), "{item}: {verdict:?}");
            assert_eq!(closed.reward.total(), verdict.reward);
            verdict.score
        });
        let mean = scores.sum::<f64>() / items.len() as f64;
        let name = world.spec().id.as_str();
        assert!(mean < 0.05, "{name} {}: {mean}", world.part());
    }
}

#[test]
fn any_text_is_answered_and_earns_a_share() {
    let texts = [
        "",
        "\n",
        "think:",
        "think",
        ">",
        "> look",
        "é",
        "go to",
        "move 1 to 1",
        "search[",
        "click[",
    ];
    for world in environments() {
        let item = world.items()[0].clone();
        let mut play = world.open(&item).unwrap();
        let mut turns = 0;
        let ending = loop {
            let text = texts[turns % texts.len()].repeat(1 + turns % 3);
            turns += 1;
            if let Reply::End(ending) = play.respond(&text).unwrap() {
                break ending;
            }
        };
        let limit = world.spec().limits.turns as usize;
        assert!(turns <= limit && (turns < limit || limit == 1 || ending == EpisodeEnding::Budget));
        assert_eq!(play.turns().len(), turns);
        assert!(matches!(play.respond("look"), Err(EpisodeFault::Over)));
        let closed = play.close().unwrap();
        assert!((0.0..=1.0).contains(&verdict(&closed).reward));
    }
}

#[test]
fn the_order_of_items_does_not_matter() {
    for world in environments() {
        let items: Vec<&TaskId> = world.items().into_iter().take(20).collect();
        let score = |item: &&TaskId| {
            let closed = world.play_at_random(item, Stream::root(5).child(item.as_str())).unwrap();
            (verdict(&closed).clone(), world.prompt(item).unwrap())
        };
        let forwards: Vec<_> = items.iter().map(score).collect();
        let mut backwards: Vec<_> = items.iter().rev().map(score).collect();
        backwards.reverse();
        assert_eq!(forwards, backwards);
    }
}

#[test]
fn scores_are_shares_and_do_not_depend_on_the_order_of_verdicts() {
    for world in environments() {
        let of = |item: &&TaskId| {
            let closed = world.play_at_random(item, Stream::root(7).child(item.as_str())).unwrap();
            verdict(&closed).clone()
        };
        let verdicts: Vec<EnvironmentVerdict> = world.items().iter().take(40).map(of).collect();
        let forwards: Vec<&EnvironmentVerdict> = verdicts.iter().collect();
        let backwards: Vec<&EnvironmentVerdict> = verdicts.iter().rev().collect();
        let score = world.score(&forwards).unwrap().unwrap();
        assert_eq!(world.score(&backwards).unwrap(), Some(score), "{}", world.spec().id);
        assert!((0.0..=1.0).contains(&score));
        let mean = verdicts.iter().map(|verdict| verdict.score).sum::<f64>() / 40.0;
        let is_mean = (score - mean).abs() < 1e-12;
        assert_eq!(is_mean, world.spec().is_mean(), "{}: {score} {mean}", world.spec().id);
        assert_eq!(world.score(&[]).unwrap(), None);
    }
}

#[test]
fn programs_are_not_judged_without_a_runner() {
    let (_folder, suite) = suite();
    let world = suite.task("programs").unwrap().train().unwrap();
    let item = world.items()[0].clone();
    let fault = world.open(&item).unwrap_err();
    assert!(matches!(fault, EpisodeFault::NoRunner(_)), "{fault}");
    assert!(world.prompt(&item).is_ok() && world.solve(&item).is_some());
    assert!(ready(world).open(&item).is_ok());
}

#[test]
fn unknown_items_are_refused() {
    let item = TaskId::new("nobody-train-00000").unwrap();
    for world in environments() {
        assert!(matches!(world.open(&item), Err(EpisodeFault::UnknownItem(_))));
        assert!(world.prompt(&item).is_err() && world.solve(&item).is_none());
    }
}

/// The text of all public files of a task, descriptions included.
fn public_text(task: &str) -> String {
    let files = FILES.iter().filter(|(path, _)| {
        path.starts_with(task) && !path.starts_with(Utf8Path::new(task).join("sealed"))
    });
    files.map(|(_, bytes)| String::from_utf8(bytes.clone()).unwrap() + "\n").collect()
}

#[test]
fn no_line_of_a_sealed_file_is_in_a_public_one() {
    let public: HashSet<&str> = FILES
        .iter()
        .filter(|(path, _)| !path.as_str().contains("/sealed/"))
        .flat_map(|(_, bytes)| std::str::from_utf8(bytes).unwrap().lines())
        .collect();
    let mut ids = BTreeSet::new();
    for (path, bytes) in FILES.iter().filter(|(path, _)| path.as_str().contains("/sealed/")) {
        for (number, line) in std::str::from_utf8(bytes).unwrap().lines().enumerate() {
            assert!(!public.contains(line), "{path}: {line}");
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            if number == 0 {
                let canary = value["canary"].as_str().unwrap();
                assert!(public.iter().all(|line| !line.contains(canary)), "{path}");
            } else {
                // The item without its id, as a copy under another id would have it.
                let item = &line[line.find("\"item\":").unwrap()..];
                assert!(public.iter().all(|line| !line.contains(item)), "{path}: {item}");
                assert!(ids.insert(value["id"].as_str().unwrap().to_owned()));
            }
        }
    }
}

#[test]
fn no_window_that_gives_a_sealed_answer_away_is_public() {
    for world in environments().iter().filter(|world| world.part().is_sealed()) {
        let public = grams(&public_text(world.spec().id.as_str()));
        for item in world.items() {
            let evidence = world.evidence(item).unwrap();
            assert!(grams(&evidence).is_disjoint(&public), "{item}: {evidence}");
            // And a scan for copies has something to find.
            let rendered = world.render(item).unwrap();
            assert!(!grams(&rendered).is_subset(&public), "{item}");
        }
    }
}

#[test]
fn public_files_do_not_tell_the_seed() {
    let (_folder, suite) = suite();
    for task in suite.tasks() {
        let spec = suite.task(task.id.as_str()).unwrap().spec().without_seed().to_toml();
        assert!(!spec.contains("seed"), "{spec}");
    }
    for (path, bytes) in FILES.iter().filter(|(path, _)| path.as_str().contains("/public/")) {
        assert!(!String::from_utf8_lossy(bytes).contains("seed"), "{path}");
    }
}

#[test]
fn a_suite_on_disk_is_what_was_rendered_and_damage_is_found() {
    let (_folder, suite) = suite();
    suite.check_files().unwrap();
    let root = suite.task("household").unwrap().public();
    let root = root.parent().and_then(Utf8Path::parent).unwrap();
    for (path, bytes) in FILES.iter() {
        assert!(fs_err::read(root.join(path)).unwrap() == *bytes, "{path}");
    }
    assert!(matches!(REQUEST.make(root), Err(SuiteError::Exists(_))));
    assert!(matches!(suite.task("garden"), Err(SuiteError::UnknownTask(..))));
    let path = root.join("household/sealed/test.jsonl");
    let text = fs_err::read_to_string(&path).unwrap();
    fs_err::write(&path, text.replacen("canary", "Canary", 1)).unwrap();
    assert!(matches!(suite.check_files(), Err(SuiteError::Damaged(_))));
    let sealed = suite.task("household").unwrap().sealed().unwrap();
    assert!(matches!(sealed.test().unwrap_err(), FolderError::Canary(_)));
    let short: Vec<&str> = text.split_inclusive('\n').take(3).collect();
    fs_err::write(&path, short.concat()).unwrap();
    assert!(matches!(sealed.test().unwrap_err(), FolderError::Count { found: 2, .. }));
    fs_err::write(&path, text.replacen("\"room\"", "\"rooms\"", 1)).unwrap();
    assert!(matches!(sealed.test().unwrap_err(), FolderError::Line { line: 2, .. }));
}

#[test]
fn a_copy_for_agents_trains_and_has_nothing_sealed() {
    let (_folder, suite) = suite();
    for entry in suite.tasks() {
        let task = suite.task(entry.id.as_str()).unwrap();
        let copy = tempfile::tempdir().unwrap();
        let copy = Utf8Path::from_path(copy.path()).unwrap();
        fs_err::create_dir(copy.join("public")).unwrap();
        for file in task.public().read_dir_utf8().unwrap() {
            let file = file.unwrap();
            fs_err::copy(file.path(), copy.join("public").join(file.file_name())).unwrap();
        }
        fs_err::write(copy.join("task.toml"), task.spec().without_seed().to_toml()).unwrap();
        let copied = worlds::TaskFolder::open(copy).unwrap();
        let world = copied.train().unwrap();
        assert_eq!(world.items().len(), world.spec().items.train);
        let item = world.items()[0];
        assert_eq!(world.prompt(item).unwrap(), task.train().unwrap().prompt(item).unwrap());
        assert!(matches!(copied.sealed(), Err(FolderError::NotSealed(_))));
    }
}

#[test]
fn descriptions_name_what_a_policy_must_know_and_no_trap() {
    for name in WorldName::ALL {
        for scale in Scale::ALL {
            let page = name.describe(scale);
            let limits = name.outline(scale).limits;
            assert!(page.starts_with("# ") && page.contains("**Score**"), "{page}");
            assert!(page.contains(&limits.turn_tokens.to_string()), "{page}");
        }
    }
    let page = WorldName::Household.describe(Scale::Tiny);
    for told in ["move", "in/on", "take "] {
        assert!(!page.contains(told), "the page tells the verbs: {told}");
    }
}
