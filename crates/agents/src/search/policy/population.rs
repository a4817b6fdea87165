//! The population of an evolutionary search.

use super::gains::GainRange;
use crate::run::node::{NodeId, Operator};
use crate::search::tree::Tree;

/// Individuals that were admitted, by island.
#[derive(Debug)]
pub(super) struct Population {
    islands: Vec<Island>,
    capacity: usize,
    /// Of all good individuals, admitted or not.
    range: Option<GainRange>,
}

/// A part of the population.
#[derive(Debug, Clone, Default)]
pub(super) struct Island {
    /// Good nodes with their gains, in the order of admission.
    members: Vec<(NodeId, f64)>,
    /// The gain of the first member ever.
    reference: f64,
    /// Sum over members of what their gain is above the reference.
    above: f64,
}

/// A decision that is no repair, with what became of it and of its repairs.
#[derive(Debug, Clone, Copy)]
struct Individual {
    island: usize,
    good: Option<(NodeId, f64)>,
}

impl Population {
    /// Empty islands, each for `capacity` individuals.
    pub(super) fn new(islands: usize, capacity: usize) -> Self {
        Self { islands: vec![Island::default(); islands], capacity, range: None }
    }

    /// Admits the individuals of all generations of `tree` that are full, each of `size`. Returns
    /// their number: the generation to which the next individual belongs.
    pub(super) fn extend(&mut self, tree: &Tree, size: usize) -> usize {
        let individuals = individuals(tree, self.islands.len());
        let generations: Vec<_> = individuals.chunks_exact(size).collect();
        let good = generations.iter().copied().flatten().filter_map(|one| one.good);
        self.range = GainRange::from_gains(good.map(|(_, gain)| gain));
        for (generation, members) in generations.iter().enumerate() {
            for Individual { island, good } in *members {
                let island = &mut self.islands[*island];
                if let Some((id, gain)) = *good
                    && (generation == 0 || island.is_empty() || gain >= island.mean())
                {
                    island.admit(id, gain);
                    if island.len() > self.capacity {
                        island.discard_worst();
                    }
                }
            }
        }
        generations.len()
    }

    /// All islands, empty ones included.
    pub(super) fn islands(&self) -> impl Iterator<Item = &Island> {
        self.islands.iter()
    }

    /// Where `gain` is among those of all good individuals, in [0, 1].
    pub(super) fn share(&self, gain: f64) -> f64 {
        self.range.map_or(0.5, |range| range.share(gain))
    }
}

impl Island {
    /// Number of members.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Good nodes with their gains, in the order of admission.
    pub(super) fn members(&self) -> &[(NodeId, f64)] {
        &self.members
    }

    /// Mean gain; exact if all are equal, so that an equal individual is admitted.
    pub(super) fn mean(&self) -> f64 {
        self.reference + self.above / self.members.len() as f64
    }

    fn admit(&mut self, id: NodeId, gain: f64) {
        if self.members.is_empty() {
            self.reference = gain;
        }
        self.members.push((id, gain));
        self.above += gain - self.reference;
    }

    fn discard_worst(&mut self) {
        let gains = self.members.iter().map(|(_, gain)| *gain).enumerate();
        let worst = gains.reduce(|worst, other| if other.1 < worst.1 { other } else { worst });
        if let Some((place, gain)) = worst {
            self.members.remove(place);
            self.above -= gain - self.reference;
        }
    }
}

/// All individuals of `tree`, in the order of decisions.
fn individuals(tree: &Tree, islands: usize) -> Vec<Individual> {
    let mut individuals: Vec<Individual> = Vec::new();
    // Individual of a node, by the node's index.
    let mut of = Vec::with_capacity(tree.len());
    for id in tree.ids() {
        let parent = tree.parent(id).map(|parent| of[parent.index()]);
        let individual = match (tree.decision(id).operator, parent) {
            (Operator::Debug, Some(repaired)) => repaired,
            (_, parent) => {
                let next = individuals.len() % islands;
                let island = parent.map_or(next, |parent: usize| individuals[parent].island);
                individuals.push(Individual { island, good: None });
                individuals.len() - 1
            }
        };
        if let Some(gain) = tree.gain(id) {
            individuals[individual].good = Some((id, gain));
        }
        of.push(individual);
    }
    individuals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::node::Decision;
    use crate::search::tree::fixture::{Became, add};
    use tasks::metrics::Direction;

    #[test]
    fn individuals_that_equal_the_mean_are_admitted() {
        // The plain mean of three times .1 is more than .1.
        let mut tree = Tree::new(Direction::HigherIsBetter);
        for _ in 0..9 {
            add(&mut tree, Decision::draft(), Became::Good(0.1));
        }
        let mut population = Population::new(1, 500);
        assert_eq!(population.extend(&tree, 3), 3);
        assert_eq!(population.islands().map(Island::len).collect::<Vec<_>>(), [9]);
    }

    #[test]
    fn an_individual_counts_with_the_repair_that_works() {
        let mut tree = Tree::new(Direction::LowerIsBetter);
        let first = add(&mut tree, Decision::draft(), Became::Buggy);
        let good = add(&mut tree, Decision::debug(first), Became::Good(2.0));
        add(&mut tree, Decision::draft(), Became::Buggy);
        add(&mut tree, Decision::improve(good), Became::Good(1.0));
        let mut population = Population::new(2, 500);
        // The third individual belongs to a generation that is not full.
        assert_eq!(population.extend(&tree, 2), 1);
        let members: Vec<_> = population.islands().map(|island| island.members.clone()).collect();
        assert_eq!(members, [vec![(good, -2.0)], vec![]]);
    }
}
