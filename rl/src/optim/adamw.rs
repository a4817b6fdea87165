//! `AdamW` with its own state, so that a run can be saved and resumed to the last bit.
//!
//! libtorch's optimizer hides its moments behind the C interface; ours are plain tensors.
//!
//! ```text
//! g  = min(1, clip / |g|) g                 |g| over all parameters together
//! p  = p - rate · decay · p                 matrices only
//! m  = β1 m + (1 - β1) g
//! v  = β2 v + (1 - β2) g²
//! p  = p - rate / (1 - β1^t) · m / (sqrt(v / (1 - β2^t)) + eps)
//! ```
//! Loshchilov and Hutter 2019, algorithm 2, in the order in which PyTorch computes it.

use super::moments::{MomentStore, Moments};
use crate::model::{Gradients, LoadError, Parameter, Qwen3, Weights, signed};
use crate::run::settings::{SettingsError, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tch::{Kind, Tensor, no_grad_guard};

/// The settings of [`AdamW`].
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `beta1`, `beta2` | 0.9, 0.95 | decay of the first and the second moment, in [0, 1) |
/// | `epsilon` | 1e-8 | keeps the quotient finite |
/// | `weight_decay` | 0.01 | decoupled weight decay, of matrices only |
/// | `max_grad_norm` | 1.0 | gradients are clipped to this global norm; 0 for no clipping |
/// | `optim` | `adamw` | `adamw`, `adamw-8bit` or `adamw-offload`: how the moments are kept |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdamConfig {
    /// Decay rate of the first moment, in [0, 1).
    pub beta1: f64,
    /// Decay rate of the second moment, in [0, 1).
    pub beta2: f64,
    /// Added to the square root of the second moment.
    pub epsilon: f64,
    /// Decoupled weight decay per unit of learning rate; vectors do not decay.
    pub weight_decay: f64,
    /// Gradients are clipped to this global norm; 0 for no clipping.
    pub max_grad_norm: f64,
    /// Which `AdamW` is used: how its moments are stored.
    pub optim: MomentStore,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.95,
            epsilon: 1e-8,
            weight_decay: 0.01,
            max_grad_norm: 1.0,
            optim: MomentStore::Full,
        }
    }
}

impl AdamConfig {
    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`SettingsError::Range`] naming the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        let Self { beta1, beta2, epsilon, weight_decay, max_grad_norm, .. } = self;
        let is_share = |rate: &f64| (0.0..1.0).contains(rate);
        let is_positive = |number: &f64| *number >= 0.0 && number.is_finite();
        require(is_share(beta1), "adam.beta1", beta1, "at least 0 and below 1")?;
        require(is_share(beta2), "adam.beta2", beta2, "at least 0 and below 1")?;
        require(
            *epsilon > 0.0 && epsilon.is_finite(),
            "adam.epsilon",
            epsilon,
            "above 0: it keeps the quotient finite",
        )?;
        require(is_positive(weight_decay), "adam.weight_decay", weight_decay, "at least 0")?;
        require(
            is_positive(max_grad_norm),
            "adam.max_grad_norm",
            max_grad_norm,
            "at least 0, where 0 means no clipping",
        )
    }
}

/// Why an update was not made.
#[derive(Debug, thiserror::Error)]
pub enum OptimError {
    /// A gradient is infinite or not a number.
    #[error(
        "the gradient of `{name}` is not finite at step {step}; lower the learning rate, or look at the rewards"
    )]
    NotFinite {
        /// The first such parameter.
        name: String,
        /// The step that was not made.
        step: u64,
    },
    /// A saved state does not belong to this model.
    #[error("the saved optimizer state does not belong to this model")]
    Foreign(#[from] LoadError),
}

/// How many weights are updated at once; a multiple of the blocks of 8-bit moments.
pub(crate) const PIECE: usize = 1 << 24;

#[derive(Debug)]
struct ParameterState {
    parameter: Parameter,
    moments: Moments,
    /// The weight in f32 where the model's own type would round small updates away.
    master: Option<Tensor>,
}

/// The optimizer of one model.
#[derive(Debug)]
pub struct AdamW {
    config: AdamConfig,
    slots: Vec<ParameterState>,
    step: u64,
}

impl AdamW {
    /// Fresh moments for every parameter of `model`.
    pub fn new(model: &Qwen3, config: AdamConfig) -> Self {
        Self::over(model.parameters(), config)
    }

    fn over(parameters: Vec<Parameter>, config: AdamConfig) -> Self {
        let _guard = no_grad_guard();
        let slot = |parameter: Parameter| {
            let moments = Moments::new(config.optim, &parameter.tensor);
            let narrow = parameter.tensor.kind() != Kind::Float;
            let master = narrow.then(|| parameter.tensor.detach().to_kind(Kind::Float));
            ParameterState { parameter, moments, master }
        };
        Self { config, slots: parameters.into_iter().map(slot).collect(), step: 0 }
    }

    /// Updates every parameter from its gradient, takes the gradients and returns their norm
    /// before clipping.
    ///
    /// # Errors
    /// [`OptimError::NotFinite`]; then no weight was changed.
    pub fn step(&mut self, gradients: &mut Gradients, rate: f64) -> Result<f64, OptimError> {
        let _guard = no_grad_guard();
        let AdamConfig { beta1, beta2, epsilon, weight_decay, max_grad_norm, .. } = self.config;
        let gradients: Vec<Option<Tensor>> =
            self.slots.iter().map(|slot| gradients.take(&slot.parameter.name)).collect();
        let squares: Vec<f64> = gradients
            .iter()
            .map(|gradient| {
                gradient.as_ref().map_or(0.0, |g| g.square().sum(Kind::Double).double_value(&[]))
            })
            .collect();
        if let Some(broken) = squares.iter().position(|square| !square.is_finite()) {
            let name = self.slots[broken].parameter.name.clone();
            return Err(OptimError::NotFinite { name, step: self.step });
        }
        let norm = squares.iter().sum::<f64>().sqrt();
        let shrink =
            if max_grad_norm > 0.0 && norm > max_grad_norm { max_grad_norm / norm } else { 1.0 };

        self.step += 1;
        let exponent = self.step as f64;
        let first_bias = 1.0 - beta1.powf(exponent);
        let second_bias = 1.0 - beta2.powf(exponent);
        for (slot, gradient) in self.slots.iter_mut().zip(gradients) {
            let Some(gradient) = gradient else { continue };
            let gradient = gradient.view([-1]);
            let weights = slot.master.as_ref().unwrap_or(&slot.parameter.tensor).view([-1]);
            let decay = if slot.parameter.decays { rate * weight_decay } else { 0.0 };
            // Piece by piece, so that what is needed on the way is small beside the largest
            // matrix.
            for start in (0..weights.numel()).step_by(PIECE) {
                let length = signed(PIECE.min(weights.numel() - start));
                let start = signed(start);
                let part = |all: &Tensor| all.narrow(0, start, length);
                let (mut weight, gradient) = (part(&weights), part(&gradient));
                let gradient = if shrink < 1.0 { gradient * shrink } else { gradient };
                if decay > 0.0 {
                    let _ = weight.g_mul_scalar_(1.0 - decay);
                }
                let (mut first, mut second) = slot.moments.load(start, length);
                let _ = first.lerp_(&gradient, 1.0 - beta1);
                let _ = second.lerp_(&gradient.square(), 1.0 - beta2);
                let root = (second.sqrt() / second_bias.sqrt()).g_add_scalar_(epsilon);
                let _ = weight.g_add_(&(&first / &root).g_mul_scalar_(-rate / first_bias));
                slot.moments.store(start, &first, &second);
            }
            if let Some(master) = &slot.master {
                slot.parameter.tensor.copy_(master);
            }
        }
        Ok(norm)
    }

    /// How many updates have been made.
    pub fn updates(&self) -> u64 {
        self.step
    }

    /// Everything needed to go on from here, besides the weights and the number of updates.
    pub fn state(&self) -> BTreeMap<String, Tensor> {
        let mut all = BTreeMap::new();
        for ParameterState { parameter, moments, master } in &self.slots {
            all.extend(moments.state(&parameter.name));
            if let Some(master) = master {
                all.insert(format!("master.{}", parameter.name), master.shallow_clone());
            }
        }
        all
    }

    /// Goes back to a saved state.
    ///
    /// # Errors
    /// [`OptimError::Foreign`] if a tensor is missing or has another shape.
    pub fn restore(&mut self, saved: &Weights, step: u64) -> Result<(), OptimError> {
        let _guard = no_grad_guard();
        for slot in &mut self.slots {
            let name = &slot.parameter.name;
            let shape = slot.parameter.tensor.size();
            slot.moments.restore(saved, name)?;
            if let Some(master) = &mut slot.master {
                master.copy_(&saved.tensor(&format!("master.{name}"), &shape)?);
            }
        }
        self.step = step;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, tensor: &Tensor) -> Parameter {
        let decays = tensor.dim() >= 2;
        Parameter { name: name.into(), tensor: tensor.set_requires_grad(true), decays }
    }

    fn update(optimizer: &mut AdamW, loss: &Tensor, rate: f64) -> Result<f64, OptimError> {
        let parameters: Vec<Parameter> = optimizer
            .slots
            .iter()
            .map(|slot| parameter(&slot.parameter.name, &slot.parameter.tensor))
            .collect();
        let mut gradients = Gradients::default();
        gradients.collect_last(loss, &parameters);
        optimizer.step(&mut gradients, rate)
    }

    // torch 2.11.0:
    // w = torch.tensor([[1., -2.], [3., .5]], requires_grad=True); b = torch.tensor([.1, -.2], requires_grad=True)
    // x = torch.tensor([[.5, -1.], [2., .25]])
    // o = torch.optim.AdamW([{"params": [w], "weight_decay": .1}, {"params": [b], "weight_decay": 0.}],
    //                       lr=.05, betas=(.9, .95), eps=1e-8)
    // for _ in range(3):
    //     o.zero_grad(); ((x @ w.T + b) ** 2).sum().backward()
    //     n = torch.nn.utils.clip_grad_norm_([w, b], 1.); o.step()
    // print(n, w, b)
    #[test]
    fn three_steps_agree_with_torch() {
        let w = Tensor::from_slice(&[1.0_f32, -2.0, 3.0, 0.5]).view([2, 2]);
        let b = Tensor::from_slice(&[0.1_f32, -0.2]);
        let x = Tensor::from_slice(&[0.5_f32, -1.0, 2.0, 0.25]).view([2, 2]);
        let parameters = vec![parameter("w", &w), parameter("b", &b)];
        let (w, b) = (parameters[0].tensor.shallow_clone(), parameters[1].tensor.shallow_clone());
        let mut optimizer =
            AdamW::over(parameters, AdamConfig { weight_decay: 0.1, ..AdamConfig::default() });
        let mut norm = 0.0;
        for _ in 0..3 {
            let loss = x.linear(&w, Some(&b)).square().sum(Kind::Float);
            norm = update(&mut optimizer, &loss, 0.05).unwrap();
        }
        let found: Vec<f64> = [&w.view([-1]), &b.view([-1])]
            .iter()
            .flat_map(|tensor| Vec::<f64>::try_from(tensor.to_kind(Kind::Double)).unwrap())
            .chain([norm])
            .collect();
        let expected =
            [0.835_981, -1.820_917, 2.805_957, 0.343_257, -0.049_903, -0.350_015, 28.457_178];
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 5e-6 * expected.abs().max(1.0),
                "{found} is not {expected}"
            );
        }
    }

    #[test]
    fn a_broken_gradient_changes_nothing() {
        let w = parameter("w", &Tensor::from_slice(&[1.0_f32]));
        let leaf = w.tensor.shallow_clone();
        let mut optimizer = AdamW::over(vec![w], AdamConfig::default());
        let loss = (&leaf * f64::INFINITY).sum(Kind::Float);
        let error = update(&mut optimizer, &loss, 0.1).unwrap_err().to_string();
        assert!(error.contains("`w`"), "{error}");
        assert_eq!(leaf.double_value(&[0]).to_bits(), 1.0_f64.to_bits());
        assert_eq!(optimizer.updates(), 0);
    }

    #[test]
    fn small_updates_are_not_lost_in_bf16() {
        let w = parameter("w", &Tensor::from_slice(&[1.0_f32]).to_kind(Kind::BFloat16));
        let leaf = w.tensor.shallow_clone();
        let mut optimizer =
            AdamW::over(vec![w], AdamConfig { weight_decay: 0.0, ..AdamConfig::default() });
        // Each step moves the weight by 1e-3, a quarter of what bf16 resolves near 1.
        for _ in 0..12 {
            let loss = leaf.to_kind(Kind::Float).sum(Kind::Float);
            update(&mut optimizer, &loss, 1e-3).unwrap();
        }
        assert!((leaf.double_value(&[0]) - 0.988).abs() < 4e-3);
    }

    /// A regression whose inputs differ by a factor of fifty, and so do its gradients: inputs,
    /// answers, and where to start.
    fn problem() -> (Tensor, Tensor, Tensor) {
        let options = (Kind::Float, tch::Device::Cpu);
        let wave = |rows: i64, columns: i64, pace: f64| {
            (Tensor::arange(rows * columns, options) * pace).sin().view([rows, columns])
        };
        let sizes = (Tensor::arange(300, options) / 75.0 - 2.0).exp() * 0.1;
        let (inputs, truth) = (wave(64, 300, 0.37) * sizes, wave(7, 300, 0.11));
        let answers = inputs.linear(&truth, None::<&Tensor>);
        (inputs, answers, wave(7, 300, 0.053) * 0.1)
    }

    fn descend(optimizer: &mut AdamW, steps: u32) -> Vec<f64> {
        let (x, y, _) = problem();
        let leaf = optimizer.slots[0].parameter.tensor.shallow_clone();
        (0..steps)
            .map(|_| {
                let loss = (x.linear(&leaf, None::<&Tensor>) - &y).square().mean(Kind::Float);
                update(optimizer, &loss, 3e-3).unwrap();
                loss.double_value(&[])
            })
            .collect()
    }

    fn fresh(moments: MomentStore) -> AdamW {
        let config = AdamConfig { optim: moments, ..AdamConfig::default() };
        AdamW::over(vec![parameter("w", &problem().2)], config)
    }

    #[test]
    fn moments_may_lie_elsewhere_or_in_eight_bits() {
        let full = descend(&mut fresh(MomentStore::Full), 150);
        assert_eq!(descend(&mut fresh(MomentStore::Offload), 150), full);
        let eight = descend(&mut fresh(MomentStore::EightBit), 150);
        assert!(full[149] < 0.1 * full[0], "nothing was learnt: {} {}", full[0], full[149]);
        for (step, eight) in eight.iter().enumerate() {
            assert!((eight - full[step]).abs() < 0.01 * full[0], "{eight} is not {}", full[step]);
        }
    }

    #[test]
    fn moments_of_each_kind_round_trip() {
        let dir = tempfile::tempdir().unwrap();
        for moments in [MomentStore::Full, MomentStore::EightBit, MomentStore::Offload] {
            let mut straight = fresh(moments);
            descend(&mut straight, 5);
            let path =
                camino::Utf8Path::from_path(dir.path()).unwrap().join("optimizer.safetensors");
            crate::model::write_safetensors(&path, &straight.state()).unwrap();
            let weight = straight.slots[0].parameter.tensor.copy();
            let mut again = AdamW::over(
                vec![parameter("w", &weight.detach())],
                AdamConfig { optim: moments, ..AdamConfig::default() },
            );
            again.restore(&Weights::map(&[path]).unwrap(), straight.updates()).unwrap();
            assert_eq!(descend(&mut again, 5), descend(&mut straight, 5), "{moments:?}");
        }
    }
}
