//! `reaction`: products, reactants, reagents, the next step, and the mechanism.

use super::fragments::{GROUPS, Group};
use super::graph::tanimoto;
use super::plan::{Plan, longest};
use super::question::{AnswerForm, LETTERS, MoleculeQuestion};
use super::scorer::{Description, Wanted};
use super::swaps::{SWAPS, Swap};
use super::{Judged, MoleculeTask, Reacting, by_kind, mean};
use crate::kind::{Aggregate, Scale};
use crate::part::Part;
use crate::single::Judgement;
use agents::trajectory::EnvironmentVerdict;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};

const MOLECULES: [&str; 4] = ["forward", "retro", "conditions", "next_step"];
const CHOICES: [&str; 1] = ["mechanism"];

/// How many of the 237 items of the published benchmark are of each kind.
const KINDS: [(&str, u32); 5] =
    [("forward", 50), ("retro", 50), ("conditions", 45), ("next_step", 42), ("mechanism", 50)];

/// Groups that none of the reactions changes.
const INERT: [&str; 7] = ["C", "CC", "CCC", "C(C)C", "C(C)(C)C", "F", "C(F)(F)F"];

impl MoleculeTask for Reacting {
    const NAME: &'static str = "reaction";
    const RAW: &'static str = "reaction";
    const FULL: (usize, usize) = (237, 6820);
    const OBJECTIVE: &'static str = "Answer a question about a reaction.";
    const METRIC: &'static str = "reaction_score";
    const AGGREGATE: Aggregate = Aggregate::Of(mean_of_halves);
    const PAGE: [&'static str; 4] = [
        "Reactions",
        "A policy reads reactants or a product as SMILES, and writes the product, the reactants, the \
         reagents or the next step, or chooses the mechanism.",
        "- It is a SMILES or a letter. Several molecules are separated by full stops, in any order.",
        "the mean of two: the mean Tanimoto similarity of molecules (Morgan fingerprints of radius 2 with \
         1,024 bits; 0 if RDKit cannot read them) and the share of right letters",
    ];

    fn draw(part: Part, scale: Scale, rng: &mut ChaCha8Rng) -> Option<MoleculeQuestion> {
        let inert: Vec<&Group> =
            GROUPS.iter().filter(|group| INERT.contains(&group.smiles)).collect();
        let mut base = Plan::draw_with(&inert, scale, rng)?;
        // Nitrogen with a hydrogen in a ring would react too.
        let is_inert = |smiles: &str| !smiles.contains("[nH]") && !smiles.contains('N');
        if !base.ring_systems().all(|system| is_inert(system.smiles)) {
            return None;
        }
        while base.groups.len() > 2 || !base.groups.is_empty() && rng.random_bool(0.3) {
            base = base.without(0);
        }
        let (kind, _) = KINDS.choose_weighted(rng, |(_, weight)| *weight).ok()?;
        let mut swaps: Vec<&Swap> = SWAPS.iter().collect();
        swaps.shuffle(rng);
        let found = swaps.into_iter().find_map(|swap| {
            let group = |smiles| Group { smiles, name: None, weight: 1 };
            let before = base.with(group(swap.from), rng)?;
            let number = before.groups.len() - 1;
            let after = before.instead(number, group(swap.to));
            let is_possible = (before.is_aromatic(number) || !swap.aromatic)
                && (*kind != "next_step" || !swap.steps.is_empty())
                && before.part() == part
                && after.part() == part;
            if !is_possible {
                return None;
            }
            let step = |step: &&'static str| before.instead(number, group(step)).smiles();
            let steps = swap.steps.iter().map(step).collect();
            Some(Drawn { swap, before, steps, after })
        });
        found?.ask(kind, scale, rng)
    }
}

/// The mean of similarities and of right letters, weighted alike.
fn mean_of_halves(verdicts: &[&EnvironmentVerdict]) -> Option<f64> {
    let halves = [&MOLECULES[..], &CHOICES[..]].map(|kinds| {
        let all = by_kind(verdicts, kinds, |verdict| Some(verdict.score))?;
        mean(&all.into_values().flatten().collect::<Vec<_>>())
    });
    mean(&halves.into_iter().flatten().collect::<Vec<_>>())
}

/// A reaction of a molecule.
struct Drawn {
    swap: &'static Swap,
    before: Plan,
    steps: Vec<String>,
    after: Plan,
}

/// Molecules side by side, in the order of their texts.
fn mixed(molecules: &[&str]) -> String {
    let mut all: Vec<&str> = molecules.iter().copied().filter(|one| !one.is_empty()).collect();
    all.sort_unstable();
    all.join(".")
}

impl Drawn {
    fn ask(&self, kind: &str, scale: Scale, rng: &mut ChaCha8Rng) -> Option<MoleculeQuestion> {
        let Swap { name, partner, reagents, mechanism, .. } = *self.swap;
        let (before, after) = (self.before.smiles(), self.after.smiles());
        let shown = self.steps.iter().chain([&before, &after]);
        if shown.map(String::len).any(|length| length > longest(scale)) {
            return None;
        }
        let with = if partner.is_empty() { String::new() } else { format!(" and {partner}") };
        let mut form = AnswerForm::Smiles;
        let mut plan = &self.before;
        let (question, steps, answer) = match kind {
            "forward" => (
                format!("It reacts{with} with {reagents}. What is the product?"),
                format!("This is the {name}."),
                after,
            ),
            "retro" => {
                plan = &self.after;
                let question = format!("It is made by {name}. What are the reactants?");
                (question, format!("The {name} is undone."), mixed(&[&before, partner]))
            }
            "conditions" => (
                format!("It{with} becomes {after}. What reagents are needed?"),
                format!("This is the {name}."),
                reagents.to_owned(),
            ),
            "next_step" => {
                let known = rng.random_range(0..self.steps.len());
                let so_far = match known {
                    0 => String::new(),
                    _ => format!(" So far it became {}.", self.steps[known - 1]),
                };
                let question =
                    format!("It reacts{with} with {reagents}.{so_far} What does it become next?");
                (question, format!("In the {name}: {mechanism}."), self.steps[known].clone())
            }
            _ => {
                form = AnswerForm::Letter;
                let (options, letter) = options(mechanism, rng)?;
                let question =
                    format!("It{with} becomes {after}. What is the mechanism?\n{options}");
                (question, format!("This is the {name}."), letter)
            }
        };
        Some(MoleculeQuestion {
            kind: kind.to_owned(),
            fragments: plan.fragments(),
            molecule: plan.smiles(),
            question,
            steps,
            form,
            answer,
            counts: BTreeMap::new(),
        })
    }
}

/// Four mechanisms by letter, of which one is `mechanism`, and its letter.
fn options(mechanism: &str, rng: &mut ChaCha8Rng) -> Option<(String, String)> {
    let others: BTreeSet<&str> =
        SWAPS.iter().map(|swap| swap.mechanism).filter(|other| *other != mechanism).collect();
    let others: Vec<&str> = others.into_iter().collect();
    let mut options: Vec<&str> = others.sample(rng, 3).copied().collect();
    options.push(mechanism);
    options.shuffle(rng);
    let at = options.iter().position(|option| *option == mechanism)?;
    let lines: Vec<String> = LETTERS
        .iter()
        .zip(&options)
        .map(|(letter, option)| format!("{letter}. {option}"))
        .collect();
    Some((lines.join("\n"), LETTERS[at].to_owned()))
}

impl Judged for Reacting {
    fn wanted(_: &MoleculeQuestion) -> Vec<Wanted> {
        vec![Wanted::Bits]
    }

    fn judge(item: &MoleculeQuestion, answer: &Description, _: &Description) -> Judgement {
        Judgement::of(tanimoto(&item.answer_bits(), &answer.bits), answer.smiles.clone())
    }
}
