//! Finding the notes of a soundscape, and the calls that they make.
//!
//! The loudest moments tell which pitches calls are made of. How strong these are over time, against
//! what is usual of each, is a curve whose peaks are the notes: wherever it is far above the
//! background, dips deeply on either side, and is not merely an echo.

use super::hearing::LOWEST;
use crate::media::audio::level::{TINY, decibels};
use ndarray::{Array2, ArrayView1, s};
use std::ops::Range;

/// The rank of a frame that stands for the quiet ones, as a share of all, and what of the mean
/// power of noise the power at this rank is.
const QUIET: (usize, f64) = (3, 0.405);
/// The rank from above of the frame that stands for the loudest ones.
const LOUDEST: usize = 8;
/// From which part of the way on from quiet to loud frames a frame is loud.
const LOUD: f64 = 0.4;
/// What every pitch counts at least, as a share of the one that counts most.
const LEAST: f64 = 0.03;
/// From which part of the way on from the background to the loudest a peak is a note, and how many
/// decibels it is above the background at least.
const RISE: (f64, f64) = (0.5, 4.0);
/// Decibels by which the curve dips between two notes.
const DIP: f64 = 5.0;
/// Frames either side in which a note is the highest point.
const NEAR: usize = 4;
/// Frames either side in which nothing is louder than a note by more than so many decibels: echoes
/// are weaker.
const ECHO: (usize, f64) = (12, 7.0);
/// How many times as long as usual the time to the next note is where a call ends.
const BREAK: f64 = 1.5;

/// The notes of a soundscape, by the frames in which they are loudest.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    /// Frames of the notes, ascending.
    pub(super) notes: Vec<usize>,
    /// Places in `notes` of each call's notes, in order.
    pub(super) calls: Vec<Range<usize>>,
}

impl Calls {
    /// Finds calls in powers of shape `[frames, bins]`.
    pub(super) fn found(spectrogram: &Array2<f64>) -> Self {
        Self::of(peaks(&strength(spectrogram)))
    }

    /// Divides notes where the time to the next one is long.
    fn of(notes: Vec<usize>) -> Self {
        let gaps: Vec<usize> = notes.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if gaps.is_empty() {
            let calls = notes.iter().map(|_| 0..1).collect();
            return Self { notes, calls };
        }
        let usual = BREAK * ranked(gaps.clone(), gaps.len() / 4) as f64;
        let mut calls = Vec::new();
        let mut start = 0;
        for (place, gap) in gaps.iter().enumerate() {
            if *gap as f64 > usual {
                calls.push(start..place + 1);
                start = place + 1;
            }
        }
        calls.push(start..notes.len());
        // Calls have several notes; a single one is a rustle.
        if calls.iter().any(|call| call.len() > 1) {
            calls.retain(|call| call.len() > 1);
        }
        let kept: Vec<usize> = calls.iter().flat_map(|call| notes[call.clone()].to_vec()).collect();
        let mut next = 0;
        for call in &mut calls {
            *call = next..next + call.len();
            next = call.end;
        }
        Self { notes: kept, calls }
    }
}

/// The value of this rank, counting from 0.
pub(super) fn ranked<T: Copy + PartialOrd>(mut values: Vec<T>, rank: usize) -> T {
    let order = |a: &T, b: &T| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal);
    *values.select_nth_unstable_by(rank, order).1
}

/// How strong the pitches of calls are in every frame against the background, in decibels.
fn strength(spectrogram: &Array2<f64>) -> Vec<f64> {
    let heard = spectrogram.slice(s![.., LOWEST..]);
    let (frames, bins) = heard.dim();
    let usual =
        |power: ArrayView1<'_, f64>| ranked(power.to_vec(), frames / QUIET.0) / QUIET.1 + TINY;
    let usual: Vec<f64> = heard.columns().into_iter().map(usual).collect();
    let mut relative = heard.to_owned();
    for mut frame in relative.rows_mut() {
        frame.iter_mut().zip(&usual).for_each(|(power, usual)| *power /= usual);
    }
    let levels: Vec<f64> =
        relative.rows().into_iter().map(|frame| decibels(frame.sum() / bins as f64)).collect();
    let quiet = ranked(levels.clone(), frames / 2);
    let loud = ranked(levels.clone(), frames.saturating_sub(LOUDEST));
    let least = quiet + LOUD * (loud - quiet);
    let (mut of_loud, mut of_all, mut count) = (vec![0.0; bins], vec![0.0; bins], 0.0);
    for (frame, level) in relative.rows().into_iter().zip(&levels) {
        for (sum, power) in of_all.iter_mut().zip(frame) {
            *sum += power;
        }
        if *level >= least {
            count += 1.0;
            of_loud.iter_mut().zip(frame).for_each(|(sum, power)| *sum += power);
        }
    }
    let mut weights: Vec<f64> = of_loud
        .iter()
        .zip(&of_all)
        .map(|(loud, all)| (loud / count - all / frames as f64).max(0.0).sqrt())
        .collect();
    let most = weights.iter().copied().fold(TINY, f64::max);
    for weight in &mut weights {
        *weight += LEAST * most;
    }
    let total: f64 = weights.iter().sum();
    let course: Vec<f64> = relative
        .rows()
        .into_iter()
        .map(|frame| frame.iter().zip(&weights).map(|(p, w)| p * w).sum::<f64>() / total)
        .collect();
    let at = |place: Option<usize>| place.and_then(|at| course.get(at)).copied().unwrap_or(0.0);
    (0..frames)
        .map(|here| {
            let sides = at(here.checked_sub(1)) + at(here.checked_add(1));
            decibels(0.25 * sides + 0.5 * course[here])
        })
        .collect()
}

/// The frames of notes on a curve in decibels.
fn peaks(curve: &[f64]) -> Vec<usize> {
    let base = ranked(curve.to_vec(), curve.len() / 4);
    let top = ranked(curve.to_vec(), curve.len().saturating_sub(LOUDEST));
    let least = base + (RISE.0 * (top - base)).max(RISE.1);
    let highest = |place: usize, reach: usize| {
        let end = (place + reach + 1).min(curve.len());
        curve[place.saturating_sub(reach)..end].iter().copied().fold(f64::MIN, f64::max)
    };
    let mut kept: Vec<usize> = Vec::new();
    for (place, level) in curve.iter().enumerate() {
        let stands_out = *level > least
            && *level >= highest(place, NEAR)
            && *level > highest(place, ECHO.0) - ECHO.1;
        if !stands_out {
            continue;
        }
        // Of two peaks without a dip between them, the higher one stays.
        let mut higher = true;
        while let Some(last) = kept.last() {
            let dip = curve[*last..=place].iter().copied().fold(f64::MAX, f64::min);
            if dip <= level.min(curve[*last]) - DIP {
                break;
            }
            if *level <= curve[*last] {
                higher = false;
                break;
            }
            kept.pop();
        }
        if higher {
            kept.push(place);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_divided_at_long_gaps() {
        let found = Calls::of(vec![10, 21, 60, 70, 81, 140, 151]);
        assert_eq!(found.calls, [0..2, 2..5, 5..7]);
        let rustle = Calls::of(vec![10, 21, 40, 60, 70, 81]);
        assert_eq!(rustle, Calls { notes: vec![10, 21, 60, 70, 81], calls: vec![0..2, 2..5] });
        assert_eq!(Calls::of(Vec::new()), Calls::default());
        assert_eq!(
            Calls::of(vec![4]),
            Calls { notes: vec![4], calls: std::iter::once(0..1).collect() }
        );
    }

    #[test]
    fn peaks_need_height_and_a_dip_and_are_no_echoes() {
        let mut curve = vec![0.0_f64; 200];
        let mut peak = |place: usize, height: f64| {
            for (off, level) in [(0, 0.0), (1, 3.0), (2, 9.0)] {
                curve[place - off] = curve[place - off].max(height - level);
                curve[place + off] = curve[place + off].max(height - level);
            }
        };
        // Two notes, an echo of the second, one note with two tips, and a rustle.
        for (place, height) in
            [(20, 20.0), (40, 22.0), (47, 12.0), (80, 20.0), (86, 19.0), (150, 6.0)]
        {
            peak(place, height);
        }
        curve[81..86].fill(17.0);
        assert_eq!(peaks(&curve), [20, 40, 80]);
        assert_eq!(peaks(&[0.0; 100]), [0; 0]);
    }
}
