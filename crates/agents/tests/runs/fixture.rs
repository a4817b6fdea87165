//! A small task, and a player that counts.

use agents::guide::channel::GuideSource;
use agents::preset::ScaffoldSettings;
use agents::run::agent::{AgentRest, AgentRun, AgentRunError, TaskView};
use agents::run::journal::{JournalLine, journal_path, read_lines};
use agents::run::knowledge::KnowledgeSource;
use agents::run::player::{Answer, Ask, Player, PlayerFault};
use agents::run::python::PythonFacts;
use agents::run::state::RunState;
use agents::run::stop::AgentStop;
use agents::run::trial::TrialCache;
use agents::scaffold::mutator::Mutator;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::SandboxOptions;
use sandbox::env::{EpisodeConfig, Feedback, TaskSuite};
use std::sync::Mutex;
use support::shifts;
use tasks::metrics::Direction;
use tasks::task::{Opening, Task};

/// A task of two classes that two columns decide together, and a sandbox for it.
pub(crate) struct Fixture {
    folder: tempfile::TempDir,
    pub(crate) suite: TaskSuite,
    pub(crate) view: TaskView,
    pub(crate) config: EpisodeConfig,
    /// Where runs get tricks.
    pub(crate) knowledge: Box<dyn KnowledgeSource>,
    /// Where runs get the channel to people.
    pub(crate) guide: Box<dyn GuideSource>,
    /// What recalls scripts that recur.
    pub(crate) trials: Option<TrialCache>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = shifts::write(Utf8Path::from_path(folder.path()).unwrap());
        let options =
            SandboxOptions { slots: 2, spares: 1, warm_up: false, ..SandboxOptions::default() };
        let suite = TaskSuite::open(&path, &Opening::default(), options).unwrap();
        let config = EpisodeConfig { feedback: Feedback::Validate, ..EpisodeConfig::default() };
        let python = PythonFacts::ask(suite.sandbox()).unwrap();
        let direction = Direction::HigherIsBetter;
        let view =
            TaskView::of(&suite.tasks()[0], direction, &config.policy, &python, None).unwrap();
        Self {
            folder,
            suite,
            view,
            config,
            knowledge: Box::new(()),
            guide: Box::new(()),
            trials: None,
        }
    }

    pub(crate) fn task(&self) -> &Task {
        &self.suite.tasks()[0]
    }

    pub(crate) fn run_folder(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.folder.path()).unwrap().join(name)
    }

    pub(crate) fn mutator(&self) -> Mutator {
        Mutator::new(self.task(), Direction::HigherIsBetter, 1).unwrap().unwrap()
    }

    pub(crate) fn play(
        &self,
        name: &str,
        settings: &ScaffoldSettings,
        player: &dyn Player,
    ) -> Result<AgentRest, AgentRunError> {
        let folder = self.run_folder(name);
        settings.play(AgentRun {
            suite: &self.suite,
            task: self.task(),
            config: &self.config,
            scaffold: "agent",
            view: &self.view,
            player,
            knowledge: &*self.knowledge,
            guide: &*self.guide,
            trials: self.trials.as_ref(),
            seed: 3,
            folder: &folder,
            stop: &AgentStop::default(),
            observer: &(),
        })
    }

    pub(crate) fn state(&self, name: &str) -> RunState {
        let path = journal_path(&self.run_folder(name));
        RunState::from_lines(&path, read_lines(&path).unwrap()).unwrap().unwrap()
    }

    /// The journal without times, and without the notes that it paused and went on.
    pub(crate) fn timeless(&self, name: &str) -> Vec<String> {
        let lines = read_lines(&journal_path(&self.run_folder(name))).unwrap();
        let kept = lines.into_iter().filter_map(|mut line| {
            match &mut line {
                JournalLine::Paused { .. } | JournalLine::Resumed { .. } => return None,
                JournalLine::Header(_) | JournalLine::Guided { .. } | JournalLine::Heard { .. } => {
                }
                JournalLine::Knowledge { clock, .. }
                | JournalLine::Decided { clock, .. }
                | JournalLine::Finish { clock, .. } => {
                    *clock = 0.0;
                }
                JournalLine::Asked(facts) => {
                    facts.seconds = 0.0;
                    // The time that is left is part of the prompt.
                    facts.prompt.0.clear();
                }
                JournalLine::Node(node) => {
                    node.ended_at = 0.0;
                    if let Some(run) = &mut node.run {
                        (run.wall, run.processor, run.peak_memory) = (0.0, 0.0, 0);
                    }
                }
                JournalLine::Turn(turn) => (turn.ended_at, turn.record.seconds) = (0.0, 0.0),
            }
            Some(serde_json::to_string(&line).unwrap())
        });
        kept.collect()
    }

    /// Copies the run `whole` up to byte `end` of its journal.
    pub(crate) fn cut(&self, whole: &str, name: &str, end: usize) {
        let (whole, folder) = (self.run_folder(whole), self.run_folder(name));
        fs::create_dir_all(folder.join("blobs")).unwrap();
        for blob in whole.join("blobs").read_dir_utf8().unwrap() {
            let blob = blob.unwrap();
            fs::copy(blob.path(), folder.join("blobs").join(blob.file_name())).unwrap();
        }
        let bytes = fs::read(journal_path(&whole)).unwrap();
        fs::write(journal_path(&folder), &bytes[..end]).unwrap();
    }

    /// Goes on with the run `whole` from after each of its lines, and from within the next; every
    /// time it must come to the same journal, and ask for no answer twice.
    pub(crate) fn assert_goes_on_from_every_line(
        &self,
        settings: &ScaffoldSettings,
        player: &dyn Player,
    ) {
        let asks = |lines: &[JournalLine]| {
            lines.iter().filter(|line| matches!(line, JournalLine::Asked(_))).count()
        };
        let all = asks(&read_lines(&journal_path(&self.run_folder("whole"))).unwrap());
        for (known, seen) in self.assert_same_from_every_line(settings, player) {
            assert_eq!(seen, all - asks(&known), "no answer is asked for twice");
        }
    }

    /// The same, where a player may have been asked what it cannot answer: only that each comes to the same
    /// journal. For each cut, what was left of the journal and how often the player was asked then.
    pub(crate) fn assert_same_from_every_line(
        &self,
        settings: &ScaffoldSettings,
        player: &dyn Player,
    ) -> Vec<(Vec<JournalLine>, usize)> {
        let whole = self.timeless("whole");
        let bytes = fs::read(journal_path(&self.run_folder("whole"))).unwrap();
        let ends: Vec<usize> =
            (0..bytes.len()).filter(|&at| bytes[at] == b'\n').map(|at| at + 1).collect();
        let mut all = Vec::new();
        for (index, end) in ends[..ends.len() - 1].iter().enumerate() {
            let name = format!("cut{index}");
            // With the beginning of the next line, as a killed writer leaves it.
            self.cut("whole", &name, end + 10);
            let known = read_lines(&journal_path(&self.run_folder(&name))).unwrap();
            let counted = Counted::new(player, usize::MAX);
            self.play(&name, settings, &counted).unwrap();
            assert_eq!(self.timeless(&name), whole, "cut after line {}", index + 1);
            all.push((known, counted.seen.into_inner().unwrap().len()));
        }
        all
    }
}

/// Counts questions, and answers like another player until its answers are used up.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    inner: &'a dyn Player,
    left: usize,
    pub(crate) seen: Mutex<Vec<(u32, &'static str, u32)>>,
}

impl<'a> Counted<'a> {
    pub(crate) fn new(inner: &'a dyn Player, left: usize) -> Self {
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
