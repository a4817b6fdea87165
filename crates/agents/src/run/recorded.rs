//! The answers of a run as the player of another, and what came out otherwise.

use super::journal::{AskFacts, Blobs};
use super::node::{BlobHash, Node, NodeId, NodeState};
use super::player::{Answer, Ask, Asked, Player, PlayerFault};
use super::state::RunState;
use super::turn::TurnFacts;
use camino::Utf8Path;
use std::collections::BTreeMap;

/// Validation scores that differ by no more than this, relative to their size, are the same.
const CLOSE: f64 = 1e-9;

/// Gives the answers that the journal of a run holds.
#[derive(Debug)]
pub struct RecordedAnswers {
    name: String,
    asked: BTreeMap<(NodeId, Asked, u32), AskFacts>,
    blobs: Blobs,
}

impl RecordedAnswers {
    /// Those of the run in `folder`, whose state is `state`.
    pub fn new(state: &RunState, folder: &Utf8Path) -> Self {
        let (name, asked) = (state.header.player.clone(), state.asked.clone());
        Self { name, asked, blobs: Blobs::new(folder) }
    }
}

/// A question that was never asked.
#[derive(Debug, thiserror::Error)]
#[error("the recorded run has no answer for {what} {node}, attempt {attempt}")]
struct NoAnswer {
    what: &'static str,
    node: NodeId,
    attempt: u32,
}

impl Player for RecordedAnswers {
    fn answered_by(&self, ask: &Ask<'_>) -> Option<String> {
        self.asked.get(&(ask.node, ask.what, ask.attempt))?.by.clone()
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        let Some(facts) = self.asked.get(&(ask.node, ask.what, ask.attempt)) else {
            let (what, node, attempt) = (ask.what.name(), ask.node, ask.attempt);
            return Err(PlayerFault::Unavailable(Box::new(NoAnswer { what, node, attempt })));
        };
        let Some(hash) = &facts.answer else {
            return Err(PlayerFault::Refused(facts.refused.clone().unwrap_or_default()));
        };
        let text =
            self.blobs.text(hash).map_err(|error| PlayerFault::Unavailable(Box::new(error)))?;
        Ok(Answer { text, finish: facts.finish, usage: facts.usage })
    }
}

/// In what a run differs from another with the same answers, a sentence each; times and memory do
/// not count. Of a run that is not over, what it has is compared.
pub fn differences(one: &RunState, other: &RunState) -> Vec<String> {
    let mut found = Vec::new();
    for (id, node) in &one.nodes {
        match other.nodes.get(id) {
            None => found.push(format!("node {id} was not reached again")),
            Some(again) => compare_nodes(node, again, &mut found),
        }
    }
    for (turn, again) in one.turns.iter().zip(&other.turns) {
        compare_turns(turn, again, &mut found);
    }
    for turn in one.turns.iter().skip(other.turns.len()) {
        found.push(format!("turn {} was not reached again", turn.number));
    }
    if let (Some(one), Some(other)) = (&one.finish, &other.finish)
        && one != other
    {
        let chosen = |chosen: Option<NodeId>| {
            chosen.map_or_else(|| "nothing".to_owned(), |node| node.to_string())
        };
        found.push(format!("{} was submitted, now {}", chosen(one.0), chosen(other.0)));
    }
    found
}

fn compare_nodes(one: &Node, other: &Node, found: &mut Vec<String>) {
    let id = one.id;
    if one.decision != other.decision {
        let name = |node: &Node| node.decision.operator.name();
        found.push(format!(
            "node {id} was a {} of {:?}, now a {} of {:?}",
            name(one),
            one.decision.parents,
            name(other),
            other.decision.parents
        ));
        return;
    }
    if one.state != other.state {
        let (one, other) = (state(&one.state), state(&other.state));
        found.push(format!("node {id} was {one}, now {other}"));
    }
    compare_values(&format!("node {id}"), (one.metric, other.metric), found);
    compare_submissions(&format!("node {id}"), (&one.submission, &other.submission), found);
}

fn compare_turns(one: &TurnFacts, other: &TurnFacts, found: &mut Vec<String>) {
    let subject = format!("turn {}", one.number);
    if (one.record.tool, &one.record.outcome) != (other.record.tool, &other.record.outcome) {
        let ended = |turn: &TurnFacts| {
            let outcome = turn.record.outcome.as_ref();
            outcome.map_or_else(|| turn.record.tool.name().to_owned(), ToString::to_string)
        };
        found.push(format!("{subject} was `{}`, now `{}`", ended(one), ended(other)));
    }
    compare_values(&subject, (one.metric, other.metric), found);
    compare_submissions(&subject, (&one.submission, &other.submission), found);
}

fn compare_values(subject: &str, values: (Option<f64>, Option<f64>), found: &mut Vec<String>) {
    let same = match values {
        (Some(one), Some(other)) => (one - other).abs() <= CLOSE * one.abs().max(1.0),
        (one, other) => one.is_none() && other.is_none(),
    };
    if !same {
        let text = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |v| v.to_string());
        found.push(format!(
            "{subject}: the validation score was {}, now {}",
            text(values.0),
            text(values.1)
        ));
    }
}

fn compare_submissions(
    subject: &str,
    hashes: (&Option<BlobHash>, &Option<BlobHash>),
    found: &mut Vec<String>,
) {
    if hashes.0 != hashes.1 {
        found.push(format!("{subject} left another submission"));
    }
}

fn state(state: &NodeState) -> String {
    match state {
        NodeState::Good => "good".to_owned(),
        NodeState::Buggy(bug) => format!("buggy ({bug:?})"),
        NodeState::Refused { .. } => "without a script".to_owned(),
    }
}
