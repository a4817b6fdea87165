//! Questions as raw data: in the shape of ChemCoTDataset, with reasoning of uneven quality.

use super::question::MoleculeQuestion;
use crate::pool::{RawRow, exactly};
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use serde_json::json;
use tasks::stream::Stream;

/// The share of rows whose molecule is no valid SMILES.
pub const INVALID: f64 = 0.03;
/// The share of rows whose reasoning is a sentence with the answer alone.
pub const SHORT: f64 = 0.25;
/// The share of rows without reasoning as text.
pub const EMPTY: f64 = 0.15;
/// The share of rows whose reasoning is that of another row.
pub const STRANGE: f64 = 0.1;

/// The page about the raw data.
pub(crate) const README: &str = "# chemistry\n\n\
    Questions about molecules, in the shape of ChemCoTDataset: `mol_und.jsonl`, `mol_edit.jsonl`, \
    `mol_opt.jsonl` and `reaction.jsonl` have an object a line with `query`, `task`, `subtask`, \
    `struct_cot` (an object: `fragments`, `steps`, `output`), `raw_cot` (a text), and `meta` with the \
    `molecule` and the `reference` answer.\n\n\
    ## Reasoning quality\n\n\
    - Of the texts half are worked steps with their answer, a quarter are one sentence with the answer, \
    15 % are empty, and 10 % are those of another row: they end with a wrong answer or a strange one.\n\
    - Texts name the answer without the JSON that the tasks ask for.\n\
    - 3 % of the molecules are no valid SMILES, in `query` and `meta` alike.\n\
    - References and `struct_cot` are right.\n";

/// How good the reasoning of a row is.
#[derive(Clone, Copy)]
enum Quality {
    Good,
    Short,
    Empty,
    Strange,
}

fn qualities(count: usize, stream: &Stream) -> Vec<Quality> {
    let of = |share: f64, quality: Quality| {
        let marks = exactly(share, count, stream);
        marks.into_iter().filter(|is_set| *is_set).map(move |_| quality)
    };
    let mut all: Vec<Quality> = of(SHORT, Quality::Short)
        .chain(of(EMPTY, Quality::Empty))
        .chain(of(STRANGE, Quality::Strange))
        .collect();
    all.resize(count, Quality::Good);
    all.shuffle(&mut stream.rng());
    all
}

/// A text that is no SMILES: the molecule without one of the digits that close its rings. Digits in
/// brackets count hydrogens and charges.
pub(super) fn broken(smiles: &str) -> String {
    let mut in_brackets = false;
    let mut digits = smiles.char_indices().filter(|(_, letter)| {
        match letter {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ => {}
        }
        letter.is_ascii_digit() && !in_brackets
    });
    match digits.next() {
        Some((at, _)) => format!("{}{}", &smiles[..at], &smiles[at + 1..]),
        None => format!("{smiles}("),
    }
}

/// The rows of one task.
pub(super) fn rows(task: &str, items: &[MoleculeQuestion], stream: &Stream) -> Vec<RawRow> {
    let invalid = exactly(INVALID, items.len(), &stream.child("invalid"));
    let qualities = qualities(items.len(), &stream.child("quality"));
    let mut rng = stream.child("strange").rng();
    let told = |item: &MoleculeQuestion| format!("{} The answer is {}.", item.steps, item.answer);
    let row = |((item, is_invalid), quality): ((&MoleculeQuestion, bool), Quality)| {
        let molecule = if is_invalid { broken(&item.molecule) } else { item.molecule.clone() };
        let strange = items.choose(&mut rng).unwrap_or(item);
        let told = match quality {
            Quality::Good => told(item),
            Quality::Short => format!("The answer is {}.", item.answer),
            Quality::Empty => String::new(),
            Quality::Strange => told(strange),
        };
        let row = json!({
            "query": format!("{} Molecule: {molecule}", item.question),
            "task": task,
            "subtask": item.kind,
            "struct_cot": {
                "fragments": item.fragments.split(' ').collect::<Vec<_>>(),
                "steps": item.steps,
                "output": item.answer,
            },
            "raw_cot": told,
            "meta": {"molecule": molecule, "reference": item.answer},
        });
        RawRow::json(&format!("{task}.jsonl"), row)
    };
    items.iter().zip(invalid).zip(qualities).map(row).collect()
}
