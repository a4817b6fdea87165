//! The `MLOps` engineer: a standalone evaluator, for anyone without our binaries.

use crate::blueprint::Blueprint;
use sandbox::task::Prediction;

/// The evaluator's code; the task's settings replace one line of it.
const TEMPLATE: &str = include_str!("evaluator.py");
const SETTINGS_LINE: &str = "SETTINGS = {}";

/// Writes the evaluator of a task.
pub fn evaluator(blueprint: &Blueprint) -> String {
    let (kind, classes): (&str, &[String]) = match &blueprint.prediction {
        Prediction::Number { .. } => ("number", &[]),
        Prediction::Probability { .. } => ("probability", &[]),
        Prediction::Label { classes, .. } => ("label", classes),
        Prediction::ClassProbabilities { classes, .. } => ("class_probabilities", classes),
    };
    // JSON of strings, lists and no booleans is also Python.
    let settings = serde_json::json!({
        "metric": blueprint.metric.name(),
        "id": blueprint.id_column,
        "target": blueprint.target(),
        "kind": kind,
        "classes": classes,
    });
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
