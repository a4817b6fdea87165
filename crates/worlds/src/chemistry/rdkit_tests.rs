//! Truth by construction, the solver, and scorers on fuzzed answers against RDKit called directly.

use super::fragments::{FUNCTIONAL, RINGS};
use super::graph::{Pattern, bits, log_p, qed, solubility};
use super::plan::Plan;
use super::question::{any_molecule, output};
use super::tests::{ask, items, judged, plans, suite};
use super::{
    AnswerForm, Chemistry, Editing, Judged, MoleculeQuestion, MoleculeTask, Optimising, Reacting,
    Surrogate, Understanding, raw,
};
use crate::kind::Scale;
use crate::single::{Judgement, Question};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

fn patterns() -> Value {
    FUNCTIONAL.iter().map(|&(name, smarts)| (name.to_owned(), json!(smarts))).collect()
}

#[test]
fn truth_by_construction_agrees_with_rdkit() {
    let rings: Vec<&str> = RINGS.iter().map(|system| system.smiles).collect();
    let mut plans = plans(Scale::Tiny, 2000);
    plans.truncate(800);
    plans.extend(self::plans(Scale::Full, 800));
    assert!(plans.len() >= 1200, "{}", plans.len());
    let smiles: Vec<String> = plans.iter().map(Plan::smiles).collect();
    let answers = ask(smiles.iter().map(|smiles| json!(["molecule", smiles, patterns(), rings])));
    let scaffolds = ask(plans.iter().map(|plan| json!(["canonical", plan.scaffold().smiles()])));
    for (((plan, smiles), found), scaffold) in
        plans.iter().zip(&smiles).zip(&answers).zip(&scaffolds)
    {
        let molecule = plan.molecule();
        for (name, smarts) in FUNCTIONAL {
            let count = plan.count(name);
            assert_eq!(found["counts"][name], count, "{name} in {smiles}");
            assert_eq!(
                Pattern::read(smarts).unwrap().count(&molecule),
                count,
                "{name} in {smiles}"
            );
        }
        assert_eq!(found["rings"], plan.rings(), "{smiles}");
        assert_eq!(&found["scaffold"], scaffold, "{smiles}");
        let bits: Vec<u32> = bits(&molecule).into_iter().collect();
        assert_eq!(found["bits"], json!(bits), "{smiles}");
        for (ring, holds) in rings.iter().zip(found["holds"].as_array().unwrap()) {
            let own = plan
                .ring_systems()
                .any(|system| system.smiles == *ring || system.holds.contains(ring));
            assert_eq!(holds, own, "{ring} in {smiles}");
        }
        for (name, own) in [
            ("log_p", log_p(&molecule)),
            ("solubility", solubility(&molecule)),
            ("qed", qed(&molecule)),
        ] {
            let expected = found[name].as_f64().unwrap();
            assert!((own - expected).abs() < 2e-3, "{name} of {smiles}: {own} and {expected}");
        }
    }
}

#[test]
fn answers_agree_with_rdkit() {
    let mut asked = Vec::new();
    let mut checked: BTreeMap<String, usize> = BTreeMap::new();
    for scale in Scale::ALL {
        for item in items::<Understanding>(scale, 1500) {
            match item.kind.as_str() {
                "equivalence" => {
                    let other = item.question.split(' ').next_back().unwrap();
                    let other = other.trim_end_matches('?');
                    asked.push((json!(["canonical", item.molecule]), item.clone(), "first"));
                    asked.push((json!(["canonical", other]), item, "second"));
                }
                "murcko" => {
                    let question = json!(["molecule", item.molecule, {}, []]);
                    asked.push((question, item.clone(), "scaffold"));
                    asked.push((json!(["canonical", item.answer]), item, "of the answer"));
                }
                _ => {}
            }
        }
    }
    let answers = ask(asked.iter().map(|(question, ..)| question.clone()));
    for (pair, asked) in answers.chunks(2).zip(asked.chunks(2)) {
        let item = &asked[0].1;
        *checked.entry(item.kind.clone()).or_default() += 1;
        if item.kind == "murcko" {
            assert_eq!(pair[0]["scaffold"], pair[1], "{item:?}");
        } else {
            assert_eq!(pair[0] == pair[1], item.answer == "Yes", "{item:?}");
        }
    }
    assert!(checked["equivalence"] >= 500 && checked["murcko"] >= 200, "{checked:?}");
}

/// The answers of the solver on every item of a suite at a scale, and on 60 of the pool.
fn solved<T: MoleculeTask + Judged>(scale: Scale) -> usize {
    let parts = suite::<T>(scale);
    let items = parts.iter().flat_map(|(part, items)| {
        let most = if part.is_some() { usize::MAX } else { 60 };
        items.iter().take(most)
    });
    let answers: Vec<_> = items.map(|item| (item, Chemistry::<T>::solve(item))).collect();
    for ((item, text), judgement) in answers.iter().zip(judged::<T>(&answers)) {
        assert_eq!((judgement.score, judgement.mistake), (1.0, None), "{item:?} {text}");
    }
    answers.len()
}

#[test]
fn the_solver_wins_every_item_by_rdkit() {
    let count: usize = Scale::ALL
        .into_iter()
        .map(|scale| {
            solved::<Understanding>(scale)
                + solved::<Editing>(scale)
                + solved::<Optimising>(scale)
                + solved::<Reacting>(scale)
        })
        .sum();
    // 20 for training, those of both sealed parts, and 60 of the pool.
    assert_eq!(count, 8 * 80 + 4 * 200 + 2 * (160 + 50 + 300 + 237));
}

/// Answers to an item that are sometimes right: the truth, the molecule itself, another one, one with a
/// digit left out, and letters of it.
fn fuzzed(item: &MoleculeQuestion, rng: &mut ChaCha8Rng) -> String {
    let answer = match rng.random_range(0..6) {
        0 => item.answer.clone(),
        1 => item.molecule.clone(),
        2 => raw::broken(&item.answer),
        3 => {
            let end = rng.random_range(1..=item.answer.len());
            item.answer[..end].to_owned()
        }
        _ => any_molecule(rng),
    };
    output(AnswerForm::Smiles, &answer)
}

/// Fuzzed answers to the items of a task that want a molecule, with their judgements and the text
/// of each answer.
fn fuzz<T: MoleculeTask + Judged>() -> Vec<(MoleculeQuestion, String, Judgement)> {
    let mut rng = Stream::root(12).child(T::NAME).rng();
    let mut all = items::<T>(Scale::Tiny, 1200);
    all.extend(items::<T>(Scale::Full, 500));
    all.retain(|item| item.form == AnswerForm::Smiles);
    // Some of either scale.
    all.reverse();
    all.truncate(1100);
    assert!(all.len() > 1000, "{} {}", T::NAME, all.len());
    let answers: Vec<_> = all.iter().map(|item| (item, fuzzed(item, &mut rng))).collect();
    let judgements = judged::<T>(&answers);
    let texts: Vec<String> = answers.into_iter().map(|(_, text)| text).collect();
    let answer = |text: String| {
        let value: Value = serde_json::from_str(&text).unwrap();
        value["output"].as_str().unwrap().to_owned()
    };
    let rows = all.into_iter().zip(texts).zip(judgements);
    rows.map(|((item, text), judgement)| (item, answer(text), judgement)).collect()
}

fn compare(rows: &[(MoleculeQuestion, String, Judgement)], expected: &[Value]) {
    let mut scores = BTreeSet::new();
    for ((item, answer, judgement), expected) in rows.iter().zip(expected) {
        let expected = expected
            .as_bool()
            .map_or_else(|| expected.as_f64().unwrap(), |is| f64::from(u8::from(is)));
        assert!(
            (judgement.score - expected).abs() < 1e-9,
            "{item:?} {answer}: {judgement:?} {expected}"
        );
        scores.insert(judgement.score.to_bits());
    }
    assert!(scores.len() > 1);
    let full = rows.iter().filter(|(.., judgement)| judgement.score == 1.0).count();
    let invalid = rows.iter().filter(|(.., judgement)| judgement.found == Value::Null).count();
    assert!(full > 100 && invalid > 100, "{full} {invalid}");
}

#[test]
fn similarities_agree_with_rdkit_on_fuzzed_answers() {
    let rows = fuzz::<Reacting>();
    compare(
        &rows,
        &ask(rows.iter().map(|(item, answer, _)| json!(["similarity", item.answer, answer]))),
    );
}

#[test]
fn edits_agree_with_rdkit_on_fuzzed_answers() {
    let rows = fuzz::<Editing>();
    let expected = ask(rows.iter().map(|(item, answer, _)| {
        let change = |name: &String| {
            let is_gone = item.kind == "delete"
                || item.question.ends_with(&format!("place of one {name} group."));
            (name.clone(), json!(if is_gone { -1 } else { 1 }))
        };
        let changes: serde_json::Map<String, Value> = item.counts.keys().map(change).collect();
        json!(["edited", item.molecule, answer, patterns(), changes])
    }));
    compare(&rows, &expected);
}

#[test]
fn gains_agree_with_rdkit_on_fuzzed_answers() {
    let rows = fuzz::<Optimising>();
    let expected = ask(rows.iter().map(|(item, answer, _)| {
        let trees = Surrogate::of(&item.kind).map(|forest| json!(forest)["trees"].clone());
        json!(["gained", item.molecule, answer, item.kind, trees])
    }));
    compare(&rows, &expected);
}
