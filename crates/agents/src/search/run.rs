//! Carries out a search: decides, asks, tries, and writes each event down before anything depends
//! on it.
//!
//! A run that was killed goes on: decisions are read from the journal, answers that were given are
//! not asked for again, and a script whose node is missing is run again.

use super::header::{JOURNAL_VERSION, RunHeader, changed_files, fingerprint};
use super::journal::{Blobs, Journal, JournalError, JournalLine, SearchEnd, journal_path};
use super::node::{BlobHash, Decision, Node, NodeId, NodeState, Operator};
use super::operator::{MemoryEntry, ParentView, TaskView};
use super::player::Player;
use super::policy::Progress;
use super::settings::{Memory, SearchSettings};
use super::state::RunState;
use super::step::{Known, RunClock, SearchRun, Undone};
use super::stop::SearchStop;
use super::tree::Tree;
use camino::Utf8Path;
use sandbox::env::{EpisodeConfig, EpisodeFault, TaskSuite};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;
use tasks::files;
use tasks::stream::Stream;
use tasks::task::Task;

/// A search on one task.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The task's sandbox and grader.
    pub suite: &'a TaskSuite,
    /// The task.
    pub task: &'a Task,
    /// Limits on scripts, and the feedback mode.
    pub config: &'a EpisodeConfig,
    /// Name of the scaffold, as in reports.
    pub scaffold: &'a str,
    /// Its settings.
    pub settings: &'a SearchSettings,
    /// What prompts say of the task.
    pub view: &'a TaskView,
    /// Who answers.
    pub player: &'a dyn Player,
    /// The seed of every draw.
    pub seed: u64,
    /// The folder of the run.
    pub folder: &'a Utf8Path,
    /// Ends it from outside.
    pub stop: &'a SearchStop,
    /// Is told of each line of the journal.
    pub observer: &'a dyn SearchObserver,
}

/// Is told of each line of a journal once it is on the disk, for progress bars.
pub trait SearchObserver: Debug + Sync {
    /// A line was written.
    fn line(&self, line: &JournalLine);
}

/// Nobody.
impl SearchObserver for () {
    fn line(&self, _: &JournalLine) {}
}

/// Nodes on their way into the tree.
struct Results {
    /// Those that are in and were not seen yet.
    arrived: BTreeMap<NodeId, Node>,
    receiver: Receiver<Result<Node, Undone>>,
    /// Those that are being worked on.
    in_flight: usize,
    /// Those that are in the tree.
    seen: usize,
}

impl Results {
    /// Adds nodes to the tree in the order of decisions, until only the last `behind` are left out.
    fn see(&mut self, tree: &mut Tree, behind: usize) -> Result<(), Undone> {
        while self.seen + behind < tree.len() {
            let id = NodeId(u32::try_from(self.seen).expect("fewer than 2^32 nodes"));
            if let Some(node) = self.arrived.remove(&id) {
                tree.complete(node);
                self.seen += 1;
            } else {
                assert!(self.in_flight > 0, "node {id} is neither here nor under way");
                self.in_flight -= 1;
                let node = self.receiver.recv().expect("the search holds a sender")?;
                self.arrived.insert(node.id, node);
            }
        }
        Ok(())
    }
}

/// How a search came to rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchRest {
    /// It is over. The submission of the chosen node, if there is one, is `submission.csv` in the
    /// folder of the run.
    Finished {
        /// The node whose submission counts.
        chosen: Option<NodeId>,
        /// Why it ended.
        why: SearchEnd,
    },
    /// It can go on: the player does not answer, or it was stopped.
    Paused {
        /// Why.
        why: String,
    },
}

/// Why a search cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// Its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file could not be read or written.
    #[error("failed to write down a run")]
    Io(#[from] std::io::Error),
    /// The jail, the interpreter or the grader failed. Nothing of it counts; what was written
    /// down before is kept.
    #[error("a script could not be tried")]
    Fault(#[from] EpisodeFault),
    /// The public files of the task are not those that the run began with.
    #[error("the task's files were changed since the run began: {}", .0.join(", "))]
    TaskChanged(Vec<String>),
}

impl Search<'_> {
    /// Begins the search, or goes on with it, until it is over or has to pause.
    ///
    /// # Errors
    /// [`SearchError`].
    pub fn run(&self) -> Result<SearchRest, SearchError> {
        self.config.check_feedback(self.task)?;
        let (mut journal, lines) = Journal::open(self.folder)?;
        let blobs = Blobs::new(self.folder);
        let header = self.header(&blobs)?;
        let state = RunState::from_lines(&journal_path(self.folder), lines)?;
        let state = if let Some(state) = state {
            self.check(&state.header, &header, &blobs)?;
            if let Some((chosen, why)) = state.finish {
                return Ok(SearchRest::Finished { chosen, why });
            }
            journal.append(&JournalLine::Resumed { clock: state.clock })?;
            state
        } else {
            journal.append(&JournalLine::Header(Box::new(header.clone())))?;
            RunState {
                header,
                decided: Vec::new(),
                nodes: BTreeMap::new(),
                asked: BTreeMap::new(),
                clock: 0.0,
                finish: None,
            }
        };
        let RunState { decided, nodes, asked, clock, .. } = state;
        let run = SearchRun {
            search: self,
            journal: Mutex::new(journal),
            blobs,
            clock: RunClock { before: clock, started: Instant::now() },
            asked,
        };
        let rest = self.decide_and_try(&run, decided, nodes);
        if let Ok(SearchRest::Paused { why }) = &rest {
            let clock = run.clock.now();
            run.append(&JournalLine::Paused { why: why.clone(), clock })?;
        }
        rest
    }

    fn header(&self, blobs: &Blobs) -> Result<RunHeader, SearchError> {
        let public = fingerprint(self.task.public().path())?;
        Ok(RunHeader {
            version: JOURNAL_VERSION,
            task: self.task.id().clone(),
            direction: self.view.direction,
            public: blobs.put(public.as_bytes())?,
            scaffold: self.scaffold.to_owned(),
            settings: self.settings.clone(),
            player: self.player.name(),
            seed: self.seed,
            feedback: self.config.feedback,
            data: self.task.data_source(),
            limits: self.config.policy.clone(),
            submission_limit: self.config.submission_limit,
            tier: self.suite.sandbox().tier(),
            python: self.view.python.clone(),
        })
    }

    /// Whether a run that began with `old` may go on with `new`.
    fn check(&self, old: &RunHeader, new: &RunHeader, blobs: &Blobs) -> Result<(), SearchError> {
        if old.public != new.public {
            let changed = changed_files(&blobs.text(&old.public)?, &blobs.text(&new.public)?);
            return Err(SearchError::TaskChanged(changed));
        }
        let differences = old.differences(new);
        if differences.is_empty() {
            return Ok(());
        }
        Err(JournalError::OtherRun { path: self.folder.to_owned(), differences }.into())
    }

    /// The loop: a decision is taken once all nodes but the last `workers - 1` are in, whichever of
    /// those are, so that what a decision sees does not depend on how fast scripts are.
    fn decide_and_try(
        &self,
        run: &SearchRun<'_>,
        decided: Vec<(Decision, f64)>,
        arrived: BTreeMap<NodeId, Node>,
    ) -> Result<SearchRest, SearchError> {
        let mut tree = Tree::new(self.view.direction);
        let (sender, receiver) = channel();
        let mut results = Results { arrived, receiver, in_flight: 0, seen: 0 };
        let why = std::thread::scope(|scope| {
            let why = self.decide(run, decided, &mut tree, &mut results, |id, decision, known| {
                let sender = sender.clone();
                scope.spawn(move || {
                    // Nobody listens once the search is being left.
                    let _ = sender.send(run.carry_out(id, &decision, &known));
                });
            });
            // Scripts in flight are finished, or end because they are stopped.
            why.and_then(|why| results.see(&mut tree, 0).map(|()| why))
        });
        match why {
            Ok(why) => self.finish(run, &tree, why),
            Err(Undone::Paused(why)) => Ok(SearchRest::Paused { why }),
            Err(Undone::Failed(error)) => Err(error),
        }
    }

    /// Takes decisions, those of earlier starts first, and hands each that has no node to `carry_out`,
    /// until there are no more to take.
    fn decide(
        &self,
        run: &SearchRun<'_>,
        decided: Vec<(Decision, f64)>,
        tree: &mut Tree,
        results: &mut Results,
        mut carry_out: impl FnMut(NodeId, Decision, Known),
    ) -> Result<SearchEnd, Undone> {
        let behind = self.settings.workers.max(1) as usize - 1;
        let mut decided = decided.into_iter();
        loop {
            results.see(tree, behind)?;
            let (decision, is_new) = match decided.next() {
                Some((decision, _)) => (decision, false),
                None => match self.choose(run, tree, results)? {
                    Ok(decision) => (decision, true),
                    Err(why) => return Ok(why),
                },
            };
            let id = tree.decide(decision.clone());
            if is_new {
                let clock = run.clock.now();
                run.append(&JournalLine::Decided { node: id, decision: decision.clone(), clock })?;
            }
            if !results.arrived.contains_key(&id) {
                // What the player is shown is settled here, before other results come in.
                let known = self.known(tree, &decision, run)?;
                results.in_flight += 1;
                carry_out(id, decision, known);
            }
        }
    }

    /// The next decision, or why there is none.
    fn choose(
        &self,
        run: &SearchRun<'_>,
        tree: &mut Tree,
        results: &mut Results,
    ) -> Result<Result<Decision, SearchEnd>, Undone> {
        if self.stop.is_asked() {
            return Err(Undone::Paused("it was stopped".to_owned()));
        }
        let clock = run.clock.now();
        if let Some(why) = self.end(tree, clock) {
            return Ok(Err(why));
        }
        let policy = self.settings.policy.policy();
        let stream = Stream::root(self.seed).child(self.task.id().as_str()).child("policy");
        loop {
            let progress = self.progress(tree.len(), clock);
            let mut draws = stream.index(tree.len() as u64).rng();
            if let Some(decision) = policy.next(tree, progress, &mut draws) {
                return Ok(Ok(decision));
            }
            if results.seen == tree.len() {
                return Ok(Err(SearchEnd::Exhausted));
            }
            // What is still being worked on may open something to try.
            results.see(tree, 0)?;
        }
    }

    /// Writes down the end of a search, with the submission that counts.
    fn finish(
        &self,
        run: &SearchRun<'_>,
        tree: &Tree,
        why: SearchEnd,
    ) -> Result<SearchRest, SearchError> {
        let chosen = tree.chosen();
        if let Some(submission) = chosen.and_then(|node| node.submission.as_ref()) {
            let bytes = run.blobs.get(submission)?;
            files::write_atomic(&self.folder.join("submission.csv"), &bytes)?;
        }
        let chosen = chosen.map(|node| node.id);
        run.append(&JournalLine::Finish { chosen, why, clock: run.clock.now() })?;
        Ok(SearchRest::Finished { chosen, why })
    }

    /// Why no more decisions are taken, if so.
    fn end(&self, tree: &Tree, clock: f64) -> Option<SearchEnd> {
        let refused = |node: &&Node| matches!(node.state, NodeState::Refused { .. });
        if tree.len() >= self.settings.steps as usize {
            Some(SearchEnd::Steps)
        } else if clock >= self.settings.seconds as f64 {
            Some(SearchEnd::Time)
        } else if tree.nodes().rev().take_while(refused).count()
            >= self.settings.most_refused as usize
        {
            Some(SearchEnd::Refused)
        } else {
            None
        }
    }

    fn progress(&self, steps: usize, clock: f64) -> Progress {
        Progress {
            steps: steps as f64 / f64::from(self.settings.steps.max(1)),
            time: clock / (self.settings.seconds.max(1) as f64),
        }
    }

    /// What the player may be shown for a decision that was just added to `tree`.
    fn known(
        &self,
        tree: &Tree,
        decision: &Decision,
        run: &SearchRun<'_>,
    ) -> Result<Known, JournalError> {
        let settings = &self.settings.operators;
        let show = |id: NodeId| -> Result<ParentView, JournalError> {
            let node = tree.node(id);
            let text = |hash: Option<&BlobHash>| {
                hash.map_or_else(|| Ok(String::new()), |hash| run.blobs.text(hash))
            };
            Ok(ParentView {
                code: text(node.and_then(|node| node.code.as_ref()))?,
                output: text(node.and_then(|node| node.output.as_ref()))?,
                metric: node.filter(|node| node.is_good()).and_then(|node| node.metric),
            })
        };
        let parents = decision.parents.iter().map(|&id| show(id)).collect::<Result<_, _>>()?;
        let mut failed = Vec::new();
        if settings.failed_chain && decision.operator == Operator::Debug {
            let mut at = decision.parents.first().copied();
            while let Some(id) = at.filter(|&id| tree.debug_depth(id) > 0) {
                at = tree.parent(id);
                failed.extend(at.map(show).transpose()?);
            }
            failed.reverse();
        }
        let remember = |node: &Node| MemoryEntry {
            plan: node.plan.clone(),
            result: match (&node.judged, &node.state) {
                (Some(verdict), _) => verdict.summary.clone(),
                (None, NodeState::Good) => String::new(),
                (None, _) => "it failed".to_owned(),
            },
            metric: node.metric.filter(|_| node.is_good()),
        };
        let memory = match settings.memory {
            Memory::None => Vec::new(),
            Memory::Good => tree.good().map(remember).collect(),
            Memory::Siblings => {
                let siblings =
                    decision.parents.first().map_or(tree.roots(), |&id| tree.children(id));
                siblings.iter().filter_map(|&id| tree.node(id)).map(remember).collect()
            }
        };
        let taken = u32::try_from(tree.len()).unwrap_or(u32::MAX);
        Ok(Known {
            parents,
            failed,
            memory,
            steps_left: self.settings.steps.saturating_sub(taken) + 1,
        })
    }
}
