//! Searches on a task, with players that need no model: what is written down, and that a run goes
//! on exactly where it was.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use agents::scaffold::mutator::Mutator;
use agents::search::journal::{JournalError, JournalLine, SearchEnd, journal_path, read_lines};
use agents::search::node::{Bug, NodeState};
use agents::search::operator::TaskView;
use agents::search::player::{Answer, Ask, FixedScript, Player, PlayerFault};
use agents::search::python::PythonFacts;
use agents::search::run::{Search, SearchError, SearchRest};
use agents::search::settings::{OperatorSettings, SearchSettings};
use agents::search::state::RunState;
use agents::search::stop::SearchStop;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::SandboxOptions;
use sandbox::env::{EpisodeConfig, Feedback, TaskSuite};
use std::collections::BTreeSet;
use std::sync::Mutex;
use support::shifts;
use tasks::metrics::Direction;
use tasks::task::{Opening, Task};

/// A task of two classes that two columns decide together, and a sandbox for it.
struct Fixture {
    folder: tempfile::TempDir,
    suite: TaskSuite,
    view: TaskView,
    config: EpisodeConfig,
    settings: SearchSettings,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = shifts::write(Utf8Path::from_path(folder.path()).unwrap());
        let options = SandboxOptions { slots: 2, spares: 1, ..SandboxOptions::default() };
        let suite = TaskSuite::open(&path, &Opening::default(), options).unwrap();
        let config = EpisodeConfig { feedback: Feedback::Validate, ..EpisodeConfig::default() };
        let view = TaskView {
            page: suite.tasks()[0].description().unwrap(),
            overview: String::new(),
            direction: Direction::HigherIsBetter,
            limits: config.policy.clone(),
            python: PythonFacts::ask(suite.sandbox()).unwrap(),
            steps: 8,
        };
        let settings = SearchSettings { steps: 8, ..SearchSettings::default() };
        Self { folder, suite, view, config, settings }
    }

    fn task(&self) -> &Task {
        &self.suite.tasks()[0]
    }

    fn run_folder(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.folder.path()).unwrap().join(name)
    }

    fn mutator(&self) -> Mutator {
        Mutator::new(self.task(), Direction::HigherIsBetter, 1).unwrap().unwrap()
    }

    fn run(&self, name: &str, player: &dyn Player) -> Result<SearchRest, SearchError> {
        let search = Search {
            suite: &self.suite,
            task: self.task(),
            config: &self.config,
            scaffold: "aide",
            settings: &self.settings,
            view: &self.view,
            player,
            seed: 3,
            folder: &self.run_folder(name),
            stop: &SearchStop::default(),
            observer: &(),
        };
        search.run()
    }

    fn state(&self, name: &str) -> RunState {
        let path = journal_path(&self.run_folder(name));
        RunState::from_lines(&path, read_lines(&path).unwrap()).unwrap().unwrap()
    }

    /// The journal without times, and without the notes that it paused and went on.
    fn timeless(&self, name: &str) -> Vec<String> {
        let lines = read_lines(&journal_path(&self.run_folder(name))).unwrap();
        let kept = lines.into_iter().filter_map(|mut line| {
            match &mut line {
                JournalLine::Paused { .. } | JournalLine::Resumed { .. } => return None,
                JournalLine::Header(_) => {}
                JournalLine::Decided { clock, .. } | JournalLine::Finish { clock, .. } => {
                    *clock = 0.0;
                }
                JournalLine::Asked(facts) => {
                    facts.seconds = 0.0;
                    // The time that is left is part of the prompt.
                    facts.prompt.0.clear();
                }
                JournalLine::Node(node) => {
                    node.ended_at = 0.0;
                    let run = node.run.as_mut().unwrap();
                    (run.wall, run.processor, run.peak_memory) = (0.0, 0.0, 0);
                }
            }
            Some(serde_json::to_string(&line).unwrap())
        });
        kept.collect()
    }
}

/// Counts questions, and answers like another player until its answers are used up.
#[derive(Debug)]
struct Counted<'a> {
    inner: &'a dyn Player,
    left: usize,
    seen: Mutex<Vec<(u32, &'static str, u32)>>,
}

impl<'a> Counted<'a> {
    fn new(inner: &'a dyn Player, left: usize) -> Self {
        Self { inner, left, seen: Mutex::new(Vec::new()) }
    }
}

impl Player for Counted<'_> {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        let mut seen = self.seen.lock().unwrap();
        if seen.len() == self.left {
            return Err(PlayerFault::Unavailable("it is away".into()));
        }
        seen.push((ask.node.0, ask.what.name(), ask.attempt));
        self.inner.answer(ask)
    }
}

#[test]
fn search_ends_with_the_submission_of_its_best_node() {
    let fixture = Fixture::new();
    let rest = fixture.run("run", &fixture.mutator()).unwrap();
    let state = fixture.state("run");
    let tree = state.tree();
    let best = tree.best().expect("some script works");
    assert_eq!(rest, SearchRest::Finished { chosen: Some(best.id), why: SearchEnd::Steps });
    assert_eq!(tree.len(), 8);
    let buggy = tree.nodes().filter(|node| node.is_buggy()).count();
    assert!(buggy > 0, "the player breaks one script in five");
    let folder = fixture.run_folder("run");
    let submission = fs::read(folder.join("submission.csv")).unwrap();
    assert_eq!(Some(agents::search::node::BlobHash::of(&submission)), best.submission);
    // A run that is over is not run again.
    assert_eq!(fixture.run("run", &Counted::new(&fixture.mutator(), 0)).unwrap(), rest);
}

#[test]
fn run_cut_after_any_line_goes_on_to_the_same_journal() {
    let mut fixture = Fixture::new();
    (fixture.settings.steps, fixture.view.steps) = (6, 6);
    let mutator = fixture.mutator();
    fixture.run("whole", &mutator).unwrap();
    let whole = fixture.timeless("whole");
    let bytes = fs::read(journal_path(&fixture.run_folder("whole"))).unwrap();
    let ends: Vec<usize> =
        (0..bytes.len()).filter(|&at| bytes[at] == b'\n').map(|at| at + 1).collect();
    let asks = whole.iter().filter(|line| line.contains("\"line\":\"asked\"")).count();
    for (index, end) in ends[..ends.len() - 1].iter().enumerate() {
        let name = format!("cut{index}");
        let folder = fixture.run_folder(&name);
        fs::create_dir_all(folder.join("blobs")).unwrap();
        for blob in fixture.run_folder("whole").join("blobs").read_dir_utf8().unwrap() {
            let blob = blob.unwrap();
            fs::copy(blob.path(), folder.join("blobs").join(blob.file_name())).unwrap();
        }
        // With the beginning of the next line, as a killed writer leaves it.
        fs::write(journal_path(&folder), &bytes[..end + 10]).unwrap();
        let known = read_lines(&journal_path(&folder)).unwrap();
        let known = known.iter().filter(|line| matches!(line, JournalLine::Asked(_))).count();
        let counted = Counted::new(&mutator, usize::MAX);
        fixture.run(&name, &counted).unwrap();
        assert_eq!(fixture.timeless(&name), whole, "cut after line {}", index + 1);
        let seen = counted.seen.into_inner().unwrap();
        assert_eq!(seen.len(), asks - known, "no answer is asked for twice");
    }
}

#[test]
fn player_that_is_away_pauses_the_run_and_nothing_is_asked_twice() {
    let fixture = Fixture::new();
    let mutator = fixture.mutator();
    let mut seen = BTreeSet::new();
    let mut pauses = 0;
    loop {
        let counted = Counted::new(&mutator, 3);
        let rest = fixture.run("run", &counted).unwrap();
        for ask in counted.seen.into_inner().unwrap() {
            assert!(seen.insert(ask), "{ask:?} was asked twice");
        }
        match rest {
            SearchRest::Paused { why } => assert!(why.contains("it is away"), "{why}"),
            SearchRest::Finished { .. } => break,
        }
        pauses += 1;
    }
    assert_eq!(pauses, 2, "8 steps by threes");
}

#[test]
fn three_workers_decide_as_they_would_in_any_order_of_results() {
    let mut fixture = Fixture::new();
    fixture.settings.workers = 3;
    let mutator = fixture.mutator();
    fixture.run("one", &mutator).unwrap();
    fixture.run("two", &mutator).unwrap();
    let (one, two) = (fixture.state("one"), fixture.state("two"));
    let decisions = |state: &RunState| -> Vec<_> {
        state.decided.iter().map(|(decision, _)| decision.clone()).collect()
    };
    assert_eq!(decisions(&one), decisions(&two));
    let found = |state: &RunState| -> Vec<_> {
        state.nodes.values().map(|node| (node.metric, node.submission.clone())).collect()
    };
    assert_eq!(found(&one), found(&two));
}

#[test]
fn every_way_to_fail_has_its_name() {
    let mut fixture = Fixture::new();
    (fixture.settings.steps, fixture.view.steps) = (1, 1);
    let sample = "import shutil\nshutil.copy('input/sample_submission.csv', 'submission.csv')\n";
    let score = "print('Validation score: 0.5')";
    let cases = [
        (format!("{sample}{score}"), NodeState::Good),
        (format!("{sample}{score}\n1 / 0"), NodeState::Buggy(Bug::NotFinished)),
        (sample.to_owned(), NodeState::Buggy(Bug::NoMetric)),
        (format!("{sample}print('Validation score: inf')"), NodeState::Buggy(Bug::NoMetric)),
        (score.to_owned(), NodeState::Buggy(Bug::NoSubmission)),
        (
            format!("open('submission.csv', 'w').write('id,y\\nr80,1\\n')\n{score}"),
            NodeState::Buggy(Bug::InvalidSubmission),
        ),
    ];
    for (index, (code, expected)) in cases.into_iter().enumerate() {
        let name = format!("case{index}");
        let rest = fixture.run(&name, &FixedScript::new("fixed", code.as_str())).unwrap();
        let node = fixture.state(&name).nodes.into_values().next().unwrap();
        assert_eq!(node.state, expected, "{code}");
        let submits = fixture.run_folder(&name).join("submission.csv").exists();
        // A script that fails after it left a valid submission is better than none.
        assert_eq!(submits, node.is_valid());
        let chosen = node.is_valid().then_some(node.id);
        assert_eq!(rest, SearchRest::Finished { chosen, why: SearchEnd::Steps });
    }
}

#[test]
fn answers_without_a_script_are_asked_for_again_and_then_end_the_search() {
    #[derive(Debug)]
    struct Chatter;
    impl Player for Chatter {
        fn name(&self) -> String {
            "chatter".to_owned()
        }
        fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
            let last = &ask.messages.last().unwrap().content;
            assert_eq!(ask.attempt > 0, last.contains("blocks of code"), "{last}");
            Ok(Answer::whole("I would use a forest."))
        }
    }
    let mut fixture = Fixture::new();
    (fixture.settings.steps, fixture.settings.most_refused) = (50, 4);
    let counted = Counted::new(&Chatter, usize::MAX);
    let rest = fixture.run("run", &counted).unwrap();
    assert_eq!(rest, SearchRest::Finished { chosen: None, why: SearchEnd::Refused });
    assert_eq!(counted.seen.into_inner().unwrap().len(), 4 * 3);
}

#[test]
fn judge_may_reject_a_script_and_its_summary_is_remembered() {
    #[derive(Debug)]
    struct Judge(FixedScript);
    impl Player for Judge {
        fn name(&self) -> String {
            "judge".to_owned()
        }
        fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
            match (ask.schema, ask.node.0, ask.attempt) {
                (None, ..) => self.0.answer(ask),
                (Some(_), 0, 0) => Ok(Answer::whole("It is fine, I think.")),
                (Some(_), 0, _) => Ok(Answer::whole(
                    "{\"is_bug\": true, \"summary\": \"It fits on nothing.\", \"metric\": 0.5}",
                )),
                _ => Ok(Answer::whole(
                    "Here: {\"is_bug\": false, \"summary\": \"A constant.\", \"metric\": null}",
                )),
            }
        }
    }
    let mut fixture = Fixture::new();
    fixture.settings.steps = 2;
    fixture.settings.operators = OperatorSettings { judge: true, ..OperatorSettings::default() };
    let code = "import shutil\nshutil.copy('input/sample_submission.csv', 'submission.csv')\n\
                print('Validation score: 0.5')";
    fixture.run("run", &Judge(FixedScript::new("fixed", code))).unwrap();
    let nodes: Vec<_> = fixture.state("run").nodes.into_values().collect();
    assert_eq!(nodes[0].state, NodeState::Buggy(Bug::Judged));
    assert_eq!(nodes[1].state, NodeState::Good);
    assert_eq!(nodes[1].judged.as_ref().unwrap().summary, "A constant.");
}

#[test]
fn run_with_other_settings_or_files_is_not_gone_on_with() {
    let mut fixture = Fixture::new();
    let mutator = fixture.mutator();
    fixture.run("run", &Counted::new(&mutator, 2)).unwrap();
    fixture.settings.steps = 30;
    let error = fixture.run("run", &mutator).unwrap_err();
    assert!(
        matches!(&error, SearchError::Journal(JournalError::OtherRun { differences, .. })
            if differences == &["`settings.steps` was 8, is 30"]),
        "{error}"
    );
    fixture.settings.steps = 8;
    let page = fixture.task().public().path().join("description.md");
    fs::write(&page, "Predict `y` from `b` and `a`.\n").unwrap();
    let error = fixture.run("run", &mutator).unwrap_err();
    assert!(
        matches!(&error, SearchError::TaskChanged(files) if files == &["description.md"]),
        "{error}"
    );
}
