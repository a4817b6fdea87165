//! Counting short pings above the tone.

use super::envelope::{smoothing_window, weighted};
use super::oscillator::{polar, size};
use rustfft::num_complex::Complex;
use std::sync::LazyLock;

/// Samples that are summed first.
const BLOCK: usize = 8;
/// The middle of the clicks' band is two fifths of the sampling rate, 3200 Hz.
const CARRIER: (usize, usize) = (2, 5);
/// Blocks either side in which a click must be the loudest moment: 30 ms.
const REACH: usize = 30;
/// How far above the floor a click rises, as a share of the loudest one: between their
/// differences among themselves and the first echo.
const RISE: f64 = 0.5;

/// What turns the band's middle to frequency 0.
static TURNS: LazyLock<[Complex<f64>; CARRIER.1]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        let turns = (CARRIER.0 * i % CARRIER.1) as f64 / CARRIER.1 as f64;
        polar(1.0, -std::f64::consts::TAU * turns)
    })
});

/// The number of moments at which the band above the tone flares up.
pub(super) fn counted(samples: &[f64]) -> usize {
    let mut turns = TURNS.iter().cycle();
    let blocks: Vec<Complex<f64>> = samples
        .chunks_exact(BLOCK)
        .map(|block| block.iter().zip(&mut turns).map(|(sample, turn)| turn * sample).sum())
        .collect();
    let window = smoothing_window();
    let level: Vec<f64> =
        blocks.windows(window.len()).map(|blocks| size(weighted(blocks, &window))).collect();

    // A quarter of the moments at least lie between clicks.
    let mut sorted = level.clone();
    let (_, floor, _) = sorted.select_nth_unstable_by(level.len() / 4, f64::total_cmp);
    let loudest = level.iter().copied().fold(0.0, f64::max);
    let threshold = *floor + RISE * (loudest - *floor);
    let alone = |index: usize, value: f64| {
        let end = (index + REACH + 1).min(level.len());
        level[index.saturating_sub(REACH)..end].iter().all(|other| *other <= value)
    };
    level
        .iter()
        .enumerate()
        .filter(|(index, value)| **value > threshold && alone(*index, **value))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_are_counted_and_silence_has_none() {
        assert_eq!(counted(&vec![0.0; 8000]), 0);
        let mut samples = vec![0.0; 8000];
        for start in [100, 700, 3000, 5000, 7800] {
            for (index, sample) in samples[start..].iter_mut().take(100).enumerate() {
                let turn = std::f64::consts::TAU * 0.41 * index as f64;
                *sample = (1.0 - index as f64 / 100.0) * libm::cos(turn);
            }
        }
        assert_eq!(counted(&samples), 5);
    }
}
