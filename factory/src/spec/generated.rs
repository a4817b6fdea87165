//! Rows that a generator draws: Python by a chat model.

use crate::spec::layout::ItemLayout;
use serde::{Deserialize, Serialize};

/// The layout of a task whose rows a generator draws, with an item each or without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratedLayout {
    /// The item that each row has; none where its columns are all.
    pub item: Option<GeneratedItemLayout>,
    /// The generator; `None` only until the developer has delivered it.
    pub generator: Option<GeneratorRecord>,
}

/// The items of a task whose content a generator draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratedItemLayout {
    /// How they are kept. It has no statistics: what an item shows is the generator's.
    pub layout: ItemLayout,
    /// Their form before blemishes and encoding.
    pub form: ItemForm,
}

/// The form of an item before blemishes and encoding; the same for all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "snake_case", deny_unknown_fields)]
pub enum ItemForm {
    /// Levels from 0 to 255.
    Picture {
        /// In pixels, at most 256.
        height: usize,
        /// In pixels, at most 256.
        width: usize,
        /// Whether a pixel has three channels (RGB) or one.
        colour: bool,
    },
    /// Samples from -1 to 1, kept as 16 bits.
    Sound {
        /// Number of samples, at most 64,000.
        samples: usize,
    },
    /// At most 4 KiB of text.
    Text,
}

/// A generator and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorRecord {
    /// Its code.
    pub code: String,
    /// A hash that two generators share if their rules differ in names, notes and digits beyond
    /// the third at most.
    pub rule_hash: String,
    /// The expressions of its rule, as a page must not print them.
    pub clauses: Vec<String>,
    /// Version of the Python that drew the rows.
    pub python: String,
    /// Version of NumPy.
    pub numpy: String,
    /// What NumPy used of the processor. Rows are equal to the bit where this and the versions
    /// are equal.
    pub processor: Vec<String>,
}
