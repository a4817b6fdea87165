//! Addresses of recorded replies.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tasks::task::Task;

/// The address of an episode's turns so far, or of the end after them: a BLAKE3 hash over the
/// episode's conditions and each turn in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; 32]);

/// What is appended to a key. One byte in front of each message keeps the kinds apart.
const TURN: u8 = 0;
const CLOSE: u8 = 1;
const DRAW: u8 = 2;

impl Key {
    /// The key of an episode without turns, under conditions as
    /// [`World::cache_key`](crate::play::World::cache_key) states them.
    pub(super) fn episode(conditions: &str) -> Self {
        Self(blake3::derive_key("mle-agents script cache v1", conditions.as_bytes()))
    }

    /// The key after another turn.
    pub(super) fn turn(self, turn: &str) -> Self {
        self.child(TURN, turn.as_bytes())
    }

    /// The key of the end of an episode with these turns.
    pub(super) fn closing(self) -> Self {
        self.child(CLOSE, &[])
    }

    /// Whether the reply is compared with a real run when it is asked for the `hit`-th time: once
    /// in `one_in` times, never if that is 0. The draw follows from the arguments alone.
    pub(super) fn is_drawn(self, hit: u64, one_in: u64) -> bool {
        let Self(hash) = self.child(DRAW, &hit.to_le_bytes());
        let (first, _) = hash.split_first_chunk().expect("a hash has 32 bytes");
        u64::from_le_bytes(*first).checked_rem(one_in) == Some(0)
    }

    fn child(self, kind: u8, message: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&[kind]).update(message);
        Self(*hasher.finalize().as_bytes())
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&blake3::Hash::from(self.0).to_hex())
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        Ok(Self(blake3::Hash::from_hex(hex).map_err(D::Error::custom)?.into()))
    }
}

/// What episodes on a task depend on, as text: its name, and a hash of its manifest, which has the
/// hash of each of its files, its thresholds and its ceiling. A task without a manifest (of a
/// competition or a bundle) has no hashes; the folder that agents see stands for its files, which
/// must not change while the cache is in use.
pub(crate) fn task_key(task: &Task) -> String {
    let files = task.ours().map_or_else(
        || task.public().path().to_string(),
        |dir| {
            let manifest = serde_json::to_vec(dir.manifest()).expect("it was read from JSON");
            blake3::hash(&manifest).to_hex().to_string()
        },
    );
    format!("{} {files}", task.id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_depends_on_every_turn_their_order_and_their_bounds() {
        let start = Key::episode("a");
        let keys = [
            start,
            Key::episode("b"),
            start.turn(""),
            start.closing(),
            start.turn("x").turn("y"),
            start.turn("y").turn("x"),
            start.turn("xy"),
            start.turn("x").turn("y").closing(),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key), "{index}");
        }
        assert_eq!(Key::episode("a").turn("x"), start.turn("x"));
    }

    #[test]
    fn one_hit_in_fifty_is_drawn_of_one_reply_and_of_many() {
        let key = Key::episode("a");
        let of_one = (0..10_000).filter(|hit| key.is_drawn(*hit, 50)).count();
        let of_many =
            (0..10_000).filter(|n: &u32| key.turn(&n.to_string()).is_drawn(1, 50)).count();
        // 200 are expected, and 14 is the standard deviation.
        for drawn in [of_one, of_many] {
            assert!((140..260).contains(&drawn), "{drawn}");
        }
        assert!((0..100).all(|hit| key.is_drawn(hit, 1) && !key.is_drawn(hit, 0)));
    }
}
