//! Nodes of a search and turns of a linear agent, as one page shows both.

use super::text::PageText;
use agents::run::journal::{AskFacts, Blobs, JournalError};
use agents::run::node::{BlobHash, Bug, Node, NodeId, NodeState, Operator};
use agents::run::player::Asked;
use agents::run::state::RunState;
use agents::run::turn::TurnFacts;
use agents::search::tree::Tree;
use agents::trajectory::Tool;
use web::chart::short;

/// How a node is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeShape {
    Square,
    Circle,
    Diamond,
    Hexagon,
}

/// What became of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeStanding {
    /// It has a validation score that counts.
    Good,
    /// It failed.
    Buggy,
    /// There is no script, or a turn that ran none.
    Empty,
    /// It is being worked on.
    Pending,
}

/// A node or turn with all that the page says of it. Its number is its place in the list.
#[derive(Debug, Clone)]
pub(super) struct PageNode {
    /// Nodes that it was made from, the one that it hangs from first.
    pub(super) parents: Vec<usize>,
    pub(super) shape: NodeShape,
    pub(super) letter: char,
    /// The operator or the tool.
    pub(super) kind: &'static str,
    pub(super) standing: NodeStanding,
    /// What became of it, in a few words.
    pub(super) state: String,
    pub(super) metric: Option<f64>,
    /// Seconds of its script.
    pub(super) seconds: Option<f64>,
    /// Active seconds of the run when it ended.
    pub(super) ended_at: Option<f64>,
    /// Tokens read and written for it.
    pub(super) tokens: (u64, u64),
    /// Further facts: name and value.
    pub(super) facts: Vec<(&'static str, String)>,
    /// Texts with their headings, before the script and its changes.
    pub(super) before: Vec<(&'static str, PageText)>,
    pub(super) code: Option<PageText>,
    /// Texts with their headings, after the script.
    pub(super) after: Vec<(&'static str, PageText)>,
}

/// How operators are drawn and what they are called.
pub(super) const OPERATORS: [(Operator, NodeShape, char); 4] = [
    (Operator::Draft, NodeShape::Square, 'D'),
    (Operator::Improve, NodeShape::Circle, 'I'),
    (Operator::Debug, NodeShape::Diamond, 'R'),
    (Operator::Crossover, NodeShape::Hexagon, 'X'),
];

/// How tools are drawn.
pub(super) const TOOLS: [(Tool, NodeShape, char); 5] = [
    (Tool::Python, NodeShape::Circle, 'P'),
    (Tool::Score, NodeShape::Square, 'S'),
    (Tool::Answer, NodeShape::Hexagon, 'A'),
    (Tool::Info, NodeShape::Square, 'I'),
    (Tool::Malformed, NodeShape::Diamond, 'M'),
];

/// Reads the texts of a run.
struct TextSource<'a> {
    state: &'a RunState,
    blobs: Blobs,
}

/// The nodes or turns of the run in `folder`, in their order.
///
/// # Errors
/// [`JournalError::Blob`].
pub(super) fn page_nodes(
    state: &RunState,
    tree: &Tree,
    blobs: Blobs,
) -> Result<Vec<PageNode>, JournalError> {
    let source = TextSource { state, blobs };
    if state.turns.is_empty() {
        tree.ids().map(|id| source.node(tree, id)).collect()
    } else {
        state.turns.iter().map(|turn| source.turn(turn)).collect()
    }
}

impl TextSource<'_> {
    fn node(&self, tree: &Tree, id: NodeId) -> Result<PageNode, JournalError> {
        let decision = tree.decision(id);
        let (_, shape, letter) = OPERATORS
            .into_iter()
            .find(|(operator, ..)| *operator == decision.operator)
            .expect("every operator is listed");
        let mut shown = PageNode {
            parents: decision.parents.iter().map(|parent| parent.index()).collect(),
            shape,
            letter,
            kind: decision.operator.name(),
            standing: NodeStanding::Pending,
            state: "being worked on".to_owned(),
            metric: None,
            seconds: None,
            ended_at: None,
            tokens: self.tokens(id),
            facts: Vec::new(),
            before: Vec::new(),
            code: None,
            after: Vec::new(),
        };
        let Some(node) = tree.node(id) else { return Ok(shown) };
        (shown.standing, shown.state) = standing(node);
        shown.metric = node.metric;
        if let Some(run) = &node.run {
            shown.seconds = Some(run.wall);
            shown.facts.push(("script", run.outcome.to_string()));
            shown.facts.push(("processor", format!("{} s", short(run.processor))));
            shown
                .facts
                .push(("memory", format!("{:.0} MiB", run.peak_memory as f64 / 1_048_576.0)));
        }
        shown.ended_at = Some(node.ended_at);
        shown.facts.push(("ended at", format!("{} s", short(node.ended_at))));
        if let Some(facts) = &node.automind {
            if let Some(complexity) = facts.complexity {
                shown.facts.push(("complexity", complexity.to_string()));
            }
            if facts.steps > 0 {
                shown.facts.push(("steps of code", facts.steps.to_string()));
            }
            if let Some(tried) = &facts.applying {
                shown.facts.push(("trick", tried.trick.clone()));
            }
            if !facts.applied.is_empty() {
                let applied: Vec<&str> = facts.applied.iter().map(String::as_str).collect();
                shown.facts.push(("tricks applied", applied.join(", ")));
            }
        }
        let plain = |text: &str| PageText { whole: text.to_owned(), blob: None };
        if !node.plan.is_empty() {
            shown.before.push(("Plan", plain(&node.plan)));
        }
        shown.code = self.text(node.code.as_ref())?;
        if let NodeState::Refused { reason } = &node.state {
            shown.before.push(("Why there is no script", plain(reason)));
            if let Some(answer) = self.answer(id)? {
                shown.before.push(("Last answer", answer));
            }
        }
        if let Some(invalid) = &node.invalid {
            shown.after.push(("Why there is no valid submission", plain(invalid)));
        }
        if let Some(verdict) = &node.judged {
            let bug = if verdict.is_bug { "a bug" } else { "no bug" };
            let metric = verdict.metric.map_or("none".to_owned(), |metric| metric.to_string());
            let text = format!("{}\n\nJudged: {bug}; validation score {metric}", verdict.summary);
            shown.after.push(("Judge", plain(&text)));
        }
        if let Some(output) = self.text(node.output.as_ref())? {
            shown.after.push(("Output", output));
        }
        Ok(shown)
    }

    fn turn(&self, turn: &TurnFacts) -> Result<PageNode, JournalError> {
        let tool = turn.record.tool;
        let (_, shape, letter) =
            TOOLS.into_iter().find(|(one, ..)| *one == tool).expect("every tool is listed");
        let (standing, state) = if turn.record.failed() {
            let failed = turn.record.outcome.as_ref();
            let text = failed.map_or("nothing that can be carried out".to_owned(), |outcome| {
                format!("the script {outcome}")
            });
            (NodeStanding::Buggy, text)
        } else if turn.metric.is_some() {
            (NodeStanding::Good, "good".to_owned())
        } else {
            (NodeStanding::Empty, "no validation score".to_owned())
        };
        let mut shown = PageNode {
            parents: turn.number.index().checked_sub(1).into_iter().collect(),
            shape,
            letter,
            kind: tool.name(),
            standing,
            state,
            metric: turn.metric,
            seconds: turn.record.outcome.as_ref().map(|_| turn.record.seconds),
            ended_at: Some(turn.ended_at),
            tokens: self.tokens(turn.number),
            facts: vec![("ended at", format!("{} s", short(turn.ended_at)))],
            before: Vec::new(),
            code: self.text(turn.code.as_ref())?,
            after: Vec::new(),
        };
        if let Some(outcome) = &turn.record.outcome {
            shown.facts.push(("script", outcome.to_string()));
        }
        if let Some(score) = turn.score {
            shown.facts.push(("score that it was told", short(score)));
        }
        if let Some(answer) = self.answer(turn.number)? {
            shown.before.push(("Answer of the model", answer));
        }
        if let Some(reply) = self.text(turn.reply.as_ref())? {
            shown.after.push(("What the agent was told", reply));
        }
        Ok(shown)
    }

    fn text(&self, hash: Option<&BlobHash>) -> Result<Option<PageText>, JournalError> {
        let Some(hash) = hash else { return Ok(None) };
        let whole = String::from_utf8_lossy(&self.blobs.get(hash)?).into_owned();
        Ok(Some(PageText { whole, blob: Some(hash.0.clone()) }))
    }

    fn asked(&self, of: NodeId) -> impl Iterator<Item = &AskFacts> {
        let of_node = move |facts: &&AskFacts| {
            // Questions about knowledge come before the first node, and count votes in its place.
            facts.node == of && !matches!(facts.what, Asked::Knowledge(_))
        };
        self.state.asked.values().filter(of_node)
    }

    fn tokens(&self, of: NodeId) -> (u64, u64) {
        self.asked(of).fold((0, 0), |(read, written), facts| {
            (read + facts.usage.input, written + facts.usage.output)
        })
    }

    /// The last answer to a question for a script or a turn.
    fn answer(&self, of: NodeId) -> Result<Option<PageText>, JournalError> {
        let last = self.asked(of).filter(|facts| facts.what.name() != "judge").last();
        self.text(last.and_then(|facts| facts.answer.as_ref()))
    }
}

fn standing(node: &Node) -> (NodeStanding, String) {
    match &node.state {
        NodeState::Good => (NodeStanding::Good, "good".to_owned()),
        NodeState::Refused { .. } => (NodeStanding::Empty, "no script".to_owned()),
        NodeState::Buggy(bug) => {
            let text = match (bug, &node.run) {
                (Bug::NotFinished, Some(run)) => format!("the script {}", run.outcome),
                (Bug::NotFinished, None) => "the script did not finish".to_owned(),
                (Bug::NoMetric, _) => "no validation score".to_owned(),
                (Bug::NoSubmission, _) => "no submission".to_owned(),
                (Bug::InvalidSubmission, _) => "invalid submission".to_owned(),
                (Bug::Judged, _) => "a bug, by the judge".to_owned(),
                (Bug::Disputed, _) => "another validation score, by the judge".to_owned(),
                (Bug::Overfitting, _) => "overfitting, by the judge".to_owned(),
                (Bug::StepFailed { step }, _) => format!("given up at step {step}"),
            };
            (NodeStanding::Buggy, text)
        }
    }
}
