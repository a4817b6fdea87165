//! The routes of agents.

use super::access::{check, read_body};
use super::book::{NotBegun, OpenRequest};
use super::denial::Denial;
use super::exchange::{self, Exchange};
use super::models::{ModelSource, OfferedModel, OfferedModels};
use super::question::{Prepared, Question};
use super::shared::Shared;
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use llm::{Capabilities, WireProtocol};
use serde_json::{Value, json};
use std::sync::Arc;

/// Headers of Anthropic's protocol that the provider is to see.
const HEADERS: [&str; 2] = ["anthropic-version", "anthropic-beta"];

/// The routes, for whoever shows the token.
pub(super) fn router(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat_completions))
        .route("/v1/messages", post(messages))
        .route("/v1/models", get(models))
        .route("/v1/models/{*id}", get(one_model))
        .fallback(unknown)
        .with_state(Arc::clone(shared))
}

async fn chat_completions(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    respond(&shared, request, WireProtocol::OpenAi).await
}

async fn messages(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    respond(&shared, request, WireProtocol::Anthropic).await
}

async fn models(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if let Err(denial) = check(&shared.token, &request) {
        return refuse(&shared, None, denial).await;
    }
    let all: Vec<Value> = shared.models.all().iter().map(|model| shown(model)).collect();
    let body = json!({ "object": "list", "data": all, "has_more": false });
    ([(CONTENT_TYPE, "application/json")], body.to_string() + "\n").into_response()
}

async fn one_model(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let found = check(&shared.token, &request)
        .and_then(|()| shared.models.find(&id).ok_or_else(|| no_model(&shared.models)));
    match found {
        Ok(model) => {
            let body = shown(model).to_string() + "\n";
            ([(CONTENT_TYPE, "application/json")], body).into_response()
        }
        Err(denial) => refuse(&shared, Some(id), denial).await,
    }
}

fn no_model(models: &OfferedModels) -> Denial {
    let known: Vec<&str> = models.all().iter().map(|model| model.id.as_str()).collect();
    let message = format!("this run has no such model; it has {}", known.join(", "));
    Denial::new(StatusCode::FORBIDDEN, "model", message)
}

/// A model in the form of both protocols.
fn shown(model: &OfferedModel) -> Value {
    json!({
        "id": model.id,
        "object": "model",
        "type": "model",
        "display_name": model.id,
        "created": 0,
        "created_at": "1970-01-01T00:00:00Z",
        "owned_by": model.protocol.name(),
    })
}

async fn unknown(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let denial = check(&shared.token, &request).err().unwrap_or_else(|| {
        let message = "there is no such route: POST /v1/chat/completions, POST /v1/messages, GET \
                       /v1/models";
        Denial::new(StatusCode::NOT_FOUND, "form", message)
    });
    refuse(&shared, None, denial).await
}

async fn respond(shared: &Arc<Shared>, request: Request, protocol: WireProtocol) -> Response {
    if let Err(denial) = check(&shared.token, &request) {
        return refuse(shared, None, denial).await;
    }
    let headers = kept_headers(request.headers(), protocol);
    let bytes = match read_body(request).await {
        Ok(bytes) => bytes,
        Err(denial) => return refuse(shared, None, denial).await,
    };
    let prepared = {
        // Never closed.
        let _permit = shared.parsing.acquire().await;
        prepare(shared, &bytes, protocol)
    };
    drop(bytes);
    let (model, prepared) = match prepared {
        Ok(ready) => ready,
        Err(refused) => {
            let RefusedRequest { asked, denial } = *refused;
            return refuse(shared, asked, denial).await;
        }
    };
    match begin(shared, &model, prepared.most).await {
        Ok(open) => exchange::answer(shared, Exchange { model, prepared, headers, open }).await,
        Err(denial) => refuse(shared, Some(model.id.clone()), denial).await,
    }
}

/// A request that is not passed on.
struct RefusedRequest {
    /// The model that was asked for, if that is known.
    asked: Option<String>,
    denial: Denial,
}

impl RefusedRequest {
    fn boxed(asked: Option<String>, denial: Denial) -> Box<Self> {
        Box::new(Self { asked, denial })
    }
}

/// Makes a request ready to be passed on.
///
/// # Errors
/// What to answer instead, with the model that was asked for if that is known.
fn prepare(
    shared: &Shared,
    bytes: &[u8],
    protocol: WireProtocol,
) -> Result<(Arc<OfferedModel>, Prepared), Box<RefusedRequest>> {
    let question = Question::read(bytes).map_err(|denial| RefusedRequest::boxed(None, denial))?;
    let asked = question.model.clone();
    let refused = |denial| RefusedRequest::boxed(Some(asked.clone()), denial);
    if !shared.book.is_open() {
        let message = "the run is over, or its time has not begun; no model is asked";
        return Err(refused(Denial::new(StatusCode::GONE, "over", message)));
    }
    let model = shared.models.find(&asked).ok_or_else(|| refused(no_model(&shared.models)))?;
    if model.protocol != protocol {
        let route = match model.protocol {
            WireProtocol::OpenAi => "/v1/chat/completions",
            WireProtocol::Anthropic => "/v1/messages",
        };
        let message = format!("`{}` is asked at POST {route}", model.id);
        return Err(refused(Denial::new(StatusCode::BAD_REQUEST, "protocol", message)));
    }
    let can = match &model.source {
        ModelSource::Provider(relay) => relay.endpoint().capabilities,
        ModelSource::Recording(_) => Capabilities::openai(),
    };
    let prepared = question.prepare(model, shared.is_capped, can).map_err(refused)?;
    Ok((Arc::clone(model), prepared))
}

/// Reserves what a request may take.
async fn begin(
    shared: &Arc<Shared>,
    model: &Arc<OfferedModel>,
    most: (u64, u64),
) -> Result<OpenRequest, Denial> {
    let (shared, model) = (Arc::clone(shared), Arc::clone(model));
    // A line is synced to the disk.
    let begun =
        tokio::task::spawn_blocking(move || shared.book.begin(&model.name, model.price, most));
    match begun.await {
        Ok(Ok(open)) => Ok(open),
        Ok(Err(NotBegun::Cap(reached))) => Err(Denial::cap(reached)),
        Ok(Err(NotBegun::Full)) => {
            let message = "this run has asked as often as can be written down";
            Err(Denial::new(StatusCode::TOO_MANY_REQUESTS, "full", message))
        }
        Ok(Err(NotBegun::Io(error))) => {
            tracing::error!(%error, "a request could not be written down, and was not sent");
            Err(Denial::ours())
        }
        Err(error) => {
            tracing::error!(%error, "a request was not handled");
            Err(Denial::ours())
        }
    }
}

fn kept_headers(headers: &HeaderMap, protocol: WireProtocol) -> Vec<(String, String)> {
    if protocol != WireProtocol::Anthropic {
        return Vec::new();
    }
    let text = |name: &str| Some((name.to_owned(), headers.get(name)?.to_str().ok()?.to_owned()));
    HEADERS.into_iter().filter_map(text).collect()
}

/// Writes down that a request was refused, and answers it.
async fn refuse(shared: &Arc<Shared>, model: Option<String>, denial: Denial) -> Response {
    let (book, status, code) = (Arc::clone(shared), denial.status.as_u16(), denial.code);
    let written = tokio::task::spawn_blocking(move || {
        book.book.refuse(model.as_deref(), status, code);
    });
    if let Err(error) = written.await {
        tracing::error!(%error, "a refused request was not written down");
    }
    denial.into_response()
}
