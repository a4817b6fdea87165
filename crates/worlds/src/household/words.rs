//! The rooms, receptacles and things that there are, by their words.

use serde::{Deserialize, Serialize};

/// An enum whose variants are words of the environment.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each variant is the thing that its word names")]
        pub enum $name {
            $(#[serde(rename = $word)] $variant),*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            /// The one that the word names.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// A kind of room.
    Room {
        Kitchen = "kitchen", Bedroom = "bedroom", Bathroom = "bathroom", Lounge = "lounge",
    }
}

words! {
    /// A kind of receptacle.
    PlaceKind {
        Armchair = "armchair", Bath = "bath", Bed = "bed", Bin = "bin", Cabinet = "cabinet",
        Counter = "counter", Cupboard = "cupboard", Desk = "desk", Drawer = "drawer",
        Fridge = "fridge", Microwave = "microwave", Nightstand = "nightstand", Rack = "rack",
        Safe = "safe", Shelf = "shelf", Sink = "sink", Sofa = "sofa", Stool = "stool",
        Stove = "stove", Table = "table", Wardrobe = "wardrobe",
    }
}

words! {
    /// A kind of thing.
    ThingKind {
        Apple = "apple", Book = "book", Bottle = "bottle", Bowl = "bowl", Box = "box",
        Brush = "brush", Candle = "candle", Card = "card", Clock = "clock", Cloth = "cloth",
        Cup = "cup", Cushion = "cushion", Disc = "disc", Egg = "egg", Fork = "fork", Key = "key",
        Knife = "knife", Lamp = "lamp", Laptop = "laptop", Lettuce = "lettuce", Loaf = "loaf",
        Magazine = "magazine", Mug = "mug", Pan = "pan", Pen = "pen", Pencil = "pencil",
        Phone = "phone", Pillow = "pillow", Plate = "plate", Pot = "pot", Potato = "potato",
        Razor = "razor", Remote = "remote", Sponge = "sponge", Spoon = "spoon",
        Statue = "statue", Tomato = "tomato", Towel = "towel", Tray = "tray", Vase = "vase",
        Watch = "watch",
    }
}

impl PlaceKind {
    /// Whether it opens and closes, and hides what is in it while it is closed.
    pub fn closes(self) -> bool {
        matches!(
            self,
            Self::Cabinet
                | Self::Cupboard
                | Self::Drawer
                | Self::Fridge
                | Self::Microwave
                | Self::Safe
                | Self::Wardrobe
        )
    }

    /// `in` or `on`.
    pub fn preposition(self) -> &'static str {
        let holds = self.closes() || matches!(self, Self::Bath | Self::Bin | Self::Sink);
        if holds { "in" } else { "on" }
    }
}

impl ThingKind {
    /// More than one of it.
    pub fn plural(self) -> String {
        match self {
            Self::Knife => "knives".to_owned(),
            Self::Loaf => "loaves".to_owned(),
            Self::Box | Self::Brush | Self::Watch | Self::Potato | Self::Tomato => {
                format!("{}es", self.word())
            }
            _ => format!("{}s", self.word()),
        }
    }
}

/// `a` or `an`, as the word asks for.
pub(super) fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}
