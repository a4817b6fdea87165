//! Folders, copied or linked whole.

use camino::Utf8Path;
use fs_err as fs;
use std::io;

/// Copies a folder and all below it to a place that does not exist yet. Files keep the time of
/// their last change.
///
/// # Errors
/// Any I/O error, naming the file.
pub fn copy(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    each_file(from, to, &alike)
}

/// The same with hard links, which take no room; files are copied where links cannot be made,
/// such as on another disk.
///
/// # Errors
/// Any I/O error, naming the file.
pub fn link(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    each_file(from, to, &|from, to| fs::hard_link(from, to).or_else(|_| alike(from, to)))
}

/// Copies a file together with the time of its last change, which must tell nothing of the copy.
fn alike(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    fs::copy(from, to)?;
    fs::OpenOptions::new().write(true).open(to)?.set_modified(fs::metadata(from)?.modified()?)
}

fn each_file(
    from: &Utf8Path,
    to: &Utf8Path,
    place: &dyn Fn(&Utf8Path, &Utf8Path) -> io::Result<()>,
) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in from.read_dir_utf8()? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            each_file(entry.path(), &target, place)?;
        } else {
            place(entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_below_a_folder_arrives() {
        let desk = tempfile::tempdir().unwrap();
        let desk = Utf8Path::from_path(desk.path()).unwrap();
        fs::create_dir_all(desk.join("from/deep/er")).unwrap();
        fs::write(desk.join("from/deep/er/file"), "text").unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(77);
        let file = fs::OpenOptions::new().write(true).open(desk.join("from/deep/er/file"));
        file.unwrap().set_modified(time).unwrap();
        copy(&desk.join("from"), &desk.join("copied")).unwrap();
        let copied = fs::metadata(desk.join("copied/deep/er/file")).unwrap();
        assert_eq!(copied.modified().unwrap(), time);
        link(&desk.join("from"), &desk.join("linked")).unwrap();
        // What is changed afterwards is changed in links only.
        fs::write(desk.join("from/deep/er/file"), "other").unwrap();
        let read = |name: &str| fs::read_to_string(desk.join(name).join("deep/er/file")).unwrap();
        assert_eq!((read("copied").as_str(), read("linked").as_str()), ("text", "other"));
        assert!(copy(&desk.join("missing"), &desk.join("new")).is_err());
    }
}
