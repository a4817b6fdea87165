//! One run: its iterations, its metrics, what it tried and kept, and what it was held to.

use super::files::{ReportError, RunFiles, RunState};
use super::iteration::{Before, Iteration};
use crate::agents::{ANY_MODEL, HeldBy, Mode};
use crate::audit::final_gains;
use crate::audit::metrics::Metrics;
use crate::failure::{self, FailureFinding, RunEnd};
use crate::gateway::GatewayTotals;
use crate::ledger::{Protocol, State};
use crate::record::{CodeChange, Moment, ToolUse};
use crate::route::{Route, RouteFinding, adopted, attempted, closes_its_loop};
use camino::{Utf8Path, Utf8PathBuf};
use jail::program::ExitHow;
use serde::Serialize;
use std::collections::BTreeSet;

/// What a run was held to, and whether it kept to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compliance {
    /// How the agent was kept apart: a tier, or `none`.
    pub isolation: String,
    /// How it might train.
    pub mode: Mode,
    /// What held it to that.
    pub mode_held_by: HeldBy,
    /// Whether it kept to its mode, as far as the evidence goes; none while that is open.
    pub mode_kept: Option<bool>,
    /// What submissions were scored on.
    pub protocol: Protocol,
    /// Where strict online reinforcement learning shows: rollouts by the current weights, a reward, a
    /// gradient, again.
    pub strict_online_rl: Option<String>,
    /// Whether the audit found nothing, no forbidden word stands in the code, and no sealed item in any
    /// of the agent's texts.
    pub clean: Option<bool>,
    /// What it found.
    pub findings: Vec<String>,
}

/// `metrics.json` of a report: the metrics of the ledger, and what follows from the records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportMetrics {
    /// The version of this file.
    pub version: u32,
    /// How far the run has come.
    pub state: RunState,
    /// Those of the ledger.
    #[serde(flatten)]
    pub ledger: Option<Metrics>,
    /// The 95 % interval of the improvement on the test items: items in pairs.
    pub interval: Option<(f64, f64)>,
    /// Tokens of chat models, read and written; none where no gateway counted them.
    pub tokens: Option<u64>,
    /// Their cost in US dollars; none where no gateway counted it, or the price of a model is unknown.
    pub cost: Option<f64>,
    /// How the agent was kept apart.
    pub isolation: String,
    /// How it might train.
    pub mode: Mode,
    /// The last stage of the best submission.
    pub route: Route,
    /// All stages of it.
    pub route_chain: Vec<Route>,
    /// Ways of training that were tried.
    pub attempted: BTreeSet<Route>,
    /// Those that led to the best submission.
    pub adopted: BTreeSet<Route>,
    /// Whether strict online reinforcement learning shows.
    pub strict_online_rl: bool,
    /// Whether it shows on the way to the best submission.
    pub strict_online_rl_in_best: bool,
    /// As in [`Compliance`].
    pub clean: Option<bool>,
    /// Why there is no score; none if there is one.
    pub failure: Option<FailureFinding>,
}

/// What one run says about itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// The name of its folder.
    pub id: String,
    /// The folder.
    pub folder: Utf8PathBuf,
    /// The task.
    pub task: String,
    /// The agent.
    pub agent: String,
    /// The chat model that the agent asks: of the run, or else as it says itself.
    pub driver_model: Option<String>,
    /// The base model's folder.
    pub base_model: String,
    /// The seed.
    pub seed: u64,
    /// The budget in seconds.
    pub budget_s: f64,
    /// When it was opened.
    pub timestamp: Option<String>,
    /// Seconds from then to the last line of its ledger.
    pub duration_s: f64,
    /// Its metrics.
    pub metrics: ReportMetrics,
    /// What it was held to.
    pub compliance: Compliance,
    /// Its submissions, with the work before each.
    pub iterations: Vec<Iteration>,
    /// What failed after the last one.
    pub problems: Vec<FailureFinding>,
    /// By how much the best submission is better on each test item.
    #[serde(skip)]
    pub(super) gains: Option<Vec<f64>>,
}

impl RunReport {
    /// Reads a run and everything that follows.
    ///
    /// # Errors
    /// [`ReportError`].
    pub fn read(folder: &Utf8Path) -> Result<Self, ReportError> {
        let files = RunFiles::read(folder)?;
        let (mut iterations, mut before, mut seen) = (Vec::new(), Before::default(), 0);
        if let Some(ledger) = &files.ledger {
            for (id, submission) in ledger.submissions() {
                let until = |one: &&ToolUse| one.began_ms <= submission.request.used_ms;
                let count = files.uses[seen..].iter().take_while(until).count();
                let uses = &files.uses[seen..seen + count];
                seen += count;
                let one = (*id, submission);
                iterations.push(Iteration::read(&files, ledger, one, uses, &mut before));
            }
        }
        let made = iterations.len() as u64;
        let (last, after) = files.code(Moment::End(made), before.snapshot.as_ref());
        let mut problems: Vec<FailureFinding> =
            files.uses[seen..].iter().filter_map(failure::of_use).collect();
        let log = failure::of_log(&files.log(before.log_bytes, None));
        let failed = run_failure(&files, log.as_ref());
        problems.extend(log);
        let best = files.ledger.as_ref().and_then(|ledger| ledger.best()).map(|(id, _)| id);
        let best = iterations.iter().find(|one| Some(one.iteration) == best).map(|one| &one.route);
        let routes: Vec<&RouteFinding> = iterations.iter().map(|one| &one.route).collect();
        let tried = attempted(routes.iter().copied(), &files.uses, &after);
        let online = routes.iter().find_map(|found| found.online.clone());
        let online = online.or_else(|| online_elsewhere(&files.uses[seen..], &after));
        let snapshot = last.or(before.snapshot);
        let words = snapshot.map(|snapshot| forbidden(&files, &files.texts(&snapshot)));
        let compliance = compliance(&files, &tried, online.clone(), words.unwrap_or_default());
        let taken = files.chat_totals();
        let metrics = ReportMetrics {
            version: 1,
            state: files.state(),
            ledger: files.audit.as_ref().and_then(|audit| audit.metrics.clone()),
            interval: files.audit.as_ref().and_then(|audit| audit.interval),
            tokens: taken.as_ref().map(GatewayTotals::tokens),
            cost: taken.as_ref().and_then(GatewayTotals::cost),
            isolation: compliance.isolation.clone(),
            mode: compliance.mode,
            route: best.map_or(Route::None, |found| found.route),
            route_chain: best.map(|found| found.chain.clone()).unwrap_or_default(),
            adopted: adopted(best),
            attempted: tried,
            strict_online_rl: online.is_some(),
            strict_online_rl_in_best: best.is_some_and(|found| found.online.is_some()),
            clean: compliance.clean,
            failure: failed,
        };
        let record = &files.record;
        Ok(Self {
            id: folder.file_name().unwrap_or("run").to_owned(),
            folder: folder.to_owned(),
            task: record.task.clone(),
            agent: record.agent.clone(),
            driver_model: driver_model(&files),
            base_model: record.base.clone(),
            seed: record.seed,
            budget_s: record.budget_ms as f64 / 1000.0,
            timestamp: files.lines.first().map(|line| line.entry.time.clone()),
            duration_s: files.ledger.as_ref().map_or(0, State::elapsed_ms) as f64 / 1000.0,
            gains: files.ledger.as_ref().and_then(|ledger| final_gains(&files.sealed(), ledger)),
            metrics,
            compliance,
            iterations,
            problems,
        })
    }

    /// The changes of score beyond chance, the largest first.
    pub fn jumps(&self) -> Vec<&Iteration> {
        let mut all: Vec<&Iteration> = self
            .iterations
            .iter()
            .filter(|one| one.gain.is_some_and(|gain| gain.beyond_chance))
            .collect();
        let size = |one: &Iteration| one.gain.map_or(0.0, |gain| gain.by.abs());
        all.sort_by(|one, other| size(other).total_cmp(&size(one)));
        all
    }
}

/// The chat model that an agent asks. One that asks any has those of its run.
fn driver_model(files: &RunFiles) -> Option<String> {
    let named = files.agent.as_ref().and_then(|agent| agent.model.clone())?;
    match &files.record.gateway {
        Some(gateway) if named == ANY_MODEL => Some(gateway.models.join(", ")),
        _ => Some(named),
    }
}

fn run_failure(files: &RunFiles, log: Option<&FailureFinding>) -> Option<FailureFinding> {
    let ledger = files.ledger.as_ref()?;
    let valid = ledger.submissions().values().filter(|one| one.scored().is_some()).count();
    let report = files.end.as_ref().map(|end| &end.report);
    failure::of_run(&RunEnd {
        ended: ledger.ended(),
        submissions: (ledger.submissions().len(), valid),
        killed_for_memory: report.map_or(0, |report| report.killed_for_memory),
        code: report.and_then(|report| match report.how {
            ExitHow::Exited(code) => Some(code),
            ExitHow::Signalled(_) | ExitHow::Killed => None,
        }),
        log,
    })
}

/// Strict online reinforcement learning after the last submission.
fn online_elsewhere(uses: &[ToolUse], after: &[CodeChange]) -> Option<String> {
    let made_updates = |one: &&ToolUse| {
        let updates = one.end.as_ref().and_then(|end| end.trainer.as_ref()?.updates);
        one.route().is_some_and(Route::is_policy_gradient) && updates.is_some_and(|count| count > 0)
    };
    let one = uses.iter().find(made_updates);
    one.map(|one| format!("use {} of the toolbox", one.number)).or_else(|| {
        closes_its_loop(after.iter().filter_map(|one| Some((&*one.path, one.now.as_deref()?))))
    })
}

/// Where words that the task forbids stand in the code.
fn forbidden(files: &RunFiles, texts: &[(String, String)]) -> Vec<String> {
    let all = texts.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    crate::route::lines_with(all, &files.forbidden)
        .into_iter()
        .map(|(place, word)| format!("{place}: the code has `{word}`"))
        .collect()
}

fn compliance(
    files: &RunFiles,
    tried: &BTreeSet<Route>,
    online: Option<String>,
    words: Vec<String>,
) -> Compliance {
    let mode = files.record.mode;
    let is_over = files.state() == RunState::Finished;
    let mode_kept = mode_kept(mode, is_over, tried, online.is_some());
    let mut findings: Vec<String> = files
        .audit
        .iter()
        .flat_map(|audit| audit.findings.iter().map(ToString::to_string))
        .collect();
    findings.extend(words);
    let found = files.contamination.iter().flat_map(|scan| &scan.found);
    findings.extend(found.map(ToString::to_string));
    let isolation = files.end.as_ref().map_or_else(
        || format!("asked for {}", files.record.isolation),
        |end| end.isolation.tier.map_or("none".to_owned(), |tier| tier.name().to_owned()),
    );
    Compliance {
        isolation,
        mode,
        mode_held_by: mode.held_by(),
        mode_kept,
        protocol: files.record.protocol,
        strict_online_rl: online,
        clean: files.audit.as_ref().map(|_| findings.is_empty()),
        findings,
    }
}

/// Whether a run keeps to its mode: what it tried, and whether strict online reinforcement learning shows.
/// None while that is open: before the end, or where a way of training cannot be named.
fn mode_kept(mode: Mode, is_over: bool, tried: &BTreeSet<Route>, is_online: bool) -> Option<bool> {
    let breaks = |route: &Route| !route.is_supervised() && *route != Route::Other;
    match mode {
        Mode::Free | Mode::Multi => Some(true),
        Mode::SftOnly if is_online || tried.iter().any(breaks) => Some(false),
        Mode::SftOnly => (is_over && !tried.contains(&Route::Other)).then_some(true),
        Mode::RlOriented => (is_over || is_online).then_some(is_online),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_is_kept_broken_or_open() {
        let kept = |mode, is_over, tried: &[Route], is_online| {
            mode_kept(mode, is_over, &tried.iter().copied().collect(), is_online)
        };
        for (mode, is_over, tried, is_online, expected) in [
            (Mode::Free, false, &[Route::Grpo][..], true, Some(true)),
            (Mode::SftOnly, true, &[Route::Sft, Route::Rft], false, Some(true)),
            (Mode::SftOnly, false, &[Route::Sft], false, None),
            (Mode::SftOnly, true, &[Route::Sft, Route::Other], false, None),
            (Mode::SftOnly, false, &[Route::Dpo], false, Some(false)),
            (Mode::SftOnly, true, &[Route::Sft], true, Some(false)),
            (Mode::RlOriented, true, &[Route::Sft], false, Some(false)),
            (Mode::RlOriented, false, &[Route::Sft], false, None),
            (Mode::RlOriented, false, &[Route::Grpo], true, Some(true)),
        ] {
            assert_eq!(kept(mode, is_over, tried, is_online), expected, "{mode} {tried:?}");
        }
    }
}
