//! From an answer to a script, a judgement, a metric.

use crate::run::node::Verdict;
use llm::AnswerSchema;
use serde_json::json;

/// A script and the plan for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// In the player's words; may be empty.
    pub plan: String,
    /// The whole script.
    pub code: String,
}

/// Why an answer cannot be used; the text is written for the player.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

/// The plan and the one block of Python in an answer. Thoughts before `</think>` do not count.
///
/// # Errors
/// [`Unreadable`] if there is not exactly one block, or it is empty.
///
/// # Examples
/// ```rust
/// use agents::search::operator::read_script;
///
/// let proposal = read_script("A constant.\n\n```python\nprint(1)\n```\n")?;
/// assert_eq!((proposal.plan.as_str(), proposal.code.as_str()), ("A constant.", "print(1)\n"));
/// assert!(read_script("print(1)").is_err());
/// # Ok::<(), agents::search::operator::Unreadable>(())
/// ```
pub fn read_script(text: &str) -> Result<Proposal, Unreadable> {
    let text = text.rsplit_once("</think>").map_or(text, |(_, after)| after);
    let (mut plan, mut blocks, mut open) = (String::new(), Vec::new(), None::<String>);
    for line in text.lines() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(_)) => open = Some(String::new()),
            (None, None) if blocks.is_empty() => {
                plan.push_str(line);
                plan.push('\n');
            }
            (None, None) => {}
            (Some(_), Some(after)) if after.trim().is_empty() => {
                blocks.extend(open.take());
            }
            (Some(code), _) => {
                code.push_str(line);
                code.push('\n');
            }
        }
    }
    if open.is_some() {
        return Err(Unreadable(
            "The block of code has no end. Give the whole script in one block that ends with \
             three backticks on a line of their own."
                .to_owned(),
        ));
    }
    match <[String; 1]>::try_from(blocks) {
        Ok([code]) if code.trim().is_empty() => {
            Err(Unreadable("The block of code is empty. Give the whole script.".to_owned()))
        }
        Ok([code]) => Ok(Proposal { plan: plan.trim().to_owned(), code }),
        Err(blocks) => Err(Unreadable(format!(
            "The answer has {} blocks of code. Give the plan, then the whole script in one block \
             that begins with ```python.",
            blocks.len()
        ))),
    }
}

/// The form of a judgement.
pub fn verdict_schema() -> AnswerSchema {
    AnswerSchema {
        name: "judgement".to_owned(),
        json: json!({
            "type": "object",
            "properties": {
                "is_bug": { "type": "boolean" },
                "summary": { "type": "string" },
                "metric": { "anyOf": [{ "type": "number" }, { "type": "null" }] },
            },
            "required": ["is_bug", "summary", "metric"],
            "additionalProperties": false,
        }),
    }
}

/// The judgement in an answer: a JSON object, alone or within other text.
///
/// # Errors
/// [`Unreadable`] if there is none.
pub fn read_verdict(text: &str) -> Result<Verdict, Unreadable> {
    let text = text.rsplit_once("</think>").map_or(text, |(_, after)| after);
    let object = text.find('{').zip(text.rfind('}')).filter(|(start, end)| start < end);
    object
        .and_then(|(start, end)| serde_json::from_str(&text[start..=end]).ok())
        .filter(|verdict: &Verdict| verdict.metric.is_none_or(f64::is_finite))
        .ok_or_else(|| {
            Unreadable(
                "Answer with one JSON object that has exactly the keys is_bug, summary and metric."
                    .to_owned(),
            )
        })
}

/// The number of the last line `Validation score: NUMBER` of an output, if it is finite.
///
/// # Examples
/// ```rust
/// use agents::search::operator::validation_score;
///
/// let output = "Validation score: 3\nfold 5 done\nValidation score: -1.25e-1\nsaved\n";
/// assert_eq!(validation_score(output), Some(-0.125));
/// assert_eq!(validation_score("Validation score: nan"), None);
/// ```
pub fn validation_score(output: &str) -> Option<f64> {
    let after = |line: &str| line.trim().strip_prefix("Validation score:").map(str::to_owned);
    let last = output.lines().rev().find_map(after)?;
    last.trim().parse().ok().filter(|score: &f64| score.is_finite())
}
