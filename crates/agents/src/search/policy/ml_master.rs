//! ML-Master's tree search.
//!
//! Liu et al. 2025, arXiv 2506.16499.

use super::branches::{BranchRules, Branches, places};
use super::{Policy, Progress, setting};
use crate::run::node::{Decision, NodeId};
use crate::search::tree::Tree;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Walks: a script is improved or repaired, then its result, and so on, until a reward is backed
/// up. The next walk begins where upper confidence bounds lead.
///
/// The next decision is the first of these that applies:
///
/// 1. A walk goes on from its last node, the earliest first: a buggy one is repaired, a good one
///    improved. A walk ends when its last node backs up a reward, or when the player refuses.
/// 2. While there are fewer than `drafts` drafts, refused ones apart, a draft is made.
/// 3. A walk begins. From the virtual root the way goes to the open child of highest
///    `reward / n + C * sqrt(ln N / n)`, the earliest of equals. `n` and `N` are the numbers of
///    rewards that were backed up through the child and through its parent, `reward` is the sum of
///    the child's; a child with none comes first. The way ends at a buggy node without a child,
///    and at a good one that has fewer than `improves`, unless that is to go on, see below, and
///    has an open child. The node is repaired or improved.
/// 4. If every draft is closed or has a node that is being worked on, another draft is made.
///
/// **Rewards.** A good node replaces the best of its branch if it gains more than `least_gain`
/// over it. If it does not, that is a failure; `failures` in a row within a walk close its branch.
/// A node backs up a reward, to itself and all its ancestors,
///
/// - if it is good and repairs its parent, or closes its branch,
/// - if it is buggy after at least `back_up_depth` repairs in a row; `debug_depth` close its
///   branch.
///
/// The reward is -1 for a buggy node, 2 for one that is better than every good node before it, of
/// which there has to be one, else 1. A node through which a reward came is to go on if the last
/// one came from a good node that closed nothing; another node, if it is good.
///
/// A node is also closed if it has all its children and these are closed: `improves` of a good
/// node, one of a buggy one.
///
/// `C` is `exploration` up to the share `decay_from` of the budget, `least_exploration` from
/// `decay_to` on, and linear in between. Nothing is drawn.
///
/// **Several workers.** A node that is being worked on takes a place among its parent's children,
/// and no other walk begins below its draft. Rewards are backed up in the order of decisions. A
/// refused node takes no place.
///
/// **What differs from the code of its authors.** There, a branch closes one failure later; a
/// closed node can be reached, gets a reward of 0, and the way begins anew, without end if all are
/// closed; a metric of 0 counts as missing; where no draft is free, workers wait; `C` begins to
/// fall after `drafts * improves^2` steps, by 0.01 a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MlMaster {
    /// Drafts, at least 1. Default: 5.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub drafts: usize,
    /// Improvements of a good node, at least 1. Default: 3.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub improves: usize,
    /// `C` at first, at least 0. Default: 1.414.
    #[serde(deserialize_with = "setting::not_negative")]
    pub exploration: f64,
    /// `C` in the end, at least 0. Default: 0.5.
    #[serde(deserialize_with = "setting::not_negative")]
    pub least_exploration: f64,
    /// Share of the budget up to which `C` stays as it is, in [0, 1]. Default: 0.3.
    #[serde(deserialize_with = "setting::share")]
    pub decay_from: f64,
    /// Share of the budget from which on `C` is least, in [0, 1]. Default: 0.7.
    #[serde(deserialize_with = "setting::share")]
    pub decay_to: f64,
    /// Gain above which a node is better than the best of its branch, at least 0. Default: 1e-4.
    #[serde(deserialize_with = "setting::not_negative")]
    pub least_gain: f64,
    /// Failures in a row that close a branch, at least 1. Default: 3.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub failures: usize,
    /// Repairs in a row from which on each that fails backs up its reward. Default: 3.
    pub back_up_depth: u32,
    /// Repairs in a row that close a branch: the most there are. Default: 20.
    pub debug_depth: u32,
}

impl Default for MlMaster {
    fn default() -> Self {
        Self {
            drafts: 5,
            improves: 3,
            exploration: 1.414,
            least_exploration: 0.5,
            decay_from: 0.3,
            decay_to: 0.7,
            least_gain: 1e-4,
            failures: 3,
            back_up_depth: 3,
            debug_depth: 20,
        }
    }
}

impl Policy for MlMaster {
    fn next(&self, tree: &Tree, progress: Progress, _: &mut ChaCha8Rng) -> Option<Decision> {
        let rules = BranchRules {
            improves: self.improves,
            least_gain: self.least_gain,
            failures: self.failures,
            back_up_depth: self.back_up_depth,
            debug_depth: self.debug_depth,
        };
        let branches = Branches::from_tree(tree, rules);
        if let Some(last) = branches.walk() {
            return Some(follow(tree, last));
        }
        if places(tree, tree.roots()) < self.drafts {
            return Some(Decision::draft());
        }
        let leaf = branches.select(tree, self.constant(progress));
        Some(leaf.map_or_else(Decision::draft, |leaf| follow(tree, leaf)))
    }
}

impl MlMaster {
    /// `C` when `progress` of the budget is used.
    fn constant(&self, progress: Progress) -> f64 {
        let share = progress.share();
        if share < self.decay_from {
            self.exploration
        } else if share < self.decay_to {
            let done = (share - self.decay_from) / (self.decay_to - self.decay_from);
            self.exploration + done * (self.least_exploration - self.exploration)
        } else {
            self.least_exploration
        }
    }
}

/// A repair of a buggy node, an improvement of a good one.
fn follow(tree: &Tree, id: NodeId) -> Decision {
    if tree.gain(id).is_some() { Decision::improve(id) } else { Decision::debug(id) }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{complete, decide, next, play, text};
    use super::*;
    use crate::search::tree::fixture::Became::{self, Buggy, Good, Pending, Refused};
    use crate::search::tree::fixture::add;
    use tasks::metrics::Direction::{HigherIsBetter, LowerIsBetter};

    /// So many drafts; the first failure closes a branch.
    fn strict(drafts: usize) -> MlMaster {
        MlMaster { drafts, failures: 1, ..MlMaster::default() }
    }

    fn alone() -> MlMaster {
        MlMaster { drafts: 1, ..MlMaster::default() }
    }

    fn tree(nodes: &[(Option<u32>, Became)]) -> Tree {
        let mut tree = Tree::new(HigherIsBetter);
        for (parent, became) in nodes {
            let decision = parent.map_or_else(Decision::draft, |id| follow(&tree, NodeId(id)));
            add(&mut tree, decision, *became);
        }
        tree
    }

    #[test]
    fn a_walk_improves_until_three_failures_in_a_row() {
        let (_, decisions) = play(
            &MlMaster::default(),
            HigherIsBetter,
            &[Good(0.5), Good(0.55), Good(0.6), Good(0.4), Good(0.6), Good(0.600_05), Buggy],
        );
        // Node 3 fails, node 4 gains nothing, node 5 gains less than 1e-4: closed.
        let expected =
            ["draft", "improve 0", "improve 1", "improve 2", "improve 3", "improve 4", "draft"];
        assert_eq!(decisions, expected);
    }

    #[test]
    fn failures_are_counted_where_lower_is_better_and_a_metric_of_zero_counts() {
        let policy = MlMaster { failures: 2, ..alone() };
        let (tree, decisions) =
            play(&policy, LowerIsBetter, &[Good(0.2), Good(0.0), Good(0.0), Good(0.1)]);
        assert_eq!(decisions, ["draft", "improve 0", "improve 1", "improve 2"]);
        // Closed at 3. Its branch is not to go on, so the draft gets its second improvement.
        assert_eq!(next(&policy, &tree), "improve 0");
    }

    #[test]
    fn the_third_failed_repair_backs_up_and_the_twentieth_closes() {
        let became = [Buggy; 4];
        let (_, decisions) = play(&MlMaster::default(), HigherIsBetter, &became);
        assert_eq!(decisions, ["draft", "debug 0", "debug 1", "debug 2"]);
        let (mut chain, _) = play(&MlMaster::default(), HigherIsBetter, &became);
        assert_eq!(next(&MlMaster::default(), &chain), "draft");
        // With this draft alone the way down ends at the last repair, up to the twentieth.
        for depth in 3..20 {
            assert_eq!(next(&alone(), &chain), format!("debug {depth}"));
            add(&mut chain, Decision::debug(NodeId(depth)), Buggy);
        }
        assert_eq!(next(&alone(), &chain), "draft");
    }

    #[test]
    fn a_repair_that_works_backs_up_and_its_branch_goes_on() {
        let (tree, decisions) =
            play(&MlMaster::default(), HigherIsBetter, &[Buggy, Good(0.5), Buggy]);
        assert_eq!(decisions, ["draft", "debug 0", "draft"]);
        assert_eq!(next(&MlMaster::default(), &tree), "debug 2");
        assert_eq!(next(&alone(), &tree), "debug 2");
        let (tree, _) = play(&alone(), HigherIsBetter, &[Buggy, Good(0.5)]);
        assert_eq!(next(&alone(), &tree), "improve 1");
    }

    #[test]
    fn rewards_lead_to_drafts_and_the_last_one_says_whether_to_go_deeper() {
        let policy = MlMaster { improves: 2, ..strict(2) };
        let (tree, decisions) = play(
            &policy,
            HigherIsBetter,
            &[
                Good(0.5),
                Good(0.4), // 1 fails, is closed, and backs up 1 to draft 0.
                Buggy,     // 2, the second draft,
                Buggy,
                Buggy,
                Buggy,      // whose third repair, 5, backs up -1.
                Good(0.7),  // 6
                Good(0.7),  // 7 fails and backs up 1.
                Good(0.9),  // 8
                Buggy,      // 9
                Good(0.95), // 10 repairs 9, is best of all, and backs up 2.
            ],
        );
        let expected = [
            "draft",
            "improve 0",
            "draft",
            "debug 2",
            "debug 3",
            "debug 4",
            // N = 2: draft 0 has 1 + 1.414 * sqrt(ln 2) = 2.18, draft 2 has .18.
            "improve 0",
            "improve 6",
            // N = 3: draft 0 has 1 + 1.414 * sqrt(1.099 / 2) = 2.05, draft 2 has .48. Draft 0 has
            // its two improvements: 1 is closed, and 6 may have another.
            "improve 6",
            "improve 8",
            "debug 9",
        ];
        assert_eq!(decisions, expected);
        // N = 4: draft 0 has 4/3 + 1.414 * sqrt(1.386 / 3) = 2.29, draft 2 has .66. The last
        // reward through 6 and 8 says that their branch goes on: 9, 10.
        assert_eq!(next(&policy, &tree), "improve 10");
    }

    #[test]
    fn the_constant_falls_with_the_budget_and_changes_the_choice() {
        let policy = strict(2);
        let at = |time| policy.constant(Progress { steps: 0.1, time });
        assert_eq!([0.0, 0.29, 0.7, 1.0].map(at), [1.414, 1.414, 0.5, 0.5]);
        assert!((at(0.5) - 0.957).abs() < 1e-12);
        // Draft 0 got the rewards 1, 1, and 2 of node 5, which gains too little but is best of
        // all; draft 2 got 1.
        let tree = tree(&[
            (None, Good(0.5)),
            (Some(0), Good(0.4)),
            (None, Good(0.1)),
            (Some(2), Good(0.05)),
            (Some(0), Good(0.4)),
            (Some(0), Good(0.500_05)),
        ]);
        // N = 4: draft 0 has 4/3 + C * .680, draft 2 has 1 + C * 1.177: equal at C = .670. With
        // four improvements a node, both may have another.
        let policy = MlMaster { improves: 4, ..policy };
        for (time, expected) in [(0.0, "improve 2"), (0.6, "improve 2"), (0.65, "improve 0")] {
            // At .6, C = .729; at .65, C = .614.
            let decision = decide(&policy, &tree, Progress { steps: 0.0, time }).unwrap();
            assert_eq!(text(&decision), expected, "at {time}");
        }
    }

    #[test]
    fn failures_last_over_a_bug_within_a_walk_and_begin_anew_with_the_next() {
        let (tree, decisions) = play(
            &alone(),
            HigherIsBetter,
            &[
                Good(0.5),
                Good(0.5), // 1: the first failure
                Buggy,
                Good(0.5), // 3: the second; the repair backs up.
                Good(0.5), // 4: the first of the next walk
                Good(0.5),
                Good(0.5), // 6: the third
            ],
        );
        let expected = "draft, improve 0, improve 1, debug 2, improve 3, improve 4, improve 5";
        assert_eq!(decisions.join(", "), expected);
        assert_eq!(next(&alone(), &tree), "improve 0");
    }

    #[test]
    fn a_refused_node_takes_no_place_and_ends_a_walk() {
        let policy = MlMaster { drafts: 2, improves: 1, ..MlMaster::default() };
        let (tree, decisions) =
            play(&policy, HigherIsBetter, &[Refused, Good(0.5), Refused, Buggy, Refused]);
        // After the refused improvement another draft is due; the first one took no place.
        assert_eq!(decisions, ["draft", "draft", "improve 1", "draft", "debug 3"]);
        // Nothing was backed up: draft 1, the earliest that can be chosen, still has room.
        assert_eq!(next(&policy, &tree), "improve 1");
    }

    #[test]
    fn a_gain_has_to_exceed_the_least() {
        for (least_gain, expected) in [(0.25, "draft"), (0.249, "improve 1")] {
            let policy = MlMaster { least_gain, ..strict(2) };
            assert_eq!(next(&policy, &tree(&[(None, Good(0.5)), (Some(0), Good(0.75))])), expected);
        }
    }

    #[test]
    fn a_draft_without_a_reward_comes_first() {
        let became = [Good(0.5), Good(0.4), Good(0.1), Refused];
        let (tree, decisions) = play(&strict(2), HigherIsBetter, &became);
        assert_eq!(decisions, ["draft", "improve 0", "draft", "improve 2"]);
        // N = 1: draft 0 has 1 + 0; nothing was backed up through draft 2.
        assert_eq!(next(&strict(2), &tree), "improve 2");
    }

    #[test]
    fn failures_begin_anew_after_a_refused_node() {
        let policy = MlMaster { failures: 2, ..alone() };
        let (tree, decisions) =
            play(&policy, HigherIsBetter, &[Good(0.5), Good(0.5), Refused, Good(0.5)]);
        // The walk ends at 2. The next one begins at 1: 3 is its first failure, so it goes on.
        assert_eq!(decisions, ["draft", "improve 0", "improve 1", "improve 1"]);
        assert_eq!(next(&policy, &tree), "improve 3");
    }

    #[test]
    fn the_last_reward_counts_whichever_branch_it_came_from() {
        let mut nodes = vec![
            (None, Good(0.5)),
            (Some(0), Good(0.6)),
            (Some(1), Good(0.6)), // 2 fails and closes: the branch of 1 is not to go on.
            (Some(0), Good(0.7)),
            (Some(3), Buggy),
            (Some(4), Good(0.8)), // 5 repairs 4: the branch of 3 is to go on.
        ];
        assert_eq!(next(&strict(1), &tree(&nodes)), "improve 5");
        // 6 fails and closes: draft 0 gets its third improvement.
        nodes.push((Some(1), Good(0.55)));
        assert_eq!(next(&strict(1), &tree(&nodes)), "improve 0");
    }

    #[test]
    fn a_node_whose_children_are_closed_is_closed() {
        let policy = MlMaster { improves: 1, ..strict(1) };
        let (tree, decisions) = play(&policy, HigherIsBetter, &[Good(0.5), Good(0.4)]);
        assert_eq!(decisions, ["draft", "improve 0"]);
        assert_eq!(next(&policy, &tree), "draft");
        assert_eq!(next(&MlMaster { improves: 2, ..policy }, &tree), "improve 0");
    }

    #[test]
    fn workers_stay_out_of_drafts_that_others_work_on() {
        let policy = MlMaster { drafts: 2, ..MlMaster::default() };
        let mut tree = tree(&[(None, Pending)]);
        assert_eq!(next(&policy, &tree), "draft");
        add(&mut tree, Decision::draft(), Pending);
        // Both are busy: one more.
        assert_eq!(next(&policy, &tree), "draft");
        // Walks go on in the order of their last nodes.
        complete(&mut tree, 1, Good(0.9));
        assert_eq!(next(&policy, &tree), "improve 1");
        complete(&mut tree, 0, Buggy);
        assert_eq!(next(&policy, &tree), "debug 0");
        add(&mut tree, Decision::debug(NodeId(0)), Pending);
        assert_eq!(next(&policy, &tree), "improve 1");
        add(&mut tree, Decision::improve(NodeId(1)), Pending);
        assert_eq!(next(&policy, &tree), "draft");
        // The repair works and backs up: its draft is free, the other is not.
        complete(&mut tree, 2, Good(0.1));
        assert_eq!(next(&policy, &tree), "improve 2");
    }
}
