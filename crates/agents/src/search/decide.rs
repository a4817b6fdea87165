//! The loop of every search: a decision is taken, a node is made of it, and so on until the end.
//!
//! A decision is taken once all nodes but the last `workers - 1` are in, whichever of those are, so
//! that what a decision sees does not depend on how fast scripts are.

use super::policy::{Policy, Progress};
use super::tree::Tree;
use crate::run::agent::{AgentRest, AgentRun, AgentRunError, TakenUp};
use crate::run::journal::{AgentEnd, JournalLine};
use crate::run::node::{Decision, Node, NodeId, NodeState};
use crate::run::open::{OpenRun, Undone};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use tasks::stream::Stream;

/// When a search ends, and how many scripts are in the making.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepRules {
    /// Most decisions.
    pub(crate) steps: u32,
    /// Most active time, in seconds.
    pub(crate) seconds: f64,
    /// Active seconds after which no decision is taken any more; at most `seconds`.
    pub(crate) last_start: f64,
    /// Scripts in the making at once.
    pub(crate) workers: u32,
    /// Decisions in a row without a script after which a search ends.
    pub(crate) most_refused: u32,
    /// Questions to the player after which no decision is taken any more.
    pub(crate) calls: Option<u32>,
}

/// Makes nodes of decisions.
pub(crate) trait NodeMaker: Sync {
    /// What is shown for one decision.
    type Known: Send;

    /// The run that is being worked on.
    fn open(&self) -> &OpenRun<'_>;

    /// What may be shown for `decision`, which was just added to `tree` as node `id`.
    fn known(&self, tree: &Tree, id: NodeId, decision: &Decision) -> Result<Self::Known, Undone>;

    /// Makes the node and writes it down.
    fn make(&self, id: NodeId, decision: &Decision, known: &Self::Known) -> Result<Node, Undone>;

    /// The node whose submission counts.
    fn chosen<'t>(&self, tree: &'t Tree) -> Option<&'t Node> {
        tree.chosen()
    }
}

/// The decisions of one search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decisions<'a> {
    pub(crate) run: AgentRun<'a>,
    pub(crate) policy: &'a dyn Policy,
    pub(crate) rules: StepRules,
}

/// Nodes on their way into the tree.
struct Results {
    /// Those that are in and were not seen yet.
    arrived: BTreeMap<NodeId, Node>,
    receiver: Receiver<Result<Node, Undone>>,
    /// Those that are being worked on.
    in_flight: usize,
    /// Those that are in the tree.
    seen: usize,
}

impl Results {
    /// Adds nodes to the tree in the order of decisions, until only the last `behind` are left out.
    fn see(&mut self, tree: &mut Tree, behind: usize) -> Result<(), Undone> {
        while self.seen + behind < tree.len() {
            let id = NodeId(u32::try_from(self.seen).expect("fewer than 2^32 nodes"));
            if let Some(node) = self.arrived.remove(&id) {
                tree.complete(node);
                self.seen += 1;
            } else {
                assert!(self.in_flight > 0, "node {id} is neither here nor under way");
                self.in_flight -= 1;
                let node = self.receiver.recv().expect("the search holds a sender")?;
                self.arrived.insert(node.id, node);
            }
        }
        Ok(())
    }
}

impl<'a> Decisions<'a> {
    /// Begins the search of a journal that was taken up, or goes on with it, until it is over or has
    /// to pause.
    pub(crate) fn carry_out<M: NodeMaker>(
        &self,
        mut taken: TakenUp,
        maker: impl FnOnce(OpenRun<'a>) -> M,
    ) -> Result<AgentRest, AgentRunError> {
        if let Some((chosen, why)) = taken.state.finish {
            return Ok(AgentRest::Finished { chosen, why });
        }
        let decided = std::mem::take(&mut taken.state.decided);
        let nodes = std::mem::take(&mut taken.state.nodes);
        let (is_old, clock) = (taken.is_old, taken.state.clock);
        let maker = maker(OpenRun::new(self.run, taken));
        if is_old {
            maker.open().append(&JournalLine::Resumed { clock, changed: Vec::new() })?;
        }
        self.decide_and_make(&maker, decided, nodes)
    }

    fn decide_and_make<M: NodeMaker>(
        &self,
        maker: &M,
        decided: Vec<(Decision, f64)>,
        arrived: BTreeMap<NodeId, Node>,
    ) -> Result<AgentRest, AgentRunError> {
        let mut tree = Tree::new(self.run.view.direction);
        let (sender, receiver) = channel();
        let mut results = Results { arrived, receiver, in_flight: 0, seen: 0 };
        let why = std::thread::scope(|scope| {
            let why =
                self.decide(maker, decided, &mut tree, &mut results, |id, decision, known| {
                    let sender = sender.clone();
                    scope.spawn(move || {
                        // Nobody listens once the search is being left.
                        let _ = sender.send(maker.make(id, &decision, &known));
                    });
                });
            // Scripts in flight are finished, or end because they are stopped.
            why.and_then(|why| results.see(&mut tree, 0).map(|()| why))
        });
        match why {
            Ok(why) => Self::finish(maker, &tree, why),
            Err(undone) => maker.open().rest(undone),
        }
    }

    /// Takes decisions, those of earlier starts first, and hands each that has no node to `make`,
    /// until there are no more to take.
    fn decide<M: NodeMaker>(
        &self,
        maker: &M,
        decided: Vec<(Decision, f64)>,
        tree: &mut Tree,
        results: &mut Results,
        mut make: impl FnMut(NodeId, Decision, M::Known),
    ) -> Result<AgentEnd, Undone> {
        let behind = self.rules.workers.max(1) as usize - 1;
        let mut decided = decided.into_iter();
        loop {
            results.see(tree, behind)?;
            let (decision, is_new) = match decided.next() {
                Some((decision, _)) => (decision, false),
                None => match self.choose(maker.open(), tree, results)? {
                    Ok(decision) => (decision, true),
                    Err(why) => return Ok(why),
                },
            };
            let id = tree.decide(decision.clone());
            if is_new {
                let clock = maker.open().clock.now();
                maker.open().append(&JournalLine::Decided {
                    node: id,
                    decision: decision.clone(),
                    clock,
                })?;
            }
            if !results.arrived.contains_key(&id) {
                // What the player is shown is settled here, before other results come in.
                let known = maker.known(tree, id, &decision)?;
                results.in_flight += 1;
                make(id, decision, known);
            }
        }
    }

    /// The next decision, or why there is none.
    fn choose(
        &self,
        open: &OpenRun<'_>,
        tree: &mut Tree,
        results: &mut Results,
    ) -> Result<Result<Decision, AgentEnd>, Undone> {
        if self.run.stop.is_asked() {
            return Err(Undone::Paused("it was stopped".to_owned()));
        }
        let clock = open.clock.now();
        if let Some(why) = self.end(tree, clock, open.calls()) {
            return Ok(Err(why));
        }
        let stream = Stream::root(self.run.seed).child(self.run.task.id().as_str()).child("policy");
        loop {
            let progress = self.progress(tree.len(), clock);
            let mut draws = stream.index(tree.len() as u64).rng();
            if let Some(decision) = self.policy.next(tree, progress, &mut draws) {
                return Ok(Ok(decision));
            }
            if results.seen == tree.len() {
                return Ok(Err(AgentEnd::Exhausted));
            }
            // What is still being worked on may open something to try.
            results.see(tree, 0)?;
        }
    }

    /// Writes down the end of a search, with the submission that counts.
    fn finish<M: NodeMaker>(
        maker: &M,
        tree: &Tree,
        why: AgentEnd,
    ) -> Result<AgentRest, AgentRunError> {
        let chosen = maker.chosen(tree);
        let submission = chosen.and_then(|node| node.submission.as_ref());
        let submission = submission.map(|hash| maker.open().blobs.get(hash)).transpose()?;
        maker.open().finish(chosen.map(|node| node.id), submission.as_deref(), why)
    }

    /// Why no more decisions are taken, if so.
    fn end(&self, tree: &Tree, clock: f64, calls: usize) -> Option<AgentEnd> {
        let refused = |node: &&Node| matches!(node.state, NodeState::Refused { .. });
        if tree.len() >= self.rules.steps as usize {
            Some(AgentEnd::Steps)
        } else if self.rules.calls.is_some_and(|most| calls >= most as usize) {
            Some(AgentEnd::Calls)
        } else if clock >= self.rules.last_start {
            Some(AgentEnd::Time)
        } else if tree.nodes().rev().take_while(refused).count() >= self.rules.most_refused as usize
        {
            Some(AgentEnd::Refused)
        } else {
            None
        }
    }

    fn progress(&self, steps: usize, clock: f64) -> Progress {
        Progress {
            steps: steps as f64 / f64::from(self.rules.steps.max(1)),
            time: clock / self.rules.seconds.max(1.0),
        }
    }
}
