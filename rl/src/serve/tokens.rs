//! `POST /tokenize` and `POST /detokenize`: text or a conversation as token ids, and back, as in
//! vLLM.

use super::api_error::ApiError;
use super::chat::template_options;
use super::messages::messages;
use super::parameters::Parameters;
use super::respond::page;
use super::server::InferenceState;
use super::tools::Tools;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use serde_json::json;
use std::sync::Arc;
use tokio::task::block_in_place;

pub(super) async fn tokenize(
    State(shared): State<Arc<InferenceState>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    block_in_place(|| encode(&shared, body))
}

/// The ids of a prompt, or of a conversation with its tools as the chat template renders it.
fn encode(
    shared: &InferenceState,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let mut parameters = Parameters::parse(body)?;
    let model: Option<String> = parameters.take("model")?;
    shared.check_model(model.as_deref())?;
    let with_texts = parameters.take("return_token_strs")?.unwrap_or(false);
    // Qwen's tokenizers add no tokens at the beginning or the end of a text.
    parameters.neutral("add_special_tokens", &[json!(true), json!(false)])?;
    let prompt: Option<String> = parameters.take("prompt")?;
    let ids = if let Some(text) = prompt {
        parameters.finish()?;
        let ids = shared.tokenizer.encode_with_control(&text, None);
        ids.map_err(|error| ApiError::invalid("prompt", error.to_string()))?
    } else {
        let template = shared.template()?;
        let messages = messages(&mut parameters)?;
        let tools = Tools::take(&mut parameters, template)?;
        let options = template_options(&mut parameters, tools.shown)?;
        parameters.neutral("add_generation_prompt", &[json!(true)])?;
        parameters.neutral("continue_final_message", &[json!(false)])?;
        parameters.finish()?;
        let refused = |error| ApiError::invalid("messages", tasks::text::with_causes(&error));
        template.apply(&messages, &options).map_err(refused)?
    };
    let texts = with_texts.then(|| texts(shared, &ids)).transpose()?;
    Ok(page(&json!({
        "count": ids.len(), "max_model_len": shared.capacity, "tokens": ids, "token_strs": texts,
    })))
}

/// The text of each token; parts of characters become U+FFFD.
fn texts(shared: &InferenceState, ids: &[i64]) -> Result<Vec<String>, ApiError> {
    let text = |&id: &i64| {
        let bytes = shared.tokenizer.bytes(id);
        let bytes = bytes.map_err(|error| ApiError::broken(error.to_string()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    ids.iter().map(text).collect()
}

pub(super) async fn detokenize(
    State(shared): State<Arc<InferenceState>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    block_in_place(|| decode(&shared, body))
}

/// The text of ids, control tokens included.
fn decode(
    shared: &InferenceState,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let mut parameters = Parameters::parse(body)?;
    let model: Option<String> = parameters.take("model")?;
    shared.check_model(model.as_deref())?;
    let ids: Option<Vec<i64>> = parameters.take("tokens")?;
    let ids = ids.ok_or_else(|| ApiError::invalid("tokens", "there are no `tokens`"))?;
    parameters.finish()?;
    if let Some(id) = ids.iter().find(|&&id| shared.tokenizer.bytes(id).is_err()) {
        let message = format!("the id {id} is not in the vocabulary");
        return Err(ApiError::invalid("tokens", message));
    }
    let text = shared.tokenizer.decode(&ids);
    let text = text.map_err(|error| ApiError::invalid("tokens", error.to_string()))?;
    Ok(page(&json!({"prompt": text})))
}
