//! Draws items. The parts differ in structure: layouts, and where the things that goals are about
//! are found.
//!
//! - A *layout* is a kind of room with a count of each kind of receptacle. Each belongs to one part.
//! - A *pair* is a kind of thing in a kind of receptacle. Each belongs to one part. In training
//!   items every thing is in a receptacle that makes a training pair; in sealed items what the goal
//!   is about makes a pair of that part, and other things are anywhere.

use super::goal::{Goal, GoalKind, WORDINGS};
use super::item::{HouseholdItem, Name, ThingAt};
use super::rooms::{clutter, receptacles, room_size, rooms, suits, things, usual_places};
use super::words::{PlaceKind, Room, ThingKind};
use crate::kind::Scale;
use crate::part::Part;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use tasks::stream::Stream;

/// How much likelier a usual receptacle of a thing is than another.
const USUAL: u32 = 4;

/// The part that a name belongs to, in these shares of ten: training six, dev two, test two.
fn part_of(name: &str) -> Part {
    match Stream::root(0).child("household parts").child(name).seed() % 10 {
        0..=5 => Part::Train,
        6..=7 => Part::Dev,
        _ => Part::Test,
    }
}

/// The part that a layout belongs to.
pub(super) fn part_of_layout(room: Room, places: &[Name<PlaceKind>]) -> Part {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for place in places {
        *counts.entry(place.0.word()).or_default() += 1;
    }
    part_of(&format!("layout {} {counts:?}", room.word()))
}

/// The part that a kind of thing in a kind of receptacle belongs to.
pub(super) fn part_of_pair(thing: ThingKind, place: PlaceKind) -> Part {
    part_of(&format!("pair {} {}", thing.word(), place.word()))
}

/// One candidate; `None` if its layout is of another part, or has no room for its goal.
pub(super) fn draw(part: Part, scale: Scale, stream: Stream) -> Option<HouseholdItem> {
    let mut rng = stream.rng();
    let kind = *GoalKind::ALL.choose(&mut rng)?;
    let room = *rooms(kind).choose(&mut rng)?;
    let places = draw_places(room, scale, &mut rng)?;
    if part_of_layout(room, &places) != part {
        return None;
    }
    let suited: Vec<ThingKind> =
        things(room).iter().map(|(thing, _)| *thing).filter(|&thing| suits(kind, thing)).collect();
    let thing = *suited.choose(&mut rng)?;
    let place = match kind {
        GoalKind::Light => None,
        _ => Some(draw_destination(kind, &places, &mut rng)?),
    };
    let goal = Goal { kind, thing, place };
    let things = draw_things(part, scale, room, &places, goal, &mut rng)?;
    let wording = rng.random_range(0..WORDINGS);
    Some(HouseholdItem { room, places, things, goal, wording })
}

/// Receptacles in drawn numbers and a drawn order; `None` if they are too few or too many.
fn draw_places(room: Room, scale: Scale, rng: &mut ChaCha8Rng) -> Option<Vec<Name<PlaceKind>>> {
    let mut places = Vec::new();
    for row in receptacles(room) {
        let (least, most) = row.range(scale);
        let count = rng.random_range(least..=most);
        places.extend((1..=count).map(|number| Name(row.kind, number)));
    }
    let (least, most, closing) = room_size(scale);
    let closed = places.iter().filter(|place| place.0.closes()).count();
    if !(least..=most).contains(&places.len()) || closed > closing {
        return None;
    }
    places.shuffle(rng);
    Some(places)
}

/// A kind of receptacle for the goal, other than that with which things are treated.
fn draw_destination(
    goal: GoalKind,
    places: &[Name<PlaceKind>],
    rng: &mut ChaCha8Rng,
) -> Option<PlaceKind> {
    let mut kinds: Vec<PlaceKind> = places.iter().map(|place| place.0).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.retain(|&kind| goal.appliance() != Some(kind));
    kinds.choose(rng).copied()
}

/// The things of an item: what the goal is about, a lamp if it needs one, and clutter.
fn draw_things(
    part: Part,
    scale: Scale,
    room: Room,
    places: &[Name<PlaceKind>],
    goal: Goal,
    rng: &mut ChaCha8Rng,
) -> Option<Vec<ThingAt>> {
    let mut placed: Vec<(ThingKind, usize)> = Vec::new();
    for _ in 0..goal.kind.count() {
        let fits =
            |kind: PlaceKind| goal.place != Some(kind) && part_of_pair(goal.thing, kind) == part;
        placed.push((goal.thing, draw_place(room, goal.thing, places, fits, rng)?));
    }
    if goal.kind == GoalKind::Light {
        let is_surface = |kind: PlaceKind| {
            matches!(
                kind,
                PlaceKind::Desk | PlaceKind::Nightstand | PlaceKind::Table | PlaceKind::Shelf
            )
        };
        placed.push((ThingKind::Lamp, draw_place(room, ThingKind::Lamp, places, is_surface, rng)?));
    }
    let (least, most) = clutter(scale);
    for _ in 0..rng.random_range(least..=most) {
        let (thing, _) = *things(room).choose(rng)?;
        let fits = |kind: PlaceKind| part != Part::Train || part_of_pair(thing, kind) == part;
        if thing != goal.thing
            && let Some(place) = draw_place(room, thing, places, fits, rng)
        {
            placed.push((thing, place));
        }
    }
    // The position in the item says nothing of what the goal is about.
    placed.shuffle(rng);
    let mut numbers: BTreeMap<ThingKind, u8> = BTreeMap::new();
    let numbered = placed.into_iter().map(|(thing, place)| {
        let number = numbers.entry(thing).or_default();
        *number += 1;
        ThingAt { thing: Name(thing, *number), place }
    });
    Some(numbered.collect())
}

/// A receptacle for a thing, usual ones likelier; `None` if none fits.
fn draw_place(
    room: Room,
    thing: ThingKind,
    places: &[Name<PlaceKind>],
    fits: impl Fn(PlaceKind) -> bool,
    rng: &mut ChaCha8Rng,
) -> Option<usize> {
    let usual = usual_places(room, thing);
    let weights = places.iter().enumerate().filter(|(_, place)| fits(place.0)).flat_map(
        |(position, place)| {
            let weight = if usual.contains(&place.0) { USUAL } else { 1 };
            std::iter::repeat_n(position, weight as usize)
        },
    );
    weights.collect::<Vec<_>>().choose(rng).copied()
}
