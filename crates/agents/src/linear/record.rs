//! The trajectory of a linear agent's run, as the trainer reads it.

use super::conversation::LinearConversation;
use crate::reward::{RewardWeights, reward};
use crate::run::header::RunHeader;
use crate::run::journal::AgentEnd;
use crate::run::node::NodeId;
use crate::trajectory::{
    EpisodeEnding, EpisodeOutcome, Omission, Segment, Source, TRAJECTORY_VERSION, Trajectory,
    TurnRecord,
};
use jail::exec::Outcome;
use sandbox::env::EpisodeResult;

/// Segments of a prompt: the system message, and the task.
const PROMPT_SEGMENTS: usize = 2;

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
    for turn in &conversation.turns {
        segments.push(Segment::text(Source::Model, &turn.answer));
        segments.push(Segment::text(Source::Environment, &turn.reply));
    }
    segments.extend(last.map(|answer| Segment::text(Source::Model, answer)));
    let mut omissions = Vec::new();
    let mut before: &[NodeId] = &[];
    for (turn, left_out) in left_out.iter().enumerate() {
        let new = left_out.iter().filter(|turn| !before.contains(turn));
        let at = |turn: usize| PROMPT_SEGMENTS + 2 * turn;
        let new: Vec<usize> =
            new.flat_map(|turn| [at(turn.index()), at(turn.index()) + 1]).collect();
        if !new.is_empty() {
            omissions.push(Omission { before: at(turn), segments: new });
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
        guidance: Vec::new(),
        summaries: Vec::new(),
        timed_out: records.iter().any(|turn| turn.outcome == Some(Outcome::TimedOut)),
        turns: records,
        ending,
        reward: reward(&RewardWeights::DENSE, format_share, result.grade.as_ref(), None),
        outcome: EpisodeOutcome::Mle(result),
    })
}
