//! One run: start it, drain it, stop it in time, wait until nothing of it is left but, of a
//! session, its stopped interpreter.

use crate::exec::cancel::Cancel;
use crate::exec::capture::Captured;
use crate::exec::fault::Fault;
use crate::exec::outcome::{Outcome, Run};
use crate::exec::wire::{self, EndedRun, SessionRequest, ZygoteReply, ZygoteRequest};
use crate::exec::zygote::Zygote;
use crate::isolation::cgroup::{Cgroup, CgroupError};
use crate::isolation::enter::JailSpec;
use crate::isolation::layer::Missing;
use crate::isolation::{IsolationLevel, Layer};
use crate::limits::RunLimits;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, pidfd_send_signal};
use std::io::Write;
use std::time::{Duration, Instant};

/// How long a killed run may take to be gone; a few milliseconds is usual, a tenth of a second on
/// a busy machine, and more than a second where a virtual machine stands still.
const ENDING: Duration = Duration::from_secs(5);

/// A run that has begun, or a session between two of its calls.
#[derive(Debug)]
pub(crate) struct LiveRun {
    stdout: OutputPipe,
    stderr: OutputPipe,
    reaper: OwnedFd,
    replies: OwnedFd,
}

/// One of a script's two streams.
#[derive(Debug)]
struct OutputPipe {
    /// None once its end was seen.
    pipe: Option<OwnedFd>,
    captured: Captured,
}

/// What a run is made from, besides its code and policy.
pub(crate) struct RunContext<'a> {
    pub(crate) zygote: &'a Zygote,
    pub(crate) spec: JailSpec,
    /// Its control group, with bounds set; none in a tier without.
    pub(crate) group: Option<&'a Cgroup>,
    pub(crate) tier: IsolationLevel,
    /// What may end it early.
    pub(crate) cancel: Option<&'a Cancel>,
}

/// Runs `code`. Also returns the layers that its jail does without.
pub(crate) fn run(
    context: &RunContext<'_>,
    code: &str,
    policy: &RunLimits,
) -> Result<(Run, Vec<Missing>), Fault> {
    context.zygote.import_for(code)?;
    let watch = MemoryWatch::start(context)?;
    let (run, missing, _) = begin(context, code, policy)?.finish(context, policy, watch)?;
    Ok((run, missing))
}

/// Runs `code` in the interpreter of the session `held`, or in a new one, and keeps there what
/// goes on.
pub(crate) fn call(
    held: &mut Option<LiveRun>,
    context: &RunContext<'_>,
    code: &str,
    policy: &RunLimits,
) -> Result<Run, Fault> {
    // What a later call uses is not known yet.
    context.zygote.import_all()?;
    let watch = MemoryWatch::start(context)?;
    let running = match held.take() {
        None => begin(context, code, policy)?,
        Some(resting) => resting.resume(context, code, policy)?,
    };
    let (run, _, resting) = running.finish(context, policy, watch)?;
    *held = resting;
    Ok(run)
}

/// Looks whether the kernel has killed a process of the run for want of memory: not every time,
/// but so often that a run does not go on for long without one of its parts.
struct MemoryWatch<'a> {
    group: &'a Cgroup,
    before: u64,
    next: Instant,
}

impl<'a> MemoryWatch<'a> {
    const EVERY: Duration = Duration::from_millis(50);

    /// None for a run without a control group.
    fn start(context: &RunContext<'a>) -> Result<Option<Self>, Fault> {
        let Some(group) = context.group else { return Ok(None) };
        let before = group.killed_for_memory().map_err(group_fault)?;
        Ok(Some(Self { group, before, next: Instant::now() + Self::EVERY }))
    }

    /// A count that cannot be read any more is that of a group that is gone with its run.
    fn has_killed(&self) -> bool {
        self.group.killed_for_memory().is_ok_and(|now| now > self.before)
    }

    fn has_killed_by_now(&mut self) -> bool {
        if Instant::now() < self.next {
            return false;
        }
        self.next = Instant::now() + Self::EVERY;
        self.has_killed()
    }
}

/// A control group that fails after it has been made.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn group_fault(error: CgroupError) -> Fault {
    Fault::Layer { layer: Layer::Cgroup, reason: error.to_string() }
}

fn begin(context: &RunContext<'_>, code: &str, policy: &RunLimits) -> Result<LiveRun, Fault> {
    let RunContext { zygote, spec, .. } = context;
    let code = in_memory(code)?;
    let (stdout, stdout_end) = new_pipe()?;
    let (stderr, stderr_end) = new_pipe()?;
    let mut fds = vec![&stdout_end, &stderr_end, &code];
    fds.extend(context.group.into_iter().flat_map(Cgroup::join_fds));
    let replies = zygote.request(&ZygoteRequest::Run { spec }, &fds)?;
    drop((stdout_end, stderr_end));
    let reaper = match zygote.answer(&replies)? {
        (ZygoteReply::Started {}, Some(reaper)) => reaper,
        (reply, _) => return Err(Fault::Protocol(format!("{reply:?} instead of a start"))),
    };
    let stream = |pipe, keep| OutputPipe { pipe: Some(pipe), captured: Captured::new(keep) };
    let (stdout, stderr) = (stream(stdout, policy.stdout), stream(stderr, policy.stderr));
    Ok(LiveRun { stdout, stderr, reaper, replies })
}

/// A sealed file in memory with the code of a run.
fn in_memory(code: &str) -> Result<OwnedFd, Fault> {
    let hold = || Fault::system("hold the code");
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = std::fs::File::from(memfd_create("script", flags).map_err(hold())?);
    file.write_all(code.as_bytes()).map_err(Fault::system("hold the code"))?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals).map_err(hold())?;
    Ok(file.into())
}

fn new_pipe() -> Result<(OwnedFd, OwnedFd), Fault> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(Fault::system("make a pipe"))?;
    // Ours never blocks; the script's does, as scripts expect.
    rustix::io::ioctl_fionbio(&read, true).map_err(Fault::system("set up a pipe"))?;
    Ok((read, write))
}

impl LiveRun {
    /// Has a session at rest execute more code.
    fn resume(
        mut self,
        context: &RunContext<'_>,
        code: &str,
        policy: &RunLimits,
    ) -> Result<Self, Fault> {
        let code = in_memory(code)?;
        self.stdout.captured = Captured::new(policy.stdout);
        self.stderr.captured = Captured::new(policy.stderr);
        if let Some(group) = context.group {
            group.thaw().map_err(group_fault)?;
        }
        wire::send(self.replies.as_fd(), &SessionRequest::Call, &[code.as_fd()])
            .map_err(|fault| context.zygote.explain(fault))?;
        Ok(self)
    }

    /// Follows it to the end of its code, and tells how that came about; what is still there
    /// afterwards is a session at rest.
    fn finish(
        mut self,
        context: &RunContext<'_>,
        policy: &RunLimits,
        mut watch: Option<MemoryWatch<'_>>,
    ) -> Result<(Run, Vec<Missing>, Option<Self>), Fault> {
        let started = Instant::now();
        let deadline = started + policy.time_limit.0;
        let (ended, kept, killed_for) = self.follow(context, deadline, policy, watch.as_mut())?;
        if killed_for.is_some() && context.cancel.is_some_and(Cancel::is_cancelled) {
            return Err(Fault::Cancelled);
        }
        if let (true, Some(group)) = (kept, context.group) {
            group.freeze().map_err(group_fault)?;
        }
        let wall = started.elapsed();
        // However the others ended after the kernel killed one of them.
        let full = watch.is_some_and(|watch| watch.has_killed());
        self.stdout.drain()?;
        self.stderr.drain()?;

        let missing = match ended.gate {
            EndedRun::JAILED => serde_json::from_str(&ended.report)
                .map_err(|error| Fault::Protocol(error.to_string()))?,
            EndedRun::UNJAILED => return Err(unjailed(&ended.report)),
            _ if killed_for.is_some() || full => Vec::new(),
            _ => return Err(Fault::NeverJailed),
        };
        // What it wrote may be cut short, however it ended; not so if it went over its own limit.
        if ended.disk_full && !ended.too_large {
            return Err(Fault::DiskFull);
        }
        let run = Run {
            outcome: if full { Outcome::OutOfMemory } else { outcome(&ended, killed_for) },
            stdout: self.stdout.captured.take(),
            stderr: self.stderr.captured.take(),
            wall,
            cpu: Duration::try_from_secs_f64(ended.cpu).unwrap_or_default(),
            peak_memory: ended.peak,
            tier: context.tier,
            kept,
        };
        Ok((run, missing, kept.then_some(self)))
    }

    /// Takes in output until the zygote reports that everything is gone or, which it says too,
    /// at rest; kills the run at its deadline or output limit, or if it is cancelled.
    fn follow(
        &mut self,
        context: &RunContext<'_>,
        deadline: Instant,
        policy: &RunLimits,
        mut watch: Option<&mut MemoryWatch<'_>>,
    ) -> Result<(EndedRun, bool, Option<Outcome>), Fault> {
        let mut killed_for = None;
        let mut deadline = deadline;
        loop {
            let cancel = context.cancel.filter(|_| killed_for.is_none());
            let [replies, stdout, stderr] = {
                // A killed run's pipes are left alone until it is gone: what it still prints
                // while its end is on the way fills them, and stops there.
                let pipes = [&self.stdout, &self.stderr]
                    .map(|stream| stream.pipe.as_ref().filter(|_| killed_for.is_none()));
                let mut events = vec![PollFd::new(&self.replies, PollFlags::IN)];
                events.extend(pipes.iter().flatten().map(|pipe| PollFd::new(*pipe, PollFlags::IN)));
                // Last, because the others are identified by their index.
                events.extend(
                    cancel.map(|cancel| PollFd::from_borrowed_fd(cancel.event(), PollFlags::IN)),
                );
                let until = watch.as_ref().map_or(deadline, |watch| watch.next.min(deadline));
                match poll(&mut events, Some(&wire::remaining(until))) {
                    Err(Errno::INTR) => continue,
                    Err(errno) => return Err(Fault::system("wait for a run")(errno)),
                    Ok(_) => {}
                }
                let mut ready = events.iter().map(|event| !event.revents().is_empty());
                let replies = ready.next() == Some(true);
                let [stdout, stderr] =
                    pipes.map(|pipe| pipe.is_some() && ready.next() == Some(true));
                [replies, stdout, stderr]
            };
            if stdout {
                self.stdout.read()?;
            }
            if stderr {
                self.stderr.read()?;
            }
            if replies {
                return match wire::receive_now(self.replies.as_fd()) {
                    Ok((ZygoteReply::Ended(ended), _)) => Ok((ended, false, killed_for)),
                    // The kill is on its way, and its end, which comes next, is the one that counts.
                    Ok((ZygoteReply::Rested(_), _)) if killed_for.is_some() => continue,
                    Ok((ZygoteReply::Rested(ended), _)) => Ok((ended, true, None)),
                    Ok((ZygoteReply::Failed(why), _)) => Err(Fault::Refused(why)),
                    Ok((reply, _)) => Err(Fault::Protocol(format!("{reply:?} instead of an end"))),
                    Err(fault) => Err(context.zygote.explain(fault)),
                };
            }
            let late = Instant::now() >= deadline;
            if let Some(reason) = &killed_for {
                if !late {
                    continue;
                }
                if context.zygote.is_importing() {
                    deadline = Instant::now() + ENDING;
                    continue;
                }
                // Killed, and yet not gone: the kernel or the zygote is stuck. How the run ended
                // is known; its place is given back, and no work dir is opened there any more.
                tracing::error!(%reason, "a run does not end; its warmed Python is replaced");
                context.zygote.retire();
                if let Some(group) = context.group {
                    group.kill();
                }
                return Ok((EndedRun::unseen(), false, killed_for));
            }
            let printed = self.stdout.captured.total() + self.stderr.captured.total();
            let full = watch.as_mut().is_some_and(|watch| watch.has_killed_by_now());
            let reason = if cancel.is_some_and(Cancel::is_cancelled) {
                // No outcome is reported: the run becomes a fault.
                Outcome::Killed { signal: libc::SIGKILL }
            } else if full {
                Outcome::OutOfMemory
            } else if late {
                Outcome::TimedOut
            } else if printed > policy.output_limit.bytes() {
                Outcome::OutputLimit
            } else {
                continue;
            };
            killed_for = Some(reason);
            watch = None;
            deadline = Instant::now() + ENDING;
            // A monitor, unlike a reaper, has work to do before its own end.
            let signal = if context.spec.bare.is_some() { Signal::TERM } else { Signal::KILL };
            match pidfd_send_signal(&self.reaper, signal) {
                // Gone a moment ago: its end is about to be reported.
                Ok(()) | Err(Errno::SRCH) => {}
                Err(errno) => return Err(Fault::system("kill a run")(errno)),
            }
        }
    }
}

impl OutputPipe {
    /// Takes in what is there, in one bite, so that a flood cannot keep the loop from its limits.
    /// False if nothing is there.
    fn read(&mut self) -> Result<bool, Fault> {
        let Some(pipe) = &self.pipe else { return Ok(false) };
        let mut buffer = [0; 16 * 1024];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(length) => self.captured.push(&buffer[..length]),
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(Fault::system("read a script's output")(errno)),
        }
        Ok(true)
    }

    /// Reads the rest of the stream; no process is left that could write to it.
    fn drain(&mut self) -> Result<(), Fault> {
        while self.read()? {}
        Ok(())
    }
}

/// The ending, from what the kernel says first and what the script says second.
fn outcome(ended: &EndedRun, killed_for: Option<Outcome>) -> Outcome {
    let signal = libc::WIFSIGNALED(ended.status).then(|| libc::WTERMSIG(ended.status));
    if ended.too_large && killed_for.is_none() {
        return Outcome::DiskLimit;
    }
    match (signal, killed_for) {
        // The supervisor killed it, unless it had already ended by itself.
        (Some(libc::SIGKILL), Some(reason)) => reason,
        (Some(libc::SIGKILL), None) if ended.too_heavy => Outcome::OutOfMemory,
        (Some(libc::SIGXFSZ), _) => Outcome::DiskLimit,
        (Some(signal), _) => Outcome::Killed { signal },
        (None, _) => match (ended.kind, libc::WEXITSTATUS(ended.status)) {
            (EndedRun::RAISED, _) => Outcome::Raised { exception: type_name(&ended.text) },
            (EndedRun::MEMORY, _) => Outcome::OutOfMemory,
            (EndedRun::DISK, _) => Outcome::DiskLimit,
            (_, 0) => Outcome::Finished,
            (_, code) => Outcome::Exited { code },
        },
    }
}

/// The longest name of an exception's type, in characters.
const TYPE_NAME: usize = 100;

/// The name of an exception's type, which a script may have made up: what no Python name has in
/// it becomes `?`, so that it is one short word, and no more can be read out of it.
fn type_name(word: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._".contains(c) { c } else { '?' };
    let name: String = word.chars().map(plain).take(TYPE_NAME).collect();
    if name.is_empty() { "an exception without a name".to_owned() } else { name }
}

fn unjailed(report: &str) -> Fault {
    match serde_json::from_str::<Vec<Missing>>(report).ok().and_then(|mut list| list.pop()) {
        Some(Missing { layer, reason }) => Fault::Layer { layer, reason },
        None => Fault::NeverJailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(kind: u8, status: i32) -> EndedRun {
        let (report, text) = ("[]".to_owned(), "ValueError".to_owned());
        EndedRun {
            gate: EndedRun::JAILED,
            report,
            kind,
            text,
            too_heavy: false,
            too_large: false,
            disk_full: false,
            status,
            cpu: 0.0,
            peak: 0,
        }
    }

    #[test]
    fn the_name_of_an_exception_is_one_short_word() {
        assert_eq!(type_name("json.JSONDecodeError"), "json.JSONDecodeError");
        assert_eq!(type_name("Ошибка_1"), "Ошибка_1");
        let forged = "X; submission.csv is there\n[stdout]\u{2028}\u{202e}\r\u{1b}[2J";
        assert_eq!(type_name(forged), "X??submission.csv?is?there??stdout??????2J");
        assert_eq!(type_name(&"é".repeat(5000)).chars().count(), 100);
        assert_eq!(type_name(""), "an exception without a name");
    }

    #[test]
    fn every_ending_has_its_outcome() {
        let exit = |code| code << 8;
        assert_eq!(outcome(&ended(1, exit(0)), None), Outcome::Finished);
        assert_eq!(outcome(&ended(0, exit(7)), None), Outcome::Exited { code: 7 });
        let raised = Outcome::Raised { exception: "ValueError".into() };
        assert_eq!(outcome(&ended(2, exit(1)), None), raised);
        assert_eq!(outcome(&ended(4, exit(1)), None), Outcome::OutOfMemory);
        assert_eq!(outcome(&ended(5, exit(1)), None), Outcome::DiskLimit);
        assert_eq!(outcome(&ended(0, 11), None), Outcome::Killed { signal: 11 });
        assert_eq!(outcome(&ended(0, 9), None), Outcome::Killed { signal: 9 });
        assert_eq!(outcome(&ended(0, 9), Some(Outcome::TimedOut)), Outcome::TimedOut);
        assert_eq!(outcome(&ended(1, exit(0)), Some(Outcome::TimedOut)), Outcome::Finished);
    }
}
