//! Checks on the prose of a chat model. A refusal names the sentence and says what to do.

use super::columns::{self, ColumnContent, ColumnFacts};
use super::english::{sentences, words};
use super::fixed::better;
use super::layout;
use super::measures::{FOREIGN, names};
use super::mentions::{forbidden, holds, runs};
use super::prose::Prose;
use crate::data::assets::Assets;
use crate::spec::blueprint::Blueprint;
use crate::spec::evaluation::evaluation_words;
use crate::spec::scenario::Scenario;
use std::collections::BTreeSet;
use std::ops::Range;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::Formulation;
use tasks::text::{one_line, printable};

/// Longest title, in characters.
const TITLE: usize = 80;
/// Longest overview, in words.
const OVERVIEW: usize = 120;
/// Longest sentence about a column, in words.
const COLUMN: usize = 40;
/// Longest sentence about the target, in words.
const TARGET: usize = 50;
/// Least share of ASCII among the characters of all prose.
const ASCII: f64 = 0.97;
/// Characters of a sentence that a refusal repeats.
const REPEATED: usize = 240;

/// Why prose is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct RefusedProse {
    /// Reason code: `page_length`, `page_markup`, `page_columns`, `page_number`, `page_metric` or
    /// `page_word`.
    pub code: &'static str,
    /// The place, the sentence, what is wrong with it, and what to do.
    pub detail: String,
}

/// One sentence of the prose.
struct PlacedSentence<'a> {
    /// Where it stands, such as ``the text on `width_mm` ``.
    place: String,
    text: &'a str,
}

impl PlacedSentence<'_> {
    fn refused(&self, code: &'static str, what: &str) -> RefusedProse {
        let mut sentence: String = self.text.chars().take(REPEATED).collect();
        if sentence.len() < self.text.len() {
            sentence.push_str(" ...");
        }
        let sentence = one_line(&sentence);
        RefusedProse { code, detail: format!("in {}, \"{sentence}\": {what}", self.place) }
    }
}

/// Checks the prose of a page against the facts of its task.
///
/// | code | what is refused |
/// | --- | --- |
/// | `page_length` | empty or long texts, more than one sentence where one is asked for |
/// | `page_markup` | HTML, tags of the turn grammar, links, fences, headings, tables; characters that are not shown; less than 97 % ASCII |
/// | `page_columns` | features without a text, texts on other columns, names in backquotes that the task does not have |
/// | `page_metric` | other metrics than the task's, the wrong direction |
/// | `page_number` | numbers that the facts do not have |
/// | `page_word` | words of the workshop, names of evaluation competitions, orders to the reader |
///
/// Whether the page prints the rule is checked by verification, on the whole page.
///
/// # Errors
/// [`RefusedProse`] for the first check that fails, in the order of the table.
pub fn check(
    prose: &Prose,
    blueprint: &Blueprint,
    scenario: &Scenario,
    assets: &Assets,
) -> Result<(), RefusedProse> {
    lengths(prose)?;
    let places = placed(prose);
    markup(prose, &places)?;
    let columns = columns::columns(blueprint, scenario, assets);
    column_names(prose, &places, &columns, blueprint)?;
    let facts =
        format!("{} {}", layout::fixed_text(blueprint, scenario, assets), scenario.story.text());
    let fact_words = words(&facts);
    metrics(&places, blueprint.metric, &fact_words)?;
    numbers(&places, &facts, &columns, blueprint.formulation)?;
    mentions(prose, &fact_words)
}

/// All texts with their places.
fn fields(prose: &Prose) -> Vec<(String, &str)> {
    let mut fields = vec![
        ("the title".to_owned(), prose.title.as_str()),
        ("the overview".to_owned(), &prose.overview),
        ("the text on the target".to_owned(), &prose.target),
    ];
    let columns = prose.columns.iter();
    fields.extend(columns.map(|one| (format!("the text on `{}`", one.name), one.text.as_str())));
    fields
}

/// All sentences with their places.
fn placed(prose: &Prose) -> Vec<PlacedSentence<'_>> {
    let mut places = Vec::new();
    for (place, text) in fields(prose) {
        let sentences = sentences(text).into_iter();
        places.extend(sentences.map(|text| PlacedSentence { place: place.clone(), text }));
    }
    places
}

fn lengths(prose: &Prose) -> Result<(), RefusedProse> {
    let refused = |detail: String| RefusedProse { code: "page_length", detail };
    let title = prose.title.trim();
    if title.is_empty() || title.chars().count() > TITLE || title.lines().count() > 1 {
        return Err(refused(format!("the title is one line of 1 to {TITLE} characters")));
    }
    let overview = count(&prose.overview);
    if overview == 0 || overview > OVERVIEW {
        let what = format!("the overview has {overview} words; write 1 to {OVERVIEW}");
        return Err(refused(what));
    }
    let one = |place: &str, text: &str, most: usize| {
        let (found, words) = (sentences(text).len(), count(text));
        if found == 1 && words <= most && text.trim().lines().count() == 1 {
            return Ok(());
        }
        Err(refused(format!(
            "{place} has {found} sentences and {words} words; write one sentence of at most {most} \
             words in one line"
        )))
    };
    one("the text on the target", &prose.target, TARGET)?;
    for column in &prose.columns {
        one(&format!("the text on `{}`", column.name), &column.text, COLUMN)?;
    }
    Ok(())
}

/// Number of words as people count them.
fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

fn markup(prose: &Prose, places: &[PlacedSentence<'_>]) -> Result<(), RefusedProse> {
    let names = prose.columns.iter().map(|column| column.name.as_str());
    let all: Vec<&str> =
        [&*prose.title, &*prose.overview, &*prose.target].into_iter().chain(names).collect();
    let texts = || all.iter().copied().chain(prose.columns.iter().map(|one| one.text.as_str()));
    let whole: String = texts().collect::<Vec<_>>().join("\n");
    let refused = |what: &str| RefusedProse { code: "page_markup", detail: what.to_owned() };
    if printable(&whole) != whole || whole.contains(is_hidden) {
        return Err(refused("the prose has characters that are not shown; write plain letters"));
    }
    let (ascii, characters) = (whole.chars().filter(char::is_ascii).count(), whole.chars().count());
    if (ascii as f64) < ASCII * characters as f64 {
        return Err(refused("too many characters are not ASCII; write plain English"));
    }
    for text in texts() {
        for line in text.lines().map(str::trim_start) {
            let block = ["#", "|", ">", "~~~", "---", "```", "- ", "* "];
            if block.iter().any(|begin| line.starts_with(begin)) {
                let line = line.chars().take(REPEATED).collect::<String>();
                let what = format!(
                    "the line \"{line}\" begins like a heading, a list, a table, a quotation or a \
                     fence; write plain sentences"
                );
                return Err(refused(&what));
            }
        }
    }
    for sentence in places {
        if let Some(what) = mark(sentence.text) {
            let what = format!("{what}; write it in plain words");
            return Err(sentence.refused("page_markup", &what));
        }
    }
    Ok(())
}

/// Characters of no width, which no plain text needs.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
}

/// What a sentence has that is no plain text.
fn mark(sentence: &str) -> Option<&'static str> {
    let lower = sentence.to_lowercase();
    let tag = |(at, _): (usize, &str)| {
        lower[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c))
    };
    if lower.match_indices('<').any(tag) || lower.contains("&lt;") || lower.contains("&#") {
        return Some("it has a tag");
    }
    if ["://", "www.", "mailto:", "](", "!["].iter().any(|mark| lower.contains(mark)) {
        return Some("it has a link");
    }
    if lower.contains("```") || lower.contains("~~~") {
        return Some("it has a fence");
    }
    if lower.matches('`').count() % 2 == 1 {
        return Some("a backquote is not closed");
    }
    if ["{{", "${", "\\("].iter().any(|mark| lower.contains(mark)) {
        return Some("it has code");
    }
    None
}

fn column_names(
    prose: &Prose,
    places: &[PlacedSentence<'_>],
    columns: &[ColumnFacts],
    blueprint: &Blueprint,
) -> Result<(), RefusedProse> {
    let refused = |detail: String| RefusedProse { code: "page_columns", detail };
    let features: Vec<&str> =
        columns.iter().filter(|one| one.is_feature()).map(|one| one.name.as_str()).collect();
    let mut described = BTreeSet::new();
    for column in &prose.columns {
        if !features.contains(&column.name.as_str()) {
            let name = one_line(&column.name).chars().take(REPEATED).collect::<String>();
            return Err(refused(format!(
                "`{name}` is not a column to describe; these are: {}",
                features.join(", ")
            )));
        }
        if !described.insert(column.name.as_str()) {
            return Err(refused(format!("`{}` is described twice; write one text", column.name)));
        }
    }
    if let Some(missing) = features.iter().find(|name| !described.contains(**name)) {
        return Err(refused(format!("`{missing}` has no text; write one sentence on it")));
    }
    let known = known_names(columns, blueprint);
    for sentence in places {
        let quoted = sentence.text.split('`').skip(1).step_by(2).map(str::trim);
        let snake = sentence
            .text
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| word.trim_matches('_').contains('_'));
        if let Some(unknown) = quoted.chain(snake).find(|name| !known.contains(*name)) {
            let what = format!("`{unknown}` is no name of this task; use the names of the facts");
            return Err(sentence.refused("page_columns", &what));
        }
    }
    Ok(())
}

/// All names that prose may put in backquotes: columns, classes, words, files.
fn known_names<'a>(columns: &'a [ColumnFacts], blueprint: &'a Blueprint) -> BTreeSet<&'a str> {
    let mut known: BTreeSet<&str> = [
        "train.csv",
        "test.csv",
        "sample_submission.csv",
        "edges.csv",
        "source",
        "target",
        "weight",
        "0",
        "1",
    ]
    .into();
    for column in columns {
        known.insert(&column.name);
        match &column.content {
            ColumnContent::Category(words) | ColumnContent::Series(words) => {
                known.extend(words.iter().map(String::as_str));
            }
            ColumnContent::UnitOf(..) => known.extend(["std", "alt"]),
            _ => {}
        }
    }
    for target in &blueprint.targets {
        known.insert(&target.column);
        known.extend(target.classes.iter().map(String::as_str));
    }
    if let Prediction::Boxes { classes, .. } = &blueprint.prediction {
        known.extend(classes.iter().map(String::as_str));
    }
    known.insert(blueprint.metric.name());
    known.extend(blueprint.prediction.columns());
    known
}

fn numbers(
    places: &[PlacedSentence<'_>],
    facts: &str,
    columns: &[ColumnFacts],
    formulation: Formulation,
) -> Result<(), RefusedProse> {
    let (mut known, mut names) = (BTreeSet::new(), BTreeSet::new());
    match formulation {
        Formulation::Binary | Formulation::Matching => known.extend(["0", "1"].map(str::to_owned)),
        Formulation::Ranking => known.extend(["0", "3"].map(str::to_owned)),
        _ => {}
    }
    names.extend(columns.iter().map(|column| column.name.to_lowercase()));
    for token in tokens(facts) {
        match token {
            NumberToken::Number(number) => known.insert(number),
            NumberToken::Mixed(name) => names.insert(name),
        };
    }
    for sentence in places {
        if sentence.text.contains(|c: char| c.is_numeric() && !c.is_ascii()) {
            let what = "write numbers with the digits 0 to 9, and only those of the facts";
            return Err(sentence.refused("page_number", what));
        }
        for token in tokens(sentence.text) {
            let unknown = match token {
                NumberToken::Number(number) => (!known.contains(&number)).then_some(number),
                NumberToken::Mixed(name) if names.contains(&name) => None,
                NumberToken::Mixed(name) => {
                    let number =
                        name.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
                    let number = normalised(number);
                    number.is_none_or(|number| !known.contains(&number)).then_some(name)
                }
            };
            if let Some(unknown) = unknown {
                let what = format!("the facts do not have the number {unknown}; leave it out");
                return Err(sentence.refused("page_number", &what));
            }
        }
    }
    Ok(())
}

/// A word with digits in it.
enum NumberToken {
    /// A number, in the shortest form.
    Number(String),
    /// Digits and letters together, in lower case.
    Mixed(String),
}

/// The words with digits of a text, without what stands in fences.
fn tokens(text: &str) -> Vec<NumberToken> {
    let text = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    let characters: Vec<char> = text.chars().collect();
    let digit = |at: usize| characters.get(at).is_some_and(char::is_ascii_digit);
    let (mut words, mut word) = (Vec::new(), String::new());
    for (at, c) in characters.iter().enumerate() {
        let joint = matches!(c, '.' | ',') && at > 0 && digit(at - 1) && digit(at + 1);
        if c.is_alphanumeric() || *c == '_' || joint {
            word.extend(c.to_lowercase());
        } else if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
    }
    words.push(word);
    words.retain(|word| word.contains(|c: char| c.is_ascii_digit()));
    let token = |word: String| match normalised(&word) {
        Some(number) => NumberToken::Number(number),
        None => NumberToken::Mixed(word),
    };
    words.into_iter().map(token).collect()
}

/// A number in the shortest form: `1,200.50` is `1200.5`.
fn normalised(word: &str) -> Option<String> {
    let plain = word.replace(',', "");
    if !plain.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let digits = plain.chars().all(|c| c.is_ascii_digit() || c == '.');
    plain.parse::<f64>().ok().filter(|_| digits).map(|number| number.to_string())
}

fn metrics(
    places: &[PlacedSentence<'_>],
    metric: Metric,
    facts: &[String],
) -> Result<(), RefusedProse> {
    let own = names(metric);
    let others = Metric::ALL.into_iter().flat_map(names).copied().chain(FOREIGN);
    let others: BTreeSet<&str> = others.filter(|name| !own.contains(name)).collect();
    for sentence in places {
        let text = words(sentence.text);
        // A name within a longer name of the task's own metric is that metric's.
        let own: Vec<Range<usize>> = own.iter().flat_map(|name| runs(&text, name)).collect();
        let within =
            |run: &Range<usize>| own.iter().any(|own| own.start <= run.start && run.end <= own.end);
        let foreign =
            |name: &&&str| !holds(facts, name) && runs(&text, name).iter().any(|run| !within(run));
        if let Some(other) = others.iter().find(foreign) {
            let what = format!(
                "`{other}` is a metric, and the task's is {metric}; the page says how submissions \
                 are scored, so leave metrics out"
            );
            return Err(sentence.refused("page_metric", &what));
        }
        for direction in ["higher is better", "lower is better"] {
            let mentioned = holds(&text, direction)
                || holds(&text, &direction.replace("higher is", "the higher the"))
                || holds(&text, &direction.replace("lower is", "the lower the"));
            if direction != better(metric) && mentioned {
                let what = format!("of {metric}, {}", better(metric));
                return Err(sentence.refused("page_metric", &what));
            }
        }
    }
    Ok(())
}

fn mentions(prose: &Prose, facts: &[String]) -> Result<(), RefusedProse> {
    for (place, text) in fields(prose) {
        let found = words(text);
        let whole = PlacedSentence { place, text };
        if let Some(phrase) = forbidden(&found, facts) {
            let what = format!("\"{phrase}\" is not for a description page; leave it out");
            return Err(whole.refused("page_word", &what));
        }
        if let Some(name) = evaluation_words(text) {
            let what = format!("`{name}` belongs to another competition; name none");
            return Err(whole.refused("page_word", &what));
        }
    }
    Ok(())
}
