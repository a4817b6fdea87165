//! The drawing of a tree, or of a chain of turns from left to right.

use super::layout::{NodePlace, tree_layout};
use super::step::{NodeShape, NodeStanding, PageNode};
use maud::{Markup, html};
use tasks::metrics::Direction;
use web::chart::short;

/// Pixels between neighbours of a level, where validation scores stand below nodes and where not.
const ACROSS: f64 = 60.0;
const ACROSS_DENSE: f64 = 32.0;
/// Pixels from a level to the next.
const DOWN: f64 = 70.0;
/// Of these, until an edge bends.
const TRUNK: f64 = 32.0;
/// Room around the drawing.
const MARGIN: f64 = 34.0;
/// Trees of more nodes have no scores below them.
const MOST_LABELS: usize = 120;
/// Steps of the colour scale.
const SHADES: usize = 5;

/// A tree and what is marked in it.
#[derive(Debug)]
pub(super) struct TreeDrawing<'a> {
    pub(super) nodes: &'a [PageNode],
    /// The node whose submission counts.
    pub(super) chosen: Option<usize>,
    pub(super) direction: Direction,
    /// Turns, from left to right.
    pub(super) linear: bool,
}

/// Where the arrow keys lead from a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct NodeKin {
    pub(super) parent: Option<usize>,
    pub(super) child: Option<usize>,
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
}

/// The parent, the first child and the neighbours among siblings of each node; roots are siblings.
pub(super) fn kin(parents: &[Option<usize>]) -> Vec<NodeKin> {
    let mut kin = vec![NodeKin::default(); parents.len()];
    // The last sibling so far, of roots at the end.
    let mut last: Vec<Option<usize>> = vec![None; parents.len() + 1];
    for (node, parent) in parents.iter().enumerate() {
        kin[node].parent = *parent;
        let row = parent.unwrap_or(parents.len());
        match last[row].replace(node) {
            Some(sibling) => {
                kin[sibling].after = Some(node);
                kin[node].before = Some(sibling);
            }
            None => {
                if let Some(parent) = parent {
                    kin[*parent].child = Some(node);
                }
            }
        }
    }
    kin
}

/// The shade of each node with a validation score that counts, from 0 to 4 for the best, by its
/// rank among the different scores.
pub(super) fn shades(nodes: &[PageNode], direction: Direction) -> Vec<Option<usize>> {
    let gain = |node: &PageNode| {
        let metric = node.metric.filter(|_| node.standing == NodeStanding::Good)?;
        Some(direction.gain(metric))
    };
    let mut gains: Vec<f64> = nodes.iter().filter_map(gain).collect();
    gains.sort_by(f64::total_cmp);
    gains.dedup();
    let shade = |gain: f64| {
        let rank = gains.partition_point(|other| *other < gain);
        if gains.len() < 2 {
            SHADES - 1
        } else {
            (2 * rank * (SHADES - 1) + gains.len() - 1) / (2 * (gains.len() - 1))
        }
    };
    nodes.iter().map(|node| gain(node).map(shade)).collect()
}

impl TreeDrawing<'_> {
    /// The drawing. Each node is a link to its section.
    pub(super) fn svg(&self) -> Markup {
        let parents: Vec<Option<usize>> =
            self.nodes.iter().map(|node| node.parents.first().copied()).collect();
        let places = tree_layout(&parents);
        let labels = self.nodes.len() <= MOST_LABELS;
        let across = if labels { ACROSS } else { ACROSS_DENSE };
        let at = |place: NodePlace| {
            if self.linear {
                (MARGIN + place.level as f64 * across, MARGIN)
            } else {
                (MARGIN + place.across * across, MARGIN + place.level as f64 * DOWN)
            }
        };
        let points: Vec<(f64, f64)> = places.into_iter().map(at).collect();
        let width = points.iter().map(|point| point.0).fold(0.0, f64::max) + MARGIN;
        let height = points.iter().map(|point| point.1).fold(0.0, f64::max) + MARGIN + 6.0;
        let path = self.path();
        let kin = kin(&parents);
        let shades = shades(self.nodes, self.direction);
        let start = self.chosen.unwrap_or(0);
        html! {
            svg.tree width=(format!("{width:.0}")) height=(format!("{height:.0}"))
                viewBox=(format!("0 0 {width:.0} {height:.0}")) role="group"
                aria-label=(if self.linear { "turns" } else { "tree of nodes" }) {
                @for (child, node) in self.nodes.iter().enumerate() {
                    @for (index, parent) in node.parents.iter().enumerate() {
                        @let bold = index == 0 && path[child] && path[*parent];
                        path.edge.second[index > 0].chosen[bold] data-step=(child + 1)
                            d=(self.edge(points[*parent], points[child])) {}
                    }
                }
                @for (id, node) in self.nodes.iter().enumerate() {
                    @let (x, y) = points[id];
                    @let [up, down, left, right] = self.keys(kin[id]);
                    a href=(format!("#node-{id}")) data-node=(id) data-step=(id + 1)
                        data-up=[up] data-down=[down] data-left=[left] data-right=[right]
                        tabindex=(if id == start { "0" } else { "-1" })
                        transform=(format!("translate({x:.1} {y:.1})"))
                        class=(class(node, shades[id], path[id]))
                        aria-label=(self.label(id)) {
                        title { (self.label(id)) }
                        (shape(node.shape))
                        text y="4.5" { (node.letter) }
                        @if self.chosen == Some(id) { text.star x="16" y="-9" { "★" } }
                        @if labels && let Some(metric) = node.metric {
                            text.score y="28" { (short(metric)) }
                        }
                    }
                }
            }
        }
    }

    /// Whether each node is on the way to the chosen one; of turns, all up to it.
    fn path(&self) -> Vec<bool> {
        let mut path = vec![false; self.nodes.len()];
        let mut next = self.chosen;
        while let Some(node) = next {
            path[node] = true;
            next = self.nodes[node].parents.first().copied();
        }
        path
    }

    fn edge(&self, from: (f64, f64), to: (f64, f64)) -> String {
        let ((x1, y1), (x2, y2)) = (from, to);
        if self.linear {
            return format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}");
        }
        // Below the score of the parent and of its neighbours.
        let bend = y1 + TRUNK;
        let middle = f64::midpoint(bend, y2);
        format!(
            "M{x1:.1} {y1:.1}V{bend:.1}C{x1:.1} {middle:.1} {x2:.1} {middle:.1} {x2:.1} {y2:.1}"
        )
    }

    /// Where up, down, left and right lead.
    fn keys(&self, kin: NodeKin) -> [Option<usize>; 4] {
        if self.linear {
            [None, None, kin.parent, kin.child]
        } else {
            [kin.parent, kin.child, kin.before, kin.after]
        }
    }

    fn label(&self, id: usize) -> String {
        let node = &self.nodes[id];
        let what = if self.linear { "turn" } else { "node" };
        let metric = node.metric.map(|metric| format!(", validation score {}", short(metric)));
        let chosen = if self.chosen == Some(id) { ", chosen" } else { "" };
        format!("{what} {id}: {}, {}{}{chosen}", node.kind, node.state, metric.unwrap_or_default())
    }
}

fn class(node: &PageNode, shade: Option<usize>, chosen: bool) -> String {
    let standing = match (node.standing, shade) {
        (NodeStanding::Good, Some(shade)) => format!("s{shade}"),
        (NodeStanding::Good | NodeStanding::Empty, _) => "empty".to_owned(),
        (NodeStanding::Buggy, _) => "buggy".to_owned(),
        (NodeStanding::Pending, _) => "pending".to_owned(),
    };
    format!("node {standing}{}", if chosen { " chosen" } else { "" })
}

/// The outline of a shape around 0.
pub(super) fn shape(shape: NodeShape) -> Markup {
    let path = match shape {
        NodeShape::Circle => return html! { circle.shape r="13" {} },
        NodeShape::Square => "M-12-12H12V12H-12Z",
        NodeShape::Diamond => "M0-15.5L15.5 0L0 15.5L-15.5 0Z",
        NodeShape::Hexagon => "M-14.5 0L-7.5-12.5H7.5L14.5 0L7.5 12.5H-7.5Z",
    };
    html! { path.shape d=(path) {} }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kin_of_a_tree_leads_to_parents_first_children_and_siblings() {
        let kin = kin(&[None, Some(0), None, Some(0), Some(1)]);
        let short: Vec<_> =
            kin.iter().map(|kin| (kin.parent, kin.child, kin.before, kin.after)).collect();
        assert_eq!(
            short,
            [
                (None, Some(1), None, Some(2)),
                (Some(0), Some(4), None, Some(3)),
                (None, None, Some(0), None),
                (Some(0), None, Some(1), None),
                (Some(1), None, None, None),
            ]
        );
    }
}
