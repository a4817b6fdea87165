//! Asks the questions of one node, and asks again where an answer cannot be read.

use super::prompt::{BudgetLeft, Question};
use super::settings::SamplingSettings;
use crate::run::agent::TaskView;
use crate::run::job::AutoMindJob;
use crate::run::node::NodeId;
use crate::run::open::{Given, LeftOut, OpenRun, Undone};
use crate::run::player::{Ask, Asked};
use crate::search::operator::{Shortening, Unreadable};
use llm::{Finish, Message, Role};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The questions of one node. Those of a kind are counted, so that each has a key of its own in the
/// journal: what follows an answer follows from it alone, so a node that is made again asks the same
/// questions in the same order.
pub(super) struct Asker<'a> {
    pub(super) open: &'a OpenRun<'a>,
    sampling: &'a SamplingSettings,
    node: NodeId,
    left: BudgetLeft,
    asked: RefCell<BTreeMap<AutoMindJob, u32>>,
}

impl<'a> Asker<'a> {
    pub(super) fn new(
        open: &'a OpenRun<'a>,
        sampling: &'a SamplingSettings,
        node: NodeId,
        left: BudgetLeft,
    ) -> Self {
        Self { open, sampling, node, left, asked: RefCell::default() }
    }

    pub(super) fn task(&self) -> &'a TaskView {
        self.open.run.view
    }

    /// What `read` makes of an answer, or why there is none: after `repairs` more answers that cannot
    /// be read, or where the player declines.
    pub(super) fn ask<T>(
        &self,
        question: &Question,
        repairs: u32,
        mut read: impl FnMut(&str) -> Result<Result<T, Unreadable>, Undone>,
    ) -> Result<Result<T, String>, Undone> {
        let mut shortening = Shortening::Nothing;
        let mut problems: Vec<Message> = Vec::new();
        let mut reason = String::new();
        for _ in 0..=repairs {
            let answer = loop {
                let mut messages = question.messages(self.task(), self.left, shortening);
                messages.extend(problems.iter().cloned());
                match self.ask_once(question.job, &messages, shortening)? {
                    Given::Answer(answer) => break answer,
                    Given::Refused(reason) => return Ok(Err(reason)),
                    Given::TooLong(said) => match shortening.more() {
                        Some(more) => shortening = more,
                        None => return Ok(Err(said)),
                    },
                }
            };
            *self.asked.borrow_mut().entry(question.job).or_insert(0) += 1;
            let problem = match read(&answer.text)? {
                Ok(read) => return Ok(Ok(read)),
                Err(_) if answer.finish == Finish::Length => {
                    "The answer was cut because it is too long. Give a shorter one.".to_owned()
                }
                Err(unreadable) => unreadable.0,
            };
            let said = if answer.text.trim().is_empty() { "(nothing)" } else { &answer.text };
            problems.push(Message::new(Role::Assistant, said));
            problems.push(Message::new(Role::User, problem.clone()));
            reason = problem;
        }
        Ok(Err(reason))
    }

    /// As [`Asker::ask`] with the usual number of repairs.
    pub(super) fn ask_for<T>(
        &self,
        question: &Question,
        read: impl Fn(&str) -> Result<T, Unreadable>,
    ) -> Result<Result<T, String>, Undone> {
        self.ask(question, self.sampling.repairs, |text| Ok(read(text)))
    }

    fn ask_once(
        &self,
        job: AutoMindJob,
        messages: &[Message],
        shortening: Shortening,
    ) -> Result<Given, Undone> {
        let SamplingSettings { temperature, judge_temperature, top_p, max_tokens, .. } =
            *self.sampling;
        let ask = Ask {
            node: self.node,
            what: Asked::AutoMind(job),
            attempt: self.asked.borrow().get(&job).copied().unwrap_or(0),
            messages,
            schema: None,
            temperature: if job.judges() { judge_temperature } else { temperature },
            top_p,
            max_tokens,
            parents: &[],
        };
        self.open.ask(&ask, LeftOut { parts: shortening.names(), turns: Vec::new() })
    }
}
