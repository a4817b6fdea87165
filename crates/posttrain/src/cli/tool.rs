//! The wrapper of a program of the toolbox: starts it, waits for it, and reports both to the server.
//!
//! It runs as the agent and can be left out by it, so what it reports is told and not observed. It must
//! never stand in an agent's way: without a server the program runs all the same.

use super::client::ask;
use super::{exit, output};
use camino::{Utf8Path, Utf8PathBuf};
use posttrain::record::{TrainerFacts, UseEnd, UseEvent, beside, out_of};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The first argument of this program when it is to start a program of the toolbox, whose path follows.
pub(crate) const TOOL: &str = posttrain::workspace::TOOL;
/// The same when it is not to be started: the reason follows, and then the path.
pub(crate) const REFUSED: &str = posttrain::workspace::REFUSED;
/// Time for the server to answer, and tries: an agent is stopped while its clock is.
const PATIENCE: Duration = Duration::from_secs(10);
const TRIES: usize = 3;
/// Time between two looks at the program.
const LOOK: Duration = Duration::from_millis(10);

/// Starts the program whose path and arguments are in `words`. Its exit code.
pub(crate) fn run(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.collect();
    let Some((program, arguments)) = words.split_first() else {
        output::note("error: no program of the toolbox is named");
        return ExitCode::from(exit::USAGE);
    };
    let told = texts(arguments);
    let name = name(program);
    let number = tell(None, &UseEvent::Began { program: name.clone(), arguments: told.clone() });
    let began = Instant::now();
    let status = match start(program, arguments) {
        Ok(status) => status,
        Err(error) => {
            output::note(&format!("error: `{name}` could not be started: {error}"));
            let code = Some(i32::from(exit::LAUNCH));
            end(number, UseEnd { code, signal: None, seconds: 0.0, trainer: None });
            return ExitCode::from(exit::LAUNCH);
        }
    };
    let seconds = began.elapsed().as_secs_f64();
    let trainer = trainer(&told);
    end(number, UseEnd { code: status.code(), signal: status.signal(), seconds, trainer });
    // As a shell has it.
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or_default();
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(exit::FAULT))
}

/// Says why a program is not started. The reason, its path and its arguments are in `words`.
pub(crate) fn refuse(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.collect();
    if let [reason, program, arguments @ ..] = words.as_slice() {
        output::note(&format!("error: {}", reason.to_string_lossy()));
        let (program, arguments) = (name(program), texts(arguments));
        tell(None, &UseEvent::Refused { program, arguments });
    }
    ExitCode::from(exit::USAGE)
}

/// Starts the program so that it ends with this process, and passes signals on until it has ended.
fn start(program: &OsString, arguments: &[OsString]) -> std::io::Result<ExitStatus> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])?;
    let mut child = Command::new(std::env::current_exe()?)
        .arg(posttrain::child::LAUNCH)
        .arg(std::process::id().to_string())
        .arg(program)
        .args(arguments)
        .spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    loop {
        for signal in signals.pending() {
            if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) {
                // It may have ended just now.
                let _ = kill_process(pid, signal);
            }
        }
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        sleep(LOOK);
    }
}

/// What the trainer left in the folder that it was told to write to.
fn trainer(arguments: &[String]) -> Option<TrainerFacts> {
    let folder = Utf8PathBuf::from(out_of(arguments)?);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = openat(CWD, folder.as_std_path(), flags, Mode::empty()).ok()?;
    let facts = beside(&top, Utf8Path::new(""))?;
    Some(TrainerFacts { folder: folder.into_string(), ..facts })
}

fn end(number: Option<u64>, end: UseEnd) {
    if number.is_some() {
        tell(number, &UseEvent::Ended(end));
    }
}

/// Reports to the server of the run, if there is one. The number of the use.
fn tell(number: Option<u64>, event: &UseEvent) -> Option<u64> {
    let url = std::env::var("GRADING_SERVER_URL").ok()?;
    let token = std::env::var("GRADING_TOKEN").ok()?;
    let mut body = serde_json::to_value(event).ok()?;
    body["use"] = number.map_or(Value::Null, Into::into);
    for _ in 0..TRIES {
        if let Ok((is_taken, answer)) = ask(&url, &token, "/v1/uses", Some(&body), Some(PATIENCE)) {
            return answer["use"].as_u64().filter(|_| is_taken);
        }
    }
    output::note("note: this use of the toolbox was not recorded; nothing depends on it");
    None
}

fn name(program: &OsString) -> String {
    let path = program.to_string_lossy();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn texts(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
