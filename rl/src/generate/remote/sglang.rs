//! SGLang's requests: turns by `/generate`, weights by `/update_weights_from_disk`, adapters by
//! `/load_lora_adapter`. Written after the sources of 0.5.23.

use super::turn::{RemoteTurn, SampledTurn};
use crate::generate::Publication;
use crate::generate::publication::PublishedWeights;
use crate::remote::{Server, ServerError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

const GENERATE: &str = "generate";

#[derive(Debug, Deserialize)]
struct Generation {
    #[serde(default)]
    output_ids: Vec<i64>,
    meta_info: MetaInfo,
}

#[derive(Debug, Deserialize)]
struct MetaInfo {
    finish_reason: FinishReason,
    #[serde(default)]
    weight_version: Option<String>,
    /// Of each sampled token `[log-probability, id, text]`.
    #[serde(default)]
    output_token_logprobs: Vec<(f32, i64, Value)>,
    /// Of each prompt token the same; the first has no log-probability.
    #[serde(default)]
    input_token_logprobs: Vec<(Option<f32>, i64, Value)>,
}

#[derive(Debug, Deserialize)]
struct FinishReason {
    r#type: String,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Done {
    success: bool,
    #[serde(default, alias = "error_message")]
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ModelInfo {
    weight_version: Option<String>,
}

/// The name of the adapters that are asked for; `None` for a whole model.
pub(super) fn adapter(publication: &Publication) -> Option<String> {
    match publication.weights {
        PublishedWeights::Folder { adapters: true, .. } => Some(named(publication.version)),
        _ => None,
    }
}

fn named(version: u64) -> String {
    format!("policy-{version}")
}

/// Samples a turn.
pub(super) async fn generate(
    server: &Server,
    adapter: Option<&str>,
    turn: &RemoteTurn,
    timeout: Duration,
) -> Result<SampledTurn, ServerError> {
    let found: Generation = server.post(GENERATE, &body(adapter, turn), timeout).await?;
    let meta = found.meta_info;
    let is_closed = match meta.finish_reason.r#type.as_str() {
        "stop" => true,
        "length" => false,
        other => {
            let message = meta.finish_reason.message.unwrap_or_default();
            let what = format!("the turn ended for the reason `{other}` {message}");
            return Err(server.unusable(GENERATE, &what.trim_end()));
        }
    };
    let scored = meta.output_token_logprobs.iter().map(|(_, id, _)| id);
    if !scored.eq(&found.output_ids) {
        let what = "the tokens with log-probabilities are not those that were sampled";
        return Err(server.unusable(GENERATE, &what));
    }
    Ok(SampledTurn {
        log_probs: meta.output_token_logprobs.iter().map(|(value, ..)| *value).collect(),
        ids: found.output_ids,
        is_closed,
        // Adapters are asked for by a name with their version; the server's version is its base's.
        version: meta.weight_version.filter(|_| adapter.is_none()),
    })
}

/// Every parameter is named: what is left out would be the server's own default, or that of the
/// model's `generation_config.json`.
fn body(adapter: Option<&str>, turn: &RemoteTurn) -> Value {
    let sampling = turn.sampling;
    let top_k = if sampling.top_k == 0 { json!(-1) } else { json!(sampling.top_k) };
    let mut body = json!({
        "input_ids": turn.ids,
        "sampling_params": {
            "max_new_tokens": turn.max_tokens,
            "min_new_tokens": 0,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": top_k,
            "min_p": sampling.min_p,
            "n": 1,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "repetition_penalty": 1.0,
            "stop_token_ids": turn.stop_ids,
            "ignore_eos": turn.stop_ids.is_empty(),
            "no_stop_trim": true,
            "skip_special_tokens": false,
            // Has effect on servers with `--enable-deterministic-inference`.
            "sampling_seed": turn.seed,
        },
        "return_logprob": true,
        // Of the sampled tokens alone.
        "logprob_start_len": -1,
        "top_logprobs_num": 0,
        "stream": false,
    });
    if let Some(adapter) = adapter {
        body["lora_path"] = adapter.into();
    }
    body
}

/// The log-probability of each of `ids` from the second on.
pub(super) async fn score(
    server: &Server,
    adapter: Option<&str>,
    ids: &[i64],
    timeout: Duration,
) -> Result<Vec<f32>, ServerError> {
    let mut body = json!({
        "input_ids": ids,
        "sampling_params": { "max_new_tokens": 1, "temperature": 1.0 },
        "return_logprob": true,
        "logprob_start_len": 0,
    });
    if let Some(adapter) = adapter {
        body["lora_path"] = adapter.into();
    }
    let found: Generation = server.post(GENERATE, &body, timeout).await?;
    let scores = found.meta_info.input_token_logprobs;
    if !scores.iter().map(|(_, id, _)| id).eq(ids) {
        let what = format!("it scores {} of {} tokens of the prompt", scores.len(), ids.len());
        return Err(server.unusable(GENERATE, &what));
    }
    let of = |(score, id, _): &(Option<f32>, i64, Value)| {
        score.ok_or_else(|| server.unusable(GENERATE, &format!("it does not score the id {id}")))
    };
    scores.iter().skip(1).map(of).collect()
}

/// Loads published weights.
pub(super) async fn load(
    server: &Server,
    publication: &Publication,
    timeout: Duration,
) -> Result<(), ServerError> {
    let PublishedWeights::Folder { path, adapters } = &publication.weights else {
        return Err(server.unusable("weights", &"SGLang reads weights from a folder"));
    };
    if *adapters {
        // A run that was stopped and goes on makes the same version again.
        forget(server, publication.version, timeout).await?;
        let body = json!({ "lora_name": named(publication.version), "lora_path": path });
        done(server, "load_lora_adapter", &body, timeout).await?;
        return match publication.version.checked_sub(1) {
            Some(before) => forget(server, before, timeout).await,
            None => Ok(()),
        };
    }
    // Others may be asking this server; what they have begun is read again with the new weights.
    let retract = json!({ "mode": "retract" });
    server.tell("pause_generation", &retract, timeout).await?;
    let body = json!({
        "model_path": path,
        "weight_version": publication.version.to_string(),
        "flush_cache": true,
        "abort_all_requests": false,
    });
    let loaded = done(server, "update_weights_from_disk", &body, timeout).await;
    let resumed = server.tell("continue_generation", &json!({}), timeout).await.map(drop);
    loaded.and(resumed)
}

/// Unloads adapters, if they are there.
async fn forget(server: &Server, version: u64, timeout: Duration) -> Result<(), ServerError> {
    let body = json!({ "lora_name": named(version) });
    match server.tell("unload_lora_adapter", &body, timeout).await {
        Err(error) if error.status() == Some(400) => Ok(()),
        other => other.map(drop),
    }
}

/// Posts what is answered by success or a message.
async fn done(
    server: &Server,
    path: &str,
    body: &Value,
    timeout: Duration,
) -> Result<(), ServerError> {
    let done: Done = server.post(path, body, timeout).await?;
    if done.success {
        return Ok(());
    }
    Err(server.unusable(path, &done.message.unwrap_or_else(|| "it failed".to_owned())))
}

/// The version of the whole model's weights; adapters are asked for by theirs.
pub(super) async fn version(server: &Server, timeout: Duration) -> Result<String, ServerError> {
    let info: ModelInfo = server.get("model_info", timeout).await?;
    Ok(info.weight_version.unwrap_or_default())
}
