//! The story of a run.

use super::folder::{AgentEnd, RunFolder};
use super::result::{IsolationReport, RunResult, VERSION};
use super::settings::{RunRecord, RunSettings};
use super::watch::{Chat, Start, boxed_python, libraries_seen, watch};
use crate::agents::{ANY_MODEL, AgentError, AgentFolder, Need};
use crate::audit::{AuditError, audit};
use crate::clock::ClockMode;
use crate::contamination::{ContaminationScan, SealedTexts};
use crate::gateway::{ChatGateway, GatewayError, GatewaySettings, OfferedModels, RunMoment};
use crate::record::Moment;
use crate::serve::{GradingServer, Phase, RunHandle, ServeConfig, ServeError};
use crate::task_set::{TaskSet, TaskSetError};
use crate::workspace::{Instructions, Toolbox, ToolboxError, Workspace};
use camino::Utf8PathBuf;
use jail::limits::Gpus;
use jail::program::{Isolation, ProgramError};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;
use tasks::units::Span;
use web::token::Token;
use worlds::{Suite, SuiteError, TaskSpec};

/// Why a run did not start, or ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A mistake of the caller.
    #[error("{0}")]
    Usage(String),
    /// The agent cannot be used.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The suite cannot be used.
    #[error("failed to open the suite")]
    Suite(#[from] SuiteError),
    /// The tasks cannot be used.
    #[error(transparent)]
    Tasks(#[from] TaskSetError),
    /// There is no toolbox.
    #[error(transparent)]
    Toolbox(#[from] ToolboxError),
    /// The agent's box failed.
    #[error("failed to run the agent")]
    Program(#[from] ProgramError),
    /// The grading server failed.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The chat models cannot be asked.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The audit failed.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// A file could not be read or written.
    #[error("failed to read or write a file of the run")]
    Io(#[from] std::io::Error),
    /// The run was interrupted, and its clock stopped.
    #[error("the run was interrupted; start it again with the same flags, and it goes on")]
    Interrupted,
}

impl From<crate::Fault> for RunError {
    fn from(fault: crate::Fault) -> Self {
        Self::Serve(fault.into())
    }
}

/// Carries out a run, or goes on with one: scores the base, has the agent work until its time is over or
/// it has ended, scores base, best and last, and audits what is there. Once `interrupted` is set, the
/// agent is ended, the clock stopped, and the run left to be taken up again.
///
/// # Errors
/// [`RunError`].
pub fn run(settings: &RunSettings, interrupted: &AtomicBool) -> Result<RunResult, RunError> {
    let agent = AgentFolder::find(&settings.agent)?;
    agent.check_mode(settings.mode)?;
    let toolbox =
        Toolbox::find(&settings.toolbox, &settings.program, settings.libraries.as_deref())?;
    check_needs(settings, &agent, &toolbox)?;
    let tasks = TaskSet::open(&Suite::open(&settings.suite)?, &settings.task)?;
    tasks.check_mode(settings.mode)?;

    let models = settings.gateway_of(&agent).map(OfferedModels::open).transpose()?;

    let record = RunRecord::new(settings, &agent)?;
    let folder = RunFolder::claim(&settings.out, &record)?;
    let workspace = Workspace::new(folder.path(), &settings.base)?;
    let mut told = instructions(settings, tasks.spec(), &workspace, &toolbox);
    told.chat = settings.gateway_of(&agent).map(|gateway| gateway.caps);
    workspace.build(&tasks, &told)?;
    agent.write(&workspace.agent())?;
    let python = boxed_python(settings)?;
    let libraries = libraries_seen(settings, &toolbox, python.as_ref())?;
    toolbox.write(&workspace.toolbox(), settings.mode, libraries.as_deref())?;

    // A new one at each start: no record has it.
    let token = tasks::stream::unguessable()?;
    let server = GradingServer::open(serve_config(settings, &folder, &workspace, &token)?)?;
    let (handle, address) = (server.handle(), server.address());
    let opened = settings.gateway_of(&agent).zip(models);
    let chat = opened.map(|chat| open_gateway(chat, (&folder, &token), &handle)).transpose()?;
    let served = thread::spawn(move || server.run_beside());

    let start = Start {
        settings,
        agent: &agent,
        workspace: &workspace,
        toolbox: &toolbox,
        python: python.as_ref(),
        address,
        token: &token,
        chat: chat.as_ref(),
    };
    let watched = watch(&start, &handle, &folder, interrupted);
    // Nobody asks any more, and what was asked is written down.
    drop(chat);
    if watched.is_err() {
        // Nobody works until it is started again.
        handle.pause().map_err(crate::Fault::from)?;
    }
    let served = handle.wait(served, watched.is_ok(), interrupted);
    let end = watched?;
    served?;
    if handle.phase() != Phase::Final {
        return Err(RunError::Interrupted);
    }

    let result = conclude(settings, &agent, (&folder, &workspace), end)?;
    folder.write_result(&result)?;
    Ok(result)
}

/// The result of the run in the folder of the settings, if it is finished.
///
/// # Errors
/// [`RunError::Usage`] if the folder has another run.
pub(super) fn finished(settings: &RunSettings) -> Result<Option<RunResult>, RunError> {
    if !settings.out.join("run.toml").is_file() {
        return Ok(None);
    }
    let agent = AgentFolder::find(&settings.agent)?;
    let record = RunRecord::new(settings, &agent)?;
    let folder = RunFolder::claim(&settings.out, &record)?;
    Ok(folder.result()?)
}

/// The gateway to chat models, which answers while the agent has time.
fn open_gateway(
    (settings, models): (&GatewaySettings, OfferedModels),
    (folder, token): (&RunFolder, &str),
    handle: &RunHandle,
) -> Result<Chat, RunError> {
    let run = handle.clone();
    let now =
        move || RunMoment { used_ms: run.used_ms(), is_running: run.phase() == Phase::Running };
    let gateway = ChatGateway::open(models, settings, &folder.sealed(), run_token(token)?, now)?;
    let (model, protocol) = gateway.first_model();
    let (model, address) = (model.to_owned(), gateway.address());
    Ok(Chat { address, model, protocol, handle: gateway.start()? })
}

fn run_token(token: &str) -> Result<Token, RunError> {
    Token::new(token, 16).map_err(|error| RunError::Usage(error.to_string()))
}

fn check_needs(
    settings: &RunSettings,
    agent: &AgentFolder,
    toolbox: &Toolbox,
) -> Result<(), RunError> {
    let name = &agent.spec().name;
    for need in &agent.spec().needs {
        let what = match need {
            Need::Rl if !toolbox.has("rl") => format!(
                "`{name}` needs `rl`, which is not in `{}`; name its folder with --toolbox",
                settings.toolbox
            ),
            Need::Gpu if settings.limits.gpus == Gpus::None => {
                format!("`{name}` needs a GPU; name some with --gpus")
            }
            Need::Host(host) if settings.isolation != Isolation::None => format!(
                "`{name}` needs the host {host}, and a box reaches none; `--isolation none` does \
                 without a box, and every result says so"
            ),
            Need::Model if settings.gateway.is_none() => {
                format!("`{name}` needs a chat model; name some with --gateway-models")
            }
            Need::Rl | Need::Gpu | Need::Model | Need::Node | Need::Host(_) => continue,
        };
        return Err(RunError::Usage(what));
    }
    check_model(settings, agent)
}

/// An agent that names a model must get that one.
fn check_model(settings: &RunSettings, agent: &AgentFolder) -> Result<(), RunError> {
    let Some(gateway) = settings.gateway_of(agent) else { return Ok(()) };
    match agent.spec().model.as_deref() {
        Some(model) if model != ANY_MODEL && !gateway.names(model) => {
            Err(RunError::Usage(format!(
                "`{}` asks the chat model `{model}`, and this run has {}; name it with --gateway-models",
                agent.spec().name,
                gateway.models.join(", ")
            )))
        }
        _ => Ok(()),
    }
}

fn instructions<'a>(
    settings: &RunSettings,
    task: &'a TaskSpec,
    workspace: &'a Workspace,
    toolbox: &Toolbox,
) -> Instructions<'a> {
    Instructions {
        task,
        base: workspace.base_name(),
        mode: settings.mode,
        protocol: settings.protocol,
        budget: Span(Duration::from_millis(settings.budget.limit_ms)),
        is_paused: settings.budget.clock == ClockMode::Paused,
        limits: settings.submissions,
        has_rl: toolbox.has("rl"),
        chat: None,
    }
}

fn serve_config(
    settings: &RunSettings,
    folder: &RunFolder,
    workspace: &Workspace,
    token: &str,
) -> Result<ServeConfig, RunError> {
    let in_box = Workspace::in_box(None, String::new()).workspace.join("output");
    Ok(ServeConfig {
        // Any free port: an agent in a box does not see it, and one without a box needs the token.
        listen: ([127, 0, 0, 1], 0).into(),
        token: run_token(token)?,
        sealed: folder.sealed(),
        suite: settings.suite.clone(),
        task: settings.task.clone(),
        base: settings.base.clone(),
        output: workspace.output(),
        aliases: vec![in_box],
        views: Some(workspace.views()),
        protocol: settings.protocol,
        aggregate: settings.aggregate,
        tells_items: false,
        budget: settings.budget,
        limits: settings.submissions,
        grader: settings.grader.clone(),
        grading_limit: settings.grading_limit,
        device: settings.device.clone(),
        device_lock: settings.device_lock.clone(),
        launcher: settings.program.clone(),
        until_final: true,
        code: Some(folder.snapshots(workspace)),
        uses: Some(folder.uses()),
    })
}

/// Sealed items in what the agent left: its code, its models' folders, its reports.
fn contamination(
    settings: &RunSettings,
    workspace: &Workspace,
) -> Result<ContaminationScan, RunError> {
    let tasks = TaskSet::open(&Suite::open(&settings.suite)?, &settings.task)?;
    let root = workspace.folder();
    let folders = [workspace.code(), workspace.output(), root.join("reports")];
    let folders: Vec<Utf8PathBuf> = folders.into_iter().filter(|path| path.exists()).collect();
    let sealed = SealedTexts::of(tasks.tasks()).map_err(TaskSetError::from)?;
    Ok(sealed.scan(&root, &folders)?)
}

fn conclude(
    settings: &RunSettings,
    agent: &AgentFolder,
    (folder, workspace): (&RunFolder, &Workspace),
    end: Option<AgentEnd>,
) -> Result<RunResult, RunError> {
    let audited = audit(&folder.sealed(), None)?;
    let submissions = audited.metrics.as_ref().map_or(0, |metrics| metrics.submissions);
    let contamination = contamination(settings, workspace)?;
    contamination.write(&folder.sealed())?;
    let snapshots = folder.snapshots(workspace);
    if let Err(error) = snapshots.take(Moment::End(submissions), Vec::new()) {
        // As at submissions: it bears on no score.
        tracing::warn!(%error, "the agent's code could not be kept");
    }
    let (isolation, ended) = match end {
        Some(AgentEnd { isolation, report }) => (isolation, Some(report)),
        None => (IsolationReport::new(settings.isolation.to_string(), None), None),
    };
    Ok(RunResult {
        version: VERSION,
        task: settings.task.clone(),
        agent: (agent.spec().name.clone(), agent.digest()),
        mode: settings.mode,
        mode_held_by: settings.mode.held_by(),
        seed: settings.seed,
        isolation,
        ended,
        metrics: audited.metrics,
        interval: audited.interval,
        findings: audited.findings,
        contamination: Some(contamination),
        head: audited.head,
        chat: folder.chat()?,
    })
}
