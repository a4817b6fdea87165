//! Structural DNA: what of a seed survives into its tasks.

use crate::spec::mix::Cell;
use crate::spec::seed::{Seed, SeedModality, SeedTask, Trait};
use serde::{Deserialize, Serialize};
use tasks::task::{Formulation, Modality};

/// What makes a seed's tasks alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dna {
    /// Kind of data of the seed competition.
    pub modality: SeedModality,
    /// Kind of prediction, with its finer kind.
    pub asks: String,
    /// Number of classes or columns of the target, where known.
    pub cardinality: Option<u32>,
    /// Distribution of the target.
    pub distribution: String,
    /// What makes it hard.
    pub traits: Vec<Trait>,
}

impl Dna {
    /// Extracts a seed's structure.
    pub fn of(seed: &Seed) -> Self {
        let mut traits = seed.traits.clone();
        traits.sort_unstable();
        traits.dedup();
        Self {
            modality: seed.modality,
            asks: format!("{}/{}", task_name(seed.task), seed.subtype),
            cardinality: seed.target.cardinality,
            distribution: seed.target.distribution.clone(),
            traits,
        }
    }

    /// Whether the seed is hard in this way.
    pub fn has(&self, what: Trait) -> bool {
        self.traits.contains(&what)
    }
}

/// The kind of prediction that a seed asks for itself, if it is one that we make.
pub fn native(seed: &Seed) -> Option<Formulation> {
    match (seed.task, seed.subtype.as_str()) {
        (SeedTask::Classification, "binary") => Some(Formulation::Binary),
        (SeedTask::Classification, "multiclass") => Some(Formulation::Multiclass),
        (SeedTask::Classification, "multilabel") => Some(Formulation::Multilabel),
        (SeedTask::Regression, "multi_target") => Some(Formulation::MultiTarget),
        (SeedTask::Regression, "per_position_multi_target") => Some(Formulation::Positions),
        (SeedTask::Regression, _) => Some(Formulation::Regression),
        (SeedTask::Forecasting, "value_with_uncertainty") => Some(Formulation::Quantiles),
        (SeedTask::Forecasting, _) => Some(Formulation::Forecasting),
        (SeedTask::Ranking, "recommendation") => Some(Formulation::Recommendation),
        (SeedTask::Ranking, _) => Some(Formulation::Ranking),
        (SeedTask::Matching, "instance_retrieval" | "re_identification") => {
            Some(Formulation::Retrieval)
        }
        (SeedTask::Matching, _) => Some(Formulation::Matching),
        (SeedTask::Segmentation, _) => Some(Formulation::Segmentation),
        (SeedTask::ObjectDetection, _) => Some(Formulation::Detection),
        (SeedTask::Reconstruction, _) => Some(Formulation::Reconstruction),
        (SeedTask::Other, "span_extraction") => Some(Formulation::Extraction),
        _ => None,
    }
}

/// The kind of data that comes closest to a seed's.
pub fn modality(seed: SeedModality) -> Modality {
    match seed {
        SeedModality::Tabular => Modality::Tabular,
        SeedModality::TimeSeries | SeedModality::Signal => Modality::TimeSeries,
        SeedModality::Image | SeedModality::Volume | SeedModality::Video => Modality::Image,
        SeedModality::Text => Modality::Text,
        SeedModality::Audio => Modality::Audio,
        SeedModality::Graph => Modality::Graph,
        SeedModality::Multimodal => Modality::Multimodal,
    }
}

/// How far a kind of task is from what a seed asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// The seed's own data and question.
    None,
    /// Its data, asked for something else.
    Question,
    /// Its question, asked of other data.
    Data,
    /// Only its difficulties are kept.
    Both,
}

/// How far `cell` is from the seed.
pub fn distance(seed: &Seed, cell: Cell) -> Distance {
    // Volumes and films are shown as pictures, which is not what the seed shows.
    let shown = !matches!(seed.modality, SeedModality::Volume | SeedModality::Video);
    let data = shown && modality(seed.modality) == cell.modality;
    match (data, native(seed) == Some(cell.formulation)) {
        (true, true) => Distance::None,
        (true, false) => Distance::Question,
        (false, true) => Distance::Data,
        (false, false) => Distance::Both,
    }
}

fn task_name(task: SeedTask) -> &'static str {
    match task {
        SeedTask::Classification => "classification",
        SeedTask::Regression => "regression",
        SeedTask::Forecasting => "forecasting",
        SeedTask::Ranking => "ranking",
        SeedTask::Matching => "matching",
        SeedTask::ObjectDetection => "object_detection",
        SeedTask::Segmentation => "segmentation",
        SeedTask::Seq2seq => "seq2seq",
        SeedTask::Reconstruction => "reconstruction",
        SeedTask::Other => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::seed_set::{MLEBENCH, SeedSet};

    #[test]
    fn every_modality_and_most_cells_have_a_seed_close_by() {
        let set = SeedSet::resolve(MLEBENCH).unwrap();
        let closest = |cell: Cell| set.seeds().iter().map(|seed| distance(seed, cell)).min();
        for cell in Cell::all() {
            assert!(closest(cell).unwrap() <= Distance::Question, "{cell}");
        }
        assert!(
            Cell::all().into_iter().filter(|c| closest(*c) == Some(Distance::None)).count() > 12
        );
    }
}
