//! `mol-opt`: a property to raise.

use super::fragments::{GROUPS, Group};
use super::graph::{Molecule, bits, log_p, qed, solubility, tanimoto};
use super::plan::{Plan, longest};
use super::question::{AnswerForm, MoleculeQuestion, output};
use super::scorer::{Description, Wanted};
use super::surrogate::{Surrogate, TARGETS};
use super::{Judged, MoleculeTask, Optimising};
use crate::kind::Scale;
use crate::part::Part;
use crate::single::Judgement;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::collections::BTreeMap;

/// What is less than this counts as no gain: sums of the same numbers in another order differ by less.
const LEAST: f64 = 1e-6;

/// The properties, each as often: name, what it is called, and the gain of the answers that are drawn.
const PROPERTIES: [(&str, &str, f64); 6] = [
    (TARGETS[0], "activity at DRD2", 0.02),
    (TARGETS[1], "activity at GSK3-beta", 0.02),
    (TARGETS[2], "activity at JNK3", 0.02),
    ("log_p", "logP", 0.1),
    ("qed", "QED", 0.02),
    ("solubility", "solubility", 0.1),
];

/// The value of a property of a molecule that was put together here.
fn value(property: &str, molecule: &Molecule) -> Option<f64> {
    Some(match property {
        "log_p" => log_p(molecule),
        "qed" => qed(molecule),
        "solubility" => solubility(molecule),
        target => Surrogate::of(target)?.value(&bits(molecule)),
    })
}

/// The value of a property by what RDKit says.
fn described(property: &str, molecule: &Description) -> Option<f64> {
    match property {
        "log_p" => molecule.log_p,
        "qed" => molecule.qed,
        "solubility" => molecule.solubility,
        target => Some(Surrogate::of(target)?.value(&molecule.bits)),
    }
}

impl MoleculeTask for Optimising {
    const NAME: &'static str = "mol-opt";
    const RAW: &'static str = "mol_opt";
    const FULL: (usize, usize) = (300, 5587);
    const OBJECTIVE: &'static str = "Change a molecule so that a property rises.";
    const METRIC: &'static str = "success_rate";
    const PAGE: [&'static str; 4] = [
        "Properties of molecules",
        "A policy reads a molecule as SMILES and writes a similar one of which a property is higher: \
         logP (Crippen), QED, solubility (Delaney), or the activity at DRD2, GSK3-beta or JNK3.",
        "- It is a success if RDKit can read it and its property is higher. Whether it has the same \
         Murcko scaffold is in the details of verdicts.\n\
         - The three activities are stand-ins: forests over bits of Morgan fingerprints, drawn once for \
         all suites. They are functions of the molecule and mean nothing in biology.",
        "the share of successes",
    ];

    fn draw(part: Part, scale: Scale, rng: &mut ChaCha8Rng) -> Option<MoleculeQuestion> {
        let source = Plan::draw_for(part, scale, rng)?;
        let &(property, called, gain) = PROPERTIES.choose(rng)?;
        let before = value(property, &source.molecule())?;
        for _ in 0..30 {
            let Some((changed, steps)) = change(&source, rng) else { continue };
            if changed.part() != part {
                continue;
            }
            let molecule = changed.molecule();
            let answer = molecule.smiles();
            if answer.len() > longest(scale) || value(property, &molecule)? < before + gain {
                continue;
            }
            return Some(MoleculeQuestion {
                kind: property.to_owned(),
                fragments: source.fragments(),
                molecule: source.smiles(),
                question: format!("Change it so that its {called} is higher."),
                steps,
                form: AnswerForm::Smiles,
                answer,
                counts: BTreeMap::new(),
            });
        }
        None
    }

    /// The same letters in another order: mostly no molecule. A copy has no gain, and any other
    /// molecule has one in half of the cases.
    fn random(item: &MoleculeQuestion, rng: &mut ChaCha8Rng) -> String {
        let mut letters: Vec<char> = item.molecule.chars().collect();
        letters.shuffle(rng);
        output(item.form, &letters.into_iter().collect::<String>())
    }
}

/// The plan with one group more, less or exchanged, and what was done.
fn change(source: &Plan, rng: &mut ChaCha8Rng) -> Option<(Plan, String)> {
    let group: &Group = GROUPS.choose_weighted(rng, |group| group.weight).ok()?;
    let number = rng.random_range(0..source.groups.len());
    let there = source.groups[number].group;
    match rng.random_range(0..4) {
        0 => Some((source.with(*group, rng)?, format!("Add -{}.", group.shown()))),
        1 => Some((source.without(number), format!("Take -{} away.", there.shown()))),
        _ if there == *group => None,
        _ => {
            let steps = format!("-{} becomes -{}.", there.shown(), group.shown());
            Some((source.instead(number, *group), steps))
        }
    }
}

impl Judged for Optimising {
    fn wanted(item: &MoleculeQuestion) -> Vec<Wanted> {
        let property = match item.kind.as_str() {
            "log_p" => Wanted::LogP,
            "qed" => Wanted::Qed,
            "solubility" => Wanted::Solubility,
            _ => Wanted::Bits,
        };
        vec![property, Wanted::Scaffold]
    }

    fn judge(item: &MoleculeQuestion, answer: &Description, source: &Description) -> Judgement {
        let value = |molecule| described(&item.kind, molecule);
        let (Some(after), Some(before)) = (value(answer), value(source)) else {
            return crate::score::Mistake::Invalid.into();
        };
        let scaffolds = (&answer.scaffold, &source.scaffold);
        let (same, similarity) = match scaffolds {
            (Some(new), Some(old)) => (new.smiles == old.smiles, tanimoto(&old.bits, &new.bits)),
            _ => (false, 0.0),
        };
        let gain = after - before;
        let found = json!({
            "smiles": answer.smiles,
            "gain": gain,
            "same_scaffold": same,
            "scaffold_similarity": similarity,
        });
        Judgement::of(f64::from(u8::from(gain > LEAST)), found)
    }
}
