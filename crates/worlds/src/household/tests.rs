//! The rules of the environment, one by one.

use super::draw::{part_of_layout, part_of_pair};
use super::goal::WORDINGS;
use super::{
    Goal, GoalKind, Household, HouseholdEpisode, HouseholdItem, Name, PlaceKind, Room, ThingAt,
    ThingKind, expert, plan, prompt,
};
use crate::generate::generate;
use crate::kind::{Episode as _, Kind as _, Scale};
use crate::part::Part;
use insta::assert_snapshot;
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;
use tasks::task::TaskId;

/// A kitchen with a mug in a closed cupboard and an apple on the counter.
fn kitchen(kind: GoalKind, place: Option<PlaceKind>) -> HouseholdItem {
    use PlaceKind as P;
    let at = |thing, number, place| ThingAt { thing: Name(thing, number), place };
    HouseholdItem {
        room: Room::Kitchen,
        places: [P::Counter, P::Cupboard, P::Fridge, P::Sink, P::Microwave, P::Table]
            .map(|kind| Name(kind, 1))
            .to_vec(),
        things: vec![
            at(ThingKind::Apple, 1, 0),
            at(ThingKind::Mug, 1, 1),
            at(ThingKind::Mug, 2, 5),
            at(ThingKind::Lamp, 1, 0),
        ],
        goal: Goal { kind, thing: ThingKind::Mug, place },
        wording: 0,
    }
}

/// A transcript of these turns.
fn transcript(item: &HouseholdItem, turns: &[&str]) -> String {
    let mut episode = HouseholdEpisode::new(item);
    let mut lines = Vec::new();
    for turn in turns {
        let answer = episode.respond(turn);
        let over = if answer.over { " (over)" } else { "" };
        lines.push(format!("> {turn}\n{}{over}", answer.observation));
    }
    lines.join("\n")
}

#[test]
fn closed_receptacles_hide_and_observations_list_what_is_seen() {
    let item = kitchen(GoalKind::Place, Some(PlaceKind::Counter));
    assert_snapshot!(transcript(
        &item,
        &[
            "look",
            "go to cupboard 1",
            "take mug 1 from cupboard 1",
            "open cupboard 1",
            "take mug 1 from cupboard 1",
            "look",
            "inventory",
            "close cupboard 1",
            "go to counter 1",
            "think: it goes here.",
            "put mug 1 in/on counter 1",
            "MOVE  mug 1 to counter 1\ngo to sink 1",
        ]
    ));
}

#[test]
fn treatments_need_their_appliance_and_change_what_is_seen() {
    let item = kitchen(GoalKind::Heat, Some(PlaceKind::Counter));
    assert_snapshot!(transcript(
        &item,
        &[
            "go to table 1",
            "take mug 2 from table 1",
            "clean mug 2 with sink 1",
            "go to sink 1",
            "heat mug 2 with sink 1",
            "clean mug 2 with sink 1",
            "go to microwave 1",
            "heat mug 2 with microwave 1",
            "examine mug 2",
            "go to fridge 1",
            "cool mug 2 with fridge 1",
            "examine mug 2",
            "go to counter 1",
            "move mug 2 to counter 1",
            "take mug 2 from counter 1",
            "go to microwave 1",
            "heat mug 2 with microwave 1",
            "go to counter 1",
            "move mug 2 to counter 1",
        ]
    ));
}

#[test]
fn a_lamp_lights_where_it_stands_and_is_not_taken() {
    let item = kitchen(GoalKind::Light, None);
    assert_snapshot!(transcript(
        &item,
        &[
            "use lamp 1",
            "go to table 1",
            "use lamp 1",
            "take mug 2 from table 1",
            "go to counter 1",
            "take lamp 1 from counter 1",
            "use lamp 1",
        ]
    ));
}

#[test]
fn illegal_actions_change_nothing() {
    let item = kitchen(GoalKind::Two, Some(PlaceKind::Counter));
    let mut episode = HouseholdEpisode::new(&item);
    for turn in plan::plan(&item).iter().map(|action| action.text(&item)) {
        let legal: BTreeSet<String> = episode.legal().into_iter().collect();
        let before = episode.state().clone();
        for action in super::action::Action::all(&item) {
            let text = action.text(&item);
            if !legal.contains(&text) {
                assert_eq!(episode.respond(&text).observation, "Nothing happens.", "{text}");
                assert_eq!(*episode.state(), before, "{text}");
            }
        }
        for text in ["", "go to garden 1", "go to counter 01", "go to counter 2", "take mug 1"] {
            assert!(!episode.respond(text).understood, "{text}");
            assert_eq!(*episode.state(), before, "{text}");
        }
        assert!(episode.respond(&turn).understood, "{turn}");
    }
    assert_eq!(episode.verdict().reward, 1.0);
}

#[test]
fn what_is_missing_is_a_tag() {
    let item = kitchen(GoalKind::Clean, Some(PlaceKind::Counter));
    let tags = |turns: &[&str]| {
        let mut episode = HouseholdEpisode::new(&item);
        for turn in turns {
            episode.respond(turn);
        }
        episode.verdict().tags.join(" ")
    };
    let mut turns = vec!["look"];
    assert_eq!(tags(&turns), "clean never_held");
    turns.extend(["go to table 1", "take mug 2 from table 1"]);
    assert_eq!(tags(&turns), "clean never_treated");
    turns.extend(["go to sink 1", "clean mug 2 with sink 1"]);
    assert_eq!(tags(&turns), "clean not_brought");
    turns.extend(["go to counter 1", "move mug 2 to counter 1"]);
    assert_eq!(tags(&turns), "clean");
}

#[test]
fn plans_are_shortest() {
    for (kind, place, length) in [
        (GoalKind::Place, Some(PlaceKind::Counter), 4),
        (GoalKind::Clean, Some(PlaceKind::Counter), 6),
        (GoalKind::Light, None, 4),
        (GoalKind::Two, Some(PlaceKind::Counter), 9),
        (GoalKind::Place, Some(PlaceKind::Fridge), 5),
    ] {
        assert_eq!(plan::plan(&kitchen(kind, place)).len(), length, "{kind:?}");
    }
}

/// The tiny items of all parts, with their part.
fn items() -> Vec<(Part, HouseholdItem)> {
    items_of(Scale::Tiny)
}

fn items_of(scale: Scale) -> Vec<(Part, HouseholdItem)> {
    let sizes = Household::outline(Scale::Tiny).sizes;
    let task = TaskId::new("household").unwrap();
    let drawn = generate::<Household>(&task, scale, &sizes, Stream::root(4)).unwrap();
    let parts = drawn.parts.into_iter();
    parts.flat_map(|(part, items)| items.into_values().map(move |item| (part, item))).collect()
}

#[test]
fn parts_share_no_layout_and_goals_of_sealed_items_no_training_pair() {
    let mut kinds: BTreeMap<Part, BTreeSet<(GoalKind, Room)>> = BTreeMap::new();
    for (part, item) in items() {
        assert_eq!(part_of_layout(item.room, &item.places), part);
        for thing in &item.things {
            let (kind, place) = (thing.thing.0, item.places[thing.place].0);
            if kind != ThingKind::Lamp && (part == Part::Train || kind == item.goal.thing) {
                assert_eq!(part_of_pair(kind, place), part, "{}", item.render());
            }
        }
        kinds.entry(part).or_default().insert((item.goal.kind, item.room));
    }
    // Every part has every kind of goal in every room that it is set in.
    for (part, kinds) in kinds {
        assert_eq!(kinds.len(), 4 + 2 + 2 + 1 + 1 + 4, "{part}: {kinds:?}");
    }
}

#[test]
fn an_expert_that_knows_what_it_has_seen_wins_every_item_within_the_limit() {
    let limits = Household::outline(Scale::Tiny).limits;
    let limit = limits.turns as usize;
    for (part, item) in items() {
        let turns = expert::expert(&item);
        let mut episode = HouseholdEpisode::new(&item);
        for (turn, _) in &turns {
            episode.respond(turn);
        }
        assert_eq!(episode.verdict().reward, 1.0, "{part}: {}", item.render());
        assert!(turns.len() <= limit, "{part}: {turns:?}");
        let words = turns.iter().map(|(turn, _)| crate::grams::words(turn).len());
        assert!(words.max() <= Some(limits.turn_tokens as usize));
    }
}

#[test]
fn the_expert_first_says_the_errand_in_words_that_do_not_depend_on_its_wording() {
    let thought = |kind, place: Option<PlaceKind>| {
        let said = (0..WORDINGS).map(|wording| {
            let item = HouseholdItem { wording, ..kitchen(kind, place) };
            expert::expert(&item)[0].0.clone()
        });
        let said: BTreeSet<String> = said.collect();
        assert_eq!(said.len(), 1, "{said:?}");
        said.into_iter().next().unwrap()
    };
    let counter = Some(PlaceKind::Counter);
    let thoughts = [
        thought(GoalKind::Place, counter),
        thought(GoalKind::Clean, counter),
        thought(GoalKind::Two, Some(PlaceKind::Fridge)),
        thought(GoalKind::Light, None),
    ];
    assert_snapshot!(thoughts.join("\n"));
}

#[test]
fn in_large_rooms_the_expert_nearly_always_stays_within_the_limit() {
    let limit = Household::outline(Scale::Full).limits.turns as usize;
    let items = items_of(Scale::Full);
    let within = items.iter().filter(|(_, item)| expert::expert(item).len() <= limit).count();
    assert!(within * 100 > items.len() * 97, "{within} of {}", items.len());
}

#[test]
fn prompts_have_two_examples_of_the_goal_with_the_verb_that_is_not_known() {
    for kind in GoalKind::ALL {
        let place = (kind != GoalKind::Light).then_some(PlaceKind::Counter);
        let prompt = prompt::prompt(&kitchen(kind, place)).user;
        assert_eq!(prompt.matches("Your task is to: ").count(), 3, "{prompt}");
        assert!(!prompt.contains("> move "), "{prompt}");
        if kind == GoalKind::Light {
            assert_eq!(prompt.matches("> use lamp ").count(), 2, "{prompt}");
        } else {
            assert!(prompt.matches("> put ").count() >= 2, "{prompt}");
        }
    }
    assert_snapshot!(prompt::prompt(&kitchen(GoalKind::Heat, Some(PlaceKind::Counter))).user);
}

#[test]
fn an_item_whose_things_are_nowhere_is_refused() {
    let text = serde_json::to_string(&kitchen(GoalKind::Light, None)).unwrap();
    assert!(serde_json::from_str::<HouseholdItem>(&text).is_ok());
    let lost = text.replacen("\"place\":0", "\"place\":6", 1);
    let refused = serde_json::from_str::<HouseholdItem>(&lost).unwrap_err();
    assert!(refused.to_string().contains("`apple 1` is in a receptacle"), "{refused}");
}
