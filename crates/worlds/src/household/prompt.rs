//! The opening messages, and the page that an agent reads of the task.

use super::episode::OK;
use super::goal::GoalKind;
use super::item::HouseholdItem;
use super::{draw, expert};
use crate::kind::{Outline, Scale};
use crate::part::Part;
use agents::prompt::Prompt;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use tasks::stream::Stream;

/// The system prompt of episodes and of exercises.
pub(super) const SYSTEM: &str = "Carry out the task in the room. Write one line at a time: an action, or a \
     thought that begins with `think:`.";
/// Worked examples in a prompt.
const EXAMPLES: usize = 2;
/// Items that examples are chosen from, the shortest first.
const CANDIDATES: u64 = 400;

/// The worked examples of each kind of goal. They are drawn from a stream of their own, so they are
/// the same in all suites.
static WORKED: LazyLock<BTreeMap<GoalKind, String>> = LazyLock::new(|| {
    let mut texts: BTreeMap<GoalKind, Vec<String>> = BTreeMap::new();
    let stream = Stream::root(0).child("household examples");
    for candidate in 0..CANDIDATES {
        if let Some(item) = draw::draw(Part::Train, Scale::Tiny, stream.index(candidate)) {
            texts.entry(item.goal.kind).or_default().push(worked(&item));
        }
    }
    let chosen = texts.into_iter().map(|(kind, mut texts)| {
        texts.sort_by_key(String::len);
        // The very shortest find the thing at once, and show no search.
        let middle = texts.len() / 5;
        (kind, texts[middle..].iter().take(EXAMPLES).cloned().collect::<Vec<_>>().join("\n\n"))
    });
    chosen.collect()
});

/// The expert's episode as a transcript, with the verb that the environment does not know.
fn worked(item: &HouseholdItem) -> String {
    let mut lines = vec![opening(item)];
    for (turn, reply) in expert::expert(item) {
        let (turn, reply) = match put(&turn) {
            Some(put) => (
                put.clone(),
                format!(
                    "You {}.",
                    put.replacen("put ", "put the ", 1).replace("in/on ", "in/on the ")
                ),
            ),
            None => (turn, reply),
        };
        lines.push(format!("> {turn}"));
        if reply != OK || turn.starts_with("think:") {
            lines.push(reply);
        }
    }
    lines.join("\n")
}

/// `move mug 1 to shelf 2` as `put mug 1 in/on shelf 2`; `None` for any other turn.
fn put(turn: &str) -> Option<String> {
    let (thing, place) = turn.strip_prefix("move ")?.split_once(" to ")?;
    Some(format!("put {thing} in/on {place}"))
}

/// What is seen at first, and the errand.
pub(super) fn opening(item: &HouseholdItem) -> String {
    format!("{}\nYour task is to: {}.", item.overview(), item.goal_text())
}

/// The opening messages for an item.
pub(super) fn prompt(item: &HouseholdItem) -> Prompt {
    let worked = &WORKED[&item.goal.kind];
    Prompt {
        system: SYSTEM.to_owned(),
        user: format!(
            "Here are two examples.\n\n{worked}\n\nHere is the task.\n\n{}",
            opening(item)
        ),
        data: None,
    }
}

/// The page that an agent reads of the task.
pub(super) fn description(outline: &Outline) -> String {
    let (sizes, limits) = (&outline.sizes, &outline.limits);
    format!(
        "# Household errands\n\n\
         A policy stands in a room and is given an errand: put a thing somewhere, put two of them \
         somewhere, look at one by lamp light, or clean, heat or cool one and put it somewhere. It \
         writes one line a turn and reads what it then sees.\n\n\
         - The prompt has two worked examples of the same kind of errand, then the room and the \
         errand.\n\
         - A line that begins with `think:` is a thought. The environment answers `OK.` and nothing \
         changes; it counts as a turn.\n\
         - Any other line is an action. An action that is unknown, or not possible now, is answered \
         `Nothing happens.` and nothing changes; it counts as a turn.\n\
         - Only the first line of a turn counts.\n\
         - Some receptacles are closed. What is in them is seen when they are open and the policy \
         is there. Hands hold one thing.\n\
         - An episode ends when the errand is done, or after {} turns. A turn has at most {} \
         tokens, an episode {}.\n\n\
         **Score**: the share of errands that are done, greedily decoded.\n\n\
         **Data**: `public/train.jsonl` has {} items, one a line: the room, its receptacles, where \
         each thing is, the errand. The hidden items ({} for the scores during the run, {} for the \
         final one) are rooms with other layouts, and what is looked for is in other places than in \
         training.\n",
        limits.turns, limits.turn_tokens, limits.context, sizes.train, sizes.dev, sizes.test
    )
}
