//! A training sequence as the server takes it: the tokens that are read, the token after each as its
//! target, and a weight, an old log-probability and an advantage for each target. Those of tokens
//! that are not trained on are zero.

use super::wire::{Chunk, Datum, EncodedText, Tensor};
use crate::train::batch::TrainSequence;
use std::collections::BTreeMap;

/// A sequence, with what its loss is made from.
#[derive(Debug, Clone)]
pub(super) struct Example<'a> {
    pub(super) sample: &'a TrainSequence,
    /// The weight of each trained token.
    pub(super) weight: f64,
    /// Old log-probabilities and advantages of the trained tokens; none for cross-entropy.
    pub(super) surrogate: Option<(Vec<f32>, Vec<f32>)>,
}

impl<'a> Example<'a> {
    /// A sequence that is only scored.
    pub(super) fn scored(sample: &'a TrainSequence) -> Self {
        Self { sample, weight: 1.0, surrogate: None }
    }

    /// How many tokens the server reads.
    pub(super) fn length(&self) -> usize {
        length(self.sample)
    }

    pub(super) fn datum(&self) -> Datum {
        let length = self.length();
        let (read, targets) = (&self.sample.ids[..length], &self.sample.ids[1..=length]);
        let mut inputs = BTreeMap::new();
        inputs.insert("target_tokens".to_owned(), Tensor::integers(targets));
        let weights = vec![narrow(self.weight); self.sample.trained_count()];
        let spread = |values: &[f32]| Tensor::floats(&spread(self.sample, values));
        inputs.insert("weights".to_owned(), spread(&weights));
        if let Some((old, advantages)) = &self.surrogate {
            inputs.insert("logprobs".to_owned(), spread(old));
            inputs.insert("advantages".to_owned(), spread(advantages));
        }
        #[expect(clippy::cast_possible_truncation, reason = "ids of a vocabulary")]
        let tokens = read.iter().flat_map(|&id| (id as i32).to_le_bytes()).collect();
        let chunk = Chunk { encoded_text: Some(EncodedText { tokens }) };
        Datum { model_input: vec![chunk], loss_fn_inputs: inputs }
    }
}

/// The number of tokens before the last one that is trained on.
fn length(sample: &TrainSequence) -> usize {
    sample.target_positions().last().unwrap_or(0)
}

/// A value for each target, from one for each trained token.
fn spread(sample: &TrainSequence, values: &[f32]) -> Vec<f32> {
    let mut spread = vec![0.0; length(sample)];
    for (place, value) in sample.target_positions().zip(values) {
        spread[place - 1] = *value;
    }
    spread
}

/// The values of the trained tokens, from one for each target; nothing if there are fewer or more
/// targets.
pub(super) fn trained(sample: &TrainSequence, values: &[f32]) -> Option<Vec<f32>> {
    (values.len() == length(sample))
        .then(|| sample.target_positions().map(|place| values[place - 1]).collect())
}

#[expect(clippy::cast_possible_truncation, reason = "the server computes in f32")]
pub(super) fn narrow(value: f64) -> f32 {
    value as f32
}

/// Pieces of at most so many tokens each, and at least one sequence.
pub(super) fn pieces<'a, 'e>(
    examples: &'e [Example<'a>],
    most: usize,
) -> impl Iterator<Item = &'e [Example<'a>]> {
    let mut rest = examples;
    std::iter::from_fn(move || {
        let mut tokens = 0;
        let fitting = rest.iter().take_while(|example| {
            tokens += example.length();
            tokens <= most
        });
        let count = fitting.count().max(1).min(rest.len());
        let (piece, after) = rest.split_at(count);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::super::wire::{floats, tokens};
    use super::*;

    /// Two tokens of context, two trained ones, an observation, a trained one, and one after it.
    fn sample() -> TrainSequence {
        let mut sample = TrainSequence::default();
        for (ids, trained) in
            [(&[10, 11][..], false), (&[12, 13], true), (&[14], false), (&[15], true)]
        {
            sample.push(ids, trained);
        }
        sample.push(&[16], false);
        sample
    }

    #[test]
    fn targets_are_the_tokens_after_those_that_are_read_and_context_weighs_nothing() {
        let sample = sample();
        let surrogate = Some((vec![-1.0, -2.0, -3.0], vec![0.5, 0.25, 0.125]));
        let datum = Example { sample: &sample, weight: 0.5, surrogate }.datum();
        let read = datum.model_input[0].encoded_text.as_ref().unwrap();
        assert_eq!(tokens(&read.tokens).unwrap(), [10, 11, 12, 13, 14]);
        let inputs = &datum.loss_fn_inputs;
        let expected: Vec<u8> =
            [11_i64, 12, 13, 14, 15].iter().flat_map(|id| id.to_le_bytes()).collect();
        assert_eq!(inputs["target_tokens"].dense.as_ref().unwrap(), &expected);
        let of = |name: &str| floats(inputs[name].dense.as_ref().unwrap()).unwrap();
        assert_eq!(of("weights"), [0.0, 0.5, 0.5, 0.0, 0.5]);
        assert_eq!(of("logprobs"), [0.0, -1.0, -2.0, 0.0, -3.0]);
        assert_eq!(of("advantages"), [0.0, 0.5, 0.25, 0.0, 0.125]);
        let all: Vec<f32> = vec![-5.0, -1.0, -2.0, -5.0, -3.0];
        assert_eq!(trained(&sample, &all).unwrap(), [-1.0, -2.0, -3.0]);
        assert!(trained(&sample, &all[1..]).is_none());
        let scored = Example::scored(&sample).datum();
        assert!(!scored.loss_fn_inputs.contains_key("advantages"));
    }

    #[test]
    fn pieces_hold_every_sequence_once_and_at_most_so_many_tokens() {
        let sample = sample();
        let examples = vec![Example::scored(&sample); 5];
        let sizes = |most| pieces(&examples, most).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(sizes(10), [2, 2, 1]);
        assert_eq!(sizes(1), [1, 1, 1, 1, 1]);
        assert_eq!(sizes(1000), [5]);
        assert_eq!(pieces(&[], 10).count(), 0);
    }
}
