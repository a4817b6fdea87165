//! Stand-ins for three biological targets: small forests over bits of fingerprints.
//!
//! The published benchmark asks classifiers that were trained on measured activities. Those are
//! pickles, whose loading runs code, so each target here is a forest that is drawn from its name:
//! the same in all suites, a function of the molecule, and of no meaning in biology.

use super::graph::bits;
use super::plan::Plan;
use crate::kind::Scale;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use tasks::stream::Stream;

/// The names of the targets, as the published benchmark has them.
pub(super) const TARGETS: [&str; 3] = ["drd2", "gsk3b", "jnk3"];

const TREES: usize = 24;
const DEPTH: usize = 3;
/// Molecules that bits are chosen from: those that neither all nor hardly any of them have.
const MOLECULES: u64 = 400;
const COMMON: std::ops::Range<f64> = 0.04..0.6;

/// A tree that asks of each branch whether a bit is set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tree {
    /// The bit that each level asks for.
    bits: Vec<u32>,
    /// The value of each path; a level whose bit is set adds 1, 2, 4 to its number.
    leaves: Vec<f64>,
}

/// A stand-in for a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surrogate {
    trees: Vec<Tree>,
}

static ALL: LazyLock<BTreeMap<&'static str, Surrogate>> = LazyLock::new(|| {
    let stream = Stream::root(0).child("chemistry").child("surrogates");
    let molecules = stream.child("molecules");
    let plan = |number| {
        let scale = if number % 2 == 0 { Scale::Tiny } else { Scale::Full };
        Plan::draw(scale, &mut molecules.index(number).rng())
    };
    let sets: Vec<BTreeSet<u32>> =
        (0..MOLECULES).filter_map(plan).map(|plan| bits(&plan.molecule())).collect();
    let share =
        |bit: &u32| sets.iter().filter(|set| set.contains(bit)).count() as f64 / sets.len() as f64;
    let common: Vec<u32> = (0..1024).filter(|bit| COMMON.contains(&share(bit))).collect();
    let draw = |name| (name, Surrogate::draw(&common, &mut stream.child(name).rng()));
    TARGETS.map(draw).into()
});

impl Surrogate {
    /// The stand-in of this name: `drd2`, `gsk3b` or `jnk3`.
    pub fn of(name: &str) -> Option<&'static Self> {
        ALL.get(name)
    }

    fn draw(common: &[u32], rng: &mut ChaCha8Rng) -> Self {
        let tree = |rng: &mut ChaCha8Rng| Tree {
            bits: common.sample(rng, DEPTH).copied().collect(),
            leaves: (0..1 << DEPTH)
                .map(|_| f64::from(rng.random_range(0..=1000)) / 1000.0)
                .collect(),
        };
        Self { trees: (0..TREES).map(|_| tree(rng)).collect() }
    }

    /// The mean of the trees on a fingerprint with these bits, in [0, 1].
    pub fn value(&self, bits: &BTreeSet<u32>) -> f64 {
        let of = |tree: &Tree| {
            let levels = tree.bits.iter().enumerate();
            let path: usize =
                levels.map(|(level, bit)| usize::from(bits.contains(bit)) << level).sum();
            tree.leaves[path]
        };
        self.trees.iter().map(of).sum::<f64>() / self.trees.len() as f64
    }
}
