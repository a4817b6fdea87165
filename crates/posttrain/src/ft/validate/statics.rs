//! The static stage: proposal, script and settings are read, and nothing is run.

use super::Chain;
use crate::ft::check::{ErrorClass, Rejection};
use crate::ft::fault::StageError;
use crate::ft::plan::{Draft, Plan};
use crate::ft::proposal::{ProposalBounds, Teacher};
use crate::ft::script::{PathFault, PathProblem, ScriptFacts};

/// Makes a plan of a draft.
pub(super) fn check(chain: &Chain<'_>, draft: &Draft) -> Result<Plan, StageError> {
    let plan = check_values(chain, draft)?;
    if !plan.proposal.reuse_data {
        let has_teacher = draft.proposal.data.synthesis.teacher != Teacher::None;
        let facts = chain.scripts.facts(&draft.script, has_teacher)?;
        let facts = facts.map_err(|why| {
            let message = format!("the script cannot be read: {why}; make it shorter");
            Rejection::new(ErrorClass::Data, message)
        })?;
        check_script(&facts)?;
    }
    Ok(plan)
}

/// Makes a plan of a draft without reading its script.
pub(super) fn check_values(chain: &Chain<'_>, draft: &Draft) -> Result<Plan, Rejection> {
    let bounds = ProposalBounds {
        pool: chain.pool,
        samples: chain.settings.limits.samples,
        teachers: &chain.teachers.tiers(),
        has_parent: draft.parent_data.is_some(),
    };
    let proposal = &draft.proposal;
    let bad = |why: String| Rejection::new(ErrorClass::Planner, why);
    proposal.check(bounds).map_err(|error| bad(error.to_string()))?;
    if draft.script.len() > chain.settings.limits.data_bytes.length() {
        return Err(Rejection::new(ErrorClass::Data, "the script is too long"));
    }
    let config = chain.schema.check(&draft.config, &chain.settings.limits, chain.base)?;
    Ok(Plan {
        proposal: proposal.clone(),
        script: draft.script.clone(),
        config,
        parent_data: draft.parent_data.clone(),
    })
}

fn check_script(facts: &ScriptFacts) -> Result<(), Rejection> {
    if let Some(fault) = &facts.syntax {
        let (line, why) = (fault.line, &fault.message);
        let message = format!("the script is no Python: line {line}: {why}");
        return Err(Rejection::new(ErrorClass::Data, message));
    }
    if let Some(module) = facts.missing.first() {
        let (name, line) = (&module.name, module.line);
        let message = format!(
            "line {line} imports `{name}`, which scripts do not have; do without it (numpy, pandas and \
             the standard library are there)"
        );
        return Err(Rejection::new(ErrorClass::Env, message));
    }
    if let Some(PathFault { path, problem, line }) = facts.paths.first() {
        let what = match problem {
            PathProblem::Outside => {
                "lies outside of the work dir; read from `data/`, and write `data.json`"
            }
            PathProblem::Missing => "is not in the raw data; use a path that is listed there",
            PathProblem::ReadOnly => {
                "lies in the raw data, which cannot be written; write `data.json`"
            }
        };
        let message = format!("line {line}: `{path}` {what}");
        return Err(Rejection::new(ErrorClass::Data, message));
    }
    Ok(())
}
