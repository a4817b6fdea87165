//! The tools of an episode: how clients are told of them, and the actions that calls stand for.

use crate::env::Action;
use jail::exec::Mode;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The names of all tools, the same in every mode.
pub(super) const NAMES: [&str; 3] = ["python", "score", "submit"];

/// The use of a tool, as a client asks for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolCall {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

/// What a step asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Call {
    /// The use of a tool, in OpenEnv's and MCP's words.
    Tool(ToolCall),
    /// An action in the words of records, from a program that parses its agent's turns itself: a
    /// turn that could not be parsed is one of them, with the reason for it.
    Action(Action),
}

impl Call {
    /// The name of the tool, as a client that calls it gave it.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Tool(call) => &call.tool,
            Self::Action(Action::Python { .. }) => NAMES[0],
            Self::Action(Action::Score) => NAMES[1],
            Self::Action(Action::Answer) => NAMES[2],
            Self::Action(Action::Malformed { .. }) => "malformed",
        }
    }

    /// Whether it may run a script, and needs a slot.
    pub(super) fn is_script(&self) -> bool {
        self.name() == NAMES[0]
    }

    /// The action that it stands for.
    ///
    /// # Errors
    /// Why there is none, for the agent.
    pub(super) fn action(&self) -> Result<Action, (ToolFault, String)> {
        match self {
            Self::Tool(call) => call.action(),
            Self::Action(action) => Ok(action.clone()),
        }
    }
}

/// Why a tool did not do its work, by the names that clients know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToolFault {
    ExecutionError,
    InvalidArgs,
    ToolNotFound,
    Timeout,
}

impl ToolCall {
    /// The action that the call stands for.
    ///
    /// # Errors
    /// Why there is none, for the agent.
    pub(super) fn action(&self) -> Result<Action, (ToolFault, String)> {
        let Self { tool, arguments } = self;
        let action = match tool.as_str() {
            "python" => {
                let code = arguments.get("code").and_then(Value::as_str);
                let unknown = arguments.keys().any(|name| name != "code");
                match code {
                    Some(code) if !unknown => Action::Python { code: code.to_owned() },
                    _ => {
                        let message = "`python` takes one argument, the text `code`".to_owned();
                        return Err((ToolFault::InvalidArgs, message));
                    }
                }
            }
            "score" => Action::Score,
            "submit" => Action::Answer,
            _ => {
                let known = "`python`, `score` and `submit`";
                let message = format!("there is no such tool; there are {known}");
                return Err((ToolFault::ToolNotFound, message));
            }
        };
        if matches!(action, Action::Score | Action::Answer) && !arguments.is_empty() {
            return Err((ToolFault::InvalidArgs, format!("`{tool}` takes no arguments")));
        }
        Ok(action)
    }
}

/// The observation of a tool's use.
pub(super) fn tool_answer(
    tool: &str,
    result: &str,
    fault: Option<(ToolFault, &str)>,
    metadata: &Value,
) -> Value {
    let error = fault.map(|(kind, message)| json!({"error_type": kind, "message": message}));
    json!({"tool_name": tool, "result": result, "error": error, "metadata": metadata})
}

/// The protocols that a list of tools is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListForm {
    /// OpenEnv's observation, with a key `input_schema`.
    OpenEnv,
    /// The result of MCP's `tools/list`, with a key `inputSchema`.
    Mcp,
}

/// The tools of every task, with scripts that run in `mode`.
pub(super) fn tools(mode: Mode, form: ListForm) -> Value {
    let nothing = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let code = json!({
        "type": "object",
        "properties": {"code": {"type": "string", "description": "the script"}},
        "required": ["code"],
        "additionalProperties": false,
    });
    let kept = match mode {
        Mode::Script => "It starts afresh each time,",
        Mode::Session => "Variables last, as in a notebook, unless the interpreter ends; it runs",
    };
    let python = format!(
        "Runs a Python script. {kept} in a folder that lasts for the episode, with the task's \
         files, read-only, in `input/`. Write predictions to `submission.csv` there."
    );
    let score = "Says what the present `submission.csv` is worth, as far as the feedback mode \
                 allows.";
    let submit = "Ends the episode; the present `submission.csv` is final.";
    let described =
        [(python.as_str(), &code), (score, &nothing), (submit, &nothing)].into_iter().zip(NAMES);
    let schema = match form {
        ListForm::OpenEnv => "input_schema",
        ListForm::Mcp => "inputSchema",
    };
    described
        .map(|((description, input), name)| {
            json!({"name": name, "description": description, schema: input})
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_become_actions_or_errors_that_say_why() {
        let call = |tool: &str, arguments: Value| match arguments {
            Value::Object(arguments) => ToolCall { tool: tool.to_owned(), arguments }.action(),
            _ => unreachable!("the arguments of a call are an object"),
        };
        let code = Action::Python { code: "1".to_owned() };
        assert_eq!(call("python", json!({"code": "1"})), Ok(code));
        assert_eq!(call("score", json!({})), Ok(Action::Score));
        assert_eq!(call("submit", json!({})), Ok(Action::Answer));
        for (tool, arguments) in [
            ("python", json!({})),
            ("python", json!({"code": 1})),
            ("python", json!({"code": "1", "timeout": 5})),
            ("score", json!({"x": 1})),
            ("submit", json!({"answer": 42})),
        ] {
            assert_eq!(call(tool, arguments).unwrap_err().0, ToolFault::InvalidArgs, "{tool}");
        }
        assert_eq!(call("bash", json!({})).unwrap_err().0, ToolFault::ToolNotFound);
    }

    #[test]
    fn tools_are_listed_in_the_words_of_each_protocol() {
        for (form, schema) in [(ListForm::OpenEnv, "input_schema"), (ListForm::Mcp, "inputSchema")]
        {
            let listed = tools(Mode::Script, form);
            let listed = listed.as_array().unwrap();
            let names: Vec<&str> =
                listed.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
            assert_eq!(names, NAMES);
            assert_eq!(listed[0][schema]["required"], json!(["code"]));
            assert!(listed.iter().all(|tool| tool.as_object().unwrap().len() == 3));
        }
    }
}
