//! The progress of a corpus on standard error.

use crate::complain;
use anyhow::Result;
use factory::corpus::pipeline::Progress;
use factory::spec::plan::Slot;
use indicatif::{ProgressBar, ProgressStyle};
use llm::{CallRecord, MicroUsd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Slots between two reports on models where there is no bar.
const REPORTED: u64 = 50;

/// A bar on stderr with rate, remaining time, and what models have cost.
pub(crate) struct Bar {
    tasks: ProgressBar,
    calls: Option<Arc<CallRecord>>,
    accepted: AtomicUsize,
}

impl Bar {
    pub(crate) fn new(calls: Option<Arc<CallRecord>>) -> Result<Self> {
        let style =
            ProgressStyle::with_template("{bar:40} {pos}/{len} tasks, {per_sec}, {eta} left{msg}")?;
        let tasks = ProgressBar::new(0).with_style(style);
        Ok(Self { tasks, calls, accepted: AtomicUsize::new(0) })
    }

    /// Calls and money so far, nothing where no model is asked.
    pub(crate) fn spent(&self) -> String {
        let Some(calls) = &self.calls else { return String::new() };
        let totals = calls.totals();
        let tasks = self.accepted.load(Ordering::Relaxed);
        let money = match (totals.unpriced, tasks) {
            (0, 0) => format!("{} spent", totals.spent),
            (0, tasks) => {
                let each = MicroUsd(totals.spent.0 / tasks as u64);
                format!("{} spent, {each} a task", totals.spent)
            }
            (unpriced, _) => format!("{unpriced} of them of unknown price"),
        };
        format!(", {} calls and {} kept answers, {money}", totals.tries, totals.cached)
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.tasks.finish_and_clear();
    }
}

impl Progress for Bar {
    fn planned(&self, total: usize, finished: usize, notes: &[String]) {
        for note in notes {
            complain(note);
        }
        if finished > 0 {
            complain(&format!("continuing: {finished} of {total} slots are finished"));
        }
        self.tasks.set_length((total - finished) as u64);
    }

    fn finished(&self, slot: &Slot, accepted: bool) {
        self.accepted.fetch_add(usize::from(accepted), Ordering::Relaxed);
        if !accepted {
            self.tasks.println(format!(
                "slot {} stays empty: no attempt at `{}` passed",
                slot.index, slot.task
            ));
        }
        self.tasks.inc(1);
        self.tasks.set_message(self.spent());
        // A log has no bar.
        let finished = self.tasks.position();
        if self.tasks.is_hidden() && self.calls.is_some() && finished.is_multiple_of(REPORTED) {
            complain(&format!("{finished} slots finished{}", self.spent()));
        }
    }
}
