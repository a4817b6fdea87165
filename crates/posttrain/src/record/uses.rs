//! The uses of the toolbox's programs, as their wrappers report them.
//!
//! ```text
//! {"version":1,"use":1,"used_ms":4100,"time":"…","event":"began","program":"rl","arguments":["sft",…]}
//! {"version":1,"use":1,"used_ms":9800,"time":"…","event":"ended","code":0,"signal":null,"seconds":5.7,"trainer":{…}}
//! ```
//!
//! The wrappers run as the agent: their reports are told, not observed. The server adds the number and the
//! time, and what it has written down stays.

use super::trainer::TrainerFacts;
use crate::route::Route;
use crate::versioned_lines::read_versioned;
use agents::synced_lines::SyncedLines;
use camino::Utf8Path;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::io;

/// The version of lines.
const VERSION: u32 = 1;
/// Lines that are kept. An agent that reports more has something else in mind.
const LINES: u64 = 20_000;
/// Bytes of the file.
const BYTES: u64 = 64 << 20;
/// Arguments of a use, and characters of one.
const ARGUMENTS: usize = 64;
const LENGTH: usize = 1_000;

/// What a wrapper reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum UseEvent {
    /// A program was started.
    Began {
        /// Its name.
        program: String,
        /// What it was started with.
        arguments: Vec<String>,
    },
    /// A program was not started, because the mode of the run rules that out.
    Refused {
        /// Its name.
        program: String,
        /// What it would have been started with.
        arguments: Vec<String>,
    },
    /// It ended.
    Ended(UseEnd),
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UseEnd {
    /// With this code.
    pub code: Option<i32>,
    /// By this signal.
    pub signal: Option<i32>,
    /// After this many seconds.
    pub seconds: f64,
    /// What it left in the folder that it was told to write to, where it is a trainer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trainer: Option<TrainerFacts>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    version: u32,
    #[serde(rename = "use")]
    number: u64,
    used_ms: u64,
    time: String,
    #[serde(flatten)]
    event: UseEvent,
}

/// A use of a program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolUse {
    /// Its number, from 1.
    pub number: u64,
    /// The program.
    pub program: String,
    /// What it was started with.
    pub arguments: Vec<String>,
    /// Milliseconds of the budget that were used when it began.
    pub began_ms: u64,
    /// Whether the mode of the run ruled it out.
    pub is_refused: bool,
    /// How it ended; none if nothing was heard of that: it was killed with its wrapper, or still runs.
    pub end: Option<UseEnd>,
}

impl ToolUse {
    /// The way of training that its command line asks for; none for a program that trains nothing.
    pub fn route(&self) -> Option<Route> {
        Route::of_command(&self.program, &self.arguments)
    }

    /// The folder that it was told to write to.
    pub fn out(&self) -> Option<&str> {
        out_of(&self.arguments)
    }

    /// Whether it ended with a code or a signal of failure.
    pub fn has_failed(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.code != Some(0))
    }
}

/// What follows `--out` in a command line.
pub fn out_of(arguments: &[String]) -> Option<&str> {
    let joined = arguments.iter().find_map(|word| word.strip_prefix("--out="));
    let apart = || {
        let at = arguments.iter().position(|word| word == "--out")?;
        arguments.get(at + 1).map(String::as_str)
    };
    joined.or_else(apart)
}

/// The file of a run that is being served.
#[derive(Debug)]
pub struct UseLog {
    file: SyncedLines,
    lines: u64,
    bytes: u64,
    uses: u64,
}

impl UseLog {
    /// Opens the file at `path`, which is made if there is none.
    ///
    /// # Errors
    /// An I/O error naming the file, also if a line of it is none of ours.
    pub fn open(path: &Utf8Path) -> io::Result<Self> {
        let file = SyncedLines::open(path)?;
        let lines = read_lines(path)?;
        let uses = lines.iter().map(|line| line.number).max().unwrap_or(0);
        Ok(Self { file, lines: lines.len() as u64, bytes: fs::metadata(path)?.len(), uses })
    }

    /// Writes a report down: of a new use, or the end of the use `number`. The number of the use; none
    /// if the file is full, or there is no such use.
    ///
    /// # Errors
    /// An I/O error; nothing was written then.
    pub fn append(
        &mut self,
        number: Option<u64>,
        event: UseEvent,
        used_ms: u64,
        time: String,
    ) -> io::Result<Option<u64>> {
        if self.lines >= LINES || self.bytes >= BYTES {
            return Ok(None);
        }
        let number = match (&event, number) {
            (UseEvent::Ended(_), Some(number)) if (1..=self.uses).contains(&number) => number,
            (UseEvent::Ended(_), _) => return Ok(None),
            _ => self.uses + 1,
        };
        let line = Line { version: VERSION, number, used_ms, time, event: bounded(event) };
        self.bytes += serde_json::to_vec(&line)?.len() as u64 + 1;
        self.file.append(std::slice::from_ref(&line))?;
        self.lines += 1;
        self.uses = self.uses.max(number);
        Ok(Some(number))
    }
}

/// A report of which nothing is longer than needed.
fn bounded(event: UseEvent) -> UseEvent {
    let short = |text: &str| text.chars().take(LENGTH).collect::<String>();
    let shortened = |program: &str, arguments: &[String]| {
        (short(program), arguments.iter().take(ARGUMENTS).map(|word| short(word)).collect())
    };
    match event {
        UseEvent::Began { program, arguments } => {
            let (program, arguments) = shortened(&program, &arguments);
            UseEvent::Began { program, arguments }
        }
        UseEvent::Refused { program, arguments } => {
            let (program, arguments) = shortened(&program, &arguments);
            UseEvent::Refused { program, arguments }
        }
        UseEvent::Ended(end) => UseEvent::Ended(end),
    }
}

fn read_lines(path: &Utf8Path) -> io::Result<Vec<Line>> {
    read_versioned(path, VERSION, |line: &Line| line.version)
}

/// The uses in the file at `path`, in order; none if there is no such file.
///
/// # Errors
/// An I/O error naming the file, also if a line of it is none of ours.
pub fn read_uses(path: &Utf8Path) -> io::Result<Vec<ToolUse>> {
    let mut uses: Vec<ToolUse> = Vec::new();
    for Line { number, used_ms, event, .. } in read_lines(path)? {
        let is_refused = matches!(event, UseEvent::Refused { .. });
        match event {
            UseEvent::Began { program, arguments } | UseEvent::Refused { program, arguments } => {
                let began_ms = used_ms;
                uses.push(ToolUse { number, program, arguments, began_ms, is_refused, end: None });
            }
            UseEvent::Ended(end) => {
                if let Some(one) = uses.iter_mut().find(|one| one.number == number) {
                    // The first word counts.
                    one.end.get_or_insert(end);
                }
            }
        }
    }
    Ok(uses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn began(arguments: &[&str]) -> UseEvent {
        let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
        UseEvent::Began { program: "rl".to_owned(), arguments }
    }

    fn ended(code: i32) -> UseEvent {
        UseEvent::Ended(UseEnd { code: Some(code), signal: None, seconds: 1.5, trainer: None })
    }

    #[test]
    fn uses_are_numbered_over_restarts_and_what_was_said_first_stays() {
        let kept = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(kept.path()).unwrap().join("uses.jsonl");
        let add = |number, event| {
            UseLog::open(&path).unwrap().append(number, event, 7, "t".to_owned()).unwrap()
        };
        assert_eq!(add(None, began(&["sft", "--out", "output/sft"])), Some(1));
        assert_eq!(add(None, began(&["train", "--out=output/grpo"])), Some(2));
        assert_eq!(add(Some(1), ended(0)), Some(1));
        assert_eq!(add(Some(1), ended(3)), Some(1), "a second end is written, and not believed");
        assert_eq!(add(Some(3), ended(0)), None);
        assert_eq!(add(None, ended(0)), None);
        let uses = read_uses(&path).unwrap();
        assert_eq!(uses.len(), 2);
        assert_eq!(uses[0].out(), Some("output/sft"));
        assert_eq!(uses[1].out(), Some("output/grpo"));
        assert!(!uses[0].has_failed() && uses[1].end.is_none());
        assert_eq!(uses[0].route(), Some(Route::Sft));
    }

    #[test]
    fn long_report_is_cut_and_a_full_file_takes_no_more() {
        let kept = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(kept.path()).unwrap().join("uses.jsonl");
        let mut log = UseLog::open(&path).unwrap();
        let words: Vec<String> = (0..100).map(|_| "x".repeat(2_000)).collect();
        let event = UseEvent::Began { program: "rl".to_owned(), arguments: words };
        log.append(None, event, 0, String::new()).unwrap();
        let uses = read_uses(&path).unwrap();
        assert_eq!((uses[0].arguments.len(), uses[0].arguments[0].len()), (ARGUMENTS, LENGTH));
        log.lines = LINES;
        assert_eq!(log.append(None, began(&[]), 0, String::new()).unwrap(), None);
        log.lines = LINES - 1;
        assert_eq!(log.append(None, began(&[]), 0, String::new()).unwrap(), Some(2));
    }
}
