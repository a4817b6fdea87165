//! The expert of demonstrations: it looks for what it needs, and knows only what it has seen.
//!
//! An oracle that walks straight to the right drawer teaches a policy to guess. The expert looks
//! first where such things usually are, then everywhere else, and thinks aloud twice.

use super::action::Action;
use super::episode::HouseholdEpisode;
use super::goal::GoalKind;
use super::item::HouseholdItem;
use super::rooms::usual_places;
use super::state::Fact;
use super::words::{PlaceKind, ThingKind, article};
use crate::kind::Episode as _;
use std::collections::BTreeSet;

/// Actions at most: more than any room needs.
const STEPS: usize = 200;

/// The expert's turns, each with the reply of the environment.
pub(super) fn expert(item: &HouseholdItem) -> Vec<(String, String)> {
    let mut expert = Expert {
        item,
        episode: HouseholdEpisode::new(item),
        seen: BTreeSet::new(),
        delivered: BTreeSet::new(),
        turns: Vec::new(),
        has_found: false,
        is_over: false,
    };
    expert.think(&first_thought(item));
    while !expert.is_over && expert.turns.len() < STEPS {
        let Some(action) = expert.next() else { break };
        expert.act(action);
    }
    expert.turns
}

struct Expert<'a> {
    item: &'a HouseholdItem,
    episode: HouseholdEpisode<'a>,
    /// Receptacles whose contents it has seen.
    seen: BTreeSet<usize>,
    /// Things that it has brought.
    delivered: BTreeSet<usize>,
    turns: Vec<(String, String)>,
    has_found: bool,
    is_over: bool,
}

impl Expert<'_> {
    fn say(&mut self, turn: String) {
        let answer = self.episode.respond(&turn);
        self.is_over = answer.over;
        self.turns.push((turn, answer.observation));
    }

    fn think(&mut self, thought: &str) {
        self.say(format!("think: {thought}"));
    }

    fn act(&mut self, action: Action) {
        self.say(action.text(self.item));
        if let Some(here) = self.episode.state().place()
            && self.episode.state().is_accessible(self.item, here)
        {
            self.seen.insert(here);
        }
        if let Action::Move(thing, _) = action {
            self.delivered.insert(thing);
        }
    }

    /// Where a thing of this kind is that it knows of and has not brought.
    fn known(&self, kind: ThingKind) -> Option<(usize, usize)> {
        let state = self.episode.state();
        let mut open = self.item.things_of(kind).filter(|thing| !self.delivered.contains(thing));
        open.find_map(|thing| {
            let place = self.seen.iter().find(|&&place| state.holds(Fact::In(thing, place)))?;
            Some((thing, *place))
        })
    }

    /// A step towards being at a receptacle with access to it; `None` if that is so already.
    fn approach(&self, place: usize) -> Option<Action> {
        let state = self.episode.state();
        if !state.holds(Fact::At(place)) {
            return Some(Action::GoTo(place));
        }
        (!state.is_accessible(self.item, place)).then_some(Action::Open(place))
    }

    /// A step towards seeing what it has not seen, likely receptacles first.
    fn explore(&self) -> Option<Action> {
        let usual = usual_places(self.item.room, self.item.goal.thing);
        let rank = |place: &usize| {
            let kind = self.item.places[*place].0;
            usual.iter().position(|usual| *usual == kind).unwrap_or(usual.len())
        };
        let unseen = (0..self.item.places.len()).filter(|place| !self.seen.contains(place));
        // What stands open before it comes first: it is there already.
        let here = self.episode.state().place();
        let next = unseen.min_by_key(|place| (Some(*place) != here, rank(place)))?;
        self.approach(next)
    }

    fn next(&mut self) -> Option<Action> {
        let goal = self.item.goal;
        let Some(held) = self.episode.state().held() else {
            let Some((thing, place)) = self.known(goal.thing) else { return self.explore() };
            if !self.has_found {
                self.has_found = true;
                self.think(&second_thought(self.item, thing));
            }
            return Some(self.approach(place).unwrap_or(Action::Take(thing, place)));
        };
        if let Some(appliance) = goal.kind.appliance()
            && !goal.is_treated(self.episode.state(), held)
        {
            let place = self.item.places_of(appliance).next()?;
            if !self.episode.state().holds(Fact::At(place)) {
                return Some(Action::GoTo(place));
            }
            return Some(match goal.kind {
                GoalKind::Heat => Action::Heat(held, place),
                GoalKind::Cool => Action::Cool(held, place),
                _ => Action::Clean(held, place),
            });
        }
        match goal.place {
            Some(kind) => {
                let place = self.item.places_of(kind).next()?;
                Some(self.approach(place).unwrap_or(Action::Move(held, place)))
            }
            None => match self.known(ThingKind::Lamp) {
                Some((lamp, place)) => Some(self.approach(place).unwrap_or(Action::Use(lamp))),
                None => self.explore(),
            },
        }
    }
}

/// The plan, thought before the first action.
fn first_thought(item: &HouseholdItem) -> String {
    let goal = &item.goal;
    let word = goal.thing.word();
    if goal.kind == GoalKind::Two {
        return format!("I need to find two {}.", goal.thing.plural());
    }
    format!("I need to find {} {word}.", article(word))
}

/// What comes next, thought when the first thing is found. It fits into the shortest turns, sixteen
/// tokens, of which a number takes two.
fn second_thought(item: &HouseholdItem, thing: usize) -> String {
    let goal = &item.goal;
    let name = item.things[thing].thing;
    let there = goal.place.map(PlaceKind::word).unwrap_or_default();
    match goal.kind {
        GoalKind::Place | GoalKind::Two => format!("take {name}, then go to the {there}."),
        GoalKind::Light => format!("take {name}, then find a lamp."),
        GoalKind::Clean => format!("clean {name}, then go to the {there}."),
        GoalKind::Heat => format!("heat {name}, then go to the {there}."),
        GoalKind::Cool => format!("cool {name}, then go to the {there}."),
    }
}
