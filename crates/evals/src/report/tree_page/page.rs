//! The whole page of a run.

use super::diff::script_diff;
use super::step::{NodeShape, NodeStanding, OPERATORS, PageNode, TOOLS, page_nodes};
use super::svg::{TreeDrawing, shape};
use super::text::{PageText, visible};
use crate::bench::outcome::StepGrade;
use agents::run::journal::{Blobs, JournalError};
use agents::run::node::NodeId;
use agents::run::state::RunState;
use agents::search::tree::Tree;
use camino::Utf8Path;
use maud::{Markup, html};
use tasks::metrics::Direction;
use web::chart::{Curve, LineChart, short};
use web::page::{Document, scroll};

const STYLE: &str = include_str!("tree.css");
const SCRIPT: &str = include_str!("tree.js");

/// Texts with more bytes are cut.
const TEXT_LIMIT: usize = 8 << 10;
/// Where a page would have more bytes, its texts are cut further.
const PAGE_LIMIT: usize = 5_000_000;
/// Texts are never cut below this.
const LEAST_TEXT: usize = 512;

/// The page of one run of an agent: the tree of its search or the chain of its turns, what became
/// of each, and how the validation score went up.
#[derive(Debug, Clone)]
pub struct TreePage {
    title: String,
    facts: Vec<(&'static str, String)>,
    nodes: Vec<PageNode>,
    chosen: Option<usize>,
    over: bool,
    linear: bool,
    direction: Direction,
    /// Test scores of what would have counted after each step.
    test: Vec<GradedStep>,
}

/// The test score of what would have counted had the run ended after a step.
#[derive(Debug, Clone, Copy)]
struct GradedStep {
    /// Its number, 1 for the first.
    step: usize,
    /// Active seconds of the run when it ended.
    seconds: f64,
    score: f64,
}

/// What the scores of a run are shown over.
#[derive(Debug, Clone, Copy)]
enum ChartAxis {
    Steps,
    Time,
}

/// The unit in which so many seconds are read best, and its seconds.
fn time_unit(seconds: f64) -> (&'static str, f64) {
    match seconds {
        7200.0.. => ("hours", 3600.0),
        120.0.. => ("minutes", 60.0),
        _ => ("seconds", 1.0),
    }
}

impl TreePage {
    /// The page of the run in `folder`, whose state is `state`. `by_step` has a grade for each
    /// step if the run was graded so, else nothing.
    ///
    /// # Errors
    /// [`JournalError::Blob`] if a text that the journal names is missing or was changed.
    pub fn from_run(
        state: &RunState,
        folder: &Utf8Path,
        by_step: &[StepGrade],
    ) -> Result<Self, JournalError> {
        let (header, tree) = (&state.header, Tree::from_state(state));
        let linear = !state.turns.is_empty();
        let nodes = page_nodes(state, &tree, Blobs::new(folder))?;
        let chosen = match state.finish {
            Some((chosen, _)) => chosen,
            None => tree.chosen().map(|node| node.id),
        };
        let (read, written) = state.asked.values().fold((0, 0), |(read, written), facts| {
            (read + facts.usage.input, written + facts.usage.output)
        });
        let count = |standing| nodes.iter().filter(|node| node.standing == standing).count();
        let better = match header.direction {
            Direction::LowerIsBetter => "lower is better",
            Direction::HigherIsBetter => "higher is better",
        };
        let facts = vec![
            ("model", header.player.clone()),
            ("seed", header.seed.to_string()),
            ("data", header.data.to_string()),
            ("validation score", better.to_owned()),
            (if linear { "turns" } else { "nodes" }, nodes.len().to_string()),
            ("with a score that counts", count(NodeStanding::Good).to_string()),
            ("failed", count(NodeStanding::Buggy).to_string()),
            ("seconds", format!("{:.0}", state.clock)),
            ("tokens read, written", format!("{read}, {written}")),
            ("state", if state.finish.is_some() { "over" } else { "not over" }.to_owned()),
        ];
        let score = |(index, grade): (usize, &StepGrade)| {
            Some(GradedStep { step: index + 1, seconds: grade.seconds, score: grade.score? })
        };
        Ok(Self {
            title: format!("{} on {}", header.scaffold, header.task),
            facts,
            chosen: chosen.map(NodeId::index).filter(|node| *node < nodes.len()),
            nodes,
            over: state.finish.is_some(),
            linear,
            direction: header.direction,
            test: by_step.iter().enumerate().filter_map(score).collect(),
        })
    }

    /// The whole page. It fetches nothing, and runs no script but its own. Texts of more than
    /// 8 KiB are cut; where the page would have more than 5 MB, to shorter ones.
    pub fn html(&self) -> String {
        let mut limit = TEXT_LIMIT;
        loop {
            let html = self.with_limit(limit);
            if html.len() <= PAGE_LIMIT || limit <= LEAST_TEXT {
                return html;
            }
            limit /= 2;
        }
    }

    fn with_limit(&self, limit: usize) -> String {
        let body = html! {
            h1 { (self.title) }
            dl.facts.card {
                @for (name, value) in &self.facts { div { dt { (name) } dd { (value) } } }
            }
            @if self.nodes.is_empty() {
                p.note { "Nothing was decided yet." }
            } @else {
                div.sides.chain[self.linear] {
                    div.card.drawing { (self.drawing()) }
                    div.texts {
                        @for id in 0..self.nodes.len() { (self.section(id, limit)) }
                    }
                }
                div.grid {
                    section.card { (self.chart(ChartAxis::Steps).html()) }
                    section.card { (self.chart(ChartAxis::Time).html()) }
                }
                h2 { (if self.linear { "Turns" } else { "Nodes" }) }
                section.card { (scroll("what became of each step", &self.table())) }
            }
        };
        let html = Document { title: &self.title, style: STYLE, body }.html_with_script(SCRIPT);
        visible(&html).into_owned()
    }

    fn noun(&self) -> &'static str {
        if self.linear { "turn" } else { "node" }
    }

    fn drawing(&self) -> Markup {
        let drawing = TreeDrawing {
            nodes: &self.nodes,
            chosen: self.chosen,
            direction: self.direction,
            linear: self.linear,
        };
        let steps = self.nodes.len();
        html! {
            label.slider hidden {
                "Up to step " output { (steps) } " of " (steps)
                input type="range" min="1" max=(steps) value=(steps);
            }
            (self.key())
            (scroll("drawing", &drawing.svg()))
        }
    }

    /// What shapes and colours mean.
    fn key(&self) -> Markup {
        let sign = |kind: &'static str, form: NodeShape, letter: char| {
            html! {
                span {
                    svg viewBox="-17 -17 34 34" aria-hidden="true" {
                        g.node.empty { (shape(form)) text y="4.5" { (letter) } }
                    }
                    (kind)
                }
            }
        };
        let swatch = |class: &str, name: &str| {
            html! {
                span {
                    svg viewBox="-17 -17 34 34" aria-hidden="true" {
                        g class=(format!("node {class}")) { (shape(NodeShape::Circle)) }
                    }
                    (name)
                }
            }
        };
        let used = |kind: &str| self.nodes.iter().any(|node| node.kind == kind);
        html! {
            p.key {
                @if self.linear {
                    @for (tool, form, letter) in TOOLS {
                        @if used(tool.name()) { (sign(tool.name(), form, letter)) }
                    }
                } @else {
                    @for (operator, form, letter) in OPERATORS {
                        @if used(operator.name()) { (sign(repair(operator.name()), form, letter)) }
                    }
                }
                (swatch("s0", "worst score"))
                (swatch("s4", "best score"))
                (swatch("buggy", "failed"))
            }
            p.note {
                "Bold: the way to the " (self.noun())
                @if self.over { " that was submitted (★). " } @else { " that is best so far (★). " }
                span.keys hidden { "Arrow keys walk, Enter or a click opens." }
            }
        }
    }

    fn section(&self, id: usize, limit: usize) -> Markup {
        let node = &self.nodes[id];
        let metric = node.metric.map_or("none".to_owned(), |metric| metric.to_string());
        html! {
            section.card.step id=(format!("node-{id}")) tabindex="-1" data-step=(id + 1) {
                h3 {
                    (self.noun()) " " (id) ": " (repair(node.kind))
                    @if !self.linear && !node.parents.is_empty() {
                        " of "
                        @for (index, parent) in node.parents.iter().enumerate() {
                            @if index > 0 { " and " }
                            a href=(format!("#node-{parent}")) { (parent) }
                        }
                    }
                    @if self.chosen == Some(id) { " ★" }
                }
                p class=(tone(node.standing)) { (node.state) }
                dl.facts {
                    div { dt { "validation score" } dd { (metric) } }
                    @if let Some(seconds) = node.seconds {
                        div { dt { "script ran" } dd { (short(seconds)) " s" } }
                    }
                    div { dt { "tokens read, written" } dd { (node.tokens.0) ", " (node.tokens.1) } }
                    @for (name, value) in &node.facts { div { dt { (name) } dd { (value) } } }
                }
                @for (heading, text) in &node.before { (part(heading, &text.html(limit))) }
                @if let Some((parent, old, new)) = self.changed(id) {
                    @let name = format!("{} {parent}", self.noun());
                    @let changes = script_diff(&old.whole, &new.whole, &name, limit);
                    (part(&format!("Changes to the script of {name}"), &changes))
                }
                @for (heading, text) in &node.after { (part(heading, &text.html(limit))) }
                @if let Some(code) = &node.code { (part("Script", &code.html(limit))) }
            }
        }
    }

    /// The scripts of the first parent, or the last turn that has one, and of node `id`.
    fn changed(&self, id: usize) -> Option<(usize, &PageText, &PageText)> {
        let new = self.nodes[id].code.as_ref()?;
        let mut parent = *self.nodes[id].parents.first()?;
        while self.linear && self.nodes[parent].code.is_none() {
            parent = *self.nodes[parent].parents.first()?;
        }
        Some((parent, self.nodes[parent].code.as_ref()?, new))
    }

    /// How the scores rise, by steps or by the time at which steps ended. With several scripts in
    /// the making at once, the order in time is another than that of numbers.
    fn chart(&self, by: ChartAxis) -> LineChart {
        let mut order: Vec<(f64, &PageNode)> = match by {
            ChartAxis::Steps => {
                self.nodes.iter().enumerate().map(|(id, node)| ((id + 1) as f64, node)).collect()
            }
            ChartAxis::Time => {
                self.nodes.iter().filter_map(|node| Some((node.ended_at?, node))).collect()
            }
        };
        order.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let (x_label, unit) = match by {
            ChartAxis::Steps => ("steps", 1.0),
            ChartAxis::Time => time_unit(order.last().map_or(0.0, |(end, _)| *end)),
        };
        let mut best: Option<f64> = None;
        let mut points = Vec::new();
        for (at, node) in order {
            let metric = node.metric.filter(|_| node.standing == NodeStanding::Good);
            best = match (best, metric) {
                (Some(best), Some(metric)) if !self.direction.better(metric, best) => Some(best),
                (best, metric) => metric.or(best),
            };
            points.extend(best.map(|best| (at / unit, best)));
        }
        let mut curves = vec![Curve { name: "best validation score".to_owned(), points }];
        if !self.test.is_empty() {
            let name = "test score of what would count".to_owned();
            let at = |graded: &GradedStep| match by {
                ChartAxis::Steps => graded.step as f64,
                ChartAxis::Time => graded.seconds / unit,
            };
            let points = self.test.iter().map(|graded| (at(graded), graded.score)).collect();
            curves.push(Curve { name, points });
        }
        LineChart {
            title: format!("Score by {x_label}"),
            x_label: x_label.to_owned(),
            curves,
            y_range: None,
        }
    }

    fn table(&self) -> Markup {
        html! {
            table {
                thead {
                    tr {
                        th scope="col" { (self.noun()) }
                        th scope="col" { (if self.linear { "tool" } else { "operator" }) }
                        @if !self.linear { th scope="col" { "of" } }
                        th scope="col" { "state" }
                        th.number scope="col" { "validation score" }
                        th.number scope="col" { "seconds" }
                        th.number scope="col" { "tokens read" }
                        th.number scope="col" { "written" }
                    }
                }
                tbody {
                    @for (id, node) in self.nodes.iter().enumerate() {
                        tr data-step=(id + 1) {
                            th scope="row" {
                                a href=(format!("#node-{id}")) { (id) }
                                @if self.chosen == Some(id) { " ★" }
                            }
                            td { (repair(node.kind)) }
                            @if !self.linear {
                                @let parents: Vec<String> =
                                    node.parents.iter().map(ToString::to_string).collect();
                                td { (parents.join(", ")) }
                            }
                            td { (node.state) }
                            td.number { @if let Some(metric) = node.metric { (short(metric)) } }
                            td.number { @if let Some(seconds) = node.seconds { (short(seconds)) } }
                            td.number { (node.tokens.0) }
                            td.number { (node.tokens.1) }
                        }
                    }
                }
            }
        }
    }
}

/// An operator as readers of the letter R know it.
fn repair(kind: &'static str) -> &'static str {
    if kind == "debug" { "debug (repair)" } else { kind }
}

fn tone(standing: NodeStanding) -> &'static str {
    match standing {
        NodeStanding::Good => "good",
        NodeStanding::Buggy => "bad",
        NodeStanding::Empty | NodeStanding::Pending => "faint",
    }
}

fn part(heading: &str, content: &Markup) -> Markup {
    html! { details open { summary { (heading) } (content) } }
}

#[cfg(test)]
mod tests;
