//! The field of a task, and the soundscapes recorded in it.

use super::place::{Background, Weather};
use super::voice::{Note, Voice};
use super::{RATE, Source};
use crate::media::Look;
use crate::media::audio::level::amplitude;
use crate::media::audio::site::Site;
use crate::numeric::draws::{Draws, floor};

/// The most calls of a soundscape, and the most notes of a call.
pub(super) const MOST_CALLS: f64 = 6.0;
pub(super) const MOST_NOTES: f64 = 5.0;
/// Periods from a call's last note to the next call at least: by the longer gap, calls are told
/// apart.
pub(super) const NEEDED: f64 = 2.1;
/// Seconds before the first call and after the last one, at least.
const MARGIN: f64 = 0.12;
/// The least share of a soundscape over which calls are spread, where there is room for less.
const SPREAD: f64 = 0.72;

/// What the soundscapes of a task have in common.
#[derive(Debug)]
pub(super) struct Field {
    /// Number of samples of each.
    count: usize,
    background: Background,
    voice: Voice,
    /// Pitch of the notes, halfway between the two callers.
    pitch: f64,
    /// Seconds from one note of a call to the next.
    period: f64,
    /// Where they are recorded.
    site: Site,
}

/// The statistics of one soundscape.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) weather: Weather,
    /// Level of the notes halfway through, in decibels of full scale.
    pub(super) loudness: f64,
    /// What it gains from begin to end, in decibels.
    pub(super) approach: f64,
    pub(super) calls: usize,
    /// Notes per call.
    pub(super) notes: usize,
    /// How many times, in octaves, the last interval between calls is as short as the first.
    pub(super) quickening: f64,
    /// Semitones from the first note of a call to the last.
    pub(super) slide: f64,
    /// Semitones between the two callers.
    pub(super) interval: f64,
}

impl Field {
    /// Draws the field of the task that owns `look`.
    pub(super) fn of(look: &Look<'_>) -> Self {
        let mut draws = Draws::new(look.stream.child("field"));
        let any = *draws.pick(&Source::ALL);
        let source = look.source.unwrap_or(any);
        let usual = source.samples(&mut draws);
        let manner = source.manner();
        let place = *draws.pick(&manner.places);
        Self {
            count: look.samples.unwrap_or(usual),
            background: Background::of(place, &mut draws),
            voice: manner.voice,
            pitch: manner.pitch * draws.between(0.95, 1.05),
            period: manner.period * draws.between(0.95, 1.0),
            site: Site::drawn(RATE, &mut draws),
        }
    }

    /// The samples of a soundscape.
    pub(super) fn record(&self, asked: Asked, look: &Look<'_>, draws: &mut Draws) -> Vec<f64> {
        let mut samples = self.background.heard(self.count, asked.weather, draws);
        let seconds = self.count as f64 / RATE;
        let starts = self.starts(asked, draws);
        let callers = callers(asked.calls, draws);
        // Notes of one soundscape are longer than those of another, and grow louder or fainter
        // within a call, so that their number does not follow from their energy.
        let stretch = libm::exp2(draws.between(-1.5, 0.19));
        let fade = draws.between(-3.0, 3.0);
        let last = (asked.notes - 1) as f64;
        for (start, caller) in starts.into_iter().zip(callers) {
            let middle = start + 0.5 * (last + 1.0) * self.period;
            let level = asked.loudness
                + asked.approach * (middle / seconds - 0.5)
                + draws.between(-0.3, 0.3);
            for note in 0..asked.notes {
                let way = note as f64 / last - 0.5;
                let semitones = asked.slide * way + asked.interval * caller;
                let sung = Note {
                    pitch: self.pitch * libm::exp2(semitones / 12.0),
                    rise: asked.slide / last,
                    period: self.period,
                    stretch,
                };
                let sung = self.voice.sing(sung, draws);
                let gain = amplitude(level + fade * way + draws.between(-0.5, 0.5));
                let begin = start + self.period * (note as f64 + draws.between(-0.05, 0.05));
                let samples = samples.iter_mut().skip(floor(begin * RATE));
                samples.zip(sung).for_each(|(sample, note)| *sample += gain * note);
            }
        }
        let level = amplitude(asked.weather.level);
        self.site.worsen(&mut samples, level, look.blemishes, draws);
        samples
    }

    /// When calls begin, in seconds.
    fn starts(&self, asked: Asked, draws: &mut Draws) -> Vec<f64> {
        let notes = asked.notes as f64;
        let room = self.count as f64 / RATE - 2.0 * MARGIN - (notes - 0.1) * self.period;
        let count = asked.calls - 1;
        let mut intervals: Vec<f64> = (0..count)
            .map(|index| {
                let way = index as f64 / (count - 1) as f64 - 0.5;
                libm::exp2(-asked.quickening * way) * draws.between(0.96, 1.04)
            })
            .collect();
        let sum: f64 = intervals.iter().sum();
        let shortest = intervals.iter().copied().fold(f64::INFINITY, f64::min) * room / sum;
        let needed = (notes - 1.0 + NEEDED) * self.period / shortest;
        let share = draws.between(needed.clamp(SPREAD, 1.0), 1.0);
        for interval in &mut intervals {
            *interval *= share * room / sum;
        }
        let mut start = MARGIN + draws.between(0.0, room * (1.0 - share));
        let mut starts = vec![start];
        for interval in intervals {
            start += interval;
            starts.push(start);
        }
        starts
    }
}

/// Which of two callers each call is of: half an interval below the middle or above it. Each is heard.
fn callers(calls: usize, draws: &mut Draws) -> Vec<f64> {
    let higher = draws.whole(1, calls - 1);
    let mut callers: Vec<f64> =
        (0..calls).map(|call| if call < higher { 0.5 } else { -0.5 }).collect();
    draws.shuffle(&mut callers);
    callers
}
