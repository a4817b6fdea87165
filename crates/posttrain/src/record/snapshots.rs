//! The agent's code as it was at each submission and at the end, by content.
//!
//! ```text
//! snapshots/0003.json          {version, submission, hash, files: [{path, hash, bytes}], left_out, log_bytes, stages}
//! snapshots/0003.diff          what changed since the snapshot before
//! snapshots/end.json, .diff    the same at the end, with the number that the next submission would have had
//! snapshots/files/<hash>       the content of a file; equal contents are kept once
//! ```
//!
//! The folder belongs to the agent, so nothing of it is trusted: no link is followed, and there are
//! bounds on what is read. What is beyond them is named, and not kept.

use super::changes::changes;
use super::trainer::TrainerFacts;
use crate::digest::Digest;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use serde::{Deserialize, Serialize};
use std::io;
use tasks::{collect, files};

/// The version of lists of files.
const VERSION: u32 = 1;
/// Bytes of one file.
const FILE: u64 = 4 << 20;
/// Bytes of all files together.
const TOTAL: u64 = 64 << 20;
/// Files and folders that are looked at.
const ENTRIES: usize = 10_000;
/// Folders inside folders.
const DEPTH: usize = 16;
/// Paths that are named as left out.
const NAMED: usize = 64;
/// Bytes of a written diff.
const DIFF: usize = 1 << 20;
/// The name of what is taken at the end.
const END: &str = "end";

/// Where an agent's code is, and where it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSnapshots {
    code: Utf8PathBuf,
    folder: Utf8PathBuf,
    log: Option<Utf8PathBuf>,
}

/// When a snapshot is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// At the submission of this number.
    Submission(u64),
    /// At the end, after this many submissions.
    End(u64),
}

/// What is kept of one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeSnapshot {
    version: u32,
    /// The submission that it was taken at; at the end, the number that the next one would have had.
    pub submission: u64,
    /// The hash of the list of files: equal ones have the same code.
    pub hash: Digest,
    /// The files, by path.
    pub files: Vec<CodeFile>,
    /// What was not kept: links, large files, what is beyond the bounds. At most 64 are named.
    pub left_out: Vec<String>,
    /// Bytes that the agent had printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
    /// The stages that led to the submitted model, the last one first, as the files beside it tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<TrainerFacts>,
}

/// A file of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeFile {
    /// Its path in the agent's folder.
    pub path: String,
    /// The hash of its content.
    pub hash: Digest,
    /// Its size.
    pub bytes: u64,
}

impl CodeSnapshots {
    /// Of the agent's folder `code`, in `folder`. `log` is the file with what the agent prints.
    pub fn new(code: Utf8PathBuf, folder: Utf8PathBuf, log: Option<Utf8PathBuf>) -> Self {
        Self { code, folder, log }
    }

    /// Keeps the code as it is now, and beside it what files tell of the submitted model's stages.
    ///
    /// # Errors
    /// An I/O error of reading the agent's folder or of writing ours.
    pub fn take(&self, moment: Moment, stages: Vec<TrainerFacts>) -> io::Result<CodeSnapshot> {
        let store = self.folder.join("files");
        fs::create_dir_all(&store)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let top = openat(CWD, self.code.as_std_path(), flags, Mode::empty())?;
        let mut taking =
            Taking { store, files: Vec::new(), left_out: Vec::new(), seen: 0, bytes: 0 };
        taking.take_folder(&top, Utf8Path::new(""), 0)?;
        let Taking { mut files, mut left_out, .. } = taking;
        files.sort();
        left_out.sort();
        left_out.truncate(NAMED);
        let hash = Digest::of(&serde_json::to_vec(&files)?);
        let (submission, name) = match moment {
            Moment::Submission(number) => (number, number_name(number)),
            Moment::End(count) => (count + 1, END.to_owned()),
        };
        let log_bytes = self.log.as_ref().and_then(|log| Some(fs::metadata(log).ok()?.len()));
        let version = VERSION;
        let snapshot =
            CodeSnapshot { version, submission, hash, files, left_out, log_bytes, stages };
        let before = (1..submission).rev().find_map(|number| self.read_one(&number_name(number)));
        let mut diff = String::new();
        for change in changes(self, before.as_ref(), &snapshot)? {
            diff += &change.diff();
            if diff.len() > DIFF {
                diff.truncate(diff.floor_char_boundary(DIFF));
                diff += "\n[cut]\n";
                break;
            }
        }
        files::write_atomic(&self.folder.join(format!("{name}.diff")), diff.as_bytes())?;
        files::write_json(&self.folder.join(format!("{name}.json")), &snapshot)?;
        Ok(snapshot)
    }

    /// The snapshot of a moment, if it was taken.
    pub fn read(&self, moment: Moment) -> Option<CodeSnapshot> {
        match moment {
            Moment::Submission(number) => self.read_one(&number_name(number)),
            Moment::End(_) => self.read_one(END),
        }
    }

    fn read_one(&self, name: &str) -> Option<CodeSnapshot> {
        serde_json::from_slice(&fs::read(self.folder.join(format!("{name}.json"))).ok()?).ok()
    }

    /// The content of a file that is kept; none if it is no text.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn text(&self, hash: Digest) -> io::Result<Option<String>> {
        let bytes = fs::read(self.folder.join("files").join(hash.to_string()))?;
        Ok(String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')))
    }
}

fn number_name(number: u64) -> String {
    format!("{number:04}")
}

/// A snapshot that is being taken.
struct Taking {
    store: Utf8PathBuf,
    files: Vec<CodeFile>,
    left_out: Vec<String>,
    seen: usize,
    bytes: u64,
}

impl Taking {
    fn take_folder(&mut self, folder: &OwnedFd, path: &Utf8Path, depth: usize) -> io::Result<()> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let Ok(name) = name.to_str() else {
                self.left_out.push(path.join(name.to_string_lossy().as_ref()).into_string());
                continue;
            };
            let inside = path.join(name);
            self.seen += 1;
            // Gone meanwhile, or too much.
            let about = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
            let kind = about.ok().map(|about| FileType::from_raw_mode(about.st_mode));
            let is_kept = match kind {
                _ if self.seen > ENTRIES => false,
                Some(FileType::Directory) if depth < DEPTH => {
                    let flags =
                        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    match openat(folder, name, flags, Mode::empty()) {
                        Ok(below) => {
                            self.take_folder(&below, &inside, depth + 1)?;
                            true
                        }
                        Err(_) => false,
                    }
                }
                Some(FileType::RegularFile) => self.take_file(folder, name, &inside)?,
                _ => false,
            };
            if !is_kept && self.left_out.len() < NAMED {
                self.left_out.push(inside.into_string());
            }
        }
        Ok(())
    }

    /// Keeps a file, unless it is too large or not a plain one.
    fn take_file(&mut self, folder: &OwnedFd, name: &str, path: &Utf8Path) -> io::Result<bool> {
        let limit = FILE.min(TOTAL - self.bytes);
        let Ok(found) = collect::find(folder, name, limit) else { return Ok(false) };
        let Ok(content) = found.read() else { return Ok(false) };
        let hash = Digest::of(&content);
        let kept = self.store.join(hash.to_string());
        if !kept.exists() {
            files::write_atomic(&kept, &content)?;
        }
        let bytes = content.len() as u64;
        self.bytes += bytes;
        self.files.push(CodeFile { path: path.as_str().to_owned(), hash, bytes });
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_code_has_one_hash_and_nothing_outside_is_followed() {
        let kept = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(kept.path()).unwrap();
        let code = folder.join("code");
        fs::create_dir_all(code.join("deep/er")).unwrap();
        fs::write(code.join("train.py"), "print(1)").unwrap();
        fs::write(code.join("deep/er/a.py"), "print(2)").unwrap();
        fs::write(folder.join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(folder.join("secret"), code.join("link")).unwrap();
        std::os::unix::fs::symlink("/", code.join("root")).unwrap();
        fs::File::create(code.join("huge")).unwrap().set_len(FILE + 1).unwrap();
        let snapshots = CodeSnapshots::new(code.clone(), folder.join("snapshots"), None);
        let take = |number| snapshots.take(Moment::Submission(number), Vec::new()).unwrap();
        let first = take(1);
        let paths: Vec<&str> = first.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["deep/er/a.py", "train.py"]);
        assert_eq!(first.left_out, ["huge", "link", "root"]);
        assert_eq!(take(2).hash, first.hash);
        fs::write(code.join("train.py"), "print(3)").unwrap();
        assert_ne!(take(3).hash, first.hash);
        let contents = fs::read_dir(folder.join("snapshots/files")).unwrap().count();
        assert_eq!(contents, 3, "each content once");
        let text = fs::read(folder.join("snapshots/0001.json")).unwrap();
        assert_eq!(serde_json::from_slice::<CodeSnapshot>(&text).unwrap(), first);
        assert_eq!(snapshots.read(Moment::Submission(1)), Some(first));
        assert_eq!(snapshots.read(Moment::End(3)), None);
    }
}
