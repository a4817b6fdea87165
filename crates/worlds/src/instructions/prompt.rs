//! The opening messages, and the page that an agent reads of the task.

use super::InstructionItem;
use crate::kind::Outline;
use agents::prompt::Prompt;

/// The opening messages for an item.
pub(super) fn prompt(item: &InstructionItem) -> Prompt {
    Prompt {
        system: "Do what the instruction says.".to_owned(),
        user: item.instruction.clone(),
        data: None,
    }
}

/// The page that an agent reads of the task.
pub(super) fn description(outline: &Outline) -> String {
    let (sizes, limits) = (&outline.sizes, &outline.limits);
    format!(
        "# Instructions\n\n\
         A policy reads an instruction (a topic, and wishes on what to mention and in which order, \
         on how much, in which form and in which tone) and writes an answer of at most {} tokens.\n\n\
         - A judge compares the answer with a reference answer of middling quality, and says how \
         likely it prefers it. It looks at how many wishes are fulfilled, whether the answer keeps to \
         the topic, whether it repeats itself, and, as judges do, at its length.\n\
         - The score corrects for length: an answer gains nothing by being longer.\n\n\
         **Score**: the length-controlled win rate, greedily decoded, computed as AlpacaEval 2.0 does: \
         a logistic regression on the difference of lengths, the number of wishes and a constant, of \
         which the first is then left out.\n\n\
         **Data**: `public/train.jsonl` has {} items, one a line: `instruction`, `topic`, `wishes`, \
         and the `reference` answer, which fulfils about three of five wishes. The hidden items ({} \
         for the scores during the run, {} for the final one) are drawn in the same way, half of them \
         on other topics.\n",
        limits.turn_tokens, sizes.train, sizes.dev, sizes.test
    )
}
