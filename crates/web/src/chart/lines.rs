//! Lines over two axes.

use super::axis::Axis;
use super::figure::{LINE, WIDTH, at, empty, figure, inside, series, text_width};
use super::legend::{Key, legend};
use super::number::short;
use maud::{Markup, html};

/// Height of the part between the axes.
const HEIGHT: f64 = 150.0;
/// Room above it, and to its right for half the label of the last tick.
const TOP: f64 = 8.0;
const RIGHT: f64 = 16.0;
/// Steps between the ticks of the vertical axis.
const STEPS: usize = 5;

/// One named series of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// (x, y), sorted by x; points that are not finite are left out.
    pub points: Vec<(f64, f64)>,
}

/// A chart of one or more curves over the same axes.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    /// Heading above the chart.
    pub title: String,
    /// Below the horizontal axis.
    pub x_label: String,
    /// The curves, in the legend's order.
    pub curves: Vec<Curve>,
    /// Fixed range of the vertical axis, or that of the data.
    pub y_range: Option<(f64, f64)>,
}

/// Where the data goes: the axes, and the place of the area between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) x: Axis,
    pub(super) y: Axis,
    left: f64,
}

impl Area {
    pub(super) fn new(x: Axis, y: Axis) -> Self {
        let labels = y.ticks(STEPS).into_iter().map(|tick| text_width(&tick.label));
        Self { x, y, left: labels.fold(0.0, f64::max) + 8.0 }
    }

    /// Height of a chart with these axes; the label of the horizontal one has a line of its own.
    pub(super) fn height(x_label: &str) -> f64 {
        TOP + HEIGHT + LINE + if x_label.is_empty() { 6.0 } else { LINE + 6.0 }
    }

    pub(super) fn across(&self, x: f64) -> f64 {
        self.left + self.x.share(x) * (WIDTH - RIGHT - self.left)
    }

    pub(super) fn down(&self, y: f64) -> f64 {
        TOP + (1.0 - self.y.share(y)) * HEIGHT
    }

    /// Where the horizontal axis is.
    pub(super) fn bottom() -> f64 {
        TOP + HEIGHT
    }

    /// Grid lines, ticks, and the label of the horizontal axis.
    pub(super) fn axes(&self, x_label: &str) -> Markup {
        let (right, bottom) = (WIDTH - RIGHT, Self::bottom());
        html! {
            @for tick in self.y.ticks(STEPS) {
                @let y = self.down(tick.value);
                path.grid d=(format!("M{:.1} {y:.1}H{right:.1}", self.left)) {}
                text.end x=(at(self.left - 6.0)) y=(at(y + 4.0)) { (tick.label) }
            }
            path.axis d=(format!("M{:.1} {bottom:.1}H{right:.1}", self.left)) {}
            @for tick in self.x.ticks_across(right - self.left) {
                @let x = self.across(tick.value);
                path.axis d=(format!("M{x:.1} {bottom:.1}v4")) {}
                text.middle x=(at(x)) y=(at(bottom + LINE)) { (tick.label) }
            }
            @if !x_label.is_empty() {
                @let x = inside(f64::midpoint(self.left, right), x_label);
                text.middle.faint x=(at(x)) y=(at(bottom + 2.0 * LINE)) { (x_label) }
            }
        }
    }
}

impl LineChart {
    /// A `<figure>` with the title and the chart as inline SVG, and a legend if there are several
    /// curves.
    pub fn html(&self) -> Markup {
        let keys: Vec<(Key, &str)> = self
            .curves
            .iter()
            .enumerate()
            .map(|(index, curve)| (Key::Line(index), curve.name.as_str()))
            .collect();
        html! {
            div {
                (self.figure())
                @if keys.len() > 1 { (legend(&keys)) }
            }
        }
    }

    /// The same without a legend, for charts that share one.
    pub fn figure(&self) -> Markup {
        let drawn = |curve: &Curve| -> Vec<(f64, f64)> {
            let finite = |point: &&(f64, f64)| point.0.is_finite() && point.1.is_finite();
            curve.points.iter().filter(finite).copied().collect()
        };
        let curves: Vec<Vec<(f64, f64)>> = self.curves.iter().map(drawn).collect();
        let points = || curves.iter().flatten();
        let Some(x) = Axis::new(points().map(|point| point.0)) else { return empty(&self.title) };
        let y = match self.y_range {
            Some((low, high)) => Axis::new([low, high]),
            None => Axis::new(points().map(|point| point.1)).map(|axis| axis.rounded(STEPS)),
        };
        let Some(y) = y else { return empty(&self.title) };
        let area = Area::new(x, y);
        let place = |(x, y): &(f64, f64)| format!("{:.1},{:.1}", area.across(*x), area.down(*y));
        let drawing = html! {
            (area.axes(&self.x_label))
            @for (index, points) in curves.iter().enumerate() {
                @if let [(x, y)] = points[..] {
                    circle class=(format!("point {}", series(index)))
                        cx=(at(area.across(x))) cy=(at(area.down(y))) r="3.5" {}
                } @else {
                    polyline class=(format!("line {}", series(index)))
                        points=(points.iter().map(place).collect::<Vec<_>>().join(" ")) {}
                }
            }
        };
        figure(&self.title, &self.description(&curves), Area::height(&self.x_label), &drawing)
    }

    /// Each curve's first and last value.
    fn description(&self, curves: &[Vec<(f64, f64)>]) -> String {
        let ends = |(curve, points): (&Curve, &Vec<(f64, f64)>)| {
            let (first, last) = (points.first()?, points.last()?);
            Some(format!("{} from {} to {}", curve.name, short(first.1), short(last.1)))
        };
        let ends: Vec<String> = self.curves.iter().zip(curves).filter_map(ends).collect();
        format!("{}: {}", self.title, ends.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> String {
        let curve = Curve { name: "a < b".to_owned(), points };
        let curves = vec![curve.clone(), curve];
        let x_label = "step".to_owned();
        LineChart { title: "\"R\" & more".to_owned(), x_label, curves, y_range: None }
            .html()
            .into_string()
    }

    #[test]
    fn line_chart_escapes_text_and_draws_finite_points() {
        for points in [
            vec![(0.0, 1.0)],
            vec![(0.0, 1.0), (5.0, 1.0)],
            vec![(1.0, -2.0), (2.0, 9e9), (3.0, f64::NAN), (4.0, f64::INFINITY)],
        ] {
            let html = chart(points);
            assert!(
                html.contains("&quot;R&quot; &amp; more") && html.contains("a &lt; b"),
                "{html}"
            );
            assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        }
        assert!(chart(Vec::new()).contains("nothing recorded"));
        assert!(chart(vec![(0.0, f64::NAN)]).contains("nothing recorded"));
    }

    #[test]
    fn twelve_curves_have_styles_of_their_own() {
        let styles: std::collections::BTreeSet<String> = (0..12).map(series).collect();
        assert_eq!(styles.len(), 12);
    }
}
