//! `factory verify`: every check again, on tasks that lie in a corpus.
//!
//! Each task is built anew from its own blueprint; its files must be the same, and the checks
//! run on the files as they are now.

use crate::package::{self, Draft, Staged, TaskSource};
use crate::page::{self, RefusedProse};
use crate::spec::scenario::{self, ScenarioError};
use crate::verify::{self, Refusal};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tasks::task::{Corpus, TaskDir};

/// What was found in a corpus.
#[derive(Debug)]
pub struct Audit {
    /// Number of tasks that were checked.
    pub tasks: usize,
    /// All that is wrong with tasks: name, code and text.
    pub refused: Vec<(String, &'static str, String)>,
    /// Pairs of tasks with the same rule.
    pub shared_rules: Vec<(String, String)>,
}

impl Audit {
    /// Whether nothing was found.
    pub fn clean(&self) -> bool {
        self.refused.is_empty() && self.shared_rules.is_empty()
    }

    /// The tasks of the corpus that were not refused.
    pub fn passed<'a>(&self, corpus: &'a Corpus) -> Vec<&'a TaskDir> {
        let refused =
            |task: &TaskDir| self.refused.iter().any(|(name, ..)| name == task.id().as_str());
        corpus.tasks().iter().filter(|task| !refused(task)).collect()
    }
}

/// Verifies every task of a corpus.
///
/// # Errors
/// [`ScenarioError`] if the embedded stories cannot be read.
pub fn audit(corpus: &Corpus) -> Result<Audit, ScenarioError> {
    let stories = scenario::all()?;
    let verdicts: Vec<Vec<Refusal>> =
        corpus.tasks().par_iter().map(|task| one(task, &stories)).collect();
    let mut refused = Vec::new();
    let mut rules: BTreeMap<&str, &str> = BTreeMap::new();
    let mut shared_rules = Vec::new();
    for (task, verdict) in corpus.tasks().iter().zip(verdicts) {
        let name = task.id().as_str();
        refused.extend(
            verdict.iter().map(|refusal| (name.to_owned(), refusal.code(), refusal.to_string())),
        );
        if let Some(hash) = task.manifest().provenance["rule_hash"].as_str()
            && let Some(other) = rules.insert(hash, name)
        {
            shared_rules.push((other.to_owned(), name.to_owned()));
        }
    }
    Ok(Audit { tasks: corpus.tasks().len(), refused, shared_rules })
}

/// All that is wrong with one task, whose story is its own or one of `stories`. Without its source,
/// nothing else can be said of it.
pub(super) fn one(task: &TaskDir, stories: &[scenario::Scenario]) -> Vec<Refusal> {
    let (draft, prose) = match rebuilt(task, stories) {
        Ok(rebuilt) => rebuilt,
        Err(refusal) => return vec![refusal],
    };
    let mut found = verify::check_all(&Staged { draft, dir: task.clone() });
    found.extend(prose.err().map(Refusal::Prose));
    found
}

/// A task as its source makes it, and what is wrong with its kept prose.
fn rebuilt(
    task: &TaskDir,
    stories: &[scenario::Scenario],
) -> Result<(Draft, Result<(), RefusedProse>), Refusal> {
    let source = TaskSource::read(task)?;
    let scenario = source.blueprint.scenario_among(stories);
    let scenario = scenario.map_err(|error| Refusal::Contract(error.to_string()))?;
    let draft = package::rebuild(&source, &scenario, None)
        .map_err(|error| Refusal::Contract(error.to_string()))?;
    let prose = source.prose.as_ref().map_or(Ok(()), |prose| {
        page::check(prose, &source.blueprint, &scenario, &draft.facts.assets)
    });
    Ok((draft, prose))
}

impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (task, code, text) in &self.refused {
            writeln!(f, "{task}: {code}: {text}")?;
        }
        for (one, other) in &self.shared_rules {
            writeln!(f, "{one} and {other}: shared_rule")?;
        }
        let refused: BTreeSet<&String> = self.refused.iter().map(|(task, ..)| task).collect();
        let passed = self.tasks - refused.len();
        write!(f, "{passed} of {} tasks pass verification", self.tasks)
    }
}
