//! Who decides what to try: the interface between the loop and a planner.

use super::check::{Check, Rejection};
use super::diagnosis::{Diagnosis, Evaluated};
use super::experiment::{Experiment, best_of};
use super::fault::StageError;
use super::form::AnswerForm;
use super::proposal::Proposal;
use super::schema::TrainerSchema;
use super::settings::CheckedFtSettings;
use super::teacher::Teachers;
use crate::dojo::DatasetInfo;
use serde::{Deserialize, Serialize};
use worlds::TaskSpec;

/// What a planner knows. Nothing of it is sealed.
#[derive(Debug, Clone, Copy)]
pub struct Briefing<'a> {
    /// The task.
    pub task: &'a TaskSpec,
    /// What the scorer asks for.
    pub form: &'a AnswerForm,
    /// The raw data.
    pub pool: &'a DatasetInfo,
    /// The settings of the trainer.
    pub schema: &'a TrainerSchema,
    /// Limits and thresholds.
    pub settings: &'a CheckedFtSettings,
    /// The models that scripts may ask.
    pub teachers: &'a Teachers,
    /// The scores of the base.
    pub baseline: &'a Evaluated,
    /// The experiments so far, in order.
    pub experiments: &'a [Experiment],
    /// The seed of the run.
    pub seed: u64,
}

impl<'a> Briefing<'a> {
    /// The experiment that the next one is made from: the best one.
    pub fn parent(&self) -> Option<&'a Experiment> {
        best_of(self.experiments)
    }

    /// Other experiments that were made from it.
    pub fn siblings(&self) -> impl Iterator<Item = &'a Experiment> + use<'a> {
        let parent = self.parent().map(|parent| parent.number);
        self.experiments.iter().filter(move |experiment| experiment.parent == parent)
    }
}

/// What is to be mended in the next draft of a proposal.
#[derive(Debug, Clone, Copy)]
pub struct Revision<'a> {
    /// The draft before.
    pub text: &'a str,
    /// Why it was rejected.
    pub rejection: &'a Rejection,
    /// What the planner itself said of it.
    pub opinion: Option<&'a Opinion>,
}

/// What a planner says of the stages of an experiment. It explains, and decides nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opinion {
    /// What happened.
    pub execution: String,
    /// Whether what was written is what was asked for.
    pub return_checking: String,
    /// What there is to say of the script.
    pub code: String,
    /// Whether it thinks that the work is good.
    pub final_decision: bool,
}

/// Who decides what to try. What is returned is checked by code before anything depends on it. A rejection
/// ends the experiment as one of the planner's; a fault, such as a model that cannot be reached, ends the
/// program, and the run can go on later.
pub trait Planner {
    /// What to try next.
    ///
    /// # Errors
    /// A rejection of the class `PLANNER` if there is no usable answer; a fault if none can be had.
    fn propose(&mut self, briefing: &Briefing<'_>) -> Result<Proposal, StageError>;

    /// The script that makes the data of a proposal; `revision` is the draft before, if there was one.
    ///
    /// # Errors
    /// As [`Planner::propose`].
    fn write_script(
        &mut self,
        briefing: &Briefing<'_>,
        proposal: &Proposal,
        revision: Option<Revision<'_>>,
    ) -> Result<String, StageError>;

    /// The settings of a proposal, as TOML.
    ///
    /// # Errors
    /// As [`Planner::propose`].
    fn write_config(
        &mut self,
        briefing: &Briefing<'_>,
        proposal: &Proposal,
        revision: Option<Revision<'_>>,
    ) -> Result<String, StageError>;

    /// What it thinks of the stages of a draft.
    ///
    /// # Errors
    /// As [`Planner::propose`].
    fn judge(&mut self, briefing: &Briefing<'_>, checks: &[Check]) -> Result<Opinion, StageError>;

    /// What it thinks of an experiment that has ended.
    ///
    /// # Errors
    /// As [`Planner::propose`].
    fn diagnose(
        &mut self,
        briefing: &Briefing<'_>,
        experiment: &Experiment,
    ) -> Result<Diagnosis, StageError>;
}
