//! The line by which the text of a corpus is found in data that models were trained on.

use std::fmt;
use tasks::task::TaskDir;

/// A canary: a line with a number that occurs nowhere else. The same corpus has the same one in every
/// export.
#[derive(Debug)]
pub(super) struct Canary(String);

impl Canary {
    /// That of a corpus with these tasks, which follows from their names and files.
    pub(super) fn of(tasks: &[TaskDir]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"canary");
        for task in tasks {
            hasher.update(task.id().as_str().as_bytes());
            for hash in task.manifest().hashes.values() {
                hasher.update(hash.as_bytes());
            }
        }
        let hex = hasher.finalize().to_hex();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32]];
        Self(parts.join("-"))
    }

    /// `text` with the line in the place of `{canary}`, as the bytes of a file.
    pub(super) fn mark(&self, text: &str) -> Vec<u8> {
        text.replace("{canary}", &self.to_string()).into_bytes()
    }
}

impl fmt::Display for Canary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number) = self;
        write!(f, "canary GUID {number}: keep these answers out of data for pretraining")
    }
}
