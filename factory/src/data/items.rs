//! Items: what carries the statistics that stand in no table, one per row.

use crate::data::labels::Truth;
use crate::data::table;
use crate::media::image::frames;
use crate::media::{Look, MediumError, MediumKind, Reading, Storage};
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::ItemLayout;
use crate::spec::rule::Frame;
use camino::{Utf8DirEntry, Utf8Path};
use fs_err as fs;
use polars::prelude::Column;
use std::collections::BTreeMap;
use std::io;
use std::sync::OnceLock;
use tasks::file_label;
use tasks::stream::Stream;

/// An item and what solvers make of it.
#[derive(Debug, Clone)]
pub struct Item {
    /// As it is kept.
    pub bytes: Vec<u8>,
    reading: OnceLock<Reading>,
    /// What reads it, where it has not been read yet.
    medium: Option<MediumKind>,
}

/// Readings follow from bytes.
impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Item {
    /// An item whose reading is known.
    pub fn new(bytes: Vec<u8>, reading: Reading) -> Self {
        Self { bytes, reading: reading.into(), medium: None }
    }

    /// An item that is read at the first call of [`Item::reading`]. A rebuild compares bytes and never
    /// calls it.
    fn unread(bytes: Vec<u8>, medium: MediumKind) -> Self {
        Self { bytes, reading: OnceLock::new(), medium: Some(medium) }
    }

    /// What is read back from the bytes.
    ///
    /// # Panics
    /// If they cannot be read, which [`read_back`] rules out.
    pub fn reading(&self) -> &Reading {
        self.read().expect("an item can be read")
    }

    fn read(&self) -> Result<&Reading, MediumError> {
        if let (None, Some(medium)) = (self.reading.get(), self.medium) {
            let reading = medium.reader().read(&self.bytes)?;
            // If another thread was first, it has read the same.
            let _ = self.reading.set(reading);
        }
        Ok(self.reading.get().expect("it was read, or known from the start"))
    }
}

/// Reads all items, so that [`Item::reading`] cannot fail.
///
/// # Errors
/// [`MediumError`] if a medium cannot read what it wrote.
pub fn read_back(items: &[Item]) -> Result<(), MediumError> {
    items.iter().try_for_each(|item| item.read().map(|_| ()))
}

/// Renders every row's item.
///
/// # Errors
/// [`MediumError`] if a medium renders nothing.
pub fn draw(
    blueprint: &Blueprint,
    layout: &ItemLayout,
    frame: &Frame,
    stream: Stream,
) -> Result<Vec<Item>, MediumError> {
    let medium = layout.medium.medium().ok_or_else(|| {
        let kind = layout.medium;
        MediumError(format!("{kind:?} cannot be rendered; such items are given by a generator"))
    })?;
    let columns: Vec<&[f64]> = layout
        .statistics
        .iter()
        .map(|column| frame.numbers.get(&column.name).map_or(&[][..], Vec::as_slice))
        .collect();
    written(blueprint, layout, frame.rows, stream, |row, look, draws| {
        let values: Vec<f64> = columns.iter().map(|column| column[row]).collect();
        Ok(medium.render(&values, look, draws))
    })
}

/// Writes every row's item by `write`, which gets the row, what all items share and the row's own
/// draws.
///
/// # Errors
/// Those of `write`.
pub fn written<E>(
    blueprint: &Blueprint,
    layout: &ItemLayout,
    rows: usize,
    stream: Stream,
    write: impl Fn(usize, &Look<'_>, &mut Draws) -> Result<Vec<u8>, E>,
) -> Result<Vec<Item>, E> {
    let blemishes = blueprint.blemishes();
    let look = Look {
        format: layout.format,
        stream: stream.child("look"),
        vocabulary: &layout.vocabulary,
        subject: layout.subject,
        genre: layout.genre,
        source: layout.source,
        samples: layout.samples,
        blemishes: &blemishes,
    };
    let item = |row: usize| {
        let mut draws = Draws::new(stream.child("item").index(row as u64));
        Ok(Item::unread(write(row, &look, &mut draws)?, layout.medium))
    };
    (0..rows).map(item).collect()
}

/// What the files of training rows are called, before their endings: by the rows' ids, behind their
/// labels where these stand in names. Files of test rows are called by ids alone.
///
/// # Panics
/// If labels stand in names and are no classes, which reading a blueprint rules out.
pub fn training_names(blueprint: &Blueprint, ids: &[String], truth: &Truth) -> Vec<String> {
    if !blueprint.labels_in_names() {
        return ids.to_vec();
    }
    let labels = truth.class_names().expect("labels in names are classes");
    ids.iter().zip(labels).map(|(id, label)| file_label::labelled(label, id)).collect()
}

/// The columns of a table that hold the items, or the names of their files: `names`, in a folder and
/// with an ending.
pub fn columns(layout: &ItemLayout, names: &[String], items: &[Item]) -> Vec<Column> {
    match layout.storage() {
        Storage::Files { folder, extension } => {
            let path = |name: &String| format!("{folder}/{name}.{extension}");
            vec![table::texts(&layout.column, names.iter().map(path))]
        }
        Storage::Folders { folder } => {
            let path = |name: &String| format!("{folder}/{name}");
            vec![table::texts(&layout.column, names.iter().map(path))]
        }
        Storage::Cells(_) => {
            let line = |item: &Item, index: usize| {
                let text = String::from_utf8_lossy(&item.bytes).into_owned();
                text.lines().nth(index).unwrap_or_default().to_owned()
            };
            let column = |(index, name): (usize, &String)| {
                table::texts(name, items.iter().map(|item| line(item, index)))
            };
            layout.columns().iter().enumerate().map(column).collect()
        }
    }
}

/// The files that hold the items, by their path within the public half; `names` as in [`columns`].
///
/// # Panics
/// If an item is not what it was written as, which reading it back rules out.
pub fn files(layout: &ItemLayout, names: &[String], items: &[Item]) -> BTreeMap<String, Vec<u8>> {
    let rows = names.iter().zip(items);
    match layout.storage() {
        Storage::Files { folder, extension } => rows
            .map(|(name, item)| (format!("{folder}/{name}.{extension}"), item.bytes.clone()))
            .collect(),
        Storage::Folders { folder } => {
            let frames = |(name, item): (&String, &Item)| {
                let files = frames::files(&item.bytes).expect("items were read back");
                let named = |(frame, file): (usize, &[u8])| {
                    (format!("{folder}/{name}/{frame}.png"), file.to_vec())
                };
                files.into_iter().enumerate().map(named).collect::<Vec<_>>()
            };
            rows.flat_map(frames).collect()
        }
        Storage::Cells(_) => BTreeMap::new(),
    }
}

/// The bytes of a row's item at the path that its column names: a file's, or those of the files of a
/// folder one after the other.
///
/// # Errors
/// Any I/O error.
pub(crate) fn read(path: &Utf8Path) -> io::Result<Vec<u8>> {
    if !path.is_dir() {
        return fs::read(path);
    }
    let files = path.read_dir_utf8()?.collect::<io::Result<Vec<_>>>()?;
    let place = |file: &Utf8Path| file.file_stem().and_then(|stem| stem.parse::<usize>().ok());
    let mut files: Vec<&Utf8Path> = files.iter().map(Utf8DirEntry::path).collect();
    files.sort_by_key(|file| (place(file), *file));
    let parts = files.into_iter().map(fs::read).collect::<io::Result<Vec<_>>>()?;
    Ok(parts.concat())
}
