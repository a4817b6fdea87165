//! A turn that a server is asked for, and its answer.

use crate::generate::engine::TurnEnd;
use crate::generate::sample::Sampling;

/// A turn to sample.
#[derive(Debug, Clone)]
pub(super) struct RemoteTurn {
    /// All tokens of the conversation so far.
    pub(super) ids: Vec<i64>,
    /// How tokens are drawn.
    pub(super) sampling: Sampling,
    /// Of the turn's draws; 63 bits, because engines take signed numbers.
    pub(super) seed: u64,
    /// The most tokens; at least 1.
    pub(super) max_tokens: usize,
    /// Whether `max_tokens` is what the context leaves, and not the limit of a turn.
    pub(super) fills_context: bool,
    /// The tokens that end a turn; none if generation goes on after them.
    pub(super) stop_ids: Vec<i64>,
    /// The version of the weights that are to sample it.
    pub(super) version: u64,
}

/// What a server sampled.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SampledTurn {
    /// The sampled ids, the closing one included.
    pub(super) ids: Vec<i64>,
    /// Their log-probabilities, in nats.
    pub(super) log_probs: Vec<f32>,
    /// Whether a token ended the turn, and not its limit.
    pub(super) is_closed: bool,
    /// The version of the weights, if the server names it.
    pub(super) version: Option<String>,
}

/// Rounding that makes a probability larger than 1, in nats.
const ABOVE_ONE: f32 = 1e-3;

impl SampledTurn {
    /// Why it ended, if it is an answer to `turn` at all.
    ///
    /// # Errors
    /// What is wrong with it, as a text that follows «the answer».
    pub(super) fn ending(&self, turn: &RemoteTurn, vocab_size: i64) -> Result<TurnEnd, String> {
        let Self { ids, log_probs, is_closed, version } = self;
        if ids.is_empty() || ids.len() > turn.max_tokens {
            return Err(format!("has {} tokens, and 1 to {} were due", ids.len(), turn.max_tokens));
        }
        if ids.len() != log_probs.len() {
            let (ids, log_probs) = (ids.len(), log_probs.len());
            return Err(format!("has {ids} tokens and {log_probs} log-probabilities"));
        }
        if let Some(id) = ids.iter().find(|id| !(0..vocab_size).contains(*id)) {
            return Err(format!("has the id {id}, and the vocabulary has {vocab_size}"));
        }
        let is_log_prob = |value: &&f32| value.is_finite() && **value <= ABOVE_ONE;
        if let Some(value) = log_probs.iter().find(|value| !is_log_prob(value)) {
            return Err(format!("has {value} as a log-probability"));
        }
        let expected = turn.version.to_string();
        if let Some(found) = version.as_ref().filter(|found| **found != expected) {
            return Err(format!("is of version `{found}` of the weights, not of `{expected}`"));
        }
        let last = ids.len() - 1;
        if let Some(place) = ids[..last].iter().position(|id| turn.stop_ids.contains(id)) {
            return Err(format!("goes on after token {place}, which ends a turn"));
        }
        match (is_closed, turn.stop_ids.contains(&ids[last])) {
            // At the limit as well.
            (_, true) => Ok(TurnEnd::EndOfTurn),
            (true, false) => Err("ended without the token that ends a turn".to_owned()),
            (false, false) if ids.len() < turn.max_tokens => {
                Err(format!("ended after {} of {} tokens", ids.len(), turn.max_tokens))
            }
            (false, false) if turn.fills_context => Ok(TurnEnd::ContextFull),
            (false, false) => Ok(TurnEnd::TurnLength),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> RemoteTurn {
        RemoteTurn {
            ids: vec![3, 4],
            sampling: Sampling::default(),
            seed: 0,
            max_tokens: 3,
            fills_context: false,
            stop_ids: vec![1],
            version: 7,
        }
    }

    fn answer(ids: &[i64], is_closed: bool) -> SampledTurn {
        SampledTurn {
            ids: ids.to_vec(),
            log_probs: vec![-0.5; ids.len()],
            is_closed,
            version: None,
        }
    }

    #[test]
    fn endings_are_told_apart() {
        let ending = |ids: &[i64], is_closed| answer(ids, is_closed).ending(&turn(), 9).unwrap();
        assert_eq!(ending(&[5, 1], true), TurnEnd::EndOfTurn);
        assert_eq!(ending(&[5, 5, 1], false), TurnEnd::EndOfTurn, "at the limit as well");
        assert_eq!(ending(&[5, 5, 5], false), TurnEnd::TurnLength);
        let full = RemoteTurn { fills_context: true, ..turn() };
        assert_eq!(answer(&[5, 5, 5], false).ending(&full, 9).unwrap(), TurnEnd::ContextFull);
        let endless = RemoteTurn { stop_ids: Vec::new(), ..turn() };
        assert_eq!(answer(&[5, 1, 5], false).ending(&endless, 9).unwrap(), TurnEnd::TurnLength);
    }

    #[test]
    fn what_is_no_answer_is_refused_with_the_reason() {
        type Change = fn(&mut SampledTurn);
        let with = |change: &dyn Fn(&mut SampledTurn)| {
            let mut answer = answer(&[5, 1], true);
            change(&mut answer);
            answer.ending(&turn(), 9)
        };
        with(&|_| ()).unwrap();
        with(&|answer| answer.version = Some("7".to_owned())).unwrap();
        let changes: [(&str, Change); 9] = [
            ("0 tokens", |answer| *answer = self::answer(&[], true)),
            ("4 tokens", |answer| *answer = self::answer(&[5, 5, 5, 5], false)),
            ("1 log-prob", |answer| answer.log_probs.truncate(1)),
            ("id 9", |answer| answer.ids[0] = 9),
            ("NaN", |answer| answer.log_probs[0] = f32::NAN),
            ("0.5 as a log", |answer| answer.log_probs[1] = 0.5),
            ("version `6`", |answer| answer.version = Some("6".to_owned())),
            ("goes on after token 0", |answer| *answer = self::answer(&[1, 1], true)),
            ("without the token", |answer| answer.ids[1] = 5),
        ];
        for (expected, change) in changes {
            let error = with(&change).unwrap_err();
            assert!(error.contains(expected), "{expected}: {error}");
        }
        let short = answer(&[5, 5], false).ending(&turn(), 9).unwrap_err();
        assert!(short.contains("2 of 3"), "{short}");
    }
}
