//! `posttrain submit` and `posttrain time`: clients of the server, as an agent may write them.

use super::{UsageError, exit, output};
use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::{Value, json};
use std::time::Duration;

/// Time for an answer that does not wait for a grade: a snapshot may have to be taken.
const PATIENCE: Duration = Duration::from_mins(30);
/// Time for an answer about the time.
const QUICK: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(super) struct ServerArgs {
    /// The server.
    #[arg(long, env = "GRADING_SERVER_URL", default_value = "http://127.0.0.1:5000")]
    url: String,
    /// The token of the run. Better given in the environment.
    #[arg(long, env = "GRADING_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

impl ServerArgs {
    /// A server of this process.
    pub(super) fn new(url: String, token: String) -> Self {
        Self { url, token: Some(token) }
    }
}

#[derive(Debug, Args)]
pub(super) struct SubmitArgs {
    /// The model: a folder below `output/`.
    model: String,
    /// A line for the record.
    #[arg(long)]
    note: Option<String>,
    /// Answer when it is graded, however long that takes.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(super) struct TimeArgs {
    /// Print the whole seconds that are left, and nothing else.
    #[arg(long)]
    seconds: bool,
    #[command(flatten)]
    server: ServerArgs,
}

impl ServerArgs {
    /// Sends a request, with this body if it has one. Status and answer.
    pub(super) fn ask(
        &self,
        path: &str,
        body: Option<&Value>,
        limit: Option<Duration>,
    ) -> Result<(bool, Value)> {
        let token = self.token.as_deref().ok_or_else(|| {
            UsageError(
                "the token of the run is missing: set GRADING_TOKEN, or give --token".to_owned(),
            )
        })?;
        ask(&self.url, token, path, body, limit)
    }
}

/// Sends a request to the server at `url`, with this body if it has one. Whether its status is one of
/// success, and the answer.
pub(super) fn ask(
    url: &str,
    token: &str,
    path: &str,
    body: Option<&Value>,
    limit: Option<Duration>,
) -> Result<(bool, Value)> {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent: ureq::Agent = config.timeout_global(limit).build().into();
    let url = format!("{}{path}", url.trim_end_matches('/'));
    let authorization = format!("Bearer {token}");
    let sent = match body {
        Some(body) => agent
            .post(&url)
            .header("authorization", authorization)
            .content_type("application/json")
            .send(body.to_string()),
        None => agent.get(&url).header("authorization", authorization).call(),
    };
    let mut response = sent.with_context(|| format!("failed to reach the server at {url}"))?;
    let status = response.status();
    let text = response.body_mut().read_to_string().context("failed to read the answer")?;
    let answer: Value = serde_json::from_str(&text)
        .with_context(|| format!("the server's answer, of status {status}, is no JSON"))?;
    Ok((status.is_success(), answer))
}

pub(super) fn submit(args: &SubmitArgs) -> Result<u8> {
    let body = json!({ "model_path": args.model, "note": args.note, "wait": args.wait });
    let limit = (!args.wait).then_some(PATIENCE);
    let (is_taken, answer) = args.server.ask("/v1/submit", Some(&body), limit)?;
    output::json(&answer)?;
    Ok(if is_taken { exit::SUCCESS } else { exit::SUBMISSION })
}

pub(super) fn time(args: &TimeArgs) -> Result<u8> {
    let (is_told, answer) = args.server.ask("/v1/time", None, Some(QUICK))?;
    if !is_told {
        output::json(&answer)?;
        return Ok(exit::FAULT);
    }
    let number = |key: &str| answer[key].as_f64().unwrap_or_default();
    let left = number("remaining_seconds");
    if args.seconds {
        output::line(&format!("{:.0}", left.floor()))?;
    } else {
        let state = answer["state"].as_str().unwrap_or_default();
        output::line(&format!("{left:.0} s of {:.0} s left, {state}", number("limit_seconds")))?;
    }
    Ok(exit::SUCCESS)
}
