//! A sandbox: a warmed interpreter in its outer box, shared by all episodes of a process.

use crate::exec::fault::{Fault, StartError};
use crate::exec::host_folder::HostFolder;
use crate::exec::run::{self, RunContext};
use crate::exec::setup::Setup;
use crate::exec::storage::WorkDirStorage;
use crate::exec::workspace::{self, Mounted, Workspace};
use crate::exec::zygote::{self, Zygote};
use crate::isolation::bare::{Bare, WITHOUT};
use crate::isolation::cgroup::{Bounds, Cgroup, Groups};
use crate::isolation::gpus::{Devices, HostGpus};
use crate::isolation::launcher::{Launch, bare_user};
use crate::isolation::layer::{Missing, Protection};
use crate::isolation::{IsolationLevel, Layer, rlimits};
use crate::limits::RunLimits;
use crate::python::PythonEnv;
use crate::semaphore::{Permits, Semaphore};
use camino::{Utf8Path, Utf8PathBuf};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tasks::task::{PublicDir, TaskId};
use tasks::units::ByteSize;

/// What nearly every script imports, and parts of it that many import and that take 10 to 60 ms
/// each. More would make every fork dearer.
const MODULES: [&str; 11] = [
    "numpy",
    "pandas",
    "scipy",
    "scipy.stats",
    "scipy.optimize",
    "scipy.signal",
    "sklearn",
    "sklearn.cluster",
    "sklearn.feature_extraction.text",
    "sklearn.feature_selection",
    "sklearn.kernel_approximation",
];

/// How a sandbox is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxOptions {
    /// Runs in flight at once; more wait. Default: the number of processors.
    pub slots: usize,
    /// Processes that stand ready for runs to come, forked and half jailed, and used once: with
    /// one, a run begins some milliseconds sooner. None without a box. Default: the number of
    /// processors.
    pub spares: usize,
    /// Size of an episode's work dir. Default: 256 MiB.
    pub work_dir: ByteSize,
    /// Where its files are kept. Default: in memory.
    pub work_dir_on: WorkDirStorage,
    /// Files and directories in an episode's work dir. Default: 10,000.
    pub work_files: u64,
    /// The strongest tier that is tried. Default: [`IsolationLevel::T1`]; a weaker one is for comparison.
    pub best_tier: IsolationLevel,
    /// The weakest tier that is accepted, and reported, if the host offers no better. Default:
    /// [`IsolationLevel::T2`].
    pub allow_tier: IsolationLevel,
    /// What the zygote imports, so that no run has to; what is not installed is left out. It
    /// imports a module before the first run whose script may use it, and all of them before the
    /// first session, at [`Sandbox::warm`], and at the start of several slots without control groups.
    /// Default: numpy, pandas, parts of scipy, scikit-learn.
    pub modules: Vec<String>,
    /// Whether the zygote fits small models once it has imported all modules, which makes the
    /// first fits of each run faster. Default: yes.
    pub warm_up: bool,
    /// A folder of pretrained weights, which every script can read as `models/`. No task may lie in
    /// it. Default: none.
    pub weights: Option<Utf8PathBuf>,
    /// Where the device nodes of the host's GPUs are. Default: `/dev`; another folder is for
    /// tests.
    pub device_folder: Utf8PathBuf,
}

impl Default for SandboxOptions {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, Into::into);
        Self {
            slots: processors,
            spares: processors,
            work_dir: ByteSize::mib(256),
            work_dir_on: WorkDirStorage::Memory,
            work_files: 10_000,
            best_tier: IsolationLevel::T1,
            allow_tier: IsolationLevel::T2,
            modules: MODULES.map(str::to_owned).to_vec(),
            warm_up: true,
            weights: None,
            device_folder: "/dev".into(),
        }
    }
}

impl SandboxOptions {
    /// For competitions of benchmarks: work dirs of 64 GiB and a million files, on disk; see
    /// [`RunLimits::benchmark`].
    pub fn benchmark() -> Self {
        Self {
            work_dir: ByteSize::gib(64),
            work_dir_on: WorkDirStorage::Disk,
            work_files: 1_000_000,
            ..Self::default()
        }
    }
}

/// A running sandbox. Clones share it; when the last one and the last [`Workspace`] are dropped,
/// every process it started ends.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<SandboxState>);

#[derive(Debug)]
struct SandboxState {
    launcher: Utf8PathBuf,
    launch: Launch,
    options: SandboxOptions,
    /// Where a run finds its task's public files.
    inputs: BTreeMap<TaskId, String>,
    /// Where a run finds pretrained weights.
    weights: Option<String>,
    slots: Semaphore,
    protection: Protection,
    tier: IsolationLevel,
    /// None in a tier without control groups.
    groups: Option<Groups>,
    /// For runs without a box.
    bare: Option<Bare>,
    gpus: HostGpus,
    zygote: Mutex<Arc<Zygote>>,
    /// Whether [`Sandbox::abandon`] was called.
    abandoned: AtomicBool,
    /// Whether it has been said that runs may take more memory than the host has.
    warned: AtomicBool,
    /// Their work dirs, to be removed after the zygote.
    _folder: Option<HostFolder>,
}

/// A zygote, and the isolation layers that its host offers.
struct Started {
    zygote: Zygote,
    launch: Launch,
    groups: Option<Groups>,
    missing: Vec<Missing>,
    folder: Option<HostFolder>,
}

impl Started {
    /// Starts a zygote in a box.
    fn boxed(launcher: &Utf8Path, setup: &Setup<'_>) -> Result<Self, StartError> {
        if setup.options.best_tier == IsolationLevel::T3 {
            let reason = "tier t3 was asked for".to_owned();
            return Err(StartError::Layer { layer: Layer::UserNamespace, reason });
        }
        let folder = match setup.options.work_dir_on {
            WorkDirStorage::Memory => None,
            // The launcher gives it to the user that it turns into.
            WorkDirStorage::Disk => Some(HostFolder::make(None)?),
        };
        let launch = setup.boxed(folder.as_ref().map(HostFolder::path))?;
        Self::with(launcher, setup, launch, folder, Vec::new())
    }

    /// On the host, which cannot have `reason`.
    fn bare(launcher: &Utf8Path, setup: &Setup<'_>, first: Missing) -> Result<Self, StartError> {
        let folder = HostFolder::make(bare_user())?;
        let reason = format!("it is not tried without {}", first.layer);
        let others = WITHOUT.into_iter().filter(|layer| *layer != first.layer);
        let mut missing: Vec<_> =
            others.map(|layer| Missing { layer, reason: reason.clone() }).collect();
        missing.insert(0, first);
        let launch = setup.bare(folder.path());
        Self::with(launcher, setup, launch, Some(folder), missing)
    }

    fn with(
        launcher: &Utf8Path,
        setup: &Setup<'_>,
        launch: Launch,
        folder: Option<HostFolder>,
        mut missing: Vec<Missing>,
    ) -> Result<Self, StartError> {
        if let Some(folder) = &folder {
            folder.warn_if_unfit(setup.options.work_dir)?;
        }
        let zygote = Zygote::start(launcher, &launch, setup.options)?;
        let bare = launch.bare.then(|| setup.readable());
        let groups = match groups(&zygote, setup.options, bare.as_ref()) {
            Ok(groups) => Some(groups),
            Err(reason) => {
                missing.push(Missing { layer: Layer::Cgroup, reason });
                None
            }
        };
        missing.extend(probe(&zygote, setup.options, bare.as_ref(), None)?);
        Ok(Self { zygote, launch, groups, missing, folder })
    }
}

impl Sandbox {
    /// Builds the box, starts an interpreter in it and checks every layer with a run of its own.
    /// Scripts will see the public files of `tasks`, each its own task's. The calling process may
    /// from then on open as many files as its user may.
    ///
    /// # Errors
    /// A [`StartError`]; a host that offers no accepted tier is one.
    pub fn start(
        python: &PythonEnv,
        options: SandboxOptions,
        tasks: &[(TaskId, PublicDir)],
    ) -> Result<Self, StartError> {
        rlimits::lift_open_files()?;
        let (launcher, library) = zygote::find_launcher()?;
        let gpus = HostGpus::find(&options.device_folder);
        let setup = Setup::new(python, &options, tasks, &gpus, library)?;
        let started = match Started::boxed(&launcher, &setup) {
            Err(StartError::Layer { layer, reason })
                if options.allow_tier == IsolationLevel::T3 && WITHOUT.contains(&layer) =>
            {
                Started::bare(&launcher, &setup, Missing { layer, reason })?
            }
            other => other?,
        };
        let Started { zygote, launch, groups, missing, folder } = started;
        let tier = accepted(&missing, options.allow_tier)?;
        if imports_first(tier, &options) {
            zygote
                .import_all()
                .map_err(|fault| StartError::Zygote { detail: fault.to_string() })?;
        }
        Ok(Self(Arc::new(SandboxState {
            launcher,
            slots: Semaphore::new(options.slots.max(1) as u64),
            inputs: setup.inputs(launch.bare).collect(),
            weights: setup.weights(launch.bare),
            bare: launch.bare.then(|| setup.readable()),
            launch,
            protection: Protection::except(missing),
            tier,
            groups,
            zygote: Mutex::new(Arc::new(zygote)),
            gpus,
            abandoned: AtomicBool::new(false),
            warned: AtomicBool::new(false),
            _folder: folder,
            options,
        })))
    }

    /// Imports all modules and fits small models now, rather than before the first run that needs
    /// them.
    ///
    /// # Errors
    /// A [`Fault`], if a module that is installed cannot be imported.
    pub fn warm(&self) -> Result<(), Fault> {
        self.zygote()?.import_all()
    }

    /// The isolation level of all runs.
    pub fn tier(&self) -> IsolationLevel {
        self.0.tier
    }

    /// Which isolation layers are up, and why others are not.
    pub fn protection(&self) -> &Protection {
        &self.0.protection
    }

    /// The GPUs that runs can ask for.
    pub fn host_gpus(&self) -> &HostGpus {
        &self.0.gpus
    }

    /// Opens a work dir for one episode of a task.
    ///
    /// # Errors
    /// [`Fault::UnknownTask`], or another [`Fault`] if the work dir cannot be made.
    pub fn workspace(&self, task: &TaskId) -> Result<Workspace, Fault> {
        let input = self.0.inputs.get(task).ok_or_else(|| Fault::UnknownTask(task.clone()))?;
        self.open(Some(input.clone()))
    }

    /// Opens a work dir without a task: scripts find no `input`.
    ///
    /// # Errors
    /// A [`Fault`] if the work dir cannot be made.
    pub fn empty_workspace(&self) -> Result<Workspace, Fault> {
        self.open(None)
    }

    fn open(&self, input: Option<String>) -> Result<Workspace, Fault> {
        match Workspace::open(self, self.zygote()?, &self.0.options, input.clone()) {
            // Found to be gone only now: a new one gets the same request.
            Err(Fault::ZygoteLost { .. }) => {
                Workspace::open(self, self.zygote()?, &self.0.options, input)
            }
            other => other,
        }
    }

    /// The process number of the launcher, whose end is the end of everything below it.
    pub fn launcher_pid(&self) -> u32 {
        self.0.zygote.lock().unwrap_or_else(PoisonError::into_inner).launcher_pid()
    }

    /// Kills every process of the sandbox without waiting for runs in flight. These runs, and all
    /// later requests, fail with a [`Fault`].
    pub fn abandon(&self) {
        let zygote = self.0.zygote.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.abandoned.store(true, Ordering::Release);
        zygote.kill();
    }

    /// Where a run finds pretrained weights, if there are any.
    pub(crate) fn weights_in_box(&self) -> Option<String> {
        self.0.weights.clone()
    }

    /// What a run without a box may read; none for one in a box.
    pub(crate) fn bare(&self) -> Option<&Bare> {
        self.0.bare.as_ref()
    }

    /// The GPUs that a run gets; none if its policy asks for none.
    pub(crate) fn gpus(&self, policy: &RunLimits) -> Result<Option<Devices>, Fault> {
        Ok(self.0.gpus.devices(&policy.gpus, self.0.bare.is_none())?)
    }

    /// A new control group for a work dir, in a tier with them.
    pub(crate) fn group(&self) -> Result<Option<Cgroup>, Fault> {
        self.0.groups.as_ref().map(Groups::group).transpose().map_err(run::group_fault)
    }

    /// What the control group of a run is bounded by.
    pub(crate) fn bounds(&self, policy: &RunLimits) -> Bounds {
        bounds(&self.0.options, policy)
    }

    /// Says once if runs may take more memory than the host has.
    pub(crate) fn warn_beyond_host(&self, policy: &RunLimits) {
        if let Some(warning) = policy.beyond_host()
            && !self.0.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("{warning}; a run that takes all of it is killed by the kernel");
        }
    }

    /// Waits for a free slot to run in.
    pub(crate) fn slot(&self) -> Permits<'_> {
        self.0.slots.acquire(1)
    }

    /// The zygote, a new one if the last was lost.
    fn zygote(&self) -> Result<Arc<Zygote>, Fault> {
        let mut zygote = self.0.zygote.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.abandoned.load(Ordering::Acquire) {
            return Err(Fault::Abandoned);
        }
        if zygote.is_lost() {
            tracing::warn!("the warmed Python was lost and is started again");
            let started = match Zygote::start(&self.0.launcher, &self.0.launch, &self.0.options) {
                Ok(started) => started,
                Err(StartError::Fault(fault)) => return Err(fault),
                Err(error) => return Err(Fault::ZygoteLost { log: error.to_string() }),
            };
            if imports_first(self.0.tier, &self.0.options) {
                started.import_all()?;
            }
            *zygote = Arc::new(started);
        }
        Ok(Arc::clone(&zygote))
    }
}

/// Whether everything is imported before there are runs: without control groups, it is the zygote that
/// adds up the memory of runs, which it cannot do while it imports for another one.
fn imports_first(tier: IsolationLevel, options: &SandboxOptions) -> bool {
    tier > IsolationLevel::T1 && options.slots > 1
}

/// Control groups that were tried out, or why there are none.
fn groups(
    zygote: &Zygote,
    options: &SandboxOptions,
    bare: Option<&Bare>,
) -> Result<Groups, String> {
    if options.best_tier > IsolationLevel::T1 {
        return Err(format!("tier {} was asked for", options.best_tier));
    }
    let text = |error: &dyn std::error::Error| error.to_string();
    let groups = Groups::make(options.slots).map_err(|error| text(&error))?;
    let group = groups.group().map_err(|error| text(&error))?;
    group.bound(&bounds(options, &RunLimits::default())).map_err(|error| text(&error))?;
    match probe(zygote, options, bare, Some(&group)) {
        Err(StartError::Layer { layer: Layer::Cgroup, reason }) => Err(reason),
        // Other failures show again without the group, and are reported then.
        _ => Ok(groups),
    }
}

/// What a run's control group is bounded by. Files in memory are charged to it as well, so what
/// the mounts may hold comes on top: full disks leave a script the memory it was promised. Files on
/// disk are charged too, but the kernel writes them out and frees their memory when it runs short.
fn bounds(options: &SandboxOptions, policy: &RunLimits) -> Bounds {
    let work_dir = match options.work_dir_on {
        WorkDirStorage::Memory => options.work_dir.bytes(),
        WorkDirStorage::Disk => 0,
    };
    let disk = work_dir.saturating_add(2 * policy.scratch.bytes());
    Bounds {
        memory: policy.memory.bytes().saturating_add(disk),
        processes: policy.processes,
        cpus: policy.cpus,
    }
}

/// The tier that is left without the `missing` layers, if it is accepted.
fn accepted(missing: &[Missing], weakest: IsolationLevel) -> Result<IsolationLevel, StartError> {
    let found = Protection::except(missing.iter().cloned()).tier();
    match found {
        Some(found) if found <= weakest => Ok(found),
        _ => {
            let short = |missing: &&Missing| weakest.needs(missing.layer);
            let Missing { layer, reason } =
                missing.iter().find(short).expect("a missing layer keeps the tier down").clone();
            Err(match found {
                Some(found) => StartError::IsolationLevel { found, weakest, layer, reason },
                None => StartError::Layer { layer, reason },
            })
        }
    }
}

/// Runs an empty script in a jail like any other, to see which layers stand.
fn probe(
    zygote: &Zygote,
    options: &SandboxOptions,
    bare: Option<&Bare>,
    group: Option<&Cgroup>,
) -> Result<Vec<Missing>, StartError> {
    let mounted = Mounted::open(zygote, options)?;
    let policy = RunLimits::default();
    let tier = if bare.is_some() { IsolationLevel::T3 } else { IsolationLevel::T1 };
    let spec = workspace::jail_spec(&mounted, None, &policy, None, bare);
    let context = RunContext { zygote, spec, group, tier, cancel: None };
    let result = run::run(&context, "", &policy);
    mounted.close(zygote);
    match result {
        Ok((_, missing)) => Ok(missing),
        Err(Fault::Layer { layer, reason }) => Err(StartError::Layer { layer, reason }),
        Err(fault) => Err(fault.into()),
    }
}
