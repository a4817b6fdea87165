//! A script that is written step by step, each step run before the next is written.

use super::answer::{PlanStep, read_steps};
use super::asker::Asker;
use super::coder::compiling;
use super::prompt::{Question, Weight, title};
use super::settings::CoderSettings;
use super::steps::merge;
use crate::run::job::AutoMindJob;
use crate::run::open::{Undone, undone};
use jail::exec::{Fault, Mode, Run};
use sandbox::env::{EpisodeFault, TrialDir};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// What a script came to.
pub(super) enum Stepped<'a> {
    /// All steps ran. The last run was in `trial`, of a session or of all code so far.
    Whole {
        /// The script.
        code: String,
        /// How many there are.
        steps: u32,
        /// Where they ran.
        trial: TrialDir<'a>,
        /// The last run.
        run: Run,
    },
    /// A step failed as often as it was tried.
    GivenUp {
        /// The code so far, with the last try of that step.
        code: String,
        /// The number of the step, counted from 1.
        step: u32,
        /// The last run, and where it was.
        last: (TrialDir<'a>, Run),
    },
    /// There is no script at all.
    Nothing(String),
}

/// The steps that run in one work dir, one after the other, or all again from the beginning.
struct StepRunner<'a> {
    asker: &'a Asker<'a>,
    /// `Session`, or `Script` in a sandbox without sessions, where all code so far runs each time.
    mode: Mode,
    /// What the last step left, if its interpreter goes on.
    alive: Option<TrialDir<'a>>,
    /// Time that is left for all runs of the steps.
    left: Duration,
}

impl<'a> StepRunner<'a> {
    fn open(&mut self) -> Result<TrialDir<'a>, Undone> {
        let run = &self.asker.open.run;
        let open = |mode| {
            TrialDir::open(run.suite, run.task, run.config, mode, &|cancel| run.stop.watch(cancel))
        };
        match open(self.mode) {
            Err(EpisodeFault::Execution(Fault::NoSessions(_))) => {
                self.mode = Mode::Script;
                open(self.mode).map_err(undone)
            }
            opened => opened.map_err(undone),
        }
    }

    /// Runs `code`, which follows `so_far`.
    fn run(&mut self, so_far: &str, code: &str) -> Result<(TrialDir<'a>, Run), Undone> {
        let started = Instant::now();
        let (trial, run) = if let Some(trial) = self.alive.take() {
            let run = trial.run(code, self.left).map_err(undone)?;
            (trial, run)
        } else {
            let trial = self.open()?;
            let run = trial.run(&format!("{so_far}{code}"), self.left).map_err(undone)?;
            (trial, run)
        };
        self.left = self.left.saturating_sub(started.elapsed());
        Ok((trial, run))
    }

    /// Lets the next step go on in the interpreter of this one, if it is still there.
    fn keep(&mut self, trial: TrialDir<'a>, run: &Run) {
        if self.mode == Mode::Session && run.kept {
            self.alive = Some(trial);
        }
    }
}

/// The steps of a plan; the plan as one step where they cannot be read.
fn decompose(
    asker: &Asker<'_>,
    settings: &CoderSettings,
    plan: &str,
) -> Result<Vec<PlanStep>, Undone> {
    let question = Question::new(AutoMindJob::Decompose, asker.task())
        .files(asker.task())
        .text(title::PLAN, plan, Weight::Stays)
        .most_steps(settings.steps);
    let steps = asker.ask_for(&question, read_steps)?.unwrap_or_else(|_| {
        vec![PlanStep { step: "the whole plan".to_owned(), details: plan.to_owned() }]
    });
    Ok(merge(steps, settings.steps))
}

/// Writes the script of `plan` step by step, within `limit` for all runs. `before` is code that is
/// to be changed or repaired, with what it printed.
pub(super) fn stepwise<'a>(
    asker: &'a Asker<'a>,
    settings: &CoderSettings,
    plan: &str,
    before: Option<(&str, &str)>,
    limit: Duration,
) -> Result<Stepped<'a>, Undone> {
    let steps = decompose(asker, settings, plan)?;
    let mut runner = StepRunner { asker, mode: Mode::Session, alive: None, left: limit };
    let mut so_far = String::new();
    let mut reached = None;
    let count = u32::try_from(steps.len()).expect("few steps");
    for (number, index) in (1..=count).zip(0..) {
        let mut failed: Option<(String, String)> = None;
        let mut last = None;
        for _ in 0..settings.tries {
            let question =
                step_question(asker, plan, &steps, index, &so_far, before, failed.as_ref());
            let code = match compiling(asker, settings, &question, &so_far)? {
                Ok(code) => code,
                Err(reason) if last.is_none() && so_far.is_empty() => {
                    return Ok(Stepped::Nothing(reason));
                }
                // The player declines: what was tried last is what there is.
                Err(_) => break,
            };
            let code = if code.ends_with('\n') { code } else { code + "\n" };
            let (trial, run) = runner.run(&so_far, &code)?;
            if run.outcome.is_finished() {
                so_far.push_str(&code);
                failed = None;
                last = Some((trial, run));
                break;
            }
            failed = Some((code, output(&run)));
            last = Some((trial, run));
            if runner.left.is_zero() {
                break;
            }
        }
        match (last, failed) {
            (Some((trial, run)), None) if number == count => {
                reached = Some((trial, run));
            }
            (Some((trial, run)), None) => runner.keep(trial, &run),
            (Some(last), Some((code, _))) => {
                return Ok(Stepped::GivenUp { code: so_far + &code, step: number, last });
            }
            (None, _) => {
                // Nothing of this step was run; what came before it is run once more.
                let last = runner.run(&so_far, "")?;
                return Ok(Stepped::GivenUp { code: so_far, step: number, last });
            }
        }
    }
    let (trial, run) = reached.expect("a plan has a step");
    Ok(Stepped::Whole { code: so_far, steps: count, trial, run })
}

fn step_question(
    asker: &Asker<'_>,
    plan: &str,
    steps: &[PlanStep],
    index: usize,
    so_far: &str,
    before: Option<(&str, &str)>,
    failed: Option<&(String, String)>,
) -> Question {
    let mut list = String::new();
    for (number, step) in (1..).zip(steps) {
        let _ = writeln!(list, "{number}. {}", step.step);
    }
    let now = format!("Step {}: {}\n{}", index + 1, steps[index].step, steps[index].details);
    let mut question = Question::new(AutoMindJob::CodeStep, asker.task()).files(asker.task()).text(
        title::PLAN,
        plan,
        Weight::Stays,
    );
    if let Some((code, output)) = before {
        question = question.python(title::CODE, code).text(title::OUTPUT, output, Weight::Output);
    }
    question = question
        .text(title::STEPS, &list, Weight::Stays)
        .text(title::STEP, &now, Weight::Stays)
        .python(title::SO_FAR, so_far);
    match failed {
        Some((code, said)) => {
            question.python(title::LAST_TRY, code).text(title::OUTPUT, said, Weight::Output)
        }
        None => question,
    }
}

/// What a step printed, and how it ended.
fn output(run: &Run) -> String {
    let mut text = String::new();
    for stream in [run.stdout.text(), run.stderr.text()] {
        if !stream.trim_end().is_empty() {
            text.push_str(stream.trim_end());
            text.push('\n');
        }
    }
    format!("{text}[the step failed: it {}]\n", run.outcome)
}
