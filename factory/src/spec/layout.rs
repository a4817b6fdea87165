//! What a row of a task is, and what belongs to that kind of row alone.

use crate::media::audio::Source;
use crate::media::graph::nodes::Knit;
use crate::media::image::Subject;
use crate::media::text::Genre;
use crate::media::{Format, MediumKind, Storage};
use crate::spec::challenge::ChallengeLayout;
use crate::spec::generated::GeneratedLayout;
use crate::spec::scenario::{NumberColumn, WordColumn};
use crate::spec::scene::SceneLayout;
use serde::{Deserialize, Serialize};

/// What a row is. A task has exactly one layout.
#[derive(Debug, Clone, PartialEq)]
pub enum Layout {
    /// Independent rows, each with at most one item.
    Rows(RowLayout),
    /// Rows that answer queries.
    Ranking(RankingLayout),
    /// Steps of several series.
    Series(SeriesSpec),
    /// Nodes of one network.
    Nodes(NetworkLayout),
    /// Pictures, with a mask, boxes or a better picture to be predicted.
    Vision(SceneLayout),
    /// Rows whose answer has a form of its own and comes from no scored rule.
    Challenge(ChallengeLayout),
    /// Independent rows that a generator draws.
    Generated(GeneratedLayout),
}

/// The layout of a task whose rows are independent of each other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowLayout {
    /// The item that each row has; none where its columns are all.
    pub item: Option<ItemLayout>,
}

/// Rows that answer queries.
#[derive(Debug, Clone, PartialEq)]
pub struct RankingLayout {
    /// How rows are grouped into queries.
    pub queries: QueryLayout,
    /// The item that each row has; none where its columns are all.
    pub item: Option<ItemLayout>,
}

/// The layout of a task about time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesSpec {
    /// The series column and the series' names.
    pub series: WordColumn,
    /// The time column, counting from 1.
    pub step: String,
    /// The position in the season, counting from 0.
    pub season: String,
    /// Length of a season, in steps.
    pub period: usize,
    /// The column that names the regime, and its two words.
    pub regime: WordColumn,
    /// Mean number of steps that a regime lasts.
    pub regime_steps: f64,
    /// Known steps per series.
    pub train_steps: usize,
    /// Steps to forecast per series.
    pub horizon: usize,
}

/// The items of a task, which carry statistics that stand in no table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemLayout {
    /// What they are made of.
    pub medium: MediumKind,
    /// What they are written as.
    pub format: Format,
    /// The column that holds them or the names of their files.
    pub column: String,
    /// The hidden columns, in the medium's order, named `<column>.<statistic>`.
    pub statistics: Vec<NumberColumn>,
    /// Words of the story's trade.
    pub vocabulary: Vec<String>,
    /// What scenes show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// What dossiers are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub genre: Option<Genre>,
    /// What is heard in soundscapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// How many samples every soundscape has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// Where the answers of training rows stand.
    #[serde(default, skip_serializing_if = "Labels::are_in_a_column")]
    pub labels: Labels,
}

/// Where the answers of training rows stand.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Labels {
    /// In columns of `train.csv`.
    #[default]
    Column,
    /// In the names of the files of training rows, see [`tasks::file_label`], and in no column.
    FileNames,
}

impl Labels {
    /// Whether they are where they usually are.
    fn are_in_a_column(&self) -> bool {
        *self == Self::Column
    }
}

impl ItemLayout {
    /// How the items are kept.
    pub fn storage(&self) -> Storage {
        self.medium.storage(self.format)
    }

    /// The columns of the tables that hold the items, or the names of their files.
    pub fn columns(&self) -> Vec<String> {
        match self.storage() {
            Storage::Files { .. } | Storage::Folders { .. } | Storage::Cells(1) => {
                vec![self.column.clone()]
            }
            Storage::Cells(count) => {
                let name = |suffix: char| format!("{}_{suffix}", self.column);
                ('a'..='z').take(count).map(name).collect()
            }
        }
    }
}

/// Rows that answer queries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryLayout {
    /// The column that names the query.
    pub column: String,
    /// Number of rows of each query.
    pub rows: usize,
    /// Number columns that belong to the query: all its rows have the same value.
    pub own: Vec<String>,
}

/// The network that joins the rows of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkLayout {
    /// How it is knit.
    pub knit: Knit,
    /// Number columns whose means over a row's neighbours are hidden columns.
    pub near: Vec<String>,
    /// Number columns in which the rows of a community resemble each other.
    pub kindred: Vec<String>,
}

/// The end of the name of a hidden column with means over neighbours.
const NEAR: &str = ".near";

impl NetworkLayout {
    /// Hidden columns of every network: a row's number of links, and the mean of its
    /// neighbours' numbers.
    pub const STRUCTURE: [&str; 2] = ["node.degree", "node.near_degree"];

    /// Whether the name is that of a hidden column with means over neighbours.
    pub fn is_hidden(name: &str) -> bool {
        name.strip_suffix(NEAR).is_some()
    }

    /// The name of the hidden column that holds the neighbours' means of `column`.
    pub fn hidden(column: &str) -> String {
        format!("{column}{NEAR}")
    }
}
