//! The public and the private folder of a task, as types that cannot be mixed up.

use super::view::View;
use camino::{Utf8Path, Utf8PathBuf};
use std::sync::Arc;

/// What an agent may see of a task.
///
/// Where files had to be withheld it is a [`View`], which is on disk for as long as a clone of
/// this value lives; keep one for as long as a sandbox shows it.
#[derive(Debug, Clone)]
pub struct PublicDir {
    path: Utf8PathBuf,
    /// Keeps the view on disk.
    view: Option<Arc<View>>,
}

impl PublicDir {
    /// A folder that holds nothing else.
    pub(super) fn plain(path: Utf8PathBuf) -> Self {
        Self { path, view: None }
    }

    /// A folder from which something is withheld.
    pub(super) fn filtered(view: Arc<View>) -> Self {
        Self { path: view.path().to_owned(), view: Some(view) }
    }

    /// Path of the public folder.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// The files that were withheld, relative to the original folder.
    pub fn withheld(&self) -> &[Utf8PathBuf] {
        self.view.as_deref().map_or(&[], View::withheld)
    }
}

impl PartialEq for PublicDir {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for PublicDir {}

/// What only a grader may read of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateDir(Utf8PathBuf);

impl PrivateDir {
    pub(super) fn new(path: Utf8PathBuf) -> Self {
        Self(path)
    }

    /// Path of the private folder.
    pub fn path(&self) -> &Utf8Path {
        &self.0
    }

    /// The truth for every test row.
    pub fn answers(&self) -> Utf8PathBuf {
        self.0.join("answer.csv")
    }
}
