//! The draws of many rows at once, in operations that run where the logits are.
//!
//! On a GPU the logits of one step are tens of megabytes: to copy them costs more than to draw.
//! The tokens are those that [`Sampling::choose`] would draw, up to rounding.

use super::sampler::top_of;
use super::{Draw, SampledToken, Sampling};
use crate::model::signed;
use tch::{Kind, Tensor};

/// Groups of rows that are sampled by the same operations. The group of a row depends on its own
/// settings alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SamplingKind {
    Greedy,
    Plain,
    Filtered,
}

impl SamplingKind {
    const ALL: [Self; 3] = [Self::Greedy, Self::Plain, Self::Filtered];

    fn from_sampling(sampling: &Sampling) -> Self {
        match sampling {
            greedy if greedy.is_greedy() => Self::Greedy,
            filtered if filtered.filters() => Self::Filtered,
            _ => Self::Plain,
        }
    }
}

/// Draws one token for each row of log-probabilities `[N, V]`.
pub(super) fn draw(log_probs: &Tensor, draws: &[Draw]) -> Vec<SampledToken> {
    let none = SampledToken { choice: 0, log_prob: f32::NAN, top: Vec::new() };
    let mut drawn = vec![none; draws.len()];
    for kind in SamplingKind::ALL {
        let members: Vec<usize> = (0..draws.len())
            .filter(|&row| SamplingKind::from_sampling(&draws[row].sampling) == kind)
            .collect();
        if members.is_empty() {
            continue;
        }
        let rows = SamplingBatch {
            log_probs: chosen(log_probs, &members),
            draws: members.iter().map(|&row| draws[row]).collect(),
        };
        let choices = match kind {
            SamplingKind::Greedy => rows.log_probs.argmax(-1, false),
            SamplingKind::Plain => pick(&rows.log_probs.exp(), &rows.column(|draw| draw.point)),
            SamplingKind::Filtered => rows.filtered(),
        };
        let scores = rows.log_probs_of(&choices);
        // One copy to the host, so that it waits for the device once. Both are exact in f64.
        let both = Tensor::stack(&[choices.to_kind(Kind::Double), scores.to_kind(Kind::Double)], 1);
        let mut values = vec![0.0; 2 * members.len()];
        both.copy_data(&mut values, 2 * members.len());
        #[expect(clippy::cast_possible_truncation, reason = "both were narrower before")]
        for (row, value) in members.into_iter().zip(values.chunks_exact(2)) {
            drawn[row].choice = value[0] as i64;
            drawn[row].log_prob = value[1] as f32;
        }
    }
    // Only requests of a server ask for these, so whole rows may be copied to the host.
    for (row, draw) in draws.iter().enumerate().filter(|(_, draw)| draw.top > 0) {
        drawn[row].top = top_of(&log_probs.get(signed(row)), draw, &drawn[row]);
    }
    drawn
}

/// The rows at `members`, in their order.
fn chosen(log_probs: &Tensor, members: &[usize]) -> Tensor {
    if signed(members.len()) == log_probs.size()[0] {
        return log_probs.shallow_clone();
    }
    let members: Vec<i64> = members.iter().copied().map(signed).collect();
    log_probs.index_select(0, &Tensor::from_slice(&members).to_device(log_probs.device()))
}

/// Numbers whose sums are searched before the numbers themselves are.
const BLOCK: i64 = 1024;

/// The first index whose cumulative mass passes `goals`: `[M, V]` and `[M, 1]` to `[M]`.
///
/// A vocabulary is long, and its running sum in f64 is most of a draw: so the block is found first,
/// then the place in it.
fn pick(masses: &Tensor, goals: &Tensor) -> Tensor {
    let (rows, width) = masses.size2().expect("masses are [M, V]");
    let blocks = (width + BLOCK - 1) / BLOCK;
    let padded = masses.constant_pad_nd([0, blocks * BLOCK - width]);
    let parts = padded.view([rows, blocks, BLOCK]);
    let sums = parts.sum_dim_intlist([-1].as_slice(), false, Kind::Double); // [M, blocks]
    let (block, before) = passing(&sums, goals); // [M, 1] each
    let chosen = block.unsqueeze(2).expand([rows, 1, BLOCK], false);
    let inside = parts.gather(1, &chosen, false).view([rows, BLOCK]).to_kind(Kind::Double);
    let (place, _) = passing(&inside, &(goals - before));
    (block * BLOCK + place).squeeze_dim(1)
}

/// The first index with a mass whose cumulative mass passes `goals`, and what comes before it:
/// `[M, L]` and `[M, 1]`, in f64, to `[M, 1]` each.
fn passing(masses: &Tensor, goals: &Tensor) -> (Tensor, Tensor) {
    let sums = masses.cumsum(-1, Kind::Double);
    // Rounding can leave the sum just short of its goal; the last possible one is meant.
    let most = sums.amax([-1].as_slice(), true) * (1.0 - f64::EPSILON);
    let passed = sums.gt_tensor(&goals.minimum(&most)).logical_and(&masses.gt(0.0));
    let first = passed.to_kind(Kind::Uint8).argmax(-1, true);
    let before = sums.gather(-1, &first, false) - masses.gather(-1, &first, false);
    (first, before)
}

/// Rows of one group.
struct SamplingBatch {
    log_probs: Tensor, // [M, V], in f32
    draws: Vec<Draw>,
}

impl SamplingBatch {
    /// A value per row, in f64: `[M, 1]`.
    fn column(&self, value: impl Fn(&Draw) -> f64) -> Tensor {
        let values: Vec<f64> = self.draws.iter().map(value).collect();
        Tensor::from_slice(&values).to_device(self.log_probs.device()).unsqueeze(1)
    }

    /// What min-p asks of log-probabilities: `[M, 1]`.
    fn floor(&self) -> Tensor {
        let most = self.log_probs.amax([-1].as_slice(), true).to_kind(Kind::Double);
        most + self.column(|draw| draw.sampling.min_p.ln())
    }

    /// Draws from what all filters keep: `[M]`.
    fn filtered(&self) -> Tensor {
        let (sorted, order) = self.log_probs.sort_stable(true, -1, true);
        let sorted = sorted.to_kind(Kind::Double);
        let ranks = Tensor::arange(sorted.size()[1], (Kind::Double, sorted.device()));
        let most_kept = self.column(|draw| match draw.sampling.top_k {
            0 => f64::INFINITY,
            kept => kept as f64,
        });
        let kept = sorted.ge_tensor(&self.floor()).logical_and(&ranks.lt_tensor(&most_kept));
        let masses = sorted.exp() * kept;
        let total = masses.sum_dim_intlist([-1].as_slice(), true, Kind::Double);
        // The token that makes the mass reach top-p is kept, and none after it.
        let enough = self.column(|draw| match draw.sampling.top_p {
            some if some < 1.0 => some,
            _ => f64::INFINITY,
        });
        let before = masses.cumsum(-1, Kind::Double) - &masses;
        let masses = &masses * before.lt_tensor(&(enough * total));
        let total = masses.sum_dim_intlist([-1].as_slice(), true, Kind::Double);
        let places = pick(&masses, &(self.column(|draw| draw.point) * total));
        order.gather(-1, &places.unsqueeze(1), false).squeeze_dim(1)
    }

    /// As [`Sampling::log_prob`], for one choice per row: `[M]`.
    fn log_probs_of(&self, choices: &Tensor) -> Tensor {
        let own = self.log_probs.gather(-1, &choices.unsqueeze(1), false);
        if self.draws.iter().all(|draw| draw.sampling.min_p <= 0.0) {
            return own.squeeze_dim(1);
        }
        let all = self.log_probs.to_kind(Kind::Double);
        let kept = all.exp() * all.ge_tensor(&self.floor());
        let log_mass = kept.sum_dim_intlist([-1].as_slice(), true, Kind::Double).log();
        let narrowed = self.column(|draw| f64::from(u8::from(draw.sampling.min_p > 0.0)));
        (own - (log_mass * narrowed).to_kind(Kind::Float)).squeeze_dim(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::sample::sampler::on_host;
    use proptest::prelude::*;

    fn sampling() -> impl Strategy<Value = Sampling> {
        let temperature = prop_oneof![Just(0.0), Just(1.0), 0.2..2.0_f64];
        let top_p = prop_oneof![Just(1.0), 0.05..1.0_f64];
        let (top_k, min_p) = (prop_oneof![Just(0), 1..6_usize], prop_oneof![Just(0.0), 0.0..0.5]);
        (temperature, top_p, top_k, min_p).prop_map(|(temperature, top_p, top_k, min_p)| Sampling {
            temperature,
            top_p,
            top_k,
            min_p,
        })
    }

    proptest! {
        #[test]
        fn rows_draw_what_each_would_draw_alone(
            rows in prop::collection::vec((sampling(), 0.0..1.0_f64, prop::collection::vec(-6.0..6.0_f32, 12)), 1..9),
        ) {
            let logits: Vec<f32> = rows.iter().flat_map(|row| row.2.clone()).collect();
            let logits = Tensor::from_slice(&logits).view([signed(rows.len()), 12]);
            let draws: Vec<Draw> =
                rows.iter().map(|&(sampling, point, _)| Draw { sampling, point, top: 3 }).collect();
            let log_probs = logits.log_softmax(-1, Kind::Float);
            let (together, alone) = (draw(&log_probs, &draws), on_host(&log_probs, &draws));
            for (row, (found, expected)) in together.into_iter().zip(alone).enumerate() {
                prop_assert_eq!(found.choice, expected.choice, "row {}: {:?}", row, draws[row]);
                prop_assert!((found.log_prob - expected.log_prob).abs() < 1e-5);
                prop_assert_eq!(found.top.len(), expected.top.len());
                for (found, expected) in found.top.iter().zip(&expected.top) {
                    prop_assert!((found.log_prob - expected.log_prob).abs() < 1e-5);
                }
                let own = found.top.iter().find(|entry| entry.id == found.choice);
                prop_assert!(own.is_none_or(|entry| entry.log_prob == found.log_prob));
            }
        }
    }

    #[test]
    fn the_ends_of_the_unit_interval_draw_possible_tokens() {
        let log_probs = Tensor::from_slice(&[0.0_f32, 0.5, 0.0, 0.5, 0.0]).log().unsqueeze(0);
        for (point, expected) in [(0.0, 1), (1.0 - f64::EPSILON / 2.0, 3)] {
            for top_k in [0, 4] {
                let sampling = Sampling { top_k, ..Sampling::default() };
                let drawn = draw(&log_probs, &[Draw { sampling, point, top: 0 }]);
                assert_eq!((drawn[0].choice, drawn[0].log_prob), (expected, 0.5_f32.ln()));
            }
        }
        let broken = Tensor::from_slice(&[f32::NAN, 0.0]).unsqueeze(0);
        let draws = [Draw { sampling: Sampling::default(), point: 0.5, top: 0 }];
        assert!(draw(&broken, &draws)[0].log_prob.is_nan());
    }

    /// A vocabulary of several blocks, the last of them short, with ties and with nearly all of
    /// the mass in one place.
    #[test]
    fn long_vocabularies_draw_what_each_row_would_draw_alone() {
        // None of them falls on the border between two tokens, where rounding decides.
        let points = [0.0, 1e-9, 0.250_137, 0.500_213, 0.999_999, 1.0 - f64::EPSILON / 2.0];
        for width in [1023_i64, 1024, 1025, 151_936] {
            let steps = Tensor::arange(width, (Kind::Float, tch::Device::Cpu));
            let ties = steps.zeros_like();
            let waves = (&steps * 0.37).sin() * 5.0;
            let peak = (steps.eq(width - 2).to_kind(Kind::Float) * 30.0) + &waves;
            let logits = Tensor::stack(&[ties, waves, peak], 0).repeat_interleave_self_int(
                signed(points.len()),
                0,
                None,
            );
            let log_probs = logits.log_softmax(-1, Kind::Float);
            for (top_p, min_p) in [(1.0, 0.0), (0.9, 0.0), (1.0, 0.05)] {
                let sampling = Sampling { top_p, min_p, ..Sampling::default() };
                let draws: Vec<Draw> = points
                    .iter()
                    .cycle()
                    .take(18)
                    .map(|&point| Draw { sampling, point, top: 0 })
                    .collect();
                let (together, alone) = (draw(&log_probs, &draws), on_host(&log_probs, &draws));
                for (row, (found, expected)) in together.into_iter().zip(alone).enumerate() {
                    assert_eq!(found.choice, expected.choice, "{width}, row {row}, {sampling:?}");
                    assert!((found.log_prob - expected.log_prob).abs() < 1e-5);
                }
            }
        }
    }
}
