//! What the scripted engineer reads in a prompt: its sections, and what is asked for, from the
//! description's `At a glance` list.

use super::super::prompt::title;
use crate::fence::sections;
use crate::knowledge::Slot;
use crate::run::job::AutoMindJob;
use crate::scaffold::items::ItemKind;
use llm::Message;
use tasks::description::glance;

/// What a submission has for each row, from the form that a description names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Number,
    Probability,
    Label,
    ClassProbabilities,
    Numbers,
    Quantiles,
    Probabilities,
    Flags,
    Relevance,
    Mask,
    Boxes,
    Pixels,
    Text,
    Ids,
    /// The page does not say: the script looks at the tables.
    Unknown,
}

impl Form {
    fn from_words(words: &str) -> Self {
        match words {
            "number" => Self::Number,
            "probability of class 1" => Self::Probability,
            "label" => Self::Label,
            "one probability column per class" => Self::ClassProbabilities,
            "a number each" => Self::Numbers,
            "three quantiles" => Self::Quantiles,
            "a probability each" => Self::Probabilities,
            "the labels that hold" => Self::Flags,
            "a score to rank by" => Self::Relevance,
            "a mask" => Self::Mask,
            "boxes" => Self::Boxes,
            "an image" => Self::Pixels,
            "a text" => Self::Text,
            "identifiers" => Self::Ids,
            _ => Self::Unknown,
        }
    }

    /// Whether a model of classes is fitted.
    pub(super) fn is_class(self) -> bool {
        matches!(
            self,
            Self::Probability
                | Self::Label
                | Self::ClassProbabilities
                | Self::Probabilities
                | Self::Flags
        )
    }

    /// Whether several targets are predicted.
    pub(super) fn is_several(self) -> bool {
        matches!(self, Self::Numbers | Self::Probabilities | Self::Flags)
    }
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) form: Form,
    /// The kind of the task, such as `forecasting`; empty if the page does not say.
    pub(super) task: String,
    /// The name of the metric; empty if the page does not say.
    pub(super) metric: String,
    /// Whether larger metrics are better.
    pub(super) higher: bool,
    /// What rows have besides columns.
    pub(super) item: Option<ItemKind>,
    /// Whether the answers of training rows stand in the names of their files.
    pub(super) in_names: bool,
}

impl Reading {
    /// Of a description, for a metric that is better the higher it is, or the lower.
    pub(super) fn of_page(page: &str, higher: bool) -> Self {
        let list = glance(page).unwrap_or_default();
        let value = |name: &str| {
            list.lines()
                .find_map(|line| line.strip_prefix("- ")?.strip_prefix(name)?.strip_prefix(": "))
        };
        let target = value("Target").unwrap_or_default();
        let form = target.rsplit_once('(').map_or("", |(_, form)| form.trim_end_matches(')'));
        let metric = value("Metric").unwrap_or_default();
        Self {
            form: Form::from_words(form),
            task: value("Task").unwrap_or_default().to_owned(),
            metric: metric.split(' ').next().unwrap_or_default().to_owned(),
            higher,
            item: value("Data").and_then(ItemKind::from_data),
            in_names: target.contains(" in the names of training files"),
        }
    }

    /// Whether positions of sequences have answers.
    pub(super) fn has_positions(&self) -> bool {
        self.task.contains("per position")
    }

    /// Whether its answers are no columns that a model of tables predicts.
    pub(super) fn is_drawn(&self) -> bool {
        self.has_positions()
            || matches!(self.form, Form::Mask | Form::Boxes | Form::Pixels | Form::Text | Form::Ids)
    }

    /// Whether a snippet of `slot` has a place in its scripts.
    pub(super) fn takes(&self, slot: Slot) -> bool {
        match slot {
            Slot::Draw => self.is_drawn() || self.form == Form::Quantiles,
            Slot::Read => !self.is_drawn() && self.item.is_some(),
            Slot::Target => {
                matches!(self.form, Form::Number | Form::Numbers | Form::Relevance)
            }
            Slot::Clean | Slot::Features | Slot::Model | Slot::Post => !self.is_drawn(),
        }
    }
}

/// A prompt, taken apart.
#[derive(Debug)]
pub(super) struct ReadPrompt {
    /// Its job, as its first line says.
    pub(super) job: AutoMindJob,
    sections: Vec<(String, String)>,
    pub(super) reading: Reading,
}

impl ReadPrompt {
    /// `None` for a prompt that is not one of ours.
    pub(super) fn new(messages: &[Message]) -> Option<Self> {
        let [system, user, ..] = messages else { return None };
        let job = system.content.lines().next()?.strip_prefix("job: ")?;
        let job = AutoMindJob::from_name(job.trim())?;
        let sections = sections(&user.content);
        let page = sections.iter().find(|(name, _)| name == title::TASK);
        let higher = system.content.contains("Higher is better.");
        let reading = Reading::of_page(page.map_or("", |(_, page)| page), higher);
        Some(Self { job, sections, reading })
    }

    /// The last section of that title; empty without one.
    pub(super) fn section(&self, title: &str) -> &str {
        let found = self.sections.iter().rev().find(|(name, _)| name == title);
        found.map_or("", |(_, text)| text.as_str())
    }
}
