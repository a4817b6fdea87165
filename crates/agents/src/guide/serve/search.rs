//! Looking through a conversation: turns with a text in them, and the journal itself.

use super::access::Caller;
use super::answer::{Failure, in_store, shown_value};
use super::server::Shared;
use crate::guide::error::GuideError;
use crate::guide::ids::ConversationId;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Longest text that is looked for, in bytes.
const LONGEST: usize = 256;
/// Lines of the journal in one answer.
const LINES: usize = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sought {
    q: String,
}

/// Answers `GET /conversations/{id}/search`: the turns whose thought, action or observation has a text,
/// in any case.
pub(super) async fn search(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ConversationId>,
    Query(Sought { q }): Query<Sought>,
) -> Result<Json<Value>, Failure> {
    caller.reads()?;
    if q.is_empty() || q.len() > LONGEST {
        let said = format!("a text to look for has 1 to {LONGEST} bytes");
        return Err(Failure::new(StatusCode::BAD_REQUEST, "invalid", said));
    }
    let q = q.to_lowercase();
    let found = in_store(&shared, move |store| {
        let turns = store.turns(&id, 0, u32::MAX)?;
        let mut found = Vec::new();
        for turn in &turns {
            let texts = [Some(&turn.thought), Some(&turn.action), turn.observation.as_ref()];
            for text in texts.into_iter().flatten() {
                let text = text.read(store.blobs()).map_err(GuideError::Journal)?;
                if text.to_lowercase().contains(&q) {
                    found.push(turn.turn);
                    break;
                }
            }
        }
        Ok(found)
    });
    Ok(Json(json!({ "turns": found.await? })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct After {
    from: Option<u64>,
}

/// Answers `GET /conversations/{id}/journal`: at most 500 lines after the one of number `from`, without
/// drafts of others.
pub(super) async fn journal(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ConversationId>,
    Query(After { from }): Query<After>,
) -> Result<Json<Value>, Failure> {
    caller.reads()?;
    let from = from.unwrap_or(0);
    let lines = in_store(&shared, move |store| store.lines(&id, from, LINES)).await?;
    // Where the next answer begins: drafts that are left out count too.
    let next = lines.last().map_or(from, |(seq, _)| *seq);
    let mut all = Vec::with_capacity(lines.len());
    for (_, line) in lines {
        let value: Value = serde_json::from_str(&line)
            .map_err(|error| Failure::from(GuideError::Io(error.into())))?;
        if !is_draft_of_another(&value, &caller.name) {
            all.push(shown_value(value));
        }
    }
    Ok(Json(json!({ "lines": all, "next": next })))
}

/// Whether a line is what somebody else has typed and not sent: they are not done with it.
pub(super) fn is_draft_of_another(line: &Value, name: &str) -> bool {
    line["event"]["kind"] == "draft" && line["by"] != name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_of_others_are_told_from_ones_own_and_from_other_events() {
        let line = |kind: &str, by: &str| json!({ "by": by, "event": { "kind": kind } });
        assert!(is_draft_of_another(&line("draft", "ann"), "ben"));
        assert!(!is_draft_of_another(&line("draft", "ben"), "ben"));
        assert!(!is_draft_of_another(&line("guidance", "ann"), "ben"));
    }
}
