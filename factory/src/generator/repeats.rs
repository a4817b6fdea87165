//! Checks of run 4 against run 1: nothing is kept between calls, and other rows can be drawn.

use super::checks::{CheckResult, columns, refuse, scores};
use super::jailed::{MadeRows, Renewal};
use super::refusal::{GeneratorFlaw, GeneratorRefusal};
use super::rows::GeneratedItems;
use super::spec::GeneratorSpec;
use crate::numeric::kolmogorov;
use crate::numeric::moments::moments;
use crate::spec::rule::Frame;
use std::collections::{BTreeMap, BTreeSet};

/// Share of the scores' spread by which repeated scores may be off: sums over rows in another
/// order round otherwise.
const ROUNDING: f64 = 1e-9;
/// The least p-value of the test that a column has one distribution in both draws, before
/// Bonferroni's correction for the number of columns.
const MOVED: f64 = 0.001;
/// Share of fresh rows that must not be among the first ones, where no first row repeats another.
const NEW: f64 = 0.9;

/// Scores and items of run 4 are those of run 1.
pub(super) fn renewed(given: &MadeRows, renewal: &Renewal) -> CheckResult {
    if renewal.scores.dim() != given.scores.dim() {
        return refuse(
            GeneratorFlaw::KeptState,
            "`score` gives scores of another shape if repeated",
        );
    }
    for (first, again) in given.scores.columns().into_iter().zip(renewal.scores.columns()) {
        let (_, spread) = moments(&first.to_vec());
        let off = |(first, again): (&f64, &f64)| {
            again.is_nan() || (first - again).abs() > ROUNDING * spread
        };
        let count = first.iter().zip(again).filter(|pair| off(*pair)).count();
        if count > 0 {
            let detail = format!(
                "`score` gives {count} of {} rows another score where other rows were drawn before; \
                 it must follow from `columns` alone",
                first.len()
            );
            return refuse(GeneratorFlaw::KeptState, &detail);
        }
    }
    let count = match &renewal.items {
        GeneratedItems::None => 0,
        GeneratedItems::Pictures(levels) => levels.shape()[0],
        GeneratedItems::Sounds(samples) => samples.nrows(),
        GeneratedItems::Texts(texts) => texts.len(),
    };
    if given.items.take(&(0..count).collect::<Vec<_>>()) == renewal.items || count == 0 {
        return Ok(());
    }
    let detail = "`item` gives other items where other rows were drawn before; it must follow from \
                  `row` and `rng` alone";
    refuse(GeneratorFlaw::KeptState, detail)
}

/// Rows from another random stream are other rows, of the same kind.
pub(super) fn fresh(spec: &GeneratorSpec, first: &MadeRows, renewal: &Renewal) -> CheckResult {
    columns(spec, &renewal.fresh)?;
    scores(spec, &renewal.fresh_scores)?;
    let row = |columns: &Frame, row: usize| -> Vec<u64> {
        let numbers = columns.numbers.values().map(|values| values[row].to_bits());
        let words = columns.words.values().map(|values| {
            let hash = blake3::hash(values[row].as_bytes());
            u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap_or_default())
        });
        numbers.chain(words).collect()
    };
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for at in 0..first.columns.rows {
        *known.entry(row(&first.columns, at)).or_default() += 1;
    }
    // Rows of a few counts, which differ in their items, meet each other by chance: as many fresh
    // rows are new as first rows are single, within three standard errors of a binomial share.
    let single = known.values().filter(|count| **count == 1).count();
    let single = single as f64 / first.columns.rows.max(1) as f64;
    let rows = renewal.fresh.rows;
    let error = (rows as f64 * single * (1.0 - single)).sqrt();
    let new = (0..rows).filter(|at| !known.contains_key(&row(&renewal.fresh, *at))).count();
    if (new as f64) < NEW * single * rows as f64 - 3.0 * error {
        let detail = format!(
            "only {new} of {rows} rows are new if `rng` is another; every value must come from `rng`"
        );
        return refuse(GeneratorFlaw::NotGenerative, &detail);
    }
    let pairs = pairs(&first.columns, &renewal.fresh)?;
    let least = MOVED / pairs.len().max(1) as f64;
    for (name, first, other) in pairs {
        let p = kolmogorov::p_value(&first, &other);
        if p < least {
            let detail = format!(
                "the column `{name}` has another distribution if `rng` and `n` are others \
                 (Kolmogorov-Smirnov p = {p:.1e}); rows must be exchangeable draws"
            );
            return refuse(GeneratorFlaw::NotGenerative, &detail);
        }
    }
    Ok(())
}

/// A column's name, and its values in two draws.
type ColumnPair<'a> = (&'a str, Vec<f64>, Vec<f64>);

/// Each column in both draws, as numbers; words by their places in the alphabet.
fn pairs<'a>(first: &'a Frame, other: &Frame) -> Result<Vec<ColumnPair<'a>>, GeneratorRefusal> {
    let missing = |name: &str| {
        let detail = format!("the column `{name}` is missing if `rng` and `n` are others");
        GeneratorRefusal::new(GeneratorFlaw::BadName, &detail)
    };
    let mut pairs = Vec::new();
    for (name, values) in &first.numbers {
        let other = other.numbers.get(name).ok_or_else(|| missing(name))?;
        pairs.push((name.as_str(), values.clone(), other.clone()));
    }
    for (name, values) in &first.words {
        let other = other.words.get(name).ok_or_else(|| missing(name))?;
        let sorted: BTreeSet<&String> = values.iter().chain(other).collect();
        let places: BTreeMap<&String, f64> =
            sorted.into_iter().enumerate().map(|(place, word)| (word, place as f64)).collect();
        let numbers = |words: &[String]| words.iter().map(|word| places[word]).collect();
        pairs.push((name, numbers(values), numbers(other)));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::checks::tests::{flaw, sound, spec};
    use crate::numeric::rounding::round;

    #[test]
    fn rows_of_another_stream_must_be_new_and_of_the_same_kind() {
        let first = sound("a", 200);
        let renewal = |rows: MadeRows| Renewal {
            scores: first.scores.clone(),
            items: GeneratedItems::None,
            fresh: rows.columns,
            fresh_scores: rows.scores,
        };
        fresh(&spec(), &first, &renewal(sound("b", 64))).unwrap();
        let same = renewal(sound("a", 64));
        assert_eq!(flaw(fresh(&spec(), &first, &same)), "not_generative");
        let counts = |name| {
            let mut rows = sound(name, 200);
            rows.columns.numbers.get_mut("load").unwrap().iter_mut().for_each(|v| *v = v.round());
            rows
        };
        fresh(&spec(), &counts("a"), &renewal(counts("b"))).unwrap();
        let mut moved = renewal(sound("b", 64));
        for value in moved.fresh.numbers.get_mut("load").unwrap() {
            *value = round(*value + 2.0, 4);
        }
        assert_eq!(flaw(fresh(&spec(), &first, &moved)), "not_generative");
        let mut other = renewal(sound("b", 64));
        other.scores[[5, 0]] += 1e-3;
        assert_eq!(flaw(renewed(&first, &other)), "kept_state");
        renewed(&first, &renewal(sound("b", 64))).unwrap();
    }
}
