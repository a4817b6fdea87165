//! The record of an episode: a JSONL file to which each event is appended as it happens, so that a
//! killed program leaves a readable record.
//!
//! ```text
//! {"event":"header", ...}                 task, settings, seed, versions
//! {"event":"action","turn":1, ...}        before it is carried out
//! {"event":"step","turn":1, ...}          its result
//! {"event":"finish", ...}                 how it ended, and the grade
//! ```
//! It holds the actions and the observations, which is enough to replay the episode. Trajectories
//! (`agents`) are a different format: conversations with tokens, for training.

use super::episode::{Action, EpisodeConfig, EpisodeResult, ScoreFeedback};
use super::quota::Reservation;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use tasks::task::TaskId;
use tasks::units::ByteSize;

/// The version of the format that this build reads and writes.
///
/// | version | what is new |
/// | --- | --- |
/// | 1 | |
/// | 2 | which rows are for feedback is drawn by the task's answers; a record of version 1, played again, would differ in what `Score` revealed |
pub const RECORD_VERSION: u32 = 2;

/// One line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The first line of every record.
    Header {
        /// The version of the format, [`RECORD_VERSION`].
        version: u32,
        /// The name of the episode, unique within a server.
        episode: String,
        /// The task that is played.
        task: TaskId,
        /// The rules of the episode.
        config: Box<EpisodeConfig>,
        /// What the task was chosen by, if it was chosen by chance.
        seed: Option<u64>,
        /// The version of this software.
        software: String,
        /// When it began, in UTC.
        started: String,
    },
    /// An action, written before it is carried out.
    Action {
        /// Number of the action, from 1.
        turn: u32,
        /// The action with its arguments.
        action: Action,
    },
    /// The result of an action.
    Step {
        /// As in the action.
        turn: u32,
        /// The text of the observation.
        observation: String,
        /// The result of `Score`, if that was the action. Called `told` in the file.
        #[serde(rename = "told")]
        feedback: Option<ScoreFeedback>,
        /// How the script ended, in words, if one ran.
        outcome: Option<String>,
        /// Wall time of the script, in seconds; 0 if none ran.
        seconds: f64,
        /// Whether the episode was over with it.
        done: bool,
    },
    /// The last line of an episode that was not cut short by a crash.
    Finish {
        /// Why the episode ended.
        ending: CloseReason,
        /// The final grade, of an episode that was graded.
        finish: Option<EpisodeResult>,
    },
}

/// Why an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// It was played to the end and graded.
    Closed,
    /// The client began another episode.
    Reset,
    /// The client closed the session.
    Left,
    /// The connection was lost.
    Vanished,
    /// The client sent nothing within the idle limit.
    Idle,
    /// The client kept the episode open long after its wall time.
    Overdue,
    /// The client sent a message above the size limit.
    TooLarge,
    /// The environment was shut down.
    Drained,
    /// An [`EpisodeFault`](super::EpisodeFault) ended it; the log has the details.
    Fault,
}

/// A record could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be read or written.
    #[error("failed to read or write an episode's record")]
    Io(#[from] std::io::Error),
    /// An action that would make the record larger than allowed; it was not carried out.
    #[error(
        "the record of this episode may have {limit}, and the call does not fit in any more; \
         submit, or begin another episode"
    )]
    Full {
        /// The bound on one record.
        limit: ByteSize,
    },
    /// The folder of records is full.
    #[error(
        "the records have {stored} of the {all} that they may take, and {reserved} are set aside \
         for episodes in progress, which leaves too little for another; the server's operator has to \
         move records away or raise `--records-limit`"
    )]
    NoRoom {
        /// Size of the records in the folder.
        stored: ByteSize,
        /// Size that is reserved for episodes in progress.
        reserved: ByteSize,
        /// The bound on the folder.
        all: ByteSize,
    },
    /// A line could not be written before; nothing was written after it.
    #[error("the record was given up when a line of it could not be written")]
    GivenUp,
    /// A line that cannot be understood.
    #[error("`{path}` line {line} is not part of a version {RECORD_VERSION} record")]
    Line {
        /// Path of the record.
        path: Utf8PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The error of the JSON parser.
        #[source]
        source: serde_json::Error,
    },
    /// A line that does not follow the one before.
    #[error("`{path}` line {line} is out of place")]
    Order {
        /// Path of the record.
        path: Utf8PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// Made by another version of this software.
    #[error("`{path}` is a version {found} record; this build reads version {RECORD_VERSION}")]
    Version {
        /// Path of the record.
        path: Utf8PathBuf,
        /// The version that the record states.
        found: u32,
    },
}

/// Appends events to a new file, which holds whole lines only at any time.
#[derive(Debug)]
pub(super) struct Recorder {
    file: fs::File,
    reservation: Reservation,
    /// A line could not be written, so none may follow.
    given_up: bool,
}

impl Recorder {
    /// Makes the file, which must not be there, and the folders above it, with a first line.
    pub(super) fn create(
        path: &Utf8Path,
        reservation: Reservation,
        header: &Event,
    ) -> Result<Self, RecordError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = fs::OpenOptions::new().create_new(true).append(true).open(path)?;
        let mut recorder = Self { file, reservation, given_up: false };
        if let Err(error) = recorder.write(header) {
            // A record without a header is none.
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(recorder)
    }

    /// Hands a line to the system in one piece.
    pub(super) fn write(&mut self, event: &Event) -> Result<(), RecordError> {
        self.write_line(&line(event)?)
    }

    /// The same for an action, which is refused where the record has no more room. The last one,
    /// which is short, is not.
    pub(super) fn write_action(&mut self, turn: u32, action: &Action) -> Result<(), RecordError> {
        let line = line(&Event::Action { turn, action: action.clone() })?;
        if *action != Action::Answer && !self.reservation.holds(line.len() as u64) {
            return Err(RecordError::Full { limit: self.reservation.limit() });
        }
        self.write_line(&line)
    }

    fn write_line(&mut self, line: &[u8]) -> Result<(), RecordError> {
        if self.given_up {
            return Err(RecordError::GivenUp);
        }
        if let Err(error) = self.file.write_all(line) {
            self.given_up = true;
            // A reader passes over half a line, but none should have to.
            let _ = self.file.set_len(self.reservation.written());
            return Err(error.into());
        }
        self.reservation.wrote(line.len() as u64);
        Ok(())
    }

    /// Writes the last line, to the disk itself.
    pub(super) fn finish(mut self, event: &Event) -> Result<(), RecordError> {
        self.write(event)?;
        Ok(self.file.sync_data()?)
    }
}

fn line(event: &Event) -> Result<Vec<u8>, RecordError> {
    let mut line = serde_json::to_vec(event).map_err(std::io::Error::from)?;
    line.push(b'\n');
    Ok(line)
}

/// An action and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedTurn {
    /// What the agent did.
    pub action: Action,
    /// The [`Event::Step`] that followed; nothing where the program was killed before.
    pub step: Option<Event>,
}

/// The contents of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct EpisodeRecord {
    /// The first line, an [`Event::Header`].
    pub header: Event,
    /// The task of the header.
    pub task: TaskId,
    /// The rules of the header.
    pub config: EpisodeConfig,
    /// The turns in order.
    pub turns: Vec<RecordedTurn>,
    /// How it ended; nothing where the program was killed before.
    pub ending: Option<CloseReason>,
    /// The final grade, if it was graded.
    pub finish: Option<EpisodeResult>,
}

impl EpisodeRecord {
    /// Reads a record. A last line without its newline is what a killed program leaves behind,
    /// and is passed over.
    ///
    /// # Errors
    /// A [`RecordError`] that names the first line that is wrong.
    ///
    /// # Examples
    /// ```rust
    /// use camino::Utf8Path;
    /// use sandbox::env::{Action, EpisodeRecord};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = Utf8Path::from_path(folder.path()).expect("UTF-8").join("episode.jsonl");
    /// std::fs::write(
    ///     &path,
    ///     r#"{"event":"header","version":2,"episode":"e1","task":"crop-yield","config":{},"seed":null,"software":"0.1.0","started":"2026-01-02T03:04:05"}
    /// {"event":"action","turn":1,"action":{"tool":"score"}}
    /// {"event":"step","turn":1,"observation":"no submission.csv"#,
    /// )?;
    /// // The program was killed while it wrote the last line.
    /// let record = EpisodeRecord::read(&path)?;
    /// assert_eq!(record.task.as_str(), "crop-yield");
    /// assert_eq!(record.turns[0].action, Action::Score);
    /// assert!(record.turns[0].step.is_none() && record.ending.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: &Utf8Path) -> Result<Self, RecordError> {
        let mut reader = BufReader::new(fs::File::open(path)?);
        let mut text = String::new();
        let mut record: Option<Self> = None;
        let mut number = 0;
        while reader.read_line(&mut text)? > 0 && text.ends_with('\n') {
            number += 1;
            // The version is looked at first: a record of another version may differ anywhere.
            if let (1, Some(found)) = (number, version(&text))
                && found != RECORD_VERSION
            {
                return Err(RecordError::Version { path: path.to_owned(), found });
            }
            let event = serde_json::from_str(&text).map_err(|source| RecordError::Line {
                path: path.to_owned(),
                line: number,
                source,
            })?;
            let misplaced = || RecordError::Order { path: path.to_owned(), line: number };
            match &mut record {
                None => record = Some(Self::begun(event).ok_or_else(misplaced)?),
                Some(record) => record.take(event).ok_or_else(misplaced)?,
            }
            text.clear();
        }
        record.ok_or_else(|| RecordError::Order { path: path.to_owned(), line: 1 })
    }

    fn begun(header: Event) -> Option<Self> {
        let Event::Header { task, config, .. } = &header else { return None };
        Some(Self {
            task: task.clone(),
            config: (**config).clone(),
            header,
            turns: Vec::new(),
            ending: None,
            finish: None,
        })
    }

    /// Adds the next line; nothing if it cannot be the next.
    fn take(&mut self, event: Event) -> Option<()> {
        let number = u32::try_from(self.turns.len()).ok()?;
        let pending = self.turns.last().is_some_and(|turn| turn.step.is_none());
        match event {
            _ if self.ending.is_some() => return None,
            Event::Action { turn, action } if turn == number + 1 && !pending => {
                self.turns.push(RecordedTurn { action, step: None });
            }
            Event::Step { turn, .. } if turn == number && pending => {
                self.turns.last_mut()?.step = Some(event);
            }
            Event::Finish { ending, finish } => {
                (self.ending, self.finish) = (Some(ending), finish);
            }
            Event::Header { .. } | Event::Action { .. } | Event::Step { .. } => return None,
        }
        Some(())
    }
}

/// The version that a line claims.
fn version(line: &str) -> Option<u32> {
    #[derive(Deserialize)]
    struct Claim {
        version: u32,
    }
    serde_json::from_str(line).ok().map(|claim: Claim| claim.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Event> {
        let step = |turn, done| Event::Step {
            turn,
            observation: "valid submission".to_owned(),
            feedback: Some(ScoreFeedback { valid: true, tier: None }),
            outcome: None,
            seconds: 0.25,
            done,
        };
        vec![
            Event::Header {
                version: RECORD_VERSION,
                episode: "e".to_owned(),
                task: TaskId::new("t").unwrap(),
                config: Box::default(),
                seed: Some(3),
                software: "0".to_owned(),
                started: "2026-01-01T00:00:00".to_owned(),
            },
            Event::Action { turn: 1, action: Action::Python { code: "a\nb".to_owned() } },
            step(1, false),
            Event::Action { turn: 2, action: Action::Answer },
            step(2, true),
            Event::Finish {
                ending: CloseReason::Closed,
                finish: Some(EpisodeResult { grade: None, refusal: Some("no file".to_owned()) }),
            },
        ]
    }

    fn written(events: &[Event]) -> (tempfile::TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap().join("deep/record.jsonl");
        let mut recorder = Recorder::create(&path, Reservation::unbounded(), &events[0]).unwrap();
        for event in &events[1..] {
            recorder.write(event).unwrap();
        }
        (folder, path)
    }

    #[test]
    fn a_record_round_trips_and_is_never_written_over() {
        let (_folder, path) = written(&lines());
        let record = EpisodeRecord::read(&path).unwrap();
        assert_eq!((record.turns.len(), record.ending), (2, Some(CloseReason::Closed)));
        assert_eq!(record.turns[0].step.as_ref(), Some(&lines()[2]));
        let again = Recorder::create(&path, Reservation::unbounded(), &lines()[0]);
        assert!(matches!(again, Err(RecordError::Io(_))));
    }

    #[test]
    fn a_full_record_takes_its_last_lines_and_no_other_action() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let path = folder.join("record.jsonl");
        let limit = ByteSize::kib(2);
        let quota = super::super::RecordQuota::open(folder, limit, ByteSize::kib(4)).unwrap();
        let reservation = quota.reserve().unwrap();
        let mut recorder = Recorder::create(&path, reservation, &lines()[0]).unwrap();
        let mut turn = 0;
        let refusal = loop {
            let action = Action::Python { code: "x".repeat(300) };
            match recorder.write_action(turn + 1, &action) {
                Ok(()) => turn += 1,
                Err(error) => break error,
            }
            let Event::Step { observation, feedback, outcome, seconds, done, .. } =
                lines()[2].clone()
            else {
                unreachable!("it is a step")
            };
            let step = Event::Step { turn, observation, feedback, outcome, seconds, done };
            recorder.write(&step).unwrap();
        };
        assert!(matches!(refusal, RecordError::Full { .. }) && turn > 0, "{refusal}");
        assert!(fs::metadata(&path).unwrap().len() <= limit.bytes() + 300);
        recorder.write_action(turn + 1, &Action::Answer).unwrap();
        recorder.finish(&lines()[5]).unwrap();
        let record = EpisodeRecord::read(&path).unwrap();
        assert_eq!(
            (record.turns.len(), record.ending),
            (turn as usize + 1, Some(CloseReason::Closed))
        );
    }

    #[test]
    fn a_line_that_cannot_be_written_whole_is_not_written_at_all() {
        // `/dev/full` takes nothing.
        let path = Utf8Path::new("/dev/full");
        let file = fs::OpenOptions::new().append(true).open(path).unwrap();
        let mut recorder =
            Recorder { file, reservation: Reservation::unbounded(), given_up: false };
        assert!(matches!(recorder.write(&lines()[0]), Err(RecordError::Io(_))));
        assert!(matches!(recorder.write(&lines()[0]), Err(RecordError::GivenUp)));
    }

    #[test]
    fn record_of_a_killed_program_is_readable() {
        let (_folder, path) = written(&lines());
        let whole = fs::read_to_string(&path).unwrap();
        let first = whole.find('\n').unwrap() + 1;
        for length in first..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let record = EpisodeRecord::read(&path).unwrap();
            let ended = record.ending.is_some();
            assert_eq!((record.turns.len() <= 2, ended), (true, false), "{length}");
        }
    }

    #[test]
    fn lines_out_of_place_are_refused() {
        for (order, line) in [
            (&[1][..], 1),
            (&[0, 0], 2),
            (&[0, 2], 2),
            (&[0, 3], 2),
            (&[0, 1, 1], 3),
            (&[0, 1, 3], 3),
            (&[0, 1, 2, 2], 4),
            (&[0, 5, 1], 3),
            (&[0, 5, 5], 3),
        ] {
            let events: Vec<Event> = order.iter().map(|at| lines()[*at].clone()).collect();
            let (_folder, path) = written(&events);
            let error = EpisodeRecord::read(&path).unwrap_err();
            assert!(
                matches!(&error, RecordError::Order { line: found, .. } if *found == line),
                "{order:?}: {error}"
            );
        }
    }

    #[test]
    fn lines_keep_the_names_of_their_events() {
        let events: Vec<String> = lines()
            .iter()
            .map(|event| serde_json::to_value(event).unwrap()["event"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(events, ["header", "action", "step", "action", "step", "finish"]);
    }

    #[test]
    fn record_of_another_version_is_refused_with_its_number() {
        let (_folder, path) = written(&lines());
        let text = fs::read_to_string(&path).unwrap().replace("\"version\":2", "\"version\":9");
        fs::write(&path, text.replace("software", "hardware")).unwrap();
        let error = EpisodeRecord::read(&path).unwrap_err();
        assert!(matches!(error, RecordError::Version { found: 9, .. }), "{error}");
    }
}
