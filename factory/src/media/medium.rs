//! A medium: what reads a row's item back, and renders it from statistics unless it is given.

use super::{audio, graph, image, text};
use crate::numeric::draws::Draws;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tasks::stream::Stream;
use tasks::task::Modality;

/// Who can read a statistic off an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A straight line on [`Reading::plain`] finds it (R² ≥ 0.6 on 150 items).
    Plain,
    /// A forest on [`Reading::generic`] finds it, a straight line on `plain` does not.
    Generic,
    /// Only its own estimator finds it well.
    Hidden,
}

/// Something about an item that a rule can depend on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistic {
    /// Its name in rules: lower case, unique within the medium.
    pub name: &'static str,
    /// Smallest value that an item can have.
    pub low: f64,
    /// Largest value that an item can have.
    pub high: f64,
    /// Digits after the point that a value has; 0 for counts.
    pub decimals: usize,
    /// Who can read it.
    pub reach: Reach,
    /// What it measures, in a few words.
    pub means: &'static str,
}

/// A way in which items can be worse than clean; its strength is constant within a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Blemish {
    /// Its name in manifests.
    pub name: &'static str,
    /// The least strength worth having.
    pub low: f64,
    /// The strength that the top rung still bears.
    pub high: f64,
    /// What it does, as the description page says it.
    pub means: &'static str,
}

/// What the items of a task are written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// PNG pictures, stored as they are.
    Png,
    /// Baseline JPEG pictures of high quality.
    Jpeg,
    /// TIFF files of several grey pictures, stored as they are.
    Tiff,
    /// PNG pictures in grey, stored as they are, in a folder for each row.
    Frames,
    /// WAV files of recorded sound.
    Wav,
    /// CSV files that list links.
    Csv,
    /// Texts of several paragraphs.
    Text,
    /// Cells of the tables.
    Cells,
}

impl Format {
    /// Whether a file's size follows from what it shows, as it does where contents are
    /// compressed.
    pub fn compresses(self) -> bool {
        matches!(self, Self::Jpeg)
    }
}

/// How the items of a task are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// A file per row in `prepared/public/<folder>/`.
    Files {
        /// Name of the folder within `prepared/public/`.
        folder: &'static str,
        /// The file name's ending, without a dot.
        extension: &'static str,
    },
    /// A folder per row in `prepared/public/<folder>/`, with PNG files `0.png`, `1.png` and so on.
    Folders {
        /// Name of the folder of folders within `prepared/public/`.
        folder: &'static str,
    },
    /// As many CSV columns, the lines of the item being their cells.
    Cells(usize),
}

/// What all items of a task share.
#[derive(Debug, Clone)]
pub struct Look<'a> {
    /// What items are written as: one of the medium's formats.
    pub format: Format,
    /// Where a medium draws its own constants from (size, palette, tempo, template): the same
    /// stream for every item of the task.
    pub stream: Stream,
    /// Words of the story's trade, for media that need some.
    pub vocabulary: &'a [String],
    /// What scenes show; drawn from `stream` where the story does not say.
    pub subject: Option<image::Subject>,
    /// What dossiers are; drawn from `stream` where the story does not say.
    pub genre: Option<text::Genre>,
    /// What is heard in soundscapes; drawn from `stream` where the story does not say.
    pub source: Option<audio::Source>,
    /// How many samples every soundscape has; drawn from `stream` where that is not set.
    pub samples: Option<usize>,
    /// Blemishes in force, by name, with their strengths.
    pub blemishes: &'a BTreeMap<String, f64>,
}

/// What solvers of three kinds make of an item.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Simple features for the linear rung: at most 32 numbers.
    pub plain: Vec<f64>,
    /// Standard features for the forest, without knowledge of the task: at most 32 numbers.
    pub generic: Vec<f64>,
    /// The statistics themselves, estimated from the item alone, in the medium's order.
    pub estimates: Vec<f64>,
}

/// Why an item could not be read.
#[derive(Debug, thiserror::Error)]
#[error("not a readable item: {0}")]
pub struct MediumError(pub String);

/// A kind of item: what every kind can do, rendered or given.
pub trait ItemReader: fmt::Debug + Sync {
    /// How items can be worse than clean: two or more.
    fn blemishes(&self) -> &'static [Blemish];

    /// What items can be written as, the usual one first.
    fn formats(&self) -> &'static [Format];

    /// Reads an item back from its bytes alone.
    ///
    /// # Errors
    /// [`MediumError`] if the bytes are not such an item.
    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError>;

    /// Python with a function `read(data: bytes)` that returns `(plain, generic, estimates)` as
    /// lists, computed as [`ItemReader::read`] does, for the scripted agents.
    fn python(&self) -> &'static str;
}

/// A kind of item that is rendered from statistics.
pub trait Medium: ItemReader {
    /// What a rule can depend on: four or more, one at least for each [`Reach`].
    fn statistics(&self) -> &'static [Statistic];

    /// The bytes of an item with these statistics, in the order of [`Medium::statistics`].
    /// Everything else about it comes from `look`, for the task, and `draws`, for the item.
    fn render(&self, values: &[f64], look: &Look<'_>, draws: &mut Draws) -> Vec<u8>;
}

/// The media, by their names in stories and blueprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediumKind {
    /// Close views of a textured surface.
    Surface,
    /// Pictures of scattered things.
    Objects,
    /// Short clips of things that drift.
    Clip,
    /// Scenes in colour of things that a person can name.
    Scenery,
    /// Short mono recordings of a tone.
    Recording,
    /// Long mono recordings of something that calls again and again.
    Soundscape,
    /// Short reports in words.
    Report,
    /// Long papers of a trade.
    Dossier,
    /// Two texts that may mean the same.
    Pair,
    /// Small graphs, one per row.
    Network,
    /// Pictures that are given, in grey or colour.
    Picture,
    /// Sounds that are given.
    Sound,
    /// Texts that are given.
    Text,
}

impl MediumKind {
    /// All media, in declaration order.
    pub const ALL: [Self; 13] = [
        Self::Surface,
        Self::Objects,
        Self::Clip,
        Self::Scenery,
        Self::Recording,
        Self::Soundscape,
        Self::Report,
        Self::Dossier,
        Self::Pair,
        Self::Network,
        Self::Picture,
        Self::Sound,
        Self::Text,
    ];

    /// What reads its items.
    pub fn reader(self) -> &'static dyn ItemReader {
        match self {
            Self::Surface => &image::Surface,
            Self::Objects => &image::Objects,
            Self::Clip => &image::Clip,
            Self::Scenery => &image::Scenery,
            Self::Recording => &audio::Recording,
            Self::Soundscape => &audio::Soundscape,
            Self::Report => &text::Report,
            Self::Dossier => &text::Dossier,
            Self::Pair => &text::Pair,
            Self::Network => &graph::Network,
            Self::Picture => &image::GivenPicture,
            Self::Sound => &audio::GivenSound,
            Self::Text => &text::GivenText,
        }
    }

    /// What renders its items from statistics; `None` if they are given.
    pub fn medium(self) -> Option<&'static dyn Medium> {
        match self {
            Self::Surface => Some(&image::Surface),
            Self::Objects => Some(&image::Objects),
            Self::Clip => Some(&image::Clip),
            Self::Scenery => Some(&image::Scenery),
            Self::Recording => Some(&audio::Recording),
            Self::Soundscape => Some(&audio::Soundscape),
            Self::Report => Some(&text::Report),
            Self::Dossier => Some(&text::Dossier),
            Self::Pair => Some(&text::Pair),
            Self::Network => Some(&graph::Network),
            Self::Picture | Self::Sound | Self::Text => None,
        }
    }

    /// What a rule can depend on; nothing if its items are given.
    pub fn statistics(self) -> &'static [Statistic] {
        self.medium().map_or(&[], Medium::statistics)
    }

    /// How its items are kept in a format.
    pub fn storage(self, format: Format) -> Storage {
        match format {
            Format::Png => Storage::Files { folder: "images", extension: "png" },
            Format::Jpeg => Storage::Files { folder: "images", extension: "jpg" },
            Format::Tiff => Storage::Files { folder: "clips", extension: "tif" },
            Format::Frames => Storage::Folders { folder: "clips" },
            Format::Wav if self == Self::Soundscape => {
                Storage::Files { folder: "soundscapes", extension: "wav" }
            }
            Format::Wav => Storage::Files { folder: "audio", extension: "wav" },
            Format::Csv => Storage::Files { folder: "graphs", extension: "csv" },
            Format::Text => Storage::Files { folder: "docs", extension: "txt" },
            Format::Cells => Storage::Cells(if self == Self::Pair { 2 } else { 1 }),
        }
    }

    /// The kind of data it makes a task.
    pub fn modality(self) -> Modality {
        match self {
            Self::Surface | Self::Objects | Self::Clip | Self::Scenery | Self::Picture => {
                Modality::Image
            }
            Self::Recording | Self::Soundscape | Self::Sound => Modality::Audio,
            Self::Report | Self::Dossier | Self::Pair | Self::Text => Modality::Text,
            Self::Network => Modality::Graph,
        }
    }
}
