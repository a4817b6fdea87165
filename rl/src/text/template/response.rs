//! How a turn's text becomes a message with tool calls: `response_template` in
//! `tokenizer_config.json`, which transformers (5.13 and later) and TRL read.

use agents::grammar::ToolCallFormat;
use serde_json::Value;

/// The key in `tokenizer_config.json`.
pub(crate) const RESPONSE_TEMPLATE: &str = "response_template";

/// The template for turns with calls in `format`. In [`ToolCallFormat::Code`] it finds scripts
/// alone, because a template knows one form of calls.
pub(crate) fn response_template(format: ToolCallFormat) -> Value {
    let text = match format {
        ToolCallFormat::Code => include_str!("response_code.json"),
        ToolCallFormat::Hermes => include_str!("response_hermes.json"),
    };
    serde_json::from_str(text).expect("the file is JSON")
}

/// The format of calls for which `tokenizer_config.json` has a template of ours; `None` if it has
/// none, or another one.
pub(crate) fn tool_call_format(tokenizer_config: &Value) -> Option<ToolCallFormat> {
    let template = tokenizer_config.get(RESPONSE_TEMPLATE)?;
    ToolCallFormat::ALL.into_iter().find(|&format| response_template(format) == *template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn format_is_read_from_the_template() {
        for format in ToolCallFormat::ALL {
            let config = json!({RESPONSE_TEMPLATE: response_template(format), "eos_token": "x"});
            assert_eq!(tool_call_format(&config), Some(format));
        }
        assert_eq!(tool_call_format(&json!({"eos_token": "x"})), None);
        assert_eq!(tool_call_format(&json!({RESPONSE_TEMPLATE: {"fields": {}}})), None);
    }
}
