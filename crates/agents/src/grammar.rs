//! The turn grammar (SandMLE appendix D.1): an optional `<think>…</think>`, then exactly one
//! `<tool_call>` or the final `<answer>submission</answer>`. How a call is written is a setting,
//! [`ToolCallFormat`].
//!
//! Text from a model is input, not truth: parsing never panics, and the agent gets one
//! sentence that says what is wrong with its turn.

use sandbox::env::Action;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How turns write their tool calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallFormat {
    /// SandMLE's: `python` on a line, then the script as it is between `<code>` tags; JSON for the
    /// score.
    #[default]
    Code,
    /// JSON for every call, `{"name": …, "arguments": {…}}`, under the names that `sandbox serve`
    /// gives its tools: what the chat templates of Qwen write, and the parsers called `hermes` of
    /// vLLM and verl, those of `SGLang` and TRL read.
    Hermes,
}

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

/// Parses what the model wrote in one turn, with calls in [`ToolCallFormat::Code`].
pub fn parse(text: &str) -> Turn {
    ToolCallFormat::Code.parse(text)
}

/// Writes a turn that runs a script, in [`ToolCallFormat::Code`].
pub fn python_turn(thought: &str, code: &str) -> String {
    ToolCallFormat::Code.python_turn(thought, code)
}

/// Writes a turn that asks for the score, in [`ToolCallFormat::Code`].
pub fn score_turn(thought: &str) -> String {
    ToolCallFormat::Code.score_turn(thought)
}

/// Writes the final turn.
pub fn answer_turn(thought: &str) -> String {
    format!("<think>{thought}</think>\n<answer>submission</answer>")
}

impl ToolCallFormat {
    /// Both formats.
    pub const ALL: [Self; 2] = [Self::Code, Self::Hermes];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Hermes => "hermes",
        }
    }

    /// Whether it is the format that settings leave out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Parses what the model wrote in one turn. Calls in the other format are malformed, except
    /// that both have the same JSON for the score.
    pub fn parse(self, text: &str) -> Turn {
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
        match self.action(rest) {
            Ok(action) => Turn { has_thought, action },
            Err(reason) => malformed(reason),
        }
    }

    fn action(self, text: &str) -> Result<Action, &'static str> {
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
        match self {
            Self::Code => code_call(before, body, after),
            Self::Hermes => hermes_call(before, body, after),
        }
    }

    /// Writes a call that runs a script.
    pub fn python_call(self, code: &str) -> String {
        let code = code.trim_matches('\n');
        match self {
            Self::Code => format!("<tool_call>\npython\n<code>\n{code}\n</code>\n</tool_call>"),
            Self::Hermes => format!("{HERMES_PYTHON}{}{HERMES_END}", escaped(code)),
        }
    }

    /// Writes a call that asks for the score.
    pub fn score_call(self) -> &'static str {
        match self {
            Self::Code => "<tool_call>\n{\"name\": \"Score\"}\n</tool_call>",
            // The parsers of others want arguments, even where there are none.
            Self::Hermes => "<tool_call>\n{\"name\": \"score\", \"arguments\": {}}\n</tool_call>",
        }
    }

    /// Writes a turn that runs a script.
    pub fn python_turn(self, thought: &str, code: &str) -> String {
        format!("<think>{thought}</think>\n{}", self.python_call(code))
    }

    /// Writes a turn that asks for the score.
    pub fn score_turn(self, thought: &str) -> String {
        format!("<think>{thought}</think>\n{}", self.score_call())
    }
}

/// What stands around a script in JSON.
const HERMES_PYTHON: &str = "<tool_call>\n{\"name\": \"python\", \"arguments\": {\"code\": \"";
const HERMES_END: &str = "\"}}\n</tool_call>";

/// A text as the inside of a string of JSON.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Writes the beginning of a turn in [`ToolCallFormat::Hermes`] that is cut off within its script.
pub(crate) fn cut_hermes_turn(thought: &str, code: &str) -> String {
    format!("<think>{thought}</think>\n{HERMES_PYTHON}{}", escaped(code))
}

fn malformed(reason: &str) -> Turn {
    Turn { has_thought: false, action: Action::Malformed { reason: reason.to_owned() } }
}

const SEVERAL: &str = "write exactly one `<tool_call>` or `<answer>` per turn, not several";

fn is_several(outside: &[&str]) -> bool {
    outside.iter().any(|part| part.contains("<answer>") || part.contains("<tool_call>"))
}

/// The action of a call in [`ToolCallFormat::Code`], from the text before, within and after its
/// tags.
fn code_call(before: &str, body: &str, after: &str) -> Result<Action, &'static str> {
    let code = body
        .split_once("<code>")
        .and_then(|(name, code)| code.rsplit_once("</code>").map(|(code, end)| (name, code, end)));
    let outside = match code {
        Some((name, _, end)) => [before, name, end, after],
        None => [before, body, after, ""],
    };
    if is_several(&outside) {
        return Err(SEVERAL);
    }
    let body = body.trim();
    if body.starts_with('{') {
        return json_call(body);
    }
    match code {
        Some((name, code, end)) if name.trim() == "python" && end.trim().is_empty() => {
            Ok(python(code))
        }
        Some(_) => Err("name the tool: `python` on a line, then `<code>...</code>`"),
        None if body.starts_with("python") => Err("put the script between `<code>` and `</code>`"),
        None => Err("unknown tool; the tools are `python` and `Score`"),
    }
}

fn json_call(body: &str) -> Result<Action, &'static str> {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        return Err("the tool call is not valid JSON; write {\"name\": \"Score\"}");
    };
    match value.get("name").and_then(Value::as_str) {
        Some("Score") => Ok(Action::Score),
        Some("python") => Err("call python with `python` on a line, then `<code>...</code>`"),
        _ => Err("unknown tool; the tools are `python` and `Score`"),
    }
}

/// A call as Hermes writes it.
#[derive(Deserialize)]
struct HermesCall {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// The action of a call in [`ToolCallFormat::Hermes`], as [`code_call`].
fn hermes_call(before: &str, body: &str, after: &str) -> Result<Action, &'static str> {
    let call = serde_json::from_str::<HermesCall>(body);
    let within = if call.is_ok() { "" } else { body };
    if is_several(&[before, within, after]) {
        return Err(SEVERAL);
    }
    let Ok(HermesCall { name, arguments }) = call else {
        return Err("write the tool call as {\"name\": \"python\", \"arguments\": {\"code\": \
             \"...\"}}, with line ends of the script as `\\n` and its quotes as `\\\"`");
    };
    match name.as_str() {
        "python" => match arguments.get("code").and_then(Value::as_str) {
            Some(code) => Ok(python(code)),
            None => Err("`python` needs its script: {\"code\": \"...\"} as `arguments`"),
        },
        "score" | "Score" => Ok(Action::Score),
        _ => Err("unknown tool; the tools are `python` and `score`"),
    }
}

fn python(code: &str) -> Action {
    Action::Python { code: code.trim_matches(['\n', '\r']).to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn calls_in_json_are_parsed_under_the_names_of_the_served_tools() {
        let hermes = ToolCallFormat::Hermes;
        let code = "print('</tool_call> <answer>')\n  x = \"\\n<tool_call>é\"";
        let turn = hermes.python_turn("try", code);
        assert_eq!(
            turn,
            "<think>try</think>\n<tool_call>\n{\"name\": \"python\", \"arguments\": {\"code\": \
             \"print('</tool_call> <answer>')\\n  x = \\\"\\\\n<tool_call>é\\\"\"}}\n</tool_call>"
        );
        assert_eq!(hermes.parse(&turn), Turn { has_thought: true, action: python(code) });
        assert_eq!(hermes.parse(&hermes.score_turn("how good?")).action, Action::Score);
        assert_eq!(hermes.parse(&score_turn("how good?")).action, Action::Score);
        assert_eq!(hermes.parse(&answer_turn("done")).action, Action::Answer);
        let cut = cut_hermes_turn("try", "print(\"a");
        assert!(turn.starts_with(&cut_hermes_turn("try", "print('</tool_call>")));
        assert!(matches!(hermes.parse(&cut).action, Action::Malformed { .. }));
        // The other format's scripts are not run.
        for (format, other) in [(ToolCallFormat::Code, hermes), (hermes, ToolCallFormat::Code)] {
            let action = format.parse(&other.python_turn("try", "1")).action;
            assert!(matches!(action, Action::Malformed { .. }), "{}", format.name());
        }
    }

    #[test]
    fn malformed_call_in_json_gives_an_error_that_names_the_mistake() {
        let call = |body: &str| format!("<tool_call>\n{body}\n</tool_call>");
        let good = "{\"name\": \"python\", \"arguments\": {\"code\": \"1\"}}";
        let cases = [
            call("python\n<code>\n1\n</code>"),
            call("{\"name\": \"python\", \"arguments\": {\"code\": \"a\nb\"}}"),
            call("{\"name\": \"python\"}"),
            call("{\"name\": \"python\", \"arguments\": {\"code\": 1}}"),
            call("{\"name\": \"shell\", \"arguments\": {}}"),
            call("{\"arguments\": {}}"),
            [call(good), call(good)].join("\n"),
            [call(good), "<answer>submission</answer>".to_owned()].join("\n"),
            format!("<tool_call>\n{good}"),
        ];
        let reasons: Vec<String> = cases
            .iter()
            .map(|text| match ToolCallFormat::Hermes.parse(text).action {
                Action::Malformed { reason } => reason,
                action => panic!("{text} parsed as {action:?}"),
            })
            .collect();
        insta::assert_snapshot!(reasons.join("\n"));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "(<|/|think|tool_call|code|answer|>|python|name|arguments|\\{|\\}|:|\"|\n|é|x)*") {
            for format in ToolCallFormat::ALL {
                let _ = format.parse(&text);
            }
        }

        #[test]
        fn script_in_a_turn_round_trips(code in "[^\r\n](\\PC|\n){0,60}[^\r\n]") {
            for format in ToolCallFormat::ALL {
                prop_assert_eq!(format.parse(&format.python_turn("t", &code)).action, python(&code));
            }
        }
    }
}
