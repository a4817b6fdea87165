//! Structural DNA: what of a seed survives into its tasks.

use crate::seed::{Seed, SeedModality, SeedTask, Trait};
use sandbox::task::{Formulation, Modality};
use serde::{Deserialize, Serialize};

/// What makes a seed's tasks alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dna {
    /// Kind of data.
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
        (SeedTask::Regression, _) => Some(Formulation::Regression),
        (SeedTask::Forecasting, _) => Some(Formulation::Forecasting),
        _ => None,
    }
}

/// How well a seed lends itself to a formulation: 2 its own, 1 close to it, 0 not at all.
pub fn affinity(seed: &Seed, formulation: Formulation) -> u8 {
    if native(seed) == Some(formulation) {
        return 2;
    }
    let timed = matches!(seed.modality, SeedModality::TimeSeries | SeedModality::Signal);
    let timeless = seed.modality != SeedModality::TimeSeries;
    // Recordings can be summarised into rows or followed in time; plain rows have no time, and
    // per-step targets are numbers.
    let possible = match formulation {
        Formulation::Forecasting => timed,
        Formulation::Regression => true,
        Formulation::Binary | Formulation::Multiclass => timeless,
    };
    u8::from(possible)
}

/// Kind of data of a task with this formulation.
pub fn modality(formulation: Formulation) -> Modality {
    match formulation {
        Formulation::Forecasting => Modality::TimeSeries,
        _ => Modality::Tabular,
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
    use crate::seed_set::{MLEBENCH, SeedSet};

    #[test]
    fn every_formulation_finds_two_seeds_or_more() {
        let set = SeedSet::resolve(MLEBENCH).unwrap();
        for formulation in [
            Formulation::Binary,
            Formulation::Multiclass,
            Formulation::Regression,
            Formulation::Forecasting,
        ] {
            let fitting =
                set.servable().into_iter().filter(|seed| affinity(seed, formulation) > 0).count();
            assert!(fitting >= 2, "{formulation:?}: {fitting}");
        }
    }
}
