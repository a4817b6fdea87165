//! The statistics, estimated from a file alone, by someone who knows what to look for: repeated
//! lines, self links and faint links are put aside first; what missing links do to each
//! statistic is allowed for at a typical strength.

use super::sheet::{LinkGraph, Sheet, common, degrees};
use crate::numeric::moments::moments;
use petgraph::graph::EdgeReference;
use petgraph::visit::EdgeRef as _;

/// Links that weigh less than this share of the median weight do not exist.
const FAINT: f64 = 0.2;
/// The share of links that is taken to be recorded: between clean files and badly kept ones.
const RECORDED: f64 = 0.966;

/// The estimates, in the order of the medium's statistics.
pub(super) fn of(sheet: &Sheet) -> Vec<f64> {
    let graph = sheet.graph(FAINT * sheet.middle());
    let degrees: Vec<f64> = degrees(&graph).into_iter().filter(|degree| *degree > 0.0).collect();
    let (mean, spread) = moments(&degrees);
    vec![
        mean / RECORDED,
        hubs(mean, spread),
        closure(&graph),
        pull(&graph),
        circles(&graph),
        kinship(&graph),
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
fn closure(graph: &LinkGraph<'_>) -> f64 {
    let closed = graph.edge_references().filter(|link| is_closed(graph, link)).count() as f64;
    closed / (graph.edge_count() as f64).max(1.0) / (RECORDED * RECORDED)
}

/// Whether a link is a side of a triangle.
fn is_closed(graph: &LinkGraph<'_>, link: &EdgeReference<'_, f64>) -> bool {
    common(graph, link.source(), link.target()).next().is_some()
}

/// Σ (t − s) / Σ |t − s| over the links, s and t being the degrees of source and target.
fn pull(graph: &LinkGraph<'_>) -> f64 {
    let degrees = degrees(graph);
    let rises = graph
        .edge_references()
        .map(|link| degrees[link.target().index()] - degrees[link.source().index()]);
    let whole: f64 = rises.clone().map(f64::abs).sum();
    if whole > 0.0 { rises.sum::<f64>() / whole } else { 0.0 }
}

/// The share of triangles in which every node has one link out to the other two.
fn circles(graph: &LinkGraph<'_>) -> f64 {
    let (mut round, mut all) = (0.0, 0.0);
    for link in graph.edge_references() {
        for third in common(graph, link.source(), link.target()) {
            all += 1.0;
            let onward = graph.contains_edge(link.target(), third);
            if onward && graph.contains_edge(third, link.source()) {
                round += 1.0;
            }
        }
    }
    // Without triangles, the middle.
    if all > 0.0 { round / all } else { 0.5 }
}

/// The share of links whose ends have the same letters in their names.
fn kinship(graph: &LinkGraph<'_>) -> f64 {
    let same = graph.edge_references().filter(|link| graph[link.source()] == graph[link.target()]);
    same.count() as f64 / (graph.edge_count() as f64).max(1.0)
}

/// Mean logarithm of the weights of links in triangles, less that of the other links. Some of
/// the others have lost their triangle with a missing link and are in truth of the first sort.
fn bond(graph: &LinkGraph<'_>) -> f64 {
    let mean = |closed: bool| {
        let own: Vec<f64> = graph
            .edge_references()
            .filter(|link| is_closed(graph, link) == closed)
            .map(|link| libm::log(*link.weight()))
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
