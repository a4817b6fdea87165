//! The levels of the partials against each other.

use super::envelope::Envelopes;
use super::level::{TINY, decibels, mean};
use super::tremolo::Fit;

/// Partials whose levels are compared: scenes have five at least.
const COMPARED: usize = 5;
/// Envelope values overlap, so this many share the information of one, with a margin.
const NOISE_FACTOR: f64 = 3.0;
/// The least share of a partial's power that is left when noise is taken out.
const LEAST: f64 = 0.1;

/// What the ear calls the colour of a tone, and its level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timbre {
    /// Decibels of full scale.
    pub loudness: f64,
    /// Fall of the partials' level, in decibels per octave.
    pub falloff: f64,
    /// Decibels between odd and even partials.
    pub hollowness: f64,
}

/// From aligned envelopes and their shared amplitude over time.
pub(super) fn measured(aligned: &Envelopes, level: &[f64]) -> Timbre {
    let powers: Vec<f64> = aligned
        .iter()
        .map(|envelope| {
            let count = envelope.len() as f64;
            let size = mean(envelope.iter().map(|value| value.re));
            let noise = mean(envelope.iter().map(|value| value.im * value.im));
            (size * size - NOISE_FACTOR * noise / count).max(LEAST * size * size)
        })
        .collect();

    // Means are of amplitudes, loudness is of powers: swings make the second larger.
    let average = mean(level.iter().copied());
    let square = mean(level.iter().map(|value| value.max(0.0) * value.max(0.0)));
    let swings = square / (average * average + TINY);
    let loudness = decibels(2.0 * swings * powers.iter().sum::<f64>());

    let compared: Vec<f64> = powers.iter().take(COMPARED).map(|power| decibels(*power)).collect();
    let octaves = centered((1..=COMPARED).map(|k| libm::log2(k as f64)).collect());
    let even = centered((1..=COMPARED).map(|k| f64::from(u8::from(k % 2 == 0))).collect());
    let fit = Fit::of(&compared, &octaves, &even);
    Timbre { loudness, falloff: -fit.first, hollowness: -fit.second }
}

fn centered(mut values: Vec<f64>) -> Vec<f64> {
    let mean = mean(values.iter().copied());
    for value in &mut values {
        *value -= mean;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::audio::level::amplitude;
    use rustfft::num_complex::Complex;

    #[test]
    fn levels_that_follow_the_model_give_it_back() {
        let partial = |k: usize| {
            let level =
                -20.0 - 6.0 * libm::log2(k as f64) - if k.is_multiple_of(2) { 4.0 } else { 0.0 };
            vec![Complex::from(amplitude(level)); 30]
        };
        let envelopes: Envelopes = (1..=6).map(partial).collect();
        let timbre = measured(&envelopes, &[0.3; 30]);
        assert!((timbre.falloff - 6.0).abs() < 1e-3, "{timbre:?}");
        assert!((timbre.hollowness - 4.0).abs() < 1e-3, "{timbre:?}");
    }
}
