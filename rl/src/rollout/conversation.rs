//! The conversation of one episode: all segments, and those still in the policy's context.

use agents::guide::ids::ConversationId;
use agents::overflow::{SeenTurn, surplus};
use agents::prompt::Prompt;
use agents::trajectory::{Guidance, Omission, Segment, Source, TurnRecord};
use std::time::Instant;

/// A conversation while it is played.
pub(super) struct RolloutConversation {
    pub(super) prompt: Prompt,
    pub(super) ids: Vec<i64>,
    pub(super) segments: Vec<Segment>,
    pub(super) omissions: Vec<Omission>,
    /// What people advised, in order; `None` where nobody may.
    pub(super) guidance: Option<Vec<Guidance>>,
    /// The name of the conversation with people, once it has one.
    pub(super) guide: Option<ConversationId>,
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

    /// The tokens that the policy still sees. Where a turn was left out and advice that came after it
    /// stays, the invitation to that turn goes as well, which `invitation` are the tokens of.
    pub(super) fn seen_ids(&self, invitation: &[i64]) -> Vec<i64> {
        let seen = self.seen();
        let mut ids = Vec::with_capacity(self.tokens(&seen));
        for (place, &index) in seen.iter().enumerate() {
            let of_segment = &self.segments[index].ids;
            let source = |index: usize| self.segments.get(index).map(|segment| segment.source);
            let invites = source(index + 1) == Some(Source::Model);
            let next = seen.get(place + 1).and_then(|&next| source(next));
            let is_idle = invites && next == Some(Source::Guide);
            let length = of_segment.len() - if is_idle { invitation.len() } else { 0 };
            ids.extend(of_segment[..length].iter().copied().map(i64::from));
        }
        ids
    }

    /// The turns, from 0, that the policy does not see any more.
    pub(super) fn left_out(&self) -> Vec<u32> {
        let omitted = self.omissions.iter().flat_map(|omission| &omission.segments);
        let turns = omitted.filter(|index| self.segments[**index].source == Source::Model);
        let mut turns: Vec<u32> = turns
            .map(|index| u32::try_from(self.turn_of(*index)).expect("fewer than 2^32 turns"))
            .collect();
        turns.sort_unstable();
        turns
    }

    /// The number of the turn in the segment `index`.
    fn turn_of(&self, index: usize) -> usize {
        let before = self.segments[..index].iter();
        before.filter(|segment| segment.source == Source::Model).count()
    }

    /// What to take away so that `room` tokens at most stay: turns that failed with their observations,
    /// oldest first; if that is not enough, all but the last. Advice stays.
    pub(super) fn surplus(&self, records: &[TurnRecord], room: usize) -> Vec<usize> {
        let (mut fixed, mut turns): (usize, Vec<(SeenTurn, Vec<usize>)>) = (0, Vec::new());
        for index in self.seen() {
            let tokens = self.segments[index].ids.len();
            match (self.segments[index].source, turns.last_mut()) {
                (Source::Model, _) => {
                    let record = records.get(self.turn_of(index));
                    let failed = record.is_some_and(TurnRecord::failed);
                    turns.push((SeenTurn { tokens, failed }, vec![index]));
                }
                (Source::Environment, Some((turn, segments))) => {
                    turn.tokens += tokens;
                    segments.push(index);
                }
                (Source::Prompt | Source::Guide, _) | (Source::Environment, None) => {
                    fixed += tokens;
                }
            }
        }
        let (turns, segments): (Vec<SeenTurn>, Vec<Vec<usize>>) = turns.into_iter().unzip();
        let surplus = surplus(fixed, &turns, room);
        surplus.into_iter().flat_map(|turn| segments[turn].iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::trajectory::Tool;
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
            guidance: None,
            guide: None,
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

    #[test]
    fn advice_stays_where_its_turn_is_omitted_and_nothing_invites_to_that_turn() {
        let (mut long, records) = conversation(&[true, false, false]);
        let segment = |source, ids: Vec<u32>| Segment { ids, ..Segment::text(source, "") };
        // Invitations are the token 9. The first turn is advised twice, the last one once.
        long.segments = vec![
            segment(Source::Prompt, vec![]),
            segment(Source::Prompt, vec![1, 9]),
            segment(Source::Model, vec![2, 3]),
            segment(Source::Environment, vec![4]),
            segment(Source::Guide, vec![5]),
            segment(Source::Guide, vec![6, 9]),
            segment(Source::Model, vec![2]),
            segment(Source::Environment, vec![4, 9]),
            segment(Source::Model, vec![2, 2]),
            segment(Source::Environment, vec![4, 4]),
            segment(Source::Guide, vec![7, 9]),
        ];
        assert_eq!(long.seen_ids(&[9]), [1, 9, 2, 3, 4, 5, 6, 9, 2, 4, 9, 2, 2, 4, 4, 7, 9]);
        assert_eq!(long.surplus(&records, 17), [0; 0]);
        assert_eq!(long.surplus(&records, 16), [2, 3], "the one that failed");
        let omit = |segments: &[usize]| Omission { before: 11, segments: segments.to_vec() };
        long.omissions = vec![omit(&[2, 3])];
        assert_eq!(long.seen_ids(&[9]), [1, 5, 6, 9, 2, 4, 9, 2, 2, 4, 4, 7, 9]);
        assert_eq!((long.left_out(), long.surplus(&records, 14)), (vec![0], vec![]));
        assert_eq!(long.surplus(&records, 13), [6, 7], "all but the last");
        long.omissions.push(omit(&[6, 7]));
        assert_eq!(long.seen_ids(&[9]), [1, 5, 6, 9, 2, 2, 4, 4, 7, 9]);
        long.omissions.push(omit(&[8, 9]));
        assert_eq!(long.seen_ids(&[9]), [1, 5, 6, 7, 9]);
        assert_eq!(long.left_out(), [0, 1, 2]);
    }
}
