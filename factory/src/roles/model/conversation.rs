//! A conversation with a chat model: a question, its answer, and repairs of the answer.

use super::prompt::shortened;
use super::{Question, RoleModel};
use crate::roles::{
    RoleAuthor, RoleCheckError, RoleCost, RoleFault, RoleName, RoleRefusal, RoleReply, SPENT,
    WorkPermit,
};
use crate::spec::role_settings::ModelLimits;
use llm::{ChatError, Completion, Effort, Finish, Message, Purpose, Request, Role};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Failures of an endpoint in a row, over all conversations, after which the run ends. Each of
/// them has used up all tries of the client.
const FAILURES_IN_A_ROW: u32 = 5;
/// What a thinking model's answers may be longer than others'.
const THINKING: u32 = 3;

/// What the calls at one slot have consumed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SlotUse {
    calls: u64,
    tokens: u64,
}

/// What all conversations of a run share.
#[derive(Debug)]
pub(super) struct Conversations {
    pub(super) limits: ModelLimits,
    pub(super) effort: Option<Effort>,
    failures: AtomicU32,
}

/// Where in a run a conversation takes place.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) role: RoleName,
    pub(super) slot: u64,
    /// The attempt at the slot, from 0.
    pub(super) attempt: u64,
    /// Number of conversations of this role in this attempt before this one.
    pub(super) index: u64,
    /// What the slot has consumed so far.
    pub(super) used: Arc<Mutex<SlotUse>>,
    pub(super) permit: &'a WorkPermit<'a>,
}

impl Conversations {
    pub(super) fn new(limits: ModelLimits, effort: Option<Effort>) -> Self {
        Self { limits, effort, failures: AtomicU32::new(0) }
    }

    /// Asks a question until `check` takes an answer, or the repairs are used up.
    ///
    /// # Errors
    /// [`RoleFault`] if the model cannot be asked, or an answer cannot be checked.
    pub(super) fn ask<T, E: Into<RoleCheckError>>(
        &self,
        model: &RoleModel,
        name: &str,
        question: &Question,
        place: &Place<'_>,
        mut check: impl FnMut(&str) -> Result<T, E>,
    ) -> Result<RoleReply<T>, RoleFault> {
        let prompt = [question.system.as_bytes(), b"\n", question.prompt.as_bytes()].concat();
        let author = RoleAuthor {
            model: name.to_owned(),
            prompt: blake3::hash(&prompt).to_hex().to_string(),
        };
        let mut messages = vec![
            Message::new(Role::System, question.system.clone()),
            Message::new(Role::User, question.prompt.clone()),
        ];
        let mut cost = RoleCost::ZERO;
        let mut max_tokens = question.max_tokens * if self.thinks() { THINKING } else { 1 };
        let mut lengthened = false;
        let mut repair = 0;
        let refusal = loop {
            if let Err(refusal) = self.allowed(&place.used) {
                break refusal;
            }
            let request = Request {
                schema: question.schema.clone(),
                temperature: Some(if repair == 0 { question.temperature } else { 0.0 }),
                effort: self.effort,
                // Equal prompts of two attempts get two answers.
                sample: (place.attempt * 16 + place.index) * 16
                    + u64::from(repair) * 2
                    + u64::from(lengthened),
                ..Request::new(model.name.clone(), messages.clone(), max_tokens)
            };
            let completion = match self.complete(model, &request, question.name, place, repair)? {
                Ok(completion) => completion,
                Err(refusal) => break refusal,
            };
            cost += book(model, &completion, &place.used);
            let (refusal, answer) = match completion.finish {
                Finish::Length if !lengthened => {
                    (max_tokens, lengthened) = (max_tokens * 2, true);
                    continue;
                }
                Finish::Length => {
                    let detail = format!("the answer was cut after {max_tokens} tokens");
                    break RoleRefusal { code: "truncated", detail };
                }
                Finish::Refusal | Finish::Filter => {
                    let reason = completion.refusal.as_deref().unwrap_or("no reason given");
                    let detail = format!("the model refuses to answer: {reason}");
                    break RoleRefusal { code: "refused_by_provider", detail };
                }
                Finish::Stop if completion.text.trim().is_empty() => {
                    let detail = "the answer is empty".to_owned();
                    break RoleRefusal { code: "empty_answer", detail };
                }
                Finish::Stop if completion.text.len() > question.max_bytes => {
                    let (length, most) = (completion.text.len(), question.max_bytes);
                    let detail = format!("the answer has {length} bytes; at most {most} are read");
                    break RoleRefusal { code: "answer_too_long", detail };
                }
                Finish::Stop => match check(&completion.text).map_err(Into::into) {
                    Ok(product) => {
                        return Ok(RoleReply { product: Ok(product), cost, author: Some(author) });
                    }
                    Err(RoleCheckError::Refused(refusal)) => (refusal, completion.text),
                    Err(RoleCheckError::Fault(source)) => {
                        return Err(RoleFault { role: place.role, source });
                    }
                },
            };
            if repair == self.limits.repairs {
                break refusal;
            }
            repair += 1;
            messages.push(Message::new(Role::Assistant, answer));
            messages.push(Message::new(Role::User, repair_message(&refusal.detail)));
        };
        Ok(RoleReply { product: Err(refusal), cost, author: Some(author) })
    }

    /// Whether the model was asked to think, which takes tokens beside those of the answer.
    fn thinks(&self) -> bool {
        !matches!(self.effort, None | Some(Effort::None | Effort::Minimal))
    }

    /// Refuses a further call where a slot has used up its own.
    fn allowed(&self, used: &Mutex<SlotUse>) -> Result<(), RoleRefusal> {
        let SlotUse { calls, tokens } = *lock(used);
        let ModelLimits { calls_per_slot, tokens_per_slot, .. } = self.limits;
        if calls < calls_per_slot && tokens < tokens_per_slot {
            return Ok(());
        }
        let detail = format!(
            "the slot has used {calls} of {calls_per_slot} calls and {tokens} of {tokens_per_slot} \
             tokens"
        );
        Err(RoleRefusal { code: SPENT, detail })
    }

    /// One answer, or why this request gets none. While the endpoint fails, the same request is
    /// made again: an answer that is missing because of the network must not change what a slot
    /// comes to.
    fn complete(
        &self,
        model: &RoleModel,
        request: &Request,
        question: &str,
        place: &Place<'_>,
        repair: u32,
    ) -> Result<Result<Completion, RoleRefusal>, RoleFault> {
        let purpose = Purpose {
            slot: place.slot,
            role: question.to_owned(),
            attempt: u32::try_from(place.attempt).unwrap_or(u32::MAX),
            repair,
        };
        loop {
            match place.permit.while_waiting(|| model.chat.complete(request, &purpose)) {
                Ok(completion) => {
                    self.failures.store(0, Ordering::Relaxed);
                    return Ok(Ok(completion));
                }
                Err(error @ ChatError::ContextTooLong { .. }) => {
                    let detail = error.to_string();
                    return Ok(Err(RoleRefusal { code: "context_too_long", detail }));
                }
                Err(error @ ChatError::Refused { .. }) => {
                    let detail = error.to_string();
                    return Ok(Err(RoleRefusal { code: "refused_by_provider", detail }));
                }
                Err(error @ ChatError::Unavailable { .. }) => {
                    let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
                    if failures >= FAILURES_IN_A_ROW {
                        return Err(RoleFault { role: place.role, source: error.into() });
                    }
                    tracing::warn!(slot = place.slot, question, "{error}; it is asked again");
                }
                Err(error) => return Err(RoleFault { role: place.role, source: error.into() }),
            }
        }
    }
}

fn lock(used: &Mutex<SlotUse>) -> std::sync::MutexGuard<'_, SlotUse> {
    used.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Counts an answer, and returns its cost.
fn book(model: &RoleModel, completion: &Completion, used: &Mutex<SlotUse>) -> RoleCost {
    let usage = &completion.usage;
    let mut used = lock(used);
    used.calls += 1;
    used.tokens += usage.input + usage.output;
    RoleCost {
        calls: 1,
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        cost_micro_usd: model.cost(usage),
    }
}

/// The message that asks for a better answer.
fn repair_message(refusal: &str) -> String {
    let refusal = shortened(refusal);
    format!("Your answer was refused: {refusal}\nCorrect this and send the whole answer again.")
}
