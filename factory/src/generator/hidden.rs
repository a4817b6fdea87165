//! Scores hidden where nothing should depend on them: last digits, lowest bits, single pixels and
//! samples, blanks of texts.
//!
//! Only places that no honest generator uses are probed, each by its rank correlation with the
//! scores. A pattern over many pixels is not found here; labels are drawn from scores by our
//! noise, and a task that one reading solves is refused as `trivial`.

use super::jailed::MadeRows;
use super::refusal::{GeneratorFlaw, GeneratorRefusal};
use super::rows::GeneratedItems;
use super::spec::GeneratorSpec;
use crate::numeric::linear::Linear;
use crate::numeric::moments::moments;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use tasks::metrics::regression::spearman;

/// |ρ| from which a place tells the score.
const TELLING: f64 = 0.6;
/// The same for few rows, in standard errors of ρ: many places are probed.
const TELLING_ERRORS: f64 = 6.0;
/// Share of that up to which a place is silent.
const SILENT: f64 = 0.5;
/// Rows of which every place is probed: more tell no more.
const PROBED: usize = 256;
/// Values of a column from which its last digit should tell nothing.
const LEVELS: f64 = 100.0;
/// Bins of a picture's histogram, each of 8 levels.
const BINS: usize = 32;
/// The least spread of the share of odd levels that could be read.
const LEAST_SPREAD: f64 = 1e-3;
/// The ridge's penalty in a fit to histograms.
const PENALTY: f64 = 1e-6;

/// No place that an honest generator does not use goes with a score.
pub(super) fn no_label_is_hidden(
    spec: &GeneratorSpec,
    made: &MadeRows,
) -> Result<(), GeneratorRefusal> {
    for score in made.scores.columns() {
        let score = score.to_vec();
        let found = in_digits(spec, made, &score).or_else(|| match &made.items {
            GeneratedItems::None => None,
            GeneratedItems::Texts(texts) => in_blanks(texts, &score),
            GeneratedItems::Sounds(samples) => in_samples(samples, &score),
            GeneratedItems::Pictures(levels) => {
                let (rows, height, width) =
                    (levels.shape()[0], levels.shape()[1], levels.shape()[2]);
                let channels = levels.shape().get(3).copied().unwrap_or(1);
                let flat = levels
                    .to_shape((rows, height * width * channels))
                    .expect("pictures of one size are rows of one length");
                in_levels(flat.view(), (height, width, channels), &score)
            }
        });
        if let Some(what) = found {
            let detail = format!(
                "{what} alone goes with the score; show it in nothing but what a \
                                  row is about"
            );
            return Err(GeneratorRefusal::new(GeneratorFlaw::HiddenLabel, &detail));
        }
    }
    Ok(())
}

/// |ρ| from which a place tells the score of so many rows.
fn telling(rows: usize) -> f64 {
    TELLING.max(TELLING_ERRORS / (rows as f64).sqrt())
}

fn tells(values: &[f64], score: &[f64]) -> bool {
    spearman(score, values).is_ok_and(|rho| rho.abs() > telling(score.len()))
}

/// Last digits of number columns, and whether they are odd.
fn in_digits(spec: &GeneratorSpec, made: &MadeRows, score: &[f64]) -> Option<String> {
    for column in &spec.numbers {
        let scale = libm::pow(10.0, column.decimals as f64);
        if (column.high - column.low) * scale < LEVELS {
            continue;
        }
        let whole: Vec<f64> = made.columns.numbers[&column.name]
            .iter()
            .map(|value| (value * scale).round())
            .collect();
        for base in [2.0, 10.0] {
            let digits: Vec<f64> = whole.iter().map(|value| value.rem_euclid(base)).collect();
            if tells(&digits, score) {
                return Some(format!("the last digit of `{}`", column.name));
            }
        }
    }
    None
}

/// Blanks of texts that do not show: two in a row, at the end of a line, empty lines.
fn in_blanks(texts: &[String], score: &[f64]) -> Option<String> {
    let count = |count: fn(&str) -> usize| -> Vec<f64> {
        texts.iter().map(|text| count(text) as f64).collect()
    };
    [
        ("the number of double blanks", count(|text| text.matches("  ").count())),
        (
            "the number of blanks at line ends",
            count(|text| text.lines().filter(|line| line.ends_with(' ')).count()),
        ),
        (
            "the number of empty lines",
            count(|text| text.split('\n').filter(|line| line.trim().is_empty()).count()),
        ),
    ]
    .into_iter()
    .find(|(_, counts)| tells(counts, score))
    .map(|(what, _)| what.to_owned())
}

/// Single samples of sounds, and their lowest bits.
fn in_samples(samples: &Array2<i16>, score: &[f64]) -> Option<String> {
    let probed = Probed::new(score);
    let rows = probed.ranks.len();
    let samples = samples.select(Axis(0), &(0..rows).collect::<Vec<_>>());
    let values = probed.correlations(samples.mapv(f64::from).view());
    let lone = (0..values.len()).find(|at| {
        probed.tells(values[*at])
            && [at.checked_sub(1), Some(at + 1)]
                .into_iter()
                .filter_map(|near| values.get(near?))
                .all(|near| probed.is_silent(*near))
    });
    if let Some(at) = lone {
        return Some(format!("sample {at}"));
    }
    let bits = probed.correlations(samples.mapv(|value| f64::from(value & 1)).view());
    let coarse = probed.correlations(samples.mapv(|value| f64::from(value >> 1)).view());
    let told = |at: &usize| probed.tells(bits[*at]) && probed.is_silent(coarse[*at]);
    (0..bits.len()).find(told).map(|at| format!("the lowest bit of sample {at}"))
}

/// Single pixels of pictures, their lowest bits, and the share of odd levels.
fn in_levels(
    levels: ArrayView2<'_, u8>,
    (height, width, channels): (usize, usize, usize),
    score: &[f64],
) -> Option<String> {
    let probed = Probed::new(score);
    let some = levels.slice(ndarray::s![..probed.ranks.len(), ..]);
    let place = |at: usize| {
        let pixel = at / channels;
        format!("pixel ({}, {})", pixel / width, pixel % width)
    };
    let values = probed.correlations(some.mapv(f64::from).view());
    let is_lone = |at: &usize| {
        let (pixel, channel) = (at / channels, at % channels);
        let (row, column) = (pixel / width, pixel % width);
        let mut near = (row.saturating_sub(1)..(row + 2).min(height)).flat_map(|near_row| {
            (column.saturating_sub(1)..(column + 2).min(width))
                .map(move |near_column| (near_row * width + near_column) * channels + channel)
        });
        probed.tells(values[*at]) && near.all(|near| near == *at || probed.is_silent(values[near]))
    };
    if let Some(at) = (0..values.len()).find(is_lone) {
        return Some(place(at));
    }
    let bits = probed.correlations(some.mapv(|level| f64::from(level & 1)).view());
    let coarse = probed.correlations(some.mapv(|level| f64::from(level >> 1)).view());
    let told = |at: &usize| probed.tells(bits[*at]) && probed.is_silent(coarse[*at]);
    if let Some(at) = (0..bits.len()).find(told) {
        return Some(format!("the lowest bit of {}", place(at)));
    }
    let odd = odd_levels(levels);
    let beyond = beyond_histogram(levels, &odd);
    let (_, spread) = moments(&beyond);
    // The histogram also goes with the score, and so takes a part of what odd levels tell.
    let still = spearman(score, &beyond).unwrap_or(0.0).abs() > SILENT * telling(score.len());
    (spread > LEAST_SPREAD && tells(&odd, score) && still)
        .then(|| "the share of odd levels in a picture".to_owned())
}

/// The share of odd levels in each picture.
fn odd_levels(levels: ArrayView2<'_, u8>) -> Vec<f64> {
    levels.rows().into_iter().map(|picture| share(picture, |level| level & 1 == 1)).collect()
}

/// `odd` less what a picture's histogram by bins of 8 levels says of it: pictures of few colours
/// may have most of them odd.
fn beyond_histogram(levels: ArrayView2<'_, u8>, odd: &[f64]) -> Vec<f64> {
    let histogram = Array2::from_shape_fn((levels.nrows(), BINS), |(row, bin)| {
        share(levels.row(row), |level| usize::from(level >> 3) == bin)
    });
    let expected = Linear::ridge(&histogram, odd, PENALTY).score(&histogram);
    odd.iter().zip(expected).map(|(odd, expected)| odd - expected).collect()
}

/// The share of a picture's levels with a property.
fn share(picture: ArrayView1<'_, u8>, holds: impl Fn(u8) -> bool) -> f64 {
    picture.iter().filter(|level| holds(**level)).count() as f64 / picture.len() as f64
}

/// Ranks of the scores of the rows that are probed at every place.
struct Probed {
    /// Mean 0, sum of squares 1.
    ranks: Vec<f64>,
}

impl Probed {
    fn new(score: &[f64]) -> Self {
        let rows = score.len().min(PROBED);
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_by(|a, b| score[*a].total_cmp(&score[*b]));
        let mut ranks = vec![0.0; rows];
        for (rank, row) in order.into_iter().enumerate() {
            ranks[row] = rank as f64 - (rows - 1) as f64 / 2.0;
        }
        let norm = ranks.iter().map(|rank| rank * rank).sum::<f64>().sqrt();
        for rank in &mut ranks {
            *rank /= norm;
        }
        Self { ranks }
    }

    /// The correlation of each column of `values` with the ranks; 0 for a constant one.
    fn correlations(&self, values: ArrayView2<'_, f64>) -> Vec<f64> {
        let rows = self.ranks.len() as f64;
        let places = values.ncols();
        let (mut sums, mut squares, mut products) =
            (vec![0.0; places], vec![0.0; places], vec![0.0; places]);
        for (row, rank) in values.rows().into_iter().zip(&self.ranks) {
            for (at, value) in row.iter().enumerate() {
                sums[at] += value;
                squares[at] += value * value;
                products[at] += value * rank;
            }
        }
        let correlation = |at: usize| {
            let variation = squares[at] - sums[at] * sums[at] / rows;
            // Whole numbers: what varies at all varies by more.
            if variation < 1e-6 { 0.0 } else { products[at] / variation.sqrt() }
        };
        (0..places).map(correlation).collect()
    }

    fn tells(&self, rho: f64) -> bool {
        rho.abs() > telling(self.ranks.len())
    }

    fn is_silent(&self, rho: f64) -> bool {
        rho.abs() < SILENT * telling(self.ranks.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::draws::Draws;
    use tasks::stream::Stream;

    const SIDE: usize = 12;
    const ROWS: usize = 160;

    fn score() -> Vec<f64> {
        let mut draws = Draws::new(Stream::root(8).child("score"));
        (0..ROWS).map(|_| draws.normal()).collect()
    }

    fn level(value: f64) -> u8 {
        u8::try_from(crate::numeric::draws::floor(value.clamp(0.0, 255.0))).unwrap()
    }

    /// A sample of a sound.
    fn whole(value: f64) -> i16 {
        i16::try_from(crate::numeric::draws::floor(value + 16_000.0)).unwrap() - 16_000
    }

    /// Pictures whose light follows the score, with noise.
    fn bright(score: &[f64]) -> Array2<u8> {
        let mut draws = Draws::new(Stream::root(8).child("noise"));
        Array2::from_shape_fn((ROWS, SIDE * SIDE), |(row, _)| {
            level(128.0 + 20.0 * score[row] + 6.0 * draws.normal())
        })
    }

    fn found(levels: &Array2<u8>, score: &[f64]) -> Option<String> {
        in_levels(levels.view(), (SIDE, SIDE, 1), score)
    }

    #[test]
    fn score_in_the_light_a_patch_or_two_colours_is_no_hidden_label() {
        let score = score();
        assert_eq!(found(&bright(&score), &score), None);
        let patch = Array2::from_shape_fn((ROWS, SIDE * SIDE), |(row, at)| {
            let is_patch = (2..5).contains(&(at / SIDE)) && (2..5).contains(&(at % SIDE));
            if is_patch { level(128.0 + 40.0 * score[row]) } else { 20 }
        });
        assert_eq!(found(&patch, &score), None);
        // An odd colour covers a share that follows the score.
        let area = Array2::from_shape_fn((ROWS, SIDE * SIDE), |(row, at)| {
            if (at as f64) < 72.0 + 20.0 * score[row] { 201 } else { 40 }
        });
        assert_eq!(found(&area, &score), None);
    }

    #[test]
    fn score_in_a_pixel_or_in_lowest_bits_is_found() {
        let score = score();
        let mut draws = Draws::new(Stream::root(8).child("other"));
        let other: Vec<f64> = (0..ROWS).map(|_| draws.normal()).collect();
        let plain = bright(&other);
        assert_eq!(found(&plain, &score), None);
        let changed = |change: &dyn Fn(usize, usize, u8) -> u8| {
            Array2::from_shape_fn(plain.dim(), |(row, at)| change(row, at, plain[[row, at]]))
        };
        let bit = |row: usize| u8::from(score[row] > 0.0);
        let corner = changed(&|row, at, level| if at == SIDE - 1 { 255 * bit(row) } else { level });
        assert_eq!(found(&corner, &score).unwrap(), "pixel (0, 11)");
        let lowest =
            changed(&|row, at, level| if at == 40 { level & !1 | bit(row) } else { level });
        assert_eq!(found(&lowest, &score).unwrap(), "the lowest bit of pixel (3, 4)");
        let plane = changed(&|row, _, level| level & !1 | bit(row));
        assert!(found(&plane, &score).unwrap().starts_with("the lowest bit of pixel"));
        let share = changed(&|row, at, level| {
            let many = (at * 7919 + row * 104_729) % 100 < if bit(row) == 1 { 60 } else { 40 };
            level & !1 | u8::from(many)
        });
        assert_eq!(found(&share, &score).unwrap(), "the share of odd levels in a picture");
    }

    #[test]
    fn score_in_a_sample_or_its_lowest_bit_is_found() {
        let score = score();
        let mut draws = Draws::new(Stream::root(8).child("sound"));
        let hum = Array2::from_shape_fn((ROWS, 300), |(row, at)| {
            let tone = libm::sin(at as f64 * 0.3) * (3000.0 + 800.0 * score[row]);
            whole(tone + 200.0 * draws.normal())
        });
        assert_eq!(in_samples(&hum, &score), None);
        let bit = |row: usize| i16::from(score[row] > 0.0);
        let quiet = Array2::from_shape_fn((ROWS, 300), |(row, at)| {
            i16::try_from((row * 37 + at * 11) % 64).unwrap()
        });
        let lone = Array2::from_shape_fn((ROWS, 300), |(row, at)| {
            if at == 299 { 9000 * bit(row) } else { quiet[[row, at]] }
        });
        assert_eq!(in_samples(&lone, &score).unwrap(), "sample 299");
        let lowest = Array2::from_shape_fn((ROWS, 300), |(row, at)| {
            if at == 5 { quiet[[row, at]] & !1 | bit(row) } else { quiet[[row, at]] }
        });
        assert_eq!(in_samples(&lowest, &score).unwrap(), "the lowest bit of sample 5");
    }

    #[test]
    fn score_in_blanks_of_texts_is_found() {
        let score = score();
        let text = |blank: &'static str| -> Vec<String> {
            let one = |value: &f64| {
                if *value > 0.0 { format!("a{blank}b\nend") } else { "a b\nend".to_owned() }
            };
            score.iter().map(one).collect()
        };
        assert_eq!(in_blanks(&text(" "), &score), None);
        assert!(in_blanks(&text("  "), &score).unwrap().contains("double blanks"));
        assert!(in_blanks(&text(" \n"), &score).unwrap().contains("line ends"));
        assert!(in_blanks(&text("\n\n"), &score).unwrap().contains("empty lines"));
    }
}
