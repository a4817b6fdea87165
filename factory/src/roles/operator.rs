//! The `MLOps` engineer: a standalone evaluator, for anyone without our binaries.

use crate::spec::blueprint::Blueprint;
use tasks::json::sorted;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;

/// The evaluator's code; the task's settings replace one line of it.
const TEMPLATE: &str = include_str!("evaluator.py");
const SETTINGS_LINE: &str = "SETTINGS = {}";

/// Writes the evaluator of a task.
pub fn evaluator(blueprint: &Blueprint) -> String {
    standalone(blueprint.metric, &blueprint.id_column, &blueprint.prediction)
}

/// Writes an evaluator for any kind of prediction.
pub fn standalone(metric: Metric, id_column: &str, prediction: &Prediction) -> String {
    // JSON of strings, numbers, lists and objects, without booleans, is also Python.
    let settings = sorted(serde_json::json!({
        "metric": metric.name(),
        "id": id_column,
        "columns": prediction.columns(),
        "answer_columns": prediction.answer_columns(),
        "prediction": prediction,
    }));
    TEMPLATE.replacen(SETTINGS_LINE, &format!("SETTINGS = {settings}"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_has_its_settings_line_once() {
        assert_eq!(TEMPLATE.matches(SETTINGS_LINE).count(), 1);
    }
}
