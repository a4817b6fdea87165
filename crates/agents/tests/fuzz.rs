//! The turn grammar on what a model should never write.

use agents::grammar::{answer_turn, parse, python_turn, score_turn};
use sandbox::env::Action;
use std::path::Path;
use support::mutation::{FuzzTarget, fuzz};
use tasks::stream::Stream;

/// What a policy may write in one turn.
struct Turns;

impl FuzzTarget for Turns {
    fn aims(&self) -> usize {
        3
    }

    fn seed(&self, aim: usize, _: Stream) -> Vec<u8> {
        let turn = match aim {
            0 => python_turn("Fit a line.", "import pandas as pd\nprint(1)"),
            1 => score_turn("How good is it?"),
            _ => answer_turn("Done."),
        };
        turn.into_bytes()
    }

    fn words(&self) -> &'static [&'static str] {
        &[
            "<think>",
            "</think>",
            "<tool_call>",
            "</tool_call>",
            "<code>",
            "</code>",
            "<answer>",
            "</answer>",
            "python",
            "Score",
            "{\"name\": ",
            "\"}",
            "{",
            "[",
            "\\u0000",
            "\u{feff}",
            "\0",
            "submission",
            "\r\n",
        ]
    }

    fn take(&self, _: usize, input: &[u8]) -> String {
        let text = String::from_utf8_lossy(input);
        let turn = parse(&text);
        match turn.action {
            Action::Python { code } => {
                assert!(text.contains(&code), "a script is part of its turn");
                format!("python {}", turn.has_thought)
            }
            Action::Score => format!("score {}", turn.has_thought),
            Action::Answer => format!("answer {}", turn.has_thought),
            Action::Malformed { reason } => {
                assert!(!turn.has_thought && reason.len() < 200, "{reason}");
                reason
            }
        }
    }
}

#[test]
fn any_turn_is_parsed_or_refused() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/turns"));
    fuzz("turns", folder, &Turns);
}
