//! MCP: the tools of an episode for clients that call methods, over HTTP or within a WebSocket.
//!
//! | method | answer |
//! | --- | --- |
//! | `initialize` | a session whose episode begins with the first call of a tool |
//! | `ping` | nothing |
//! | `tools/list` | the tools, with or without a session |
//! | `tools/call` | what the tool said; its reward and the rest of the step below `_meta` |
//! | `openenv/session/create` | a session without an episode, for a WebSocket to begin one |
//! | `openenv/session/close` | the end of a session |
//!
//! After the specification of MCP of 2025-11-25, and the behaviour of `openenv` 0.10.0.

use super::episode_counts::ClientId;
use super::json_rpc::{RpcCode, RpcError, RpcMessage, RpcRequest, result};
use super::metrics::Refusal;
use super::protocol::ServerReply;
use super::server::ServerState;
use super::session::{Gone, Session};
use super::sessions::SessionEnd;
use super::task_choice::Reset;
use super::tools::{self, Call, ListForm, ToolCall};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The versions of MCP that are spoken, the best first. Earlier ones ask for batches, or for another
/// way to connect.
pub(super) const VERSIONS: [&str; 2] = ["2025-11-25", "2025-06-18"];

/// Where a message comes from.
pub(super) enum Caller {
    /// A request over HTTP, with the session that its header names.
    Http {
        shared: Arc<ServerState>,
        client: ClientId,
        session: Option<Arc<Session>>,
        /// The task that the URL asks for.
        query: String,
    },
    /// A WebSocket, whose session it is.
    Socket { session: Arc<Session>, gone: Gone },
}

/// The answer to a message within a WebSocket, where everything gets one.
pub(super) async fn respond(message: Value, caller: Caller) -> Value {
    match RpcMessage::read(message) {
        Ok(RpcMessage::Request(request)) => answer(request, caller).await.0,
        Ok(RpcMessage::Notice) => json!({"jsonrpc": "2.0", "id": null, "result": {}}),
        Err((error, id)) => error.respond(&id),
    }
}

/// The response to a request; also the session that it began by `initialize`.
pub(super) async fn answer(request: RpcRequest, caller: Caller) -> (Value, Option<Arc<Session>>) {
    let RpcRequest { id, method, params } = request;
    let mut begun = None;
    let answer = match method.as_str() {
        "initialize" => initialize(&params, caller, &mut begun).await,
        "ping" => Ok(json!({})),
        "tools/list" => caller.session(&params).map(|_| {
            let mode = caller.shared().config.episode.mode;
            json!({"tools": tools::tools(mode, ListForm::Mcp)})
        }),
        "tools/call" => call(params, caller).await,
        "openenv/session/create" => create(caller).await,
        "openenv/session/close" => close(&params, &caller).await,
        _ => Err(RpcError::new(RpcCode::Method, format!("there is no method `{method}`"))),
    };
    match answer {
        Ok(answer) => (result(&id, &answer), begun),
        Err(error) => (error.respond(&id), begun),
    }
}

fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(RpcCode::Params, message)
}

impl Caller {
    fn shared(&self) -> &Arc<ServerState> {
        match self {
            Self::Http { shared, .. } => shared,
            Self::Socket { session, .. } => session.shared(),
        }
    }

    /// The session of a request: of its connection or its header, or the one that `session_id` among
    /// the parameters names, as OpenEnv's client does.
    fn session(&self, params: &Map<String, Value>) -> Result<Option<Arc<Session>>, RpcError> {
        let own = match self {
            Self::Http { session, .. } => session.clone(),
            Self::Socket { session, .. } => Some(Arc::clone(session)),
        };
        match (params.get("session_id"), own) {
            (None | Some(Value::Null), own) => Ok(own),
            (Some(Value::String(id)), Some(own)) if *id == own.id => Ok(Some(own)),
            (Some(Value::String(_)), Some(_)) => {
                Err(invalid("`session_id` names another session than the one that is in use"))
            }
            (Some(Value::String(id)), None) => match self.shared().sessions.get(id) {
                Ok(session) => {
                    session.touch();
                    Ok(Some(session))
                }
                Err(error) => Err(invalid(error.message)),
            },
            (Some(_), _) => Err(invalid("`session_id` is no text")),
        }
    }
}

/// Opens a session without a WebSocket.
async fn open(shared: &Arc<ServerState>, client: ClientId) -> Result<Arc<Session>, RpcError> {
    shared.check_open()?;
    let seat = match shared.sessions.seat().await {
        Ok(seat) => seat,
        Err(full) => {
            shared.metrics.refuse(Refusal::Full);
            let (active, most) = (shared.sessions.count(), shared.sessions.most());
            let data = json!({"active_sessions": active, "max_sessions": most});
            return Err(RpcError { data: Some(Box::new(data)), ..full.into() });
        }
    };
    Ok(shared.sessions.begin(shared, client, false, seat)?)
}

async fn initialize(
    params: &Map<String, Value>,
    caller: Caller,
    begun: &mut Option<Arc<Session>>,
) -> Result<Value, RpcError> {
    let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
        return Err(invalid("`protocolVersion` is missing"));
    };
    let version = VERSIONS.into_iter().find(|known| *known == asked).unwrap_or(VERSIONS[0]);
    let mut answer = json!({
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": false}},
        "serverInfo": {"name": "sandbox", "version": env!("CARGO_PKG_VERSION")},
    });
    if let Caller::Http { shared, client, session: None, query } = caller {
        let chosen = shared.choose(&Reset::from_query(&query)?)?;
        let description = chosen.task.description().map_err(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "a task cannot be described");
            RpcError::new(RpcCode::Internal, "the environment failed: the task cannot be read")
        })?;
        let episode = &shared.config.episode;
        answer["instructions"] = json!(format!(
            "{}\n\nAt most {} calls of tools; a script may run for {}.",
            description.trim_end(),
            episode.budget.turns,
            episode.policy.time_limit,
        ));
        let session = open(&shared, client).await?;
        session.plan(chosen).await;
        *begun = Some(session);
    }
    Ok(answer)
}

async fn create(caller: Caller) -> Result<Value, RpcError> {
    match caller {
        Caller::Socket { session, .. } => Ok(json!({"session_id": session.id})),
        Caller::Http { shared, client, .. } => {
            Ok(json!({"session_id": open(&shared, client).await?.id}))
        }
    }
}

async fn close(params: &Map<String, Value>, caller: &Caller) -> Result<Value, RpcError> {
    let Some(id) = params.get("session_id").and_then(Value::as_str) else {
        return Err(invalid("`session_id` is missing"));
    };
    if matches!(caller, Caller::Socket { session, .. } if session.id == id) {
        let message = "the session of this connection ends with it; send `close`";
        return Err(RpcError::new(RpcCode::Request, message));
    }
    let sessions = &caller.shared().sessions;
    let end = sessions.close(id).await.map_err(|error| invalid(error.message))?;
    Ok(match end {
        SessionEnd::Closed => json!({"session_id": id, "closed": true}),
        SessionEnd::Closing => json!({"session_id": id, "closed": false, "closing": true}),
    })
}

async fn call(mut params: Map<String, Value>, caller: Caller) -> Result<Value, RpcError> {
    let Some(session) = caller.session(&params)? else {
        let message = "there is no session; begin with `initialize` or `openenv/session/create`";
        return Err(RpcError::new(RpcCode::Request, message));
    };
    let Some(Value::String(tool)) = params.remove("name") else {
        return Err(invalid("`name` is missing: the tool to call"));
    };
    if !tools::NAMES.contains(&tool.as_str()) {
        let known = tools::NAMES.map(|name| format!("`{name}`")).join(", ");
        return Err(invalid(format!("there is no tool `{tool}`; there are {known}")));
    }
    let arguments = match params.remove("arguments") {
        Some(Value::Object(arguments)) => arguments,
        None | Some(Value::Null) => Map::new(),
        Some(_) => return Err(invalid("`arguments` is no JSON object")),
    };
    let gone = match caller {
        Caller::Socket { gone, .. } => gone,
        // A lost connection is no lost client: the step is finished, and counts.
        Caller::Http { .. } => tokio::sync::watch::channel(false).1,
    };
    Ok(tool_result(session.call(Call::Tool(ToolCall { tool, arguments }), gone).await?))
}

/// The reply to a call as MCP's result; `data` is what OpenEnv's client returns.
fn tool_result(reply: ServerReply) -> Value {
    let ServerReply { mut observation, reward, done } = reply;
    let error = observation["error"]["message"].as_str().map(str::to_owned);
    let text = match (observation["result"].as_str().unwrap_or_default(), &error) {
        ("", Some(error)) => error.clone(),
        (text, _) => text.to_owned(),
    };
    let mut meta = observation["metadata"].take();
    meta["reward"] = json!(reward);
    meta["done"] = json!(done);
    json!({
        "content": [{"type": "text", "text": text}],
        "isError": error.is_some(),
        "data": text,
        "_meta": meta,
    })
}
