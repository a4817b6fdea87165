//! What a run of FT-Agent has done: a line an event, on the disk before anything depends on it.
//!
//! The state of a run is a fold over these lines. A run that was killed asks the state what comes next,
//! so it goes on where it was, and what a planner answered, what was trained and what was scored is not
//! paid for again.

use super::check::{Check, Rejection, Stage};
use super::diagnosis::Evaluated;
use super::experiment::{Experiment, best_of};
use super::planner::Opinion;
use super::proposal::Proposal;
use crate::Digest;
use agents::synced_lines::{FolderLock, SyncedLines};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::io;

/// The version of `journal.jsonl`.
const VERSION: u32 = 1;
/// The file.
const FILE: &str = "journal.jsonl";
/// Held by the process that works on the run.
const LOCK: &str = ".lock";

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum FtEvent {
    /// The first line.
    Began {
        /// The version of the journal.
        version: u32,
        /// The task.
        task: String,
        /// The hash of settings, planner and base: with others a run does not go on.
        asked: Digest,
    },
    /// The base was scored.
    Baseline {
        /// Its scores.
        evaluated: Evaluated,
    },
    /// The planner made a proposal.
    Proposed {
        /// The number of its experiment, from 1.
        experiment: u32,
        /// The experiment that it is made from.
        parent: Option<u32>,
        /// The proposal.
        proposal: Proposal,
    },
    /// The planner wrote script and settings, which lie in the folder of the experiment.
    Drafted {
        /// The hash of the script.
        script: Digest,
        /// The hash of the settings.
        config: Digest,
    },
    /// The draft went through the checks, or failed in its full run and goes back to the planner.
    Checked {
        /// A line for each stage that was reached.
        checks: Vec<Check>,
        /// What the planner says of them.
        opinion: Option<Opinion>,
    },
    /// All of the data was made.
    Made {
        /// The hash of `data.json`.
        data: Digest,
        /// Samples in it.
        samples: usize,
        /// The line of the stage.
        check: Check,
    },
    /// The model was trained.
    Trained {
        /// The folder with its weights.
        checkpoint: Utf8PathBuf,
        /// The first and the last loss.
        losses: Option<(f64, f64)>,
        /// The line of the stage.
        check: Check,
    },
    /// An experiment has ended.
    Ended(Box<Experiment>),
    /// The run has.
    Over {
        /// Why.
        why: String,
    },
}

/// An experiment that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenExperiment {
    /// Its number.
    pub number: u32,
    /// The experiment that it is made from.
    pub parent: Option<u32>,
    /// What is tried.
    pub proposal: Proposal,
    /// Drafts so far.
    pub drafts: u32,
    /// The hashes of the last draft, while it was not rejected.
    pub draft: Option<(Digest, Digest)>,
    /// The stages so far, of all drafts.
    pub checks: Vec<Check>,
    /// Why the last draft was rejected, and what the planner said of it.
    pub rejected: Option<(Stage, Rejection, Option<Opinion>)>,
    /// Whether the last draft has passed its checks.
    pub passed: bool,
    /// The hash of the data.
    pub data: Option<Digest>,
    /// The weights, and the first and the last loss.
    pub trained: Option<(Utf8PathBuf, Option<(f64, f64)>)>,
}

/// The state of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FtState {
    /// The hash of what was asked for.
    pub asked: Option<Digest>,
    /// The scores of the base.
    pub baseline: Option<Evaluated>,
    /// The experiments that have ended, in order.
    pub experiments: Vec<Experiment>,
    /// The one that has not.
    pub open: Option<OpenExperiment>,
    /// Why the run is over, if it is.
    pub over: Option<String>,
}

impl FtState {
    /// The state after one more event.
    pub fn apply(&mut self, event: FtEvent) {
        match event {
            FtEvent::Began { asked, .. } => self.asked = Some(asked),
            FtEvent::Baseline { evaluated } => self.baseline = Some(evaluated),
            FtEvent::Proposed { experiment, parent, proposal } => {
                self.open = Some(OpenExperiment {
                    number: experiment,
                    parent,
                    proposal,
                    drafts: 0,
                    draft: None,
                    checks: Vec::new(),
                    rejected: None,
                    passed: false,
                    data: None,
                    trained: None,
                });
            }
            FtEvent::Ended(experiment) => {
                self.open = None;
                self.experiments.push(*experiment);
            }
            FtEvent::Over { why } => self.over = Some(why),
            event => {
                if let Some(open) = &mut self.open {
                    open.apply(event);
                }
            }
        }
    }

    /// The best experiment.
    pub fn best(&self) -> Option<&Experiment> {
        best_of(&self.experiments)
    }
}

impl OpenExperiment {
    fn apply(&mut self, event: FtEvent) {
        match event {
            FtEvent::Drafted { script, config } => {
                self.drafts += 1;
                self.draft = Some((script, config));
                // The rejection, the data and the model are those of the draft before.
                (self.rejected, self.passed) = (None, false);
                (self.data, self.trained) = (None, None);
            }
            FtEvent::Checked { checks, opinion } => {
                let rejected = checks.iter().find_map(|it| Some((it.stage, it.rejection()?)));
                self.rejected = rejected.map(|(stage, rejection)| (stage, rejection, opinion));
                self.passed = self.rejected.is_none();
                self.checks.extend(checks);
            }
            FtEvent::Made { data, check, .. } => {
                self.data = Some(data);
                self.checks.push(check);
            }
            FtEvent::Trained { checkpoint, losses, check } => {
                self.trained = Some((checkpoint, losses));
                self.checks.push(check);
            }
            _ => {}
        }
    }
}

/// A journal that is being written, and the state that follows from it.
#[derive(Debug)]
pub struct Journal {
    lines: SyncedLines,
    state: FtState,
    /// Held while the journal is open.
    _lock: FolderLock,
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It could not be read or written.
    #[error("failed to read or write the journal")]
    Io(#[from] io::Error),
    /// A line is no event.
    #[error(
        "`{path}` line {line} is no event of version {VERSION}; name another folder for the run"
    )]
    Line {
        /// The file.
        path: Utf8PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Another process goes on with the run.
    #[error("another process works on the run in `{0}`; wait for it, or name another folder")]
    Busy(Utf8PathBuf),
    /// It is of a run with other settings.
    #[error("`{0}` is of a run with other settings, planner or base; name another folder")]
    OtherRun(Utf8PathBuf),
}

impl Journal {
    /// Begins the journal in `folder`, or goes on with the one that is there, if it is of the same run.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(folder: &Utf8Path, task: &str, asked: Digest) -> Result<Self, JournalError> {
        fs::create_dir_all(folder)?;
        let held = FolderLock::take(&folder.join(LOCK))?;
        let held = held.ok_or_else(|| JournalError::Busy(folder.to_owned()))?;
        let path = folder.join(FILE);
        let mut state = FtState::default();
        // A line that is torn never happened, and is removed.
        let lines = SyncedLines::open(&path)?;
        for (place, line) in fs::read_to_string(&path)?.lines().enumerate() {
            let event = serde_json::from_str(line).map_err(|source| JournalError::Line {
                path: path.clone(),
                line: place + 1,
                source,
            })?;
            state.apply(event);
        }
        let mut journal = Self { lines, state, _lock: held };
        match journal.state.asked {
            Some(found) if found != asked => return Err(JournalError::OtherRun(path)),
            Some(_) => {}
            None => {
                journal.append(FtEvent::Began {
                    version: VERSION,
                    task: task.to_owned(),
                    asked,
                })?;
            }
        }
        Ok(journal)
    }

    /// Writes an event down. When this returns, it is on the disk.
    ///
    /// # Errors
    /// An I/O error.
    pub fn append(&mut self, event: FtEvent) -> io::Result<()> {
        self.lines.append(std::slice::from_ref(&event))?;
        self.state.apply(event);
        Ok(())
    }

    /// The state so far.
    pub fn state(&self) -> &FtState {
        &self.state
    }
}

#[cfg(test)]
mod tests {
    use super::super::accept::Acceptance;
    use super::super::check::{CheckOutcome, ErrorClass};
    use super::super::diagnosis::tests::evaluated;
    use super::super::experiment::ExperimentOutcome;
    use super::super::proposal::tests::proposal;
    use super::*;
    use std::io::Write as _;

    fn experiment(number: u32, primary: f64, accepted: bool) -> Experiment {
        let acceptance = Acceptance { accepted, gain: 0.1, agree: 0.9 };
        let mut evaluated = evaluated(&[1.0, 0.0], "wrong");
        evaluated.primary = primary;
        Experiment {
            number,
            parent: None,
            proposal: proposal(),
            digests: None,
            checks: Vec::new(),
            outcome: ExperimentOutcome::Evaluated {
                evaluated: Box::new(evaluated),
                acceptance,
                losses: Some((2.0, 1.0)),
            },
            diagnosis: None,
        }
    }

    fn events() -> Vec<FtEvent> {
        let digest = Digest::of(b"a");
        let passed = |stage| Check { stage, outcome: CheckOutcome::Passed, seconds: 0.5 };
        let rejected = CheckOutcome::Rejected { class: ErrorClass::Data, message: "no".into() };
        let rejected = Check { stage: Stage::Debug, outcome: rejected, seconds: 1.0 };
        let propose =
            |experiment| FtEvent::Proposed { experiment, parent: None, proposal: proposal() };
        vec![
            FtEvent::Baseline { evaluated: evaluated(&[0.0, 1.0], "format") },
            propose(1),
            FtEvent::Drafted { script: digest, config: digest },
            FtEvent::Checked { checks: vec![passed(Stage::Static), rejected], opinion: None },
            FtEvent::Drafted { script: digest, config: digest },
            FtEvent::Checked { checks: vec![passed(Stage::Static)], opinion: None },
            FtEvent::Made { data: digest, samples: 9, check: passed(Stage::Data) },
            FtEvent::Trained {
                checkpoint: "sft".into(),
                losses: None,
                check: passed(Stage::Train),
            },
            FtEvent::Ended(Box::new(experiment(1, 0.3, true))),
            propose(2),
            FtEvent::Ended(Box::new(experiment(2, 0.5, false))),
            FtEvent::Over { why: "loops".into() },
        ]
    }

    #[test]
    fn journal_that_is_reopened_after_any_line_or_half_a_line_has_the_same_state() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let asked = Digest::of(b"settings");
        let mut expected = FtState { asked: Some(asked), ..FtState::default() };
        for event in events() {
            let mut journal = Journal::open(folder, "aime", asked).unwrap();
            assert_eq!(journal.state(), &expected);
            journal.append(event.clone()).unwrap();
            expected.apply(event);
            drop(journal);
            // As if it was killed while it wrote the next line.
            let mut file = fs::OpenOptions::new().append(true).open(folder.join(FILE)).unwrap();
            file.write_all(b"{\"event\":\"ov").unwrap();
        }
        let journal = Journal::open(folder, "aime", asked).unwrap();
        assert_eq!(journal.state(), &expected);
        assert_eq!(journal.state().best().map(|best| best.number), Some(1));
        assert_eq!(journal.state().experiments.len(), 2);
        let busy = Journal::open(folder, "aime", asked).unwrap_err();
        assert!(matches!(busy, JournalError::Busy(_)));
        drop(journal);
        let other = Journal::open(folder, "aime", Digest::of(b"other")).unwrap_err();
        assert!(matches!(other, JournalError::OtherRun(_)));
        fs::write(folder.join(FILE), "{\"event\":\"guess\"}\n").unwrap();
        assert!(matches!(
            Journal::open(folder, "aime", asked),
            Err(JournalError::Line { line: 1, .. })
        ));
    }

    #[test]
    fn rejected_draft_leaves_its_reason_and_the_next_one_begins_anew() {
        let mut state = FtState::default();
        for event in events().into_iter().take(4) {
            state.apply(event);
        }
        let open = state.open.as_ref().unwrap();
        let (stage, rejection, _) = open.rejected.as_ref().unwrap();
        assert_eq!((*stage, rejection.class, open.passed), (Stage::Debug, ErrorClass::Data, false));
        for event in events().into_iter().skip(4).take(2) {
            state.apply(event);
        }
        let open = state.open.as_ref().unwrap();
        assert_eq!((open.drafts, open.passed, open.rejected.is_none()), (2, true, true));
        assert_eq!(open.checks.len(), 3);
    }
}
