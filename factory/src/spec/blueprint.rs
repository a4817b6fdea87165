//! The blueprint: everything needed to build one task, typed and versioned.
//!
//! `seed -> dna -> blueprint -> assets`. The same blueprint always builds the same bytes.

use crate::baselines::thresholds::Medals;
use crate::media::Storage;
use crate::spec::blueprint_file::BlueprintFile;
use crate::spec::challenge::{ChallengeLayout, ChallengeRule};
use crate::spec::config::Preset;
use crate::spec::dna::Dna;
use crate::spec::generated::{GeneratedLayout, GeneratorRecord};
use crate::spec::layout::{ItemLayout, Labels, Layout, NetworkLayout, QueryLayout, SeriesSpec};
use crate::spec::mix::name;
use crate::spec::mutation::Mutation;
use crate::spec::positions::Positions;
use crate::spec::rule::{Family, Rule};
use crate::spec::scenario::{Follows, NumberColumn, Scenario, Story, StoryError, WordColumn};
use crate::spec::structure::RowStructure;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use tasks::file_label;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::stream::Stream;
use tasks::task::{Formulation, Modality, RowCounts, Split, TaskId};

/// The version of [`Blueprint`] that this build writes and rebuilds. It is raised when the same
/// blueprint becomes other files: since version 9,
/// milestones of classes without an order come from forests of votes.
pub const BLUEPRINT_VERSION: u32 = 9;

/// Where a blueprint's random streams start: one per attempt at one place of one corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The `--seed` of the corpus, the root of all its random streams.
    pub corpus_seed: u64,
    /// The place in the corpus, from 0.
    pub slot: u64,
    /// The attempt at that place, from 0.
    pub attempt: u64,
}

impl Origin {
    /// The stream of one stage of the work.
    pub fn stream(&self, stage: &str) -> Stream {
        Stream::root(self.corpus_seed)
            .child("slot")
            .index(self.slot)
            .child("attempt")
            .index(self.attempt)
            .child(stage)
    }
}

/// How the strategist came from the seed's form to the task's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "derivation", rename_all = "snake_case", deny_unknown_fields)]
pub enum Derivation {
    /// The seed asks for this very kind of prediction.
    Exact,
    /// The seed's data, asked for something else.
    Reformulated {
        /// What the seed asks for.
        from: String,
        /// Why and how, in a sentence.
        how: String,
    },
}

/// A word column and how often each word occurs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordSpec {
    /// The column's name and the words that can occur in it.
    pub column: WordColumn,
    /// Relative frequency of each word.
    pub weights: Vec<f64>,
}

/// One thing to be predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its column; for labels, the label.
    pub column: String,
    /// Classes from low to high, or sorted by name where they have no order, if any.
    pub classes: Vec<String>,
    /// The formula that gives each row's noise-free score; `None` where a generator does.
    pub rule: Option<Rule>,
    /// The formulas of the axes beyond the first, which is `rule`: none but for classes without an
    /// order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<Rule>,
    /// The formula that gives how far rows lie from what the rule says; `None` where all lie equally
    /// far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Rule>,
    /// From score to target.
    pub link: Link,
}

impl Target {
    /// All of its rules: the rule, those of further axes, that of the spread.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rule.iter().chain(&self.axes).chain(&self.spread)
    }

    /// How many scores a row has for it: one per rule, and one where a generator gives it.
    pub fn scores(&self) -> usize {
        1 + self.axes.len() + usize::from(self.spread.is_some())
    }

    /// Whether its classes have no order.
    pub fn is_nominal(&self) -> bool {
        matches!(self.link, Link::Nominal { .. })
    }
}

/// From the noise-free score (mean 0, variance 1) to the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "link", rename_all = "snake_case", deny_unknown_fields)]
pub enum Link {
    /// Ordered classes: the score plus logistic noise, cut at thresholds. Two classes have
    /// one cut.
    Graded {
        /// Ascending cuts; one fewer than classes.
        cuts: Vec<f64>,
        /// Scale of the logistic noise.
        noise: f64,
    },
    /// Classes without an order: points in the space of the scores of the target's rules, its axes.
    /// The chance of class k is proportional to `weights[k]` · exp(−d² / (2 · `spread`²)), d being
    /// the row's distance from `centres[k]`.
    Nominal {
        /// Where each class lies, one coordinate per axis.
        centres: Vec<Vec<f64>>,
        /// Relative chance of each class at its centre.
        weights: Vec<f64>,
        /// Share of rows that are of each class, summing to about 1.
        shares: Vec<f64>,
        /// How far classes blur into each other, in units of scores.
        spread: f64,
    },
    /// center + scale · (score + noise · normal).
    Linear {
        /// Value at score 0.
        center: f64,
        /// Size of one score unit.
        scale: f64,
        /// Standard deviation of the noise, in score units.
        noise: f64,
        /// Digits after the point.
        decimals: usize,
    },
    /// exp(center + scale · (score + noise · normal)): positive and skewed.
    Exponential {
        /// Logarithm of the value at score 0.
        center: f64,
        /// Size of one score unit, in logarithms.
        scale: f64,
        /// Standard deviation of the noise, in score units.
        noise: f64,
        /// Digits after the point.
        decimals: usize,
    },
    /// center + scale · (score + noise · exp(growth · z) · normal), z being the score of the target's
    /// spread, held to ±[`HELD`](Link::HELD); or e to that power.
    Heteroscedastic {
        /// Value at score 0, or its logarithm.
        center: f64,
        /// Size of one score unit, or its logarithm.
        scale: f64,
        /// Standard deviation of the noise where z is 0, in score units.
        noise: f64,
        /// How fast the logarithm of the noise grows with z.
        growth: f64,
        /// Whether all of this is the logarithm of the value.
        logarithmic: bool,
        /// Digits after the point.
        decimals: usize,
    },
}

impl Link {
    /// How far from 0 the score of a spread may lie; beyond, all rows are equally unsure. Without a
    /// bound, a handful of rows would decide every score.
    pub const HELD: f64 = 1.5;
}

/// One task, before anything is drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BlueprintFile", into = "BlueprintFile")]
pub struct Blueprint {
    /// Version of the blueprint's format, [`BLUEPRINT_VERSION`] when written.
    pub version: u32,
    /// The task's name, which is also its folder's name.
    pub task: TaskId,
    /// The heading of the task's description page.
    pub title: String,
    /// Where the task's random streams start.
    pub origin: Origin,
    /// Name of the seed competition that the task descends from.
    pub seed: String,
    /// What the task takes over from the seed: data, question, traits.
    pub dna: Dna,
    /// How the task's form follows from the seed's.
    pub derivation: Derivation,
    /// Application domain of the story, such as `healthcare`.
    pub domain: String,
    /// Key of the embedded scenario that names the columns and the target, or in whose place
    /// `story` does.
    pub scenario: String,
    /// The story itself; `None` if it is the embedded one of that key.
    pub story: Option<Story>,
    /// 0 for the scenario's first use in a corpus, then 1, 2, ...
    pub variant: usize,
    /// Kind of data that the task offers.
    pub modality: Modality,
    /// Kind of prediction that the task asks for.
    pub formulation: Formulation,
    /// The metric that scores a submission.
    pub metric: Metric,
    /// Form of a submission's columns beside the id.
    pub prediction: Prediction,
    /// Name of the id column, which a submission repeats.
    pub id_column: String,
    /// Training or held out.
    pub split: Split,
    /// Numbers of training and test rows.
    pub rows: RowCounts,
    /// What the sizes were chosen for.
    pub preset: Preset,
    /// What a row is, and what belongs to that kind of row alone.
    pub layout: Layout,
    /// Number columns, in order of appearance.
    pub numbers: Vec<NumberColumn>,
    /// How number columns go together, and what they follow that is written nowhere.
    pub follows: Vec<Follows>,
    /// Word columns, in order of appearance.
    pub words: Vec<WordSpec>,
    /// How rows hang together beyond their columns.
    pub structure: RowStructure,
    /// What is predicted: one target, or several for multilabel and multi-target tasks.
    pub targets: Vec<Target>,
    /// Blemishes, in order of application.
    pub mutations: Vec<Mutation>,
}

/// Why a blueprint has no story that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlueprintStoryError {
    /// It names an embedded story that does not exist.
    #[error("there is no story `{0}`")]
    Unknown(String),
    /// Its own story is not fit for use.
    #[error("its story cannot be used: {0}")]
    Broken(#[from] StoryError),
}

impl Blueprint {
    /// The story of the task in its domain: the blueprint's own, or else the one that it names
    /// among the embedded ones.
    ///
    /// # Errors
    /// [`BlueprintStoryError`].
    pub fn scenario_among<'a>(
        &self,
        embedded: &'a [Scenario],
    ) -> Result<Cow<'a, Scenario>, BlueprintStoryError> {
        if let Some(story) = &self.story {
            story.check()?;
            let (domain, key) = (self.domain.clone(), self.scenario.clone());
            return Ok(Cow::Owned(Scenario::new(domain, key, story.clone())));
        }
        let named = embedded.iter().find(|scenario| scenario.key() == self.scenario);
        named.map(Cow::Borrowed).ok_or_else(|| BlueprintStoryError::Unknown(self.scenario.clone()))
    }

    /// The layout of the series, where rows are steps in time.
    pub fn series(&self) -> Option<&SeriesSpec> {
        match &self.layout {
            Layout::Series(series) => Some(series),
            _ => None,
        }
    }

    /// The layout of the queries, where rows answer some.
    pub fn queries(&self) -> Option<&QueryLayout> {
        match &self.layout {
            Layout::Ranking(ranking) => Some(&ranking.queries),
            _ => None,
        }
    }

    /// The layout of the items, where rows have one each.
    pub fn item(&self) -> Option<&ItemLayout> {
        match &self.layout {
            Layout::Rows(rows) => rows.item.as_ref(),
            Layout::Ranking(ranking) => ranking.item.as_ref(),
            Layout::Generated(generated) => generated.item.as_ref().map(|item| &item.layout),
            _ => None,
        }
    }

    /// Whether the answers of training rows stand in the names of their files.
    pub fn labels_in_names(&self) -> bool {
        self.item().is_some_and(|item| item.labels == Labels::FileNames)
    }

    /// Whether they can stand there: each row has a file, and its answer is one class, whose name can
    /// be a part of a file's.
    pub fn can_name_labels(&self) -> bool {
        let in_files = |item: &ItemLayout| matches!(item.storage(), Storage::Files { .. });
        let classifies = matches!(self.formulation, Formulation::Binary | Formulation::Multiclass);
        match &self.targets[..] {
            [only] => {
                classifies
                    && self.item().is_some_and(in_files)
                    && !only.classes.is_empty()
                    && only.classes.iter().all(|class| file_label::is_safe(class))
            }
            _ => false,
        }
    }

    /// Lets the answers of training rows stand in the names of their files and in no column, where they
    /// can.
    pub fn name_labels(&mut self) {
        if !self.can_name_labels() {
            return;
        }
        let item = match &mut self.layout {
            Layout::Rows(rows) => rows.item.as_mut(),
            Layout::Generated(generated) => generated.item.as_mut().map(|item| &mut item.layout),
            _ => None,
        };
        if let Some(item) = item {
            item.labels = Labels::FileNames;
        }
    }

    /// The layout of the network, where rows are its nodes.
    pub fn network(&self) -> Option<&NetworkLayout> {
        match &self.layout {
            Layout::Nodes(network) => Some(network),
            _ => None,
        }
    }

    /// The layout of the rows that a generator draws.
    pub fn generated(&self) -> Option<&GeneratedLayout> {
        match &self.layout {
            Layout::Generated(generated) => Some(generated),
            _ => None,
        }
    }

    /// The layout of the rows whose answers come from no scored rule.
    pub fn challenge(&self) -> Option<&ChallengeLayout> {
        match &self.layout {
            Layout::Challenge(layout) => Some(layout),
            _ => None,
        }
    }

    /// What answers along sequences depend on, where rows are some.
    pub fn along(&self) -> Option<&Positions> {
        match self.challenge().map(|layout| &layout.rule) {
            Some(ChallengeRule::Positions(rule)) => Some(rule),
            _ => None,
        }
    }

    /// The generator that draws the rows.
    pub fn generator(&self) -> Option<&GeneratorRecord> {
        self.generated().and_then(|generated| generated.generator.as_ref())
    }

    /// Share of labels that are drawn anew.
    pub fn label_noise(&self) -> f64 {
        let share = |mutation: &Mutation| match mutation {
            Mutation::LabelNoise { share } => Some(*share),
            _ => None,
        };
        self.mutations.iter().find_map(share).unwrap_or(0.0)
    }

    /// Share of training rows that almost repeat others, and the share of these that keep a truth
    /// of their own; `None` if no rows do.
    pub fn near_duplicates(&self) -> Option<(f64, f64)> {
        self.mutations.iter().find_map(|mutation| match mutation {
            Mutation::NearDuplicates { share, contradicting } => Some((*share, *contradicting)),
            _ => None,
        })
    }

    /// The column that names the rows' files, or their folders; none where rows have no files.
    pub fn file_column(&self) -> Option<&str> {
        let in_files = |item: &&ItemLayout| !matches!(item.storage(), Storage::Cells(_));
        match &self.layout {
            Layout::Vision(scene) => Some(&scene.column),
            _ => self.item().filter(in_files).map(|item| item.column.as_str()),
        }
    }

    /// The formulas of all targets that have one.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.targets.iter().flat_map(Target::rules)
    }

    /// The mechanism that the rules are built around.
    pub fn family(&self) -> Option<Family> {
        self.rules().next().map(|rule| rule.family)
    }

    /// What has to be discovered, as a name: how a row's records or places tell what the rules read of
    /// them, or else the mechanism that the rules are built around.
    pub fn family_name(&self) -> Option<String> {
        let reads = |of: &str| {
            let exprs = self.rules().flat_map(|rule| rule.terms.iter().map(|term| &term.expr));
            exprs.into_iter().any(|expr| expr.number_columns().contains(of))
        };
        let read = self.structure.worked_out().filter(|of| reads(of));
        let related = read.and_then(|_| self.structure.family()).map(str::to_owned);
        related.or_else(|| self.family().as_ref().map(name))
    }

    /// What has to be found out for a medal.
    pub fn medals(&self) -> Medals {
        let records = self.structure.records.as_ref();
        match self.formulation {
            Formulation::Reconstruction => Medals::Filter,
            _ if records.is_some_and(|spec| spec.relation.is_held_out()) => Medals::Records,
            _ => Medals::Transforms,
        }
    }

    /// What a row's items are made of, with what they show (`scenery of coin`), or else what rows are: `table`, `table with records`, `table with places`, `queries`, `series`, `nodes`, or a kind of scene or challenge.
    pub fn medium_name(&self) -> String {
        if let Some(item) = self.item() {
            let medium = name(&item.medium);
            return match (item.subject, item.source, item.genre) {
                (Some(subject), ..) => format!("{medium} of {}", name(&subject)),
                (None, Some(source), _) => format!("{medium} of {}", name(&source)),
                (None, None, Some(genre)) => {
                    let (register, trade) = (name(&genre.register), name(&genre.trade));
                    format!("{medium}: {register}, {trade}")
                }
                (None, None, None) => medium,
            };
        }
        match &self.layout {
            Layout::Series(_) => "series".to_owned(),
            Layout::Nodes(_) => "nodes".to_owned(),
            Layout::Vision(scene) => format!("{} scene", scene.rule.kind()),
            Layout::Challenge(challenge) => challenge.rule.kind().to_owned(),
            Layout::Ranking(_) => "queries".to_owned(),
            Layout::Rows(_) if self.structure.records.is_some() => "table with records".to_owned(),
            Layout::Rows(_) if self.structure.places.is_some() => "table with places".to_owned(),
            Layout::Rows(_) | Layout::Generated(_) => "table".to_owned(),
        }
    }

    /// The types of the terms of the rules, each once and sorted; nothing where a generator draws.
    pub fn skeletons(&self) -> Vec<String> {
        if let Layout::Vision(scene) = &self.layout {
            return vec![format!("{} scene", scene.rule.kind())];
        }
        if let Some(challenge) = self.challenge() {
            return vec![challenge.rule.skeleton()];
        }
        let skeletons: BTreeSet<String> = self.rules().map(Rule::skeleton).collect();
        skeletons.into_iter().collect()
    }

    /// All rules as formulas, one line per target; of a generator, a line per expression.
    pub fn formula(&self) -> String {
        if let Layout::Vision(layout) = &self.layout {
            return layout.rule.formula();
        }
        if let Some(challenge) = self.challenge() {
            return challenge.rule.formula();
        }
        if let Some(generator) = self.generator() {
            return generator.clauses.join("\n");
        }
        let lines = |target: &Target| {
            let line = |(axis, rule): (usize, &Rule)| match (self.targets.len(), target.axes.len())
            {
                _ if target.spread.as_ref() == Some(rule) => format!("spread: {rule}"),
                (1, 0) => rule.to_string(),
                (_, 0) => format!("{}: {rule}", target.column),
                _ => format!("{}, axis {}: {rule}", target.column, axis + 1),
            };
            target.rules().enumerate().map(line).collect::<Vec<_>>()
        };
        self.targets.iter().flat_map(lines).collect::<Vec<_>>().join("\n")
    }

    /// The hidden rules as a whole and in parts, as they would be written down.
    pub fn clauses(&self) -> Vec<String> {
        if let Layout::Vision(layout) = &self.layout {
            return layout.rule.formula().split("; ").map(str::to_owned).collect();
        }
        if let Some(challenge) = self.challenge() {
            return challenge.rule.formula().split("; ").map(str::to_owned).collect();
        }
        if let Some(generator) = self.generator() {
            return generator.clauses.clone();
        }
        let texts = |rule: &Rule| {
            let terms = rule.terms.iter().map(|term| term.expr.to_string());
            terms.chain([rule.to_string()]).collect::<Vec<_>>()
        };
        self.rules().flat_map(texts).collect()
    }

    /// A hash that two tasks share only if they ask for the same discoveries.
    pub fn rule_hash(&self) -> String {
        if let Layout::Vision(layout) = &self.layout {
            return layout.rule.canonical_hash();
        }
        if let Some(challenge) = self.challenge() {
            return challenge.rule.canonical_hash();
        }
        if let Some(generator) = self.generator() {
            return generator.rule_hash.clone();
        }
        let hashes: Vec<String> = self.rules().map(Rule::canonical_hash).collect();
        match &hashes[..] {
            [only] => only.clone(),
            several => blake3::hash(several.join("\n").as_bytes()).to_hex()[..16].to_owned(),
        }
    }

    /// Every number column that is drawn per row, written or not.
    pub fn drawn(&self) -> impl Iterator<Item = &NumberColumn> {
        self.numbers.iter().chain(self.item().into_iter().flat_map(|item| &item.statistics))
    }

    /// Strengths of the items' blemishes, by name.
    pub fn blemishes(&self) -> BTreeMap<String, f64> {
        let strength = |mutation: &Mutation| match mutation {
            Mutation::Blemish { name, strength } => Some((name.clone(), *strength)),
            _ => None,
        };
        self.mutations.iter().filter_map(strength).collect()
    }

    /// Rows per series in the whole table; 0 without time.
    pub fn block(&self) -> usize {
        self.series().map_or(0, |series| series.train_steps + series.horizon)
    }
}
