//! The supervisor: one sandbox and as many episodes at a time as asked for. It plays until its
//! standard input ends, then leaves in order.

use crate::failing_turn::FailingTurn;
use crate::progress::{FinishedScript, SupervisorLine};
use agents::grammar::{self, ToolCallFormat};
use agents::prompt::{Prompt, PromptStyle};
use agents::scaffold::scripted::{ScriptStyle, ScriptedAgent, ScriptedLevel};
use anyhow::{Result, bail, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::{Outcome, SandboxOptions};
use jail::limits::RunLimits;
use rand::seq::IndexedRandom as _;
use sandbox::env::{Action, CloseReason, EpisodeConfig, Label, Recorded, StepResult, TaskSuite};
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tasks::stream::Stream;
use tasks::task::Opening;
use tasks::units::{ByteSize, Span};

/// The scripted agents' scripts need a tenth of each; a script that passes one takes no longer
/// about it than it must.
const TIME_LIMIT: Span = Span::seconds(20);
const MEMORY: ByteSize = ByteSize::gib(1);

/// Plays. `life` tells this supervisor's records from those of others in the same folder.
pub(crate) fn main(
    corpus: &Utf8Path,
    records: &Utf8Path,
    episodes: usize,
    life: u32,
) -> Result<()> {
    let suite = TaskSuite::open(corpus, &Opening::default(), SandboxOptions::default())?;
    let sandbox = suite.sandbox();
    say(&SupervisorLine::Ready {
        launcher: sandbox.launcher_pid(),
        tier: sandbox.tier().to_string(),
    })?;
    let stop = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&stop);
    // Also the end of whoever started this program.
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        heard.store(true, Ordering::Relaxed);
    });
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..episodes)
            .map(|thread| {
                let stream = Stream::root(u64::from(life)).index(thread as u64);
                let seat = Seat { suite: &suite, records, life, thread, stream, stop: &stop };
                scope.spawn(move || seat.play())
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

/// Writes a line; an error means that nobody listens any more.
fn say(line: &SupervisorLine) -> Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(std::io::stdout().lock().write_all(&text)?)
}

/// One thread's place.
struct Seat<'a> {
    suite: &'a TaskSuite,
    records: &'a Utf8Path,
    life: u32,
    thread: usize,
    stream: Stream,
    stop: &'a AtomicBool,
}

impl Seat<'_> {
    fn play(&self) -> Result<()> {
        let thread = self.thread;
        for number in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            if let Err(error) = self.episode(number) {
                say(&SupervisorLine::Error {
                    thread,
                    text: format!("episode {number}: {error:#}"),
                })?;
                // What fails at once should not fail a thousand times a second.
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        Ok(())
    }

    fn episode(&self, number: u64) -> Result<()> {
        let (thread, life) = (self.thread, self.life);
        let stream = self.stream.index(number);
        let mut rng = stream.rng();
        let (Some(task), Some(approach)) =
            (self.suite.tasks().choose(&mut rng), ScriptedLevel::ALL.choose(&mut rng))
        else {
            bail!("there is nothing to choose from")
        };
        let label = Label { episode: format!("{life}-{thread}-{number}"), seed: None };
        let record = Utf8PathBuf::from(format!("{}/{}.jsonl", task.id(), label.episode));
        let policy = RunLimits { time_limit: TIME_LIMIT, memory: MEMORY, ..RunLimits::default() };
        let config = EpisodeConfig { policy, ..EpisodeConfig::default() };
        let path = self.records.join(&record);
        let mut episode = Recorded::reset(self.suite, task, &config, &label, &path)?;
        say(&SupervisorLine::Began { thread, record })?;

        let prompt = Prompt::new(task, PromptStyle::Brief, ToolCallFormat::Code, config.mode)?;
        let stream = stream.child("agent");
        let style = ScriptStyle::Evaluation;
        let agent =
            ScriptedAgent::new(*approach, task, &prompt, style, ToolCallFormat::Code, stream);
        match self.turns(&mut episode, agent, FailingTurn::for_episode(thread, number)) {
            Ok(true) => {}
            Ok(false) => return Ok(episode.abandon(CloseReason::Drained)?),
            Err(error) => {
                episode.abandon(CloseReason::Fault)?;
                return Err(error);
            }
        }
        let finish = episode.close()?;
        say(&SupervisorLine::Closed { thread })?;
        let refusal = finish.refusal.unwrap_or_default();
        ensure!(finish.grade.is_some(), "{approach:?} on {}: {refusal}", task.id());
        Ok(())
    }

    /// Takes turns until the episode is over; false if it is to be left before.
    fn turns(
        &self,
        episode: &mut Recorded,
        mut agent: ScriptedAgent,
        failing: Option<FailingTurn>,
    ) -> Result<bool> {
        if let Some(failing) = failing {
            let (action, step) = self.step(episode, &failing.turn())?;
            let told = &step.observation.text;
            ensure!(failing.fits(&action, step.outcome.as_ref()), "{failing:?} came to {told}");
        }
        let mut turn = agent.first_turn();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let (_, step) = self.step(episode, &turn)?;
            // These scripts have done their work on these tasks before.
            let finished = step.outcome.as_ref().is_none_or(Outcome::is_finished);
            ensure!(finished, "an honest script {}", step.observation.text);
            if step.done {
                return Ok(true);
            }
            turn = agent.next_turn(&step.observation.text);
        }
    }

    fn step(&self, episode: &mut Recorded, turn: &str) -> Result<(Action, StepResult)> {
        let action = grammar::parse(turn).action;
        let started = Instant::now();
        let step = episode.step(&action)?;
        let wait = started.elapsed().saturating_sub(step.wall).as_secs_f64();
        let run = step.outcome.as_ref().map(|outcome| FinishedScript {
            outcome: outcome.to_string(),
            wall: step.wall.as_secs_f64(),
            wait,
        });
        let malformed = matches!(action, Action::Malformed { .. });
        say(&SupervisorLine::Step { thread: self.thread, run, malformed })?;
        Ok((action, step))
    }
}
