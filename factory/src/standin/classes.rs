//! Names of classes that are facts of the competitions: breeds of dogs, species of leaves and birds.

use serde::Deserialize;
use std::sync::LazyLock;

/// Names and where they come from.
const FILE: &str = include_str!("../../standin/classes.toml");

static CLASSES: LazyLock<ClassNames> =
    LazyLock::new(|| toml::from_str(FILE).expect("the embedded file is checked by a test"));

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassNames {
    breeds: NamedClasses,
    leaves: NamedClasses,
    birds: NamedClasses,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedClasses {
    /// Where the names come from; for readers of the file, and a test.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the file"))]
    source: String,
    names: Vec<String>,
}

/// The 120 breeds in the order of their columns.
pub(super) fn breeds() -> Vec<String> {
    CLASSES.breeds.names.clone()
}

/// The 99 species of leaves in the order of their columns.
pub(super) fn leaves() -> Vec<String> {
    CLASSES.leaves.names.clone()
}

/// The 19 species of birds as `CODE,Name`, in the order of their numbers.
pub(super) fn birds() -> Vec<String> {
    CLASSES.birds.names.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_many_as_in_the_competitions_and_sorted() {
        let counts = [breeds(), leaves(), birds()].map(|names| names.len());
        assert_eq!(counts, [120, 99, 19]);
        for names in [breeds(), leaves()] {
            assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        }
        let classes = &*CLASSES;
        for named in [&classes.breeds, &classes.leaves, &classes.birds] {
            assert!(!named.source.is_empty());
        }
    }
}
