//! What a scene shows.

use super::figure::Figure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A kind of thing that scenes show, by its name in stories.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each variant is the name of a thing")]
pub enum Subject {
    Fish,
    Leaf,
    Flower,
    Butterfly,
    Bird,
    Cup,
    Bottle,
    Van,
    House,
    Mushroom,
    Cell,
    Beetle,
    Tree,
    Shoe,
    Coin,
    Apple,
}

impl Subject {
    /// All subjects, in declaration order.
    pub const ALL: [Self; 16] = [
        Self::Fish,
        Self::Leaf,
        Self::Flower,
        Self::Butterfly,
        Self::Bird,
        Self::Cup,
        Self::Bottle,
        Self::Van,
        Self::House,
        Self::Mushroom,
        Self::Cell,
        Self::Beetle,
        Self::Tree,
        Self::Shoe,
        Self::Coin,
        Self::Apple,
    ];

    /// Subjects that only held-out tasks have, so that they show what training has not shown.
    pub const HELD_OUT: [Self; 4] = [Self::Butterfly, Self::Coin, Self::House, Self::Van];

    /// How it is drawn.
    pub(super) fn figure(self) -> &'static Figure {
        static FIGURES: LazyLock<BTreeMap<Subject, Figure>> = LazyLock::new(|| {
            toml::from_str(include_str!("figures.toml")).expect("tests read the embedded figures")
        });
        FIGURES.get(&self).expect("a test looks up every subject")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_has_a_figure_with_a_side_to_face() {
        for subject in Subject::ALL {
            let outline = &subject.figure().outline;
            assert!(outline.area > 1000.0, "{subject:?} {outline:?}");
            assert!(!subject.figure().grounds.is_empty(), "{subject:?}");
        }
    }
}
