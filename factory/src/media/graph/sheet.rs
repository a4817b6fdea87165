//! The file: a CSV list of links, written and read back, and the graph that it describes.

use super::wiring::MOST_NODES;
use crate::media::MediumError;
use crate::numeric::moments::median;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const HEADER: &str = "source,target,weight";

/// One line of the file; nodes are numbered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) source: usize,
    pub(super) target: usize,
    pub(super) weight: f64,
}

/// The file as it is written: repeated lines, self links and all.
#[derive(Debug)]
pub(super) struct Sheet {
    /// For each node, in order of appearance, the letters of its name.
    pub(super) letters: Vec<String>,
    pub(super) lines: Vec<Line>,
}

/// A graph without self links and with each pair linked once. Nodes carry the letters of their
/// names, links their weights.
pub(super) type LinkGraph<'a> = DiGraph<&'a str, f64>;

/// The bytes of a file.
pub(super) fn written(names: &[String], lines: &[Line]) -> Vec<u8> {
    let mut text = String::with_capacity(16 * lines.len() + 32);
    text.push_str(HEADER);
    text.push('\n');
    for Line { source, target, weight } in lines {
        let _ = writeln!(text, "{},{},{weight:.2}", names[*source], names[*target]);
    }
    text.into_bytes()
}

impl Sheet {
    /// Parses a CSV file of links; fails if a line is malformed or there are no links.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, MediumError> {
        let wrong = |what: &str| MediumError(what.to_owned());
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))?;
        let mut rows = text.lines();
        if rows.next() != Some(HEADER) {
            return Err(wrong("its header is not `source,target,weight`"));
        }
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut sheet = Self { letters: Vec::new(), lines: Vec::new() };
        for row in rows {
            let bad = || MediumError(format!("`{row}` is not a link"));
            let fields: Vec<&str> = row.split(',').collect();
            let [source, target, weight] = fields[..] else { return Err(bad()) };
            let weight: f64 = weight.parse().map_err(|_| bad())?;
            let named = !source.is_empty() && !target.is_empty();
            if !named || !weight.is_finite() || weight <= 0.0 {
                return Err(bad());
            }
            let [source, target] = [source, target].map(|name| {
                let next = numbers.len();
                let number = *numbers.entry(name).or_insert(next);
                if number == next {
                    sheet.letters.push(name.chars().filter(char::is_ascii_alphabetic).collect());
                }
                number
            });
            if numbers.len() > MOST_NODES {
                return Err(MediumError(format!("it has more than {MOST_NODES} nodes")));
            }
            sheet.lines.push(Line { source, target, weight });
        }
        if sheet.lines.is_empty() { Err(wrong("it has no links")) } else { Ok(sheet) }
    }

    /// Number of nodes that have a link.
    pub(super) fn nodes(&self) -> usize {
        self.letters.len()
    }

    /// The median of the weights.
    pub(super) fn middle(&self) -> f64 {
        median(&self.lines.iter().map(|line| line.weight).collect::<Vec<_>>())
    }

    /// The graph of the links that weigh `least` or more; of lines that link the same pair, the
    /// first decides.
    pub(super) fn graph(&self, least: f64) -> LinkGraph<'_> {
        let mut graph = LinkGraph::with_capacity(self.nodes(), self.lines.len());
        for letters in &self.letters {
            graph.add_node(letters);
        }
        for Line { source, target, weight } in &self.lines {
            let (source, target) = (NodeIndex::new(*source), NodeIndex::new(*target));
            if source != target && *weight >= least && !linked(&graph, source, target) {
                graph.add_edge(source, target, *weight);
            }
        }
        graph
    }
}

/// Whether two nodes are linked, either way.
fn linked(graph: &LinkGraph<'_>, a: NodeIndex, b: NodeIndex) -> bool {
    graph.find_edge_undirected(a, b).is_some()
}

/// The nodes that are linked with both of two nodes.
pub(super) fn common(
    graph: &LinkGraph<'_>,
    a: NodeIndex,
    b: NodeIndex,
) -> impl Iterator<Item = NodeIndex> {
    graph.neighbors_undirected(a).filter(move |node| linked(graph, *node, b))
}

/// Every node's number of links.
pub(super) fn degrees(graph: &LinkGraph<'_>) -> Vec<f64> {
    let degree = |node| graph.neighbors_undirected(node).count() as f64;
    graph.node_indices().map(degree).collect()
}
