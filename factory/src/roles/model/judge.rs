//! The judge, a chat model that reads the page of another one: eight questions, whose answers are
//! compared with the facts of the task by code.

use super::Question;
use super::prompt::fill;
use crate::numeric::draws::Draws;
use crate::roles::{RoleFeedback, RoleRefusal};
use crate::spec::blueprint::Blueprint;
use crate::spec::scenario::{Scenario, Story};
use llm::{AnswerSchema, schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tasks::metrics::{Direction, Metric};
use tasks::prediction::Prediction;
use tasks::text::one_line;

const SYSTEM: &str = "\
You read description pages of data science competitions and say what they tell a solver. Answer with \
one JSON object and nothing else.";
const JUDGE: &str = include_str!("prompts/judge.md");
/// The file that shows the form of a submission.
const EXAMPLE_FILE: &str = "sample_submission.csv";
/// Reason code of a page that a reader misunderstands.
const UNCLEAR: &str = "page_unclear";
/// Reason code of a judge that answers none of the questions. It says nothing of the page.
const FAILED: &str = "judge_failed";
/// The longest part of an answer that a message quotes, in characters.
const MOST_QUOTED: usize = 80;

/// The letters of the answers to what a row is.
const LETTERS: [RowLetter; 4] = [RowLetter::A, RowLetter::B, RowLetter::C, RowLetter::D];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
enum RowLetter {
    A,
    B,
    C,
    D,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum BetterScores {
    Higher,
    Lower,
}

/// What a judge takes from a page: an answer to [`question`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PageReading {
    target_columns: Vec<String>,
    metric: String,
    better: BetterScores,
    id_column: String,
    test_rows: u64,
    example_file: String,
    classes: Vec<String>,
    row: RowLetter,
}

/// What a page has to tell its readers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PageFacts {
    target_columns: Vec<String>,
    metric: Metric,
    id_column: String,
    test_rows: usize,
    prediction: Prediction,
    /// What a row could be, as many as [`LETTERS`].
    rows: Vec<String>,
    /// Which of them it is.
    row: RowLetter,
}

impl PageFacts {
    /// The facts of a task. What its rows are not comes from `stories`, drawn from the slot's
    /// stream.
    pub(super) fn new(blueprint: &Blueprint, scenario: &Scenario, stories: &[Scenario]) -> Self {
        let target_columns = match &blueprint.prediction {
            Prediction::Flags { column, .. } => vec![column.clone()],
            _ => blueprint.kind().target_columns(blueprint),
        };
        let right = row_of(&scenario.story);
        let mut draws = Draws::new(blueprint.origin.stream("judge"));
        let mut rows = other_rows(scenario, &right, stories, &mut draws);
        rows.truncate(LETTERS.len() - 1);
        let place = draws.whole(0, rows.len());
        rows.insert(place, right);
        Self {
            target_columns,
            metric: blueprint.metric,
            id_column: blueprint.id_column.clone(),
            test_rows: blueprint.rows.test,
            prediction: blueprint.prediction.clone(),
            rows,
            row: LETTERS[place],
        }
    }
}

/// What a row of a story is.
fn row_of(story: &Story) -> String {
    match story {
        Story::Table(story) => story.row.clone(),
        Story::Scene(story) => story.row.clone(),
        Story::Challenge(story) => story.row.clone(),
        Story::Series(story) => format!("one `{}` of one `{}`", story.step, story.series.name),
    }
}

/// What rows of stories of the same kind in other domains are, in random order; those that share a
/// word with the right one come last.
fn other_rows(
    scenario: &Scenario,
    right: &str,
    stories: &[Scenario],
    draws: &mut Draws,
) -> Vec<String> {
    let kind = std::mem::discriminant(&scenario.story);
    let others = stories
        .iter()
        .filter(|other| std::mem::discriminant(&other.story) == kind)
        .filter(|other| other.domain != scenario.domain)
        .map(|other| row_of(&other.story));
    // A set: each once, in an order that does not depend on that of the stories.
    let others: BTreeSet<String> = others.filter(|row| row != right).collect();
    let mut others: Vec<String> = others.into_iter().collect();
    draws.shuffle(&mut others);
    let (words, right) = (content_words, content_words(right));
    others.sort_by_key(|row| !words(row).is_disjoint(&right));
    others
}

/// The words of four letters or more, in lower case.
fn content_words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| word.len() >= 4).map(str::to_ascii_lowercase).collect()
}

/// Asks what a page says.
///
/// # Panics
/// Never: a test narrows the schema of [`PageReading`].
pub(super) fn question(page: &str, facts: &PageFacts) -> Question {
    let mut options = String::new();
    for (letter, row) in LETTERS.iter().zip(&facts.rows) {
        let _ = writeln!(options, "  - {letter:?}: {row}");
    }
    let values = [("options", options.trim_end()), ("page", page.trim_end())];
    let schema = AnswerSchema::from_type::<PageReading>("reading");
    Question {
        name: "judge",
        system: SYSTEM.to_owned(),
        prompt: fill(JUDGE, &values),
        schema: Some(schema.expect("a test narrows this schema")),
        temperature: 0.0,
        max_tokens: 1000,
        max_bytes: 8 << 10,
    }
}

/// The eight answers. Whether they are right is a matter of [`PageReading::check`].
///
/// # Errors
/// [`RoleRefusal`] with the code `judge_schema` if they are not of the form that was asked for.
pub(super) fn parse(answer: &str) -> Result<PageReading, RoleRefusal> {
    schema::parse(answer)
        .map_err(|error| RoleRefusal { code: "judge_schema", detail: error.to_string() })
}

/// The refusal of a page whose judge gave no answers.
pub(super) fn failed(refusal: RoleRefusal) -> RoleRefusal {
    let RoleRefusal { code, detail } = refusal;
    RoleRefusal { code: FAILED, detail: format!("the judge gave no answers: {code}: {detail}") }
}

/// Whether a refusal says something of the page, so that its writer can do better.
pub(super) fn is_about_page(feedback: &RoleFeedback) -> bool {
    feedback.code != FAILED
}

impl PageReading {
    /// Compares the answers with the facts.
    ///
    /// # Errors
    /// [`RoleRefusal`] with the code `page_unclear`, which names the wrong answers.
    pub(super) fn check(&self, facts: &PageFacts) -> Result<(), RoleRefusal> {
        let wrong = self.wrong(facts);
        if wrong.is_empty() {
            return Ok(());
        }
        let detail = format!(
            "a reader of the page answered wrongly: {}. The list `At a glance`, the table of columns \
             and the lines on files are right; your prose must agree with them",
            wrong.join("; ")
        );
        Err(RoleRefusal { code: UNCLEAR, detail })
    }

    /// The wrong answers in words, in the order of the questions.
    fn wrong(&self, facts: &PageFacts) -> Vec<String> {
        let better = match facts.metric.direction() {
            Direction::HigherIsBetter => BetterScores::Higher,
            Direction::LowerIsBetter => BetterScores::Lower,
        };
        let classes = class_names(&facts.prediction).join(", ");
        let row = |letter: RowLetter| facts.rows.get(letter as usize).cloned().unwrap_or_default();
        // What is asked, whether the answer is right, the answer, the fact.
        let answers = [
            (
                "the target columns",
                set(&self.target_columns) == set(&facts.target_columns),
                self.target_columns.join(", "),
                facts.target_columns.join(", "),
            ),
            (
                "the metric",
                names_metric(&self.metric, facts.metric),
                self.metric.clone(),
                facts.metric.to_string(),
            ),
            (
                "which scores are better",
                self.better == better,
                self.better.name().to_owned(),
                better.name().to_owned(),
            ),
            (
                "the id column",
                plain(&self.id_column) == plain(&facts.id_column),
                self.id_column.clone(),
                facts.id_column.clone(),
            ),
            (
                "the number of test rows",
                usize::try_from(self.test_rows) == Ok(facts.test_rows),
                self.test_rows.to_string(),
                facts.test_rows.to_string(),
            ),
            (
                "the file that shows the form of a submission",
                plain(&self.example_file).rsplit('/').next() == Some(EXAMPLE_FILE),
                self.example_file.clone(),
                EXAMPLE_FILE.to_owned(),
            ),
            (
                "the classes",
                has_classes(&self.classes, &facts.prediction),
                self.classes.join(", "),
                if classes.is_empty() { "none".to_owned() } else { classes },
            ),
            ("what a row is", self.row == facts.row, row(self.row), row(facts.row)),
        ];
        let wrong = answers.into_iter().filter(|(_, right, ..)| !right);
        wrong
            .map(|(what, _, answer, fact)| {
                let answer: String = one_line(&answer).chars().take(MOST_QUOTED).collect();
                format!("{what} (`{answer}` instead of `{fact}`)")
            })
            .collect()
    }
}

impl BetterScores {
    fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
        }
    }
}

/// A name without quotes and blanks around it, in lower case.
fn plain(name: &str) -> String {
    let quotes = |c: char| c.is_whitespace() || matches!(c, '`' | '\'' | '"');
    name.trim_matches(quotes).to_lowercase()
}

fn set(names: &[String]) -> BTreeSet<String> {
    names.iter().map(|name| plain(name)).collect()
}

/// Whether a text is the name of this metric, or holds it and no other one.
fn names_metric(text: &str, metric: Metric) -> bool {
    let text = text.to_lowercase();
    let letters =
        |text: &str| -> String { text.chars().filter(char::is_ascii_alphanumeric).collect() };
    if letters(&text) == letters(metric.name()) {
        return true;
    }
    let words: BTreeSet<&str> =
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    let named = Metric::ALL.into_iter().filter(|metric| words.contains(metric.name()));
    named.eq([metric])
}

/// The names of the classes or labels; empty where there are none.
fn class_names(prediction: &Prediction) -> &[String] {
    match prediction {
        Prediction::Label { classes, .. }
        | Prediction::ClassProbabilities { classes, .. }
        | Prediction::Boxes { classes, .. } => classes,
        Prediction::Flags { labels, .. } => labels,
        Prediction::Probabilities { columns } => columns,
        Prediction::Number { .. }
        | Prediction::Numbers { .. }
        | Prediction::Quantiles { .. }
        | Prediction::Probability { .. }
        | Prediction::Relevance { .. }
        | Prediction::Mask { .. }
        | Prediction::Pixels { .. }
        | Prediction::Text { .. }
        | Prediction::Ids { .. } => &[],
    }
}

/// Whether these are the classes of a task. Where what is predicted has no names, 0 and 1 or the
/// grades of a ranking may be taken for classes.
fn has_classes(answer: &[String], prediction: &Prediction) -> bool {
    let answer = set(answer);
    let numbers = || answer.iter().all(|class| class.parse::<f64>().is_ok());
    match prediction {
        Prediction::Label { .. }
        | Prediction::ClassProbabilities { .. }
        | Prediction::Boxes { .. }
        | Prediction::Flags { .. } => answer == set(class_names(prediction)),
        Prediction::Probabilities { columns } => answer == set(columns) || numbers(),
        _ => numbers(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page;
    use crate::page::rendered_task::RenderedTask;
    use crate::spec::mix::Cell;
    use crate::spec::scenario;

    fn facts(task: &RenderedTask) -> PageFacts {
        PageFacts::new(&task.blueprint, &task.scenario, &scenario::all().unwrap())
    }

    /// What a careful reader answers.
    fn right(facts: &PageFacts) -> PageReading {
        let lower = facts.metric.direction() == Direction::LowerIsBetter;
        PageReading {
            target_columns: facts.target_columns.clone(),
            metric: facts.metric.to_string(),
            better: if lower { BetterScores::Lower } else { BetterScores::Higher },
            id_column: facts.id_column.clone(),
            test_rows: facts.test_rows as u64,
            example_file: EXAMPLE_FILE.to_owned(),
            classes: class_names(&facts.prediction).to_vec(),
            row: facts.row,
        }
    }

    #[test]
    fn page_of_every_kind_holds_all_answers_and_right_ones_pass() {
        for cell in Cell::all() {
            let task = RenderedTask::new(cell, 1);
            let facts = facts(&task);
            let page = page::builtin(&task.blueprint, &task.scenario, &task.assets);
            let names = facts.target_columns.iter().chain(class_names(&facts.prediction));
            for text in names.chain([&facts.id_column, &facts.test_rows.to_string()]) {
                assert!(page.contains(text), "{cell}: {text}");
            }
            let options: BTreeSet<&String> = facts.rows.iter().collect();
            assert_eq!(options.len(), LETTERS.len(), "{cell}: {options:?}");
            let asked = question(&page, &facts);
            assert_eq!(asked, question(&page, &self::facts(&task)));
            assert!(asked.prompt.contains(page.trim_end()), "{cell}");
            for row in &facts.rows {
                assert!(asked.prompt.contains(&format!(": {row}\n")), "{cell}: {row}");
            }
            let answer = serde_json::to_string(&right(&facts)).unwrap();
            parse(&answer).unwrap().check(&facts).unwrap();
        }
    }

    #[test]
    fn right_option_stands_at_every_place_and_shares_no_word_with_others() {
        let mut places = BTreeSet::new();
        for index in 0..24 {
            let facts = facts(&RenderedTask::new("tabular/binary".parse().unwrap(), index));
            let right = content_words(&facts.rows[facts.row as usize]);
            places.insert(facts.row as usize);
            let others = facts.rows.iter().enumerate();
            for (_, row) in others.filter(|(place, _)| *place != facts.row as usize) {
                assert!(content_words(row).is_disjoint(&right), "{:?}", facts.rows);
            }
        }
        assert_eq!(places.len(), LETTERS.len());
    }

    #[test]
    fn answers_in_other_letters_quotes_and_orders_pass() {
        let task = RenderedTask::new("tabular/multilabel".parse().unwrap(), 0);
        let facts = PageFacts { metric: Metric::MacroF1, ..facts(&task) };
        let careless = PageReading {
            target_columns: facts.target_columns.iter().rev().map(|n| format!("`{n}` ")).collect(),
            id_column: format!("\"{}\"", facts.id_column.to_uppercase()),
            example_file: format!("public/{EXAMPLE_FILE}"),
            classes: class_names(&facts.prediction).iter().rev().cloned().collect(),
            ..right(&facts)
        };
        for metric in ["macro_f1", "`Macro_F1` (higher is better)", "Macro-F1", "macro f1"] {
            PageReading { metric: metric.to_owned(), ..careless.clone() }.check(&facts).unwrap();
        }
    }

    #[test]
    fn every_wrong_answer_is_named_with_the_fact() {
        let facts = facts(&RenderedTask::new("tabular/multiclass".parse().unwrap(), 0));
        let facts = PageFacts { metric: Metric::MacroF1, ..facts };
        let right = right(&facts);
        let other = LETTERS.into_iter().find(|letter| *letter != facts.row).unwrap();
        let text = |text: &str| text.to_owned();
        let cases = [
            ("the target columns", PageReading { target_columns: vec![], ..right.clone() }),
            ("the metric", PageReading { metric: text("f1"), ..right.clone() }),
            ("the metric", PageReading { metric: text("macro_f1, accuracy"), ..right.clone() }),
            (
                "which scores are better (`lower` instead of `higher`)",
                PageReading { better: BetterScores::Lower, ..right.clone() },
            ),
            (
                "the id column (`row\\nid`",
                PageReading { id_column: text("row\nid"), ..right.clone() },
            ),
            ("the number of test rows (`7`", PageReading { test_rows: 7, ..right.clone() }),
            (
                "the file that shows",
                PageReading { example_file: text("answer.csv"), ..right.clone() },
            ),
            ("the classes (`1`", PageReading { classes: vec![text("1")], ..right.clone() }),
            ("what a row is", PageReading { row: other, ..right.clone() }),
        ];
        for (named, reading) in cases {
            let refusal = reading.check(&facts).unwrap_err();
            assert!(
                refusal.code == UNCLEAR && refusal.detail.contains(named),
                "{named}: {refusal}"
            );
            assert_eq!(reading.wrong(&facts).len(), 1, "{refusal}");
        }
        right.check(&facts).unwrap();
    }

    #[test]
    fn answer_of_another_form_is_refused() {
        let task = RenderedTask::new("tabular/binary".parse().unwrap(), 0);
        let answer = serde_json::to_string(&right(&facts(&task))).unwrap();
        for (from, to) in [("\"metric\"", "\"measure\""), ("higher", "up"), ("lower", "down")] {
            if answer.contains(from) {
                assert_eq!(parse(&answer.replace(from, to)).unwrap_err().code, "judge_schema");
            }
        }
        assert_eq!(parse("It is clear.").unwrap_err().code, "judge_schema");
    }

    #[test]
    fn numbers_may_be_taken_for_classes_where_there_are_none() {
        let column = || "y".to_owned();
        let answer = |classes: &[&str]| classes.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>();
        let probability = Prediction::Probability { column: column() };
        let number = Prediction::Number { column: column() };
        assert!(has_classes(&[], &probability) && has_classes(&answer(&["0", "1"]), &probability));
        assert!(has_classes(&[], &number) && !has_classes(&answer(&["low", "high"]), &number));
        let label = Prediction::Label { column: column(), classes: answer(&["high", "low"]) };
        assert!(has_classes(&answer(&["Low", "high"]), &label) && !has_classes(&[], &label));
    }

    #[test]
    fn judge_prompt_snapshot() {
        let facts = facts(&RenderedTask::new("tabular/binary".parse().unwrap(), 0));
        insta::assert_snapshot!(question("# A page\n\nIts text.\n", &facts).prompt);
    }
}
