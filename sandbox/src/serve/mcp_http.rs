//! MCP over streamable HTTP: `POST /mcp` for a message, `DELETE /mcp` for the end of a session. No
//! stream of messages to the client is offered, so `GET /mcp` is answered with status 405.
//!
//! Errors of JSON-RPC have status 200, as OpenEnv's clients expect; only a session that the header
//! names and that is not there has 404, on which clients of MCP begin another.

use super::body::{BadBody, Body};
use super::episode_counts::ClientId;
use super::json_rpc::{RpcCode, RpcError, RpcMessage};
use super::mcp::{self, Caller, VERSIONS};
use super::protocol::ProtocolError;
use super::server::ServerState;
use super::session::Session;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderMap};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use std::sync::Arc;
use web::listener::Peer;

/// The header that names a session.
const SESSION: &str = "mcp-session-id";
/// The header that names the version of MCP that a client speaks.
const VERSION: &str = "mcp-protocol-version";

fn respond(status: StatusCode, response: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], response.to_string()).into_response()
}

fn refuse(status: StatusCode, code: RpcCode, message: impl Into<String>) -> Response {
    respond(status, &RpcError::new(code, message).respond(&Value::Null))
}

/// The session that the headers name, if they name one.
fn session(
    shared: &ServerState,
    headers: &HeaderMap,
) -> Result<Option<Arc<Session>>, ProtocolError> {
    let id = headers.get(SESSION).map(|id| id.to_str().unwrap_or_default());
    let session = id.map(|id| shared.sessions.get(id)).transpose()?;
    if let Some(session) = &session {
        session.touch();
    }
    Ok(session)
}

/// Answers `POST /mcp`.
pub(super) async fn post(
    State(shared): State<Arc<ServerState>>,
    Extension(Peer(address)): Extension<Peer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    Body(body): Body,
) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(BadBody { status, message }) => return refuse(status, RpcCode::Request, message),
    };
    let version = headers.get(VERSION).map(|version| version.to_str().unwrap_or_default());
    if let Some(version) = version.filter(|version| !VERSIONS.contains(version)) {
        let message =
            format!("MCP's version `{version}` is not spoken; there are {}", VERSIONS.join(", "));
        return refuse(StatusCode::BAD_REQUEST, RpcCode::Request, message);
    }
    let request = match RpcMessage::parse(&body) {
        Ok(RpcMessage::Request(request)) => request,
        Ok(RpcMessage::Notice) => return StatusCode::ACCEPTED.into_response(),
        Err((error, id)) => return respond(StatusCode::OK, &error.respond(&id)),
    };
    let session = match session(&shared, &headers) {
        Ok(session) => session,
        Err(error) => {
            let response = RpcError::from(error).respond(&request.id);
            return respond(StatusCode::NOT_FOUND, &response);
        }
    };
    let client = ClientId::at(address);
    let query = query.unwrap_or_default();
    let (response, begun) =
        mcp::answer(request, Caller::Http { shared, client, session, query }).await;
    let response = respond(StatusCode::OK, &response);
    match begun {
        Some(session) => ([(SESSION, session.id.as_str())], response).into_response(),
        None => response,
    }
}

/// Answers `DELETE /mcp`: ends the session that the header names.
pub(super) async fn delete(State(shared): State<Arc<ServerState>>, headers: HeaderMap) -> Response {
    match session(&shared, &headers) {
        Ok(None) => {
            let message = "the header `Mcp-Session-Id` is missing: the session to end";
            refuse(StatusCode::BAD_REQUEST, RpcCode::Request, message)
        }
        Ok(Some(session)) => match shared.sessions.close(&session.id).await {
            Ok(_) => StatusCode::NO_CONTENT.into_response(),
            Err(error) => {
                respond(StatusCode::NOT_FOUND, &RpcError::from(error).respond(&Value::Null))
            }
        },
        Err(error) => respond(StatusCode::NOT_FOUND, &RpcError::from(error).respond(&Value::Null)),
    }
}
