//! Carries out a search: decides, asks, tries, and writes each event down before anything depends
//! on it.
//!
//! A run that was killed goes on: decisions are read from the journal, answers that were given are
//! not asked for again, and a script whose node is missing is run again.

use super::decide::{Decisions, NodeMaker, StepRules};
use super::operator::{MemoryEntry, ParentView};
use super::settings::{Memory, SearchSettings};
use super::step::{Known, SearchRun};
use super::tree::Tree;
use crate::run::agent::{AgentRest, AgentRun, AgentRunError};
use crate::run::node::{BlobHash, Decision, Node, NodeId, NodeState, Operator};
use crate::run::open::{OpenRun, Undone};
use serde_json::json;

/// A search on one task.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// Task, player, seed and folder.
    pub run: AgentRun<'a>,
    /// What is tried, and how it is asked for.
    pub settings: &'a SearchSettings,
}

impl Search<'_> {
    /// Begins the search, or goes on with it, until it is over or has to pause.
    ///
    /// # Errors
    /// [`AgentRunError`].
    pub fn run(&self) -> Result<AgentRest, AgentRunError> {
        let taken = self.run.take_up(json!({ "search": self.settings }))?;
        let SearchSettings { steps, seconds, workers, most_refused, .. } = *self.settings;
        let rules = StepRules {
            steps,
            seconds: seconds as f64,
            last_start: seconds as f64,
            workers,
            most_refused,
            calls: None,
        };
        let policy = self.settings.policy.policy();
        let maker = |open| SearchRun { search: self, open };
        Decisions { run: self.run, policy, rules }.carry_out(taken, maker)
    }
}

impl NodeMaker for SearchRun<'_> {
    type Known = Known;

    fn open(&self) -> &OpenRun<'_> {
        &self.open
    }

    fn make(&self, id: NodeId, decision: &Decision, known: &Known) -> Result<Node, Undone> {
        self.carry_out(id, decision, known)
    }

    fn known(&self, tree: &Tree, _: NodeId, decision: &Decision) -> Result<Known, Undone> {
        let settings = &self.search.settings.operators;
        let show = |id: NodeId| -> Result<ParentView, Undone> {
            let node = tree.node(id);
            let text = |hash: Option<&BlobHash>| {
                hash.map_or_else(|| Ok(String::new()), |hash| self.open.blobs.text(hash))
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
            steps_left: self.search.settings.steps.saturating_sub(taken) + 1,
        })
    }
}
