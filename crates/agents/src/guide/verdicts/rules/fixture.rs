//! Runs for tests of rules.

use super::rule::Rule;
use crate::grammar::{answer_turn, python_turn, score_turn};
use crate::guide::guidance::{GuidanceState, GuidanceText, PostedGuidance, TurnRange};
use crate::guide::transcript::{Transcript, TranscriptTurn};
use crate::guide::turn::{End, Opening, TurnReport};
use crate::trajectory::{Tool, TurnRecord};
use jail::exec::Outcome;
use tasks::grade::Grade;
use tasks::task::TaskId;

pub(crate) fn transcript(turns: Vec<TranscriptTurn>) -> Transcript {
    Transcript {
        id: "run".parse().unwrap(),
        opening: Opening {
            task: TaskId::new("night-shifts").unwrap(),
            agent: "react/model".to_owned(),
            attempt: 0,
            turns: 20,
            seconds: 60,
            feedback: None,
            prompt: Vec::new(),
        },
        turns,
        guidance: Vec::new(),
        verdicts: Vec::new(),
        end: None,
    }
}

/// The turns that a rule finds.
pub(crate) fn found(rule: Rule, transcript: &Transcript) -> Vec<u32> {
    rule.findings(transcript).into_iter().map(|finding| finding.turn).collect()
}

fn turn(text: String, tool: Tool, outcome: Option<Outcome>, observation: &str) -> TranscriptTurn {
    let record = TurnRecord { tool, has_thought: true, outcome, seconds: 0.1, cached: false };
    let (thought, action) = match text.split_once("</think>") {
        Some((thought, action)) => (format!("{thought}</think>"), action.to_owned()),
        None => (String::new(), text),
    };
    let observation = (tool != Tool::Answer).then(|| observation.to_owned());
    let left_out = Vec::new();
    TranscriptTurn::new(TurnReport {
        thought,
        action,
        observation,
        record,
        left_out,
        summaries: Vec::new(),
    })
}

pub(crate) fn python(code: &str, observation: &str) -> TranscriptTurn {
    turn(python_turn("Try.", code), Tool::Python, Some(Outcome::Finished), observation)
}

pub(crate) fn raises(code: &str, exception: &str) -> TranscriptTurn {
    let outcome = Outcome::Raised { exception: exception.to_owned() };
    let observation = format!("failed: {outcome}; no submission.csv yet");
    turn(python_turn("Try.", code), Tool::Python, Some(outcome), &observation)
}

pub(crate) fn timed_out(code: &str) -> TranscriptTurn {
    turn(python_turn("Try.", code), Tool::Python, Some(Outcome::TimedOut), "failed")
}

pub(crate) fn score(observation: &str) -> TranscriptTurn {
    turn(score_turn("How good?"), Tool::Score, None, observation)
}

pub(crate) fn malformed(text: &str) -> TranscriptTurn {
    turn(text.to_owned(), Tool::Malformed, None, "malformed turn")
}

pub(crate) fn answer() -> TranscriptTurn {
    turn(answer_turn("Done."), Tool::Answer, None, "")
}

/// A run that is over, with a grade or without.
pub(crate) fn ends(transcript: Transcript, is_graded: bool) -> Transcript {
    let grade = Grade { score: 0.5, tier: None };
    let end = End {
        ending: "answered".to_owned(),
        grade: is_graded.then_some(grade),
        refusal: (!is_graded).then(|| "no file".to_owned()),
    };
    Transcript { end: Some(end), ..transcript }
}

pub(crate) fn advised_to_drop(name: &str, range: Option<(u32, u32)>) -> PostedGuidance {
    let drop = range.map(|(from, to)| TurnRange { from, to });
    PostedGuidance {
        id: name.parse().unwrap(),
        seq: 1,
        by: "ann".to_owned(),
        at: 0,
        what: GuidanceText { text: "Look.".to_owned(), about: None, drop },
        state: GuidanceState::Acknowledged,
    }
}
