//! What an export's verifier must make of a submission.

use sandbox::reward::RewardWeights;
use serde_json::Value;
use tasks::grade::NativeGrader;
use tasks::submission::Part;
use tasks::task::TaskDir;

/// The rewards that the native grader's verdict on a submission is worth.
pub(crate) fn expected(task: &TaskDir, csv: &str) -> Value {
    let grader = NativeGrader::open(task).unwrap();
    let grade = grader.grade(csv.as_bytes(), Part::All).ok();
    let weights = RewardWeights::DENSE;
    let reward = grade.map_or(0.0, |grade| weights.execute + weights.tiers(grade.tier));
    let mut rewards = serde_json::json!({"reward": reward, "valid": u8::from(grade.is_some())});
    for (milestone, _) in task.manifest().thresholds.ascending() {
        let reached = grade.is_some_and(|grade| grade.tier >= Some(milestone));
        rewards[milestone.name()] = u8::from(reached).into();
    }
    if let Some(grade) = grade {
        rewards["score"] = grade.score.into();
    }
    rewards
}

/// Checks that two objects of rewards are the same, the score but for rounding.
pub(crate) fn assert_same(found: &Value, expected: &Value, what: &str) {
    let (mut found, mut expected) = (found.clone(), expected.clone());
    let score = |rewards: &mut Value| rewards.as_object_mut().unwrap().remove("score");
    let scores = [score(&mut found), score(&mut expected)].map(|score| score.map(|s| s.as_f64()));
    assert_eq!(found, expected, "{what}: {scores:?}");
    if let [Some(Some(one)), Some(Some(other))] = scores {
        assert!((one - other).abs() <= 1e-9 * other.abs() + 1e-12, "{what}: {one}, {other}");
    } else {
        assert_eq!(scores[0], scores[1], "{what}");
    }
}
