//! The baselines and the milestones on one axis, from worse to better.

use super::html::short;
use std::fmt::Write as _;
use tasks::metrics::Direction;
use tasks::task::Manifest;
use web::html::escape;

/// Where the axis begins and ends in a plot 360 wide.
const LEFT: f64 = 118.0;
const RIGHT: f64 = 304.0;
/// Height of a line.
const STEP: f64 = 19.0;

/// An SVG with a line per baseline and milestone, the best on top.
pub(super) fn plot(manifest: &Manifest) -> String {
    let direction = manifest.direction();
    let [r0, r1, r2, r3] = manifest.baselines.ladder;
    let thresholds = &manifest.thresholds;
    let lines = [
        ("ceiling", "rung", manifest.baselines.ceiling),
        ("R3 rule's terms", "rung", r3),
        ("gold", "gold", thresholds.gold_threshold),
        ("silver", "silver", thresholds.silver_threshold),
        ("bronze", "bronze", thresholds.bronze_threshold),
        ("R2 tuned forest", "rung", r2),
        ("median", "median", thresholds.median_threshold),
        ("R1 simple", "rung", r1),
        ("R0 constant", "rung", r0),
    ];
    let gains = lines.iter().map(|(_, _, score)| direction.gain(*score));
    let low = gains.clone().fold(f64::INFINITY, f64::min);
    let high = gains.fold(f64::NEG_INFINITY, f64::max);
    let width = if high > low { high - low } else { 1.0 };
    let place = |score: f64| LEFT + (direction.gain(score) - low) / width * (RIGHT - LEFT);
    let bottom = STEP * lines.len() as f64 + 6.0;
    let metric = escape(&manifest.metric.to_string());
    let mut svg = format!(
        "<svg class=\"ladder\" viewBox=\"0 0 360 {:.0}\" role=\"img\" aria-label=\"ladder of baselines and milestones by {metric}\">\n",
        bottom + 36.0
    );
    let _ = writeln!(
        svg,
        "<path class=\"ceiling\" d=\"M{0:.1} 4V{bottom:.0}\"/>",
        place(manifest.baselines.ceiling)
    );
    for (line, (name, class, score)) in lines.iter().enumerate() {
        let y = STEP * (line as f64 + 0.5) + 2.0;
        let x = place(*score);
        let _ = write!(
            svg,
            "<text class=\"{class}\" x=\"0\" y=\"{:.1}\">{}</text><path class=\"guide\" d=\"M{LEFT:.0} {y:.1}H{x:.1}\"/>",
            y + 4.0,
            escape(name)
        );
        if *class == "rung" {
            let _ = write!(svg, "<circle class=\"rung\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>");
        } else {
            let _ = write!(
                svg,
                "<path class=\"{class}\" d=\"M{x:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5 -5.5z\"/>",
                y - 5.5
            );
        }
        let _ = writeln!(
            svg,
            "<text class=\"end\" x=\"359\" y=\"{:.1}\">{}</text>",
            y + 4.0,
            short(*score)
        );
    }
    let _ = writeln!(svg, "<path class=\"axis\" d=\"M{LEFT:.0} {bottom:.0}H{RIGHT:.0}\"/>");
    for share in [0.0, 0.5, 1.0] {
        let x = LEFT + share * (RIGHT - LEFT);
        let score = direction.gain(low + share * width);
        let _ = writeln!(
            svg,
            "<path class=\"axis\" d=\"M{x:.1} {bottom:.0}v4\"/><text class=\"middle faint\" x=\"{x:.1}\" y=\"{:.0}\">{}</text>",
            bottom + 16.0,
            short(score)
        );
    }
    let better = match direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let _ = write!(
        svg,
        "<text class=\"middle faint\" x=\"{:.0}\" y=\"{:.0}\">{metric}, {better} →</text>\n</svg>",
        f64::midpoint(LEFT, RIGHT),
        bottom + 32.0
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::metrics::Metric;

    fn manifest(metric: Metric, scores: [f64; 9]) -> Manifest {
        let [r0, r1, r2, r3, ceiling, median, bronze, silver, gold] = scores;
        serde_json::from_value(serde_json::json!({
            "version": 1,
            "id": "0000-test",
            "title": "Test",
            "seed_task": "none",
            "domain": "none",
            "modality": "tabular",
            "formulation": "regression",
            "metric": metric,
            "id_column": "id",
            "prediction": { "kind": "number", "column": "y" },
            "thresholds": {
                "gold_threshold": gold,
                "silver_threshold": silver,
                "bronze_threshold": bronze,
                "median_threshold": median,
            },
            "baselines": { "ladder": [r0, r1, r2, r3], "ceiling": ceiling },
            "rows": { "train": 1, "test": 1 },
            "split": "train",
            "provenance": null,
            "hashes": {},
        }))
        .unwrap()
    }

    #[test]
    fn errors_fall_to_the_right() {
        let scores = [4.0, 3.0, 2.0, 1.0, 0.0, 3.0, 2.0, 1.6, 1.2];
        insta::assert_snapshot!(plot(&manifest(Metric::Rmse, scores)));
    }

    #[test]
    fn a_score_and_its_error_make_the_same_picture() {
        let scores = [0.5, 0.6, 0.7, 0.8, 0.9, 0.6, 0.7, 0.74, 0.78];
        let places = |svg: &str| -> Vec<String> {
            svg.split("cx=\"")
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap().to_owned())
                .collect()
        };
        let up = plot(&manifest(Metric::Accuracy, scores));
        let down = plot(&manifest(Metric::Rmse, scores.map(|score| 1.0 - score)));
        assert_eq!(places(&up), places(&down));
        assert!(up.contains("higher is better") && down.contains("lower is better"));
    }

    #[test]
    fn equal_scores_leave_a_plot() {
        assert!(!plot(&manifest(Metric::Rmse, [1.0; 9])).contains("NaN"));
    }
}
