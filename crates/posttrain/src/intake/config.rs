//! `config.json` of a submission: compared with the base's, and then the base's is used.

use super::output_folder::shown;
use crate::refusal::{Refusal, RefusalCode};
use serde_json::{Map, Value};

/// A parsed `config.json`.
pub(super) type Config = Map<String, Value>;

/// Keys that ask for code, wherever they stand.
const CODE: [&str; 3] = ["auto_map", "custom_pipelines", "trust_remote_code"];
/// Keys that may differ, because they do not define the model or the base's value is used.
const FREE: [&str; 12] = [
    "_name_or_path",
    "bos_token_id",
    "dtype",
    "eos_token_id",
    "initializer_range",
    "max_position_embeddings",
    "pad_token_id",
    "torch_dtype",
    "transformers_version",
    "unsloth_version",
    "use_cache",
    "vocab_size",
];

/// Reads the bytes of a `config.json` and refuses what asks for code.
///
/// # Errors
/// A [`Refusal`].
pub(super) fn parse(bytes: &[u8]) -> Result<Config, Refusal> {
    let refused = |why: String| {
        let message = format!("`config.json` {why}; save the model with `save_pretrained`");
        Refusal::new(RefusalCode::Config, message)
    };
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| refused(format!("is no JSON: {error}")))?;
    if let Some(key) = asks_for_code(&value) {
        let message = format!(
            "`config.json` has `{key}`, which asks for code, and code of a submission is never run: \
             remove it"
        );
        return Err(Refusal::new(RefusalCode::Code, message));
    }
    match value {
        Value::Object(config) => Ok(config),
        _ => Err(refused("is no JSON object".to_owned())),
    }
}

fn asks_for_code(value: &Value) -> Option<&'static str> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, field)| {
            CODE.into_iter().find(|key| key == name).or_else(|| asks_for_code(field))
        }),
        Value::Array(values) => values.iter().find_map(asks_for_code),
        _ => None,
    }
}

/// Compares a submission's configuration with the base's, and returns the size of its vocabulary.
///
/// # Errors
/// A [`Refusal`] if it is of another model, or has a smaller vocabulary.
pub(super) fn compare(submitted: &Config, base: &Config) -> Result<usize, Refusal> {
    for (key, expected) in base {
        let Some(found) = submitted.get(key) else { continue };
        if FREE.contains(&key.as_str()) || found == expected || are_same_number(found, expected) {
            continue;
        }
        let message = format!(
            "`config.json`: `{key}` is {}, and the base has {expected}: only models of the base's \
             shape are evaluated; train the base that was given",
            shown(&found.to_string())
        );
        return Err(Refusal::new(RefusalCode::Config, message));
    }
    if submitted.contains_key("quantization_config") && !base.contains_key("quantization_config") {
        let message =
            "`config.json` has `quantization_config`: save the weights as bfloat16 or float32";
        return Err(Refusal::new(RefusalCode::Config, message));
    }
    let size = |config: &Config| config.get("vocab_size").and_then(Value::as_u64);
    let expected = size(base).unwrap_or_default();
    let found = size(submitted).unwrap_or(expected);
    if found < expected || found > expected.saturating_mul(2) {
        let message = format!(
            "`config.json`: `vocab_size` is {found}, and the base has {expected}: a vocabulary may be \
             extended, to twice its size at most, and not be cut"
        );
        return Err(Refusal::new(RefusalCode::Config, message));
    }
    usize::try_from(found)
        .map_err(|_| Refusal::new(RefusalCode::Config, "`vocab_size` is too large"))
}

/// `10000` and `10000.0` are one value to some writers.
fn are_same_number(one: &Value, other: &Value) -> bool {
    matches!((one.as_f64(), other.as_f64()), (Some(one), Some(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(value: &Value) -> Config {
        parse(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn configuration_of_the_same_model_in_another_writers_words_is_accepted() {
        let base = config(&json!({
            "model_type": "qwen3", "hidden_size": 8, "rope_theta": 10_000.0, "vocab_size": 10,
            "dtype": "float32",
        }));
        let same = config(&json!({
            "model_type": "qwen3", "hidden_size": 8, "rope_theta": 10_000, "torch_dtype": "bfloat16",
            "transformers_version": "9", "layer_types": ["full"], "vocab_size": 12,
        }));
        assert_eq!(compare(&same, &base), Ok(12));
        assert_eq!(compare(&config(&json!({})), &base), Ok(10));
    }

    #[test]
    fn configuration_of_another_model_or_with_code_is_refused() {
        let base = config(&json!({"hidden_size": 8, "vocab_size": 10}));
        let code = |value| compare(&config(&value), &base).unwrap_err().code;
        assert_eq!(code(json!({"hidden_size": 16})), RefusalCode::Config);
        assert_eq!(code(json!({"vocab_size": 9})), RefusalCode::Config);
        assert_eq!(code(json!({"vocab_size": 21})), RefusalCode::Config);
        assert_eq!(code(json!({"quantization_config": {}})), RefusalCode::Config);
        for bytes in [
            r#"{"auto_map": {"AutoModel": "model.Evil"}}"#,
            r#"{"text_config": {"auto_map": {}}}"#,
            r#"{"list": [{"trust_remote_code": true}]}"#,
        ] {
            assert_eq!(parse(bytes.as_bytes()).unwrap_err().code, RefusalCode::Code, "{bytes}");
        }
        for bytes in ["", "[]", "{", &"[".repeat(100_000)] {
            assert_eq!(parse(bytes.as_bytes()).unwrap_err().code, RefusalCode::Config);
        }
    }
}
