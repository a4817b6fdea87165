//! One item: a room, where its things are at the start, and a goal.

use super::goal::Goal;
use super::words::{PlaceKind, Room, ThingKind, article};
use crate::generate::as_text;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A name such as `cupboard 2`: a kind and a number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name<K>(pub K, pub u8);

impl fmt::Display for Name<PlaceKind> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.word(), self.1)
    }
}

impl fmt::Display for Name<ThingKind> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.word(), self.1)
    }
}

/// A thing and where it is at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThingAt {
    /// The thing.
    pub thing: Name<ThingKind>,
    /// The receptacle, by its position in [`HouseholdItem::places`].
    pub place: usize,
}

/// One item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "RawItem")]
pub struct HouseholdItem {
    /// The kind of room.
    pub room: Room,
    /// Its receptacles, in the order in which they are named.
    pub places: Vec<Name<PlaceKind>>,
    /// Its things. Lamps stay where they are.
    pub things: Vec<ThingAt>,
    /// What is to be done.
    pub goal: Goal,
    /// In which of its wordings the goal is told.
    pub wording: usize,
}

/// An item as it is read, before its positions are checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawItem {
    room: Room,
    places: Vec<Name<PlaceKind>>,
    things: Vec<ThingAt>,
    goal: Goal,
    wording: usize,
}

impl TryFrom<RawItem> for HouseholdItem {
    type Error = String;
    fn try_from(raw: RawItem) -> Result<Self, String> {
        let RawItem { room, places, things, goal, wording } = raw;
        match things.iter().find(|thing| thing.place >= places.len()) {
            Some(lost) => Err(format!("`{}` is in a receptacle that is not there", lost.thing)),
            None => Ok(Self { room, places, things, goal, wording }),
        }
    }
}

impl HouseholdItem {
    /// The things of a kind, by position.
    pub(super) fn things_of(&self, kind: ThingKind) -> impl Iterator<Item = usize> {
        let of_kind =
            move |(position, thing): (usize, &ThingAt)| (thing.thing.0 == kind).then_some(position);
        self.things.iter().enumerate().filter_map(of_kind)
    }

    /// The receptacles of a kind, by position.
    pub(super) fn places_of(&self, kind: PlaceKind) -> impl Iterator<Item = usize> {
        let of_kind = move |(position, place): (usize, &Name<PlaceKind>)| {
            (place.0 == kind).then_some(position)
        };
        self.places.iter().enumerate().filter_map(of_kind)
    }

    /// The goal in words.
    pub fn goal_text(&self) -> String {
        self.goal.text(self.wording)
    }

    /// What is seen from the middle of the room.
    pub(super) fn overview(&self) -> String {
        let room = self.room.word();
        let seen: Vec<String> =
            self.places.iter().map(|name| with_article(&name.to_string())).collect();
        format!("You are in the middle of a {room}. You see {}.", list(&seen))
    }

    /// Everything but the wording and the order in which receptacles are named.
    pub(super) fn key(&self) -> String {
        let mut places: Vec<String> = self.places.iter().map(ToString::to_string).collect();
        places.sort();
        let mut things: Vec<String> =
            self.things.iter().map(|thing| self.where_is(thing)).collect();
        things.sort();
        format!("{} {places:?} {things:?} {}", self.room.word(), as_text(&self.goal))
    }

    fn where_is(&self, thing: &ThingAt) -> String {
        let place = self.places[thing.place];
        format!("{} {} {place}", thing.thing, place.0.preposition())
    }

    /// The goal with the places of what it is about, in one window of words.
    pub(super) fn evidence(&self) -> String {
        let about = self.things.iter().filter(|thing| thing.thing.0 == self.goal.thing);
        let about: Vec<String> = about.map(|thing| self.where_is(thing)).collect();
        format!("{}: {}", self.goal.text(0), about.join(" "))
    }

    /// The item for people.
    pub(super) fn render(&self) -> String {
        let mut lines = vec![format!("{}; goal: {}", self.room.word(), self.goal_text())];
        for (position, place) in self.places.iter().enumerate() {
            let there: Vec<String> = self
                .things
                .iter()
                .filter(|thing| thing.place == position)
                .map(|thing| thing.thing.to_string())
                .collect();
            lines.push(format!("  {place}: {}", there.join(", ")));
        }
        lines.join("\n")
    }
}

/// `an apple 1`.
pub(super) fn with_article(name: &str) -> String {
    format!("{} {name}", article(name))
}

/// `nothing`, `a`, `a and b`, `a, b and c`.
pub(super) fn list(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
