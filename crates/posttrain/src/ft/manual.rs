//! What a person does by rule: clean, train, look at the loss, and train once more.
//!
//! It is what planners are compared with. It never looks at mistakes and does not search.

use super::check::Check;
use super::diagnosis::Diagnosis;
use super::experiment::{Experiment, ExperimentOutcome};
use super::fault::StageError;
use super::planner::{Briefing, Opinion, Planner, Revision};
use super::proposal::{Focus, Proposal};
use super::scripted::{Change, LITTLE, Scripted, changed, planner};

/// The planner of two passes.
///
/// # Examples
/// ```rust
/// use posttrain::ft::{Manual, Planner};
///
/// let planner: Box<dyn Planner> = Box::new(Manual);
/// # drop(planner);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Manual;

/// What the second pass changes after the first.
fn refinement(first: &Experiment) -> Change {
    match &first.outcome {
        ExperimentOutcome::Evaluated { losses: Some((begin, end)), .. } if end / begin > LITTLE => {
            Change::MoreEpochs
        }
        ExperimentOutcome::Evaluated { .. } | ExperimentOutcome::Rejected { .. } => {
            Change::LowerRate
        }
    }
}

impl Planner for Manual {
    fn propose(&mut self, briefing: &Briefing<'_>) -> Result<Proposal, StageError> {
        let recipe = Scripted::recipe(briefing)?;
        let over = || planner("both passes are made".to_owned());
        match briefing.experiments {
            [] => Ok(Scripted::first(briefing, recipe)),
            [first] => {
                let change = refinement(first);
                let refined = changed(&first.proposal, change, &recipe, briefing);
                let mut refined = refined.ok_or_else(over)?;
                // Data that was never trained on with success is made anew.
                let keeps = briefing.parent().is_some();
                refined.focus = if keeps { Focus::Training } else { Focus::Both };
                refined.reuse_data = keeps;
                refined.reason = format!("the second pass: {change:?}");
                Ok(refined)
            }
            _ => Err(over().into()),
        }
    }

    fn write_script(
        &mut self,
        briefing: &Briefing<'_>,
        proposal: &Proposal,
        revision: Option<Revision<'_>>,
    ) -> Result<String, StageError> {
        Scripted.write_script(briefing, proposal, revision)
    }

    fn write_config(
        &mut self,
        briefing: &Briefing<'_>,
        proposal: &Proposal,
        revision: Option<Revision<'_>>,
    ) -> Result<String, StageError> {
        Scripted.write_config(briefing, proposal, revision)
    }

    fn judge(&mut self, briefing: &Briefing<'_>, checks: &[Check]) -> Result<Opinion, StageError> {
        Scripted.judge(briefing, checks)
    }

    fn diagnose(
        &mut self,
        briefing: &Briefing<'_>,
        experiment: &Experiment,
    ) -> Result<Diagnosis, StageError> {
        Scripted.diagnose(briefing, experiment)
    }
}
