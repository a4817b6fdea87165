//! What is to be achieved, in words and as facts.

use super::item::HouseholdItem;
use super::state::{Fact, State};
use super::words::{PlaceKind, ThingKind, article};
use serde::{Deserialize, Serialize};

/// The six kinds of goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalKind {
    /// A thing is to be in a receptacle.
    Place,
    /// A thing is to be held where a lamp is lit.
    Light,
    /// A clean thing is to be in a receptacle.
    Clean,
    /// A hot thing is to be in a receptacle.
    Heat,
    /// A cool thing is to be in a receptacle.
    Cool,
    /// Two things of one kind are to be in one receptacle.
    Two,
}

impl GoalKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Place, Self::Light, Self::Clean, Self::Heat, Self::Cool, Self::Two];

    /// The name as in tags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Place => "place",
            Self::Light => "light",
            Self::Clean => "clean",
            Self::Heat => "heat",
            Self::Cool => "cool",
            Self::Two => "two",
        }
    }

    /// The receptacle that a thing is treated with, where it is to be treated.
    pub(super) fn appliance(self) -> Option<PlaceKind> {
        match self {
            Self::Clean => Some(PlaceKind::Sink),
            Self::Heat => Some(PlaceKind::Microwave),
            Self::Cool => Some(PlaceKind::Fridge),
            Self::Place | Self::Light | Self::Two => None,
        }
    }

    /// Things that are to be brought.
    pub(super) fn count(self) -> usize {
        if self == Self::Two { 2 } else { 1 }
    }
}

/// A goal of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// What kind of goal.
    pub kind: GoalKind,
    /// The kind of thing that it is about; any one of this kind will do.
    pub thing: ThingKind,
    /// The kind of receptacle that the thing is to be in; `None` for [`GoalKind::Light`].
    pub place: Option<PlaceKind>,
}

/// How many wordings each kind of goal has.
pub(super) const WORDINGS: usize = 3;

impl Goal {
    /// The goal in words; `wording` chooses one of the wordings.
    pub(super) fn text(self, wording: usize) -> String {
        let word = self.thing.word();
        let a_thing = format!("{} {word}", article(word));
        let things = self.thing.plural();
        let there = self.place.map_or_else(String::new, |place| {
            format!("{} {} {}", place.preposition(), article(place.word()), place.word())
        });
        let treated = |adjective: &str, verb: &str| match wording % WORDINGS {
            0 => format!("put {} {adjective} {word} {there}", article(adjective)),
            1 => format!("{verb} {a_thing} and put it {there}"),
            _ => format!("find {a_thing}, {verb} it and leave it {there}"),
        };
        match self.kind {
            GoalKind::Place => match wording % WORDINGS {
                0 => format!("put {a_thing} {there}"),
                1 => format!("find {a_thing} and put it {there}"),
                _ => format!("there should be {a_thing} {there}"),
            },
            GoalKind::Light => match wording % WORDINGS {
                0 => format!("look at {a_thing} under a lamp"),
                1 => format!("hold {a_thing} in the light of a lamp"),
                _ => format!("find {a_thing} and look at it by lamp light"),
            },
            GoalKind::Clean => treated("clean", "clean"),
            GoalKind::Heat => treated("hot", "heat"),
            GoalKind::Cool => treated("cool", "cool"),
            GoalKind::Two => match wording % WORDINGS {
                0 => format!("put two {things} {there}"),
                1 => format!("find two {things} and put both {there}"),
                _ => format!("bring two {things} together {there}"),
            },
        }
    }

    /// Whether a thing is as the goal wants it, wherever it is.
    pub(super) fn is_treated(self, state: &State, thing: usize) -> bool {
        match self.kind {
            GoalKind::Clean => state.holds(Fact::Clean(thing)),
            GoalKind::Heat => state.holds(Fact::Hot(thing)),
            GoalKind::Cool => state.holds(Fact::Cool(thing)),
            GoalKind::Place | GoalKind::Light | GoalKind::Two => true,
        }
    }

    /// Whether the goal is reached.
    pub(super) fn is_reached(self, item: &HouseholdItem, state: &State) -> bool {
        let fitting = || item.things_of(self.thing).filter(|&thing| self.is_treated(state, thing));
        match self.place {
            None => item.things_of(ThingKind::Lamp).any(|lamp| {
                let place = item.things[lamp].place;
                state.holds(Fact::Lit(lamp))
                    && state.holds(Fact::At(place))
                    && fitting().any(|thing| state.holds(Fact::Holding(thing)))
            }),
            Some(kind) => item.places_of(kind).any(|place| {
                let there = fitting().filter(|&thing| state.holds(Fact::In(thing, place)));
                there.count() >= self.kind.count()
            }),
        }
    }
}
