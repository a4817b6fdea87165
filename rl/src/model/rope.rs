//! Rotary position embedding (Su et al. 2021), with the scalings that Qwen3 publishes.
//!
//! With the head split into halves `(a, b)`, position p turns it into
//! `(a cos - b sin, b cos + a sin)`; the minus sign sits in the sine table, so that the rotation
//! is `x * cos + roll(x, D/2) * sin`.

use super::config::{Qwen3Config, RopeScaling, Yarn};
use std::f64::consts::PI;
use tch::{Device, Kind, Tensor};

/// Cosines and signed sines of every position.
#[derive(Debug)]
pub(super) struct Rope {
    cos: Tensor, // [P, D]
    sin: Tensor, // [P, D]
}

impl Rope {
    pub(super) fn new(config: &Qwen3Config, kind: Kind, device: Device) -> Self {
        let (frequencies, factor) = frequencies(config);
        // One position more than the longest sequence serves the cache's scratch place.
        let positions =
            Tensor::arange(config.max_position_embeddings + 1, (Kind::Float, Device::Cpu));
        let angles = positions.unsqueeze(1) * frequencies.unsqueeze(0); // [P, D/2]
        let (cos, sin) = (angles.cos() * factor, angles.sin() * factor);
        Self {
            cos: Tensor::cat(&[&cos, &cos], 1).to_kind(kind).to_device(device),
            sin: Tensor::cat(&[&sin.neg(), &sin], 1).to_kind(kind).to_device(device),
        }
    }

    pub(super) fn shared(&self) -> Self {
        Self { cos: self.cos.shallow_clone(), sin: self.sin.shallow_clone() }
    }

    /// The angles of `positions`, of any shape `[..]`, broadcast over heads: `[.., 1, D]` each.
    pub(super) fn at(&self, positions: &Tensor) -> Angles {
        let mut shape = positions.size();
        shape.extend([1, self.cos.size()[1]]);
        let flat = positions.view([-1]);
        let part = |table: &Tensor| table.index_select(0, &flat).view(shape.as_slice());
        Angles { cos: part(&self.cos), sin: part(&self.sin) }
    }
}

/// Cosines and signed sines of the tokens at hand: `[.., 1, D]` each.
#[derive(Debug)]
pub(super) struct Angles {
    pub(super) cos: Tensor,
    pub(super) sin: Tensor,
}

impl Angles {
    /// Turns heads `[.., H, D]`.
    pub(super) fn rotate(&self, x: &Tensor) -> Tensor {
        let half = x.size().last().expect("a head has a size") / 2;
        (x * &self.cos).addcmul(&x.roll([half], [-1]), &self.sin)
    }
}

/// Angle per position of each pair `[D/2]`, and what cosines and sines are multiplied by.
fn frequencies(config: &Qwen3Config) -> (Tensor, f64) {
    // In f32 and in this order, because that is how the published tables are computed.
    let options = (Kind::Float, Device::Cpu);
    let half = config.head_dim / 2;
    let exponents = Tensor::arange(half, options) * 2.0 / config.head_dim as f64;
    let periods = Tensor::full([half], config.rope_theta, options).pow(&exponents);
    match &config.rope_scaling {
        RopeScaling::Default => (periods.reciprocal(), 1.0),
        RopeScaling::Linear { factor } => (periods.reciprocal() / *factor, 1.0),
        RopeScaling::Yarn(yarn) => {
            let (low, high) = kept_and_divided(yarn, config.head_dim as f64, config.rope_theta);
            let divided = ((Tensor::arange(half, options) - low) / (high - low)).clamp(0.0, 1.0);
            let kept: Tensor = 1.0 - &divided;
            let slow = (&periods * yarn.factor).reciprocal();
            // Blended in the reference's order, for the sake of the last bit.
            (slow * (1.0 - &kept) + periods.reciprocal() * kept, yarn.attention_factor)
        }
    }
}

/// Up to which pair a frequency is kept and from which on it is divided in full (Peng et al.
/// 2023, §3.2): a pair that turns `r` times over the trained length has the index
/// `D ln(length / (2 π r)) / (2 ln θ)`.
fn kept_and_divided(yarn: &Yarn, head_dim: f64, theta: f64) -> (f64, f64) {
    let length = yarn.original_max_position_embeddings as f64;
    let pair =
        |rotations: f64| head_dim * (length / (rotations * 2.0 * PI)).ln() / (2.0 * theta.ln());
    let (mut low, mut high) = (pair(yarn.beta_fast), pair(yarn.beta_slow));
    if yarn.truncate {
        (low, high) = (low.floor(), high.ceil());
    }
    let (low, high) = (low.max(0.0), high.min(head_dim - 1.0));
    (low, if low == high { high + 0.001 } else { high })
}
