//! One larger network whose nodes are the rows of a task, for rules that look at a row's
//! neighbours.
//!
//! Links are drawn one by one: an end with probability proportional to its liveliness, the
//! other end likewise, mostly from the same community (a degree-corrected block model; Karrer
//! and Newman, 2011, §II).

use crate::draws::{Draws, floor};
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

/// An undirected network without self links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeNetwork {
    /// Every node's community.
    pub communities: Vec<usize>,
    /// Every node's neighbours, in increasing order.
    pub neighbours: Vec<Vec<usize>>,
}

/// What someone computes for a node without knowing the task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Structure {
    /// Number of neighbours.
    pub degree: f64,
    /// Mean number of neighbours of the neighbours; 0 for a node without any.
    pub neighbours_degree: f64,
    /// Pairs of neighbours that are linked with each other.
    pub triangles: f64,
}

/// A network while its links are drawn.
struct Growing<'a> {
    network: NodeNetwork,
    members: Vec<Vec<usize>>,
    liveliness: &'a [f64],
}

impl NodeNetwork {
    /// Draws a network of `nodes` nodes with communities of similar size.
    pub fn drawn(nodes: usize, draws: &mut Draws) -> Self {
        let count = draws.whole(COMMUNITIES[0], COMMUNITIES[1]).min(nodes.div_ceil(8)).max(1);
        let homophily = draws.between(HOMOPHILY[0], HOMOPHILY[1]);
        let links = floor(draws.between(MEAN_DEGREE[0], MEAN_DEGREE[1]) * nodes as f64 / 2.0);
        let mut communities: Vec<usize> = (0..nodes).map(|node| node % count).collect();
        draws.shuffle(&mut communities);
        let liveliness: Vec<f64> =
            (0..nodes).map(|_| libm::exp(LIVELINESS * draws.normal())).collect();
        let mut members = vec![Vec::new(); count];
        for (node, community) in communities.iter().enumerate() {
            members[*community].push(node);
        }
        let network = Self { communities, neighbours: vec![Vec::new(); nodes] };
        let mut growing = Growing { network, members, liveliness: &liveliness };
        let mut placed = 0;
        // Quiet nodes first get what they need at least.
        for node in 0..nodes {
            for _ in 0..LEAST_NEIGHBOURS {
                if growing.network.neighbours[node].len() < LEAST_NEIGHBOURS {
                    placed += usize::from(growing.link(node, homophily, draws));
                }
            }
        }
        // A lively node may have linked with all of its own kind; others still find partners.
        for _ in 0..2 * links {
            if placed >= links {
                break;
            }
            let node = draws.weighted(&liveliness);
            placed += usize::from(growing.link(node, homophily, draws));
        }
        let mut network = growing.network;
        for near in &mut network.neighbours {
            near.sort_unstable();
        }
        network
    }

    /// The links as a CSV file `source,target`, each once, in random order and direction.
    /// `names` are the nodes' ids.
    pub fn csv(&self, names: &[String], draws: &mut Draws) -> String {
        let mut links: Vec<[usize; 2]> = Vec::new();
        for (node, near) in self.neighbours.iter().enumerate() {
            links.extend(near.iter().filter(|other| **other > node).map(|other| [node, *other]));
        }
        draws.shuffle(&mut links);
        let mut text = String::from("source,target\n");
        for mut link in links {
            draws.shuffle(&mut link);
            let _ = writeln!(text, "{},{}", names[link[0]], names[link[1]]);
        }
        text
    }

    /// For each node, the mean of a column over its neighbours; the column's mean where there
    /// are none.
    pub fn neighbour_mean(&self, column: &[f64]) -> Vec<f64> {
        let whole = column.iter().sum::<f64>() / column.len().max(1) as f64;
        let mean = |near: &Vec<usize>| {
            if near.is_empty() {
                return whole;
            }
            near.iter().map(|node| column[*node]).sum::<f64>() / near.len() as f64
        };
        self.neighbours.iter().map(mean).collect()
    }

    /// Every node's place in the network.
    pub fn structure(&self) -> Vec<Structure> {
        let degree = |node: usize| self.neighbours[node].len() as f64;
        let one = |(node, near): (usize, &Vec<usize>)| {
            let around: f64 = near.iter().map(|other| degree(*other)).sum();
            let closed = |other: &usize| {
                let far = &self.neighbours[*other];
                far.iter().filter(|third| near.binary_search(third).is_ok()).count()
            };
            Structure {
                degree: degree(node),
                neighbours_degree: around / degree(node).max(1.0),
                // Both ends of a link between neighbours count it.
                triangles: near.iter().map(closed).sum::<usize>() as f64 / 2.0,
            }
        };
        self.neighbours.iter().enumerate().map(one).collect()
    }
}

impl Growing<'_> {
    /// Links `node` with another one; false if none was found.
    fn link(&mut self, node: usize, homophily: f64, draws: &mut Draws) -> bool {
        for _ in 0..ATTEMPTS {
            let home = self.network.communities[node];
            let community = if draws.chance(homophily) || self.members.len() == 1 {
                home
            } else {
                let other = draws.whole(0, self.members.len() - 2);
                other + usize::from(other >= home)
            };
            let members = &self.members[community];
            let weights: Vec<f64> = members.iter().map(|member| self.liveliness[*member]).collect();
            let other = members[draws.weighted(&weights)];
            let near = &mut self.network.neighbours;
            if other != node && !near[node].contains(&other) {
                near[node].push(other);
                near[other].push(node);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::moments;
    use sandbox::stream::Stream;

    fn network(seed: u64) -> NodeNetwork {
        NodeNetwork::drawn(400, &mut Draws::new(Stream::root(seed)))
    }

    #[test]
    fn links_are_mutual_and_enough() {
        for seed in 0..10 {
            let network = network(seed);
            for (node, near) in network.neighbours.iter().enumerate() {
                assert!(near.len() >= LEAST_NEIGHBOURS && near.is_sorted());
                assert!(near.windows(2).all(|pair| pair[0] < pair[1]) && !near.contains(&node));
                assert!(near.iter().all(|other| network.neighbours[*other].contains(&node)));
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
        let network = network(1);
        let community = &network.communities;
        let links = || {
            let all = network.neighbours.iter().enumerate();
            all.flat_map(|(node, near)| near.iter().map(move |other| (node, *other)))
        };
        let inside = links().filter(|(a, b)| community[*a] == community[*b]).count() as f64;
        let share = inside / links().count() as f64;
        assert!((0.55..0.9).contains(&share), "{share}");
    }

    #[test]
    fn networks_depend_on_the_draws_alone() {
        assert_eq!(network(2), network(2));
        assert_ne!(network(2), network(3));
    }

    #[test]
    fn the_file_holds_every_link_once() {
        let network = network(4);
        let names: Vec<String> = (0..400).map(|node| format!("n{node}")).collect();
        let text = network.csv(&names, &mut Draws::new(Stream::root(5)));
        let mut read = vec![Vec::<usize>::new(); 400];
        for line in text.lines().skip(1) {
            let (a, b) = line.split_once(',').unwrap();
            let [a, b] = [a, b].map(|name| name[1..].parse::<usize>().unwrap());
            read[a].push(b);
            read[b].push(a);
        }
        for near in &mut read {
            near.sort_unstable();
        }
        assert_eq!(read, network.neighbours);
    }

    #[test]
    fn means_and_structure_of_a_kite() {
        // A triangle 0-1-2 with a tail 2-3, and a node without links.
        let network = NodeNetwork {
            communities: vec![0; 5],
            neighbours: vec![vec![1, 2], vec![0, 2], vec![0, 1, 3], vec![2], vec![]],
        };
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
