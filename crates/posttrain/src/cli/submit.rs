//! `posttrain submit`: a client of the server, as an agent may write it.

use super::{UsageError, exit, output};
use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::{Value, json};
use std::time::Duration;

/// Time for an answer that does not wait for a grade: a snapshot may have to be taken.
const PATIENCE: Duration = Duration::from_mins(30);

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
    /// The server.
    #[arg(long, env = "GRADING_SERVER_URL", default_value = "http://127.0.0.1:5000")]
    url: String,
    /// The token of the run. Better given in the environment.
    #[arg(long, env = "GRADING_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

pub(super) fn submit(args: &SubmitArgs) -> Result<u8> {
    let token = args.token.as_deref().ok_or_else(|| {
        UsageError("the token of the run is missing: set GRADING_TOKEN, or give --token".to_owned())
    })?;
    let limit = (!args.wait).then_some(PATIENCE);
    let config = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(limit);
    let agent: ureq::Agent = config.build().into();
    let body = json!({ "model_path": args.model, "note": args.note, "wait": args.wait });
    let url = format!("{}/v1/submit", args.url.trim_end_matches('/'));
    let sent = agent
        .post(&url)
        .header("authorization", format!("Bearer {token}"))
        .content_type("application/json")
        .send(body.to_string());
    let mut response = sent.with_context(|| format!("failed to reach the server at {url}"))?;
    let status = response.status();
    let text = response.body_mut().read_to_string().context("failed to read the answer")?;
    let answer: Value = serde_json::from_str(&text)
        .with_context(|| format!("the server's answer, of status {status}, is no JSON"))?;
    output::json(&answer)?;
    Ok(if status.is_success() { exit::SUCCESS } else { exit::SUBMISSION })
}
