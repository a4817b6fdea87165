//! A public folder without the files that an agent must not see.

use super::error::TaskError;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use tempfile::TempDir;

/// A folder of hard links (or copies, where links are not possible) to the files that are shown.
/// It lies in the system's temporary folder, where no script can look, is readable through a
/// sandbox only, and is removed with this value.
///
/// A withheld file stays withheld under other names: links to it and files of the same content
/// are left out too.
#[derive(Debug)]
pub struct View {
    folder: TempDir,
    path: Utf8PathBuf,
    withheld: Vec<Utf8PathBuf>,
}

/// A file of the original folder.
struct File {
    /// Relative to the folder.
    name: Utf8PathBuf,
    /// Where its bytes really are.
    source: Utf8PathBuf,
    /// Device number and inode number.
    inode: (u64, u64),
    size: u64,
}

impl View {
    /// Shows what is in `original` but the files that `hidden` picks by their relative paths.
    ///
    /// # Errors
    /// [`TaskError::Io`], and [`TaskError::Odd`] for anything that is no file or folder.
    pub(super) fn without(
        original: &Utf8Path,
        hidden: impl Fn(&Utf8Path) -> bool,
    ) -> Result<Self, TaskError> {
        let mut folders = Vec::new();
        let mut files = Vec::new();
        list(original, Utf8Path::new(""), &hidden, &mut folders, &mut files)?;
        let (mut secret, open): (Vec<File>, Vec<File>) =
            files.into_iter().partition(|file| hidden(&file.name));
        let mut shown = Vec::new();
        for file in open {
            match secret
                .iter()
                .map(|other| file.same(other))
                .find(|same| !matches!(same, Ok(false)))
            {
                None => shown.push(file),
                Some(same) => {
                    same?;
                    secret.push(file);
                }
            }
        }

        let folder = tempfile::Builder::new().prefix("public-").tempdir()?;
        // The folder above is for its owner alone; this one is what a sandbox mounts.
        let path = Utf8Path::from_path(folder.path())
            .ok_or_else(|| io::Error::other("the temporary folder's name is not UTF-8"))?
            .join("public");
        for name in std::iter::once(Utf8PathBuf::new()).chain(folders) {
            let place = path.join(name);
            fs::create_dir(&place)?;
            fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755))?;
        }
        for file in shown {
            let place = path.join(&file.name);
            if fs::hard_link(&file.source, &place).is_err() {
                fs::copy(&file.source, &place)?;
            }
        }
        let mut withheld: Vec<_> = secret.into_iter().map(|file| file.name).collect();
        withheld.sort();
        Ok(Self { folder, path, withheld })
    }

    /// The folder to show.
    pub fn path(&self) -> &Utf8Path {
        debug_assert!(self.path.starts_with(self.folder.path()), "one lies in the other");
        &self.path
    }

    /// What is not shown, relative to the original folder, sorted.
    pub fn withheld(&self) -> &[Utf8PathBuf] {
        &self.withheld
    }
}

impl File {
    /// Whether two names stand for the same bytes. Empty files hold no secret.
    fn same(&self, other: &Self) -> io::Result<bool> {
        if self.inode == other.inode {
            return Ok(true);
        }
        if self.size != other.size || self.size == 0 {
            return Ok(false);
        }
        let (mut left, mut right) = (fs::File::open(&self.source)?, fs::File::open(&other.source)?);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        loop {
            for (file, part) in [(&mut left, &mut ours), (&mut right, &mut theirs)] {
                part.clear();
                file.take(64 * 1024).read_to_end(part)?;
            }
            if ours != theirs {
                return Ok(false);
            }
            if ours.is_empty() {
                return Ok(true);
            }
        }
    }
}

/// Everything below `original`/`inside`, links to files resolved. Hidden folders are not looked
/// into: their files could only be withheld.
fn list(
    original: &Utf8Path,
    inside: &Utf8Path,
    hidden: &impl Fn(&Utf8Path) -> bool,
    folders: &mut Vec<Utf8PathBuf>,
    files: &mut Vec<File>,
) -> Result<(), TaskError> {
    for entry in original.join(inside).read_dir_utf8()? {
        let entry = entry?;
        let name = inside.join(entry.file_name());
        let kind = entry.file_type()?;
        // Where a link leads, and what is there.
        let source = entry.path().canonicalize_utf8()?;
        let found = fs::metadata(&source)?;
        if found.is_file() {
            let inode = (found.dev(), found.ino());
            files.push(File { name, source, inode, size: found.len() });
        } else if kind.is_dir() {
            if !hidden(&name) {
                folders.push(name.clone());
                list(original, &name, hidden, folders, files)?;
            }
        } else {
            return Err(TaskError::Odd(entry.path().to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_withheld_file_is_withheld_under_every_name() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        fs::create_dir_all(folder.join("deep/.cache")).unwrap();
        for (name, text) in [("answer.csv", "1"), ("deep/copy.txt", "1"), ("train.csv", "2")] {
            fs::write(folder.join(name), text).unwrap();
        }
        fs::write(folder.join("deep/.cache/x"), "3").unwrap();
        fs::write(folder.join("empty"), "").unwrap();
        std::os::unix::fs::symlink("../answer.csv", folder.join("deep/link")).unwrap();
        std::os::unix::fs::symlink("train.csv", folder.join("shown")).unwrap();
        fs::hard_link(folder.join("answer.csv"), folder.join("hard")).unwrap();

        let hidden = |name: &Utf8Path| {
            name == "answer.csv" || name.file_name().is_some_and(|name| name.starts_with('.'))
        };
        let view = View::without(folder, hidden).unwrap();
        assert_eq!(view.withheld(), ["answer.csv", "deep/copy.txt", "deep/link", "hard"]);
        let path = view.path().to_owned();
        assert_eq!(fs::read_to_string(path.join("shown")).unwrap(), "2");
        assert!(path.join("shown").is_file() && !path.join("shown").is_symlink());
        let names = |at: Utf8PathBuf| {
            let mut names: Vec<String> = at
                .read_dir_utf8()
                .unwrap()
                .map(|entry| entry.unwrap().file_name().to_owned())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(path.clone()), ["deep", "empty", "shown", "train.csv"]);
        assert!(names(path.join("deep")).is_empty());
        drop(view);
        assert!(!path.exists());
    }

    #[test]
    fn links_to_folders_and_pipes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        std::os::unix::fs::symlink("/", folder.join("all")).unwrap();
        assert!(matches!(View::without(folder, |_| false), Err(TaskError::Odd(_))));
    }
}
