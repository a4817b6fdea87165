//! Metrics of class predictions. `t` is the truth, `p` the prediction; classes are indices;
//! slices have matching, non-zero length (checked by [`super::Metric`]).

use super::MetricError;
use super::regression::mid_ranks;

/// Probabilities are clipped to [ε, 1 - ε] before the logarithm, as scikit-learn does for f64.
const CLIP: f64 = f64::EPSILON;

/// Share of rows where p = t.
pub fn accuracy(t: &[usize], p: &[usize]) -> f64 {
    t.iter().zip(p).filter(|(t, p)| t == p).count() as f64 / t.len() as f64
}

/// Rows of each class: true, predicted, and both.
struct Margins {
    truth: Vec<f64>,
    predicted: Vec<f64>,
    hits: Vec<f64>,
}

impl Margins {
    fn count(t: &[usize], p: &[usize]) -> Self {
        let classes = t.iter().chain(p).max().map_or(0, |max| max + 1);
        let zeros = || vec![0.0; classes];
        let mut margins = Self { truth: zeros(), predicted: zeros(), hits: zeros() };
        for (t, p) in t.iter().zip(p) {
            margins.truth[*t] += 1.0;
            margins.predicted[*p] += 1.0;
            if t == p {
                margins.hits[*t] += 1.0;
            }
        }
        margins
    }

    /// The classes that occur in the truth or the prediction.
    fn seen(&self) -> impl Iterator<Item = usize> + '_ {
        let occurs = |class: &usize| self.truth[*class] + self.predicted[*class] > 0.0;
        (0..self.hits.len()).filter(occurs)
    }

    /// 2 TP / (2 TP + FP + FN) of one class; 0 where the class occurs on neither side.
    fn f1(&self, class: usize) -> f64 {
        let occurrences = self.truth[class] + self.predicted[class];
        if occurrences == 0.0 { 0.0 } else { 2.0 * self.hits[class] / occurrences }
    }

    /// The mean of a value over the classes seen.
    fn mean(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.seen().map(value).sum::<f64>() / self.seen().count() as f64
    }
}

/// Mean over the classes in the truth of the share of their rows that was found.
pub fn balanced_accuracy(t: &[usize], p: &[usize]) -> f64 {
    let Margins { truth, hits, .. } = Margins::count(t, p);
    let rows = truth.iter().zip(&hits).filter(|(truth, _)| **truth > 0.0);
    let recalls: Vec<f64> = rows.map(|(truth, hits)| hits / truth).collect();
    recalls.iter().sum::<f64>() / recalls.len() as f64
}

/// 2 TP / (2 TP + FP + FN) of one class; 0 where the class occurs on neither side.
pub fn f1(t: &[usize], p: &[usize], class: usize) -> f64 {
    let margins = Margins::count(t, p);
    if class < margins.hits.len() { margins.f1(class) } else { 0.0 }
}

/// Mean F1 over the classes that occur in the truth or the prediction.
pub fn macro_f1(t: &[usize], p: &[usize]) -> f64 {
    let margins = Margins::count(t, p);
    margins.mean(|class| margins.f1(class))
}

/// Mean F1 over classes, weighted by their rows in the truth.
pub fn weighted_f1(t: &[usize], p: &[usize]) -> f64 {
    let margins = Margins::count(t, p);
    let sum: f64 = margins.seen().map(|class| margins.truth[class] * margins.f1(class)).sum();
    sum / t.len() as f64
}

/// Mean of TP / (TP + FP + FN) over the classes that occur in the truth or the prediction.
/// Jaccard (1901); J = F1 / (2 - F1).
pub fn macro_jaccard(t: &[usize], p: &[usize]) -> f64 {
    let margins = Margins::count(t, p);
    margins.mean(|class| {
        let f1 = margins.f1(class);
        f1 / (2.0 - f1)
    })
}

/// (c s - Σ tₖ pₖ) / sqrt((s² - Σ pₖ²)(s² - Σ tₖ²)) with c the hits, s the rows, tₖ and pₖ the
/// rows of class k; 0 where the denominator vanishes (Gorodkin 2004).
pub fn mcc(t: &[usize], p: &[usize]) -> f64 {
    let margins = Margins::count(t, p);
    let rows = t.len() as f64;
    let (mut hits, mut cross, mut truth_squares, mut predicted_squares) = (0.0, 0.0, 0.0, 0.0);
    for class in 0..margins.hits.len() {
        let (truth, predicted) = (margins.truth[class], margins.predicted[class]);
        hits += margins.hits[class];
        cross += truth * predicted;
        truth_squares += truth * truth;
        predicted_squares += predicted * predicted;
    }
    let scale = (rows * rows - predicted_squares) * (rows * rows - truth_squares);
    if scale == 0.0 { 0.0 } else { (hits * rows - cross) / scale.sqrt() }
}

/// 1 - Σ w O / Σ w E with w = (i - j)², O the confusion counts and E those expected from the
/// margins.
///
/// # Errors
/// [`MetricError::Constant`] if both sides hold one and the same class, as Σ w E vanishes.
pub fn quadratic_kappa(t: &[usize], p: &[usize]) -> Result<f64, MetricError> {
    let Margins { truth, predicted, .. } = Margins::count(t, p);
    let weight = |i: usize, j: usize| (i as f64 - j as f64).powi(2);
    let observed: f64 = t.iter().zip(p).map(|(t, p)| weight(*t, *p)).sum();
    let mut expected = 0.0;
    for (i, truth) in truth.iter().enumerate() {
        for (j, predicted) in predicted.iter().enumerate() {
            expected += weight(i, j) * truth * predicted / t.len() as f64;
        }
    }
    if expected == 0.0 { Err(MetricError::Constant) } else { Ok(1.0 - observed / expected) }
}

/// Probability that a row of class 1 is ranked above one of class 0, ties counting half
/// (Mann–Whitney).
///
/// # Errors
/// [`MetricError::OneClass`] if the truth holds only one class.
pub fn roc_auc(t: &[usize], p: &[f64]) -> Result<f64, MetricError> {
    let positives = t.iter().filter(|t| **t == 1).count() as f64;
    let negatives = t.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return Err(MetricError::OneClass);
    }
    let ranks: f64 =
        mid_ranks(p).into_iter().zip(t).filter(|(_, t)| **t == 1).map(|(rank, _)| rank).sum();
    Ok((ranks - positives * (positives + 1.0) / 2.0) / (positives * negatives))
}

/// Mean over classes of the area under the ROC curve of that class against the rest (Fawcett
/// 2006, without weights). `p` is row-major `[rows, classes]` and is ranked as it is.
///
/// # Errors
/// [`MetricError::OneClass`] if a class is missing from the truth or is all of it.
pub fn ovr_auc(t: &[usize], p: &[f64], classes: usize) -> Result<f64, MetricError> {
    let area = |class: usize| {
        let truth: Vec<usize> = t.iter().map(|t| usize::from(*t == class)).collect();
        let scores: Vec<f64> = p.iter().skip(class).step_by(classes).copied().collect();
        roc_auc(&truth, &scores)
    };
    Ok((0..classes).map(area).sum::<Result<f64, MetricError>>()? / classes as f64)
}

/// Σ (Rₙ - Rₙ₋₁) Pₙ over thresholds at the distinct scores, from the highest.
///
/// # Errors
/// [`MetricError::OneClass`] if no row is of class 1.
pub fn average_precision(t: &[usize], p: &[f64]) -> Result<f64, MetricError> {
    let positives = t.iter().filter(|t| **t == 1).count() as f64;
    if positives == 0.0 {
        return Err(MetricError::OneClass);
    }
    let mut order: Vec<usize> = (0..t.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let (mut seen, mut hits, mut area) = (0.0, 0.0, 0.0);
    for tie in order.chunk_by(|a, b| p[*a] == p[*b]) {
        let found = tie.iter().filter(|row| t[**row] == 1).count() as f64;
        seen += tie.len() as f64;
        hits += found;
        area += found / positives * (hits / seen);
    }
    Ok(area)
}

/// -mean(ln q) with q the clipped probability given to the true class.
pub fn binary_log_loss(t: &[usize], p: &[f64]) -> f64 {
    let of_truth = t.iter().zip(p).map(|(t, p)| if *t == 1 { *p } else { 1.0 - p });
    of_truth.map(|q| -libm::log(q.clamp(CLIP, 1.0 - CLIP))).sum::<f64>() / t.len() as f64
}

/// -mean(ln q) with q the clipped probability given to the true class, after dividing each row
/// by its sum. `p` is row-major `[rows, classes]`.
pub fn log_loss(t: &[usize], p: &[f64], classes: usize) -> f64 {
    let of_truth =
        t.iter().zip(p.chunks_exact(classes)).map(|(t, row)| row[*t] / row.iter().sum::<f64>());
    of_truth.map(|q| -libm::log(q.clamp(CLIP, 1.0 - CLIP))).sum::<f64>() / t.len() as f64
}

/// mean((t - p)²) with t in {0, 1}.
pub fn brier(t: &[usize], p: &[f64]) -> f64 {
    t.iter().zip(p).map(|(t, p)| (*t as f64 - p).powi(2)).sum::<f64>() / t.len() as f64
}
