//! Log-probabilities of tokens that were given, such as those of a prompt.

use super::TopToken;
use super::sampler::host;
use crate::model::signed;
use tch::{Kind, Tensor};

/// A given token under the model's own distribution: that of the logits, at temperature 1.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredToken {
    /// The log-probability of the token, in nats.
    pub log_prob: f32,
    /// The likeliest tokens in its place, likeliest first.
    pub top: Vec<TopToken>,
}

/// Scores each of `targets` by its row of `logits`, `[N, V]` in f32, with the `top` likeliest
/// tokens beside it.
pub fn score(logits: &Tensor, targets: &[i64], top: usize) -> Vec<ScoredToken> {
    let log_probs = logits.log_softmax(-1, Kind::Float);
    let index = Tensor::from_slice(targets).to_device(log_probs.device()).unsqueeze(1); // [N, 1]
    let own = host(&log_probs.gather(1, &index, false));
    let width = top.min(usize::try_from(log_probs.size()[1]).unwrap_or(0));
    let (values, ids) = log_probs.topk(signed(width), -1, true, true); // [N, width] each
    let values = host(&values);
    let mut likeliest = vec![0_i64; values.len()];
    ids.copy_data(&mut likeliest, values.len());
    let entries = |row: usize| {
        let part = row * width..(row + 1) * width;
        let both = likeliest[part.clone()].iter().zip(&values[part]);
        both.map(|(&id, &log_prob)| TopToken { id, log_prob }).collect()
    };
    own.into_iter()
        .enumerate()
        .map(|(row, log_prob)| ScoredToken { log_prob, top: entries(row) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_tokens_are_scored_by_their_rows() {
        let logits = Tensor::from_slice(&[0.5_f32, 0.3, 0.2, 0.1, 0.1, 0.8]).log().view([2, 3]);
        let scored = score(&logits, &[1, 2], 2);
        let near = |found: f32, expected: f32| (found.exp() - expected).abs() < 1e-6;
        assert!(near(scored[0].log_prob, 0.3) && near(scored[1].log_prob, 0.8));
        assert_eq!(scored[0].top.iter().map(|entry| entry.id).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(scored[0].top[1].log_prob, scored[0].log_prob);
        assert_eq!(scored[1].top[0], TopToken { id: 2, log_prob: scored[1].log_prob });
        assert!(score(&logits, &[1, 2], 0).iter().all(|token| token.top.is_empty()));
        assert_eq!(score(&logits, &[1, 2], 20)[0].top.len(), 3);
    }
}
