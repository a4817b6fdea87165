//! Kinds of items on a circle, found from what follows what: rung R3's hardest part.
//!
//! People of one group go the same number of kinds forward. Kinds and numbers are found in turns:
//! given the kinds, each group goes where most of its choices lead; given the numbers, each item
//! is of the kind that explains most choices from it and to it. What would follow by chance is
//! taken away first, or one kind for all would explain everything. Several starts, the best of
//! which counts: the task is a synchronisation over a cyclic group (Singer, 2011).

use crate::numeric::draws::Draws;
use crate::spec::recommendation::KINDS;
use tasks::stream::Stream;

/// Random kinds to start from.
const STARTS: usize = 40;
/// Turns from one start; most settle within ten.
const TURNS: usize = 25;

/// How often an item was followed by another one.
pub(super) type Followed = Vec<Vec<f64>>;

/// The kind of each item, from 0, given what followed what in each group of people. Kinds are right
/// up to where the circle starts and which way it goes.
pub(super) fn kinds(groups: &[Followed], items: usize) -> Vec<usize> {
    let groups: Vec<Followed> = groups.iter().map(beyond_chance).collect();
    // The same starts for every task, so that the rung has no chance in it.
    let mut draws = Draws::new(Stream::root(0).child("kinds"));
    let mut best = (f64::NEG_INFINITY, vec![0; items]);
    for _ in 0..STARTS {
        let mut kinds: Vec<usize> = (0..items).map(|item| item % KINDS).collect();
        draws.shuffle(&mut kinds);
        let mut reached = f64::NEG_INFINITY;
        for _ in 0..TURNS {
            let (explained, steps) = steps(&groups, &kinds);
            if explained <= reached {
                break;
            }
            reached = explained;
            if explained > best.0 {
                best = (explained, kinds.clone());
            }
            for item in 0..items {
                kinds[item] = kind(&groups, &steps, &kinds, item);
            }
        }
    }
    best.1
}

/// Counts less what they would be if what follows did not depend on what was before.
fn beyond_chance(followed: &Followed) -> Followed {
    let size = followed.len();
    let before: Vec<f64> = followed.iter().map(|row| row.iter().sum()).collect();
    let after: Vec<f64> =
        (0..size).map(|item| followed.iter().map(|row| row[item]).sum()).collect();
    let all = before.iter().sum::<f64>().max(1.0);
    let row = |(row, before): (&Vec<f64>, &f64)| {
        row.iter().zip(&after).map(|(count, after)| count - before * after / all).collect()
    };
    followed.iter().zip(&before).map(row).collect()
}

/// Where each group goes, as kinds forward, and how many choices that explains beyond chance.
fn steps(groups: &[Followed], kinds: &[usize]) -> (f64, Vec<usize>) {
    let mut explained = 0.0;
    let mut steps = Vec::new();
    for followed in groups {
        let mut sums = [0.0; KINDS];
        for (row, from) in followed.iter().zip(kinds) {
            for (count, to) in row.iter().zip(kinds) {
                sums[(to + KINDS - from) % KINDS] += count;
            }
        }
        let step = most(&sums);
        explained += sums[step];
        steps.push(step);
    }
    (explained, steps)
}

/// The kind that explains most choices from an item and to it.
fn kind(groups: &[Followed], steps: &[usize], kinds: &[usize], item: usize) -> usize {
    let mut votes = [0.0; KINDS];
    for (followed, step) in groups.iter().zip(steps) {
        for (other, kind) in kinds.iter().enumerate().filter(|(other, _)| *other != item) {
            votes[(kind + KINDS - step) % KINDS] += followed[item][other];
            votes[(kind + step) % KINDS] += followed[other][item];
        }
    }
    most(&votes)
}

/// The place of the largest value; the first of equals.
pub(super) fn most(values: &[f64]) -> usize {
    let mut best = 0;
    for (place, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = place;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_in_spite_of_whims() {
        let items = 18;
        let mut draws = Draws::new(Stream::root(7));
        let mut hidden: Vec<usize> = (0..items).map(|item| item % KINDS).collect();
        draws.shuffle(&mut hidden);
        let mut groups = vec![vec![vec![0.0; items]; items]; 4];
        for _ in 0..900 {
            let (group, from) = (draws.whole(0, 3), draws.whole(0, items - 1));
            let step = [1, 5, 0, 2][group];
            let fit: Vec<usize> =
                (0..items).filter(|to| hidden[*to] == (hidden[from] + step) % KINDS).collect();
            let to = if draws.chance(0.2) { draws.whole(0, items - 1) } else { *draws.pick(&fit) };
            groups[group][from][to] += 1.0;
        }
        let found = kinds(&groups, items);
        for one in 0..items {
            for other in 0..items {
                assert_eq!(found[one] == found[other], hidden[one] == hidden[other]);
            }
        }
    }
}
