//! The folder of a run, and what of an earlier start is in it.

use super::result::RunResult;
use super::settings::RunRecord;
use super::story::RunError;
use crate::gateway::{self, GatewayTotals, read_gateway_lines};
use crate::record::CodeSnapshots;
use crate::workspace::Workspace;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::program::ProgramReport;
use serde::{Deserialize, Serialize};
use tasks::files;

/// What came of a run.
const RESULT: &str = "result.json";
/// How its agent ended, in the sealed folder.
pub(crate) const AGENT_END: &str = "agent.json";
/// What the agent printed.
pub(crate) const LOG: &str = "agent.log";
/// Its code at each submission.
pub(crate) const SNAPSHOTS: &str = "snapshots";
/// Its uses of the toolbox.
pub(crate) const USES: &str = "uses.jsonl";

/// The folder of a run.
#[derive(Debug)]
pub(super) struct RunFolder {
    path: Utf8PathBuf,
}

/// How the agent of a run ended, in the sealed folder: a run that is started again does not start it
/// again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentEnd {
    pub(crate) isolation: super::IsolationReport,
    pub(crate) report: ProgramReport,
}

impl RunFolder {
    /// Makes the folder, or takes up the run that is in it.
    pub(super) fn claim(path: &Utf8Path, record: &RunRecord) -> Result<Self, RunError> {
        fs::create_dir_all(path)?;
        let path = path.canonicalize_utf8()?;
        let file = path.join("run.toml");
        if file.exists() {
            let before: RunRecord = toml::from_str(&fs::read_to_string(&file)?)
                .map_err(|error| RunError::Usage(format!("`{file}` cannot be read: {error}")))?;
            let differences = before.differences(record);
            if !differences.is_empty() {
                return Err(RunError::Usage(format!(
                    "`{path}` has a run with other settings ({}); name another folder, or start it as \
                     before",
                    differences.join(", ")
                )));
            }
        } else if path.read_dir_utf8()?.next().is_some() {
            return Err(RunError::Usage(format!(
                "`{path}` is not empty, and has no run; name another folder"
            )));
        } else {
            let text = toml::to_string(record).map_err(std::io::Error::other)?;
            files::write_atomic(&file, text.as_bytes())?;
        }
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Utf8Path {
        &self.path
    }

    pub(super) fn sealed(&self) -> Utf8PathBuf {
        self.path.join("sealed")
    }

    /// The file that the agent's output is added to.
    pub(super) fn log(&self) -> Result<fs::File, RunError> {
        Ok(fs::OpenOptions::new().create(true).append(true).open(self.path.join(LOG))?)
    }

    /// Where the agent's code is kept.
    pub(super) fn snapshots(&self, workspace: &Workspace) -> CodeSnapshots {
        let log = Some(self.path.join(LOG));
        CodeSnapshots::new(workspace.code(), self.path.join(SNAPSHOTS), log)
    }

    /// The record of the toolbox.
    pub(super) fn uses(&self) -> Utf8PathBuf {
        self.path.join(USES)
    }

    /// What the agent took from chat models; none if it has no gateway.
    pub(super) fn chat(&self) -> std::io::Result<Option<GatewayTotals>> {
        let file = self.sealed().join(gateway::LINES);
        let lines = || Ok(GatewayTotals::of(&read_gateway_lines(&file)?));
        file.exists().then(lines).transpose()
    }

    /// What came of the run, if it is finished.
    pub(super) fn result(&self) -> std::io::Result<Option<RunResult>> {
        let file = self.path.join(RESULT);
        if !file.exists() {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&fs::read(file)?)?))
    }

    pub(super) fn write_result(&self, result: &RunResult) -> std::io::Result<()> {
        files::write_json(&self.path.join(RESULT), result)
    }

    /// How the agent ended, if it did.
    pub(super) fn agent_end(&self) -> Result<Option<AgentEnd>, RunError> {
        let file = self.sealed().join(AGENT_END);
        if !file.exists() {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&fs::read(file)?).map_err(std::io::Error::other)?))
    }

    pub(super) fn write_agent_end(&self, end: &AgentEnd) -> Result<(), RunError> {
        Ok(files::write_json(&self.sealed().join(AGENT_END), end)?)
    }
}
