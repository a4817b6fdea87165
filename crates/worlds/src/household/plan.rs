//! The oracle: a shortest plan by search over subgoals, with everything in view.
//!
//! A goal is a chain of facts for a choice of things and receptacles, such as *holding mug 1, mug 1
//! clean, mug 1 in cupboard 2*. Each fact is reached by breadth-first search over the actions that
//! bear on it; the shortest chain over all choices is the plan.

use super::action::Action;
use super::goal::GoalKind;
use super::item::HouseholdItem;
use super::state::{Fact, State};
use super::words::ThingKind;
use std::collections::{BTreeSet, VecDeque};

/// A shortest plan; empty if there is none.
pub(super) fn plan(item: &HouseholdItem) -> Vec<Action> {
    let plans = chains(item).into_iter().filter_map(|chain| follow(item, &chain));
    plans.min_by_key(Vec::len).unwrap_or_default()
}

/// The chains of facts by which the goal can be reached, one per choice.
fn chains(item: &HouseholdItem) -> Vec<Vec<Fact>> {
    let goal = &item.goal;
    let things: Vec<usize> = item.things_of(goal.thing).collect();
    let mut chains = Vec::new();
    let Some(kind) = goal.place else {
        for &thing in &things {
            for lamp in item.things_of(ThingKind::Lamp) {
                let place = item.things[lamp].place;
                chains.push(vec![Fact::Holding(thing), Fact::At(place), Fact::Lit(lamp)]);
            }
        }
        return chains;
    };
    for place in item.places_of(kind) {
        for &thing in &things {
            let mut chain = vec![Fact::Holding(thing)];
            match goal.kind {
                GoalKind::Clean => chain.push(Fact::Clean(thing)),
                GoalKind::Heat => chain.push(Fact::Hot(thing)),
                GoalKind::Cool => chain.push(Fact::Cool(thing)),
                GoalKind::Place | GoalKind::Light | GoalKind::Two => {}
            }
            chain.push(Fact::In(thing, place));
            if goal.kind == GoalKind::Two {
                for &second in things.iter().filter(|&&second| second != thing) {
                    let rest = [Fact::Holding(second), Fact::In(second, place)];
                    chains.push(chain.iter().copied().chain(rest).collect());
                }
            } else {
                chains.push(chain);
            }
        }
    }
    chains
}

/// The actions that reach the facts of a chain one after the other, and the goal with the last.
fn follow(item: &HouseholdItem, chain: &[Fact]) -> Option<Vec<Action>> {
    let mut state = State::new(item);
    let mut plan = Vec::new();
    for &fact in chain {
        for action in reach(item, &state, fact)? {
            state.apply(action);
            plan.push(action);
        }
    }
    item.goal.is_reached(item, &state).then_some(plan)
}

/// A shortest sequence of actions after which `fact` holds.
fn reach(item: &HouseholdItem, start: &State, fact: Fact) -> Option<Vec<Action>> {
    let mut seen = BTreeSet::from([start.clone()]);
    let mut open = VecDeque::from([(start.clone(), Vec::new())]);
    while let Some((state, plan)) = open.pop_front() {
        if state.holds(fact) {
            return Some(plan);
        }
        let near = places_for(item, &state, fact);
        for action in state.legal(item).into_iter().filter(|&action| bears_on(action, fact, &near))
        {
            let mut next = state.clone();
            next.apply(action);
            if seen.insert(next.clone()) {
                let plan = plan.iter().copied().chain([action]).collect();
                open.push_back((next, plan));
            }
        }
    }
    None
}

/// The receptacles at which a fact can be made true.
fn places_for(item: &HouseholdItem, state: &State, fact: Fact) -> Vec<usize> {
    let holds_thing =
        |thing| (0..item.places.len()).filter(move |&place| state.holds(Fact::In(thing, place)));
    let of_kind = |kind: GoalKind| {
        kind.appliance().map(|appliance| item.places_of(appliance).collect()).unwrap_or_default()
    };
    match fact {
        Fact::At(place) | Fact::Open(place) | Fact::In(_, place) => vec![place],
        Fact::Holding(thing) | Fact::Lit(thing) => holds_thing(thing).collect(),
        Fact::Clean(_) => of_kind(GoalKind::Clean),
        Fact::Hot(_) => of_kind(GoalKind::Heat),
        Fact::Cool(_) => of_kind(GoalKind::Cool),
    }
}

/// Whether an action can help towards a fact.
fn bears_on(action: Action, fact: Fact, near: &[usize]) -> bool {
    match action {
        Action::GoTo(place) | Action::Open(place) => near.contains(&place),
        Action::Take(thing, _) => fact == Fact::Holding(thing),
        Action::Move(thing, place) => fact == Fact::In(thing, place),
        Action::Clean(thing, _) => fact == Fact::Clean(thing),
        Action::Heat(thing, _) => fact == Fact::Hot(thing),
        Action::Cool(thing, _) => fact == Fact::Cool(thing),
        Action::Use(thing) => fact == Fact::Lit(thing),
        Action::Close(_)
        | Action::ExaminePlace(_)
        | Action::ExamineThing(_)
        | Action::Inventory
        | Action::Look => false,
    }
}
