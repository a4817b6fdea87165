//! Files that agents may look at instead of asking: views of the state, written and never read.
//!
//! ```text
//! scores.json      the submissions, as `GET /v1/submissions` has them
//! run_meta.json    start_time, timeout_s, last_submit_time, end_time, in seconds since 1970
//! ```

use super::answers::{self, seconds};
use super::shared::Run;
use crate::ledger::{Event, State};
use camino::Utf8Path;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use tasks::files;

/// Writes the views of a run into `folder`, which an agent can read and not write.
///
/// # Errors
/// An I/O error naming the file.
pub(super) fn write(folder: &Utf8Path, run: &Run) -> std::io::Result<()> {
    let state = run.ledger.state();
    files::write_json(&folder.join("scores.json"), &scores(state))?;
    files::write_json(&folder.join("run_meta.json"), &times(run))
}

/// Whether an event changes what the views say.
pub(super) fn are_changed_by(event: &Event) -> bool {
    !matches!(event, Event::Final { .. })
}

fn scores(state: &State) -> Vec<Value> {
    let submissions = state.submissions().iter();
    submissions.map(|(id, submission)| answers::entry(state, *id, submission)).collect()
}

/// The times of a run in the names of the published benchmark.
pub(super) fn times(run: &Run) -> Value {
    let state = run.ledger.state();
    let now = SystemTime::now();
    let used = std::time::Duration::from_millis(run.ledger.used_ms());
    let last = state.submissions().values().next_back().map(|submission| &submission.time);
    let last = last.and_then(|time| humantime::parse_rfc3339(time).ok());
    json!({
        "start_time": state.spending().is_started().then(|| since_1970(now - used)),
        "timeout_s": seconds(state.facts().budget.limit_ms),
        "last_submit_time": last.map(since_1970),
        "end_time": state.ended().map(|_| since_1970(now)),
    })
}

pub(super) fn since_1970(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |duration| duration.as_secs())
}
