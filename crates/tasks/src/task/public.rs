//! The public and the private folder of a task, as types that cannot be mixed up.

use super::view::View;
use camino::{Utf8Path, Utf8PathBuf};
use std::io;
use std::sync::Arc;

/// Folders with what graders alone may read.
const OTHER_HALVES: [&str; 2] = ["private", "sealed"];

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
    /// A folder of raw data that belongs to no task, such as the pool of a suite, for scripts to read.
    ///
    /// # Errors
    /// An I/O error if it cannot be read, or if a folder in it has the name of a task's other half
    /// (`private`, `sealed`): it would be shown with everything else.
    pub fn raw_data(path: &Utf8Path) -> io::Result<Self> {
        let mut folders = vec![path.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir_utf8()? {
                let entry = entry?;
                if !entry.file_type()?.is_dir() {
                    continue;
                }
                if OTHER_HALVES.contains(&entry.file_name()) {
                    let what = format!("`{}` is no raw data; move it elsewhere", entry.path());
                    return Err(io::Error::other(what));
                }
                folders.push(entry.into_path());
            }
        }
        Ok(Self::plain(path.to_owned()))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_data_with_a_private_half_below_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pool = Utf8Path::from_path(folder.path()).unwrap();
        fs_err::create_dir_all(pool.join("tables/deep")).unwrap();
        assert_eq!(PublicDir::raw_data(pool).unwrap().path(), pool);
        fs_err::create_dir(pool.join("tables/deep/sealed")).unwrap();
        let refused = PublicDir::raw_data(pool).unwrap_err().to_string();
        assert!(refused.contains("deep/sealed"), "{refused}");
        assert!(PublicDir::raw_data(&pool.join("nothing")).is_err());
    }
}
