//! Carries out a linear agent's run: asks for a turn, carries it out, and writes each event down
//! before anything depends on it.

use super::conversation::{LinearConversation, PastTurn};
use super::guidance::guided_opening;
use super::mle_agent::MleAgentTurns;
use super::react::ReactTurns;
use super::record::{FinishedTurns, trajectory};
use super::settings::{LinearSettings, LongConversation};
use super::summary::{PastSummary, TRIES};
use super::turn::{Counts, EarlierTurn, TurnForm, TurnResult};
use crate::guide::channel::GuideLink;
use crate::guide::defuse::defused;
use crate::guide::guidance::DeliveredGuidance;
use crate::guide::guided_run::{GuidedRun, Interrupted};
use crate::guide::ids::ConversationId;
use crate::guide::turn::{End, Opening, TurnReport};
use crate::run::agent::{AgentRest, AgentRun, AgentRunError, TakenUp};
use crate::run::header::RunHeader;
use crate::run::journal::{AgentEnd, JournalError, JournalLine};
use crate::run::node::{BlobHash, NodeId};
use crate::run::open::{Given, LeftOut, OpenRun, Undone, undone};
use crate::run::player::{Ask, Asked, LinearAgent};
use crate::run::turn::TurnFacts;
use camino::Utf8Path;
use llm::{Message, Role};
use sandbox::env::{EpisodeFault, EpisodeResult, grade_submission};
use serde_json::json;
use std::borrow::Cow;
use std::time::Duration;
use tasks::files;

/// The file in the folder of a run that is over which holds its conversation, for training.
pub const TRAJECTORY: &str = "trajectory.jsonl";
/// The key of a header's settings that holds those of a linear agent.
pub(super) const SECTION: &str = "linear";

/// A linear agent on one task.
#[derive(Debug, Clone, Copy)]
pub struct Linear<'a> {
    /// Task, player, seed and folder.
    pub run: AgentRun<'a>,
    /// Its form, its budget and its context.
    pub settings: &'a LinearSettings,
}

/// What earlier starts left.
struct Earlier {
    header: RunHeader,
    facts: Vec<TurnFacts>,
    /// The answer of each turn.
    answers: Vec<String>,
    /// What each turn was not shown.
    left_out: Vec<Vec<NodeId>>,
    /// Summaries that were written, in order.
    summaries: Vec<PastSummary>,
    /// Advice, with the turn after which it was delivered.
    heard: Vec<(NodeId, DeliveredGuidance)>,
    /// The conversation in which people advise it.
    conversation: Option<ConversationId>,
    clock: f64,
}

impl Linear<'_> {
    /// Begins the run, or goes on with it, until it is over or has to pause.
    ///
    /// # Errors
    /// [`AgentRunError`].
    pub fn run(&self) -> Result<AgentRest, AgentRunError> {
        let link = self.run.guide.link();
        let settings = json!({ SECTION: self.settings });
        let taken = self.run.take_up_guided(settings, link.is_some())?;
        if let Some((chosen, why)) = taken.state.finish {
            return Ok(AgentRest::Finished { chosen, why });
        }
        let (earlier, is_old) = (self.earlier(&taken)?, taken.is_old);
        let form = self.take_up(&earlier);
        // The time that it took to run scripts again does not count.
        let open = OpenRun::new(self.run, taken);
        let (form, changed) = match form {
            Ok(taken_up) => taken_up,
            Err(fault) => return open.rest(undone(fault)),
        };
        if is_old {
            open.append(&JournalLine::Resumed { clock: earlier.clock, changed })?;
        }
        let (mut opening, mut guide) = (form.opening()?, None);
        if let Some(link) = link {
            opening = guided_opening(opening);
            guide = Some(self.guided_run(link, &open, &earlier, &opening)?);
        }
        let conversation = LinearConversation::new(self.settings.agent, opening);
        let mut turns = Turns {
            linear: self,
            open: &open,
            form,
            conversation,
            earlier,
            guide,
            summary_tries: 0,
        };
        turns.restore()?;
        match turns.take() {
            Ok(why) => match turns.finish(why) {
                Ok(rest) => Ok(rest),
                Err(undone) => open.rest(undone),
            },
            Err(undone) => open.rest(undone),
        }
    }

    fn asked(&self) -> Asked {
        Asked::Turn(self.settings.agent)
    }

    fn earlier(&self, taken: &TakenUp) -> Result<Earlier, JournalError> {
        let state = &taken.state;
        let (mut answers, mut left_out) = (Vec::new(), Vec::new());
        for turn in &state.turns {
            let what = self.asked();
            let (first, last) = ((turn.number, what, 0), (turn.number, what, u32::MAX));
            let asked = state.asked.range(first..=last).next_back().map(|(_, asked)| asked);
            let answer = asked.and_then(|asked| asked.answer.as_ref());
            answers.push(answer.map_or_else(|| Ok(String::new()), |hash| taken.blobs.text(hash))?);
            left_out.push(asked.map(|asked| asked.left_out_turns.clone()).unwrap_or_default());
        }
        Ok(Earlier {
            header: state.header.clone(),
            facts: state.turns.clone(),
            answers,
            left_out,
            summaries: summaries(taken)?,
            heard: state.heard.clone(),
            conversation: state.conversation.clone(),
            clock: state.clock,
        })
    }

    /// The run's end of the conversation in which people advise it, whose name is written down first.
    fn guided_run(
        &self,
        link: GuideLink,
        open: &OpenRun<'_>,
        earlier: &Earlier,
        prompt: &[Message],
    ) -> Result<GuidedRun, AgentRunError> {
        let id = if let Some(id) = &earlier.conversation {
            id.clone()
        } else {
            let conversation = ConversationId::draw().map_err(AgentRunError::Guide)?;
            open.append(&JournalLine::Guided { conversation: conversation.clone() })?;
            conversation
        };
        let RunHeader { task, scaffold, player, seed, feedback, .. } = &earlier.header;
        let opening = Opening {
            task: task.clone(),
            agent: format!("{scaffold}/{player}"),
            attempt: *seed,
            turns: self.settings.turns,
            seconds: self.settings.seconds,
            feedback: Some(*feedback),
            prompt: prompt.to_vec(),
        };
        let heard = earlier.heard.iter().map(|(_, piece)| (piece.id.clone(), piece.seq));
        Ok(GuidedRun::new(link, id, opening, heard))
    }

    /// The work of the agent as the earlier turns left it, and the turns that came out otherwise.
    fn take_up(
        &self,
        earlier: &Earlier,
    ) -> Result<(Box<dyn TurnForm + '_>, Vec<NodeId>), EpisodeFault> {
        let mut form = turn_form(self.run, self.settings)?;
        let mut changed = Vec::new();
        for (facts, answer) in earlier.facts.iter().zip(&earlier.answers) {
            if !form.take_again(&EarlierTurn { answer, facts })? {
                changed.push(facts.number);
            }
        }
        form.set_elapsed(Duration::from_secs_f64(earlier.clock));
        Ok((form, changed))
    }
}

/// The summaries of earlier starts, in order.
fn summaries(taken: &TakenUp) -> Result<Vec<PastSummary>, JournalError> {
    let mut summaries = Vec::new();
    for ((node, what, _), asked) in &taken.state.asked {
        let (Asked::Summary(_), Some(answer)) = (what, &asked.answer) else { continue };
        let text = taken.blobs.text(answer)?;
        if text.trim().is_empty() {
            continue;
        }
        let before = node.index();
        let replaces = shown_besides(&asked.left_out_turns, before);
        summaries.push(PastSummary { before, replaces, text });
    }
    Ok(summaries)
}

/// The turns before the turn `before` without those that a question hid.
fn shown_besides(hidden: &[NodeId], before: usize) -> Vec<usize> {
    let hidden: Vec<usize> = hidden.iter().map(|turn| turn.index()).collect();
    (0..before).filter(|turn| !hidden.contains(turn)).collect()
}

/// The work of an agent that has taken no turn.
pub(super) fn turn_form<'a>(
    run: AgentRun<'a>,
    settings: &'a LinearSettings,
) -> Result<Box<dyn TurnForm + 'a>, EpisodeFault> {
    Ok(match settings.agent {
        LinearAgent::React => Box::new(ReactTurns::start(run, settings)?),
        LinearAgent::MleAgent => Box::new(MleAgentTurns::start(run, settings)),
    })
}

/// The grade of a run that ends with this submission.
pub(super) fn graded(
    run: AgentRun<'_>,
    submission: Option<&[u8]>,
) -> Result<EpisodeResult, EpisodeFault> {
    let Some(bytes) = submission else {
        return Ok(EpisodeResult {
            grade: None,
            refusal: Some("there is no submission".to_owned()),
        });
    };
    Ok(match grade_submission(run.suite, run.task, run.config, bytes)? {
        Ok(grade) => EpisodeResult { grade: Some(grade), refusal: None },
        Err(refusal) => EpisodeResult { grade: None, refusal: Some(refusal) },
    })
}

/// A run whose turns are being taken.
struct Turns<'a> {
    linear: &'a Linear<'a>,
    open: &'a OpenRun<'a>,
    form: Box<dyn TurnForm + 'a>,
    conversation: LinearConversation,
    earlier: Earlier,
    /// Of a guided run.
    guide: Option<GuidedRun>,
    /// How often a summary was asked for before the next turn.
    summary_tries: u32,
}

/// A run that cannot go on without its guide, for now.
fn interrupted(why: Interrupted) -> Undone {
    match why {
        Interrupted::Journal(error) => error.into(),
        Interrupted::Stopped | Interrupted::NoGuide(_) => Undone::Paused(why.to_string()),
    }
}

impl Turns<'_> {
    /// Puts the earlier turns into the conversation.
    fn restore(&mut self) -> Result<(), JournalError> {
        for (facts, answer) in self.earlier.facts.iter().zip(&self.earlier.answers) {
            let Some(reply) = &facts.reply else { continue };
            let code = facts.code.as_ref().map(|hash| self.open.blobs.text(hash)).transpose()?;
            self.conversation.turns.push(PastTurn {
                answer: answer.clone(),
                reply: self.open.blobs.text(reply)?,
                failed: facts.record.failed(),
                script: code.map(|code| (code, facts.metric)),
                heard: Vec::new(),
            });
        }
        for (turn, piece) in &self.earlier.heard {
            self.conversation.turns[turn.index()].heard.push(piece.clone());
        }
        if let Some(left_out) = self.earlier.left_out.last() {
            self.conversation.leave_out(left_out.iter().map(|turn| turn.index()));
        }
        // Those before a turn that was not asked for yet are asked for again, and the journal answers.
        let number = self.number();
        let was_asked = self.open.left_out_turns(number, self.linear.asked()).is_some();
        for summary in std::mem::take(&mut self.earlier.summaries) {
            if summary.before < number.index() || was_asked {
                self.conversation.take_summary(summary);
            }
        }
        Ok(())
    }

    /// Takes turns until the run is over; returns why it is.
    fn take(&mut self) -> Result<AgentEnd, Undone> {
        let settings = self.linear.settings;
        // A run that was killed after its last turn, and before its end was written down.
        if self.earlier.facts.last().is_some_and(|turn| turn.reply.is_none()) {
            return Ok(self.end_of_last());
        }
        loop {
            if self.earlier.facts.len() >= settings.turns as usize {
                return Ok(AgentEnd::Steps);
            }
            if self.open.clock.now() >= settings.seconds as f64 {
                return Ok(AgentEnd::Time);
            }
            self.listen()?;
            self.summary_tries = 0;
            if let Some(why) = self.shorten()? {
                return Ok(why);
            }
            let (answer, result) = match self.turn()? {
                Ok(taken) => taken,
                Err(why) => return Ok(why),
            };
            if let Some(why) = self.write_down(answer, result)? {
                return Ok(why);
            }
        }
    }

    fn number(&self) -> NodeId {
        NodeId(u32::try_from(self.earlier.facts.len()).expect("fewer than 2^32 turns"))
    }

    /// Tells the last turn in the conversation of a guided run, and takes down what is advised.
    fn listen(&mut self) -> Result<(), Undone> {
        let next = self.number();
        // A question that was asked before the run was killed stays as it was asked.
        if self.open.left_out_turns(next, self.linear.asked()).is_some() {
            return Ok(());
        }
        let Some(mut guide) = self.guide.take() else { return Ok(()) };
        let told = |turn| self.report(turn);
        let is_stopped = || self.open.run.stop.is_asked();
        let heard = match next.0.checked_sub(1) {
            None => guide.begin(&is_stopped).map(|()| Vec::new()),
            Some(turn) => guide.listen(turn, &told, &is_stopped),
        };
        if let Ok(guidance) = &heard
            && !guidance.is_empty()
        {
            let turn = NodeId(next.0 - 1);
            self.open.append(&JournalLine::Heard { turn, guidance: guidance.clone() })?;
            guide.wrote_down(guidance);
            self.conversation.turns[turn.index()].heard.extend(guidance.iter().cloned());
        }
        self.guide = Some(guide);
        heard.map(drop).map_err(interrupted)
    }

    /// A turn as it is told to people.
    fn report(&self, turn: u32) -> Result<TurnReport, JournalError> {
        let (facts, number) = (&self.earlier.facts[turn as usize], turn as usize);
        let reply = facts.reply.as_ref().map(|hash| self.open.blobs.text(hash)).transpose()?;
        let left_out = self.earlier.left_out[number].iter().map(|turn| turn.0).collect();
        let summaries = self.conversation.summaries.iter();
        let summaries = summaries.filter(|summary| summary.before == number);
        Ok(TurnReport {
            summaries: summaries.map(PastSummary::told).collect(),
            ..TurnReport::new(&self.earlier.answers[number], reply, facts.record.clone(), left_out)
        })
    }

    /// Leaves out what the next question does not show; the run is over if it must not.
    fn shorten(&mut self) -> Result<Option<AgentEnd>, Undone> {
        let LinearSettings { overflow, input_tokens, recent, .. } = *self.linear.settings;
        if let Some(known) = self.open.left_out_turns(self.number(), self.linear.asked()) {
            self.conversation.leave_out(known.iter().map(|turn| turn.index()));
            return Ok(None);
        }
        if recent > 0 {
            self.conversation.keep_recent(recent as usize);
        }
        let room = if input_tokens > 0 { input_tokens as usize } else { usize::MAX };
        while self.conversation.tokens() > room {
            match overflow {
                LongConversation::End => return Ok(Some(AgentEnd::Context)),
                LongConversation::Drop => {
                    self.conversation.fit(room);
                    break;
                }
                LongConversation::Summarise => {
                    if let Some(why) = self.summarise()? {
                        return Ok(Some(why));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Has the older half of the turns that are shown make way for a summary; returns why the run is over
    /// if that cannot be.
    fn summarise(&mut self) -> Result<Option<AgentEnd>, Undone> {
        let mut replaces = self.conversation.older_half();
        let what = Asked::Summary(self.linear.settings.agent);
        while !replaces.is_empty() && self.summary_tries < TRIES {
            // A question that was asked before the run was killed stays as it was asked.
            if let Some(hidden) = self.open.left_out_of(self.number(), what, self.summary_tries) {
                replaces = shown_besides(hidden, self.number().index());
            }
            let (messages, hidden) = self.conversation.summary_question(&replaces);
            match self.ask(what, self.summary_tries, &messages, hidden)? {
                Given::Answer(answer) => {
                    self.summary_tries += 1;
                    if !answer.text.trim().is_empty() {
                        let before = self.conversation.turns.len();
                        let summary = PastSummary { before, replaces, text: answer.text };
                        self.conversation.take_summary(summary);
                        return Ok(None);
                    }
                }
                Given::Refused(_) => return Ok(Some(AgentEnd::Refused)),
                Given::TooLong(_) => replaces.truncate(replaces.len() / 2),
            }
        }
        Ok(Some(AgentEnd::Context))
    }

    /// Asks for a turn and carries it out; `Err` if the run is over.
    fn turn(&mut self) -> Result<Result<(String, TurnResult), AgentEnd>, Undone> {
        let settings = self.linear.settings;
        let repairs = match settings.agent {
            LinearAgent::React => 0,
            LinearAgent::MleAgent => settings.repairs,
        };
        let mut problems: Vec<Message> = Vec::new();
        let mut attempt = 0;
        loop {
            let mut messages = self.conversation.messages();
            messages.extend(problems.iter().cloned());
            let hidden = self.conversation.left_out();
            let answer = match self.ask(self.linear.asked(), attempt, &messages, hidden)? {
                Given::Answer(answer) => answer,
                Given::Refused(_) => return Ok(Err(AgentEnd::Refused)),
                Given::TooLong(_) => match settings.overflow {
                    LongConversation::End => return Ok(Err(AgentEnd::Context)),
                    LongConversation::Drop => {
                        // What the model takes is not known, only that it is less than this.
                        let room = self.conversation.tokens() * 3 / 4;
                        if self.conversation.fit(room) {
                            continue;
                        }
                        return Ok(Err(AgentEnd::Context));
                    }
                    LongConversation::Summarise => match self.summarise()? {
                        None => continue,
                        Some(why) => return Ok(Err(why)),
                    },
                },
            };
            match self.form.take(&answer.text, attempt == repairs).map_err(undone)? {
                Ok(result) => return Ok(Ok((answer.text, result))),
                Err(problem) => {
                    let said = if answer.text.trim().is_empty() {
                        "(nothing)".to_owned()
                    } else {
                        answer.text
                    };
                    problems.push(Message::new(Role::Assistant, said));
                    problems.push(Message::new(Role::User, problem));
                    attempt += 1;
                }
            }
        }
    }

    /// Asks with `messages`, which do not show the turns `hidden`.
    fn ask(
        &self,
        what: Asked,
        attempt: u32,
        messages: &[Message],
        hidden: Vec<NodeId>,
    ) -> Result<Given, Undone> {
        let LinearSettings { temperature, top_p, max_tokens, .. } = *self.linear.settings;
        let best = self.conversation.best_script(self.linear.run.view.direction);
        let best: Vec<String> = best.map(str::to_owned).into_iter().collect();
        let ask = Ask {
            node: self.number(),
            what,
            attempt,
            messages,
            schema: None,
            temperature,
            top_p,
            max_tokens,
            parents: &best,
        };
        self.open.ask(&ask, LeftOut { parts: Vec::new(), turns: hidden })
    }

    /// Writes a turn down and adds it to the conversation; returns why the run is over, if it is.
    fn write_down(
        &mut self,
        answer: String,
        result: TurnResult,
    ) -> Result<Option<AgentEnd>, Undone> {
        let TurnResult { record, code, metric, mut reply, counts, score } = result;
        // Scripts must not speak as a person to an agent that does what a person says.
        if let (Some(_), Ok(reply)) = (&self.guide, &mut reply)
            && let Cow::Owned(text) = defused(reply)
        {
            *reply = text;
        }
        let blobs = &self.open.blobs;
        let before = self.earlier.facts.last().and_then(|turn| turn.submission.clone());
        let facts = TurnFacts {
            number: self.number(),
            record,
            code: code.as_ref().map(|code| blobs.put(code.as_bytes())).transpose()?,
            reply: reply.as_ref().ok().map(|reply| blobs.put(reply.as_bytes())).transpose()?,
            metric,
            submission: match counts {
                Counts::AsBefore => before,
                Counts::Nothing => None,
                Counts::Submission(bytes) => Some(blobs.put(&bytes)?),
            },
            score,
            ended_at: self.open.clock.now(),
        };
        self.open.append(&JournalLine::Turn(Box::new(facts.clone())))?;
        self.earlier.left_out.push(self.conversation.left_out());
        self.earlier.answers.push(answer.clone());
        let failed = facts.record.failed();
        self.earlier.facts.push(facts);
        match reply {
            Err(why) => Ok(Some(why)),
            Ok(reply) => {
                let script = code.map(|code| (code, metric));
                let heard = Vec::new();
                self.conversation.turns.push(PastTurn { answer, reply, failed, script, heard });
                Ok(None)
            }
        }
    }

    /// Why the last turn of an earlier start ended the run.
    fn end_of_last(&self) -> AgentEnd {
        let last = self.earlier.facts.last();
        if last.is_some_and(|turn| turn.record.tool == crate::trajectory::Tool::Answer) {
            AgentEnd::Answered
        } else if self.earlier.facts.len() >= self.linear.settings.turns as usize {
            AgentEnd::Steps
        } else {
            AgentEnd::Time
        }
    }

    /// Writes down the end, with the submission that counts and the trajectory.
    fn finish(&mut self, why: AgentEnd) -> Result<AgentRest, Undone> {
        let mut guide = self.guide.take();
        let Self { open, earlier, conversation, linear, .. } = &*self;
        let last = earlier.facts.last();
        let submission = last.and_then(|turn| turn.submission.as_ref());
        let bytes = submission.map(|hash: &BlobHash| open.blobs.get(hash)).transpose()?;
        let folder = linear.run.folder;
        let result = graded(linear.run, bytes.as_deref())?;
        if let Some(guide) = &mut guide {
            let EpisodeResult { grade, refusal } = result.clone();
            let end = End { ending: why.name(), grade, refusal };
            let told = |turn| self.report(turn);
            let is_stopped = || open.run.stop.is_asked();
            guide.finish(self.number().0, &end, &told, &is_stopped).map_err(interrupted)?;
        }
        let ended = last.is_some_and(|turn| turn.reply.is_none());
        let trajectory = trajectory(FinishedTurns {
            header: &earlier.header,
            conversation,
            last: earlier.answers.last().filter(|_| ended).map(String::as_str),
            records: earlier.facts.iter().map(|turn| turn.record.clone()).collect(),
            left_out: &earlier.left_out,
            why,
            result,
        });
        if let Some(trajectory) = trajectory {
            write_line(&folder.join(TRAJECTORY), &trajectory)?;
        }
        let chosen = last.filter(|turn| turn.submission.is_some()).map(|turn| turn.number);
        Ok(open.finish(chosen, bytes.as_deref(), why)?)
    }
}

fn write_line(path: &Utf8Path, value: &impl serde::Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    files::write_atomic(path, &line)
}
