//! What dossiers are about and what kind of papers they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The trade that a dossier comes from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Trade {
    /// A hospital ward.
    Ward,
    /// A factory or workshop.
    Plant,
    /// A hotel.
    Hotel,
    /// A farm.
    Farm,
    /// Servers and networks.
    Systems,
    /// Buses, trams and ferries.
    Transport,
    /// A school.
    School,
    /// An office that handles money.
    Office,
}

impl Trade {
    /// All trades, in declaration order.
    pub const ALL: [Self; 8] = [
        Self::Ward,
        Self::Plant,
        Self::Hotel,
        Self::Farm,
        Self::Systems,
        Self::Transport,
        Self::School,
        Self::Office,
    ];

    /// Whether what breaks down in it can be touched.
    pub(super) fn is_tangible(self) -> bool {
        self != Self::Systems
    }
}

/// The kind of papers that a dossier is: it decides the layout and the tone.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Register {
    /// A letter in numbered paragraphs.
    Letter,
    /// A log book: entries with a date and a time.
    Log,
    /// Minutes of meetings: numbered items with a heading.
    Minutes,
    /// An inspection report: numbered sections with a heading and points.
    Inspection,
    /// A forum thread: posts with an author, a date and a time.
    Forum,
    /// An interview: numbered questions and answers.
    Interview,
}

impl Register {
    /// All registers, in declaration order.
    pub const ALL: [Self; 6] =
        [Self::Letter, Self::Log, Self::Minutes, Self::Inspection, Self::Forum, Self::Interview];

    /// Whether each entry says when it was written; entries of the others are numbered.
    pub(super) fn is_dated(self) -> bool {
        matches!(self, Self::Log | Self::Forum)
    }

    /// Whether people are called by their surnames and nobody jokes.
    pub(super) fn is_formal(self) -> bool {
        matches!(self, Self::Minutes | Self::Inspection)
    }

    /// Whether people are called by their first names.
    pub(super) fn is_familiar(self) -> bool {
        matches!(self, Self::Log | Self::Forum | Self::Interview)
    }
}

/// What a story says of its dossiers.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Genre {
    /// The trade that they come from: `ward`, `plant`, `hotel`, `farm`, `systems`, `transport`,
    /// `school` or `office`.
    pub trade: Trade,
    /// The kind of papers that they are: `letter`, `log`, `minutes`, `inspection`, `forum` or
    /// `interview`.
    pub register: Register,
}
