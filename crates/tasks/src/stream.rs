//! Named random streams.
//!
//! Every use of randomness has a stream of its own, addressed by a path of names, such as
//! `root(42).child("task-0007").child("labels")`. The path is hashed into the key of a
//! portable `ChaCha` generator, so adding a consumer never shifts the draws of another and
//! neighbouring seeds share nothing (with `seed + index`, seeds 42 and 43 would share almost
//! every item).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::fmt::Write as _;
use std::io::{self, Read as _};

/// An id or a secret that cannot be guessed: 32 hexadecimal digits from the system's generator. Never
/// for draws that a result depends on; those come from a [`Stream`].
///
/// # Errors
/// The system's.
pub fn unguessable() -> io::Result<String> {
    let mut bytes = [0; 16];
    fs_err::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut digits = String::with_capacity(32);
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    Ok(digits)
}

/// An address in the tree of random streams. Cheap to copy; draws nothing itself.
///
/// # Examples
/// ```rust
/// use rand::RngExt as _;
/// use tasks::stream::Stream;
///
/// let labels = Stream::root(42).child("task-0007").child("labels");
/// let noise = Stream::root(42).child("task-0007").child("noise");
/// let first: f64 = labels.rng().random();
/// // A generator always starts at the beginning of its stream, and other streams do not move it.
/// let _: f64 = noise.rng().random();
/// assert_eq!(labels.rng().random::<f64>(), first);
/// assert_ne!(labels.index(0).seed(), labels.index(1).seed());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    key: [u8; 32],
}

impl Stream {
    /// The root of all streams of one run.
    pub fn root(seed: u64) -> Self {
        Self { key: blake3::derive_key("mle-agents random stream v1", &seed.to_le_bytes()) }
    }

    /// The root of all streams that are derived from `secret` and cannot be guessed without it.
    pub fn secret(secret: &[u8]) -> Self {
        Self { key: blake3::derive_key("mle-agents secret stream v1", secret) }
    }

    /// The stream of one named purpose below this one.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        Self { key: *blake3::keyed_hash(&self.key, name.as_bytes()).as_bytes() }
    }

    /// The stream of the `index`-th of several equal purposes below this one.
    #[must_use]
    pub fn index(&self, index: u64) -> Self {
        // Names are UTF-8, so a leading 0xFF keeps indices apart from every name.
        let mut bytes = [0xFF; 9];
        bytes[1..].copy_from_slice(&index.to_le_bytes());
        Self { key: *blake3::keyed_hash(&self.key, &bytes).as_bytes() }
    }

    /// A generator at the start of this stream. Two calls give the same draws.
    pub fn rng(&self) -> ChaCha8Rng {
        ChaCha8Rng::from_seed(self.key)
    }

    /// A 64-bit seed for libraries that take nothing wider.
    pub fn seed(&self) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.key[..8]);
        u64::from_le_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn the_same_path_gives_the_same_draws() {
        let draw = || Stream::root(7).child("labels").index(3).rng().random::<u64>();
        assert_eq!(draw(), draw());
    }

    #[test]
    fn values_are_pinned_across_releases() {
        let mut rng = Stream::root(0).child("a").rng();
        let draws: Vec<u64> = (0..2).map(|_| rng.random()).collect();
        assert_eq!(draws, [13_571_521_936_588_768_546, 3_972_594_181_630_977_752]);
    }

    #[test]
    fn a_secret_is_all_that_its_streams_depend_on() {
        let draw = |secret: &[u8]| Stream::secret(secret).child("a").seed();
        assert_eq!(draw(b"id,y\na,1\n"), draw(b"id,y\na,1\n"));
        assert_ne!(draw(b"id,y\na,1\n"), draw(b"id,y\na,2\n"));
        assert_ne!(draw(&0u64.to_le_bytes()), Stream::root(0).child("a").seed());
    }

    #[test]
    fn neighbouring_seeds_and_siblings_give_unrelated_draws() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..50 {
            for index in 0..50 {
                assert!(seen.insert(Stream::root(seed).index(index).seed()));
            }
        }
        assert_ne!(Stream::root(1).child("a").child("b"), Stream::root(1).child("b").child("a"));
    }
}
