//! The files of a run, whatever of them is there.

use crate::agents::AgentSpec;
use crate::audit::{AuditError, AuditReport, audit};
use crate::clock::PauseReason;
use crate::contamination::ContaminationScan;
use crate::digest::Digest;
use crate::gateway::{self, GatewayLine, GatewayTotals, read_gateway_lines};
use crate::grade::Results;
use crate::ledger::{LedgerError, Protocol, SealedEntry, State, read_lines, replay};
use crate::record::{CodeChange, CodeSnapshot, CodeSnapshots, Moment, ToolUse, changes, read_uses};
use crate::run::{AGENT_END, AgentEnd, LOG, RunRecord, SNAPSHOTS, USES};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::Serialize;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use worlds::{Part, TaskSpec};

/// Bytes of what an agent printed that are looked at between two submissions, from the end.
const LOG_BYTES: u64 = 1 << 20;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file could not be read or written.
    #[error("failed to read a run or to write a report")]
    Io(#[from] io::Error),
    /// There is no run in a folder.
    #[error("`{0}` has no run.toml, and no folder in it has; name folders of `posttrain run`")]
    NoRun(Utf8PathBuf),
    /// A file of a run has another form than this program writes.
    #[error("`{0}` cannot be read: {1}")]
    Form(Utf8PathBuf, String),
    /// The run cannot be audited.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// Two runs have one name.
    #[error("two runs are named `{0}`; report them apart, or rename a folder")]
    Twice(String),
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It has no ledger yet.
    NotBegun,
    /// Its ledger was changed or damaged, so nothing of it counts; the audit says where.
    Untrusted,
    /// It goes on, or its program was killed.
    Unfinished,
    /// It was interrupted, and its clock stands still.
    Interrupted,
    /// It has its final scores.
    Finished,
}

impl RunState {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotBegun => "not begun",
            Self::Untrusted => "untrusted",
            Self::Unfinished => "unfinished",
            Self::Interrupted => "interrupted",
            Self::Finished => "finished",
        }
    }
}

/// The files of a run.
#[derive(Debug)]
pub(super) struct RunFiles {
    pub(super) folder: Utf8PathBuf,
    pub(super) record: RunRecord,
    pub(super) agent: Option<AgentSpec>,
    pub(super) lines: Vec<SealedEntry>,
    /// None before the first line, and where the ledger cannot be trusted.
    pub(super) ledger: Option<State>,
    pub(super) audit: Option<AuditReport>,
    pub(super) end: Option<AgentEnd>,
    pub(super) uses: Vec<ToolUse>,
    /// What was asked of chat models; none where there was no gateway to any.
    pub(super) chat: Option<Vec<GatewayLine>>,
    pub(super) forbidden: Vec<String>,
    /// Sealed items in the agent's texts; none before the end.
    pub(super) contamination: Option<ContaminationScan>,
    snapshots: CodeSnapshots,
}

impl RunFiles {
    /// Reads the run in `folder`.
    pub(super) fn read(folder: &Utf8Path) -> Result<Self, ReportError> {
        let file = folder.join("run.toml");
        let form = |file: &Utf8Path, error: &dyn std::fmt::Display| {
            ReportError::Form(file.to_owned(), error.to_string())
        };
        let record: RunRecord =
            toml::from_str(&fs::read_to_string(&file)?).map_err(|error| form(&file, &error))?;
        let sealed = folder.join("sealed");
        let has_ledger = sealed.join("ledger.jsonl").is_file();
        // The audit says what is wrong with lines that cannot be read.
        let (lines, ledger) = match has_ledger.then(|| read_lines(&sealed)) {
            Some(Ok(lines)) => {
                let ledger = replay(&sealed, &lines).ok();
                (lines, ledger)
            }
            Some(Err(LedgerError::Io(error))) => return Err(error.into()),
            Some(Err(_)) | None => (Vec::new(), None),
        };
        let end = sealed.join(AGENT_END);
        let read_end = || -> Result<AgentEnd, ReportError> {
            serde_json::from_slice(&fs::read(&end)?).map_err(|error| form(&end, &error))
        };
        let end = end.is_file().then(read_end).transpose()?;
        let chat = sealed.join(gateway::LINES);
        let text = |path: &str| fs::read_to_string(folder.join(path)).ok();
        let agent = text("agent/agent.toml").and_then(|text| AgentSpec::from_toml(&text).ok());
        Ok(Self {
            record,
            agent,
            audit: has_ledger.then(|| audit(&sealed, None)).transpose()?,
            ledger,
            lines,
            end,
            uses: read_uses(&folder.join(USES))?,
            chat: chat.exists().then(|| read_gateway_lines(&chat)).transpose()?,
            contamination: ContaminationScan::read(&sealed)?,
            forbidden: forbidden(&folder.join("workspace/data")),
            snapshots: CodeSnapshots::new(
                folder.join("workspace/code"),
                folder.join(SNAPSHOTS),
                None,
            ),
            folder: folder.to_owned(),
        })
    }

    pub(super) fn state(&self) -> RunState {
        match &self.ledger {
            None if self.audit.is_some() => RunState::Untrusted,
            None => RunState::NotBegun,
            Some(ledger) if ledger.ended().is_some() && ledger.next_final().is_none() => {
                RunState::Finished
            }
            Some(ledger) if ledger.spending().is_paused_for(PauseReason::Operator) => {
                RunState::Interrupted
            }
            Some(_) => RunState::Unfinished,
        }
    }

    /// The snapshot at a moment, and what changed since the one before.
    pub(super) fn code(
        &self,
        moment: Moment,
        before: Option<&CodeSnapshot>,
    ) -> (Option<CodeSnapshot>, Vec<CodeChange>) {
        let Some(snapshot) = self.snapshots.read(moment) else { return (None, Vec::new()) };
        // A run that goes on may be writing.
        let changes = changes(&self.snapshots, before, &snapshot).unwrap_or_default();
        (Some(snapshot), changes)
    }

    /// The code of a snapshot, by path.
    pub(super) fn texts(&self, snapshot: &CodeSnapshot) -> Vec<(String, String)> {
        let text = |file: &crate::record::CodeFile| {
            Some((file.path.clone(), self.snapshots.text(file.hash).ok().flatten()?))
        };
        snapshot.files.iter().filter_map(text).collect()
    }

    /// What the agent printed from the byte `from` on, up to the byte `to`; the end of it where it is long.
    pub(super) fn log(&self, from: u64, to: Option<u64>) -> String {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = fs::File::open(self.folder.join(LOG))?;
            let to = to.unwrap_or(file.metadata()?.len());
            let from = from.max(to.saturating_sub(LOG_BYTES));
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(to.saturating_sub(from)).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
    }

    /// The results of a model, on what submissions are scored on.
    pub(super) fn results(&self, model: Digest) -> Option<Results> {
        let part = match self.record.protocol {
            Protocol::Sealed => Part::Dev,
            Protocol::Paper => Part::Test,
        };
        let results = Results::read(&self.sealed().join("results"), part, model);
        results.ok().flatten().map(|(results, _)| results)
    }

    /// What was taken from chat models; none where there was no gateway to any.
    pub(super) fn chat_totals(&self) -> Option<GatewayTotals> {
        self.chat.as_ref().map(GatewayTotals::of)
    }

    /// Tokens of the answers that were there when so many milliseconds of the budget were used.
    pub(super) fn tokens_until(&self, used_ms: u64) -> Option<u64> {
        let lines = self.chat.as_ref()?.iter();
        let there = lines.filter(|line| line.used_ms <= used_ms && line.is_end());
        Some(GatewayTotals::of(there).tokens())
    }

    pub(super) fn sealed(&self) -> Utf8PathBuf {
        self.folder.join("sealed")
    }
}

/// The words that the tasks forbid: of the one in `data`, or of those in its folders.
fn forbidden(data: &Utf8Path) -> Vec<String> {
    let words = |folder: &Utf8Path| {
        let text = fs::read_to_string(folder.join("task.toml")).ok()?;
        Some(TaskSpec::from_toml(&text).ok()?.forbidden)
    };
    let folders = data.read_dir_utf8().into_iter().flatten().filter_map(Result::ok);
    let several = folders.filter_map(|entry| words(entry.path())).flatten();
    let mut all: Vec<String> = words(data).unwrap_or_default().into_iter().chain(several).collect();
    all.sort();
    all.dedup();
    all
}
