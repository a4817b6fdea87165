//! What runs would be, without starting any.

use super::settings::RunSettings;
use super::story::RunError;
use crate::agents::AgentFolder;
use crate::clock::ClockMode;
use crate::gateway::Caps;
use crate::ledger::Protocol;
use crate::task_set::TaskSet;
use camino::Utf8Path;
use std::time::Duration;
use tasks::units::{ByteSize, Span};
use worlds::{Suite, TaskSpec};

/// What runs would be.
#[derive(Debug, Clone, PartialEq)]
pub struct RunPlan {
    /// The tasks.
    pub tasks: Vec<TaskSpec>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Bytes of the base; none if it is no folder of this host.
    pub base: Option<u64>,
    /// Models that a run keeps at most: base, best, last, those that wait, and one that is taken in.
    pub snapshots: u64,
    /// The agents' time in all.
    pub time: Duration,
    /// What goes with each, for people: name and value.
    lines: Vec<(String, String)>,
}

impl RunPlan {
    /// Of runs of these tasks, or of all of the suite.
    ///
    /// # Errors
    /// [`RunError`] for an agent, a mode or a suite that cannot be used.
    pub fn new(
        settings: &RunSettings,
        tasks: Option<&[String]>,
        seeds: &[u64],
    ) -> Result<Self, RunError> {
        let agent = AgentFolder::find(&settings.agent)?;
        agent.check_mode(settings.mode)?;
        let suite = Suite::open(&settings.suite)?;
        let all: Vec<String> = suite.tasks().iter().map(|task| task.id.to_string()).collect();
        let tasks: Vec<TaskSpec> = tasks
            .unwrap_or(&all)
            .iter()
            .map(|id| {
                let tasks = TaskSet::open(&suite, id)?;
                tasks.check_mode(settings.mode)?;
                Ok(tasks.spec().clone())
            })
            .collect::<Result<_, RunError>>()?;
        let runs = tasks.len() * seeds.len();
        let each = Duration::from_millis(settings.budget.limit_ms);
        let time = each * u32::try_from(runs).unwrap_or(u32::MAX);
        let snapshots = 3 + settings.submissions.waiting + 1;
        let base = bytes(&settings.base);
        let mut plan =
            Self { tasks, seeds: seeds.to_vec(), base, snapshots, time, lines: Vec::new() };
        plan.lines = plan.describe(settings, &agent, each);
        Ok(plan)
    }

    /// Names and values, for people.
    pub fn lines(&self) -> &[(String, String)] {
        &self.lines
    }

    fn describe(
        &self,
        settings: &RunSettings,
        agent: &AgentFolder,
        each: Duration,
    ) -> Vec<(String, String)> {
        let ids: Vec<&str> = self.tasks.iter().map(|task| task.id.as_str()).collect();
        let (seeds, runs) = (self.seeds.len(), self.tasks.len() * self.seeds.len());
        let clock = match settings.budget.clock {
            ClockMode::Wall => "grading counts",
            ClockMode::Paused => "and grading beside it",
        };
        let limits = settings.submissions;
        let most = limits.submissions.map_or("no limit".to_owned(), |most| most.to_string());
        let share = limits.grading_share.map_or("no limit".to_owned(), |share| share.to_string());
        let disk = match self.base {
            Some(bytes) => format!(
                "a model has {}; a run keeps {} at most, {}, and the agent's folders have {}",
                ByteSize::new(bytes),
                self.snapshots,
                ByteSize::new(bytes * self.snapshots),
                settings.limits.disk
            ),
            None => format!(
                "`{}` is no folder here, so the size of a model is not known; a run keeps {} at most",
                settings.base, self.snapshots
            ),
        };
        let line = |name: &str, value: String| (name.to_owned(), value);
        let mut lines = vec![
            line("runs", format!("{runs}: {} × {seeds} seeds, one after another", ids.join(", "))),
            line(
                "agent",
                format!(
                    "{}, mode {}, isolation {}",
                    agent.spec().name,
                    settings.mode,
                    settings.isolation
                ),
            ),
            line(
                "time",
                format!(
                    "{} each, {} in all; {clock}",
                    Span(each).in_words(),
                    Span(self.time).in_words()
                ),
            ),
            line("submissions", format!("{most}; grading as a share of the time: {share}")),
            line("disk", disk),
            line(
                "box",
                format!(
                    "memory {}, {} processes, GPUs {}; graded on {}",
                    settings.limits.memory,
                    settings.limits.processes,
                    settings.limits.gpus,
                    settings.device
                ),
            ),
        ];
        if let Some(gateway) = settings.gateway_of(agent) {
            let Caps { tokens, cost } = gateway.caps;
            let no_limit = || "no limit".to_owned();
            lines.push(line(
                "chat models",
                format!(
                    "{}; for each run tokens: {}, cost: {}",
                    gateway.models.join(", "),
                    tokens.map_or_else(no_limit, |tokens| tokens.to_string()),
                    cost.map_or_else(no_limit, |cost| cost.to_string())
                ),
            ));
        }
        for task in &self.tasks {
            let (items, after) = match settings.protocol {
                Protocol::Sealed => {
                    (task.items.dev, format!(", after the end three of {}", task.items.test))
                }
                Protocol::Paper => (task.items.test, String::new()),
            };
            let limits = &task.limits;
            let sampled = items as u64 * u64::from(limits.turns) * u64::from(limits.turn_tokens);
            lines.push(line(
                &format!("grading {}", task.id),
                format!(
                    "{items} items of at most {} turns, {sampled} sampled tokens at most{after}",
                    limits.turns
                ),
            ));
        }
        lines
    }
}

/// Bytes of a model's weights.
fn bytes(folder: &Utf8Path) -> Option<u64> {
    let entries = folder.read_dir_utf8().ok()?;
    let weights = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().extension() == Some("safetensors"));
    Some(weights.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum())
}
