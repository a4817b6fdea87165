//! How far weights are from the base's.

/// Two tensors of the same length, taken in piece by piece.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    product: f64,
    norms: (f64, f64),
    changed: u64,
    values: u64,
}

impl Comparison {
    /// Takes in the next values of both.
    pub(super) fn take(&mut self, submitted: &[f32], base: &[f32]) {
        for (&one, &other) in submitted.iter().zip(base) {
            let (one, other) = (f64::from(one), f64::from(other));
            self.product += one * other;
            self.norms.0 += one * one;
            self.norms.1 += other * other;
            self.changed += u64::from(one != other);
        }
        self.values += submitted.len().min(base.len()) as u64;
    }

    /// `⟨a, b⟩ / (‖a‖ ‖b‖)`; 1 for two tensors of zeros, 0 for one.
    pub(super) fn cosine(&self) -> f64 {
        match self.norms {
            (0.0, 0.0) => 1.0,
            (one, other) if one == 0.0 || other == 0.0 => 0.0,
            (one, other) => self.product / (one.sqrt() * other.sqrt()),
        }
    }
}

/// All tensors of a model.
#[derive(Debug, Default)]
pub(super) struct Distance {
    changed: u64,
    values: u64,
    /// Of matrices. Norms are all near one, so those of any two models agree.
    cosines: Vec<f64>,
    is_extended: bool,
}

impl Distance {
    /// Takes in a tensor; a matrix if `is_matrix`, with more rows than the base's if `is_longer`.
    pub(super) fn take(&mut self, comparison: &Comparison, is_matrix: bool, is_longer: bool) {
        self.changed += comparison.changed;
        self.values += comparison.values;
        self.is_extended |= is_longer;
        if is_matrix {
            self.cosines.push(comparison.cosine());
        }
    }

    /// Whether every weight is the base's, and there are no more.
    pub(super) fn is_copy(&self) -> bool {
        self.changed == 0 && !self.is_extended
    }

    /// Share of the base's weights that were changed.
    pub(super) fn changed(&self) -> f64 {
        if self.values == 0 { 0.0 } else { self.changed as f64 / self.values as f64 }
    }

    /// The median over matrices; 1 if there are none.
    pub(super) fn cosine(&self) -> f64 {
        let mut sorted = self.cosines.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => 1.0,
            count if count.is_multiple_of(2) => {
                f64::midpoint(sorted[count / 2 - 1], sorted[count / 2])
            }
            count => sorted[count / 2],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_and_changes_follow_from_pieces() {
        let mut comparison = Comparison::default();
        comparison.take(&[1.0, 0.0], &[1.0, 0.0]);
        comparison.take(&[1.0], &[0.0]);
        assert!((comparison.cosine() - 0.5_f64.sqrt()).abs() < 1e-12);
        let mut distance = Distance::default();
        distance.take(&comparison, true, false);
        assert!((distance.changed() - 1.0 / 3.0).abs() < 1e-12);
        assert!(!distance.is_copy());
        let mut zero = Comparison::default();
        zero.take(&[0.0], &[1.0]);
        assert_eq!(zero.cosine(), 0.0);
        distance.take(&zero, true, false);
        assert!((distance.cosine() - 0.5_f64.sqrt() / 2.0).abs() < 1e-12);
    }

    #[test]
    fn model_with_more_rows_is_no_copy() {
        let mut distance = Distance::default();
        distance.take(&Comparison::default(), true, true);
        assert!(!distance.is_copy());
    }
}
