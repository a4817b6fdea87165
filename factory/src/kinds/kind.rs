//! What every kind of task answers for.

use super::{pandas, related};
use crate::baselines::ladder::{self, Ladder, LadderError};
use crate::data::assets::Assets;
use crate::data::items::{self, Item};
use crate::generator::GeneratedRows;
use crate::media::{Blemish, Format, MediumError, MediumKind, Reading, Storage, form};
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::{ItemLayout, Layout};
use polars::prelude::Column;
use std::collections::BTreeMap;
use std::fmt;
use tasks::prediction::Prediction;
use tasks::task::{Modality, OracleScript, TaskScripts};
use tasks::values::Values;

/// Why the rows of a blueprint cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// An item that was just written cannot be read.
    #[error(transparent)]
    Medium(#[from] MediumError),
    /// The rows of a generator are missing, or are not those of the blueprint.
    #[error("the rows of the generator do not fit the blueprint: {0}")]
    Rows(&'static str),
}

/// A kind of task. What is provided here suits tables whose rows have targets, and an item each
/// if the blueprint has a layout for items.
///
/// Every method gets the blueprint whose layout the kind is.
pub trait TaskKind: fmt::Debug + Sync {
    /// Draws a task's rows, what belongs to them, and their truth. What a generator drew of them
    /// is given.
    ///
    /// # Errors
    /// [`RenderError`].
    fn render(
        &self,
        blueprint: &Blueprint,
        generated: Option<&GeneratedRows>,
    ) -> Result<Assets, RenderError>;

    /// Fits the baselines R0 to R3 and the ceiling.
    ///
    /// # Errors
    /// [`LadderError`].
    fn fit_baselines(&self, blueprint: &Blueprint, assets: &Assets) -> Result<Ladder, LadderError> {
        ladder::climb(blueprint, assets)
    }

    /// The columns that hold the items of rows, or the names of their files; `names` are what these are
    /// called before their endings.
    fn item_cells(&self, blueprint: &Blueprint, names: &[String], items: &[Item]) -> Vec<Column> {
        blueprint.item().map_or_else(Vec::new, |layout| items::columns(layout, names, items))
    }

    /// The names of those columns.
    fn item_columns(&self, blueprint: &Blueprint) -> Vec<String> {
        let columns = self.item_cells(blueprint, &[], &[]);
        columns.iter().map(|column| column.name().to_string()).collect()
    }

    /// The files beside the tables, by their path within the public half.
    fn files(&self, blueprint: &Blueprint, assets: &Assets) -> BTreeMap<String, Vec<u8>> {
        let mut files = related::files(blueprint, assets);
        let Some(layout) = blueprint.item() else { return files };
        let names = items::training_names(blueprint, &assets.train_ids, &assets.train_truth);
        files.extend(items::files(layout, &names, &assets.train_items));
        files.extend(items::files(layout, &assets.test_ids, &assets.test_items));
        files
    }

    /// Folders of the public half with a file for each training row and for no test row.
    fn training_folders(&self) -> &'static [&'static str] {
        &[]
    }

    /// Reads a row's item back from its bytes.
    ///
    /// # Errors
    /// [`MediumError`] if the bytes are not such an item, or if rows have none.
    fn read(&self, blueprint: &Blueprint, bytes: &[u8]) -> Result<Reading, MediumError> {
        let layout =
            blueprint.item().ok_or_else(|| MediumError("rows have no items".to_owned()))?;
        layout.medium.reader().read(bytes)
    }

    /// Ways in which the items can be worse than clean.
    fn blemishes(&self, blueprint: &Blueprint) -> &'static [Blemish] {
        blueprint.item().map(|layout| layout.medium.reader().blemishes()).unwrap_or_default()
    }

    /// The columns of the truth in the training file.
    fn target_columns(&self, blueprint: &Blueprint) -> Vec<String> {
        blueprint.targets.iter().map(|target| target.column.clone()).collect()
    }

    /// Python that reads the items and computes the hidden rule, for the scripted agents. It stays
    /// in the manifest and is shown to no other agent.
    fn scripts(&self, blueprint: &Blueprint) -> TaskScripts {
        let (code, logarithmic) = (pandas::oracle(blueprint), pandas::logarithmic(blueprint));
        let oracle = OracleScript { code, logarithmic };
        TaskScripts { reader: pandas::reader(blueprint), oracle }
    }

    /// Submissions that look at no item, as the cells of a constant row each, where truth is
    /// structured.
    fn constants(&self, _prediction: &Prediction, _train: &Values) -> Vec<Vec<String>> {
        Vec::new()
    }

    /// What a row is made of, in the plural, as the page says it.
    fn made_of(&self, blueprint: &Blueprint) -> String {
        match (blueprint.item().map(noun), blueprint.modality) {
            (Some(item), Modality::Multimodal) => format!("{item} and a table"),
            (Some(item), _) => item.to_owned(),
            (None, _) if blueprint.structure.records.is_some() => "a table with records".to_owned(),
            (None, _) if blueprint.structure.places.is_some() => "a table with places".to_owned(),
            (None, _) => "a table".to_owned(),
        }
    }

    /// The files beside the tables, as the page lists them.
    ///
    /// # Panics
    /// If an item is not what it was written as, which reading it back rules out.
    fn extra_files(&self, blueprint: &Blueprint, assets: &Assets) -> Vec<ExtraFiles> {
        let mut files = related::extra_files(blueprint, assets);
        let Some(layout) = blueprint.item() else { return files };
        let form = || {
            let bytes = assets.items().map(|item| item.bytes.as_slice());
            form::of_files(layout.format, bytes).expect("items were read back")
        };
        let column = layout.column.clone();
        files.extend(match layout.storage() {
            Storage::Files { folder, extension } => {
                let labelled = blueprint.labels_in_names();
                Some(ExtraFiles::Items { folder, extension, column, labelled, form: form() })
            }
            Storage::Folders { folder } => {
                Some(ExtraFiles::Folders { folder, column, form: form() })
            }
            Storage::Cells(_) => None,
        });
        files
    }
}

/// Files of the public folder beside the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtraFiles {
    /// One file per row of both tables.
    Items {
        /// The folder that holds them.
        folder: &'static str,
        /// How their names end.
        extension: &'static str,
        /// The column that names a row's file.
        column: String,
        /// Whether names of training files begin with the row's label.
        labelled: bool,
        /// How the files are written.
        form: String,
    },
    /// One folder of PNG files per row of both tables.
    Folders {
        /// The folder that holds them.
        folder: &'static str,
        /// The column that names a row's folder.
        column: String,
        /// How the files of a folder are written.
        form: String,
    },
    /// A single file for all rows, such as links or records, or a folder for the training rows alone,
    /// such as masks.
    Other {
        /// The file, or the folder with a `/` at its end, within the public folder.
        path: String,
        /// What the page says of it: a phrase without a full stop.
        note: String,
    },
}

impl Blueprint {
    /// The kind of the task.
    pub fn kind(&self) -> &dyn TaskKind {
        match &self.layout {
            Layout::Rows(kind) => kind,
            Layout::Ranking(kind) => kind,
            Layout::Series(kind) => kind,
            Layout::Nodes(kind) => kind,
            Layout::Vision(kind) => kind,
            Layout::Challenge(kind) => kind,
            Layout::Generated(kind) => kind,
        }
    }
}

/// What items are called in the plural.
fn noun(layout: &ItemLayout) -> &'static str {
    match (layout.medium, layout.format) {
        (
            MediumKind::Surface | MediumKind::Objects | MediumKind::Scenery | MediumKind::Picture,
            _,
        ) => "pictures",
        (MediumKind::Clip, Format::Frames) => "folders of frames",
        (MediumKind::Clip, _) => "clips",
        (MediumKind::Recording | MediumKind::Sound, _) => "recordings",
        (MediumKind::Soundscape, _) => "soundscapes",
        (MediumKind::Report | MediumKind::Text, Format::Text) | (MediumKind::Dossier, _) => {
            "documents"
        }
        (MediumKind::Report | MediumKind::Text, _) => "texts",
        (MediumKind::Pair, _) => "pairs of texts",
        (MediumKind::Network, _) => "graphs",
    }
}
