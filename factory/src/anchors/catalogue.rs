//! The data sets: what each is, what is asked of it, and whose it is.

use serde::Deserialize;
use std::sync::LazyLock;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::{Formulation, Modality};

/// All anchors, in the order of the file.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    toml::from_str(include_str!("../../anchors/catalogue.toml"))
        .expect("the embedded catalogue is well formed, as a test checks")
});

/// `factory/anchors/catalogue.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    anchor: Vec<AnchorSpec>,
}

/// How rows are divided into those for training and those for testing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Dividing {
    /// Each row by itself, at random.
    Random,
    /// Rows of a group stay together.
    Groups,
    /// The earliest rows are for training, those right after them for testing.
    Time,
}

impl Dividing {
    /// The name as in files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Groups => "groups",
            Self::Time => "time",
        }
    }
}

/// One data set and the question that is asked of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnchorSpec {
    /// Name of the task, and with underscores of the function that extracts it.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) domain: String,
    pub(super) modality: Modality,
    pub(super) formulation: Formulation,
    pub(super) metric: Metric,
    /// The columns to be predicted: one, or a label each.
    pub(super) targets: Vec<String>,
    pub(super) split: Dividing,
    /// Rows of `train.csv` that are aimed at, 90 to 400.
    pub(super) train: usize,
    /// What the data is, in our own words.
    pub(super) about: String,
    /// What is to be predicted, in one or two sentences.
    pub(super) task: String,
    /// Names of columns, and what they hold.
    pub(super) columns: Vec<(String, String)>,
    /// Who collected it, and where it was published.
    pub(super) origin: String,
    /// The licence of the data and of the package that carries it.
    pub(super) licence: String,
}

impl AnchorSpec {
    /// The kind of prediction that the metric scores. `classes` are the values of the target,
    /// sorted, where it has classes.
    pub(super) fn prediction(&self, classes: &[String]) -> Prediction {
        let column = self.targets[0].clone();
        let classes = classes.to_vec();
        match (self.formulation, self.metric) {
            (Formulation::Multilabel, _) => {
                Prediction::Probabilities { columns: self.targets.clone() }
            }
            (Formulation::Binary, _) => Prediction::Probability { column },
            (Formulation::Multiclass, Metric::LogLoss | Metric::OvrAuc) => {
                Prediction::ClassProbabilities { column, classes }
            }
            (Formulation::Multiclass, _) => Prediction::Label { column, classes },
            _ => Prediction::Number { column },
        }
    }

    /// Whether the target is a number, not a class.
    pub(super) fn is_numeric(&self) -> bool {
        matches!(self.formulation, Formulation::Regression | Formulation::Forecasting)
    }
}

/// All anchors.
pub(super) fn specs() -> &'static [AnchorSpec] {
    &CATALOGUE.anchor
}

/// The names of all anchors, in the order of the catalogue.
pub fn ids() -> impl ExactSizeIterator<Item = &'static str> {
    specs().iter().map(|spec| spec.id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
    use tasks::task::TaskId;

    #[test]
    fn catalogue_names_at_least_twenty_data_sets_of_four_modalities_with_their_licences() {
        let specs = specs();
        let names: BTreeSet<&str> = ids().collect();
        assert!(names.len() == specs.len() && names.len() >= 24, "{}", names.len());
        let mut modalities: BTreeMap<Modality, usize> = BTreeMap::new();
        for spec in specs {
            *modalities.entry(spec.modality).or_default() += 1;
            TaskId::new(&spec.id).unwrap();
            assert!((90..=400).contains(&spec.train), "{}", spec.id);
            assert!(
                spec.licence.contains("data") && spec.licence.contains("package"),
                "{}",
                spec.id
            );
            let several = spec.formulation == Formulation::Multilabel;
            assert_eq!(spec.targets.len() > 1, several, "{}", spec.id);
            assert!(!spec.about.trim().is_empty() && spec.origin.len() > 10, "{}", spec.id);
        }
        assert!(modalities.len() >= 4 && modalities.values().all(|count| *count >= 3));
    }

    #[test]
    fn extractor_has_a_function_for_each_and_no_other() {
        let script = include_str!("../../anchors/extract.py");
        let functions: BTreeSet<String> = script
            .lines()
            .filter_map(|line| line.strip_prefix("def ")?.strip_suffix("():"))
            .filter(|name| *name != "main")
            .map(|name| name.replace('_', "-"))
            .collect();
        assert_eq!(functions, ids().map(str::to_owned).collect());
    }
}
