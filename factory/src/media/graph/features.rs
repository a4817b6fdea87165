//! Features of a graph that need no knowledge of the task: counts per line and per node for the
//! linear rung, and the usual measures of network analysis for the forest. Neither uses names, the
//! directions within triangles, or which links are heavy.

use super::sheet::{LinkGraph, Sheet, common, degrees};
use crate::numeric::moments::moments;
use petgraph::Direction;
use petgraph::algo::{connected_components, spfa};
use petgraph::graph::NodeIndex;
use petgraph::visit::{EdgeRef as _, UndirectedAdaptor};

/// Upper ends of the bins of degrees; the last bin is open.
const DEGREE_BINS: [f64; 4] = [2.0, 4.0, 6.0, 9.0];
/// Quantiles of the degrees.
const QUANTILES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];
/// Bins for the Weisfeiler-Lehman labels.
const LABEL_BINS: usize = 6;
/// Labels are 32-bit words.
const LABEL_MASK: u64 = 0xFFFF_FFFF;

/// Lines, nodes and lines per node as they are written; 13 numbers.
pub(super) fn plain(sheet: &Sheet) -> Vec<f64> {
    let mut degrees = vec![0.0; sheet.nodes()];
    for line in &sheet.lines {
        degrees[line.source] += 1.0;
        degrees[line.target] += 1.0;
    }
    let nodes = degrees.len() as f64;
    let (mean, spread) = moments(&degrees);
    let (least, most) = ends(&degrees);
    let mut features = vec![nodes, sheet.lines.len() as f64, mean, least, most, spread * spread];
    let mut shares = [0.0; DEGREE_BINS.len() + 1];
    for degree in degrees {
        shares[DEGREE_BINS.iter().filter(|end| degree > **end).count()] += 1.0 / nodes;
    }
    features.extend(shares);
    let weights: Vec<f64> = sheet.lines.iter().map(|line| line.weight).collect();
    let (mean, spread) = moments(&weights);
    features.extend([mean, spread]);
    features
}

/// Degrees, clustering, cores, components, paths, mixing of degrees, weights and
/// Weisfeiler-Lehman labels; 32 numbers.
pub(super) fn generic(graph: &LinkGraph<'_>) -> Vec<f64> {
    let degrees = degrees(graph);
    let mut features = vec![graph.edge_count() as f64, graph.node_count() as f64];
    features.extend(quantiles(&degrees));
    features.extend([ends(&degrees).1, moments(&degrees).1]);
    features.extend(flows(graph));
    features.extend(clustering(graph, &degrees));
    features.extend(core(graph));
    features.extend(paths(graph));
    let ends = graph.edge_references().map(|link| (link.source().index(), link.target().index()));
    let pairs = || ends.clone().flat_map(|(a, b)| [(a, b), (b, a)]);
    let near: Vec<f64> = pairs().map(|(a, _)| degrees[a]).collect();
    let far: Vec<f64> = pairs().map(|(_, b)| degrees[b]).collect();
    features.push(correlation(&near, &far));
    features.extend(weights(graph));
    features.extend(labels(graph));
    features
}

/// Spread and maximum of the links received and sent per node, and how the two go together.
fn flows(graph: &LinkGraph<'_>) -> [f64; 5] {
    let counts = |direction: Direction| -> Vec<f64> {
        let count = |node| graph.neighbors_directed(node, direction).count() as f64;
        graph.node_indices().map(count).collect()
    };
    let (received, sent) = (counts(Direction::Incoming), counts(Direction::Outgoing));
    let spread = |values: &[f64]| moments(values).1;
    [
        spread(&received),
        ends(&received).1,
        spread(&sent),
        ends(&sent).1,
        correlation(&received, &sent),
    ]
}

/// Transitivity and the mean local clustering coefficient.
fn clustering(graph: &LinkGraph<'_>, degrees: &[f64]) -> [f64; 2] {
    let (mut closed, mut open, mut local) = (0.0, 0.0, 0.0);
    for (node, degree) in graph.node_indices().zip(degrees) {
        // Each link between neighbours is seen from both of its ends.
        let near = graph.neighbors_undirected(node);
        let between = near.map(|other| common(graph, node, other).count()).sum::<usize>() as f64;
        let wedges = degree * (degree - 1.0);
        closed += between;
        open += wedges;
        if wedges > 0.0 {
            local += between / wedges;
        }
    }
    [ratio(closed, open), ratio(local, degrees.len() as f64)]
}

/// The largest core number, and the share of nodes in that core.
fn core(graph: &LinkGraph<'_>) -> [f64; 2] {
    let mut alive = vec![true; graph.node_count()];
    let mut least = 0;
    loop {
        let inside = alive.iter().filter(|alive| **alive).count();
        least += 1;
        loop {
            let is_weak = |node: &NodeIndex| {
                let near = graph.neighbors_undirected(*node);
                alive[node.index()] && near.filter(|other| alive[other.index()]).count() < least
            };
            let weak: Vec<NodeIndex> = graph.node_indices().filter(is_weak).collect();
            if weak.is_empty() {
                break;
            }
            for node in weak {
                alive[node.index()] = false;
            }
        }
        if !alive.contains(&true) {
            return [(least - 1) as f64, inside as f64 / alive.len() as f64];
        }
    }
}

/// Number of components, share of nodes in the largest, and mean and largest distance between
/// connected nodes.
fn paths(graph: &LinkGraph<'_>) -> [f64; 4] {
    let (mut largest, mut sum, mut pairs, mut longest) = (0, 0, 0, 0);
    for node in graph.node_indices() {
        let paths = spfa(UndirectedAdaptor(graph), node, |_| 1_u32);
        let distances = paths.expect("steps of one make no negative cycle").distances;
        let reached: Vec<u32> = distances.into_iter().filter(|d| *d < u32::MAX).collect();
        largest = largest.max(reached.len());
        // The node itself is at distance 0.
        pairs += reached.len() - 1;
        sum += reached.iter().sum::<u32>();
        longest = reached.into_iter().fold(longest, u32::max);
    }
    [
        connected_components(graph) as f64,
        largest as f64 / graph.node_count() as f64,
        ratio(f64::from(sum), pairs as f64),
        f64::from(longest),
    ]
}

/// Mean and spread of the weights, and the heaviest node's share of their sum.
fn weights(graph: &LinkGraph<'_>) -> [f64; 3] {
    let weights: Vec<f64> = graph.edge_weights().copied().collect();
    let mut strengths = vec![0.0; graph.node_count()];
    for link in graph.edge_references() {
        strengths[link.source().index()] += link.weight();
        strengths[link.target().index()] += link.weight();
    }
    let (mean, spread) = moments(&weights);
    [mean, spread, ratio(ends(&strengths).1, weights.iter().sum())]
}

/// Shares of the nodes whose label after one round of Weisfeiler-Lehman refinement, starting
/// from degrees, falls in each bin.
fn labels(graph: &LinkGraph<'_>) -> [f64; LABEL_BINS] {
    let mut shares = [0.0; LABEL_BINS];
    let mixed = |node: NodeIndex| {
        let degree = graph.neighbors_undirected(node).count() as u64;
        let label = (degree * 2_654_435_761) & LABEL_MASK;
        label ^ (label >> 15)
    };
    for node in graph.node_indices() {
        let around: u64 = graph.neighbors_undirected(node).map(mixed).sum();
        let label = (31 * mixed(node) + around) & LABEL_MASK;
        let bin = (label >> 8) % LABEL_BINS as u64;
        shares[usize::try_from(bin).unwrap_or(0)] += 1.0 / graph.node_count() as f64;
    }
    shares
}

/// Quantiles with linear interpolation between neighbours.
fn quantiles(values: &[f64]) -> [f64; QUANTILES.len()] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    QUANTILES.map(|share| {
        let place = share * (sorted.len() as f64 - 1.0);
        let low = crate::numeric::draws::floor(place);
        let high = (low + 1).min(sorted.len() - 1);
        sorted[low] + (sorted[high] - sorted[low]) * (place - low as f64)
    })
}

/// Least and greatest value.
fn ends(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// Pearson's correlation; 0 where one side is constant.
fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let ((a, spread_a), (b, spread_b)) = (moments(left), moments(right));
    let sum: f64 = left.iter().zip(right).map(|(x, y)| (x - a) * (y - b)).sum();
    if spread_a < 1e-9 || spread_b < 1e-9 {
        return 0.0;
    }
    sum / left.len() as f64 / (spread_a * spread_b)
}

/// `over / under`, or 0 where that is undefined.
fn ratio(over: f64, under: f64) -> f64 {
    if under > 0.0 { over / under } else { 0.0 }
}
