//! One step of a search: a script is asked for, tried and written down.

use super::journal::{AskFacts, Blobs, Journal, JournalLine};
use super::node::{Bug, Decision, Node, NodeId, NodeState, Operator, RunFacts, Verdict};
use super::operator::{
    MemoryEntry, ParentView, Proposal, Shortening, View, judge_messages, read_script, read_verdict,
    script_messages, validation_score, verdict_schema,
};
use super::player::{Answer, Ask, Asked, PlayerFault};
use super::run::{Search, SearchError};
use jail::exec::{Fault, Outcome};
use llm::{Finish, Message, Role, Usage};
use sandbox::env::{EpisodeFault, TrialResult, try_script};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Why a decision was not carried out.
pub(super) enum Undone {
    Paused(String),
    Failed(SearchError),
}

impl<E: Into<SearchError>> From<E> for Undone {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Active time of a run, over all of its starts.
pub(super) struct RunClock {
    pub(super) before: f64,
    pub(super) started: Instant,
}

impl RunClock {
    pub(super) fn now(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }
}

/// What the threads of a run share.
pub(super) struct SearchRun<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) journal: Mutex<Journal>,
    pub(super) blobs: Blobs,
    pub(super) clock: RunClock,
    /// Answers of an earlier start.
    pub(super) asked: BTreeMap<(NodeId, Asked, u32), AskFacts>,
}

/// What is shown for one decision.
pub(super) struct Known {
    pub(super) parents: Vec<ParentView>,
    pub(super) failed: Vec<ParentView>,
    pub(super) memory: Vec<MemoryEntry>,
    pub(super) steps_left: u32,
}

impl SearchRun<'_> {
    pub(super) fn append(&self, line: &JournalLine) -> std::io::Result<()> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).append(line)?;
        self.search.observer.line(line);
        Ok(())
    }

    /// Asks for a script, tries it, and writes the node down.
    pub(super) fn carry_out(
        &self,
        id: NodeId,
        decision: &Decision,
        known: &Known,
    ) -> Result<Node, Undone> {
        let mut node = Node {
            id,
            decision: decision.clone(),
            plan: String::new(),
            code: None,
            output: None,
            run: None,
            metric: None,
            judged: None,
            state: NodeState::Refused { reason: String::new() },
            submission: None,
            invalid: None,
            ended_at: 0.0,
        };
        match self.ask_for_script(id, decision, known)? {
            Ok(Proposal { plan, code }) => {
                node.plan = plan;
                node.code = Some(self.blobs.put(code.as_bytes())?);
                self.try_script(&mut node, &code)?;
            }
            Err(reason) => node.state = NodeState::Refused { reason },
        }
        node.ended_at = self.clock.now();
        self.append(&JournalLine::Node(Box::new(node.clone())))?;
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
            task: self.search.view,
            decision,
            parents: known.parents.clone(),
            failed: known.failed.clone(),
            memory: known.memory.clone(),
            rich_improve: settings.rich_improve,
            steps_left: known.steps_left,
            seconds_left: self.search.settings.seconds as f64 - self.clock.now(),
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

    /// Asks once, or reads the answer that an earlier start got.
    fn ask(&self, ask: &Ask<'_>, shortening: Shortening) -> Result<Given, Undone> {
        if let Some(facts) = self.asked.get(&(ask.node, ask.what, ask.attempt)) {
            return Ok(match (&facts.answer, &facts.refused) {
                (Some(hash), _) => Given::Answer(Answer {
                    text: self.blobs.text(hash)?,
                    finish: facts.finish,
                    usage: facts.usage,
                }),
                (None, refused) => Given::Refused(refused.clone().unwrap_or_default()),
            });
        }
        if self.search.stop.is_asked() {
            return Err(Undone::Paused("it was stopped".to_owned()));
        }
        let started = Instant::now();
        let answered = self.search.player.answer(ask);
        let prompt = serde_json::to_vec(ask.messages).expect("messages have string keys only");
        let mut facts = AskFacts {
            node: ask.node,
            what: ask.what,
            attempt: ask.attempt,
            prompt: self.blobs.put(&prompt)?,
            answer: None,
            refused: None,
            finish: Finish::Refusal,
            usage: Usage::default(),
            seconds: started.elapsed().as_secs_f64(),
            left_out: shortening.names(),
        };
        let given = match answered {
            Ok(answer) => {
                facts.answer = Some(self.blobs.put(answer.text.as_bytes())?);
                (facts.finish, facts.usage) = (answer.finish, answer.usage);
                Given::Answer(answer)
            }
            Err(PlayerFault::Refused(reason)) => {
                facts.refused = Some(reason.clone());
                Given::Refused(reason)
            }
            // Nothing was answered, and less will be asked: there is nothing to keep.
            Err(PlayerFault::ContextTooLong { said }) => return Ok(Given::TooLong(said)),
            Err(PlayerFault::Unavailable(source)) => {
                return Err(Undone::Paused(tasks::text::with_causes(&*source)));
            }
        };
        self.append(&JournalLine::Asked(Box::new(facts)))?;
        Ok(given)
    }

    /// Runs the script of a node and sets what came of it.
    fn try_script(&self, node: &mut Node, code: &str) -> Result<(), Undone> {
        let search = self.search;
        let left = search.settings.seconds as f64 - self.clock.now();
        let limit = Duration::from_secs_f64(left.max(1.0));
        let watch = |cancel| search.stop.watch(cancel);
        let tried = try_script(search.suite, search.task, search.config, code, limit, &watch);
        let TrialResult { run, submission, validity, told } = match tried {
            Err(EpisodeFault::Execution(Fault::Cancelled)) => {
                return Err(Undone::Paused("it was stopped".to_owned()));
            }
            tried => tried?,
        };
        let stdout = run.stdout.text();
        let output = output_text(&run.outcome, &stdout, &run.stderr.text(), &validity, told);
        node.metric = validation_score(&stdout);
        node.output = Some(self.blobs.put(output.as_bytes())?);
        node.invalid = validity.err();
        node.submission = submission.map(|csv| self.blobs.put(&csv)).transpose()?;
        node.run = Some(RunFacts {
            outcome: run.outcome.clone(),
            wall: run.wall.as_secs_f64(),
            processor: run.cpu.as_secs_f64(),
            peak_memory: run.peak_memory,
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

/// What became of a question.
enum Given {
    Answer(Answer),
    Refused(String),
    TooLong(String),
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

/// The output of a script as a player sees it.
fn output_text(
    outcome: &Outcome,
    stdout: &str,
    stderr: &str,
    validity: &Result<(), String>,
    told: Option<String>,
) -> String {
    let mut text = String::new();
    for stream in [stdout, stderr] {
        if !stream.trim_end().is_empty() {
            text.push_str(stream.trim_end());
            text.push('\n');
        }
    }
    match outcome {
        Outcome::Finished => text.push_str("[the script finished]\n"),
        outcome => drop(writeln!(text, "[the script failed: it {outcome}]")),
    }
    match (validity, told) {
        (Err(reason), _) => drop(writeln!(text, "[{reason}]")),
        (Ok(()), Some(told)) => drop(writeln!(text, "[{told}]")),
        (Ok(()), None) => text.push_str("[the submission is valid]\n"),
    }
    text
}
