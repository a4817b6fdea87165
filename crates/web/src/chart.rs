//! Line charts as inline SVG.

use crate::html::escape;
use std::fmt::Write as _;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
/// Lines also differ by their dash pattern, for readers who do not see the colours.
const STYLES: [(&str, &str); 5] = [
    ("#2563eb", ""),
    ("#d97706", "6 3"),
    ("#059669", "2 3"),
    ("#9333ea", "8 3 2 3"),
    ("#dc2626", "1 2"),
];

/// One named series of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// (x, y), sorted by x.
    pub points: Vec<(f64, f64)>,
}

/// A chart of one or more lines over the same axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Heading above the chart.
    pub title: String,
    /// Below the horizontal axis.
    pub x_label: String,
    /// The lines, in the legend's order.
    pub lines: Vec<Line>,
    /// Fixed range of the vertical axis, or that of the data.
    pub y_range: Option<(f64, f64)>,
}

impl Chart {
    /// A `<figure>` with the title, the chart as inline SVG, and a legend.
    pub fn html(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let range = |values: Vec<f64>| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if low < high { (low, high) } else { (low - 0.5, low + 0.5) }
        };
        let mut html = format!("<figure><figcaption>{}</figcaption>", escape(&self.title));
        if points().next().is_none() {
            html.push_str("<p class=\"none\">nothing recorded</p></figure>");
            return html;
        }
        let (x_low, x_high) = range(points().map(|point| point.0).collect());
        let (y_low, y_high) =
            self.y_range.unwrap_or_else(|| range(points().map(|point| point.1).collect()));
        let x = |value: f64| LEFT + (value - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| {
            HEIGHT - BOTTOM - (value - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)
        };
        let _ = write!(
            html,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escape(&self.title)
        );
        for tick in 0..=4 {
            let share = f64::from(tick) / 4.0;
            let value = y_low + share * (y_high - y_low);
            let _ = write!(
                html,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y(value) + 4.0,
                tick_label(value),
                at = y(value),
            );
            let value = x_low + share * (x_high - x_low);
            let _ = write!(
                html,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                x(value),
                HEIGHT - BOTTOM + 15.0,
                tick_label(value)
            );
        }
        let _ = write!(
            html,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, WIDTH - RIGHT),
            HEIGHT - 4.0,
            escape(&self.x_label)
        );
        for (line, (color, dash)) in self.lines.iter().zip(STYLES.iter().cycle()) {
            let path: Vec<String> = line
                .points
                .iter()
                .map(|(at, value)| format!("{:.1},{:.1}", x(*at), y(*value)))
                .collect();
            let _ = write!(
                html,
                "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" \
                 stroke-dasharray=\"{dash}\" points=\"{}\"/>",
                path.join(" ")
            );
            if let [only] = path.as_slice()
                && let Some((cx, cy)) = only.split_once(',')
            {
                let _ = write!(html, "<circle cx=\"{cx}\" cy=\"{cy}\" r=\"3\" fill=\"{color}\"/>");
            }
        }
        html.push_str("</svg>");
        if self.lines.len() > 1 {
            html.push_str("<p class=\"legend\">");
            for (line, (color, dash)) in self.lines.iter().zip(STYLES.iter().cycle()) {
                let _ = write!(
                    html,
                    "<span><svg viewBox=\"0 0 24 6\" class=\"key\"><line x1=\"0\" x2=\"24\" \
                     y1=\"3\" y2=\"3\" stroke=\"{color}\" stroke-width=\"2\" \
                     stroke-dasharray=\"{dash}\"/></svg> {}</span> ",
                    escape(&line.name)
                );
            }
            html.push_str("</p>");
        }
        html.push_str("</figure>");
        html
    }
}

fn tick_label(value: f64) -> String {
    if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else if value.abs() >= 10.0 || value == value.round() {
        format!("{value:.1}").trim_end_matches(".0").to_owned()
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> String {
        let line = Line { name: "a < b".to_owned(), points };
        let lines = vec![line.clone(), line];
        let x_label = "step".to_owned();
        Chart { title: "\"R\" & more".to_owned(), x_label, lines, y_range: None }.html()
    }

    #[test]
    fn text_is_escaped_and_every_point_is_finite() {
        for points in
            [vec![(0.0, 1.0)], vec![(0.0, 1.0), (5.0, 1.0)], vec![(1.0, -2.0), (2.0, 9e9)]]
        {
            let html = chart(points);
            assert!(html.contains("&quot;R&quot; &amp; more") && html.contains("a &lt; b"));
            assert!(!html.contains("NaN") && !html.contains("inf"));
        }
        assert!(chart(Vec::new()).contains("nothing recorded"));
    }
}
