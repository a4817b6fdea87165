//! The baselines and the milestones of a task on one axis, from worse to better.

use super::number::short;
use super::rows::{ChartRow, Mark, PointStyle, RowChart};
use maud::Markup;

/// Scores of a task's baselines and milestones.
#[derive(Debug, Clone, PartialEq)]
pub struct LadderChart {
    /// Name of the metric.
    pub metric: String,
    /// Whether lower scores are better.
    pub lower_is_better: bool,
    /// Scores of the baselines R0 to R3.
    pub baselines: [f64; 4],
    /// Score of the noise-free truth.
    pub ceiling: f64,
    /// Thresholds of median, bronze, silver and gold.
    pub milestones: [f64; 4],
}

impl LadderChart {
    /// A `<figure>` with a row per baseline and milestone, the best on top; better scores are
    /// further to the right.
    pub fn html(&self) -> Markup {
        let [r0, r1, r2, r3] = self.baselines;
        let [median, bronze, silver, gold] = self.milestones;
        let rows = [
            ("ceiling", PointStyle::Plain, self.ceiling),
            ("R3 rule's terms", PointStyle::Plain, r3),
            ("gold", PointStyle::Gold, gold),
            ("silver", PointStyle::Silver, silver),
            ("bronze", PointStyle::Bronze, bronze),
            ("R2 tuned forest", PointStyle::Plain, r2),
            ("median", PointStyle::Median, median),
            ("R1 simple", PointStyle::Plain, r1),
            ("R0 constant", PointStyle::Plain, r0),
        ];
        let row = |(name, style, value): (&str, PointStyle, f64)| ChartRow {
            label: name.to_owned(),
            note: String::new(),
            detail: String::new(),
            marks: vec![(Mark::Point { value, style }, short(value))],
        };
        let better = if self.lower_is_better { "lower is better" } else { "higher is better" };
        let chart = RowChart {
            title: String::new(),
            x_label: format!("{}, {better} →", self.metric),
            rows: rows.map(row).to_vec(),
            reversed: self.lower_is_better,
            reference: Some(self.ceiling),
        };
        chart.html()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(lower_is_better: bool, scores: [f64; 9]) -> String {
        let [r0, r1, r2, r3, ceiling, median, bronze, silver, gold] = scores;
        let ladder = LadderChart {
            metric: "rmse".to_owned(),
            lower_is_better,
            baselines: [r0, r1, r2, r3],
            ceiling,
            milestones: [median, bronze, silver, gold],
        };
        ladder.html().into_string()
    }

    #[test]
    fn ladder_of_errors_falls_to_the_right() {
        let scores = [4.0, 3.0, 2.0, 1.0, 0.0, 3.0, 2.0, 1.6, 1.2];
        let html = ladder(true, scores).replace("></path>", "/>").replace("></circle>", "/>");
        insta::assert_snapshot!(html.replace("><", ">\n<"));
    }

    #[test]
    fn ladder_of_scores_and_of_errors_is_the_same_picture() {
        let scores = [0.5, 0.5625, 0.625, 0.75, 0.875, 0.5625, 0.625, 0.6875, 0.71875];
        let places = |svg: &str| -> Vec<String> {
            let place = |rest: &str| rest.split('"').next().unwrap().to_owned();
            svg.split("cx=\"").skip(1).map(place).collect()
        };
        let up = ladder(false, scores);
        let down = ladder(true, scores.map(|score| 1.0 - score));
        assert_eq!(places(&up), places(&down));
        assert!(up.contains("higher is better") && down.contains("lower is better"));
    }

    #[test]
    fn ladder_of_equal_scores_is_drawn() {
        let html = ladder(true, [1.0; 9]);
        assert!(html.matches("<circle").count() == 5 && !html.contains("NaN"), "{html}");
    }
}
