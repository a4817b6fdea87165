//! Questions of a search as training data, and as an environment.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use agents::play::{Reply, World as _};
use agents::reward::RewardWeights;
use agents::run::agent::{AgentRun, TaskView};
use agents::run::node::Operator;
use agents::run::python::PythonFacts;
use agents::run::stop::AgentStop;
use agents::scaffold::mutator::Mutator;
use agents::script_cache::{CachedWorld, ScriptCache};
use agents::search::run::Search;
use agents::search::samples::{self, SearchReadError};
use agents::search::settings::SearchSettings;
use agents::search::world::OperatorWorld;
use agents::trajectory::{EpisodeEnding, Source, Tool};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::SandboxOptions;
use sandbox::env::{EpisodeConfig, EpisodeFault, TaskSuite};
use support::shifts;
use tasks::metrics::Direction;
use tasks::task::{Opening, TaskId};
use tasks::units::Span;

struct SearchedTask {
    folder: tempfile::TempDir,
    suite: TaskSuite,
    config: EpisodeConfig,
}

impl SearchedTask {
    /// A search of ten steps by the mutating player.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        let task = shifts::write(path);
        let options = SandboxOptions { slots: 1, spares: 1, ..SandboxOptions::default() };
        let suite = TaskSuite::open(&task, &Opening::default(), options).unwrap();
        let config = EpisodeConfig::default();
        let found = Self { folder, suite, config };
        let task = &found.suite.tasks()[0];
        let settings = SearchSettings { steps: 10, ..SearchSettings::default() };
        let direction = Direction::HigherIsBetter;
        let python = PythonFacts::ask(found.suite.sandbox()).unwrap();
        let view = TaskView::of(task, direction, &found.config.policy, &python, None).unwrap();
        let player = Mutator::new(task, direction, 4).unwrap().unwrap();
        let run = AgentRun {
            suite: &found.suite,
            task,
            config: &found.config,
            scaffold: "aide",
            view: &view,
            player: &player,
            knowledge: &(),
            guide: &(),
            trials: None,
            seed: 3,
            folder: &found.searches().join("deep/run"),
            stop: &AgentStop::default(),
            observer: &(),
        };
        Search { run, settings: &settings }.run().unwrap();
        found
    }

    fn searches(&self) -> Utf8PathBuf {
        Utf8Path::from_path(self.folder.path()).unwrap().join("searches")
    }
}

#[test]
fn every_node_is_a_question_with_the_answer_that_it_was_made_of() {
    let found = SearchedTask::new();
    let asks = samples::read(&found.searches()).unwrap();
    assert_eq!(asks.len(), 10);
    let metric = |id| asks.iter().find(|ask| ask.node.id == id).unwrap().node.metric;
    for ask in &asks {
        assert!(ask.prompt.user.contains("Predict `y`") || ask.prompt.system.contains("`y`"));
        let name = ask.operator.name();
        assert!(ask.id.as_str().starts_with(name), "{}", ask.id);
        let gains = ask.operator != Operator::Improve
            || ask.node.metric > ask.node.decision.parents.first().and_then(|id| metric(*id));
        assert_eq!(ask.is_gain, ask.node.is_good() && gains, "{:?}", ask.node);
        let trajectory = ask.trajectory();
        let sources: Vec<Source> = trajectory.segments.iter().map(|part| part.source).collect();
        assert_eq!(sources, [Source::Prompt, Source::Prompt, Source::Model]);
        assert!(trajectory.segments[2].text.contains("```python"));
        assert_eq!(trajectory.reward.total() > 0.5, ask.is_gain);
        let text = serde_json::to_string(&trajectory).unwrap();
        let back: agents::trajectory::Trajectory = serde_json::from_str(&text).unwrap();
        assert_eq!(back, trajectory);
    }
    let imitated = asks.iter().filter(|ask| ask.is_gain).count();
    assert!(imitated > 0 && imitated < asks.len(), "{imitated}");

    let nothing = samples::read(&found.searches().join("deep/run/blobs")).unwrap_err();
    assert!(matches!(nothing, SearchReadError::Nothing(_)), "{nothing}");
    let answer = agents::run::node::BlobHash::of(asks[0].answer.as_bytes());
    fs::write(found.searches().join("deep/run/blobs").join(answer.0), "changed").unwrap();
    let damaged = samples::read(&found.searches()).unwrap_err();
    assert!(matches!(damaged, SearchReadError::Journal(_)), "{damaged}");
}

/// An answer to the first question with this script, and what it earned.
fn earned(world: &OperatorWorld<'_>, answer: &str) -> (f64, Tool, bool) {
    let (id, _) = world.items().next().unwrap();
    let mut play = world.open(id).unwrap();
    assert_eq!(play.respond(answer).unwrap(), Reply::End(EpisodeEnding::Answered));
    let closed = play.close().unwrap();
    (closed.reward.total(), closed.turns[0].tool, closed.timed_out)
}

#[test]
fn answer_earns_the_grade_of_its_submission() {
    let mut found = SearchedTask::new();
    found.config.policy.time_limit = Span::seconds(3);
    let asks = samples::read(&found.searches()).unwrap();
    let weights = RewardWeights::DENSE;
    let world = OperatorWorld::new(&found.suite, &found.config, &weights, &asks);
    let items: Vec<&TaskId> = world.items().map(|(id, _)| id).collect();
    assert!(items.is_sorted() && items.len() <= 10);
    for ask in &asks {
        assert_eq!(world.prompt(&ask.id).unwrap(), ask.prompt);
    }
    let script = |body: &str| format!("A plan.\n\n```python\n{body}\n```\n");
    let perfect = script(
        "import pandas as pd\ntest = pd.read_csv('input/test.csv')\n\
         test['y'] = (test['a'] * test['b'] > 0).astype(float)\n\
         test[['id', 'y']].to_csv('submission.csv', index=False)",
    );
    let sample =
        script("import shutil\nshutil.copy('input/sample_submission.csv', 'submission.csv')");
    let (gold, ..) = earned(&world, &perfect);
    assert!((gold - 1.0).abs() < 1e-9, "{gold}");
    let (valid, ..) = earned(&world, &sample);
    assert!((valid - weights.format - weights.execute).abs() < 1e-9, "{valid}");
    let (ran, tool, _) = earned(&world, &script("print(1)"));
    assert!((ran - weights.format).abs() < 1e-9 && tool == Tool::Python, "{ran}");
    assert_eq!(earned(&world, "I would use a forest."), (0.0, Tool::Malformed, false));
    let (_, _, timed_out) = earned(&world, &script("import time\ntime.sleep(30)"));
    assert!(timed_out, "such answers are masked in training");

    let cache = ScriptCache::default();
    let cached_world = CachedWorld::new(&world, &cache);
    for is_cached in [false, true] {
        let mut play = cached_world.open(items[0]).unwrap();
        assert_eq!(play.respond(&perfect).unwrap(), Reply::End(EpisodeEnding::Answered));
        assert_eq!(play.turns()[0].cached, is_cached);
        assert_eq!(play.close().unwrap().reward.total(), gold);
    }

    let unknown = TaskId::new("draft-none").unwrap();
    assert!(world.prompt(&unknown).is_err());
    assert!(matches!(world.open(&unknown), Err(EpisodeFault::Execution(_))));
}
