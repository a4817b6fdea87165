//! Graphs: lists of links, drawn with a force layout; of the one network of all rows, a
//! neighbourhood.
//!
//! Nodes repel each other and links pull theirs together, the steps growing smaller
//! (Fruchterman and Reingold 1991). The start is a spiral in order of appearance, so the same
//! list gives the same drawing.

use super::GalleryError;
use super::rows::Rows;
use super::task::{GalleryTask, ItemColumn};
use crate::data::network::EDGES;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Graphs of a task.
const COUNT: usize = 3;
/// Largest number of nodes that are drawn of a graph.
const NODES: usize = 160;
/// Nodes drawn of the network of all rows.
const NEIGHBOURHOOD: usize = 60;
/// What stands in the place of a class that solvers are to find.
const ASKED: &str = "asked for";
/// Colours for kinds of nodes.
const KINDS: usize = 6;
/// Steps of the layout.
const STEPS: usize = 240;
/// Edge of the drawing.
const SIDE: f64 = 320.0;
/// Turn from one node of the spiral to the next: the golden angle.
const TURN: f64 = 2.399_963_229_728_653;

/// Nodes by number and links between them.
#[derive(Debug)]
struct DrawnGraph {
    names: Vec<String>,
    /// The kind of each node.
    kinds: Vec<String>,
    /// Whether links have a direction.
    directed: bool,
    /// Ends and weight of each link that is drawn.
    links: Vec<(usize, usize, f64)>,
}

/// The graphs of the example rows; fails if a file is unreadable.
pub(super) fn show(task: &GalleryTask, items: ItemColumn) -> Result<Markup, GalleryError> {
    let mut figures = Vec::new();
    for row in task.examples(COUNT) {
        let cell = &task.train.rows[row][items.column];
        let path = task.item_path(cell)?;
        let list = Rows::read(&path)?;
        if list.header.len() < 2 {
            let fault = "a list of links has two columns or more".to_owned();
            return Err(GalleryError::Unreadable { path, fault });
        }
        let graph = DrawnGraph::of(&list);
        let size = format!("{cell}: {} lines, {} nodes", list.rows.len(), graph.names.len());
        figures.push(graph.figure(&task.label(row), &size));
    }
    Ok(html! { div.cards.wide { @for figure in figures { (figure) } } })
}

/// The links between rows, where rows are nodes.
pub(super) fn network(task: &GalleryTask) -> Result<Option<Rows>, GalleryError> {
    if task.blueprint.network().is_none() {
        return Ok(None);
    }
    let path = task.dir.public().path().join(EDGES);
    let list = Rows::read(&path)?;
    if list.header.len() < 2 {
        let fault = "a list of links has two columns or more".to_owned();
        return Err(GalleryError::Unreadable { path, fault });
    }
    Ok(Some(list))
}

/// The surroundings of one training row in the network of all rows, coloured by class.
pub(super) fn neighbourhood(task: &GalleryTask) -> Result<Option<Markup>, GalleryError> {
    let Some(list) = network(task)? else { return Ok(None) };
    let mut near: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in &list.rows {
        near.entry(&row[0]).or_default().push(&row[1]);
        near.entry(&row[1]).or_default().push(&row[0]);
    }
    let classes: BTreeMap<&str, String> = task
        .train
        .rows
        .iter()
        .enumerate()
        .map(|(row, cells)| (cells[0].as_str(), task.label(row)))
        .collect();
    // Outwards from the first training row, nearest nodes first.
    let mut names: Vec<&str> =
        task.train.rows.first().map(|row| row[0].as_str()).into_iter().collect();
    let mut next = 0;
    while next < names.len() && names.len() < NEIGHBOURHOOD {
        for other in near.get(names[next]).into_iter().flatten() {
            if names.len() < NEIGHBOURHOOD && !names.contains(other) {
                names.push(other);
            }
        }
        next += 1;
    }
    let place = |name: &String| names.iter().position(|other| other == name);
    let link = |row: &Vec<String>| Some((place(&row[0])?, place(&row[1])?, 1.0));
    let kind = |name: &&str| classes.get(name).cloned().unwrap_or_else(|| ASKED.to_owned());
    let graph = DrawnGraph {
        kinds: names.iter().map(kind).collect(),
        directed: false,
        links: list.rows.iter().filter_map(link).collect(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let middle = graph.names.first().map_or("", String::as_str);
    let size = format!("{EDGES}: {} lines, {} nodes shown", list.rows.len(), graph.names.len());
    let figure = graph.figure(&format!("around {middle}"), &size);
    Ok(Some(html! { div.cards.wide { (figure) } }))
}

impl DrawnGraph {
    fn of(list: &Rows) -> Self {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut graph =
            Self { names: Vec::new(), kinds: Vec::new(), directed: true, links: Vec::new() };
        for row in &list.rows {
            let ends = [&row[0], &row[1]].map(|name| {
                let next = numbers.len();
                let number = *numbers.entry(name).or_insert(next);
                if number == next {
                    graph.names.push(name.clone());
                    graph.kinds.push(Self::kind(name));
                }
                number
            });
            let weight = row.get(2).and_then(|cell| cell.parse().ok()).unwrap_or(1.0);
            if ends[0] != ends[1] && ends[0].max(ends[1]) < NODES {
                graph.links.push((ends[0], ends[1], weight));
            }
        }
        graph
    }

    /// The letters of a node's name, which tell its kind if anything does.
    fn kind(name: &str) -> String {
        name.chars().filter(char::is_ascii_alphabetic).collect()
    }

    /// The drawing with its caption, its size, and how many nodes there are of each kind, if names
    /// tell kinds.
    fn figure(&self, caption: &str, size: &str) -> Markup {
        let mut counts: Vec<(&str, usize)> = self.counts().into_iter().collect();
        if !(2..=KINDS).contains(&counts.len()) {
            counts.clear();
        }
        html! {
            figure {
                (self.drawn(&format!("{caption}; {size}")))
                figcaption {
                    (caption) br;
                    small {
                        (size)
                        @for (index, (kind, count)) in counts.iter().enumerate() {
                            ", "
                            span.whole { span class=(format!("key c{index}")) {} (kind) " " (count) }
                        }
                    }
                }
            }
        }
    }

    fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for kind in &self.kinds {
            *counts.entry(kind.as_str()).or_default() += 1;
        }
        counts
    }

    fn drawn(&self, description: &str) -> Markup {
        let places = layout(self.names.len().min(NODES), &self.links);
        let kinds: Vec<&str> = self.counts().into_keys().collect();
        let heaviest = self.links.iter().map(|link| link.2).fold(1e-9, f64::max);
        let mut degrees = vec![0.0_f64; places.len()];
        for (a, b, _) in &self.links {
            degrees[*a] += 1.0;
            degrees[*b] += 1.0;
        }
        let line = |a: usize, b: usize| {
            let (from, to) = (places[a], places[b]);
            let tip = if self.directed { arrow(from, to) } else { String::new() };
            format!("M{:.1} {:.1}L{:.1} {:.1}{tip}", from.0, from.1, to.0, to.1)
        };
        let opacity = |weight: f64| 0.25 + 0.65 * (weight / heaviest).clamp(0.0, 1.0);
        let kind = |own: &String| {
            let kind = kinds.iter().position(|kind| kind == own).unwrap_or(0);
            format!("c{}", if kinds.len() > KINDS { 0 } else { kind })
        };
        let nodes = self.names.iter().zip(&self.kinds).zip(&places).zip(degrees);
        html! {
            svg.graph viewBox=(format!("0 0 {SIDE:.0} {SIDE:.0}")) role="img"
                aria-label=(description) {
                @for (a, b, weight) in &self.links {
                    path d=(line(*a, *b)) opacity=(format!("{:.2}", opacity(*weight))) {}
                }
                @for (((name, own), (x, y)), degree) in nodes {
                    circle class=(kind(own)) cx=(format!("{x:.1}")) cy=(format!("{y:.1}"))
                        r=(format!("{:.1}", 2.4 + 0.9 * degree.sqrt())) { title { (name) } }
                }
            }
        }
    }
}

/// An arrowhead on the way from one place to another, beyond the middle so that links in both
/// directions show two.
fn arrow(from: (f64, f64), to: (f64, f64)) -> String {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = (dx * dx + dy * dy).sqrt();
    if length < 12.0 {
        return String::new();
    }
    let (dx, dy) = (dx / length, dy / length);
    let tip = (from.0 + 0.66 * length * dx, from.1 + 0.66 * length * dy);
    let back = (tip.0 - 5.0 * dx, tip.1 - 5.0 * dy);
    format!(
        "M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}z",
        tip.0,
        tip.1,
        back.0 - 2.0 * dy,
        back.1 + 2.0 * dx,
        back.0 + 2.0 * dy,
        back.1 - 2.0 * dx
    )
}

/// A place for each of `count` nodes within the drawing.
fn layout(count: usize, links: &[(usize, usize, f64)]) -> Vec<(f64, f64)> {
    let ideal = 1.0 / (count.max(1) as f64).sqrt();
    let mut places: Vec<(f64, f64)> = (0..count)
        .map(|node| {
            let radius = 0.5 * ((node as f64 + 0.5) / count as f64).sqrt();
            let (sin, cos) = libm::sincos(TURN * node as f64);
            (radius * cos, radius * sin)
        })
        .collect();
    for step in 0..STEPS {
        let reach = 0.08 * (1.0 - step as f64 / STEPS as f64);
        let mut moves = vec![(0.0, 0.0); count];
        let mut push = |a: usize, b: usize, force: f64, (dx, dy): (f64, f64)| {
            moves[a].0 += dx * force;
            moves[a].1 += dy * force;
            moves[b].0 -= dx * force;
            moves[b].1 -= dy * force;
        };
        let apart = |a: usize, b: usize| {
            let (dx, dy) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
            ((dx, dy), (dx * dx + dy * dy).max(1e-6))
        };
        for a in 0..count {
            for b in 0..a {
                let (way, square) = apart(a, b);
                push(a, b, ideal * ideal / square, way);
            }
        }
        for (a, b, _) in links {
            let (way, square) = apart(*a, *b);
            push(*a, *b, -square.sqrt() / ideal, way);
        }
        for ((x, y), (dx, dy)) in places.iter_mut().zip(moves) {
            // A weak pull to the middle keeps pieces that no link holds within sight.
            let (dx, dy) = (dx - 0.6 * *x, dy - 0.6 * *y);
            let length = (dx * dx + dy * dy).sqrt().max(1e-9);
            *x += dx / length * length.min(reach);
            *y += dy / length * length.min(reach);
        }
    }
    let size = places.iter().map(|(x, y)| x.abs().max(y.abs())).fold(1e-9, f64::max);
    let scale = (SIDE / 2.0 - 12.0) / size;
    places.iter().map(|(x, y)| (SIDE / 2.0 + scale * x, SIDE / 2.0 + scale * y)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_nodes_come_to_lie_close_together() {
        // Two triangles with one link between them.
        let pairs = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)];
        let links: Vec<_> = pairs.iter().map(|(a, b)| (*a, *b, 1.0)).collect();
        let places = layout(6, &links);
        let apart = |a: usize, b: usize| {
            let (x, y) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
            (x * x + y * y).sqrt()
        };
        assert!(apart(0, 1) < apart(0, 4) && apart(4, 5) < apart(5, 1));
        assert!(places.iter().all(|(x, y)| (0.0..=SIDE).contains(x) && (0.0..=SIDE).contains(y)));
    }
}
