//! The conversation of one episode: all segments, and those still in the policy's context.

use super::unsigned;
use agents::guide::guidance::DeliveredGuidance;
use agents::guide::ids::ConversationId;
use agents::guide::turn::TurnSummary;
use agents::overflow::{SeenTurn, surplus};
use agents::prompt::Prompt;
use agents::summary::REQUEST;
use agents::trajectory::{Guidance, Omission, Segment, Source, Summary, TurnRecord};
use std::time::Instant;

/// A conversation while it is played.
pub(super) struct RolloutConversation {
    pub(super) prompt: Prompt,
    pub(super) ids: Vec<i64>,
    pub(super) segments: Vec<Segment>,
    pub(super) omissions: Vec<Omission>,
    pub(super) summaries: Vec<Summary>,
    /// The segment before which everything was summarised; 0 before the first summary.
    pub(super) shown_from: usize,
    /// The summary that the policy is writing, in a conversation beside this one.
    pub(super) asked: Option<AskedSummary>,
    /// What people advised, in order; `None` where nobody may.
    pub(super) guidance: Option<Vec<Guidance>>,
    /// The name of the conversation with people, once it has one.
    pub(super) guide: Option<ConversationId>,
    /// The tokens of each sequence that the generator was done with.
    pub(super) contexts: Vec<Vec<i64>>,
    /// Whether the generator has it.
    pub(super) is_open: bool,
    pub(super) turns: u64,
    /// The number of sampled tokens.
    pub(super) sampled_tokens: usize,
    /// When the first token was sampled; `None` before that.
    pub(super) began: Option<Instant>,
}

/// A summary that a policy was asked for.
pub(super) struct AskedSummary {
    /// What it was asked with.
    pub(super) prompt: Vec<i64>,
    /// The segments that it will replace.
    pub(super) replaces: Vec<usize>,
    /// The first segment that will still be shown.
    pub(super) shown_from: usize,
    /// The reply that has no room before.
    pub(super) reply: LaidOutReply,
}

/// The reply to a turn, laid out at the end of the segments.
pub(super) struct LaidOutReply {
    /// Its first segment.
    pub(super) from: usize,
    /// The advice that came with it, in its segments from the second on.
    pub(super) advice: Vec<DeliveredGuidance>,
}

impl RolloutConversation {
    /// Segments that the policy still sees. What was summarised is among the omissions, but for the prompt
    /// and advice.
    pub(super) fn seen(&self) -> Vec<usize> {
        let omitted =
            |index: &usize| self.omissions.iter().any(|omission| omission.segments.contains(index));
        (0..self.segments.len()).filter(|index| !omitted(index)).collect()
    }

    /// The tokens that the policy sees of all segments before `end`, where there are summaries: those that
    /// the last one opens with, and the segments behind.
    fn ids_before(&self, end: usize) -> Vec<i64> {
        let opens = self.summaries.last().map_or(&[][..], |summary| &summary.opens);
        let later = self.segments[self.shown_from..end].iter().flat_map(|segment| &segment.ids);
        opens.iter().chain(later).copied().map(i64::from).collect()
    }

    /// The segments of the turns that are shown after the last summary, from the first one on.
    fn shown_turns(&self) -> Vec<usize> {
        (self.shown_from..self.segments.len()).filter(|&index| self.is_turn(index)).collect()
    }

    /// What asks for a summary of the older half of the turns that are shown; a single one has none, and
    /// gives back the reply that has no room. `request` are the tokens of [`REQUEST`] as a message, and
    /// `invitation` those that invite to a turn.
    pub(super) fn summary_question(
        &self,
        request: &[i64],
        invitation: &[i64],
        reply: LaidOutReply,
    ) -> Result<AskedSummary, LaidOutReply> {
        let turns = self.shown_turns();
        let Some(&shown_from) = turns.get(turns.len() / 2).filter(|_| turns.len() > 1) else {
            return Err(reply);
        };
        let replaces = (turns[0]..shown_from)
            .filter(|index| self.segments[*index].source != Source::Guide)
            .collect();
        let mut prompt = self.ids_before(shown_from);
        prompt.truncate(prompt.len() - invitation.len());
        prompt.extend_from_slice(request);
        Ok(AskedSummary { prompt, replaces, shown_from, reply })
    }

    /// Puts a summary in the place of the turns that it is of; `prompt` are the tokens of the prompt with it.
    pub(super) fn take_summary(
        &mut self,
        asked: AskedSummary,
        (text, ids, log_probs): (String, &[i64], Vec<f32>),
        prompt: &[i64],
        invitation: &[i64],
    ) -> LaidOutReply {
        let AskedSummary { prompt: question, replaces, shown_from, reply } = asked;
        let before = self.segments.len();
        self.shown_from = shown_from;
        self.omissions.push(Omission { before, segments: replaces.clone() });
        let mut opens = prompt[..prompt.len() - invitation.len()].to_vec();
        for (index, segment) in self.segments[..shown_from].iter().enumerate() {
            if segment.source == Source::Guide {
                let ids = self.uninviting(index, invitation);
                opens.extend(ids.iter().copied().map(i64::from));
            }
        }
        opens.extend_from_slice(invitation);
        self.sampled_tokens += ids.len();
        let (prompt, ids, opens) = (unsigned(&question), unsigned(ids), unsigned(&opens));
        self.summaries.push(Summary { before, replaces, prompt, ids, log_probs, text, opens });
        reply
    }

    /// Takes back a reply for which there is no room, also if summaries were written to make some.
    pub(super) fn take_back(&mut self, reply: &LaidOutReply) {
        self.segments.truncate(reply.from);
        let summaries = self.summaries.iter_mut().map(|summary| &mut summary.before);
        let omissions = self.omissions.iter_mut().map(|omission| &mut omission.before);
        summaries.chain(omissions).for_each(|before| *before = (*before).min(reply.from));
    }

    /// Whether a turn was taken after the last summary, or there is none.
    pub(super) fn has_turn_since_summary(&self) -> bool {
        let Some(summary) = self.summaries.last() else { return true };
        (summary.before..self.segments.len()).any(|index| self.is_turn(index))
    }

    /// The summaries that were written since the turn before the last, as people are told of them.
    pub(super) fn told_summaries(&self) -> Vec<TurnSummary> {
        let last = self.segments.len() - 1;
        let new = self.summaries.iter().filter(|summary| summary.before == last);
        new.map(|summary| TurnSummary {
            replaces: self.turns_of(summary.replaces.iter().filter(|index| self.is_turn(**index))),
            request: REQUEST.to_owned(),
            text: summary.text.clone(),
        })
        .collect()
    }

    /// Tokens of these segments.
    pub(super) fn tokens(&self, segments: &[usize]) -> usize {
        segments.iter().map(|index| self.segments[*index].ids.len()).sum()
    }

    /// Whether a segment is a turn of the policy.
    fn is_turn(&self, index: usize) -> bool {
        self.segments.get(index).is_some_and(|segment| segment.source == Source::Model)
    }

    /// The tokens of a segment without the invitation to the turn after it, if one follows.
    fn uninviting(&self, index: usize, invitation: &[i64]) -> &[u32] {
        let ids = &self.segments[index].ids;
        let invited = if self.is_turn(index + 1) { invitation.len() } else { 0 };
        &ids[..ids.len() - invited]
    }

    /// How many tokens the policy still sees.
    pub(super) fn seen_tokens(&self) -> usize {
        match self.summaries.last() {
            None => self.tokens(&self.seen()),
            Some(summary) => {
                let later = self.segments[self.shown_from..].iter();
                summary.opens.len() + later.map(|segment| segment.ids.len()).sum::<usize>()
            }
        }
    }

    /// The tokens that the policy still sees. Where a turn was left out and advice that came after it
    /// stays, the invitation to that turn goes as well, which `invitation` are the tokens of.
    pub(super) fn seen_ids(&self, invitation: &[i64]) -> Vec<i64> {
        if !self.summaries.is_empty() {
            return self.ids_before(self.segments.len());
        }
        let seen = self.seen();
        let mut ids = Vec::with_capacity(self.tokens(&seen));
        for (place, &index) in seen.iter().enumerate() {
            let next = seen.get(place + 1).map(|&next| self.segments[next].source);
            let of_segment = match next {
                Some(Source::Guide) => self.uninviting(index, invitation),
                _ => &self.segments[index].ids,
            };
            ids.extend(of_segment.iter().copied().map(i64::from));
        }
        ids
    }

    /// The turns, from 0, that the policy does not see any more.
    pub(super) fn left_out(&self) -> Vec<u32> {
        let omitted = self.omissions.iter().flat_map(|omission| &omission.segments);
        let turns = omitted.filter(|index| self.segments[**index].source == Source::Model);
        let mut turns = self.turns_of(turns);
        turns.sort_unstable();
        turns
    }

    /// The numbers of the turns in these segments.
    fn turns_of<'a>(&self, segments: impl Iterator<Item = &'a usize>) -> Vec<u32> {
        segments
            .map(|index| u32::try_from(self.turn_of(*index)).expect("fewer than 2^32 turns"))
            .collect()
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
            summaries: Vec::new(),
            shown_from: 0,
            asked: None,
            guidance: None,
            guide: None,
            contexts: Vec::new(),
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
    fn reply_that_has_no_room_after_a_summary_is_no_part_of_the_conversation() {
        let (mut long, _) = conversation(&[false; 5]);
        // The last reply, of six tokens, is what has no room.
        let reply = LaidOutReply { from: 11, advice: Vec::new() };
        let asked = long.summary_question(&[7, 8, 9], &[9], reply).ok().unwrap();
        assert_eq!((&asked.replaces[..], asked.shown_from), (&[2, 3, 4, 5][..], 6));
        assert_eq!(asked.prompt.len(), 10 + 20 - 1 + 3, "the prompt, two turns, the request");
        let reply =
            long.take_summary(asked, ("so far".into(), &[1, 2], vec![-0.5; 2]), &[4, 9], &[9]);
        assert_eq!(long.seen_ids(&[9]).len(), 2 + 30);
        assert_eq!((long.left_out(), long.has_turn_since_summary()), (vec![0, 1], false));
        assert_eq!((long.summaries[0].before, long.omissions[0].before), (12, 12));
        long.take_back(&reply);
        assert_eq!(
            (long.segments.len(), long.summaries[0].before, long.omissions[0].before),
            (11, 11, 11)
        );
        // One turn is not summarised.
        let (short, _) = conversation(&[false]);
        let reply = LaidOutReply { from: 3, advice: Vec::new() };
        assert!(short.summary_question(&[7, 8, 9], &[9], reply).is_err());
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
