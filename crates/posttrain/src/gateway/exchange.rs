//! One request that is passed on, from its reservation to its line.
//!
//! It runs as a task of its own: an agent that hangs up is billed all the same, and one that reads slowly,
//! or is stopped with its clock, keeps no provider waiting. The last part of an answer is handed over once
//! the answer is booked, so that whoever has it finds its tokens counted.

use super::book::{Ending, OpenRequest};
use super::denial::Denial;
use super::models::{ModelSource, OfferedModel};
use super::question::Prepared;
use super::recorded;
use super::shared::Shared;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use llm::{
    Completion, PassedAnswer, PassedEnd, PassedPart, PassedRequest, Relay, Replay, Request,
    SseEvent, Usage, WireProtocol,
};
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A request that is ready to be passed on.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) model: Arc<OfferedModel>,
    pub(super) prepared: Prepared,
    /// Of the client, which the provider is to see.
    pub(super) headers: Vec<(String, String)>,
    pub(super) open: OpenRequest,
}

/// What the agent is to get next.
#[derive(Debug)]
enum Piece {
    Part(PassedPart),
    Denial(Denial),
}

/// Has the request answered, in a task of its own, and answers the agent.
pub(super) async fn answer(shared: &Arc<Shared>, exchange: Exchange) -> Response {
    let (sender, mut receiver) = unbounded_channel();
    let protocol = exchange.model.protocol;
    tokio::spawn(run(Arc::clone(shared), exchange, sender));
    match receiver.recv().await {
        Some(Piece::Part(PassedPart::Whole(text))) => {
            ([(CONTENT_TYPE, "application/json")], text).into_response()
        }
        Some(Piece::Part(PassedPart::Event(event))) => stream_of(event, receiver, protocol),
        Some(Piece::Denial(denial)) => denial.into_response(),
        // The task panicked, or the gateway ends.
        None => Denial::ours().into_response(),
    }
}

/// An answer that is a stream and begins with `first`.
fn stream_of(
    first: SseEvent,
    receiver: UnboundedReceiver<Piece>,
    protocol: WireProtocol,
) -> Response {
    let first = Piece::Part(PassedPart::Event(first));
    let pieces = stream::unfold((Some(first), receiver), move |(first, mut receiver)| async move {
        let piece = match first {
            Some(first) => first,
            None => receiver.recv().await?,
        };
        let text = match piece {
            Piece::Part(PassedPart::Event(event)) => lines(&event),
            Piece::Part(PassedPart::Whole(text)) => {
                lines(&SseEvent { data: text, ..SseEvent::default() })
            }
            Piece::Denial(denial) => {
                let name = match protocol {
                    WireProtocol::OpenAi => String::new(),
                    WireProtocol::Anthropic => "error".to_owned(),
                };
                lines(&SseEvent { name, data: denial.body().to_string() })
            }
        };
        Some((Ok::<_, Infallible>(Bytes::from(text)), (None, receiver)))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(pieces)).into_response()
}

/// An event as it is sent.
fn lines(event: &SseEvent) -> String {
    let mut text = String::new();
    if !event.name.is_empty() {
        text.extend(["event: ", &event.name, "\n"]);
    }
    for line in event.data.split('\n') {
        text.extend(["data: ", line, "\n"]);
    }
    text.push('\n');
    text
}

async fn run(shared: Arc<Shared>, exchange: Exchange, sender: UnboundedSender<Piece>) {
    let Exchange { model, prepared, headers, open } = exchange;
    let Prepared { body, plain, streams, most, hides_usage } = prepared;
    let send = |part: PassedPart| {
        if !(hides_usage && is_count(&part)) {
            // An agent that has hung up is billed all the same.
            let _ = sender.send(Piece::Part(part));
        }
    };
    let end = match &model.source {
        ModelSource::Provider(relay) => {
            let tokens = (body.len() / 3) as u64 + most.1;
            pass_on(relay, PassedRequest { body, headers, streams, tokens }, send).await
        }
        ModelSource::Recording(replay) => {
            replayed(replay, plain.as_ref(), streams.then_some(!hides_usage), send)
        }
    };
    let End { last, ending, completion } = end;
    let recorded = shared.recording.as_ref().map(|recording| {
        let (Some(request), Some(completion)) = (&plain, &completion) else { return false };
        let written = recording.append(request, completion);
        written.inspect_err(|error| tracing::error!(%error, "an answer was not recorded")).is_ok()
    });
    let ending = Ending { recorded, ..ending };
    // A line is synced to the disk.
    let booked = tokio::task::spawn_blocking(move || shared.book.end(open, ending)).await;
    match booked {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "an answer could not be booked"),
        Err(error) => tracing::error!(%error, "an answer was not booked"),
    }
    if let Some(last) = last {
        let _ = sender.send(last);
    }
}

/// How an exchange ended.
struct End {
    /// What the agent gets last.
    last: Option<Piece>,
    ending: Ending,
    completion: Option<Completion>,
}

async fn pass_on(relay: &Relay, request: PassedRequest, send: impl FnMut(PassedPart)) -> End {
    let PassedEnd { result, request_id } = relay.pass_on(request, send).await;
    match result {
        Ok(PassedAnswer { last, usage, answered_by, completion }) => {
            let outcome = completion.as_ref().map_or("tools", |whole| whole.finish.name());
            let ending = Ending {
                status: StatusCode::OK.as_u16(),
                outcome: outcome.to_owned(),
                usage,
                is_unsure: false,
                answered_by: Some(answered_by).filter(|name| !name.is_empty()),
                request_id,
                recorded: None,
            };
            End { last: last.map(Piece::Part), ending, completion }
        }
        Err(fault) => {
            // These are the operator's to see to.
            match fault.status {
                Some(status @ (401 | 403)) => {
                    let hint = &relay.endpoint().key_hint;
                    tracing::error!(status, "the provider refuses the key; set {hint}");
                }
                Some(status @ 300..=399) => tracing::error!(status, "{}", fault.message),
                _ => {}
            }
            let denial = Denial::fault(&fault);
            let usage = if fault.may_be_billed { fault.usage } else { Usage::default() };
            let ending = Ending {
                status: denial.status.as_u16(),
                outcome: fault.name,
                usage,
                is_unsure: fault.may_be_billed,
                answered_by: None,
                request_id,
                recorded: None,
            };
            End { last: Some(Piece::Denial(denial)), ending, completion: None }
        }
    }
}

/// The recorded answer: whole, or as a stream that counts tokens or does not.
fn replayed(
    replay: &Replay,
    plain: Option<&Request>,
    streams: Option<bool>,
    mut send: impl FnMut(PassedPart),
) -> End {
    let found = match plain {
        Some(request) => replay.following(request).map_err(|error| error.to_string()),
        None => Err("a recording answers plain conversations, without tools, pictures or a schema"
            .to_owned()),
    };
    let ending = |status: StatusCode, outcome: &str, usage| Ending {
        status: status.as_u16(),
        outcome: outcome.to_owned(),
        usage,
        is_unsure: false,
        answered_by: None,
        request_id: None,
        recorded: None,
    };
    match found {
        Ok(completion) => {
            let last = if let Some(counts) = streams {
                let mut events = recorded::events(&completion, counts);
                let last = events.pop();
                events.into_iter().map(PassedPart::Event).for_each(&mut send);
                last.map(PassedPart::Event)
            } else {
                Some(PassedPart::Whole(recorded::whole(&completion).to_string()))
            };
            let mut ending = ending(StatusCode::OK, completion.finish.name(), completion.usage);
            ending.answered_by = Some(completion.model.clone());
            End { last: last.map(Piece::Part), ending, completion: Some(completion) }
        }
        Err(message) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            let denial = Denial::new(status, "not_recorded", message);
            let ending = ending(status, denial.code, Usage::default());
            End { last: Some(Piece::Denial(denial)), ending, completion: None }
        }
    }
}

/// Whether an event of OpenAI's protocol counts tokens and has nothing else.
fn is_count(part: &PassedPart) -> bool {
    let PassedPart::Event(event) = part else { return false };
    if !event.data.contains("\"usage\"") {
        return false;
    }
    let value: Value = serde_json::from_str(&event.data).unwrap_or_default();
    value["usage"].is_object() && value["choices"].as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_sent_as_they_came() {
        let event = SseEvent { name: "error".to_owned(), data: "a\nb".to_owned() };
        assert_eq!(lines(&event), "event: error\ndata: a\ndata: b\n\n");
    }

    #[test]
    fn event_that_counts_is_told_from_one_that_also_answers() {
        let part = |data: &str| {
            PassedPart::Event(SseEvent { data: data.to_owned(), ..SseEvent::default() })
        };
        assert!(is_count(&part(r#"{"choices":[],"usage":{"prompt_tokens":9}}"#)));
        assert!(!is_count(&part(r#"{"choices":[{}],"usage":{"prompt_tokens":9}}"#)));
        assert!(!is_count(&part(r#"{"choices":[],"usage":null}"#)));
        assert!(!is_count(&part("[DONE]")));
    }
}
