//! The opening messages, and the page that an agent reads of the task.

use super::ProgramItem;
use super::draw::TESTS;
use crate::kind::Outline;
use agents::prompt::Prompt;

/// The opening messages for an item.
pub(super) fn prompt(item: &ProgramItem) -> Prompt {
    Prompt {
        system: "Write the whole function in Python, and nothing else.".to_owned(),
        user: item.prompt.clone(),
        data: None,
    }
}

/// The page that an agent reads of the task.
pub(super) fn description(outline: &Outline) -> String {
    let (sizes, limits) = (&outline.sizes, &outline.limits);
    format!(
        "# Programs\n\n\
         A policy reads the signature and the docstring of a function in Python, with examples, and \
         writes a program of at most {} tokens.\n\n\
         - Of its text, the first fenced block is the program, or all of it if there is none. Blanks \
         and line ends at the beginning are removed. The program is put behind what the policy read, \
         and run.\n\
         - The function is then called with the arguments of {} to {} hidden tests. It passes if it \
         returns every result; 3 seconds of time are allowed.\n\
         - Programs see no files and no network.\n\n\
         **Score**: the share of items whose tests pass, greedily decoded (pass@1).\n\n\
         **Data**: `public/train.jsonl` has {} items, one a line: `prompt`, `entry_point`, \
         `canonical_solution` (the body of the function, which goes on from the prompt), and `tests` \
         with `arguments` and `result`; and the `topic`, `family` and `parameters` that it was drawn \
         from. The hidden items ({} for the scores during the run, {} for the final one) are drawn in \
         the same way with other parameters, and some are of other families.\n",
        limits.turn_tokens,
        TESTS.start(),
        TESTS.end(),
        sizes.train,
        sizes.dev,
        sizes.test
    )
}
