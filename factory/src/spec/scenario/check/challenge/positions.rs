//! What is wrong with a story about sequences whose positions have answers.

use super::super::{StoryError, check_bounds, check_names, check_text, count, form};
use super::{check_circumstances, check_no_sentences, check_range};
use crate::spec::positions::{ID, WORDS};
use crate::spec::scenario::{ChallengeScenario, PositionStory};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Number of symbols.
const SYMBOLS: RangeInclusive<usize> = 4..=8;
/// Fewest different values between the bounds of a number.
const LEAST_STEPS: f64 = 40.0;

pub(super) fn check(story: &ChallengeScenario, told: &PositionStory) -> Result<(), StoryError> {
    check_no_sentences(story)?;
    let [symbols, number, word] = story.columns.as_slice() else { return Ok(()) };
    check_range(number)?;
    check_circumstances(word, WORDS)?;
    if symbols.range.is_some() {
        return form(format!("`{}`: a column of symbols has no `range`", symbols.name));
    }
    check_symbols(&symbols.words)?;
    let known = |symbol: &String| symbols.words.contains(symbol);
    let directed: Vec<&String> = told.raises.iter().chain(&told.lowers).collect();
    count("symbols of `raises`", told.raises.len(), 1..=3)?;
    count("symbols of `lowers`", told.lowers.len(), 1..=3)?;
    let pair = told.pair.iter().flatten();
    if let Some(other) = directed.iter().copied().chain(pair).find(|symbol| !known(symbol)) {
        return form(format!("`positions`: `{other}` is no symbol of `{}`", symbols.name));
    }
    let distinct: BTreeSet<&&String> = directed.iter().collect();
    count("symbols that raise and lower at once", directed.len() - distinct.len(), 0..=0)?;
    if told.pair.as_ref().is_some_and(|[open, close]| open == close) {
        return form("`pair`: what closes has to differ from what opens".to_owned());
    }
    check_numbers(story, told)?;
    let mut names: Vec<&str> = story.columns.iter().map(|column| &*column.name).collect();
    names.extend([&*story.id, &*story.target, &*told.place]);
    names.extend(told.also.iter().map(|one| &*one.name));
    names.extend(told.class.iter().map(|class| &*class.name));
    check_names(&names, &[ID.to_owned()])?;
    check_text("`position`", &told.position, 40)?;
    let Some(class) = &told.class else { return Ok(()) };
    check_text("a meaning", &class.means, 200)?;
    count("classes", class.words.len(), 3..=3)?;
    class.words.iter().try_for_each(|word| check_text("a class", word, 20))?;
    count("different classes", class.words.iter().collect::<BTreeSet<_>>().len(), 3..=3)
}

/// Symbols are letters, or words without blanks, so that cells can be taken apart.
fn check_symbols(symbols: &[String]) -> Result<(), StoryError> {
    count("symbols", symbols.len(), SYMBOLS)?;
    count("different symbols", symbols.iter().collect::<BTreeSet<_>>().len(), SYMBOLS)?;
    let plain = |symbol: &&String| {
        symbol.len() <= 12 && symbol.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let letters = symbols.iter().filter(|symbol| symbol.len() == 1).count();
    match symbols.iter().find(|symbol| !plain(symbol) || symbol.is_empty()) {
        Some(symbol) => form(format!("`{symbol}`: symbols are letters, digits and underscores")),
        None if letters > 0 && letters < symbols.len() => {
            form("symbols are single letters, or all of them are longer".to_owned())
        }
        // Digits alone would be read as one number.
        None if symbols.iter().any(|symbol| symbol.parse::<f64>().is_ok()) => {
            form("symbols are no numbers".to_owned())
        }
        None => Ok(()),
    }
}

fn check_numbers(story: &ChallengeScenario, told: &PositionStory) -> Result<(), StoryError> {
    let main = (&story.target, told.range, told.decimals);
    let also = told.also.iter().map(|one| (&one.name, one.range, one.decimals));
    count("further numbers", told.also.len(), 0..=2)?;
    told.also.iter().try_for_each(|one| check_text("a meaning", &one.means, 200))?;
    std::iter::once(main).chain(also).try_for_each(|(name, [low, high], decimals)| {
        check_bounds(name, low, high, decimals, LEAST_STEPS)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Case, refused};
    use tasks::task::Formulation;

    #[test]
    fn story_of_sequences_with_a_fault_is_refused() {
        let cases: [Case; 8] = [
            (|s| s.positions = None, "story_schema", "`positions` is needed"),
            (|s| s.columns[0].words.truncate(3), "story_schema", "4 to 8 are needed"),
            (|s| s.columns[0].words[0] = "a b".to_owned(), "story_schema", "letters, digits"),
            (|s| s.columns[1].range = None, "story_schema", "a low and a high bound"),
            (|s| s.columns[2].words.truncate(2), "story_schema", "3 are needed"),
            (
                |s| s.positions.as_mut().unwrap().raises[0] = "Z9".to_owned(),
                "story_schema",
                "is no symbol of",
            ),
            (
                |s| {
                    let told = s.positions.as_mut().unwrap();
                    told.lowers[0] = told.raises[0].clone();
                },
                "story_schema",
                "raise and lower at once",
            ),
            (|s| s.positions.as_mut().unwrap().range = [3.0, 3.0], "story_schema", "must increase"),
        ];
        refused(Formulation::Positions, &cases);
    }
}
