//! The expert of demonstrations: it looks for what it needs, and knows only what it has seen.
//!
//! An oracle that walks straight to the right drawer teaches a policy to guess. The expert looks
//! into one receptacle after the other, in the order in which the room's are named. First it says the
//! errand in words that are the same for all wordings of it, and what is left of it when it has found
//! something. After each look it says whether what it looks for is there, and otherwise which receptacle
//! comes next, in the words in which the room names them. So each of its words follows from a few before
//! it: a small policy can learn that.

use super::action::Action;
use super::episode::HouseholdEpisode;
use super::goal::{Goal, GoalKind};
use super::item::{HouseholdItem, Name, with_article};
use super::state::Fact;
use super::words::{PlaceKind, ThingKind};
use crate::kind::Episode as _;

/// Receptacles up to which it says after each look where it looks next. In larger rooms, which are for
/// language models, it would run out of turns.
const SMALL: usize = 8;

/// The expert's turns, each with the reply of the environment.
pub(super) fn expert(item: &HouseholdItem) -> Vec<(String, String)> {
    let mut expert = Expert::new(item);
    expert.carry_out();
    expert.turns
}

/// Its turns and the replies in a room without what the errand is about: it looks everywhere twice.
pub(super) fn search(item: &HouseholdItem) -> Vec<(String, String)> {
    let mut expert = Expert::new(item);
    for _ in 0..2 {
        let _ = expert.find(item.goal.thing, 0, &rest(item.goal, 0));
    }
    expert.turns
}

struct Expert<'a> {
    item: &'a HouseholdItem,
    episode: HouseholdEpisode<'a>,
    turns: Vec<(String, String)>,
}

impl<'a> Expert<'a> {
    /// It has said the errand.
    fn new(item: &'a HouseholdItem) -> Self {
        let mut new = Self { item, episode: HouseholdEpisode::new(item), turns: Vec::new() };
        new.say(first_thought(item));
        new
    }

    /// The errand; `None` where it finds no way.
    fn carry_out(&mut self) -> Option<()> {
        let goal = self.item.goal;
        let mut thing = self.find(goal.thing, 0, &rest(goal, 0))?;
        for brought in 1..=goal.kind.count() {
            let here = self.episode.state().place()?;
            self.act(Action::Take(thing, here));
            if let Some(appliance) = goal.kind.appliance() {
                let place = self.first(appliance)?;
                self.go(place);
                self.act(match goal.kind {
                    GoalKind::Heat => Action::Heat(thing, place),
                    GoalKind::Cool => Action::Cool(thing, place),
                    _ => Action::Clean(thing, place),
                });
            }
            let Some(kind) = goal.place else {
                let lamp = self.find(ThingKind::Lamp, here, "")?;
                self.act(Action::Use(lamp));
                return Some(());
            };
            let place = self.first(kind)?;
            self.go(place);
            self.open(place);
            self.act(Action::Move(thing, place));
            if brought < goal.kind.count() {
                let next = self.after(place);
                self.say(format!("think: one more {}. {}", goal.thing.word(), self.next(place)));
                thing = self.find(goal.thing, next, &rest(goal, brought))?;
            }
        }
        Some(())
    }

    /// Looks for a thing of this kind, into one receptacle after the other from the one at `first`, and
    /// after the last into the first; `None` where it has looked into all. `rest` is what is left to be
    /// done then.
    fn find(&mut self, kind: ThingKind, first: usize, rest: &str) -> Option<usize> {
        let mut place = first;
        for _ in 0..self.item.places.len() {
            self.go(place);
            self.open(place);
            let state = self.episode.state();
            let found =
                self.item.things_of(kind).find(|&thing| state.holds(Fact::In(thing, place)));
            if let Some(thing) = found {
                self.say(here(self.item.things[thing].thing, rest));
                return found;
            }
            if self.item.places.len() <= SMALL {
                self.say(format!("{} {}", not_here(kind), self.next(place)));
            }
            place = self.after(place);
        }
        None
    }

    /// The receptacle of a kind with the number 1. Which of several it is does not matter, and errands
    /// do not say: so it is always the same.
    fn first(&self, kind: PlaceKind) -> Option<usize> {
        self.item.places.iter().position(|&place| place == Name(kind, 1))
    }

    /// The receptacle that is named after one, and after the last the first.
    fn after(&self, place: usize) -> usize {
        (place + 1) % self.item.places.len()
    }

    /// Where it looks after a receptacle.
    fn next(&self, place: usize) -> String {
        let after = self.after(place);
        let again = if after == 0 { "again " } else { "" };
        let [place, after] = [place, after].map(|place| self.item.places[place].to_string());
        format!("After the {place}, {again}{}.", with_article(&after))
    }

    /// Goes to a receptacle, if it is not there.
    fn go(&mut self, place: usize) {
        if !self.episode.state().holds(Fact::At(place)) {
            self.act(Action::GoTo(place));
        }
    }

    /// Opens the receptacle where it is, if that is closed.
    fn open(&mut self, place: usize) {
        if !self.episode.state().is_accessible(self.item, place) {
            self.act(Action::Open(place));
        }
    }

    fn act(&mut self, action: Action) {
        self.say(action.text(self.item));
    }

    fn say(&mut self, turn: String) {
        let answer = self.episode.respond(&turn);
        self.turns.push((turn, answer.observation));
    }
}

/// The thought that a thing is where it looks, and of what is left to be done, if anything is.
pub(super) fn here(thing: Name<ThingKind>, rest: &str) -> String {
    let joint = if rest.is_empty() { "" } else { ", " };
    format!("think: {thing} is here{joint}{rest}.")
}

/// The thought that no such thing is where it looks, in front of where it looks next.
pub(super) fn not_here(kind: ThingKind) -> String {
    format!("think: {} is not here.", kind.word())
}

/// The thought before the first action: the errand.
pub(super) fn first_thought(item: &HouseholdItem) -> String {
    format!("think: find {}, {}.", with_article(item.goal.thing.word()), rest(item.goal, 0))
}

/// What is to be done with a thing that was found, when so many were brought before, in words that do
/// not depend on the wording of the errand.
pub(super) fn rest(goal: Goal, brought: usize) -> String {
    let Some(place) = goal.place else {
        return format!("then {}", with_article(ThingKind::Lamp.word()));
    };
    let treat = goal.kind.appliance().map_or_else(String::new, |appliance| {
        format!("{} it with {}, ", goal.kind.name(), with_article(appliance.word()))
    });
    let again = if brought + 1 < goal.kind.count() { ", then one more" } else { "" };
    format!("{treat}take it to {}{again}", with_article(place.word()))
}
