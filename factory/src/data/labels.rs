//! From noise-free scores to the truth, and what the truth is expected to be.

use crate::data::nominal::{self, Nominal};
use crate::data::score::Forecast;
use crate::data::table;
use crate::numeric::draws::{Draws, normal_quantile, sigmoid};
use crate::numeric::rounding::round;
use crate::spec::blueprint::{Blueprint, Link, Target};
use polars::prelude::Column;
use tasks::prediction::QUANTILES;
use tasks::stream::Stream;
use tasks::values::Values;

/// The truth of every row.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    /// A number per row, as in regression.
    Numbers {
        /// One number per row, in the target's unit.
        values: Vec<f64>,
        /// Digits after the point.
        decimals: usize,
    },
    /// Indices into the prediction's sorted classes (0 and 1 for probabilities).
    Classes {
        /// One index into `names` per row.
        values: Vec<usize>,
        /// Names of the classes, sorted.
        names: Vec<String>,
    },
    /// Grades of rows that answer queries.
    Grades {
        /// One per row, from 0.
        values: Vec<usize>,
        /// The query that each row answers.
        queries: Vec<usize>,
    },
    /// Several targets, each of one of the first two kinds, all of the same length.
    Several(Vec<Self>),
    /// Masks, boxes or pictures.
    Structured(Values),
}

impl Truth {
    /// One target's truth as it is, or several targets' truths side by side.
    pub fn joined(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 { parts.swap_remove(0) } else { Self::Several(parts) }
    }

    /// Its targets' truths: itself, or the several ones.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Several(parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }

    /// The truth of the given rows, in the given order.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        let take = |values: &[usize]| rows.iter().map(|row| values[*row]).collect();
        match self {
            Self::Numbers { values, decimals } => Self::Numbers {
                values: rows.iter().map(|row| values[*row]).collect(),
                decimals: *decimals,
            },
            Self::Classes { values, names } => {
                Self::Classes { values: take(values), names: names.clone() }
            }
            Self::Grades { values, queries } => {
                Self::Grades { values: take(values), queries: take(queries) }
            }
            Self::Several(parts) => {
                Self::Several(parts.iter().map(|part| part.take(rows)).collect())
            }
            Self::Structured(values) => Self::Structured(values.take(rows)),
        }
    }

    /// Number of rows, the same for every target.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers { values, .. } => values.len(),
            Self::Classes { values, .. } | Self::Grades { values, .. } => values.len(),
            Self::Several(parts) => parts.first().map_or(0, Self::len),
            Self::Structured(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names of the rows' classes; `None` if the truth is no class.
    pub fn class_names(&self) -> Option<Vec<&str>> {
        match self {
            Self::Classes { values, names } => {
                Some(values.iter().map(|class| names[*class].as_str()).collect())
            }
            _ => None,
        }
    }

    /// One target as the column called `name`.
    ///
    /// # Panics
    /// On several targets, which are several columns, and on structured ones.
    pub fn column(&self, name: &str) -> Column {
        match self {
            Self::Numbers { values, decimals } => table::numbers(name, values, *decimals),
            Self::Classes { values, names } => {
                table::texts(name, values.iter().map(|class| &names[*class]))
            }
            Self::Grades { .. } => table::numbers(name, &self.as_numbers(), 0),
            Self::Several(_) | Self::Structured(_) => {
                panic!("several or structured targets are not one column of plain cells")
            }
        }
    }

    /// One target as numbers that models can be fitted to, and probes correlated with; of
    /// several targets, their sum over the rows; of masks, boxes and pictures, their area,
    /// number and mean intensity.
    pub fn as_numbers(&self) -> Vec<f64> {
        match self {
            Self::Numbers { values, .. } => values.clone(),
            Self::Classes { values, .. } | Self::Grades { values, .. } => {
                values.iter().map(|class| *class as f64).collect()
            }
            Self::Several(parts) => {
                let mut sums = vec![0.0; self.len()];
                for part in parts {
                    sums.iter_mut().zip(part.as_numbers()).for_each(|(sum, value)| *sum += value);
                }
                sums
            }
            Self::Structured(values) => scalars(values),
        }
    }
}

/// One number per row that says much about its truth: area, number of boxes, mean intensity,
/// length, a place for the first identifier.
fn scalars(values: &Values) -> Vec<f64> {
    match values {
        Values::Masks(masks) => masks.iter().map(|mask| mask.area() as f64).collect(),
        Values::Objects(rows) => rows.iter().map(|row| row.len() as f64).collect(),
        Values::Images { images, .. } => {
            let mean = |image: &Vec<u16>| {
                image.iter().map(|value| f64::from(*value)).sum::<f64>() / image.len() as f64
            };
            images.iter().map(mean).collect()
        }
        Values::Texts(texts) => texts.iter().map(|text| text.chars().count() as f64).collect(),
        Values::Ids(rows) => {
            rows.iter().map(|ids| ids.first().map_or(0.0, |id| place(id))).collect()
        }
        other => vec![0.0; other.len()],
    }
}

/// A place in [0, 1) for an identifier: it has no number of its own.
fn place(id: &str) -> f64 {
    tasks::stream::Stream::root(0).child(id).seed() as f64 / u64::MAX as f64
}

/// The sorted class names of a target, and the place of each class from low to high there.
fn sorted_classes(target: &Target) -> (Vec<String>, Vec<usize>) {
    let mut names = target.classes.clone();
    names.sort();
    let place = |class: &String| names.iter().position(|name| name == class).unwrap_or(0);
    let places = target.classes.iter().map(place).collect();
    (names, places)
}

/// Draws the truth of every row from each target's scores.
pub fn draw(blueprint: &Blueprint, scores: &[Vec<f64>], stream: Stream) -> Truth {
    let several = blueprint.targets.len() > 1;
    let one = |(index, (target, scores)): (usize, (&Target, &[Vec<f64>]))| {
        let stream = if several { stream.index(index as u64) } else { stream };
        draw_one(blueprint, target, scores, stream)
    };
    Truth::joined(by_target(blueprint, scores).enumerate().map(one).collect())
}

/// The targets, each with the scores of its rules.
fn by_target<'a>(
    blueprint: &'a Blueprint,
    scores: &'a [Vec<f64>],
) -> impl Iterator<Item = (&'a Target, &'a [Vec<f64>])> {
    blueprint.targets.iter().scan(scores, |left, target| {
        let (own, rest) = left.split_at_checked(target.scores())?;
        *left = rest;
        Some((target, own))
    })
}

fn draw_one(blueprint: &Blueprint, target: &Target, scores: &[Vec<f64>], stream: Stream) -> Truth {
    let mut draws = Draws::new(stream);
    let score = &scores[0];
    match &target.link {
        Link::Nominal { shares, .. } => {
            let nominal = Nominal::from_link(&target.link);
            let chances = nominal.chances(scores);
            let flip = blueprint.label_noise();
            let class = |chances: &[f64]| {
                let (drawn, any) = (draws.weighted(chances), draws.weighted(shares));
                if draws.chance(flip) { any } else { drawn }
            };
            let mut values: Vec<usize> = chances.chunks_exact(shares.len()).map(class).collect();
            let (train, test) = values.split_at_mut(blueprint.rows.train);
            let cut = train.len() * shares.len();
            nominal::complete(train, &chances[..cut]);
            nominal::complete(test, &chances[cut..]);
            Truth::Classes { values, names: target.classes.clone() }
        }
        Link::Graded { cuts, noise } => {
            let (names, places) = sorted_classes(target);
            let flip = blueprint.label_noise();
            let class = |score: &f64| {
                // Both draws are always made, so that the noise level moves no other draw.
                let noisy = score + noise * draws.logistic();
                let (flipped, any) = (draws.chance(flip), draws.whole(0, cuts.len()));
                let grade = cuts.iter().filter(|cut| noisy > **cut).count();
                places[if flipped { any } else { grade }]
            };
            let values = score.iter().map(class).collect();
            match blueprint.queries() {
                Some(queries) => {
                    let query = |row: usize| row / queries.rows;
                    Truth::Grades { values, queries: (0..score.len()).map(query).collect() }
                }
                None => Truth::Classes { values, names },
            }
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
        Link::Heteroscedastic { decimals, .. } => {
            let unevenness = Unevenness::of(&target.link, scores);
            let value = |row| {
                let (middle, width) = unevenness.at(row, 0.0);
                round(unevenness.back(middle + width * draws.normal()), *decimals)
            };
            Truth::Numbers { values: (0..score.len()).map(value).collect(), decimals: *decimals }
        }
    }
}

/// Middles and spreads of rows, before they become values.
struct Unevenness<'a> {
    link: &'a Link,
    middles: &'a [f64],
    spreads: &'a [f64],
}

impl<'a> Unevenness<'a> {
    fn of(link: &'a Link, scores: &'a [Vec<f64>]) -> Self {
        let spreads = scores.get(1).map_or(&[][..], Vec::as_slice);
        Self { link, middles: &scores[0], spreads }
    }

    /// A row's middle and standard deviation; `shift` is that of what groups add to scores.
    fn at(&self, row: usize, shift: f64) -> (f64, f64) {
        let Link::Heteroscedastic { center, scale, noise, growth, .. } = self.link else {
            return (0.0, 0.0);
        };
        let spread = self.spreads.get(row).map_or(0.0, |z| z.clamp(-Link::HELD, Link::HELD));
        let noise = noise * libm::exp(growth * spread);
        (center + scale * self.middles[row], scale * (noise * noise + shift * shift).sqrt())
    }

    fn back(&self, value: f64) -> f64 {
        match self.link {
            Link::Heteroscedastic { logarithmic: true, .. } => libm::exp(value),
            _ => value,
        }
    }
}

/// The forecast of the hidden rules themselves, without the noise.
pub fn expected(blueprint: &Blueprint, scores: &[Vec<f64>]) -> Forecast {
    let one = |(target, scores): (&Target, &[Vec<f64>])| expected_one(blueprint, target, scores);
    Forecast::joined(by_target(blueprint, scores).map(one).collect())
}

fn expected_one(blueprint: &Blueprint, target: &Target, scores: &[Vec<f64>]) -> Forecast {
    let score = &scores[0];
    match &target.link {
        Link::Nominal { shares, .. } => {
            let flip = blueprint.label_noise();
            let mut values = Nominal::from_link(&target.link).chances(scores);
            for row in values.chunks_exact_mut(shares.len()) {
                for (chance, share) in row.iter_mut().zip(shares) {
                    *chance = (1.0 - flip) * *chance + flip * share;
                }
            }
            Forecast::Classes { values, classes: shares.len() }
        }
        // Grades rise with the score, and an order is all that is asked for.
        Link::Graded { .. } if blueprint.queries().is_some() => Forecast::Numbers(score.clone()),
        Link::Graded { cuts, noise } => {
            let (names, places) = sorted_classes(target);
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
        Link::Heteroscedastic { .. } => {
            // Nobody can know what a new group adds.
            let shift = blueprint.structure.groups.as_ref().map_or(0.0, |groups| groups.shift);
            let unevenness = Unevenness::of(&target.link, scores);
            let ends = QUANTILES.map(normal_quantile);
            let row = |row| {
                let (middle, width) = unevenness.at(row, shift);
                ends.map(|end| unevenness.back(middle + width * end))
            };
            Forecast::Quantiles((0..score.len()).map(row).collect())
        }
    }
}
