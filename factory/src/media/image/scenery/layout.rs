//! Where the things of a scene are, how large, and how far away.

use super::figure::{Figure, Placed};
use crate::numeric::draws::Draws;

/// Pixels between the boxes around things, in shares of the picture's side.
const GAP: f64 = 0.025;
/// Rounds in which things move apart.
const ROUNDS: usize = 120;
/// Places to start from that are tried until no things overlap.
const STARTS: usize = 12;
/// How much larger the nearest thing is than the mean.
const NEAREST: f64 = 1.4;

/// A thing and its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Thing {
    /// From the figure's units to pixels.
    pub(super) placed: Placed,
    /// From 0 (near) to 1 (far).
    pub(super) depth: f64,
    /// Its turn, in radians clockwise.
    pub(super) turn: f64,
    /// The diameter of a disc of its area, in pixels.
    pub(super) diameter: f64,
    /// The middle of a box around it, in pixels.
    pub(super) middle: (f64, f64),
    /// Distances from there to the edges of the box, across and down.
    pub(super) half: (f64, f64),
}

/// What is asked of a layout.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) side: f64,
    pub(super) horizon: f64,
    pub(super) count: usize,
    /// Mean diameter of a disc of a thing's area, in shares of the side.
    pub(super) size: f64,
    /// Length over width.
    pub(super) ratio: f64,
    /// Turn in radians, clockwise.
    pub(super) turn: f64,
    /// Things that face right.
    pub(super) right: usize,
}

/// The things of a scene, the farthest first.
pub(super) fn things(figure: &Figure, wanted: Wanted, draws: &mut Draws) -> Vec<Thing> {
    let count = wanted.count;
    let mut depths = vec![0.0];
    depths.extend((1..count).map(|_| draws.between(0.25, 1.0)));
    let mut sizes: Vec<f64> = depths
        .iter()
        .enumerate()
        .map(|(i, d)| if i == 0 { NEAREST } else { 1.05 - 0.25 * d })
        .collect();
    // The nearest one keeps its lead; the others make up for it, so that the mean is right.
    let rest: f64 = sizes[1..].iter().sum();
    let factor = (count as f64 - NEAREST) / rest;
    sizes[1..].iter_mut().for_each(|size| *size *= factor);
    let mut right: Vec<bool> = (0..count).map(|index| index < wanted.right).collect();
    draws.shuffle(&mut right);

    let mut things: Vec<Thing> = (0..count)
        .map(|index| {
            let turn = wanted.turn + draws.between(-0.05, 0.05);
            let diameter = wanted.size * wanted.side * sizes[index];
            let area = std::f64::consts::PI / 4.0 * diameter * diameter;
            let ratio = wanted.ratio * draws.between(0.96, 1.04);
            let placed = figure.fitted(area, ratio, turn, !right[index]);
            let (half, middle) = boxed(figure, placed);
            Thing { placed, depth: depths[index], turn, diameter, middle, half }
        })
        .collect();
    let mut middles = Vec::new();
    let mut least = f64::INFINITY;
    for _ in 0..STARTS {
        let tried = apart(&things, wanted, draws);
        let overlap = overlap(&things, &tried);
        if overlap < least {
            (middles, least) = (tried, overlap);
        }
        if least <= 0.0 {
            break;
        }
    }
    for (thing, middle) in things.iter_mut().zip(middles) {
        thing.placed.shift.0 += middle.0 - thing.middle.0;
        thing.placed.shift.1 += middle.1 - thing.middle.1;
        thing.middle = middle;
    }
    things.sort_by(|one, other| other.depth.total_cmp(&one.depth));
    things
}

/// The box around a figure whose outline's middle is at the origin: half its sides, and its middle.
fn boxed(figure: &Figure, placed: Placed) -> ((f64, f64), (f64, f64)) {
    let [left, top, right, bottom] = figure.bounds;
    let corners = [(left, top), (right, top), (left, bottom), (right, bottom)];
    let corners = corners.map(|corner| placed.of(corner));
    let low = |values: [f64; 4]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = |values: [f64; 4]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (xs, ys) = (corners.map(|(x, _)| x), corners.map(|(_, y)| y));
    let half = ((high(xs) - low(xs)) / 2.0, (high(ys) - low(ys)) / 2.0);
    (half, (f64::midpoint(low(xs), high(xs)), f64::midpoint(low(ys), high(ys))))
}

/// The area on which boxes with these middles overlap, in square pixels.
fn overlap(things: &[Thing], middles: &[(f64, f64)]) -> f64 {
    let placed: Vec<_> = things.iter().map(|thing| thing.half).zip(middles).collect();
    let mut sum = 0.0;
    for (index, (a, one)) in placed.iter().enumerate() {
        for (b, other) in &placed[..index] {
            let (x, y) = (a.0 + b.0 - (one.0 - other.0).abs(), a.1 + b.1 - (one.1 - other.1).abs());
            sum += x.max(0.0) * y.max(0.0);
        }
    }
    sum
}

/// Middles of boxes that do not overlap: boxes that do are pushed apart until none is left, or for
/// a number of rounds.
fn apart(things: &[Thing], wanted: Wanted, draws: &mut Draws) -> Vec<(f64, f64)> {
    let Wanted { side, horizon, .. } = wanted;
    let gap = GAP * side;
    let mut middles: Vec<(f64, f64)> = things
        .iter()
        .map(|thing| {
            let down = horizon + (1.0 - horizon) * (0.72 - 0.5 * thing.depth);
            (draws.between(0.15, 0.85) * side, (down + draws.between(-0.2, 0.2)) * side)
        })
        .collect();
    let within = |thing: &Thing, (x, y): (f64, f64)| {
        let edge = |value: f64, half: f64, low: f64| {
            let (low, high) = (low + half + 2.0, side - half - 2.0);
            if low < high { value.clamp(low, high) } else { f64::midpoint(low, high) }
        };
        // Things stand on the ground, and may rise above the horizon.
        let feet = (horizon * side - thing.half.1).max(0.0);
        (edge(x, thing.half.0, 0.0), edge(y, thing.half.1, feet))
    };
    for _ in 0..ROUNDS {
        let mut moved = false;
        for one in 0..things.len() {
            middles[one] = within(&things[one], middles[one]);
            for other in 0..one {
                let (a, b) = (things[one].half, things[other].half);
                let (dx, dy) =
                    (middles[one].0 - middles[other].0, middles[one].1 - middles[other].1);
                let (over_x, over_y) = (a.0 + b.0 + gap - dx.abs(), a.1 + b.1 + gap - dy.abs());
                if over_x <= 0.0 || over_y <= 0.0 {
                    continue;
                }
                moved = true;
                let push = |over: f64, d: f64| 0.52 * over * if d < 0.0 { -1.0 } else { 1.0 };
                let (x, y) = if over_x < over_y {
                    (push(over_x, dx), 0.2 * push(over_y, dy) * draws.unit())
                } else {
                    (0.2 * push(over_x, dx) * draws.unit(), push(over_y, dy))
                };
                middles[one] = (middles[one].0 + x, middles[one].1 + y);
                middles[other] = (middles[other].0 - x, middles[other].1 - y);
            }
        }
        if !moved {
            break;
        }
    }
    things.iter().zip(middles).map(|(thing, middle)| within(thing, middle)).collect()
}
