//! Requests and answers in the form of `llm`'s recordings: plain conversations, both ways.

use llm::{Completion, Effort, Finish, Message, Request, Role, SseEvent};
use serde_json::{Map, Value, json};

/// Tokens of an answer whose request names no limit.
const ANSWER: u32 = 16_384;
/// What a request may have beside its messages, of which nothing is kept.
const PASSED_OVER: [&str; 7] =
    ["model", "messages", "stream", "stream_options", "user", "metadata", "store"];

/// A request as a recording has it; none if it is more than a plain conversation: with tools, pictures,
/// a schema, or several answers.
pub(super) fn plain_request(body: &Map<String, Value>) -> Option<Request> {
    let mut messages = Vec::new();
    if let Some(system) = body.get("system") {
        messages.push(Message::new(Role::System, text(system)?));
    }
    for message in body.get("messages")?.as_array()? {
        let message = message.as_object()?;
        let role = match message.get("role")?.as_str()? {
            "system" | "developer" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return None,
        };
        let is_plain = message
            .iter()
            .all(|(name, value)| matches!(&**name, "role" | "content") || value.is_null());
        if !is_plain {
            return None;
        }
        messages.push(Message::new(role, text(message.get("content")?)?));
    }
    let mut request = Request::new(body.get("model")?.as_str()?, messages, ANSWER);
    for (name, value) in body {
        match name.as_str() {
            name if PASSED_OVER.contains(&name) || name == "system" || value.is_null() => {}
            "n" if *value == 1 => {}
            "max_tokens" | "max_completion_tokens" => {
                request.max_tokens = u32::try_from(value.as_u64()?).ok()?;
            }
            "temperature" => request.temperature = Some(value.as_f64()?),
            "top_p" => request.top_p = Some(value.as_f64()?),
            "seed" => request.seed = Some(value.as_u64()?),
            "reasoning_effort" => {
                request.effort = Some(serde_json::from_value::<Effort>(value.clone()).ok()?);
            }
            "stop" | "stop_sequences" => {
                request.stop = match value {
                    Value::String(one) => vec![one.clone()],
                    several => serde_json::from_value(several.clone()).ok()?,
                };
            }
            _ => return None,
        }
    }
    Some(request)
}

/// The text of a message; none if it has more than text.
fn text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts: Option<Vec<&str>> = blocks
                .iter()
                .map(|block| (block["type"] == "text").then(|| block["text"].as_str()).flatten())
                .collect();
            Some(texts?.concat())
        }
        _ => None,
    }
}

/// A recorded answer in OpenAI's protocol.
pub(super) fn whole(completion: &Completion) -> Value {
    let message = json!({
        "role": "assistant",
        "content": completion.text,
        "refusal": completion.refusal,
    });
    let choice =
        json!({ "index": 0, "message": message, "finish_reason": finish(completion.finish) });
    json!({
        "id": completion.id,
        "object": "chat.completion",
        "created": 0,
        "model": completion.model,
        "choices": [choice],
        "usage": usage(completion),
    })
}

/// The same as events. The last one says that nothing follows.
pub(super) fn events(completion: &Completion, counts: bool) -> Vec<SseEvent> {
    let chunk = |choices: Value, usage: Value| {
        json!({
            "id": completion.id,
            "object": "chat.completion.chunk",
            "created": 0,
            "model": completion.model,
            "choices": choices,
            "usage": usage,
        })
    };
    let delta = json!({
        "role": "assistant",
        "content": completion.text,
        "refusal": completion.refusal,
    });
    let reason = finish(completion.finish);
    let mut chunks = vec![
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }]), Value::Null),
    ];
    if counts {
        chunks.push(chunk(json!([]), usage(completion)));
    }
    let mut events: Vec<SseEvent> = chunks.iter().map(|chunk| data(chunk.to_string())).collect();
    events.push(data("[DONE]".to_owned()));
    events
}

fn data(data: String) -> SseEvent {
    SseEvent { name: String::new(), data }
}

fn finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::Refusal => "stop",
        Finish::Length => "length",
        Finish::Filter => "content_filter",
    }
}

fn usage(completion: &Completion) -> Value {
    let usage = completion.usage;
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cached },
        "completion_tokens_details": { "reasoning_tokens": usage.thinking },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: Value) -> Option<Request> {
        match body {
            Value::Object(body) => plain_request(&body),
            other => unreachable!("{other}"),
        }
    }

    #[test]
    fn plain_conversation_of_either_protocol_is_a_request() {
        let openai = request(json!({
            "model": "m", "stream": true, "max_completion_tokens": 9, "stop": "END", "temperature": 0,
            "messages": [
                {"role": "developer", "content": "s"},
                {"role": "user", "content": [{"type": "text", "text": "u"}]},
            ],
        }));
        let messages = vec![Message::new(Role::System, "s"), Message::new(Role::User, "u")];
        let expected = Request {
            stop: vec!["END".to_owned()],
            temperature: Some(0.0),
            ..Request::new("m", messages.clone(), 9)
        };
        assert_eq!(openai, Some(expected));
        let anthropic = request(json!({
            "model": "m", "max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": "u"}],
        }));
        assert_eq!(anthropic, Some(Request::new("m", messages, 9)));
    }

    #[test]
    fn more_than_a_conversation_is_none() {
        for more in [
            json!({"tools": []}),
            json!({"n": 2}),
            json!({"response_format": {"type": "json_object"}}),
            json!({"messages": [{"role": "tool", "content": "x"}]}),
            json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
            json!({"messages": [{"role": "assistant", "content": "x", "tool_calls": [{}]}]}),
        ] {
            let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "u"}]});
            assert!(request(body.clone()).is_some());
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(request(body), None, "{more}");
        }
    }
}
