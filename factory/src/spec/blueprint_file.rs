//! `blueprint.json`: a blueprint as it is written.
//!
//! The file has a field for each layout, all but one of them null. Reading refuses layouts that
//! exclude each other. The fields `story`, `challenge` and `generated` are there only if the story is
//! not an embedded one, if answers come from no scored rule, and if a generator draws the rows.

use crate::spec::blueprint::{Blueprint, Derivation, Origin, Target, WordSpec};
use crate::spec::challenge::ChallengeLayout;
use crate::spec::config::Preset;
use crate::spec::dna::Dna;
use crate::spec::generated::GeneratedLayout;
use crate::spec::layout::{
    ItemLayout, Layout, NetworkLayout, QueryLayout, RankingLayout, RowLayout, SeriesSpec,
};
use crate::spec::mutation::Mutation;
use crate::spec::scenario::{Follows, NumberColumn, Story};
use crate::spec::scene::SceneLayout;
use crate::spec::structure::RowStructure;
use serde::{Deserialize, Serialize};
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::{Formulation, Modality, RowCounts, Split, TaskId};

/// The fields of `blueprint.json`, in the order in which they are written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlueprintFile {
    version: u32,
    task: TaskId,
    title: String,
    origin: Origin,
    seed: String,
    dna: Dna,
    derivation: Derivation,
    domain: String,
    scenario: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    story: Option<Story>,
    variant: usize,
    modality: Modality,
    formulation: Formulation,
    metric: Metric,
    prediction: Prediction,
    id_column: String,
    split: Split,
    rows: RowCounts,
    preset: Preset,
    series: Option<SeriesSpec>,
    queries: Option<QueryLayout>,
    item: Option<ItemLayout>,
    scene: Option<SceneLayout>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    challenge: Option<ChallengeLayout>,
    network: Option<NetworkLayout>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generated: Option<GeneratedLayout>,
    numbers: Vec<NumberColumn>,
    follows: Vec<Follows>,
    words: Vec<WordSpec>,
    #[serde(default, skip_serializing_if = "RowStructure::is_empty")]
    structure: RowStructure,
    targets: Vec<Target>,
    mutations: Vec<Mutation>,
}

/// Why a file is no blueprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BlueprintFileError {
    /// The file has two layouts that exclude each other.
    #[error(
        "at most one of `series`, `scene`, `challenge`, `network`, `generated` and rows with `queries` or `item` may be set"
    )]
    SeveralLayouts,
    /// Answers stand in the names of files that have none, or are no classes with plain names.
    #[error(
        "`labels` may be `file_names` only where each row has a file and its answer is one class with a plain name"
    )]
    Labels,
}

impl TryFrom<BlueprintFile> for Blueprint {
    type Error = BlueprintFileError;

    fn try_from(file: BlueprintFile) -> Result<Self, BlueprintFileError> {
        let BlueprintFile { series, queries, item, scene, challenge, network, generated, .. } =
            file;
        let layout = match (series, queries, item, scene, network, generated) {
            (None, None, None, None, None, None) if challenge.is_some() => {
                Layout::Challenge(challenge.ok_or(BlueprintFileError::SeveralLayouts)?)
            }
            _ if challenge.is_some() => return Err(BlueprintFileError::SeveralLayouts),
            (None, None, item, None, None, None) => Layout::Rows(RowLayout { item }),
            (None, Some(queries), item, None, None, None) => {
                Layout::Ranking(RankingLayout { queries, item })
            }
            (Some(series), None, None, None, None, None) => Layout::Series(series),
            (None, None, None, Some(scene), None, None) => Layout::Vision(scene),
            (None, None, None, None, Some(network), None) => Layout::Nodes(network),
            (None, None, None, None, None, Some(generated)) => Layout::Generated(generated),
            _ => return Err(BlueprintFileError::SeveralLayouts),
        };
        let blueprint = Self {
            version: file.version,
            task: file.task,
            title: file.title,
            origin: file.origin,
            seed: file.seed,
            dna: file.dna,
            derivation: file.derivation,
            domain: file.domain,
            scenario: file.scenario,
            story: file.story,
            variant: file.variant,
            modality: file.modality,
            formulation: file.formulation,
            metric: file.metric,
            prediction: file.prediction,
            id_column: file.id_column,
            split: file.split,
            rows: file.rows,
            preset: file.preset,
            layout,
            numbers: file.numbers,
            follows: file.follows,
            words: file.words,
            structure: file.structure,
            targets: file.targets,
            mutations: file.mutations,
        };
        if blueprint.labels_in_names() && !blueprint.can_name_labels() {
            return Err(BlueprintFileError::Labels);
        }
        Ok(blueprint)
    }
}

impl From<Blueprint> for BlueprintFile {
    fn from(blueprint: Blueprint) -> Self {
        let (mut series, mut queries, mut item) = (None, None, None);
        let (mut scene, mut challenge, mut network, mut generated) = (None, None, None, None);
        match blueprint.layout {
            Layout::Rows(rows) => item = rows.item,
            Layout::Ranking(ranking) => {
                queries = Some(ranking.queries);
                item = ranking.item;
            }
            Layout::Series(layout) => series = Some(layout),
            Layout::Nodes(layout) => network = Some(layout),
            Layout::Vision(layout) => scene = Some(layout),
            Layout::Challenge(layout) => challenge = Some(layout),
            Layout::Generated(layout) => generated = Some(layout),
        }
        Self {
            version: blueprint.version,
            task: blueprint.task,
            title: blueprint.title,
            origin: blueprint.origin,
            seed: blueprint.seed,
            dna: blueprint.dna,
            derivation: blueprint.derivation,
            domain: blueprint.domain,
            scenario: blueprint.scenario,
            story: blueprint.story,
            variant: blueprint.variant,
            modality: blueprint.modality,
            formulation: blueprint.formulation,
            metric: blueprint.metric,
            prediction: blueprint.prediction,
            id_column: blueprint.id_column,
            split: blueprint.split,
            rows: blueprint.rows,
            preset: blueprint.preset,
            series,
            queries,
            item,
            scene,
            challenge,
            network,
            generated,
            numbers: blueprint.numbers,
            follows: blueprint.follows,
            words: blueprint.words,
            structure: blueprint.structure,
            targets: blueprint.targets,
            mutations: blueprint.mutations,
        }
    }
}
