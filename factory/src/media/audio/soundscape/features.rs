//! What solvers compute who have not listened.

use super::hearing::{BINS, FRAME};
use crate::media::audio::level::{TINY, decibels, mean, squares};
use crate::media::audio::soundscape::calls::ranked;
use crate::numeric::moments::moments;
use ndarray::{Array2, Axis, s};

/// Parts of the soundscape whose levels are compared.
const PARTS: usize = 3;
/// Parts of the soundscape in each of which the quietest moment is looked for.
const MOMENTS: usize = 16;
/// Edges of the frequency bands, in bins.
const EDGES: [usize; 11] = [1, 3, 6, 10, 16, 24, 34, 46, 62, 84, BINS];
/// The first bin whose power counts as loudness.
const FIRST: usize = 2;

/// Levels of the whole and of its thirds, the loudest 16 ms of each, the peak, and the level of a
/// rather quiet moment.
pub(super) fn plain(samples: &[f64]) -> Vec<f64> {
    let blocks: Vec<f64> =
        samples.chunks_exact(FRAME).map(|block| squares(block) / FRAME as f64).collect();
    let thirds: Vec<&[f64]> = parts(blocks.len(), PARTS).map(|part| &blocks[part]).collect();
    let mut features = vec![decibels(mean(blocks.iter().copied()))];
    features.extend(thirds.iter().map(|third| decibels(mean(third.iter().copied()))));
    features.extend(thirds.iter().map(|third| decibels(largest(third))));
    features.push(peak(samples));
    let rank = blocks.len() * 2 / 5;
    features.push(decibels(ranked(blocks, rank)));
    features
}

/// Profile of the spectrum and its unrest, the course of its centre and of the level, how much of the
/// time is loud, and how quiet moments differ; from powers of shape `[frames, BINS]`.
pub(super) fn generic(samples: &[f64], spectrogram: &Array2<f64>) -> Vec<f64> {
    let frames = spectrogram.nrows();
    let bands: Vec<Vec<f64>> = EDGES
        .windows(2)
        .map(|edges| {
            let band = spectrogram.slice(s![.., edges[0]..edges[1]]);
            band.sum_axis(Axis(1)).into_iter().map(decibels).collect()
        })
        .collect();
    let averages: Vec<f64> = bands.iter().map(|band| mean(band.iter().copied())).collect();
    let center = mean(averages.iter().copied());
    let mut features: Vec<f64> = averages.iter().map(|average| average - center).collect();
    features.extend(bands.iter().step_by(2).map(|band| moments(band).1));

    let (mut totals, mut centers) = (Vec::new(), Vec::new());
    for part in parts(frames, PARTS) {
        let spectrum = spectrogram.slice(s![part, ..]).sum_axis(Axis(0));
        let total = spectrum.sum() + TINY;
        let moment: f64 = spectrum.iter().enumerate().map(|(bin, power)| bin as f64 * power).sum();
        centers.push(moment / total);
        totals.push(decibels(total));
    }
    features.extend(centers);
    features.extend(totals[1..].iter().map(|total| total - totals[0]));

    let levels: Vec<f64> = spectrogram
        .rows()
        .into_iter()
        .map(|frame| decibels(frame.iter().skip(FIRST).sum()))
        .collect();
    let tops: Vec<f64> = parts(frames, PARTS).map(|part| largest(&levels[part])).collect();
    features.extend(tops[1..].iter().map(|top| top - tops[0]));
    let rank = |numerator: usize, denominator: usize| {
        ranked(levels.clone(), frames * numerator / denominator)
    };
    let (middle, halfway) = (rank(1, 2), 0.5 * (rank(1, 4) + largest(&levels)));
    features.push(middle);
    features.push(rank(19, 20) - middle);
    let loud = levels.iter().filter(|level| **level > halfway).count();
    features.push(loud as f64 / frames as f64);
    let quietest: Vec<f64> = parts(frames, MOMENTS)
        .map(|part| levels[part].iter().copied().fold(f64::INFINITY, f64::min))
        .collect();
    features.push(moments(&quietest).1);
    let unrest = |band: &Vec<f64>| mean(band.windows(2).map(|pair| (pair[1] - pair[0]).abs()));
    features.push(mean(bands.iter().map(unrest)));
    features.push(peak(samples));
    features
}

/// So many parts of a list of this length, one after the other.
fn parts(length: usize, count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..count).map(move |part| part * length / count..(part + 1) * length / count)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The level of the largest sample, in decibels.
fn peak(samples: &[f64]) -> f64 {
    let size = samples.iter().fold(0.0, |peak: f64, sample| peak.max(sample.abs()));
    decibels(size * size)
}
