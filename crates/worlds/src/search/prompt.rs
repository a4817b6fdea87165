//! The opening messages, and the page that an agent reads of the task.

use super::question::SearchQuestion;
use crate::kind::Outline;
use agents::prompt::Prompt;

/// The opening messages for a question.
pub(super) fn prompt(item: &SearchQuestion) -> Prompt {
    Prompt {
        system:
            "Answer the question with the help of an encyclopedia. Write one action a turn, on a \
                 line of its own: search[words], or answer[answer]. Separate several answers by \
                 semicolons."
                .to_owned(),
        user: item.question.clone(),
        data: None,
    }
}

/// The page that an agent reads of the task.
pub(super) fn description(outline: &Outline) -> String {
    let (sizes, limits) = (&outline.sizes, &outline.limits);
    format!(
        "# Questions to an encyclopedia\n\n\
         A policy gets a question about invented people, towns, books and institutes. It searches an \
         encyclopedia and answers.\n\n\
         - `search[words]` shows up to three snippets of up to 40 words, ranked by BM25. The index \
         is closed: the same search always shows the same.\n\
         - `answer[answer]` ends the episode. Some questions ask for a set; all and only its members \
         count as right, in any order, separated by semicolons.\n\
         - The first line of a turn that is an action counts; lines before it are thoughts. A turn \
         without an action is answered with a hint. An episode has at most {} turns of {} tokens, {} \
         tokens in all.\n\n\
         **Score**: the share of right answers, greedily decoded.\n\n\
         **Data**: `public/ground.json` has the entities and facts that the pages are written from. \
         `public/train.jsonl` has {} questions with their answers, one a line. Half of the hidden \
         questions ({} for the scores during the run, {} for the final one) follow two relations \
         one after the other that no training question does.\n",
        limits.turns, limits.turn_tokens, limits.context, sizes.train, sizes.dev, sizes.test
    )
}
