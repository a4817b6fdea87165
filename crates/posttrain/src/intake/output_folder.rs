//! The agent's output folder, and what lies below it, without trusting anything about it.

use super::names::FileKind;
use crate::fault::Fault;
use crate::refusal::{Refusal, RefusalCode};
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, openat, openat2, statat,
};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use tasks::collect::{self, CollectError};
use tasks::units::ByteSize;

/// Entries of a submitted folder, at most.
const ENTRIES: usize = 1_024;
/// Length of a path, in bytes.
const PATH: usize = 1_024;

/// The folder whose subfolders an agent may submit.
#[derive(Debug)]
pub struct OutputFolder {
    folder: OwnedFd,
    /// The names under which agents know it.
    names: Vec<Utf8PathBuf>,
}

impl OutputFolder {
    /// The folder at `path`. Agents name it by that path, as `output`, and by each of `aliases`,
    /// such as the path that it has in their box.
    ///
    /// # Errors
    /// [`Fault::Io`] if it is not a folder.
    pub fn open(path: &Utf8Path, aliases: &[Utf8PathBuf]) -> Result<Self, Fault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(CWD, path.as_std_path(), flags, Mode::empty());
        let folder = opened.map_err(|errno| {
            std::io::Error::other(format!("failed to open the output folder `{path}`: {errno}"))
        })?;
        let mut names = vec![path.to_owned(), "output".into(), "./output".into()];
        names.extend(aliases.iter().cloned());
        Ok(Self { folder, names })
    }

    /// The submitted folder that an agent calls `path`.
    ///
    /// # Errors
    /// A [`Refusal`] if it is not a folder below this one, or reached through a link.
    pub(super) fn submitted(&self, path: &str) -> Result<SubmittedFolder, Refusal> {
        let inside = self.inside(path)?;
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat2(&self.folder, inside.as_std_path(), flags, Mode::empty(), resolve);
        let folder = opened.map_err(|errno| {
            let (code, what) = match errno {
                Errno::NOENT => (RefusalCode::Missing, "there is no such folder"),
                Errno::LOOP => (RefusalCode::Special, "it is or goes through a link"),
                Errno::NOTDIR => (RefusalCode::Path, "it is not a folder"),
                Errno::XDEV => (RefusalCode::Path, "it is not inside the output folder"),
                _ => (RefusalCode::Path, "it cannot be opened"),
            };
            let path = shown(path);
            let advice = "save the model with `save_pretrained` into a folder of its own below \
                          `output/` and submit that folder";
            Refusal::new(code, format!("`{path}`: {what}; {advice}"))
        })?;
        Ok(SubmittedFolder { folder })
    }

    /// The path below this folder that is meant by `path`; none if it is none.
    pub(crate) fn below(&self, path: &str) -> Option<Utf8PathBuf> {
        self.inside(path).ok()
    }

    /// The folder itself.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.folder
    }

    /// The path below this folder that is meant by `path`.
    fn inside(&self, path: &str) -> Result<Utf8PathBuf, Refusal> {
        let refused = |what: &str| {
            let message = format!(
                "`{}` {what}; submit a folder below `output/`, such as `output/step-100`",
                shown(path)
            );
            Refusal::new(RefusalCode::Path, message)
        };
        if path.is_empty() || path.len() > PATH || path.contains(char::is_control) {
            return Err(refused("is not a path"));
        }
        let given = Utf8Path::new(path);
        let inside = self.names.iter().find_map(|name| given.strip_prefix(name).ok());
        let inside = inside.ok_or_else(|| refused("is not below the output folder"))?;
        let plain = |part: Utf8Component<'_>| matches!(part, Utf8Component::Normal(_));
        if inside.as_str().is_empty() {
            return Err(refused("is the output folder itself"));
        }
        if !inside.components().all(plain) {
            return Err(refused("has `..` in it"));
        }
        Ok(inside.to_owned())
    }
}

/// A text of an agent, short and without what a terminal would obey.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(200).flat_map(char::escape_debug).collect()
}

/// A folder that an agent submitted.
#[derive(Debug)]
pub(super) struct SubmittedFolder {
    folder: OwnedFd,
}

impl SubmittedFolder {
    /// The regular files in it, with what they are; what is no part of a model by name alone.
    ///
    /// # Errors
    /// A [`Refusal`] for anything but regular files and folders, for pickles and for code.
    pub(super) fn list(&self) -> Result<Listing, Refusal> {
        let unreadable = |_: Errno| {
            Refusal::new(RefusalCode::Path, "the folder cannot be listed; submit it anew")
        };
        let mut listing = Listing::default();
        let directory = Dir::read_from(&self.folder).map_err(unreadable)?;
        for entry in directory {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let Ok(name) = name.to_str() else {
                let message = "a file's name is not UTF-8; save the model into a folder of its own";
                return Err(Refusal::new(RefusalCode::Special, message));
            };
            if listing.files.len() + listing.left_out.len() >= ENTRIES {
                let message = format!(
                    "the folder has more than {ENTRIES} entries; save the model into one of its own"
                );
                return Err(Refusal::new(RefusalCode::TooLarge, message));
            }
            let about =
                statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(unreadable)?;
            let kind = match FileType::from_raw_mode(about.st_mode) {
                FileType::RegularFile => FileKind::of(name),
                FileType::Directory => FileKind::Other,
                _ => {
                    let message = format!(
                        "`{}` is a link or another special file; copy files, do not link them",
                        shown(name)
                    );
                    return Err(Refusal::new(RefusalCode::Special, message));
                }
            };
            match kind {
                FileKind::Pickle => {
                    let message = format!(
                        "`{}` is a pickle or another format that is not loaded here: save weights as \
                         safetensors (`save_pretrained(folder, safe_serialization=True)`), and keep \
                         the state of a trainer in another folder",
                        shown(name)
                    );
                    return Err(Refusal::new(RefusalCode::Pickle, message));
                }
                FileKind::Code => {
                    let message = format!(
                        "`{}` is code, and code of a submission is never run: remove it",
                        shown(name)
                    );
                    return Err(Refusal::new(RefusalCode::Code, message));
                }
                FileKind::Other => listing.left_out.push(name.to_owned()),
                _ => {
                    listing.files.insert(name.to_owned(), kind);
                }
            }
        }
        listing.left_out.sort();
        Ok(listing)
    }

    /// Reads a small file whole.
    ///
    /// # Errors
    /// A [`Refusal`] if it is not a plain file of at most `limit`.
    pub(super) fn read(&self, name: &str, limit: ByteSize) -> Result<Vec<u8>, Refusal> {
        let found =
            collect::find(&self.folder, name, limit.bytes()).map_err(|error| refuse(&error))?;
        found.read().map_err(|error| refuse(&error))
    }

    /// Opens a file of weights, and says how large it is.
    ///
    /// # Errors
    /// A [`Refusal`] if it is not a plain file of at most `limit`.
    pub(super) fn open(&self, name: &str, limit: ByteSize) -> Result<(File, u64), Refusal> {
        let found =
            collect::find(&self.folder, name, limit.bytes()).map_err(|error| refuse(&error))?;
        let size = found.size();
        Ok((found.into_file(), size))
    }
}

fn refuse(error: &CollectError) -> Refusal {
    let code = match error {
        CollectError::Missing { .. } => RefusalCode::Missing,
        CollectError::Outside { .. } | CollectError::Unreadable { .. } => RefusalCode::Path,
        CollectError::Link { .. }
        | CollectError::NotAFile { .. }
        | CollectError::HardLinked { .. } => RefusalCode::Special,
        CollectError::TooLarge { .. } => RefusalCode::TooLarge,
    };
    Refusal::new(code, error.to_string())
}

/// What is in a submitted folder.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Files of a model.
    pub(super) files: BTreeMap<String, FileKind>,
    /// Everything else, sorted.
    pub(super) left_out: Vec<String>,
}

impl Listing {
    /// The names of the files of this kind, sorted.
    pub(super) fn of(&self, kind: FileKind) -> impl Iterator<Item = &str> {
        self.files.iter().filter(move |(_, found)| **found == kind).map(|(name, _)| name.as_str())
    }
}
