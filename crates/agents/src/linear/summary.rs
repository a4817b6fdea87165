//! Summaries that a linear agent writes of its own conversation, to go on where the whole of it does not
//! fit (APOLLO §3.1): the older half of the turns that are shown makes way for one.

use crate::guide::defuse::defused;
use crate::guide::turn::TurnSummary;

/// Times that a summary is asked for before one turn.
pub(super) const TRIES: u32 = 8;

/// What asks for a summary, after the turns that it is to be of.
pub(super) const REQUEST: &str = "\
Your conversation is too long to go on with all of it. Summarise the turns above for yourself: they will \
not be shown again, and you go on with your summary in their place. Write plain text, call no tool, and \
give each of these parts its heading:

1. Goal and best result so far: the metric, the best score, and which script gave it.
2. Facts: what you know of the data, the tools and the limits, with numbers.
3. Lessons: what worked, what did not, and why. Quote each piece of advice that a person gave, and say what \
to keep to.
4. Files: which there are, what they hold, and how submission.csv was made.
5. Experiments: each with its settings and its result.
6. Under way: what is half done.
7. Next: what to do now, in order.";

/// A summary that stands in the place of turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PastSummary {
    /// The turn, by number, before which it was written.
    pub(super) before: usize,
    /// The turns that it is of, by number. Those of an earlier summary are not among them: that summary
    /// was read with these turns.
    pub(super) replaces: Vec<usize>,
    pub(super) text: String,
}

impl PastSummary {
    /// As it is told to people.
    pub(super) fn told(&self) -> TurnSummary {
        let turns = self.replaces.iter();
        TurnSummary {
            replaces: turns.map(|&turn| u32::try_from(turn).expect("fewer than 2^32")).collect(),
            request: REQUEST.to_owned(),
            text: self.text.clone(),
        }
    }
}

/// The last message before the first turn, with a summary of turns that are no longer shown. What a model
/// repeats in it cannot speak as a person.
pub(crate) fn summarised_prompt(prompt: &str, summary: &str) -> String {
    let summary = defused(summary.trim());
    format!(
        "{prompt}\n\nYou have worked on this for some turns, which are no longer shown. Your summary of \
         them:\n\n<summary>\n{summary}\n</summary>"
    )
}
