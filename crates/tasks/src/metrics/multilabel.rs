//! Metrics of label sets. `t` is the truth, `p` the prediction, both row-major
//! `[rows, labels]`, of equal, non-zero size (checked by [`super::Metric`]).
//!
//! Wherever a set is empty on both sides, its F1 and its Jaccard index count 0, as in
//! scikit-learn; a perfect prediction then stays below 1, but is still the best there is.

/// Shared, only true and only predicted members of a set.
#[derive(Clone, Copy, Default)]
struct SetCounts {
    hits: f64,
    misses: f64,
    extra: f64,
}

impl SetCounts {
    fn from_pairs<'a>(pairs: impl Iterator<Item = (&'a bool, &'a bool)>) -> Self {
        let mut counts = Self::default();
        for pair in pairs {
            match pair {
                (true, true) => counts.hits += 1.0,
                (true, false) => counts.misses += 1.0,
                (false, true) => counts.extra += 1.0,
                (false, false) => {}
            }
        }
        counts
    }

    /// 2 TP / (2 TP + FP + FN).
    fn f1(self) -> f64 {
        ratio(2.0 * self.hits, 2.0 * self.hits + self.misses + self.extra)
    }

    /// TP / (TP + FP + FN).
    fn jaccard(self) -> f64 {
        ratio(self.hits, self.hits + self.misses + self.extra)
    }

    fn truth(self) -> f64 {
        self.hits + self.misses
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

fn per_label(t: &[bool], p: &[bool], labels: usize) -> Vec<SetCounts> {
    let column = |label| {
        let cells = |side| <[bool]>::iter(side).skip(label).step_by(labels);
        SetCounts::from_pairs(cells(t).zip(cells(p)))
    };
    (0..labels).map(column).collect()
}

fn per_row(t: &[bool], p: &[bool], labels: usize) -> Vec<SetCounts> {
    t.chunks_exact(labels)
        .zip(p.chunks_exact(labels))
        .map(|(t, p)| SetCounts::from_pairs(t.iter().zip(p)))
        .collect()
}

fn mean(counts: &[SetCounts], value: fn(SetCounts) -> f64) -> f64 {
    counts.iter().map(|counts| value(*counts)).sum::<f64>() / counts.len() as f64
}

/// Share of rows whose whole set is exact.
pub fn accuracy(t: &[bool], p: &[bool], labels: usize) -> f64 {
    let rows = t.chunks_exact(labels).zip(p.chunks_exact(labels));
    rows.filter(|(t, p)| t == p).count() as f64 / (t.len() / labels) as f64
}

/// Mean F1 over all labels.
pub fn macro_f1(t: &[bool], p: &[bool], labels: usize) -> f64 {
    mean(&per_label(t, p, labels), SetCounts::f1)
}

/// F1 of the counts of all labels together.
pub fn micro_f1(t: &[bool], p: &[bool]) -> f64 {
    SetCounts::from_pairs(t.iter().zip(p)).f1()
}

/// Mean F1 over labels, weighted by their rows in the truth; 0 if there are none.
pub fn weighted_f1(t: &[bool], p: &[bool], labels: usize) -> f64 {
    let counts = per_label(t, p, labels);
    let weighted: f64 = counts.iter().map(|counts| counts.truth() * counts.f1()).sum();
    ratio(weighted, counts.iter().map(|counts| counts.truth()).sum())
}

/// Mean over rows of the F1 of the row's set.
pub fn samples_f1(t: &[bool], p: &[bool], labels: usize) -> f64 {
    mean(&per_row(t, p, labels), SetCounts::f1)
}

/// Mean Jaccard index over all labels.
pub fn macro_jaccard(t: &[bool], p: &[bool], labels: usize) -> f64 {
    mean(&per_label(t, p, labels), SetCounts::jaccard)
}

/// Mean over rows of the Jaccard index of the row's set.
pub fn samples_jaccard(t: &[bool], p: &[bool], labels: usize) -> f64 {
    mean(&per_row(t, p, labels), SetCounts::jaccard)
}
