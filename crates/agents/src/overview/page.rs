//! The overview as a whole, in its long and its short form.

use super::contents::FilePreview;
use super::tree::{FolderTree, TreeLimits};
use camino::Utf8Path;
use std::fmt::Write as _;

/// Most characters of an overview.
const LIMIT: usize = 6000;

/// What stands at the end of one that had to be cut.
const CUT: &str = "\n(the overview is cut here)\n";

const LONG: TreeLimits = TreeLimits { names: 8, few_names: 4, many: 30, depth: 4, folders: 64 };
const SHORT: TreeLimits = TreeLimits { names: 4, few_names: 2, many: 30, depth: 2, folders: 16 };

/// What the public files of a task are.
#[derive(Debug, Clone, Copy)]
pub struct DataOverview;

impl DataOverview {
    /// The overview of a public folder, at most 6,000 characters: the tree of its folders with a
    /// few names of each; the columns of tables with kind, range, share of missing values and
    /// three values; the keys of JSON files; the members of ZIP files; short texts. The same files
    /// give the same text. No link is followed, and what cannot be read is said to be so.
    ///
    /// # Examples
    /// ```rust
    /// use agents::overview::DataOverview;
    /// use camino::Utf8Path;
    ///
    /// let folder = tempfile::tempdir()?;
    /// std::fs::write(folder.path().join("train.csv"), "id,fare\n1,2.5\n2,\n")?;
    /// let text = DataOverview::of(Utf8Path::from_path(folder.path()).expect("UTF-8"));
    /// assert!(text.contains("- fare: numbers 2.5 to 2.5, 50.0 % missing; such as 2.5"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn of(public: &Utf8Path) -> String {
        let long = write(public, LONG, |preview| preview.full);
        if long.chars().count() <= LIMIT {
            return long;
        }
        let short = write(public, SHORT, |preview| preview.brief);
        if short.chars().count() <= LIMIT {
            return short;
        }
        short.chars().take(LIMIT - CUT.len()).chain(CUT.chars()).collect()
    }
}

fn write(public: &Utf8Path, limits: TreeLimits, length: fn(FilePreview) -> String) -> String {
    let tree = FolderTree::read(public, limits);
    let mut text = tree.text;
    for (path, name) in tree.files {
        if let Some(preview) = FilePreview::read(&path) {
            let _ = write!(text, "\n{name}: {}\n", length(preview).trim_end());
        }
    }
    text
}
