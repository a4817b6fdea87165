//! The statistics, estimated from a file alone, by someone who knows what to look for: repeated
//! lines, self links and faint links are put aside first; what missing links do to each
//! statistic is allowed for at a typical strength.

use super::sheet::{Graph, Sheet};
use super::wiring::bits;
use crate::numeric::moments::moments;

/// Links that weigh less than this share of the median weight do not exist.
const FAINT: f64 = 0.2;
/// The share of links that is taken to be recorded: between clean files and badly kept ones.
const RECORDED: f64 = 0.966;

/// The estimates, in the order of the medium's statistics.
pub(super) fn of(sheet: &Sheet) -> Vec<f64> {
    let graph = Graph::of(sheet, FAINT * sheet.middle());
    let degrees: Vec<f64> = graph.degrees().into_iter().filter(|degree| *degree > 0.0).collect();
    let (mean, spread) = moments(&degrees);
    vec![
        mean / RECORDED,
        hubs(mean, spread),
        closure(&graph),
        pull(&graph),
        circles(&graph),
        kinship(sheet, &graph),
        bond(&graph),
    ]
}

/// Each node loses links by chance, which adds `(1 − r) mean` to the variance of the recorded
/// degrees, r being the share of links recorded.
fn hubs(mean: f64, spread: f64) -> f64 {
    let variance = (spread * spread - (1.0 - RECORDED) * mean).max(0.0);
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}

/// A link of a triangle keeps both of its companions with probability r².
fn closure(graph: &Graph) -> f64 {
    let closed = graph.lines.iter().filter(|line| graph.common(line) != 0).count() as f64;
    closed / (graph.lines.len() as f64).max(1.0) / (RECORDED * RECORDED)
}

/// Σ (t − s) / Σ |t − s| over the links, s and t being the degrees of source and target.
fn pull(graph: &Graph) -> f64 {
    let degrees = graph.degrees();
    let rises = graph.lines.iter().map(|line| degrees[line.target] - degrees[line.source]);
    let whole: f64 = rises.clone().map(f64::abs).sum();
    if whole > 0.0 { rises.sum::<f64>() / whole } else { 0.0 }
}

/// The share of triangles in which every node has one link out to the other two.
fn circles(graph: &Graph) -> f64 {
    let (mut round, mut all) = (0.0, 0.0);
    for line in &graph.lines {
        for third in bits(graph.common(line)) {
            all += 1.0;
            let runs = |from: usize, to: usize| graph.targets[from] >> to & 1 == 1;
            if runs(line.target, third) && runs(third, line.source) {
                round += 1.0;
            }
        }
    }
    // Without triangles, the middle.
    if all > 0.0 { round / all } else { 0.5 }
}

/// The share of links whose ends have the same letters in their names.
fn kinship(sheet: &Sheet, graph: &Graph) -> f64 {
    let same = |a: usize, b: usize| sheet.letters[a] == sheet.letters[b];
    let inside = graph.lines.iter().filter(|line| same(line.source, line.target)).count();
    inside as f64 / (graph.lines.len() as f64).max(1.0)
}

/// Mean logarithm of the weights of links in triangles, less that of the other links. Some of
/// the others have lost their triangle with a missing link and are in truth of the first sort.
fn bond(graph: &Graph) -> f64 {
    let mean = |closed: bool| {
        let own: Vec<f64> = graph
            .lines
            .iter()
            .filter(|line| (graph.common(line) != 0) == closed)
            .map(|line| libm::log(line.weight))
            .collect();
        (moments(&own).0, own.len() as f64)
    };
    let ((inside, sides), (outside, others)) = (mean(true), mean(false));
    if sides == 0.0 || others == 0.0 {
        return 0.0;
    }
    let lost = sides * (1.0 / (RECORDED * RECORDED) - 1.0);
    (inside - outside) / (1.0 - (lost / others).min(0.5))
}
