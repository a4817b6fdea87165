//! Protocols of a laboratory: raw data that no task is about, so that choosing sources is part of the
//! work. In the shape of BioProBench's questions about the order of steps.

use crate::kind::Scale;
use crate::pool::RawRow;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use serde_json::json;
use tasks::stream::Stream;

/// The page about the raw data.
pub(crate) const README: &str = "# protocols\n\n\
    Questions about protocols of a biology laboratory, in the shape of BioProBench: `order.jsonl` has \
    an object a line with `type`, `question` and `answer`.\n\n\
    ## Reasoning quality\n\n\
    - There is no reasoning.\n\
    - The answers are right.\n";

/// The steps of protocols in their order; `{}` is a number.
const STEPS: [&str; 10] = [
    "Label {} tubes.",
    "Add {} ml of buffer.",
    "Add the cells.",
    "Shake for {} minutes.",
    "Keep on ice for {} minutes.",
    "Spin at {}00 turns a minute.",
    "Pour off the liquid.",
    "Wash {} times.",
    "Dry at {} degrees.",
    "Read the light at {}0 nm.",
];

/// Questions, whose answers give the right order of steps that are shown in another one.
pub(crate) fn rows(scale: Scale, stream: &Stream) -> Vec<RawRow> {
    let count = match scale {
        Scale::Tiny => 1000,
        Scale::Full => 10_000,
    };
    let row = |number| {
        let mut rng = stream.index(number).rng();
        let length = rng.random_range(3..=5);
        let mut order: Vec<usize> =
            (0..STEPS.len()).collect::<Vec<_>>().sample(&mut rng, length).copied().collect();
        order.shuffle(&mut rng);
        let mut step = |&at: &usize| STEPS[at].replace("{}", &rng.random_range(2..=60).to_string());
        let steps: Vec<String> = order.iter().map(&mut step).collect();
        let lettered: Vec<String> =
            ('A'..).zip(&steps).map(|(letter, step)| format!("{letter}. {step}")).collect();
        let mut right: Vec<(usize, char)> = order.iter().copied().zip('A'..).collect();
        right.sort_unstable();
        let answer: Vec<String> = right.iter().map(|(_, letter)| letter.to_string()).collect();
        let question = format!("Put the steps in order.\n{}", lettered.join("\n"));
        let row = json!({"type": "ORD", "question": question, "answer": answer.join(", ")});
        RawRow::json("order.jsonl", row)
    };
    (0..count).map(row).collect()
}
