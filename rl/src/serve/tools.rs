//! The tools of a conversation, and whether the model must call one.

use super::api_error::ApiError;
use super::parameters::Parameters;
use super::structured::{FunctionForm, OutputForm};
use crate::text::template::ChatTemplate;
use crate::text::tokenizer::Tokenizer;
use minijinja::Value as Any;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The tools of a request.
#[derive(Debug, Default)]
pub(super) struct Tools {
    /// Those that the chat template shows to the model.
    pub(super) shown: Vec<Any>,
    /// The form of a turn that must call one.
    pub(super) forced: Option<OutputForm>,
    /// Whether `tool_choice` names the function.
    pub(super) is_named: bool,
    /// Whether only the first call of a turn counts, as in vLLM.
    pub(super) is_single: bool,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected `none`, `auto`, `required`, or \
                 `{\"type\": \"function\", \"function\": {\"name\": …}}`"
)]
enum ToolChoice {
    Mode(ToolChoiceMode),
    Function { function: FunctionName },
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum ToolChoiceMode {
    None,
    Auto,
    Required,
}

#[derive(Deserialize)]
struct FunctionName {
    name: String,
}

/// A tool, as far as the form of its calls depends on it.
#[derive(Deserialize)]
struct ToolDefinition {
    function: FunctionDefinition,
}

#[derive(Deserialize)]
struct FunctionDefinition {
    name: String,
    parameters: Option<Map<String, Value>>,
}

impl Tools {
    /// Reads `tools`, `tool_choice` and `parallel_tool_calls`.
    ///
    /// # Errors
    /// An [`ApiError`] if one of them is invalid, or cannot be kept.
    pub(super) fn take(
        parameters: &mut Parameters,
        template: &ChatTemplate<Arc<Tokenizer>>,
    ) -> Result<Self, ApiError> {
        let shown: Vec<Any> = parameters.take("tools")?.unwrap_or_default();
        check(&shown)?;
        let several = parameters.take("parallel_tool_calls")?.unwrap_or(true);
        let choice = parameters.take("tool_choice")?;
        let choice = choice.unwrap_or(ToolChoice::Mode(ToolChoiceMode::Auto));
        if matches!(choice, ToolChoice::Mode(ToolChoiceMode::None)) {
            return Ok(Self::default());
        }
        if !shown.is_empty() && !template.supports_tools() {
            let message = "the model's chat template does not support tools; leave them out";
            return Err(ApiError::unsupported("tools", message));
        }
        let is_named = matches!(choice, ToolChoice::Function { .. });
        let forced = forced(&choice, &shown, several)?;
        Ok(Self { shown, forced, is_named, is_single: !several })
    }
}

/// Checks that each tool is a function with a name.
fn check(tools: &[Any]) -> Result<(), ApiError> {
    for tool in tools {
        let name = tool.get_attr("function").and_then(|function| function.get_attr("name"));
        let is_function = tool.get_attr("type").is_ok_and(|kind| kind.as_str() == Some("function"));
        if !is_function || !name.is_ok_and(|name| name.as_str().is_some()) {
            let message = "a tool is `{\"type\": \"function\", \"function\": {\"name\": …}}`";
            return Err(ApiError::invalid("tools", message));
        }
    }
    Ok(())
}

/// The form of a turn, if the choice forces a call.
fn forced(
    choice: &ToolChoice,
    tools: &[Any],
    several: bool,
) -> Result<Option<OutputForm>, ApiError> {
    let name = match choice {
        ToolChoice::Mode(ToolChoiceMode::Required) => None,
        ToolChoice::Mode(_) => return Ok(None),
        ToolChoice::Function { function } => Some(&function.name),
    };
    let mut functions = tools.iter().map(function).collect::<Result<Vec<_>, _>>()?;
    functions.retain(|function| name.is_none_or(|name| *name == function.name));
    if functions.is_empty() {
        let message = match name {
            Some(name) => format!("`tool_choice` names `{name}`, which is not one of the `tools`"),
            None => "`tool_choice` forces a call, but there are no `tools`".into(),
        };
        return Err(ApiError::invalid("tool_choice", message));
    }
    // As in vLLM, a function that is named is called once.
    Ok(Some(OutputForm::Calls { functions, several: several && name.is_none() }))
}

fn function(tool: &Any) -> Result<FunctionForm, ApiError> {
    let definition: Result<ToolDefinition, _> =
        serde_json::to_value(tool).and_then(serde_json::from_value);
    let FunctionDefinition { name, parameters } = definition
        .map_err(|error| ApiError::invalid("tools", format!("a tool cannot be used: {error}")))?
        .function;
    Ok(FunctionForm { name, parameters: parameters.unwrap_or_default() })
}
