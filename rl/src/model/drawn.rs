//! Weights that are drawn where the model lives: for measuring a shape, not for training it.

use super::config::Qwen3Config;
use super::qwen3::Qwen3;
use tch::{Device, Kind, Tensor, no_grad_guard};

impl Qwen3 {
    /// A model with random weights, drawn on `device` in its own type by libtorch's generator:
    /// billions of weights in seconds, and no copy of them in the computer's memory. Gains are
    /// one, biases zero, and everything else is normal with the configured spread, as in [`Self::random`]; but
    /// the same seed gives the same weights only on devices of one kind.
    pub fn drawn(config: &Qwen3Config, kind: Kind, device: Device, seed: i64) -> Self {
        let _guard = no_grad_guard();
        tch::manual_seed(seed);
        let built = Self::build(config, kind, device, &mut |name, shape| {
            let options = (kind, device);
            Ok(Self::fresh_weight(config, name, shape, options, |spread| {
                Tensor::empty(shape, options).normal_(0.0, spread)
            }))
        });
        built.expect("drawn weights have the shapes they were asked for")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_weights_are_those_of_a_fresh_model_in_all_but_their_values() {
        let config = Qwen3Config::tiny(400, 1, 2);
        let stream = tasks::stream::Stream::root(1);
        let plain = Qwen3::random(&config, Kind::Float, Device::Cpu, stream).published();
        let draw = |seed| Qwen3::drawn(&config, Kind::BFloat16, Device::Cpu, seed).published();
        let (drawn, again, other) = (draw(1), draw(1), draw(2));
        assert!(plain.keys().eq(drawn.keys()));
        let wide = |tensor: &Tensor| tensor.to_kind(Kind::Double);
        for (name, tensor) in &drawn {
            assert_eq!((tensor.kind(), tensor.size()), (Kind::BFloat16, plain[name].size()));
            assert_eq!(wide(tensor), wide(&again[name]), "{name}");
            let spread = |tensor: &Tensor| wide(tensor).square().mean(Kind::Double).sqrt();
            let (found, expected) =
                (spread(tensor).double_value(&[]), spread(&plain[name]).double_value(&[]));
            // Matrices have thousands of entries, so their spread is known to a few per cent.
            assert!((found / expected - 1.0).abs() < 0.05, "{name}: {found} {expected}");
            assert_eq!(name.ends_with("norm.weight"), wide(tensor) == wide(&other[name]));
        }
    }
}
