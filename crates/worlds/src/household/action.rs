//! The actions of the environment and their one written form.

use super::item::{HouseholdItem, Name};
use super::words::{PlaceKind, ThingKind};

/// An action. Numbers are positions of things and receptacles in the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// `go to cupboard 1`
    GoTo(usize),
    /// `open cupboard 1`
    Open(usize),
    /// `close cupboard 1`
    Close(usize),
    /// `take mug 1 from cupboard 1`
    Take(usize, usize),
    /// `move mug 1 to shelf 1`
    Move(usize, usize),
    /// `clean mug 1 with sink 1`
    Clean(usize, usize),
    /// `heat mug 1 with microwave 1`
    Heat(usize, usize),
    /// `cool mug 1 with fridge 1`
    Cool(usize, usize),
    /// `use lamp 1`
    Use(usize),
    /// `examine cupboard 1`
    ExaminePlace(usize),
    /// `examine mug 1`
    ExamineThing(usize),
    /// `inventory`
    Inventory,
    /// `look`
    Look,
}

impl Action {
    /// Every action that can be written in a room, legal or not.
    pub(super) fn all(item: &HouseholdItem) -> Vec<Self> {
        let (things, places) = (item.things.len(), item.places.len());
        let mut all = vec![Self::Look, Self::Inventory];
        for place in 0..places {
            all.extend([
                Self::GoTo(place),
                Self::Open(place),
                Self::Close(place),
                Self::ExaminePlace(place),
            ]);
        }
        for thing in 0..things {
            all.extend([Self::Use(thing), Self::ExamineThing(thing)]);
            for place in 0..places {
                all.extend([
                    Self::Take(thing, place),
                    Self::Move(thing, place),
                    Self::Clean(thing, place),
                    Self::Heat(thing, place),
                    Self::Cool(thing, place),
                ]);
            }
        }
        all
    }

    /// The action as it is written.
    pub(super) fn text(self, item: &HouseholdItem) -> String {
        let place = |place: usize| item.places[place].to_string();
        let thing = |thing: usize| item.things[thing].thing.to_string();
        match self {
            Self::GoTo(to) => format!("go to {}", place(to)),
            Self::Open(what) => format!("open {}", place(what)),
            Self::Close(what) => format!("close {}", place(what)),
            Self::Take(what, from) => format!("take {} from {}", thing(what), place(from)),
            Self::Move(what, to) => format!("move {} to {}", thing(what), place(to)),
            Self::Clean(what, with) => format!("clean {} with {}", thing(what), place(with)),
            Self::Heat(what, with) => format!("heat {} with {}", thing(what), place(with)),
            Self::Cool(what, with) => format!("cool {} with {}", thing(what), place(with)),
            Self::Use(what) => format!("use {}", thing(what)),
            Self::ExaminePlace(what) => format!("examine {}", place(what)),
            Self::ExamineThing(what) => format!("examine {}", thing(what)),
            Self::Inventory => "inventory".to_owned(),
            Self::Look => "look".to_owned(),
        }
    }

    /// Reads an action; `None` if it is in no form that the environment knows, or names what the
    /// room has not. Words are compared in lower case, spaces between them do not count.
    pub(super) fn parse(text: &str, item: &HouseholdItem) -> Option<Self> {
        let text = text.to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        let place = |kind: &str, number: &str| {
            let name = Name(PlaceKind::from_word(kind)?, written_number(number)?);
            item.places.iter().position(|place| *place == name)
        };
        let thing = |kind: &str, number: &str| {
            let name = Name(ThingKind::from_word(kind)?, written_number(number)?);
            item.things.iter().position(|thing| thing.thing == name)
        };
        Some(match words[..] {
            ["look"] => Self::Look,
            ["inventory"] => Self::Inventory,
            ["go", "to", kind, number] => Self::GoTo(place(kind, number)?),
            ["open", kind, number] => Self::Open(place(kind, number)?),
            ["close", kind, number] => Self::Close(place(kind, number)?),
            ["use", kind, number] => Self::Use(thing(kind, number)?),
            ["examine", kind, number] => match place(kind, number) {
                Some(place) => Self::ExaminePlace(place),
                None => Self::ExamineThing(thing(kind, number)?),
            },
            [verb, kind, number, joint, at, at_number] => {
                let (what, place) = (thing(kind, number)?, place(at, at_number)?);
                match (verb, joint) {
                    ("take", "from") => Self::Take(what, place),
                    ("move", "to") => Self::Move(what, place),
                    ("clean", "with") => Self::Clean(what, place),
                    ("heat", "with") => Self::Heat(what, place),
                    ("cool", "with") => Self::Cool(what, place),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}

/// The number of a name, in the one form in which names are written.
fn written_number(text: &str) -> Option<u8> {
    let number: u8 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}
