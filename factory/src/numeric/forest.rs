//! Random forests, by smartcore, whose forests are reproducible (ties are broken by index).
//!
//! linfa-trees is not used: its trees keep the weights of the classes in a `HashMap` with random
//! keys. Sums of impurities go through it in its order, and of two classes as frequent in a leaf
//! the one that comes last in it is predicted. It also has no regression trees.
//!
//! Where probabilities are needed, classes are fitted as indicators, one forest each: the mean of a
//! leaf's indicators is its class share. smartcore's classification forest gives only the class with
//! the most votes, but its trees tell all classes apart at once: trees of one class among forty
//! hardly find its few rows, and are right half as often.

use ndarray::Array2;
use smartcore::ensemble::random_forest_classifier::{
    RandomForestClassifier, RandomForestClassifierParameters,
};
use smartcore::ensemble::random_forest_regressor::{
    RandomForestRegressor, RandomForestRegressorParameters,
};
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::tree::decision_tree_classifier::SplitCriterion;

/// What can be tuned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForestSettings {
    /// Number of trees in the forest.
    pub trees: u16,
    /// Columns tried at each split.
    pub tried: usize,
    /// Smallest number of training rows in a leaf.
    pub leaf: usize,
}

/// Why a forest could not be grown.
#[derive(Debug, thiserror::Error)]
#[error("failed to grow a forest: {0}")]
pub struct ForestError(String);

type Forest = RandomForestRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>;

/// A forest that was fitted to training rows.
#[derive(Debug)]
pub struct Grown(Forest);

/// Grows a forest of `y` on `x`.
///
/// # Errors
/// [`ForestError`] if smartcore refuses the data.
pub fn grow(
    x: &Array2<f64>,
    y: &Vec<f64>,
    settings: ForestSettings,
    seed: u64,
) -> Result<Grown, ForestError> {
    let parameters = RandomForestRegressorParameters {
        max_depth: None,
        min_samples_leaf: settings.leaf,
        min_samples_split: 2 * settings.leaf.max(1),
        n_trees: usize::from(settings.trees),
        m: Some(settings.tried.clamp(1, x.ncols().max(1))),
        keep_samples: true,
        seed,
    };
    Forest::fit(&by_columns(x)?, y, parameters).map(Grown).map_err(|e| ForestError(e.to_string()))
}

impl Grown {
    /// Predictions for new rows.
    ///
    /// # Errors
    /// [`ForestError`] if the columns do not match.
    pub fn predict(&self, x: &Array2<f64>) -> Result<Vec<f64>, ForestError> {
        self.0.predict(&dense(x)?).map_err(|error| ForestError(error.to_string()))
    }

    /// Predictions for the training rows, each by the trees that have not seen it.
    ///
    /// # Errors
    /// [`ForestError`] if `x` is not the training data.
    pub fn out_of_bag(&self, x: &Array2<f64>) -> Result<Vec<f64>, ForestError> {
        let mut values =
            self.0.predict_oob(&dense(x)?).map_err(|error| ForestError(error.to_string()))?;
        // A row that is in every tree's bag has no unseen forecast; the average stands in.
        let known = || values.iter().filter(|value| !value.is_nan());
        let mean = known().sum::<f64>() / known().count().max(1) as f64;
        values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = mean);
        Ok(values)
    }
}

type Classifier = RandomForestClassifier<f64, usize, DenseMatrix<f64>, Vec<usize>>;

/// A forest of classes that was fitted to training rows.
#[derive(Debug)]
pub struct GrownClassifier(Classifier);

/// Grows a forest of the classes `y` on `x`.
///
/// # Errors
/// [`ForestError`] if smartcore refuses the data, or if there is one class alone.
pub fn grow_classifier(
    x: &Array2<f64>,
    y: &Vec<usize>,
    settings: ForestSettings,
    seed: u64,
) -> Result<GrownClassifier, ForestError> {
    let parameters = RandomForestClassifierParameters {
        criterion: SplitCriterion::Gini,
        max_depth: None,
        min_samples_leaf: settings.leaf,
        min_samples_split: 2 * settings.leaf.max(1),
        n_trees: settings.trees,
        m: Some(settings.tried.clamp(1, x.ncols().max(1))),
        keep_samples: true,
        seed,
    };
    let grown = Classifier::fit(&by_columns(x)?, y, parameters);
    grown.map(GrownClassifier).map_err(|error| ForestError(error.to_string()))
}

impl GrownClassifier {
    /// The class with the most votes for each new row; of equals, the first.
    ///
    /// # Errors
    /// [`ForestError`] if the columns do not match.
    pub fn predict(&self, x: &Array2<f64>) -> Result<Vec<usize>, ForestError> {
        self.0.predict(&dense(x)?).map_err(|error| ForestError(error.to_string()))
    }

    /// The same for the training rows, each by the trees that have not seen it.
    ///
    /// # Errors
    /// [`ForestError`] if `x` is not the training data.
    pub fn out_of_bag(&self, x: &Array2<f64>) -> Result<Vec<usize>, ForestError> {
        self.0.predict_oob(&dense(x)?).map_err(|error| ForestError(error.to_string()))
    }
}

/// As growing goes through it: column after column, each of which fits the nearest cache.
fn by_columns(x: &Array2<f64>) -> Result<DenseMatrix<f64>, ForestError> {
    DenseMatrix::new(x.nrows(), x.ncols(), x.t().iter().copied().collect(), true)
        .map_err(|error| ForestError(error.to_string()))
}

/// As forecasting goes through it: row after row.
fn dense(x: &Array2<f64>) -> Result<DenseMatrix<f64>, ForestError> {
    DenseMatrix::new(x.nrows(), x.ncols(), x.iter().copied().collect(), false)
        .map_err(|error| ForestError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::draws::Draws;
    use crate::numeric::matrix::from_columns;
    use tasks::stream::Stream;

    #[test]
    fn forests_learn_a_step_and_are_reproducible() {
        let mut draws = Draws::new(Stream::root(9));
        let columns: Vec<Vec<f64>> =
            (0..3).map(|_| (0..200).map(|_| draws.unit()).collect()).collect();
        let y: Vec<f64> = columns[0].iter().map(|v| if *v > 0.5 { 1.0 } else { 0.0 }).collect();
        let x = from_columns(200, &columns);
        let settings = ForestSettings { trees: 20, tried: 2, leaf: 1 };
        let fit = || grow(&x, &y, settings, 1).unwrap().out_of_bag(&x).unwrap();
        let fitted = fit();
        assert_eq!(fitted, fit());
        let right = fitted.iter().zip(&y).filter(|(p, y)| (**p > 0.5) == (**y > 0.5)).count();
        assert!(right > 190, "{right}");
    }

    #[test]
    fn a_forest_of_votes_tells_dozens_of_classes_apart_where_one_forest_a_class_does_not() {
        let mut draws = Draws::new(Stream::root(10));
        let mut unit = || -> Vec<f64> { (0..800).map(|_| draws.unit()).collect() };
        let columns: Vec<Vec<f64>> = (0..8).map(|_| unit()).collect();
        // Classes are the cells of a plane; the other columns say nothing.
        let cell = |row: usize| {
            crate::numeric::draws::floor(6.0 * columns[0][row]) * 6
                + crate::numeric::draws::floor(6.0 * columns[1][row])
        };
        let y: Vec<usize> = (0..800).map(cell).collect();
        let x = from_columns(800, &columns);
        let settings = ForestSettings { trees: 60, tried: 3, leaf: 1 };
        let vote = || grow_classifier(&x, &y, settings, 1).unwrap().out_of_bag(&x).unwrap();
        let votes = vote();
        assert_eq!(votes, vote());
        let few = ForestSettings { trees: 20, ..settings };
        let of_class = |class: usize| -> Vec<f64> {
            let hits: Vec<f64> = y.iter().map(|y| f64::from(u8::from(*y == class))).collect();
            grow(&x, &hits, few, 1).unwrap().out_of_bag(&x).unwrap()
        };
        let each: Vec<Vec<f64>> = (0..36).map(of_class).collect();
        let likeliest = |row: usize| {
            (0..36).max_by(|a, b| each[*a][row].total_cmp(&each[*b][row])).unwrap_or(0)
        };
        let right = |forecast: &dyn Fn(usize) -> usize| {
            (0..800).filter(|row| forecast(*row) == y[*row]).count()
        };
        let (voted, apart) = (right(&|row| votes[row]), right(&likeliest));
        assert!(voted > 400 && voted > apart + 80, "{voted} and {apart}");
    }
}
