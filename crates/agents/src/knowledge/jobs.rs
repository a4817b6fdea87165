//! Questions to a chat model that are answered with one JSON object: prompts, repairs, fences.
//!
//! A prompt begins with a line `job: NAME`, by which doubles and logs tell jobs apart. What comes from
//! outside stands between fences that are longer than any within it, so that it cannot end them.

use llm::{ChatError, ChatModel, Message, Purpose, Request, Role, schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};
use std::sync::Arc;

/// Answers to one question after the first, each to a message that says what is wrong.
const REPAIRS: u32 = 2;
/// Most tokens of an answer.
const ANSWER_TOKENS: u32 = 4096;

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// The labels of a task or a post.
    Label,
    /// Whether two descriptions are of one competition or of the same data.
    SameTask,
    /// Tricks from solutions.
    Distil,
    /// Those of the tricks that apply to a task.
    Fit,
    /// What published methods are asked for.
    Queries,
}

impl Job {
    /// Its name in prompts and in the record of calls.
    pub fn name(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::SameTask => "same_task",
            Self::Distil => "distil",
            Self::Fit => "fit",
            Self::Queries => "queries",
        }
    }

    fn template(self) -> &'static str {
        match self {
            Self::Label => include_str!("../../prompts/automind/label.md"),
            Self::SameTask => include_str!("../../prompts/automind/same_task.md"),
            Self::Distil => include_str!("../../prompts/automind/distil.md"),
            Self::Fit => include_str!("../../prompts/automind/fit.md"),
            Self::Queries => include_str!("../../prompts/automind/queries.md"),
        }
    }

    /// The prompt, with a text for each `{name}`. What the texts hold is not looked at.
    ///
    /// # Panics
    /// If the prompt has no such name.
    pub(super) fn prompt(self, texts: &[(&str, &str)]) -> String {
        let mut prompt = String::new();
        let mut rest = self.template();
        loop {
            let places = texts.iter().filter_map(|(name, text)| {
                let place = format!("{{{name}}}");
                rest.find(&place).map(|at| (at, place.len(), *text))
            });
            let Some((at, length, text)) = places.min() else { break };
            prompt.push_str(&rest[..at]);
            prompt.push_str(text);
            rest = &rest[at + length..];
        }
        prompt.push_str(rest);
        prompt
    }
}

/// Why nobody answers now. What is not asked is not known, and the caller waits or stops.
#[derive(Debug, thiserror::Error)]
#[error("the model does not answer")]
pub struct JobFault(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Answers jobs. Any number of threads may share one.
pub trait JobModel: Debug + Send + Sync {
    /// The text of an answer to a conversation, whose last message is the user's. `sample` tells answers
    /// to one question apart. An answer that was cut or declined is an empty text.
    ///
    /// # Errors
    /// [`JobFault`].
    fn answer(&self, job: Job, messages: &[Message], sample: u64) -> Result<String, JobFault>;
}

/// A chat model that answers jobs.
#[derive(Clone)]
pub struct ChatJobs {
    chat: Arc<dyn ChatModel>,
    model: String,
    run: u64,
}

impl ChatJobs {
    /// The model that its provider calls `model`, for the run of number `run`.
    pub fn new(chat: Arc<dyn ChatModel>, model: impl Into<String>, run: u64) -> Self {
        Self { chat, model: model.into(), run }
    }
}

impl Debug for ChatJobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, run, .. } = self;
        f.debug_struct("ChatJobs").field("model", model).field("run", run).finish_non_exhaustive()
    }
}

impl JobModel for ChatJobs {
    fn answer(&self, job: Job, messages: &[Message], sample: u64) -> Result<String, JobFault> {
        let request = Request {
            // Votes are to differ; judgements are not.
            temperature: Some(if job == Job::Label { 0.5 } else { 0.0 }),
            sample: (self.run << 32) | sample,
            ..Request::new(&self.model, messages.to_vec(), ANSWER_TOKENS)
        };
        let purpose = Purpose {
            slot: self.run,
            role: job.name().to_owned(),
            attempt: u32::try_from(sample).unwrap_or(u32::MAX),
            repair: u32::try_from(messages.len() / 2).unwrap_or(u32::MAX),
        };
        match self.chat.complete(&request, &purpose) {
            Ok(completion) => Ok(completion.finished().map(|whole| whole.text).unwrap_or_default()),
            Err(
                ChatError::Refused { .. }
                | ChatError::Rejected { .. }
                | ChatError::ContextTooLong { .. },
            ) => Ok(String::new()),
            Err(error) => Err(JobFault(Box::new(error))),
        }
    }
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    /// No answer was of the form that is asked for.
    #[error("no answer could be understood: {what}")]
    Unreadable {
        /// What is wrong with the last one.
        what: String,
    },
    /// Nobody answers.
    #[error(transparent)]
    Fault(#[from] JobFault),
}

/// Asks for one JSON object. What is wrong with an answer, also by `check`, goes back as a message, twice
/// at most.
pub(super) fn ask<T: DeserializeOwned>(
    model: &dyn JobModel,
    job: Job,
    prompt: &str,
    sample: u64,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<T, AskError> {
    let mut messages = vec![Message::new(Role::User, prompt)];
    let mut wrong = String::new();
    for _ in 0..=REPAIRS {
        let answer = model.answer(job, &messages, sample)?;
        let read = schema::parse::<T>(&answer).map_err(|error| error.to_string());
        match read.and_then(|read| check(&read).map(|()| read)) {
            Ok(read) => return Ok(read),
            Err(what) => wrong = what,
        }
        let answer = if answer.trim().is_empty() { "(no answer)".to_owned() } else { answer };
        messages.push(Message::new(Role::Assistant, answer));
        let repair = format!("That cannot be used: {wrong}. Answer with the JSON object alone.");
        messages.push(Message::new(Role::User, repair));
    }
    Err(AskError::Unreadable { what: wrong })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::fixture::ScriptedModel;
    use llm::Replay;

    #[test]
    fn every_prompt_begins_with_its_job() {
        for job in [Job::Label, Job::SameTask, Job::Distil, Job::Fit, Job::Queries] {
            let template = job.template();
            assert_eq!(template.lines().next(), Some(format!("job: {}", job.name()).as_str()));
            assert!(template.contains("JSON"), "{}", job.name());
        }
        // A text that names a place is not filled in.
        let prompt = Job::SameTask.prompt(&[("task", "{post} here"), ("post", "there")]);
        assert!(prompt.contains("{post} here") && prompt.contains("there"));
        assert!(!prompt.contains("{task}"));
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Number {
        n: u32,
    }

    #[test]
    fn wrong_answers_go_back_twice() {
        let small =
            |number: &Number| if number.n < 5 { Ok(()) } else { Err("n is too large".into()) };
        let ask = |answers: &[&str]| {
            let model = ScriptedModel::new(answers);
            let answer = ask::<Number>(&model, Job::Fit, "job: fit", 0, small);
            (answer.map(|number| number.n).map_err(|error| error.to_string()), model.last())
        };
        let (answer, conversation) = ask(&["x", r#"{"n": 9}"#, r#"{"n": 3}"#]);
        assert_eq!(answer, Ok(3));
        let said: Vec<&str> = conversation.iter().map(|message| message.content.as_str()).collect();
        assert_eq!(said.len(), 5);
        assert!(said[2].contains("no JSON object") && said[4].contains("n is too large"));
        let (answer, _) = ask(&["", "", ""]);
        assert!(answer.unwrap_err().contains("no JSON object"));
    }

    #[test]
    fn model_that_is_down_is_a_fault_and_not_an_answer() {
        let jobs = ChatJobs::new(Arc::new(Replay::default()), "m", 0);
        let asked = ask::<Number>(&jobs, Job::Label, "job: label", 0, |_| Ok(()));
        assert!(matches!(asked, Err(AskError::Fault(_))));
    }
}
