//! ML Developer, played by a chat model that writes a generator in Python.

use super::prompt::shortened;
use super::{Question, fenced};
use crate::generator::{GeneratorSpec, MOST_HIDDEN, MOST_TEXT};
use crate::roles::{RoleFeedback, RoleRefusal};
use crate::spec::generated::ItemForm;
use crate::spec::scenario::{NumberColumn, Shape, TableScenario};
use std::fmt::Write as _;
use tasks::task::Formulation;

/// The longest generator, in bytes.
pub const MOST_CODE: usize = 24 << 10;
const MAX_TOKENS: u32 = 6000;
const TEMPERATURE: f64 = 0.2;
const SYSTEM: &str = include_str!("developer_system.txt");
const CONTRACT: &str = include_str!("developer_contract.txt");

/// What a generator is written for.
#[derive(Debug, Clone, Copy)]
pub struct GeneratorBrief<'a> {
    /// The story that gives columns and targets their meaning.
    pub story: &'a TableScenario,
    /// What is predicted.
    pub formulation: Formulation,
    /// The form of the rows.
    pub spec: &'a GeneratorSpec,
}

/// Asks for a generator. `feedback` is why the last one was refused.
pub fn question(brief: &GeneratorBrief<'_>, feedback: Option<&RoleFeedback>) -> Question {
    let GeneratorBrief { story, spec, .. } = brief;
    let mut prompt = format!(
        "# Task\n\n{}\n\n{}\n\nOne row is {}. The task has {} rows.\n\n",
        story.title, story.story, story.row, spec.rows
    );
    prompt += "## Number columns\n\n";
    for column in &spec.numbers {
        let _ = writeln!(prompt, "- {}", number_line(column));
    }
    if !spec.words.is_empty() {
        prompt += "\n## Word columns\n\n";
        for column in &spec.words {
            let _ = writeln!(prompt, "- `{}`: one of {}", column.name, column.words.join(", "));
        }
    }
    let _ = write!(prompt, "\n## Target\n\n{}\n", targets(brief));
    if let Some(form) = spec.item {
        let shows = story.item.as_ref().map_or("an item", |item| item.shows.as_str());
        let _ = write!(prompt, "\n## Items\n\nEach row comes with {shows}. {}\n", item_line(form));
    }
    let _ = write!(prompt, "\n{CONTRACT}");
    if let Some(RoleFeedback { code, detail, .. }) = feedback {
        let _ = write!(
            prompt,
            "\n## The last generator for this task was refused\n\nReason `{code}`: {}\n\n\
             Write a generator that avoids this.\n",
            shortened(detail)
        );
    }
    Question {
        name: "generator",
        system: SYSTEM.trim_end().to_owned(),
        prompt,
        schema: None,
        temperature: TEMPERATURE,
        max_tokens: MAX_TOKENS,
        max_bytes: MOST_CODE,
    }
}

fn number_line(column: &NumberColumn) -> String {
    let NumberColumn { name, low, high, shape, decimals } = column;
    let shape = match shape {
        Shape::Uniform => "spread evenly",
        Shape::Bell => "most of them in the middle",
        Shape::Skew => "many small ones and few large ones",
        Shape::Count => "whole numbers, small ones more often",
    };
    format!("`{name}`: from {low} to {high}, {shape}; it is rounded to {decimals} decimals")
}

/// What scores are for.
fn targets(brief: &GeneratorBrief<'_>) -> String {
    let GeneratorBrief { story, formulation, spec } = brief;
    let several = |lines: Vec<String>| {
        let lines: Vec<String> =
            lines.iter().take(spec.targets).map(|line| format!("- {line}")).collect();
        format!("{} targets, in this order:\n\n{}", spec.targets, lines.join("\n"))
    };
    match formulation {
        Formulation::Binary => format!(
            "`{}`: 1 if {}, else 0. A high score means 1.",
            story.binary.name, story.binary.means
        ),
        Formulation::Multilabel => several(
            story
                .labels
                .iter()
                .map(|label| format!("`{}`: 1 if {}", label.name, label.means))
                .collect(),
        ),
        Formulation::MultiTarget => several(
            story
                .targets
                .iter()
                .map(|target| format!("`{}`: {}", target.name, target.means))
                .collect(),
        ),
        Formulation::Regression => format!(
            "`{}`: {}. A high score means a high value.",
            story.number.name, story.number.means
        ),
        _ => format!(
            "`{}`: from low to high {}. A high score means a high class.",
            story.graded.name,
            story.graded.words.join(", ")
        ),
    }
}

fn item_line(form: ItemForm) -> String {
    let array = match form {
        ItemForm::Picture { height, width, colour: false } => {
            format!("a grey picture: a uint8 array of shape ({height}, {width})")
        }
        ItemForm::Picture { height, width, colour: true } => {
            format!("a colour picture: a uint8 array of shape ({height}, {width}, 3)")
        }
        ItemForm::Sound { samples } => {
            format!("a sound: a float array of {samples} samples from -1 to 1")
        }
        ItemForm::Text => format!("a text of at most {MOST_TEXT} bytes in plain characters"),
    };
    format!(
        "`item` returns {array}. What an item shows is drawn by `columns` as hidden number columns, \
         1 to {MOST_HIDDEN} of them, named `item.` and a word. `score` uses them beside the other \
         columns. Solvers do not get hidden columns: `transforms` must measure them on the items."
    )
}

/// The code of an answer: what stands in its only code fence, or all of it if there is no fence.
///
/// # Errors
/// [`RoleRefusal`] with the code `answer_form`: several fences, no code, more than 24 KiB, or
/// characters that do not show.
pub fn parse(answer: &str) -> Result<String, RoleRefusal> {
    fenced::file(answer, MOST_CODE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::RoleName;
    use crate::spec::scenario::{self, Story};

    fn story(wanted: impl Fn(&TableScenario) -> bool) -> TableScenario {
        let stories = scenario::all().unwrap();
        stories
            .into_iter()
            .find_map(|scenario| match scenario.story {
                Story::Table(story) if wanted(&story) => Some(*story),
                _ => None,
            })
            .unwrap()
    }

    fn spec(story: &TableScenario, item: Option<ItemForm>) -> GeneratorSpec {
        let (numbers, words) = (story.numbers.clone(), story.words.clone());
        GeneratorSpec { rows: 400, numbers, words, targets: 1, item }
    }

    #[test]
    fn question_names_every_column_and_function_and_no_rule() {
        let story = story(|story| story.item.is_some());
        let item = Some(ItemForm::Picture { height: 64, width: 48, colour: true });
        let spec = spec(&story, item);
        let brief = GeneratorBrief { story: &story, formulation: Formulation::Binary, spec: &spec };
        let question = question(&brief, None);
        for name in spec.names() {
            assert!(question.prompt.contains(&format!("`{name}`")), "{name}");
        }
        for text in
            ["def columns(rng, n)", "def score(columns)", "def item(row, rng)", "(64, 48, 3)"]
        {
            assert!(question.prompt.contains(text), "{text}");
        }
        assert!(!question.prompt.contains("refused"));
        assert!((question.schema.is_none(), question.max_bytes) == (true, MOST_CODE));
        assert!(question.system.is_ascii() && question.prompt.len() < 8000);
    }

    #[test]
    fn question_repeats_the_last_refusal() {
        let story = story(|story| story.labels.len() > 1);
        let spec = GeneratorSpec { targets: 2, ..spec(&story, None) };
        let formulation = Formulation::Multilabel;
        let brief = GeneratorBrief { story: &story, formulation, spec: &spec };
        let detail = "ValueError: shapes".to_owned();
        let feedback = RoleFeedback { role: RoleName::Developer, code: "raised", detail };
        let prompt = question(&brief, Some(&feedback)).prompt;
        assert!(prompt.ends_with(
            "Reason `raised`: ValueError: shapes\n\nWrite a generator that avoids this.\n"
        ));
        assert!(prompt.contains("2 targets") && prompt.contains(&story.labels[1].name));
        assert!(!prompt.contains("## Items"));
    }

    #[test]
    fn code_is_taken_out_of_its_fence() {
        let code = "VERSION = 1\n\ndef f():\n    return 1\n";
        for answer in [
            format!("Here it is:\n```python\n{code}```\nDone."),
            format!("```\r\n{}```", code.replace('\n', "\r\n")),
            code.to_owned(),
        ] {
            assert_eq!(parse(&answer).unwrap(), code);
        }
    }

    #[test]
    fn answer_of_another_form_is_refused() {
        let long = format!("x = '{}'", "a".repeat(MOST_CODE));
        for (answer, reason) in [
            ("", "no code"),
            ("```python\n```", "no code"),
            ("```python\nVERSION = 1", "not closed"),
            ("```\na\n``` and ```\nb\n```", "several"),
            (long.as_str(), "at most 24576"),
            ("VERSION = 1  # \u{202e}", "writing direction"),
            ("VERSION\x0c = 1", "control"),
        ] {
            let refusal = parse(answer).unwrap_err();
            assert!(refusal.detail.contains(reason), "{answer:?}: {refusal}");
            assert_eq!(refusal.code, "answer_form");
        }
    }
}
