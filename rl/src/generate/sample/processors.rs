//! Logit processors: what changes the logits of one row before the temperature divides them.
//!
//! The order and the formulas are vLLM's: what a grammar forbids, tokens that must not end the turn
//! yet, then `logit_bias`, then penalties for repetition, frequency and presence. The distribution that is
//! sampled and scored is the one after all of them.

use super::grammar::{Grammar, GrammarError};
use super::sampler::host;
use std::collections::BTreeMap;
use tch::Tensor;

/// Penalties for tokens that have occurred.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `repetition` | 1.0 | divides positive logits of tokens of the prompt or the turn, multiplies negative ones; above 0 |
/// | `frequency` | 0.0 | subtracted once for each time that the turn has the token; -2 to 2 |
/// | `presence` | 0.0 | subtracted if the turn has the token; -2 to 2 |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penalties {
    /// Factor for tokens of the prompt or the turn.
    pub repetition: f64,
    /// Subtracted for each occurrence in the turn.
    pub frequency: f64,
    /// Subtracted for any occurrence in the turn.
    pub presence: f64,
}

impl Default for Penalties {
    fn default() -> Self {
        Self { repetition: 1.0, frequency: 0.0, presence: 0.0 }
    }
}

/// The logit processors of one turn; the default changes nothing.
#[derive(Debug, Clone, Default)]
pub struct LogitProcessors {
    /// Penalties for tokens that have occurred.
    pub penalties: Penalties,
    /// What is added to the logits of single tokens, by their ids.
    pub bias: BTreeMap<i64, f64>,
    /// The turn cannot end by a token before it has so many.
    pub min_tokens: usize,
    /// The form that the turn must have. It decides when the turn ends, so `min_tokens` must be 0.
    pub grammar: Option<Grammar>,
}

/// Beyond this, a logit would overflow f32 when the lowest temperature divides it.
const LARGEST: f64 = 1e30;

impl LogitProcessors {
    /// Whether nothing is ever changed, as in training.
    pub fn are_neutral(&self) -> bool {
        self.penalties == Penalties::default()
            && self.bias.is_empty()
            && self.min_tokens == 0
            && self.grammar.is_none()
    }

    /// Changes one row of logits, `[V]` in f32, in place. `prompt` is what the turn started from,
    /// `turn` what was sampled since, and `ending` the tokens that end a turn.
    ///
    /// # Errors
    /// [`GrammarError`] if the grammar cannot be followed.
    pub fn apply(
        &mut self,
        row: &mut Tensor,
        prompt: &[i64],
        turn: &[i64],
        ending: &[i64],
    ) -> Result<(), GrammarError> {
        if let Some(grammar) = &mut self.grammar {
            grammar.mask(row)?;
        }
        if turn.len() < self.min_tokens && !ending.is_empty() {
            let ending = Tensor::from_slice(ending).to_device(row.device());
            let _ = row.index_fill_(0, &ending, f64::NEG_INFINITY);
        }
        let occurrences = self.occurrences(prompt, turn);
        let mut ids: Vec<i64> = occurrences.keys().chain(self.bias.keys()).copied().collect();
        if ids.is_empty() {
            return Ok(());
        }
        ids.sort_unstable();
        ids.dedup();
        let index = Tensor::from_slice(&ids).to_device(row.device());
        let mut logits = host(&row.index_select(0, &index));
        for (logit, id) in logits.iter_mut().zip(&ids).filter(|(logit, _)| logit.is_finite()) {
            let biased = f64::from(*logit) + self.bias.get(id).copied().unwrap_or(0.0);
            let changed = match occurrences.get(id) {
                Some(&count) => self.penalties.penalized(biased, count),
                None => biased,
            };
            #[expect(clippy::cast_possible_truncation, reason = "logits are kept in f32")]
            let clamped = changed.clamp(-LARGEST, LARGEST) as f32;
            *logit = clamped;
        }
        let logits = Tensor::from_slice(&logits).to_device(row.device());
        let _ = row.index_copy_(0, &index, &logits);
        Ok(())
    }

    /// Takes note of a token that was sampled.
    ///
    /// # Errors
    /// [`GrammarError`] if the grammar cannot be followed.
    pub fn accept(&mut self, id: i64) -> Result<(), GrammarError> {
        self.grammar.as_mut().map_or(Ok(()), |grammar| grammar.accept(id))
    }

    /// The tokens that are penalized, and how often the turn has each.
    fn occurrences(&self, prompt: &[i64], turn: &[i64]) -> BTreeMap<i64, usize> {
        let mut counts = BTreeMap::new();
        if self.penalties == Penalties::default() {
            return counts;
        }
        if self.penalties.repetition.total_cmp(&1.0).is_ne() {
            counts.extend(prompt.iter().map(|&id| (id, 0)));
        }
        for &id in turn {
            *counts.entry(id).or_insert(0) += 1;
        }
        counts
    }
}

impl Penalties {
    /// The logit of a token that the turn has `count` times.
    fn penalized(&self, logit: f64, count: usize) -> f64 {
        let scaled = if logit > 0.0 { logit / self.repetition } else { logit * self.repetition };
        let presence = if count > 0 { self.presence } else { 0.0 };
        scaled - self.frequency * count as f64 - presence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(processors: &LogitProcessors, prompt: &[i64], turn: &[i64]) -> Vec<f32> {
        let batch = Tensor::from_slice(&[1.0_f32, -1.0, 2.0, -2.0, 0.5]).repeat([2, 1]);
        let mut processors = processors.clone();
        processors.apply(&mut batch.get(1), prompt, turn, &[0]).unwrap();
        assert_eq!(host(&batch.get(0)), [1.0, -1.0, 2.0, -2.0, 0.5], "other rows stay as they are");
        host(&batch.get(1))
    }

    #[test]
    fn penalties_count_tokens_as_vllm_does() {
        let with = |penalties| LogitProcessors { penalties, ..LogitProcessors::default() };
        let (prompt, turn) = ([0, 1], [2, 3, 2]);
        let none = Penalties::default();
        assert_eq!(changed(&with(none), &prompt, &turn), [1.0, -1.0, 2.0, -2.0, 0.5]);
        let presence = with(Penalties { presence: 0.5, ..none });
        assert_eq!(changed(&presence, &prompt, &turn), [1.0, -1.0, 1.5, -2.5, 0.5]);
        let frequency = with(Penalties { frequency: 0.5, ..none });
        assert_eq!(changed(&frequency, &prompt, &turn), [1.0, -1.0, 1.0, -2.5, 0.5]);
        let repetition = with(Penalties { repetition: 2.0, ..none });
        assert_eq!(changed(&repetition, &prompt, &turn), [0.5, -2.0, 1.0, -4.0, 0.5]);
        let all = with(Penalties { repetition: 2.0, frequency: 0.25, presence: -1.0 });
        assert_eq!(changed(&all, &prompt, &turn), [0.5, -2.0, 1.5, -3.25, 0.5]);
    }

    #[test]
    fn bias_is_added_before_penalties() {
        let processors = LogitProcessors {
            penalties: Penalties { repetition: 2.0, ..Penalties::default() },
            bias: BTreeMap::from([(1, 3.0), (4, -100.0)]),
            ..LogitProcessors::default()
        };
        assert_eq!(changed(&processors, &[1], &[]), [1.0, 1.0, 2.0, -2.0, -99.5]);
    }

    #[test]
    fn ending_tokens_are_impossible_before_min_tokens() {
        let processors = LogitProcessors {
            min_tokens: 2,
            bias: BTreeMap::from([(0, 100.0)]),
            ..LogitProcessors::default()
        };
        assert_eq!(changed(&processors, &[1], &[1])[0], f32::NEG_INFINITY);
        assert_eq!(changed(&processors, &[1], &[1, 1])[0], 101.0);
    }

    #[test]
    fn extreme_settings_leave_finite_logits() {
        for repetition in [f64::MIN_POSITIVE, f64::MAX] {
            let penalties = Penalties { repetition, ..Penalties::default() };
            let processors = LogitProcessors { penalties, ..LogitProcessors::default() };
            let logits = changed(&processors, &[0, 1, 2, 3, 4], &[]);
            assert!(logits.iter().all(|logit| (logit / 1e-3).is_finite()), "{logits:?}");
        }
    }
}
