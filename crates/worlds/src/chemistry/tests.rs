//! Parts, flaws, shares and forms of questions.

use super::plan::{Plan, longest};
use super::question::output;
use super::surrogate::TARGETS;
use super::{
    AnswerForm, Chemistry, Editing, Judged, MolEdit, MolOpt, MolUnd, MoleculeQuestion,
    MoleculeTask, Optimising, Reacting, Reaction, Understanding, raw,
};
use crate::generate::generate;
use crate::kind::Scale;
use crate::part::Part;
use crate::runner::ProgramRun;
use crate::single::{Judgement, Question, Single};
use agents::trajectory::EnvironmentVerdict;
use jail::exec::Outcome;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use support::reference;
use tasks::stream::Stream;
use tasks::task::TaskId;

const REFERENCE: &str = "crates/worlds/tests/reference/chemistry.py";

pub(super) fn ask(questions: impl Iterator<Item = Value>) -> Vec<Value> {
    reference::ask(REFERENCE, questions.collect())
}

pub(super) fn plans(scale: Scale, count: u64) -> Vec<Plan> {
    let stream = Stream::root(9).child(scale.name());
    (0..count).filter_map(|number| Plan::draw(scale, &mut stream.index(number).rng())).collect()
}

pub(super) fn items<T: MoleculeTask + Judged>(scale: Scale, count: u64) -> Vec<MoleculeQuestion> {
    let stream = Stream::root(10).child(T::NAME).child(scale.name());
    let draw = |number| Chemistry::<T>::draw(scale, &mut stream.index(number).rng());
    (0..count).filter_map(draw).collect()
}

/// The items of a task as a suite has them, those of the pool under `None`.
pub(super) fn suite<T: MoleculeTask + Judged>(
    scale: Scale,
) -> BTreeMap<Option<Part>, Vec<MoleculeQuestion>> {
    let id = TaskId::new(T::NAME).unwrap();
    let sizes = Chemistry::<T>::outline(scale).sizes;
    let stream = Stream::root(2).child(T::NAME);
    let drawn = generate::<Single<Chemistry<T>>>(&id, scale, &sizes, stream).unwrap();
    let parts = drawn.parts.into_iter();
    let parts = parts.map(|(part, items)| (Some(part), items.into_values().collect()));
    parts.chain([(None, drawn.pooled)]).collect()
}

/// The judgements on answers, with runs of their scripts in RDKit's Python without a sandbox.
pub(super) fn judged<T: MoleculeTask + Judged>(
    answers: &[(&MoleculeQuestion, String)],
) -> Vec<Judgement> {
    let scripts: Vec<Option<String>> =
        answers.iter().map(|(item, text)| Chemistry::<T>::script(item, text)).collect();
    let asked = scripts.iter().flatten().map(|script| json!(["run", script]));
    let mut printed = ask(asked).into_iter();
    let judge = |((item, text), script): (&(&MoleculeQuestion, String), &Option<String>)| {
        let run = script.as_ref().map(|_| ProgramRun {
            outcome: Outcome::Finished,
            printed: printed.next().unwrap().as_str().unwrap().to_owned(),
            wall: Duration::ZERO,
        });
        Chemistry::<T>::judge(item, text, run.as_ref())
    };
    answers.iter().zip(&scripts).map(judge).collect()
}

#[test]
fn random_players_and_copies_earn_little() {
    fn score<T: MoleculeTask + Judged>(
        answer: impl Fn(&MoleculeQuestion, &mut ChaCha8Rng) -> String,
    ) -> f64 {
        let mut rng = Stream::root(13).child(T::NAME).rng();
        let items = items::<T>(Scale::Tiny, 600);
        let answers: Vec<_> =
            items.iter().take(200).map(|item| (item, answer(item, &mut rng))).collect();
        let verdict = |((item, _), judgement): (&(&MoleculeQuestion, String), Judgement)| {
            let detail = json!({"truth": Chemistry::<T>::truth(item), "found": judgement.found});
            EnvironmentVerdict {
                reward: judgement.score,
                score: judgement.score,
                tags: Chemistry::<T>::labels(item),
                detail,
            }
        };
        let verdicts: Vec<_> = answers.iter().zip(judged::<T>(&answers)).map(verdict).collect();
        Chemistry::<T>::AGGREGATE.score(&verdicts.iter().collect::<Vec<_>>()).unwrap()
    }
    let random = [
        score::<Understanding>(MolUnd::random),
        score::<Editing>(MolEdit::random),
        score::<Optimising>(MolOpt::random),
        score::<Reacting>(Reaction::random),
    ];
    for (found, most) in random.iter().zip([0.25, 0.25, 0.05, 0.2]) {
        assert!(*found <= most, "{random:?}");
    }
    let copy = |item: &MoleculeQuestion, _: &mut ChaCha8Rng| output(item.form, &item.molecule);
    assert_eq!((score::<Editing>(copy), score::<Optimising>(copy)), (0.0, 0.0));
}

#[test]
fn the_score_of_structures_is_the_mean_of_errors_scaffolds_and_choices() {
    let verdict = |kind: &str, score: f64, truth: Value, found: Value| EnvironmentVerdict {
        reward: score,
        score,
        tags: vec![kind.to_owned()],
        detail: json!({"truth": truth, "found": found}),
    };
    let verdicts = [
        verdict("functional_group", 0.0, json!(2), json!(1)),
        verdict("functional_group", 1.0, json!(1), json!(1)),
        verdict("ring_count", 0.0, json!(3), Value::Null),
        verdict("ring_count", 1.0, json!(3), json!(3)),
        verdict("murcko", 0.5, json!("C1CC1"), json!("C1CCC1")),
        verdict("ring_system", 1.0, json!("Yes"), json!("Yes")),
        verdict("equivalence", 0.0, json!("Yes"), json!("No")),
    ];
    let score = |verdicts: &[EnvironmentVerdict]| {
        MolUnd::AGGREGATE.score(&verdicts.iter().collect::<Vec<_>>())
    };
    // Errors of 0.5 and 1.5 have a mean of 1.
    assert_eq!(score(&verdicts), Some((0.0 + 0.5 + 0.5) / 3.0));
    let mut turned = verdicts.clone();
    turned.reverse();
    assert_eq!(score(&turned), score(&verdicts));
    assert_eq!(score(&verdicts[4..5]), Some(0.5));
    assert_eq!(score(&verdicts[..2]), Some(0.5));
    assert_eq!(score(&[]), None);
    let reactions = [
        verdict("forward", 0.25, json!("C"), json!("CC")),
        verdict("retro", 0.75, json!("C"), json!("CC")),
        verdict("mechanism", 1.0, json!("A"), json!("A")),
    ];
    let score = Reaction::AGGREGATE.score(&reactions.iter().collect::<Vec<_>>());
    assert_eq!(score, Some(0.75));
}

#[test]
fn no_sealed_fragments_and_no_sealed_answer_are_in_another_part_of_any_task() {
    let mut fragments: BTreeMap<String, Part> = BTreeMap::new();
    let mut answers: BTreeMap<String, Part> = BTreeMap::new();
    let mut count = 0;
    for items in [
        suite::<Understanding>(Scale::Tiny),
        suite::<Editing>(Scale::Tiny),
        suite::<Optimising>(Scale::Tiny),
        suite::<Reacting>(Scale::Tiny),
    ] {
        for (part, item) in
            items.iter().flat_map(|(part, items)| items.iter().map(move |item| (part, item)))
        {
            let part = part.unwrap_or(Part::Train);
            count += 1;
            assert_eq!(*fragments.entry(item.fragments.clone()).or_insert(part), part, "{item:?}");
            let is_molecule = ["add", "delete", "substitute", "forward", "retro"]
                .contains(&item.kind.as_str())
                || item.kind == "log_p"
                || item.kind == "qed"
                || item.kind == "solubility"
                || TARGETS.contains(&item.kind.as_str());
            let molecules = is_molecule.then_some(&item.answer).into_iter().chain([&item.molecule]);
            for molecule in molecules {
                assert_eq!(*answers.entry(molecule.clone()).or_insert(part), part, "{item:?}");
            }
        }
    }
    assert_eq!(count, 4 * (800 + 20 + 100 + 100));
}

#[test]
fn molecules_are_as_short_as_their_scale_wants() {
    for scale in Scale::ALL {
        let all = [
            items::<Understanding>(scale, 500),
            items::<Editing>(scale, 500),
            items::<Optimising>(scale, 500),
            items::<Reacting>(scale, 500),
        ];
        for item in
            all.iter().flatten().filter(|item| item.kind != "retro" && item.kind != "conditions")
        {
            assert!(item.molecule.len() <= longest(scale), "{item:?}");
            let is_long = item.form == AnswerForm::Smiles && item.answer.len() > longest(scale);
            assert!(!is_long, "{item:?}");
        }
    }
}

#[test]
fn rows_are_invalid_as_often_as_the_page_states() {
    let items = items::<Understanding>(Scale::Tiny, 1500);
    let rows = Chemistry::<Understanding>::raw(&items, Stream::root(8));
    assert!(rows.len() == items.len() && rows.len() > 1000);
    let rows: Vec<Value> =
        rows.iter().map(|row| serde_json::from_str(&row.line).unwrap()).collect();
    let found = ask(rows.iter().map(|row| json!(["canonical", row["meta"]["molecule"]])));
    let share = |count: usize| count as f64 / rows.len() as f64;
    let invalid = share(found.iter().filter(|one| one.is_null()).count());
    assert!((invalid - raw::INVALID).abs() < 0.01, "{invalid}");
    let empty = share(rows.iter().filter(|row| row["raw_cot"] == "").count());
    assert!((empty - raw::EMPTY).abs() < 0.01, "{empty}");
    let short = |row: &&Value| row["raw_cot"].as_str().unwrap().starts_with("The answer is");
    let short = share(rows.iter().filter(short).count());
    assert!((short - raw::SHORT).abs() < 0.01, "{short}");
    let strange = |row: &&Value| {
        let text = row["raw_cot"].as_str().unwrap();
        let own = format!("{} The answer", row["struct_cot"]["steps"].as_str().unwrap());
        !text.is_empty() && !text.starts_with("The answer is") && !text.starts_with(&own)
    };
    // A strange row may have the steps of its own by chance.
    let strange = share(rows.iter().filter(strange).count());
    assert!((strange - raw::STRANGE).abs() < 0.01, "{strange}");
}

#[test]
fn kinds_of_questions_are_all_drawn_and_end_with_their_output() {
    fn shown<T: MoleculeTask + Judged>(texts: &mut BTreeMap<String, String>) {
        for scale in Scale::ALL {
            let items = items::<T>(scale, 1500);
            assert!(items.len() > 800, "{} {scale:?}: {}", T::NAME, items.len());
            for item in &items {
                let name = format!("{} {} {}", T::NAME, item.kind, scale.name());
                texts.entry(name).or_insert_with(|| Chemistry::<T>::render(item));
            }
            let kinds: BTreeSet<&str> = items.iter().map(|item| item.kind.as_str()).collect();
            for kind in kinds {
                let count = items.iter().filter(|item| item.kind == kind).count();
                assert!(count * 40 > items.len(), "{kind} {scale:?}: {count} of {}", items.len());
            }
        }
    }
    let mut texts = BTreeMap::new();
    shown::<Understanding>(&mut texts);
    shown::<Editing>(&mut texts);
    shown::<Optimising>(&mut texts);
    shown::<Reacting>(&mut texts);
    assert_eq!(texts.len(), 2 * (5 + 3 + 6 + 5));
    for (name, text) in &texts {
        assert!(text.starts_with("Molecule: "), "{name}: {text}");
        assert!(text.contains(" {\"output\":") && text.ends_with('}'), "{name}: {text}");
    }
}
