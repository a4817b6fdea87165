//! The trajectory of a linear agent's run, as the trainer reads it.

use super::conversation::LinearConversation;
use crate::reward::{RewardWeights, reward};
use crate::run::header::RunHeader;
use crate::run::journal::AgentEnd;
use crate::run::node::NodeId;
use crate::trajectory::{
    EpisodeOutcome, Omission, Segment, Source, Summary, TRAJECTORY_VERSION, Trajectory, TurnRecord,
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
    let ending = why.episode_ending()?;
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
            guidance.push(piece.heard_in(segments.len()));
            segments.push(Segment::text(Source::Guide, piece.advice()));
        }
    }
    places.push(segments.len());
    segments.extend(last.map(|answer| Segment::text(Source::Model, answer)));
    let omissions =
        omissions(&places, left_out.iter().map(|turns| turns.iter().map(|turn| turn.0)));
    let summaries = conversation.summaries.iter().map(|summary| Summary {
        before: places[summary.before],
        replaces: segments_of(&places, summary.replaces.iter().copied()),
        prompt: Vec::new(),
        ids: Vec::new(),
        log_probs: Vec::new(),
        text: summary.text.clone(),
        opens: Vec::new(),
    });
    let summaries = summaries.collect();
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
        summaries,
        timed_out: records.iter().any(|turn| turn.outcome == Some(Outcome::TimedOut)),
        turns: records,
        ending,
        reward: reward(&RewardWeights::DENSE, format_share, result.grade.as_ref(), None),
        outcome: EpisodeOutcome::Mle(result),
    })
}

/// The segments of turns that begin at these places, with their observations. Advice is not among them.
fn segments_of(places: &[usize], turns: impl IntoIterator<Item = usize>) -> Vec<usize> {
    turns.into_iter().flat_map(|turn| [places[turn], places[turn] + 1]).collect()
}

/// What of a conversation the agent did not see any more, and from when on. `places` has the segment at
/// which each turn begins, `left_out` the turns that each turn was not shown. The segment after that of a
/// turn is its observation; advice behind it is still shown.
pub(crate) fn omissions<T: IntoIterator<Item = u32>>(
    places: &[usize],
    left_out: impl IntoIterator<Item = T>,
) -> Vec<Omission> {
    let mut omissions = Vec::new();
    let mut before: Vec<u32> = Vec::new();
    for (turn, left_out) in left_out.into_iter().enumerate() {
        let left_out: Vec<u32> = left_out.into_iter().collect();
        let new = left_out.iter().filter(|turn| !before.contains(turn));
        let segments = segments_of(places, new.map(|turn| *turn as usize));
        if !segments.is_empty() {
            omissions.push(Omission { before: places[turn], segments });
        }
        before = left_out;
    }
    omissions
}
