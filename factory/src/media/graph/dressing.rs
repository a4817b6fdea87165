//! What a wiring wears: directions, names that tell the kind of a node, weights, and blemishes.

use super::sheet::Line;
use super::wiring::{Wiring, sides};
use crate::numeric::draws::{Draws, floor};
use crate::numeric::moments::moments;

/// Times that all directions are reconsidered.
const DIRECTION_ROUNDS: usize = 4;
/// Pairs of nodes whose kinds are tried the other way round.
const KIND_STEPS: usize = 400;
/// Standard deviation of the logarithm of all weights of a graph.
const WEIGHT_SPREAD: f64 = 0.42;
/// Weights of links that exist; all have one digit before the point.
const WEIGHTS: [f64; 2] = [0.95, 9.95];
/// Weights of links that do not exist.
const FAINT: [f64; 2] = [0.04, 0.2];

/// A link with a direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrow {
    pub(super) source: usize,
    pub(super) target: usize,
    /// Whether it is a side of a triangle.
    pub(super) closed: bool,
}

/// How names look and how heavy links are in a task.
#[derive(Debug)]
pub(super) struct Dress {
    /// The letters of the two kinds.
    letters: [char; 2],
    style: Style,
    /// The weights' geometric mean.
    unit: f64,
}

/// Where a name has the letter of its kind.
#[derive(Debug, Clone, Copy)]
enum Style {
    Before,
    After,
    Dashed,
}

impl Dress {
    /// Draws a task's dress.
    pub(super) fn drawn(draws: &mut Draws) -> Self {
        let mut letters: Vec<char> = ('a'..='z').collect();
        draws.shuffle(&mut letters);
        let upper = draws.chance(0.5);
        let case = |letter: char| if upper { letter.to_ascii_uppercase() } else { letter };
        Self {
            letters: [case(letters[0]), case(letters[1])],
            style: *draws.pick(&[Style::Before, Style::After, Style::Dashed]),
            unit: draws.between(2.6, 3.4),
        }
    }

    /// Names for the nodes: half of the nodes of each kind, with the wanted share of links
    /// inside a kind.
    pub(super) fn names(&self, wiring: &Wiring, kinship: f64, draws: &mut Draws) -> Vec<String> {
        let first = kinds(wiring, kinship, draws);
        let mut numbers: Vec<usize> = (10..100).collect();
        draws.shuffle(&mut numbers);
        let name = |(node, number): (usize, usize)| {
            let letter = self.letters[usize::from(first >> node & 1 == 0)];
            match self.style {
                Style::Before => format!("{letter}{number}"),
                Style::After => format!("{number}{letter}"),
                Style::Dashed => format!("{letter}-{number}"),
            }
        };
        (0..wiring.nodes()).zip(numbers).map(name).collect()
    }

    /// Lines with weights: those of triangles are on average `bond` heavier than the others,
    /// on a logarithmic scale, while mean and spread of all of them stay the same.
    pub(super) fn weighted(&self, arrows: &[Arrow], bond: f64, draws: &mut Draws) -> Vec<Line> {
        let raw: Vec<f64> = arrows.iter().map(|_| draws.normal().clamp(-2.0, 2.0)).collect();
        let of = |closed: bool| -> Vec<f64> {
            let own = arrows.iter().zip(&raw).filter(|(arrow, _)| arrow.closed == closed);
            own.map(|(_, value)| *value).collect()
        };
        let (inside, outside) = (moments(&of(true)), moments(&of(false)));
        let share = of(true).len() as f64 / arrows.len().max(1) as f64;
        let within = WEIGHT_SPREAD * WEIGHT_SPREAD - share * (1.0 - share) * bond * bond;
        let spread = within.max(0.01).sqrt();
        let line = |(arrow, value): (&Arrow, &f64)| {
            let ((mean, own), level) = if arrow.closed {
                (inside, bond * (1.0 - share))
            } else {
                (outside, -bond * share)
            };
            let deviation = spread * (value - mean) / own.max(0.1);
            let weight = self.unit * libm::exp(level + deviation);
            let weight = weight.clamp(WEIGHTS[0], WEIGHTS[1]);
            Line { source: arrow.source, target: arrow.target, weight }
        };
        arrows.iter().zip(&raw).map(line).collect()
    }
}

/// Which nodes are of the first kind, as bits.
fn kinds(wiring: &Wiring, kinship: f64, draws: &mut Draws) -> u64 {
    let nodes = wiring.nodes();
    let mut order: Vec<usize> = (0..nodes).collect();
    draws.shuffle(&mut order);
    let (left, right) = order.split_at_mut(nodes / 2);
    let mut first = left.iter().fold(0_u64, |mask, node| mask | 1 << node);
    let same = |first: u64, (a, b): (usize, usize)| first >> a & 1 == first >> b & 1;
    let inside = wiring.links().filter(|link| same(first, *link)).count();
    let mut excess = inside as f64 - kinship * wiring.links().count() as f64;
    // Neighbours of the own kind, that many less of the other one.
    let balance = |first: u64, node: usize| {
        let near = wiring.neighbours[node];
        let own = if first >> node & 1 == 1 { near & first } else { near & !first };
        2.0 * f64::from(own.count_ones()) - f64::from(near.count_ones())
    };
    for _ in 0..KIND_STEPS {
        if excess.abs() <= 0.5 {
            break;
        }
        let (i, j) = (draws.whole(0, left.len() - 1), draws.whole(0, right.len() - 1));
        let (a, b) = (left[i], right[j]);
        // A link between the two stays between kinds, though each of them counts it as won.
        let linked = f64::from(u8::from(wiring.neighbours[a] >> b & 1 == 1));
        let change = -balance(first, a) - balance(first, b) - 2.0 * linked;
        if (excess + change).abs() < excess.abs() {
            excess += change;
            first ^= 1 << a | 1 << b;
            (left[i], right[j]) = (b, a);
        }
    }
    first
}

/// Directions: a share `circles` of the triangles runs in a circle, the others have a first, a
/// second and a last node; and links point to the busier end as `pull` says.
pub(super) fn directed(wiring: &Wiring, circles: f64, pull: f64, draws: &mut Draws) -> Vec<Arrow> {
    let degrees: Vec<f64> = wiring.degrees().into_iter().map(f64::from).collect();
    let rise = |from: usize, to: usize| degrees[to] - degrees[from];
    let mut triangles = wiring.triangles.clone();
    draws.shuffle(&mut triangles);
    for triangle in &mut triangles {
        draws.shuffle(triangle);
    }
    let turning = floor(circles * triangles.len() as f64 + 0.5).min(triangles.len());
    let (round, ordered) = triangles.split_at_mut(turning);
    let mut others = wiring.others.clone();
    for pair in &mut others {
        draws.shuffle(pair);
    }

    // The rises around a circle cancel; those of an ordered triangle sum to twice the rise
    // from its first to its last node.
    let whole: f64 = wiring.links().map(|(a, b)| rise(a, b).abs()).sum();
    let risen = ordered.iter().map(|[a, _, c]| 2.0 * rise(*a, *c)).sum::<f64>()
        + others.iter().map(|[a, b]| rise(*a, *b)).sum::<f64>();
    let mut excess = risen - pull * whole;
    for _ in 0..DIRECTION_ROUNDS {
        for pair in &mut others {
            let change = -2.0 * rise(pair[0], pair[1]);
            // A coin decides whether the link is looked at, so that no part of the graph takes
            // all the changes.
            if draws.chance(0.5) && (excess + change).abs() < excess.abs() {
                pair.swap(0, 1);
                excess += change;
            }
        }
        for triangle in &mut *ordered {
            let mut other = *triangle;
            draws.shuffle(&mut other);
            let change = 2.0 * (rise(other[0], other[2]) - rise(triangle[0], triangle[2]));
            if (excess + change).abs() < excess.abs() {
                *triangle = other;
                excess += change;
            }
        }
    }

    let arrow = |source, target, closed| Arrow { source, target, closed };
    let mut arrows = Vec::with_capacity(wiring.links().count());
    for triangle in round {
        arrows.extend(sides(*triangle).map(|(a, b)| arrow(a, b, true)));
    }
    for [a, b, c] in ordered {
        arrows.extend([arrow(*a, *b, true), arrow(*b, *c, true), arrow(*a, *c, true)]);
    }
    arrows.extend(others.iter().map(|[a, b]| arrow(*a, *b, false)));
    arrows
}

/// The lines in random order, spoilt by missing links, faint links, repeated lines and self
/// links of the given strengths, each a share of the number of links.
pub(super) fn blemished(
    mut lines: Vec<Line>,
    wiring: &Wiring,
    [missing, faint, repeated, own]: [f64; 4],
    draws: &mut Draws,
) -> Vec<Line> {
    let count = lines.len() as f64;
    let part = |share: f64| floor(share * count + 0.5);
    // At even distances, so that every sort of link (they stand together) loses its share.
    let first = draws.unit();
    let step = count / part(missing).max(1) as f64;
    for index in (0..part(missing)).rev() {
        lines.remove(floor((index as f64 + first) * step).min(lines.len() - 1));
    }
    let weights: Vec<f64> = lines.iter().map(|line| line.weight).collect();
    let last = wiring.nodes() - 1;
    let mut linked = wiring.neighbours.clone();
    for _ in 0..part(faint) {
        let (source, target) = (draws.whole(0, last), draws.whole(0, last));
        if source != target && linked[source] >> target & 1 == 0 {
            linked[source] |= 1 << target;
            linked[target] |= 1 << source;
            let weight = draws.between(FAINT[0], FAINT[1]);
            lines.push(Line { source, target, weight });
        }
    }
    for _ in 0..part(own) {
        let node = draws.whole(0, last);
        lines.push(Line { source: node, target: node, weight: *draws.pick(&weights) });
    }
    let copies: Vec<Line> = (0..part(repeated)).map(|_| *draws.pick(&lines)).collect();
    lines.extend(copies);
    draws.shuffle(&mut lines);
    lines
}
