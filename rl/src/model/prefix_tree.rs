//! Sequences that begin alike, with what they share there once.

use std::ops::Range;

/// Fewest tokens that are shared: every node is an attention of its own.
const LEAST: usize = 16;

/// A prefix tree (trie) of sequences. Whatever a token's state depends on is the same in all sequences
/// that have the same tokens up to it, so it is computed once for all of them, and its gradient is the
/// sum of theirs. Episodes of one item share their prompt, and those of one environment the instructions.
#[derive(Debug)]
pub struct PrefixTree<'a> {
    nodes: Vec<Node<'a>>,
    paths: Vec<Vec<usize>>, // of each sequence, its nodes, first to last
    tokens: usize,
}

/// Tokens that follow those of the nodes before it.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) ids: &'a [i64],
    /// The nodes whose tokens come before, first to last.
    pub(super) before: Vec<usize>,
    /// Where the node begins in its sequences.
    pub(super) position: usize,
    /// Where it begins among the tokens of all nodes.
    start: usize,
}

impl<'a> PrefixTree<'a> {
    /// Shares whatever is worth it.
    pub fn new(sequences: &[&'a [i64]]) -> Self {
        let mut sorted: Vec<usize> = (0..sequences.len()).collect();
        sorted.sort_by_key(|&index| (sequences[index], index));
        let mut tree =
            Self { nodes: Vec::new(), paths: vec![Vec::new(); sequences.len()], tokens: 0 };
        tree.grow(sequences, &sorted, &[], 0);
        tree
    }

    /// Each sequence has a node of its own, unless it is empty: what is equal is there again.
    pub fn apart(sequences: &[&'a [i64]]) -> Self {
        let mut tree = Self { nodes: Vec::new(), paths: Vec::new(), tokens: 0 };
        for ids in sequences {
            let path = tree.add(ids, &[], 0);
            tree.paths.push(path);
        }
        tree
    }

    /// Adds what `sorted` sequences have from `depth` on, up to where they are at the nodes `before`.
    fn grow(&mut self, sequences: &[&'a [i64]], sorted: &[usize], before: &[usize], depth: usize) {
        let shared = |a: usize, b: usize| {
            let [a, b] = [a, b].map(|index| &sequences[index][depth..]);
            a.iter().zip(b).take_while(|(a, b)| a == b).count()
        };
        for alike in sorted.chunk_by(|&a, &b| shared(a, b) >= LEAST) {
            let (first, last) = (alike[0], alike[alike.len() - 1]);
            // What the first and the last share, all between them have, too.
            let end = depth + shared(first, last);
            let path = self.add(&sequences[first][depth..end], before, depth);
            if first == last {
                self.paths[first] = path;
            } else {
                self.grow(sequences, alike, &path, end);
            }
        }
    }

    /// A node, unless it has no tokens; returns the path to its end.
    fn add(&mut self, ids: &'a [i64], before: &[usize], position: usize) -> Vec<usize> {
        let mut path = before.to_vec();
        if !ids.is_empty() {
            path.push(self.nodes.len());
            self.nodes.push(Node { ids, before: before.to_vec(), position, start: self.tokens });
            self.tokens += ids.len();
        }
        path
    }

    /// How many tokens there are, shared ones once.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Where the tokens of a sequence are, in order, among those of all nodes.
    pub fn places(&self, sequence: usize) -> impl Iterator<Item = usize> {
        let range = |&node: &usize| -> Range<usize> {
            let Node { ids, start, .. } = &self.nodes[node];
            *start..start + ids.len()
        };
        self.paths[sequence].iter().flat_map(range)
    }

    pub(super) fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(tree: &PrefixTree<'_>) -> Vec<i64> {
        tree.nodes.iter().flat_map(|node| node.ids).copied().collect()
    }

    #[test]
    fn prompt_is_there_once_and_so_is_a_turn_that_two_episodes_begin_with() {
        let prompt: Vec<i64> = (0..40).collect();
        let with = |turns: [i64; 2]| -> Vec<i64> {
            let turns = turns.iter().flat_map(|turn| std::iter::repeat_n(*turn, 20));
            prompt.iter().copied().chain(turns).collect()
        };
        let sequences = [with([100, 101]), with([102, 103]), with([100, 104])];
        let sequences: Vec<&[i64]> = sequences.iter().map(Vec::as_slice).collect();
        let tree = PrefixTree::new(&sequences);
        let nodes: Vec<(usize, &[usize])> =
            tree.nodes.iter().map(|node| (node.ids.len(), &node.before[..])).collect();
        let of = [(40, &[][..]), (20, &[0]), (20, &[0, 1]), (20, &[0, 1]), (40, &[0])];
        assert_eq!((nodes, tree.tokens()), (of.to_vec(), 140));
        assert_eq!(PrefixTree::apart(&sequences).tokens(), 240);
    }

    #[test]
    fn a_few_equal_tokens_are_not_shared_and_equal_sequences_are() {
        let [a, b] = [[vec![1; LEAST - 1], vec![2]], [vec![1; LEAST - 1], vec![3]]]
            .map(|parts| parts.concat());
        assert_eq!(PrefixTree::new(&[&a, &b]).tokens(), 2 * LEAST);
        assert_eq!(PrefixTree::new(&[&a, &a, &a[..0]]).tokens(), LEAST);
    }

    proptest! {
        #[test]
        fn every_sequence_is_found_in_it(
            cuts in prop::collection::vec(prop::collection::vec((0_usize..60, 0_i64..3), 0..5), 0..8),
        ) {
            // Runs of few values, so that many begin alike.
            let sequences: Vec<Vec<i64>> = cuts
                .iter()
                .map(|runs| runs.iter().flat_map(|&(n, id)| std::iter::repeat_n(id, n)).collect())
                .collect();
            let sequences: Vec<&[i64]> = sequences.iter().map(Vec::as_slice).collect();
            for tree in [PrefixTree::new(&sequences), PrefixTree::apart(&sequences)] {
                let ids = ids(&tree);
                prop_assert_eq!(ids.len(), tree.tokens());
                for (index, sequence) in sequences.iter().enumerate() {
                    let found: Vec<i64> = tree.places(index).map(|place| ids[place]).collect();
                    prop_assert_eq!(&found, sequence);
                    let mut position = 0;
                    for &node in &tree.paths[index] {
                        prop_assert_eq!(tree.nodes[node].position, position);
                        position += tree.nodes[node].ids.len();
                    }
                }
            }
        }
    }
}
