//! A guided run, or a part of it, as a trajectory.

use super::view::View;
use crate::guide::advice::unguided_text;
use crate::guide::transcript::{Transcript, TranscriptTurn};
use crate::guide::turn::End;
use crate::linear::record::omissions;
use crate::reward::{RewardWeights, reward};
use crate::run::journal::AgentEnd;
use crate::summary::summarised_prompt;
use crate::trajectory::{
    EpisodeEnding, EpisodeOutcome, Segment, Source, TRAJECTORY_VERSION, Trajectory, TurnRecord,
};
use jail::exec::Outcome;
use sandbox::env::EpisodeResult;

/// What of a run is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout<'a> {
    /// The turns, and the summaries around them.
    pub(super) view: &'a View<'a>,
    /// Whether advice is, and the sentences of the prompt that say that it may come.
    pub(super) advice: bool,
    /// Whether thoughts are.
    pub(super) thoughts: bool,
}

/// How a run ended as an episode; `None` where it is no example: it is not over, the player ended it, or
/// it ended for a reason that agents of this build do not have.
pub(super) fn ending_of(transcript: &Transcript) -> Option<(&End, EpisodeEnding)> {
    let end = transcript.end.as_ref()?;
    let why: AgentEnd = serde_json::from_value(end.ending.clone().into()).ok()?;
    Some((end, why.episode_ending()?))
}

/// The trajectory of what `layout` says of a run that is over.
pub(super) fn trajectory(
    transcript: &Transcript,
    (end, ending): (&End, EpisodeEnding),
    layout: Layout<'_>,
) -> Trajectory {
    let opening = &transcript.opening;
    let prompt = opening.prompt.iter().filter_map(|message| {
        let text = message.content.as_str();
        if layout.advice { Some(text) } else { unguided_text(text) }
    });
    let mut segments: Vec<Segment> =
        prompt.map(|text| Segment::text(Source::Prompt, text)).collect();
    if let (Some(summary), Some(last)) = (layout.view.opens_with, segments.last_mut()) {
        last.text = summarised_prompt(&last.text, summary);
    }
    let (mut places, mut guidance, mut records) = (Vec::new(), Vec::new(), Vec::new());
    for (number, turn) in (0..layout.view.end).zip(&transcript.turns) {
        if layout.view.turns.contains(&number) {
            places.push(segments.len());
            segments.extend(written(turn, layout));
            records.push(turn.report.record.clone());
        }
        // Advice stays where the turn before it is no longer shown.
        for piece in turn.heard.iter().filter(|_| layout.advice) {
            guidance.push(piece.heard_in(segments.len()));
            segments.push(Segment::text(Source::Guide, piece.advice()));
        }
    }
    if let Some(summary) = layout.view.summary {
        segments.push(Segment::text(Source::Prompt, &summary.request));
        segments.push(Segment::text(Source::Model, &summary.text));
    }
    // Of a part nothing is left out but what it is without.
    let is_whole = layout.view.turns.len() == transcript.turns.len();
    let left_out = transcript.turns.iter().filter(|_| is_whole);
    let left_out = left_out.map(|turn| turn.report.left_out.iter().copied());
    let result = EpisodeResult { grade: end.grade, refusal: end.refusal.clone() };
    let timed_out = |record: &TurnRecord| record.outcome == Some(Outcome::TimedOut);
    let format_share = Trajectory::format_share(&records);
    Trajectory {
        version: TRAJECTORY_VERSION,
        task: opening.task.clone(),
        agent: opening.agent.clone(),
        attempt: opening.attempt,
        feedback: opening.feedback,
        guided: true,
        segments,
        omissions: omissions(&places, left_out),
        guidance,
        summaries: Vec::new(),
        timed_out: records.iter().any(timed_out),
        turns: records,
        ending,
        reward: reward(&RewardWeights::DENSE, format_share, result.grade.as_ref(), None),
        outcome: EpisodeOutcome::Mle(result),
    }
}

/// A turn, and what it read in return.
fn written(turn: &TranscriptTurn, layout: Layout<'_>) -> impl Iterator<Item = Segment> {
    let report = &turn.report;
    let text = if layout.thoughts {
        report.text()
    } else {
        report.action.trim_start_matches('\n').to_owned()
    };
    let observation = report.observation.as_ref();
    let observation = observation.map(|text| Segment::text(Source::Environment, text));
    std::iter::once(Segment::text(Source::Model, text)).chain(observation)
}
