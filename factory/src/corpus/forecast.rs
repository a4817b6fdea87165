//! What a corpus that chat models make is expected to cost.

use crate::corpus::ledger::{AttemptOutcome, Entry};
use crate::spec::role_settings::{RoleMode, RoleSettings};
use std::fmt;

/// Accepted tasks of models from which costs are measured rather than assumed.
const MEASURED_FROM: usize = 10;
/// Tokens that one call generates in a second, where nothing was measured.
const TOKENS_PER_SECOND: f64 = 50.0;

/// Means per accepted task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TaskCost {
    /// Requests to models.
    pub calls: f64,
    /// Tokens that models read.
    pub prompt_tokens: f64,
    /// Tokens that models generate.
    pub completion_tokens: f64,
    /// Number of tasks that the means are of; 0 where they are assumed.
    pub tasks: usize,
}

impl TaskCost {
    /// The means of a ledger with at least ten accepted tasks of models; else what is assumed of
    /// the mode, of an operator and of a judge, `None` where no model is asked.
    pub fn new(settings: &RoleSettings, entries: &[Entry]) -> Option<Self> {
        let of_models = || entries.iter().filter_map(|entry| Some((entry, entry.model.as_ref()?)));
        let tasks =
            of_models().filter(|(entry, _)| entry.outcome == AttemptOutcome::Accepted).count();
        if tasks >= MEASURED_FROM {
            let mean = |part: fn(&crate::roles::RoleCost) -> u64| {
                of_models().map(|(_, model)| part(&model.cost)).sum::<u64>() as f64 / tasks as f64
            };
            return Some(Self {
                calls: mean(|cost| cost.calls),
                prompt_tokens: mean(|cost| cost.prompt_tokens),
                completion_tokens: mean(|cost| cost.completion_tokens),
                tasks,
            });
        }
        let of_mode = match settings.mode {
            RoleMode::Builtin => return None,
            RoleMode::Writer => (1.2, 3000.0, 1000.0),
            RoleMode::Blueprint => (4.0, 11_000.0, 4000.0),
            RoleMode::Code => (6.0, 25_000.0, 13_000.0),
        };
        let of_operator = settings.operator.as_ref().map(|_| (1.5, 3000.0, 4000.0));
        let of_judge = settings.judge.as_ref().map(|_| (1.2, 2500.0, 200.0));
        let mut assumed = Self { calls: 0.0, prompt_tokens: 0.0, completion_tokens: 0.0, tasks: 0 };
        for (calls, read, generated) in [Some(of_mode), of_operator, of_judge].into_iter().flatten()
        {
            assumed.calls += calls;
            assumed.prompt_tokens += read;
            assumed.completion_tokens += generated;
        }
        Some(assumed)
    }
}

/// The expected cost of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct CostForecast {
    /// Slots that models are to fill.
    pub slots: usize,
    /// What one of them takes.
    pub per_task: TaskCost,
    /// Price of all of them in US dollars; `None` where a price is not known.
    pub usd: Option<f64>,
    /// Slots at a time.
    pub concurrency: usize,
}

impl fmt::Display for CostForecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = self.slots as f64;
        let TaskCost { calls, prompt_tokens, completion_tokens, tasks } = self.per_task;
        writeln!(f, "{} slots for models, {} at a time", self.slots, self.concurrency)?;
        match tasks {
            0 => writeln!(f, "assumed, because fewer than {MEASURED_FROM} tasks were measured:")?,
            tasks => writeln!(f, "by the {tasks} accepted tasks in this corpus:")?,
        }
        writeln!(f, "  calls             {:>12.0}  {calls:.1} a task", calls * slots)?;
        writeln!(
            f,
            "  prompt tokens     {:>12.0}  {prompt_tokens:.0} a task",
            prompt_tokens * slots
        )?;
        writeln!(
            f,
            "  completion tokens {:>12.0}  {completion_tokens:.0} a task",
            completion_tokens * slots
        )?;
        match self.usd {
            Some(usd) => writeln!(f, "  price, USD        {usd:>12.2}")?,
            None => writeln!(f, "  price             {:>12}  no price is known", "?")?,
        }
        let at_once = self.concurrency.min(self.slots).max(1) as f64;
        let minutes = completion_tokens * slots / TOKENS_PER_SECOND / at_once / 60.0;
        write!(
            f,
            "  minutes           {minutes:>12.0}  if a call generates {TOKENS_PER_SECOND:.0} tokens \
             a second"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::ledger::ModelUse;
    use crate::roles::RoleCost;

    fn settings(mode: RoleMode) -> RoleSettings {
        RoleSettings { mode, ..RoleSettings::default() }
    }

    fn entry(slot: u64, outcome: AttemptOutcome, prompt_tokens: u64) -> Entry {
        let cost =
            RoleCost { calls: 2, prompt_tokens, completion_tokens: 100, cost_micro_usd: Some(5) };
        let (mode, name) = ("blueprint".to_owned(), "a:b".to_owned());
        let model = Some(ModelUse { mode, name, cost, fallbacks: Vec::new() });
        Entry { outcome, model, ..Entry::for_tests(slot, 0) }
    }

    #[test]
    fn costs_are_assumed_until_ten_tasks_are_measured() {
        let mut entries: Vec<Entry> =
            (0..9).map(|slot| entry(slot, AttemptOutcome::Accepted, 1000)).collect();
        entries.push(entry(9, AttemptOutcome::Refused, 4000));
        let assumed = TaskCost::new(&settings(RoleMode::Writer), &entries).unwrap();
        assert_eq!((assumed.tasks, assumed.prompt_tokens), (0, 3000.0));
        entries.push(entry(9, AttemptOutcome::Accepted, 1000));
        let measured = TaskCost::new(&settings(RoleMode::Writer), &entries).unwrap();
        assert_eq!((measured.tasks, measured.prompt_tokens), (10, 1400.0));
        assert_eq!((measured.calls, measured.completion_tokens), (2.2, 110.0));
        assert_eq!(TaskCost::new(&settings(RoleMode::Builtin), &[]), None);
    }

    #[test]
    fn operator_and_judge_are_assumed_beside_the_mode() {
        let name = Some("a:b".to_owned());
        let both =
            RoleSettings { operator: name.clone(), judge: name, ..settings(RoleMode::Blueprint) };
        let cost = TaskCost::new(&both, &[]).unwrap();
        assert_eq!((cost.calls, cost.prompt_tokens), (6.7, 16_500.0));
    }

    #[test]
    fn forecast_scales_with_slots() {
        let per_task = TaskCost::new(&settings(RoleMode::Blueprint), &[]).unwrap();
        let forecast = CostForecast { slots: 300, per_task, usd: Some(2.5), concurrency: 10 };
        insta::assert_snapshot!(forecast, @r"
        300 slots for models, 10 at a time
        assumed, because fewer than 10 tasks were measured:
          calls                     1200  4.0 a task
          prompt tokens          3300000  11000 a task
          completion tokens      1200000  4000 a task
          price, USD                2.50
          minutes                     40  if a call generates 50 tokens a second
        ");
    }
}
