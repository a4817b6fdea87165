//! The rules by name, and the one that is about people.

use super::{files, scores, scripts};
use crate::guide::guidance::{GuidanceState, PostedGuidance};
use crate::guide::transcript::Transcript;
use crate::trajectory::Tool;
use jail::exec::Outcome;
use serde::{Deserialize, Serialize};

/// A rule. Each is a pure function of a transcript and says of single turns that nothing should be learnt
/// from them.
///
/// | rule | finds turns |
/// | --- | --- |
/// | `raised` | whose script failed otherwise than by its time limit |
/// | `timed_out` | whose script hit its time limit |
/// | `malformed` | that ask for nothing that can be carried out |
/// | `empty` | whose script has no statement |
/// | `repeated` | whose script is one that ran before, but for comments and empty lines, with the same observation, and nothing else ran to its end in between |
/// | `rescored` | that ask for the score again, and no script ran in between |
/// | `early_answer` | that end a run which has no valid submission |
/// | `lost_tier` | whose script replaces a submission by one that is told a lower tier |
/// | `blind_overwrite` | whose script writes a file anew that an earlier turn wrote, and that neither it nor the two turns before read or wrote; `submission.csv` is left out |
/// | `forbidden` | whose script names a path outside of the agent's folder |
/// | `advised` | that a person drops with a piece of advice |
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The script failed otherwise than by its time limit.
    Raised,
    /// The script hit its time limit.
    TimedOut,
    /// The turn asks for nothing that can be carried out.
    Malformed,
    /// The script has no statement.
    Empty,
    /// The same script with the same observation.
    Repeated,
    /// The score of the same submission.
    Rescored,
    /// The end without a valid submission.
    EarlyAnswer,
    /// A worse submission in place of a better one.
    LostTier,
    /// A file that was not looked at is written anew.
    BlindOverwrite,
    /// A path outside of the agent's folder.
    Forbidden,
    /// A person drops it with their advice.
    Advised,
}

/// What a rule says of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The turn, from 0.
    pub turn: u32,
    /// Why, for people.
    pub reason: String,
}

impl Finding {
    pub(super) fn new(turn: u32, reason: impl Into<String>) -> Self {
        Self { turn, reason: reason.into() }
    }
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Raised,
        Self::TimedOut,
        Self::Malformed,
        Self::Empty,
        Self::Repeated,
        Self::Rescored,
        Self::EarlyAnswer,
        Self::LostTier,
        Self::BlindOverwrite,
        Self::Forbidden,
        Self::Advised,
    ];

    /// The name as in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::TimedOut => "timed_out",
            Self::Malformed => "malformed",
            Self::Empty => "empty",
            Self::Repeated => "repeated",
            Self::Rescored => "rescored",
            Self::EarlyAnswer => "early_answer",
            Self::LostTier => "lost_tier",
            Self::BlindOverwrite => "blind_overwrite",
            Self::Forbidden => "forbidden",
            Self::Advised => "advised",
        }
    }

    /// The turns of a run from which, by this rule, nothing should be learnt: each once, in order.
    pub fn findings(self, transcript: &Transcript) -> Vec<Finding> {
        let mut found = match self {
            Self::Raised => outcomes(transcript, |outcome| {
                !outcome.is_finished() && *outcome != Outcome::TimedOut
            }),
            Self::TimedOut => outcomes(transcript, |outcome| *outcome == Outcome::TimedOut),
            Self::Malformed => malformed(transcript),
            Self::Empty => scripts::empty(transcript),
            Self::Repeated => scripts::repeated(transcript),
            Self::Rescored => scores::rescored(transcript),
            Self::EarlyAnswer => scores::early_answer(transcript),
            Self::LostTier => scores::lost_tier(transcript),
            Self::BlindOverwrite => files::blind_overwrite(transcript),
            Self::Forbidden => files::forbidden(transcript),
            Self::Advised => advised(transcript),
        };
        found.sort_by_key(|finding| finding.turn);
        found.dedup_by_key(|finding| finding.turn);
        found
    }
}

/// Turns whose scripts ended so.
fn outcomes(transcript: &Transcript, is_found: impl Fn(&Outcome) -> bool) -> Vec<Finding> {
    let turns = (0..).zip(&transcript.turns);
    let found = turns.filter_map(|(number, turn)| {
        let outcome = turn.report.record.outcome.as_ref().filter(|outcome| is_found(outcome))?;
        Some(Finding::new(number, format!("the script {outcome}")))
    });
    found.collect()
}

fn malformed(transcript: &Transcript) -> Vec<Finding> {
    let turns = (0..).zip(&transcript.turns);
    let found = turns.filter(|(_, turn)| turn.report.record.tool == Tool::Malformed);
    found.map(|(number, _)| Finding::new(number, "the turn cannot be carried out")).collect()
}

fn advised(transcript: &Transcript) -> Vec<Finding> {
    let pieces = transcript.guidance.iter().filter(|piece| piece.state != GuidanceState::Retracted);
    let turns = pieces.filter_map(|piece| Some((piece, piece.what.drop?)));
    let found = turns.flat_map(|(piece, range)| {
        let last = range.to.min(transcript.count().saturating_sub(1));
        let reason = |PostedGuidance { by, id, .. }: &PostedGuidance| {
            format!("{by} advised otherwise ({id})")
        };
        (range.from..=last).map(move |turn| Finding::new(turn, reason(piece)))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{advised_to_drop, ends, found, python, raises, transcript};
    use super::*;
    use crate::guide::verdicts::rules::fixture::{answer, malformed, timed_out};

    #[test]
    fn every_rule_has_a_name_of_its_own_that_is_read_back() {
        for rule in Rule::ALL {
            let text = serde_json::to_string(&rule).unwrap();
            assert_eq!(text, format!("\"{}\"", rule.name()));
            assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule);
        }
    }

    #[test]
    fn failed_scripts_are_found_by_how_they_failed() {
        let run = transcript(vec![
            python("print(1)", "1"),
            raises("x", "NameError"),
            timed_out("while True: pass"),
            malformed("what?"),
            answer(),
        ]);
        assert_eq!(found(Rule::Raised, &run), [1]);
        assert_eq!(found(Rule::TimedOut, &run), [2]);
        assert_eq!(found(Rule::Malformed, &run), [3]);
        assert_eq!(Rule::Raised.findings(&run)[0].reason, "the script raised NameError");
    }

    #[test]
    fn turns_are_dropped_with_advice_that_was_not_taken_back() {
        let mut run = transcript((0..4).map(|n| python(&format!("print({n})"), "")).collect());
        assert_eq!(found(Rule::Advised, &run), Vec::<u32>::new());
        run.guidance.push(advised_to_drop("a", None));
        run.guidance.push(advised_to_drop("b", Some((1, 2))));
        run.guidance.push(advised_to_drop("c", Some((2, 2))));
        let retracted = PostedGuidance {
            state: GuidanceState::Retracted,
            ..advised_to_drop("d", Some((0, 3)))
        };
        run.guidance.push(retracted);
        assert_eq!(found(Rule::Advised, &run), [1, 2]);
        // A run of which not all turns were told.
        run.guidance.push(advised_to_drop("e", Some((3, 9))));
        assert_eq!(found(Rule::Advised, &run), [1, 2, 3]);
    }

    #[test]
    fn rules_find_nothing_in_a_run_as_it_should_be_nor_in_none() {
        let good = transcript(vec![
            python("print(train.head())", "a b"),
            python("model.fit()\nsub.to_csv('submission.csv')", "0.9"),
            answer(),
        ]);
        let good = ends(good, true);
        for rule in Rule::ALL {
            assert_eq!(found(rule, &good), Vec::<u32>::new(), "{}", rule.name());
            assert_eq!(found(rule, &transcript(Vec::new())), Vec::<u32>::new());
        }
    }
}
