//! Answers that reproduce the built-in roles, to test whatever asks chat models.

use super::rule::RuleAnswer;
use super::story;
use crate::roles::Brief;
use crate::spec::blueprint::Blueprint;

/// The brief's own story, as a model would answer.
pub fn story_answer(brief: &Brief<'_>) -> String {
    story::answer(&brief.scenario.story)
}

/// The terms of a target's rule, as a model would answer; `blueprint` is the finished one of the
/// built-in strategist.
///
/// # Panics
/// If there is no such target.
pub fn rule_answer(blueprint: &Blueprint, target: usize) -> String {
    let rule = blueprint.targets[target].rule.as_ref().expect("built-in tasks have rules");
    let terms = rule.terms.iter().map(|term| term.expr.to_string()).collect();
    let answer = RuleAnswer { terms, reason: "The built-in rule.".to_owned() };
    serde_json::to_string(&answer).expect("texts are JSON")
}
