//! Carries out a search: decides, asks, tries, and writes each event down before anything depends
//! on it.
//!
//! A run that was killed goes on: decisions are read from the journal, answers that were given are
//! not asked for again, and a script whose node is missing is run again.

use super::operator::{MemoryEntry, ParentView};
use super::policy::Progress;
use super::settings::{Memory, SearchSettings};
use super::step::{Known, SearchRun};
use super::tree::Tree;
use crate::run::agent::{AgentRest, AgentRun, AgentRunError};
use crate::run::journal::{AgentEnd, JournalError, JournalLine};
use crate::run::node::{BlobHash, Decision, Node, NodeId, NodeState, Operator};
use crate::run::open::{OpenRun, Undone};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use tasks::stream::Stream;

/// A search on one task.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// Task, player, seed and folder.
    pub run: AgentRun<'a>,
    /// What is tried, and how it is asked for.
    pub settings: &'a SearchSettings,
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

impl Search<'_> {
    /// Begins the search, or goes on with it, until it is over or has to pause.
    ///
    /// # Errors
    /// [`AgentRunError`].
    pub fn run(&self) -> Result<AgentRest, AgentRunError> {
        let mut taken = self.run.take_up(json!({ "search": self.settings }))?;
        if let Some((chosen, why)) = taken.state.finish {
            return Ok(AgentRest::Finished { chosen, why });
        }
        let decided = std::mem::take(&mut taken.state.decided);
        let nodes = std::mem::take(&mut taken.state.nodes);
        let (is_old, clock) = (taken.is_old, taken.state.clock);
        let run = SearchRun { search: self, open: OpenRun::new(self.run, taken) };
        if is_old {
            run.open.append(&JournalLine::Resumed { clock, changed: Vec::new() })?;
        }
        self.decide_and_try(&run, decided, nodes)
    }

    /// The loop: a decision is taken once all nodes but the last `workers - 1` are in, whichever of
    /// those are, so that what a decision sees does not depend on how fast scripts are.
    fn decide_and_try(
        &self,
        run: &SearchRun<'_>,
        decided: Vec<(Decision, f64)>,
        arrived: BTreeMap<NodeId, Node>,
    ) -> Result<AgentRest, AgentRunError> {
        let mut tree = Tree::new(self.run.view.direction);
        let (sender, receiver) = channel();
        let mut results = Results { arrived, receiver, in_flight: 0, seen: 0 };
        let why = std::thread::scope(|scope| {
            let why = self.decide(run, decided, &mut tree, &mut results, |id, decision, known| {
                let sender = sender.clone();
                scope.spawn(move || {
                    // Nobody listens once the search is being left.
                    let _ = sender.send(run.carry_out(id, &decision, &known));
                });
            });
            // Scripts in flight are finished, or end because they are stopped.
            why.and_then(|why| results.see(&mut tree, 0).map(|()| why))
        });
        match why {
            Ok(why) => Self::finish(run, &tree, why),
            Err(undone) => run.open.rest(undone),
        }
    }

    /// Takes decisions, those of earlier starts first, and hands each that has no node to `carry_out`,
    /// until there are no more to take.
    fn decide(
        &self,
        run: &SearchRun<'_>,
        decided: Vec<(Decision, f64)>,
        tree: &mut Tree,
        results: &mut Results,
        mut carry_out: impl FnMut(NodeId, Decision, Known),
    ) -> Result<AgentEnd, Undone> {
        let behind = self.settings.workers.max(1) as usize - 1;
        let mut decided = decided.into_iter();
        loop {
            results.see(tree, behind)?;
            let (decision, is_new) = match decided.next() {
                Some((decision, _)) => (decision, false),
                None => match self.choose(run, tree, results)? {
                    Ok(decision) => (decision, true),
                    Err(why) => return Ok(why),
                },
            };
            let id = tree.decide(decision.clone());
            if is_new {
                let clock = run.open.clock.now();
                run.open.append(&JournalLine::Decided {
                    node: id,
                    decision: decision.clone(),
                    clock,
                })?;
            }
            if !results.arrived.contains_key(&id) {
                // What the player is shown is settled here, before other results come in.
                let known = self.known(tree, &decision, run)?;
                results.in_flight += 1;
                carry_out(id, decision, known);
            }
        }
    }

    /// The next decision, or why there is none.
    fn choose(
        &self,
        run: &SearchRun<'_>,
        tree: &mut Tree,
        results: &mut Results,
    ) -> Result<Result<Decision, AgentEnd>, Undone> {
        if self.run.stop.is_asked() {
            return Err(Undone::Paused("it was stopped".to_owned()));
        }
        let clock = run.open.clock.now();
        if let Some(why) = self.end(tree, clock) {
            return Ok(Err(why));
        }
        let policy = self.settings.policy.policy();
        let stream = Stream::root(self.run.seed).child(self.run.task.id().as_str()).child("policy");
        loop {
            let progress = self.progress(tree.len(), clock);
            let mut draws = stream.index(tree.len() as u64).rng();
            if let Some(decision) = policy.next(tree, progress, &mut draws) {
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
    fn finish(run: &SearchRun<'_>, tree: &Tree, why: AgentEnd) -> Result<AgentRest, AgentRunError> {
        let chosen = tree.chosen();
        let submission = chosen.and_then(|node| node.submission.as_ref());
        let submission = submission.map(|hash| run.open.blobs.get(hash)).transpose()?;
        run.open.finish(chosen.map(|node| node.id), submission.as_deref(), why)
    }

    /// Why no more decisions are taken, if so.
    fn end(&self, tree: &Tree, clock: f64) -> Option<AgentEnd> {
        let refused = |node: &&Node| matches!(node.state, NodeState::Refused { .. });
        if tree.len() >= self.settings.steps as usize {
            Some(AgentEnd::Steps)
        } else if clock >= self.settings.seconds as f64 {
            Some(AgentEnd::Time)
        } else if tree.nodes().rev().take_while(refused).count()
            >= self.settings.most_refused as usize
        {
            Some(AgentEnd::Refused)
        } else {
            None
        }
    }

    fn progress(&self, steps: usize, clock: f64) -> Progress {
        Progress {
            steps: steps as f64 / f64::from(self.settings.steps.max(1)),
            time: clock / (self.settings.seconds.max(1) as f64),
        }
    }

    /// What the player may be shown for a decision that was just added to `tree`.
    fn known(
        &self,
        tree: &Tree,
        decision: &Decision,
        run: &SearchRun<'_>,
    ) -> Result<Known, JournalError> {
        let settings = &self.settings.operators;
        let show = |id: NodeId| -> Result<ParentView, JournalError> {
            let node = tree.node(id);
            let text = |hash: Option<&BlobHash>| {
                hash.map_or_else(|| Ok(String::new()), |hash| run.open.blobs.text(hash))
            };
            Ok(ParentView {
                code: text(node.and_then(|node| node.code.as_ref()))?,
                output: text(node.and_then(|node| node.output.as_ref()))?,
                metric: node.filter(|node| node.is_good()).and_then(|node| node.metric),
            })
        };
        let parents = decision.parents.iter().map(|&id| show(id)).collect::<Result<_, _>>()?;
        let mut failed = Vec::new();
        if settings.failed_chain && decision.operator == Operator::Debug {
            let mut at = decision.parents.first().copied();
            while let Some(id) = at.filter(|&id| tree.debug_depth(id) > 0) {
                at = tree.parent(id);
                failed.extend(at.map(show).transpose()?);
            }
            failed.reverse();
        }
        let remember = |node: &Node| MemoryEntry {
            plan: node.plan.clone(),
            result: match (&node.judged, &node.state) {
                (Some(verdict), _) => verdict.summary.clone(),
                (None, NodeState::Good) => String::new(),
                (None, _) => "it failed".to_owned(),
            },
            metric: node.metric.filter(|_| node.is_good()),
        };
        let memory = match settings.memory {
            Memory::None => Vec::new(),
            Memory::Good => tree.good().map(remember).collect(),
            Memory::Siblings => {
                let siblings =
                    decision.parents.first().map_or(tree.roots(), |&id| tree.children(id));
                siblings.iter().filter_map(|&id| tree.node(id)).map(remember).collect()
            }
        };
        let taken = u32::try_from(tree.len()).unwrap_or(u32::MAX);
        Ok(Known {
            parents,
            failed,
            memory,
            steps_left: self.settings.steps.saturating_sub(taken) + 1,
        })
    }
}
