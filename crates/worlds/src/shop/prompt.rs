//! The opening messages, and the page that an agent reads of the task.

use super::goal::ShopGoal;
use super::page::{HITS, ON_PAGE};
use crate::kind::Outline;
use agents::prompt::Prompt;

/// The opening messages for a goal.
pub(super) fn prompt(goal: &ShopGoal) -> Prompt {
    Prompt {
        system:
            "Shop for what the instruction asks for. Write one action a turn: search[words] on \
                 the search page, or click[button] for a button in brackets on the page."
                .to_owned(),
        user: format!("{}\n\nSearch page. Actions: search[words]", goal.instruction),
        data: None,
    }
}

/// The page that an agent reads of the task.
pub(super) fn description(outline: &Outline) -> String {
    let (sizes, limits) = (&outline.sizes, &outline.limits);
    format!(
        "# Shopping\n\n\
         A policy gets an instruction (what, two attributes, options, a price limit) and a shop: a \
         search page, results, pages of products with options, a description and features. It \
         writes one action a turn, `search[words]` or `click[button]`, and reads the page that \
         follows. Buying ends the episode.\n\n\
         - A search finds up to {HITS} products, {ON_PAGE} a page, ranked by BM25 over title, \
         category, description and features.\n\
         - An action that the page does not have changes nothing and counts as a turn.\n\
         - A purchase earns r = t · (attributes hit + options hit + [price within the limit]) / \
         (attributes + options + 1), where t is 1 for the kind that was asked for, and 0.5, 0.1 or \
         0 for others, by the words that the titles share.\n\
         - An episode has at most {} turns of {} tokens, {} tokens in all.\n\n\
         **Score**: the share of episodes with r of at least 0.5, greedily decoded.\n\n\
         **Data**: `public/ground.json` is the catalogue. `public/train.jsonl` has {} goals, one a \
         line. The hidden goals ({} for the scores during the run, {} for the final one) are on \
         other products of the same catalogue. In some instructions words are replaced by others \
         of the same meaning.\n",
        limits.turns, limits.turn_tokens, limits.context, sizes.train, sizes.dev, sizes.test
    )
}
