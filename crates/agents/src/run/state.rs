//! The fold over a journal: what was decided, asked and found so far.

use super::header::RunHeader;
use super::journal::{AgentEnd, AskFacts, JournalError, JournalLine};
use super::knowledge::KnowledgeFacts;
use super::node::{BlobHash, Decision, Node, NodeId};
use super::player::Asked;
use super::turn::TurnFacts;
use crate::guide::guidance::DeliveredGuidance;
use crate::guide::ids::ConversationId;
use camino::Utf8Path;
use std::collections::BTreeMap;

/// The state of a run, folded from its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    /// What the run is of.
    pub header: RunHeader,
    /// What it is given of a knowledge base, of the header or of what a model was asked for.
    pub knowledge: Option<KnowledgeFacts>,
    /// Decisions in their order, each with the active seconds at which it was taken.
    pub decided: Vec<(Decision, f64)>,
    /// Nodes by number, in whatever order they came.
    pub nodes: BTreeMap<NodeId, Node>,
    /// Turns of a linear agent, in their order.
    pub turns: Vec<TurnFacts>,
    /// Answers by node or turn, kind and attempt.
    pub asked: BTreeMap<(NodeId, Asked, u32), AskFacts>,
    /// The conversation in which people may advise the run.
    pub conversation: Option<ConversationId>,
    /// Advice that was delivered, in order, with the turn after which.
    pub heard: Vec<(NodeId, DeliveredGuidance)>,
    /// Active seconds so far.
    pub clock: f64,
    /// How the run ended, if it did: the node or turn that was chosen, and why.
    pub finish: Option<(Option<NodeId>, AgentEnd)>,
}

impl RunState {
    /// Of a run that has only begun.
    pub fn new(header: RunHeader) -> Self {
        Self {
            knowledge: header.knowledge.clone(),
            header,
            decided: Vec::new(),
            nodes: BTreeMap::new(),
            turns: Vec::new(),
            asked: BTreeMap::new(),
            conversation: None,
            heard: Vec::new(),
            clock: 0.0,
            finish: None,
        }
    }

    /// Decisions of a search, or turns of a linear agent.
    pub fn steps(&self) -> usize {
        self.decided.len().max(self.turns.len())
    }

    /// The submission of a node or turn.
    pub fn submission(&self, of: NodeId) -> Option<&BlobHash> {
        let node = self.nodes.get(&of).and_then(|node| node.submission.as_ref());
        node.or_else(|| self.turns.get(of.index())?.submission.as_ref())
    }

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
        let mut state = Self::new(header);
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
            return Err("the run is over");
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
            JournalLine::Knowledge { facts, clock } => {
                if !self.decided.is_empty() || self.knowledge.is_some() {
                    return Err("knowledge is given once, before the first decision");
                }
                self.clock = self.clock.max(clock);
                self.knowledge = Some(*facts);
            }
            JournalLine::Asked(facts) => {
                let known = match facts.what {
                    Asked::Turn(_) | Asked::Summary(_) => facts.node.index() <= self.turns.len(),
                    Asked::Knowledge(_) => self.decided.is_empty(),
                    Asked::Script(_) | Asked::Judgement | Asked::AutoMind(_) => {
                        facts.node.index() < self.decided.len()
                    }
                };
                if !known {
                    return Err("a node is decided before it is asked for, a turn follows another");
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
            JournalLine::Turn(turn) => {
                if turn.number.index() != self.turns.len() {
                    return Err("turns are numbered in their order");
                }
                self.clock = self.clock.max(turn.ended_at);
                self.turns.push(*turn);
            }
            JournalLine::Guided { conversation } => {
                if self.conversation.replace(conversation).is_some() {
                    return Err("a run has one conversation");
                }
            }
            JournalLine::Heard { turn, guidance } => {
                if self.conversation.is_none() || turn.index() + 1 != self.turns.len() {
                    return Err("advice is read after a turn of a guided run");
                }
                self.heard.extend(guidance.into_iter().map(|piece| (turn, piece)));
            }
            JournalLine::Paused { clock, .. } | JournalLine::Resumed { clock, .. } => {
                self.clock = self.clock.max(clock);
            }
            JournalLine::Finish { chosen, why, clock } => {
                self.clock = self.clock.max(clock);
                self.finish = Some((chosen, why));
            }
        }
        Ok(())
    }
}
