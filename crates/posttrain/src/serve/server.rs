//! Starting a server, and an orderly end.

use super::access::Guard;
use super::config::{ServeConfig, ServeError};
use super::handle::RunHandle;
use super::shared::Shared;
use super::{operator, routes, worker};
use crate::clock::{MachineTime, Origin, TimeSource};
use crate::digest::Digest;
use crate::grade::{GradedTask, GraderCommand, Grading};
use crate::intake::{BaseModel, Intake, ModelStore, OutputFolder};
use crate::ledger::{Aggregate, Ledger, LedgerError, RunFacts};
use crate::record::UseLog;
use crate::task_set::TaskSet;
use fs_err as fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinSet;
use tokio::time::timeout;
use web::listener::accept;
use web::signals::Signals;
use worlds::{Suite, TaskFolder, TaskSpec};

/// Connections of agents at a time; more wait to be accepted.
const CONNECTIONS: usize = 64;
/// Requests that take snapshots, or wait to, and what else blocks.
const BLOCKING: usize = 32;
/// Time for the last answers to be sent.
const LAST: Duration = Duration::from_secs(2);

/// A server that listens and does not yet answer.
#[derive(Debug)]
pub struct GradingServer {
    shared: Arc<Shared>,
    listener: std::net::TcpListener,
    operator: std::os::unix::net::UnixListener,
    doors: UnboundedReceiver<std::net::TcpListener>,
    address: SocketAddr,
}

impl GradingServer {
    /// Opens suite, base and ledger, and takes the address. If the sealed folder has a ledger, the run
    /// goes on.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn open(mut config: ServeConfig) -> Result<Self, ServeError> {
        fs::create_dir_all(&config.sealed)?;
        // A grader may work elsewhere.
        config.sealed = absolute(&config.sealed)?;
        config.suite = absolute(&config.suite)?;
        config.aliases.push(config.output.clone());
        config.output = absolute(&config.output)?;
        fs::set_permissions(&config.sealed, std::fs::Permissions::from_mode(0o700))?;
        check_apart(&config)?;
        let suite = Suite::open(&config.suite)?;
        suite.check_files()?;
        let tasks = TaskSet::open(&suite, &config.task)?;
        for task in tasks.tasks() {
            task.sealed()?;
        }
        if tasks.is_several() && config.aggregate == Some(Aggregate::Reported) {
            return Err(ServeError::Reported);
        }
        let spec = tasks.spec();
        let aggregate = match (tasks.is_several(), is_mean(&config, spec)) {
            (true, _) => Aggregate::Tasks,
            (false, true) => Aggregate::Mean,
            (false, false) => Aggregate::Reported,
        };
        let intake = Intake {
            output: OutputFolder::open(&config.output, &config.aliases)?,
            base: BaseModel::open(&config.base)?,
            store: ModelStore::open_folder(&config.sealed.join("models"))?,
        };
        let facts = RunFacts {
            task: spec.id.clone(),
            suite: Digest::of(&fs::read(config.suite.join("suite.json"))?),
            base: intake.admit_base()?.model,
            protocol: config.protocol,
            direction: spec.direction,
            failure_score: spec.failure_score,
            aggregate,
            budget: config.budget,
            limits: config.limits,
            grader: config.grader.clone(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            origin: Origin::now(&MachineTime),
        };
        let ledger = open_ledger(&config, facts)?;
        let results = config.sealed.join("results");
        fs::create_dir_all(&results)?;
        let grading = Grading {
            command: GraderCommand {
                line: config.grader.clone(),
                limit: config.grading_limit,
                launcher: config.launcher.clone(),
            },
            tasks: tasks.tasks().iter().map(|task| graded(&config, task)).collect(),
            device: config.device.clone(),
            results,
        };
        let (listener, address) = listen(&config)?;
        let operator = listen_to_operator(&config)?;
        let page = (spec.without_seed(), tasks.description().to_owned());
        let (sender, doors) = mpsc::unbounded_channel();
        let uses = config.uses.as_deref().map(UseLog::open).transpose()?;
        let shared = Arc::new(Shared::new(config, page, intake, grading, (ledger, uses), sender));
        Ok(Self { shared, listener, operator, doors, address })
    }

    /// The address that agents reach it at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What watches over the run beside the server.
    pub fn handle(&self) -> RunHandle {
        RunHandle::new(Arc::clone(&self.shared))
    }

    /// Serves until the process is interrupted or asked to terminate, or after the final scores if that
    /// was asked for. A grading in progress is ended; started again, the server takes it up anew.
    ///
    /// # Errors
    /// [`ServeError::Fault`] if something of ours fails: the ledger cannot be written, or the base
    /// cannot be scored.
    pub fn run(self) -> Result<(), ServeError> {
        self.serve_until(true)
    }

    /// The same, but signals are for somebody else in this process, who has a [`RunHandle`].
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_beside(self) -> Result<(), ServeError> {
        self.serve_until(false)
    }

    fn serve_until(self, signalled: bool) -> Result<(), ServeError> {
        let shared = Arc::clone(&self.shared);
        let worker = std::thread::Builder::new()
            .name("grading".to_owned())
            .spawn(move || worker::work(&shared))
            .map_err(ServeError::Runtime)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(BLOCKING)
            .thread_name("serve")
            .enable_all()
            .build()
            .map_err(ServeError::Runtime)?;
        let shared = Arc::clone(&self.shared);
        let served = runtime.block_on(self.serve(signalled));
        shared.stop();
        // A grader is a child of that thread, and ends with it at the latest.
        let _ = worker.join();
        runtime.shutdown_timeout(Duration::from_secs(1));
        served?;
        match shared.take_fault() {
            Some(fault) => Err(fault.into()),
            None => Ok(()),
        }
    }

    async fn serve(self, signalled: bool) -> Result<(), ServeError> {
        let Self { shared, listener, operator, doors, .. } = self;
        let listener = TcpListener::from_std(listener).map_err(ServeError::Runtime)?;
        let operator = UnixListener::from_std(operator).map_err(ServeError::Runtime)?;
        let mut signals = signalled.then(Signals::new).transpose().map_err(ServeError::Runtime)?;
        let router = routes::router(&shared, Guard::Token);
        let stopping = shared.stop_signal();
        let mut stopped = shared.stop_signal();
        let mut connections = JoinSet::new();
        tokio::select! {
            // The first three never end.
            () = accept(listener, &router, CONNECTIONS, &stopping, &mut connections) => {}
            served = axum::serve(operator, operator::router(&shared)) => {
                served.map_err(ServeError::Runtime)?;
            }
            () = serve_doors(doors, &shared) => {}
            () = next_of(&mut signals) => tracing::info!("shutting down"),
            _ = stopped.wait_for(|stop| *stop) => {}
        }
        shared.stop();
        let _ = timeout(LAST, async { while connections.join_next().await.is_some() {} }).await;
        Ok(())
    }
}

/// Serves on listeners that only the agent reaches, as they come; never ends.
async fn serve_doors(mut doors: UnboundedReceiver<std::net::TcpListener>, shared: &Arc<Shared>) {
    // Dropped with this future, and with it every connection.
    let mut accepting = JoinSet::new();
    while let Some(door) = doors.recv().await {
        let listener = door.set_nonblocking(true).and_then(|()| TcpListener::from_std(door));
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!(%error, "a door could not be opened");
                continue;
            }
        };
        let (router, stopping) = (routes::router(shared, Guard::Door), shared.stop_signal());
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            accept(listener, &router, CONNECTIONS, &stopping, &mut connections).await;
        });
    }
    std::future::pending::<()>().await;
}

/// Waits for the next signal, for ever if signals are for somebody else.
async fn next_of(signals: &mut Option<Signals>) {
    match signals {
        Some(signals) => signals.next().await,
        None => std::future::pending().await,
    }
}

/// A task for the grader.
fn graded(config: &ServeConfig, task: &TaskFolder) -> GradedTask {
    GradedTask::new(&config.suite, task.spec(), is_mean(config, task.spec()))
}

/// Whether the score of a task is the mean of its items: what the operator says, or else the task.
fn is_mean(config: &ServeConfig, spec: &TaskSpec) -> bool {
    config.aggregate.map_or(spec.is_mean(), |aggregate| aggregate == Aggregate::Mean)
}

fn absolute(path: &camino::Utf8Path) -> Result<camino::Utf8PathBuf, ServeError> {
    Ok(fs::canonicalize(path)?.try_into().map_err(std::io::Error::other)?)
}

/// Sealed files must not lie where an agent can write, or among what it may submit.
fn check_apart(config: &ServeConfig) -> Result<(), ServeError> {
    let mut apart = vec![config.sealed.clone(), config.suite.clone()];
    if let Some(views) = &config.views {
        fs::create_dir_all(views)?;
        apart.push(absolute(views)?);
    }
    let exposed = apart.into_iter().find(|path| path.starts_with(&config.output));
    exposed.map_or(Ok(()), |path| Err(ServeError::Exposed(path)))
}

fn open_ledger(config: &ServeConfig, facts: RunFacts) -> Result<Ledger, ServeError> {
    let source: Arc<dyn TimeSource> = Arc::new(MachineTime);
    let ledger = match Ledger::open(&config.sealed, Arc::clone(&source)) {
        Err(LedgerError::Missing(_)) => return Ok(Ledger::create(&config.sealed, facts, source)?),
        ledger => ledger?,
    };
    let before = ledger.state().facts();
    if before.base != facts.base {
        return Err(ServeError::OtherBase);
    }
    let differences: Vec<&'static str> = [
        ("task", before.task != facts.task),
        ("suite", before.suite != facts.suite),
        ("protocol", before.protocol != facts.protocol),
        ("aggregate", before.aggregate != facts.aggregate),
        ("budget", before.budget != facts.budget),
        ("limits", before.limits != facts.limits),
        ("grader", before.grader != facts.grader),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect();
    if differences.is_empty() { Ok(ledger) } else { Err(ServeError::OtherRun(differences)) }
}

fn listen(config: &ServeConfig) -> Result<(std::net::TcpListener, SocketAddr), ServeError> {
    let refused = |source| ServeError::Listen { address: config.listen.to_string(), source };
    let listener = std::net::TcpListener::bind(config.listen).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    Ok((listener, address))
}

fn listen_to_operator(
    config: &ServeConfig,
) -> Result<std::os::unix::net::UnixListener, ServeError> {
    let path = config.sealed.join(operator::SOCKET);
    let refused = |source| ServeError::Listen { address: path.to_string(), source };
    // What a killed server left; the lock of the ledger says that there is no other one.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let listener = std::os::unix::net::UnixListener::bind(&path).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}
