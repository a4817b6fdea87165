//! The frame of every chart: a heading, the drawing, and its description for screen readers.

use maud::{Markup, html};

/// Width of a chart, in the units of its drawing, which are pixels on a phone.
pub(super) const WIDTH: f64 = 360.0;
/// Height of a line of text.
pub(super) const LINE: f64 = 15.0;

/// About the width of a text in the charts' letters, in pixels; wide fonts included.
pub(super) fn text_width(text: &str) -> f64 {
    7.0 * text.chars().count() as f64
}

/// A `<figure>` of a drawing of this height; `description` is what a screen reader says of it.
pub(super) fn figure(title: &str, description: &str, height: f64, drawing: &Markup) -> Markup {
    html! {
        figure.chart {
            @if !title.is_empty() { figcaption { (title) } }
            svg viewBox=(format!("0 0 {WIDTH:.0} {height:.0}")) role="img" aria-label=(description) {
                (drawing)
            }
        }
    }
}

/// What stands in the place of a chart without data.
pub(super) fn empty(title: &str) -> Markup {
    html! {
        figure.chart {
            @if !title.is_empty() { figcaption { (title) } }
            p.note { "nothing recorded" }
        }
    }
}

/// A coordinate with one decimal.
pub(super) fn at(place: f64) -> String {
    format!("{place:.1}")
}

/// The middle of a text of this width that is to stand at `middle` and stay inside the chart.
pub(super) fn inside(middle: f64, text: &str) -> f64 {
    let half = (text_width(text) / 2.0).min(WIDTH / 2.0);
    middle.clamp(half, WIDTH - half)
}

/// Colour and dash pattern of the series with this number, as classes of the style sheet: twelve
/// combinations before one comes again.
pub(super) fn series(index: usize) -> String {
    format!("c{} d{}", index % 6, index % 4)
}
