//! The scripts of an episode, read back from its turns.
//!
//! `trajectory -> scripts -> reports`
//!
//! A trajectory keeps the text of each turn and how its script ended, but not the script itself:
//! how a script stands in a turn depends on the agent.

use crate::grammar::ToolCallFormat;
use crate::linear;
use crate::search::operator::read_script;
use crate::trajectory::{Source, Tool, Trajectory};
use sandbox::env::Action;

/// A script that an agent ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Python source code, byte for byte.
    pub code: String,
    /// Whether it ran to a finish: no exception, no limit hit.
    pub is_finished: bool,
}

/// The scripts of an episode in the order in which they ran, those that failed included. A turn
/// that was cut off, or came after the end of the budget, ran nothing.
pub fn scripts(trajectory: &Trajectory) -> Vec<Script> {
    let turns = trajectory.segments.iter().filter(|segment| segment.source == Source::Model);
    turns
        .zip(&trajectory.turns)
        .filter(|(_, record)| record.tool == Tool::Python)
        .filter_map(|(segment, record)| {
            let is_finished = record.outcome.as_ref()?.is_finished();
            Some(Script { code: code_of_turn(&segment.text)?, is_finished })
        })
        .collect()
}

/// The script in a turn of any form: the turn grammar in either format of calls, an action of MLE-Dojo's agent, or an answer
/// with one block of code. `None` if there is none.
///
/// # Examples
/// ```rust
/// use agents::grammar::python_turn;
/// use agents::script::code_of_turn;
///
/// assert_eq!(code_of_turn(&python_turn("Try.", "print(1)")).as_deref(), Some("print(1)"));
/// assert_eq!(code_of_turn("A constant.\n```python\nprint(1)\n```").as_deref(), Some("print(1)\n"));
/// assert_eq!(code_of_turn("I will train a forest."), None);
/// ```
pub fn code_of_turn(text: &str) -> Option<String> {
    let mut actions = ToolCallFormat::ALL.map(|format| format.parse(text).action).into_iter();
    match actions.find(|action| !matches!(action, Action::Malformed { .. })) {
        Some(Action::Python { code }) => Some(code),
        Some(_) => None,
        None => linear::script_of_action(text)
            .or_else(|| read_script(text).ok().map(|proposal| proposal.code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{answer_turn, python_turn, score_turn};
    use crate::linear::script_turn;
    use crate::run::player::LinearAgent;
    use serde_json::json;

    #[test]
    fn scripts_are_read_from_turns_of_every_agent() {
        let code = "x = '```'\nprint({'a': 1})";
        for agent in [LinearAgent::React, LinearAgent::MleAgent] {
            let turn = script_turn(agent, "Try.", code);
            assert_eq!(code_of_turn(&turn).as_deref(), Some(code), "{turn}");
        }
        let turn = ToolCallFormat::Hermes.python_turn("Try.", code);
        assert_eq!(code_of_turn(&turn).as_deref(), Some(code), "{turn}");
        assert_eq!(code_of_turn("Plan.\n```python\nx = 1\n```").as_deref(), Some("x = 1\n"));
        for turn in [score_turn("How good?"), answer_turn("Done."), "```python\nx = 1".to_owned()] {
            assert_eq!(code_of_turn(&turn), None, "{turn}");
        }
    }

    #[test]
    fn scripts_of_an_episode_know_whether_they_finished() {
        let model = |text: String| json!({"source": "model", "text": text});
        let turn = |tool: &str, outcome: serde_json::Value| json!({"tool": tool, "has_thought": true, "outcome": outcome, "seconds": 0.0});
        let trajectory: Trajectory = serde_json::from_value(json!({
            "version": 2, "task": "t", "agent": "a", "attempt": 0,
            "segments": [
                {"source": "prompt", "text": python_turn("No turn.", "prompt()")},
                model(python_turn("Try.", "one()")),
                {"source": "environment", "text": "failed"},
                model(score_turn("How good?")),
                model(python_turn("Again.", "two()")),
                model(python_turn("Too late.", "late()")),
                // Cut off: there is no record of it.
                model("<think>Once more.</think><tool_call>\npython\n<code>\nthree()".to_owned()),
            ],
            "turns": [
                turn("python", json!({"outcome": "raised", "exception": "KeyError"})),
                turn("score", json!(null)),
                turn("python", json!({"outcome": "finished"})),
                turn("python", json!(null)),
            ],
            "ending": "tokens", "timed_out": false,
            "outcome": {"mle": {"grade": null, "refusal": null}},
            "reward": {"format": 0.0, "execution": 0.0, "tier": 0.0},
        }))
        .unwrap();
        let expected = [("one()", false), ("two()", true)];
        let expected =
            expected.map(|(code, is_finished)| Script { code: code.to_owned(), is_finished });
        assert_eq!(scripts(&trajectory), expected);
    }
}
