//! What the journal of a run says of its steps: what each asked, and what it came to.

use agents::automind::engineer::{breakable_lines, complexity_of_lines, planned_lines};
use agents::run::journal::{Blobs, JournalError, journal_path, read_lines};
use agents::run::node::{Node, NodeId, Operator};
use agents::run::node_facts::CodingStyle;
use agents::run::state::RunState;
use camino::Utf8Path;

/// What one run asked and wrote, step by step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunFacts {
    /// In the order of steps: nodes of a search, or turns.
    pub steps: Vec<StepFacts>,
}

/// One step of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepFacts {
    /// Questions that it asked.
    pub calls: u64,
    /// Tokens that were read and written for it.
    pub tokens: u64,
    /// Seconds of its script, or of its turn.
    pub script_seconds: f64,
    /// Active seconds of the run at its end.
    pub ended_at: f64,
    /// Its script, where it is a node of a search.
    pub script: Option<ScriptFacts>,
}

/// The script of a node, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptFacts {
    /// Whether it ran to its end, with a metric and a valid submission.
    pub good: bool,
    /// Whether it was written anew; a repair starts from code that is there.
    pub fresh: bool,
    /// How it was written; `None` without one, or of another scaffold.
    pub coding: Option<CodingStyle>,
    /// How hard its plan is to code, 1 to 5: as the plan's number of lines says, else as the player
    /// said, if it was asked.
    pub complexity: Option<f64>,
    /// Lines in which a scripted engineer may slip; `None` without a script.
    pub lines: Option<usize>,
}

impl RunFacts {
    /// Reads the journal in the folder of a run.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn read(folder: &Utf8Path) -> Result<Self, JournalError> {
        let path = journal_path(folder);
        let state =
            RunState::from_lines(&path, read_lines(&path)?)?.ok_or(JournalError::NoHeader(path))?;
        Self::from_state(&state, &Blobs::new(folder))
    }

    /// Of a run with these texts.
    ///
    /// # Errors
    /// [`JournalError`] if a text is missing.
    pub fn from_state(state: &RunState, blobs: &Blobs) -> Result<Self, JournalError> {
        let asked = |id: NodeId| {
            let of = state.asked.iter().filter(move |((node, ..), _)| *node == id);
            of.fold((0, 0), |(calls, tokens), (_, facts)| {
                (calls + 1, tokens + facts.usage.input + facts.usage.output)
            })
        };
        let mut steps = Vec::new();
        for node in state.nodes.values() {
            let (calls, tokens) = asked(node.id);
            steps.push(StepFacts {
                calls,
                tokens,
                script_seconds: node.run.as_ref().map_or(0.0, |run| run.wall),
                ended_at: node.ended_at,
                script: Some(ScriptFacts::of(node, blobs)?),
            });
        }
        for turn in &state.turns {
            let (calls, tokens) = asked(turn.number);
            let (script_seconds, ended_at) = (turn.record.seconds, turn.ended_at);
            steps.push(StepFacts { calls, tokens, script_seconds, ended_at, script: None });
        }
        Ok(Self { steps })
    }

    /// The steps that are over after `calls` questions, and at most `steps` of them.
    pub fn within(&self, calls: Option<u64>, steps: Option<usize>) -> usize {
        let mut asked = 0;
        let most = steps.unwrap_or(usize::MAX);
        let fits = |step: &&StepFacts| {
            asked += step.calls;
            calls.is_none_or(|calls| asked <= calls)
        };
        self.steps.iter().take(most).take_while(fits).count()
    }
}

impl ScriptFacts {
    fn of(node: &Node, blobs: &Blobs) -> Result<Self, JournalError> {
        let facts = node.automind.as_ref();
        let code = node.code.as_ref().map(|hash| blobs.text(hash)).transpose()?;
        Ok(Self {
            good: node.is_good(),
            fresh: node.decision.operator != Operator::Debug,
            coding: facts.and_then(|facts| facts.coding),
            complexity: planned_lines(&node.plan)
                .map(complexity_of_lines)
                .or_else(|| facts.and_then(|facts| facts.complexity)),
            lines: code.map(|code| breakable_lines(&code)),
        })
    }
}
