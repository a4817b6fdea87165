//! Log-probabilities under the reference model, which is the policy that training starts from. They are
//! computed once and kept in the run's folder.

use super::data::{Pair, Pairs};
use super::{PairLogProbs, PreferError, ReferenceLogProbs};
use crate::train::learner::LearnerError;
use camino::Utf8Path;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use tasks::files;

/// The file in a run's folder.
const FILE: &str = "reference.json";
/// Its version.
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceFile {
    version: u32,
    /// Of pairs that are trained on, then of those that are held out.
    pairs: Vec<ReferencePair>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferencePair {
    /// Tokens of both answers, by which other pairs are recognised.
    tokens: [usize; 2],
    log_probs: PairLogProbs,
}

/// The policy's log-probabilities of pairs.
type OfPolicy<'a> = dyn Fn(&[Pair]) -> Result<Vec<PairLogProbs>, LearnerError> + 'a;

/// Those that an earlier start of the run wrote down; for a run that begins, what `of_policy` says now.
///
/// # Errors
/// [`PreferError`] if they are of other pairs, or gone, or cannot be computed or written.
pub(super) fn take(
    out: &Utf8Path,
    is_begun: bool,
    pairs: &Pairs,
    of_policy: &OfPolicy<'_>,
) -> Result<ReferenceLogProbs, PreferError> {
    let path = out.join(FILE);
    let lengths = |pair: &Pair| [pair.chosen.ids.len(), pair.rejected.ids.len()];
    let all = || pairs.train.iter().chain(&pairs.held_out);
    if is_begun {
        if !path.is_file() {
            return Err(PreferError::NoReference(path));
        }
        let other = |path| PreferError::OtherPairs { path };
        let Ok(found) = serde_json::from_slice::<ReferenceFile>(&fs::read(&path)?) else {
            return Err(other(path));
        };
        if found.version != VERSION
            || !found.pairs.iter().map(|it| it.tokens).eq(all().map(lengths))
        {
            return Err(other(path));
        }
        let (train, held_out) = found.pairs.split_at(pairs.train.len());
        let log_probs = |part: &[ReferencePair]| part.iter().map(|it| it.log_probs).collect();
        return Ok(ReferenceLogProbs { train: log_probs(train), held_out: log_probs(held_out) });
    }
    let found = ReferenceLogProbs {
        train: of_policy(&pairs.train)?,
        held_out: of_policy(&pairs.held_out)?,
    };
    let log_probs = found.train.iter().chain(&found.held_out);
    let pair = |(pair, log_probs): (&Pair, &PairLogProbs)| ReferencePair {
        tokens: lengths(pair),
        log_probs: *log_probs,
    };
    let file = ReferenceFile { version: VERSION, pairs: all().zip(log_probs).map(pair).collect() };
    files::write_json(&path, &file)?;
    Ok(found)
}
