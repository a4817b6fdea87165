//! Items that are given: pictures, sounds and texts that a generator drew.
//!
//! They carry no statistics of ours. [`write()`] adds a task's blemishes and makes the file or the
//! cell; [`decode`] brings the array or the text back, exactly as the function `decode` of the
//! medium's Python does. `given item -> write -> bytes -> read and decode`.

#[cfg(test)]
mod tests;

use super::{Look, MediumError, MediumKind, audio, image, text};
use crate::numeric::draws::Draws;
use ndarray::{Array3, ArrayView3, ArrayViewD, Axis, Ix2, Ix3};

/// Sides of pictures that tasks ask for, in pixels, in grey or colour. From 16 to 256 can be
/// written.
pub const SIDES: [usize; 3] = [48, 56, 64];
/// The fewest samples of a sound, at 8 kHz.
pub const LEAST_SAMPLES: usize = audio::wav::SAMPLES[0];
/// The most samples of a sound, at 8 kHz.
pub const MOST_SAMPLES: usize = audio::wav::SAMPLES[1];
/// The number of samples of a sound is a multiple of this.
pub const SAMPLES_STEP: usize = audio::wav::SAMPLES[2];
/// The longest text, in bytes. Texts are printable ASCII with line feeds, of two words or more.
pub const MOST_TEXT: usize = text::given::MOST_TEXT;

/// One item before blemishes and encoding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GivenItem<'a> {
    /// Levels, `[down, across, 1 or 3]`.
    Picture(ArrayView3<'a, u8>),
    /// Samples of 16 bits, at 8 kHz.
    Sound(&'a [i16]),
    /// A text.
    Text(&'a str),
}

/// One item as it is read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodedItem {
    /// Levels, `[down, across, 1 or 3]`.
    Picture(Array3<u8>),
    /// Samples of 16 bits, at 8 kHz.
    Sound(Vec<i16>),
    /// A text.
    Text(String),
}

impl<'a> GivenItem<'a> {
    /// A picture of levels of shape `[down, across]` or `[down, across, channels]`.
    ///
    /// # Errors
    /// [`MediumError`] for any other number of axes.
    pub fn from_levels(levels: ArrayViewD<'a, u8>) -> Result<Self, MediumError> {
        let axes = levels.ndim();
        let levels = match axes {
            2 => levels.into_dimensionality::<Ix2>().map(|grey| grey.insert_axis(Axis(2))),
            _ => levels.into_dimensionality::<Ix3>(),
        };
        let wrong =
            |_| MediumError(format!("a picture of {axes} axes; give 2, or 3 with channels"));
        levels.map(Self::Picture).map_err(wrong)
    }

    /// The medium that writes and reads it.
    pub fn kind(&self) -> MediumKind {
        match self {
            Self::Picture(_) => MediumKind::Picture,
            Self::Sound(_) => MediumKind::Sound,
            Self::Text(_) => MediumKind::Text,
        }
    }

    /// Makes sure that [`write()`] takes it: a square picture of 16 to 256 pixels a side with one
    /// or three channels, a sound of whole [`SAMPLES_STEP`]s within its bounds, or an ASCII text
    /// of two words or more and at most [`MOST_TEXT`] bytes.
    ///
    /// # Errors
    /// [`MediumError`] with what is wrong and what to give instead.
    pub fn check(&self) -> Result<(), MediumError> {
        match self {
            Self::Picture(levels) => image::given::check(*levels),
            Self::Sound(samples) => audio::given::check(samples),
            Self::Text(text) => text::given::check(text),
        }
    }
}

impl DecodedItem {
    /// The item, as it could be given.
    pub fn view(&self) -> GivenItem<'_> {
        match self {
            Self::Picture(levels) => GivenItem::Picture(levels.view()),
            Self::Sound(samples) => GivenItem::Sound(samples),
            Self::Text(text) => GivenItem::Text(text),
        }
    }
}

/// The bytes of an item in the task's format, with the blemishes in force. Without any,
/// [`decode`] gives the item back, but for the line feeds of a cell, which are blanks.
///
/// # Errors
/// [`MediumError`] if the item fails [`GivenItem::check`], or if its medium has no such format.
pub fn write(
    item: GivenItem<'_>,
    look: &Look<'_>,
    draws: &mut Draws,
) -> Result<Vec<u8>, MediumError> {
    item.check()?;
    let formats = item.kind().reader().formats();
    if !formats.contains(&look.format) {
        let (kind, format) = (item.kind(), look.format);
        return Err(MediumError(format!("{kind:?} as {format:?}; choose one of {formats:?}")));
    }
    Ok(match item {
        GivenItem::Picture(levels) => image::given::write(levels, look, draws),
        GivenItem::Sound(samples) => audio::given::write(samples, look, draws),
        GivenItem::Text(text) => text::given::write(text, look, draws),
    })
}

/// The item of the bytes that [`write()`] made.
///
/// # Errors
/// [`MediumError`] if the bytes are no such item, or if items of this kind are rendered.
pub fn decode(kind: MediumKind, bytes: &[u8]) -> Result<DecodedItem, MediumError> {
    match kind {
        MediumKind::Picture => image::given::decode(bytes).map(DecodedItem::Picture),
        MediumKind::Sound => audio::given::decode(bytes).map(DecodedItem::Sound),
        MediumKind::Text => Ok(DecodedItem::Text(text::given::decode(bytes)?.to_owned())),
        other => Err(MediumError(format!("{other:?} is rendered from statistics, not given"))),
    }
}
