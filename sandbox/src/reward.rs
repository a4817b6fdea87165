//! The weights of the milestone reward (SandMLE §4.3), and the value of a tier.
//!
//! A trajectory's reward (`agents::reward`) has all seven parts. The rewards of a served episode
//! (`serve::reward`) have no part for the format, which needs the text of the turns.
//!
//! Milestones end at gold. The part `beyond`, which the paper does not have and which is off by
//! default, goes on from there: it grows with the score up to the task's ceiling.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tasks::task::{Task, TaskId};
use tasks::thresholds::{BeyondGold, Milestone};

/// What each part of the reward is worth. The seven weights are not negative and sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, try_from = "RawWeights")]
#[schemars(!try_from)]
pub struct RewardWeights {
    /// Times the format share. Default 0.1.
    pub format: f64,
    /// For any valid submission. Default 0.2.
    pub execute: f64,
    /// For reaching the median threshold. Default 0.1.
    pub median: f64,
    /// For reaching bronze. Default 0.4.
    pub bronze: f64,
    /// For reaching silver. Default 0.1.
    pub silver: f64,
    /// For reaching gold. Default 0.1.
    pub gold: f64,
    /// Times the share of the way from gold to the ceiling ([`BeyondGold::share`]). Default 0, and
    /// left out of files then. Above 0 it needs tasks whose ceiling is known
    /// ([`Self::check_tasks`]).
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(!skip_serializing_if)]
    pub beyond: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_zero(weight: &f64) -> bool {
    *weight == 0.0
}

/// A task whose ceiling is not known, under weights that reward the way to it.
#[derive(Debug, thiserror::Error)]
#[error(
    "the weight `beyond` of the reward is above 0, and the ceiling of the task {0} is not known: \
     only tasks of the factory have one; set `rules.reward.beyond` to 0 and share its weight among \
     the others, or leave the task out"
)]
pub struct NoCeiling(pub TaskId);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWeights {
    format: f64,
    execute: f64,
    median: f64,
    bronze: f64,
    silver: f64,
    gold: f64,
    #[serde(default)]
    beyond: f64,
}

impl TryFrom<RawWeights> for RewardWeights {
    type Error = String;
    fn try_from(raw: RawWeights) -> Result<Self, String> {
        let RawWeights { format, execute, median, bronze, silver, gold, beyond } = raw;
        let weights = [format, execute, median, bronze, silver, gold, beyond];
        let sum: f64 = weights.iter().sum();
        if weights.iter().any(|weight| weight.is_nan() || *weight < 0.0) {
            return Err("reward weights must not be negative".to_owned());
        }
        if (sum - 1.0).abs() > 1e-9 {
            return Err(format!("reward weights must sum to 1, these sum to {sum}"));
        }
        Ok(Self { format, execute, median, bronze, silver, gold, beyond })
    }
}

impl RewardWeights {
    /// The paper's dense milestone reward.
    pub const DENSE: Self = Self {
        format: 0.1,
        execute: 0.2,
        median: 0.1,
        bronze: 0.4,
        silver: 0.1,
        gold: 0.1,
        beyond: 0.0,
    };
    /// The paper's sparse ablation: format and gold only.
    pub const SPARSE: Self = Self {
        format: 0.1,
        execute: 0.0,
        median: 0.0,
        bronze: 0.0,
        silver: 0.0,
        gold: 0.9,
        beyond: 0.0,
    };
    /// The dense reward with a part that goes on above gold, taken from bronze, its largest part.
    pub const BEYOND_GOLD: Self = Self { bronze: 0.3, beyond: 0.1, ..Self::DENSE };

    /// The sum of the weights of all tiers up to and including `reached`, in [0, 1].
    ///
    /// # Examples
    /// ```rust
    /// use sandbox::reward::RewardWeights;
    /// use tasks::thresholds::Milestone;
    ///
    /// // Median 0.1, bronze 0.4 and silver 0.1: a tier includes those below it.
    /// let reward = RewardWeights::DENSE.tiers(Some(Milestone::Silver));
    /// assert!((reward - 0.6).abs() < 1e-12);
    /// assert_eq!(RewardWeights::SPARSE.tiers(Some(Milestone::Silver)), 0.0);
    /// ```
    pub fn tiers(&self, reached: Option<Milestone>) -> f64 {
        let milestones = [
            (Milestone::Median, self.median),
            (Milestone::Bronze, self.bronze),
            (Milestone::Silver, self.silver),
            (Milestone::Gold, self.gold),
        ];
        // Not `sum`, whose empty value is -0.0.
        milestones
            .iter()
            .filter(|(tier, _)| reached >= Some(*tier))
            .fold(0.0, |sum, (_, weight)| sum + weight)
    }

    /// The part above gold of a score, in [0, `beyond`]: 0 where the ceiling is not known.
    pub fn above_gold(&self, score: f64, way: Option<&BeyondGold>) -> f64 {
        // Also spares the sum a -0.0, or a NaN of an infinite threshold.
        if self.beyond == 0.0 { 0.0 } else { self.beyond * way.map_or(0.0, |way| way.share(score)) }
    }

    /// Checks that these weights can reward all of `tasks`.
    ///
    /// # Errors
    /// [`NoCeiling`] with the first task whose ceiling is not known, if `beyond` is above 0.
    pub fn check_tasks<'a>(
        &self,
        tasks: impl IntoIterator<Item = &'a Task>,
    ) -> Result<(), NoCeiling> {
        if self.beyond == 0.0 {
            return Ok(());
        }
        match tasks.into_iter().find(|task| task.beyond_gold().is_none()) {
            Some(task) => Err(NoCeiling(task.id().clone())),
            None => Ok(()),
        }
    }
}

impl Default for RewardWeights {
    fn default() -> Self {
        Self::DENSE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_add_up() {
        let tiers = [
            None,
            Some(Milestone::Median),
            Some(Milestone::Bronze),
            Some(Milestone::Silver),
            Some(Milestone::Gold),
        ];
        for (tier, expected) in tiers.into_iter().zip([0.0, 0.1, 0.5, 0.6, 0.7]) {
            assert!((RewardWeights::DENSE.tiers(tier) - expected).abs() < 1e-12, "{tier:?}");
        }
        assert!(RewardWeights::DENSE.tiers(None).is_sign_positive());
    }

    #[test]
    fn weights_are_checked() {
        let parse = |text: &str| serde_json::from_str::<RewardWeights>(text);
        let json = serde_json::to_string(&RewardWeights::DENSE).unwrap();
        assert_eq!(parse(&json).unwrap(), RewardWeights::DENSE);
        assert!(parse(&json.replace("0.4", "0.5")).unwrap_err().to_string().contains("sum to 1"));
        assert!(parse(&json.replace("0.1", "-0.1")).is_err());
        assert!(!json.contains("beyond"), "files are as they were: {json}");
        let json = serde_json::to_string(&RewardWeights::BEYOND_GOLD).unwrap();
        assert_eq!(parse(&json).unwrap(), RewardWeights::BEYOND_GOLD);
    }

    #[test]
    fn rewards_above_gold_are_refused_where_the_ceiling_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = camino::Utf8Path::from_path(folder.path()).unwrap().join("crop-yield");
        let files = path.join("prepared/public");
        fs_err::create_dir_all(&files).unwrap();
        for name in ["train.csv", "sample_submission.csv", "answer.csv", "evaluator.py"] {
            fs_err::write(files.join(name), "id,y\n").unwrap();
        }
        let bundle = Task::open(&path, &tasks::task::Opening::default()).unwrap();
        RewardWeights::DENSE.check_tasks([&bundle]).unwrap();
        let error = RewardWeights::BEYOND_GOLD.check_tasks([&bundle]).unwrap_err().to_string();
        assert!(error.contains("crop-yield") && error.contains("rules.reward.beyond"), "{error}");
        assert_eq!(RewardWeights::BEYOND_GOLD.above_gold(0.9, None), 0.0);
    }
}
