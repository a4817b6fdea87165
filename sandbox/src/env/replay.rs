//! Playing a record again.

use super::episode::EpisodeFault;
use super::record::{Event, Record};
use super::suite::TaskSuite;
use std::fmt;
use tasks::task::{Task, TaskId};

/// Something that went otherwise than it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The turn, from 1; nothing for the final grade.
    pub turn: Option<u32>,
    /// What differs.
    pub what: &'static str,
    /// As recorded.
    pub recorded: String,
    /// As it is now.
    pub replayed: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turn, what, recorded, replayed } = self;
        match turn {
            Some(turn) => write!(f, "turn {turn}, {what}: ")?,
            None => write!(f, "{what}: ")?,
        }
        write!(f, "{recorded:?} was recorded, {replayed:?} came of it now")
    }
}

/// A record could not be played again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It is another task's.
    #[error("the record is of task {recorded}, not of {given}")]
    OtherTask {
        /// The record's.
        recorded: TaskId,
        /// The one to play on.
        given: TaskId,
    },
    /// A fault of ours on the way.
    #[error("failed to play the record again")]
    Fault(#[from] EpisodeFault),
}

/// Takes the recorded actions again in a new episode with the recorded settings, and compares
/// what comes of them. How long scripts took is not compared, and neither is an action whose end
/// was not recorded.
///
/// # Errors
/// A [`ReplayError`]; differences are none.
pub fn replay(
    record: &Record,
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
        let Some(Event::Step { turn: number, observation, told, outcome, done, .. }) = &turn.step
        else {
            break;
        };
        let step = episode.step(&turn.action)?;
        let at = Some(*number);
        let now = step.outcome.map(|outcome| outcome.to_string());
        compare(at, "ending", format!("{outcome:?}"), format!("{now:?}"));
        compare(at, "told", format!("{told:?}"), format!("{:?}", step.told));
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

/// An observation without the time that a slow script took.
fn without_time(observation: &str) -> String {
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
