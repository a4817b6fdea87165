//! The branches of ML-Master's tree: what nodes backed up, and where a walk can go.

use crate::run::node::{Node, NodeId, NodeState};
use crate::search::tree::Tree;

/// When branches close and rewards are backed up; see [`MlMaster`](super::MlMaster).
#[derive(Debug, Clone, Copy)]
pub(super) struct BranchRules {
    pub(super) improves: usize,
    pub(super) least_gain: f64,
    pub(super) failures: usize,
    pub(super) back_up_depth: u32,
    pub(super) debug_depth: u32,
}

/// All nodes, as a walk sees them.
#[derive(Debug)]
pub(super) struct Branches {
    /// By the node's index.
    nodes: Vec<Standing>,
    /// Rewards that reached the virtual root.
    visits: u32,
    /// The first node from which a walk is to go on.
    walk: Option<NodeId>,
}

/// A node, as a walk sees it.
#[derive(Debug, Clone, Default)]
struct Standing {
    /// It or a node below it is being worked on.
    busy: bool,
    /// No walk is to come here again, or it was refused.
    closed: bool,
    /// Children that it may still have.
    room: usize,
    /// The reward that it backed up.
    own_reward: Option<f64>,
    /// After the last reward that came through it, its branch is to go on.
    goes_on: bool,
    /// The node with that reward.
    last_reward: Option<NodeId>,
    /// Rewards that came through it, its own included: their number and sum.
    visits: u32,
    rewards: f64,
    /// Gain of the best node of its branch down to here.
    best: Option<f64>,
    /// Nodes of its walk in a row that were not better than that.
    failures: usize,
}

impl Branches {
    /// The branches of `tree`.
    pub(super) fn from_tree(tree: &Tree, rules: BranchRules) -> Self {
        let mut branches = Self { nodes: Vec::with_capacity(tree.len()), visits: 0, walk: None };
        let mut best = None;
        for id in tree.ids() {
            let standing = branches.judge(tree, rules, id, best);
            branches.nodes.push(standing);
            best = [best, tree.gain(id)].into_iter().flatten().reduce(f64::max);
        }
        branches.walk = tree.ids().find(|id| branches.is_walk(tree, *id));
        for id in tree.ids().rev() {
            branches.close(tree, rules, id);
            branches.back_up(tree, id);
        }
        branches
    }

    /// The first node from which a walk is to go on.
    pub(super) fn walk(&self) -> Option<NodeId> {
        self.walk
    }

    /// Where a walk begins with this constant of exploration; `None` if every draft is closed or
    /// busy.
    pub(super) fn select(&self, tree: &Tree, constant: f64) -> Option<NodeId> {
        let mut at = self.preferred(tree.roots(), self.visits, constant)?;
        loop {
            let node = &self.nodes[at.index()];
            let below = self.preferred(tree.children(at), node.visits, constant);
            match below {
                Some(child) if node.goes_on || node.room == 0 => at = child,
                _ => return (node.room > 0).then_some(at),
            }
        }
    }

    /// What `id` is by itself, given all nodes before it, the best of which gains `best`.
    fn judge(&self, tree: &Tree, rules: BranchRules, id: NodeId, best: Option<f64>) -> Standing {
        let parent = tree.parent(id);
        let above = parent.map(|parent| &self.nodes[parent.index()]);
        let first = parent.is_some_and(|parent| tree.children(parent).first() == Some(&id));
        let same_walk = above.filter(|above| first && above.own_reward.is_none());
        let mut standing = Standing {
            best: above.and_then(|above| above.best),
            failures: same_walk.map_or(0, |above| above.failures),
            ..Standing::default()
        };
        match tree.node(id).map(|node| &node.state) {
            None => standing.busy = true,
            Some(NodeState::Refused { .. }) => standing.closed = true,
            Some(NodeState::Buggy(_)) => {
                let depth = tree.debug_depth(id);
                standing.closed = depth >= rules.debug_depth;
                if standing.closed || depth >= rules.back_up_depth {
                    standing.own_reward = Some(-1.0);
                }
            }
            Some(NodeState::Good) => {
                let gain = tree.gain(id).unwrap_or(f64::NEG_INFINITY);
                if standing.best.is_none_or(|best| gain - best > rules.least_gain) {
                    standing.best = Some(gain);
                    standing.failures = 0;
                } else {
                    standing.failures += 1;
                }
                standing.closed = standing.failures >= rules.failures;
                standing.goes_on = !standing.closed;
                let repairs = parent.is_some_and(|id| tree.node(id).is_some_and(Node::is_buggy));
                if standing.closed || repairs {
                    let is_best = best.is_some_and(|best| gain > best);
                    standing.own_reward = Some(if is_best { 2.0 } else { 1.0 });
                }
            }
        }
        standing
    }

    /// Whether `id` is complete, backed nothing up, and nothing followed it.
    fn is_walk(&self, tree: &Tree, id: NodeId) -> bool {
        let node = &self.nodes[id.index()];
        !node.busy && !node.closed && node.own_reward.is_none() && tree.children(id).is_empty()
    }

    /// Closes `id` if it has all its children and these are closed.
    fn close(&mut self, tree: &Tree, rules: BranchRules, id: NodeId) {
        let Some(node) = tree.node(id) else { return };
        let children = tree.children(id);
        let most = if node.is_good() { rules.improves } else { 1 };
        let room = most.saturating_sub(places(tree, children));
        let all_closed = children.iter().all(|child| self.nodes[child.index()].closed);
        let standing = &mut self.nodes[id.index()];
        standing.closed |= room == 0 && all_closed;
        standing.room = room;
    }

    /// Backs up to the parent of `id` what came to `id`.
    fn back_up(&mut self, tree: &Tree, id: NodeId) {
        let node = &mut self.nodes[id.index()];
        if let Some(reward) = node.own_reward {
            node.visits += 1;
            node.rewards += reward;
            node.last_reward = node.last_reward.or(Some(id));
        }
        let Standing { busy, visits, rewards, last_reward, .. } = *node;
        if let Some(last) = last_reward {
            self.nodes[id.index()].goes_on = self.nodes[last.index()].goes_on;
        }
        let Some(parent) = tree.parent(id) else {
            self.visits += visits;
            return;
        };
        let parent = &mut self.nodes[parent.index()];
        parent.busy |= busy;
        parent.visits += visits;
        parent.rewards += rewards;
        parent.last_reward = parent.last_reward.max(last_reward);
    }

    /// The open child that is not busy of highest upper confidence bound; their parent has `visits`.
    fn preferred(&self, children: &[NodeId], visits: u32, constant: f64) -> Option<NodeId> {
        let bound = |id: NodeId| {
            let node = &self.nodes[id.index()];
            let own = f64::from(node.visits);
            match node.visits {
                0 => f64::INFINITY,
                _ => node.rewards / own + constant * (f64::from(visits).ln() / own).sqrt(),
            }
        };
        let is_open = |id: &&NodeId| {
            let node = &self.nodes[id.index()];
            !node.closed && !node.busy
        };
        let open = children.iter().filter(is_open).map(|id| (*id, bound(*id)));
        open.reduce(|best, other| if other.1 > best.1 { other } else { best }).map(|(id, _)| id)
    }
}

/// How many of `children` take a place: all but those for which the player gave no script.
pub(super) fn places(tree: &Tree, children: &[NodeId]) -> usize {
    let refused = |id: &&NodeId| {
        tree.node(**id).is_some_and(|node| matches!(node.state, NodeState::Refused { .. }))
    };
    children.len() - children.iter().filter(refused).count()
}
