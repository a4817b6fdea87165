//! The searches once more, as loops with state, the way their authors tell them: with one worker
//! they make the same decisions as the policies.

use super::fixture::{START, decide};
use super::{Evolution, Mcts, MlMaster, Policy};
use crate::run::node::{Decision, NodeId};
use crate::search::tree::Tree;
use crate::search::tree::fixture::Became::{self, Buggy, Good, Pending, Refused};
use crate::search::tree::fixture::add;
use proptest::collection::vec;
use proptest::prelude::*;
use tasks::metrics::Direction::{self, HigherIsBetter, LowerIsBetter};

/// What becomes of decisions, in their order, and the decisions so far.
struct LoopRun<'a> {
    direction: Direction,
    became: &'a [Became],
    decisions: Vec<Decision>,
}

impl LoopRun<'_> {
    /// What becomes of `decision`, with its number; `None` at the end of the search.
    fn step(&mut self, decision: Decision) -> Option<(usize, Became)> {
        let became = match *self.became.get(self.decisions.len())? {
            Good(metric) => Good(self.direction.gain(metric)),
            other => other,
        };
        self.decisions.push(decision);
        Some((self.decisions.len(), became))
    }
}

/// Number 0 is the virtual root, number `n` is node `n - 1`.
fn id(number: usize) -> NodeId {
    NodeId(u32::try_from(number - 1).unwrap())
}

fn first_of_largest(scores: impl Iterator<Item = (usize, f64)>) -> Option<usize> {
    scores.reduce(|best, other| if other.1 > best.1 { other } else { best }).map(|best| best.0)
}

#[derive(Default, Clone)]
struct Visited {
    children: Vec<usize>,
    visits: f64,
    value: f64,
}

fn mcts(policy: &Mcts, run: &mut LoopRun) -> Option<()> {
    let mut nodes = vec![Visited::default(); run.became.len() + 1];
    let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
    loop {
        let mut path = vec![0];
        loop {
            let at = &nodes[path[path.len() - 1]];
            let scores =
                at.children.iter().filter(|child| nodes[**child].visits > 0.0).map(|child| {
                    let node = &nodes[*child];
                    let mean = node.value / node.visits;
                    let scaled =
                        if largest > least { (mean - least) / (largest - least) } else { 0.5 };
                    (*child, scaled + policy.exploration * (at.visits.ln() / node.visits).sqrt())
                });
            let Some(child) = first_of_largest(scores) else { break };
            path.push(child);
        }
        let leaf = path[path.len() - 1];
        for _ in 0..policy.children {
            let first = if leaf == 0 { Decision::draft() } else { Decision::improve(id(leaf)) };
            let (mut last, mut became) = run.step(first)?;
            nodes[leaf].children.push(last);
            let mut chain = vec![last];
            while matches!(became, Buggy) && chain.len() <= policy.debug_depth as usize {
                let parent = last;
                (last, became) = run.step(Decision::debug(id(parent)))?;
                nodes[parent].children.push(last);
                chain.push(last);
            }
            if let Good(gain) = became {
                (least, largest) = (least.min(gain), largest.max(gain));
                for node in path.iter().chain(&chain) {
                    nodes[*node].visits += 1.0;
                    nodes[*node].value += gain;
                }
            }
        }
    }
}

/// With one island and a temperature at which the best are drawn.
fn evolution(policy: &Evolution, run: &mut LoopRun) -> Option<()> {
    let mut population: Vec<(NodeId, f64)> = Vec::new();
    for generation in 0..policy.generations {
        let mut fittest = population.clone();
        fittest.sort_by(|one, other| other.1.total_cmp(&one.1));
        let mut good = Vec::new();
        for _ in 0..policy.individuals {
            let first = match fittest[..] {
                [] => Decision::draft(),
                [one, other, ..] if generation >= policy.crossover_from => {
                    Decision::crossover(one.0, other.0)
                }
                [one, ..] => Decision::improve(one.0),
            };
            let (mut last, mut became) = run.step(first)?;
            let mut repairs = 0;
            while matches!(became, Buggy) && repairs < policy.debug_depth {
                (last, became) = run.step(Decision::debug(id(last)))?;
                repairs += 1;
            }
            if let Good(gain) = became {
                good.push((id(last), gain));
            }
        }
        for (id, gain) in good {
            let mean = population.iter().map(|one| one.1).sum::<f64>() / population.len() as f64;
            if generation == 0 || population.is_empty() || gain >= mean {
                population.push((id, gain));
            }
            if population.len() > policy.capacity {
                let losses = population.iter().map(|one| -one.1).enumerate();
                population.remove(first_of_largest(losses)?);
            }
        }
    }
    Some(())
}

#[derive(Default, Clone)]
struct Walked {
    parent: usize,
    children: Vec<usize>,
    visits: f64,
    reward: f64,
    buggy: bool,
    repairs: u32,
    goes_on: bool,
    ended: bool,
    best: Option<f64>,
}

struct Walks<'a> {
    policy: &'a MlMaster,
    nodes: Vec<Walked>,
}

impl Walks<'_> {
    fn has_room(&self, at: usize) -> bool {
        let most = if self.nodes[at].buggy { 1 } else { self.policy.improves };
        self.nodes[at].children.len() < most
    }

    fn is_closed(&self, at: usize) -> bool {
        let node = &self.nodes[at];
        node.ended || !self.has_room(at) && node.children.iter().all(|child| self.is_closed(*child))
    }

    fn select(&self) -> usize {
        let mut at = 0;
        loop {
            let node = &self.nodes[at];
            let open = node.children.iter().filter(|child| !self.is_closed(**child));
            let below = first_of_largest(open.map(|child| {
                let Walked { visits, reward, .. } = self.nodes[*child];
                let bonus = self.policy.exploration * (node.visits.ln() / visits).sqrt();
                (*child, if visits == 0.0 { f64::INFINITY } else { reward / visits + bonus })
            }));
            match below {
                Some(child) if at == 0 || node.goes_on || !self.has_room(at) => at = child,
                _ => return at,
            }
        }
    }

    fn back_up(&mut self, from: usize, reward: f64) {
        let goes_on = self.nodes[from].goes_on;
        let mut at = from;
        loop {
            let node = &mut self.nodes[at];
            node.visits += 1.0;
            node.reward += reward;
            node.goes_on = goes_on;
            if at == 0 {
                return;
            }
            at = node.parent;
        }
    }
}

fn ml_master(policy: &MlMaster, run: &mut LoopRun) -> Option<()> {
    let mut walks = Walks { policy, nodes: vec![Walked::default(); run.became.len() + 1] };
    let mut best: Option<f64> = None;
    loop {
        let drafts = walks.nodes[0].children.len();
        let mut at = if drafts < policy.drafts { 0 } else { walks.select() };
        let mut failures = 0;
        // A walk ends at a refused node and where a reward is backed up.
        loop {
            let repairs = walks.nodes[at].buggy;
            let decision = match at {
                0 => Decision::draft(),
                _ if repairs => Decision::debug(id(at)),
                _ => Decision::improve(id(at)),
            };
            let (child, became) = run.step(decision)?;
            let mut node = Walked { parent: at, best: walks.nodes[at].best, ..Walked::default() };
            let reward = match became {
                Refused | Pending => break,
                Buggy => {
                    node.buggy = true;
                    node.repairs = if repairs { walks.nodes[at].repairs + 1 } else { 0 };
                    node.ended = node.repairs >= policy.debug_depth;
                    (node.ended || node.repairs >= policy.back_up_depth).then_some(-1.0)
                }
                Good(gain) => {
                    if node.best.is_none_or(|best| gain - best > policy.least_gain) {
                        (node.best, failures) = (Some(gain), 0);
                    } else {
                        failures += 1;
                    }
                    node.ended = failures >= policy.failures;
                    node.goes_on = !node.ended;
                    let reward = if best.is_some_and(|best| gain > best) { 2.0 } else { 1.0 };
                    best = Some(best.map_or(gain, |best| best.max(gain)));
                    (node.ended || repairs).then_some(reward)
                }
            };
            walks.nodes[at].children.push(child);
            walks.nodes[child] = node;
            if let Some(reward) = reward {
                walks.back_up(child, reward);
                break;
            }
            at = child;
        }
    }
}

/// What `policy` decides in the same search.
fn decisions(policy: &dyn Policy, direction: Direction, became: &[Became]) -> Vec<Decision> {
    let mut tree = Tree::new(direction);
    let mut decisions = Vec::new();
    for became in became {
        let Some(decision) = decide(policy, &tree, START) else { break };
        decisions.push(decision.clone());
        add(&mut tree, decision, *became);
    }
    decisions
}

/// Outcomes with these metrics.
fn outcomes(metric: impl Strategy<Value = f64>) -> impl Strategy<Value = Vec<Became>> {
    let became = prop_oneof![
        5 => metric.prop_map(Good),
        4 => Just(Buggy),
        1 => Just(Refused),
    ];
    vec(became, 0..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn mcts_decides_as_its_loop(
        // Sums of these are exact, so that rounding cannot tell equals apart.
        became in outcomes(prop::sample::select(vec![-0.5, 0.0, 0.5])),
        lower in any::<bool>(),
        children in 1usize..6,
        debug_depth in 0u32..4,
    ) {
        let policy = Mcts { children, debug_depth, ..Mcts::default() };
        let direction = if lower { LowerIsBetter } else { HigherIsBetter };
        let mut run = LoopRun { direction, became: &became, decisions: Vec::new() };
        mcts(&policy, &mut run);
        prop_assert_eq!(decisions(&policy, direction, &became), run.decisions);
    }

    #[test]
    fn evolution_decides_as_its_loop(
        became in outcomes(-1.0..1.0),
        lower in any::<bool>(),
        individuals in 1usize..6,
        crossover_from in 0usize..4,
        capacity in 1usize..9,
        debug_depth in 0u32..4,
    ) {
        let policy = Evolution {
            generations: 12,
            individuals,
            capacity,
            crossover_probability: 1.0,
            crossover_from,
            temperature: 1e-12,
            debug_depth,
            ..Evolution::default()
        };
        let direction = if lower { LowerIsBetter } else { HigherIsBetter };
        // Of equals chance draws one; here there are none.
        let apart = |(place, became): (usize, &Became)| match *became {
            Good(metric) => Good(metric + place as f64 * 1e-3),
            other => other,
        };
        let became: Vec<_> = became.iter().enumerate().map(apart).collect();
        let mut run = LoopRun { direction, became: &became, decisions: Vec::new() };
        evolution(&policy, &mut run);
        prop_assert_eq!(decisions(&policy, direction, &became), run.decisions);
    }

    #[test]
    fn ml_master_decides_as_its_loop(
        became in outcomes(prop::sample::select(vec![-0.5, 0.0, 0.5, 0.500_05, 1.0])),
        lower in any::<bool>(),
        (drafts, improves, failures) in (1usize..6, 1usize..4, 1usize..4),
        (back_up_depth, debug_depth) in (0u32..4, 0u32..6),
    ) {
        let policy = MlMaster {
            drafts,
            improves,
            failures,
            back_up_depth,
            debug_depth,
            ..MlMaster::default()
        };
        let direction = if lower { LowerIsBetter } else { HigherIsBetter };
        let mut run = LoopRun { direction, became: &became, decisions: Vec::new() };
        ml_master(&policy, &mut run);
        prop_assert_eq!(decisions(&policy, direction, &became), run.decisions);
    }
}
