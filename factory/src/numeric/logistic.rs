//! Logistic and softmax regression on standardised inputs, with unpenalised intercepts.
//!
//! Both losses are minimised by argmin's L-BFGS, the solver of linfa-logistic. That crate itself
//! is not used: it multiplies matrices by kernels that use fused multiplication where the
//! processor has it, and takes `exp` and `log` from the system's mathematics library, which does
//! too. Its scores differ by up to 1e-7 between two processors, measured by
//! `cargo bench -p factory --bench fits`. smartcore's logistic regression takes `exp` from there
//! as well. Here products are of a matrix and a vector, and `exp` and `log` come from `libm`.

use crate::numeric::draws::sigmoid;
use crate::numeric::linear::Linear;
use crate::numeric::standardiser::Standardiser;
use argmin::core::{CostFunction, Error, Executor, Gradient, State as _};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};

/// Steps that L-BFGS remembers, as in scikit-learn and linfa.
const MEMORY: usize = 10;
/// Norm of the gradient, per row, at which the solver stops.
const TOLERANCE: f64 = 1e-8;
/// Change of the loss, per row, at which it stops too: below, rounding decides in which direction
/// the loss falls, and line searches cost more than the fit.
const LOSS_TOLERANCE: f64 = 1e-14;
/// Norm of the gradient, per row, up to which a fit is accepted. scikit-learn stops at 1e-4.
const ACCEPTED: f64 = 1e-6;
/// Steps after which a fit is given up. A few dozen are usual.
const STEPS: u64 = 10_000;

/// Why a loss could not be minimised.
#[derive(Debug, thiserror::Error)]
pub enum LogisticError {
    /// An input or target is infinite or missing. Line searches would not end.
    #[error("an input or a target is infinite or missing; fill gaps before a fit")]
    NotFinite,
    /// The solver stopped far from the minimum.
    #[error("the fit stopped after {steps} steps with a gradient of {gradient:e} per row")]
    NotConverged {
        /// Steps taken.
        steps: u64,
        /// Norm of the gradient at the end, divided by the number of rows.
        gradient: f64,
    },
    /// The solver refused the problem.
    #[error("the solver refused the problem: {0}")]
    Solver(String),
}

impl Linear {
    /// Logistic regression of y in {0, 1}: minimises the summed log loss + `penalty`/2 |w|².
    /// The score is the log odds of 1.
    ///
    /// `x` has shape `[rows, columns]`, `y` one value per row.
    ///
    /// # Errors
    /// [`LogisticError`] if a number is not finite, or the solver does not converge.
    ///
    /// # Panics
    /// If `x` has no rows or `y` is of another length.
    pub fn logistic(x: &Array2<f64>, y: &[f64], penalty: f64) -> Result<Self, LogisticError> {
        let inputs = Standardiser::new(x);
        let z = with_ones(&inputs.apply(x));
        if z.iter().chain(y).any(|value| !value.is_finite()) {
            return Err(LogisticError::NotFinite);
        }
        let loss = LogisticLoss { z: z.view(), y: ArrayView1::from(y), penalty };
        let weights = minimised(loss, Array1::zeros(z.ncols()), y.len())?;
        let last = weights.len() - 1;
        Ok(Self { inputs, intercept: weights[last], weights: weights.slice_move(s![..last]) })
    }
}

/// Softmax regression: one linear score per class.
#[derive(Debug, Clone)]
pub struct Softmax {
    inputs: Standardiser,
    /// Of shape `[classes, columns + 1]`, intercepts last.
    weights: Array2<f64>,
}

impl Softmax {
    /// Minimises the summed log loss + `penalty`/2 |w|².
    ///
    /// `x` has shape `[rows, columns]`; `classes` holds the class of each row, below `count`.
    ///
    /// # Errors
    /// [`LogisticError`] if a number is not finite, or the solver does not converge.
    ///
    /// # Panics
    /// If `x` has no rows, `classes` is of another length, or a class is not below `count`.
    pub fn fit(
        x: &Array2<f64>,
        classes: &[usize],
        count: usize,
        penalty: f64,
    ) -> Result<Self, LogisticError> {
        let inputs = Standardiser::new(x);
        let z = with_ones(&inputs.apply(x));
        if z.iter().any(|value| !value.is_finite()) {
            return Err(LogisticError::NotFinite);
        }
        let loss = SoftmaxLoss { z: z.view(), classes, count, penalty };
        let weights = minimised(loss, Array1::zeros(count * z.ncols()), classes.len())?;
        let weights = loss.by_class(&weights).to_owned();
        Ok(Self { inputs, weights })
    }

    /// The probability of each class for each row of `x`, of shape `[rows, classes]`.
    ///
    /// # Panics
    /// If `x` does not have the columns of the training data.
    pub fn probabilities(&self, x: &Array2<f64>) -> Array2<f64> {
        let mut rows = scores(with_ones(&self.inputs.apply(x)).view(), self.weights.view());
        softmax(&mut rows);
        rows
    }
}

/// Σ log(1 + eˢ) − y s + penalty/2 |w|², with the scores s = z w.
#[derive(Clone, Copy)]
struct LogisticLoss<'a> {
    /// Of shape `[rows, columns + 1]`; the last column is 1.
    z: ArrayView2<'a, f64>,
    y: ArrayView1<'a, f64>,
    penalty: f64,
}

impl CostFunction for LogisticLoss<'_> {
    type Param = Array1<f64>;
    type Output = f64;

    fn cost(&self, weights: &Array1<f64>) -> Result<f64, Error> {
        let scores = self.z.dot(weights);
        // log(1 + eˢ) without overflow.
        let loss = |(s, y): (&f64, &f64)| s.max(0.0) + libm::log1p(libm::exp(-s.abs())) - y * s;
        let penalised = weights.slice(s![..-1]);
        let loss: f64 = scores.iter().zip(&self.y).map(loss).sum();
        Ok(loss + 0.5 * self.penalty * penalised.dot(&penalised))
    }
}

impl Gradient for LogisticLoss<'_> {
    type Param = Array1<f64>;
    type Gradient = Array1<f64>;

    fn gradient(&self, weights: &Array1<f64>) -> Result<Array1<f64>, Error> {
        let mut gradient = weights * self.penalty;
        gradient[weights.len() - 1] = 0.0;
        let scores = self.z.dot(weights);
        for ((row, score), y) in self.z.rows().into_iter().zip(scores).zip(&self.y) {
            gradient.scaled_add(sigmoid(score) - y, &row);
        }
        Ok(gradient)
    }
}

/// Σ (log Σₖ exp sₖ − s of the row's class) + penalty/2 |w|², with the scores s = z wᵀ.
#[derive(Clone, Copy)]
struct SoftmaxLoss<'a> {
    /// Of shape `[rows, columns + 1]`; the last column is 1.
    z: ArrayView2<'a, f64>,
    classes: &'a [usize],
    count: usize,
    penalty: f64,
}

impl SoftmaxLoss<'_> {
    /// The solver's flat weights as `[classes, columns + 1]`.
    fn by_class<'w>(&self, weights: &'w Array1<f64>) -> ArrayView2<'w, f64> {
        let shape = (self.count, self.z.ncols());
        weights.view().into_shape_with_order(shape).expect("there is a weight per class and column")
    }
}

impl CostFunction for SoftmaxLoss<'_> {
    type Param = Array1<f64>;
    type Output = f64;

    fn cost(&self, weights: &Array1<f64>) -> Result<f64, Error> {
        let weights = self.by_class(weights);
        let mut rows = scores(self.z, weights);
        let own: f64 = rows.rows().into_iter().zip(self.classes).map(|(row, k)| row[*k]).sum();
        let penalised = weights.slice(s![.., ..-1]);
        let squares: f64 = penalised.iter().map(|weight| weight * weight).sum();
        Ok(softmax(&mut rows) - own + 0.5 * self.penalty * squares)
    }
}

impl Gradient for SoftmaxLoss<'_> {
    type Param = Array1<f64>;
    type Gradient = Array1<f64>;

    fn gradient(&self, weights: &Array1<f64>) -> Result<Array1<f64>, Error> {
        let weights = self.by_class(weights);
        let mut gradient = &weights * self.penalty;
        gradient.column_mut(self.z.ncols() - 1).fill(0.0);
        let mut rows = scores(self.z, weights);
        softmax(&mut rows);
        for ((z, mut row), class) in
            self.z.rows().into_iter().zip(rows.rows_mut()).zip(self.classes)
        {
            row[*class] -= 1.0;
            for (mut of_class, error) in gradient.rows_mut().into_iter().zip(&row) {
                of_class.scaled_add(*error, &z);
            }
        }
        Ok(gradient.into_flat())
    }
}

/// `z` with a last column of ones, for the intercept.
fn with_ones(z: &Array2<f64>) -> Array2<f64> {
    let mut wider = Array2::ones((z.nrows(), z.ncols() + 1));
    wider.slice_mut(s![.., ..-1]).assign(z);
    wider
}

/// `z weightsᵀ` of shape `[rows, classes]`, class by class: a product of two matrices would
/// depend on the processor.
fn scores(z: ArrayView2<f64>, weights: ArrayView2<f64>) -> Array2<f64> {
    let mut scores = Array2::zeros((z.nrows(), weights.nrows()));
    for (mut column, weights) in scores.columns_mut().into_iter().zip(weights.rows()) {
        column.assign(&z.dot(&weights));
    }
    scores
}

/// Replaces each row's scores by their probabilities. Returns Σ log Σₖ exp sₖ over the rows.
fn softmax(rows: &mut Array2<f64>) -> f64 {
    let mut logarithms = 0.0;
    for mut row in rows.rows_mut() {
        let most = row.fold(f64::NEG_INFINITY, |most, score| most.max(*score));
        row.mapv_inplace(|score| libm::exp(score - most));
        let sum = row.sum();
        row /= sum;
        logarithms += most + libm::log(sum);
    }
    logarithms
}

/// The weights that minimise a convex loss of `rows` rows.
fn minimised<L>(loss: L, start: Array1<f64>, rows: usize) -> Result<Array1<f64>, LogisticError>
where
    L: CostFunction<Param = Array1<f64>, Output = f64>
        + Gradient<Param = Array1<f64>, Gradient = Array1<f64>>
        + Copy,
{
    let refused = |error: Error| LogisticError::Solver(error.to_string());
    let per_row = rows as f64;
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), MEMORY)
        .with_tolerance_grad(TOLERANCE * per_row)
        .and_then(|solver| solver.with_tolerance_cost(LOSS_TOLERANCE * per_row))
        .map_err(refused)?;
    let solved = Executor::new(loss, solver)
        .configure(|state| state.param(start).max_iters(STEPS))
        .run()
        .map_err(refused)?;
    let steps = solved.state().get_iter();
    let Some(weights) = solved.state().get_best_param() else {
        return Err(LogisticError::NotConverged { steps, gradient: f64::NAN });
    };
    let gradient = loss.gradient(weights).map_err(refused)?;
    let gradient = gradient.dot(&gradient).sqrt() / per_row;
    // NaN is not accepted either.
    if gradient <= ACCEPTED {
        Ok(weights.clone())
    } else {
        Err(LogisticError::NotConverged { steps, gradient })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::draws::Draws;
    use tasks::stream::Stream;

    /// Inputs of shape `[400, 2]` and a score of each row.
    fn data() -> (Array2<f64>, Vec<f64>) {
        let mut draws = Draws::new(Stream::root(8));
        let x = Array2::from_shape_fn((400, 2), |_| 3.0 + 2.0 * draws.normal());
        let scores = x.rows().into_iter().map(|row| 1.0 + 2.0 * row[0] - row[1]).collect();
        (x, scores)
    }

    /// Whether moving any weight by a little raises the loss.
    fn is_minimum<L>(loss: &L, weights: &Array1<f64>) -> bool
    where
        L: CostFunction<Param = Array1<f64>, Output = f64>,
    {
        let least = loss.cost(weights).unwrap();
        (0..weights.len()).all(|index| {
            [-1e-3, 1e-3].into_iter().all(|step| {
                let mut moved = weights.clone();
                moved[index] += step;
                loss.cost(&moved).unwrap() > least
            })
        })
    }

    #[test]
    fn logistic_fit_minimises_its_loss() {
        let (x, scores) = data();
        let y: Vec<f64> = scores.iter().map(|s| f64::from(u8::from(*s > 4.0))).collect();
        let z = with_ones(&Standardiser::new(&x).apply(&x));
        let model = Linear::logistic(&x, &y, 1.0).unwrap();
        let mut weights = model.weights.to_vec();
        weights.push(model.intercept);
        let loss = LogisticLoss { z: z.view(), y: ArrayView1::from(&y), penalty: 1.0 };
        assert!(is_minimum(&loss, &Array1::from(weights)));
    }

    #[test]
    fn softmax_fit_minimises_its_loss_and_finds_ordered_classes() {
        let (x, scores) = data();
        let grade = |s: &f64| usize::from(*s > 2.0) + usize::from(*s > 6.0);
        let classes: Vec<usize> = scores.iter().map(grade).collect();
        let model = Softmax::fit(&x, &classes, 3, 1e-3).unwrap();
        let z = with_ones(&Standardiser::new(&x).apply(&x));
        let loss = SoftmaxLoss { z: z.view(), classes: &classes, count: 3, penalty: 1e-3 };
        assert!(is_minimum(&loss, &model.weights.clone().into_flat()));
        let probabilities = model.probabilities(&x);
        assert!(probabilities.rows().into_iter().all(|row| (row.sum() - 1.0).abs() < 1e-12));
        let best = |row: ndarray::ArrayView1<f64>| {
            (0..3).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap()
        };
        let found = probabilities.rows().into_iter().map(best);
        assert!(found.zip(&classes).filter(|(found, class)| found == *class).count() > 380);
    }

    #[test]
    fn rows_of_one_class_only_are_fitted_by_the_intercept() {
        let (x, _) = data();
        let odds = Linear::logistic(&x, &[1.0; 400], 1.0).unwrap().score(&x);
        assert!(odds.iter().all(|odds| *odds > 10.0));
        let probabilities = Softmax::fit(&x, &[1; 400], 3, 1.0).unwrap().probabilities(&x);
        assert!(probabilities.column(1).iter().all(|p| *p > 0.999));
    }

    #[test]
    fn inputs_that_are_not_numbers_are_an_error() {
        let (mut x, _) = data();
        x[[3, 1]] = f64::NAN;
        let y: Vec<f64> = (0..400).map(|row| f64::from(row % 2)).collect();
        let error = Linear::logistic(&x, &y, 1.0).unwrap_err();
        assert!(error.to_string().contains("infinite or missing"), "{error}");
        let classes: Vec<usize> = (0..400).map(|row| row % 3).collect();
        Softmax::fit(&x, &classes, 3, 1.0).unwrap_err();
    }
}
