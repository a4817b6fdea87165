//! `mol-edit`: a functional group to add, to take away, or to put in the place of another.

use super::fragments::{FUNCTIONAL, Group};
use super::graph::tanimoto;
use super::plan::{Plan, longest};
use super::question::{AnswerForm, MoleculeQuestion};
use super::scorer::{Description, Wanted};
use super::{Editing, Judged, MoleculeTask};
use crate::kind::Scale;
use crate::part::Part;
use crate::single::Judgement;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

/// How many of the 50 items of the published benchmark are of each kind.
const KINDS: [(&str, u32); 3] = [("add", 10), ("delete", 10), ("substitute", 30)];

impl MoleculeTask for Editing {
    const NAME: &'static str = "mol-edit";
    const RAW: &'static str = "mol_edit";
    const FULL: (usize, usize) = (50, 4497);
    const OBJECTIVE: &'static str = "Add, take away or exchange a functional group of a molecule.";
    const METRIC: &'static str = "accuracy";
    const PAGE: [&'static str; 4] = [
        "Edits of molecules",
        "A policy reads a molecule as SMILES and writes it with one functional group more, one less, or \
         one exchanged for another.",
        "- It is right if RDKit can read it and finds the group that is added once more than before, and \
         the one that is taken away once less. Nothing else is asked of it; how similar it is to an \
         answer that changes nothing else is in the details of verdicts.\n\
         - `hydroxyl` is not the one of an acid, `amino` is -NH2 at carbon, `ether` and `thioether` are \
         outside of rings.",
        "the share of right molecules",
    ];

    fn draw(part: Part, scale: Scale, rng: &mut ChaCha8Rng) -> Option<MoleculeQuestion> {
        let source = Plan::draw_for(part, scale, rng)?;
        let (kind, _) = KINDS.choose_weighted(rng, |(_, weight)| *weight).ok()?;
        // Some ways, because the edited molecule has to be of the part too.
        let edits = (0..20).filter_map(|_| edit(&source, kind, rng));
        let mut edits = edits.filter(|(edited, ..)| edited.part() == part);
        let (edited, question, steps, names) = edits.next()?;
        let answer = edited.smiles();
        if answer.len() > longest(scale) {
            return None;
        }
        let counts = names.iter().map(|&name| (name.to_owned(), edited.count(name))).collect();
        Some(MoleculeQuestion {
            kind: (*kind).to_owned(),
            fragments: source.fragments(),
            molecule: source.smiles(),
            question,
            steps,
            form: AnswerForm::Smiles,
            answer,
            counts,
        })
    }
}

/// The edited plan, the question, the steps, and the groups whose counts change.
fn edit(
    source: &Plan,
    kind: &str,
    rng: &mut ChaCha8Rng,
) -> Option<(Plan, String, String, Vec<&'static str>)> {
    let &(name, _) = FUNCTIONAL.choose(rng)?;
    let group = Group::named(name)?;
    let shown = group.shown();
    if kind == "add" {
        let question = format!("Add one {name} group and leave the rest as it is.");
        return Some((
            source.with(group, rng)?,
            question,
            format!("{name} is -{shown}."),
            vec![name],
        ));
    }
    let numbers: Vec<usize> = (0..source.groups.len())
        .filter(|&number| {
            let there = source.groups[number].group;
            there.name.and_then(Group::named) == Some(there)
        })
        .collect();
    let &number = numbers.choose(rng)?;
    let there = source.groups[number].group;
    let old = there.name?;
    if kind == "delete" {
        let question = format!("Take away one {old} group and leave the rest as it is.");
        let steps = format!("{old} is -{}.", there.shown());
        return Some((source.without(number), question, steps, vec![old]));
    }
    let question = format!("Put one {name} group in the place of one {old} group.");
    let steps = format!("-{} becomes -{shown}.", there.shown());
    (name != old).then(|| (source.instead(number, group), question, steps, vec![name, old]))
}

impl Judged for Editing {
    fn wanted(_: &MoleculeQuestion) -> Vec<Wanted> {
        vec![Wanted::Bits]
    }

    fn judge(item: &MoleculeQuestion, answer: &Description, _: &Description) -> Judgement {
        let similarity = tanimoto(&item.answer_bits(), &answer.bits);
        let found = json!({"smiles": answer.smiles, "similarity": similarity});
        Judgement::of(f64::from(u8::from(answer.groups == item.counts)), found)
    }
}
