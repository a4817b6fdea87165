//! `POST /v1/chat/completions`: generates the next message of a conversation.

use super::api_error::ApiError;
use super::choice::{ChoiceDelta, TokenLogprob, TopLogprob};
use super::messages::messages;
use super::parameters::Parameters;
use super::request_options::{RequestOptions, top_count};
use super::respond::{PendingResponse, ResponseWriter, finish_reason, ids};
use super::server::InferenceState;
use super::structured::OutputForm;
use super::tools::Tools;
use super::turn_parser::{MessagePart, TurnParser};
use crate::text::template::ChatTemplateOptions;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use minijinja::Value as Any;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::task::block_in_place;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatTemplateKwargs {
    enable_thinking: Option<bool>,
}

pub(super) async fn chat(
    State(shared): State<Arc<InferenceState>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let (response, writer) = block_in_place(|| begin(&shared, body))?;
    response.respond(writer).await
}

/// Reads a request, applies the chat template and sends the prompt to the generator.
fn begin(
    shared: &InferenceState,
    body: Result<Bytes, BytesRejection>,
) -> Result<(PendingResponse, ChatCompletion), ApiError> {
    let template = shared.template()?;
    let mut parameters = Parameters::parse(body)?;
    let mut request = RequestOptions::take(&mut parameters, shared.vocab_size)?;
    let log_probs = parameters.take("logprobs")?.unwrap_or(false);
    let top = top_count(&mut parameters, "top_logprobs")?;
    if top.is_some_and(|count| count > 0) && !log_probs {
        let message = "`top_logprobs` needs `logprobs: true`; set it, or leave both out";
        return Err(ApiError::invalid("top_logprobs", message));
    }
    request.extras.top = top.unwrap_or(0);
    let messages = messages(&mut parameters)?;
    let tools = Tools::take(&mut parameters, template)?;
    let form = form(OutputForm::take(&mut parameters)?, tools.forced)?;
    let options = template_options(&mut parameters, tools.shown)?;
    parameters.neutral("modalities", &[json!(["text"])])?;
    parameters.neutral("store", &[json!(false)])?;
    parameters.neutral("add_generation_prompt", &[json!(true)])?;
    parameters.finish()?;

    let refused = |error| ApiError::invalid("messages", tasks::text::with_causes(&error));
    let prompt = template.apply(&messages, &options).map_err(refused)?;
    let reasoning = match options.thinking {
        Some(false) => None,
        thinking => Some(template.opens_reasoning(thinking).map_err(refused)?),
    };
    if let Some((form, param)) = form {
        request.constrain(shared.grammar(&form, reasoning, param)?, param)?;
    }
    let prompt_ids = request.token_ids.then(|| prompt.clone());
    let limit = request.limit(usize::MAX)?;
    let response = shared.begin("chatcmpl", "messages", vec![prompt], &request, limit)?;
    let writer = ChatCompletion {
        call: format!("call_{}", response.head.id.rsplit('-').next().unwrap_or_default()),
        prompt: prompt_ids,
        log_probs,
        is_named: tools.is_named,
        choices: (0..request.n)
            .map(|_| ChatChoice {
                parser: TurnParser::new(reasoning, !options.tools.is_empty()),
                is_single: tools.is_single,
                calls: 0,
            })
            .collect(),
    };
    Ok((response, writer))
}

/// Reads `chat_template_kwargs` and `reasoning_effort`.
///
/// # Errors
/// An [`ApiError`] for an effort that the model does not have, or if both decide on reasoning.
pub(super) fn template_options(
    parameters: &mut Parameters,
    tools: Vec<Any>,
) -> Result<ChatTemplateOptions, ApiError> {
    let given: ChatTemplateKwargs = parameters.take("chat_template_kwargs")?.unwrap_or_default();
    let name = "reasoning_effort";
    let effort: Option<String> = parameters.take(name)?;
    let thinking = match (effort.as_deref(), given.enable_thinking) {
        (Some("none"), Some(true)) => {
            let message = "`reasoning_effort` is `none`, and `enable_thinking` is true; give one of \
                           them";
            return Err(ApiError::invalid(name, message));
        }
        (Some("none"), _) => Some(false),
        // OpenAI's default.
        (Some("medium") | None, thinking) => thinking,
        (Some(effort), _) => {
            let message = format!(
                "the model has no efforts of reasoning, so `{effort}` cannot be kept; leave \
                 `reasoning_effort` out, or set it to `none` for a turn without reasoning"
            );
            return Err(ApiError::unsupported(name, message));
        }
    };
    Ok(ChatTemplateOptions { tools, thinking })
}

/// The form of a turn, and the parameter that asks for it.
fn form(
    asked: Option<(OutputForm, &'static str)>,
    forced: Option<OutputForm>,
) -> Result<Option<(OutputForm, &'static str)>, ApiError> {
    match (asked, forced) {
        (Some((_, param)), Some(_)) => {
            let message = format!("`tool_choice` forces a call already; leave `{param}` out");
            Err(ApiError::invalid(param, message))
        }
        (None, Some(form)) => Ok(Some((form, "tool_choice"))),
        (asked, None) => Ok(asked),
    }
}

/// One choice while its text is parsed.
struct ChatChoice {
    parser: TurnParser,
    /// Whether calls after the first one are left out.
    is_single: bool,
    /// Tool calls so far.
    calls: usize,
}

struct ChatCompletion {
    /// The prefix of the ids of tool calls.
    call: String,
    /// The ids of the prompt, if the request asks for them.
    prompt: Option<Vec<i64>>,
    log_probs: bool,
    /// Whether `tool_choice` names the function that is called.
    is_named: bool,
    choices: Vec<ChatChoice>,
}

impl ChatCompletion {
    /// The parts of the message that a delta completes, and its `finish_reason`.
    fn read(&mut self, delta: &ChoiceDelta) -> (Vec<MessagePart>, Value) {
        let choice = &mut self.choices[delta.index];
        let mut parts = choice.parser.push(&delta.text);
        if delta.reason.is_some() {
            parts.extend(choice.parser.finish());
        }
        parts.retain(|part| {
            let is_call = matches!(part, MessagePart::ToolCall { .. });
            let is_kept = !is_call || choice.calls == 0 || !choice.is_single;
            choice.calls += usize::from(is_call && is_kept);
            is_kept
        });
        let mut reason = finish_reason(delta.reason);
        // As at OpenAI and in vLLM, a call of the named function is no reason of its own.
        if choice.calls > 0 && reason == "stop" && !self.is_named {
            reason = "tool_calls".into();
        }
        (parts, reason)
    }

    /// The `number`-th tool call of the choice at `index`.
    fn call(&self, index: usize, number: usize, name: &str, arguments: &str) -> Value {
        json!({
            "id": format!("{}_{index}_{number}", self.call),
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        })
    }

    fn log_probs(&self, tokens: &[TokenLogprob]) -> Value {
        if !self.log_probs {
            return Value::Null;
        }
        let top = |entry: &TopLogprob| {
            json!({
                "token": String::from_utf8_lossy(&entry.bytes),
                "logprob": entry.log_prob,
                "bytes": entry.bytes,
            })
        };
        let entry = |token: &TokenLogprob| {
            json!({
                "token": String::from_utf8_lossy(&token.bytes),
                "logprob": token.log_prob,
                "bytes": token.bytes,
                "top_logprobs": token.top.iter().map(top).collect::<Vec<_>>(),
            })
        };
        json!({"content": tokens.iter().map(entry).collect::<Vec<_>>(), "refusal": null})
    }

    fn write(&self, delta: &ChoiceDelta, (name, message): (&str, Value), reason: &Value) -> Value {
        let mut choice = json!({
            "index": delta.index,
            "logprobs": self.log_probs(&delta.tokens),
            "finish_reason": reason,
            "stop_reason": delta.stop_reason,
        });
        choice[name] = message;
        if self.prompt.is_some() {
            choice["token_ids"] = ids(&delta.tokens).into();
        }
        choice
    }
}

impl ResponseWriter for ChatCompletion {
    const OBJECTS: (&'static str, &'static str) = ("chat.completion", "chat.completion.chunk");

    fn choice(&mut self, whole: ChoiceDelta) -> Value {
        let (parts, reason) = self.read(&whole);
        let (mut content, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
        for part in parts {
            match part {
                MessagePart::Reasoning(text) => reasoning.push_str(&text),
                MessagePart::Content(text) => content.push_str(&text),
                MessagePart::ToolCall { name, arguments } => {
                    calls.push(self.call(whole.index, calls.len(), &name, &arguments));
                }
            }
        }
        let no_content = content.is_empty() && (!calls.is_empty() || !reasoning.is_empty());
        let mut message = json!({
            "role": "assistant",
            "content": if no_content { Value::Null } else { content.into() },
            "refusal": null,
        });
        if !reasoning.is_empty() {
            message["reasoning_content"] = reasoning.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        self.write(&whole, ("message", message), &reason)
    }

    fn opening(&mut self, index: usize) -> Option<Value> {
        let delta = ChoiceDelta { index, ..ChoiceDelta::default() };
        let message = json!({"role": "assistant", "content": ""});
        Some(self.write(&delta, ("delta", message), &Value::Null))
    }

    fn chunks(&mut self, delta: ChoiceDelta) -> Vec<Value> {
        let before = self.choices[delta.index].calls;
        let (parts, reason) = self.read(&delta);
        let (mut messages, mut number) = (Vec::new(), before);
        for part in parts {
            messages.push(match part {
                MessagePart::Reasoning(text) => json!({"reasoning_content": text}),
                MessagePart::Content(text) => json!({"content": text}),
                MessagePart::ToolCall { name, arguments } => {
                    let mut call = self.call(delta.index, number, &name, &arguments);
                    call["index"] = number.into();
                    number += 1;
                    json!({"tool_calls": [call]})
                }
            });
        }
        let has_tokens = self.log_probs || self.prompt.is_some();
        if messages.is_empty() && (delta.reason.is_some() || has_tokens) {
            messages.push(Value::Object(Map::new()));
        }
        // The tokens and `finish_reason` are sent once, with the last chunk of the delta.
        let count = messages.len();
        let without_tokens = ChoiceDelta { index: delta.index, ..ChoiceDelta::default() };
        let chunk = |(position, message): (usize, Value)| {
            if position + 1 == count {
                self.write(&delta, ("delta", message), &reason)
            } else {
                self.write(&without_tokens, ("delta", message), &Value::Null)
            }
        };
        messages.into_iter().enumerate().map(chunk).collect()
    }

    fn prompts(&self, response: &mut Value) {
        if let Some(prompt) = &self.prompt {
            response["prompt_token_ids"] = json!(prompt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::choice::FinishReason;

    #[test]
    fn calls_after_the_first_are_left_out_where_one_is_asked_for() {
        let text =
            "<tool_call>{\"name\": \"a\"}</tool_call>\n<tool_call>{\"name\": \"b\"}</tool_call>";
        for (is_single, expected) in [(false, vec!["a", "b"]), (true, vec!["a"])] {
            let completion = || ChatCompletion {
                call: "call".into(),
                prompt: None,
                log_probs: false,
                is_named: false,
                choices: vec![ChatChoice {
                    parser: TurnParser::new(None, true),
                    is_single,
                    calls: 0,
                }],
            };
            let delta = |text: &str, reason| ChoiceDelta {
                text: text.into(),
                reason,
                ..ChoiceDelta::default()
            };
            let name = |call: &Value| call["function"]["name"].as_str().unwrap().to_owned();
            let whole = completion().choice(delta(text, Some(FinishReason::Stop)));
            let calls = whole["message"]["tool_calls"].as_array().unwrap();
            assert_eq!(calls.iter().map(name).collect::<Vec<_>>(), expected);
            assert_eq!(whole["finish_reason"], "tool_calls");

            let (mut streamed, mut writer) = (Vec::new(), completion());
            let (first, second) = text.split_at(text.len() / 2 + 5);
            for delta in [delta(first, None), delta(second, Some(FinishReason::Stop))] {
                for chunk in writer.chunks(delta) {
                    let calls =
                        chunk["delta"]["tool_calls"].as_array().cloned().unwrap_or_default();
                    streamed.extend(calls);
                }
            }
            assert_eq!(streamed.iter().map(name).collect::<Vec<_>>(), expected);
            assert!(streamed.iter().enumerate().all(|(place, call)| call["index"] == place));
        }
    }
}
