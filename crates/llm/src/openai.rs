//! OpenAI Chat Completions: a request to the body that is sent, and a body or stream to a
//! completion. Also spoken by vLLM, `SGLang`, llama.cpp, Ollama and `rl serve`.

use crate::capabilities::{Capabilities, SchemaMode};
use crate::chat::{Completion, Finish, Request, Usage};
use crate::sse::SseEvent;
use crate::wire::{ApiFailure, SEVERAL_CALLS, WireFault, with_schema_in_words};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The path below the base URL.
pub(crate) const PATH: &str = "chat/completions";

/// The body of a request.
pub(crate) fn body(request: &Request, capabilities: Capabilities) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    let messages = match capabilities.schema {
        SchemaMode::Schema | SchemaMode::Tool => request.messages.clone(),
        SchemaMode::JsonObject | SchemaMode::Text => with_schema_in_words(request),
    };
    body.insert("messages".to_owned(), json!(messages));
    let limit = if capabilities.old_max_tokens { "max_tokens" } else { "max_completion_tokens" };
    body.insert(limit.to_owned(), json!(request.max_tokens));
    if capabilities.temperature {
        insert_some(&mut body, "temperature", request.temperature);
        insert_some(&mut body, "top_p", request.top_p);
    }
    if capabilities.seed {
        insert_some(&mut body, "seed", request.seed);
    }
    if capabilities.effort {
        insert_some(&mut body, "reasoning_effort", request.effort.map(crate::Effort::name));
    }
    if !request.stop.is_empty() {
        body.insert("stop".to_owned(), json!(request.stop));
    }
    if capabilities.stream {
        body.insert("stream".to_owned(), json!(true));
        if capabilities.stream_usage {
            body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
    }
    if let Some(schema) = &request.schema {
        match capabilities.schema {
            SchemaMode::Schema => {
                let format = json!({"name": schema.name, "strict": true, "schema": schema.json});
                let format = json!({"type": "json_schema", "json_schema": format});
                body.insert("response_format".to_owned(), format);
            }
            SchemaMode::Tool => {
                let function = json!({
                    "name": schema.name, "description": "Hand in the answer.",
                    "parameters": schema.json, "strict": true,
                });
                body.insert(
                    "tools".to_owned(),
                    json!([{"type": "function", "function": function}]),
                );
                let choice = json!({"type": "function", "function": {"name": schema.name}});
                body.insert("tool_choice".to_owned(), choice);
            }
            SchemaMode::JsonObject => {
                body.insert("response_format".to_owned(), json!({"type": "json_object"}));
            }
            SchemaMode::Text => {}
        }
    }
    Value::Object(body)
}

fn insert_some<T: serde::Serialize>(body: &mut Map<String, Value>, name: &str, value: Option<T>) {
    if let Some(value) = value {
        body.insert(name.to_owned(), json!(value));
    }
}

/// An answer or a chunk of one. Fields that are not listed are ignored, and servers may leave out
/// or null any of these.
#[derive(Deserialize)]
struct Body {
    id: Option<String>,
    model: Option<String>,
    choices: Option<Vec<AnswerChoice>>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct AnswerChoice {
    /// Of a whole answer.
    message: Option<AnswerMessage>,
    /// Of a chunk.
    delta: Option<AnswerMessage>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct AnswerMessage {
    content: Option<String>,
    refusal: Option<String>,
    /// Thoughts, as vLLM names them.
    reasoning: Option<String>,
    /// Thoughts, as `SGLang` and older versions of vLLM name them.
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<AnswerToolCall>>,
}

#[derive(Deserialize)]
struct AnswerToolCall {
    index: Option<usize>,
    function: Option<ToolArguments>,
}

#[derive(Deserialize)]
struct ToolArguments {
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct TokenCounts {
    prompt_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

/// `None` if the counts are missing, malformed or contradict each other.
fn usage(value: &Value) -> Option<Usage> {
    let counts = TokenCounts::deserialize(value).ok()?;
    let usage = Usage {
        input: counts.prompt_tokens,
        cached: counts.prompt_tokens_details.and_then(|d| d.cached_tokens).unwrap_or(0),
        cache_written: 0,
        output: counts.completion_tokens,
        thinking: counts.completion_tokens_details.and_then(|d| d.reasoning_tokens).unwrap_or(0),
        estimated: false,
    };
    (usage.cached <= usage.input && usage.thinking <= usage.output && usage.input > 0)
        .then_some(usage)
}

/// A completion in the making.
#[derive(Debug, Default)]
pub(crate) struct OpenAiAnswer {
    id: String,
    model: String,
    text: String,
    thoughts: String,
    refusal: String,
    arguments: String,
    called: bool,
    /// It calls several tools.
    calls_several: bool,
    finish: Option<String>,
    usage: Option<Usage>,
    done: bool,
}

impl OpenAiAnswer {
    /// Takes a whole answer, sent without a stream.
    ///
    /// # Errors
    /// [`WireFault`].
    pub(crate) fn whole(&mut self, text: &str) -> Result<(), WireFault> {
        self.take(text)?;
        if self.finish.is_none() {
            return Err(WireFault::Malformed("the answer has no `finish_reason`".to_owned()));
        }
        Ok(())
    }

    /// Takes the next event of a stream.
    ///
    /// # Errors
    /// [`WireFault`].
    pub(crate) fn event(&mut self, event: &SseEvent) -> Result<(), WireFault> {
        if event.data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        self.take(&event.data)
    }

    /// Whether nothing more is needed: the usage comes last.
    pub(crate) fn is_complete(&self) -> bool {
        self.done
    }

    fn take(&mut self, text: &str) -> Result<(), WireFault> {
        let malformed = |error: serde_json::Error| WireFault::Malformed(error.to_string());
        let value: Value = serde_json::from_str(text).map_err(malformed)?;
        if let Some(mut failure) = ApiFailure::from_json(200, &value) {
            failure.status = status_of(&failure);
            return Err(WireFault::Failed(failure));
        }
        let body = Body::deserialize(value).map_err(malformed)?;
        if let Some(id) = body.id {
            self.id = id;
        }
        if let Some(model) = body.model {
            self.model = model;
        }
        if let Some(counts) = body.usage.filter(|counts| !counts.is_null()) {
            self.usage = usage(&counts);
        }
        for choice in body.choices.into_iter().flatten() {
            if let Some(finish) = choice.finish_reason {
                self.finish = Some(finish);
            }
            if let Some(content) = choice.message.or(choice.delta) {
                self.add(content);
            }
        }
        Ok(())
    }

    fn add(&mut self, content: AnswerMessage) {
        self.text += content.content.as_deref().unwrap_or_default();
        self.refusal += content.refusal.as_deref().unwrap_or_default();
        let thoughts = content.reasoning.or(content.reasoning_content);
        self.thoughts += thoughts.as_deref().unwrap_or_default();
        for call in content.tool_calls.into_iter().flatten() {
            self.calls_several |= call.index.unwrap_or(0) > 0;
            self.called = true;
            self.arguments +=
                call.function.and_then(|f| f.arguments).as_deref().unwrap_or_default();
        }
    }

    /// Its tokens so far, estimated where the provider has not counted them.
    pub(crate) fn usage(&self, input_bytes: usize) -> Usage {
        self.usage.unwrap_or_else(|| Usage::estimate(input_bytes, self.written()))
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
        let finish = match self.finish.as_deref() {
            None if !self.done => return Err(WireFault::Cut),
            Some("abort" | "error" | "insufficient_system_resource") => return Err(WireFault::Cut),
            _ if !self.refusal.is_empty() => Finish::Refusal,
            None | Some("stop" | "tool_calls" | "function_call") => Finish::Stop,
            Some("length") => Finish::Length,
            Some("content_filter") => Finish::Filter,
            Some(other) => {
                tracing::warn!(finish_reason = other, "unknown `finish_reason`, taken for `stop`");
                Finish::Stop
            }
        };
        if self.calls_several {
            return Err(WireFault::Malformed(SEVERAL_CALLS.to_owned()));
        }
        let usage = self.usage(input_bytes);
        Ok(Completion {
            text: if self.called { self.arguments } else { self.text },
            thoughts: Some(self.thoughts).filter(|thoughts| !thoughts.is_empty()),
            finish,
            refusal: Some(self.refusal).filter(|refusal| !refusal.is_empty()),
            usage,
            model: self.model,
            id: self.id,
        })
    }
}

/// The status that an error inside a stream would have had.
fn status_of(failure: &ApiFailure) -> u16 {
    if let Ok(status @ 400..=599) = failure.code.parse() {
        return status;
    }
    match (failure.code.as_str(), failure.kind.as_str()) {
        ("insufficient_quota" | "rate_limit_exceeded", _) | (_, "rate_limit_error") => 429,
        (_, "authentication_error") => 401,
        (_, "invalid_request_error" | "BadRequestError") => 400,
        _ => 500,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{AnswerSchema, Effort, Message, Role};

    fn request() -> Request {
        let messages = vec![Message::new(Role::System, "s"), Message::new(Role::User, "u")];
        Request {
            temperature: Some(0.5),
            top_p: Some(0.9),
            seed: Some(7),
            effort: Some(Effort::Low),
            stop: vec!["END".to_owned()],
            ..Request::new("m", messages, 30)
        }
    }

    fn with_schema() -> Request {
        let json = json!({"type": "object", "properties": {}});
        let schema = Some(AnswerSchema { name: "story".to_owned(), json });
        Request { schema, ..Request::new("m", vec![Message::new(Role::User, "u")], 30) }
    }

    fn answer(text: &str) -> Result<Completion, WireFault> {
        let mut answer = OpenAiAnswer::default();
        answer.whole(text)?;
        answer.finish(300)
    }

    fn stream(chunks: &[&str]) -> Result<Completion, WireFault> {
        let mut answer = OpenAiAnswer::default();
        for chunk in chunks {
            answer.event(&SseEvent { name: String::new(), data: (*chunk).to_owned() })?;
        }
        answer.finish(300)
    }

    #[test]
    fn body_all_capabilities_has_every_field() {
        let expected = json!({
            "model": "m",
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
            "max_completion_tokens": 30, "temperature": 0.5, "top_p": 0.9, "seed": 7,
            "reasoning_effort": "low", "stop": ["END"],
            "stream": true, "stream_options": {"include_usage": true},
        });
        assert_eq!(body(&request(), Capabilities::openai()), expected);
    }

    #[test]
    fn body_no_capabilities_has_the_least() {
        let none = Capabilities {
            schema: SchemaMode::Text,
            temperature: false,
            seed: false,
            effort: false,
            stream: false,
            stream_usage: false,
            old_max_tokens: true,
        };
        let expected = json!({
            "model": "m",
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
            "max_tokens": 30, "stop": ["END"],
        });
        assert_eq!(body(&request(), none), expected);
    }

    #[test]
    fn body_schema_follows_the_mode() {
        let of = |schema| body(&with_schema(), Capabilities { schema, ..Capabilities::openai() });
        let schema = json!({"type": "object", "properties": {}});
        assert_eq!(
            of(SchemaMode::Schema)["response_format"],
            json!({"type": "json_schema", "json_schema": {"name": "story", "strict": true, "schema": schema}})
        );
        let tool = of(SchemaMode::Tool);
        assert_eq!(tool["tools"][0]["function"]["parameters"], schema);
        assert_eq!(tool["tool_choice"], json!({"type": "function", "function": {"name": "story"}}));
        let object = of(SchemaMode::JsonObject);
        assert_eq!(object["response_format"], json!({"type": "json_object"}));
        let text = of(SchemaMode::Text);
        assert_eq!(text.get("response_format"), None);
        for value in [object, text] {
            assert_eq!(value["messages"][0]["role"], "system");
            let words = value["messages"][0]["content"].as_str().unwrap();
            assert!(words.ends_with(r#"{"properties":{},"type":"object"}"#), "{words}");
        }
    }

    #[test]
    fn whole_answer_is_read() {
        let text = r#"{"id":"i","object":"chat.completion","created":0,"model":"m-1","choices":[{"index":0,
            "finish_reason":"stop","message":{"role":"assistant","content":"hello","refusal":null}}],
            "usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,
            "prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}"#;
        let completion = answer(text).unwrap();
        assert_eq!((completion.text.as_str(), completion.finish), ("hello", Finish::Stop));
        assert_eq!((completion.model.as_str(), completion.id.as_str()), ("m-1", "i"));
        let usage = Usage { input: 9, cached: 4, output: 5, thinking: 2, ..Usage::default() };
        assert_eq!(completion.usage, usage);
    }

    #[test]
    fn stream_is_put_together() {
        let completion = stream(&[
            r#"{"id":"i","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning":"hm"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"he"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"llo"},"finish_reason":null}],"usage":null}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}"#,
            "[DONE]",
        ])
        .unwrap();
        assert_eq!((completion.text.as_str(), completion.finish), ("hello", Finish::Length));
        assert_eq!(completion.thoughts.as_deref(), Some("hm"));
        assert_eq!((completion.usage.input, completion.usage.output), (9, 5));
    }

    #[test]
    fn stream_tool_call_gives_its_arguments() {
        let completion = stream(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"story","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        ])
        .unwrap();
        assert_eq!((completion.text.as_str(), completion.finish), (r#"{"a":1}"#, Finish::Stop));
    }

    #[test]
    fn stream_without_end_is_cut() {
        let piece = r#"{"choices":[{"delta":{"content":"he"},"finish_reason":null}]}"#;
        assert_eq!(stream(&[piece]), Err(WireFault::Cut));
        assert_eq!(stream(&[]), Err(WireFault::Cut));
        assert!(stream(&[piece, "[DONE]"]).is_ok());
    }

    #[test]
    fn refusal_keeps_its_text() {
        let completion = answer(
            r#"{"choices":[{"finish_reason":"stop","message":{"content":null,"refusal":"I cannot."}}]}"#,
        )
        .unwrap();
        assert_eq!(completion.finish, Finish::Refusal);
        assert_eq!(completion.refusal.as_deref(), Some("I cannot."));
    }

    #[test]
    fn usage_missing_or_wrong_is_estimated() {
        for usage in [
            "null",
            r#"{"prompt_tokens":"9","completion_tokens":5}"#,
            r#"{"prompt_tokens":-9,"completion_tokens":5}"#,
            r#"{"prompt_tokens":0,"completion_tokens":0}"#,
            r#"{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":10}}"#,
        ] {
            let text = format!(
                r#"{{"choices":[{{"finish_reason":"stop","message":{{"content":"hello!"}}}}],"usage":{usage}}}"#
            );
            let completion = answer(&text).unwrap();
            assert_eq!(completion.usage, Usage::estimate(300, 6), "{usage}");
            assert_eq!((completion.usage.input, completion.usage.output), (100, 2));
        }
    }

    #[test]
    fn error_inside_a_stream_has_the_status_of_its_type() {
        for (error, status) in [
            (r#"{"message":"m","type":"server_error"}"#, 500),
            (r#"{"message":"m","code":"rate_limit_exceeded"}"#, 429),
            (r#"{"message":"m","type":"BadRequestError","code":400}"#, 400),
            (r#"{"message":"m","code":503}"#, 503),
            (r#""text""#, 500),
        ] {
            let fault = stream(&[&format!(r#"{{"error":{error}}}"#)]).unwrap_err();
            assert!(matches!(fault, WireFault::Failed(failure) if failure.status == status));
        }
    }

    #[test]
    fn malformed_answers_are_refused() {
        for text in
            ["", "<html>", "[]", "{}", r#"{"choices":{}}"#, r#"{"choices":[{"message":7}]}"#]
        {
            assert!(matches!(answer(text), Err(WireFault::Malformed(_))), "{text}");
        }
    }
}
