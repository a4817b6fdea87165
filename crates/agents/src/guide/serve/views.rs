//! What people read: lists, conversations in pages, contexts, long texts.

use super::access::Caller;
use super::answer::{Failure, in_store, shown};
use super::server::Shared;
use crate::guide::context::context;
use crate::guide::conversation::Conversation;
use crate::guide::defuse::for_page;
use crate::guide::error::GuideError;
use crate::guide::ids::ConversationId;
use crate::guide::store::read_conversation;
use crate::guide::transcript::{Transcript, TranscriptError};
use crate::guide::verdicts::{Proposals, Verdicts, read_judged};
use crate::run::node::BlobHash;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Turns in one answer.
const PAGE: u32 = 200;

/// Answers `GET /health`: it is up.
pub(super) async fn health() -> Json<Value> {
    Json(json!({ "status": "healthy" }))
}

/// Answers `GET /me`: who the caller is, and what they may do.
pub(super) async fn me(Extension(caller): Extension<Caller>) -> Result<Json<Value>, Failure> {
    caller.reads()?;
    let (advises, leads) = match caller.advises() {
        Ok(person) => (true, person.leads),
        Err(_) => (false, false),
    };
    let (name, replays) = (for_page(&caller.name), caller.is_replay);
    Ok(Json(json!({ "name": name, "advises": advises, "leads": leads, "replays": replays })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    state: Option<String>,
    q: Option<String>,
}

/// Answers `GET /conversations`: headlines of those in a state, whose task, agent or name has a text.
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Query(Which { state, q }): Query<Which>,
) -> Result<Json<Value>, Failure> {
    caller.reads()?;
    let headlines = in_store(&shared, |store| Ok(store.headlines())).await?;
    let q = q.unwrap_or_default().to_lowercase();
    let found: Vec<_> = headlines
        .into_iter()
        .filter(|headline| state.as_deref().is_none_or(|state| headline.state.name() == state))
        .filter(|headline| {
            [headline.task.as_str(), &headline.agent, headline.id.as_str()]
                .iter()
                .any(|text| text.to_lowercase().contains(&q))
        })
        .collect();
    Ok(Json(json!({ "conversations": shown(&found)? })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turns {
    from: Option<u32>,
    to: Option<u32>,
}

/// Answers `GET /conversations/{id}`: what there is, with at most 200 turns, `from` included and `to`
/// not.
pub(super) async fn conversation(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ConversationId>,
    Query(Turns { from, to }): Query<Turns>,
) -> Result<Json<Value>, Failure> {
    caller.reads()?;
    let name = caller.name;
    let read = move |conversation: &Conversation| {
        let all = conversation.turns.count();
        let from = from.unwrap_or(0).min(all);
        let to = to.unwrap_or(all).clamp(from, from.saturating_add(PAGE).min(all));
        let found = json!({
            "headline": conversation.headline(),
            "opening": conversation.opening,
            "from": from,
            "guidance": conversation.guidance.values().collect::<Vec<_>>(),
            "heard": conversation.heard,
            "marks": conversation.marks,
            "verdicts": conversation.verdicts.values().collect::<Vec<_>>(),
            "end": conversation.end,
            // Only one's own: others are not done with theirs.
            "draft": conversation.drafts.get(&name),
        });
        (found, from..to)
    };
    let found = in_store(&shared, move |store| {
        let (mut found, turns) = store.read(&id, read)?;
        // Turns never change, so these are those of a moment ago.
        found["turns"] = json!(store.turns(&id, turns.start, turns.end)?);
        Ok(found)
    });
    Ok(Json(shown(&found.await?)?))
}

/// Answers `GET /conversations/{id}/proposals`: what rules and a judge say of its turns, but for those that
/// are judged blind.
pub(super) async fn proposals(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ConversationId>,
) -> Result<Json<Value>, Failure> {
    caller.reads()?;
    let found = in_store(&shared, move |store| {
        store.read(&id, |_| ())?;
        let transcript = Transcript::read(store.folder(), &id)?;
        let judged = read_judged(store.folder(), &id)?;
        Ok(Proposals::new(&id, &Verdicts::of(&transcript, judged), transcript.count()))
    });
    Ok(Json(shown(&found.await?)?))
}

/// Answers `GET /conversations/{id}/context/{turn}`: what the agent had read at a turn.
pub(super) async fn context_of(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path((id, turn)): Path<(ConversationId, u32)>,
) -> Result<Json<Value>, Failure> {
    caller.reads()?;
    let parts = in_store(&shared, move |store| {
        store.read(&id, |_| ())?;
        let read = read_conversation(store.folder(), &id).map_err(TranscriptError::from)?;
        let (conversation, blobs) = read;
        context(&conversation, &blobs, turn)
    });
    Ok(Json(json!({ "turn": turn, "parts": shown(&parts.await?)? })))
}

/// Answers `GET /conversations/{id}/files/{hash}` with a long text.
pub(super) async fn file(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path((id, hash)): Path<(ConversationId, String)>,
) -> Result<Response, Failure> {
    caller.reads()?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(Failure::new(StatusCode::BAD_REQUEST, "invalid", "this is no hash"));
    }
    let bytes = in_store(&shared, move |store| {
        store.read(&id, |_| ())?;
        match store.blobs().get(&BlobHash(hash.to_ascii_lowercase())) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(crate::run::journal::JournalError::Blob(path)) if !path.exists() => Ok(None),
            Err(error) => Err(GuideError::Journal(error)),
        }
    });
    let Some(bytes) = bytes.await? else {
        return Err(Failure::new(StatusCode::NOT_FOUND, "unknown_file", "there is no such text"));
    };
    let text = String::from_utf8_lossy(&bytes);
    let text = for_page(&text).into_owned();
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

/// Answers a request for a path that is not there.
pub(super) async fn unknown() -> Failure {
    let said = "there is nothing here; docs/GUIDANCE.md lists what there is";
    Failure::new(StatusCode::NOT_FOUND, "path", said)
}
