//! The checks of a run's files, each of which can say what it found.

use super::metrics::{Metrics, scores};
use super::regrade::Regraded;
use crate::digest::Digest;
use crate::fault::Fault;
use crate::grade::{Results, task_of};
use crate::ledger::{Aggregate, LedgerError, Scored, SealedEntry, State, read_lines, replay};
use camino::{Utf8Path, Utf8PathBuf};
use evals::statistics::bootstrap;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use tasks::stream::Stream;
use worlds::Part;

/// Something that is not as the server left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The file.
    pub file: Utf8PathBuf,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditReport {
    /// What is wrong; empty if nothing.
    pub findings: Vec<Finding>,
    /// Lines of the ledger.
    pub lines: u64,
    /// The hash of the last one.
    pub head: Option<Digest>,
    /// Whether the run has its final scores.
    pub is_finished: bool,
    /// The metrics, computed anew; none if the ledger cannot be trusted.
    pub metrics: Option<Metrics>,
    /// The 95 % interval of the best submission's improvement on the test items: items drawn anew,
    /// in pairs with the base's. None before the final scores, or where the score is no mean.
    pub interval: Option<(f64, f64)>,
    /// How many scores were graded again; none if that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regraded: Option<Regraded>,
}

/// Why a run could not be audited at all.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// A file could not be read.
    #[error("failed to read the run")]
    Io(#[from] io::Error),
    /// There is no ledger.
    #[error("`{0}` has no ledger.jsonl; name the sealed folder of a run")]
    NoLedger(Utf8PathBuf),
}

/// Audits the run in the sealed folder `folder`. If its last line's hash is known from elsewhere, such
/// as a report, give it as `head`: whoever can write to the folder could have made all of it anew.
///
/// # Errors
/// [`AuditError`]; what is wrong with a run is no error but a finding.
pub fn audit(folder: &Utf8Path, head: Option<Digest>) -> Result<AuditReport, AuditError> {
    if !folder.join("ledger.jsonl").is_file() {
        return Err(AuditError::NoLedger(folder.to_owned()));
    }
    let mut report = AuditReport {
        findings: Vec::new(),
        lines: 0,
        head: None,
        is_finished: false,
        metrics: None,
        interval: None,
        regraded: None,
    };
    let read = read_lines(folder).and_then(|lines| {
        let state = replay(folder, &lines)?;
        Ok((lines, state))
    });
    let (lines, state): (Vec<SealedEntry>, State) = match read {
        Ok(read) => read,
        Err(LedgerError::Io(error)) => return Err(error.into()),
        Err(error) => {
            report.find("ledger.jsonl", with_source(&error));
            return Ok(report);
        }
    };
    report.lines = lines.len() as u64;
    report.head = lines.last().map(|line| line.hash);
    if head.is_some_and(|head| !lines.iter().any(|line| line.hash == head)) {
        report.find("ledger.jsonl", "no line has the hash that was given: it was made anew");
    }
    report.check_results(folder, &state)?;
    report.is_finished = state.ended().is_some() && state.next_final().is_none();
    let metrics = Metrics::of(&state);
    report.check_metrics(folder, &metrics)?;
    report.metrics = Some(metrics);
    report.interval = interval(folder, &state);
    Ok(report)
}

impl AuditReport {
    pub(super) fn find(&mut self, file: impl Into<Utf8PathBuf>, what: impl Into<String>) {
        let finding = Finding { file: file.into(), what: what.into() };
        // The best submission and the last one may be the same.
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Every score has its results, and follows from them.
    fn check_results(&mut self, folder: &Utf8Path, state: &State) -> Result<(), AuditError> {
        let results = folder.join("results");
        for (part, model, scored) in scores(state) {
            let file = Results::path("results".into(), part, model);
            match Results::read(&results, part, model) {
                Ok(Some((found, _))) => {
                    if let Some(what) = contradiction(state, &found, &results, part, scored)? {
                        self.find(file, what);
                    }
                }
                Ok(None) => self.find(file, "it is missing, and the ledger has a score from it"),
                Err(Fault::Io(error)) => return Err(error.into()),
                Err(fault) => self.find(file, fault.to_string()),
            }
        }
        Ok(())
    }

    /// `metrics.json` says what follows from the ledger.
    fn check_metrics(&mut self, folder: &Utf8Path, metrics: &Metrics) -> Result<(), AuditError> {
        let file = "metrics.json";
        match fs::read(folder.join(file)) {
            Ok(bytes) => match serde_json::from_slice::<Metrics>(&bytes) {
                Ok(found) if found == *metrics => {}
                _ => self.find(file, "it does not say what follows from the ledger"),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// What results and ledger say differently.
fn contradiction(
    state: &State,
    found: &Results,
    results: &Utf8Path,
    part: Part,
    scored: &Scored,
) -> Result<Option<String>, AuditError> {
    let bytes = fs::read(Results::path(results, part, found.model))?;
    if Digest::of(&bytes) != scored.results {
        return Ok(Some("its hash is not the one in the ledger".to_owned()));
    }
    if found.score != scored.score
        || !found.adds_up(state.facts().aggregate)
        || found.items.len() as u64 != scored.items
    {
        return Ok(Some("its items do not add up to the score in the ledger".to_owned()));
    }
    Ok(None)
}

fn interval(folder: &Utf8Path, state: &State) -> Option<(f64, f64)> {
    let stream = Stream::root(0).child("posttrain").child("interval");
    bootstrap(&final_gains(folder, state)?, stream).map(|bootstrap| bootstrap.interval)
}

/// By how much the best submission is better than the base on each test item. None before the final
/// scores, without a valid submission, or where the score, or that on one of several tasks, is no mean.
pub(crate) fn final_gains(folder: &Utf8Path, state: &State) -> Option<Vec<f64>> {
    if state.facts().aggregate == Aggregate::Reported || state.next_final().is_some() {
        return None;
    }
    let best = state.final_id(crate::ledger::Which::Best)?;
    let model = state.submissions().get(&best)?.digest()?;
    let results = folder.join("results");
    let read = |model| Results::read(&results, Part::Test, model).ok().flatten();
    let ((best, _), (base, _)) = (read(model)?, read(state.facts().base)?);
    if best.tasks.iter().any(|task| !task.is_mean) {
        return None;
    }
    let mut gains = crate::failure::gains(&base.items, &best.items, state.facts().direction);
    if state.facts().aggregate == Aggregate::Tasks {
        // So weighted, the mean over items is the mean over tasks.
        let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
        for item in &best.items {
            *counts.entry(task_of(&item.id)).or_default() += 1.0;
        }
        let even = best.items.len() as f64 / counts.len() as f64;
        for (gain, item) in gains.iter_mut().zip(&best.items) {
            *gain *= even / counts[task_of(&item.id)];
        }
    }
    Some(gains)
}

/// An error with its reasons.
fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", with_source(source)),
        None => error.to_string(),
    }
}
