//! The expert of demonstrations: it looks for what it needs, and knows only what it has seen.
//!
//! An oracle that walks straight to the right drawer teaches a policy to guess. The expert looks
//! into one receptacle after the other, in the order in which the room's are named. After each look it
//! says whether what it looks for is there, and otherwise which receptacle comes next, in the words in
//! which the room names them. So each of its words follows from a few before it: a small policy can
//! learn that.

use super::action::Action;
use super::episode::HouseholdEpisode;
use super::goal::GoalKind;
use super::item::{HouseholdItem, Name, with_article};
use super::state::Fact;
use super::words::{ThingKind, article};
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
        let _ = expert.find(item.goal.thing, 0);
    }
    expert.turns
}

struct Expert<'a> {
    item: &'a HouseholdItem,
    episode: HouseholdEpisode<'a>,
    turns: Vec<(String, String)>,
}

impl<'a> Expert<'a> {
    /// It has thought of what it looks for.
    fn new(item: &'a HouseholdItem) -> Self {
        let mut new = Self { item, episode: HouseholdEpisode::new(item), turns: Vec::new() };
        new.say(first_thought(item));
        new
    }

    /// The errand; `None` where it finds no way.
    fn carry_out(&mut self) -> Option<()> {
        let goal = self.item.goal;
        let mut thing = self.find(goal.thing, 0)?;
        for brought in 1..=goal.kind.count() {
            let here = self.episode.state().place()?;
            self.act(Action::Take(thing, here));
            if let Some(appliance) = goal.kind.appliance() {
                let place = self.item.places_of(appliance).next()?;
                self.go(place);
                self.act(match goal.kind {
                    GoalKind::Heat => Action::Heat(thing, place),
                    GoalKind::Cool => Action::Cool(thing, place),
                    _ => Action::Clean(thing, place),
                });
            }
            let Some(kind) = goal.place else {
                let lamp = self.find(ThingKind::Lamp, here)?;
                self.act(Action::Use(lamp));
                return Some(());
            };
            let place = self.item.places_of(kind).next()?;
            self.go(place);
            self.open(place);
            self.act(Action::Move(thing, place));
            if brought < goal.kind.count() {
                let next = self.after(place);
                self.say(format!("think: one more {}. {}", goal.thing.word(), self.next(place)));
                thing = self.find(goal.thing, next)?;
            }
        }
        Some(())
    }

    /// Looks for a thing of this kind, into one receptacle after the other from the one at `first`, and
    /// after the last into the first; `None` where it has looked into all.
    fn find(&mut self, kind: ThingKind, first: usize) -> Option<usize> {
        let mut place = first;
        for _ in 0..self.item.places.len() {
            self.go(place);
            self.open(place);
            let state = self.episode.state();
            let found =
                self.item.things_of(kind).find(|&thing| state.holds(Fact::In(thing, place)));
            if let Some(thing) = found {
                self.say(here(self.item.things[thing].thing));
                return found;
            }
            if self.item.places.len() <= SMALL {
                self.say(format!("{} {}", not_here(kind), self.next(place)));
            }
            place = self.after(place);
        }
        None
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

/// The thought that a thing is where it looks.
pub(super) fn here(thing: Name<ThingKind>) -> String {
    format!("think: {thing} is here.")
}

/// The thought that no such thing is where it looks, in front of where it looks next.
pub(super) fn not_here(kind: ThingKind) -> String {
    format!("think: {} is not here.", kind.word())
}

/// The thought before the first action: what it looks for.
pub(super) fn first_thought(item: &HouseholdItem) -> String {
    let goal = &item.goal;
    let word = goal.thing.word();
    if goal.kind == GoalKind::Two {
        return format!("think: I need to find two {}.", goal.thing.plural());
    }
    format!("think: I need to find {} {word}.", article(word))
}
