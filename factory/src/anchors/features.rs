//! From raw cells, pictures and texts to model inputs, as somebody who has not seen the data before
//! would make them. Everything that is chosen is chosen by training rows.

use super::catalogue::AnchorSpec;
use super::division::Division;
use super::extract::{Pictures, RawData};
use crate::baselines::features::Inputs;
use crate::numeric::draws::floor;
use crate::numeric::matrix::from_columns;
use crate::numeric::moments::{median, moments};
use ndarray::{Array2, Axis, s};
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;
use tasks::task::Modality;

/// Most values of a column that become an indicator each.
const LEVELS: usize = 60;
/// Most words, or runs of letters, that become an indicator each.
const GRAMS: usize = 400;
/// Training texts that a word must occur in.
const COMMON: usize = 3;
/// Words of a text from which on words count, not letters.
const WORDY: f64 = 4.0;
/// Longest run of letters.
const RUN: usize = 4;
/// Frequencies of a series.
const FREQUENCIES: usize = 16;
/// Blocks along the side of a picture for simple models and for others.
const BLOCKS: [usize; 2] = [4, 14];
/// Cells along the side of a picture, and directions of edges in each.
const CELLS: usize = 4;
/// Directions of edges.
const DIRECTIONS: usize = 8;
/// Days of a year.
const YEAR: f64 = 365.25;

/// Inputs of reference solvers.
#[derive(Debug, Clone)]
pub(super) struct Features {
    /// Numbers as they are; of pictures and texts, a few coarse measures.
    pub(super) plain: Inputs,
    /// What a practised engineer makes of everything.
    pub(super) full: Inputs,
}

/// Columns under construction, one value per row: training rows first.
struct Columns {
    train: usize,
    plain: Vec<Vec<f64>>,
    full: Vec<Vec<f64>>,
}

/// The inputs of a divided data set.
pub(super) fn features(spec: &AnchorSpec, data: &RawData, division: &Division) -> Features {
    let rows: Vec<usize> = [division.train.as_slice(), &division.test].concat();
    let mut columns = Columns { train: division.train.len(), plain: Vec::new(), full: Vec::new() };
    for (_, cells) in data.features(spec) {
        let cells: Vec<&str> = rows.iter().map(|row| cells[*row].as_str()).collect();
        columns.add(&cells, spec.modality == Modality::Text);
    }
    if spec.modality == Modality::TimeSeries && !spec.is_numeric() {
        columns.full.extend(series(spec, data, &rows));
    }
    if let Some(pictures) = &data.pictures {
        columns.pictures(pictures, &rows);
    }
    if columns.plain.is_empty() {
        columns.plain.clone_from(&columns.full);
    }
    let (train, test) = (division.train.len(), division.test.len());
    let inputs = |columns: &[Vec<f64>]| {
        let whole = from_columns(train + test, columns);
        Inputs {
            train: whole.slice(s![..train, ..]).to_owned(),
            test: whole.slice(s![train.., ..]).to_owned(),
        }
    };
    Features { plain: inputs(&columns.plain), full: inputs(&columns.full) }
}

impl Columns {
    /// Adds a column of cells: numbers, dates, texts or words.
    fn add(&mut self, cells: &[&str], is_text: bool) {
        if is_text {
            self.texts(cells);
        } else if let Some(numbers) = numbers(cells) {
            self.numbers(numbers);
        } else if let Some(days) = cells.iter().map(|cell| day(cell)).collect::<Option<Vec<f64>>>()
        {
            for harmonic in [1.0, 2.0] {
                let angle = |day: &f64| TAU * harmonic * day / YEAR;
                self.full.push(days.iter().map(|day| libm::sin(angle(day))).collect());
                self.full.push(days.iter().map(|day| libm::cos(angle(day))).collect());
            }
            self.numbers(days);
        } else {
            self.words(cells);
        }
    }

    /// Gaps become the median, and an indicator where they occur in training.
    fn numbers(&mut self, mut values: Vec<f64>) {
        let fill = median(&values[..self.train]);
        if values[..self.train].iter().any(|value| value.is_nan()) {
            let gaps = values.iter().map(|value| f64::from(u8::from(value.is_nan())));
            self.full.push(gaps.collect());
        }
        values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = fill);
        self.plain.push(values.clone());
        self.full.push(values);
    }

    /// An indicator per value; of many values, per first word that occurs often enough.
    fn words(&mut self, cells: &[&str]) {
        let levels: BTreeSet<&str> = cells[..self.train].iter().copied().collect();
        let few = levels.len() <= LEVELS;
        let level = |cell: &'_ str| -> String {
            let word = if few { cell } else { cell.split_whitespace().next().unwrap_or("") };
            word.to_owned()
        };
        let own: Vec<String> = cells.iter().map(|cell| level(cell)).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for word in &own[..self.train] {
            *counts.entry(word).or_default() += 1;
        }
        let common = counts.iter().filter(|(_, count)| few || **count >= COMMON);
        for (word, _) in common.take(LEVELS) {
            self.full.push(own.iter().map(|other| f64::from(u8::from(other == word))).collect());
        }
    }

    /// Length and letters for simple models, words or runs of letters for others.
    fn texts(&mut self, cells: &[&str]) {
        let lower: Vec<String> = cells.iter().map(|cell| cell.to_lowercase()).collect();
        let words = |text: &String| text.split_whitespace().count() as f64;
        let measures = |text: &String| -> Vec<f64> {
            let length = text.chars().count().max(1) as f64;
            let share =
                |letter: char| text.chars().filter(|c| *c == letter).count() as f64 / length;
            [length, words(text)].into_iter().chain(('a'..='z').map(share)).collect()
        };
        let rows: Vec<Vec<f64>> = lower.iter().map(measures).collect();
        for column in 0..rows[0].len() {
            let values: Vec<f64> = rows.iter().map(|row| row[column]).collect();
            self.plain.push(values.clone());
            self.full.push(values);
        }
        let known = &lower[..self.train];
        let is_wordy = known.iter().map(words).sum::<f64>() >= WORDY * self.train as f64;
        let grams: Vec<BTreeSet<String>> =
            lower.iter().map(|text| if is_wordy { tokens(text) } else { runs(text) }).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for gram in grams[..self.train].iter().flatten() {
            *counts.entry(gram).or_default() += 1;
        }
        let mut common: Vec<(&str, usize)> =
            counts.into_iter().filter(|(_, count)| *count >= COMMON).collect();
        common.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        for (gram, _) in common.into_iter().take(GRAMS) {
            let holds = |own: &BTreeSet<String>| f64::from(u8::from(own.contains(gram)));
            self.full.push(grams.iter().map(holds).collect());
        }
    }

    fn pictures(&mut self, pictures: &Pictures, rows: &[usize]) {
        let planes: Vec<Array2<f64>> = rows
            .iter()
            .map(|row| {
                let levels = pictures.picture(*row).mapv(f64::from);
                levels.mean_axis(Axis(2)).unwrap_or_default()
            })
            .collect();
        let mut add = |room: fn(&mut Self) -> &mut Vec<Vec<f64>>,
                       read: &dyn Fn(&Array2<f64>) -> Vec<f64>| {
            let read: Vec<Vec<f64>> = planes.iter().map(read).collect();
            let width = read.first().map_or(0, Vec::len);
            let columns = (0..width).map(|at| read.iter().map(|row| row[at]).collect());
            room(self).extend(columns);
        };
        add(|columns| &mut columns.plain, &|plane| blocks(plane, BLOCKS[0]));
        add(|columns| &mut columns.full, &|plane| blocks(plane, BLOCKS[1]));
        add(|columns| &mut columns.full, &edges);
    }
}

/// Cells as numbers, NaN where they are empty; `None` if one is no number, or all are empty.
fn numbers(cells: &[&str]) -> Option<Vec<f64>> {
    let number = |cell: &&str| if cell.is_empty() { Some(f64::NAN) } else { cell.parse().ok() };
    let values: Vec<f64> = cells.iter().map(number).collect::<Option<_>>()?;
    values.iter().any(|value| !value.is_nan()).then_some(values)
}

/// The number of days from the first of March of the year 0 to a date such as `2012-01-31`.
fn day(cell: &str) -> Option<f64> {
    let mut parts = cell.splitn(3, '-').map(|part| part.parse::<u32>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year == 0 {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some(f64::from(days))
}

/// The different words of a text.
fn tokens(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.chars().count() > 2);
    words.map(str::to_owned).collect()
}

/// The different runs of letters of a text, its ends marked.
fn runs(text: &str) -> BTreeSet<String> {
    let letters: Vec<char> = format!("^{text}$").chars().collect();
    let of = |length: usize| letters.windows(length).map(|run| run.iter().collect());
    (1..=RUN).flat_map(of).collect()
}

/// What is usually computed of whole series: of each dimension of a row, over the steps that are
/// there.
fn series(spec: &AnchorSpec, data: &RawData, rows: &[usize]) -> Vec<Vec<f64>> {
    let mut dimensions: BTreeMap<&str, Vec<&[String]>> = BTreeMap::new();
    for (name, cells) in data.features(spec) {
        dimensions.entry(name.split('t').next().unwrap_or("")).or_default().push(cells);
    }
    let read = |row: &usize| -> Vec<f64> {
        let of = |steps: &Vec<&[String]>| {
            let values: Vec<f64> =
                steps.iter().filter_map(|cells| cells[*row].parse().ok()).collect();
            summary(&values, dimensions.len() == 1)
        };
        dimensions.values().flat_map(of).collect()
    };
    let read: Vec<Vec<f64>> = rows.iter().map(read).collect();
    (0..read[0].len()).map(|at| read.iter().map(|row| row[at]).collect()).collect()
}

/// Level, spread, ends, extremes and their places, mean step; with `whole`, strengths of the lowest
/// frequencies as well.
fn summary(values: &[f64], whole: bool) -> Vec<f64> {
    let (mean, spread) = moments(values);
    let place = |is_better: fn(f64, f64) -> bool| {
        let better =
            |best: usize, at: usize| if is_better(values[at], values[best]) { at } else { best };
        (0..values.len()).fold(0, better)
    };
    let (low, high) = (place(|a, b| a < b), place(|a, b| a > b));
    let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
    let length = values.len().max(1) as f64;
    let steps = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum::<f64>() / length;
    let mut found = vec![
        mean,
        spread,
        at(0),
        at(values.len().saturating_sub(1)),
        at(low),
        at(high),
        low as f64 / length,
        high as f64 / length,
        steps,
        length,
    ];
    if whole {
        found.extend((1..=FREQUENCIES).map(|frequency| strength(values, frequency)));
    }
    found
}

/// The size of a Fourier coefficient, which does not depend on where a cycle begins.
fn strength(values: &[f64], frequency: usize) -> f64 {
    let n = values.len().max(1);
    let (mut real, mut imaginary) = (0.0, 0.0);
    for (step, value) in values.iter().enumerate() {
        let angle = TAU * ((frequency * step) % n) as f64 / n as f64;
        real += value * libm::cos(angle);
        imaginary += value * libm::sin(angle);
    }
    (real * real + imaginary * imaginary).sqrt() / n as f64
}

/// The mean grey value of each of at most `count` by `count` blocks.
fn blocks(plane: &Array2<f64>, count: usize) -> Vec<f64> {
    let (height, width) = plane.dim();
    let count = count.min(height).min(width);
    let edge = |block: usize, side: usize| block * side / count;
    let block = |(down, across): (usize, usize)| {
        let block = plane.slice(s![
            edge(down, height)..edge(down + 1, height),
            edge(across, width)..edge(across + 1, width)
        ]);
        block.iter().sum::<f64>() / block.len().max(1) as f64
    };
    (0..count).flat_map(|down| (0..count).map(move |across| (down, across))).map(block).collect()
}

/// How strong edges of each direction are in each cell, in shares of all edges of the picture.
fn edges(plane: &Array2<f64>) -> Vec<f64> {
    let (height, width) = plane.dim();
    let mut sums = vec![0.0; CELLS * CELLS * DIRECTIONS];
    for y in 1..height.saturating_sub(1) {
        for x in 1..width.saturating_sub(1) {
            let across = plane[(y, x + 1)] - plane[(y, x - 1)];
            let down = plane[(y + 1, x)] - plane[(y - 1, x)];
            let size = (across * across + down * down).sqrt();
            let turn = (libm::atan2(down, across) + TAU / 2.0) / TAU;
            let direction = floor(turn * DIRECTIONS as f64).min(DIRECTIONS - 1);
            let cell = (y * CELLS / height) * CELLS + x * CELLS / width;
            sums[cell * DIRECTIONS + direction] += size;
        }
    }
    let whole = sums.iter().sum::<f64>();
    sums.iter().map(|sum| sum / (whole + 1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_between_dates_are_those_of_the_calendar() {
        // datetime.date(2012, 3, 1) - datetime.date(2012, 2, 28), and so on
        for (from, to, days) in [
            ("2012-02-28", "2012-03-01", 2.0),
            ("2013-02-28", "2013-03-01", 1.0),
            ("1999-12-31", "2000-01-01", 1.0),
            ("1900-01-01", "2000-01-01", 36_524.0),
        ] {
            assert_eq!(day(to).unwrap() - day(from).unwrap(), days, "{from} to {to}");
        }
        assert!(day("2012-13-01").is_none() && day("a word").is_none() && day("").is_none());
    }

    #[test]
    fn columns_of_numbers_gaps_words_and_dates_are_encoded() {
        let mut columns = Columns { train: 3, plain: Vec::new(), full: Vec::new() };
        columns.add(&["1", "", "4", ""], false);
        assert_eq!(columns.plain, [vec![1.0, 2.5, 4.0, 2.5]]);
        assert_eq!(columns.full[0], [0.0, 1.0, 0.0, 1.0]);
        columns.add(&["a", "b", "a", "c"], false);
        // A word that training rows do not have is no column.
        assert_eq!(columns.full[2..], [vec![1.0, 0.0, 1.0, 0.0], vec![0.0, 1.0, 0.0, 0.0]]);
        columns.add(&["2012-01-01", "2012-07-01", "2013-01-01", "2013-07-02"], false);
        let season: Vec<bool> = columns.full[5].iter().map(|value| *value > 0.0).collect();
        assert_eq!(season[0], season[2]);
        assert_ne!(season[0], season[1]);
    }

    #[test]
    fn strength_of_a_frequency_is_the_same_wherever_the_series_begins() {
        let wave = |shift: f64| -> Vec<f64> {
            (0..60).map(|t| libm::sin(TAU * (3.0 * f64::from(t) / 60.0 + shift))).collect()
        };
        for shift in [0.0, 0.1, 0.7] {
            assert!((strength(&wave(shift), 3) - 0.5).abs() < 1e-12);
            assert!(strength(&wave(shift), 5) < 1e-12);
        }
    }

    #[test]
    fn runs_of_letters_know_where_a_name_ends() {
        assert!(runs("ada").contains("a$") && runs("ada").contains("^ad"));
        assert_eq!(tokens("of the matrix, the"), ["matrix", "the"].map(str::to_owned).into());
    }
}
