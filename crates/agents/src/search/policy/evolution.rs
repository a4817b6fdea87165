//! AIRA's evolutionary search.
//!
//! Toledo et al. 2025, arXiv 2507.02554.

use super::population::{Island, Population};
use super::repairs::RepairLimits;
use super::{Policy, Progress, setting};
use crate::run::node::{Decision, NodeId};
use crate::search::tree::Tree;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Generations of five: drafts at first, then children of parents that are drawn by their gain.
///
/// The next decision is the first of these that applies:
///
/// 1. A buggy node without a child is repaired, the earliest first, until a repair works or a
///    limit is reached. A repair that the player refused ends the series.
/// 2. After `generations` generations there is none.
/// 3. Generation 0 consists of `individuals` drafts.
/// 4. Later, parents come from the population of all generations before. From generation
///    `crossover_from` on, with `crossover_probability`, two parents are combined; else one is
///    improved. First an island is drawn by its mean gain, then parents on it by their gain,
///    without replacement: with weights `exp(gain / temperature)`, where gains are on a scale from
///    0 to 1 over all good individuals of these generations. An island takes part if it has enough
///    parents. If none has two, one is improved; if none has any, a draft is made.
///
/// An individual is a decision that is no repair. It counts with its good node, or with that of
/// its repairs; without one it is discarded. Those of generation 0 join their island; later ones
/// do if their gain is at least the mean of the island, or if it is empty, one after the other.
/// An island of more than `capacity` loses its worst individual, the earliest of equals.
///
/// A draft belongs to island `n mod islands`, where `n` is the number of individuals before it;
/// every other individual belongs to the island of its parents.
///
/// **Several workers.** An individual that is still being worked on takes its place in its
/// generation. The next generation begins without it; it joins the population, in its place, as
/// soon as it is complete. After the last generation there may still be repairs to make while an
/// individual is being worked on.
///
/// **What differs from the code of its authors.** There, a discarded individual shifts the islands
/// of those after it; a search that was resumed has empty islands; a crossover ends the search
/// with an error if no island has two individuals; drafts are dealt out to islands by chance. With
/// several islands it also resets half of them now and then (by its order of islands the better
/// half), which is left out here: with one island, the default, there is nothing to reset.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Evolution {
    /// Generations, the first included, at least 1. Default: 100.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub generations: usize,
    /// Individuals of a generation, at least 1. Default: 5.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub individuals: usize,
    /// Islands: parts of the population that do not mix, at least 1. Default: 1.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub islands: usize,
    /// Most individuals on an island, at least 1. Default: 500.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub capacity: usize,
    /// Probability of a crossover. Default: 0.5.
    #[serde(deserialize_with = "setting::share")]
    pub crossover_probability: f64,
    /// First generation, counted from 0, that has crossovers. Default: 2.
    pub crossover_from: usize,
    /// Temperature of drawing, above 0: the lower, the more often the best is drawn. Default: 1.
    #[serde(deserialize_with = "setting::positive")]
    pub temperature: f64,
    /// Most repairs in a row. Default: 10.
    pub debug_depth: u32,
    /// Wall time of the runs of one series of repairs, in seconds, above 0. Default: 6 hours.
    #[serde(deserialize_with = "setting::positive")]
    pub debug_seconds: f64,
}

impl Default for Evolution {
    fn default() -> Self {
        Self {
            generations: 100,
            individuals: 5,
            islands: 1,
            capacity: 500,
            crossover_probability: 0.5,
            crossover_from: 2,
            temperature: 1.0,
            debug_depth: 10,
            debug_seconds: 21_600.0,
        }
    }
}

impl Policy for Evolution {
    fn next(&self, tree: &Tree, _: Progress, draws: &mut ChaCha8Rng) -> Option<Decision> {
        let limits = RepairLimits { depth: self.debug_depth, seconds: self.debug_seconds };
        if let Some(buggy) = limits.first_open(tree) {
            return Some(Decision::debug(buggy));
        }
        let mut population = Population::new(self.islands, self.capacity);
        let complete = population.extend(tree, self.individuals);
        match complete {
            0 => Some(Decision::draft()),
            generation if generation < self.generations => {
                let crossover = draws.random::<f64>() < self.crossover_probability;
                let crossover = crossover && generation >= self.crossover_from;
                Some(self.child(&population, crossover, draws))
            }
            _ => None,
        }
    }
}

impl Evolution {
    /// A child of parents that are drawn from `population`; a draft if there are none.
    fn child(&self, population: &Population, crossover: bool, draws: &mut ChaCha8Rng) -> Decision {
        let with = |parents: usize| -> Vec<&Island> {
            population.islands().filter(|island| island.len() >= parents).collect()
        };
        let pairs = if crossover { with(2) } else { Vec::new() };
        if !pairs.is_empty() {
            let mut members = self.island(population, &pairs, draws).members().to_vec();
            let one = members.remove(self.member(population, &members, draws)).0;
            let other = members[self.member(population, &members, draws)].0;
            return Decision::crossover(one, other);
        }
        let singles = with(1);
        if singles.is_empty() {
            return Decision::draft();
        }
        let members = self.island(population, &singles, draws).members();
        Decision::improve(members[self.member(population, members, draws)].0)
    }

    /// One of `islands`, drawn by its mean gain.
    fn island<'a>(
        &self,
        population: &Population,
        islands: &[&'a Island],
        draws: &mut ChaCha8Rng,
    ) -> &'a Island {
        let means = islands.iter().map(|island| island.mean());
        islands[self.draw(population, means, draws)]
    }

    /// The place of one of `members`, drawn by its gain.
    fn member(
        &self,
        population: &Population,
        members: &[(NodeId, f64)],
        draws: &mut ChaCha8Rng,
    ) -> usize {
        self.draw(population, members.iter().map(|(_, gain)| *gain), draws)
    }

    /// The place of one of `gains`, of which there is at least one, drawn by softmax.
    fn draw(
        &self,
        population: &Population,
        gains: impl Iterator<Item = f64>,
        draws: &mut ChaCha8Rng,
    ) -> usize {
        let shares: Vec<f64> = gains.map(|gain| population.share(gain)).collect();
        // Relative to the largest, so that at no temperature all weights vanish.
        let largest = shares.iter().copied().fold(0.0, f64::max);
        let weights: Vec<f64> =
            shares.iter().map(|share| ((share - largest) / self.temperature).exp()).collect();
        let mut left = draws.random::<f64>() * weights.iter().sum::<f64>();
        let found = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        found.unwrap_or(weights.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{START, add_buggy, complete, next, play, text};
    use super::*;
    use crate::search::tree::fixture::Became::{self, Buggy, Good, Pending, Refused};
    use crate::search::tree::fixture::add;
    use tasks::metrics::Direction::{HigherIsBetter, LowerIsBetter};
    use tasks::stream::Stream;

    /// Generations of `individuals`; always a crossover from generation 2; so cold that the best
    /// are drawn.
    fn cold(individuals: usize) -> Evolution {
        Evolution {
            individuals,
            crossover_probability: 1.0,
            temperature: 1e-3,
            ..Evolution::default()
        }
    }

    fn drafts(became: &[Became]) -> Tree {
        let mut tree = Tree::new(HigherIsBetter);
        for became in became {
            add(&mut tree, Decision::draft(), *became);
        }
        tree
    }

    #[test]
    fn generations_follow_with_repairs_at_once_and_parents_from_those_before() {
        let (tree, decisions) = play(
            &cold(2),
            HigherIsBetter,
            &[Good(0.5), Buggy, Good(0.7), Good(0.9), Good(0.1), Good(0.75), Good(0.65)],
        );
        let expected = [
            "draft",
            "draft",
            "debug 1",
            // Generation 1: population 0 (.5) and 2 (.7). Node 3 is not in it yet.
            "improve 2",
            "improve 2",
            // Generation 2: mean .6, so 3 (.9) is admitted and 4 (.1) is not.
            "crossover 3 2",
            "crossover 3 2",
        ];
        assert_eq!(decisions, expected);
        // Generation 3: mean (.5 + .7 + .9) / 3 = .7, so 5 (.75) is admitted and 6 (.65) is not.
        assert_eq!(next(&cold(2), &tree), "crossover 3 5");
    }

    #[test]
    fn lower_metrics_are_fitter_where_lower_is_better() {
        let (tree, decisions) =
            play(&cold(2), LowerIsBetter, &[Good(0.5), Good(0.25), Good(0.375), Good(0.4)]);
        assert_eq!(decisions, ["draft", "draft", "improve 1", "improve 1"]);
        // Mean .375: node 2 equals it and is admitted, node 3 is not.
        assert_eq!(next(&cold(2), &tree), "crossover 1 2");
    }

    #[test]
    fn a_generation_of_drafts_follows_one_that_is_discarded() {
        let policy = Evolution { debug_depth: 0, ..cold(2) };
        let (tree, decisions) =
            play(&policy, HigherIsBetter, &[Buggy, Refused, Good(0.5), Good(0.1)]);
        assert_eq!(decisions, ["draft"; 4]);
        // Node 2 is the first on an empty island; node 3 is below its mean. Generation 2 wants a
        // crossover, but there is one parent.
        assert_eq!(next(&policy, &tree), "improve 2");
    }

    #[test]
    fn parents_share_an_island() {
        let policy = Evolution { islands: 2, crossover_from: 1, debug_depth: 0, ..cold(4) };
        // Islands 0, 1, 0, 1. Node 1 is discarded, which does not move node 2.
        let tree = drafts(&[Good(0.5), Buggy, Good(0.3), Good(0.9)]);
        // Island 1 has the larger mean, but only island 0 has two.
        assert_eq!(next(&policy, &tree), "crossover 0 2");
        let alone = Evolution { crossover_probability: 0.0, ..policy };
        assert_eq!(next(&alone, &tree), "improve 3");
        // A child belongs to the island of its parent: node 4 (.45) is above the mean of island 0
        // (.4) and below that of island 1 (.9).
        for (parent, expected) in [(0, "crossover 0 4"), (3, "crossover 0 2")] {
            let mut tree = tree.clone();
            add(&mut tree, Decision::improve(NodeId(parent)), Good(0.45));
            for _ in 0..3 {
                add(&mut tree, Decision::improve(NodeId(parent)), Refused);
            }
            assert_eq!(next(&policy, &tree), expected, "child of {parent}");
        }
    }

    #[test]
    fn a_full_island_loses_its_worst() {
        let policy = Evolution { capacity: 2, crossover_from: 1, ..cold(3) };
        // Of the equals 0 and 1 the earlier goes.
        assert_eq!(next(&policy, &drafts(&[Good(0.1), Good(0.1), Good(0.5)])), "crossover 2 1");
    }

    #[test]
    fn after_the_last_generation_only_repairs_are_left() {
        let policy = Evolution { generations: 2, ..cold(2) };
        let (mut tree, decisions) =
            play(&policy, HigherIsBetter, &[Good(0.5), Good(0.7), Good(0.6), Buggy]);
        assert_eq!(decisions, ["draft", "draft", "improve 1", "improve 1"]);
        assert_eq!(next(&policy, &tree), "debug 3");
        add(&mut tree, Decision::debug(NodeId(3)), Good(0.1));
        assert_eq!(next(&policy, &tree), "none");
    }

    #[test]
    fn an_individual_that_is_worked_on_joins_when_it_is_complete() {
        let mut tree = drafts(&[Pending, Good(0.5)]);
        assert_eq!(next(&cold(3), &tree), "draft");
        assert_eq!(next(&cold(2), &tree), "improve 1");
        let mut better = tree.clone();
        complete(&mut better, 0, Good(0.9));
        assert_eq!(next(&cold(2), &better), "improve 0");
        complete(&mut tree, 0, Buggy);
        assert_eq!(next(&cold(2), &tree), "debug 0");
        add(&mut tree, Decision::debug(NodeId(0)), Pending);
        assert_eq!(next(&cold(2), &tree), "improve 1");
    }

    #[test]
    fn a_series_of_repairs_ends_at_its_depth_and_at_its_time() {
        let mut tree = drafts(&[Buggy]);
        for depth in 0..10 {
            assert_eq!(next(&cold(2), &tree), format!("debug {depth}"));
            add(&mut tree, Decision::debug(NodeId(depth)), Buggy);
        }
        assert_eq!(next(&cold(2), &tree), "draft");

        let mut tree = Tree::new(HigherIsBetter);
        add_buggy(&mut tree, Decision::draft(), 3.0);
        add_buggy(&mut tree, Decision::debug(NodeId(0)), 2.0);
        assert_eq!(next(&cold(2), &tree), "debug 1");
        add_buggy(&mut tree, Decision::debug(NodeId(1)), 1.0);
        assert_eq!(next(&cold(2), &tree), "draft");
    }

    #[test]
    fn parents_are_drawn_by_the_softmax_of_their_gains() {
        let policy = Evolution { individuals: 3, crossover_from: 1, ..Evolution::default() };
        let tree = drafts(&[Good(0.0), Good(1.0), Good(0.5)]);
        let count = |wanted: &[&str]| -> usize {
            let drawn = (0..4000).map(|index| {
                let draws = &mut Stream::root(1).index(index).rng();
                text(&policy.next(&tree, START, draws).unwrap())
            });
            drawn.filter(|drawn| wanted.contains(&drawn.as_str())).count()
        };
        // Weights e^0, e^1, e^.5: 1, 2.718, 1.649 of 5.367. Half of the draws improve: node 1 in
        // .2532, sd 27.5 of 4000. The others cross over: 1 with 2 in
        // .5 * .5065 * 1.649 / (1 + 1.649) = .1576, sd 23.0.
        assert!(count(&["improve 1"]).abs_diff(1013) < 110);
        assert!(count(&["crossover 1 2"]).abs_diff(631) < 92);
        assert!(count(&["improve 0", "improve 1", "improve 2"]).abs_diff(2000) < 127);
        assert_eq!(count(&["crossover 0 0", "crossover 1 1", "crossover 2 2"]), 0);
    }
}
