//! A sandbox: a warmed interpreter in its outer box, shared by all episodes of a process.

use crate::exec::fault::{Fault, StartError};
use crate::exec::run;
use crate::exec::slots::{Slot, Slots};
use crate::exec::workspace::Workspace;
use crate::exec::zygote::{self, Zygote};
use crate::jail::enter::{Cell, TASKS};
use crate::jail::launcher::Launch;
use crate::jail::layer::{Missing, Protection};
use crate::jail::root::{Bind, SYSTEM};
use crate::jail::{Layer, abi};
use crate::policy::{ByteSize, Policy};
use crate::python::{PythonEnv, ZYGOTE};
use crate::task::{PublicDir, TaskId};
use camino::{Utf8Path, Utf8PathBuf};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What nearly every script imports. More would make every fork dearer.
const MODULES: [&str; 6] = ["numpy", "pandas", "scipy", "scipy.stats", "scipy.optimize", "sklearn"];

/// How a sandbox is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Runs in flight at once; more wait. Default: the number of processors.
    pub slots: usize,
    /// Size of an episode's work dir. Default: 256 MiB.
    pub work_dir: ByteSize,
    /// Files and directories in an episode's work dir. Default: 10,000.
    pub work_files: u64,
    /// Layers whose failure is accepted (and reported). Default: only [`Layer::Cgroup`], which
    /// this version does not set up on any host.
    pub allow_missing: Vec<Layer>,
    /// What the zygote imports before it serves; what is not installed is left out. Default:
    /// numpy, pandas, parts of scipy, scikit-learn.
    pub modules: Vec<String>,
    /// Whether the zygote fits small models before it serves, which makes the first fits of
    /// each run faster. Default: yes.
    pub warm_up: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            slots: std::thread::available_parallelism().map_or(1, Into::into),
            work_dir: ByteSize::mib(256),
            work_files: 10_000,
            allow_missing: vec![Layer::Cgroup],
            modules: MODULES.map(str::to_owned).to_vec(),
            warm_up: true,
        }
    }
}

/// A running sandbox. Clones share it; when the last one and the last [`Workspace`] are dropped,
/// every process it started ends.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    launcher: Utf8PathBuf,
    launch: Launch,
    options: Options,
    tasks: BTreeSet<TaskId>,
    slots: Slots,
    protection: Protection,
    zygote: Mutex<Arc<Zygote>>,
}

impl Sandbox {
    /// Builds the box, warms an interpreter in it and checks every layer with a run of its own.
    /// Scripts will see the public files of `tasks`, each its own task's.
    ///
    /// # Errors
    /// A [`StartError`]; a layer that is not up and was not accepted to be missing is one.
    pub fn start(
        python: &PythonEnv,
        options: Options,
        tasks: &[(TaskId, PublicDir)],
    ) -> Result<Self, StartError> {
        if let Some(layer) = options.allow_missing.iter().find(|layer| !layer.may_be_missing()) {
            return Err(StartError::Indispensable { layer: *layer });
        }
        let (launcher, library) = zygote::find_launcher()?;
        let data = data(&visible(python), tasks.iter().map(|(id, public)| (id, public.path())))?;
        let folders: Vec<_> = data.iter().map(|bind| bind.target.clone()).collect();
        let launch = Launch {
            interpreter: python.interpreter_in_box().into(),
            programs: programs(python),
            data,
            library: library.into(),
            script: ZYGOTE.to_owned(),
            settings: serde_json::json!({
                "version": abi::VERSION,
                "modules": options.modules,
                "data": folders,
                "warm_up": options.warm_up,
            }),
            environment: environment(),
            allow_missing: options.allow_missing.clone(),
        };
        let (zygote, mut missing) = Zygote::start(&launcher, &launch)?;
        missing.extend(probe(&zygote, &options)?);
        let reason = "this version bounds memory by address space and by adding up, processes by \
                      resource limits and disk by mount sizes, without cgroups"
            .to_owned();
        missing.push(Missing { layer: Layer::Cgroup, reason });
        if let Some(Missing { layer, reason }) = missing
            .iter()
            .find(|missing| {
                missing.layer == Layer::Cgroup && !options.allow_missing.contains(&missing.layer)
            })
            .cloned()
        {
            return Err(StartError::Layer { layer, reason });
        }
        Ok(Self(Arc::new(Inner {
            launcher,
            launch,
            slots: Slots::new(options.slots),
            options,
            tasks: tasks.iter().map(|(id, _)| id.clone()).collect(),
            protection: Protection::except(missing),
            zygote: Mutex::new(Arc::new(zygote)),
        })))
    }

    /// Which layers are up.
    pub fn protection(&self) -> &Protection {
        &self.0.protection
    }

    /// Opens a work dir for one episode of a task.
    ///
    /// # Errors
    /// [`Fault::UnknownTask`], or another fault of ours.
    pub fn workspace(&self, task: &TaskId) -> Result<Workspace, Fault> {
        if !self.0.tasks.contains(task) {
            return Err(Fault::UnknownTask(task.clone()));
        }
        self.open(Some(format!("{TASKS}/{task}")))
    }

    /// Opens a work dir without a task: scripts find no `input`.
    ///
    /// # Errors
    /// A fault of ours.
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

    /// Waits for one of the places for runs.
    pub(crate) fn slot(&self) -> Slot<'_> {
        self.0.slots.take()
    }

    /// The zygote, a new one if the last was lost.
    fn zygote(&self) -> Result<Arc<Zygote>, Fault> {
        let mut zygote = self.0.zygote.lock().unwrap_or_else(PoisonError::into_inner);
        if zygote.is_lost() {
            tracing::warn!("the warmed Python was lost and is started again");
            *zygote = match Zygote::start(&self.0.launcher, &self.0.launch) {
                Ok((started, _)) => Arc::new(started),
                Err(StartError::Fault(fault)) => return Err(fault),
                Err(error) => return Err(Fault::ZygoteLost { log: error.to_string() }),
            };
        }
        Ok(Arc::clone(&zygote))
    }
}

/// Runs an empty script in a cell like any other, to see which layers stand.
fn probe(zygote: &Zygote, options: &Options) -> Result<Vec<Missing>, StartError> {
    let workspace = crate::exec::workspace::Mounted::open(zygote, options)?;
    let policy = Policy::default();
    let cell = Cell {
        workspace: workspace.path.clone(),
        input: None,
        scratch: policy.scratch.bytes(),
        limits: policy.limits(),
        allow_missing: options.allow_missing.clone(),
    };
    let result = run::run(zygote, &cell, "", &policy);
    workspace.close(zygote);
    match result {
        Ok((_, missing)) => Ok(missing),
        Err(Fault::Layer { layer, reason }) => Err(StartError::Layer { layer, reason }),
        Err(fault) => Err(fault.into()),
    }
}

fn programs(python: &PythonEnv) -> Vec<Bind> {
    let bind = |(source, target): (Utf8PathBuf, Utf8PathBuf)| Bind {
        source: source.into(),
        target: target.into(),
    };
    python.folders().into_iter().map(bind).collect()
}

/// Host folders that every script can read.
fn visible(python: &PythonEnv) -> Vec<Utf8PathBuf> {
    let python = python.folders();
    let system = SYSTEM.iter().map(Utf8Path::new);
    let all = system.chain(python.iter().map(|(source, _)| source.as_path()));
    all.filter_map(|path| path.canonicalize_utf8().ok()).collect()
}

/// One tree per task: its public files and no more.
fn data<'a>(
    visible: &[Utf8PathBuf],
    tasks: impl Iterator<Item = (&'a TaskId, &'a Utf8Path)>,
) -> Result<Vec<Bind>, StartError> {
    let bind = |(task, public): (&TaskId, &Utf8Path)| {
        let source = public
            .canonicalize_utf8()
            .map_err(|source| StartError::Task { task: task.clone(), source })?;
        match visible.iter().find(|folder| source.starts_with(folder)) {
            // The answers lie beside the public files, and would be just as visible.
            Some(folder) => Err(StartError::Exposed { task: task.clone(), folder: folder.clone() }),
            None => Ok(Bind { source: source.into(), target: format!("{TASKS}/{task}") }),
        }
    };
    tasks.map(bind).collect()
}

/// The whole environment of the box: nothing of the supervisor's own.
pub(crate) fn environment() -> Vec<(String, String)> {
    let fixed = [
        ("PATH", "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin"),
        ("HOME", "/work"),
        ("TMPDIR", "/tmp"),
        ("USER", "agent"),
        ("LOGNAME", "agent"),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
        // The same order of sets and dicts in every run.
        ("PYTHONHASHSEED", "0"),
        // There is nowhere to write them.
        ("PYTHONDONTWRITEBYTECODE", "1"),
        // One thread per maths library: a zygote with more cannot fork safely, and runs side by
        // side would only get in each other's way.
        ("OMP_NUM_THREADS", "1"),
        ("OPENBLAS_NUM_THREADS", "1"),
        ("MKL_NUM_THREADS", "1"),
        ("NUMEXPR_NUM_THREADS", "1"),
        ("VECLIB_MAXIMUM_THREADS", "1"),
        // `n_jobs=-1` and `n_jobs=4` alike run in the process itself: on such data, starting
        // workers costs a hundred times what they save.
        ("JOBLIB_MULTIPROCESSING", "0"),
        ("LOKY_MAX_CPU_COUNT", "1"),
        ("MPLBACKEND", "Agg"),
        ("MPLCONFIGDIR", "/tmp/matplotlib"),
    ];
    fixed.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_where_scripts_can_look_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
        let public = folder.join("venv/generated/alpha/prepared/public");
        fs_err::create_dir_all(&public).unwrap();
        let task = TaskId::new("alpha").unwrap();
        let tasks = || std::iter::once((&task, public.as_path()));
        let exposed = data(&[folder.join("venv")], tasks()).unwrap_err();
        assert!(matches!(exposed, StartError::Exposed { .. }), "{exposed}");
        // Through a link as well: what counts is where it really is.
        std::os::unix::fs::symlink(folder.join("venv/generated"), folder.join("link")).unwrap();
        let link = folder.join("link/alpha/prepared/public");
        assert!(data(&[folder.join("venv")], std::iter::once((&task, link.as_path()))).is_err());
        let bound = data(&[folder.join("elsewhere")], tasks()).unwrap();
        assert_eq!(
            (bound[0].source.as_str(), bound[0].target.as_str()),
            (public.as_str(), "/tasks/alpha")
        );
        let missing = folder.join("missing");
        let error = data(&[], std::iter::once((&task, missing.as_path()))).unwrap_err();
        assert!(matches!(error, StartError::Task { .. }));
    }
}
