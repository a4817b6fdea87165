//! The time of a run: what has passed, what of it counts, and what is left.
//!
//! The time that has passed since a run was opened is read from a clock of the kernel that nobody can
//! set, and goes on over restarts of the server: the ledger's lines say when the run was opened and
//! resumed on which boot of the machine. If the machine itself was started anew, time goes on from the
//! last line, because nobody could work in between. The time of day is written beside it for people,
//! and nothing is computed from it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Where a clock reads from.
pub trait TimeSource: Debug + Send + Sync {
    /// What names this boot of the machine; another after each start of it.
    fn boot(&self) -> String;
    /// Time since the boot, with sleep; it never goes back.
    fn uptime(&self) -> Duration;
    /// The time of day, for people.
    fn now(&self) -> SystemTime;
}

/// The clocks of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineTime;

impl TimeSource for MachineTime {
    fn boot(&self) -> String {
        let id = fs_err::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.trim().to_owned()
    }

    fn uptime(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Where on the clock of a boot a run was opened or resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The boot.
    pub boot: String,
    /// Time since that boot, in milliseconds.
    pub uptime_ms: u64,
}

impl Origin {
    /// Now.
    pub fn now(source: &dyn TimeSource) -> Self {
        Self { boot: source.boot(), uptime_ms: milliseconds(source.uptime()) }
    }
}

/// The time since a run was opened.
#[derive(Debug, Clone)]
pub struct Clock {
    source: Arc<dyn TimeSource>,
    /// The reading of the source that `elapsed_ms` belongs to.
    uptime_ms: u64,
    elapsed_ms: u64,
}

impl Clock {
    /// The clock of a run that is opened at `origin`.
    pub fn starting_at(source: Arc<dyn TimeSource>, origin: &Origin) -> Self {
        Self { source, uptime_ms: origin.uptime_ms, elapsed_ms: 0 }
    }

    /// The clock of a run that was opened or resumed at `origin`, when `origin_ms` had passed, and
    /// whose last line was written at `last_ms`. On the same boot all time since counts; on another
    /// one, time goes on from the last line.
    pub fn resuming(
        source: Arc<dyn TimeSource>,
        origin: &Origin,
        origin_ms: u64,
        last_ms: u64,
    ) -> Self {
        let now = Origin::now(&*source);
        let passed = now.uptime_ms.saturating_sub(origin.uptime_ms);
        let elapsed_ms = if now.boot == origin.boot { origin_ms + passed } else { last_ms };
        Self { source, uptime_ms: now.uptime_ms, elapsed_ms: elapsed_ms.max(last_ms) }
    }

    /// Milliseconds since the run was opened.
    pub fn elapsed_ms(&self) -> u64 {
        let passed = milliseconds(self.source.uptime()).saturating_sub(self.uptime_ms);
        self.elapsed_ms + passed
    }

    /// Where on the clock of this boot it is now.
    pub fn origin(&self) -> Origin {
        Origin::now(&*self.source)
    }

    /// The time of day, for people: `2026-11-27T17:39:16.250Z`.
    pub fn time_of_day(&self) -> String {
        humantime::format_rfc3339_millis(self.source.now()).to_string()
    }
}

/// Whole milliseconds of a duration.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// What counts of the time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockMode {
    /// All of it, as in the published benchmark.
    Wall,
    /// All but the time in which a submission is graded.
    Paused,
}

/// How much time an agent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Milliseconds that count.
    pub limit_ms: u64,
    /// Which ones do.
    pub clock: ClockMode,
}

/// Why the time of a run does not count for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseReason {
    /// A submission is graded ([`ClockMode::Paused`]).
    Grading,
    /// The operator paused the run.
    Operator,
}

/// What happens to the budget of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum BudgetChange {
    /// Time counts from here on.
    Started,
    /// It does not.
    Paused {
        /// Why.
        reason: PauseReason,
    },
    /// This reason to pause is gone.
    Resumed {
        /// Which.
        reason: PauseReason,
    },
    /// The server was started again.
    Restarted {
        /// Where on the clock of the machine.
        origin: Origin,
    },
}

/// A change of a budget that cannot follow what was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// It starts twice.
    #[error("the budget was started before")]
    Started,
    /// It is paused before it starts, or twice for one reason.
    #[error("the budget is paused without having been running for that reason")]
    Paused,
    /// It goes on without a pause for that reason.
    #[error("the budget is resumed without having been paused for that reason")]
    NotPaused,
}

/// What of the budget is spent: a fold over its changes.
///
/// # Examples
/// ```rust
/// use posttrain::clock::{BudgetChange, PauseReason, Spending};
///
/// let mut spending = Spending::default();
/// spending.apply(&BudgetChange::Started, 1_000)?;
/// spending.apply(&BudgetChange::Paused { reason: PauseReason::Grading }, 4_000)?;
/// assert_eq!(spending.used_ms(9_000), 3_000);
/// spending.apply(&BudgetChange::Resumed { reason: PauseReason::Grading }, 9_000)?;
/// assert_eq!(spending.used_ms(9_500), 3_500);
/// # Ok::<(), posttrain::clock::BudgetError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spending {
    used_ms: u64,
    running_since: Option<u64>,
    pauses: BTreeSet<PauseReason>,
    is_started: bool,
}

impl Spending {
    /// Takes in a change at `elapsed_ms`.
    ///
    /// # Errors
    /// [`BudgetError`]; nothing has changed then.
    pub fn apply(&mut self, change: &BudgetChange, elapsed_ms: u64) -> Result<(), BudgetError> {
        match change {
            BudgetChange::Started if self.is_started => return Err(BudgetError::Started),
            BudgetChange::Started => self.is_started = true,
            BudgetChange::Paused { reason } => {
                if !self.is_started || !self.pauses.insert(*reason) {
                    return Err(BudgetError::Paused);
                }
            }
            BudgetChange::Resumed { reason } => {
                if !self.pauses.remove(reason) {
                    return Err(BudgetError::NotPaused);
                }
            }
            BudgetChange::Restarted { .. } => {}
        }
        let runs = self.is_started && self.pauses.is_empty();
        self.used_ms = self.used_ms(elapsed_ms);
        self.running_since = runs.then_some(elapsed_ms);
        Ok(())
    }

    /// Milliseconds that were used at `elapsed_ms`, which is not before the last change.
    pub fn used_ms(&self, elapsed_ms: u64) -> u64 {
        self.used_ms + self.running_since.map_or(0, |since| elapsed_ms.saturating_sub(since))
    }

    /// Whether time counts at all.
    pub fn is_started(&self) -> bool {
        self.is_started
    }

    /// Whether time counts now.
    pub fn is_running(&self) -> bool {
        self.running_since.is_some()
    }

    /// Whether it is paused for this reason.
    pub fn is_paused_for(&self, reason: PauseReason) -> bool {
        self.pauses.contains(&reason)
    }
}

/// Clocks for tests.
#[cfg(test)]
pub(crate) mod manual {
    use super::TimeSource;
    use std::sync::Mutex;
    use std::time::{Duration, SystemTime};

    /// A machine whose time goes on by hand.
    #[derive(Debug, Default)]
    pub(crate) struct ManualTime(Mutex<(u32, Duration)>);

    impl ManualTime {
        pub(crate) fn pass(&self, milliseconds: u64) {
            self.0.lock().unwrap().1 += Duration::from_millis(milliseconds);
        }

        /// Starts the machine anew; its uptime begins at zero.
        pub(crate) fn boot_again(&self) {
            let mut time = self.0.lock().unwrap();
            *time = (time.0 + 1, Duration::ZERO);
        }
    }

    impl TimeSource for ManualTime {
        fn boot(&self) -> String {
            self.0.lock().unwrap().0.to_string()
        }

        fn uptime(&self) -> Duration {
            self.0.lock().unwrap().1
        }

        fn now(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH
        }
    }
}

#[cfg(test)]
mod tests {
    use super::manual::ManualTime;
    use super::*;

    const GRADING: BudgetChange = BudgetChange::Paused { reason: PauseReason::Grading };
    const GRADED: BudgetChange = BudgetChange::Resumed { reason: PauseReason::Grading };
    const OPERATOR: BudgetChange = BudgetChange::Paused { reason: PauseReason::Operator };
    const RESUMED: BudgetChange = BudgetChange::Resumed { reason: PauseReason::Operator };

    #[test]
    fn time_counts_between_the_start_and_a_pause_and_not_while_any_reason_holds() {
        let mut spending = Spending::default();
        assert_eq!(spending.used_ms(50), 0);
        for (change, at, used) in [
            (BudgetChange::Started, 100, 0),
            (GRADING, 150, 50),
            (OPERATOR, 160, 50),
            (GRADED, 400, 50),
            (RESUMED, 500, 50),
        ] {
            spending.apply(&change, at).unwrap();
            assert_eq!(spending.used_ms(at), used, "{change:?}");
        }
        assert!(spending.is_running());
        assert_eq!(spending.used_ms(525), 75);
    }

    #[test]
    fn impossible_change_is_refused_and_changes_nothing() {
        let mut spending = Spending::default();
        assert_eq!(spending.apply(&GRADING, 1), Err(BudgetError::Paused));
        spending.apply(&BudgetChange::Started, 1).unwrap();
        assert_eq!(spending.apply(&BudgetChange::Started, 2), Err(BudgetError::Started));
        assert_eq!(spending.apply(&GRADED, 2), Err(BudgetError::NotPaused));
        spending.apply(&GRADING, 2).unwrap();
        let before = spending.clone();
        assert_eq!(spending.apply(&GRADING, 3), Err(BudgetError::Paused));
        assert_eq!(spending, before);
    }

    #[test]
    fn clock_goes_on_over_a_restart_of_the_server_and_stands_still_while_the_machine_is_off() {
        let machine = Arc::new(ManualTime::default());
        machine.pass(7_000);
        let origin = Origin::now(&*machine);
        let clock = Clock::starting_at(machine.clone(), &origin);
        machine.pass(1_500);
        assert_eq!(clock.elapsed_ms(), 1_500);
        // The server was down for a second after its last line.
        machine.pass(1_000);
        let clock = Clock::resuming(machine.clone(), &origin, 0, 1_500);
        assert_eq!(clock.elapsed_ms(), 2_500);
        machine.boot_again();
        machine.pass(90_000);
        let clock = Clock::resuming(machine.clone(), &origin, 0, 2_500);
        assert_eq!(clock.elapsed_ms(), 2_500);
        let origin = clock.origin();
        machine.pass(10);
        assert_eq!(clock.elapsed_ms(), 2_510);
        let clock = Clock::resuming(machine, &origin, 2_500, 2_505);
        assert_eq!(clock.elapsed_ms(), 2_510);
    }

    #[test]
    fn twelve_hours_on_a_fast_clock_end_when_they_should() {
        let machine = Arc::new(ManualTime::default());
        let clock = Clock::starting_at(machine.clone(), &Origin::now(&*machine));
        let mut spending = Spending::default();
        spending.apply(&BudgetChange::Started, clock.elapsed_ms()).unwrap();
        let mut gradings = 0;
        while spending.used_ms(clock.elapsed_ms()) < 12 * 3_600_000 {
            machine.pass(239_500);
            spending.apply(&GRADING, clock.elapsed_ms()).unwrap();
            machine.pass(600_000);
            spending.apply(&GRADED, clock.elapsed_ms()).unwrap();
            gradings += 1;
        }
        assert_eq!(gradings, 181, "43,200 s in steps of 239.5 s");
        assert_eq!(spending.used_ms(clock.elapsed_ms()), 181 * 239_500);
    }
}
