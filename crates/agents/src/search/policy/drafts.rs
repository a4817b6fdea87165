//! Best-of-n: drafts only.

use super::{Policy, Progress};
use crate::run::node::Decision;
use crate::search::tree::Tree;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Always a draft; the best of them counts. The baseline of the other policies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drafts {}

impl Policy for Drafts {
    fn next(&self, _: &Tree, _: Progress, _: &mut ChaCha8Rng) -> Option<Decision> {
        Some(Decision::draft())
    }
}
