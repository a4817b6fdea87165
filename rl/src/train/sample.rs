//! Trajectories as the trainer sees them: tokens, and which of them it learns from.

use crate::text::template::{Template, TemplateError};
use crate::text::tokenizer::Tokenizer;
use crate::train::batch::Sample;
use agents::trajectory::{Source, Trajectory, TurnRecord};

/// A sampled trajectory as the trainer sees it, with the log-probabilities of its trained tokens.
pub fn sampled(trajectory: &Trajectory) -> (Sample, Vec<f32>) {
    let (mut sample, mut log_probs) = (Sample::default(), Vec::new());
    for segment in &trajectory.segments {
        let ids: Vec<i64> = segment.ids.iter().copied().map(i64::from).collect();
        sample.push(&ids, segment.source == Source::Model);
        log_probs.extend_from_slice(&segment.log_probs);
    }
    (sample, log_probs)
}

/// A text-only trajectory laid out as if the policy had said it, for imitation.
///
/// # Errors
/// [`TemplateError`] if the template does not take it, or its text cannot be encoded.
pub fn spoken(
    trajectory: &Trajectory,
    template: &Template<&Tokenizer>,
) -> Result<Sample, TemplateError> {
    let mut sample = Sample::default();
    let mut prompt = trajectory.segments.iter().filter(|segment| segment.source == Source::Prompt);
    let system = prompt.next().map_or("", |segment| &segment.text);
    let user = prompt.next().map_or("", |segment| &segment.text);
    sample.push(&template.prompt(system, user)?, false);
    let mut turns = trajectory.turns.iter();
    for segment in &trajectory.segments {
        match segment.source {
            Source::Prompt => (),
            // What failed is there to be recovered from, not to be imitated.
            Source::Model => {
                let failed = turns.next().is_some_and(TurnRecord::failed);
                sample.push(&template.answer(&segment.text)?, !failed);
            }
            Source::Environment => {
                sample.push(&template.observation(&segment.text)?, false);
            }
            Source::Guide => return Err(TemplateError::Guidance),
        }
    }
    Ok(sample)
}
