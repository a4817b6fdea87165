//! Do two sets of tasks rank solvers alike? A corpus is worth training on if it ranks them as real
//! data does, so it is compared with anchors (`factory anchors`).
//!
//! Of each solver the mean over the tasks is taken; the means in both sets are compared by rank. Only
//! solvers that occur in both sets count, and only tasks that all of them have played, so that all
//! means are over the same tasks. Errors come from drawing tasks again in both sets (bootstrap); the
//! solvers are taken as given.

use crate::statistics::{DRAWS, mean, quantile};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tasks::stream::Stream;
use tasks::task::Modality;

/// Fewest solvers for which a rank correlation is worth telling.
pub const FEWEST_SOLVERS: usize = 3;

/// What a solver, or a policy, reached on a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SolverResult {
    /// Name of the task.
    pub task: String,
    /// Its kind of data.
    pub modality: Modality,
    /// Name of the solver.
    pub solver: String,
    /// More is better, and tasks are comparable: the share of the way from R0 to the ceiling.
    pub value: f64,
}

/// How alike two sets of tasks rank solvers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankAgreement {
    /// The means in both sets by solver: corpus, then anchors.
    pub means: BTreeMap<String, (f64, f64)>,
    /// Tasks that count: of the corpus, then anchors.
    pub tasks: (usize, usize),
    /// Spearman's rank correlation of the means, in [-1, 1].
    pub spearman: f64,
    /// Its bootstrap interval of 95 % over tasks.
    pub spearman_interval: (f64, f64),
    /// Kendall's τ-b of the means, in [-1, 1].
    pub kendall: f64,
    /// Its bootstrap interval of 95 % over tasks.
    pub kendall_interval: (f64, f64),
}

/// How alike a corpus and anchors rank solvers, over all tasks and by kind of data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnchorReport {
    /// Over all tasks; `None` with fewer than [`FEWEST_SOLVERS`] solvers in both sets, or if one of
    /// the sets ranks all of them equal.
    pub overall: Option<RankAgreement>,
    /// For each kind of data of which the same can be said.
    pub modalities: BTreeMap<Modality, RankAgreement>,
}

impl AnchorReport {
    /// Compares results on a corpus with those on anchors. The intervals depend on `stream` alone.
    ///
    /// # Examples
    /// ```rust
    /// use evals::anchoring::{AnchorReport, SolverResult};
    /// use tasks::stream::Stream;
    /// use tasks::task::Modality;
    ///
    /// let results = |values: [f64; 3]| -> Vec<SolverResult> {
    ///     let solvers = ["constant", "careful", "expert"].into_iter().zip(values);
    ///     let result = |(solver, value): (&str, f64)| SolverResult {
    ///         task: "one".to_owned(),
    ///         modality: Modality::Tabular,
    ///         solver: solver.to_owned(),
    ///         value,
    ///     };
    ///     solvers.map(result).collect()
    /// };
    /// let (corpus, anchors) = (results([0.0, 0.5, 0.9]), results([0.1, 0.8, 0.7]));
    /// let report = AnchorReport::new(&corpus, &anchors, Stream::root(0));
    /// assert_eq!(report.overall.map(|found| found.spearman), Some(0.5));
    /// ```
    pub fn new(corpus: &[SolverResult], anchors: &[SolverResult], stream: Stream) -> Self {
        let all = agreement(corpus.iter(), anchors.iter(), stream);
        let kinds: BTreeSet<Modality> = anchors.iter().map(|result| result.modality).collect();
        let of_kind = |kind: Modality| {
            let is_of = |result: &&SolverResult| result.modality == kind;
            let (corpus, anchors) = (corpus.iter().filter(is_of), anchors.iter().filter(is_of));
            Some((kind, agreement(corpus, anchors, stream.child(kind.name()))?))
        };
        Self { overall: all, modalities: kinds.into_iter().filter_map(of_kind).collect() }
    }
}

/// The values of solvers on the tasks of one set: `[task][solver]`, the solvers in a fixed order.
struct Grid(Vec<Vec<f64>>);

impl Grid {
    /// Of the tasks that all `solvers` have played; several results of a solver on a task count with
    /// their mean.
    fn new<'a>(results: impl Iterator<Item = &'a SolverResult>, solvers: &[&str]) -> Self {
        let mut by_task: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
        for result in results {
            let of_task = by_task.entry(&result.task).or_default();
            of_task.entry(&result.solver).or_default().push(result.value);
        }
        let row = |of_task: &BTreeMap<&str, Vec<f64>>| -> Option<Vec<f64>> {
            solvers.iter().map(|solver| Some(mean(of_task.get(solver)?.iter().copied()))).collect()
        };
        Self(by_task.values().filter_map(row).collect())
    }

    /// The mean of each solver over the chosen tasks.
    fn means(&self, tasks: &[usize]) -> Vec<f64> {
        let solvers = self.0.first().map_or(0, Vec::len);
        (0..solvers).map(|at| mean(tasks.iter().map(|task| self.0[*task][at]))).collect()
    }

    fn all(&self) -> Vec<usize> {
        (0..self.0.len()).collect()
    }
}

/// `None` if nothing can be said.
fn agreement<'a>(
    corpus: impl Iterator<Item = &'a SolverResult> + Clone,
    anchors: impl Iterator<Item = &'a SolverResult> + Clone,
    stream: Stream,
) -> Option<RankAgreement> {
    let names = |results: &mut dyn Iterator<Item = &'a SolverResult>| -> BTreeSet<&'a str> {
        results.map(|result| result.solver.as_str()).collect()
    };
    let (ours, theirs) = (names(&mut corpus.clone()), names(&mut anchors.clone()));
    let solvers: Vec<&str> = ours.intersection(&theirs).copied().collect();
    if solvers.len() < FEWEST_SOLVERS {
        return None;
    }
    let (corpus, anchors) = (Grid::new(corpus, &solvers), Grid::new(anchors, &solvers));
    if corpus.0.is_empty() || anchors.0.is_empty() {
        return None;
    }
    let (left, right) = (corpus.means(&corpus.all()), anchors.means(&anchors.all()));
    let (spearman, kendall) = (spearman(&left, &right)?, kendall(&left, &right)?);

    let mut rng = stream.child("rank agreement").rng();
    let (mut rhos, mut taus) = (Vec::with_capacity(DRAWS), Vec::with_capacity(DRAWS));
    for _ in 0..DRAWS {
        let mut drawn = |grid: &Grid| {
            let tasks = grid.0.len();
            let sample: Vec<usize> = (0..tasks).map(|_| rng.random_range(0..tasks)).collect();
            grid.means(&sample)
        };
        let (left, right) = (drawn(&corpus), drawn(&anchors));
        // A draw in which all solvers are equal says nothing of their order.
        rhos.extend(self::spearman(&left, &right));
        taus.extend(self::kendall(&left, &right));
    }
    let interval = |values: &[f64]| Some((quantile(values, 0.025)?, quantile(values, 0.975)?));
    let means = solvers.iter().zip(left.iter().zip(&right));
    Some(RankAgreement {
        means: means.map(|(name, (a, b))| ((*name).to_owned(), (*a, *b))).collect(),
        tasks: (corpus.0.len(), anchors.0.len()),
        spearman,
        spearman_interval: interval(&rhos)?,
        kendall,
        kendall_interval: interval(&taus)?,
    })
}

/// Ranks from 1; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count() as f64;
    let equal = |value: f64| values.iter().filter(|other| **other == value).count() as f64;
    values.iter().map(|value| below(*value) + f64::midpoint(equal(*value), 1.0)).collect()
}

/// Spearman's rank correlation: Pearson's of the ranks. `None` if a side is constant, or the two are
/// of different lengths.
pub fn spearman(left: &[f64], right: &[f64]) -> Option<f64> {
    if left.len() != right.len() {
        return None;
    }
    let (left, right) = (ranks(left), ranks(right));
    let (a, b) = (mean(left.iter().copied()), mean(right.iter().copied()));
    let mut sums = [0.0; 3];
    for (x, y) in left.iter().zip(&right) {
        sums[0] += (x - a) * (y - b);
        sums[1] += (x - a) * (x - a);
        sums[2] += (y - b) * (y - b);
    }
    let scale = (sums[1] * sums[2]).sqrt();
    (scale > 0.0).then(|| (sums[0] / scale).clamp(-1.0, 1.0))
}

/// Kendall's τ-b, which allows for equal values: pairs in the same order less pairs in the other,
/// over √(pairs that differ on the left × pairs that differ on the right). `None` as in [`spearman`].
pub fn kendall(left: &[f64], right: &[f64]) -> Option<f64> {
    if left.len() != right.len() {
        return None;
    }
    let sign = |a: f64, b: f64| f64::from(i8::from(a > b) - i8::from(a < b));
    let (mut same, mut differ) = (0.0, [0.0; 2]);
    for first in 0..left.len() {
        for second in 0..first {
            let (x, y) = (sign(left[first], left[second]), sign(right[first], right[second]));
            same += x * y;
            differ[0] += x * x;
            differ[1] += y * y;
        }
    }
    let scale = (differ[0] * differ[1]).sqrt();
    (scale > 0.0).then(|| (same / scale).clamp(-1.0, 1.0))
}

impl fmt::Display for RankAgreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.spearman_interval;
        let (least, most) = self.kendall_interval;
        write!(
            f,
            "Spearman {:+.2} ({low:+.2} to {high:+.2}), Kendall {:+.2} ({least:+.2} to {most:+.2}): \
             {} solvers, {} tasks, {} anchors",
            self.spearman,
            self.kendall,
            self.means.len(),
            self.tasks.0,
            self.tasks.1,
        )
    }
}

impl fmt::Display for AnchorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(overall) = &self.overall else {
            return write!(
                f,
                "no rank correlation: fewer than {FEWEST_SOLVERS} solvers played both, or all are equal"
            );
        };
        writeln!(f, "all          {overall}")?;
        for (kind, agreement) in &self.modalities {
            writeln!(f, "{:<12} {agreement}", kind.name())?;
        }
        let width = overall.means.keys().map(|name| name.chars().count()).max().unwrap_or(0);
        let width = width.max("solver".len());
        write!(f, "\n{:width$}  corpus  anchors", "solver")?;
        for (solver, (corpus, anchors)) in &overall.means {
            write!(f, "\n{solver:width$}  {corpus:6.3}  {anchors:7.3}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.spearmanr and scipy.stats.kendalltau, scipy 1.17.
    const CASES: [(&[f64], &[f64], f64, f64); 4] = [
        (&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], &[0.2, 0.1, 0.4, 0.3, 0.9, 0.8], 0.8285714285714287, 0.6),
        (
            &[1.0, 2.0, 2.0, 4.0, 5.0],
            &[2.0, 1.0, 3.0, 3.0, 5.0],
            0.7631578947368421,
            0.6666666666666666,
        ),
        (
            &[0.3, -0.1, 0.3, 0.9, 0.2, 0.0, 0.9],
            &[0.5, 0.4, -0.2, 0.1, 0.5, 0.5, 0.0],
            -0.528395949267478,
            -0.32444284226152503,
        ),
        (&[3.0, 2.0, 1.0], &[0.1, 0.2, 0.3], -1.0, -1.0),
    ];

    #[test]
    fn rank_correlations_agree_with_scipy() {
        for (left, right, rho, tau) in CASES {
            assert!((spearman(left, right).unwrap() - rho).abs() < 1e-12, "{left:?} {right:?}");
            assert!((kendall(left, right).unwrap() - tau).abs() < 1e-12, "{left:?} {right:?}");
        }
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(kendall(&[1.0, 2.0], &[2.0, 2.0]), None);
        assert_eq!(spearman(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(kendall(&[], &[]), None);
    }

    /// Results of solvers `s0`, `s1`, … on a task.
    fn results(task: &str, modality: Modality, values: &[f64]) -> Vec<SolverResult> {
        let one = |(at, value): (usize, &f64)| SolverResult {
            task: task.to_owned(),
            modality,
            solver: format!("s{at}"),
            value: *value,
        };
        values.iter().enumerate().map(one).collect()
    }

    #[test]
    fn only_tasks_that_all_common_solvers_played_count() {
        let kind = Modality::Tabular;
        let mut corpus = results("a", kind, &[0.1, 0.5, 0.9, 0.95]);
        corpus.extend(results("b", kind, &[0.0, 0.6, 0.8, 0.9]));
        // Without `s2` and `s3`: it would turn the order of the others round.
        corpus.extend(results("c", kind, &[9.0, 0.0]));
        let mut anchors = results("x", kind, &[0.2, 0.3, 0.4]);
        anchors.extend(results("y", kind, &[0.1, 0.6, 0.4]));
        let report = AnchorReport::new(&corpus, &anchors, Stream::root(1));
        let found = report.overall.unwrap();
        // `s3` played the corpus alone.
        assert_eq!((found.means.len(), found.tasks), (3, (2, 2)));
        let (ours, theirs) = found.means["s1"];
        assert!((ours - 0.55).abs() < 1e-12 && (theirs - 0.45).abs() < 1e-12);
        assert_eq!((found.spearman, report.modalities.len()), (0.5, 1));
        // Draws of `x` alone rank all alike, draws of `y` alone do not.
        assert_eq!((found.spearman_interval.0, found.spearman_interval.1), (0.5, 1.0));
        assert_eq!(report.modalities[&kind].tasks, (2, 2));
    }

    #[test]
    fn attempts_at_a_task_count_with_their_mean() {
        let kind = Modality::Image;
        let mut twice = results("a", kind, &[0.0, 0.4, 0.8]);
        twice.extend(results("a", kind, &[0.2, 0.6, 1.0]));
        let anchors = results("x", kind, &[0.0, 0.5, 0.6]);
        let found = AnchorReport::new(&twice, &anchors, Stream::root(1)).overall.unwrap();
        assert_eq!((found.tasks, found.means["s0"].0), ((1, 1), 0.1));
    }

    #[test]
    fn nothing_is_said_of_two_solvers_or_of_equal_ones() {
        let kind = Modality::Text;
        let report = |corpus: &[f64], anchors: &[f64]| {
            let (corpus, anchors) = (results("a", kind, corpus), results("x", kind, anchors));
            AnchorReport::new(&corpus, &anchors, Stream::root(1))
        };
        assert_eq!(report(&[0.1, 0.2], &[0.1, 0.2]).overall, None);
        assert_eq!(report(&[0.1, 0.1, 0.1], &[0.1, 0.2, 0.3]).overall, None);
        assert_eq!(report(&[], &[0.1, 0.2, 0.3]).overall, None);
        assert!(report(&[], &[]).to_string().starts_with("no rank correlation"));
    }

    #[test]
    fn interval_of_unrelated_results_holds_zero_and_that_of_one_order_does_not() {
        let kind = Modality::Tabular;
        let (mut corpus, mut noise, mut same) = (Vec::new(), Vec::new(), Vec::new());
        let mut rng = Stream::root(5).rng();
        for task in 0..30 {
            let name = format!("t{task}");
            let mut values = |step: f64| -> Vec<f64> {
                (0..6).map(|at| step * f64::from(at) + rng.random::<f64>()).collect()
            };
            corpus.extend(results(&name, kind, &values(0.3)));
            same.extend(results(&name, kind, &values(0.3)));
            noise.extend(results(&name, kind, &values(0.0)));
        }
        let found = |anchors| AnchorReport::new(&corpus, anchors, Stream::root(2)).overall.unwrap();
        let (same, noise) = (found(&same), found(&noise));
        assert!(same.spearman > 0.9 && same.spearman_interval.0 > 0.7, "{same}");
        let (low, high) = noise.spearman_interval;
        assert!(low < 0.0 && high > 0.0, "{noise}");
        assert!(noise.kendall_interval.0 < 0.0 && noise.kendall_interval.1 > 0.0);
    }

    #[test]
    fn report_names_solvers_and_intervals() {
        let (corpus, anchors) = (
            results("a", Modality::Tabular, &[0.0, 0.5, 0.9]),
            results("x", Modality::Tabular, &[0.1, 0.8, 0.7]),
        );
        let text = AnchorReport::new(&corpus, &anchors, Stream::root(0)).to_string();
        let line = "Spearman +0.50 (+0.50 to +0.50), Kendall +0.33 (+0.33 to +0.33): \
                    3 solvers, 1 tasks, 1 anchors";
        let expected = format!(
            "all          {line}\ntabular      {line}\n\nsolver  corpus  anchors\n\
             s0       0.000    0.100\ns1       0.500    0.800\ns2       0.900    0.700"
        );
        assert_eq!(text, expected);
    }
}
