//! The agent's part of a run: its box, the door, and its end.

use super::folder::{AgentEnd, RunFolder};
use super::result::IsolationReport;
use super::settings::RunSettings;
use super::story::RunError;
use crate::agents::AgentFolder;
use crate::gateway::GatewayHandle;
use crate::ledger::EndReason;
use crate::serve::{Phase, RunHandle};
use crate::workspace::{ChatAccess, RunInfo, Toolbox, Workspace, environment};
use camino::Utf8PathBuf;
use jail::isolation::root::SYSTEM;
use jail::program::{BoxedPython, Directive, Isolation, Program, ProgramSpec};
use llm::WireProtocol;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Time between two looks at a run.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// The port of a box's 127.0.0.1 behind which the grading server is.
const DOOR: u16 = 5_000;
/// The port behind which the gateway to chat models is.
const CHAT_DOOR: u16 = 5_001;

/// The gateway to chat models of a run.
#[derive(Debug)]
pub(super) struct Chat {
    /// Where it listens on the host.
    pub(super) address: SocketAddr,
    /// The first model, as the agent names it.
    pub(super) model: String,
    /// How that one is spoken to.
    pub(super) protocol: WireProtocol,
    pub(super) handle: GatewayHandle,
}

/// What the agent is started from.
#[derive(Debug)]
pub(super) struct Start<'a> {
    pub(super) settings: &'a RunSettings,
    pub(super) agent: &'a AgentFolder,
    pub(super) workspace: &'a Workspace,
    pub(super) toolbox: &'a Toolbox,
    /// The Python of its box; none without one.
    pub(super) python: Option<&'a BoxedPython>,
    /// Where the server listens on the host.
    pub(super) address: SocketAddr,
    /// The token of the run.
    pub(super) token: &'a str,
    /// The gateway; none for an agent that asks no chat model.
    pub(super) chat: Option<&'a Chat>,
}

/// Starts the agent once the clock runs and stays until it has ended; none if its time was over, or the
/// run interrupted, before that.
pub(super) fn watch(
    start: &Start<'_>,
    handle: &RunHandle,
    folder: &RunFolder,
    interrupted: &AtomicBool,
) -> Result<Option<AgentEnd>, RunError> {
    let is_interrupted = || interrupted.load(Ordering::SeqCst) || handle.is_stopping();
    while handle.phase() == Phase::Baseline && !is_interrupted() {
        sleep(LOOK);
    }
    if let Some(end) = folder.agent_end()? {
        handle.end(EndReason::Agent);
        return Ok(Some(end));
    }
    if handle.phase() != Phase::Running || is_interrupted() {
        return Ok(None);
    }
    let settings = start.settings;
    let mut program =
        Program::start(&settings.program, &start.spec()?, settings.isolation, folder.log()?)?;
    for (port, listener) in program.listeners() {
        match start.chat {
            Some(chat) if port == CHAT_DOOR => chat.handle.open_door(listener),
            _ => handle.open_door(listener),
        }
    }
    // An earlier start may have stopped the clock when it was interrupted.
    handle.resume().map_err(crate::Fault::from)?;
    let isolation = IsolationReport::new(settings.isolation.to_string(), program.protection());
    tracing::info!(agent = start.agent.spec().name, %isolation, "the agent was started");

    let mut was_interrupted = false;
    let directive = || {
        if is_interrupted() && !was_interrupted {
            was_interrupted = true;
            // Nobody works from here on.
            if let Err(error) = handle.pause() {
                tracing::error!(%error, "the clock could not be stopped");
            }
        }
        if was_interrupted || handle.phase() >= Phase::Over {
            Directive::End
        } else if handle.is_clock_running() {
            Directive::Work
        } else {
            // Time that does not count is not worked in.
            Directive::Rest
        }
    };
    let report = program.wait(directive, settings.grace)?;
    if was_interrupted {
        return Ok(None);
    }
    let end = AgentEnd { isolation, report };
    folder.write_agent_end(&end)?;
    handle.end(EndReason::Agent);
    Ok(Some(end))
}

/// The Python that an agent's box shows.
pub(super) fn boxed_python(settings: &RunSettings) -> Result<Option<BoxedPython>, RunError> {
    match (settings.isolation, &settings.python) {
        (Isolation::Box(_), Some(python)) => {
            let boxed = BoxedPython::new(python);
            boxed.map(Some).map_err(|error| RunError::Usage(error.to_string()))
        }
        _ => Ok(None),
    }
}

/// Where the agent finds the libraries of its toolbox.
pub(super) fn libraries_seen(
    settings: &RunSettings,
    toolbox: &Toolbox,
    python: Option<&BoxedPython>,
) -> Result<Option<Utf8PathBuf>, RunError> {
    let places = Workspace::in_box(None, String::new());
    let trees = python.map_or(&[][..], |python| &python.binds);
    let boxed = match settings.isolation {
        Isolation::Box(_) => Some((places.toolbox.as_path(), trees)),
        Isolation::None => None,
    };
    Ok(toolbox.libraries_seen(boxed)?)
}

impl Start<'_> {
    /// The agent's box.
    fn spec(&self) -> Result<ProgramSpec, RunError> {
        let Self { settings, agent, workspace, toolbox, python, address, token, chat } = *self;
        let chat_url = chat.map(|chat| match settings.isolation {
            Isolation::None => format!("http://{}", chat.address),
            Isolation::Box(_) => format!("http://127.0.0.1:{CHAT_DOOR}"),
        });
        let told = RunInfo {
            task: &settings.task,
            base: workspace.base_name(),
            mode: settings.mode,
            seed: settings.seed,
            token,
            chat: chat.zip(chat_url.as_ref()).map(|(chat, url)| ChatAccess {
                url,
                model: &chat.model,
                protocol: chat.protocol,
            }),
        };
        let places = match settings.isolation {
            Isolation::None => {
                let python = settings.python.as_ref().map(|python| python.interpreter().to_owned());
                workspace.on_host(python, format!("http://{address}"))
            }
            Isolation::Box(_) => {
                let python = python.map(|python| python.interpreter.clone());
                Workspace::in_box(python, format!("http://127.0.0.1:{DOOR}"))
            }
        };
        let mut variables = environment(&places, &told);
        variables
            .extend(agent.spec().env.iter().map(|(name, value)| (name.clone(), value.clone())));
        let (mut programs, mut data, mut ports) = (Vec::new(), Vec::new(), Vec::new());
        if let Isolation::Box(_) = settings.isolation {
            (data, programs) = workspace.read_only();
            let libraries = libraries_seen(settings, toolbox, python)?;
            let (folder, target) = (workspace.toolbox(), &places.toolbox);
            programs.extend(toolbox.binds(&folder, target, libraries.as_deref()));
            programs.extend(python.into_iter().flat_map(|python| python.binds.clone()));
            ports.push(DOOR);
            ports.extend(chat.map(|_| CHAT_DOOR));
            self.check_hidden(programs.iter().chain(&data).map(|bind| bind.source.as_str()))?;
        }
        Ok(ProgramSpec {
            start: agent.start(&places.agent),
            directory: places.workspace.join("code").into_string(),
            environment: variables,
            programs,
            data,
            writable: workspace.writable(),
            ports,
            limits: settings.limits.clone(),
        })
    }

    /// Sealed files must not lie in what the box shows.
    fn check_hidden<'b>(&self, shown: impl Iterator<Item = &'b str>) -> Result<(), RunError> {
        let sealed = [
            self.settings.suite.canonicalize_utf8()?,
            self.settings.out.canonicalize_utf8()?.join("sealed"),
        ];
        for folder in shown.chain(SYSTEM) {
            let Ok(folder) = camino::Utf8Path::new(folder).canonicalize_utf8() else { continue };
            if let Some(exposed) = sealed.iter().find(|path| path.starts_with(&folder)) {
                return Err(RunError::Usage(format!(
                    "`{exposed}` lies in `{folder}`, which the agent sees; move it elsewhere"
                )));
            }
        }
        Ok(())
    }
}
