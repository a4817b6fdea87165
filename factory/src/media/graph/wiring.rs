//! Who is linked with whom: a graph with a wanted number of links, inequality of degrees and
//! number of triangles.
//!
//! The triangles are planted and share no links; every other link is placed where it closes
//! none. Neighbours are bits of a word, which makes "closes no triangle" a few operations.

use crate::numeric::draws::{Draws, floor};

/// Most nodes of a graph: neighbours are bits of a `u64`.
pub(super) const MOST_NODES: usize = 64;
/// No node is planned with fewer links: a lost link should seldom lose a node.
const LEAST_LINKS: usize = 2;
/// No node is planned with more links: its neighbours may not be linked with each other.
const MOST_LINKS: usize = 18;
/// Random changes tried to bring the degrees to the wanted inequality.
const TUNING_STEPS: usize = 500;
/// Attempts to place a triangle among nodes that still want links, and then anywhere.
const ATTEMPTS: usize = 40;

/// Undirected links between the nodes of a graph.
#[derive(Debug, Clone)]
pub(super) struct Wiring {
    /// Bit `j` of word `i` is set if `i` and `j` are linked.
    pub(super) neighbours: Vec<u64>,
    /// Triangles, no two of which share a side.
    pub(super) triangles: Vec<[usize; 3]>,
    /// The links outside triangles.
    pub(super) others: Vec<[usize; 2]>,
}

/// The positions of the set bits, from low to high.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lowest = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            lowest
        })
    })
}

/// A word with the lowest `count` bits set.
fn lowest(count: usize) -> u64 {
    if count >= MOST_NODES { u64::MAX } else { (1 << count) - 1 }
}

impl Wiring {
    /// A graph with `links` links, whose degrees have standard deviation `hubs` times their
    /// mean, and with `triangles` triangles; each as nearly as the others allow.
    pub(super) fn drawn(
        nodes: usize,
        links: usize,
        hubs: f64,
        triangles: usize,
        draws: &mut Draws,
    ) -> Self {
        let mut wanted = degrees(nodes, links, hubs, draws);
        let mut wiring = Self {
            neighbours: vec![0; nodes],
            triangles: Vec::with_capacity(triangles),
            others: Vec::with_capacity(links),
        };
        for _ in 0..triangles {
            let placed = (0..2 * ATTEMPTS)
                .find_map(|attempt| wiring.triangle(&wanted, attempt < ATTEMPTS, draws));
            let Some(triangle) = placed else { break };
            for (a, b) in sides(triangle) {
                wiring.link(a, b);
            }
            for node in triangle {
                wanted[node] = wanted[node].saturating_sub(2);
            }
            wiring.triangles.push(triangle);
        }
        let rest = links.saturating_sub(3 * wiring.triangles.len());
        wiring.fill(rest, &mut wanted, draws);
        wiring.tune(hubs, draws);
        wiring
    }

    /// Number of nodes, with or without links.
    pub(super) fn nodes(&self) -> usize {
        self.neighbours.len()
    }

    /// Every node's number of links.
    pub(super) fn degrees(&self) -> Vec<u32> {
        self.neighbours.iter().map(|mask| mask.count_ones()).collect()
    }

    /// All links, those of triangles first.
    pub(super) fn links(&self) -> impl Iterator<Item = (usize, usize)> {
        let closed = self.triangles.iter().flat_map(|triangle| sides(*triangle));
        closed.chain(self.others.iter().map(|[a, b]| (*a, *b)))
    }

    fn link(&mut self, a: usize, b: usize) {
        self.neighbours[a] |= 1 << b;
        self.neighbours[b] |= 1 << a;
    }

    /// The nodes that can be linked with `node` without closing a triangle.
    fn open(&self, node: usize) -> u64 {
        let near = self.neighbours[node];
        let blocked = bits(near).fold(near | 1 << node, |mask, far| mask | self.neighbours[far]);
        lowest(self.nodes()) & !blocked
    }

    /// Three nodes that can be linked with each other without closing another triangle; with
    /// `planned`, nodes that want two more links at least, busy ones more often.
    fn triangle(&self, wanted: &[usize], planned: bool, draws: &mut Draws) -> Option<[usize; 3]> {
        let weight = |node: usize| match wanted[node] {
            _ if !planned => 1,
            0 | 1 => 0,
            links => links,
        };
        let first = chosen(lowest(self.nodes()), weight, draws)?;
        let near = self.open(first);
        let second = chosen(near, weight, draws)?;
        let third = chosen(near & self.open(second), weight, draws)?;
        Some([first, second, third])
    }

    /// Moves ends of links outside triangles until the degrees have the wanted inequality, which
    /// the search for open nodes may have missed.
    fn tune(&mut self, hubs: f64, draws: &mut Draws) {
        let mut degrees: Vec<usize> =
            self.neighbours.iter().map(|mask| mask.count_ones() as usize).collect();
        let mut excess = excess(&degrees, hubs);
        if self.others.is_empty() {
            return;
        }
        for _ in 0..TUNING_STEPS {
            // Changes are even, so nothing can come closer.
            if excess.abs() <= 1.0 {
                break;
            }
            let index = draws.whole(0, self.others.len() - 1);
            let [mut kept, mut left] = self.others[index];
            if draws.chance(0.5) {
                (kept, left) = (left, kept);
            }
            self.neighbours[kept] &= !(1 << left);
            self.neighbours[left] &= !(1 << kept);
            let better = |to: usize| {
                (excess + moved(degrees[left], degrees[to])).abs() < excess.abs()
                    && degrees[left] > LEAST_LINKS
            };
            let taken = chosen(self.open(kept), |node| usize::from(better(node)), draws);
            if let Some(to) = taken {
                excess += moved(degrees[left], degrees[to]);
                degrees[left] -= 1;
                degrees[to] += 1;
                self.others[index] = [kept, to];
            }
            self.link(kept, taken.unwrap_or(left));
        }
    }

    /// Places `rest` links that close no triangle, first where nodes still want some.
    fn fill(&mut self, rest: usize, wanted: &mut [usize], draws: &mut Draws) {
        let mut tries = 4 * rest + 4 * self.nodes();
        while self.others.len() < rest && tries > 0 {
            tries -= 1;
            // Busy nodes first: they find partners only while there are many.
            let busiest = (0..self.nodes()).rev().max_by_key(|node| wanted[*node]).unwrap_or(0);
            let from = if wanted[busiest] > 0 { busiest } else { draws.whole(0, self.nodes() - 1) };
            let open = self.open(from);
            let partner =
                chosen(open, |node| wanted[node], draws).or_else(|| chosen(open, |_| 1, draws));
            let Some(to) = partner else {
                wanted[from] = 0;
                continue;
            };
            self.link(from, to);
            self.others.push([from, to]);
            for node in [from, to] {
                wanted[node] = wanted[node].saturating_sub(1);
            }
        }
    }
}

/// By how much Σd² exceeds what gives degrees the wanted inequality:
/// `hubs`² = n Σd² / (Σd)² − 1.
fn excess(degrees: &[usize], hubs: f64) -> f64 {
    let sum = degrees.iter().sum::<usize>() as f64;
    let squares = degrees.iter().map(|degree| degree * degree).sum::<usize>() as f64;
    squares - sum * sum / degrees.len() as f64 * (1.0 + hubs * hubs)
}

/// How Σd² changes when a node with `from` links gives one to a node with `to`.
fn moved(from: usize, to: usize) -> f64 {
    2.0 * (to as f64 - from as f64) + 2.0
}

/// The sides of a triangle.
pub(super) fn sides([a, b, c]: [usize; 3]) -> [(usize, usize); 3] {
    [(a, b), (b, c), (c, a)]
}

/// One of the nodes in `mask` with probability proportional to its weight.
fn chosen(mask: u64, weight: impl Fn(usize) -> usize, draws: &mut Draws) -> Option<usize> {
    let total: usize = bits(mask).map(&weight).sum();
    let mut left = draws.whole(1, total.max(1));
    if total == 0 {
        return None;
    }
    bits(mask).find(|node| {
        let own = weight(*node);
        let found = left <= own;
        left = left.saturating_sub(own);
        found
    })
}

/// Degrees that sum to twice the number of links, log-normal, with the wanted inequality.
fn degrees(nodes: usize, links: usize, hubs: f64, draws: &mut Draws) -> Vec<usize> {
    let spread = libm::log(1.0 + hubs * hubs).sqrt();
    let sizes: Vec<f64> = (0..nodes).map(|_| libm::exp(spread * draws.normal())).collect();
    let unit = 2.0 * links as f64 / sizes.iter().sum::<f64>();
    let mut degrees: Vec<usize> =
        sizes.iter().map(|size| floor(size * unit + 0.5).clamp(LEAST_LINKS, MOST_LINKS)).collect();
    let mut sum: usize = degrees.iter().sum();
    while sum != 2 * links {
        let node = draws.whole(0, nodes - 1);
        if sum < 2 * links && degrees[node] < MOST_LINKS {
            degrees[node] += 1;
            sum += 1;
        } else if sum > 2 * links && degrees[node] > LEAST_LINKS {
            degrees[node] -= 1;
            sum -= 1;
        } else if links < nodes || 2 * links > MOST_LINKS * nodes {
            // No such degrees exist; the links decide.
            break;
        }
    }
    let mut excess = excess(&degrees, hubs);
    for _ in 0..TUNING_STEPS {
        if excess.abs() <= 1.0 {
            break;
        }
        let (a, b) = (draws.whole(0, nodes - 1), draws.whole(0, nodes - 1));
        let change = moved(degrees[a], degrees[b]);
        let allowed = a != b && degrees[a] > LEAST_LINKS && degrees[b] < MOST_LINKS;
        if allowed && (excess + change).abs() < excess.abs() {
            degrees[a] -= 1;
            degrees[b] += 1;
            excess += change;
        }
    }
    degrees
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::stream::Stream;

    /// Triangles of the graph, counted by their sides.
    fn count(wiring: &Wiring) -> u32 {
        let common = |(a, b): (usize, usize)| wiring.neighbours[a] & wiring.neighbours[b];
        wiring.links().map(|link| common(link).count_ones()).sum::<u32>() / 3
    }

    #[test]
    fn links_and_triangles_are_as_ordered() {
        let mut draws = Draws::new(Stream::root(1));
        for (nodes, links, hubs, triangles) in
            [(32, 58, 0.3, 4), (40, 128, 0.75, 23), (36, 65, 0.75, 12), (32, 102, 0.3, 19)]
        {
            for _ in 0..20 {
                let wiring = Wiring::drawn(nodes, links, hubs, triangles, &mut draws);
                assert_eq!(wiring.links().count(), links);
                assert_eq!(wiring.degrees().iter().sum::<u32>() as usize, 2 * links);
                assert_eq!(count(&wiring) as usize, triangles);
            }
        }
    }

    #[test]
    fn planned_degrees_have_the_wanted_inequality() {
        let mut draws = Draws::new(Stream::root(2));
        for hubs in [0.3, 0.5, 0.7] {
            let degrees = degrees(36, 90, hubs, &mut draws);
            let values: Vec<f64> = degrees.iter().map(|d| *d as f64).collect();
            let (mean, spread) = crate::numeric::moments::moments(&values);
            assert_eq!(mean, 5.0);
            assert!((spread / mean - hubs).abs() < 0.01, "{hubs}: {}", spread / mean);
        }
    }

    #[test]
    fn degrees_keep_their_inequality_when_they_are_wired() {
        let mut draws = Draws::new(Stream::root(4));
        for (links, hubs) in [(60, 0.3), (60, 0.7), (90, 0.3), (90, 0.6)] {
            let wiring = Wiring::drawn(36, links, hubs, links / 8, &mut draws);
            let values: Vec<f64> = wiring.degrees().into_iter().map(f64::from).collect();
            let (mean, spread) = crate::numeric::moments::moments(&values);
            assert!((spread / mean - hubs).abs() < 0.04, "{links} {hubs}: {}", spread / mean);
        }
    }

    #[test]
    fn impossible_orders_end() {
        let mut draws = Draws::new(Stream::root(3));
        assert!(Wiring::drawn(10, 40, 0.5, 13, &mut draws).links().count() <= 40);
        assert!(Wiring::drawn(10, 4, 0.5, 1, &mut draws).links().count() <= 4);
    }
}
