//! `mol-und`: groups, rings, scaffolds, ring systems, and whether two texts are one molecule.

use super::fragments::{FUNCTIONAL, RINGS};
use super::graph::tanimoto;
use super::plan::{Plan, longest};
use super::question::{AnswerForm, MoleculeQuestion};
use super::scorer::{Description, Wanted};
use super::{Judged, MoleculeTask, Understanding, by_kind, detail, mean, mean_of_means};
use crate::kind::{Aggregate, Scale};
use crate::part::Part;
use crate::single::Judgement;
use agents::trajectory::EnvironmentVerdict;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

const COUNTS: [&str; 2] = ["functional_group", "ring_count"];
const SCAFFOLDS: [&str; 1] = ["murcko"];
const CHOICES: [&str; 2] = ["ring_system", "equivalence"];

/// How many of the 160 items of the published benchmark are of each kind.
const KINDS: [(&str, u32); 5] = [
    ("functional_group", 50),
    ("ring_count", 10),
    ("murcko", 20),
    ("ring_system", 30),
    ("equivalence", 50),
];

/// What of a question is not the same for all.
struct Asked {
    question: String,
    steps: String,
    form: AnswerForm,
    answer: String,
}

impl MoleculeTask for Understanding {
    const NAME: &'static str = "mol-und";
    const RAW: &'static str = "mol_und";
    const FULL: (usize, usize) = (160, 6319);
    const OBJECTIVE: &'static str = "Answer a question about the structure of a molecule.";
    const METRIC: &'static str = "structure_score";
    const AGGREGATE: Aggregate = Aggregate::Of(mean_of_thirds);
    const PAGE: [&'static str; 4] = [
        "Structures of molecules",
        "A policy reads a molecule as SMILES and counts a functional group or the rings, writes the \
         Murcko scaffold (the rings and what joins them), or says whether a ring system is in it, or \
         whether another SMILES is the same molecule.",
        "- It is a number, Yes or No, or a SMILES. Any SMILES of a molecule is as good as another.\n\
         - A group counts wherever RDKit finds its pattern: `hydroxyl` is not the one of an acid, \
         `amino` is -NH2 at carbon, `ether` and `thioether` are outside of rings.",
        "the mean of three: 1 less the mean error of counts (at least 0), the mean Tanimoto similarity of \
         scaffolds (Morgan fingerprints of radius 2 with 1,024 bits), and the accuracy of Yes and No; \
         errors and accuracy are means over their two kinds of questions. An answer that cannot be read \
         counts as 0",
    ];

    fn draw(part: Part, scale: Scale, rng: &mut ChaCha8Rng) -> Option<MoleculeQuestion> {
        let plan = Plan::draw_for(part, scale, rng)?;
        let (kind, _) = KINDS.choose_weighted(rng, |(_, weight)| *weight).ok()?;
        let Asked { question, steps, form, answer } = match *kind {
            "functional_group" => groups(&plan, rng)?,
            "ring_count" => rings(&plan),
            "murcko" => scaffold(&plan)?,
            "ring_system" => ring_system(&plan, rng)?,
            _ => equivalence(&plan, scale, rng)?,
        };
        Some(MoleculeQuestion {
            kind: (*kind).to_owned(),
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

/// The mean of counts, scaffolds and choices, weighted alike.
fn mean_of_thirds(verdicts: &[&EnvironmentVerdict]) -> Option<f64> {
    let counts = by_kind(verdicts, &COUNTS, |verdict| {
        let detail = detail(verdict)?;
        let truth = detail.truth.as_f64()?;
        // What cannot be read is as an answer of 0 to a count that is not.
        Some(detail.found.as_f64().map_or(truth.max(1.0), |found| (found - truth).abs()))
    })?;
    let scores = |kinds| by_kind(verdicts, kinds, |verdict| Some(verdict.score));
    let (scaffolds, choices) = (scores(&SCAFFOLDS)?, scores(&CHOICES)?);
    let error = mean_of_means(counts.values());
    let thirds = [
        error.map(|error| 1.0 - error.min(1.0)),
        mean_of_means(scaffolds.values()),
        mean_of_means(choices.values()),
    ];
    mean(&thirds.into_iter().flatten().collect::<Vec<_>>())
}

impl Judged for Understanding {
    fn wanted(_: &MoleculeQuestion) -> Vec<Wanted> {
        vec![Wanted::Bits]
    }

    fn judge(item: &MoleculeQuestion, answer: &Description, _: &Description) -> Judgement {
        Judgement::of(tanimoto(&item.answer_bits(), &answer.bits), answer.smiles.clone())
    }
}

fn groups(plan: &Plan, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let (there, absent): (Vec<&str>, Vec<&str>) =
        FUNCTIONAL.iter().map(|(name, _)| *name).partition(|name| plan.count(name) > 0);
    let options = if rng.random_bool(0.75) { there } else { absent };
    let name = options.choose(rng)?;
    let count = plan.count(name);
    Some(Asked {
        question: format!("How many {name} groups are there?"),
        steps: format!("The groups at the rings are {}. {name}: {count}.", plan.group_list()),
        form: AnswerForm::Number,
        answer: count.to_string(),
    })
}

fn rings(plan: &Plan) -> Asked {
    let sizes: Vec<String> = plan
        .ring_systems()
        .map(|system| format!("{} has {}", system.smiles, system.rings))
        .collect();
    Asked {
        question: "How many rings are there in all?".to_owned(),
        steps: format!("{}.", sizes.join(", ")),
        form: AnswerForm::Number,
        answer: plan.rings().to_string(),
    }
}

fn scaffold(plan: &Plan) -> Option<Asked> {
    let answer = plan.scaffold().smiles();
    (answer != plan.smiles()).then(|| Asked {
        question: "What is the Murcko scaffold?".to_owned(),
        steps: format!("Without the groups {} the rings and links stay.", plan.group_list()),
        form: AnswerForm::Smiles,
        answer,
    })
}

fn ring_system(plan: &Plan, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let holds = |smiles: &str| {
        plan.ring_systems().any(|system| system.smiles == smiles || system.holds.contains(&smiles))
    };
    let is_there = rng.random_bool(0.5);
    let options: Vec<&str> = RINGS
        .iter()
        .map(|system| system.smiles)
        .filter(|smiles| holds(smiles) == is_there)
        .collect();
    let asked = options.choose(rng)?;
    let systems: Vec<&str> = plan.ring_systems().map(|system| system.smiles).collect();
    Some(Asked {
        question: format!("Is the ring system {asked} in it?"),
        steps: format!("Its ring systems are {}.", systems.join(", ")),
        form: AnswerForm::YesNo,
        answer: (if is_there { "Yes" } else { "No" }).to_owned(),
    })
}

fn equivalence(plan: &Plan, scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let molecule = plan.molecule();
    let is_same = rng.random_bool(0.5);
    let other = if is_same {
        molecule.clone()
    } else {
        let number = rng.random_range(0..plan.groups.len());
        let other = plan.moved(number, rng)?.molecule();
        // What no surroundings tell apart might be the same molecule.
        (other.signature() != molecule.signature()).then_some(other)?
    };
    let written = other.any_smiles(rng);
    if written == molecule.smiles() || written.len() > longest(scale) + 6 {
        return None;
    }
    let steps = if is_same {
        format!("Both have the groups {} at the same atoms.", plan.group_list())
    } else {
        format!("Both have the groups {}, at other atoms.", plan.group_list())
    };
    Some(Asked {
        question: format!("Is it the same molecule as {written}?"),
        steps,
        form: AnswerForm::YesNo,
        answer: (if is_same { "Yes" } else { "No" }).to_owned(),
    })
}
