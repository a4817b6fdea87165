//! Histograms of one or two samples.

use super::axis::Axis;
use super::figure::{at, empty, figure};
use super::lines::Area;
use super::number::short;
use maud::{Markup, html};
use std::fmt::Write as _;

/// How two samples of numbers are spread, as shares of each in bins of equal width.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Heading above the chart.
    pub title: String,
    /// Below the horizontal axis.
    pub x_label: String,
    /// Drawn as filled bars, in the colour of series 0.
    pub sample: Vec<f64>,
    /// Drawn as an outline, in the colour of series 1; may be empty.
    pub other: Vec<f64>,
    /// Number of bins, 1 or more.
    pub bins: usize,
}

impl Histogram {
    /// A `<figure>` with the title and the chart as inline SVG; the vertical axis is in percent.
    pub fn html(&self) -> Markup {
        let Some(x) = Axis::new(self.sample.iter().chain(&self.other).copied()) else {
            return empty(&self.title);
        };
        let (bars, steps) = (self.percent(x, &self.sample), self.percent(x, &self.other));
        let most = bars.iter().chain(&steps).copied().fold(1.0, f64::max);
        let Some(y) = Axis::new([0.0, most]) else { return empty(&self.title) };
        let area = Area::new(x, y.rounded(3));
        let edge = |bin: usize| {
            let share = bin as f64 / self.bins.max(1) as f64;
            area.across(x.low + share * (x.high - x.low))
        };
        let mut outline = format!("M{:.1} {:.1}", edge(0), Area::bottom());
        for (bin, percent) in steps.iter().enumerate() {
            let _ = write!(outline, "V{:.1}H{:.1}", area.down(*percent), edge(bin + 1));
        }
        let _ = write!(outline, "V{:.1}", Area::bottom());
        let drawing = html! {
            (area.axes(&self.x_label))
            @for (bin, percent) in bars.iter().enumerate().filter(|(_, percent)| **percent > 0.0) {
                @let (left, top) = (edge(bin) + 0.5, area.down(*percent));
                rect.bar.c0 x=(at(left)) y=(at(top)) width=(at(edge(bin + 1) - left - 0.5))
                    height=(at(Area::bottom() - top)) {}
            }
            @if !steps.is_empty() { path.bar.c1 d=(outline) {} }
        };
        let description =
            format!("{}: histogram from {} to {}", self.title, short(x.low), short(x.high));
        figure(&self.title, &description, Area::height(&self.x_label), &drawing)
    }

    /// The percentage of a sample in each bin; empty for an empty sample.
    fn percent(&self, x: Axis, sample: &[f64]) -> Vec<f64> {
        let bins = self.bins.max(1);
        let finite: Vec<f64> = sample.iter().copied().filter(|value| value.is_finite()).collect();
        let mut counts = vec![0_usize; if finite.is_empty() { 0 } else { bins }];
        for value in &finite {
            let place = x.share(*value) * bins as f64;
            let bin = (1..bins).take_while(|edge| *edge as f64 <= place).count();
            counts[bin] += 1;
        }
        counts.into_iter().map(|count| 100.0 * count as f64 / finite.len() as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(sample: &[f64], other: &[f64]) -> Histogram {
        let (title, x_label) = ("<y>".to_owned(), String::new());
        Histogram { title, x_label, sample: sample.into(), other: other.into(), bins: 4 }
    }

    #[test]
    fn every_number_is_in_one_bin() {
        let made = histogram(&[0.0, 1.0, 1.0, 2.0, 4.0], &[]);
        let x = Axis::new(made.sample.clone()).unwrap();
        assert_eq!(made.percent(x, &made.sample), [20.0, 40.0, 20.0, 20.0]);
        assert_eq!(made.percent(x, &[f64::NAN]), [0.0; 0]);
    }

    #[test]
    fn histogram_of_any_samples_is_finite() {
        for (sample, other) in
            [(&[1.0, 1.0][..], &[][..]), (&[], &[3.0]), (&[0.0, f64::NAN], &[1e300])]
        {
            let html = histogram(sample, other).html().into_string();
            assert!(html.contains("&lt;y&gt;") && !html.contains("NaN"), "{html}");
        }
        assert!(histogram(&[], &[]).html().into_string().contains("nothing recorded"));
    }
}
