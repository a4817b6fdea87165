//! Models of one shape made into one, weight by weight.
//!
//! | method | a weight of the result | source |
//! | --- | --- | --- |
//! | `linear` | Σ wᵢ mᵢ / Σ wᵢ | Wortsman et al. 2022, "Model soups" |
//! | `slerp` | the point at t on the arc from m₁ to m₂ | Shoemake 1985, as `mergekit` does it |
//! | `task-arithmetic` | base + Σ wᵢ (mᵢ − base) | Ilharco et al. 2023 |
//! | `ties` | base + the mean of wᵢ τᵢ over those with the elected sign | Yadav et al. 2023, as PEFT does it |
//!
//! All is computed in f32, a weight at a time.

use crate::model::Qwen3;
use std::collections::BTreeMap;
use tch::{Kind, Tensor, no_grad_guard};

/// Vectors whose cosine is nearer to 1 or −1 than this have no arc worth the name; they are mixed.
const PARALLEL: f64 = 0.9995;
/// Vectors that are shorter have no direction.
const SHORT: f64 = 1e-8;

/// How models are made into one.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeMethod {
    /// The weighted mean.
    Linear {
        /// One weight a model; their sum is not 0.
        weights: Vec<f64>,
    },
    /// The way from the first of two models to the second, at constant angular speed.
    Slerp {
        /// How far, from 0 (the first) to 1 (the second).
        t: f64,
    },
    /// Weighted differences to the base.
    TaskArithmetic {
        /// One weight a model; a negative one takes away what the model learnt.
        weights: Vec<f64>,
    },
    /// As `TaskArithmetic`, of the largest differences alone, and where models disagree on the
    /// direction, of the side with the larger sum.
    Ties {
        /// One weight a model.
        weights: Vec<f64>,
        /// The share of each weight's differences that counts, the largest ones; above 0, at most 1.
        density: f64,
    },
}

/// Why models cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// Another number of models than the method takes.
    #[error("{0}")]
    Count(&'static str),
    /// A number out of its range.
    #[error("`{key}` must be {accepted}, and is {found}")]
    Range {
        /// The setting.
        key: &'static str,
        /// Its value.
        found: String,
        /// What it may be.
        accepted: &'static str,
    },
    /// Differences are taken to a base.
    #[error("`{0}` needs the model that all of them were trained from; give it as `--base`")]
    NoBase(&'static str),
    /// Not of one shape.
    #[error(
        "model {model} has another shape: its `{name}` is {found:?}, the first one's {expected:?}"
    )]
    Shape {
        /// Which model, from 1; 0 is the base.
        model: usize,
        /// The weight.
        name: String,
        /// Its shape, empty if it is not there.
        found: Vec<i64>,
        /// What the first model has.
        expected: Vec<i64>,
    },
}

impl MergeMethod {
    /// Its name in flags.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Linear { .. } => "linear",
            Self::Slerp { .. } => "slerp",
            Self::TaskArithmetic { .. } => "task-arithmetic",
            Self::Ties { .. } => "ties",
        }
    }

    /// One weight a model, if it has any.
    pub fn weights(&self) -> Option<&[f64]> {
        match self {
            Self::Linear { weights }
            | Self::TaskArithmetic { weights }
            | Self::Ties { weights, .. } => Some(weights),
            Self::Slerp { .. } => None,
        }
    }

    /// Whether it looks at differences to a base.
    pub fn has_base(&self) -> bool {
        matches!(self, Self::TaskArithmetic { .. } | Self::Ties { .. })
    }

    /// Whether it can merge this many models.
    ///
    /// # Errors
    /// [`MergeError`].
    pub fn check(&self, models: usize, has_base: bool) -> Result<(), MergeError> {
        let range = |key, found: String, accepted| Err(MergeError::Range { key, found, accepted });
        if self.has_base() && !has_base {
            return Err(MergeError::NoBase(self.name()));
        }
        match self {
            Self::Slerp { .. } if models != 2 => {
                return Err(MergeError::Count(
                    "`slerp` is the way from one model to another; give two",
                ));
            }
            Self::Linear { .. } if models < 2 => {
                return Err(MergeError::Count("give at least two models to merge"));
            }
            _ if models == 0 => return Err(MergeError::Count("give at least one model to merge")),
            _ => (),
        }
        match self {
            Self::Slerp { t } if !(0.0..=1.0).contains(t) => {
                return range("t", t.to_string(), "from 0 to 1");
            }
            Self::Ties { density, .. } if !(*density > 0.0 && *density <= 1.0) => {
                return range("density", density.to_string(), "above 0 and at most 1");
            }
            _ => (),
        }
        let Some(weights) = self.weights() else { return Ok(()) };
        let sum: f64 = weights.iter().sum();
        if weights.len() != models {
            return range("weights", format!("{} numbers", weights.len()), "one number a model");
        }
        if !weights.iter().all(|weight| weight.is_finite()) {
            return range("weights", format!("{weights:?}"), "finite");
        }
        if matches!(self, Self::Linear { .. }) && sum == 0.0 {
            return range("weights", format!("{weights:?}"), "of another sum than 0");
        }
        Ok(())
    }

    /// One weight of the result: from that of each model, of one shape, and the base's.
    fn merge(&self, models: &[Tensor], base: Option<&Tensor>) -> Tensor {
        match (self, base) {
            (Self::Slerp { t }, _) => slerp(&models[0], &models[1], *t),
            (Self::Ties { weights, density }, Some(base)) => {
                let trimmed: Vec<Tensor> =
                    models.iter().map(|model| trim(&(model - base), *density)).collect();
                base + disjoint_mean(&trimmed, weights)
            }
            (Self::TaskArithmetic { weights }, Some(base)) => {
                let differences: Vec<Tensor> = models.iter().map(|model| model - base).collect();
                base + weighted_sum(&differences, weights)
            }
            (
                Self::Linear { weights }
                | Self::TaskArithmetic { weights }
                | Self::Ties { weights, .. },
                _,
            ) => weighted_sum(models, weights) / weights.iter().sum::<f64>(),
        }
    }
}

/// The weights of the merged model under their published names, in the type of the first model.
///
/// # Errors
/// [`MergeError`]; nothing is computed before all is checked.
pub fn merge(
    method: &MergeMethod,
    models: &[Qwen3],
    base: Option<&Qwen3>,
) -> Result<BTreeMap<String, Tensor>, MergeError> {
    let _guard = no_grad_guard();
    method.check(models.len(), base.is_some())?;
    let published: Vec<BTreeMap<String, Tensor>> = models.iter().map(Qwen3::published).collect();
    let base = base.map(Qwen3::published);
    let numbered = (0..).zip(base.iter()).chain((1..).zip(&published));
    for (model, weights) in numbered {
        check_shape(model, weights, &published[0])?;
        check_shape(model, &published[0], weights)?;
    }
    let wide = |weights: &BTreeMap<String, Tensor>, name: &str| weights[name].to_kind(Kind::Float);
    let merged = published[0].iter().map(|(name, first)| {
        let of_models: Vec<Tensor> = published.iter().map(|weights| wide(weights, name)).collect();
        let of_base = base.as_ref().map(|weights| wide(weights, name));
        let merged = method.merge(&of_models, of_base.as_ref());
        (name.clone(), merged.to_kind(first.kind()))
    });
    Ok(merged.collect())
}

/// Whether every weight of `first` is one of `other`, with the same shape.
fn check_shape(
    model: usize,
    other: &BTreeMap<String, Tensor>,
    first: &BTreeMap<String, Tensor>,
) -> Result<(), MergeError> {
    for (name, weight) in first {
        let (found, expected) =
            (other.get(name).map(Tensor::size).unwrap_or_default(), weight.size());
        if found != expected {
            return Err(MergeError::Shape { model, name: name.clone(), found, expected });
        }
    }
    Ok(())
}

fn weighted_sum(tensors: &[Tensor], weights: &[f64]) -> Tensor {
    let weighted: Vec<Tensor> =
        tensors.iter().zip(weights).map(|(it, weight)| it * *weight).collect();
    Tensor::stack(&weighted, 0).sum_dim_intlist([0_i64].as_slice(), false, Kind::Float)
}

/// The point at `t` on the great circle from the direction of `from` to that of `to`, with the
/// lengths of both mixed by the same shares.
fn slerp(from: &Tensor, to: &Tensor, t: f64) -> Tensor {
    let direction = |it: &Tensor| {
        let length = it.norm().double_value(&[]);
        if length > SHORT { it / length } else { it.shallow_clone() }
    };
    let cosine = (direction(from) * direction(to)).sum(Kind::Double).double_value(&[]);
    if cosine.abs() > PARALLEL {
        return from * (1.0 - t) + to * t;
    }
    let angle = cosine.acos();
    let share = |part: f64| (part * angle).sin() / angle.sin();
    from * share(1.0 - t) + to * share(t)
}

/// The largest `density` of the entries; the others are 0.
fn trim(difference: &Tensor, density: f64) -> Tensor {
    let count = difference.numel();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a number of entries"
    )]
    let kept = (density * count as f64) as usize;
    if kept >= count {
        return difference.shallow_clone();
    }
    let flat = difference.reshape([-1]);
    let (_, places) = flat.abs().topk(i64::try_from(kept).unwrap_or(i64::MAX), 0, true, false);
    let kept = flat.zeros_like().index_fill(0, &places, 1);
    (flat * kept).view_as(difference)
}

/// The mean of the weighted entries whose sign is that of the sum of all; 0 where there are none.
fn disjoint_mean(differences: &[Tensor], weights: &[f64]) -> Tensor {
    let over_models = [0_i64];
    let stacked = Tensor::stack(differences, 0);
    let sum = stacked.sum_dim_intlist(over_models.as_slice(), false, Kind::Float);
    // A sum of 0 counts as positive.
    let elected = sum.ge(0.0).to_kind(Kind::Float) * 2.0 - 1.0;
    let agrees = stacked.sign().eq_tensor(&elected).to_kind(Kind::Float);
    let kept: Vec<Tensor> =
        agrees.unbind(0).iter().zip(differences).map(|(agrees, it)| agrees * it).collect();
    let count = agrees.sum_dim_intlist(over_models.as_slice(), false, Kind::Float).clamp_min(1.0);
    weighted_sum(&kept, weights) / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Device;

    fn tensor(numbers: &[f32]) -> Tensor {
        Tensor::from_slice(numbers)
    }

    fn numbers(tensor: &Tensor) -> Vec<f32> {
        tensor.try_into().unwrap()
    }

    #[test]
    fn mean_is_weighted_and_normalised() {
        let method = MergeMethod::Linear { weights: vec![3.0, 1.0] };
        let merged = method.merge(&[tensor(&[1.0, 0.0]), tensor(&[5.0, 4.0])], None);
        assert_eq!(numbers(&merged), [2.0, 1.0]);
    }

    #[test]
    fn arc_is_passed_at_constant_speed() {
        let (from, to) = (tensor(&[1.0, 0.0]), tensor(&[0.0, 1.0]));
        for t in [0.0, 0.25, 0.5, 1.0] {
            let found = numbers(&slerp(&from, &to, t));
            let angle = t * std::f64::consts::FRAC_PI_2;
            let [x, y] = [angle.cos(), angle.sin()];
            assert!(
                (f64::from(found[0]) - x).abs() < 1e-6 && (f64::from(found[1]) - y).abs() < 1e-6
            );
        }
        // Parallel ones, and one without a direction, are mixed.
        assert_eq!(numbers(&slerp(&from, &(&from * 3.0), 0.5)), [2.0, 0.0]);
        assert_eq!(numbers(&slerp(&from.zeros_like(), &from, 0.5))[1], 0.0);
    }

    #[test]
    fn differences_are_added_and_taken_away() {
        let method = MergeMethod::TaskArithmetic { weights: vec![1.0, -0.5] };
        let base = tensor(&[1.0, 1.0]);
        let merged = method.merge(&[tensor(&[2.0, 1.0]), tensor(&[1.0, 5.0])], Some(&base));
        assert_eq!(numbers(&merged), [2.0, -1.0]);
    }

    #[test]
    fn small_differences_and_the_weaker_side_are_left_out() {
        let base = Tensor::zeros([4], (Kind::Float, Device::Cpu));
        let models = [tensor(&[4.0, -3.0, 0.1, 0.2]), tensor(&[2.0, 5.0, 0.3, 0.1])];
        let method = MergeMethod::Ties { weights: vec![1.0, 1.0], density: 0.5 };
        // 1: both; 2: the second is stronger; 3 and 4: trimmed.
        assert_eq!(numbers(&method.merge(&models, Some(&base))), [3.0, 5.0, 0.0, 0.0]);
    }

    #[test]
    fn mistakes_are_named() {
        let check = |method: MergeMethod, models, has_base| {
            method.check(models, has_base).map_err(|error| error.to_string())
        };
        let linear = |weights: &[f64]| MergeMethod::Linear { weights: weights.to_vec() };
        assert_eq!(check(linear(&[1.0, 1.0]), 2, false), Ok(()));
        for (method, models, has_base, said) in [
            (linear(&[1.0]), 1, false, "at least two"),
            (linear(&[1.0]), 2, false, "one number a model"),
            (linear(&[1.0, -1.0]), 2, false, "another sum than 0"),
            (linear(&[1.0, f64::NAN]), 2, false, "finite"),
            (MergeMethod::Slerp { t: 0.5 }, 3, false, "give two"),
            (MergeMethod::Slerp { t: 1.5 }, 2, false, "from 0 to 1"),
            (MergeMethod::TaskArithmetic { weights: vec![1.0] }, 1, false, "`--base`"),
            (MergeMethod::Ties { weights: vec![1.0], density: 0.0 }, 1, true, "above 0"),
            (MergeMethod::Ties { weights: Vec::new(), density: 0.5 }, 0, true, "at least one"),
        ] {
            let error = check(method, models, has_base).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
