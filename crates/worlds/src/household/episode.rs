//! An episode: lines of the player in, observations out.

use super::action::Action;
use super::item::{HouseholdItem, Name, list, with_article};
use super::plan;
use super::state::{Fact, State};
use super::words::{PlaceKind, ThingKind};
use crate::kind::{Answer, Episode};
use agents::trajectory::EnvironmentVerdict;
use serde_json::json;

/// The answer to what cannot be carried out.
pub(super) const NOTHING: &str = "Nothing happens.";
/// The answer to a thought.
pub(super) const OK: &str = "OK.";

/// An episode on one item.
#[derive(Debug)]
pub struct HouseholdEpisode<'a> {
    item: &'a HouseholdItem,
    state: State,
    has_won: bool,
    /// How far the player ever got.
    reached: Milestones,
    illegal: usize,
    turns: usize,
}

/// What the player has achieved at any time, with a thing that the goal is about.
#[derive(Debug, Default)]
struct Milestones {
    held: bool,
    treated: bool,
}

impl<'a> HouseholdEpisode<'a> {
    /// The room as it is at the start.
    pub fn new(item: &'a HouseholdItem) -> Self {
        Self {
            item,
            state: State::new(item),
            has_won: false,
            reached: Milestones::default(),
            illegal: 0,
            turns: 0,
        }
    }

    /// Every action that would be carried out now, as it is written.
    pub fn legal(&self) -> Vec<String> {
        self.state.legal(self.item).into_iter().map(|action| action.text(self.item)).collect()
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// What is seen of a receptacle by who is there.
    fn view(&self, place: usize) -> String {
        let name = self.item.places[place];
        if !self.state.is_accessible(self.item, place) {
            return format!("The {name} is closed.");
        }
        let seen = self.seen(place);
        if name.0.closes() { format!("The {name} is open. {seen}") } else { seen }
    }

    /// The things in or on a receptacle.
    fn seen(&self, place: usize) -> String {
        let names = self.state.inside(self.item, place).into_iter();
        let names: Vec<_> = names.map(|thing| self.item.things[thing].thing).collect();
        contents(self.item.places[place].0, &names)
    }

    /// What is told after an action that was carried out.
    fn observation(&self, action: Action) -> String {
        let place = |place: usize| self.item.places[place];
        let thing = |thing: usize| self.item.things[thing].thing;
        match action {
            Action::GoTo(to) => format!("You are at the {}. {}", place(to), self.view(to)),
            Action::Open(what) => {
                format!("You open the {}. {}", place(what), self.seen(what))
            }
            Action::Close(what) => format!("You close the {}.", place(what)),
            Action::Take(what, from) => {
                format!("You take the {} from the {}.", thing(what), place(from))
            }
            Action::Move(what, to) => format!("You move the {} to the {}.", thing(what), place(to)),
            Action::Clean(what, with) => {
                format!("You clean the {} with the {}.", thing(what), place(with))
            }
            Action::Heat(what, with) => {
                format!("You heat the {} with the {}.", thing(what), place(with))
            }
            Action::Cool(what, with) => {
                format!("You cool the {} with the {}.", thing(what), place(with))
            }
            Action::Use(what) => format!("You turn on the {}.", thing(what)),
            Action::ExaminePlace(what) => self.view(what),
            Action::ExamineThing(what) => self.looks(what),
            Action::Inventory => match self.state.held() {
                Some(held) => format!("You carry {}.", with_article(&thing(held).to_string())),
                None => "You carry nothing.".to_owned(),
            },
            Action::Look => match self.state.place() {
                Some(here) => format!("You are at the {}. {}", place(here), self.view(here)),
                None => self.item.overview(),
            },
        }
    }

    /// A thing, looked at.
    fn looks(&self, thing: usize) -> String {
        let states = [
            (Fact::Clean(thing), "clean"),
            (Fact::Hot(thing), "hot"),
            (Fact::Cool(thing), "cool"),
            (Fact::Lit(thing), "lit"),
        ];
        let states = states.into_iter().filter(|(fact, _)| self.state.holds(*fact));
        let states: Vec<String> = states.map(|(_, word)| word.to_owned()).collect();
        let name = self.item.things[thing].thing;
        if states.is_empty() {
            format!("There is nothing special about the {name}.")
        } else {
            format!("The {name} is {}.", list(&states))
        }
    }

    /// Notes how far the player has got.
    fn note(&mut self) {
        let goal = &self.item.goal;
        for thing in self.item.things_of(goal.thing) {
            let is_held = self.state.holds(Fact::Holding(thing));
            self.reached.held |= is_held;
            self.reached.treated |= is_held && goal.is_treated(&self.state, thing);
        }
        self.has_won |= goal.is_reached(self.item, &self.state);
    }
}

/// What is seen in or on a receptacle with these things.
pub(super) fn contents(place: PlaceKind, things: &[Name<ThingKind>]) -> String {
    let names: Vec<String> = things.iter().map(|name| with_article(&name.to_string())).collect();
    let joint = if place.preposition() == "in" { "In" } else { "On" };
    format!("{joint} it you see {}.", list(&names))
}

impl Episode for HouseholdEpisode<'_> {
    fn respond(&mut self, text: &str) -> Answer {
        self.turns += 1;
        // A turn is one line; prompts show it behind `>`.
        let line = text.trim().lines().next().unwrap_or_default();
        let line = line.strip_prefix('>').unwrap_or(line).trim();
        let is_thought = line.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("think:"));
        let answer = |observation: &str, understood, over| Answer {
            observation: observation.to_owned(),
            understood,
            thought: is_thought,
            over,
        };
        if is_thought {
            return answer(OK, true, self.has_won);
        }
        let action = Action::parse(line, self.item);
        if let Some(action) = action.filter(|&action| self.state.allows(self.item, action)) {
            self.state.apply(action);
            self.note();
            answer(&self.observation(action), true, self.has_won)
        } else {
            self.illegal += 1;
            answer(NOTHING, false, self.has_won)
        }
    }

    fn verdict(&self) -> EnvironmentVerdict {
        let won = if self.has_won { 1.0 } else { 0.0 };
        let mut tags = vec![self.item.goal.kind.name().to_owned()];
        if !self.has_won {
            let missing = match &self.reached {
                Milestones { held: false, .. } => "never_held",
                Milestones { treated: false, .. } => "never_treated",
                Milestones { .. } => "not_brought",
            };
            tags.push(missing.to_owned());
        }
        let detail = json!({
            "illegal": self.illegal,
            "oracle_turns": plan::plan(self.item).len(),
            "room": self.item.room,
            "turns": self.turns,
        });
        EnvironmentVerdict { reward: won, score: won, tags, detail }
    }
}
