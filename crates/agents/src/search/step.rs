//! One step of a search: a script is asked for, tried and written down.

use super::operator::{
    MemoryEntry, ParentView, Proposal, Shortening, View, judge_messages, read_script, read_verdict,
    script_messages, validation_score, verdict_schema,
};
use super::output::output_text;
use super::run::Search;
use crate::run::journal::JournalLine;
use crate::run::node::{Bug, Decision, Node, NodeId, NodeState, Operator, RunFacts, Verdict};
use crate::run::open::{Given, LeftOut, OpenRun, Undone, undone};
use crate::run::player::{Ask, Asked};
use crate::run::trial::{ScriptTrial, try_fresh};
use jail::exec::Outcome;
use llm::{Finish, Message, Role};
use sandbox::env::TrialResult;
use std::time::Duration;

/// A search that is being worked on.
pub(super) struct SearchRun<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) open: OpenRun<'a>,
}

/// What is shown for one decision.
pub(super) struct Known {
    pub(super) parents: Vec<ParentView>,
    pub(super) failed: Vec<ParentView>,
    pub(super) memory: Vec<MemoryEntry>,
    pub(super) steps_left: u32,
}

impl SearchRun<'_> {
    /// Asks for a script, tries it, and writes the node down.
    pub(super) fn carry_out(
        &self,
        id: NodeId,
        decision: &Decision,
        known: &Known,
    ) -> Result<Node, Undone> {
        let mut node = Node::empty(id, decision.clone());
        match self.ask_for_script(id, decision, known)? {
            Ok(Proposal { plan, code }) => {
                node.plan = plan;
                node.code = Some(self.open.blobs.put(code.as_bytes())?);
                self.try_script(&mut node, &code)?;
            }
            Err(reason) => node.state = NodeState::Refused { reason },
        }
        node.ended_at = self.open.clock.now();
        self.open.append(&JournalLine::Node(Box::new(node.clone())))?;
        Ok(node)
    }

    /// A script from the player, or why there is none.
    fn ask_for_script(
        &self,
        id: NodeId,
        decision: &Decision,
        known: &Known,
    ) -> Result<Result<Proposal, String>, Undone> {
        let settings = &self.search.settings.operators;
        let view = View {
            task: self.search.run.view,
            decision,
            parents: known.parents.clone(),
            failed: known.failed.clone(),
            memory: known.memory.clone(),
            rich_improve: settings.rich_improve,
            steps: self.search.settings.steps,
            steps_left: known.steps_left,
            seconds_left: self.search.settings.seconds as f64 - self.open.clock.now(),
        };
        let parents: Vec<String> = known.parents.iter().map(|parent| parent.code.clone()).collect();
        let crossover = decision.operator == Operator::Crossover;
        let mut shortening = Shortening::Nothing;
        let mut repairs: Vec<Message> = Vec::new();
        let mut reason = String::new();
        for attempt in 0..settings.tries.max(1) {
            let answer = loop {
                let mut messages = script_messages(&view, shortening);
                messages.extend(repairs.iter().cloned());
                let ask = Ask {
                    node: id,
                    what: Asked::Script(decision.operator),
                    attempt,
                    messages: &messages,
                    schema: None,
                    temperature: if crossover {
                        settings.judge_temperature
                    } else {
                        settings.temperature
                    },
                    top_p: settings.top_p,
                    max_tokens: settings.max_tokens,
                    parents: &parents,
                };
                match self.ask(&ask, shortening)? {
                    Given::Answer(answer) => break answer,
                    Given::Refused(reason) => return Ok(Err(reason)),
                    Given::TooLong(said) => match shortening.more() {
                        Some(more) => shortening = more,
                        None => return Ok(Err(said)),
                    },
                }
            };
            let problem = match read_script(&answer.text) {
                Ok(proposal) => return Ok(Ok(proposal)),
                Err(_) if answer.finish == Finish::Length => {
                    "The answer was cut because it is too long. Give a shorter script.".to_owned()
                }
                Err(unreadable) => unreadable.0,
            };
            let said = if answer.text.trim().is_empty() { "(nothing)" } else { &answer.text };
            repairs.push(Message::new(Role::Assistant, said));
            repairs.push(Message::new(Role::User, problem.clone()));
            reason = problem;
        }
        Ok(Err(reason))
    }

    /// Asks with a prompt that was shortened.
    fn ask(&self, ask: &Ask<'_>, shortening: Shortening) -> Result<Given, Undone> {
        self.open.ask(ask, LeftOut { parts: shortening.names(), turns: Vec::new() })
    }

    /// Runs the script of a node and sets what came of it.
    fn try_script(&self, node: &mut Node, code: &str) -> Result<(), Undone> {
        let search = self.search;
        let left = search.settings.seconds as f64 - self.open.clock.now();
        let limit = Duration::from_secs_f64(left.max(1.0));
        let ScriptTrial { result, cached, .. } =
            try_fresh(&search.run, code, limit).map_err(undone)?;
        let TrialResult { run, submission, validity, told, .. } = result;
        let stdout = run.stdout.text();
        let output = output_text(&run.outcome, &stdout, &run.stderr.text(), &validity, told);
        node.metric = validation_score(&stdout);
        node.output = Some(self.open.blobs.put(output.as_bytes())?);
        node.invalid = validity.err();
        node.submission = submission.map(|csv| self.open.blobs.put(&csv)).transpose()?;
        node.run = Some(RunFacts {
            outcome: run.outcome.clone(),
            wall: run.wall.as_secs_f64(),
            processor: run.cpu.as_secs_f64(),
            peak_memory: run.peak_memory,
            cached,
        });
        if search.settings.operators.judge {
            node.judged = self.judge(node.id, code, &output)?;
        }
        node.state = state(node, &run.outcome);
        Ok(())
    }

    /// A judgement of a run; `None` if the player gave none that can be read.
    fn judge(&self, id: NodeId, code: &str, output: &str) -> Result<Option<Verdict>, Undone> {
        let settings = &self.search.settings.operators;
        let schema = verdict_schema();
        let mut messages = judge_messages(code, output);
        for attempt in 0..settings.tries.max(1) {
            let ask = Ask {
                node: id,
                what: Asked::Judgement,
                attempt,
                messages: &messages,
                schema: Some(&schema),
                temperature: settings.judge_temperature,
                top_p: 1.0,
                max_tokens: 1024,
                parents: &[],
            };
            let Given::Answer(answer) = self.ask(&ask, Shortening::Nothing)? else {
                return Ok(None);
            };
            match read_verdict(&answer.text) {
                Ok(verdict) => return Ok(Some(verdict)),
                Err(unreadable) => {
                    let said =
                        if answer.text.trim().is_empty() { "(nothing)" } else { &answer.text };
                    messages.push(Message::new(Role::Assistant, said));
                    messages.push(Message::new(Role::User, unreadable.0));
                }
            }
        }
        Ok(None)
    }
}

/// What a script is good for. The line that it printed counts, whatever a judge reads in it.
fn state(node: &Node, outcome: &Outcome) -> NodeState {
    NodeState::Buggy(if !outcome.is_finished() {
        Bug::NotFinished
    } else if node.metric.is_none() {
        Bug::NoMetric
    } else if node.submission.is_none() {
        Bug::NoSubmission
    } else if node.invalid.is_some() {
        Bug::InvalidSubmission
    } else if node.judged.as_ref().is_some_and(|verdict| verdict.is_bug) {
        Bug::Judged
    } else {
        return NodeState::Good;
    })
}
