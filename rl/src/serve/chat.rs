//! `POST /v1/chat/completions`: a conversation is continued.

use super::answer::{Part, Token};
use super::parameters::Parameters;
use super::refusal::Refusal;
use super::respond::{Answers, Form, finish_reason, ids};
use super::server::Shared;
use super::turn::{Piece, TurnReader};
use super::wanted::Wanted;
use crate::text::template::{FunctionCall, Message, Options, Role, ToolCall};
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use minijinja::Value as Any;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::task::block_in_place;

/// A message as clients write it. What else they write of it says nothing to a model.
#[derive(Deserialize)]
struct Written {
    role: Role,
    content: Option<Content>,
    #[serde(alias = "reasoning")]
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<WrittenCall>>,
    tool_call_id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`content` is neither a text nor a list of texts")]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ContentPart {
    Text { text: String },
}

#[derive(Deserialize)]
struct WrittenCall {
    id: Option<String>,
    function: WrittenFunction,
}

#[derive(Deserialize)]
struct WrittenFunction {
    name: String,
    /// JSON in a string, or as it is.
    arguments: Box<RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateOptions {
    enable_thinking: Option<bool>,
}

pub(super) async fn chat(
    State(shared): State<Arc<Shared>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let (answers, form) = block_in_place(|| begin(&shared, body))?;
    answers.respond(form).await
}

/// Reads a request, lays its conversation out and hands it to the generator.
fn begin(shared: &Shared, body: Result<Bytes, BytesRejection>) -> Result<(Answers, Chat), Refusal> {
    let mut parameters = Parameters::parse(body)?;
    let wanted = Wanted::take(&mut parameters)?;
    let log_probs = parameters.take("logprobs")?.unwrap_or(false);
    if parameters.take::<u32>("top_logprobs")?.is_some_and(|count| count > 0) {
        let message = "of each position only the log-probability of the token that was drawn is \
                       kept; ask for `logprobs` alone";
        return Err(Refusal::unsupported("top_logprobs", message));
    }
    let messages = messages(&mut parameters)?;
    let tools = tools(&mut parameters, shared)?;
    let options: TemplateOptions = parameters.take("chat_template_kwargs")?.unwrap_or_default();
    let options = Options { tools, thinking: options.enable_thinking };
    parameters.neutral("response_format", &[json!({"type": "text"})])?;
    parameters.neutral("modalities", &[json!(["text"])])?;
    parameters.neutral("store", &[json!(false)])?;
    parameters.neutral("add_generation_prompt", &[json!(true)])?;
    parameters.finish()?;

    let refused = |error| Refusal::invalid("messages", tasks::text::with_causes(&error));
    let prompt = shared.template.conversation(&messages, &options).map_err(refused)?;
    let thought = match options.thinking {
        Some(false) => None,
        thinking => Some(shared.template.opens_thought(thinking).map_err(refused)?),
    };
    let prompts = wanted.token_ids.then(|| prompt.clone());
    let limit = wanted.max_tokens.unwrap_or(usize::MAX);
    let answers = shared.begin("chatcmpl", "messages", vec![prompt], &wanted, limit)?;
    let form = Chat {
        call: format!("call_{}", answers.head.id.rsplit('-').next().unwrap_or_default()),
        prompt: prompts,
        log_probs,
        speakers: (0..wanted.copies)
            .map(|_| Speaker {
                turn: TurnReader::new(thought, !options.tools.is_empty()),
                calls: 0,
            })
            .collect(),
    };
    Ok((answers, form))
}

fn messages(parameters: &mut Parameters) -> Result<Vec<Message>, Refusal> {
    let invalid = |message: String| Refusal::invalid("messages", message);
    let written: Option<Vec<Written>> = parameters.take("messages")?;
    let written = written.filter(|messages| !messages.is_empty());
    let written = written.ok_or_else(|| invalid("there are no `messages`".into()))?;
    written.into_iter().map(|message| message.read().map_err(invalid)).collect()
}

impl Written {
    fn read(self) -> Result<Message, String> {
        let content = self.content.map(|content| match content {
            Content::Text(text) => text,
            Content::Parts(parts) => {
                let texts: Vec<String> =
                    parts.into_iter().map(|ContentPart::Text { text }| text).collect();
                texts.join("\n")
            }
        });
        let tool_calls: Vec<ToolCall> = self
            .tool_calls
            .unwrap_or_default()
            .into_iter()
            .map(WrittenCall::read)
            .collect::<Result<_, _>>()?;
        let silent = self.role == Role::Assistant
            && (!tool_calls.is_empty() || self.reasoning_content.is_some());
        if content.is_none() && !silent {
            return Err("a message has no `content`".into());
        }
        Ok(Message {
            role: self.role,
            content,
            reasoning_content: self.reasoning_content,
            tool_calls,
            tool_call_id: self.tool_call_id,
            name: self.name,
        })
    }
}

impl WrittenCall {
    /// Templates want arguments as a map.
    fn read(self) -> Result<ToolCall, String> {
        let WrittenFunction { name, arguments } = self.function;
        let text = serde_json::from_str::<String>(arguments.get());
        let text = text.as_deref().unwrap_or(arguments.get());
        let arguments: Any = serde_json::from_str(text).map_err(|error| {
            format!("the arguments of a call of `{name}` are not JSON: {error}")
        })?;
        Ok(ToolCall { id: self.id, r#type: "function", function: FunctionCall { name, arguments } })
    }
}

/// The tools that the model is told of.
fn tools(parameters: &mut Parameters, shared: &Shared) -> Result<Vec<Any>, Refusal> {
    let tools: Vec<Any> = parameters.take("tools")?.unwrap_or_default();
    parameters.neutral("parallel_tool_calls", &[json!(true)])?;
    let none = match parameters.take::<Value>("tool_choice")? {
        Some(Value::String(choice)) if choice == "none" => true,
        Some(Value::String(choice)) if choice == "auto" => false,
        None => false,
        Some(_) => {
            let message = "`tool_choice` can be `auto` or `none`; a model cannot be made to call";
            return Err(Refusal::unsupported("tool_choice", message));
        }
    };
    for tool in &tools {
        let name = tool.get_attr("function").and_then(|function| function.get_attr("name"));
        let is_function = tool.get_attr("type").is_ok_and(|kind| kind.as_str() == Some("function"));
        if !is_function || !name.is_ok_and(|name| name.as_str().is_some()) {
            let message = "a tool is `{\"type\": \"function\", \"function\": {\"name\": …}}`";
            return Err(Refusal::invalid("tools", message));
        }
    }
    if none {
        return Ok(Vec::new());
    }
    if !tools.is_empty() && !shared.template.takes_tools() {
        let message = "the model's chat template has no place for tools";
        return Err(Refusal::unsupported("tools", message));
    }
    Ok(tools)
}

/// One answer, as it is read.
struct Speaker {
    turn: TurnReader,
    calls: usize,
}

struct Chat {
    /// What names of calls begin with.
    call: String,
    /// Where it is to be told.
    prompt: Option<Vec<i64>>,
    log_probs: bool,
    speakers: Vec<Speaker>,
}

impl Chat {
    /// The pieces of a part of an answer, and why it is over, if it is.
    fn read(&mut self, part: &Part) -> (Vec<Piece>, Value) {
        let speaker = &mut self.speakers[part.index];
        let mut pieces = speaker.turn.push(&part.text);
        if part.reason.is_some() {
            pieces.extend(speaker.turn.finish());
        }
        let calls = pieces.iter().filter(|piece| matches!(piece, Piece::Call { .. })).count();
        speaker.calls += calls;
        let mut reason = finish_reason(part.reason);
        if speaker.calls > 0 && reason == "stop" {
            reason = "tool_calls".into();
        }
        (pieces, reason)
    }

    /// The `number`-th call of an answer.
    fn call(&self, index: usize, number: usize, name: &str, arguments: &str) -> Value {
        json!({
            "id": format!("{}_{index}_{number}", self.call),
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        })
    }

    fn log_probs(&self, tokens: &[Token]) -> Value {
        if !self.log_probs {
            return Value::Null;
        }
        let told = |token: &Token| {
            json!({
                "token": String::from_utf8_lossy(&token.bytes),
                "logprob": token.log_prob,
                "bytes": token.bytes,
                "top_logprobs": [],
            })
        };
        json!({"content": tokens.iter().map(told).collect::<Vec<_>>(), "refusal": null})
    }

    fn write(&self, part: &Part, (name, said): (&str, Value), reason: &Value) -> Value {
        let mut choice = json!({
            "index": part.index,
            "logprobs": self.log_probs(&part.tokens),
            "finish_reason": reason,
        });
        choice[name] = said;
        if self.prompt.is_some() {
            choice["token_ids"] = ids(&part.tokens).into();
        }
        choice
    }
}

impl Form for Chat {
    const OBJECTS: (&'static str, &'static str) = ("chat.completion", "chat.completion.chunk");

    fn choice(&mut self, whole: Part) -> Value {
        let (pieces, reason) = self.read(&whole);
        let (mut words, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Thought(text) => thoughts.push_str(&text),
                Piece::Words(text) => words.push_str(&text),
                Piece::Call { name, arguments } => {
                    calls.push(self.call(whole.index, calls.len(), &name, &arguments));
                }
            }
        }
        let silent = words.is_empty() && (!calls.is_empty() || !thoughts.is_empty());
        let mut message = json!({
            "role": "assistant",
            "content": if silent { Value::Null } else { words.into() },
            "refusal": null,
        });
        if !thoughts.is_empty() {
            message["reasoning_content"] = thoughts.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        self.write(&whole, ("message", message), &reason)
    }

    fn opening(&mut self, index: usize) -> Option<Value> {
        let part = Part { index, ..Part::default() };
        let delta = json!({"role": "assistant", "content": ""});
        Some(self.write(&part, ("delta", delta), &Value::Null))
    }

    fn chunks(&mut self, part: Part) -> Vec<Value> {
        let before = self.speakers[part.index].calls;
        let (pieces, reason) = self.read(&part);
        let (mut deltas, mut number) = (Vec::new(), before);
        for piece in pieces {
            deltas.push(match piece {
                Piece::Thought(text) => json!({"reasoning_content": text}),
                Piece::Words(text) => json!({"content": text}),
                Piece::Call { name, arguments } => {
                    let mut call = self.call(part.index, number, &name, &arguments);
                    call["index"] = number.into();
                    number += 1;
                    json!({"tool_calls": [call]})
                }
            });
        }
        let told = self.log_probs || self.prompt.is_some();
        if deltas.is_empty() && (part.reason.is_some() || told) {
            deltas.push(Value::Object(Map::new()));
        }
        // Tokens and the end are told once, with the last of what the part says.
        let count = deltas.len();
        let silent = Part { index: part.index, ..Part::default() };
        let chunk = |(place, delta): (usize, Value)| {
            if place + 1 == count {
                self.write(&part, ("delta", delta), &reason)
            } else {
                self.write(&silent, ("delta", delta), &Value::Null)
            }
        };
        deltas.into_iter().enumerate().map(chunk).collect()
    }

    fn prompts(&self, response: &mut Value) {
        if let Some(prompt) = &self.prompt {
            response["prompt_token_ids"] = json!(prompt);
        }
    }
}
