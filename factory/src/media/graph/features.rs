//! Features of a graph that need no knowledge of the task: counts per line and per node for the
//! linear rung, and the usual measures of network analysis for the forest. Neither uses names, the
//! directions within triangles, or which links are heavy.

use super::sheet::{Graph, Sheet};
use super::wiring::bits;
use crate::numeric::moments::moments;

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
pub(super) fn generic(graph: &Graph) -> Vec<f64> {
    let nodes = graph.neighbours.len() as f64;
    let degrees = graph.degrees();
    let mut features = vec![graph.lines.len() as f64, nodes];
    features.extend(quantiles(&degrees));
    features.extend([ends(&degrees).1, moments(&degrees).1]);
    features.extend(flows(graph));
    features.extend(clustering(graph, &degrees));
    features.extend(core(graph));
    features.extend(paths(graph));
    let pairs = || graph.lines.iter().flat_map(|l| [(l.source, l.target), (l.target, l.source)]);
    let near: Vec<f64> = pairs().map(|(a, _)| degrees[a]).collect();
    let far: Vec<f64> = pairs().map(|(_, b)| degrees[b]).collect();
    features.push(correlation(&near, &far));
    features.extend(weights(graph));
    features.extend(labels(graph));
    features
}

/// Spread and maximum of the links received and sent per node, and how the two go together.
fn flows(graph: &Graph) -> [f64; 5] {
    let mut received = vec![0.0; graph.neighbours.len()];
    let mut sent = received.clone();
    for line in &graph.lines {
        sent[line.source] += 1.0;
        received[line.target] += 1.0;
    }
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
fn clustering(graph: &Graph, degrees: &[f64]) -> [f64; 2] {
    let (mut closed, mut open, mut local) = (0.0, 0.0, 0.0);
    for (near, degree) in graph.neighbours.iter().zip(degrees) {
        // Each link between neighbours is seen from both of its ends.
        let between: u32 =
            bits(*near).map(|other| (graph.neighbours[other] & near).count_ones()).sum();
        let wedges = degree * (degree - 1.0);
        closed += f64::from(between);
        open += wedges;
        if wedges > 0.0 {
            local += f64::from(between) / wedges;
        }
    }
    [ratio(closed, open), ratio(local, degrees.len() as f64)]
}

/// The largest core number, and the share of nodes in that core.
fn core(graph: &Graph) -> [f64; 2] {
    let nodes = graph.neighbours.len();
    let mut alive = super::wiring::lowest(nodes);
    let mut least = 0;
    loop {
        let inside = alive;
        least += 1;
        loop {
            let weak = bits(alive)
                .filter(|node| (graph.neighbours[*node] & alive).count_ones() < least)
                .fold(0, |mask, node| mask | 1 << node);
            if weak == 0 {
                break;
            }
            alive &= !weak;
        }
        if alive == 0 {
            let share = f64::from(inside.count_ones()) / nodes as f64;
            return [f64::from(least - 1), share];
        }
    }
}

/// Number of components, share of nodes in the largest, and mean and largest distance between
/// connected nodes.
fn paths(graph: &Graph) -> [f64; 4] {
    let nodes = graph.neighbours.len();
    let (mut components, mut largest) = (0.0, 0);
    let (mut sum, mut pairs, mut longest) = (0.0, 0.0, 0.0);
    for node in 0..nodes {
        let mut reached: u64 = 1 << node;
        let mut rim = reached;
        let mut distance = 0.0;
        loop {
            rim = bits(rim).fold(0, |mask, at| mask | graph.neighbours[at]) & !reached;
            if rim == 0 {
                break;
            }
            distance += 1.0;
            reached |= rim;
            sum += distance * f64::from(rim.count_ones());
            pairs += f64::from(rim.count_ones());
        }
        // A component is counted at its first node.
        components += f64::from(u8::from(reached.trailing_zeros() as usize == node));
        largest = largest.max(reached.count_ones());
        longest = f64::max(longest, distance);
    }
    [components, f64::from(largest) / nodes as f64, ratio(sum, pairs), longest]
}

/// Mean and spread of the weights, and the heaviest node's share of their sum.
fn weights(graph: &Graph) -> [f64; 3] {
    let weights: Vec<f64> = graph.lines.iter().map(|line| line.weight).collect();
    let mut strengths = vec![0.0; graph.neighbours.len()];
    for line in &graph.lines {
        strengths[line.source] += line.weight;
        strengths[line.target] += line.weight;
    }
    let (mean, spread) = moments(&weights);
    [mean, spread, ratio(ends(&strengths).1, weights.iter().sum())]
}

/// Shares of the nodes whose label after one round of Weisfeiler-Lehman refinement, starting
/// from degrees, falls in each bin.
fn labels(graph: &Graph) -> [f64; LABEL_BINS] {
    let nodes = graph.neighbours.len();
    let mut shares = [0.0; LABEL_BINS];
    let mixed = |near: u64| {
        let label = (u64::from(near.count_ones()) * 2_654_435_761) & LABEL_MASK;
        label ^ (label >> 15)
    };
    for near in &graph.neighbours {
        let around: u64 = bits(*near).map(|other| mixed(graph.neighbours[other])).sum();
        let label = (31 * mixed(*near) + around) & LABEL_MASK;
        let bin = (label >> 8) % LABEL_BINS as u64;
        shares[usize::try_from(bin).unwrap_or(0)] += 1.0 / nodes as f64;
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
