//! How metrics are computed, as pages state it: a fixed text for each metric and kind of prediction.

use super::english::quoted;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;

/// The texts of `definitions.toml`, by metric and kind of prediction.
static DEFINITIONS: LazyLock<BTreeMap<String, BTreeMap<String, String>>> = LazyLock::new(|| {
    toml::from_str(include_str!("definitions.toml")).expect("a test parses this file")
});

/// How a metric is computed, in Markdown: all that a reader needs in order to compute the score of
/// a submission, with the names of the prediction's columns and classes. `None` if the metric does
/// not score such predictions.
///
/// # Examples
/// ```rust
/// use factory::page::definition;
/// use tasks::metrics::Metric;
/// use tasks::prediction::Prediction;
///
/// let prediction = Prediction::Number { column: "yield_kg".to_owned() };
/// let text = definition(Metric::Rmse, &prediction).unwrap();
/// assert!(text.contains("value of `yield_kg`"));
/// assert!(text.contains("rmse = sqrt(mean over rows of (t - p)^2)"));
/// assert_eq!(definition(Metric::Ssim, &prediction), None);
/// ```
pub fn definition(metric: Metric, prediction: &Prediction) -> Option<String> {
    let mut text = DEFINITIONS.get(metric.name())?.get(kind(prediction))?.trim().to_owned();
    for (slot, value) in slots(prediction) {
        text = text.replace(&format!("{{{slot}}}"), &value);
    }
    Some(text)
}

/// The kind of a prediction, as manifests write it.
fn kind(prediction: &Prediction) -> &'static str {
    match prediction {
        Prediction::Number { .. } => "number",
        Prediction::Probability { .. } => "probability",
        Prediction::Label { .. } => "label",
        Prediction::ClassProbabilities { .. } => "class_probabilities",
        Prediction::Numbers { .. } => "numbers",
        Prediction::Quantiles { .. } => "quantiles",
        Prediction::Probabilities { .. } => "probabilities",
        Prediction::Flags { .. } => "flags",
        Prediction::Relevance { .. } => "relevance",
        Prediction::Mask { .. } => "mask",
        Prediction::Boxes { .. } => "boxes",
        Prediction::Pixels { .. } => "pixels",
        Prediction::Text { .. } => "text",
        Prediction::Ids { .. } => "ids",
    }
}

/// What the slots of a text stand for.
fn slots(prediction: &Prediction) -> Vec<(&'static str, String)> {
    let code = |name: &String| format!("`{name}`");
    match prediction {
        Prediction::Number { column }
        | Prediction::Probability { column }
        | Prediction::Mask { column, .. }
        | Prediction::Text { column }
        | Prediction::Ids { column, .. } => vec![("target", code(column))],
        Prediction::Label { column, classes } => {
            let numbered: Vec<String> = classes
                .iter()
                .enumerate()
                .map(|(number, class)| format!("{number} is `{class}`"))
                .collect();
            vec![
                ("target", code(column)),
                ("classes", quoted(classes)),
                ("positive", classes.get(1).map(code).unwrap_or_default()),
                ("numbered", numbered.join(", ")),
            ]
        }
        Prediction::ClassProbabilities { column, classes }
        | Prediction::Boxes { column, classes } => {
            vec![("target", code(column)), ("classes", quoted(classes))]
        }
        Prediction::Numbers { columns } | Prediction::Probabilities { columns } => {
            vec![("columns", quoted(columns))]
        }
        Prediction::Quantiles { column, columns: [low, middle, high] } => vec![
            ("target", code(column)),
            ("low", code(low)),
            ("middle", code(middle)),
            ("high", code(high)),
        ],
        Prediction::Flags { column, labels } => {
            vec![("target", code(column)), ("labels", quoted(labels))]
        }
        Prediction::Relevance { column, query } => {
            vec![("target", code(column)), ("query", code(query))]
        }
        Prediction::Pixels { column, levels, .. } => {
            vec![("target", code(column)), ("top", levels.saturating_sub(1).to_string())]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_a_formula_known_metrics_and_known_slots() {
        let slots = [
            "target", "columns", "classes", "labels", "positive", "numbered", "query", "top",
            "low", "middle", "high",
        ];
        for (name, kinds) in DEFINITIONS.iter() {
            assert!(Metric::ALL.iter().any(|metric| metric.name() == name), "{name}");
            for (kind, text) in kinds {
                assert!(text.contains(&format!("\n\n```\n{name} = ")), "{name}.{kind}");
                assert_eq!(text.matches("```\n").count(), 2, "{name}.{kind}");
                for slot in text.split('{').skip(1) {
                    let slot = slot.split('}').next().unwrap();
                    assert!(slots.contains(&slot), "{name}.{kind}: {slot}");
                }
                // Boxes need the most.
                let most = if kind == "boxes" { 220 } else { 135 };
                let words = text.split_whitespace().count();
                assert!(words <= most, "{name}.{kind} has {words} words");
            }
        }
    }

    #[test]
    fn names_of_the_task_are_filled_in() {
        let classes = ["low", "mid", "top"].map(str::to_owned).to_vec();
        let prediction = Prediction::Label { column: "wear".to_owned(), classes };
        let text = definition(Metric::QuadraticKappa, &prediction).unwrap();
        assert!(text.starts_with("The classes have numbers: 0 is `low`, 1 is `mid`, 2 is `top`. "));
        assert!(!text.contains('{'));
        let flags = ["0", "1"].map(str::to_owned).to_vec();
        let prediction = Prediction::Label { column: "late".to_owned(), classes: flags };
        let text = definition(Metric::F1, &prediction).unwrap();
        assert!(text.starts_with("`1` is the positive class of `late`. "), "{text}");
    }
}
