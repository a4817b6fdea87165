//! Anthropic Messages: a request to the body that is sent, and a body or stream to a completion.

use crate::capabilities::{Capabilities, SchemaMode};
use crate::chat::{Completion, Effort, Finish, Request, Role, Usage};
use crate::sse::SseEvent;
use crate::wire::{ApiFailure, SEVERAL_CALLS, WireFault, with_schema_in_words};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The path below the base URL.
pub(crate) const PATH: &str = "v1/messages";
/// The version of the protocol; later ones reject a temperature.
pub(crate) const VERSION: &str = "2023-06-01";

/// The body of a request.
pub(crate) fn body(request: &Request, capabilities: Capabilities) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("max_tokens".to_owned(), json!(request.max_tokens));
    let messages = match capabilities.schema {
        SchemaMode::Schema | SchemaMode::Tool => request.messages.clone(),
        // The protocol has no mode for an object without a schema.
        SchemaMode::JsonObject | SchemaMode::Text => with_schema_in_words(request),
    };
    let (system, messages): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|message| message.role == Role::System);
    if !system.is_empty() {
        let system: Vec<String> = system.into_iter().map(|message| message.content).collect();
        body.insert("system".to_owned(), json!(system.join("\n\n")));
    }
    body.insert("messages".to_owned(), json!(messages));
    if capabilities.temperature {
        if let Some(temperature) = request.temperature {
            body.insert("temperature".to_owned(), json!(temperature));
        }
        if let Some(top_p) = request.top_p {
            body.insert("top_p".to_owned(), json!(top_p));
        }
    }
    if !request.stop.is_empty() {
        body.insert("stop_sequences".to_owned(), json!(request.stop));
    }
    if capabilities.stream {
        body.insert("stream".to_owned(), json!(true));
    }
    let mut output = Map::new();
    if let Some(effort) = request.effort.filter(|_| capabilities.effort) {
        // The protocol knows nothing below `low`.
        let effort = match effort {
            Effort::None | Effort::Minimal => Effort::Low,
            other => other,
        };
        output.insert("effort".to_owned(), json!(effort.name()));
    }
    if let Some(schema) = &request.schema {
        match capabilities.schema {
            SchemaMode::Schema => {
                let format = json!({"type": "json_schema", "schema": schema.json});
                output.insert("format".to_owned(), format);
            }
            SchemaMode::Tool => {
                let tool = json!({
                    "name": schema.name, "description": "Hand in the answer.",
                    "input_schema": schema.json,
                });
                body.insert("tools".to_owned(), json!([tool]));
                let choice = json!({"type": "tool", "name": schema.name});
                body.insert("tool_choice".to_owned(), choice);
            }
            SchemaMode::JsonObject | SchemaMode::Text => {}
        }
    }
    if !output.is_empty() {
        body.insert("output_config".to_owned(), Value::Object(output));
    }
    Value::Object(body)
}

/// A whole answer. Fields that are not listed are ignored.
#[derive(Deserialize)]
struct AnswerBody {
    id: Option<String>,
    model: Option<String>,
    content: Vec<Block>,
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct StopDetails {
    category: Option<String>,
}

#[derive(Deserialize)]
struct Block {
    r#type: String,
    text: Option<String>,
    thinking: Option<String>,
    input: Option<Value>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum StreamItem {
    MessageStart {
        message: Started,
    },
    ContentBlockStart {
        content_block: Block,
    },
    ContentBlockDelta {
        delta: Delta,
    },
    ContentBlockStop,
    MessageDelta {
        delta: Ending,
        usage: Option<Value>,
    },
    MessageStop,
    Ping,
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Started {
    id: Option<String>,
    model: Option<String>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    r#type: String,
    text: Option<String>,
    thinking: Option<String>,
    partial_json: Option<String>,
}

#[derive(Deserialize)]
struct Ending {
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
}

/// Counts of tokens. In a stream they come in parts, and each is a running total.
#[derive(Debug, Default, Deserialize)]
struct TokenTotals {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_written: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cached: Option<u64>,
}

/// A completion in the making.
#[derive(Debug, Default)]
pub(crate) struct AnthropicAnswer {
    id: String,
    model: String,
    text: String,
    thoughts: String,
    arguments: String,
    /// Tools that it calls.
    calls: usize,
    stop_reason: Option<String>,
    category: Option<String>,
    totals: TokenTotals,
    totals_malformed: bool,
    done: bool,
}

impl AnthropicAnswer {
    /// Takes a whole answer, sent without a stream.
    ///
    /// # Errors
    /// [`WireFault`].
    pub(crate) fn whole(&mut self, text: &str) -> Result<(), WireFault> {
        let value = parse(text)?;
        let body = AnswerBody::deserialize(value).map_err(malformed)?;
        self.id = body.id.unwrap_or_default();
        self.model = body.model.unwrap_or_default();
        for block in body.content {
            if let Some(input) = block.input.as_ref().filter(|_| block.r#type == "tool_use") {
                self.arguments += &input.to_string();
            }
            self.open(&block);
        }
        self.count(body.usage);
        self.end(body.stop_reason, body.stop_details);
        if self.stop_reason.is_none() {
            return Err(WireFault::Malformed("the answer has no `stop_reason`".to_owned()));
        }
        self.done = true;
        Ok(())
    }

    /// Takes the next event of a stream.
    ///
    /// # Errors
    /// [`WireFault`].
    pub(crate) fn event(&mut self, event: &SseEvent) -> Result<(), WireFault> {
        let value = parse(&event.data)?;
        match StreamItem::deserialize(value).map_err(malformed)? {
            StreamItem::MessageStart { message } => {
                self.id = message.id.unwrap_or_default();
                self.model = message.model.unwrap_or_default();
                self.count(message.usage);
            }
            StreamItem::ContentBlockStart { content_block } => self.open(&content_block),
            StreamItem::ContentBlockDelta { delta } => match delta.r#type.as_str() {
                "text_delta" => self.text += delta.text.as_deref().unwrap_or_default(),
                "thinking_delta" => self.thoughts += delta.thinking.as_deref().unwrap_or_default(),
                "input_json_delta" => {
                    self.arguments += delta.partial_json.as_deref().unwrap_or_default();
                }
                // Signatures of thoughts, citations.
                _ => {}
            },
            StreamItem::MessageDelta { delta, usage } => {
                self.count(usage);
                self.end(delta.stop_reason, delta.stop_details);
            }
            StreamItem::MessageStop => self.done = true,
            StreamItem::ContentBlockStop | StreamItem::Ping | StreamItem::Unknown => {}
        }
        Ok(())
    }

    /// Whether nothing more is needed.
    pub(crate) fn is_complete(&self) -> bool {
        self.done
    }

    fn open(&mut self, block: &Block) {
        self.text += block.text.as_deref().unwrap_or_default();
        self.thoughts += block.thinking.as_deref().unwrap_or_default();
        if block.r#type == "tool_use" {
            self.calls += 1;
        }
    }

    fn count(&mut self, usage: Option<Value>) {
        let Some(usage) = usage.filter(|usage| !usage.is_null()) else { return };
        let Ok(new) = TokenTotals::deserialize(usage) else {
            self.totals_malformed = true;
            return;
        };
        let totals = &mut self.totals;
        totals.input = new.input.or(totals.input);
        totals.output = new.output.or(totals.output);
        totals.cache_written = new.cache_written.or(totals.cache_written);
        totals.cached = new.cached.or(totals.cached);
    }

    fn end(&mut self, stop_reason: Option<String>, details: Option<StopDetails>) {
        self.stop_reason = stop_reason.or(self.stop_reason.take());
        self.category = details.and_then(|details| details.category).or(self.category.take());
    }

    /// `None` if the counts are missing or malformed.
    fn counted(&self) -> Option<Usage> {
        let cached = self.totals.cached.unwrap_or(0);
        let cache_written = self.totals.cache_written.unwrap_or(0);
        let input = self.totals.input?.checked_add(cached)?.checked_add(cache_written)?;
        (!self.totals_malformed && input > 0).then_some(Usage {
            input,
            cached,
            cache_written,
            output: self.totals.output?,
            thinking: 0,
            estimated: false,
        })
    }

    /// Its tokens so far, estimated where the provider has not counted them.
    pub(crate) fn usage(&self, input_bytes: usize) -> Usage {
        self.counted().unwrap_or_else(|| Usage::estimate(input_bytes, self.written()))
    }

    /// The texts that came so far: answer, thoughts, arguments of tools.
    pub(crate) fn texts(&self) -> [&str; 3] {
        [&self.text, &self.thoughts, &self.arguments]
    }

    /// The model that answers, in the provider's words; empty before that is known.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    fn written(&self) -> usize {
        self.texts().iter().map(|text| text.len()).sum()
    }

    /// The completion. `input_bytes` is the length of what was sent, for servers without usage.
    ///
    /// # Errors
    /// [`WireFault::Cut`] if the stream ended too early, [`WireFault::Malformed`] if several tools are
    /// called.
    pub(crate) fn finish(self, input_bytes: usize) -> Result<Completion, WireFault> {
        let finish = match self.stop_reason.as_deref() {
            None => return Err(WireFault::Cut),
            Some("end_turn" | "stop_sequence" | "tool_use") => Finish::Stop,
            Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
            Some("refusal") => Finish::Refusal,
            Some("pause_turn") => {
                let what = "the answer pauses for a tool of the provider, and none was offered";
                return Err(WireFault::Malformed(what.to_owned()));
            }
            Some(other) => {
                tracing::warn!(stop_reason = other, "unknown `stop_reason`, taken for `end_turn`");
                Finish::Stop
            }
        };
        if self.calls > 1 {
            return Err(WireFault::Malformed(SEVERAL_CALLS.to_owned()));
        }
        let usage = self.usage(input_bytes);
        Ok(Completion {
            text: if self.calls == 1 { self.arguments } else { self.text },
            thoughts: Some(self.thoughts).filter(|thoughts| !thoughts.is_empty()),
            finish,
            refusal: self.category,
            usage,
            model: self.model,
            id: self.id,
        })
    }
}

/// The JSON of an answer or event, or the error that it holds.
fn parse(text: &str) -> Result<Value, WireFault> {
    let value: Value = serde_json::from_str(text).map_err(malformed)?;
    match ApiFailure::from_json(200, &value) {
        None => Ok(value),
        Some(mut failure) => {
            failure.status = match failure.kind.as_str() {
                "invalid_request_error" => 400,
                "authentication_error" => 401,
                "billing_error" => 402,
                "permission_error" => 403,
                "not_found_error" => 404,
                "request_too_large" => 413,
                "rate_limit_error" => 429,
                "timeout_error" => 504,
                "overloaded_error" => 529,
                _ => 500,
            };
            Err(WireFault::Failed(failure))
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` calls")]
fn malformed(error: serde_json::Error) -> WireFault {
    WireFault::Malformed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{AnswerSchema, Message};

    fn request() -> Request {
        let messages = vec![
            Message::new(Role::System, "s"),
            Message::new(Role::User, "u"),
            Message::new(Role::Assistant, "a"),
            Message::new(Role::User, "v"),
        ];
        Request {
            temperature: Some(0.5),
            seed: Some(7),
            effort: Some(Effort::Minimal),
            stop: vec!["END".to_owned()],
            ..Request::new("m", messages, 30)
        }
    }

    fn with_schema() -> Request {
        let json = json!({"type": "object"});
        Request { schema: Some(AnswerSchema { name: "story".to_owned(), json }), ..request() }
    }

    fn answer(text: &str) -> Result<Completion, WireFault> {
        let mut answer = AnthropicAnswer::default();
        answer.whole(text)?;
        answer.finish(300)
    }

    fn stream(items: &[&str]) -> Result<Completion, WireFault> {
        let mut answer = AnthropicAnswer::default();
        for item in items {
            answer.event(&SseEvent { name: String::new(), data: (*item).to_owned() })?;
        }
        answer.finish(300)
    }

    #[test]
    fn body_all_capabilities_has_every_field() {
        let expected = json!({
            "model": "m", "max_tokens": 30, "system": "s",
            "messages": [
                {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"},
                {"role": "user", "content": "v"},
            ],
            "temperature": 0.5, "stop_sequences": ["END"], "stream": true,
            "output_config": {"effort": "low"},
        });
        assert_eq!(body(&request(), Capabilities::anthropic()), expected);
    }

    #[test]
    fn body_schema_follows_the_mode() {
        let of =
            |schema| body(&with_schema(), Capabilities { schema, ..Capabilities::anthropic() });
        let format = json!({"type": "json_schema", "schema": {"type": "object"}});
        assert_eq!(
            of(SchemaMode::Schema)["output_config"],
            json!({"effort": "low", "format": format})
        );
        let tool = of(SchemaMode::Tool);
        assert_eq!(tool["tools"][0]["input_schema"], json!({"type": "object"}));
        assert_eq!(tool["tool_choice"], json!({"type": "tool", "name": "story"}));
        let text = of(SchemaMode::Text);
        assert!(text["system"].as_str().unwrap().ends_with(r#"{"type":"object"}"#));
    }

    #[test]
    fn whole_answer_is_read() {
        let completion = answer(
            r#"{"id":"i","type":"message","role":"assistant","model":"m-1","content":[
            {"type":"thinking","thinking":"hm","signature":"x"},{"type":"redacted_thinking","data":"x"},
            {"type":"text","text":"he"},{"type":"text","text":"llo"}],
            "stop_reason":"end_turn","stop_details":null,
            "usage":{"input_tokens":9,"output_tokens":5,"cache_creation_input_tokens":2,"cache_read_input_tokens":3}}"#,
        )
        .unwrap();
        assert_eq!((completion.text.as_str(), completion.finish), ("hello", Finish::Stop));
        assert_eq!(completion.thoughts.as_deref(), Some("hm"));
        let usage = Usage { input: 14, cached: 3, cache_written: 2, output: 5, ..Usage::default() };
        assert_eq!(completion.usage, usage);
    }

    #[test]
    fn stream_is_put_together_and_totals_replace_each_other() {
        let completion = stream(&[
            r#"{"type":"message_start","message":{"id":"i","type":"message","model":"m","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"something_new","value":1}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"he"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"llo"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#,
            r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":5}}"#,
            r#"{"type":"message_stop"}"#,
        ])
        .unwrap();
        assert_eq!((completion.text.as_str(), completion.finish), ("hello", Finish::Stop));
        assert_eq!((completion.usage.input, completion.usage.output), (9, 5));
    }

    #[test]
    fn tool_call_gives_its_arguments() {
        let streamed = stream(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"story","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":":1}"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}"#,
        ]);
        let whole = answer(
            r#"{"content":[{"type":"text","text":"Here."},{"type":"tool_use","name":"story","input":{"a":1}}],"stop_reason":"tool_use"}"#,
        );
        for completion in [streamed.unwrap(), whole.unwrap()] {
            assert_eq!((completion.text.as_str(), completion.finish), (r#"{"a":1}"#, Finish::Stop));
        }
    }

    #[test]
    fn refusal_has_its_category() {
        let completion = stream(&[
            r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"category":"frontier_llm"}}}"#,
        ])
        .unwrap();
        assert_eq!(completion.finish, Finish::Refusal);
        assert_eq!(completion.refusal.as_deref(), Some("frontier_llm"));
    }

    #[test]
    fn stream_without_a_stop_reason_is_cut() {
        let piece =
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"he"}}"#;
        assert_eq!(stream(&[piece]), Err(WireFault::Cut));
    }

    #[test]
    fn usage_missing_or_wrong_is_estimated() {
        for usage in
            ["null", "{}", r#"{"input_tokens":"9","output_tokens":1}"#, r#"{"input_tokens":9}"#]
        {
            let text = format!(
                r#"{{"content":[{{"type":"text","text":"hello!"}}],"stop_reason":"end_turn","usage":{usage}}}"#
            );
            assert_eq!(answer(&text).unwrap().usage, Usage::estimate(300, 6), "{usage}");
        }
    }

    #[test]
    fn error_inside_a_stream_has_the_status_of_its_type() {
        let event =
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        let fault = stream(&[event]).unwrap_err();
        assert!(matches!(fault, WireFault::Failed(failure) if failure.status == 529));
    }

    #[test]
    fn malformed_answers_are_refused() {
        for text in ["", "<html>", "{}", r#"{"content":"x"}"#, r#"{"content":[]}"#] {
            assert!(matches!(answer(text), Err(WireFault::Malformed(_))), "{text}");
        }
    }
}
