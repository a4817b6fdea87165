//! Stories about the rows of a table.

use super::{
    BinaryTarget, Cause, Causes, Follows, NumberColumn, NumberTarget, RankingTarget, WordColumn,
};
use crate::media::MediumKind;
use crate::media::audio::Source;
use crate::media::image::Subject;
use crate::media::text::Genre;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tasks::task::Formulation;

/// A story about rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableScenario {
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
    /// What moves the targets, each of which stands in one line; none where that is not known.
    #[serde(default)]
    pub causes: Vec<Causes>,
    /// How the number columns go together.
    #[serde(default)]
    pub follows: Vec<Follows>,
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
    /// Where rows are, if one of the number columns is a distance between two places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapSpec>,
}

impl TableScenario {
    /// Names of the targets that a question asks for.
    pub fn asked(&self, formulation: Formulation) -> Vec<&str> {
        match formulation {
            Formulation::Binary | Formulation::Matching => vec![&self.binary.name],
            Formulation::Multiclass => vec![&self.graded.name],
            Formulation::Multilabel => self.labels.iter().map(|target| &*target.name).collect(),
            Formulation::MultiTarget => self.targets.iter().map(|target| &*target.name).collect(),
            Formulation::Ranking => self.ranking.iter().map(|target| &*target.name).collect(),
            _ => vec![&self.number.name],
        }
    }

    /// What moves the target of this name; empty where the story does not say.
    pub fn causes_of(&self, target: &str) -> &[Cause] {
        causes_of(&self.causes, target)
    }

    /// What the target of this name stands for; `None` where the story does not say.
    pub fn meaning(&self, target: &str) -> Option<&str> {
        let flags = self.labels.iter().chain([&self.binary]);
        let flags = flags.map(|target| (&target.name, &target.means));
        let numbers = self.targets.iter().chain([&self.number]);
        let numbers = numbers.map(|target| (&target.name, &target.means));
        let grades = self.ranking.iter().map(|target| (&target.name, &target.means));
        let mut known = flags.chain(numbers).chain(grades);
        known.find(|(name, _)| *name == target).map(|(_, means)| means.as_str())
    }
}

/// What moves a target, among lines of causes; empty where they do not say.
pub(super) fn causes_of<'a>(causes: &'a [Causes], target: &str) -> &'a [Cause] {
    let line = causes.iter().find(|line| line.targets.iter().any(|name| name == target));
    line.map_or(&[], |line| &line.columns)
}

/// A distance that tasks can have as places on a map in its stead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MapSpec {
    /// The number column with the distance, whose name ends in `_km` or `_m`.
    pub distance: String,
    /// What the place of a row is called, such as `home`: its columns are `home_lat` and `home_lon`.
    pub here: String,
    /// What the place is called that it is so far from, such as `clinic`.
    pub there: String,
}

impl MapSpec {
    /// How many kilometres one unit of the distance is; `None` if its name has no unit.
    pub fn unit(&self) -> Option<f64> {
        match self.distance.rsplit_once('_')?.1 {
            "km" => Some(1.0),
            "m" => Some(0.001),
            _ => None,
        }
    }
}

/// How a story describes the links between rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// What a link stands for, such as `two patients who shared a ward`.
    pub shows: String,
}

/// An item per row: a picture, a sound, a text, a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ItemSpec {
    /// What it is made of: `surface`, `objects` or `scenery` (pictures), `recording` or
    /// `soundscape` (sounds), `report`, `dossier` or `pair` (texts), `network`.
    #[schemars(with = "String")]
    pub medium: MediumKind,
    /// The column that holds it, or the name of its file.
    pub column: String,
    /// What it is and how it came about, such as `a photo of the bolt of cloth under side
    /// light`.
    pub shows: String,
    /// Nouns of the trade, for items of text; none for others.
    #[serde(default)]
    pub vocabulary: Vec<String>,
    /// What a picture of the medium `scenery` shows; nothing for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// The trade and the kind of papers of the medium `dossier`; nothing for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub genre: Option<Genre>,
    /// What is heard in the medium `soundscape`; nothing for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}
