//! The opening messages, and the page that an agent reads of the task.

use super::{ArithmeticItem, draw};
use crate::kind::{Outline, Scale};
use agents::prompt::Prompt;
use std::sync::LazyLock;
use tasks::stream::Stream;

/// Steps of the worked examples, at either scale.
const TINY_STEPS: [usize; 4] = [1, 2, 1, 2];
const FULL_STEPS: [usize; 4] = [2, 3, 4, 2];

static TINY: LazyLock<String> = LazyLock::new(|| worked(&TINY_STEPS, Scale::Tiny));
static FULL: LazyLock<String> = LazyLock::new(|| worked(&FULL_STEPS, Scale::Full));

/// Four worked examples from a stream of their own, so that they are the same in all suites.
fn worked(steps: &[usize], scale: Scale) -> String {
    let stream = Stream::root(0).child("arithmetic examples").child(scale.name());
    let example = |(number, &steps): (usize, &usize)| {
        let mut rng = stream.index(number as u64).rng();
        // Most draws of a story come to an end, so this does.
        let item =
            std::iter::repeat_with(|| draw::with_steps(steps, scale, &mut rng)).flatten().next();
        item.map(|item| format!("Question: {}\nAnswer: {}", item.question, item.answer))
    };
    steps.iter().enumerate().filter_map(example).collect::<Vec<_>>().join("\n\n")
}

/// The opening messages for an item.
pub(super) fn prompt(item: &ArithmeticItem, scale: Scale) -> Prompt {
    let worked: &str = match scale {
        Scale::Tiny => &TINY,
        Scale::Full => &FULL,
    };
    Prompt {
        system: "Answer the last question. Work in steps, and end with the answer.".to_owned(),
        user: format!("{worked}\n\n{}", question(item)),
        data: None,
    }
}

/// The problem as the prompt puts it.
pub(super) fn question(item: &ArithmeticItem) -> String {
    format!("Question: {}\nAnswer:", item.question)
}

/// The page that an agent reads of the task.
pub(super) fn description(outline: &Outline) -> String {
    let (sizes, limits) = (&outline.sizes, &outline.limits);
    format!(
        "# Word problems\n\n\
         A policy reads four worked examples and a word problem about whole numbers, and writes an \
         answer of at most {} tokens.\n\n\
         - The answer counts as right if its last number is the right one. What follows a new \
         `Question:` in it is not looked at.\n\
         - A number may have a minus and a fraction. Do not write thousands with a comma.\n\n\
         **Score**: the share of right answers, greedily decoded.\n\n\
         **Data**: `public/train.jsonl` has {} items, one a line: `question`, `answer` (worked steps \
         with each sum as `<<a+b=c>>`, then `####` and the answer), `number`, and the number of \
         `steps`. The hidden items ({} for the scores during the run, {} for the final one) are \
         drawn in the same way, with other numbers.\n",
        limits.turn_tokens, sizes.train, sizes.dev, sizes.test
    )
}
