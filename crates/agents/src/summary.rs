//! Summaries that an agent writes of its own conversation, to go on where the whole of it does not fit
//! (APOLLO §3.1).

use crate::guide::defuse::defused;

/// What asks for a summary, after the turns that it is to be of.
pub const REQUEST: &str = "\
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

/// The last message before the first turn, with a summary of turns that are no longer shown. What a model
/// repeats in it cannot speak as a person.
pub fn summarised_prompt(prompt: &str, summary: &str) -> String {
    let summary = defused(summary.trim());
    format!(
        "{prompt}\n\nYou have worked on this for some turns, which are no longer shown. Your summary of \
         them:\n\n<summary>\n{summary}\n</summary>"
    )
}
