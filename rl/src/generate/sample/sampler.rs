//! Sampling: temperature, top-p, top-k, min-p and greedy decoding.
//!
//! Random numbers come from a stream of the row's own, so the other rows of a batch change nothing
//! but rounding. The log-probability that is kept is the one that the trainer recomputes: that of
//! `softmax(logits / temperature)` over the tokens that min-p keeps. Top-p and top-k apply after
//! it: with them, the token was drawn from a narrower distribution than the one trained, and that
//! difference is the user's choice.

use super::rows;
use crate::model::signed;
use rand::{Rng, RngExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

/// The settings of a draw.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `temperature` | 1.0 | divides the logits; 0 takes the most likely token |
/// | `top_p` | 1.0 | keep the most likely tokens until their mass reaches this |
/// | `top_k` | 0 | keep this many of the most likely tokens; 0 keeps all |
/// | `min_p` | 0.0 | keep tokens at least this likely relative to the likeliest |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sampling {
    /// Divides the logits; 0 is greedy.
    pub temperature: f64,
    /// Kept mass, in (0, 1].
    pub top_p: f64,
    /// Kept count; 0 keeps all.
    pub top_k: usize,
    /// Kept relative likelihood, in [0, 1].
    pub min_p: f64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 1.0, top_p: 1.0, top_k: 0, min_p: 0.0 }
    }
}

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
#[error("`{field}` is {got}; it must be {expected}")]
pub struct SamplingError {
    /// The name of the setting.
    pub field: &'static str,
    /// Its value.
    pub got: f64,
    /// The values that are accepted.
    pub expected: &'static str,
}

impl Sampling {
    /// Always the most likely token; of equals the one with the lowest id.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, ..Self::default() }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// [`SamplingError`] naming the field.
    pub fn check(&self) -> Result<(), SamplingError> {
        let range = |field, got: f64, holds, expected| {
            if holds { Ok(()) } else { Err(SamplingError { field, got, expected }) }
        };
        let Self { temperature: t, top_p, min_p, .. } = *self;
        range(
            "temperature",
            t,
            t.is_finite() && (t <= 0.0 || t >= 1e-3) && t >= 0.0,
            "0, or at least 0.001",
        )?;
        range("top_p", top_p, top_p > 0.0 && top_p <= 1.0, "above 0 and at most 1")?;
        range("min_p", min_p, (0.0..=1.0).contains(&min_p), "between 0 and 1")
    }

    /// Whether the most likely token is always taken.
    pub fn is_greedy(&self) -> bool {
        self.temperature <= 0.0
    }

    /// What the logits are divided by, for sampler and trainer alike. Greedy tokens are scored
    /// at temperature 1.
    pub fn scale(&self) -> f64 {
        if self.is_greedy() { 1.0 } else { self.temperature }
    }

    pub(super) fn filters(&self) -> bool {
        self.top_p < 1.0 || self.top_k > 0 || self.min_p > 0.0
    }

    /// The next draw: one number of `rng`, or none when greedy.
    pub fn next(self, rng: &mut impl Rng) -> Draw {
        let point = if self.is_greedy() { 0.0 } else { rng.random() };
        Draw { sampling: self, point, top: 0 }
    }

    /// The index at `point` of `[0, 1)`, given `log_probs` of `softmax(logits / scale)`.
    fn choose(&self, log_probs: &[f32], point: f64) -> usize {
        if self.is_greedy() {
            return likeliest(log_probs);
        }
        if self.filters() {
            let kept = self.kept(log_probs);
            let masses = kept.iter().map(|&index| (index, f64::from(log_probs[index]).exp()));
            let total: f64 = masses.clone().map(|(_, mass)| mass).sum();
            pick(masses, point * total)
        } else {
            // A distribution already: its total is 1 up to rounding.
            pick(log_probs.iter().map(|&log_prob| f64::from(log_prob.exp())).enumerate(), point)
        }
    }

    /// The log-probability of `choice` in the policy's own distribution: among the tokens that
    /// min-p keeps, before top-p and top-k. `log_probs` as for [`Self::choose`].
    fn log_prob(&self, log_probs: &[f32], choice: usize) -> f32 {
        log_probs[choice] - self.log_mass(log_probs)
    }

    /// The `count` likeliest tokens of the policy's own distribution, likeliest first, with their
    /// log-probabilities as [`Self::log_prob`] has them. Fewer if fewer are possible.
    fn top(&self, log_probs: &[f32], count: usize) -> Vec<TopToken> {
        if count == 0 {
            return Vec::new();
        }
        let (floor, log_mass) = (self.floor(log_probs), self.log_mass(log_probs));
        let is_possible =
            |log_prob: f32| log_prob > f32::NEG_INFINITY && f64::from(log_prob) >= floor;
        let mut order: Vec<usize> =
            (0..log_probs.len()).filter(|&index| is_possible(log_probs[index])).collect();
        let likelier =
            |a: &usize, b: &usize| log_probs[*b].total_cmp(&log_probs[*a]).then(a.cmp(b));
        if order.len() > count {
            order.select_nth_unstable_by(count, likelier);
            order.truncate(count);
        }
        order.sort_unstable_by(likelier);
        let entry =
            |index: usize| TopToken { id: signed(index), log_prob: log_probs[index] - log_mass };
        order.into_iter().map(entry).collect()
    }

    /// The logarithm of the mass that min-p keeps; 0 without it.
    fn log_mass(&self, log_probs: &[f32]) -> f32 {
        if self.min_p <= 0.0 {
            return 0.0;
        }
        let floor = self.floor(log_probs);
        let kept = log_probs.iter().map(|&log_prob| f64::from(log_prob));
        let mass: f64 = kept.filter(|log_prob| *log_prob >= floor).map(f64::exp).sum();
        #[expect(clippy::cast_possible_truncation, reason = "log-probabilities are kept in f32")]
        let log_mass = mass.ln() as f32;
        log_mass
    }

    /// What min-p asks of a token's log-probability: minus infinity where it asks nothing.
    fn floor(&self, log_probs: &[f32]) -> f64 {
        f64::from(most(log_probs)) + self.min_p.ln()
    }

    /// The indices that survive all filters, likeliest first; never empty.
    fn kept(&self, log_probs: &[f32]) -> Vec<usize> {
        // Min-p comes first: few tokens are left to sort, and all filters keep the likeliest.
        let floor = self.floor(log_probs);
        let mut order: Vec<usize> =
            (0..log_probs.len()).filter(|&index| f64::from(log_probs[index]) >= floor).collect();
        order.sort_unstable_by(|&a, &b| log_probs[b].total_cmp(&log_probs[a]).then(a.cmp(&b)));
        if self.top_k > 0 {
            order.truncate(self.top_k);
        }
        if self.top_p < 1.0 {
            let total: f64 = order.iter().map(|&index| f64::from(log_probs[index]).exp()).sum();
            let mut mass = 0.0;
            let enough = order.iter().position(|&index| {
                mass += f64::from(log_probs[index]).exp();
                mass >= self.top_p * total
            });
            order.truncate(enough.map_or(order.len(), |last| last + 1));
        }
        order
    }
}

/// The sampling parameters and the random number of one row.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    /// The sampling parameters.
    pub sampling: Sampling,
    /// Where in the distribution, in [0, 1).
    pub point: f64,
    /// How many of the likeliest tokens are reported beside the sampled one.
    pub top: usize,
}

/// One of the likeliest tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TopToken {
    /// The id of the token.
    pub id: i64,
    /// Its log-probability, in nats.
    pub log_prob: f32,
}

/// A sampled token with its log-probability.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledToken {
    /// The id of the token.
    pub choice: i64,
    /// Its log-probability in the policy's own distribution. Not a finite number
    /// if the logits were none.
    pub log_prob: f32,
    /// The likeliest tokens of the same distribution, likeliest first: as many as [`Draw::top`]
    /// asks for and are possible.
    pub top: Vec<TopToken>,
}

/// Draws one token for each row of `logits`, `[N, V]` in f32: on a CPU row after row, elsewhere in
/// operations on all of them.
pub fn draw(logits: &Tensor, draws: &[Draw]) -> Vec<SampledToken> {
    let device = logits.device();
    let scales: Vec<f64> = draws.iter().map(|draw| draw.sampling.scale()).collect(); // [N]
    let log_probs = if scales.iter().any(|scale| scale.total_cmp(&1.0).is_ne()) {
        let scales = Tensor::from_slice(&scales).to_kind(Kind::Float).to_device(device);
        (logits / scales.unsqueeze(1)).log_softmax(-1, Kind::Float)
    } else {
        logits.log_softmax(-1, Kind::Float)
    };
    match device {
        Device::Cpu => on_host(&log_probs, draws),
        _ => rows::draw(&log_probs, draws),
    }
}

pub(super) fn on_host(log_probs: &Tensor, draws: &[Draw]) -> Vec<SampledToken> {
    let values = host(log_probs);
    let rows = values.chunks_exact((values.len() / draws.len().max(1)).max(1));
    let drawn = draws.iter().zip(rows).map(|(draw, log_probs)| {
        let choice = draw.sampling.choose(log_probs, draw.point);
        SampledToken {
            choice: signed(choice),
            log_prob: draw.sampling.log_prob(log_probs, choice),
            top: draw.sampling.top(log_probs, draw.top),
        }
    });
    drawn.collect()
}

/// The likeliest tokens of one row of log-probabilities `[V]`, on any device, from which `drawn`
/// was drawn.
pub(super) fn top_of(log_probs: &Tensor, draw: &Draw, drawn: &SampledToken) -> Vec<TopToken> {
    let mut top = draw.sampling.top(&host(log_probs), draw.top);
    // The device may have rounded otherwise; a token has one log-probability.
    for entry in top.iter_mut().filter(|entry| entry.id == drawn.choice) {
        entry.log_prob = drawn.log_prob;
    }
    top
}

/// The numbers of a tensor in f32, on the host.
pub(super) fn host(tensor: &Tensor) -> Vec<f32> {
    let mut values = vec![0.0_f32; tensor.numel()];
    tensor.copy_data(&mut values, tensor.numel());
    values
}

fn likeliest(log_probs: &[f32]) -> usize {
    let most = most(log_probs);
    log_probs.iter().position(|&log_prob| log_prob == most).unwrap_or(0)
}

/// The largest; in lanes, because a single chain of comparisons is as slow as a draw.
fn most(log_probs: &[f32]) -> f32 {
    let more = |a: f32, b: f32| if b > a { b } else { a };
    let (chunks, rest) = log_probs.as_chunks::<16>();
    let mut lanes = [f32::NEG_INFINITY; 16];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = more(*lane, *value);
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, b| more(a, *b))
}

/// The first index whose cumulative mass passes `goal`.
fn pick(masses: impl Iterator<Item = (usize, f64)>, goal: f64) -> usize {
    let mut sum = 0.0;
    let mut last = 0;
    for (index, mass) in masses {
        if mass > 0.0 {
            last = index;
            sum += mass;
            if sum > goal {
                return index;
            }
        }
    }
    // Rounding can leave the sum just short of its goal; the last possible token is meant.
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn min_p_narrows_the_distribution_that_is_scored() {
        let log_probs = [0.5_f32, 0.3, 0.19, 0.01].map(f32::ln);
        let sampling = Sampling { min_p: 0.1, ..Sampling::default() };
        let found: Vec<f32> = (0..3).map(|i| sampling.log_prob(&log_probs, i).exp()).collect();
        for (found, expected) in found.into_iter().zip([0.5 / 0.99, 0.3 / 0.99, 0.19 / 0.99]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        assert_eq!(Sampling::default().log_prob(&log_probs, 3), log_probs[3]);
    }
    use proptest::prelude::*;
    use tasks::stream::Stream;

    fn logs(probabilities: &[f32]) -> Vec<f32> {
        probabilities.iter().map(|p| p.ln()).collect()
    }

    fn frequencies(sampling: Sampling, probabilities: &[f32], draws: u32) -> Vec<f64> {
        let log_probs = logs(probabilities);
        let mut rng = Stream::root(5).rng();
        let mut counts = vec![0; probabilities.len()];
        for _ in 0..draws {
            counts[sampling.choose(&log_probs, sampling.next(&mut rng).point)] += 1;
        }
        counts.into_iter().map(|count| f64::from(count) / f64::from(draws)).collect()
    }

    #[test]
    fn draws_follow_the_distribution() {
        let found = frequencies(Sampling::default(), &[0.5, 0.0, 0.3, 0.2], 40_000);
        for (found, expected) in found.iter().zip([0.5, 0.0, 0.3, 0.2]) {
            // Four standard errors of a frequency near one half.
            assert!((found - expected).abs() < 0.01, "{found} is not {expected}");
        }
    }

    #[test]
    pub(super) fn filters_keep_the_right_tokens_and_renormalise() {
        let probabilities = [0.1, 0.4, 0.2, 0.3];
        let support = |sampling: Sampling| -> Vec<usize> {
            let found = frequencies(sampling, &probabilities, 2000);
            (0..4).filter(|&index| found[index] > 0.0).collect()
        };
        assert_eq!(support(Sampling { top_k: 2, ..Sampling::default() }), [1, 3]);
        assert_eq!(support(Sampling { top_p: 0.65, ..Sampling::default() }), [1, 3]);
        assert_eq!(support(Sampling { top_p: 0.75, ..Sampling::default() }), [1, 2, 3]);
        assert_eq!(support(Sampling { min_p: 0.7, ..Sampling::default() }), [1, 3]);
        assert_eq!(support(Sampling { top_k: 3, top_p: 0.4, ..Sampling::default() }), [1]);
        let found =
            frequencies(Sampling { top_k: 2, ..Sampling::default() }, &probabilities, 40_000);
        assert!((found[1] - 4.0 / 7.0).abs() < 0.01);
    }

    #[test]
    fn greedy_takes_the_first_of_the_likeliest_and_draws_nothing() {
        let mut rng = Stream::root(5).rng();
        let point = Sampling::greedy().next(&mut rng).point;
        assert_eq!(Sampling::greedy().choose(&logs(&[0.2, 0.4, 0.4]), point), 1);
        assert_eq!(rng, Stream::root(5).rng());
    }

    #[test]
    fn top_has_the_likeliest_tokens_of_the_distribution_that_is_scored() {
        let log_probs = logs(&[0.19, 0.3, 0.0, 0.5, 0.01]);
        let ids = |sampling: Sampling, count| -> Vec<i64> {
            sampling.top(&log_probs, count).iter().map(|entry| entry.id).collect()
        };
        assert_eq!(ids(Sampling::default(), 2), [3, 1]);
        assert_eq!(ids(Sampling::default(), 9), [3, 1, 0, 4]);
        assert!(ids(Sampling::default(), 0).is_empty());
        let narrowed = Sampling { min_p: 0.1, ..Sampling::default() };
        assert_eq!(ids(narrowed, 9), [3, 1, 0]);
        for entry in narrowed.top(&log_probs, 9) {
            let index = usize::try_from(entry.id).unwrap();
            assert_eq!(entry.log_prob, narrowed.log_prob(&log_probs, index));
        }
        // Of equals the lowest id comes first, as in greedy decoding.
        let equal = Sampling::default().top(&logs(&[0.2, 0.4, 0.4]), 1);
        assert_eq!(equal[0].id, 1);
    }

    #[test]
    fn bad_settings_are_named() {
        let sampling = Sampling { top_p: 0.0, ..Sampling::default() };
        assert_eq!(
            sampling.check().unwrap_err().to_string(),
            "`top_p` is 0; it must be above 0 and at most 1"
        );
        assert!(Sampling { temperature: f64::NAN, ..Sampling::default() }.check().is_err());
        assert!(Sampling { temperature: -1.0, ..Sampling::default() }.check().is_err());
        assert!(Sampling::greedy().check().is_ok());
    }

    proptest! {
        #[test]
        fn impossible_tokens_are_never_drawn(
            weights in prop::collection::vec(0_u8..4, 1..30).prop_filter("some mass", |w| w.iter().any(|&x| x > 0)),
            top_p in 0.05..=1.0_f64, top_k in 0_usize..5, min_p in 0.0..=1.0_f64, seed: u64,
        ) {
            let total: f32 = weights.iter().map(|&w| f32::from(w)).sum();
            let log_probs: Vec<f32> = weights.iter().map(|&w| (f32::from(w) / total).ln()).collect();
            let sampling = Sampling { temperature: 1.0, top_p, top_k, min_p };
            let point = sampling.next(&mut Stream::root(seed).rng()).point;
            let index = sampling.choose(&log_probs, point);
            prop_assert!(weights[index] > 0);
        }
    }
}
