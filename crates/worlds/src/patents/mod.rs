//! `par4pc`, `noc4pc` and `pi4pc`: questions of an examiner of patents, after the pattern of
//! PANORAMA.
//!
//! `claim + documents -> who has which element -> answer`
//!
//! What a document discloses is a set of names, so every answer follows from sets
//! ([`Claim`], [`Document`]).

mod claim;
mod lexicon;
mod noc4pc;
mod par4pc;
mod pi4pc;
#[cfg(test)]
mod tests;

pub use claim::{Claim, Code, Document};
pub use noc4pc::{Noc4pc, Novelty};
pub use par4pc::{Par4pc, PriorArt};
pub use pi4pc::{Paragraph, Passage, Pi4pc};

use crate::kind::{Scale, Sizes};
use crate::spec::Limits;

/// The share of raw rows whose label is another one.
pub const WRONG: f64 = 0.05;

/// The page about the raw data.
pub(crate) const README: &str = "# patents\n\n\
    Claims and documents, in the shape of PANORAMA, an object a line.\n\n\
    - `par4pc.jsonl`: `claim`, `abstract`, eight `options`, and their letters as `gold_answers` (the \
    documents that count), `silver_answers` (documents that have an element of the claim) and \
    `negative_answers`.\n\
    - `noc4pc.jsonl`: `claim`, `abstract`, `prior_art` (texts) and `answer` (`ALLOW`, `102` or `103`).\n\
    - `pi4pc.jsonl`: `claim`, `abstract`, `element`, `paragraphs` by number, and the numbers as \
    `gold_answers`, `silver_answers` (paragraphs about another element of the claim) and \
    `negative_answers`.\n\n\
    ## Reasoning quality\n\n\
    - There is no reasoning.\n\
    - 5 % of the labels are wrong.\n\
    - Many documents nearly have what is looked for: all elements but one, or the right ones in two \
    fields.\n";

/// The sizes of all three tasks at either scale.
const SIZES: Sizes = Sizes { train: 20, dev: 100, test: 100 };

fn limits(scale: Scale) -> Limits {
    match scale {
        Scale::Tiny => Limits { turns: 1, turn_tokens: 80, context: 384 },
        Scale::Full => Limits { turns: 1, turn_tokens: 8192, context: 32_768 },
    }
}

/// What a claim is about, as raw data has it.
fn summary(claim: &Claim) -> String {
    format!("The invention is about {}.", claim::a(&claim.device))
}
