//! Legends of charts.

use super::figure::series;
use maud::{Markup, html};

/// How an entry of a legend looks in the chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// The line of a series.
    Line(usize),
    /// The bars of a series.
    Bar(usize),
    /// The interval around a bar's end.
    Interval,
    /// The mark of a number beside a bar.
    Target,
}

/// The entries of a legend, from left to right.
pub fn legend(entries: &[(Key, &str)]) -> Markup {
    html! {
        p.legend {
            @for (key, name) in entries {
                span {
                    svg viewBox="0 0 24 12" aria-hidden="true" {
                        @match key {
                            Key::Line(index) => {
                                path class=(format!("line {}", series(*index))) d="M0 6H24" {}
                            }
                            Key::Bar(index) => {
                                rect class=(format!("bar c{index}"))
                                    x="1" y="1" width="22" height="10" {}
                            }
                            Key::Interval => path.interval d="M2 6H22M2 3V9M22 3V9" {},
                            Key::Target => path.mark d="M12 0V12" {},
                        }
                    }
                    (name)
                }
                " "
            }
        }
    }
}
