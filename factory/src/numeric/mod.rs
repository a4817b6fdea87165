//! Numbers: random draws, matrices, regression models, quantiles. It knows nothing of tasks.

pub mod draws;
pub mod forest;
pub(crate) mod fourier;
pub mod intervals;
pub mod kolmogorov;
pub mod linear;
pub mod logistic;
pub mod matrix;
pub mod moments;
pub mod rounding;
mod standardiser;
