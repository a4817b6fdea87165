//! Near-duplicate items on both sides of the split.

use super::Refusal;
use crate::data::items::Item;
use crate::data::likeness;
use crate::media::audio::course;
use crate::media::image::frames;
use crate::media::image::given::decode_grey;
use crate::media::image::picture::{Picture, decode};
use crate::media::{MediumError, MediumKind};
use crate::package::Staged;
use crate::roles::TaskFacts;
use crate::spec::blueprint::Blueprint;
use crate::spec::positions::Positions;
use ndarray::{Array2, s};
use std::collections::BTreeMap;

/// Columns of the thumbnail; it has a row less.
const COLUMNS: usize = 9;
/// Bits of 64 in which thumbnails of copies differ at most.
const BITS: u32 = 8;
/// Correlation of pixels above which pictures are one. Of 100 clean tasks' 3 million pairs,
/// those with so few bits apart reached 0.88; copies with noise of 4 grey levels are above 0.93.
const ALIKE: f64 = 0.93;
/// Correlation of levels over time above which soundscapes are one. Of 14 tasks' 25 thousand pairs, those
/// most alike reached 0.86; copies in noise as loud as their background are above 0.97.
const SAME_COURSE: f64 = 0.97;
/// Jaccard index above which texts are one. Texts of clean tasks reached 0.10; texts of 150
/// words with a word changed are at 0.93.
const RETOLD: f64 = 0.5;

/// No test row's picture or text is that of a training row.
pub(super) fn no_item_is_a_copy(task: &Staged) -> Result<(), Refusal> {
    let TaskFacts { blueprint, assets, .. } = &task.draft.facts;
    if assets.train_items.is_empty() {
        return Ok(());
    }
    among(blueprint, &bytes(&assets.train_items), &bytes(&assets.test_items))
}

fn bytes(items: &[Item]) -> Vec<&[u8]> {
    items.iter().map(|item| &*item.bytes).collect()
}

/// The same of the items of a task's rows. Scenes, which have no medium, are pictures.
pub(crate) fn among(blueprint: &Blueprint, train: &[&[u8]], test: &[&[u8]]) -> Result<(), Refusal> {
    if let Some(rule) = blueprint.along() {
        let spelt =
            |rows: &[&[u8]]| -> Vec<String> { rows.iter().map(|row| spelt(rule, row)).collect() };
        let (train, test) = (spelt(train), spelt(test));
        return no_text_is_retold(&as_bytes(&train), &as_bytes(&test));
    }
    if blueprint.challenge().is_some() {
        return no_text_is_retold(train, test);
    }
    in_medium(blueprint.item().map(|layout| layout.medium), train, test)
}

/// The symbols of a sequence's cells, as words.
fn spelt(rule: &Positions, row: &[u8]) -> String {
    let text = String::from_utf8_lossy(row);
    let symbols = text.lines().next().and_then(|cell| rule.parse(cell)).unwrap_or_default();
    symbols.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn as_bytes(texts: &[String]) -> Vec<&[u8]> {
    texts.iter().map(String::as_bytes).collect()
}

fn in_medium(medium: Option<MediumKind>, train: &[&[u8]], test: &[&[u8]]) -> Result<(), Refusal> {
    match medium {
        None | Some(MediumKind::Surface | MediumKind::Objects | MediumKind::Scenery) => {
            no_picture_is_a_copy(train, test, decode)
        }
        Some(MediumKind::Clip) => no_picture_is_a_copy(train, test, halfway),
        Some(MediumKind::Picture) => no_picture_is_a_copy(train, test, decode_grey),
        Some(MediumKind::Report | MediumKind::Dossier | MediumKind::Pair | MediumKind::Text) => {
            no_text_is_retold(train, test)
        }
        Some(MediumKind::Soundscape) => no_sound_is_a_copy(train, test),
        Some(MediumKind::Recording | MediumKind::Sound | MediumKind::Network) => Ok(()),
    }
}

/// The frame halfway through a clip.
fn halfway(clip: &[u8]) -> Result<Picture, MediumError> {
    let mut frames = frames::decode(clip)?;
    let middle = frames.len() / 2;
    Ok(Picture::from_grey(frames.swap_remove(middle)))
}

/// No test picture is a training picture with a few pixels, the light or some noise changed.
///
/// A copy meets two conditions: a thumbnail of which few steps differ (dHash), which finds
/// candidates quickly, and pixels that correlate, because thumbnails of textures are alike by
/// chance. Files become grey pictures by `decode`.
fn no_picture_is_a_copy(
    train: &[&[u8]],
    test: &[&[u8]],
    decode: fn(&[u8]) -> Result<Picture, MediumError>,
) -> Result<(), Refusal> {
    let seen = |files: &[&[u8]]| -> Result<Vec<Seen>, Refusal> {
        files.iter().map(|file| Ok(Seen::of(decode(file).map_err(unreadable)?))).collect()
    };
    let known = seen(train)?;
    for (row, one) in seen(test)?.iter().enumerate() {
        for (other, another) in known.iter().enumerate() {
            if (one.steps ^ another.steps).count_ones() > BITS {
                continue;
            }
            let likeness = one.likeness(another);
            if likeness > ALIKE {
                return Err(Refusal::PictureCopy { test: row, train: other, likeness });
            }
        }
    }
    Ok(())
}

/// No test soundscape is a training soundscape at another loudness or in some noise: levels over time
/// do not go together.
fn no_sound_is_a_copy(train: &[&[u8]], test: &[&[u8]]) -> Result<(), Refusal> {
    let courses = |files: &[&[u8]]| -> Result<Vec<Vec<f64>>, Refusal> {
        files.iter().map(|file| course(file).map_err(unreadable)).collect()
    };
    let known = courses(train)?;
    for (row, one) in courses(test)?.iter().enumerate() {
        for (other, another) in known.iter().enumerate() {
            let likeness: f64 = one.iter().zip(another).map(|(a, b)| a * b).sum();
            if likeness > SAME_COURSE {
                return Err(Refusal::SoundCopy { test: row, train: other, likeness });
            }
        }
    }
    Ok(())
}

/// No test text is a training text with a few words changed.
fn no_text_is_retold(train: &[&[u8]], test: &[&[u8]]) -> Result<(), Refusal> {
    let grams = |texts: &[&[u8]]| -> Vec<Vec<u64>> {
        texts.iter().map(|text| likeness::grams(&String::from_utf8_lossy(text))).collect()
    };
    let known = grams(train);
    // Which training texts hold a run: few do, so that few pairs have any in common.
    let mut holders: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (row, grams) in known.iter().enumerate() {
        for gram in grams {
            holders.entry(*gram).or_default().push(row);
        }
    }
    for (row, grams) in grams(test).iter().enumerate() {
        let mut shared = vec![0_usize; known.len()];
        for holder in grams.iter().filter_map(|gram| holders.get(gram)).flatten() {
            shared[*holder] += 1;
        }
        for (other, shared) in shared.into_iter().enumerate() {
            let jaccard = shared as f64 / (grams.len() + known[other].len() - shared).max(1) as f64;
            if jaccard > RETOLD {
                return Err(Refusal::TextCopy { test: row, train: other, jaccard });
            }
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn unreadable(error: MediumError) -> Refusal {
    Refusal::Contract(error.to_string())
}

/// What is compared of a picture.
struct Seen {
    /// Bits of the thumbnail's steps in brightness (dHash).
    steps: u64,
    /// Its pixels, with their mean and spread.
    bytes: Array2<u8>,
    mean: f64,
    spread: f64,
}

impl Seen {
    fn of(picture: Picture) -> Self {
        let steps = steps(&picture);
        let count = picture.bytes.len().max(1) as f64;
        // Whole numbers, so the order of summation is of no account.
        let sum: u32 = picture.bytes.iter().map(|byte| u32::from(*byte)).sum();
        let squares: u32 =
            picture.bytes.iter().map(|byte| u32::from(*byte) * u32::from(*byte)).sum();
        let mean = f64::from(sum) / count;
        let spread = (f64::from(squares) / count - mean * mean).max(0.0).sqrt();
        Self { steps, bytes: picture.bytes, mean, spread }
    }

    /// The correlation of two pictures' pixels; pictures of different sides are not alike.
    fn likeness(&self, other: &Self) -> f64 {
        if self.bytes.len() != other.bytes.len() {
            return 0.0;
        }
        let pairs = self.bytes.iter().zip(&other.bytes);
        let sum: u32 = pairs.map(|(a, b)| u32::from(*a) * u32::from(*b)).sum();
        let shared = f64::from(sum) / self.bytes.len().max(1) as f64 - self.mean * other.mean;
        let scale = self.spread * other.spread;
        if scale > 0.0 { shared / scale } else { 0.0 }
    }
}

/// dHash: whether each cell of a thumbnail is lighter than the one to its left, 8 by 8 bits.
fn steps(picture: &Picture) -> u64 {
    let side = picture.side();
    let edge = |cell: usize, cells: usize| (cell * side).div_ceil(cells);
    let mut bits = 0;
    for down in 0..COLUMNS - 1 {
        let rows = edge(down, COLUMNS - 1)..edge(down + 1, COLUMNS - 1);
        let sums: [u32; COLUMNS] = std::array::from_fn(|across| {
            let columns = edge(across, COLUMNS)..edge(across + 1, COLUMNS);
            let cell = picture.bytes.slice(s![rows.clone(), columns]);
            cell.fold(0, |sum, byte| sum + u32::from(*byte))
        });
        let width = |across: usize| edge(across + 1, COLUMNS) - edge(across, COLUMNS);
        for across in 1..COLUMNS {
            // Means are compared; cells have one height and almost one width.
            let lighter = sums[across] as usize * width(across - 1)
                > sums[across - 1] as usize * width(across);
            bits = bits << 1 | u64::from(lighter);
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Format;
    use crate::media::image::picture::encode;
    use ndarray::Array3;

    /// A picture that shows something in its red channel alone.
    fn red(shift: usize) -> Vec<u8> {
        let level = |(y, x, c): (usize, usize, usize)| {
            if c == 0 { u8::try_from((x * x + (3 + shift) * y * x) % 200).unwrap_or(0) } else { 40 }
        };
        encode(Format::Png, Array3::from_shape_fn((48, 48, 3), level).view())
    }

    #[test]
    fn given_picture_in_red_is_found_to_be_a_copy() {
        let (one, other) = (red(0), red(5));
        let kind = Some(MediumKind::Picture);
        assert!(in_medium(kind, &[&other], &[&one]).is_ok());
        let refused = in_medium(kind, &[&other, &one], &[&one]);
        assert!(matches!(refused, Err(Refusal::PictureCopy { test: 0, train: 1, .. })));
    }
}
