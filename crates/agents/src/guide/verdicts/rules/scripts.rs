//! Rules about scripts by themselves.

use super::rule::Finding;
use crate::guide::transcript::{Transcript, TranscriptTurn};
use crate::guide::verdicts::python;
use sandbox::env::without_time;

/// Scripts without a statement.
pub(super) fn empty(transcript: &Transcript) -> Vec<Finding> {
    let turns = (0..).zip(&transcript.turns);
    let found = turns
        .filter(|(_, turn)| turn.code.as_ref().is_some_and(|code| !python::has_statement(code)));
    found.map(|(number, _)| Finding::new(number, "the script has no statement")).collect()
}

/// Scripts that ran before with the same observation. After another one that ran to its end, running a
/// script again may put something back, and is not found.
pub(super) fn repeated(transcript: &Transcript) -> Vec<Finding> {
    let mut found = Vec::new();
    // Scripts since the last one that finished, that one included: number, code, observation.
    let mut known: Vec<(u32, String, String)> = Vec::new();
    for (number, turn) in (0..).zip(&transcript.turns) {
        let Some(code) = &turn.code else { continue };
        let code = python::normalised(code);
        let observation = seen(turn);
        let same = known.iter().find(|(_, other, seen)| (other, seen) == (&code, &observation));
        if let Some((first, ..)) = same {
            found.push(Finding::new(number, format!("the same as turn {first}")));
            continue;
        }
        if turn.report.record.outcome.as_ref().is_some_and(jail::exec::Outcome::is_finished) {
            known.clear();
        }
        known.push((number, code, observation));
    }
    found
}

/// The observation of a turn without the time that a slow script took.
fn seen(turn: &TranscriptTurn) -> String {
    without_time(turn.report.observation.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{found, python, raises, score, transcript};
    use super::super::rule::Rule;

    #[test]
    fn empty_scripts_are_found_and_short_ones_are_not() {
        let run = transcript(vec![
            python("# I think first.\n", ""),
            python("'''Nothing yet.'''\npass", ""),
            python("x = 1", ""),
            score("valid submission"),
        ]);
        assert_eq!(found(Rule::Empty, &run), [0, 1]);
    }

    #[test]
    fn repeated_script_is_found_unless_it_says_something_else_or_puts_something_back() {
        let slow = "finished after 31 s of the 90 s allowed; submission.csv is there";
        let run = transcript(vec![
            python("print(1)  # one", "finished; submission.csv is there"),
            score("valid submission"),
            python("\nprint(1)\n", slow),
            python("print(1)", "finished; submission.csv is there\n[stdout]\n2"),
            python("print(2)", "finished; submission.csv is there"),
            // After another script.
            python("print(1)", "finished; submission.csv is there"),
        ]);
        assert_eq!(found(Rule::Repeated, &run), [2]);
        let fails = transcript(vec![
            raises("import x", "ModuleNotFoundError"),
            raises("import y", "ModuleNotFoundError"),
            raises("import x", "ModuleNotFoundError"),
        ]);
        assert_eq!(found(Rule::Repeated, &fails), [2], "a failure changes nothing in between");
    }
}
