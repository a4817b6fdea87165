//! `household`: rooms, receptacles and things, after the pattern of ALFWorld.
//!
//! `item -> facts -> (action -> observation)* -> goal reached or not`
//!
//! One line of text is one turn. A closed receptacle hides what is in it, observations list what is
//! seen and nothing else, and an action whose preconditions do not hold changes nothing. The two
//! worked examples in the prompt use the verb `put … in/on …`, which the environment does not know.

mod action;
mod draw;
mod episode;
mod exercise;
mod expert;
mod goal;
mod item;
mod plan;
mod prompt;
mod rooms;
mod state;
#[cfg(test)]
mod tests;
mod words;

pub use episode::HouseholdEpisode;
pub use goal::{Goal, GoalKind};
pub use item::{HouseholdItem, Name, ThingAt};
pub use words::{PlaceKind, Room, ThingKind};

use crate::kind::{Kind, Outline, Scale, Sizes};
use crate::part::Part;
use crate::spec::{Limits, TaskKind};
use agents::prompt::Prompt;
use agents::trajectory::Segment;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use tasks::stream::Stream;

/// The kind `household`.
#[derive(Debug)]
pub struct Household;

impl Kind for Household {
    type Item = HouseholdItem;
    type Ground = ();
    type Episode<'a> = HouseholdEpisode<'a>;

    const NAME: &'static str = "household";
    const VERSION: u32 = 4;

    fn outline(scale: Scale) -> Outline {
        let (sizes, limits) = match scale {
            Scale::Tiny => (
                Sizes { train: 400, dev: 60, test: 134 },
                Limits { turns: 40, turn_tokens: 24, context: 2560 },
            ),
            Scale::Full => (
                Sizes { train: 3500, dev: 140, test: 134 },
                Limits { turns: 50, turn_tokens: 100, context: 16_384 },
            ),
        };
        Outline {
            level: 3,
            kind: TaskKind::Interactive,
            objective: "Carry out an errand in a room of a house that is described in text.",
            output: "one action a line",
            metric: "success",
            limits,
            sizes,
            forbidden: &["expert_plan", "admissible_commands", "oracle", "gold_trajectory"],
        }
    }

    fn describe(scale: Scale) -> String {
        prompt::description(&Self::outline(scale))
    }

    fn ground(_: Scale, _: Stream) {}

    fn draw((): &(), part: Part, scale: Scale, stream: Stream) -> Option<HouseholdItem> {
        draw::draw(part, scale, stream)
    }

    fn key(item: &HouseholdItem) -> String {
        item.key()
    }

    fn evidence((): &(), item: &HouseholdItem) -> String {
        item.evidence()
    }

    fn prompt((): &(), item: &HouseholdItem, _: Scale) -> Prompt {
        prompt::prompt(item)
    }

    fn question((): &(), item: &HouseholdItem, _: Scale) -> String {
        prompt::opening(item)
    }

    fn open<'a>((): &'a (), item: &'a HouseholdItem) -> HouseholdEpisode<'a> {
        HouseholdEpisode::new(item)
    }

    fn solve((): &(), item: &HouseholdItem) -> Vec<String> {
        plan::plan(item).iter().map(|action| action.text(item)).collect()
    }

    fn random(episode: &HouseholdEpisode<'_>, rng: &mut ChaCha8Rng) -> String {
        let legal = episode.legal();
        // `look` and `inventory` are always legal.
        legal.choose(rng).cloned().unwrap_or_default()
    }

    fn expert((): &(), item: &HouseholdItem) -> Vec<String> {
        expert::expert(item).into_iter().map(|(turn, _)| turn).collect()
    }

    fn exercise(scale: Scale, stream: Stream) -> Option<Vec<Segment>> {
        Some(exercise::exercise(scale, stream))
    }

    fn render((): &(), item: &HouseholdItem) -> String {
        item.render()
    }
}
