//! The trajectory of a linear agent's run, as the trainer reads it.

use super::conversation::LinearConversation;
use super::guidance::advice;
use crate::reward::{RewardWeights, reward};
use crate::run::header::RunHeader;
use crate::run::journal::AgentEnd;
use crate::run::node::NodeId;
use crate::trajectory::{
    EpisodeEnding, EpisodeOutcome, Guidance, Omission, Segment, Source, TRAJECTORY_VERSION,
    Trajectory, TurnRecord,
};
use jail::exec::Outcome;
use sandbox::env::EpisodeResult;

/// A run that is over.
pub(super) struct FinishedTurns<'a> {
    pub(super) header: &'a RunHeader,
    pub(super) conversation: &'a LinearConversation,
    /// The answer of the turn that ended the run, which has no reply.
    pub(super) last: Option<&'a str>,
    pub(super) records: Vec<TurnRecord>,
    /// What each turn was not shown.
    pub(super) left_out: &'a [Vec<NodeId>],
    pub(super) why: AgentEnd,
    pub(super) result: EpisodeResult,
}

/// The trajectory of a run that is over; `None` of one that the player ended.
pub(super) fn trajectory(finished: FinishedTurns<'_>) -> Option<Trajectory> {
    let FinishedTurns { header, conversation, last, records, left_out, why, result } = finished;
    let ending = match why {
        AgentEnd::Answered => EpisodeEnding::Answered,
        AgentEnd::Steps | AgentEnd::Calls | AgentEnd::Time | AgentEnd::Exhausted => {
            EpisodeEnding::Budget
        }
        AgentEnd::Context => EpisodeEnding::Tokens,
        AgentEnd::Refused => return None,
    };
    let opening = conversation.opening.iter();
    let mut segments: Vec<Segment> =
        opening.map(|message| Segment::text(Source::Prompt, &message.content)).collect();
    // Where each turn begins, and the one after the last.
    let mut places = Vec::new();
    let mut guidance = Vec::new();
    for turn in &conversation.turns {
        places.push(segments.len());
        segments.push(Segment::text(Source::Model, &turn.answer));
        segments.push(Segment::text(Source::Environment, &turn.reply));
        for piece in &turn.heard {
            guidance.push(Guidance {
                segment: segments.len(),
                id: piece.id.to_string(),
                by: piece.by.clone(),
                about: piece.about,
                text: piece.text.clone(),
                waited_seconds: piece.waited_seconds,
            });
            segments.push(Segment::text(Source::Guide, advice(piece)));
        }
    }
    places.push(segments.len());
    segments.extend(last.map(|answer| Segment::text(Source::Model, answer)));
    let mut omissions = Vec::new();
    let mut before: &[NodeId] = &[];
    for (turn, left_out) in left_out.iter().enumerate() {
        let new = left_out.iter().filter(|turn| !before.contains(turn));
        // Advice after a turn is still shown.
        let new: Vec<usize> =
            new.flat_map(|turn| [places[turn.index()], places[turn.index()] + 1]).collect();
        if !new.is_empty() {
            omissions.push(Omission { before: places[turn], segments: new });
        }
        before = left_out;
    }
    let format_share = Trajectory::format_share(&records);
    Some(Trajectory {
        version: TRAJECTORY_VERSION,
        task: header.task.clone(),
        agent: format!("{}/{}", header.scaffold, header.player),
        attempt: header.seed,
        feedback: Some(header.feedback),
        segments,
        omissions,
        guided: header.guided,
        guidance,
        summaries: Vec::new(),
        timed_out: records.iter().any(|turn| turn.outcome == Some(Outcome::TimedOut)),
        turns: records,
        ending,
        reward: reward(&RewardWeights::DENSE, format_share, result.grade.as_ref(), None),
        outcome: EpisodeOutcome::Mle(result),
    })
}
