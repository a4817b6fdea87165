//! The parameters that change logits or end a choice, with vLLM's names and ranges.

use super::api_error::ApiError;
use super::parameters::Parameters;
use crate::generate::engine::TurnExtras;
use crate::generate::sample::{LogitProcessors, Penalties};
use std::collections::BTreeMap;

/// The largest size of a bias; larger ones count as this, as in vLLM.
const BIAS: f64 = 100.0;

/// Reads penalties, `logit_bias`, `min_tokens` and `stop_token_ids`, whose ids must be below
/// `vocab_size`.
///
/// # Errors
/// An [`ApiError`] if a value is out of its range.
pub(super) fn extras(parameters: &mut Parameters, vocab_size: i64) -> Result<TurnExtras, ApiError> {
    let processors = LogitProcessors {
        penalties: penalties(parameters)?,
        bias: bias(parameters, vocab_size)?,
        min_tokens: parameters.take("min_tokens")?.unwrap_or(0),
        grammar: None,
    };
    let name = "stop_token_ids";
    let stop_ids: Vec<i64> = parameters.take(name)?.unwrap_or_default();
    for &id in &stop_ids {
        in_vocabulary(name, id, vocab_size)?;
    }
    Ok(TurnExtras { processors, stop_ids, ..TurnExtras::default() })
}

fn penalties(parameters: &mut Parameters) -> Result<Penalties, ApiError> {
    let mut subtracted = |name: &str| match parameters.take::<f64>(name)?.unwrap_or(0.0) {
        penalty if (-2.0..=2.0).contains(&penalty) => Ok(penalty),
        penalty => {
            let message = format!("`{name}` is {penalty}; it must be between -2 and 2");
            Err(ApiError::invalid(name, message))
        }
    };
    let (frequency, presence) = (subtracted("frequency_penalty")?, subtracted("presence_penalty")?);
    let name = "repetition_penalty";
    let repetition = parameters.take(name)?.unwrap_or(1.0);
    if repetition <= 0.0 {
        let message = format!("`{name}` is {repetition}; it must be above 0, and 1 has no effect");
        return Err(ApiError::invalid(name, message));
    }
    Ok(Penalties { repetition, frequency, presence })
}

/// `logit_bias`: biases by ids, which are strings in JSON.
fn bias(parameters: &mut Parameters, vocab_size: i64) -> Result<BTreeMap<i64, f64>, ApiError> {
    let name = "logit_bias";
    let given: BTreeMap<String, f64> = parameters.take(name)?.unwrap_or_default();
    let entry = |(key, bias): (String, f64)| {
        let id = key.parse().map_err(|_| {
            let message = format!("`{key}` in `{name}` is not the id of a token; ids are integers");
            ApiError::invalid(name, message)
        })?;
        in_vocabulary(name, id, vocab_size)?;
        Ok::<_, ApiError>((id, bias.clamp(-BIAS, BIAS)))
    };
    given.into_iter().map(entry).collect()
}

fn in_vocabulary(name: &str, id: i64, vocab_size: i64) -> Result<(), ApiError> {
    if (0..vocab_size).contains(&id) {
        return Ok(());
    }
    let message = format!("the id {id} in `{name}` is outside the vocabulary of {vocab_size}");
    Err(ApiError::invalid(name, message))
}
