//! Places of the nodes of a tree: Reingold and Tilford, "Tidier Drawings of Trees" (1981).

/// The place of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NodePlace {
    /// From left to right, 0 or more; neighbours of a level are at least 1 apart.
    pub(super) across: f64,
    /// 0 for a root, else one below the parent.
    pub(super) level: usize,
}

/// The places of nodes whose parents are given, each before its children. Trees stand side by
/// side, children from left to right in their order, a parent centred over its first and last.
///
/// # Panics
/// If a parent does not come before its child.
pub(super) fn tree_layout(parents: &[Option<usize>]) -> Vec<NodePlace> {
    let mut children = vec![Vec::new(); parents.len()];
    let mut roots = Vec::new();
    for (child, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => {
                assert!(*parent < child, "a parent comes before its child");
                children[*parent].push(child);
            }
            None => roots.push(child),
        }
    }
    // From the leaves up: where each node stands beside its parent, and how far its subtree
    // reaches to both sides. No recursion, for a chain may be long.
    let mut beside = vec![0.0; parents.len()];
    let mut outlines: Vec<Option<Outline>> = vec![None; parents.len()];
    for node in (0..parents.len()).rev() {
        let mut below = place_side_by_side(&children[node], &mut outlines, &mut beside);
        below.levels.push((0.0, 0.0));
        outlines[node] = Some(below);
    }
    place_side_by_side(&roots, &mut outlines, &mut beside);
    // From the roots down.
    let mut places: Vec<NodePlace> = Vec::with_capacity(parents.len());
    for (node, parent) in parents.iter().enumerate() {
        let (from, level) =
            parent.map_or((0.0, 0), |parent| (places[parent].across, places[parent].level + 1));
        places.push(NodePlace { across: from + beside[node], level });
    }
    let least = places.iter().map(|place| place.across).fold(f64::INFINITY, f64::min);
    for place in &mut places {
        place.across -= least;
    }
    places
}

/// How far a subtree reaches to the left and to the right of its root on each level, the deepest
/// level first.
#[derive(Debug, Clone, Default)]
struct Outline {
    levels: Vec<(f64, f64)>,
}

/// Puts subtrees next to each other, as close as they go, centred on 0. Writes where their roots
/// stand, and returns the outline of all of them.
fn place_side_by_side(
    nodes: &[usize],
    outlines: &mut [Option<Outline>],
    beside: &mut [f64],
) -> Outline {
    let mut take = |node: &usize| outlines[*node].take().expect("a subtree is placed once");
    let [first, others @ ..] = nodes else { return Outline::default() };
    let mut all = take(first);
    beside[*first] = 0.0;
    let mut last = 0.0;
    for node in others {
        let mut right = take(node);
        let shared = all.levels.iter().rev().zip(right.levels.iter().rev());
        let shift = shared.map(|(left, right)| left.1 - right.0 + 1.0).fold(f64::MIN, f64::max);
        for (low, high) in &mut right.levels {
            *low += shift;
            *high += shift;
        }
        let (from_all, from_right) = (all.levels.len(), right.levels.len());
        for level in 1..=from_all.min(from_right) {
            right.levels[from_right - level].0 = all.levels[from_all - level].0;
            all.levels[from_all - level].1 = right.levels[from_right - level].1;
        }
        if from_right > from_all {
            all = right;
        }
        beside[*node] = shift;
        last = shift;
    }
    if others.is_empty() {
        return all;
    }
    let middle = last / 2.0;
    for node in nodes {
        beside[*node] -= middle;
    }
    for (low, high) in &mut all.levels {
        *low -= middle;
        *high -= middle;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const SLACK: f64 = 1e-9;

    fn forest() -> impl Strategy<Value = Vec<Option<usize>>> {
        let choice = (0..10_u8, any::<prop::sample::Index>());
        prop::collection::vec(choice, 1..80).prop_map(|choices| {
            let parent = |(child, (kind, any)): (usize, (u8, prop::sample::Index))| match kind {
                _ if child == 0 => None,
                0 => None,
                // A chain now and then, so that trees get deep.
                1..=4 => Some(child - 1),
                _ => Some(any.index(child)),
            };
            choices.into_iter().enumerate().map(parent).collect()
        })
    }

    proptest! {
        #[test]
        fn layout_of_any_forest_is_tidy(parents in forest()) {
            let places = tree_layout(&parents);
            let mut levels: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
            for place in &places {
                prop_assert!(place.across >= 0.0);
                levels.entry(place.level).or_default().push(place.across);
            }
            for level in levels.values_mut() {
                level.sort_by(f64::total_cmp);
                prop_assert!(level.windows(2).all(|pair| pair[1] - pair[0] >= 1.0 - SLACK));
            }
            for (node, place) in places.iter().enumerate() {
                let below: Vec<NodePlace> =
                    (0..parents.len()).filter(|child| parents[*child] == Some(node))
                        .map(|child| places[child]).collect();
                prop_assert!(below.iter().all(|child| child.level == place.level + 1));
                prop_assert!(below.windows(2).all(|pair| pair[0].across < pair[1].across));
                if let (Some(first), Some(last)) = (below.first(), below.last()) {
                    let middle = f64::midpoint(first.across, last.across);
                    prop_assert!((place.across - middle).abs() < SLACK);
                }
            }
        }
    }

    #[test]
    fn layout_of_a_small_tree_is_as_drawn_by_hand() {
        //   0     1
        //  2 3    5
        //    4
        let parents = [None, None, Some(0), Some(0), Some(3), Some(1)];
        let places = tree_layout(&parents).into_iter().map(|place| (place.across, place.level));
        let expected = [(0.5, 0), (2.0, 0), (0.0, 1), (1.0, 1), (1.0, 2), (2.0, 1)];
        assert_eq!(places.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn layout_of_a_long_chain_is_a_line() {
        let parents: Vec<Option<usize>> =
            (0..20_000_usize).map(|node| node.checked_sub(1)).collect();
        let places = tree_layout(&parents);
        assert!(
            places
                .iter()
                .enumerate()
                .all(|(node, place)| { place.across.abs() < SLACK && place.level == node })
        );
    }
}
