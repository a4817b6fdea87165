//! One larger network whose nodes are the rows of a task, for rules that look at a row's
//! neighbours.
//!
//! Links are drawn one by one: an end with probability proportional to its liveliness, the
//! other end likewise, mostly from the same community (a degree-corrected block model; Karrer
//! and Newman, 2011, §II).

use crate::numeric::draws::{Draws, floor};
use petgraph::Directed;
use petgraph::csr::Csr;
use petgraph::graph::{NodeIndex, UnGraph};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Communities of a network, fewest and most.
const COMMUNITIES: [usize; 2] = [4, 8];
/// Mean number of neighbours, lowest and highest.
const MEAN_DEGREE: [f64; 2] = [6.0, 9.0];
/// Share of links that stay inside a community, lowest and highest.
const HOMOPHILY: [f64; 2] = [0.65, 0.85];
/// Standard deviation of the logarithm of a node's liveliness.
const LIVELINESS: f64 = 0.55;
/// Every node has this many neighbours at least, so that their mean says something.
const LEAST_NEIGHBOURS: usize = 2;
/// Draws of a partner before a node is left as it is.
const ATTEMPTS: usize = 20;

/// How a task's networks are knit, whatever their size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knit {
    /// Number of communities that the nodes belong to.
    pub communities: usize,
    /// Share of links that stay inside a community.
    pub homophily: f64,
    /// Mean number of neighbours.
    pub degree: f64,
}

/// An undirected network without self links.
#[derive(Debug, Clone)]
pub struct NodeNetwork {
    /// Each link in both directions; a node's neighbours stand in increasing order.
    links: Csr<(), (), Directed, usize>,
}

/// What someone computes for a node without knowing the task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Structure {
    /// Number of neighbours of the node.
    pub degree: f64,
    /// Mean number of neighbours of the neighbours; 0 for a node without any.
    pub neighbours_degree: f64,
    /// Pairs of neighbours that are linked with each other.
    pub triangles: f64,
}

/// Nodes to draw from, each with its chance.
struct Lottery {
    nodes: Vec<usize>,
    /// Sums of the chances up to each node.
    sums: Vec<f64>,
}

/// A network while its links are drawn.
struct Growing<'a> {
    graph: UnGraph<(), ()>,
    communities: &'a [usize],
    members: Vec<Lottery>,
    homophily: f64,
}

impl Knit {
    /// Draws how a task's networks are knit; two decimals.
    pub fn drawn(draws: &mut Draws) -> Self {
        let between = |draws: &mut Draws, [low, high]: [f64; 2]| {
            (draws.between(low, high) * 100.0).round() / 100.0
        };
        Self {
            communities: draws.whole(COMMUNITIES[0], COMMUNITIES[1]),
            homophily: between(draws, HOMOPHILY),
            degree: between(draws, MEAN_DEGREE),
        }
    }

    /// The community of each of `nodes` nodes; all communities are of similar size.
    pub fn communities(&self, nodes: usize, draws: &mut Draws) -> Vec<usize> {
        let mut communities: Vec<usize> =
            (0..nodes).map(|node| node % self.communities.max(1)).collect();
        draws.shuffle(&mut communities);
        communities
    }
}

impl NodeNetwork {
    /// Draws the links of nodes with these communities.
    pub fn drawn(knit: &Knit, communities: &[usize], draws: &mut Draws) -> Self {
        let nodes = communities.len();
        let links = floor(knit.degree * nodes as f64 / 2.0);
        let liveliness: Vec<f64> =
            (0..nodes).map(|_| libm::exp(LIVELINESS * draws.normal())).collect();
        let count = communities.iter().max().map_or(0, |most| most + 1);
        let lottery = |nodes: Vec<usize>| Lottery::of(nodes, &liveliness);
        let of = |community| (0..nodes).filter(|node| communities[*node] == community).collect();
        let mut growing = Growing {
            graph: UnGraph::with_capacity(nodes, links),
            communities,
            members: (0..count).map(|community| lottery(of(community))).collect(),
            homophily: knit.homophily,
        };
        for _ in 0..nodes {
            growing.graph.add_node(());
        }
        let all = lottery((0..nodes).collect());
        let mut placed = 0;
        // Quiet nodes first get what they need at least.
        for node in 0..nodes {
            for _ in 0..LEAST_NEIGHBOURS {
                if growing.graph.neighbors(NodeIndex::new(node)).count() < LEAST_NEIGHBOURS {
                    placed += usize::from(growing.link(node, draws));
                }
            }
        }
        // A lively node may have linked with all of its own kind; others still find partners.
        for _ in 0..2 * links {
            if placed >= links {
                break;
            }
            placed += usize::from(growing.link(all.draw(draws), draws));
        }
        let ends = growing.graph.raw_edges().iter().map(|link| [link.source(), link.target()]);
        let links: Vec<[usize; 2]> = ends.map(|ends| ends.map(NodeIndex::index)).collect();
        Self::from_links(nodes, &links)
    }

    /// The network of `nodes` nodes with these links; one that is there twice counts once.
    pub fn from_links(nodes: usize, links: &[[usize; 2]]) -> Self {
        let mut both: Vec<(usize, usize)> =
            links.iter().flat_map(|[a, b]| [(*a, *b), (*b, *a)]).collect();
        both.sort_unstable();
        both.dedup();
        let mut links = Csr::from_sorted_edges(&both).expect("the links were sorted");
        while links.node_count() < nodes {
            links.add_node(());
        }
        Self { links }
    }

    /// A node's neighbours, in increasing order.
    pub fn neighbours(&self, node: usize) -> &[usize] {
        self.links.neighbors_slice(node)
    }

    /// Every node's neighbours, node by node.
    pub fn all_neighbours(&self) -> impl ExactSizeIterator<Item = &[usize]> {
        (0..self.links.node_count()).map(|node| self.neighbours(node))
    }

    /// The links, each once, in random order and direction.
    pub fn links(&self, draws: &mut Draws) -> Vec<[usize; 2]> {
        let mut links: Vec<[usize; 2]> = Vec::new();
        for (node, near) in self.all_neighbours().enumerate() {
            links.extend(near.iter().filter(|other| **other > node).map(|other| [node, *other]));
        }
        draws.shuffle(&mut links);
        for link in &mut links {
            draws.shuffle(link);
        }
        links
    }

    /// For each node, the mean of a column over its neighbours; the column's mean where there
    /// are none.
    pub fn neighbour_mean(&self, column: &[f64]) -> Vec<f64> {
        let whole = column.iter().sum::<f64>() / column.len().max(1) as f64;
        let mean = |near: &[usize]| {
            if near.is_empty() {
                return whole;
            }
            near.iter().map(|node| column[*node]).sum::<f64>() / near.len() as f64
        };
        self.all_neighbours().map(mean).collect()
    }

    /// Every node's place in the network.
    pub fn structure(&self) -> Vec<Structure> {
        let degree = |node: usize| self.links.out_degree(node) as f64;
        let one = |(node, near): (usize, &[usize])| {
            let around: f64 = near.iter().map(|other| degree(*other)).sum();
            let closed = |other: &usize| {
                let far = self.neighbours(*other);
                far.iter().filter(|third| self.links.contains_edge(node, **third)).count()
            };
            Structure {
                degree: degree(node),
                neighbours_degree: around / degree(node).max(1.0),
                // Both ends of a link between neighbours count it.
                triangles: near.iter().map(closed).sum::<usize>() as f64 / 2.0,
            }
        };
        self.all_neighbours().enumerate().map(one).collect()
    }
}

impl Lottery {
    fn of(nodes: Vec<usize>, liveliness: &[f64]) -> Self {
        let mut sum = 0.0;
        let sums = nodes.iter().map(|node| {
            sum += liveliness[*node];
            sum
        });
        let sums = sums.collect();
        Self { nodes, sums }
    }

    fn draw(&self, draws: &mut Draws) -> usize {
        let ticket = draws.unit() * self.sums.last().copied().unwrap_or(0.0);
        let place = self.sums.partition_point(|sum| *sum <= ticket);
        self.nodes[place.min(self.nodes.len() - 1)]
    }
}

impl Growing<'_> {
    /// Links `node` with another one; false if none was found.
    fn link(&mut self, node: usize, draws: &mut Draws) -> bool {
        for _ in 0..ATTEMPTS {
            let home = self.communities[node];
            let community = if self.members.len() == 1 || draws.chance(self.homophily) {
                home
            } else {
                let other = draws.whole(0, self.members.len() - 2);
                other + usize::from(other >= home)
            };
            let other = self.members[community].draw(draws);
            let ends = (NodeIndex::new(node), NodeIndex::new(other));
            if other != node && !self.graph.contains_edge(ends.0, ends.1) {
                self.graph.add_edge(ends.0, ends.1, ());
                return true;
            }
        }
        false
    }
}

/// A list of links as a CSV file; `names` are the nodes' ids.
pub fn csv(links: &[[usize; 2]], names: &[&str]) -> Vec<u8> {
    let mut text = String::from("source,target\n");
    for [source, target] in links {
        let _ = writeln!(text, "{},{}", names[*source], names[*target]);
    }
    text.into_bytes()
}

/// Python that reads a task's network and computes per row what [`Structure`] holds, the shares
/// of classes among the neighbours that have one, and neighbours' means, for scripted agents.
pub const PYTHON: &str = include_str!("nodes.py");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::moments::moments;
    use tasks::stream::Stream;

    fn drawn(seed: u64) -> (Vec<usize>, NodeNetwork) {
        let mut draws = Draws::new(Stream::root(seed));
        let knit = Knit::drawn(&mut draws);
        let communities = knit.communities(400, &mut draws);
        let network = NodeNetwork::drawn(&knit, &communities, &mut draws);
        (communities, network)
    }

    fn network(seed: u64) -> NodeNetwork {
        drawn(seed).1
    }

    #[test]
    fn links_are_mutual_and_enough() {
        for seed in 0..10 {
            let network = network(seed);
            for (node, near) in network.all_neighbours().enumerate() {
                assert!(near.len() >= LEAST_NEIGHBOURS && near.is_sorted());
                assert!(near.windows(2).all(|pair| pair[0] < pair[1]) && !near.contains(&node));
                assert!(near.iter().all(|other| network.neighbours(*other).contains(&node)));
            }
            let degrees: Vec<f64> = network.structure().iter().map(|s| s.degree).collect();
            let (mean, spread) = moments(&degrees);
            assert!((5.9..=9.0).contains(&mean), "{mean}");
            // More than the √mean of links drawn without regard to the ends.
            assert!(spread > 1.2 * mean.sqrt(), "{spread} {mean}");
        }
    }

    #[test]
    fn most_links_stay_inside_a_community() {
        let (community, network) = drawn(1);
        let links = || {
            let all = network.all_neighbours().enumerate();
            all.flat_map(|(node, near)| near.iter().map(move |other| (node, *other)))
        };
        let inside = links().filter(|(a, b)| community[*a] == community[*b]).count() as f64;
        let share = inside / links().count() as f64;
        assert!((0.55..0.9).contains(&share), "{share}");
    }

    #[test]
    fn networks_depend_on_the_draws_alone() {
        assert!(network(2).all_neighbours().eq(network(2).all_neighbours()));
        assert!(network(2).all_neighbours().ne(network(3).all_neighbours()));
    }

    #[test]
    fn the_links_hold_the_network_and_nothing_else() {
        let network = network(4);
        let links = network.links(&mut Draws::new(Stream::root(5)));
        let again = NodeNetwork::from_links(400, &links);
        assert!(again.all_neighbours().eq(network.all_neighbours()));
        let halves = network.all_neighbours().map(<[usize]>::len).sum::<usize>();
        assert_eq!(links.len() * 2, halves);
        // Neither order nor direction follows the nodes' numbers.
        let rising = links.iter().filter(|[source, target]| source < target).count() as f64;
        assert!((rising / links.len() as f64 - 0.5).abs() < 0.05, "{rising}");
        assert!(!links.is_sorted_by_key(|[source, target]| source.min(target)));
    }

    #[test]
    fn the_file_is_a_table_of_ids() {
        let text = csv(&[[1, 0], [2, 1]], &["70", "50", "60"]);
        assert_eq!(String::from_utf8(text).unwrap(), "source,target\n50,70\n60,50\n");
    }

    #[test]
    fn means_and_structure_of_a_kite() {
        // A triangle 0-1-2 with a tail 2-3, and a node without links.
        let network = NodeNetwork::from_links(5, &[[0, 1], [2, 1], [0, 2], [2, 3], [1, 0]]);
        let means = network.neighbour_mean(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(means, [2.5, 2.0, 7.0 / 3.0, 3.0, 3.0]);
        let structure = network.structure();
        let one = |node: usize| {
            let Structure { degree, neighbours_degree, triangles } = structure[node];
            [degree, neighbours_degree, triangles]
        };
        assert_eq!(one(0), [2.0, 2.5, 1.0]);
        assert_eq!(one(2), [3.0, 5.0 / 3.0, 1.0]);
        assert_eq!(one(3), [1.0, 3.0, 0.0]);
        assert_eq!(one(4), [0.0; 3]);
    }
}
