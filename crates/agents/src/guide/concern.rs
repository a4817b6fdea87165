//! Why a run needs a look: what can be seen in its turns without a model.

use super::turn::StoredTurn;
use crate::trajectory::Tool;
use serde::Serialize;

/// Failures in a row after which somebody should look.
const FAILURES: usize = 3;
/// Same scripts in a row after which somebody should look.
const REPEATS: usize = 2;
/// How many of the last turns say whether somebody should look.
pub const LOOKED_AT: usize = if FAILURES > REPEATS { FAILURES } else { REPEATS };
/// Share of the turns after which a run is about to end, in percent.
const NEARLY_OVER: u64 = 80;

/// A reason for which a person should look at a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Concern {
    /// The last three turns failed.
    Failures,
    /// The last two scripts are the same.
    Repeats,
    /// Four fifths of the turns are used up.
    NearlyOver,
}

/// The reasons to look at a run of at most `budget` turns after `count`, of which `turns` are the last: at
/// least [`LOOKED_AT`], if there are so many.
pub fn concerns(turns: &[StoredTurn], count: u32, budget: u32) -> Vec<Concern> {
    let mut found = Vec::new();
    let last = |count: usize| turns.len().checked_sub(count).map(|from| &turns[from..]);
    if last(FAILURES).is_some_and(|last| last.iter().all(|turn| turn.record.failed())) {
        found.push(Concern::Failures);
    }
    let is_same = |pair: &[StoredTurn]| {
        pair[0].action == pair[1].action && pair[0].record.tool == Tool::Python
    };
    if last(REPEATS).is_some_and(|last| last.windows(2).all(is_same)) {
        found.push(Concern::Repeats);
    }
    if u64::from(count) * 100 >= u64::from(budget) * NEARLY_OVER {
        found.push(Concern::NearlyOver);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::turn::StoredText;
    use crate::trajectory::TurnRecord;
    use jail::exec::Outcome;

    fn concerns(turns: &[StoredTurn], budget: u32) -> Vec<Concern> {
        super::concerns(turns, u32::try_from(turns.len()).unwrap(), budget)
    }

    fn turn(number: u32, code: &str, tool: Tool, outcome: Outcome) -> StoredTurn {
        let record = TurnRecord {
            tool,
            has_thought: false,
            outcome: Some(outcome),
            seconds: 0.0,
            cached: false,
        };
        StoredTurn {
            turn: number,
            thought: StoredText::Inline(number.to_string()),
            action: StoredText::Inline(code.to_owned()),
            observation: None,
            record,
            left_out: Vec::new(),
            summaries: Vec::new(),
        }
    }

    #[test]
    fn three_failures_in_a_row_are_a_concern_and_two_are_not() {
        let fails = |number| turn(number, &number.to_string(), Tool::Python, Outcome::TimedOut);
        let works = turn(0, "0", Tool::Python, Outcome::Finished);
        assert_eq!(concerns(&[fails(0), fails(1)], 100), []);
        assert_eq!(concerns(&[fails(0), fails(1), fails(2)], 100), [Concern::Failures]);
        assert_eq!(concerns(&[fails(0), fails(1), fails(2), works], 100), []);
    }

    #[test]
    fn same_script_twice_is_a_concern_and_asking_for_the_score_twice_is_not() {
        let same =
            |tool| [turn(0, "a", tool, Outcome::Finished), turn(1, "a", tool, Outcome::Finished)];
        assert_eq!(concerns(&same(Tool::Python), 100), [Concern::Repeats]);
        assert_eq!(concerns(&same(Tool::Score), 100), []);
        let other = [
            turn(0, "a", Tool::Python, Outcome::Finished),
            turn(1, "b", Tool::Python, Outcome::Finished),
        ];
        assert_eq!(concerns(&other, 100), []);
    }

    #[test]
    fn run_is_nearly_over_at_four_fifths_of_its_turns() {
        let turns: Vec<_> =
            (0..8).map(|n| turn(n, &n.to_string(), Tool::Python, Outcome::Finished)).collect();
        assert_eq!(concerns(&turns[..7], 10), []);
        assert_eq!(concerns(&turns, 10), [Concern::NearlyOver]);
    }
}
