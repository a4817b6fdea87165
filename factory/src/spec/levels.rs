//! The levels of difficulty that a corpus is asked to have.

use serde::{Deserialize, Serialize};
use tasks::rating::Level;

/// The levels that tasks may have; any, if none is named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Level>", into = "Vec<Level>")]
pub struct Levels {
    named: [bool; Level::ALL.len()],
}

impl Levels {
    /// Whether none is named.
    pub fn are_any(&self) -> bool {
        !self.named.contains(&true)
    }

    /// Whether a task of this level may be made.
    pub fn allow(self, level: Level) -> bool {
        self.are_any() || self.named().any(|named| named == level)
    }

    /// The mean of the named levels; `None` if none is named.
    pub fn middle(self) -> Option<f64> {
        let count = self.named().count();
        let sum: u32 = self.named().map(|level| u32::from(level.number())).sum();
        (count > 0).then(|| f64::from(sum) / count as f64)
    }

    /// The named levels, the easiest first.
    fn named(self) -> impl Iterator<Item = Level> {
        Level::ALL.into_iter().zip(self.named).filter_map(|(level, named)| named.then_some(level))
    }
}

impl std::fmt::Display for Levels {
    /// Such as `2, 3`; `any` if none is named.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.are_any() {
            return f.write_str("any");
        }
        let numbers: Vec<String> = self.named().map(|level| level.to_string()).collect();
        f.write_str(&numbers.join(", "))
    }
}

impl From<Vec<Level>> for Levels {
    fn from(levels: Vec<Level>) -> Self {
        Self { named: Level::ALL.map(|level| levels.contains(&level)) }
    }
}

impl From<Levels> for Vec<Level> {
    fn from(levels: Levels) -> Self {
        levels.named().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_levels_alone_are_allowed_and_none_names_all() {
        let any = Levels::default();
        assert!(any.are_any() && Level::ALL.iter().all(|level| any.allow(*level)));
        assert_eq!((any.middle(), any.to_string()), (None, "any".to_owned()));

        let [_, second, third, ..] = Level::ALL;
        let some = Levels::from(vec![third, second, third]);
        let allowed: Vec<u8> =
            Level::ALL.iter().filter(|level| some.allow(**level)).map(|one| one.number()).collect();
        assert_eq!(allowed, [2, 3]);
        assert_eq!((some.middle(), some.to_string()), (Some(2.5), "2, 3".to_owned()));
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(text, "[2,3]");
        assert_eq!(serde_json::from_str::<Levels>(&text).unwrap(), some);
        assert!(serde_json::from_str::<Levels>("[6]").is_err());
    }
}
