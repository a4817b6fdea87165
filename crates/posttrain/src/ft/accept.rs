//! Whether an experiment is better than the best: decided by its scores alone.

use super::diagnosis::Evaluated;
use super::settings::{AcceptRule, FtAccept};
use evals::statistics::{DRAWS, mean};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use tasks::stream::Stream;
use worlds::Direction;

/// The comparison of an experiment with the best one before it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    /// Whether it is the best one now.
    pub accepted: bool,
    /// By how much its primary metric is better; below 0 if it is worse.
    pub gain: f64,
    /// The share of resamples of the items on which it is better, in [0, 1].
    pub agree: f64,
}

/// Two models that were not scored on the same items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the models were scored on other items ({0} and {1}), so they cannot be compared; have the server \
     tell the scores of items, or set `accept.rule` to `primary`"
)]
pub struct OtherItems(usize, usize);

/// Compares the scores of a new model with those of the best one.
///
/// With [`AcceptRule::Bootstrap`] the primary metric must be better, and at least `agree` of the paired
/// resamples of the items must say so too: at 100 items two models that are equally good are 10 points
/// apart now and then.
///
/// # Errors
/// [`OtherItems`] if the rule needs items and they are not the same ones.
pub fn accept(
    new: &Evaluated,
    best: &Evaluated,
    direction: Direction,
    rule: FtAccept,
    stream: Stream,
) -> Result<Acceptance, OtherItems> {
    let better = |new: f64, old: f64| match direction {
        Direction::Higher => new - old,
        Direction::Lower => old - new,
    };
    let gain = better(new.primary, best.primary);
    let has_same = new.items.keys().eq(best.items.keys()) && !new.items.is_empty();
    if rule.rule == AcceptRule::Primary {
        let agree = if has_same { agreement(&differences(new, best, better), stream) } else { 0.0 };
        return Ok(Acceptance { accepted: gain > 0.0, gain, agree });
    }
    if !has_same {
        return Err(OtherItems(best.items.len(), new.items.len()));
    }
    let agree = agreement(&differences(new, best, better), stream);
    Ok(Acceptance { accepted: gain > 0.0 && agree >= rule.agree, gain, agree })
}

fn differences(new: &Evaluated, best: &Evaluated, better: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    new.items.iter().zip(&best.items).map(|((_, new), (_, old))| better(*new, *old)).collect()
}

/// The share of resamples, with replacement, whose mean is above 0.
fn agreement(differences: &[f64], stream: Stream) -> f64 {
    let mut rng = stream.rng();
    let count = differences.len();
    let above = (0..DRAWS)
        .filter(|_| {
            let draw = (0..count).map(|_| differences[rng.random_range(0..count)]);
            mean(draw) > 0.0
        })
        .count();
    above as f64 / DRAWS as f64
}

#[cfg(test)]
mod tests {
    use super::super::diagnosis::tests::evaluated;
    use super::*;

    fn compared(new: &[f64], best: &[f64], rule: AcceptRule, direction: Direction) -> Acceptance {
        let rule = FtAccept { rule, agree: 0.8 };
        let (new, best) = (evaluated(new, "wrong"), evaluated(best, "wrong"));
        accept(&new, &best, direction, rule, Stream::root(1)).unwrap()
    }

    /// So many items won of 100, the first ones.
    fn won(count: usize) -> Vec<f64> {
        (0..100).map(|place| f64::from(u8::from(place < count))).collect()
    }

    #[test]
    fn gain_that_resamples_do_not_agree_on_is_no_gain() {
        use AcceptRule::{Bootstrap, Primary};
        use Direction::{Higher, Lower};
        // One item more of the same ones: of the resamples 1 - 0.99^100 = 63 % have it.
        let one = compared(&won(31), &won(30), Bootstrap, Higher);
        assert!(!one.accepted && (one.agree - 0.634).abs() < 0.02, "{one:?}");
        assert!(compared(&won(31), &won(30), Primary, Higher).accepted);
        // 1 - 0.97^100 = 95 %.
        let three = compared(&won(33), &won(30), Bootstrap, Higher);
        assert!(three.accepted && (three.gain - 0.03).abs() < 1e-12, "{three:?}");
        assert!(!compared(&won(30), &won(30), Bootstrap, Higher).accepted);
        assert!(!compared(&won(20), &won(30), Bootstrap, Higher).accepted);
        assert!(compared(&won(20), &won(30), Bootstrap, Lower).accepted);
    }

    #[test]
    fn models_on_other_items_are_not_compared() {
        let (new, best) = (evaluated(&won(3)[..50], "wrong"), evaluated(&won(3), "wrong"));
        let rule = FtAccept::default();
        let found = accept(&new, &best, Direction::Higher, rule, Stream::root(1)).unwrap_err();
        assert!(found.to_string().contains("(100 and 50)"), "{found}");
    }
}
