//! The fold over a journal: what was decided, asked and found so far.

use super::header::RunHeader;
use super::journal::{AskFacts, JournalError, JournalLine, SearchEnd};
use super::node::{Decision, Node, NodeId};
use super::player::Asked;
use super::tree::Tree;
use camino::Utf8Path;
use std::collections::BTreeMap;

/// The state of a run, folded from its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    /// What the run is of.
    pub header: RunHeader,
    /// Decisions in their order, each with the active seconds at which it was taken.
    pub decided: Vec<(Decision, f64)>,
    /// Nodes by number, in whatever order they came.
    pub nodes: BTreeMap<NodeId, Node>,
    /// Answers by node, kind and attempt.
    pub asked: BTreeMap<(NodeId, Asked, u32), AskFacts>,
    /// Active seconds so far.
    pub clock: f64,
    /// How the search ended, if it did: the node that was chosen, and why.
    pub finish: Option<(Option<NodeId>, SearchEnd)>,
}

impl RunState {
    /// Folds the lines of the journal at `path`; `None` without lines.
    ///
    /// # Errors
    /// [`JournalError::NoHeader`] and [`JournalError::Order`].
    pub fn from_lines(
        path: &Utf8Path,
        lines: Vec<JournalLine>,
    ) -> Result<Option<Self>, JournalError> {
        let mut lines = lines.into_iter();
        let header = match lines.next() {
            None => return Ok(None),
            Some(JournalLine::Header(header)) => *header,
            Some(_) => return Err(JournalError::NoHeader(path.to_owned())),
        };
        let mut state = Self {
            header,
            decided: Vec::new(),
            nodes: BTreeMap::new(),
            asked: BTreeMap::new(),
            clock: 0.0,
            finish: None,
        };
        for (index, line) in lines.enumerate() {
            state.add(line).map_err(|why| JournalError::Order {
                path: path.to_owned(),
                line: index + 2,
                why,
            })?;
        }
        Ok(Some(state))
    }

    fn add(&mut self, line: JournalLine) -> Result<(), &'static str> {
        if self.finish.is_some() {
            return Err("the search is over");
        }
        match line {
            JournalLine::Header(_) => return Err("there is one header"),
            JournalLine::Decided { node, decision, clock } => {
                if node.index() != self.decided.len() {
                    return Err("decisions are numbered in their order");
                }
                if decision.parents.iter().any(|parent| *parent >= node) {
                    return Err("a parent is decided before its child");
                }
                self.decided.push((decision, clock));
                self.clock = self.clock.max(clock);
            }
            JournalLine::Asked(facts) => {
                if facts.node.index() >= self.decided.len() {
                    return Err("a node is decided before it is asked for");
                }
                self.asked.insert((facts.node, facts.what, facts.attempt), *facts);
            }
            JournalLine::Node(node) => {
                let decision = self.decided.get(node.id.index()).map(|(decision, _)| decision);
                if decision != Some(&node.decision) {
                    return Err("a node is what was decided for it");
                }
                self.clock = self.clock.max(node.ended_at);
                if self.nodes.insert(node.id, *node).is_some() {
                    return Err("a node is carried out once");
                }
            }
            JournalLine::Paused { clock, .. } | JournalLine::Resumed { clock } => {
                self.clock = self.clock.max(clock);
            }
            JournalLine::Finish { chosen, why, clock } => {
                self.clock = self.clock.max(clock);
                self.finish = Some((chosen, why));
            }
        }
        Ok(())
    }

    /// The tree of all decisions, with the nodes that are complete.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new(self.header.direction);
        for (decision, _) in &self.decided {
            tree.decide(decision.clone());
        }
        for node in self.nodes.values() {
            tree.complete(node.clone());
        }
        tree
    }
}
