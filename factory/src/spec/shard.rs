//! A shard: a part of a corpus that one machine makes, for `factory merge` to put together.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which slots a run makes: those whose number leaves `index` − 1 when divided by `count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    index: u64,
    count: u64,
}

/// Why a text names no shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a shard; write `i/n` with i from 1 to n, such as `1/4`")]
pub struct ShardError(String);

impl Shard {
    /// The number of this shard, from 1.
    pub fn index(self) -> u64 {
        self.index
    }

    /// This shard and its siblings.
    pub fn all(self) -> impl Iterator<Item = Self> {
        (1..=self.count).map(move |index| Self { index, ..self })
    }

    /// How many shards there are.
    pub fn count(self) -> u64 {
        self.count
    }

    /// Whether a slot is made here.
    pub fn holds(self, slot: u64) -> bool {
        slot % self.count == self.index - 1
    }
}

impl FromStr for Shard {
    type Err = ShardError;
    fn from_str(text: &str) -> Result<Self, ShardError> {
        let parse = || {
            let (index, count) = text.split_once('/')?;
            let (index, count) = (index.parse().ok()?, count.parse().ok()?);
            (1..=count).contains(&index).then_some(Self { index, count })
        };
        parse().ok_or_else(|| ShardError(text.to_owned()))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = ShardError;
    fn try_from(text: String) -> Result<Self, ShardError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_made_once() {
        for slot in 0..50 {
            let holders = (1..=7).filter(|index| Shard { index: *index, count: 7 }.holds(slot));
            assert_eq!(holders.count(), 1);
        }
    }

    #[test]
    fn nonsense_is_no_shard() {
        assert_eq!("2/3".parse::<Shard>().unwrap().to_string(), "2/3");
        for text in ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/3", "a/b"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
