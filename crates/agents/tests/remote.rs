//! Episodes over a fleet of `sandbox serve` processes, beside the same on this machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use agents::grammar::{answer_turn, python_turn, score_turn};
use agents::play::{Closed, Reply, World};
use agents::remote::{Fleet, FleetOptions, FleetUse, RemoteWorld, ServerAddress};
use agents::scaffold::react::{EpisodeRules, MleWorld};
use agents::script_cache::{CachedWorld, ScriptCache};
use agents::trajectory::{EpisodeEnding, Tool};
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::{Outcome, SandboxOptions};
use sandbox::env::{EpisodeFault, TaskSuite};
use std::time::Duration;
use support::servers::ServedTasks;
use support::shifts;
use tasks::task::{Collection, Opening};
use tasks::text::with_causes;
use tasks::units::Span;
use tempfile::TempDir;

const SUBMIT: &str = "import pandas as pd\ntest = pd.read_csv('input/test.csv')\n\
                      test['y'] = (test['a'] * test['b'] > 0).astype(float)\n\
                      test[['id', 'y']].to_csv('submission.csv', index=False)\nprint('written')";
/// The rules of [`rules`], as flags.
const FLAGS: [&str; 9] = [
    "--turns",
    "5",
    "--step-limit",
    "15s",
    "--answer-limit",
    "60s",
    "--reveal",
    "score",
    "--slots=1",
];
const SHORT: FleetOptions = FleetOptions { patience: Duration::from_secs(20) };

fn rules() -> EpisodeRules {
    let mut rules = EpisodeRules::default();
    rules.episode.budget.turns = 5;
    rules.episode.policy.time_limit = Span::seconds(15);
    rules
}

/// A corpus of one task, and the folder that it is in.
struct Corpus {
    folder: TempDir,
    task: Utf8PathBuf,
}

impl Corpus {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let task = shifts::write(Utf8Path::from_path(folder.path()).unwrap());
        Self { folder, task }
    }

    fn serve(&self, name: &str, flags: &[&str]) -> ServedTasks {
        let records = Utf8Path::from_path(self.folder.path()).unwrap().join(name);
        ServedTasks::start(&self.task, &records, "127.0.0.1:0", flags)
    }

    fn tasks(&self) -> Collection {
        Collection::open(&self.task, &Opening::default()).unwrap()
    }
}

fn fleet(servers: &[&ServedTasks]) -> Fleet {
    let urls: Vec<String> = servers.iter().map(|server| server.url()).collect();
    Fleet::connect(ServerAddress::parse_list(&urls.join(",")).unwrap(), SHORT).unwrap()
}

/// All that an episode has, but how long its scripts took.
fn timeless(mut closed: Closed) -> Closed {
    for turn in &mut closed.turns {
        assert_eq!(turn.seconds > 0.0, turn.tool == Tool::Python, "{turn:?}");
        turn.seconds = 0.0;
    }
    closed
}

/// Replies and result of an episode on the only task.
fn play(world: &dyn World, tasks: &Collection, turns: &[String]) -> (Vec<Reply>, Closed) {
    let mut episode = world.open(tasks.tasks()[0].id()).unwrap();
    let replies = turns.iter().map(|turn| episode.respond(turn).unwrap()).collect();
    (replies, timeless(episode.close().unwrap()))
}

#[test]
fn episodes_on_servers_equal_those_on_this_machine() {
    let corpus = Corpus::new();
    let servers = [corpus.serve("one", &FLAGS), corpus.serve("two", &FLAGS)];
    let fleet = fleet(&[&servers[0], &servers[1]]);
    let (tasks, rules) = (corpus.tasks(), rules());
    let options = SandboxOptions { slots: 1, spares: 1, ..SandboxOptions::default() };
    let suite = TaskSuite::open(&corpus.task, &Opening::default(), options).unwrap();
    let here = MleWorld { suite: &suite, rules: &rules };
    let there = RemoteWorld { fleet: &fleet, tasks: tasks.tasks(), rules: &rules };
    let item = tasks.tasks()[0].id();
    assert_eq!(there.prompt(item).unwrap(), here.prompt(item).unwrap());
    assert_eq!(there.cache_key(item), here.cache_key(item));
    there.check().unwrap();
    let submit = || python_turn("plan", SUBMIT);
    let scripts = [
        // All kinds of turns, and the last that the budget allows ends it.
        vec![
            submit(),
            python_turn("", "print(missing)"),
            "no call".to_owned(),
            score_turn("look"),
            answer_turn("done"),
        ],
        vec![submit(), score_turn(""), submit(), score_turn(""), python_turn("x", "print('é')")],
        // Tokens run out: the conversation ends, and the submission counts as it is.
        vec![submit(), score_turn("")],
        vec![python_turn("", "open('submission.csv', 'w').write('id,y\\n')"), score_turn("")],
        // A signal ends a script.
        vec![python_turn("", "import os\nos.kill(os.getpid(), 9)")],
        vec![],
    ];
    for turns in &scripts {
        let expected = play(&here, &tasks, turns);
        for _ in 0..2 {
            assert_eq!(play(&there, &tasks, turns), expected, "{turns:?}");
        }
    }
    let episodes = 2 * scripts.len() as u64;
    assert_eq!(fleet.usage(), FleetUse { episodes, lost: 0, redone: 0 });

    // How long a script ran until its limit is part of the reply, so that is compared with no other.
    let slow = [python_turn("wait", "import time\ntime.sleep(60)")];
    let (_, closed) = play(&there, &tasks, &slow);
    assert!(closed.timed_out && closed.turns[0].outcome == Some(Outcome::TimedOut), "{closed:?}");

    // What is known of a reply decides whether it is cached, so a cache works as here.
    let cache = ScriptCache::default();
    let cached = CachedWorld::new(&there, &cache);
    let expected = play(&cached, &tasks, &scripts[0]);
    let mut episode = cached.open(item).unwrap();
    let replies: Vec<Reply> =
        scripts[0].iter().map(|turn| episode.respond(turn).unwrap()).collect();
    let closed = episode.close().unwrap();
    assert_eq!((&replies, closed.reward), (&expected.0, expected.1.reward));
    assert!(closed.turns.iter().any(|turn| turn.cached), "{closed:?}");
}

#[test]
fn episodes_of_a_server_that_dies_go_on_on_another() {
    let corpus = Corpus::new();
    let mut lost = corpus.serve("one", &FLAGS);
    let other = corpus.serve("two", &FLAGS);
    let fleet = fleet(&[&lost, &other]);
    let (tasks, rules) = (corpus.tasks(), rules());
    let world = RemoteWorld { fleet: &fleet, tasks: tasks.tasks(), rules: &rules };
    let item = tasks.tasks()[0].id();
    let turns =
        [python_turn("plan", SUBMIT), "no call".to_owned(), score_turn(""), answer_turn("")];
    let (expected, closed) = play(&world, &tasks, &turns);
    // Equal servers take turns, so two episodes are on both.
    let mut episodes = [world.open(item).unwrap(), world.open(item).unwrap()];
    for (number, (turn, reply)) in turns.iter().zip(&expected).enumerate() {
        if number == 2 {
            lost.kill();
        }
        for episode in &mut episodes {
            assert_eq!(episode.respond(turn).unwrap(), *reply);
        }
    }
    for episode in episodes {
        assert_eq!(timeless(episode.close().unwrap()), closed);
    }
    assert_eq!(fleet.usage(), FleetUse { episodes: 3, lost: 1, redone: 1 });
}

/// The fault of an episode, with its causes.
fn said(fault: &EpisodeFault) -> String {
    assert!(matches!(fault, EpisodeFault::Remote(_)), "{fault:?}");
    with_causes(fault)
}

#[test]
fn lost_episode_whose_replies_are_others_when_repeated_is_a_fault() {
    let corpus = Corpus::new();
    let mut lost = corpus.serve("one", &FLAGS);
    let first = fleet(&[&lost]);
    let (tasks, rules) = (corpus.tasks(), rules());
    let world = RemoteWorld { fleet: &first, tasks: tasks.tasks(), rules: &rules };
    let mut episode = world.open(tasks.tasks()[0].id()).unwrap();
    episode.respond(&python_turn("", "import time\nprint(time.time_ns())")).unwrap();
    // Another server takes its place, at the same address.
    let address = lost.address.clone();
    lost.kill();
    let records = Utf8Path::from_path(corpus.folder.path()).unwrap().join("two");
    let _other = ServedTasks::start(&corpus.task, &records, &address, &FLAGS);
    let text = said(&episode.respond(&score_turn("")).unwrap_err());
    assert!(text.contains("turn 1 had another reply"), "{text}");
    assert_eq!(first.usage(), FleetUse { episodes: 1, lost: 1, redone: 0 });
}

#[test]
fn servers_with_other_rules_or_without_a_grade_are_refused() {
    let corpus = Corpus::new();
    let (tasks, rules) = (corpus.tasks(), rules());
    let without = FLAGS[..6].to_vec();
    let mut others = FLAGS.to_vec();
    others[1] = "7";
    for (flags, words) in [(without, "`--reveal` is tier"), (others, "`budget.turns` is 7")] {
        let server = corpus.serve("records", &flags);
        let fleet = fleet(&[&server]);
        let world = RemoteWorld { fleet: &fleet, tasks: tasks.tasks(), rules: &rules };
        let text = with_causes(&world.check().unwrap_err());
        assert!(text.contains(words) && text.contains(&server.address), "{text}");
    }
}

#[test]
fn fleet_without_a_server_left_says_what_is_known_of_each() {
    let corpus = Corpus::new();
    let full: Vec<&str> = FLAGS.iter().copied().chain(["--max-episodes", "1"]).collect();
    let mut server = corpus.serve("one", &full);
    let addresses = ServerAddress::parse_list(&server.url()).unwrap();
    let options = FleetOptions { patience: Duration::from_secs(4) };
    let fleet = Fleet::connect(addresses, options).unwrap();
    let (tasks, rules) = (corpus.tasks(), rules());
    let world = RemoteWorld { fleet: &fleet, tasks: tasks.tasks(), rules: &rules };
    let item = tasks.tasks()[0].id();
    let mut episode = world.open(item).unwrap();
    let text = said(&world.open(item).unwrap_err());
    assert!(text.contains("has 1 of 1 sessions in use"), "{text}");
    let reply = episode.respond(&answer_turn("")).unwrap();
    assert_eq!(reply, Reply::End(EpisodeEnding::Answered));
    episode.close().unwrap();
    server.kill();
    let text = said(&world.open(item).unwrap_err());
    assert!(text.contains("no server has taken an episode for 4 s"), "{text}");
    assert!(text.contains(&server.address) && text.contains("sandbox serve"), "{text}");
}

#[test]
fn servers_with_a_token_are_played_on_with_it() {
    let corpus = Corpus::new();
    let token = "0123456789abcdef";
    let flags: Vec<&str> = FLAGS.iter().copied().chain(["--token", token]).collect();
    let server = corpus.serve("one", &flags);
    let (tasks, rules) = (corpus.tasks(), rules());
    let address: ServerAddress = server.url().parse().unwrap();
    for (address, refusal) in [
        (address.clone(), Some("the token is missing or wrong")),
        (address.clone().with_token("fedcba9876543210"), Some("the token is missing or wrong")),
        (address.with_token(token), None),
    ] {
        let fleet = Fleet::connect(vec![address], SHORT).unwrap();
        let world = RemoteWorld { fleet: &fleet, tasks: tasks.tasks(), rules: &rules };
        match (world.check(), refusal) {
            (Ok(()), None) => {}
            (Err(error), Some(words)) => assert!(error.to_string().contains(words), "{error}"),
            (found, _) => panic!("{found:?}"),
        }
    }
}
