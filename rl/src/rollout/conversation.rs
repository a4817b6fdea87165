//! The conversation of one episode: all segments, and those still in the policy's context.

use agents::overflow::{SeenTurn, surplus};
use agents::prompt::Prompt;
use agents::trajectory::{Omission, Segment, TurnRecord};
use std::time::Instant;

/// A prompt is recorded as two segments: the system message, and the task.
const PROMPT_SEGMENTS: usize = 2;

/// A conversation while it is played.
pub(super) struct RolloutConversation {
    pub(super) prompt: Prompt,
    pub(super) ids: Vec<i64>,
    pub(super) segments: Vec<Segment>,
    pub(super) omissions: Vec<Omission>,
    pub(super) context: Vec<i64>,
    /// Whether the generator has it.
    pub(super) is_open: bool,
    pub(super) turns: u64,
    /// The number of sampled tokens.
    pub(super) sampled_tokens: usize,
    /// When the first token was sampled; `None` before that.
    pub(super) began: Option<Instant>,
}

impl RolloutConversation {
    /// Segments that the policy still sees.
    pub(super) fn seen(&self) -> Vec<usize> {
        let omitted =
            |index: &usize| self.omissions.iter().any(|omission| omission.segments.contains(index));
        (0..self.segments.len()).filter(|index| !omitted(index)).collect()
    }

    /// Tokens of these segments.
    pub(super) fn tokens(&self, segments: &[usize]) -> usize {
        segments.iter().map(|index| self.segments[*index].ids.len()).sum()
    }

    /// What to take away so that `room` tokens at most stay: turns that failed, oldest first; if
    /// that is not enough, all but the last.
    pub(super) fn surplus(&self, records: &[TurnRecord], room: usize) -> Vec<usize> {
        let seen = self.seen();
        let (opening, turns) = seen.split_at(PROMPT_SEGMENTS);
        // After the two of the prompt, turns and answers follow each other.
        let pairs: Vec<&[usize]> = turns.chunks_exact(2).collect();
        let turns: Vec<SeenTurn> = pairs
            .iter()
            .map(|pair| SeenTurn {
                tokens: self.tokens(pair),
                failed: records
                    .get((pair[0] - PROMPT_SEGMENTS) / 2)
                    .is_some_and(TurnRecord::failed),
            })
            .collect();
        let surplus = surplus(self.tokens(opening), &turns, room);
        surplus.into_iter().flat_map(|turn| pairs[turn].iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::trajectory::{Source, Tool};
    use jail::exec::Outcome;

    /// A prompt of 10 tokens, and turns of 4 with answers of 6, of which some failed.
    fn conversation(failed: &[bool]) -> (RolloutConversation, Vec<TurnRecord>) {
        let segment =
            |source, tokens| Segment { ids: vec![0; tokens], ..Segment::text(source, "") };
        let mut segments = vec![segment(Source::Prompt, 0), segment(Source::Prompt, 10)];
        for _ in failed {
            segments.extend([segment(Source::Model, 4), segment(Source::Environment, 6)]);
        }
        let record = |failed: &bool| TurnRecord {
            tool: Tool::Python,
            has_thought: true,
            outcome: Some(if *failed { Outcome::TimedOut } else { Outcome::Finished }),
            seconds: 1.0,
            cached: false,
        };
        let conversation = RolloutConversation {
            prompt: Prompt { system: String::new(), user: String::new(), data: None },
            ids: Vec::new(),
            segments,
            omissions: Vec::new(),
            context: Vec::new(),
            is_open: false,
            turns: failed.len() as u64,
            sampled_tokens: 4 * failed.len(),
            began: None,
        };
        (conversation, failed.iter().map(record).collect())
    }

    #[test]
    fn failed_turns_are_omitted_first_and_the_last_turn_never() {
        let (mut long, records) = conversation(&[false, true, false, true, true]);
        let mut surplus = |room, omissions: &[&[usize]]| {
            let omission =
                |segments: &&[usize]| Omission { before: 12, segments: segments.to_vec() };
            long.omissions = omissions.iter().map(omission).collect();
            long.surplus(&records, room)
        };
        assert_eq!(surplus(60, &[]), [0; 0]);
        assert_eq!(surplus(59, &[]), [4, 5], "the oldest that failed");
        assert_eq!(surplus(45, &[]), [4, 5, 8, 9]);
        assert_eq!(surplus(45, &[&[4, 5]]), [8, 9], "what is hidden already is not counted");
        // The last failed too, but it is what the policy is to answer.
        let all_but_last: Vec<usize> = (2..10).collect();
        assert_eq!(surplus(39, &[]), all_but_last);
        assert_eq!(surplus(1, &[]), all_but_last);
        assert_eq!(surplus(39, &[&[4, 5], &[8, 9]]), [2, 3, 6, 7]);
        let (short, records) = conversation(&[true]);
        assert_eq!(short.surplus(&records, 5), [0; 0]);
    }
}
