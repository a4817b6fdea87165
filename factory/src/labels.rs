//! From noise-free scores to the truth, and what the truth is expected to be.

use crate::blueprint::{Blueprint, Link};
use crate::draws::{Draws, sigmoid};
use crate::score::Forecast;
use crate::table::{Cells, round};
use sandbox::stream::Stream;

/// The target's values.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    /// Numbers.
    Numbers {
        /// One per row.
        values: Vec<f64>,
        /// Digits after the point.
        decimals: usize,
    },
    /// Indices into the prediction's sorted classes (0 and 1 for probabilities).
    Classes {
        /// One per row.
        values: Vec<usize>,
        /// The sorted classes.
        names: Vec<String>,
    },
}

impl Truth {
    /// The chosen rows.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        match self {
            Self::Numbers { values, decimals } => Self::Numbers {
                values: rows.iter().map(|row| values[*row]).collect(),
                decimals: *decimals,
            },
            Self::Classes { values, names } => Self::Classes {
                values: rows.iter().map(|row| values[*row]).collect(),
                names: names.clone(),
            },
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers { values, .. } => values.len(),
            Self::Classes { values, .. } => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As a column of a table.
    pub fn cells(&self) -> Cells {
        match self {
            Self::Numbers { values, decimals } => {
                Cells::Numbers { values: values.clone(), decimals: *decimals }
            }
            Self::Classes { values, names } => {
                Cells::Text(values.iter().map(|class| names[*class].clone()).collect())
            }
        }
    }

    /// The target as numbers that models can be fitted to, and probes correlated with.
    pub fn as_numbers(&self) -> Vec<f64> {
        match self {
            Self::Numbers { values, .. } => values.clone(),
            Self::Classes { values, .. } => values.iter().map(|class| *class as f64).collect(),
        }
    }
}

/// The sorted class names of a blueprint, and the place of each class from low to high there.
fn sorted_classes(blueprint: &Blueprint) -> (Vec<String>, Vec<usize>) {
    let mut names = blueprint.classes.clone();
    names.sort();
    let place = |class: &String| names.iter().position(|name| name == class).unwrap_or(0);
    let places = blueprint.classes.iter().map(place).collect();
    (names, places)
}

/// Draws the truth of every row.
pub fn draw(blueprint: &Blueprint, score: &[f64], stream: Stream) -> Truth {
    let mut draws = Draws::new(stream);
    match &blueprint.link {
        Link::Graded { cuts, noise } => {
            let (names, places) = sorted_classes(blueprint);
            let flip = blueprint.label_noise();
            let class = |score: &f64| {
                // Both draws are always made, so that the noise level moves no other draw.
                let noisy = score + noise * draws.logistic();
                let (flipped, any) = (draws.chance(flip), draws.whole(0, cuts.len()));
                let grade = cuts.iter().filter(|cut| noisy > **cut).count();
                places[if flipped { any } else { grade }]
            };
            Truth::Classes { values: score.iter().map(class).collect(), names }
        }
        Link::Linear { center, scale, noise, decimals } => {
            let value = |s: &f64| round(center + scale * (s + noise * draws.normal()), *decimals);
            Truth::Numbers { values: score.iter().map(value).collect(), decimals: *decimals }
        }
        Link::Exponential { center, scale, noise, decimals } => {
            let value = |s: &f64| {
                let log = center + scale * (s + noise * draws.normal());
                round(libm::exp(log), *decimals)
            };
            Truth::Numbers { values: score.iter().map(value).collect(), decimals: *decimals }
        }
    }
}

/// What someone who knows the rule, but not the noise, would forecast.
pub fn expected(blueprint: &Blueprint, score: &[f64]) -> Forecast {
    match &blueprint.link {
        Link::Graded { cuts, noise } => {
            let (names, places) = sorted_classes(blueprint);
            let classes = names.len();
            let flip = blueprint.label_noise();
            let mut values = vec![flip / classes as f64; score.len() * classes];
            for (row, score) in score.iter().enumerate() {
                let mut below = 0.0;
                for (grade, place) in places.iter().enumerate() {
                    let upto = cuts.get(grade).map_or(1.0, |cut| sigmoid((cut - score) / noise));
                    values[row * classes + place] += (1.0 - flip) * (upto - below);
                    below = upto;
                }
            }
            Forecast::Classes { values, classes }
        }
        Link::Linear { center, scale, .. } => {
            Forecast::Numbers(score.iter().map(|score| center + scale * score).collect())
        }
        Link::Exponential { center, scale, .. } => {
            Forecast::Numbers(score.iter().map(|score| libm::exp(center + scale * score)).collect())
        }
    }
}
