//! Rules about submissions and what the agent was told of them.

use super::rule::Finding;
use crate::guide::transcript::{Transcript, TranscriptTurn};
use crate::guide::verdicts::python;
use crate::trajectory::Tool;

/// The file that an agent submits.
pub(super) const SUBMISSION: &str = "submission.csv";

/// Scores that were asked for again without a script in between.
pub(super) fn rescored(transcript: &Transcript) -> Vec<Finding> {
    let (mut found, mut last) = (Vec::new(), None);
    for (number, turn) in (0..).zip(&transcript.turns) {
        match turn.report.record.tool {
            Tool::Score => match last {
                Some(first) => {
                    let reason = format!("nothing was changed since turn {first}");
                    found.push(Finding::new(number, reason));
                }
                None => last = Some(number),
            },
            Tool::Python => last = None,
            Tool::Answer | Tool::Info | Tool::Act | Tool::Malformed => {}
        }
    }
    found
}

/// The end of a run that has no valid submission.
pub(super) fn early_answer(transcript: &Transcript) -> Vec<Finding> {
    let is_lacking = transcript.end.as_ref().is_some_and(|end| end.grade.is_none());
    let turns = (0..).zip(&transcript.turns);
    let found = turns.filter(|(_, turn)| is_lacking && turn.report.record.tool == Tool::Answer);
    let why = "the run ends without a valid submission";
    found.map(|(number, _)| Finding::new(number, why)).collect()
}

/// Scripts that replace a submission by one that is told a lower tier. Of several between two scores, the
/// last that names the submission, else the last.
pub(super) fn lost_tier(transcript: &Transcript) -> Vec<Finding> {
    let mut found = Vec::new();
    let (mut told, mut writer): (Option<u8>, Option<(u32, bool)>) = (None, None);
    for (number, turn) in (0..).zip(&transcript.turns) {
        match turn.report.record.tool {
            Tool::Python => {
                let names = turn.code.as_ref().is_some_and(|code| names_submission(code));
                if names || writer.is_none_or(|(_, names)| !names) {
                    writer = Some((number, names));
                }
            }
            Tool::Score => {
                let Some(rank) = rank_told(turn) else { continue };
                if let (Some(before), Some((script, _))) = (told, writer)
                    && before > NO_TIER
                    && rank < before
                {
                    let reason = format!("what turn {number} was told is worse than before");
                    found.push(Finding::new(script, reason));
                }
                (told, writer) = (Some(rank), None);
            }
            Tool::Answer | Tool::Info | Tool::Act | Tool::Malformed => {}
        }
    }
    found
}

fn names_submission(code: &str) -> bool {
    let tokens = python::tokens(code);
    python::texts(&tokens).any(|text| python::file_name(text) == SUBMISSION)
}

/// The rank of a valid submission that reaches no tier. One that is not valid has 0.
const NO_TIER: u8 = 1;

/// The tiers as they are told, from the lowest rank of a valid submission.
const TIERS: [&str; 5] = ["none", "median", "bronze", "silver", "gold"];

/// What the agent was last told of its submission before a turn, and the best tier that it was told of.
pub(crate) fn told_before(
    transcript: &Transcript,
    before: u32,
) -> (Option<&str>, Option<&'static str>) {
    let scores = transcript.turns[..before as usize]
        .iter()
        .filter(|turn| turn.report.record.tool == Tool::Score);
    let last = scores.clone().next_back().and_then(|turn| turn.report.observation.as_deref());
    let best = scores.filter_map(rank_told).max().filter(|rank| *rank > NO_TIER);
    (last, best.map(|rank| TIERS[usize::from(rank - NO_TIER)]))
}

/// How good the submission is by what a score told; `None` if it told no tier.
fn rank_told(turn: &TranscriptTurn) -> Option<u8> {
    let text = turn.report.observation.as_deref()?;
    if !text.starts_with("valid submission") {
        return Some(0);
    }
    let (_, tier) = text.split_once("tier: ")?;
    let name: String = tier.chars().take_while(char::is_ascii_alphabetic).collect();
    let rank = TIERS.iter().position(|tier| *tier == name)?;
    Some(NO_TIER + u8::try_from(rank).expect("five ranks"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{answer, ends, found, malformed, python, score, transcript};
    use super::super::rule::Rule;
    use super::told_before;

    #[test]
    fn what_was_told_is_that_before_the_turn() {
        let run = transcript(vec![
            score("there is no submission"),
            score("valid submission; tier: gold"),
            score("valid submission; tier: none"),
        ]);
        assert_eq!(told_before(&run, 0), (None, None));
        assert_eq!(told_before(&run, 1), (Some("there is no submission"), None));
        let last = Some("valid submission; tier: none");
        assert_eq!(told_before(&run, 3), (last, Some("gold")));
    }

    #[test]
    fn score_is_asked_for_again_only_after_a_script() {
        let run = transcript(vec![
            score("there is no submission"),
            python("sub.to_csv('submission.csv')", ""),
            score("valid submission"),
            malformed("well"),
            score("valid submission"),
            python("x = 1", ""),
            score("valid submission"),
        ]);
        assert_eq!(found(Rule::Rescored, &run), [4]);
    }

    #[test]
    fn answer_is_early_without_a_valid_submission() {
        let run = || transcript(vec![python("x = 1", ""), answer()]);
        assert_eq!(found(Rule::EarlyAnswer, &ends(run(), false)), [1]);
        assert_eq!(found(Rule::EarlyAnswer, &ends(run(), true)), Vec::<u32>::new());
        assert_eq!(found(Rule::EarlyAnswer, &run()), Vec::<u32>::new(), "it is not over");
        let no_answer = ends(transcript(vec![python("x = 1", "")]), false);
        assert_eq!(found(Rule::EarlyAnswer, &no_answer), Vec::<u32>::new());
    }

    #[test]
    fn script_that_loses_a_tier_is_found_and_one_that_keeps_it_is_not() {
        let write = "sub.to_csv('submission.csv')";
        let tier = |name: &str| score(&format!("valid submission; tier: {name}"));
        let run = transcript(vec![
            python(write, ""),
            tier("silver"),
            python(write, ""),
            tier("silver"),
            python(write, ""),
            python("print(1)", ""),
            tier("bronze"),
            python("print(2)", ""),
            score(
                "valid submission; score: 0.5 (higher is better); tier: none; thresholds: bronze 1",
            ),
            python(write, ""),
            score("invalid submission: 3 rows are missing"),
            python(write, ""),
            tier("gold"),
            python(write, ""),
            score("the file has no rows"),
        ]);
        assert_eq!(found(Rule::LostTier, &run), [4, 7, 13], "a tier is lost, not a bad submission");
        let validate = transcript(vec![
            python(write, ""),
            score("valid submission"),
            python(write, ""),
            score("invalid submission"),
        ]);
        assert_eq!(found(Rule::LostTier, &validate), Vec::<u32>::new(), "no tier is told");
    }
}
