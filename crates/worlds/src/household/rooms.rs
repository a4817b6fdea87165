//! What rooms are like: how many receptacles of each kind, which things, and where these usually
//! are.

use super::goal::GoalKind;
use super::words::{PlaceKind, Room, ThingKind};
use crate::kind::Scale;

/// How many receptacles of a kind a room has, from least to most.
pub(super) struct Places {
    pub(super) kind: PlaceKind,
    pub(super) tiny: (u8, u8),
    pub(super) full: (u8, u8),
}

const fn places(kind: PlaceKind, tiny: (u8, u8), full: (u8, u8)) -> Places {
    Places { kind, tiny, full }
}

impl Places {
    /// The range at a scale.
    pub(super) fn range(&self, scale: Scale) -> (u8, u8) {
        match scale {
            Scale::Tiny => self.tiny,
            Scale::Full => self.full,
        }
    }
}

/// Receptacles of a room, at least and at most, and of those that close, at most. An expert that
/// looks into each before it finds what it needs stays within the limit of turns.
pub(super) fn room_size(scale: Scale) -> (usize, usize, usize) {
    match scale {
        Scale::Tiny => (6, 7, 3),
        Scale::Full => (11, 17, 8),
    }
}

/// Things in a room besides those that the goal is about, at least and at most.
pub(super) fn clutter(scale: Scale) -> (usize, usize) {
    match scale {
        Scale::Tiny => (3, 6),
        Scale::Full => (8, 16),
    }
}

use PlaceKind as P;
use ThingKind as T;

static KITCHEN: [Places; 10] = [
    places(P::Fridge, (1, 1), (1, 1)),
    places(P::Microwave, (1, 1), (1, 1)),
    places(P::Sink, (1, 1), (1, 1)),
    places(P::Counter, (1, 2), (1, 3)),
    places(P::Cupboard, (0, 2), (1, 4)),
    places(P::Drawer, (0, 1), (1, 3)),
    places(P::Table, (0, 1), (0, 2)),
    places(P::Shelf, (0, 2), (1, 3)),
    places(P::Stove, (0, 1), (1, 3)),
    places(P::Bin, (0, 1), (0, 1)),
];
static BEDROOM: [Places; 9] = [
    places(P::Bed, (1, 2), (1, 2)),
    places(P::Desk, (1, 2), (1, 2)),
    places(P::Drawer, (0, 2), (1, 5)),
    places(P::Nightstand, (0, 2), (1, 3)),
    places(P::Shelf, (0, 2), (1, 4)),
    places(P::Wardrobe, (0, 1), (1, 2)),
    places(P::Armchair, (0, 1), (0, 2)),
    places(P::Bin, (0, 1), (0, 1)),
    places(P::Safe, (0, 1), (0, 1)),
];
static BATHROOM: [Places; 9] = [
    places(P::Sink, (1, 2), (1, 2)),
    places(P::Bath, (0, 1), (1, 2)),
    places(P::Cupboard, (0, 2), (1, 4)),
    places(P::Rack, (1, 2), (1, 3)),
    places(P::Counter, (0, 1), (1, 2)),
    places(P::Stool, (0, 1), (1, 2)),
    places(P::Shelf, (0, 2), (1, 3)),
    places(P::Drawer, (0, 2), (1, 3)),
    places(P::Bin, (0, 1), (1, 1)),
];
static LOUNGE: [Places; 9] = [
    places(P::Sofa, (1, 1), (1, 2)),
    places(P::Table, (1, 2), (1, 3)),
    places(P::Armchair, (0, 2), (1, 3)),
    places(P::Cabinet, (0, 2), (1, 4)),
    places(P::Drawer, (0, 2), (1, 3)),
    places(P::Shelf, (0, 2), (1, 4)),
    places(P::Desk, (0, 1), (0, 1)),
    places(P::Safe, (0, 1), (0, 1)),
    places(P::Bin, (0, 1), (0, 1)),
];

/// The receptacles of a room.
pub(super) fn receptacles(room: Room) -> &'static [Places] {
    match room {
        Room::Kitchen => &KITCHEN,
        Room::Bedroom => &BEDROOM,
        Room::Bathroom => &BATHROOM,
        Room::Lounge => &LOUNGE,
    }
}

/// A thing and the kinds of receptacles that it usually is in, of which a room may lack some.
pub(super) type Usual = (ThingKind, &'static [PlaceKind]);

static KITCHEN_THINGS: [Usual; 16] = [
    (T::Apple, &[P::Table, P::Counter, P::Fridge]),
    (T::Potato, &[P::Sink, P::Counter, P::Fridge]),
    (T::Tomato, &[P::Table, P::Counter, P::Fridge]),
    (T::Egg, &[P::Fridge, P::Counter, P::Sink]),
    (T::Loaf, &[P::Counter, P::Table, P::Cupboard]),
    (T::Lettuce, &[P::Fridge, P::Counter, P::Sink]),
    (T::Mug, &[P::Cupboard, P::Counter, P::Shelf]),
    (T::Cup, &[P::Cupboard, P::Shelf, P::Microwave]),
    (T::Plate, &[P::Cupboard, P::Table, P::Shelf]),
    (T::Bowl, &[P::Cupboard, P::Table, P::Microwave]),
    (T::Pan, &[P::Stove, P::Counter, P::Sink]),
    (T::Pot, &[P::Stove, P::Shelf, P::Sink]),
    (T::Knife, &[P::Drawer, P::Counter, P::Table]),
    (T::Fork, &[P::Drawer, P::Sink, P::Table]),
    (T::Spoon, &[P::Drawer, P::Sink, P::Counter]),
    (T::Bottle, &[P::Fridge, P::Shelf, P::Counter]),
];
static BEDROOM_THINGS: [Usual; 12] = [
    (T::Book, &[P::Desk, P::Shelf, P::Bed]),
    (T::Pen, &[P::Desk, P::Drawer, P::Nightstand]),
    (T::Pencil, &[P::Desk, P::Drawer, P::Shelf]),
    (T::Phone, &[P::Bed, P::Nightstand, P::Desk]),
    (T::Watch, &[P::Nightstand, P::Drawer, P::Safe]),
    (T::Pillow, &[P::Bed, P::Armchair, P::Wardrobe]),
    (T::Key, &[P::Drawer, P::Nightstand, P::Safe]),
    (T::Laptop, &[P::Desk, P::Bed, P::Armchair]),
    (T::Disc, &[P::Shelf, P::Drawer, P::Desk]),
    (T::Clock, &[P::Nightstand, P::Shelf, P::Desk]),
    (T::Card, &[P::Desk, P::Drawer, P::Safe]),
    (T::Box, &[P::Wardrobe, P::Shelf, P::Bed]),
];
static BATHROOM_THINGS: [Usual; 8] = [
    (T::Brush, &[P::Sink, P::Cupboard, P::Drawer]),
    (T::Towel, &[P::Rack, P::Stool, P::Bath]),
    (T::Cloth, &[P::Bath, P::Rack, P::Cupboard]),
    (T::Sponge, &[P::Bath, P::Sink, P::Cupboard]),
    (T::Bottle, &[P::Shelf, P::Cupboard, P::Bath]),
    (T::Candle, &[P::Shelf, P::Counter, P::Stool]),
    (T::Razor, &[P::Sink, P::Drawer, P::Shelf]),
    (T::Cup, &[P::Sink, P::Counter, P::Shelf]),
];
static LOUNGE_THINGS: [Usual; 12] = [
    (T::Remote, &[P::Sofa, P::Table, P::Armchair]),
    (T::Magazine, &[P::Table, P::Sofa, P::Shelf]),
    (T::Vase, &[P::Table, P::Shelf, P::Cabinet]),
    (T::Box, &[P::Cabinet, P::Shelf, P::Armchair]),
    (T::Cushion, &[P::Sofa, P::Armchair, P::Cabinet]),
    (T::Statue, &[P::Shelf, P::Table, P::Cabinet]),
    (T::Card, &[P::Desk, P::Drawer, P::Safe]),
    (T::Key, &[P::Drawer, P::Table, P::Safe]),
    (T::Laptop, &[P::Desk, P::Sofa, P::Table]),
    (T::Phone, &[P::Table, P::Sofa, P::Armchair]),
    (T::Tray, &[P::Table, P::Cabinet, P::Shelf]),
    (T::Candle, &[P::Table, P::Shelf, P::Drawer]),
];

/// The things of a room.
pub(super) fn things(room: Room) -> &'static [Usual] {
    match room {
        Room::Kitchen => &KITCHEN_THINGS,
        Room::Bedroom => &BEDROOM_THINGS,
        Room::Bathroom => &BATHROOM_THINGS,
        Room::Lounge => &LOUNGE_THINGS,
    }
}

/// The kinds of receptacles that a thing usually is in, in this room.
pub(super) fn usual_places(room: Room, thing: ThingKind) -> &'static [PlaceKind] {
    things(room).iter().find(|(kind, _)| *kind == thing).map_or(&[], |(_, places)| places)
}

/// The rooms in which a goal of this kind is set.
pub(super) fn rooms(goal: GoalKind) -> &'static [Room] {
    match goal {
        GoalKind::Place | GoalKind::Two => Room::ALL,
        GoalKind::Light => &[Room::Bedroom, Room::Lounge],
        GoalKind::Clean => &[Room::Kitchen, Room::Bathroom],
        GoalKind::Heat | GoalKind::Cool => &[Room::Kitchen],
    }
}

/// Whether a goal of this kind may be about this thing.
pub(super) fn suits(goal: GoalKind, thing: ThingKind) -> bool {
    let is_food = matches!(thing, T::Apple | T::Potato | T::Tomato | T::Egg | T::Loaf | T::Lettuce);
    let is_dish = matches!(thing, T::Mug | T::Cup | T::Plate | T::Bowl);
    let is_tool = matches!(thing, T::Pan | T::Pot | T::Knife | T::Fork | T::Spoon);
    match goal {
        GoalKind::Place | GoalKind::Light => true,
        GoalKind::Two => !matches!(thing, T::Laptop | T::Lettuce),
        GoalKind::Clean => {
            is_dish
                || is_tool
                || (is_food && thing != T::Loaf)
                || matches!(thing, T::Brush | T::Cloth | T::Sponge | T::Razor | T::Bottle)
        }
        GoalKind::Heat => (is_food && thing != T::Lettuce) || is_dish,
        GoalKind::Cool => is_food || is_dish || matches!(thing, T::Pan | T::Pot | T::Bottle),
    }
}
