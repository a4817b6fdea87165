//! Replays of records: the recorded actions in a new episode, compared step by step.

use super::episode::EpisodeFault;
use super::record::{EpisodeRecord, Event};
use super::suite::TaskSuite;
use std::fmt;
use tasks::task::{Task, TaskId};

/// A difference between a record and its replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The turn, from 1; `None` for the final grade.
    pub turn: Option<u32>,
    /// The part that differs: ending, feedback, observation, done or grade.
    pub what: &'static str,
    /// Its value in the record.
    pub recorded: String,
    /// Its value in the replay.
    pub replayed: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turn, what, recorded, replayed } = self;
        match turn {
            Some(turn) => write!(f, "turn {turn}, {what}: ")?,
            None => write!(f, "{what}: ")?,
        }
        write!(f, "{recorded:?} was recorded, the replay gave {replayed:?}")
    }
}

/// Why a record could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The record is of another task.
    #[error("the record is of task {recorded}, not of {given}")]
    OtherTask {
        /// The task of the record.
        recorded: TaskId,
        /// The task given to [`replay`].
        given: TaskId,
    },
    /// The replayed episode failed.
    #[error("failed to play the record again")]
    Fault(#[from] EpisodeFault),
}

/// Repeats the recorded actions in a new episode with the recorded settings and returns the
/// differences. Times are not compared, nor is a last action without a recorded result.
///
/// # Errors
/// A [`ReplayError`] if the record is of another task or the new episode fails.
pub fn replay(
    record: &EpisodeRecord,
    suite: &TaskSuite,
    task: &Task,
) -> Result<Vec<Difference>, ReplayError> {
    if *task.id() != record.task {
        let (recorded, given) = (record.task.clone(), task.id().clone());
        return Err(ReplayError::OtherTask { recorded, given });
    }
    let mut episode = suite.reset(task, &record.config)?;
    let mut differences = Vec::new();
    let mut compare = |turn, what, recorded: String, replayed: String| {
        if recorded != replayed {
            differences.push(Difference { turn, what, recorded, replayed });
        }
    };
    for turn in &record.turns {
        let Some(Event::Step { turn: number, observation, feedback, outcome, done, .. }) =
            &turn.step
        else {
            break;
        };
        let step = episode.step(&turn.action)?;
        let at = Some(*number);
        let now = step.outcome.map(|outcome| outcome.to_string());
        compare(at, "ending", format!("{outcome:?}"), format!("{now:?}"));
        compare(at, "feedback", format!("{feedback:?}"), format!("{:?}", step.feedback));
        let (then, now) = (without_time(observation), without_time(&step.observation.text));
        compare(at, "observation", then, now);
        compare(at, "done", done.to_string(), step.done.to_string());
        if step.done || *done {
            break;
        }
    }
    if let Some(finish) = &record.finish {
        let now = episode.close()?;
        compare(None, "grade", format!("{finish:?}"), format!("{now:?}"));
    }
    Ok(differences)
}

/// An observation without the time that a slow script took: what two runs of the same script have in
/// common.
pub fn without_time(observation: &str) -> String {
    let (first, rest) = observation.split_once(';').unwrap_or((observation, ""));
    let ending = first.split_once(" after ").map_or(first, |(ending, _)| ending);
    format!("{ending};{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_is_left_out_of_an_observation() {
        let slow = "finished after 31 s of the 90 s allowed; submission.csv is there\nafter 3; 4";
        let quick = "finished; submission.csv is there\nafter 3; 4";
        assert_eq!(without_time(slow), without_time(quick));
        assert_ne!(
            without_time(quick),
            without_time("finished; no submission.csv yet\nafter 3; 4")
        );
    }
}
