//! What is wrong with a story about rows whose answer has a form of its own.

mod positions;

use super::{MOST_BOUND, StoryError, check_names, check_page, check_text, count, form};
use crate::spec::challenge::ChallengeRule;
use crate::spec::extraction::VERBS;
use crate::spec::recommendation;
use crate::spec::retrieval::{MEASURES, WORDS};
use crate::spec::scenario::{ChallengeColumn, ChallengeScenario};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use tasks::task::Formulation;

/// Number of subjects and of settings.
const PHRASES: RangeInclusive<usize> = 8..=24;
/// Fewest words of a setting.
const LEAST_SETTING: usize = 4;

pub(super) fn check(story: &ChallengeScenario) -> Result<(), StoryError> {
    let columns = ChallengeRule::columns(story.formulation);
    if columns == 0 {
        return form("`formulation`: no challenge asks for this".to_owned());
    }
    count("columns", story.columns.len(), columns..=columns)?;
    let mut names: Vec<&str> = story.columns.iter().map(|column| &*column.name).collect();
    names.extend([&*story.id, &*story.target]);
    check_names(&names, &[])?;
    check_page(&story.title, Some(&story.row), &story.story)?;
    for column in &story.columns {
        check_text("`shows`", &column.shows, 200)?;
    }
    check_text("`means`", &story.means, 200)?;
    match (&story.positions, story.formulation) {
        (Some(told), Formulation::Positions) => return positions::check(story, told),
        (None, Formulation::Positions) => return form("`positions` is needed".to_owned()),
        (Some(_), _) => return form("`positions`: rows have one answer each".to_owned()),
        (None, _) => {}
    }
    if story.formulation == Formulation::Retrieval {
        return check_measures(story);
    }
    if story.formulation == Formulation::Recommendation {
        return check_choices(story);
    }
    for (what, phrases) in [("subjects", &story.subjects), ("settings", &story.settings)] {
        count(what, phrases.len(), PHRASES)?;
        let mut seen = BTreeSet::new();
        for phrase in phrases {
            check_text(&format!("a phrase of `{what}`"), phrase, 80)?;
            if phrase.contains(|c: char| c.is_ascii_digit()) || !seen.insert(phrase) {
                let what = format!("`{what}`: `{phrase}` has a digit or occurs twice");
                return Err(StoryError::Text(what));
            }
        }
    }
    if story.formulation == Formulation::Extraction {
        check_clauses(story)?;
    }
    // Short endings would leave sentences alike that differ in them alone.
    match story.settings.iter().find(|phrase| phrase.split(' ').count() < LEAST_SETTING) {
        None => Ok(()),
        Some(phrase) => Err(StoryError::Text(format!(
            "`settings`: `{phrase}` needs {LEAST_SETTING} words or more"
        ))),
    }
}

/// Six measures, a condition and three words; no sentences are made.
fn check_measures(story: &ChallengeScenario) -> Result<(), StoryError> {
    check_no_sentences(story)?;
    let (numbers, words) = story.columns.split_at(MEASURES + 1);
    numbers.iter().try_for_each(check_range)?;
    words.iter().try_for_each(|column| check_circumstances(column, WORDS))
}

/// Two columns of three words, a number, and what was chosen before; no sentences are made.
fn check_choices(story: &ChallengeScenario) -> Result<(), StoryError> {
    check_no_sentences(story)?;
    let [words @ .., number, chosen] = story.columns.as_slice() else { return Ok(()) };
    words.iter().try_for_each(|column| check_circumstances(column, recommendation::WORDS))?;
    check_range(number)?;
    if chosen.range.is_some() || !chosen.words.is_empty() {
        let name = &chosen.name;
        return form(format!("`{name}`: a column of choices has neither `range` nor `words`"));
    }
    Ok(())
}

fn check_no_sentences(story: &ChallengeScenario) -> Result<(), StoryError> {
    count("subjects", story.subjects.len(), 0..=0)?;
    count("settings", story.settings.len(), 0..=0)
}

fn check_circumstances(column: &ChallengeColumn, words: usize) -> Result<(), StoryError> {
    count("words", column.words.len(), words..=words)?;
    column.words.iter().try_for_each(|word| check_text("a word", word, 20))?;
    let distinct: BTreeSet<&String> = column.words.iter().collect();
    count("different words", distinct.len(), words..=words)
}

fn check_range(column: &ChallengeColumn) -> Result<(), StoryError> {
    let name = &column.name;
    match column.range {
        Some([low, high]) if low < high && high - low < MOST_BOUND => Ok(()),
        _ => form(format!("`{name}`: `range` needs a low and a high bound")),
    }
}

/// Remarks can be taken apart at marks and verbs.
fn check_clauses(story: &ChallengeScenario) -> Result<(), StoryError> {
    let phrases = || story.subjects.iter().chain(&story.settings);
    if let Some(phrase) = phrases().find(|phrase| phrase.contains([',', ';', '.', '!'])) {
        return Err(StoryError::Text(format!("`{phrase}` has a mark, which would end a clause")));
    }
    let is_verb = |phrase: &&String| phrase.split(' ').any(|word| VERBS.contains(&word));
    match story.subjects.iter().find(is_verb) {
        None => Ok(()),
        Some(phrase) => Err(StoryError::Text(format!("`subjects`: `{phrase}` has a verb"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Story, all};
    use super::*;

    /// A change, and the code and the words of the refusal that it causes.
    pub(super) type Case = (fn(&mut ChallengeScenario), &'static str, &'static str);

    /// An embedded story is refused after each change.
    pub(super) fn refused(formulation: Formulation, cases: &[Case]) {
        let mut stories = all().unwrap().into_iter().filter_map(|scenario| match scenario.story {
            Story::Challenge(story) => Some(*story),
            _ => None,
        });
        let plain = stories.find(|story| story.formulation == formulation).unwrap();
        for (change, code, said) in cases {
            let mut story = plain.clone();
            change(&mut story);
            let error = Story::Challenge(Box::new(story)).check().unwrap_err();
            assert_eq!(error.code(), *code, "{error}");
            assert!(error.to_string().contains(said), "{error}");
        }
    }

    #[test]
    fn story_of_texts_with_a_fault_is_refused() {
        let cases: [Case; 7] = [
            (|s| s.formulation = Formulation::Binary, "story_schema", "no challenge asks"),
            (|s| s.columns.truncate(1), "story_schema", "2 are needed"),
            (|s| s.subjects.truncate(3), "story_schema", "8 to 24 are needed"),
            (|s| s.settings[0] = "at noon today".to_owned(), "story_text", "4 words or more"),
            (|s| s.subjects[1] = s.subjects[0].clone(), "story_text", "occurs twice"),
            (|s| s.settings[0].insert(3, ','), "story_text", "would end a clause"),
            (|s| s.subjects[0].push_str(" that was"), "story_text", "has a verb"),
        ];
        refused(Formulation::Extraction, &cases);
    }

    #[test]
    fn story_of_choices_with_a_fault_is_refused() {
        let cases: [Case; 6] = [
            (|s| s.columns.truncate(3), "story_schema", "4 are needed"),
            (|s| s.columns[0].words.truncate(2), "story_schema", "3 are needed"),
            (|s| s.columns[1].words[0] = s.columns[1].words[1].clone(), "story_schema", "words"),
            (|s| s.columns[2].range = None, "story_schema", "a low and a high bound"),
            (|s| s.columns[3].range = Some([0.0, 1.0]), "story_schema", "neither `range` nor"),
            (|s| s.subjects.push("the ferry".to_owned()), "story_schema", "subjects"),
        ];
        refused(Formulation::Recommendation, &cases);
    }
}
