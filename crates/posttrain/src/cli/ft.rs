//! `posttrain ft`: FT-Agent on a task of a suite with raw data.

use super::client::ServerArgs;
use super::ft_agent::{FtAgentArgs, FtPlace, Served, tell, told};
use super::own_server::OwnServer;
use super::{UsageError, exit, model_folder, output};
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::Args;
use posttrain::ft::{AcceptRule, Method, Workflow};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tasks::units::{ByteSize, Span};
use worlds::{Suite, TaskSpec};

#[derive(Debug, Args)]
#[command(args_override_self = true)]
pub(super) struct FtArgs {
    /// The suite; with `--url` its public half and its raw data are enough.
    suite: Utf8PathBuf,
    /// The task.
    task: String,
    /// The base model: a folder in Hugging Face's form, or a run of `rl`, whose newest checkpoint it is.
    #[arg(long, value_name = "DIR", value_parser = model_folder::parser())]
    base: Utf8PathBuf,
    /// The folder of the run; a run that is there goes on.
    #[arg(long, value_name = "DIR")]
    out: Utf8PathBuf,
    /// Time for everything, training and scoring included. A server of somebody else's has its own.
    #[arg(long, value_name = "TIME", default_value_t = Span::seconds(12 * 3600))]
    budget: Span,
    #[command(flatten)]
    agent: FtAgentArgs,
    /// A grading server of somebody else's (`posttrain serve`). Default: one in this process.
    #[arg(long, env = "GRADING_SERVER_URL", requires = "output")]
    url: Option<String>,
    /// The token of that server. Better given in the environment.
    #[arg(long, env = "GRADING_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// The output folder of that server, where models are put.
    #[arg(long, value_name = "DIR", requires = "url")]
    output: Option<Utf8PathBuf>,
    /// Flags from a file: `ftdojo-tiny`, `ftdojo-paper`, or a TOML file of your own whose keys are flags.
    /// Flags that are given win.
    // Replaced by those flags before this parser sees it.
    #[arg(long, value_name = "NAME|FILE")]
    config: Option<String>,
    /// Print what would be run, and run nothing.
    #[arg(long)]
    dry_run: bool,
    /// With `--dry-run`: what a GPU has, such as `141GiB`.
    #[arg(long, value_name = "SIZE", requires = "dry_run")]
    gpu_memory: Option<ByteSize>,
}

/// Set once the process is interrupted or asked to terminate. The second signal ends it at once, which
/// loses no more than any kill does.
pub(super) fn watch_signals() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order the first signal does not find its own flag.
        let code = i32::from(exit::INTERRUPTED);
        flag::register_conditional_shutdown(signal, code, Arc::clone(&interrupted))
            .and_then(|_| flag::register(signal, Arc::clone(&interrupted)))
            .context("failed to watch for signals")?;
    }
    Ok(interrupted)
}

pub(super) fn ft(args: &FtArgs) -> Result<u8> {
    if args.config.is_some() {
        return Err(UsageError("give --config once".to_owned()).into());
    }
    args.agent.check()?;
    let suite = Suite::open(&args.suite).context("failed to open the suite")?;
    let task = suite.task(&args.task)?;
    let pool = suite.pool().ok_or_else(|| {
        UsageError(format!("`{}` has no raw data; make a suite `ftdojo`", args.suite))
    })?;
    if args.dry_run {
        return dry_run(args, task.spec());
    }
    let trainer = args.agent.trainer(&args.base)?;
    let interrupted = watch_signals()?;
    let (Some(url), Some(output)) = (&args.url, &args.output) else {
        let own = OwnServer {
            suite: &suite,
            folder: &args.suite,
            task: &args.task,
            trainer: &trainer,
            budget: args.budget,
            agent: &args.agent,
            out: &args.out,
        };
        return own.run(&interrupted);
    };
    let token = args.token.clone().ok_or_else(|| {
        UsageError("the server asks for a token: set GRADING_TOKEN to that of the run".to_owned())
    })?;
    let server = ServerArgs::new(url.clone(), token);
    let mut arena = Served { server: &server, output, base: &trainer.base };
    let place = FtPlace { task: &task, pool: &pool, trainer: &trainer, out: &args.out };
    match told(args.agent.run(&place, &mut arena, &interrupted))? {
        Some(state) => {
            tell(&state)?;
            Ok(exit::SUCCESS)
        }
        None => Ok(exit::INTERRUPTED),
    }
}

/// Prints what would be run: limits, commands, and what the trainer plans for a GPU.
fn dry_run(args: &FtArgs, task: &TaskSpec) -> Result<u8> {
    let FtArgs { agent, base, budget, out, .. } = args;
    let settings = agent.settings()?;
    let limits = &settings.limits;
    let name = |method: &Method| match method {
        Method::Lora => "LoRA",
        Method::Full => "all weights",
    };
    let methods: Vec<&str> = limits.methods.iter().map(name).collect();
    let methods = methods.join(" or ");
    let accept = match settings.accept.rule {
        AcceptRule::Primary => "a higher score".to_owned(),
        AcceptRule::Bootstrap => {
            let agree = 100.0 * settings.accept.agree;
            format!("a higher score on which {agree:.0} % of the resamples agree")
        }
    };
    let checks = match settings.workflow {
        Workflow::FailFast => format!(
            "debug run {}, mini-run {}",
            limits.debug_data.in_words(),
            limits.mini_run.in_words()
        ),
        Workflow::Staged => "none: the workflow is staged".to_owned(),
    };
    let teachers = match agent.teachers().as_slice() {
        [] => "none".to_owned(),
        teachers => {
            let named: Vec<String> =
                teachers.iter().map(|(tier, model)| format!("{tier} {model}")).collect();
            let questions = limits.teacher_questions;
            format!("{}; a script may ask {questions} questions", named.join(", "))
        }
    };
    let items = task.items;
    let server = args.url.as_deref().unwrap_or("one in this process");
    for (name, value) in [
        (
            "task",
            format!(
                "{}: {} dev and {} test items, scored as {}",
                task.id, items.dev, items.test, task.metric
            ),
        ),
        ("base", base.to_string()),
        ("planner", agent.planner_name().to_owned()),
        ("teachers", teachers),
        (
            "budget",
            format!("{} for everything, {} experiments at most", budget.in_words(), agent.loops),
        ),
        ("samples", format!("{} reach the trainer at most, by {methods}", limits.samples)),
        ("checks", checks),
        (
            "drafts",
            format!(
                "{} a proposal, whose full data may take {}",
                limits.coder_rounds,
                limits.data.in_words()
            ),
        ),
        ("accepted", accept),
        ("server", server.to_owned()),
    ] {
        output::line(&format!("{name:9} {value}"))?;
    }
    // What an experiment runs, but for the base: it may be a name that is not here.
    let trainer = agent.trainer_of(base)?;
    let program = trainer.program.join(" ");
    let folder = out.join("agent/experiments/NNN");
    output::line("\nan experiment runs")?;
    for line in [
        format!(
            "{program} sft --model {base} --data {folder}/data.json --config {folder}/train.toml --out {folder}/sft"
        ),
        format!(
            "{program} eval --world {}/{} --part dev --policy model=MODEL --json",
            args.suite, task.id
        ),
    ] {
        output::line(&format!("  {line}"))?;
    }
    let Some(memory) = args.gpu_memory else { return Ok(exit::SUCCESS) };
    let (first, more) = trainer.program.split_first().context("no trainer is named")?;
    let planned = Command::new(first)
        .args(more)
        .args(["plan", "--model", base.as_str(), "--memory", &memory.to_string()])
        .output()
        .with_context(|| format!("failed to start `{first}`"))?;
    let text = String::from_utf8_lossy(&planned.stdout);
    output::line(&format!("\nmemory on a GPU of {memory}:\n{}", text.trim_end()))?;
    if !planned.status.success() {
        let said = String::from_utf8_lossy(&planned.stderr);
        return Err(UsageError(format!("`{program} plan` refused: {}", said.trim())).into());
    }
    Ok(exit::SUCCESS)
}
