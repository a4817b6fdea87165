//! The snapshots of submitted models, by content.
//!
//! ```text
//! models/<hash>/     config.json, model.safetensors, and the base's tokenizer; never written again
//! ```

use crate::digest::Digest;
use crate::fault::Fault;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use tasks::files;

/// A folder of snapshots.
#[derive(Debug)]
pub struct ModelStore {
    folder: Utf8PathBuf,
    begun: AtomicU64,
}

/// A snapshot that is what it was when it was taken. Graders get models of this type only, and
/// [`ModelStore::open`] is the only way to one.
#[derive(Debug)]
pub struct SealedModel {
    folder: Utf8PathBuf,
    digest: Digest,
}

impl SealedModel {
    /// The folder of the model, in Hugging Face's form.
    pub fn path(&self) -> &Utf8Path {
        &self.folder
    }

    /// The hash of its content.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// A snapshot that is being written; it is removed unless it is kept.
#[derive(Debug)]
pub(super) struct Building {
    pub(super) folder: Utf8PathBuf,
}

impl Drop for Building {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "an unfinished snapshot could not be removed");
        }
    }
}

impl ModelStore {
    /// The snapshots in `folder`, which is made if there is none. What an ended server left
    /// unfinished is removed.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn open_folder(folder: &Utf8Path) -> Result<Self, Fault> {
        fs::create_dir_all(folder)?;
        for entry in folder.read_dir_utf8()? {
            let entry = entry?;
            if entry.file_name().starts_with('.') {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(Self::of(folder))
    }

    /// The snapshots in `folder`, to read: a server may be at work there.
    pub(crate) fn of(folder: &Utf8Path) -> Self {
        Self { folder: folder.to_owned(), begun: AtomicU64::new(0) }
    }

    /// An empty folder for a snapshot.
    pub(super) fn begin(&self) -> Result<Building, Fault> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let folder = files::temporary_neighbour(&self.folder.join(format!("model.{number}")));
        fs::create_dir(&folder)?;
        Ok(Building { folder })
    }

    /// Keeps a snapshot whose files are on the disk, under the hash of its content.
    pub(super) fn keep(&self, building: &Building) -> Result<Digest, Fault> {
        let (digest, _) = hash_folder(&building.folder)?;
        let folder = self.path(digest);
        // The same content may have been submitted before.
        if !folder.exists() {
            sync(&building.folder)?;
            fs::rename(&building.folder, &folder)?;
            sync(&self.folder)?;
        }
        Ok(digest)
    }

    /// The snapshot of this content.
    ///
    /// # Errors
    /// [`Fault::Snapshot`] if it is not there, or its files are not what they were.
    pub fn open(&self, digest: Digest) -> Result<SealedModel, Fault> {
        let folder = self.path(digest);
        match hash_folder(&folder) {
            Ok((found, _)) if found == digest => Ok(SealedModel { folder, digest }),
            Ok(_) => Err(Fault::Snapshot(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Fault::Snapshot(folder)),
            Err(error) => Err(error.into()),
        }
    }

    /// Bytes of a snapshot.
    pub(super) fn size(&self, digest: Digest) -> Result<u64, Fault> {
        let mut size = 0;
        for entry in self.path(digest).read_dir_utf8()? {
            size += entry?.metadata()?.len();
        }
        Ok(size)
    }

    /// Removes all snapshots but these.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn keep_only(&self, needed: &BTreeSet<Digest>) -> Result<(), Fault> {
        for entry in self.folder.read_dir_utf8()? {
            let entry = entry?;
            let digest: Option<Digest> = entry.file_name().parse().ok();
            if digest.is_some_and(|digest| !needed.contains(&digest)) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    fn path(&self, digest: Digest) -> Utf8PathBuf {
        self.folder.join(digest.to_string())
    }
}

fn sync(folder: &Utf8Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// The hash of the names and contents of the files in `folder`, and their size.
fn hash_folder(folder: &Utf8Path) -> io::Result<(Digest, u64)> {
    let mut names = Vec::new();
    for entry in folder.read_dir_utf8()? {
        names.push(entry?.file_name().to_owned());
    }
    names.sort();
    let (mut hasher, mut size) = (blake3::Hasher::new(), 0);
    for name in names {
        let mut file = fs::File::open(folder.join(&name))?;
        let length = file.metadata()?.len();
        // Lengths before texts, so that no two folders have the same bytes.
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
        hasher.update(&length.to_le_bytes());
        hasher.update_reader(&mut file)?;
        size += length;
    }
    Ok((hasher.finalize().into(), size))
}
