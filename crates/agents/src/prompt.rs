//! The two messages that an agent reads before its first turn.

use crate::grammar::ToolCallFormat;
use crate::scaffold::Facts;
use jail::exec::Mode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tasks::description::{glance, without_glance};
use tasks::task::{Task, TaskError, TaskId};

/// How much of the task is put into the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptStyle {
    /// Full instructions and the whole `description.md`, but for its `At a glance` list: for
    /// language models, who are not to rely on a list that has one form on all pages of ours.
    Full,
    /// One line of instructions and, from the description's `At a glance` list, what the rows
    /// are, what is to be predicted and how it is scored: for policies of a few million
    /// parameters, whose scripts read column names from the files. Of a description without that
    /// list, as those of competitions, the title.
    Brief,
    /// The same with a data card: rows, kinds of columns, gaps, and how the target goes with
    /// columns and their products. For policies of a few million parameters that are to choose by
    /// the data.
    Card,
}

/// The two messages that open a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Text of the system message.
    pub system: String,
    /// Text of the first user message.
    pub user: String,
    /// What the description's `At a glance` list says the rows are, for scripted agents; `None` if
    /// it does not say so.
    pub data: Option<String>,
}

/// Why a prompt could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The task's description could not be read.
    #[error("failed to read the task's description")]
    Description(#[source] TaskError),
    /// The brief style needs something to name.
    #[error("the task's description is empty: there is nothing to make a brief prompt of")]
    Empty,
    /// The environment has no such task.
    #[error("there is no task `{0}`")]
    UnknownTask(TaskId),
}

const BRIEF_SYSTEM: &str = "Solve the task with Python.";
/// Packages of the locked Python.
const PACKAGES: &str =
    "numpy, pandas, fastparquet, scipy, scikit-learn, lightgbm, networkx, pillow and torch";
const FULL_SYSTEM: &str = include_str!("../prompts/react_system.md");
/// The script that the full prompt has as an example of a call.
const EXAMPLE: &str = "import pandas as pd\nprint(pd.read_csv(\"input/train.csv\").describe())";

impl Prompt {
    /// The prompt for `task`, where calls are written in `format`, scripts run in `mode`, and the
    /// locked Python's packages are installed.
    ///
    /// # Errors
    /// [`PromptError`] if its page is missing, or empty where a brief prompt is asked for.
    pub fn new(
        task: &Task,
        style: PromptStyle,
        format: ToolCallFormat,
        mode: Mode,
    ) -> Result<Self, PromptError> {
        let page = task.description().map_err(PromptError::Description)?;
        let mut prompt = Self::from_page(&page, style, format, mode, PACKAGES)?;
        if style == PromptStyle::Card
            && let Some(card) = Facts::from_task(task).card(task)
        {
            prompt.user.push('\n');
            prompt.user.push_str(&card);
        }
        Ok(prompt)
    }

    /// The prompt for the task that `description` describes, where calls are written in `format`,
    /// scripts run in `mode`, and `packages` are installed. Only the full style describes calls.
    ///
    /// # Errors
    /// [`PromptError::Empty`] if there is nothing to make a brief prompt of.
    pub fn from_page(
        description: &str,
        style: PromptStyle,
        format: ToolCallFormat,
        mode: Mode,
        packages: &str,
    ) -> Result<Self, PromptError> {
        let data = glance(description)
            .and_then(|list| list.lines().find_map(|line| line.strip_prefix("- Data: ")))
            .map(str::to_owned);
        match style {
            PromptStyle::Full => Ok(Self {
                data,
                system: FULL_SYSTEM
                    .trim_end()
                    .replace("{kept}", kept(mode))
                    .replace("{packages}", packages)
                    .replace("{escapes}", escapes(format))
                    .replace("{python}", &format.python_call(EXAMPLE))
                    .replace("{score}", format.score_call()),
                user: format!(
                    "The task's files are in `input/`. Its description:\n\n{}",
                    without_glance(description).trim_end()
                ),
            }),
            PromptStyle::Brief | PromptStyle::Card => {
                let user =
                    brief(description).or_else(|| title(description)).ok_or(PromptError::Empty)?;
                Ok(Self { system: BRIEF_SYSTEM.to_owned(), user, data })
            }
        }
    }
}

/// What a script finds of those before it.
fn kept(mode: Mode) -> &'static str {
    match mode {
        Mode::Script => "Each script starts fresh; only files persist.",
        Mode::Session => {
            "Variables, imports and files persist from one to the next, as in a notebook, and the \
             value of a last expression is shown; should the interpreter end, as by a crash or at \
             the time limit, only files are left."
        }
    }
}

/// What a model is told of scripts in calls, besides the example.
fn escapes(format: ToolCallFormat) -> &'static str {
    match format {
        ToolCallFormat::Code => "",
        ToolCallFormat::Hermes => {
            " The script is one string of JSON: write its line ends as `\\n`, its quotes as `\\\"` and \
             its backslashes as `\\\\`."
        }
    }
}

/// Task, data where it is named, kind of prediction and metric, a line each.
fn brief(description: &str) -> Option<String> {
    let list = glance(description)?;
    let item = |name: &str| list.lines().find_map(|line| line.strip_prefix(name));
    let task = item("- Task: ")?;
    let (_, kind) = item("- Target: ")?.rsplit_once('(')?;
    let metric = item("- Metric: ")?;
    let data = item("- Data: ").map(|data| format!("Data: {data}\n")).unwrap_or_default();
    Some(format!("Task: {task}\n{data}Predict: {}\nMetric: {metric}", kind.trim_end_matches(')')))
}

/// The first line of a description that has words in it.
fn title(description: &str) -> Option<String> {
    let lines = description.lines().map(|line| line.trim_start_matches('#').trim());
    lines.into_iter().find(|line| !line.is_empty()).map(|line| format!("Task: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox::env::Action;

    const CODE: ToolCallFormat = ToolCallFormat::Code;

    #[test]
    fn language_models_read_all_but_the_glance_list() {
        let description = "# T\n\ntext\n\n## At a glance\n- Task: a\n- Metric: b\n\n## Data\nx\n";
        let prompt =
            Prompt::from_page(description, PromptStyle::Full, CODE, Mode::Script, PACKAGES)
                .unwrap();
        assert!(prompt.user.ends_with(":\n\n# T\n\ntext\n\n## Data\nx"), "{}", prompt.user);
    }

    #[test]
    fn titles_are_the_first_line_with_words() {
        let description = "# T\n\ntext\n\n## At a glance\n- Task: a\n- Metric: b\n\n## Data\nx";
        assert_eq!(brief(description), None);
        assert_eq!(title("\n## Overview\ntext").as_deref(), Some("Task: Overview"));
        assert_eq!(title("#\n\n"), None);
    }

    #[test]
    fn the_full_prompt_says_what_persists() {
        for slot in ["{kept}", "{packages}", "{escapes}", "{python}", "{score}"] {
            assert_eq!(FULL_SYSTEM.matches(slot).count(), 1);
        }
        assert!(
            kept(Mode::Script).contains("only files") && kept(Mode::Session).contains("Variables")
        );
    }

    #[test]
    fn calls_in_the_full_prompt_are_of_the_format() {
        for format in ToolCallFormat::ALL {
            let page = |style| Prompt::from_page("# T", style, format, Mode::Script, PACKAGES);
            let system = page(PromptStyle::Full).unwrap().system;
            let calls: Vec<&str> =
                system.split("\n\n").filter(|part| part.starts_with("<tool_call>")).collect();
            let [python, score] = calls[..] else { panic!("{system}") };
            let code = EXAMPLE.to_owned();
            assert_eq!(format.parse(python).action, Action::Python { code });
            assert_eq!(format.parse(score).action, Action::Score);
            assert_eq!(system.contains("string of JSON"), format == ToolCallFormat::Hermes);
        }
    }

    #[test]
    fn a_page_alone_has_no_card() {
        let description =
            "## At a glance\n- Task: a\n- Target: `y` (number)\n- Metric: m\n\n## Data\n";
        let of =
            |style| Prompt::from_page(description, style, CODE, Mode::Script, PACKAGES).unwrap();
        assert_eq!(of(PromptStyle::Card), of(PromptStyle::Brief));
    }

    #[test]
    fn the_brief_names_no_column() {
        let description = "## At a glance\n- Task: binary classification\n- Data: pictures\n- Target: `is_late` \
                           (probability of class 1)\n- Metric: roc_auc (higher is better)\n\
                           - Columns: `a`, `b`\n\n## Data\n";
        assert_eq!(
            brief(description).as_deref(),
            Some(
                "Task: binary classification\nData: pictures\nPredict: probability of class 1\n\
                 Metric: roc_auc (higher is better)"
            )
        );
    }
}
