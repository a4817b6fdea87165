//! One step: a decision becomes a node. `plan -> complexity -> script -> run -> verdict`.

use super::asker::Asker;
use super::coder::{one_pass, style};
use super::memory::memory;
use super::metric::standard_error;
use super::papers::draft_from_papers;
use super::plan::{self, ParentNode};
use super::prompt::BudgetLeft;
use super::settings::{AutoMindSettings, SelectBy};
use super::stepwise::{Stepped, stepwise};
use super::tricks;
use super::verifier::verify;
use crate::run::journal::JournalLine;
use crate::run::knowledge::{ReadyKnowledge, ReadyMethod, ReadyTrick};
use crate::run::node::{BlobHash, Decision, Node, NodeId, NodeState, Operator};
use crate::run::node_facts::{AutoMindFacts, CodingStyle};
use crate::run::open::{OpenRun, Undone, undone};
use crate::run::trial::{ScriptTrial, try_fresh};
use crate::search::decide::NodeMaker;
use crate::search::tree::Tree;
use rand::seq::IndexedRandom as _;
use std::collections::BTreeSet;
use std::time::Duration;
use tasks::stream::Stream;

/// Published methods that one draft is planned from.
const PAPERS: usize = 2;

/// A run that is being worked on.
pub(super) struct AutoMindRun<'a> {
    pub(super) settings: &'a AutoMindSettings,
    pub(super) ready: &'a ReadyKnowledge,
    pub(super) open: OpenRun<'a>,
}

/// What is shown for one decision.
pub(super) struct Known {
    parent: Option<ParentNode>,
    /// Empty for a repair, which sees none.
    memory: String,
    /// Tricks in the plan of the parent.
    applied: BTreeSet<String>,
    /// The trick that was drawn for an improvement.
    trick: Option<ReadyTrick>,
    /// Tricks that a draft is shown.
    shown: Vec<ReadyTrick>,
    /// Published methods that a draft is planned from.
    papers: Vec<ReadyMethod>,
    steps_left: u32,
}

/// A script that ran, what it left, and the step at which it was given up.
type Tried = (String, ScriptTrial, Option<u32>);

impl NodeMaker for AutoMindRun<'_> {
    type Known = Known;

    fn open(&self) -> &OpenRun<'_> {
        &self.open
    }

    fn known(&self, tree: &Tree, id: NodeId, decision: &Decision) -> Result<Known, Undone> {
        let parent = decision.parents.first().copied();
        let settings = &self.settings.tricks;
        let run = &self.open.run;
        let trick = match (decision.operator, parent) {
            (Operator::Improve, Some(parent)) => {
                let stream = Stream::root(run.seed).child(run.task.id().as_str());
                let stream = stream.child("automind").child("trick").index(u64::from(id.0));
                tricks::draw(&self.ready.tricks, tree, parent, settings, &mut stream.rng())
            }
            _ => None,
        };
        let is_draft = decision.operator == Operator::Draft;
        let shows = is_draft && settings.drafts.shows_tricks();
        let papers = if is_draft && settings.drafts.uses_papers() {
            let stream = Stream::root(run.seed).child(run.task.id().as_str());
            let stream = stream.child("automind").child("papers").index(u64::from(id.0));
            self.ready.methods.sample(&mut stream.rng(), PAPERS).cloned().collect()
        } else {
            Vec::new()
        };
        let taken = u32::try_from(tree.len()).unwrap_or(u32::MAX);
        Ok(Known {
            parent: parent.map(|parent| self.parent(tree, parent)).transpose()?,
            memory: match decision.operator {
                Operator::Debug => String::new(),
                _ => memory(tree),
            },
            applied: tricks::applied(tree, parent),
            trick: trick.cloned(),
            shown: if shows { self.ready.tricks.clone() } else { Vec::new() },
            papers,
            steps_left: self.settings.steps.saturating_sub(taken) + 1,
        })
    }

    fn make(&self, id: NodeId, decision: &Decision, known: &Known) -> Result<Node, Undone> {
        let left = BudgetLeft { seconds: self.seconds_left(), steps: known.steps_left };
        let asker = Asker::new(&self.open, &self.settings.sampling, id, left);
        let mut facts = AutoMindFacts::new(known.applied.clone());
        let mut node = Node::empty(id, decision.clone());
        match plan_of(&asker, decision, known, &mut facts)? {
            Ok(plan) => {
                node.plan = plan;
                self.code_and_verify(&asker, known, &mut node, &mut facts)?;
            }
            Err(reason) => node.state = NodeState::Refused { reason: format!("no plan: {reason}") },
        }
        node.automind = Some(Box::new(facts));
        node.ended_at = self.open.clock.now();
        self.open.append(&JournalLine::Node(Box::new(node.clone())))?;
        Ok(node)
    }

    fn chosen<'t>(&self, tree: &'t Tree) -> Option<&'t Node> {
        match self.settings.select {
            SelectBy::Best => tree.chosen(),
            SelectBy::LowerBound => best_lower_bound(tree).or_else(|| tree.chosen()),
        }
    }
}

/// The good node of the largest gain less one standard error of its folds, the earliest of equals.
fn best_lower_bound(tree: &Tree) -> Option<&Node> {
    let bound = |node: &Node| {
        let folds = node.automind.as_ref().map(|facts| facts.folds.as_slice());
        let error = folds.and_then(standard_error).unwrap_or(0.0);
        tree.gain(node.id).map(|gain| gain - error)
    };
    tree.good().reduce(|best, node| if bound(node) > bound(best) { node } else { best })
}

/// The plan of a decision, or why there is none.
fn plan_of(
    asker: &Asker<'_>,
    decision: &Decision,
    known: &Known,
    facts: &mut AutoMindFacts,
) -> Result<Result<String, String>, Undone> {
    match (decision.operator, &known.parent) {
        (Operator::Debug, Some(parent)) => {
            facts.applying.clone_from(&parent.applying);
            plan::debug(asker, parent)
        }
        (Operator::Improve | Operator::Crossover, Some(parent)) => {
            plan::improve(asker, parent, &known.memory, known.trick.as_ref(), facts)
        }
        _ if !known.papers.is_empty() => {
            match draft_from_papers(asker, &known.memory, &known.papers)? {
                Ok(plan) => {
                    facts.papers = known.papers.iter().map(|paper| paper.id.clone()).collect();
                    Ok(Ok(plan))
                }
                Err(reason) => {
                    facts.no_papers = Some(reason);
                    plan::draft(asker, &known.memory, &known.shown)
                }
            }
        }
        _ => plan::draft(asker, &known.memory, &known.shown),
    }
}

impl AutoMindRun<'_> {
    fn seconds_left(&self) -> f64 {
        self.settings.seconds as f64 - self.open.clock.now()
    }

    /// Time that a script may run for: its limit, or what is left of the run.
    fn script_limit(&self) -> Duration {
        let left = Duration::from_secs_f64(self.seconds_left().max(1.0));
        left.min(self.open.run.config.policy.time_limit.0)
    }

    fn parent(&self, tree: &Tree, id: NodeId) -> Result<ParentNode, Undone> {
        let node = tree.node(id);
        let text = |hash: Option<&BlobHash>| {
            hash.map_or_else(|| Ok(String::new()), |hash| self.open.blobs.text(hash))
        };
        let facts = node.and_then(|node| node.automind.as_ref());
        Ok(ParentNode {
            id,
            plan: node.map(|node| node.plan.clone()).unwrap_or_default(),
            code: text(node.and_then(|node| node.code.as_ref()))?,
            output: text(node.and_then(|node| node.output.as_ref()))?,
            applying: facts.and_then(|facts| facts.applying.clone()),
        })
    }

    /// Writes and runs the script of a node that has a plan, and sets what came of it.
    fn code_and_verify(
        &self,
        asker: &Asker<'_>,
        known: &Known,
        node: &mut Node,
        facts: &mut AutoMindFacts,
    ) -> Result<(), Undone> {
        let settings = &self.settings.coder;
        let (style, complexity) = style(asker, settings, node.decision.operator, &node.plan)?;
        facts.complexity = complexity;
        let before = known.parent.as_ref().filter(|parent| !parent.code.is_empty());
        let before = before.map(|parent| (parent.code.as_str(), parent.output.as_str()));
        let tried = match style {
            CodingStyle::OnePass => match one_pass(asker, settings, &node.plan, before)? {
                Ok(code) => {
                    let trial = self.run_fresh(&code)?;
                    Ok((code, trial, None))
                }
                Err(reason) => Err(reason),
            },
            CodingStyle::Stepwise => self.step_by_step(asker, &node.plan, before, facts)?,
        };
        let (code, trial, given_up) = match tried {
            Ok(tried) => tried,
            Err(reason) => {
                node.state = NodeState::Refused { reason: format!("no code: {reason}") };
                return Ok(());
            }
        };
        facts.coding = Some(style);
        node.code = Some(self.open.blobs.put(code.as_bytes())?);
        let ask = self.settings.verifier.ask;
        verify(asker, ask, node, facts, &code, trial, given_up)
    }

    fn step_by_step(
        &self,
        asker: &Asker<'_>,
        plan: &str,
        before: Option<(&str, &str)>,
        facts: &mut AutoMindFacts,
    ) -> Result<Result<Tried, String>, Undone> {
        let settings = &self.settings.coder;
        Ok(match stepwise(asker, settings, plan, before, self.script_limit())? {
            Stepped::Nothing(reason) => Err(reason),
            Stepped::GivenUp { code, step, last: (trial, run) } => {
                facts.steps = step;
                Ok((code, ScriptTrial::of(&trial, run).map_err(undone)?, Some(step)))
            }
            Stepped::Whole { code, steps, trial, run } => {
                facts.steps = steps;
                if settings.rejoin {
                    // The steps' work dir is gone before the whole runs in one of its own.
                    drop((trial, run));
                    let trial = self.run_fresh(&code)?;
                    Ok((code, trial, None))
                } else {
                    Ok((code, ScriptTrial::of(&trial, run).map_err(undone)?, None))
                }
            }
        })
    }

    /// Runs a script in a work dir of its own.
    fn run_fresh(&self, code: &str) -> Result<ScriptTrial, Undone> {
        try_fresh(&self.open.run, code, self.script_limit()).map_err(undone)
    }
}
