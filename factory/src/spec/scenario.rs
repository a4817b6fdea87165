//! Scenarios: the stories that justify a task's columns and target, by domain.
//!
//! They are data, in `factory/scenarios/<domain>.toml`, embedded in the binary. A table
//! scenario serves binary, graded and numeric targets, or graded ones alone where its rows are
//! the nodes of a network; a series scenario serves forecasting.

use crate::media::MediumKind;
use crate::spec::embedded;
use crate::spec::mix::Cell;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use tasks::task::{Formulation, Modality};

/// How a number column is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Every value equally likely.
    Uniform,
    /// A bell between the bounds.
    Bell,
    /// A bell on a logarithmic axis: many small values, few large ones.
    Skew,
    /// Whole numbers, small ones more often.
    Count,
}

/// A number column as a scenario describes it, written `name low high shape decimals`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NumberColumn {
    /// Name of the column in the tables.
    pub name: String,
    /// Smallest value that is drawn.
    pub low: f64,
    /// Largest value that is drawn.
    pub high: f64,
    /// Distribution of values between `low` and `high`.
    pub shape: Shape,
    /// Digits after the point.
    pub decimals: usize,
}

impl FromStr for NumberColumn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not `name low high u|b|s|c decimals`");
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [name, low, high, shape, decimals] = parts[..] else { return Err(wrong()) };
        let column = Self {
            name: name.to_owned(),
            low: low.parse().map_err(|_| wrong())?,
            high: high.parse().map_err(|_| wrong())?,
            shape: match shape {
                "u" => Shape::Uniform,
                "b" => Shape::Bell,
                "s" => Shape::Skew,
                "c" => Shape::Count,
                _ => return Err(wrong()),
            },
            decimals: decimals.parse().map_err(|_| wrong())?,
        };
        let skew_from_zero = column.shape == Shape::Skew && column.low <= 0.0;
        if column.low >= column.high || skew_from_zero {
            return Err(format!("`{text}`: bounds must increase, and be positive for `s`"));
        }
        Ok(column)
    }
}

impl TryFrom<String> for NumberColumn {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<NumberColumn> for String {
    fn from(column: NumberColumn) -> Self {
        let shape = match column.shape {
            Shape::Uniform => 'u',
            Shape::Bell => 'b',
            Shape::Skew => 's',
            Shape::Count => 'c',
        };
        let NumberColumn { name, low, high, decimals, .. } = column;
        format!("{name} {low} {high} {shape} {decimals}")
    }
}

/// A word column, written `name: word word word`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WordColumn {
    /// Name of the column in the tables.
    pub name: String,
    /// All words that can occur; for grades, from low to high.
    pub words: Vec<String>,
}

impl TryFrom<String> for WordColumn {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not `name: word word ...` with two words or more");
        let (name, words) = text.split_once(": ").ok_or_else(wrong)?;
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        if words.len() < 2 {
            return Err(wrong());
        }
        Ok(Self { name: name.to_owned(), words })
    }
}

impl From<WordColumn> for String {
    fn from(column: WordColumn) -> Self {
        format!("{}: {}", column.name, column.words.join(" "))
    }
}

/// A binary target: its column and what `1` means.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinaryTarget {
    /// Name of the target's column.
    pub name: String,
    /// What the class 1 stands for.
    pub means: String,
}

/// A numeric target with its natural range.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberTarget {
    /// Name of the target's column.
    pub name: String,
    /// A typical low value, in the target's unit.
    pub low: f64,
    /// A typical high value, in the target's unit.
    pub high: f64,
    /// Digits after the point.
    pub decimals: usize,
    /// What the target measures, in words.
    pub means: String,
}

/// A story about rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableScenario {
    /// Its name, unique over all domains.
    pub key: String,
    /// Heading of the task's description page.
    pub title: String,
    /// What one row is.
    pub row: String,
    /// Name of the id column.
    pub id: String,
    /// Two sentences of background.
    pub story: String,
    /// Number columns that a task can have.
    pub numbers: Vec<NumberColumn>,
    /// Word columns that a task can have.
    pub words: Vec<WordColumn>,
    /// The target of binary tasks.
    pub binary: BinaryTarget,
    /// The target of multiclass tasks, classes from low to high.
    pub graded: WordColumn,
    /// The target of regression tasks.
    pub number: NumberTarget,
    /// The targets of multilabel tasks; none if the story has no such question.
    #[serde(default)]
    pub labels: Vec<BinaryTarget>,
    /// The targets of multi-target tasks; none if the story has no such question.
    #[serde(default)]
    pub targets: Vec<NumberTarget>,
    /// What ranking tasks order, if the story has such a question.
    pub ranking: Option<RankingTarget>,
    /// What each row comes with beside its columns.
    pub item: Option<ItemSpec>,
    /// What joins the rows, if they are the nodes of one network.
    pub network: Option<NetworkSpec>,
}

/// How a story describes the links between rows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// What a link stands for, such as `two patients who shared a ward`.
    pub shows: String,
}

/// The target of ranking tasks, which ask for the order of rows within each query.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankingTarget {
    /// The column that names the query, such as `session`.
    pub query: String,
    /// The column of the grade, from 0 (useless) to 3 (best).
    pub name: String,
    /// What a high grade means.
    pub means: String,
}

/// An item per row: a picture, a sound, a text, a graph.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemSpec {
    /// What it is made of.
    pub medium: MediumKind,
    /// The column that holds it, or the name of its file.
    pub column: String,
    /// What it is and how it came about, such as `a photo of the bolt of cloth under side
    /// light`.
    pub shows: String,
    /// Words of the trade, for media that need some.
    #[serde(default)]
    pub vocabulary: Vec<String>,
}

/// A story about series.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesScenario {
    /// Its name, unique over all domains.
    pub key: String,
    /// Heading of the task's description page.
    pub title: String,
    /// Two sentences of background.
    pub story: String,
    /// The series column and the names of the series.
    pub series: WordColumn,
    /// The time column: whole steps.
    pub step: String,
    /// The position in the season, and its length.
    pub season: String,
    /// Length of a season, in steps.
    pub period: usize,
    /// Drivers that are known ahead.
    pub drivers: Vec<NumberColumn>,
    /// The column that names the regime, known ahead.
    pub regime: WordColumn,
    /// The number column that is forecast.
    pub target: NumberTarget,
}

/// A story about pictures whose truth is a mask, boxes or a better picture.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SceneScenario {
    /// Its name, unique over all domains.
    pub key: String,
    /// Heading of the task's description page.
    pub title: String,
    /// What one row is.
    pub row: String,
    /// Name of the id column.
    pub id: String,
    /// Two sentences of background.
    pub story: String,
    /// The kind of prediction: a scene serves one.
    pub formulation: Formulation,
    /// The column that names the pictures' files.
    pub column: String,
    /// What the pictures are and how they came about.
    pub shows: String,
    /// The column of the truth.
    pub target: String,
    /// What the mask, the boxes or the clean picture stand for.
    pub means: String,
    /// The classes of boxes, one to three.
    #[serde(default)]
    pub classes: Vec<String>,
}

/// A story of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Story {
    /// A table whose rows are independent or nodes of one network.
    Table(Box<TableScenario>),
    /// Several series over time.
    Series(Box<SeriesScenario>),
    /// Pictures with masks, boxes or clean copies.
    Scene(Box<SceneScenario>),
}

impl Story {
    /// The sentences that open a page.
    pub fn text(&self) -> &str {
        match self {
            Self::Table(story) => &story.story,
            Self::Series(story) => &story.story,
            Self::Scene(story) => &story.story,
        }
    }
}

/// A story within its domain.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Name of the domain, such as `healthcare`.
    pub domain: String,
    /// The story that gives columns and target their meaning.
    pub story: Story,
}

impl Scenario {
    /// The story's name, unique over all domains.
    pub fn key(&self) -> &str {
        match &self.story {
            Story::Table(story) => &story.key,
            Story::Series(story) => &story.key,
            Story::Scene(story) => &story.key,
        }
    }

    /// Whether it can tell tasks of this kind.
    pub fn serves(&self, cell: Cell) -> bool {
        let story = match &self.story {
            Story::Series(_) => {
                return cell.modality == Modality::TimeSeries
                    && cell.formulation == Formulation::Forecasting;
            }
            Story::Scene(story) => {
                return cell.modality == Modality::Image && cell.formulation == story.formulation;
            }
            Story::Table(story) => story,
        };
        let pair = story.item.as_ref().is_some_and(|item| item.medium == MediumKind::Pair);
        if pair || cell.formulation == Formulation::Matching {
            return pair
                && cell.modality == Modality::Text
                && cell.formulation == Formulation::Matching;
        }
        // A graph per row answers yes or no or with a number, one graph of all rows with a class.
        let nodes = cell.modality == Modality::Graph && cell.formulation == Formulation::Multiclass;
        if nodes || story.network.is_some() {
            return nodes && story.network.is_some();
        }
        let data = match &story.item {
            None => cell.modality == Modality::Tabular,
            Some(item) => {
                cell.modality == item.medium.modality() || cell.modality == Modality::Multimodal
            }
        };
        let question = match cell.formulation {
            Formulation::Binary | Formulation::Multiclass | Formulation::Regression => true,
            Formulation::Multilabel => !story.labels.is_empty(),
            Formulation::MultiTarget => !story.targets.is_empty(),
            Formulation::Ranking => story.ranking.is_some(),
            _ => false,
        };
        data && question
    }
}

/// The content of one scenario file: all stories of a domain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DomainFile {
    #[serde(default)]
    table: Vec<TableScenario>,
    #[serde(default)]
    series: Vec<SeriesScenario>,
    #[serde(default)]
    scene: Vec<SceneScenario>,
}

/// Why the embedded scenarios could not be read: a fault of this crate, which its tests find.
#[derive(Debug, thiserror::Error)]
#[error("failed to parse the scenarios `{file}`\n{message}")]
pub struct ScenarioError {
    /// Name of the embedded file.
    file: String,
    /// Line, column and key.
    message: String,
}

/// All scenarios, in order of domain and file.
///
/// # Errors
/// [`ScenarioError`] if one is malformed.
pub fn all() -> Result<Vec<Scenario>, ScenarioError> {
    let mut scenarios = Vec::new();
    for (file, text) in embedded::SCENARIOS {
        let domain = file.trim_end_matches(".toml").to_owned();
        let parsed: DomainFile = toml::from_str(text)
            .map_err(|error| ScenarioError { file: file.to_owned(), message: error.to_string() })?;
        let tables = parsed.table.into_iter().map(|story| Story::Table(Box::new(story)));
        let series = parsed.series.into_iter().map(|story| Story::Series(Box::new(story)));
        let scenes = parsed.scene.into_iter().map(|story| Story::Scene(Box::new(story)));
        scenarios.extend(
            tables
                .chain(series)
                .chain(scenes)
                .map(|story| Scenario { domain: domain.clone(), story }),
        );
    }
    Ok(scenarios)
}

/// The domains of the stories, sorted.
pub fn domains(stories: &[Scenario]) -> Vec<String> {
    let mut domains: Vec<String> = stories.iter().map(|story| story.domain.clone()).collect();
    domains.sort();
    domains.dedup();
    domains
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn plain(name: &str) -> bool {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    }

    #[test]
    fn there_are_enough_scenarios_over_enough_domains() {
        let scenarios = all().unwrap();
        let domains: BTreeSet<&str> = scenarios.iter().map(|s| s.domain.as_str()).collect();
        let keys: BTreeSet<&str> = scenarios.iter().map(Scenario::key).collect();
        assert!(scenarios.len() >= 60, "{}", scenarios.len());
        assert!(domains.len() >= 12, "{domains:?}");
        assert_eq!(keys.len(), scenarios.len(), "keys are unique");
        for cell in Cell::all() {
            let count = scenarios.iter().filter(|story| story.serves(cell)).count();
            assert!(count >= 8, "{cell}: {count}");
        }
    }

    #[test]
    fn networks_are_told_of_in_many_domains_and_serve_nodes_alone() {
        let nodes: Cell = "graph/multiclass".parse().unwrap();
        let scenarios = all().unwrap();
        let network = |scenario: &&Scenario| match &scenario.story {
            Story::Table(story) => story.network.is_some(),
            _ => false,
        };
        let told: Vec<&Scenario> = scenarios.iter().filter(network).collect();
        let domains: BTreeSet<&str> = told.iter().map(|story| story.domain.as_str()).collect();
        assert!(told.len() >= 12 && domains.len() >= 8, "{} over {domains:?}", told.len());
        for cell in Cell::all() {
            let serving = told.iter().filter(|story| story.serves(cell)).count();
            assert_eq!(serving, if cell == nodes { told.len() } else { 0 }, "{cell}");
        }
        let all = scenarios.iter().filter(|story| story.serves(nodes)).count();
        assert_eq!(all, told.len(), "a graph per row has no class");
    }

    #[test]
    fn every_scenario_is_well_formed() {
        for scenario in all().unwrap() {
            let key = scenario.key();
            let (mut columns, mut words, title) = match &scenario.story {
                Story::Table(story) => {
                    let least = match (&story.item, &story.network) {
                        (Some(_), _) => 4,
                        (_, Some(_)) => 6,
                        _ => 7,
                    };
                    assert!(story.item.is_none() || story.network.is_none(), "{key}: two layouts");
                    assert!(story.numbers.len() >= least, "{key}: number columns");
                    assert!(story.words.len() >= 2, "{key}: word columns");
                    assert!((3..=5).contains(&story.graded.words.len()), "{key}: classes");
                    let columns: Vec<&str> = story
                        .numbers
                        .iter()
                        .map(|column| column.name.as_str())
                        .chain(story.words.iter().map(|column| column.name.as_str()))
                        .chain([&*story.id, &*story.binary.name, &*story.number.name])
                        .chain([&*story.graded.name])
                        .chain(story.labels.iter().map(|target| &*target.name))
                        .chain(story.targets.iter().map(|target| &*target.name))
                        .chain(story.ranking.iter().flat_map(|r| [&*r.query, &*r.name]))
                        .chain(story.item.iter().map(|item| &*item.column))
                        .collect();
                    let words: Vec<&WordColumn> =
                        story.words.iter().chain([&story.graded]).collect();
                    (columns, words, &story.title)
                }
                Story::Series(story) => {
                    assert!(story.series.words.len() >= 6, "{key}: series");
                    assert!(story.drivers.len() >= 2, "{key}: drivers");
                    assert_eq!(story.regime.words.len(), 2, "{key}: regimes");
                    assert!((4..=12).contains(&story.period), "{key}: period");
                    let columns: Vec<&str> = story
                        .drivers
                        .iter()
                        .map(|column| column.name.as_str())
                        .chain([&*story.series.name, &*story.step, &*story.season])
                        .chain([&*story.regime.name, &*story.target.name])
                        .collect();
                    (columns, vec![&story.series, &story.regime], &story.title)
                }
                Story::Scene(story) => {
                    let boxes = story.formulation == Formulation::Detection;
                    let classes = if boxes { 1..=3 } else { 0..=0 };
                    assert!(classes.contains(&story.classes.len()), "{key}: classes");
                    assert!(story.classes.iter().all(|class| plain(class)), "{key}: classes");
                    let columns = vec![&*story.id, &*story.column, &*story.target];
                    (columns, Vec::new(), &story.title)
                }
            };
            assert!(!title.contains(',') && key.len() <= 60, "{key}");
            assert!(columns.iter().all(|name| plain(name)), "{key}: {columns:?}");
            let count = columns.len();
            columns.sort_unstable();
            columns.dedup();
            assert_eq!(columns.len(), count, "{key}: column names repeat");
            for column in words.drain(..) {
                assert!(column.words.iter().all(|word| plain(word)), "{key}: {column:?}");
            }
        }
    }
}
