//! One panel of the paper's figure 3: shares beside the paper's.

use crate::numeric::intervals::{Interval, chance_divergence, divergence, wilson};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The distance up to which a corpus counts as distributed like the paper's.
pub const NEAR: f64 = 0.05;

/// The share of one kind of task, in the corpus and in the paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Name of the kind, such as `image`.
    pub name: String,
    /// Tasks of this kind.
    pub count: usize,
    /// Their share, in [0, 1].
    pub share: f64,
    /// 95 % interval of the share (Wilson).
    pub interval: Interval,
    /// The share that the corpus was asked to have.
    pub asked: f64,
    /// The share in the paper, in [0, 1].
    pub paper: f64,
}

/// A distribution beside the paper's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Heading of the figure: what is counted.
    pub title: String,
    /// In the paper's order.
    pub shares: Vec<Share>,
    /// Jensen-Shannon divergence from the paper's distribution, in bits.
    pub divergence: f64,
    /// Jensen-Shannon distance: the square root of the divergence.
    pub distance: f64,
    /// The distance at which a corpus of this size would lie whose tasks were drawn at random
    /// from the paper's distribution: the root of the expected divergence.
    pub chance: f64,
    /// Whether the distance is above [`NEAR`].
    pub far: bool,
}

impl Figure {
    /// Compares counts with the paper's percentages; both by the paper's names.
    pub fn new(
        title: &str,
        paper: &[(&str, f64)],
        counts: &BTreeMap<String, usize>,
        asked: &BTreeMap<String, f64>,
    ) -> Self {
        let total = counts.values().sum::<usize>();
        let shares: Vec<Share> = paper
            .iter()
            .map(|(name, percent)| {
                let count = counts.get(*name).copied().unwrap_or(0);
                Share {
                    name: (*name).to_owned(),
                    count,
                    share: count as f64 / total.max(1) as f64,
                    interval: wilson(count, total),
                    asked: asked.get(*name).copied().unwrap_or(0.0),
                    paper: percent / 100.0,
                }
            })
            .collect();
        let ours: Vec<f64> = shares.iter().map(|share| share.share).collect();
        let theirs: Vec<f64> = shares.iter().map(|share| share.paper).collect();
        let divergence = divergence(&ours, &theirs);
        let distance = divergence.sqrt();
        let chance = chance_divergence(paper.len(), total).sqrt();
        let far = distance > NEAR;
        Self { title: title.to_owned(), shares, divergence, distance, chance, far }
    }
}

#[cfg(test)]
mod tests {
    use super::super::paper::{FORMULATIONS, OTHER};
    use super::*;

    fn counts(list: &[(&str, usize)]) -> BTreeMap<String, usize> {
        list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn the_papers_own_shares_are_near_and_others_far() {
        let like = [("classification", 562), ("regression", 145), ("ranking", 29), (OTHER, 264)];
        let figure = Figure::new("", &FORMULATIONS, &counts(&like), &BTreeMap::new());
        assert!(figure.distance < 1e-7 && !figure.far);
        assert!(figure.shares.iter().all(|share| share.interval.holds(share.paper)));
        let figure = Figure::new("", &FORMULATIONS, &counts(&like[..1]), &BTreeMap::new());
        assert!(figure.far);
        assert_eq!(figure.shares[3].count, 0);
    }
}
