//! What is wrong with a story, embedded or written by a model.
//!
//! Everything that is made of a story relies on this: names that can be columns of a table and
//! tell apart, numbers that can be drawn, words that every reader of CSV takes for words, and
//! sentences that can stand in a page.

mod challenge;

use super::{
    BinaryTarget, Causes, Effect, Follows, MapSpec, NumberColumn, NumberTarget, SceneScenario,
    SeriesScenario, Shape, Story, TableScenario, WordColumn, causes,
};
use crate::media::MediumKind;
use crate::spec::evaluation::evaluation_words;
use crate::spec::structure::coordinate_columns;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use tasks::task::Formulation;

/// Most characters of the background.
const MOST_BACKGROUND: usize = 400;
/// Largest size of a bound.
const MOST_BOUND: f64 = 1e9;
/// Least distance of two bounds, as a share of the larger one: references of rules have three
/// digits.
const LEAST_RANGE: f64 = 1e-3;
/// Longest distance of two places of a row, in kilometres: half around the Earth is 20,015.
const MOST_DISTANCE: f64 = 15_000.0;
/// Most digits after the point.
const MOST_DECIMALS: usize = 6;
/// Fewest values that a number column can have, beside the first.
const LEAST_STEPS: f64 = 3.0;
/// The same for a target, in which rounding must not hide the signal.
const LEAST_TARGET_STEPS: f64 = 10.0;
/// Columns of numbers that every target needs among its causes, if there are as many.
const MOST_CAUSES: usize = 5;
/// Words that readers of CSV take for something else.
const MISREAD: [&str; 6] = ["false", "inf", "infinity", "nan", "null", "true"];

/// Why a story cannot be used. The text says what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoryError {
    /// A number of things, a bound or a range is out of limits.
    #[error("{0}")]
    Form(String),
    /// A name or a word that cannot be one.
    #[error("{0}")]
    Name(String),
    /// A sentence that cannot stand in a page.
    #[error("{0}")]
    Text(String),
    /// A text that points at a competition on which agents are judged.
    #[error("`{0}` belongs to a competition that is kept for evaluation; tell of something else")]
    EvaluationOnly(&'static str),
}

impl StoryError {
    /// The reason code, a stable name for ledgers.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Form(_) => "story_schema",
            Self::Name(_) => "story_names",
            Self::Text(_) => "story_text",
            Self::EvaluationOnly(_) => "evaluation_only",
        }
    }
}

impl Story {
    /// Checks that tasks can be made of the story.
    ///
    /// # Errors
    /// [`StoryError`] with the first thing that is wrong.
    pub fn check(&self) -> Result<(), StoryError> {
        match self {
            Self::Table(story) => check_table(story),
            Self::Series(story) => check_series(story),
            Self::Scene(story) => check_scene(story),
            Self::Challenge(story) => challenge::check(story),
        }
    }
}

fn check_map(map: &MapSpec, numbers: &[NumberColumn]) -> Result<(), StoryError> {
    let Some(column) = numbers.iter().find(|column| column.name == map.distance) else {
        return form(format!("`map.distance`: `{}` is no column of `numbers`", map.distance));
    };
    if map.unit().is_none() {
        return form("`map.distance`: its name has to end in `_km` or `_m`".to_owned());
    }
    if column.low < 0.0 || column.high * map.unit().unwrap_or(1.0) > MOST_DISTANCE {
        return form(format!("`map.distance`: from 0 to {MOST_DISTANCE} kilometres at most"));
    }
    if map.here == map.there {
        return form("`map`: `here` and `there` have one name".to_owned());
    }
    [&map.here, &map.there].into_iter().try_for_each(|place| check_name("a place of `map`", place))
}

fn check_table(story: &TableScenario) -> Result<(), StoryError> {
    let least = match (&story.item, &story.network) {
        (Some(_), Some(_)) => return form("`item` and `network` exclude each other".to_owned()),
        (Some(_), None) => 4,
        (None, Some(_)) => 6,
        (None, None) => 7,
    };
    if story.item.as_ref().is_some_and(|item| item.medium.medium().is_none()) {
        return form(
            "`item.medium`: such items are not rendered from a story; choose `surface`, `objects`, \
             `clip`, `scenery`, `recording`, `soundscape`, `report`, `dossier`, `pair` or `network`"
                .to_owned(),
        );
    }
    count("numbers", story.numbers.len(), least..=12)?;
    count("words", story.words.len(), 2..=4)?;
    count("words of `graded`", story.graded.words.len(), 3..=5)?;
    if !story.labels.is_empty() {
        count("labels", story.labels.len(), 2..=6)?;
    }
    if !story.targets.is_empty() {
        count("targets", story.targets.len(), 2..=4)?;
    }
    story.numbers.iter().try_for_each(check_number)?;
    let targets: Vec<&NumberTarget> = story.targets.iter().chain([&story.number]).collect();
    targets.iter().try_for_each(|target| check_target(target))?;
    for column in &story.words {
        count(&format!("words of `{}`", column.name), column.words.len(), 2..=8)?;
        check_words(column)?;
    }
    check_words(&story.graded)?;

    let labels: Vec<&BinaryTarget> = story.labels.iter().chain([&story.binary]).collect();
    let mut names: Vec<&str> = story.numbers.iter().map(|column| &*column.name).collect();
    names.extend(story.words.iter().map(|column| &*column.name));
    names.extend([&*story.id, &*story.graded.name]);
    names.extend(labels.iter().map(|target| &*target.name));
    names.extend(targets.iter().map(|target| &*target.name));
    names.extend(story.ranking.iter().flat_map(|target| [&*target.query, &*target.name]));
    names.extend(story.item.iter().map(|item| &*item.column));
    // Columns that are added to a table beside those of the story.
    let mut added: Vec<String> = vec!["labels".to_owned()];
    for column in &story.numbers {
        added.extend(["unit", "est"].map(|suffix| format!("{}_{suffix}", column.name)));
    }
    if let Some(item) = story.item.as_ref().filter(|item| item.medium == MediumKind::Pair) {
        added.extend(["a", "b"].map(|suffix| format!("{}_{suffix}", item.column)));
    }
    if let Some(map) = &story.map {
        check_map(map, &story.numbers)?;
        added.extend(
            coordinate_columns(&map.here).into_iter().chain(coordinate_columns(&map.there)),
        );
    }
    check_names(&names, &added)?;
    let mut asked = vec![&*story.binary.name, &*story.graded.name, &*story.number.name];
    if story.network.is_some() {
        asked = vec![&*story.graded.name];
    }
    asked.extend(story.labels.iter().map(|target| &*target.name));
    asked.extend(story.targets.iter().map(|target| &*target.name));
    asked.extend(story.ranking.iter().map(|target| &*target.name));
    check_causes(&story.causes, &asked, &story.numbers, &story.words)?;
    check_follows(&story.follows, &story.numbers, &names)?;

    check_page(&story.title, Some(&story.row), &story.story)?;
    let mut sentences: Vec<&str> = labels.iter().map(|target| &*target.means).collect();
    sentences.extend(targets.iter().map(|target| &*target.means));
    sentences.extend(story.ranking.iter().map(|target| &*target.means));
    sentences.extend(story.item.iter().map(|item| &*item.shows));
    sentences.extend(story.network.iter().map(|network| &*network.shows));
    sentences.into_iter().try_for_each(|text| check_text("a meaning", text, 200))?;
    if let Some(item) = &story.item {
        count("vocabulary", item.vocabulary.len(), 0..=16)?;
        item.vocabulary.iter().try_for_each(|word| check_name("a word of `vocabulary`", word))?;
    }
    Ok(())
}

fn check_series(story: &SeriesScenario) -> Result<(), StoryError> {
    count("drivers", story.drivers.len(), 2..=6)?;
    count("names of `series`", story.series.words.len(), 6..=12)?;
    count("words of `regime`", story.regime.words.len(), 2..=2)?;
    count("steps of `period`", story.period, 4..=12)?;
    story.drivers.iter().try_for_each(check_number)?;
    check_target(&story.target)?;
    check_words(&story.series)?;
    check_words(&story.regime)?;
    let mut names: Vec<&str> = story.drivers.iter().map(|column| &*column.name).collect();
    names.extend([&*story.series.name, &*story.step, &*story.season, &*story.regime.name]);
    names.push(&story.target.name);
    let mut added = vec!["row_id".to_owned()];
    for column in &story.drivers {
        added.extend(["unit", "est"].map(|suffix| format!("{}_{suffix}", column.name)));
    }
    check_names(&names, &added)?;
    check_causes(&story.causes, &[&story.target.name], &story.drivers, &[])?;
    check_follows(&story.follows, &story.drivers, &names)?;
    check_page(&story.title, None, &story.story)?;
    check_text("a meaning", &story.target.means, 200)
}

fn check_scene(story: &SceneScenario) -> Result<(), StoryError> {
    let boxes = story.formulation == Formulation::Detection;
    count("classes", story.classes.len(), if boxes { 1..=3 } else { 0..=0 })?;
    let classes = WordColumn { name: "classes".to_owned(), words: story.classes.clone() };
    check_words(&classes)?;
    check_names(&[&story.id, &story.column, &story.target], &[])?;
    check_page(&story.title, Some(&story.row), &story.story)?;
    check_text("`shows`", &story.shows, 200)?;
    check_text("`means`", &story.means, 200)
}

/// Every target has its causes in one line, or none has; the columns exist, and enough of them
/// are numbers that a rule can be drawn.
fn check_causes(
    causes: &[Causes],
    targets: &[&str],
    numbers: &[NumberColumn],
    words: &[WordColumn],
) -> Result<(), StoryError> {
    if causes.is_empty() {
        return Ok(());
    }
    for target in targets {
        let lines = causes.iter().flat_map(|line| &line.targets).filter(|name| name == target);
        count(&format!("lines of `causes` for `{target}`"), lines.count(), 1..=1)?;
    }
    let mut named = causes.iter().flat_map(|line| &line.targets);
    if let Some(other) = named.find(|name| !targets.contains(&name.as_str())) {
        return form(format!("`causes`: the story has no target `{other}`"));
    }
    for line in causes {
        let of = line.targets.join(", ");
        let mut seen = BTreeSet::new();
        let mut of_numbers = 0;
        for cause in &line.columns {
            let name = &cause.column;
            if !seen.insert(name) {
                return form(format!("`causes` of {of}: `{name}` occurs twice"));
            }
            let is_number = numbers.iter().any(|column| column.name == *name);
            let of_words = words.iter().find(|column| column.name == *name);
            match (&cause.effect, of_words) {
                (Effect::Words(order), Some(column)) => {
                    let (mut order, mut all) = (order.clone(), column.words.clone());
                    order.sort();
                    all.sort();
                    if order != all {
                        return form(format!(
                            "`causes` of {of}: `{name}` needs each of its words once"
                        ));
                    }
                }
                (Effect::Words(_), None) => {
                    return form(format!("`causes` of {of}: `{name}` is no column of words"));
                }
                _ if is_number => of_numbers += 1,
                _ => return form(format!("`causes` of {of}: `{name}` is no column of numbers")),
            }
        }
        let least = MOST_CAUSES.min(numbers.len());
        if of_numbers < least {
            return form(format!(
                "`causes` of {of}: {least} columns of numbers are needed, and there are \
                 {of_numbers}"
            ));
        }
    }
    Ok(())
}

/// Each column follows one other column of numbers or hidden factor, and none follows itself.
fn check_follows(
    follows: &[Follows],
    numbers: &[NumberColumn],
    names: &[&str],
) -> Result<(), StoryError> {
    let is_number = |name: &str| numbers.iter().any(|column| column.name == name);
    let mut seen = BTreeSet::new();
    for line in follows {
        for name in [&line.child, &line.parent] {
            if !is_number(name) && names.contains(&name.as_str()) {
                return form(format!("`follows`: `{name}` is no column of numbers"));
            }
            check_name("a name in `follows`", name)?;
        }
        if !seen.insert(&line.child) {
            return form(format!("`follows`: `{}` follows two others", line.child));
        }
        let followed = follows.iter().any(|other| other.parent == line.child);
        if !is_number(&line.child) && !followed {
            return form(format!("`follows`: no column follows `{}`", line.child));
        }
    }
    match causes::circle(follows) {
        Some(line) => form(format!("`follows`: `{}` follows itself in the end", line.child)),
        None => Ok(()),
    }
}

fn form<T>(what: String) -> Result<T, StoryError> {
    Err(StoryError::Form(what))
}

fn count(what: &str, found: usize, allowed: RangeInclusive<usize>) -> Result<(), StoryError> {
    if allowed.contains(&found) {
        return Ok(());
    }
    let (least, most) = allowed.into_inner();
    let wanted = if least == most { most.to_string() } else { format!("{least} to {most}") };
    form(format!("{what}: {wanted} are needed, and there are {found}"))
}

fn check_number(column: &NumberColumn) -> Result<(), StoryError> {
    let NumberColumn { name, low, high, shape, decimals } = column;
    check_bounds(name, *low, *high, *decimals, LEAST_STEPS)?;
    if *shape == Shape::Count && *decimals > 0 {
        return form(format!("`{name}`: counts have no digits after the point"));
    }
    Ok(())
}

fn check_target(target: &NumberTarget) -> Result<(), StoryError> {
    let NumberTarget { name, low, high, decimals, .. } = target;
    check_bounds(name, *low, *high, *decimals, LEAST_TARGET_STEPS)
}

fn check_bounds(
    name: &str,
    low: f64,
    high: f64,
    decimals: usize,
    least_steps: f64,
) -> Result<(), StoryError> {
    let bounded = low.abs() <= MOST_BOUND && high.abs() <= MOST_BOUND;
    if !bounded || low >= high {
        return form(format!("`{name}`: bounds must increase and be at most 1e9 in size"));
    }
    if high - low < LEAST_RANGE * low.abs().max(high.abs()) {
        return form(format!("`{name}`: the bounds are too close together for their size"));
    }
    if decimals > MOST_DECIMALS {
        return form(format!("`{name}`: at most {MOST_DECIMALS} decimals"));
    }
    let steps = (high - low) * 10_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX));
    if steps < least_steps {
        return form(format!(
            "`{name}`: with {decimals} decimals, fewer than {} different values lie between its \
             bounds; give it more decimals or a wider range",
            least_steps + 1.0
        ));
    }
    Ok(())
}

/// Names of columns are as they should be, and differ from each other and from `added` ones.
fn check_names(names: &[&str], added: &[String]) -> Result<(), StoryError> {
    let mut seen = BTreeSet::new();
    for name in names {
        check_name("a name of a column", name)?;
        if name.len() < 2 {
            return Err(StoryError::Name(format!("`{name}`: a column needs two letters or more")));
        }
        if added.iter().any(|other| other == name) {
            return Err(StoryError::Name(format!(
                "`{name}` is a column that may be added to the table; choose another name"
            )));
        }
        if !seen.insert(name) {
            return Err(StoryError::Name(format!("the name `{name}` occurs twice")));
        }
    }
    Ok(())
}

/// Words of a column are as they should be and differ from each other.
fn check_words(column: &WordColumn) -> Result<(), StoryError> {
    let mut seen = BTreeSet::new();
    for word in &column.words {
        check_name(&format!("a word of `{}`", column.name), word)?;
        if !seen.insert(word) {
            let name = &column.name;
            return Err(StoryError::Name(format!("`{name}`: the word `{word}` occurs twice")));
        }
    }
    Ok(())
}

/// `[a-z][a-z0-9_]{0,31}`, and nothing that is read as a number or a gap.
fn check_name(what: &str, name: &str) -> Result<(), StoryError> {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 32
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !plain {
        return Err(StoryError::Name(format!(
            "`{name}`: {what} has at most 32 lower-case letters, digits and `_`, and begins with \
             a letter"
        )));
    }
    if MISREAD.contains(&name) {
        return Err(StoryError::Name(format!(
            "`{name}`: {what} must not read as a gap or a value"
        )));
    }
    match evaluation_words(name) {
        Some(words) => Err(StoryError::EvaluationOnly(words)),
        None => Ok(()),
    }
}

fn check_page(title: &str, row: Option<&str>, background: &str) -> Result<(), StoryError> {
    check_text("`title`", title, 60)?;
    if title.contains(',') {
        return Err(StoryError::Text("`title`: a heading has no comma".to_owned()));
    }
    if let Some(row) = row {
        check_text("`row`", row, 60)?;
    }
    check_text("`story`", background, MOST_BACKGROUND)?;
    let ends = background.split(' ').filter(|word| word.ends_with(['.', '!', '?'])).count();
    if !(1..=3).contains(&ends) || !background.ends_with(['.', '!', '?']) {
        return Err(StoryError::Text(format!(
            "`story`: two whole sentences are needed, and {ends} end with a full stop"
        )));
    }
    Ok(())
}

/// A text of letters, digits, blanks and marks, without an address.
fn check_text(what: &str, text: &str, most: usize) -> Result<(), StoryError> {
    let wrong = |fault: String| Err(StoryError::Text(format!("{what}: {fault}")));
    if text.trim().len() < 3 || text.trim() != text || text.chars().count() > most {
        return wrong(format!("3 to {most} characters are needed, without blanks around them"));
    }
    let allowed = |c: &char| c.is_ascii_alphanumeric() || " .,;:'-()%?!&+".contains(*c);
    if let Some(other) = text.chars().find(|c| !allowed(c)) {
        return wrong(format!(
            "{other:?} is not an ASCII letter, a digit, a blank or one of . , ; : ' - ( ) % ? ! & +"
        ));
    }
    let dotted = |word: &str| word.trim_end_matches('.').contains('.') && !is_number(word);
    if let Some(word) = text.split(' ').find(|word| dotted(word)) {
        return wrong(format!("`{word}` reads as an address"));
    }
    match evaluation_words(text) {
        Some(words) => Err(StoryError::EvaluationOnly(words)),
        None => Ok(()),
    }
}

fn is_number(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit() || !c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::super::{ItemSpec, all};
    use super::*;

    /// A change, and the code and the words of the refusal that it causes.
    type Case = (fn(&mut TableScenario), &'static str, &'static str);

    fn number(text: &str) -> NumberColumn {
        text.parse().unwrap()
    }

    fn follows(child: &str, parent: &str) -> Follows {
        format!("{child} {parent} 0.5").try_into().unwrap()
    }

    /// An item of a medium that renders nothing.
    fn given_item() -> ItemSpec {
        toml::from_str("medium = \"picture\"\ncolumn = \"photo\"\nshows = \"a photo of it\"")
            .unwrap()
    }

    /// An embedded story of a table with a change in it.
    fn refusal(change: fn(&mut TableScenario)) -> (&'static str, String) {
        let tables = all().unwrap().into_iter().filter_map(|scenario| match scenario.story {
            Story::Table(story) => Some(*story),
            _ => None,
        });
        let plain = |story: &TableScenario| story.item.is_none() && story.network.is_none();
        let mut story = tables.into_iter().find(plain).unwrap();
        change(&mut story);
        let error = Story::Table(Box::new(story)).check().unwrap_err();
        (error.code(), error.to_string())
    }

    #[test]
    fn story_with_a_fault_is_refused_with_its_code_and_what_to_change() {
        let cases: [Case; 28] = [
            (|s| s.numbers.truncate(6), "story_schema", "7 to 12 are needed"),
            (|s| s.words.clear(), "story_schema", "2 to 4 are needed"),
            (|s| s.item = Some(given_item()), "story_schema", "not rendered from a story"),
            (|s| s.graded.words.truncate(2), "story_schema", "3 to 5"),
            (|s| s.numbers[0] = number("span 0 1 u 0"), "story_schema", "different values"),
            (|s| s.numbers[0] = number("span 1 9 c 1"), "story_schema", "no digits after"),
            (|s| s.numbers[0] = number("span 1 9 u 9"), "story_schema", "at most 6 decimals"),
            (|s| s.number.high = f64::INFINITY, "story_schema", "at most 1e9"),
            (|s| s.number.low = f64::NAN, "story_schema", "bounds must increase"),
            (|s| s.numbers[0].name = "Span".to_owned(), "story_names", "lower-case letters"),
            (|s| s.numbers[0].name = "x".to_owned(), "story_names", "two letters"),
            (|s| s.numbers[0].name = s.id.clone(), "story_names", "occurs twice"),
            (
                |s| s.numbers[1].name = format!("{}_unit", s.numbers[0].name),
                "story_names",
                "may be added",
            ),
            (|s| s.words[0].words[1] = "null".to_owned(), "story_names", "gap or a value"),
            (|s| s.words[0].words[1] = s.words[0].words[0].clone(), "story_names", "twice"),
            (|s| s.causes[0].targets.push("age".to_owned()), "story_schema", "no target `age`"),
            (|s| s.causes[0].columns.truncate(2), "story_schema", "5 columns of numbers"),
            (
                |s| s.causes[0].columns[0].column = "luck".to_owned(),
                "story_schema",
                "`luck` is no column of numbers",
            ),
            (|s| s.follows.push(follows(&s.id, "luck")), "story_schema", "is no column of numbers"),
            (|s| s.follows.push(follows("luck", "fate")), "story_schema", "no column follows"),
            (
                |s| s.follows = vec![follows("luck", "fate"), follows("fate", "luck")],
                "story_schema",
                "follows itself",
            ),
            (|s| s.title = "Ice, wind".to_owned(), "story_text", "no comma"),
            (|s| s.story = "No end".to_owned(), "story_text", "two whole sentences"),
            (|s| s.story = "Go. ".repeat(120), "story_text", "3 to 400 characters"),
            (|s| s.story = "See ice.example.org now. Go.".to_owned(), "story_text", "address"),
            (|s| s.row = "<b>stay</b>".to_owned(), "story_text", "not an ASCII letter"),
            (|s| s.row = "stay\nat home".to_owned(), "story_text", "not an ASCII letter"),
            (|s| s.story = "Taxi fares vary. Why so?".to_owned(), "evaluation_only", "taxi fare"),
        ];
        for (change, code, said) in cases {
            let (found, text) = refusal(change);
            assert!(
                found == code && text.contains(said),
                "{found}: {text} (expected {code}: {said})"
            );
        }
    }
}
