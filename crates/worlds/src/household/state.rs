//! The state of a room as facts: what may be done, and what it changes.

use super::action::Action;
use super::item::HouseholdItem;
use super::words::{PlaceKind, ThingKind};
use std::collections::BTreeSet;

/// Something that is true of a room. Numbers are positions of things and receptacles in the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Fact {
    /// The player is at a receptacle.
    At(usize),
    /// The player holds a thing. Hands hold one thing.
    Holding(usize),
    /// A thing is in or on a receptacle.
    In(usize, usize),
    /// A receptacle that closes is open.
    Open(usize),
    /// A thing is hot.
    Hot(usize),
    /// A thing is cool.
    Cool(usize),
    /// A thing is clean.
    Clean(usize),
    /// A lamp is lit.
    Lit(usize),
}

/// The facts that hold. All others do not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    facts: BTreeSet<Fact>,
}

impl State {
    /// The state at the start: everything that closes is closed, and the player is nowhere yet.
    pub(super) fn new(item: &HouseholdItem) -> Self {
        let inside = item.things.iter().enumerate().map(|(thing, at)| Fact::In(thing, at.place));
        Self { facts: inside.collect() }
    }

    /// Whether a fact holds.
    pub(super) fn holds(&self, fact: Fact) -> bool {
        self.facts.contains(&fact)
    }

    /// The receptacle that the player is at.
    pub(super) fn place(&self) -> Option<usize> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::At(place) => Some(*place),
            _ => None,
        })
    }

    /// The thing that the player holds.
    pub(super) fn held(&self) -> Option<usize> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::Holding(thing) => Some(*thing),
            _ => None,
        })
    }

    /// Whether what is in a receptacle can be seen and reached by who is there.
    pub(super) fn is_accessible(&self, item: &HouseholdItem, place: usize) -> bool {
        !item.places[place].0.closes() || self.holds(Fact::Open(place))
    }

    /// The things in a receptacle, seen or not, in the order of the item.
    pub(super) fn inside(&self, item: &HouseholdItem, place: usize) -> Vec<usize> {
        (0..item.things.len()).filter(|&thing| self.holds(Fact::In(thing, place))).collect()
    }

    /// Whether the preconditions of an action hold.
    pub(super) fn allows(&self, item: &HouseholdItem, action: Action) -> bool {
        let at = |place| self.holds(Fact::At(place));
        let treats = |thing, place: usize, kind| {
            at(place) && item.places[place].0 == kind && self.holds(Fact::Holding(thing))
        };
        let is_lamp = |thing: usize| item.things[thing].thing.0 == ThingKind::Lamp;
        match action {
            Action::GoTo(place) => !at(place),
            Action::Open(place) => {
                at(place) && item.places[place].0.closes() && !self.holds(Fact::Open(place))
            }
            Action::Close(place) => at(place) && self.holds(Fact::Open(place)),
            Action::Take(thing, place) => {
                at(place)
                    && self.is_accessible(item, place)
                    && self.holds(Fact::In(thing, place))
                    && self.held().is_none()
                    && !is_lamp(thing)
            }
            Action::Move(thing, place) => {
                at(place) && self.is_accessible(item, place) && self.holds(Fact::Holding(thing))
            }
            Action::Clean(thing, place) => treats(thing, place, PlaceKind::Sink),
            Action::Heat(thing, place) => treats(thing, place, PlaceKind::Microwave),
            Action::Cool(thing, place) => treats(thing, place, PlaceKind::Fridge),
            Action::Use(thing) => {
                is_lamp(thing) && !self.holds(Fact::Lit(thing)) && self.is_seen(item, thing)
            }
            Action::ExaminePlace(place) => at(place),
            Action::ExamineThing(thing) => {
                self.holds(Fact::Holding(thing)) || self.is_seen(item, thing)
            }
            Action::Inventory | Action::Look => true,
        }
    }

    /// Whether a thing lies where the player is, in the open.
    fn is_seen(&self, item: &HouseholdItem, thing: usize) -> bool {
        self.place().is_some_and(|place| {
            self.is_accessible(item, place) && self.holds(Fact::In(thing, place))
        })
    }

    /// Carries out an action whose preconditions hold.
    pub(super) fn apply(&mut self, action: Action) {
        let facts = &mut self.facts;
        match action {
            Action::GoTo(place) => {
                facts.retain(|fact| !matches!(fact, Fact::At(_)));
                facts.insert(Fact::At(place));
            }
            Action::Open(place) => {
                facts.insert(Fact::Open(place));
            }
            Action::Close(place) => {
                facts.remove(&Fact::Open(place));
            }
            Action::Take(thing, place) => {
                facts.remove(&Fact::In(thing, place));
                facts.insert(Fact::Holding(thing));
            }
            Action::Move(thing, place) => {
                facts.remove(&Fact::Holding(thing));
                facts.insert(Fact::In(thing, place));
            }
            Action::Clean(thing, _) => {
                facts.insert(Fact::Clean(thing));
            }
            Action::Heat(thing, _) => {
                facts.remove(&Fact::Cool(thing));
                facts.insert(Fact::Hot(thing));
            }
            Action::Cool(thing, _) => {
                facts.remove(&Fact::Hot(thing));
                facts.insert(Fact::Cool(thing));
            }
            Action::Use(thing) => {
                facts.insert(Fact::Lit(thing));
            }
            Action::ExaminePlace(_)
            | Action::ExamineThing(_)
            | Action::Inventory
            | Action::Look => {}
        }
    }

    /// Every action whose preconditions hold.
    pub(super) fn legal(&self, item: &HouseholdItem) -> Vec<Action> {
        Action::all(item).into_iter().filter(|&action| self.allows(item, action)).collect()
    }
}
