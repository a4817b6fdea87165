//! What agents ask.

use super::access::Caller;
use super::answer::{Failure, in_store};
use super::body::Body;
use super::server::Shared;
use crate::guide::exchange::{Delivery, Opened, Update};
use crate::guide::ids::ConversationId;
use crate::guide::wire::{CloseBody, ClosedBody, OpenBody};
use axum::extract::{Path, State};
use axum::{Extension, Json};
use std::sync::Arc;

/// Answers `POST /conversations`.
pub(super) async fn open(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Body(OpenBody { id, opening }): Body<OpenBody>,
) -> Result<Json<Opened>, Failure> {
    caller.acts()?;
    let opened = in_store(&shared, move |store| store.open_conversation(&id, opening)).await?;
    Ok(Json(opened))
}

/// Answers `POST /conversations/{id}/turns`.
pub(super) async fn exchange(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ConversationId>,
    Body(update): Body<Update>,
) -> Result<Json<Delivery>, Failure> {
    caller.acts()?;
    Ok(Json(in_store(&shared, move |store| store.exchange(&id, update)).await?))
}

/// Answers `POST /conversations/{id}/close`.
pub(super) async fn close(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<ConversationId>,
    Body(CloseBody { have, end }): Body<CloseBody>,
) -> Result<Json<ClosedBody>, Failure> {
    caller.acts()?;
    let late = in_store(&shared, move |store| store.close_conversation(&id, have, end)).await?;
    Ok(Json(ClosedBody { late }))
}
