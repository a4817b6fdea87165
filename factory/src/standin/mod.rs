//! Stand-ins for the 22 competitions of MLE-bench-lite: small invented data in exactly the form in
//! which MLE-bench prepares them, to test programs where the true data cannot be had.
//!
//! `seed -> PreparedFiles -> <id>/{prepared/{public,private}, stand-in.json}`. Every competition
//! has a signal that a short script finds and the sample does not, and is drawn from the stream
//! ("stand-in", seed, id). Nothing is taken from the competitions but names: of files, columns,
//! breeds and species.
//!
//! - One file per family of competitions: `small_pictures`, `medicine`, `melanoma`,
//!   `plants`, `documents`, `comments`, `authors`, `requests`, `normalization`,
//!   `birds`, `whales`, `playground`, `measurements`.
//! - What they share: tables (`csv_rows`), names and labels (`names`, `classes`), pictures
//!   and sounds (`canvas`, `sound`), file formats (`tiff`, `dicom`, `tfrecord`, `aiff`,
//!   `archive`).
//! - `source` is one competition and its page, `catalogue` all of them, `folder` writes them.

mod aiff;
mod archive;
mod authors;
mod birds;
mod canvas;
mod catalogue;
mod classes;
mod comments;
mod csv_rows;
mod dicom;
mod documents;
mod files;
mod folder;
mod measurements;
mod medicine;
mod melanoma;
mod names;
mod normalization;
mod plants;
mod playground;
mod requests;
mod small_pictures;
mod sound;
mod source;
mod tfrecord;
mod tiff;
mod whales;

pub use catalogue::competitions;
pub use folder::{StandInError, StandInSettings, write};
