//! What a soundscape is of.

use super::place::Place;
use super::voice::Voice;
use crate::media::audio::wav::SOUNDSCAPE;
use crate::numeric::draws::{Draws, floor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Something that is heard again and again in a soundscape, by its name in stories.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each variant is the name of what is heard")]
pub enum Source {
    Bird,
    Frog,
    Whale,
    Bat,
    Cricket,
    Woodpecker,
    Owl,
    Dog,
    Cough,
    Footstep,
    Pump,
    Bearing,
    Drill,
    Alarm,
}

/// How a source sounds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manner {
    /// Usual pitch of its notes, in hertz.
    pub(super) pitch: f64,
    /// Seconds from one note of a call to the next.
    pub(super) period: f64,
    /// How long soundscapes of it are, at least and at most.
    seconds: [f64; 2],
    /// Where it is heard.
    pub(super) places: Vec<Place>,
    /// What its notes are made of.
    pub(super) voice: Voice,
}

impl Source {
    /// All sources, in declaration order.
    pub const ALL: [Self; 14] = [
        Self::Bird,
        Self::Frog,
        Self::Whale,
        Self::Bat,
        Self::Cricket,
        Self::Woodpecker,
        Self::Owl,
        Self::Dog,
        Self::Cough,
        Self::Footstep,
        Self::Pump,
        Self::Bearing,
        Self::Drill,
        Self::Alarm,
    ];

    /// Sources that only held-out tasks have, so that they hold what training has not.
    pub const HELD_OUT: [Self; 3] = [Self::Alarm, Self::Owl, Self::Pump];

    /// Draws how many samples all soundscapes of a task have.
    pub fn samples(self, draws: &mut Draws) -> usize {
        let [least, most] = self.manner().seconds;
        let units =
            draws.between(least, most) * f64::from(SOUNDSCAPE.rate) / SOUNDSCAPE.unit as f64;
        SOUNDSCAPE.unit * floor(units).clamp(*SOUNDSCAPE.units.start(), *SOUNDSCAPE.units.end())
    }

    /// How it sounds.
    pub(super) fn manner(self) -> &'static Manner {
        static MANNERS: LazyLock<BTreeMap<Source, Manner>> = LazyLock::new(|| {
            toml::from_str(include_str!("sources.toml")).expect("tests read the embedded sources")
        });
        MANNERS.get(&self).expect("a test looks up every source")
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::{MOST_CALLS, MOST_NOTES, NEEDED};
    use super::*;
    use tasks::stream::Stream;

    #[test]
    fn the_most_and_longest_calls_of_every_source_find_room() {
        for source in Source::ALL {
            let Manner { period, seconds, places, .. } = source.manner();
            assert!(!places.is_empty(), "{source:?}");
            // Of the intervals between calls, the shortest is 0.68 of the mean.
            let last = (MOST_NOTES - 0.1) * period;
            let shortest = 0.68 * (seconds[0] - 0.4 - last) / (MOST_CALLS - 1.0);
            let needed = (MOST_NOTES - 1.0 + NEEDED) * period;
            assert!(shortest >= needed, "{source:?}: {shortest:.3} {needed:.3}");
        }
    }

    #[test]
    fn soundscapes_last_five_to_ten_seconds() {
        let mut draws = Draws::new(Stream::root(1));
        for source in Source::ALL {
            let samples = source.samples(&mut draws);
            assert!(SOUNDSCAPE.lasts(samples), "{source:?}: {samples}");
            assert!((80_000..=160_000).contains(&samples), "{source:?}: {samples}");
        }
    }
}
