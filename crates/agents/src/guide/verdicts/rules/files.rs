//! Rules about files that scripts name.

use super::rule::Finding;
use super::scores::SUBMISSION;
use crate::guide::transcript::Transcript;
use crate::guide::verdicts::python::{self, Token};
use std::collections::BTreeSet;

/// Turns before one in which a file was looked at if they name it.
const BEFORE: usize = 2;

/// Scripts that write a file anew that an earlier turn wrote and that nobody has looked at.
pub(super) fn blind_overwrite(transcript: &Transcript) -> Vec<Finding> {
    let tokens: Vec<Vec<Token>> = transcript
        .turns
        .iter()
        .map(|turn| turn.code.as_deref().map(python::tokens).unwrap_or_default())
        .collect();
    let mut found = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for (number, turn) in (0_u32..).zip(&tokens) {
        let index = number as usize;
        let written = python::written_files(turn);
        let blind = written.iter().find(|file| {
            let before = index.saturating_sub(BEFORE)..index;
            let is_named = |tokens: &[Token]| mentions(tokens, file) > 0;
            let is_shown = |at: usize| {
                let observation = transcript.turns[at].report.observation.as_deref();
                observation.is_some_and(|text| text.contains(file.as_str()))
            };
            let reads = mentions(turn, file) > written.iter().filter(|other| other == file).count();
            file.as_str() != SUBMISSION
                && known.contains(*file)
                && !reads
                && !before.clone().any(|at| is_named(&tokens[at]) || is_shown(at))
        });
        if let Some(file) = blind {
            let reason = format!("`{file}` is written anew and was not looked at");
            found.push(Finding::new(number, reason));
        }
        known.extend(written);
    }
    found
}

/// How often a script names a file.
fn mentions(tokens: &[Token], file: &str) -> usize {
    python::texts(tokens).filter(|text| python::file_name(text) == file).count()
}

/// Scripts that name a path outside of the agent's folder.
pub(super) fn forbidden(transcript: &Transcript) -> Vec<Finding> {
    let turns = (0..).zip(&transcript.turns);
    let found = turns.filter_map(|(number, turn)| {
        let tokens = python::tokens(turn.code.as_deref()?);
        let path = python::texts(&tokens).find(|text| python::leaves_folder(text))?;
        Some(Finding::new(number, format!("`{path}` is outside of its folder")))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{found, python, transcript};
    use super::super::rule::Rule;

    #[test]
    fn file_that_was_not_looked_at_is_written_blindly() {
        let other = || python("print(1)", "");
        let write = || python("features.to_csv('features.csv')", "");
        let run = |middle: Vec<_>| {
            let mut turns = vec![write()];
            turns.extend(middle);
            turns.push(write());
            transcript(turns)
        };
        let none = Vec::<u32>::new();
        assert_eq!(found(Rule::BlindOverwrite, &run(vec![other(), other()])), [3]);
        assert_eq!(
            found(Rule::BlindOverwrite, &run(vec![other()])),
            none,
            "written two turns before"
        );
        let read = python("pd.read_csv('./features.csv')", "");
        assert_eq!(found(Rule::BlindOverwrite, &run(vec![other(), read, other()])), none);
        let listed = python("print(os.listdir())", "features.csv model.bin");
        assert_eq!(found(Rule::BlindOverwrite, &run(vec![other(), other(), listed])), none);
        let long_ago = python("pd.read_csv('features.csv')", "");
        let middle = vec![long_ago, other(), other()];
        assert_eq!(found(Rule::BlindOverwrite, &run(middle)), [4]);
        let changed = python("x = pd.read_csv('features.csv')\nx.to_csv('features.csv')", "");
        let mut looked = run(vec![other(), other()]);
        *looked.turns.last_mut().unwrap() = changed;
        assert_eq!(found(Rule::BlindOverwrite, &looked), none, "it reads the file first");
    }

    #[test]
    fn new_files_and_the_submission_are_not_overwritten_blindly() {
        let write = |name: &str| python(&format!("x.to_csv('{name}')"), "");
        let other = || python("print(1)", "");
        let run = transcript(vec![
            write("submission.csv"),
            other(),
            other(),
            write("submission.csv"),
            write("a.csv"),
        ]);
        assert_eq!(found(Rule::BlindOverwrite, &run), Vec::<u32>::new());
    }

    #[test]
    fn paths_outside_are_forbidden_and_comments_are_not_paths() {
        let run = transcript(vec![
            python("open('/etc/passwd').read()", ""),
            python("pd.read_csv('../answers.csv')", ""),
            python("pd.read_csv('input/train.csv')  # not '/etc/passwd'", ""),
            python("print('a/b ratio')", "/etc/passwd"),
        ]);
        assert_eq!(found(Rule::Forbidden, &run), [0, 1]);
    }
}
