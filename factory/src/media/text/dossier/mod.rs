//! Dossiers: long papers of a trade that a person could have written.
//!
//! A dossier tells of things that break down and are mended, of faults, thanks, waits, payments, and
//! of a request that is answered, between sentences about the trade. The sentences are data
//! ([`bank`]), a few hundred per genre; a trade gives what happens, a register the layout. `values ->
//! story -> layout -> text -> reading`.

mod bank;
mod calendar;
mod genre;
mod keys;
mod layout;
mod phrasing;
mod reading;
mod story;
#[cfg(test)]
mod tests;
mod volume;

pub use genre::{Genre, Register, Trade};

use super::blemish::{BARE, DISTRACTORS, TYPOS, strength};
use crate::media::{
    Blemish, Format, ItemReader, Look, Medium, MediumError, Reach, Reading, Statistic,
};
use crate::numeric::draws::{Draws, floor};
use story::Values;
use volume::Volume;

/// Long papers of a trade.
#[derive(Debug)]
pub struct Dossier;

/// What [`Dossier`] renders, in order.
const STATISTICS: [Statistic; 9] = [
    Statistic {
        name: "anger",
        low: 0.0,
        high: 6.0,
        decimals: 0,
        reach: Reach::Plain,
        means: "how many remarks are in strong words",
    },
    Statistic {
        name: "staffing",
        low: 0.0,
        high: 5.0,
        decimals: 0,
        reach: Reach::Plain,
        means: "how many sentences complain that people are missing",
    },
    Statistic {
        name: "people",
        low: 3.0,
        high: 8.0,
        decimals: 0,
        reach: Reach::Generic,
        means: "how many different persons are named",
    },
    Statistic {
        name: "longest_wait",
        low: 15.0,
        high: 120.0,
        decimals: 0,
        reach: Reach::Generic,
        means: "the longest wait that is told of, in minutes",
    },
    Statistic {
        name: "open_matters",
        low: 0.0,
        high: 4.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "how many of the things that broke down do not work at the end",
    },
    Statistic {
        name: "responsibility",
        low: -4.0,
        high: 4.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "faults of one of two parties less those of the other",
    },
    Statistic {
        name: "turn",
        low: -4.0,
        high: 4.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "words of thanks in the second half less those in the first",
    },
    Statistic {
        name: "answer_days",
        low: 2.0,
        high: 40.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "days from a written request to its answer",
    },
    Statistic {
        name: "spent",
        low: 100.0,
        high: 1900.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "euros that were paid, offers and claims left out",
    },
];

const SHUFFLE: Blemish = Blemish {
    name: "shuffle",
    low: 0.3,
    high: 1.0,
    means: "in a share of the documents the entries stand in random order; their dates or numbers \
            are right",
};

impl Values {
    /// Values in the order of [`STATISTICS`], within their bounds; the least for those that are missing.
    fn of(values: &[f64]) -> Self {
        let value = |place: usize| {
            let Statistic { low, high, .. } = STATISTICS[place];
            values.get(place).map_or(low, |value| value.round().clamp(low, high))
        };
        let count = |place: usize| floor(value(place));
        let difference = |place: usize| {
            let low = STATISTICS[place].low;
            // Differences are small whole numbers.
            i32::try_from(floor(value(place) - low)).unwrap_or(0)
                - i32::try_from(floor(-low)).unwrap_or(0)
        };
        Self {
            anger: count(0),
            staffing: count(1),
            people: count(2),
            longest_wait: count(3),
            open_matters: count(4),
            responsibility: difference(5),
            turn: difference(6),
            answer_days: count(7),
            spent: count(8),
        }
    }
}

impl ItemReader for Dossier {
    fn blemishes(&self) -> &'static [Blemish] {
        &[TYPOS, DISTRACTORS, SHUFFLE, BARE]
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Text]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        reading::read(bytes)
    }

    fn python(&self) -> &'static str {
        concat!(
            "KEYS = \"\"\"\n",
            include_str!("banks/keys.txt"),
            "\"\"\"\n\nCUES = \"\"\"\n",
            include_str!("banks/cues.txt"),
            "\"\"\"\n\n",
            include_str!("dossier.py")
        )
    }
}

impl Medium for Dossier {
    fn statistics(&self) -> &'static [Statistic] {
        &STATISTICS
    }

    fn render(&self, values: &[f64], look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
        let values = Values::of(values);
        let volume = Volume::new(look);
        let words = volume.words(draws);
        let units = story::told(&values, &volume, look, words, draws);
        let shuffled = draws.chance(strength(look, SHUFFLE));
        layout::written(units, &values, &volume, look, shuffled, draws).into_bytes()
    }
}
