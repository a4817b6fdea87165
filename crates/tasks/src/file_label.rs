//! Labels in the names of training files, as in `images/oak.10482.png`: what stands before the first
//! dot is the row's answer, and the table has no column for it.

/// Whether a label can stand in a file's name: letters, digits, `-`, `_` and inner spaces alone.
///
/// # Examples
/// ```rust
/// use tasks::file_label::is_safe;
///
/// assert!(is_safe("red oak") && is_safe("1"));
/// assert!(!is_safe("no. 1") && !is_safe("and/or") && !is_safe(" oak") && !is_safe(""));
/// ```
pub fn is_safe(label: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || " -_".contains(c);
    !label.is_empty() && label.trim() == label && label.chars().all(fits)
}

/// The name of a file, behind its label.
pub fn labelled(label: &str, name: &str) -> String {
    format!("{label}.{name}")
}

/// The label in the name of a file; `None` if the name has no part between that and its ending.
///
/// # Examples
/// ```rust
/// use tasks::file_label::label_of;
///
/// assert_eq!(label_of("images/oak.10482.png"), Some("oak"));
/// assert_eq!(label_of("images/10482.png"), None);
/// ```
pub fn label_of(path: &str) -> Option<&str> {
    let (label, rest) = file_name(path).split_once('.')?;
    (!label.is_empty() && rest.contains('.')).then_some(label)
}

/// The labels in the names of files; `None` if there is a file without one, or no file.
pub fn labels_of<'a>(paths: impl IntoIterator<Item = &'a str>) -> Option<Vec<&'a str>> {
    let labels: Option<Vec<&str>> = paths.into_iter().map(label_of).collect();
    labels.filter(|labels| !labels.is_empty())
}

/// A path without the label in the name of its file.
pub fn unlabelled(path: &str) -> String {
    let Some(label) = label_of(path) else { return path.to_owned() };
    let (folder, name) = path.split_at(path.len() - file_name(path).len());
    format!("{folder}{}", &name[label.len() + 1..])
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_read_and_taken_away_as_it_was_put_there() {
        for label in ["oak", "red oak", "0", "bridge_b", "x-1"] {
            assert!(is_safe(label));
            let path = format!("audio/{}.wav", labelled(label, "10482"));
            assert_eq!(label_of(&path), Some(label));
            assert_eq!(unlabelled(&path), "audio/10482.wav");
        }
        assert_eq!(unlabelled("audio/10482.wav"), "audio/10482.wav");
        assert_eq!(unlabelled("a.b/c.wav"), "a.b/c.wav");
    }

    #[test]
    fn all_files_have_a_label_or_none_has() {
        assert_eq!(labels_of(["i/a.1.png", "i/b.2.png"]), Some(vec!["a", "b"]));
        assert_eq!(labels_of(["i/a.1.png", "i/2.png"]), None);
        assert_eq!(labels_of(["0.5", "1.25"]), None);
        assert_eq!(labels_of([]), None);
    }
}
