//! What people write.

use super::access::Caller;
use super::answer::{Failure, in_store};
use super::body::Body;
use super::server::Shared;
use crate::guide::error::GuideError;
use crate::guide::event::{TurnMark, TurnPart, TurnVerdict, Verdict};
use crate::guide::guidance::{GuidanceState, GuidanceText, PostedGuidance};
use crate::guide::ids::{ConversationId, GuidanceId};
use crate::guide::people::Person;
use crate::guide::store::Store;
use crate::guide::wire::{LATE, PostBody};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;
use std::sync::Arc;

type Answer<T> = Result<T, Failure>;

/// Has the store do something for a person.
async fn for_person<T: Send + 'static>(
    shared: &Arc<Shared>,
    caller: Caller,
    work: impl FnOnce(&Store, Person<'_>) -> Result<T, GuideError> + Send + 'static,
) -> Answer<T> {
    let leads = caller.advises()?.leads;
    shared.presence.touch(&caller.name);
    in_store(shared, move |store| work(store, Person { name: &caller.name, leads })).await
}

/// Answers `POST /conversations/{id}/guidance`: 201, or 409 with the piece if it is late.
pub(super) async fn post(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ConversationId>,
    Body(PostBody { id: name, what }): Body<PostBody>,
) -> Answer<(StatusCode, Json<PostedGuidance>)> {
    caller.advises()?;
    // What is sent again, because an answer was lost, is no new piece.
    if shared.store.read(&id, |conversation| conversation.find(&name).is_none())? {
        shared.presence.check_pace(&caller.name)?;
    }
    let work = move |store: &Store, person: Person<'_>| store.post(&id, person, name, what);
    let piece = for_person(&shared, caller, work).await?;
    if piece.state == GuidanceState::Late {
        let said = "the run ended before the agent could read this; it is kept as a comment";
        return Err(Failure::new(StatusCode::CONFLICT, LATE, said).with(piece));
    }
    Ok((StatusCode::CREATED, Json(piece)))
}

/// The answer to a change, with the piece as it is where that comes too late.
async fn changed(
    shared: &Arc<Shared>,
    at: (ConversationId, GuidanceId),
    result: Answer<PostedGuidance>,
) -> Answer<Json<PostedGuidance>> {
    match result {
        Ok(piece) => Ok(Json(piece)),
        Err(failure) if failure.status == StatusCode::CONFLICT => {
            let (id, name) = at;
            let known = in_store(shared, move |store| {
                store.read(&id, |conversation| conversation.find(&name).cloned())
            });
            Err(match known.await? {
                Some(piece) => failure.with(piece),
                None => failure,
            })
        }
        Err(failure) => Err(failure),
    }
}

/// Answers `PATCH /conversations/{id}/guidance/{gid}`.
pub(super) async fn edit(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path((id, name)): Path<(ConversationId, GuidanceId)>,
    Body(what): Body<GuidanceText>,
) -> Answer<Json<PostedGuidance>> {
    let at = (id.clone(), name.clone());
    let work = move |store: &Store, person: Person<'_>| store.edit(&id, person, &name, what);
    let result = for_person(&shared, caller, work).await;
    changed(&shared, at, result).await
}

/// Answers `DELETE /conversations/{id}/guidance/{gid}`.
pub(super) async fn retract(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path((id, name)): Path<(ConversationId, GuidanceId)>,
) -> Answer<Json<PostedGuidance>> {
    let at = (id.clone(), name.clone());
    let work = move |store: &Store, person: Person<'_>| store.retract(&id, person, &name);
    let result = for_person(&shared, caller, work).await;
    changed(&shared, at, result).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DraftBody {
    text: String,
}

/// Answers `PUT /conversations/{id}/draft`.
pub(super) async fn draft(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ConversationId>,
    Body(DraftBody { text }): Body<DraftBody>,
) -> Answer<StatusCode> {
    let work = move |store: &Store, person: Person<'_>| store.draft(&id, person, text);
    for_person(&shared, caller, work).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answers `POST /conversations/{id}/hold`.
pub(super) async fn hold(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ConversationId>,
) -> Answer<StatusCode> {
    let work = move |store: &Store, person: Person<'_>| store.hold_run(&id, person);
    for_person(&shared, caller, work).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answers `DELETE /conversations/{id}/hold`.
pub(super) async fn release(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ConversationId>,
) -> Answer<StatusCode> {
    let work = move |store: &Store, person: Person<'_>| store.release_run(&id, person);
    for_person(&shared, caller, work).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answers `POST /conversations/{id}/marks`.
pub(super) async fn mark(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ConversationId>,
    Body(mark): Body<TurnMark>,
) -> Answer<StatusCode> {
    let work = move |store: &Store, person: Person<'_>| store.mark(&id, person, mark);
    for_person(&shared, caller, work).await?;
    Ok(StatusCode::CREATED)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VerdictBody {
    verdict: Verdict,
    #[serde(default)]
    part: TurnPart,
    #[serde(default)]
    reason: String,
}

/// Answers `PUT /conversations/{id}/verdicts/{turn}`.
pub(super) async fn judge(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path((id, turn)): Path<(ConversationId, u32)>,
    Body(VerdictBody { verdict, part, reason }): Body<VerdictBody>,
) -> Answer<StatusCode> {
    let verdict = TurnVerdict { turn, part, verdict, reason };
    let work = move |store: &Store, person: Person<'_>| store.judge(&id, person, verdict);
    for_person(&shared, caller, work).await?;
    Ok(StatusCode::NO_CONTENT)
}
