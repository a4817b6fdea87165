//! Chat models that write for the data of scripts: a cheap and a dear one, at most.
//!
//! `script -> questions -> answers -> the same script, with them -> ...`
//!
//! Scripts have no network, so none is asked while a script runs. What a script asks is written down and
//! ends its run (`teacher.py`); the models are asked from here, and the script is run again from its
//! beginning. No key and no address comes near the jail.

use super::check::{ErrorClass, Rejection};
use super::fault::{FtFault, StageError};
use super::proposal::Teacher;
use super::script::{ScriptBox, ScriptRun};
use super::settings::FtLimits;
use llm::{ChatError, ChatModel, Finish, Message, Purpose, Request, Role};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use tasks::submission::MOST_BYTES;
use tasks::units::ByteSize;

/// The module that scripts import.
pub(super) const MODULE: (&str, &str) = ("teacher.py", include_str!("teacher.py"));
/// Where it leaves what was asked.
pub(super) const QUESTIONS: &str = "teacher_questions.json";
/// Where it finds the answers.
pub(super) const ANSWERS: &str = "teacher_answers.json";
/// Questions that are asked at once; an endpoint may allow fewer.
const AT_ONCE: usize = 16;

/// The models that a run has for its scripts.
#[derive(Debug, Default)]
pub struct Teachers {
    /// The cheap one, if there is one.
    pub weak: Option<TeacherModel>,
    /// The dear one, if there is one.
    pub strong: Option<TeacherModel>,
}

/// A chat model that answers what scripts ask.
pub struct TeacherModel {
    model: Box<dyn ChatModel>,
    name: String,
}

/// What a script asks, as its module writes it. It is untrusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    prompt: String,
    /// The system message; empty for none.
    system: String,
    temperature: Option<f64>,
    max_tokens: u32,
    /// Tells several answers to one question apart.
    sample: u64,
}

/// Questions and their whole answers, by the keys of their requests.
#[derive(Debug, Default)]
struct Answers(BTreeMap<String, (Question, Option<String>)>);

/// A script that is to be run.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScriptJob<'a> {
    pub(super) scripts: &'a ScriptBox,
    pub(super) script: &'a str,
    pub(super) is_debug: bool,
    pub(super) limits: &'a FtLimits,
}

/// What was asked in a run of a script, and how much of it was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// Questions.
    pub questions: usize,
    /// Whole answers.
    pub answers: usize,
}

impl Teachers {
    /// The one of a tier.
    pub(super) fn of(&self, tier: Teacher) -> Option<&TeacherModel> {
        match tier {
            Teacher::None => None,
            Teacher::Weak => self.weak.as_ref(),
            Teacher::Strong => self.strong.as_ref(),
        }
    }

    /// The tiers that a proposal may name.
    pub fn tiers(&self) -> Vec<Teacher> {
        let is_there = |tier: &Teacher| *tier == Teacher::None || self.of(*tier).is_some();
        [Teacher::None, Teacher::Weak, Teacher::Strong].into_iter().filter(is_there).collect()
    }
}

impl Asked {
    /// What a planner should know of it.
    pub(super) fn warning(self) -> Option<String> {
        let Self { questions, answers } = self;
        let missing = questions - answers;
        (missing > 0).then(|| {
            format!("the teacher gave no whole answer to {missing} of {questions} questions")
        })
    }
}

impl std::fmt::Debug for TeacherModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TeacherModel").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Answers {
    /// The file that a script finds.
    fn file(&self) -> Result<Vec<u8>, StageError> {
        let pairs: Vec<&(Question, Option<String>)> = self.0.values().collect();
        let file = serde_json::to_vec(&pairs).expect("questions have string keys only");
        if file.len() as u64 > MOST_BYTES {
            let most = ByteSize::new(MOST_BYTES);
            return Err(data(format!(
                "questions and answers are longer than {most} together; ask about fewer rows"
            )));
        }
        Ok(file)
    }

    /// Those of the questions that `teacher` was not asked yet, each once, with their requests.
    fn unanswered(
        &self,
        questions: Vec<Question>,
        teacher: &TeacherModel,
    ) -> BTreeMap<String, (Question, Request)> {
        let asked = questions.into_iter().map(|question| {
            let request = teacher.request(&question);
            (request.key(), (question, request))
        });
        asked.filter(|(key, _)| !self.0.contains_key(key)).collect()
    }

    fn count(&self) -> Asked {
        let answers = self.0.values().filter(|(_, answer)| answer.is_some()).count();
        Asked { questions: self.0.len(), answers }
    }
}

impl ScriptJob<'_> {
    /// The time of the script, with what it asks.
    fn limit(&self) -> Duration {
        if self.is_debug { self.limits.debug_data.0 } else { self.limits.data.0 }
    }

    /// The most questions of the script.
    fn questions(&self) -> usize {
        let most = if self.is_debug {
            self.limits.teacher_debug_questions
        } else {
            self.limits.teacher_questions
        };
        most as usize
    }

    /// Runs the script once, without a teacher.
    pub(super) fn run(&self) -> Result<ScriptRun, FtFault> {
        self.scripts.run(self.script, self.is_debug, self.limit(), self.limits, None)
    }
}

impl TeacherModel {
    /// Asks `model` by the provider's `name` of it.
    pub fn new(model: Box<dyn ChatModel>, name: impl Into<String>) -> Self {
        Self { model, name: name.into() }
    }

    /// Runs a script, and again with the answers to what it asks, until it asks nothing that it has no
    /// answer to. `go_on` is asked before each run and each question.
    ///
    /// # Errors
    /// A rejection if it asks too much, or what cannot be asked; the fault within if a model cannot be
    /// reached, or of `go_on`.
    pub(super) fn run(
        &self,
        job: ScriptJob<'_>,
        go_on: impl Fn() -> Result<(), FtFault> + Sync,
    ) -> Result<ScriptRun, StageError> {
        let began = Instant::now();
        let mut answers = Answers::default();
        for _ in 0..=job.limits.teacher_rounds {
            go_on()?;
            let left = job.limit().saturating_sub(began.elapsed());
            if left.is_zero() {
                let limit = job.limit().as_secs_f64();
                return Err(data(format!(
                    "the script and what it asked took longer than {limit} s; ask less"
                )));
            }
            let known = answers.file()?;
            let mut run =
                job.scripts.run(job.script, job.is_debug, left, job.limits, Some(&known))?;
            let Some(questions) = run.asks.take() else {
                run.asked = answers.count();
                return Ok(run);
            };
            let fresh = answers.unanswered(read(questions, job.limits)?, self);
            let (asked, most) = (answers.0.len() + fresh.len(), job.questions());
            if asked > most {
                let of = if job.is_debug { "a debug run" } else { "a full run" };
                return Err(data(format!(
                    "the script asks its teacher {asked} questions or more, and {of} may ask {most}; ask \
                     about fewer rows"
                )));
            }
            let requests: Vec<&Request> = fresh.values().map(|(_, request)| request).collect();
            let found = self.answer(&requests, &go_on)?;
            let fresh = fresh.into_iter().zip(found);
            answers.0.extend(fresh.map(|((key, (question, _)), text)| (key, (question, text))));
        }
        let rounds = job.limits.teacher_rounds;
        Err(data(format!(
            "the script asks its teacher in more than {rounds} rounds; give all questions of a step to one \
             call of `teacher.ask`"
        )))
    }

    fn request(&self, question: &Question) -> Request {
        let Question { prompt, system, temperature, max_tokens, sample } = question;
        let system = Some(system).filter(|it| !it.is_empty());
        let mut messages: Vec<Message> =
            system.map(|it| Message::new(Role::System, it)).into_iter().collect();
        messages.push(Message::new(Role::User, prompt));
        let request = Request::new(&self.name, messages, *max_tokens);
        Request { temperature: *temperature, sample: *sample, ..request }
    }

    /// The whole answers to these requests, in their order. Several are asked at once.
    fn answer(
        &self,
        requests: &[&Request],
        go_on: &(impl Fn() -> Result<(), FtFault> + Sync),
    ) -> Result<Vec<Option<String>>, StageError> {
        let next = AtomicUsize::new(0);
        let (sender, receiver) = channel();
        let mut found = vec![None; requests.len()];
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE.min(requests.len()) {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    let take = || {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        Some((place, requests.get(place)?))
                    };
                    while let Some((place, request)) = take() {
                        let answer = go_on().map_err(StageError::from);
                        let answer = answer.and_then(|()| self.one(request, place));
                        // The other end hangs up at the first failure.
                        if sender.send((place, answer)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            for (place, answer) in receiver {
                found[place] = answer?;
            }
            Ok(found)
        })
    }

    /// The answer to one request; none if there is no whole one.
    fn one(&self, request: &Request, place: usize) -> Result<Option<String>, StageError> {
        let purpose =
            Purpose { slot: place as u64, role: "ft-teacher".to_owned(), ..Purpose::default() };
        match self.model.complete(request, &purpose) {
            Ok(answer) => Ok((answer.finish == Finish::Stop).then_some(answer.text)),
            Err(ChatError::ContextTooLong { .. }) => Ok(None),
            Err(ChatError::Rejected { said, .. }) => {
                Err(data(format!("the provider of the teacher rejects a question: {said}")))
            }
            Err(error @ ChatError::Invalid { .. }) => {
                Err(data(format!("a question cannot be asked: {error}")))
            }
            Err(error) => Err(FtFault::from(error).into()),
        }
    }
}

/// What a script asks.
fn read(
    questions: Result<Vec<u8>, String>,
    limits: &FtLimits,
) -> Result<Vec<Question>, StageError> {
    let bad = |why: String| {
        data(format!(
            "what the script asks its teacher cannot be read: {why}; ask by `teacher.ask` alone"
        ))
    };
    let bytes = questions.map_err(bad)?;
    let questions: Vec<Question> =
        serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
    let most = limits.teacher_answer_tokens;
    if let Some(question) = questions.iter().find(|question| question.max_tokens > most) {
        let found = question.max_tokens;
        return Err(data(format!(
            "the script asks its teacher for answers of {found} tokens, and {most} are allowed; lower \
             `max_tokens`"
        )));
    }
    Ok(questions)
}

fn data(message: String) -> StageError {
    Rejection::new(ErrorClass::Data, message).into()
}
