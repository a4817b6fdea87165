//! vLLM's requests: turns by `/v1/completions`, weights by its RL routes, adapters by
//! `/v1/load_lora_adapter`. Tried with 0.32.

use super::turn::{RemoteTurn, SampledTurn};
use crate::generate::Publication;
use crate::generate::publication::PublishedWeights;
use crate::remote::{Server, ServerError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const COMPLETIONS: &str = "v1/completions";

/// The models of a server.
#[derive(Debug, Deserialize)]
struct Models {
    data: Vec<Model>,
}

#[derive(Debug, Deserialize)]
struct Model {
    id: String,
    /// Of an adapter the model that it belongs to.
    #[serde(default)]
    parent: Option<String>,
    #[serde(default)]
    max_model_len: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    token_ids: Option<Vec<i64>>,
    #[serde(default)]
    logprobs: Option<LogProbs>,
    /// Of each prompt token but the first, by its id.
    #[serde(default)]
    prompt_logprobs: Option<Vec<Option<BTreeMap<String, PromptLogProb>>>>,
}

#[derive(Debug, Deserialize)]
struct LogProbs {
    token_logprobs: Vec<f32>,
}

#[derive(Debug, Deserialize)]
struct PromptLogProb {
    logprob: f32,
}

#[derive(Debug, Deserialize)]
struct WeightInfo {
    weight_version: String,
}

/// The name of the served model, and the most tokens of a sequence if the server tells.
pub(super) async fn model(
    server: &Server,
    timeout: Duration,
) -> Result<(String, Option<usize>), ServerError> {
    let models: Models = server.get("v1/models", timeout).await?;
    let base = models.data.into_iter().find(|model| model.parent.is_none());
    let base = base.ok_or_else(|| server.unusable("v1/models", &"it lists no model"))?;
    Ok((base.id, base.max_model_len))
}

/// The name under which weights of this version are asked for: `base`, or the adapters' own.
pub(super) fn served_name(base: &str, publication: &Publication) -> String {
    match publication.weights {
        PublishedWeights::Folder { adapters: true, .. } => adapter(publication.version),
        _ => base.to_owned(),
    }
}

/// Adapters of each version have a name of their own, so that no cached prefix of another version
/// is taken for theirs.
fn adapter(version: u64) -> String {
    format!("policy-{version}")
}

/// Samples a turn.
pub(super) async fn generate(
    server: &Server,
    model: &str,
    turn: &RemoteTurn,
    timeout: Duration,
) -> Result<SampledTurn, ServerError> {
    let choice = complete(server, &body(model, turn), timeout).await?;
    let missing = |what: &str| server.unusable(COMPLETIONS, &format!("it has no `{what}`"));
    let is_closed = match choice.finish_reason.as_deref() {
        Some("stop") => true,
        Some("length") => false,
        other => {
            let what = format!("the turn ended for the reason `{}`", other.unwrap_or("none"));
            return Err(server.unusable(COMPLETIONS, &what));
        }
    };
    Ok(SampledTurn {
        ids: choice.token_ids.ok_or_else(|| missing("token_ids"))?,
        log_probs: choice.logprobs.ok_or_else(|| missing("logprobs"))?.token_logprobs,
        is_closed,
        version: None,
    })
}

/// Every parameter is named: what is left out would be the server's own default, or that of the
/// model's `generation_config.json`.
fn body(model: &str, turn: &RemoteTurn) -> Value {
    let sampling = turn.sampling;
    json!({
        "model": model,
        "prompt": turn.ids,
        "max_tokens": turn.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "seed": turn.seed,
        "stop_token_ids": turn.stop_ids,
        "ignore_eos": turn.stop_ids.is_empty(),
        "n": 1,
        "min_tokens": 0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "repetition_penalty": 1.0,
        "logprobs": 0,
        "return_token_ids": true,
        "skip_special_tokens": false,
        // Keys and values of other weights are never reused.
        "cache_salt": format!("weights-{}", turn.version),
    })
}

/// The log-probability of each of `ids` from the second on.
pub(super) async fn score(
    server: &Server,
    model: &str,
    ids: &[i64],
    timeout: Duration,
) -> Result<Vec<f32>, ServerError> {
    let body = json!({
        "model": model,
        "prompt": ids,
        "max_tokens": 1,
        "temperature": 1.0,
        "prompt_logprobs": 0,
    });
    let choice = complete(server, &body, timeout).await?;
    let scores = choice.prompt_logprobs.unwrap_or_default();
    if scores.len() != ids.len() {
        let what = format!("it scores {} of {} tokens of the prompt", scores.len(), ids.len());
        return Err(server.unusable(COMPLETIONS, &what));
    }
    let of = |(score, id): (&Option<BTreeMap<String, PromptLogProb>>, &i64)| {
        let found = score.as_ref().and_then(|score| score.get(&id.to_string()));
        found
            .map(|found| found.logprob)
            .ok_or_else(|| server.unusable(COMPLETIONS, &format!("it does not score the id {id}")))
    };
    scores.iter().zip(ids).skip(1).map(of).collect()
}

async fn complete(server: &Server, body: &Value, timeout: Duration) -> Result<Choice, ServerError> {
    let completion: Completion = server.post(COMPLETIONS, body, timeout).await?;
    let choice = completion.choices.into_iter().next();
    choice.ok_or_else(|| server.unusable(COMPLETIONS, &"it has no choice"))
}

/// Loads published weights.
pub(super) async fn load(
    server: &Server,
    publication: &Publication,
    timeout: Duration,
) -> Result<(), ServerError> {
    let version = publication.version;
    let PublishedWeights::Folder { path, adapters } = &publication.weights else {
        return Err(server.unusable("weights", &"vLLM reads weights from a folder"));
    };
    if *adapters {
        // A run that was stopped and goes on makes the same version again.
        forget(server, version, timeout).await?;
        let body = json!({ "lora_name": adapter(version), "lora_path": path });
        server.tell("v1/load_lora_adapter", &body, timeout).await.map_err(explained)?;
        return match version.checked_sub(1) {
            Some(before) => forget(server, before, timeout).await,
            None => Ok(()),
        };
    }
    // Others may be asking this server; what they have begun they finish with the old weights.
    server.tell("pause?mode=wait", &json!({}), timeout).await.map_err(explained)?;
    let loaded = reload(server, path.as_str(), version, timeout).await;
    let resumed = server.tell("resume", &json!({}), timeout).await.map(drop);
    loaded.and(resumed)
}

async fn reload(
    server: &Server,
    path: &str,
    version: u64,
    timeout: Duration,
) -> Result<(), ServerError> {
    let call = json!({
        "method": "reload_weights",
        "kwargs": { "weights_path": path },
        "timeout": timeout.as_secs_f64(),
    });
    server.tell("collective_rpc", &call, timeout).await?;
    server.tell("reset_prefix_cache", &json!({}), timeout).await?;
    let named = json!({ "new_version": version.to_string() });
    server.tell("update_weight_version", &named, timeout).await.map(drop)
}

/// Unloads adapters, if they are there.
async fn forget(server: &Server, version: u64, timeout: Duration) -> Result<(), ServerError> {
    let body = json!({ "lora_name": adapter(version) });
    match server.tell("v1/unload_lora_adapter", &body, timeout).await {
        Err(error) if matches!(error.status(), Some(400 | 404)) => Ok(()),
        other => other.map(drop),
    }
}

/// The version of the whole model's weights; adapters are asked for by theirs.
pub(super) async fn version(server: &Server, timeout: Duration) -> Result<String, ServerError> {
    let info: WeightInfo = server.get("weight_info", timeout).await?;
    Ok(info.weight_version)
}

/// The same error, with what to do where routes are switched off.
fn explained(error: ServerError) -> ServerError {
    match error {
        ServerError::Status { server, path, status: 404, message } => {
            let message = format!(
                "{message}; start vLLM with `VLLM_SERVER_DEV_MODE=1`, and for adapters with \
                 `VLLM_ALLOW_RUNTIME_LORA_UPDATING=1` and `--enable-lora`"
            );
            ServerError::Status { server, path, status: 404, message }
        }
        other => other,
    }
}
