//! The `MLOps` engineer's choice: how a task is scored, and what a submission holds.

use super::Brief;
use super::structure::Structure;
use crate::numeric::draws::Draws;
use crate::spec::dna::Dna;
use crate::spec::scenario::{NumberTarget, TableScenario};
use crate::spec::seed::Trait;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::{Formulation, Modality};

/// Grades of rows that answer queries.
const GRADES: usize = 4;

/// How a task is scored.
#[derive(Debug, Clone)]
pub struct Scoring {
    /// The metric that scores a submission.
    pub metric: Metric,
    /// What a submission holds.
    pub prediction: Prediction,
    /// Each target's column and its classes from low to high, if any.
    pub targets: Vec<(String, Vec<String>)>,
}

/// Chooses a metric that suits the question and the structure, and the submission that it needs.
/// Classes without an order have the name of the column and their names in `nominal`.
pub(super) fn choose(
    brief: &Brief<'_>,
    story: &TableScenario,
    structure: &Structure,
    nominal: Option<(String, Vec<String>)>,
    draws: &mut Draws,
) -> Scoring {
    let cell = brief.slot.cell;
    match cell.formulation {
        Formulation::Binary | Formulation::Matching => {
            binary(cell.modality, story, structure, draws)
        }
        Formulation::Multiclass => {
            let ordinal = Dna::of(brief.seed).has(Trait::Ordinal);
            multiclass(cell.modality, story, ordinal, structure, nominal, draws)
        }
        Formulation::Multilabel => multilabel(story, structure, draws),
        Formulation::MultiTarget => multi_target(story, draws),
        Formulation::Quantiles => quantiles(story),
        Formulation::Ranking => ranking(story, draws),
        _ => regression(story, draws),
    }
}

/// The two classes of a question that is answered by yes or no.
fn yes_or_no() -> Vec<String> {
    vec!["0".to_owned(), "1".to_owned()]
}

/// Whether the metric separates the lower rungs on this kind of data. On pictures they are fitted
/// to two dozen numbers in less than 200 rows. Their overconfident probabilities have a higher log
/// loss than the class shares, and their F1 is lower than that of predicting 1 for every row. With a
/// table beside the items, it is the same of log loss: 7 of 29 attempts were accepted.
fn tells(metric: Metric, modality: Modality) -> bool {
    match modality {
        Modality::Image => !matches!(metric, Metric::LogLoss | Metric::F1),
        Modality::Multimodal => metric != Metric::LogLoss,
        _ => true,
    }
}

/// One of the metrics that suit the data.
fn metric(
    among: &[Metric],
    modality: Modality,
    structure: &Structure,
    draws: &mut Draws,
) -> Metric {
    let suits = |metric: &Metric| tells(*metric, modality) && structure.suits(*metric);
    let suited: Vec<Metric> = among.iter().copied().filter(suits).collect();
    *draws.pick(&suited)
}

fn binary(
    modality: Modality,
    story: &TableScenario,
    structure: &Structure,
    draws: &mut Draws,
) -> Scoring {
    let among = [
        Metric::RocAuc,
        Metric::RocAuc,
        Metric::LogLoss,
        Metric::Accuracy,
        Metric::Mcc,
        Metric::MacroF1,
        Metric::AveragePrecision,
        Metric::BalancedAccuracy,
        Metric::Brier,
        Metric::F1,
    ];
    let metric = metric(&among, modality, structure, draws);
    let column = story.binary.name.clone();
    let prediction = match metric {
        Metric::RocAuc | Metric::LogLoss | Metric::AveragePrecision | Metric::Brier => {
            Prediction::Probability { column: column.clone() }
        }
        _ => Prediction::Label { column: column.clone(), classes: yes_or_no() },
    };
    Scoring { metric, prediction, targets: vec![(column, yes_or_no())] }
}

/// Any number of labels: probabilities in a column each, or the names of those that hold.
fn multilabel(story: &TableScenario, structure: &Structure, draws: &mut Draws) -> Scoring {
    let among = [
        Metric::MeanColumnAuc,
        Metric::MeanColumnAuc,
        Metric::LogLoss,
        Metric::MicroF1,
        Metric::MacroF1,
        Metric::SamplesF1,
        Metric::SamplesJaccard,
    ];
    let metric = metric(&among, Modality::Tabular, structure, draws);
    // Sorted, as the labels of a submission are.
    let mut labels: Vec<String> = story.labels.iter().map(|label| label.name.clone()).collect();
    labels.sort();
    let prediction = match metric {
        Metric::MeanColumnAuc | Metric::LogLoss => {
            Prediction::Probabilities { columns: labels.clone() }
        }
        _ => Prediction::Flags { column: "labels".to_owned(), labels: labels.clone() },
    };
    let targets = labels.into_iter().map(|label| (label, yes_or_no())).collect();
    Scoring { metric, prediction, targets }
}

fn multi_target(story: &TableScenario, draws: &mut Draws) -> Scoring {
    let metric = *draws.pick(&[Metric::Mcrmse, Metric::Mae, Metric::R2]);
    let columns: Vec<String> = story.targets.iter().map(|target| target.name.clone()).collect();
    let targets = columns.iter().map(|column| (column.clone(), Vec::new())).collect();
    Scoring { metric, prediction: Prediction::Numbers { columns }, targets }
}

/// How sure one is of a number is scored in one way.
fn quantiles(story: &TableScenario) -> Scoring {
    let column = story.number.name.clone();
    let prediction = Prediction::quantiles(&column);
    Scoring { metric: Metric::MeanPinballLoss, prediction, targets: vec![(column, Vec::new())] }
}

fn ranking(story: &TableScenario, draws: &mut Draws) -> Scoring {
    let metric = *draws.pick(&[
        Metric::NdcgAt5,
        Metric::NdcgAt10,
        Metric::NdcgAt5,
        Metric::MapAt5,
        Metric::Mrr,
    ]);
    let (column, query) = story
        .ranking
        .as_ref()
        .map_or_else(Default::default, |ranking| (ranking.name.clone(), ranking.query.clone()));
    let prediction = Prediction::Relevance { column: column.clone(), query };
    let grades = (0..GRADES).map(|grade| grade.to_string()).collect();
    Scoring { metric, prediction, targets: vec![(column, grades)] }
}

fn regression(story: &TableScenario, draws: &mut Draws) -> Scoring {
    let metric = *if skewed(&story.number) {
        draws.pick(&[Metric::Rmsle, Metric::Rmsle, Metric::Mae, Metric::Smape, Metric::Mape])
    } else {
        draws.pick(&[
            Metric::Rmse,
            Metric::Rmse,
            Metric::Mae,
            Metric::R2,
            Metric::Pearson,
            Metric::Spearman,
            Metric::MedianAe,
        ])
    };
    let column = story.number.name.clone();
    let prediction = Prediction::Number { column: column.clone() };
    Scoring { metric, prediction, targets: vec![(column, Vec::new())] }
}

/// Words, or numbers from 1 where classes are an order that the metric looks at.
fn multiclass(
    modality: Modality,
    story: &TableScenario,
    ordinal: bool,
    structure: &Structure,
    nominal: Option<(String, Vec<String>)>,
    draws: &mut Draws,
) -> Scoring {
    let metric = if ordinal {
        Metric::QuadraticKappa
    } else {
        let among = [
            Metric::Accuracy,
            Metric::MacroF1,
            Metric::LogLoss,
            Metric::BalancedAccuracy,
            Metric::QuadraticKappa,
            Metric::Mcc,
            Metric::WeightedF1,
            Metric::OvrAuc,
        ];
        metric(&among, modality, structure, draws)
    };
    let words = &story.graded.words;
    let graded = || match metric {
        Metric::QuadraticKappa => (1..=words.len()).map(|grade| grade.to_string()).collect(),
        _ => words.clone(),
    };
    let (column, classes): (String, Vec<String>) =
        nominal.unwrap_or_else(|| (story.graded.name.clone(), graded()));
    let mut sorted = classes.clone();
    sorted.sort();
    let prediction = match metric {
        Metric::LogLoss | Metric::OvrAuc => {
            Prediction::ClassProbabilities { column: column.clone(), classes: sorted }
        }
        _ => Prediction::Label { column: column.clone(), classes: sorted },
    };
    Scoring { metric, prediction, targets: vec![(column, classes)] }
}

/// The range of a target that is a number; nothing for classes, labels and grades.
pub fn number(
    formulation: Formulation,
    story: &TableScenario,
    index: usize,
) -> Option<&NumberTarget> {
    match formulation {
        Formulation::Regression | Formulation::Quantiles => Some(&story.number),
        // The story's order is the columns' order.
        Formulation::MultiTarget => story.targets.get(index),
        _ => None,
    }
}

/// Whether a number's range spans so much that relative errors suit it.
fn skewed(number: &NumberTarget) -> bool {
    number.low > 0.0 && number.high / number.low >= 8.0
}
