//! A story of any kind, and which kinds of tasks it can be told of.

use super::{Cause, ChallengeScenario, Follows, SceneScenario, SeriesScenario, TableScenario};
use crate::media::MediumKind;
use crate::media::audio::Source;
use crate::media::image::Subject;
use crate::spec::challenge::ChallengeRule;
use crate::spec::mix::Cell;
use serde::{Deserialize, Serialize};
use tasks::task::{Formulation, Modality};

/// A story of any kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Story {
    /// A table whose rows are independent or nodes of one network.
    Table(Box<TableScenario>),
    /// Several series over time.
    Series(Box<SeriesScenario>),
    /// Pictures with masks, boxes or clean copies.
    Scene(Box<SceneScenario>),
    /// Rows whose answer has a form of its own.
    Challenge(Box<ChallengeScenario>),
}

impl Story {
    /// The sentences that open a page.
    pub fn text(&self) -> &str {
        match self {
            Self::Table(story) => &story.story,
            Self::Series(story) => &story.story,
            Self::Scene(story) => &story.story,
            Self::Challenge(story) => &story.story,
        }
    }

    /// What moves the target of this name; empty where the story does not say.
    pub fn causes_of(&self, target: &str) -> &[Cause] {
        match self {
            Self::Table(story) => story.causes_of(target),
            Self::Series(story) => story.causes(),
            Self::Scene(_) | Self::Challenge(_) => &[],
        }
    }

    /// How number columns go together; empty where the story does not say.
    pub fn follows(&self) -> &[Follows] {
        match self {
            Self::Table(story) => &story.follows,
            Self::Series(story) => &story.follows,
            Self::Scene(_) | Self::Challenge(_) => &[],
        }
    }

    /// Heading of the description page.
    pub fn title(&self) -> &str {
        match self {
            Self::Table(story) => &story.title,
            Self::Series(story) => &story.title,
            Self::Scene(story) => &story.title,
            Self::Challenge(story) => &story.title,
        }
    }

    /// Whether it can tell tasks of this kind.
    pub fn serves(&self, cell: Cell) -> bool {
        let story = match self {
            Self::Series(_) => {
                return cell.modality == Modality::TimeSeries
                    && cell.formulation == Formulation::Forecasting;
            }
            Self::Scene(story) => {
                return cell.modality == Modality::Image && cell.formulation == story.formulation;
            }
            Self::Challenge(story) => {
                let data = ChallengeRule::modality(story.formulation);
                return data == Some(cell.modality) && cell.formulation == story.formulation;
            }
            Self::Table(story) => story,
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
            // Only tables have columns that a spread can depend on and anyone can read.
            Formulation::Quantiles => cell.modality == Modality::Tabular,
            Formulation::Multilabel => !story.labels.is_empty(),
            Formulation::MultiTarget => !story.targets.is_empty(),
            Formulation::Ranking => story.ranking.is_some(),
            _ => false,
        };
        data && question
    }
}

/// A story within its domain.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Name of the domain, such as `healthcare`.
    pub domain: String,
    /// Name of the story, unique among the embedded ones.
    key: String,
    /// The story that gives columns and target their meaning.
    pub story: Story,
}

impl Scenario {
    /// A story in a domain; `key` is the name of the story, or of the embedded one that it takes
    /// the place of.
    pub fn new(domain: String, key: String, story: Story) -> Self {
        Self { domain, key, story }
    }

    /// The story's name, unique among the embedded ones.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether it can tell tasks of this kind.
    pub fn serves(&self, cell: Cell) -> bool {
        self.story.serves(cell)
    }

    /// What its pictures show, where they are composed.
    pub fn subject(&self) -> Option<Subject> {
        let Story::Table(story) = &self.story else { return None };
        story.item.as_ref()?.subject
    }

    /// What is heard in its soundscapes.
    pub fn source(&self) -> Option<Source> {
        let Story::Table(story) = &self.story else { return None };
        story.item.as_ref()?.source
    }

    /// Whether its pictures show, or its soundscapes hold, what training tasks do not.
    pub fn shows_held_out(&self) -> bool {
        self.subject().is_some_and(|subject| Subject::HELD_OUT.contains(&subject))
            || self.source().is_some_and(|source| Source::HELD_OUT.contains(&source))
    }
}
