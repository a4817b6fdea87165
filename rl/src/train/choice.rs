//! Which examples of the user are trained on, which are held out, and which are too long.

use camino::Utf8Path;
use rand::seq::SliceRandom;
use serde::Serialize;
use std::collections::BTreeSet;
use tasks::files;
use tasks::stream::Stream;

/// The file in a run's folder that names examples which are too long.
const FILE: &str = "left_out.json";

/// Too few examples for two parts.
#[derive(Debug, thiserror::Error)]
#[error(
    "`validation_share` is {share} of {all} examples, which leaves nothing to train on or nothing to \
     validate on; change it, or give more examples"
)]
pub struct NothingHeldOut {
    /// The share that is asked for.
    share: f64,
    /// Examples in all.
    all: usize,
}

/// Examples in two parts, each in the order in which they were read.
#[derive(Debug)]
pub(super) struct Chosen<T> {
    /// What is trained on.
    pub(super) train: Vec<T>,
    /// What the loss is measured on.
    pub(super) held_out: Vec<T>,
}

impl<T> Chosen<T> {
    /// At most `most` of `examples` (0 for all), of which `share` are held out, both drawn by chance.
    ///
    /// # Errors
    /// [`NothingHeldOut`] if there are too few for two parts.
    pub(super) fn draw(
        examples: Vec<T>,
        most: usize,
        share: f64,
        stream: Stream,
    ) -> Result<Self, NothingHeldOut> {
        let all = examples.len();
        let most = if most == 0 { all } else { most.min(all) };
        let held = share_of(most, share);
        if share > 0.0 && (held == 0 || held == most) {
            return Err(NothingHeldOut { share, all: most });
        }
        let mut order: Vec<usize> = (0..all).collect();
        order.shuffle(&mut stream.rng());
        let [held_out, kept]: [BTreeSet<usize>; 2] =
            [&order[..held], &order[..most]].map(|part| part.iter().copied().collect());
        let mut parts = Self { train: Vec::new(), held_out: Vec::new() };
        for (place, example) in examples.into_iter().enumerate() {
            if held_out.contains(&place) {
                parts.held_out.push(example);
            } else if kept.contains(&place) {
                parts.train.push(example);
            }
        }
        Ok(parts)
    }
}

/// The nearest whole number to a share of `all`.
fn share_of(all: usize, share: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of examples"
    )]
    let count = (all as f64 * share).round() as usize;
    count
}

/// An example that is longer than the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct LeftOut {
    /// Its name.
    pub(super) example: String,
    /// Its length.
    pub(super) tokens: usize,
}

/// What `left_out.json` holds.
#[derive(Debug, Serialize)]
struct LeftOutFile<'a> {
    context: usize,
    left_out: &'a [LeftOut],
}

/// Names what was left out: in the run's folder, and the first ones in a warning.
///
/// # Errors
/// An I/O error.
pub(super) fn write_left_out(
    left_out: &[LeftOut],
    out: &Utf8Path,
    context: usize,
) -> std::io::Result<()> {
    if left_out.is_empty() {
        return Ok(());
    }
    let named = left_out.iter().take(5);
    let first: Vec<String> =
        named.map(|it| format!("{} ({} tokens)", it.example, it.tokens)).collect();
    tracing::warn!(
        count = left_out.len(),
        first = first.join(", "),
        "examples are longer than `context = {context}` tokens and left out; `{FILE}` names all"
    );
    files::write_json(&out.join(FILE), &LeftOutFile { context, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(
        count: usize,
        most: usize,
        share: f64,
    ) -> Result<(Vec<usize>, Vec<usize>), NothingHeldOut> {
        let parts = Chosen::draw((0..count).collect(), most, share, Stream::root(3))?;
        Ok((parts.train, parts.held_out))
    }

    #[test]
    fn parts_have_the_sizes_that_were_asked_for_and_nothing_in_common() {
        assert_eq!(drawn(50, 0, 0.0).unwrap(), ((0..50).collect(), Vec::new()));
        let (train, held_out) = drawn(50, 20, 0.25).unwrap();
        assert_eq!((train.len(), held_out.len()), (15, 5));
        let both: BTreeSet<&usize> = train.iter().chain(&held_out).collect();
        assert_eq!(both.len(), 20);
        assert!(train.is_sorted() && held_out.is_sorted());
        assert!(train.iter().any(|place| *place >= 20), "drawn, and not the first");
        assert_eq!(drawn(50, 20, 0.25).unwrap(), (train, held_out), "by the seed");
    }

    #[test]
    fn too_few_examples_for_two_parts_are_refused() {
        for (count, share) in [(1, 0.5), (4, 0.1), (3, 0.9)] {
            let error = drawn(count, 0, share).unwrap_err().to_string();
            assert!(error.contains("validation_share"), "{error}");
        }
    }
}
