//! A planner that asks a chat model.
//!
//! Every answer is read strictly ([`read_answer`], [`read_block`]). One that cannot be read goes back
//! with the reason, a few times; then the experiment ends as one of the planner's.

use super::answer::{read_answer, read_block};
use super::check::{Check, ErrorClass, Rejection};
use super::diagnosis::Diagnosis;
use super::experiment::{Experiment, ExperimentOutcome};
use super::fault::{FtFault, StageError};
use super::form::FormExample;
use super::planner::{Briefing, Opinion, Planner, Revision};
use super::proposal::{Proposal, Teacher};
use crate::dojo::{Content, DatasetInfo};
use llm::{ChatModel, Message, Purpose, Request, Role};
use serde_json::{Value, json};
use tasks::json::sorted;

/// Characters of a source's page that are shown.
const README: usize = 2_000;
/// Characters of a row that are shown.
const ROW: usize = 600;
/// Public items that are shown, one of each system message first.
const EXAMPLES: usize = 5;

/// A planner that asks a model.
pub struct ModelPlanner<'m> {
    model: &'m dyn ChatModel,
    name: String,
    max_tokens: u32,
    repairs: u32,
    asked: u64,
}

impl std::fmt::Debug for ModelPlanner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelPlanner").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'m> ModelPlanner<'m> {
    /// Asks `model` by the provider's `name` of it. An answer has at most `max_tokens` tokens, and is
    /// asked for again at most `repairs` times.
    pub fn new(
        model: &'m dyn ChatModel,
        name: impl Into<String>,
        max_tokens: u32,
        repairs: u32,
    ) -> Self {
        Self { model, name: name.into(), max_tokens, repairs, asked: 0 }
    }

    /// Asks until an answer can be read.
    fn ask<T>(
        &mut self,
        role: &str,
        system: &str,
        shown: Value,
        read: impl Fn(&str) -> Result<T, Rejection>,
    ) -> Result<T, StageError> {
        let shown = serde_json::to_string_pretty(&sorted(shown)).unwrap_or_default();
        let mut messages =
            vec![Message::new(Role::System, system), Message::new(Role::User, shown)];
        let slot = self.asked;
        self.asked += 1;
        let mut repair = 0;
        loop {
            let request = Request::new(self.name.clone(), messages.clone(), self.max_tokens);
            let purpose = Purpose { slot, role: format!("ft-{role}"), attempt: 0, repair };
            let answer = self.model.complete(&request, &purpose).map_err(FtFault::from)?;
            let rejection = match read(&answer.text) {
                Ok(found) => return Ok(found),
                Err(rejection) => rejection,
            };
            if repair >= self.repairs {
                let tries = repair + 1;
                let message = format!("no answer of {tries} could be read; the last: {rejection}");
                return Err(Rejection::new(ErrorClass::Planner, message).into());
            }
            repair += 1;
            messages.push(Message::new(Role::Assistant, answer.text));
            messages.push(Message::new(Role::User, format!("{rejection}\nAnswer again.")));
        }
    }
}

impl Planner for ModelPlanner<'_> {
    fn propose(&mut self, briefing: &Briefing<'_>) -> Result<Proposal, StageError> {
        let siblings: Vec<Value> = briefing.siblings().map(in_brief).collect();
        let shown = json!({
            "task": task(briefing),
            "raw_data": pool(briefing.pool),
            "settings": settings(briefing),
            "most_samples": briefing.settings.limits.samples,
            "teachers": briefing.teachers.tiers(),
            "base": scores(briefing.baseline),
            "best": briefing.parent().map(in_full),
            "others": siblings,
        });
        self.ask("propose", include_str!("../../prompts/ft/propose.md"), shown, read_answer)
    }

    fn write_script(
        &mut self,
        briefing: &Briefing<'_>,
        proposal: &Proposal,
        revision: Option<Revision<'_>>,
    ) -> Result<String, StageError> {
        let shown = json!({
            "task": task(briefing),
            "raw_data": pool(briefing.pool),
            "proposal": proposal,
            "teacher": teacher(briefing, proposal),
            "rejected": revision.map(rejected),
        });
        let read = |text: &str| read_block(text, "python");
        self.ask("script", include_str!("../../prompts/ft/script.md"), shown, read)
    }

    fn write_config(
        &mut self,
        briefing: &Briefing<'_>,
        proposal: &Proposal,
        revision: Option<Revision<'_>>,
    ) -> Result<String, StageError> {
        let shown = json!({
            "settings": settings(briefing),
            "proposal": proposal,
            "rejected": revision.map(rejected),
        });
        let read = |text: &str| read_block(text, "toml");
        self.ask("config", include_str!("../../prompts/ft/config.md"), shown, read)
    }

    fn judge(&mut self, _: &Briefing<'_>, checks: &[Check]) -> Result<Opinion, StageError> {
        let shown = json!({ "checks": without_times(checks) });
        self.ask("judge", include_str!("../../prompts/ft/judge.md"), shown, read_answer)
    }

    fn diagnose(
        &mut self,
        briefing: &Briefing<'_>,
        experiment: &Experiment,
    ) -> Result<Diagnosis, StageError> {
        let shown = json!({
            "experiment": in_full(experiment),
            "stages": without_times(&experiment.checks),
            "base": scores(briefing.baseline),
            "best": briefing.parent().map(in_brief),
        });
        self.ask("diagnose", include_str!("../../prompts/ft/diagnose.md"), shown, read_answer)
    }
}

/// What the scorer asks for.
fn task(briefing: &Briefing<'_>) -> Value {
    let examples: Vec<Value> = briefing
        .form
        .of_each_system()
        .chain(briefing.form.examples())
        .take(EXAMPLES)
        .map(|FormExample { system, question, answer }| {
            json!({"system": system, "question": question, "answer": answer})
        })
        .collect();
    json!({
        "objective": briefing.task.objective,
        "output": briefing.task.output,
        "metric": briefing.task.metric,
        "context": briefing.task.limits.context,
        "answer_tokens": briefing.task.limits.turn_tokens,
        "examples": examples,
    })
}

fn pool(pool: &DatasetInfo) -> Value {
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let sources = pool.sources.iter().map(|source| {
        let files: Vec<Value> = source
            .files
            .iter()
            .map(|file| {
                let path = format!("data/{}/{}", source.name, file.path);
                match &file.content {
                    Content::Table { rows, columns, samples } => json!({
                        "path": path,
                        "rows": rows,
                        "columns": columns,
                        "first_row": samples.first().map(|row| cut(row, ROW)),
                    }),
                    Content::Other => json!({"path": path, "bytes": file.bytes}),
                }
            })
            .collect();
        json!({"name": source.name, "readme": cut(&source.readme, README), "files": files})
    });
    sources.collect()
}

/// What the script of a proposal may ask its teacher; nothing without one.
fn teacher(briefing: &Briefing<'_>, proposal: &Proposal) -> Option<Value> {
    let limits = &briefing.settings.limits;
    (proposal.data.synthesis.teacher != Teacher::None).then(|| {
        json!({
            "questions": limits.teacher_questions,
            "questions_with_debug": limits.teacher_debug_questions,
            "max_tokens": limits.teacher_answer_tokens,
            "calls": limits.teacher_rounds,
        })
    })
}

fn settings(briefing: &Briefing<'_>) -> Value {
    let setting = |it: &super::schema::TrainerSetting| {
        json!({
            "key": it.key, "type": it.kind, "default": it.default, "range": it.range, "doc": it.doc,
        })
    };
    briefing.schema.settings().map(setting).collect()
}

/// Scores without those of single items.
fn scores(evaluated: &super::diagnosis::Evaluated) -> Value {
    json!({
        "score": evaluated.primary,
        "mistakes": evaluated.metrics,
        "by_kind": evaluated.by_subtask,
        "failures": evaluated.failures,
    })
}

fn in_full(experiment: &Experiment) -> Value {
    let mut shown = in_brief(experiment);
    shown["proposal"] = json!(experiment.proposal);
    if let ExperimentOutcome::Evaluated { evaluated, losses, .. } = &experiment.outcome {
        shown["scores"] = scores(evaluated);
        shown["losses"] = json!(losses);
    }
    shown
}

fn in_brief(experiment: &Experiment) -> Value {
    let outcome = match &experiment.outcome {
        ExperimentOutcome::Evaluated { evaluated, acceptance, .. } => json!({
            "score": evaluated.primary, "accepted": acceptance.accepted, "agree": acceptance.agree,
        }),
        ExperimentOutcome::Rejected { stage, class, message } => {
            json!({"failed_at": stage, "class": class, "message": message})
        }
    };
    json!({
        "number": experiment.number,
        "reason": experiment.proposal.reason,
        "outcome": outcome,
        "diagnosis": experiment.diagnosis,
    })
}

fn rejected(revision: Revision<'_>) -> Value {
    json!({
        "text": revision.text,
        "class": revision.rejection.class,
        "reason": revision.rejection.message,
        "opinion": revision.opinion,
    })
}

/// Stages without their seconds, which differ from run to run and would make every question a new one.
fn without_times(checks: &[Check]) -> Vec<Value> {
    checks.iter().map(|check| json!({"stage": check.stage, "outcome": check.outcome})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::{ChatError, Completion, Finish, Usage};
    use std::sync::Mutex;

    /// A model that gives these answers in turn, and keeps what it was asked.
    #[derive(Debug, Default)]
    struct Recited {
        answers: Mutex<Vec<&'static str>>,
        asked: Mutex<Vec<Request>>,
    }

    impl ChatModel for Recited {
        fn complete(&self, request: &Request, _: &Purpose) -> Result<Completion, ChatError> {
            self.asked.lock().unwrap().push(request.clone());
            Ok(Completion {
                text: self.answers.lock().unwrap().remove(0).to_owned(),
                thoughts: None,
                finish: Finish::Stop,
                refusal: None,
                usage: Usage::default(),
                model: request.model.clone(),
                id: String::new(),
            })
        }
    }

    const GOOD: &str = "{\"execution\": \"e\", \"return_checking\": \"r\", \"code\": \"c\", \
                        \"final_decision\": true}";

    fn asked(answers: &[&'static str]) -> (Result<Opinion, StageError>, Vec<Request>) {
        let model = Recited { answers: Mutex::new(answers.to_vec()), ..Recited::default() };
        let mut planner = ModelPlanner::new(&model, "m", 100, 3);
        let shown = json!({"checks": []});
        let found = planner.ask("judge", "system", shown, read_answer);
        let asked = model.asked.lock().unwrap().clone();
        (found, asked)
    }

    #[test]
    fn answer_that_cannot_be_read_goes_back_with_the_reason() {
        let (found, asked) = asked(&["It went well.", GOOD]);
        assert!(found.unwrap().final_decision);
        assert_eq!(asked.len(), 2);
        let last = &asked[1].messages;
        assert_eq!((last.len(), last[2].content.as_str()), (4, "It went well."));
        assert!(last[3].content.contains("there is prose"), "{}", last[3].content);
    }

    #[test]
    fn answers_that_can_never_be_read_are_a_rejection_of_the_planner() {
        let (found, asked) = asked(&["no", "{\"a\": 1}", "{", "{}"]);
        let StageError::Rejected(rejection) = found.unwrap_err() else { panic!("a fault") };
        assert_eq!((rejection.class, asked.len()), (ErrorClass::Planner, 4));
        assert!(rejection.message.contains("no answer of 4"), "{rejection}");
    }
}
