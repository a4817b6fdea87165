//! FT-Agent with a grading server in the same process: `posttrain tune`, and `posttrain ft` without one of
//! somebody else's.

use super::client::ServerArgs;
use super::ft_agent::{FtAgentArgs, FtPlace, Served, model_name, tell, told};
use super::grading::grader_of;
use super::serve::of_the_flags;
use super::{UsageError, exit, output};
use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use posttrain::Digest;
use posttrain::audit::audit;
use posttrain::clock::{Budget, ClockMode};
use posttrain::contamination::SealedTexts;
use posttrain::ft::{FtState, Trainer};
use posttrain::ledger::{EndReason, Protocol, SubmissionLimits};
use posttrain::serve::{GradingServer, Phase, RunHandle, ServeConfig};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;
use tasks::files;
use tasks::units::Span;
use web::token::Token;
use worlds::Suite;

/// How often the server is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// The version of `result.json`.
const VERSION: u32 = 1;
const RESULT: &str = "result.json";

/// A run of FT-Agent with its own server.
#[derive(Debug)]
pub(super) struct OwnServer<'a> {
    pub(super) suite: &'a Suite,
    /// Its folder.
    pub(super) folder: &'a Utf8Path,
    pub(super) task: &'a str,
    pub(super) trainer: &'a Trainer,
    /// Time for everything.
    pub(super) budget: Span,
    pub(super) agent: &'a FtAgentArgs,
    /// The folder of the run.
    pub(super) out: &'a Utf8Path,
}

/// What a run came to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Outcome {
    version: u32,
    /// The hash of the flags that decide what a run is.
    asked: Digest,
    /// The best experiment; none if none is better than the base.
    best: Option<u32>,
    /// The folder of its model.
    model: Option<Utf8PathBuf>,
    /// Scores on the items that were shown: of the base, of the best.
    dev: (Option<f64>, f64),
    /// Scores on the items that were sealed until the end: of the base, of the best.
    test: (Option<f64>, Option<f64>),
    /// The 95 % interval of the improvement on these.
    interval: Option<(f64, f64)>,
    /// Sealed items in what was trained on.
    contains: Vec<String>,
}

impl OwnServer<'_> {
    /// Carries out the run, or goes on with it, or tells what it came to. The exit code.
    pub(super) fn run(&self, interrupted: &AtomicBool) -> Result<u8> {
        let result = self.out.join(RESULT);
        if result.is_file() {
            let found = serde_json::from_slice(&fs::read(&result)?);
            let found: Outcome = found.with_context(|| format!("failed to read `{result}`"))?;
            if found.asked != self.asked()? {
                let out = self.out;
                let what =
                    format!("the run in `{out}` is over, and had other flags; name another --out");
                return Err(UsageError(what).into());
            }
            return print(&found);
        }
        let token = tasks::stream::unguessable()?;
        let server = GradingServer::open(self.serve_config(&token)?).map_err(of_the_flags)?;
        let (handle, url) = (server.handle(), format!("http://{}", server.address()));
        let served = thread::spawn(move || server.run_beside());
        let tuned = self.experiments(&ServerArgs::new(url, token), &handle, interrupted);
        let is_over = matches!(tuned, Ok(Some(_)));
        if is_over {
            handle.end(EndReason::Agent);
        } else {
            // Nobody works until it is started again.
            handle.pause()?;
        }
        let scored = handle.wait(served, is_over, interrupted);
        scored.context("failed to score a model")?;
        let Some(state) = tuned? else { return Ok(exit::INTERRUPTED) };
        if handle.phase() != Phase::Final {
            output::note(
                "note: the run was interrupted; start it again with the same flags, and it goes on",
            );
            return Ok(exit::INTERRUPTED);
        }
        tell(&state)?;
        let found = self.conclude(&state)?;
        files::write_json(&result, &found)?;
        print(&found)
    }

    /// What makes it this run and no other.
    fn asked(&self) -> Result<Digest> {
        let asked = json!({
            "task": self.task,
            "base": self.trainer.base,
            "trainer": self.trainer.program,
            "budget": self.budget,
            "loops": self.agent.loops,
            "seed": self.agent.seed,
            "planner": self.agent.planner_name(),
            "teachers": self.agent.teachers(),
            "settings": &*self.agent.settings()?,
        });
        Ok(Digest::of(asked.to_string().as_bytes()))
    }

    fn serve_config(&self, token: &str) -> Result<ServeConfig> {
        let trainer = self.trainer;
        let (sealed, models) = (self.out.join("sealed"), self.out.join("models"));
        fs::create_dir_all(&models)?;
        Ok(ServeConfig {
            listen: ([127, 0, 0, 1], 0).into(),
            token: Token::new(token, 16)?,
            sealed,
            suite: self.folder.to_owned(),
            task: self.task.to_owned(),
            base: trainer.base.clone(),
            output: models,
            aliases: Vec::new(),
            views: None,
            protocol: Protocol::Sealed,
            aggregate: None,
            tells_items: true,
            budget: Budget {
                limit_ms: u64::try_from(self.budget.0.as_millis())?,
                clock: ClockMode::Wall,
            },
            limits: SubmissionLimits {
                submissions: None,
                refusals: 1_000,
                grading_share: None,
                waiting: 8,
            },
            grader: grader_of(trainer.program.clone()),
            grading_limit: self.budget.0,
            device: self.agent.device.clone(),
            device_lock: None,
            launcher: trainer.launcher.clone(),
            until_final: true,
            code: None,
            uses: None,
        })
    }

    /// FT-Agent's experiments, once the base is scored; none if they were interrupted.
    fn experiments(
        &self,
        server: &ServerArgs,
        handle: &RunHandle,
        interrupted: &AtomicBool,
    ) -> Result<Option<FtState>> {
        while handle.phase() == Phase::Baseline && !handle.is_stopping() {
            if interrupted.load(Ordering::SeqCst) {
                return Ok(None);
            }
            sleep(LOOK);
        }
        if handle.is_stopping() {
            // The server says why.
            return Ok(None);
        }
        handle.resume()?;
        let task = self.suite.task(self.task)?;
        let pool = self.suite.pool().context("the suite has lost its raw data")?;
        let (models, agent) = (self.out.join("models"), self.out.join("agent"));
        let mut arena = Served { server, output: &models, base: &self.trainer.base };
        let place = FtPlace { task: &task, pool: &pool, trainer: self.trainer, out: &agent };
        told(self.agent.run(&place, &mut arena, interrupted))
    }

    fn conclude(&self, state: &FtState) -> Result<Outcome> {
        let report = audit(&self.out.join("sealed"), None)?;
        let metrics = report.metrics.context("the ledger of the run cannot be read")?;
        let best = state.best().map(|best| best.number);
        let trained = self.out.join("agent/experiments");
        let folders = if trained.is_dir() { vec![trained] } else { Vec::new() };
        let scan = SealedTexts::of([&self.suite.task(self.task)?])?.scan(self.out, &folders)?;
        Ok(Outcome {
            version: VERSION,
            asked: self.asked()?,
            best,
            model: best.map(|number| self.out.join("models").join(model_name(number))),
            dev: (metrics.baseline, metrics.best),
            test: (metrics.final_base, metrics.final_best),
            interval: report.interval,
            contains: scan.found.iter().map(ToString::to_string).collect(),
        })
    }
}

fn print(result: &Outcome) -> Result<u8> {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    let Outcome { dev, test, interval, contains, .. } = result;
    output::line(&format!("dev   base {}, best {:.4}", number(dev.0), dev.1))?;
    output::line(&format!("test  base {}, best {}", number(test.0), number(test.1)))?;
    if let Some((low, high)) = interval {
        output::line(&format!("      improvement {low:+.4} to {high:+.4} (95 %, items in pairs)"))?;
    }
    for found in contains {
        output::line(&format!("contains  {found}"))?;
    }
    match &result.model {
        Some(model) => output::line(&format!("model {model}"))?,
        None => output::line("model none: no experiment is better than the base")?,
    }
    Ok(if contains.is_empty() { exit::SUCCESS } else { exit::FINDINGS })
}
