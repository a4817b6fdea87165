//! A task of the factory: a folder with a manifest.

use super::error::TaskError;
use super::id::TaskId;
use super::kind::{self, TaskFolderKind};
use super::manifest::{MANIFEST_VERSION, Manifest};
use super::public::{PrivateDir, PublicDir};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::io::ErrorKind;

/// One task on disk.
#[derive(Debug, Clone)]
pub struct TaskDir {
    path: Utf8PathBuf,
    manifest: Manifest,
}

impl TaskDir {
    /// Opens the task in `path` and reads its manifest.
    ///
    /// # Errors
    /// [`TaskError`] if the folder is of another kind, or the manifest is malformed, of another
    /// version or does not belong to this folder.
    pub fn open(path: &Utf8Path) -> Result<Self, TaskError> {
        let kind = kind::detect(path)?;
        if kind != TaskFolderKind::Ours {
            return Err(TaskError::OtherKind { path: path.to_owned(), kind });
        }
        let manifest = path.join(kind::MANIFEST);
        let text = fs::read(&manifest)?;
        let parse = |source| TaskError::Json { path: manifest.clone(), source };
        // The version is looked at first: a manifest of another version may differ anywhere.
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(parse)?;
        let found = value.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if found != u64::from(MANIFEST_VERSION) {
            return Err(TaskError::Version { path: manifest, found });
        }
        let manifest: Manifest = serde_json::from_value(value).map_err(parse)?;
        if path.file_name().is_some_and(|name| name != manifest.id.as_str()) {
            return Err(TaskError::NameMismatch { folder: path.to_owned(), id: manifest.id });
        }
        Ok(Self { path: path.to_owned(), manifest })
    }

    /// Compares every file that the manifest lists with its hash (BLAKE3).
    ///
    /// # Errors
    /// [`TaskError::Damaged`] naming the first file that is missing or differs.
    pub fn check_files(&self) -> Result<(), TaskError> {
        for (file, expected) in &self.manifest.hashes {
            let fault = match fs::read(self.path.join(file)) {
                Ok(bytes) if blake3::hash(&bytes).to_hex().as_str() == expected => continue,
                Ok(_) => "is not what the manifest says",
                Err(error) if error.kind() == ErrorKind::NotFound => "is missing",
                Err(error) => return Err(error.into()),
            };
            let task = self.manifest.id.clone();
            return Err(TaskError::Damaged { task, file: file.clone(), fault });
        }
        Ok(())
    }

    /// The folder that the task lies in.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// The contents of the task's `task.json`.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Name of the task, as in its manifest.
    pub fn id(&self) -> &TaskId {
        &self.manifest.id
    }

    /// The half an agent sees.
    pub fn public(&self) -> PublicDir {
        PublicDir::plain(self.path.join(kind::PUBLIC))
    }

    /// The half only graders read.
    pub fn private(&self) -> PrivateDir {
        PrivateDir::new(self.path.join(kind::PRIVATE))
    }
}
