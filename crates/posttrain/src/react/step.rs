//! A step: what a model wants done in one turn, as JSON.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a model wants done.
///
/// # Examples
/// ```rust
/// use posttrain::react::{Step, Tool};
///
/// let step = Step::read(r#"{"thought": "What is there?", "tool": "shell", "arguments": {"command": "ls"}}"#)?;
/// assert_eq!(step.tool, Tool::Shell { command: "ls".to_owned(), seconds: None });
/// # Ok::<(), posttrain::react::BadStep>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Why.
    pub thought: String,
    /// What.
    pub tool: Tool,
}

/// A tool with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tool {
    /// Runs a command with `bash`.
    Shell {
        /// The command.
        command: String,
        /// Its time, in seconds.
        seconds: Option<u64>,
    },
    /// Shows lines of a file.
    Read {
        /// The file.
        path: String,
        /// The first line, from 1.
        from: Option<usize>,
        /// How many.
        lines: Option<usize>,
    },
    /// Writes a file anew.
    Write {
        /// The file.
        path: String,
        /// All of it.
        content: String,
    },
    /// Replaces a text that stands in a file exactly once.
    Patch {
        /// The file.
        path: String,
        /// The text.
        old: String,
        /// What stands in its place afterwards.
        new: String,
    },
    /// Submits a model, and waits for its score.
    Submit {
        /// A folder below `output/`.
        path: String,
        /// What is said of it.
        note: Option<String>,
    },
    /// Asks how much time is left.
    Time,
    /// Ends the work.
    Finish {
        /// What was done.
        summary: String,
    },
}

/// Why an answer is no step, for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}. Answer with one JSON object and nothing else: {FORM}")]
pub struct BadStep(String);

/// The form of a step.
pub(super) const FORM: &str = r#"{"thought": "…", "tool": "shell", "arguments": {"command": "…"}}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    thought: String,
    tool: String,
    arguments: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shell {
    command: String,
    seconds: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    path: String,
    from: Option<usize>,
    lines: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    path: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    path: String,
    old: String,
    new: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Submit {
    path: String,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Time {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Finish {
    summary: String,
}

impl Step {
    /// Reads an answer: one JSON object, or one within a single fence.
    ///
    /// # Errors
    /// [`BadStep`], with what to do.
    pub fn read(answer: &str) -> Result<Self, BadStep> {
        let RawStep { thought, tool, arguments } = serde_json::from_str(unfenced(answer))
            .map_err(|error| BadStep(format!("the answer cannot be read: {error}")))?;
        if thought.trim().is_empty() {
            return Err(BadStep("`thought` is empty; say why you do this".to_owned()));
        }
        let tool = match tool.as_str() {
            "shell" => {
                let Shell { command, seconds } = of("shell", arguments)?;
                Tool::Shell { command, seconds }
            }
            "read" => {
                let Read { path, from, lines } = of("read", arguments)?;
                Tool::Read { path, from, lines }
            }
            "write" => {
                let Write { path, content } = of("write", arguments)?;
                Tool::Write { path, content }
            }
            "patch" => {
                let Patch { path, old, new } = of("patch", arguments)?;
                Tool::Patch { path, old, new }
            }
            "submit" => {
                let Submit { path, note } = of("submit", arguments)?;
                Tool::Submit { path, note }
            }
            "time" => {
                let Time {} = of("time", arguments)?;
                Tool::Time
            }
            "finish" => {
                let Finish { summary } = of("finish", arguments)?;
                Tool::Finish { summary }
            }
            other => {
                let what = "it is one of shell, read, write, patch, submit, time, finish";
                return Err(BadStep(format!("there is no tool {other:?}: {what}")));
            }
        };
        Ok(Self { thought, tool })
    }
}

impl Tool {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Shell { .. } => "shell",
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::Patch { .. } => "patch",
            Self::Submit { .. } => "submit",
            Self::Time => "time",
            Self::Finish { .. } => "finish",
        }
    }
}

fn of<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, BadStep> {
    serde_json::from_value(arguments)
        .map_err(|error| BadStep(format!("the arguments of `{tool}` are wrong: {error}")))
}

/// What stands in a fence that is all of an answer, else the answer.
fn unfenced(answer: &str) -> &str {
    let answer = answer.trim();
    let inside = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
    inside.and_then(|inside| inside.strip_suffix("```")).map_or(answer, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(tool: &str, arguments: &str) -> Result<Tool, BadStep> {
        let text = format!(r#"{{"thought": "t", "tool": "{tool}", "arguments": {arguments}}}"#);
        Step::read(&text).map(|step| step.tool)
    }

    #[test]
    fn every_tool_is_read_bare_and_in_a_fence() {
        for (tool, arguments) in [
            ("shell", r#"{"command": "ls", "seconds": 5}"#),
            ("read", r#"{"path": "a", "from": 2, "lines": 3}"#),
            ("write", r#"{"path": "a", "content": "b"}"#),
            ("patch", r#"{"path": "a", "old": "b", "new": "c"}"#),
            ("submit", r#"{"path": "output/a"}"#),
            ("time", "{}"),
            ("finish", r#"{"summary": "s"}"#),
        ] {
            assert_eq!(read(tool, arguments).unwrap().name(), tool);
        }
        let fenced = "```json\n{\"thought\": \"t\", \"tool\": \"time\", \"arguments\": {}}\n```";
        assert_eq!(Step::read(fenced).unwrap().tool, Tool::Time);
    }

    #[test]
    fn what_is_no_step_says_why_and_how_one_looks() {
        for (answer, named) in [
            ("I would look around first.", "cannot be read"),
            (r#"{"tool": "time", "arguments": {}}"#, "missing field `thought`"),
            (r#"{"thought": " ", "tool": "time", "arguments": {}}"#, "`thought` is empty"),
            (r#"{"thought": "t", "tool": "browse", "arguments": {}}"#, "no tool \"browse\""),
            (r#"{"thought": "t", "tool": "shell", "arguments": {}}"#, "missing field `command`"),
            (r#"{"thought": "t", "tool": "time", "arguments": {"x": 1}}"#, "unknown field `x`"),
            (
                r#"{"thought": "t", "tool": "time", "arguments": {}, "next": {}}"#,
                "unknown field `next`",
            ),
            (
                r#"{"thought": "t", "tool": "time", "arguments": {}} {"thought": "u"}"#,
                "trailing characters",
            ),
        ] {
            let error = Step::read(answer).unwrap_err().to_string();
            assert!(error.contains(named) && error.ends_with(FORM), "{answer}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_panics(answer in ".{0,200}") {
            let _ = Step::read(&answer);
        }
    }
}
