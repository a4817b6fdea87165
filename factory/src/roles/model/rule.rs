//! The hidden rule of a target: the question, and the answer.

use super::Question;
use super::prompt::{SYSTEM, fill, in_words, refused_before};
use crate::roles::rule_request::{LAGS, LEAST_SHARE, MOST_DEPTH, MOST_NODES, TERMS};
use crate::roles::{RoleFeedback, RoleRefusal, RuleColumn, RuleRequest};
use crate::spec::rule::{Expr, Family};
use crate::spec::scenario::Effect;
use llm::AnswerSchema;
use llm::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

const RULE: &str = include_str!("prompts/rule.md");

/// An answer to [`rule_question`].
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleAnswer {
    /// Two to five terms in the notation of rules.
    pub(super) terms: Vec<String>,
    /// Why the story makes the rule plausible, in one sentence.
    pub(super) reason: String,
}

/// Asks for the terms of a rule. `feedback` is why an earlier rule was refused, by
/// [`parse_terms`] or by a check of the finished task.
///
/// # Panics
/// Never: the schema of the answer can be narrowed, which a test shows.
pub fn rule_question(request: &RuleRequest<'_>, feedback: Option<&RoleFeedback>) -> Question {
    let (least_terms, most_terms) = TERMS.into_inner();
    let family = request.family();
    let values = [
        ("title", request.blueprint.title.as_str()),
        ("background", request.background),
        ("target", request.column),
        ("means", &request.means.map_or_else(String::new, |means| format!(": {means}"))),
        ("form", &form(request)),
        ("columns", &columns(request)),
        ("shares", &shares(request)),
        ("layers", layers(request)),
        ("family", &in_words(&family)),
        ("mechanism", family.mechanism()),
        ("lag", &lag(request)),
        ("least_terms", &least_terms.to_string()),
        ("most_terms", &most_terms.to_string()),
        ("most_depth", &MOST_DEPTH.to_string()),
        ("most_nodes", &MOST_NODES.to_string()),
        ("least_share", &percent(LEAST_SHARE)),
        ("feedback", &refused_before(feedback)),
    ];
    let schema = AnswerSchema::from_type::<RuleAnswer>("rule");
    Question {
        name: "rule",
        system: SYSTEM.to_owned(),
        prompt: fill(RULE, &values),
        schema: Some(schema.expect("a struct of texts can be narrowed")),
        temperature: 0.7,
        max_tokens: 2000,
        max_bytes: 64 << 10,
    }
}

/// The terms of an answer, of which [`RuleRequest::rule`] makes a rule.
///
/// # Errors
/// [`RoleRefusal`] with the code `rule_grammar` if the answer is not the JSON that is asked for or
/// a term is not in the notation, with its place; with the codes of [`RuleRequest::rule`]
/// otherwise.
pub fn parse_terms(answer: &str, request: &RuleRequest<'_>) -> Result<Vec<Expr>, RoleRefusal> {
    let grammar = |detail: String| RoleRefusal { code: "rule_grammar", detail };
    let answer: RuleAnswer = schema::parse(answer).map_err(|error| grammar(error.to_string()))?;
    let mut terms = Vec::with_capacity(answer.terms.len());
    for (index, text) in answer.terms.iter().enumerate() {
        terms.push(text.parse::<Expr>().map_err(|error| {
            grammar(format!("term {}, {error}. The term is `{text}`", index + 1))
        })?);
    }
    request.rule(&terms)?;
    Ok(terms)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// The planned shares in order, as parts of their sum.
fn shares(request: &RuleRequest<'_>) -> String {
    let shares = request.shares();
    let sum: f64 = shares.iter().sum();
    let shares: Vec<String> = shares.into_iter().map(|share| percent(share / sum)).collect();
    format!("{}. A further term gets about as much as the others", shares.join(", "))
}

fn form(request: &RuleRequest<'_>) -> String {
    match request.classes {
        [] => "a number".to_owned(),
        classes => format!(
            "one of the classes {}, from a low to a high score",
            classes.iter().map(|class| format!("`{class}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}

fn columns(request: &RuleRequest<'_>) -> String {
    let mut text = String::new();
    for column in &request.columns.numbers {
        let RuleColumn { name, means, effect, suits, low, high, mean, spread } = column;
        let means = if means.is_empty() { String::new() } else { format!(" ({means})") };
        let _ = writeln!(
            text,
            "- `{name}`{means}: {low} to {high}, mean {mean}, standard deviation {spread}; {}{}",
            suits.join(", "),
            effect.as_ref().map_or_else(String::new, |effect| format!("; {}", moves(effect)))
        );
    }
    for column in &request.columns.words {
        let _ = writeln!(text, "- `{}`, a word column: {}", column.name, column.words.join(", "));
    }
    text.trim_end().to_owned()
}

/// How a column moves the target, in words.
fn moves(effect: &Effect) -> &'static str {
    match effect {
        Effect::Raises => "higher values raise the target",
        Effect::Lowers => "higher values lower the target",
        Effect::Peaks => "the target is highest for middling values",
        Effect::Dips => "the target is lowest for middling values",
        Effect::Words(_) => "words move the target",
    }
}

/// What the terms are for, in order.
fn layers(request: &RuleRequest<'_>) -> &'static str {
    let words = !request.columns.words.is_empty();
    match (request.family(), words) {
        (Family::LagRegime, _) => {
            "In this order: a level for each series, as a number per word; the season, as a wave; \
             a driver that acts at once; the mechanism."
        }
        (Family::RuleList, true) => {
            "In this order: the floor, a single column that suits it, as \
             `((column - reference) / scale)`, which a straight line finds; the mechanism, in the \
             other terms, which has to be discovered."
        }
        (_, true) => {
            "In this order: the floor, a single column that suits it, as \
             `((column - reference) / scale)`, which a straight line finds; the step, a number per \
             word of a word column, which a generic pipeline finds; the mechanism, in the other \
             terms, which has to be discovered."
        }
        (_, false) => {
            "In this order: the floor, a single column that suits it, as \
             `((column - reference) / scale)`, which a straight line finds; the step, a jump at a \
             threshold of a column that suits it, as `(if column > x then 1 else -1)`, or a bend \
             of it, which a generic pipeline finds; the mechanism, in the other terms, which has to be \
             discovered. Where columns for the mechanism are of two kinds, each of its terms uses \
             one of each."
        }
    }
}

/// The line on lags, for series alone.
fn lag(request: &RuleRequest<'_>) -> String {
    if request.blueprint.series().is_none() {
        return String::new();
    }
    let (least, most) = LAGS.into_inner();
    format!(
        "- `lag2[a]`: the value that the expression had 2 steps earlier in the same series; {least} \
         to {most} steps.\n"
    )
}
