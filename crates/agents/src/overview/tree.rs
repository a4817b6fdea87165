//! The folders and files of a public folder: a few names of each, the rest counted.

use super::contents::is_readable;
use super::words::{grouped, one_line, size};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::fmt::Write as _;

/// Characters of a file's name that are shown.
const NAME: usize = 120;

/// How much of a tree is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeLimits {
    /// Names of files, and of folders, in a folder.
    pub(super) names: usize,
    /// The same in folders of many files.
    pub(super) few_names: usize,
    /// More files than this are many.
    pub(super) many: usize,
    /// Folders inside folders.
    pub(super) depth: usize,
    /// Folders that are opened at all.
    pub(super) folders: usize,
}

/// A tree as text, and the files in it.
#[derive(Debug, Default)]
pub(super) struct FolderTree {
    /// A line per folder and file.
    pub(super) text: String,
    /// The files that are shown and can be read, with the names that the text gives them.
    pub(super) files: Vec<(Utf8PathBuf, String)>,
    folders: usize,
}

/// What stands in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EntryKind {
    Folder,
    /// A file of which the overview says more.
    Readable,
    File,
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// An entry of a folder. A name that is not UTF-8 is shown, and never opened.
struct FolderEntry {
    name: String,
    kind: EntryKind,
    is_utf8: bool,
}

impl FolderTree {
    pub(super) fn read(root: &Utf8Path, limits: TreeLimits) -> Self {
        let mut tree = Self::default();
        tree.folder(root, "", 0, limits);
        tree
    }

    fn folder(&mut self, path: &Utf8Path, prefix: &str, depth: usize, limits: TreeLimits) {
        let margin = "  ".repeat(depth);
        self.folders += 1;
        if depth > limits.depth || self.folders > limits.folders {
            let _ = writeln!(self.text, "{margin}(not listed)");
            return;
        }
        let Ok(mut entries) = entries(path) else {
            let _ = writeln!(self.text, "{margin}(cannot be read)");
            return;
        };
        // What says more comes first, so that a table is never hidden behind pictures.
        entries.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        let first_file = entries.partition_point(|entry| entry.kind == EntryKind::Folder);
        let (folders, files) = entries.split_at(first_file);
        let shown = if files.len() > limits.many { limits.few_names } else { limits.names };
        for folder in folders.iter().take(limits.names) {
            let name = one_line(&folder.name, NAME);
            let _ = writeln!(self.text, "{margin}{name}/");
            if folder.is_utf8 {
                let inner = format!("{prefix}{name}/");
                self.folder(&path.join(&folder.name), &inner, depth + 1, limits);
            }
        }
        self.rest(folders.len(), limits.names, "folders", &margin);
        for file in files.iter().take(shown) {
            let name = one_line(&file.name, NAME);
            let path = path.join(&file.name);
            let note = match file.kind {
                EntryKind::Link => "a link, not followed".to_owned(),
                EntryKind::Other => "not a file".to_owned(),
                _ if !file.is_utf8 => "a name that is not UTF-8".to_owned(),
                _ => match fs::symlink_metadata(&path) {
                    Ok(facts) => size(facts.len()),
                    Err(_) => "cannot be read".to_owned(),
                },
            };
            let _ = writeln!(self.text, "{margin}{name} ({note})");
            if file.kind == EntryKind::Readable && file.is_utf8 {
                self.files.push((path, format!("{prefix}{name}")));
            }
        }
        self.rest(files.len(), shown, "files", &margin);
    }

    fn rest(&mut self, all: usize, shown: usize, what: &str, margin: &str) {
        if all > shown {
            let rest = grouped((all - shown) as u64);
            let _ = writeln!(self.text, "{margin}… {rest} more {what}");
        }
    }
}

fn entries(path: &Utf8Path) -> std::io::Result<Vec<FolderEntry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_utf8 = name.to_str().is_some();
        let name = name.to_string_lossy().into_owned();
        // Of the entry itself, not of what a link leads to.
        let kind = match entry.file_type() {
            Ok(kind) if kind.is_dir() => EntryKind::Folder,
            Ok(kind) if kind.is_symlink() => EntryKind::Link,
            Ok(kind) if kind.is_file() && is_readable(&name) => EntryKind::Readable,
            Ok(kind) if kind.is_file() => EntryKind::File,
            _ => EntryKind::Other,
        };
        entries.push(FolderEntry { name, kind, is_utf8 });
    }
    Ok(entries)
}
