//! What changed in an agent's code between two snapshots.

use super::snapshots::{CodeSnapshot, CodeSnapshots};
use similar::TextDiff;
use std::collections::BTreeMap;
use std::io;

/// Lines around a change that a diff shows.
const AROUND: usize = 3;

/// A file that differs between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeChange {
    /// Its path.
    pub path: String,
    /// Its text before; none if it was not there, or is no text.
    pub before: Option<String>,
    /// Its text now; none if it is gone, or is no text.
    pub now: Option<String>,
}

impl CodeChange {
    /// The change as a unified diff.
    pub fn diff(&self) -> String {
        let (before, now) = (self.before.as_deref(), self.now.as_deref());
        let name = |side: &str, text: Option<&str>| {
            text.map_or("/dev/null".to_owned(), |_| format!("{side}/{}", self.path))
        };
        let (from, to) = (name("a", before), name("b", now));
        let diff = TextDiff::from_lines(before.unwrap_or_default(), now.unwrap_or_default());
        diff.unified_diff().context_radius(AROUND).header(&from, &to).to_string()
    }
}

/// The files that differ between the snapshot `before`, or nothing, and `now`, by path.
///
/// # Errors
/// An I/O error naming the file whose content is missing.
pub fn changes(
    kept: &CodeSnapshots,
    before: Option<&CodeSnapshot>,
    now: &CodeSnapshot,
) -> io::Result<Vec<CodeChange>> {
    let mut sides = BTreeMap::new();
    for file in before.iter().flat_map(|snapshot| &snapshot.files) {
        sides.entry(&file.path).or_insert((None, None)).0 = Some(file.hash);
    }
    for file in &now.files {
        sides.entry(&file.path).or_insert((None, None)).1 = Some(file.hash);
    }
    let text = |hash: Option<crate::Digest>| hash.map_or(Ok(None), |hash| kept.text(hash));
    let mut all = Vec::new();
    for (path, (before, now)) in sides {
        if before != now {
            let (before, now) = (text(before)?, text(now)?);
            all.push(CodeChange { path: path.clone(), before, now });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use camino::Utf8Path;
    use fs_err as fs;

    #[test]
    fn change_names_what_was_added_changed_and_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let code = folder.join("code");
        fs::create_dir_all(&code).unwrap();
        let kept = CodeSnapshots::new(code.clone(), folder.join("snapshots"), None);
        let write = |name: &str, text: &[u8]| fs::write(code.join(name), text).unwrap();
        write("same.py", b"1\n");
        write("gone.py", b"2\n");
        write("train.py", b"lr = 1\nsteps = 2\n");
        let first = kept.take(super::super::Moment::Submission(1), Vec::new()).unwrap();
        fs::remove_file(code.join("gone.py")).unwrap();
        write("train.py", b"lr = 1\nsteps = 3\n");
        write("data.bin", &[0xff, 0xfe]);
        let second = kept.take(super::super::Moment::Submission(2), Vec::new()).unwrap();
        let all = changes(&kept, Some(&first), &second).unwrap();
        let paths: Vec<&str> = all.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["data.bin", "gone.py", "train.py"]);
        assert_eq!((&all[0].before, &all[0].now), (&None, &None), "no text is shown of bytes");
        let diff = all[2].diff();
        assert!(diff.contains("-steps = 2") && diff.contains("+steps = 3"), "{diff}");
        assert!(all[1].diff().contains("+++ /dev/null"));
        assert_eq!(changes(&kept, None, &first).unwrap().len(), 3);
        let written = fs::read_to_string(folder.join("snapshots/0002.diff")).unwrap();
        assert!(written.contains("+steps = 3") && !written.contains("same.py"), "{written}");
    }
}
