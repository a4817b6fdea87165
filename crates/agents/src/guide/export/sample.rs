//! One sample: a trajectory, and what of each turn is trained on.

use super::settings::SampleContext;
use crate::guide::ids::ConversationId;
use crate::guide::verdicts::Trained;
use crate::linear::guidance::thought_and_action;
use crate::trajectory::{Source, Trajectory};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use std::io::{BufRead as _, BufReader};

/// The version of [`Sample`] that this build reads and writes.
pub const SAMPLE_VERSION: u32 = 1;

/// A line of `samples.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Version of the format, [`SAMPLE_VERSION`] in this build.
    pub version: u32,
    /// The conversation that it is of.
    pub conversation: ConversationId,
    /// What its context is: of an export with `excise`, `quiet` where that could not be proved.
    pub context: SampleContext,
    /// What of each turn is trained on: one for each segment of the model, in order.
    pub trained: Vec<Trained>,
    /// Whether the last segment of the model is a summary that the agent wrote of the turns before it, which
    /// a segment of the prompt asks for. It is no turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_summary: bool,
    /// What the policy reads and writes. Its segments of the model are as many as `trained`, and its `turns`,
    /// too, but for a summary.
    pub trajectory: Trajectory,
}

/// A mask of token ids that would have to cut a turn apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "turn {turn} is trained on in part, and its token ids do not say where its thought ends; use its \
     text"
)]
pub struct PartMask {
    /// The turn of the sample, from 0.
    pub turn: usize,
}

impl Sample {
    /// Why it cannot be used: its version, or that its parts do not go together.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        if self.version != SAMPLE_VERSION {
            return Err(format!("version {} is not {SAMPLE_VERSION}", self.version));
        }
        let segments = self.trajectory.segments.iter();
        let written = segments.filter(|segment| segment.source == Source::Model).count();
        let (turns, trained) = (self.trajectory.turns.len(), self.trained.len());
        if (written, turns + usize::from(self.is_summary)) != (trained, trained) {
            return Err(format!(
                "`trained` has {trained} turns, and the trajectory {turns} with {written} segments of \
                 the model"
            ));
        }
        Ok(())
    }

    /// The text of each segment in pieces, each with whether it is trained on; one piece, but for a turn
    /// of which a part is trained on. Pieces of a segment are its text. The token that ends a turn goes
    /// with its last piece.
    pub fn pieces(&self) -> Vec<Vec<(&str, bool)>> {
        let mut trained = self.trained.iter();
        let segments = self.trajectory.segments.iter().map(|segment| {
            let text = segment.text.as_str();
            let of = if segment.source == Source::Model { trained.next() } else { None };
            match of.copied().unwrap_or(Trained::Nothing) {
                Trained::Whole => vec![(text, true)],
                Trained::Nothing => vec![(text, false)],
                part => {
                    let (thought, action) = thought_and_action(text);
                    vec![(thought, part.thought()), (action, part.action())]
                }
            }
        });
        segments.collect()
    }

    /// For each id of [`Trajectory::ids`], whether it is trained on. The token that ends a turn is the
    /// last id of its segment.
    ///
    /// # Errors
    /// [`PartMask`] if a turn with ids is trained on in part.
    pub fn mask(&self) -> Result<Vec<bool>, PartMask> {
        let mut mask = Vec::new();
        let mut turn = 0;
        for segment in &self.trajectory.segments {
            let is_trained = if segment.source == Source::Model {
                let of = self.trained.get(turn).copied().unwrap_or(Trained::Nothing);
                let is_whole = of == Trained::Whole;
                if !is_whole && of != Trained::Nothing && !segment.ids.is_empty() {
                    return Err(PartMask { turn });
                }
                turn += 1;
                is_whole
            } else {
                false
            };
            mask.resize(mask.len() + segment.ids.len(), is_trained);
        }
        Ok(mask)
    }
}

/// Why samples could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The file could not be read.
    #[error("failed to read samples")]
    Io(#[from] std::io::Error),
    /// A line that is no sample.
    #[error("`{path}` line {line} is no sample of version {SAMPLE_VERSION}: {why}")]
    Line {
        /// The file.
        path: Utf8PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

/// Reads the samples of an export: those of `samples.jsonl` in its folder.
///
/// # Errors
/// [`SampleError`].
pub fn read_samples(folder: &Utf8Path) -> Result<Vec<Sample>, SampleError> {
    let path = folder.join(super::write::SAMPLES);
    let mut samples = Vec::new();
    for (number, line) in (1..).zip(BufReader::new(fs_err::File::open(&path)?).lines()) {
        let sample = serde_json::from_str::<Sample>(&line?).map_err(|error| error.to_string());
        let sample = sample.and_then(|sample| sample.check().map(|()| sample));
        samples.push(sample.map_err(|why| SampleError::Line {
            path: path.clone(),
            line: number,
            why,
        })?);
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::Segment;
    use proptest::prelude::*;
    use serde_json::json;

    fn sample(turns: &[(Trained, usize)]) -> Sample {
        let record = json!({"tool": "score", "has_thought": true, "outcome": null, "seconds": 0.0});
        let mut trajectory: Trajectory = serde_json::from_value(json!({
            "version": 2, "task": "t", "agent": "a", "attempt": 0, "guided": true,
            "segments": [{"source": "prompt", "text": "p", "ids": [1, 2]}],
            "turns": vec![record; turns.len()],
            "ending": "answered", "timed_out": false,
            "outcome": {"mle": {"grade": null, "refusal": null}},
            "reward": {"format": 0.0, "execution": 0.0, "tier": 0.0},
        }))
        .unwrap();
        for (_, ids) in turns {
            let model = Segment::text(Source::Model, "<think>a</think>\nb");
            trajectory.segments.push(Segment { ids: vec![3; *ids], ..model });
            let guide = Segment::text(Source::Guide, "Look.");
            trajectory.segments.push(Segment { ids: vec![4; *ids % 3], ..guide });
        }
        Sample {
            version: SAMPLE_VERSION,
            conversation: "run".parse().unwrap(),
            context: SampleContext::Keep,
            trained: turns.iter().map(|(trained, _)| *trained).collect(),
            is_summary: false,
            trajectory,
        }
    }

    #[test]
    fn mask_and_pieces_are_of_what_is_trained_on() {
        let whole = sample(&[(Trained::Whole, 2), (Trained::Nothing, 1)]);
        // Prompt, turn, advice, turn, advice.
        assert_eq!(whole.mask().unwrap(), [false, false, true, true, false, false, false, false]);
        let parts = sample(&[(Trained::Thought, 0), (Trained::Action, 0)]);
        let turns: Vec<_> = parts.pieces().into_iter().skip(1).step_by(2).collect();
        let thought = "<think>a</think>";
        assert_eq!(turns[0], [(thought, true), ("\nb", false)]);
        assert_eq!(turns[1], [(thought, false), ("\nb", true)]);
        let refused = sample(&[(Trained::Whole, 1), (Trained::Action, 1)]).mask();
        assert_eq!(refused, Err(PartMask { turn: 1 }));
    }

    #[test]
    fn sample_whose_parts_do_not_go_together_is_refused() {
        let good = sample(&[(Trained::Whole, 1)]);
        good.check().unwrap();
        let more = Sample { trained: vec![Trained::Whole; 2], ..good.clone() };
        assert!(more.check().unwrap_err().contains("`trained` has 2 turns"));
        let summary = Sample { is_summary: true, ..good.clone() };
        assert!(summary.check().is_err(), "the last segment of the model is a turn");
        assert!(Sample { version: 9, ..good }.check().is_err());
    }

    proptest! {
        #[test]
        fn mask_is_as_long_as_the_ids_and_pieces_are_the_text(
            turns in prop::collection::vec((0_u8..4, 0_usize..4), 0..6),
        ) {
            let kinds = [Trained::Whole, Trained::Nothing, Trained::Thought, Trained::Action];
            let turns: Vec<_> = turns.iter().map(|(kind, ids)| (kinds[usize::from(*kind)], *ids)).collect();
            let sample = sample(&turns);
            prop_assert!(sample.check().is_ok());
            for (segment, pieces) in sample.trajectory.segments.iter().zip(sample.pieces()) {
                let text: String = pieces.iter().map(|(text, _)| *text).collect();
                prop_assert_eq!(&text, &segment.text);
                let is_trained = pieces.iter().any(|(_, trained)| *trained);
                prop_assert!(segment.source == Source::Model || !is_trained);
            }
            if let Ok(mask) = sample.mask() {
                let ids = sample.trajectory.ids();
                prop_assert_eq!(mask.len(), ids.len());
                // Only what the model wrote is trained on, never more than its own mask says.
                for (trained, sampled) in mask.iter().zip(sample.trajectory.mask()) {
                    prop_assert!(sampled || !trained);
                }
            }
        }
    }
}
