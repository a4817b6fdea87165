//! Credit for single turns: verdicts on turns decide which of them an episode's advantage reaches.
//!
//! `trajectory, verdicts, advantage -> the tokens that are trained on`
//!
//! A good end does not praise a bad step. The mask is made from the verdicts when a batch is made, and
//! stored nowhere. It is made twice, in two ways that share nothing but the verdicts, and compared.

use crate::text::tokenizer::signed_ids;
use crate::train::batch::TrainSequence;
use agents::guide::event::{TurnPart, Verdict};
use agents::guide::verdicts::{Trained, VerdictRecord, VerdictSource, Verdicts};
use agents::trajectory::{Source, Trajectory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which turns an episode's advantage reaches. A turn leaves the loss whole, with the token that ends it,
/// or not at all: verdicts on a part of a turn do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Credit {
    /// All of them.
    #[default]
    Off,
    /// A positive one reaches no turn that is dropped.
    Drop,
    /// The same, and a negative one reaches no turn that a person kept.
    Signed,
}

impl Credit {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_off(&self) -> bool {
        *self == Self::Off
    }

    /// Whether a turn leaves the loss of an episode with this advantage.
    fn spares(self, verdicts: &Verdicts, turn: u32, advantage: f64) -> bool {
        match self {
            Self::Drop | Self::Signed if advantage > 0.0 => {
                verdicts.trained(turn) == Trained::Nothing
            }
            Self::Signed if advantage < 0.0 => {
                let keeps = |part| {
                    verdicts.person(turn, part).is_some_and(|by| by.verdict == Verdict::Keep)
                };
                keeps(TurnPart::Thought) && keeps(TurnPart::Action)
            }
            Self::Off | Self::Drop | Self::Signed => false,
        }
    }
}

/// What of an episode is trained on.
#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    /// Its tokens with their loss mask.
    pub sample: TrainSequence,
    /// The sampler's log-probabilities of the tokens that are trained on, in nats.
    pub log_probs: Vec<f32>,
    /// How many sampled tokens are not, because their turns leave the loss.
    pub dropped: usize,
}

/// A loss mask that is not what the verdicts say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MaskFault {
    /// The first token whose mask is wrong, by its place among all tokens.
    pub(super) token: usize,
}

impl Lesson {
    /// Of an episode with this advantage.
    pub fn new(
        trajectory: &Trajectory,
        verdicts: &Verdicts,
        credit: Credit,
        advantage: f64,
    ) -> Self {
        let (mut sample, mut log_probs) = (TrainSequence::default(), Vec::new());
        let (mut turn, mut dropped) = (0, 0);
        for segment in &trajectory.segments {
            let ids = signed_ids(&segment.ids);
            let is_sampled = segment.source == Source::Model;
            let is_trained = is_sampled && !credit.spares(verdicts, turn, advantage);
            sample.push(&ids, is_trained);
            if is_trained {
                log_probs.extend_from_slice(&segment.log_probs);
            } else if is_sampled {
                dropped += ids.len();
            }
            turn += u32::from(is_sampled);
        }
        Self { sample, log_probs, dropped }
    }

    /// Compares the mask with one that is made another way: from the runs of sampled tokens in
    /// [`Trajectory::mask`], each of which is a turn, and the verdict that counts on each of its parts.
    ///
    /// # Errors
    /// [`MaskFault`].
    pub(super) fn check(
        &self,
        trajectory: &Trajectory,
        verdicts: &Verdicts,
        credit: Credit,
        advantage: f64,
    ) -> Result<(), MaskFault> {
        let mut expected = trajectory.mask();
        let (mut turn, mut at, mut spared) = (0, 0, 0);
        while let Some(start) = expected[at..].iter().position(|sampled| *sampled) {
            let start = at + start;
            let length = expected[start..].iter().take_while(|sampled| **sampled).count();
            let effective =
                [TurnPart::Thought, TurnPart::Action].map(|part| verdicts.effective(turn, part));
            let of_person = |by: &VerdictRecord| matches!(by.by, VerdictSource::Person(_));
            let leaves = if advantage > 0.0 {
                !credit.is_off() && effective.iter().all(|of| !of.is_kept)
            } else if advantage < 0.0 {
                credit == Credit::Signed
                    && effective.iter().all(|of| of.is_kept && of.by.is_some_and(of_person))
            } else {
                false
            };
            if leaves {
                expected[start..start + length].fill(false);
                spared += length;
            }
            (turn, at) = (turn + 1, start + length);
        }
        let mask = &self.sample.trained;
        if let Some(token) = (0..expected.len().max(mask.len()))
            .find(|token| expected.get(*token) != mask.get(*token))
        {
            return Err(MaskFault { token });
        }
        let kept = mask.iter().filter(|trained| **trained).count();
        if (self.dropped, self.log_probs.len()) != (spared, kept) {
            return Err(MaskFault { token: mask.len() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::guide::verdicts::{Rule, TrajectoryKey, VERDICTS_VERSION};
    use proptest::prelude::*;
    use serde_json::json;

    /// A prompt of two tokens, and turns of so many tokens, each but the last with an observation.
    fn episode(turns: &[usize]) -> Trajectory {
        let mut segments = vec![json!({"source": "prompt", "text": "", "ids": [1, 2]})];
        for (number, length) in turns.iter().enumerate() {
            let ids: Vec<usize> = (0..*length).map(|token| 10 * (number + 1) + token).collect();
            let log_probs = vec![-0.5; *length];
            segments
                .push(json!({"source": "model", "text": "", "ids": ids, "log_probs": log_probs}));
            if number + 1 < turns.len() {
                segments.push(json!({"source": "environment", "text": "", "ids": [3]}));
            }
        }
        let record = json!({"tool": "score", "has_thought": true, "outcome": null, "seconds": 0.0});
        serde_json::from_value(json!({
            "version": 2, "task": "t", "agent": "a", "attempt": 0, "segments": segments,
            "turns": vec![record; turns.len()], "ending": "answered", "timed_out": false,
            "outcome": {"mle": {"grade": null, "refusal": null}},
            "reward": {"format": 0.0, "execution": 0.0, "tier": 0.0},
        }))
        .unwrap()
    }

    fn record(turn: u32, by: VerdictSource, part: TurnPart, verdict: Verdict) -> VerdictRecord {
        VerdictRecord {
            version: VERDICTS_VERSION,
            trajectory: TrajectoryKey {
                task: tasks::task::TaskId::new("t").unwrap(),
                agent: "a".to_owned(),
                attempt: 0,
            },
            turn,
            part,
            verdict,
            by,
            reason: String::new(),
            seq: 1,
        }
    }

    fn dropped(turns: &[u32]) -> Verdicts {
        let rule = |&turn: &u32| {
            record(turn, VerdictSource::Rule(Rule::Raised), TurnPart::Turn, Verdict::Drop)
        };
        Verdicts::new(turns.iter().map(rule).collect())
    }

    fn person(turn: u32, part: TurnPart, verdict: Verdict) -> VerdictRecord {
        record(turn, VerdictSource::Person("ann".to_owned()), part, verdict)
    }

    /// The ids that are trained on.
    fn trained(lesson: &Lesson) -> Vec<i64> {
        let sample = &lesson.sample;
        let kept = sample.ids.iter().zip(&sample.trained).filter(|(_, trained)| **trained);
        kept.map(|(id, _)| *id).collect()
    }

    #[test]
    fn good_end_does_not_praise_a_dropped_turn_and_a_bad_one_blames_all() {
        let (episode, verdicts) = (episode(&[2, 2]), dropped(&[0]));
        let all = [10, 11, 20, 21];
        for (credit, advantage, expected) in [
            (Credit::Off, 1.0, &all[..]),
            (Credit::Drop, 1.0, &all[2..]),
            (Credit::Signed, 1.0, &all[2..]),
            (Credit::Drop, -1.0, &all),
            (Credit::Signed, -1.0, &all),
            (Credit::Drop, 0.0, &all),
        ] {
            let lesson = Lesson::new(&episode, &verdicts, credit, advantage);
            assert_eq!(trained(&lesson), expected, "{credit:?} {advantage}");
            assert_eq!(lesson.log_probs.len(), expected.len());
            assert_eq!(lesson.dropped, 4 - expected.len());
            lesson.check(&episode, &verdicts, credit, advantage).unwrap();
        }
    }

    #[test]
    fn bad_end_does_not_blame_what_a_person_kept() {
        use TurnPart::{Action, Thought, Turn};
        let episode = episode(&[1, 1, 1, 1]);
        // A rule finds the first, and a person keeps it; the second is kept whole, the third in part, the
        // last is dropped.
        let mut records = dropped(&[0]).records().to_vec();
        records.extend([
            person(0, Turn, Verdict::Keep),
            person(1, Turn, Verdict::Keep),
            person(2, Thought, Verdict::Keep),
            person(2, Action, Verdict::Drop),
            person(3, Turn, Verdict::Drop),
        ]);
        let verdicts = Verdicts::new(records);
        for (credit, advantage, expected) in [
            (Credit::Drop, 1.0, &[10, 20, 30][..]),
            (Credit::Signed, 1.0, &[10, 20, 30]),
            (Credit::Drop, -1.0, &[10, 20, 30, 40]),
            (Credit::Signed, -1.0, &[30, 40]),
        ] {
            let lesson = Lesson::new(&episode, &verdicts, credit, advantage);
            assert_eq!(trained(&lesson), expected, "{credit:?} {advantage}");
            lesson.check(&episode, &verdicts, credit, advantage).unwrap();
        }
    }

    #[test]
    fn planted_faults_of_a_mask_are_caught() {
        let (episode, verdicts) = (episode(&[2, 3, 2]), dropped(&[1]));
        let lesson = Lesson::new(&episode, &verdicts, Credit::Drop, 1.0);
        let faulty = |change: &dyn Fn(&mut Vec<bool>)| {
            let mut lesson = lesson.clone();
            change(&mut lesson.sample.trained);
            let found = lesson.check(&episode, &verdicts, Credit::Drop, 1.0);
            found.map_err(|fault| fault.token)
        };
        // Tokens: 2 of the prompt, 2, 1, 3 dropped, 1, 2.
        assert_eq!(faulty(&|_| ()), Ok(()));
        let invert =
            |mask: &mut Vec<bool>| mask.iter_mut().for_each(|trained| *trained = !*trained);
        assert_eq!(faulty(&invert), Err(0));
        // Inverted among sampled tokens alone: the dropped turn is trained on, and no other.
        let swap = |mask: &mut Vec<bool>| {
            let sampled = episode.mask();
            mask.iter_mut().zip(sampled).filter(|(_, sampled)| *sampled).for_each(
                |(trained, _)| {
                    *trained = !*trained;
                },
            );
        };
        assert_eq!(faulty(&swap), Err(2));
        // The token that ends the dropped turn is trained on; that of a kept one is not; the first token
        // of a turn is not; an observation is.
        assert_eq!(faulty(&|mask| mask[7] = true), Err(7));
        assert_eq!(faulty(&|mask| mask[3] = false), Err(3));
        assert_eq!(faulty(&|mask| mask[9] = false), Err(9));
        assert_eq!(faulty(&|mask| mask[8] = true), Err(8));
        // All of it moved by one.
        assert_eq!(faulty(&|mask| mask.rotate_right(1)), Err(0));
        assert_eq!(faulty(&|mask| mask.truncate(10)), Err(10));
        // A mask of the other sign.
        let other = Lesson::new(&episode, &verdicts, Credit::Drop, -1.0);
        assert_eq!(
            other.check(&episode, &verdicts, Credit::Drop, 1.0),
            Err(MaskFault { token: 5 })
        );
    }

    proptest! {
        #[test]
        fn both_ways_give_the_same_mask(
            turns in prop::collection::vec(1_usize..4, 1..6),
            drawn in prop::collection::vec((0_u32..6, 0_usize..4, 0_usize..3), 0..8),
            sign in 0_usize..3,
        ) {
            let parts = [TurnPart::Turn, TurnPart::Thought, TurnPart::Action];
            let records = (1..).zip(drawn).map(|(seq, (turn, who, part))| {
                let rule = VerdictSource::Rule(Rule::Repeated);
                let made = match who {
                    0 => record(turn, rule, TurnPart::Turn, Verdict::Drop),
                    1 => person(turn, parts[part], Verdict::Drop),
                    2 => person(turn, parts[part], Verdict::Keep),
                    _ => person(turn, parts[part], Verdict::Undecided),
                };
                VerdictRecord { seq, ..made }
            });
            let (episode, verdicts) = (episode(&turns), Verdicts::new(records.collect()));
            let advantage = [-1.0, 0.0, 1.0][sign];
            for credit in [Credit::Off, Credit::Drop, Credit::Signed] {
                let lesson = Lesson::new(&episode, &verdicts, credit, advantage);
                prop_assert_eq!(lesson.check(&episode, &verdicts, credit, advantage), Ok(()));
                let sampled: usize = turns.iter().sum();
                prop_assert_eq!(lesson.sample.trained_count() + lesson.dropped, sampled);
            }
            let plain = Lesson::new(&episode, &verdicts, Credit::Off, advantage);
            let (sample, log_probs) = TrainSequence::from_rollout(&episode).remove(0);
            prop_assert_eq!(plain, Lesson { sample, log_probs, dropped: 0 });
        }
    }
}
