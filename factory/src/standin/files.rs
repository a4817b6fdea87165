//! The two halves of a prepared competition, in memory.

use camino::Utf8Path;
use fs_err as fs;
use std::collections::BTreeMap;
use std::io;

/// Files by their path within a half.
type Half = BTreeMap<String, Vec<u8>>;

/// What `prepared/public` and `prepared/private` of a competition hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PreparedFiles {
    public: Half,
    private: Half,
}

impl PreparedFiles {
    /// Adds a file that agents see.
    pub(super) fn public(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        let before = self.public.insert(path.into(), bytes.into());
        assert!(before.is_none(), "a path is given once");
    }

    /// Adds a file of answers.
    pub(super) fn private(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        let before = self.private.insert(path.into(), bytes.into());
        assert!(before.is_none(), "a path is given once");
    }

    /// Writes all files below `folder`, which must exist.
    ///
    /// # Errors
    /// Any I/O error, naming the file.
    pub(super) fn write(&self, folder: &Utf8Path) -> io::Result<()> {
        for (half, files) in [("public", &self.public), ("private", &self.private)] {
            for (path, bytes) in files {
                let path = folder.join("prepared").join(half).join(path);
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent)?;
                }
                fs::write(&path, bytes)?;
            }
        }
        Ok(())
    }
}
