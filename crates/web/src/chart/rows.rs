//! Labelled rows over one horizontal axis: bars, boxes with whiskers, points.

use super::axis::{Axis, Tick};
use super::figure::{LINE, WIDTH, at, empty, figure, inside, text_width};
use maud::{Markup, html};

/// Largest share of the chart's width that labels take.
const LABELS: f64 = 0.42;
/// Pixels between the parts of a row, and between rows.
const GAP: f64 = 8.0;
/// Height of a bar.
const BAR: f64 = 11.0;

/// A chart of rows, from top to bottom.
#[derive(Debug, Clone, PartialEq)]
pub struct RowChart {
    /// Heading above the chart.
    pub title: String,
    /// Below the axis: what is measured, and its unit.
    pub x_label: String,
    /// The rows.
    pub rows: Vec<ChartRow>,
    /// Whether the axis runs from high to low.
    pub reversed: bool,
    /// A number that is marked over the whole height.
    pub reference: Option<f64>,
}

/// A row of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartRow {
    /// Its name, on the left; long ones take several lines.
    pub label: String,
    /// A remark below the name; may be empty.
    pub note: String,
    /// More about it, for pointers that rest on the row; may be empty.
    pub detail: String,
    /// What is drawn, each mark on a line of its own, with a text to the right of it.
    pub marks: Vec<(Mark, String)>,
}

/// What is drawn in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mark {
    /// A bar from 0.
    Bar {
        /// Where the bar ends, in units of the axis.
        value: f64,
        /// Number of its series, which decides its colour.
        series: usize,
        /// An interval around its end.
        interval: Option<(f64, f64)>,
        /// A number to compare it with.
        target: Option<f64>,
    },
    /// The middle half of a sample as a box, its median, and whiskers to the outer quantiles.
    Spread {
        /// Ends of the whiskers.
        outer: (f64, f64),
        /// Ends of the box.
        inner: (f64, f64),
        /// The median.
        median: f64,
    },
    /// A point at the end of a thin line.
    Point {
        /// Where the point lies, in units of the axis.
        value: f64,
        /// Its colour and shape.
        style: PointStyle,
    },
}

/// Colour and shape of a point: circles for baselines, diamonds for milestones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointStyle {
    /// A circle in the colour of series 0.
    Plain,
    /// A grey diamond.
    Median,
    /// A diamond in bronze.
    Bronze,
    /// A diamond in silver.
    Silver,
    /// A golden diamond.
    Gold,
}

impl PointStyle {
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "c0",
            Self::Median => "faint",
            Self::Bronze => "bronze",
            Self::Silver => "silver",
            Self::Gold => "gold",
        }
    }
}

impl Mark {
    /// A bar of a series, without an interval.
    pub fn bar(value: f64, series: usize) -> Self {
        Self::Bar { value, series, interval: None, target: None }
    }

    /// The numbers that the axis must cover.
    fn values(&self) -> Vec<f64> {
        match *self {
            Self::Bar { value, interval, target, .. } => {
                let (low, high) = interval.unwrap_or((value, value));
                vec![0.0, value, low, high, target.unwrap_or(value)]
            }
            Self::Spread { outer, inner, median } => {
                vec![0.0, outer.0, outer.1, inner.0, inner.1, median]
            }
            Self::Point { value, .. } => vec![value],
        }
    }
}

/// Places of a chart's columns, and its axis.
#[derive(Debug, Clone, Copy)]
struct RowArea {
    axis: Axis,
    reversed: bool,
    left: f64,
    right: f64,
}

impl RowArea {
    fn across(&self, value: f64) -> f64 {
        let share = self.axis.share(value);
        let share = if self.reversed { 1.0 - share } else { share };
        self.left + share * (self.right - self.left)
    }
}

/// A row with its place.
#[derive(Debug)]
struct Placed<'a> {
    row: &'a ChartRow,
    label: Vec<String>,
    note: Vec<String>,
    top: f64,
    height: f64,
}

impl RowChart {
    /// A chart of bars of series 0: name, length, and the text beside it.
    pub fn bars(title: &str, x_label: &str, bars: &[(String, f64, String)]) -> Self {
        let row = |(label, value, text): &(String, f64, String)| ChartRow {
            label: label.clone(),
            note: String::new(),
            detail: String::new(),
            marks: vec![(Mark::bar(*value, 0), text.clone())],
        };
        Self {
            title: title.to_owned(),
            x_label: x_label.to_owned(),
            rows: bars.iter().map(row).collect(),
            reversed: false,
            reference: None,
        }
    }

    /// A `<figure>` with the title and the chart as inline SVG.
    pub fn html(&self) -> Markup {
        let marks = || self.rows.iter().flat_map(|row| &row.marks);
        let values = marks().flat_map(|(mark, _)| mark.values()).chain(self.reference);
        let Some(mut axis) = Axis::new(values) else { return empty(&self.title) };
        if marks().all(|(mark, _)| matches!(mark, Mark::Bar { value, .. } if *value == 0.0)) {
            // Bars of no length begin at the left end nevertheless.
            axis.low = 0.0;
        }
        let texts = || self.rows.iter().flat_map(|row| [&row.label, &row.note]);
        let widest = texts().map(|text| text_width(text)).fold(0.0, f64::max);
        let labels = widest.min(LABELS * WIDTH);
        let numbers = marks().map(|(_, text)| text_width(text)).fold(0.0, f64::max);
        let (left, right) = (labels + GAP, WIDTH - numbers - GAP);
        let area = RowArea { axis, reversed: self.reversed, left, right };
        let mut top = 2.0;
        let mut placed = Vec::new();
        for row in &self.rows {
            let (label, note) = (wrapped(&row.label, labels), wrapped(&row.note, labels));
            let lines = (label.len() + note.len()).max(row.marks.len()).max(1);
            let height = LINE * lines as f64 + if lines > 1 { GAP } else { 4.0 };
            placed.push(Placed { row, label, note, top, height });
            top += height;
        }
        let bottom = top + 2.0;
        let drawing = html! {
            (self.axis(&area, bottom))
            @for row in &placed { (row.html(&area)) }
        };
        let below = LINE + if self.x_label.is_empty() { 6.0 } else { LINE + 6.0 };
        figure(&self.title, &self.description(), bottom + below, &drawing)
    }

    /// The axis below the rows, with its grid lines behind them.
    fn axis(&self, area: &RowArea, bottom: f64) -> Markup {
        let ticks: Vec<Tick> = area.axis.ticks_across(area.right - area.left);
        let RowArea { left, right, .. } = area;
        html! {
            @for tick in &ticks {
                @let x = area.across(tick.value);
                path.grid d=(format!("M{x:.1} 0V{bottom:.1}")) {}
                text.middle x=(at(x)) y=(at(bottom + LINE)) { (tick.label) }
            }
            @if let Some(value) = self.reference {
                path.reference d=(format!("M{:.1} 0V{bottom:.1}", area.across(value))) {}
            }
            path.axis d=(format!("M{left:.1} {bottom:.1}H{right:.1}")) {}
            @if !self.x_label.is_empty() {
                @let x = inside(f64::midpoint(*left, *right), &self.x_label);
                text.middle.faint x=(at(x)) y=(at(bottom + 2.0 * LINE)) { (self.x_label) }
            }
        }
    }

    /// Every row with its numbers, as far as they are written beside it.
    fn description(&self) -> String {
        let row = |row: &ChartRow| {
            let texts: Vec<&str> = row.marks.iter().map(|(_, text)| text.as_str()).collect();
            format!("{} {}", row.label, texts.join(" and "))
        };
        let rows: Vec<String> = self.rows.iter().map(row).collect();
        let title = if self.title.is_empty() { &self.x_label } else { &self.title };
        format!("{title}: {}", rows.join("; "))
    }
}

impl Placed<'_> {
    fn html(&self, area: &RowArea) -> Markup {
        let middle = self.top + self.height / 2.0;
        let line = |index: usize, count: usize| {
            middle + LINE * (index as f64 - (count as f64 - 1.0) / 2.0)
        };
        let texts = || {
            let label = self.label.iter().map(|text| ("", text));
            label.chain(self.note.iter().map(|text| ("faint", text)))
        };
        let count = texts().count();
        let style = match self.row.marks[..] {
            [(Mark::Point { style, .. }, _)] if style != PointStyle::Plain => style.class(),
            _ => "",
        };
        html! {
            g {
                @if !self.row.detail.is_empty() { title { (self.row.detail) } }
                @for (index, (class, text)) in texts().enumerate() {
                    @let class = if class.is_empty() { style } else { class };
                    text class=[(!class.is_empty()).then_some(class)]
                        x="0" y=(at(line(index, count) + 4.0)) { (text) }
                }
                @for (index, (mark, text)) in self.row.marks.iter().enumerate() {
                    @let y = line(index, self.row.marks.len());
                    (drawn(*mark, area, y))
                    text.end x=(at(WIDTH)) y=(at(y + 4.0)) { (text) }
                }
            }
        }
    }
}

/// A mark with its middle at the height `y`.
fn drawn(mark: Mark, area: &RowArea, y: f64) -> Markup {
    let x = |value: f64| area.across(value);
    match mark {
        Mark::Bar { value, series, interval, target } => {
            let (from, to) = (x(0.0).min(x(value)), x(0.0).max(x(value)));
            // An interval stands out against a paler bar.
            let ground = if interval.is_some() { " pale" } else { "" };
            html! {
                rect class=(format!("bar c{}{ground}", series % 6)) x=(at(from)) y=(at(y - BAR / 2.0))
                    width=(at(to - from)) height=(at(BAR)) {}
                @if let Some((low, high)) = interval {
                    path.interval d=(format!(
                        "M{0:.1} {y:.1}H{1:.1}M{0:.1} {2:.1}v6M{1:.1} {2:.1}v6", x(low), x(high), y - 3.0
                    )) {}
                }
                @if let Some(target) = target {
                    path.mark d=(format!("M{:.1} {:.1}v{:.1}", x(target), y - 7.0, 14.0)) {}
                }
            }
        }
        Mark::Spread { outer, inner, median } => html! {
            path.interval d=(format!(
                "M{0:.1} {y:.1}H{1:.1}M{0:.1} {2:.1}v6M{1:.1} {2:.1}v6", x(outer.0), x(outer.1), y - 3.0
            )) {}
            rect.bar.pale.c0 x=(at(x(inner.0))) y=(at(y - BAR / 2.0)) width=(at(x(inner.1) - x(inner.0)))
                height=(at(BAR)) {}
            path.interval.thick d=(format!("M{:.1} {:.1}v{BAR:.1}", x(median), y - BAR / 2.0)) {}
        },
        Mark::Point { value, style } => {
            let place = x(value);
            html! {
                path.grid d=(format!("M{:.1} {y:.1}H{place:.1}", area.left)) {}
                @if style == PointStyle::Plain {
                    circle.point.c0 cx=(at(place)) cy=(at(y)) r="4.5" {}
                } @else {
                    path class=(format!("point {}", style.class()))
                        d=(format!("M{place:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5 -5.5z", y - 5.5)) {}
                }
            }
        }
    }
}

/// A text in lines of at most this width; words that are too long for one are cut.
fn wrapped(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        if let Some(last) = lines.last_mut()
            && text_width(last) + text_width(" ") + text_width(word) <= width
        {
            last.push(' ');
            last.push_str(word);
        } else if text_width(word) <= width {
            lines.push(word.to_owned());
        } else {
            let fits = (1..word.chars().count())
                .take_while(|count| text_width(&"-".repeat(count + 1)) <= width)
                .count();
            lines.push(word.chars().take(fits).chain(['…']).collect());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(bars: &[(&str, f64)]) -> String {
        let bars: Vec<(String, f64, String)> = bars
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value, value.to_string()))
            .collect();
        RowChart::bars("a & b", "tasks", &bars).html().into_string()
    }

    #[test]
    fn bars_of_any_length_are_finite_and_escaped() {
        for values in
            [&[("<x>", 0.0), ("y", 0.0)][..], &[("<x>", -1.0), ("y", 3.0)], &[("<x>", 5.0)]]
        {
            let html = bars(values);
            assert!(html.contains("&lt;x&gt;") && html.contains("a &amp; b"), "{html}");
            assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        }
        assert!(bars(&[]).contains("nothing recorded"));
    }

    #[test]
    fn bar_of_twice_the_value_is_twice_as_long() {
        let html = bars(&[("one", 2.0), ("two", 4.0), ("none", 0.0)]);
        let widths: Vec<f64> = html
            .split("<rect ")
            .skip(1)
            .map(|rect| rect.split("width=\"").nth(1).unwrap().split('"').next().unwrap())
            .map(|width| width.parse().unwrap())
            .collect();
        assert!((widths[1] - 2.0 * widths[0]).abs() <= 0.1 && widths[0] > 10.0, "{widths:?}");
        assert!(widths[2] == 0.0);
    }

    #[test]
    fn long_label_is_wrapped_and_long_word_is_cut() {
        assert_eq!(wrapped("coarse levels of grey", 100.0), ["coarse levels", "of grey"]);
        assert_eq!(wrapped("per_position_multi_target", 84.0), ["per_positio…"]);
        assert!(wrapped("", 84.0).is_empty());
    }
}
