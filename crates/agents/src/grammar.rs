//! The turn grammar (SandMLE appendix D.1): an optional `<think>…</think>`, then exactly one
//! `<tool_call>` or the final `<answer>submission</answer>`.
//!
//! Text from a model is input, not truth: parsing never panics, and the agent gets one
//! sentence that says what is wrong with its turn.

use sandbox::env::Action;

/// One turn as parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Whether the turn can be parsed and opens with a closed, non-empty `<think>` block that
    /// opens no other. The share of such turns is the format reward; were other turns to count,
    /// rambling would be free.
    pub has_thought: bool,
    /// What to do; [`Action::Malformed`] says what is wrong.
    pub action: Action,
}

/// Parses what the model wrote in one turn.
pub fn parse(text: &str) -> Turn {
    let text = text.trim_start();
    let (has_thought, rest) = match text.strip_prefix("<think>") {
        None => (false, text),
        Some(inner) => match inner.split_once("</think>") {
            None => return malformed("`<think>` is not closed; end it with `</think>`"),
            Some((thought, rest)) => {
                (!thought.trim().is_empty() && !thought.contains("<think>"), rest)
            }
        },
    };
    match action(rest) {
        Ok(action) => Turn { has_thought, action },
        Err(reason) => malformed(reason),
    }
}

fn malformed(reason: &str) -> Turn {
    Turn { has_thought: false, action: Action::Malformed { reason: reason.to_owned() } }
}

fn action(text: &str) -> Result<Action, &'static str> {
    let Some((before, call)) = text.split_once("<tool_call>") else {
        return match text.split_once("<answer>") {
            Some((_, answer)) if answer.contains("</answer>") => Ok(Action::Answer),
            Some(_) => Err("`<answer>` is not closed; write `<answer>submission</answer>`"),
            None => Err("write one `<tool_call>` or `<answer>submission</answer>` per turn"),
        };
    };
    // Scripts may print any tag, so the call ends at the last closing tag, and further tags are
    // looked for outside of the code only.
    let Some((body, after)) = call.rsplit_once("</tool_call>") else {
        return Err("`<tool_call>` is not closed; end it with `</tool_call>`");
    };
    let code = body
        .split_once("<code>")
        .and_then(|(name, code)| code.rsplit_once("</code>").map(|(code, end)| (name, code, end)));
    let outside = match code {
        Some((name, _, end)) => [before, name, end, after],
        None => [before, body, after, ""],
    };
    if outside.iter().any(|part| part.contains("<answer>") || part.contains("<tool_call>")) {
        return Err("write exactly one `<tool_call>` or `<answer>` per turn, not several");
    }
    let body = body.trim();
    if body.starts_with('{') {
        return json_call(body);
    }
    match code {
        Some((name, code, end)) if name.trim() == "python" && end.trim().is_empty() => {
            Ok(Action::Python { code: code.trim_matches(['\n', '\r']).to_owned() })
        }
        Some(_) => Err("name the tool: `python` on a line, then `<code>...</code>`"),
        None if body.starts_with("python") => Err("put the script between `<code>` and `</code>`"),
        None => Err("unknown tool; the tools are `python` and `Score`"),
    }
}

fn json_call(body: &str) -> Result<Action, &'static str> {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(body) else {
        return Err("the tool call is not valid JSON; write {\"name\": \"Score\"}");
    };
    match value.get("name").and_then(serde_json::Value::as_str) {
        Some("Score") => Ok(Action::Score),
        Some("python") => Err("call python with `python` on a line, then `<code>...</code>`"),
        _ => Err("unknown tool; the tools are `python` and `Score`"),
    }
}

/// Writes a turn that runs a script.
pub fn python_turn(thought: &str, code: &str) -> String {
    let code = code.trim_matches('\n');
    format!("<think>{thought}</think>\n<tool_call>\npython\n<code>\n{code}\n</code>\n</tool_call>")
}

/// Writes a turn that asks for the score.
pub fn score_turn(thought: &str) -> String {
    format!("<think>{thought}</think>\n<tool_call>\n{{\"name\": \"Score\"}}\n</tool_call>")
}

/// Writes the final turn.
pub fn answer_turn(thought: &str) -> String {
    format!("<think>{thought}</think>\n<answer>submission</answer>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn python(code: &str) -> Action {
        Action::Python { code: code.to_owned() }
    }

    #[test]
    fn well_formed_turns() {
        let code = "print('</think> <answer>')\n  x = \"</code> <tool_call>\"";
        assert_eq!(
            parse(&python_turn("try", code)),
            Turn { has_thought: true, action: python(code) }
        );
        assert_eq!(parse(&score_turn("how good?")).action, Action::Score);
        assert_eq!(parse(&answer_turn("done")).action, Action::Answer);
        let long = "{\"name\": \"Score\", \"arguments\": {\"competition_id\": \"x\"}}";
        assert_eq!(parse(&format!("<tool_call>{long}</tool_call>")).action, Action::Score);
        assert!(!parse("<think> \n</think><answer>submission</answer>").has_thought);
        assert!(!parse("<answer>submission</answer>").has_thought);
        assert!(!parse("<think>a</think>and then nothing").has_thought);
        assert!(!parse("<think><think>a</think><answer>submission</answer>").has_thought);
    }

    #[test]
    fn malformed_turn_gives_an_error_that_names_the_mistake() {
        let cases = [
            "",
            "I will train a forest.",
            "<think>endless",
            "<think>a</think><tool_call>\npython\n<code>\n1",
            "<think>a</think><tool_call>\npython\nprint(1)\n</tool_call>",
            "<tool_call>\n<code>\n1\n</code>\n</tool_call>",
            "<tool_call>bash</tool_call>",
            "<tool_call>{\"name\": \"Sc</tool_call>",
            "<tool_call>{\"name\": \"shell\"}</tool_call>",
            "<tool_call>{\"name\": \"python\"}</tool_call>",
            "<tool_call>{\"name\": \"Score\"}</tool_call><tool_call>{\"name\": \"Score\"}</tool_call>",
            "<tool_call>{\"name\": \"Score\"}</tool_call><answer>submission</answer>",
            "<answer>submission",
        ];
        let reasons: Vec<String> = cases
            .iter()
            .map(|text| match parse(text).action {
                Action::Malformed { reason } => reason,
                action => panic!("{text} parsed as {action:?}"),
            })
            .collect();
        insta::assert_snapshot!(reasons.join("\n"));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "(<|/|think|tool_call|code|answer|>|python|\\{|\"|\n|é|x)*") {
            let _ = parse(&text);
        }

        #[test]
        fn script_in_a_turn_round_trips(code in "[^\r\n](\\PC|\n){0,60}[^\r\n]") {
            prop_assert_eq!(parse(&python_turn("t", &code)).action, python(&code));
        }
    }
}
