//! The curriculum: how often each task is drawn.
//!
//! A group whose rewards are all equal has no gradient: its task is solved already, or out of
//! reach. The sampler `adaptive` keeps what the groups of each task have shown and draws tasks in
//! proportion to the chance that the rewards of their next group differ:
//!
//! ```text
//! a(g)   = 2 ^ -(passes since group g / half_life)      the weight of an earlier group of the task
//! chance = (1 + Σ a(g) over groups whose rewards differed) / (1 + Σ a(g) over all groups)
//! weight = max(chance, floor)
//! ```
//! A pass is as many steps as uniform draws need to meet every task once. The 1s are the prior: a
//! task that was never met counts as one group with different rewards, and what is not drawn
//! returns to that as its groups age. The tasks of a step are drawn one after another without
//! replacement, each with a probability proportional to its weight.
//!
//! The idea is that of sampling for learnability (Rutherford et al. 2024; Foster & Foerster 2025),
//! where the weight is p (1 - p) of a success rate p; with graded rewards there is no single p, so
//! the share of groups that had a gradient is counted instead.
//!
//! What has been observed is stored in whole numbers, so that a run that is resumed draws the same
//! tasks.

use crate::run::settings::{SettingsError, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::task::TaskId;

/// Groups that are older than this many half-lives weigh less than a thousandth, and are forgotten.
const FORGOTTEN_AFTER: f64 = 10.0;

/// How tasks are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sampler {
    /// Shuffles of all tasks, one after another: every task comes up equally often.
    Uniform,
    /// In proportion to the estimated chance that the rewards of a group differ.
    Adaptive,
}

/// How often each task is drawn.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `sampler` | `uniform` | `adaptive` prefers tasks whose groups have different rewards |
/// | `floor` | 0.1 | smallest weight of a task, where one that always has a gradient has 1; above 0, at most 1 |
/// | `half_life` | 4 | passes over the training tasks until a group counts half; above 0 |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Curriculum {
    /// How tasks are drawn.
    pub sampler: Sampler,
    /// The smallest weight of a task, in (0, 1]; 1 makes all weights equal. Read by `adaptive`.
    pub floor: f64,
    /// After how many passes over the training tasks a group counts half; above 0. Read by
    /// `adaptive`.
    pub half_life: f64,
}

impl Default for Curriculum {
    fn default() -> Self {
        Self { sampler: Sampler::Uniform, floor: 0.1, half_life: 4.0 }
    }
}

impl Curriculum {
    /// Whether these are the defaults, which settings files leave out.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// [`SettingsError`] naming the setting.
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let Self { floor, half_life, .. } = *self;
        require(
            floor > 0.0 && floor <= 1.0,
            "curriculum.floor",
            &floor,
            "above 0, so that every task keeps being drawn, and at most 1",
        )?;
        require(
            half_life > 0.0 && half_life.is_finite(),
            "curriculum.half_life",
            &half_life,
            "above 0",
        )
    }
}

/// What the groups of each task have shown: the state of `adaptive`, as checkpoints store it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupHistory {
    /// By task, oldest group first.
    tasks: BTreeMap<TaskId, Vec<ObservedGroup>>,
}

/// The step of a group, and whether its rewards differed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ObservedGroup(u64, bool);

/// The half-life of a group's weight in steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HalfLife(pub(super) f64);

impl HalfLife {
    /// The weight at `step` of a group of an earlier step, in (0, 1].
    fn weight(self, group: u64, step: u64) -> f64 {
        libm::exp2(-(step.saturating_sub(group) as f64) / self.0)
    }
}

impl GroupHistory {
    /// Takes note of a group of `task` that was played at `step`.
    pub(super) fn observe(&mut self, task: &TaskId, step: u64, differed: bool) {
        self.tasks.entry(task.clone()).or_default().push(ObservedGroup(step, differed));
    }

    /// Forgets groups that hardly weigh anything at `step`.
    pub(super) fn forget(&mut self, step: u64, half_life: HalfLife) {
        let is_fresh =
            |group: &ObservedGroup| half_life.weight(group.0, step) > libm::exp2(-FORGOTTEN_AFTER);
        self.tasks.retain(|_, groups| {
            groups.retain(is_fresh);
            !groups.is_empty()
        });
    }

    /// The estimated chance, in (0, 1], that the rewards of a group of `task` at `step` differ.
    pub(super) fn chance(&self, task: &TaskId, step: u64, half_life: HalfLife) -> f64 {
        let (mut differed, mut all) = (1.0, 1.0);
        for &ObservedGroup(group, differs) in self.tasks.get(task).into_iter().flatten() {
            let weight = half_life.weight(group, step);
            all += weight;
            if differs {
                differed += weight;
            }
        }
        differed / all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(name: &str) -> TaskId {
        TaskId::new(name).unwrap()
    }

    #[test]
    fn chance_counts_groups_by_age_beside_the_prior() {
        let (half_life, met) = (HalfLife(4.0), task("met"));
        let mut history = GroupHistory::default();
        assert_eq!(history.chance(&met, 9, half_life), 1.0, "never met");
        history.observe(&met, 2, true);
        history.observe(&met, 6, false);
        history.observe(&met, 10, false);
        // Weights at step 10: 1/4, 1/2 and 1.
        let expected = (1.0 + 0.25) / (1.0 + 0.25 + 0.5 + 1.0);
        assert!((history.chance(&met, 10, half_life) - expected).abs() < 1e-12);
        assert_eq!(history.chance(&task("other"), 10, half_life), 1.0);
        assert!(history.chance(&met, 60, half_life) > 0.999, "what is old is met anew");
    }

    #[test]
    fn what_hardly_weighs_is_forgotten() {
        let half_life = HalfLife(2.0);
        let mut history = GroupHistory::default();
        history.observe(&task("old"), 0, false);
        history.observe(&task("kept"), 5, false);
        history.forget(19, half_life);
        assert_eq!(history.tasks.len(), 2);
        history.forget(20, half_life);
        let left: Vec<&str> = history.tasks.keys().map(TaskId::as_str).collect();
        assert_eq!(left, ["kept"]);
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        Curriculum::default().check().unwrap();
        for (floor, half_life, key) in [
            (0.0, 4.0, "floor"),
            (1.1, 4.0, "floor"),
            (f64::NAN, 4.0, "floor"),
            (0.1, 0.0, "half_life"),
            (0.1, f64::INFINITY, "half_life"),
        ] {
            let settings = Curriculum { sampler: Sampler::Adaptive, floor, half_life };
            let error = settings.check().unwrap_err().to_string();
            assert!(error.contains(&format!("curriculum.{key}")), "{error}");
        }
    }

    proptest! {
        #[test]
        fn chance_is_a_share_and_moves_with_what_is_observed(
            groups in prop::collection::vec((0u64..40, any::<bool>()), 0..12),
            half_life in 0.5..50.0f64,
        ) {
            let (half_life, one) = (HalfLife(half_life), task("one"));
            let mut history = GroupHistory::default();
            for &(step, differed) in &groups {
                history.observe(&one, step, differed);
            }
            let before = history.chance(&one, 40, half_life);
            prop_assert!(before > 0.0 && before <= 1.0);
            let after = |differed| {
                let mut more = history.clone();
                more.observe(&one, 40, differed);
                more.chance(&one, 40, half_life)
            };
            prop_assert!(after(true) >= before && after(false) < before);
        }

        #[test]
        fn history_round_trips_to_the_same_chances(
            groups in prop::collection::vec(("[a-d]", 0u64..1_000, any::<bool>()), 0..40),
        ) {
            let mut history = GroupHistory::default();
            for (name, step, differed) in &groups {
                history.observe(&task(name), *step, *differed);
            }
            let text = serde_json::to_string(&history).unwrap();
            let again: GroupHistory = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&again, &history);
            for name in ["a", "b", "c", "d", "e"] {
                let chance = |history: &GroupHistory| {
                    history.chance(&task(name), 1_000, HalfLife(56.0)).to_bits()
                };
                prop_assert_eq!(chance(&again), chance(&history));
            }
        }
    }
}
