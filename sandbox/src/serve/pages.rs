//! The HTTP pages, which need no session.

use super::server::ServerState;
use super::tools::NAMES;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::http::{StatusCode, Uri};
use serde_json::{Value, json};
use std::sync::Arc;

type Page = ([(HeaderName, &'static str); 1], String);

fn page(value: &Value) -> Page {
    ([(CONTENT_TYPE, "application/json")], value.to_string())
}

/// Answers `GET /health`: whether the server takes new episodes, and how many sessions it has. The
/// status is 503 once it is shutting down.
pub(super) async fn health(State(shared): State<Arc<ServerState>>) -> (StatusCode, Page) {
    let (status, name) = if shared.is_draining() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining")
    } else {
        (StatusCode::OK, "healthy")
    };
    let sessions = &shared.sessions;
    let health = json!({
        "status": name,
        "active_sessions": sessions.count(),
        "max_sessions": sessions.most(),
        "open_episodes": shared.metrics.episodes_open(),
    });
    (status, page(&health))
}

/// Answers a request for a path that is not there.
pub(super) async fn unknown(uri: Uri) -> (StatusCode, Page) {
    let detail = format!(
        "there is no `{}`; episodes are played over `/ws` and `/mcp`, `/metadata` says what is \
         served, and `/openapi.json` lists all paths",
        uri.path()
    );
    (StatusCode::NOT_FOUND, page(&json!({"detail": detail})))
}

/// Answers `GET /metadata` with a description of the server.
pub(super) async fn metadata(State(shared): State<Arc<ServerState>>) -> Page {
    let (episode, limits) = (&shared.config.episode, &shared.config.limits);
    let feedback = json!(episode.feedback);
    let description = format!(
        "{} tasks of machine learning, solved by scripts in a sandbox. Feedback: {}; revealed of \
         the final grade: {}. At most {} turns and {} s per episode, {} per script; steps are \
         answered within {}; {} sessions at a time; an episode ends after {} without a message.",
        shared.suite.tasks().len(),
        feedback.as_str().unwrap_or_default(),
        shared.config.reveal.name(),
        episode.budget.turns,
        episode.budget.wall_seconds,
        episode.policy.time_limit,
        limits.answer,
        limits.episodes,
        limits.idle,
    );
    page(&json!({
        "name": "sandbox",
        "description": description,
        "readme_content": null,
        "version": env!("CARGO_PKG_VERSION"),
        "author": null,
        "documentation_url": null,
    }))
}

/// Answers `GET /schema` with the JSON schemas of messages.
pub(super) async fn schema() -> Page {
    page(&json!({
        "action": action(),
        "observation": observation(),
        "state": state(),
    }))
}

/// Answers `GET /openapi.json` with the OpenAPI document.
pub(super) async fn openapi() -> Page {
    let get = |summary: &str, schema: Value| {
        let content = json!({"application/json": {"schema": schema}});
        let answer = json!({"200": {"description": summary, "content": content}});
        json!({"get": {"summary": summary, "responses": answer}})
    };
    let post = |summary: &str, body: Value| {
        let content = json!({"application/json": {"schema": body}});
        let answer = json!({"200": {"description": summary}});
        json!({"post": {
            "summary": summary, "requestBody": {"content": content}, "responses": answer,
        }})
    };
    let object = json!({"type": "object"});
    let of_split = |others: &[&str]| {
        let mut properties = json!({"split": {"enum": ["train", "val"]}});
        for other in others {
            properties[other] = json!({"type": "integer"});
        }
        json!({"type": "object", "properties": properties, "required": ["split"]})
    };
    let socket = json!({"get": {
        "summary": "A WebSocket: reset, step, state, mcp and close as JSON messages.",
        "responses": {"101": {"description": "the session begins"}},
    }});
    page(&json!({
        "openapi": "3.1.0",
        "info": {"title": "sandbox", "version": env!("CARGO_PKG_VERSION")},
        "paths": {
            "/ws": socket,
            "/mcp": post("A message of JSON-RPC, as MCP has them.", object.clone()),
            "/list_environments": get("The environments.", json!({"type": "array"})),
            "/{env}/splits": get("The splits of the tasks.", json!({"type": "array"})),
            "/{env}/tasks": post("The tasks of a split.", of_split(&[])),
            "/{env}/num_tasks": post("The number of tasks of a split.", of_split(&[])),
            "/{env}/task": post("A task of a split, with its page.", of_split(&["index"])),
            "/{env}/task_range": post("Tasks with their pages.", of_split(&["start", "stop"])),
            "/health": get("Whether the server takes episodes; 503 if not.", object.clone()),
            "/metrics": get("Counts in Prometheus' text format.", json!({"type": "string"})),
            "/metadata": get("What is served.", object.clone()),
            "/schema": get("The forms of actions, observations and states.", object),
        },
        "components": {"schemas": {
            "Action": action(), "Observation": observation(), "State": state(),
        }},
    }))
}

fn action() -> Value {
    json!({
        "title": "Action",
        "oneOf": [
            {
                "type": "object",
                "properties": {"type": {"const": "list_tools"}, "metadata": {"type": "object"}},
                "required": ["type"],
                "additionalProperties": false,
            },
            {
                "type": "object",
                "properties": {
                    "type": {"const": "call_tool"},
                    "tool_name": {"enum": NAMES},
                    "arguments": {"type": "object"},
                    "metadata": {"type": "object"},
                },
                "required": ["tool_name"],
                "additionalProperties": false,
            },
            {
                "description": "An action in the words of records, of a program that parses its \
                                agent's turns itself.",
                "type": "object",
                "properties": {
                    "type": {"const": "action"},
                    "action": {
                        "type": "object",
                        "properties": {
                            "tool": {"enum": ["python", "score", "answer", "malformed"]},
                            "code": {"type": "string"},
                            "reason": {"type": "string"},
                        },
                        "required": ["tool"],
                    },
                    "metadata": {"type": "object"},
                },
                "required": ["type", "action"],
                "additionalProperties": false,
            },
            {
                "description": "Short for a call of `python`.",
                "type": "object",
                "properties": {"code": {"type": "string"}, "metadata": {"type": "object"}},
                "required": ["code"],
                "additionalProperties": false,
            },
        ],
    })
}

fn observation() -> Value {
    json!({
        "title": "Observation",
        "description": "Of a reset: the task. Of a step: what the tool said.",
        "type": "object",
        "properties": {
            "task": {"type": "string"},
            "description": {"type": "string"},
            "tools": {"type": "array", "items": {"type": "object"}},
            "tool_name": {"type": "string"},
            "result": {"type": "string"},
            "error": {"type": ["object", "null"]},
            "metadata": {"type": "object"},
        },
    })
}

fn state() -> Value {
    json!({
        "title": "State",
        "type": "object",
        "properties": {
            "episode_id": {"type": ["string", "null"]},
            "step_count": {"type": "integer", "minimum": 0},
            "task": {"type": "string"},
            "turns_left": {"type": "integer", "minimum": 0},
            "done": {"type": "boolean"},
            "reward": {"type": "number"},
        },
        "required": ["episode_id", "step_count"],
    })
}
