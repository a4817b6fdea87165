//! A request of an agent's client: what is read of it, what is refused, and what it may take.
//!
//! It is passed on as it came but for the name of the model, a limit on the answer where a cap needs one,
//! and the wish for a count of tokens.

use super::denial::Denial;
use super::models::OfferedModel;
use super::recorded::plain_request;
use axum::http::StatusCode;
use llm::{Capabilities, Request, WireProtocol};
use serde_json::{Map, Value, json};

/// Tokens of an answer whose request names no limit.
const ANSWER: u64 = 16_384;
/// Tokens that providers add to a conversation.
const ADDED: u64 = 512;

/// A request that was read.
#[derive(Debug, Clone)]
pub(super) struct Question {
    body: Map<String, Value>,
    /// The model, as the agent names it.
    pub(super) model: String,
    /// Whether it asks for a stream.
    streams: bool,
    /// Bytes of its body.
    length: u64,
}

/// A request as it is passed on.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) body: String,
    /// The same as a recording has it; none if it is more than a plain conversation.
    pub(super) plain: Option<Request>,
    /// Whether it asks for a stream.
    pub(super) streams: bool,
    /// Tokens that it reads and writes at most.
    pub(super) most: (u64, u64),
    /// Whether the client did not ask for the event that counts tokens, and must not get it.
    pub(super) hides_usage: bool,
}

impl Question {
    /// Reads a body.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Denial> {
        let wrong = |what: String| Denial::new(StatusCode::BAD_REQUEST, "form", what);
        let body: Map<String, Value> = serde_json::from_slice(bytes)
            .map_err(|error| wrong(format!("the body is no JSON object: {error}")))?;
        let Some(model) = body.get("model").and_then(Value::as_str).map(str::to_owned) else {
            return Err(wrong("the body names no `model`".to_owned()));
        };
        if !body.get("messages").is_some_and(Value::is_array) {
            return Err(wrong("the body has no list `messages`".to_owned()));
        }
        let streams = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
        Ok(Self { body, model, streams, length: bytes.len() as u64 })
    }

    /// Makes it ready for a model. A limit on the answer is added if there is a cap and it has none.
    pub(super) fn prepare(
        self,
        model: &OfferedModel,
        is_capped: bool,
        can: Capabilities,
    ) -> Result<Prepared, Denial> {
        if let Some(feature) = foreign(&self.body, model.protocol) {
            let message = format!(
                "{feature} is not passed on: it would reach beyond the models of this run, or cost what no \
                 price says; leave it out"
            );
            return Err(Denial::new(StatusCode::BAD_REQUEST, "feature", message));
        }
        let input = self.most_input();
        let Self { mut body, streams, .. } = self;
        body.insert("model".to_owned(), model.provider_name.as_str().into());
        let named = limit(&body)?;
        if named.is_none() && is_capped {
            let name = match (model.protocol, can.old_max_tokens) {
                (WireProtocol::OpenAi, false) => "max_completion_tokens",
                _ => "max_tokens",
            };
            body.insert(name.to_owned(), ANSWER.into());
        }
        let output = named.unwrap_or(ANSWER);
        let answers = body.get("n").and_then(Value::as_u64).unwrap_or(1).max(1);
        let counts = |body: &Map<String, Value>| {
            body.get("stream_options").and_then(|options| options["include_usage"].as_bool())
        };
        let is_openai = model.protocol == WireProtocol::OpenAi;
        let mut hides_usage = false;
        if streams && is_openai && can.stream_usage && counts(&body) != Some(true) {
            match body.entry("stream_options").or_insert_with(|| json!({})) {
                Value::Object(options) => options.insert("include_usage".to_owned(), true.into()),
                other => {
                    *other = json!({ "include_usage": true });
                    None
                }
            };
            hides_usage = true;
        }
        let plain = plain_request(&body);
        let most = (input, output.saturating_mul(answers));
        Ok(Prepared { body: Value::Object(body).to_string(), plain, streams, most, hides_usage })
    }

    /// An upper bound of the tokens that a provider reads: a token of a byte-level vocabulary is at least
    /// one byte, and each message, with its frame of JSON, has a few more. Tools and schemas may be shown
    /// to the model in another notation.
    fn most_input(&self) -> u64 {
        let again: usize = ["tools", "functions", "response_format", "output_config"]
            .iter()
            .filter_map(|name| Some(self.body.get(*name)?.to_string().len()))
            .sum();
        self.length + again as u64 + ADDED
    }
}

/// The limit on the answer that a request names.
fn limit(body: &Map<String, Value>) -> Result<Option<u64>, Denial> {
    let mut named = None;
    for name in ["max_completion_tokens", "max_tokens"] {
        let Some(value) = body.get(name).filter(|value| !value.is_null()) else { continue };
        let tokens = value.as_u64().ok_or_else(|| {
            let message = format!("`{name}` is a whole number of tokens");
            Denial::new(StatusCode::BAD_REQUEST, "form", message)
        })?;
        // The larger one counts, whichever the provider goes by.
        named = named.max(Some(tokens));
    }
    Ok(named)
}

/// What a request asks of the provider beyond an answer of the model: the network, files of the account,
/// another price.
fn foreign(body: &Map<String, Value>, protocol: WireProtocol) -> Option<String> {
    let has = |name: &str| body.get(name).is_some_and(|value| !value.is_null());
    if let Some(name) =
        ["web_search_options", "mcp_servers", "container"].into_iter().find(|name| has(name))
    {
        return Some(format!("`{name}`"));
    }
    let tier = body.get("service_tier").and_then(Value::as_str).unwrap_or("auto");
    if !matches!(tier, "auto" | "default" | "standard_only") {
        return Some(format!("`service_tier` {tier:?}"));
    }
    // Tools that the client runs by itself.
    let is_own = |kind: &str| match protocol {
        WireProtocol::OpenAi => matches!(kind, "function" | "custom"),
        WireProtocol::Anthropic => {
            kind == "custom"
                || ["bash_", "text_editor_", "computer_", "memory_"]
                    .iter()
                    .any(|own| kind.starts_with(own))
        }
    };
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    let hosted = tools.filter_map(|tool| tool["type"].as_str()).find(|kind| !is_own(kind));
    if let Some(kind) = hosted {
        return Some(format!("the tool {kind:?}, which the provider runs"));
    }
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten();
    let system = body.get("system");
    messages.map(|message| &message["content"]).chain(system).find_map(foreign_block)
}

/// A part of a message that the provider fetches from elsewhere.
fn foreign_block(content: &Value) -> Option<String> {
    content.as_array()?.iter().find_map(|block| {
        let picture = block["image_url"]["url"].as_str().or(block["image_url"].as_str());
        if picture.is_some_and(|url| !url.starts_with("data:")) {
            return Some("a picture by its address".to_owned());
        }
        let source = block["source"]["type"].as_str();
        if matches!(source, Some("url" | "file")) || block["file"]["file_id"].is_string() {
            return Some("a file by its address or its number".to_owned());
        }
        foreign_block(&block["content"])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::models::ModelSource;
    use llm::Replay;

    fn model(protocol: WireProtocol) -> OfferedModel {
        OfferedModel {
            id: "m".to_owned(),
            name: "a:m".to_owned(),
            provider_name: "m-1".to_owned(),
            protocol,
            price: None,
            source: ModelSource::Recording(Replay::default()),
        }
    }

    fn prepare(body: &Value, protocol: WireProtocol, is_capped: bool) -> Result<Prepared, Denial> {
        let question = Question::read(body.to_string().as_bytes()).unwrap();
        question.prepare(&model(protocol), is_capped, Capabilities::openai())
    }

    #[test]
    fn request_goes_through_but_for_model_limit_and_count() {
        let plain = json!({"model": "a:m", "messages": [], "stream": true, "x": 1});
        let ready = prepare(&plain, WireProtocol::OpenAi, true).unwrap();
        let body: Value = serde_json::from_str(&ready.body).unwrap();
        assert_eq!((&body["model"], &body["x"]), (&json!("m-1"), &json!(1)));
        assert_eq!(body["max_completion_tokens"], ANSWER);
        assert!(ready.hides_usage && body["stream_options"]["include_usage"] == true);
        assert!(ready.streams && ready.plain.is_none(), "`x` is more than a conversation");
        let length = plain.to_string().len() as u64;
        assert_eq!(ready.most, (length + ADDED, ANSWER));
        let free = prepare(&plain, WireProtocol::OpenAi, false).unwrap();
        assert!(!free.body.contains("max_completion_tokens"));
        let named = json!({"model": "m", "messages": [], "max_tokens": 5, "n": 3,
            "stream": true, "stream_options": {"include_usage": true}});
        let ready = prepare(&named, WireProtocol::OpenAi, true).unwrap();
        assert_eq!((ready.most.1, ready.hides_usage), (15, false));
        let messages = prepare(&named, WireProtocol::Anthropic, true).unwrap();
        assert!(!messages.hides_usage);
    }

    #[test]
    fn what_reaches_beyond_the_model_is_refused() {
        for (protocol, more) in [
            (WireProtocol::OpenAi, json!({"web_search_options": {}})),
            (WireProtocol::OpenAi, json!({"tools": [{"type": "web_search"}]})),
            (WireProtocol::OpenAi, json!({"service_tier": "priority"})),
            (
                WireProtocol::OpenAi,
                json!({"messages": [{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}]}),
            ),
            (WireProtocol::Anthropic, json!({"mcp_servers": [{"url": "https://example.org"}]})),
            (WireProtocol::Anthropic, json!({"tools": [{"type": "web_fetch_20250910"}]})),
            (
                WireProtocol::Anthropic,
                json!({"messages": [{"role": "user", "content": [
                {"type": "tool_result", "content": [
                    {"type": "image", "source": {"type": "url", "url": "https://example.org"}}]}]}]}),
            ),
        ] {
            let mut body = json!({"model": "m", "messages": []});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let denial = prepare(&body, protocol, false).unwrap_err();
            assert_eq!(denial.code, "feature", "{more}");
        }
        for (protocol, more) in [
            (
                WireProtocol::OpenAi,
                json!({"tools": [{"type": "function", "function": {"name": "url"}}]}),
            ),
            (
                WireProtocol::Anthropic,
                json!({"tools": [{"name": "a", "input_schema": {}}, {"type": "bash_20250124"}]}),
            ),
            (
                WireProtocol::Anthropic,
                json!({"messages": [{"role": "assistant", "content": [
                {"type": "tool_use", "input": {"source": {"type": "url"}}}]}]}),
            ),
            (
                WireProtocol::OpenAi,
                json!({"messages": [{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]}]}),
            ),
        ] {
            let mut body = json!({"model": "m", "messages": []});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert!(prepare(&body, protocol, false).is_ok(), "{more}");
        }
    }

    #[test]
    fn body_that_is_none_is_refused() {
        for body in ["", "[]", "{}", r#"{"model": 1, "messages": []}"#, r#"{"model": "m"}"#] {
            assert_eq!(Question::read(body.as_bytes()).unwrap_err().code, "form", "{body}");
        }
        let wrong = json!({"model": "m", "messages": [], "max_tokens": -1});
        assert_eq!(prepare(&wrong, WireProtocol::OpenAi, true).unwrap_err().code, "form");
    }
}
