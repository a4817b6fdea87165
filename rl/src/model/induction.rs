//! Fresh weights with induction heads: two layers that together look for what followed tokens like the
//! current one, and make it likelier (Olsson et al. 2022, "In-context learning and induction heads").
//!
//! 1. Heads of the first layer look one, two, … tokens back and write what stands there into parts of
//!    the residual stream of their own.
//! 2. Heads of the second layer have the current token as query and the token before as key, so they
//!    look at what followed a token like the current one, and copy that.
//!
//! Everything else is drawn as usual, but writes little into the residual stream, which would drown the
//! tokens in it; and of all other heads those that share a key head look at tokens like the current one,
//! but for the first. Training changes all of it.
//!
//! Rotary embedding turns the first pairs of a head's dimensions fast and the last ones slowly. Heads that
//! look for a place use fast pairs, and heads that look for a token use slow ones, for that match is to
//! last over a thousand tokens.

use super::config::Qwen3Config;
use super::fresh::{normal, writes};
use tasks::stream::Stream;
use tch::{Kind, Tensor};

/// The product of the gains of query and key norms in both layers. With 32 dimensions half of the
/// attention is then at the place that is looked for.
const GAIN: f64 = 2.0;
/// What heads of the first layer write, as a part of what they read.
const WRITTEN: f64 = 0.3;
/// What heads of the second layer write.
const COPIED: f64 = 0.7;
/// The factor of all other weights that write into the residual stream.
const OTHERS: f64 = 0.3;

/// The heads' weights. D dimensions of a head, C of the residual stream.
pub(super) struct InductionHeads<'a> {
    config: &'a Qwen3Config,
    stream: Stream,
    /// Directions of the residual stream that are at right angles to each other and to the first axis,
    /// on which all tokens are the same, in parts of D: what heads read of a token, what the second
    /// layer copies, and for each head that looks back what it writes. \[parts, D, C\]
    parts: Tensor,
}

impl<'a> InductionHeads<'a> {
    pub(super) fn new(config: &'a Qwen3Config, stream: Stream) -> Self {
        let (size, hidden) = (config.head_dim, config.hidden_size);
        let parts = ((hidden - 1) / size).min(2 + config.group_size());
        assert!(parts > 2 && config.num_hidden_layers > 1, "too small for induction heads");
        let rows = normal(&[parts * size, hidden - 1], 1.0, stream.child("parts"));
        let rows = right_angled(&rows).constant_pad_nd([1, 0]);
        Self { config, stream, parts: rows.view([parts, size, hidden]) }
    }

    /// A weight with the heads in it; `drawn` is what it would be without.
    pub(super) fn set(&self, name: &str, drawn: Tensor) -> Tensor {
        if writes(name) {
            let _ = drawn.shallow_clone().multiply_(&Tensor::from(OTHERS));
        }
        if name.ends_with("embed_tokens.weight") {
            let same = self.config.initializer_range * (self.config.hidden_size as f64).sqrt();
            let _ = drawn.select(1, 0).fill_(same);
            return drawn;
        }
        let Some((layer, weight)) = layer_of(name) else { return drawn };
        match (layer, weight) {
            (0 | 1, "self_attn.q_norm.weight" | "self_attn.k_norm.weight") => drawn * GAIN.sqrt(),
            (1, "self_attn.q_proj.weight") => {
                self.heads(drawn, |_, _| Some(self.slow(&self.read())))
            }
            (1, "self_attn.k_proj.weight") => {
                self.key_heads(drawn, |_| Some(self.slow(&self.written(0))))
            }
            (1, "self_attn.v_proj.weight") => {
                self.key_heads(drawn, |group| Some(self.copied(group)))
            }
            (1, "self_attn.o_proj.weight") => {
                self.outputs(&drawn, |group, _| Some(self.copied(group) * COPIED))
            }
            (_, "self_attn.k_proj.weight") => self.key_heads(drawn, |group| {
                let looks_back = layer == 0 && group == 0;
                Some(if looks_back { self.back(0) } else { self.like(layer, group) })
            }),
            (_, "self_attn.q_proj.weight") => self.heads(drawn, |group, head| {
                if layer == 0 && group == 0 {
                    return Some(self.back(head + 1));
                }
                (head > 0).then(|| self.like(layer, group))
            }),
            (0, "self_attn.v_proj.weight") => {
                self.key_heads(drawn, |group| (group == 0).then(|| self.read()))
            }
            (0, "self_attn.o_proj.weight") => self.outputs(&drawn, |group, head| {
                let is_written = group == 0 && head + 2 < self.parts.size()[0];
                is_written.then(|| self.written(head) * WRITTEN)
            }),
            _ => drawn,
        }
    }

    /// What heads read of a token. \[D, C\]
    fn read(&self) -> Tensor {
        self.parts.get(0)
    }

    /// What the second layer copies of a token. Groups after the first copy what others read. \[D, C\]
    fn copied(&self, group: i64) -> Tensor {
        self.parts.get(i64::from(group == 0))
    }

    /// Where a head of the first layer writes. \[D, C\]
    fn written(&self, head: i64) -> Tensor {
        self.parts.get(2 + head)
    }

    /// Fills the slow pairs of a head with the first rows of `rows`. \[D, C\]
    fn slow(&self, rows: &Tensor) -> Tensor {
        let all = rows.zeros_like();
        let (half, slow) = (self.config.head_dim / 2, self.slow_pairs());
        for (end, first) in [(half, 0), (2 * half, slow)] {
            all.narrow(0, end - slow, slow).copy_(&rows.narrow(0, first, slow));
        }
        all
    }

    /// How many pairs are slow.
    fn slow_pairs(&self) -> i64 {
        self.config.head_dim / 2 * 3 / 8
    }

    /// A query or key that is nearest to those of tokens like it: drawn once for a key head and the query
    /// heads that share it (after Trockman and Kolter 2023, "Mimetic initialization of self-attention
    /// layers"). \[D, C\]
    fn like(&self, layer: usize, group: i64) -> Tensor {
        let shape = [self.config.head_dim, self.config.hidden_size];
        let stream = self.stream.child(&format!("like {layer} {group}"));
        self.slow(&normal(&shape, self.config.initializer_range, stream))
    }

    /// A query or key that is the same for all tokens: where a query is turned by `back` tokens, it is
    /// nearest to the key that many tokens before it. \[D, C\]
    fn back(&self, back: i64) -> Tensor {
        let half = self.config.head_dim / 2;
        let all =
            Tensor::zeros([2 * half, self.config.hidden_size], (Kind::Float, self.parts.device()));
        for pair in 0..half - self.slow_pairs() {
            let frequency = self.config.rope_theta.powf(-(pair as f64) / half as f64);
            let length = 1.0 / (pair as f64 + 1.0).sqrt();
            let angle = -frequency * back as f64;
            let _ = all.get(pair).get(0).fill_(length * angle.cos());
            let _ = all.get(half + pair).get(0).fill_(length * angle.sin());
        }
        all
    }

    /// Sets query heads, which are named by the key head that they share and their place among those that
    /// do. `None` leaves one as it was drawn.
    fn heads(&self, drawn: Tensor, head: impl Fn(i64, i64) -> Option<Tensor>) -> Tensor {
        let (size, groups) = (self.config.head_dim, self.config.group_size());
        for group in 0..self.config.num_key_value_heads {
            for place in 0..groups {
                if let Some(rows) = head(group, place) {
                    drawn.narrow(0, (group * groups + place) * size, size).copy_(&rows);
                }
            }
        }
        drawn
    }

    /// Sets key or value heads.
    fn key_heads(&self, drawn: Tensor, head: impl Fn(i64) -> Option<Tensor>) -> Tensor {
        let size = self.config.head_dim;
        for group in 0..self.config.num_key_value_heads {
            if let Some(rows) = head(group) {
                drawn.narrow(0, group * size, size).copy_(&rows);
            }
        }
        drawn
    }

    /// Sets what query heads write, given as what they would read of it.
    fn outputs(&self, drawn: &Tensor, head: impl Fn(i64, i64) -> Option<Tensor>) -> Tensor {
        self.heads(drawn.tr(), head).tr().contiguous()
    }
}

/// The layer that a weight belongs to, and its name in it.
fn layer_of(name: &str) -> Option<(usize, &str)> {
    let (number, weight) = name.split_once("layers.")?.1.split_once('.')?;
    Some((number.parse().ok()?, weight))
}

/// Rows at right angles to each other, of length one (Gram-Schmidt). \[rows, C\]
fn right_angled(rows: &Tensor) -> Tensor {
    let mut done: Vec<Tensor> = Vec::new();
    for place in 0..rows.size()[0] {
        let mut row = rows.get(place).to_kind(Kind::Double);
        // Twice, for what rounding leaves.
        for other in done.iter().chain(&done) {
            row = &row - other * row.dot(other);
        }
        done.push(&row / row.norm());
    }
    Tensor::stack(&done, 0).to_kind(Kind::Float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::packed::Packed;
    use crate::model::{InitialAttention, Qwen3};
    use rand::RngExt as _;
    use tch::Device;

    /// The mean log-probability of random tokens, and of the same tokens when they come again.
    fn first_and_again(config: &Qwen3Config, attention: InitialAttention) -> [f64; 2] {
        let stream = Stream::root(7);
        let model = Qwen3::fresh(config, attention, Kind::Float, Device::Cpu, stream);
        let mut rng = stream.child("tokens").rng();
        let length = 150;
        let mut ids: Vec<i64> =
            (0..length).map(|_| rng.random_range(0..config.vocab_size)).collect();
        ids.extend_from_within(..);
        let logits = tch::no_grad(|| model.forward(&Packed::new([&ids[..]], Device::Cpu)));
        let log_probs = logits.view([2 * length, -1]).log_softmax(-1, Kind::Float);
        let next = Tensor::from_slice(&ids[1..]).unsqueeze(1);
        let said = log_probs.narrow(0, 0, 2 * length - 1).gather(1, &next, false);
        [0, length]
            .map(|from| said.narrow(0, from, length - 1).mean(Kind::Double).double_value(&[]))
    }

    #[test]
    fn what_followed_before_is_likelier_to_follow_again() {
        for config in [Qwen3Config::small(600, 1, 2), Qwen3Config::tiny(600, 1, 2)] {
            let [first, again] = first_and_again(&config, InitialAttention::Induction);
            assert!(again > first + 1.0, "{first} {again}");
            let [first, again] = first_and_again(&config, InitialAttention::Random);
            assert!((again - first).abs() < 0.3, "{first} {again}");
        }
    }

    #[test]
    fn the_parts_of_the_residual_stream_are_at_right_angles() {
        let config = Qwen3Config::small(400, 1, 2);
        let parts = InductionHeads::new(&config, Stream::root(3)).parts;
        assert_eq!(parts.size(), [5, 32, 192]);
        let rows = parts.view([160, 192]);
        let apart = (rows.matmul(&rows.tr()) - Tensor::eye(160, (Kind::Float, Device::Cpu))).abs();
        assert!(apart.max().double_value(&[]) < 1e-5);
        assert_eq!(rows.select(1, 0).abs().max().double_value(&[]), 0.0);
    }
}
