//! Charts as inline SVG: lines over two axes, labelled rows over one, histograms, and the ladder
//! of baselines and milestones.
//!
//! All of them share their axes with ticks at round numbers, their colours and dash patterns
//! ([`crate::page`] has the style sheet), their legend and their numbers. A chart is about 360
//! pixels wide, so that its text has the size of the page's notes on a phone too.

mod axis;
mod figure;
mod histogram;
mod ladder;
mod legend;
mod lines;
mod number;
mod rows;

pub use histogram::Histogram;
pub use ladder::LadderChart;
pub use legend::{Key, legend};
pub use lines::{Curve, LineChart};
pub use number::short;
pub use rows::{ChartRow, Mark, PointStyle, RowChart};
