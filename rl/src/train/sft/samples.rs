//! Examples as tokens.

use super::error::SftError;
use super::example::NamedExample;
use super::settings::SftSettings;
use crate::text::template::ChatTemplate;
use crate::text::tokenizer::Tokenizer;
use crate::train::batch::TrainSequence;
use crate::train::choice::{Chosen, LeftOut};

/// Examples as tokens.
#[derive(Debug)]
pub(super) struct Samples {
    /// What is imitated.
    pub(super) train: Vec<TrainSequence>,
    /// What the loss is measured on.
    pub(super) held_out: Vec<TrainSequence>,
    /// What is too long, of both.
    pub(super) left_out: Vec<LeftOut>,
}

impl Samples {
    /// Lays out `examples`.
    ///
    /// # Errors
    /// [`SftError`] if an example cannot be laid out, or nothing is left of a part.
    pub(super) fn new(
        examples: &Chosen<NamedExample>,
        settings: &SftSettings,
        template: &ChatTemplate<&Tokenizer>,
    ) -> Result<Self, SftError> {
        let mut left_out = Vec::new();
        let mut fitting = |examples: &[NamedExample]| {
            let mut samples = Vec::new();
            for NamedExample { name, example } in examples {
                let mut sample = example.sequence(template)?;
                if !settings.assistant_only_loss {
                    sample.trained.fill(true);
                }
                let tokens = sample.ids.len();
                if tokens <= settings.context {
                    samples.push(sample);
                } else {
                    left_out.push(LeftOut { example: name.clone(), tokens });
                }
            }
            Ok::<_, SftError>(samples)
        };
        let (train, held_out) = (fitting(&examples.train)?, fitting(&examples.held_out)?);
        if train.is_empty() || (held_out.is_empty() && !examples.held_out.is_empty()) {
            return Err(SftError::NothingFits(settings.context));
        }
        Ok(Self { train, held_out, left_out })
    }
}
