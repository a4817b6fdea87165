//! The file: a CSV list of links, written and read back, and the graph that it describes.

use super::wiring::MOST_NODES;
use crate::media::MediumError;
use crate::numeric::moments::median;
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

/// A graph without self links and with each pair linked once, the first line deciding.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) lines: Vec<Line>,
    /// Bit `j` of word `i` is set if `i` and `j` are linked, in either direction.
    pub(super) neighbours: Vec<u64>,
    /// Bit `j` of word `i` is set if a link runs from `i` to `j`.
    pub(super) targets: Vec<u64>,
}

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
}

impl Graph {
    /// The graph of the links that weigh `least` or more.
    pub(super) fn of(sheet: &Sheet, least: f64) -> Self {
        let mut graph = Self {
            lines: Vec::with_capacity(sheet.lines.len()),
            neighbours: vec![0; sheet.nodes()],
            targets: vec![0; sheet.nodes()],
        };
        for line in &sheet.lines {
            let Line { source, target, weight } = *line;
            if source == target || weight < least || graph.linked(source, target) {
                continue;
            }
            graph.neighbours[source] |= 1 << target;
            graph.neighbours[target] |= 1 << source;
            graph.targets[source] |= 1 << target;
            graph.lines.push(*line);
        }
        graph
    }

    /// Whether two nodes are linked, either way.
    pub(super) fn linked(&self, a: usize, b: usize) -> bool {
        self.neighbours[a] >> b & 1 == 1
    }

    /// The nodes that are linked with both ends of a line.
    pub(super) fn common(&self, line: &Line) -> u64 {
        self.neighbours[line.source] & self.neighbours[line.target]
    }

    /// Every node's number of links.
    pub(super) fn degrees(&self) -> Vec<f64> {
        self.neighbours.iter().map(|mask| f64::from(mask.count_ones())).collect()
    }
}
