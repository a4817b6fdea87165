//! The request to a launcher: programs and data, their paths in the box, and the environment.

use crate::exec::fault::StartError;
use crate::exec::sandbox::SandboxOptions;
use crate::isolation::bare::Bare;
use crate::isolation::enter::{TASKS, WEIGHTS, WORKSPACES};
use crate::isolation::gpus::{self, HostGpus};
use crate::isolation::launcher::{Launch, bare_user};
use crate::isolation::root::{Bind, SYSTEM};
use crate::isolation::{IsolationLevel, Layer, abi};
use crate::python::{PythonEnv, ZYGOTE};
use camino::{Utf8Path, Utf8PathBuf};
use tasks::task::{PublicDir, TaskId};

/// What is the same with and without a box.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) python: &'a PythonEnv,
    pub(crate) options: &'a SandboxOptions,
    /// Each task's folder of public files.
    data: Vec<(TaskId, Bind)>,
    /// The folder of pretrained weights.
    weights: Option<Bind>,
    library: Utf8PathBuf,
    gpus: &'a HostGpus,
}

impl<'a> Setup<'a> {
    pub(crate) fn new(
        python: &'a PythonEnv,
        options: &'a SandboxOptions,
        tasks: &[(TaskId, PublicDir)],
        gpus: &'a HostGpus,
        library: Utf8PathBuf,
    ) -> Result<Self, StartError> {
        let tasks = tasks.iter().map(|(id, public)| (id, public.path()));
        let mut visible = visible(python);
        let weights = options.weights.as_deref().map(weights).transpose()?;
        visible.extend(weights.iter().map(|bind| Utf8PathBuf::from(&bind.source)));
        let data = data(&visible, tasks)?;
        if let Some(weights) = &weights {
            beside_no_answers(weights, &data)?;
        }
        Ok(Self { python, options, data, weights, library, gpus })
    }

    /// A zygote in a box: its paths are the box's.
    ///
    /// A Python that the box would cover cannot be used in it; where no box is needed, that is
    /// reported as a layer that cannot be had.
    /// Work dirs are in memory, or in the host's folder `work_dirs`.
    pub(crate) fn boxed(&self, work_dirs: Option<&Utf8Path>) -> Result<Launch, StartError> {
        match self.python.visible_in_box() {
            Err(error) if self.options.allow_tier == IsolationLevel::T3 => {
                let reason = error.to_string();
                return Err(StartError::Layer { layer: Layer::PrivateMounts, reason });
            }
            other => other?,
        }
        Ok(Launch {
            interpreter: self.python.interpreter_in_box().into(),
            programs: programs(self.python),
            data: self.data().cloned().collect(),
            devices: self.gpus.binds(),
            workspaces: WORKSPACES.to_owned(),
            work_dirs: work_dirs.map(ToString::to_string),
            environment: environment(),
            ..self.launch(self.data().map(|bind| bind.target.as_str()), false, work_dirs.is_some())
        })
    }

    /// A zygote on the host, with work dirs in `workspaces`.
    pub(crate) fn bare(&self, workspaces: &Utf8Path) -> Launch {
        let interpreter = self.python.interpreter();
        let bin = interpreter.parent().unwrap_or(Utf8Path::new("/usr/bin"));
        Launch {
            interpreter: interpreter.as_str().to_owned(),
            workspaces: workspaces.as_str().to_owned(),
            // A run gets folders of its own.
            environment: environment_with(bin.as_str(), "/", "/"),
            ..self.launch(self.data().map(|bind| bind.source.as_str()), true, true)
        }
    }

    fn launch<'b>(
        &self,
        folders: impl Iterator<Item = &'b str>,
        bare: bool,
        on_disk: bool,
    ) -> Launch {
        Launch {
            interpreter: String::new(),
            programs: Vec::new(),
            data: Vec::new(),
            devices: Vec::new(),
            bare,
            user: if bare { bare_user() } else { None },
            workspaces: String::new(),
            work_dirs: None,
            library: self.library.as_str().to_owned(),
            script: ZYGOTE.to_owned(),
            settings: serde_json::json!({
                "version": abi::VERSION,
                "data": folders.collect::<Vec<_>>(),
                "bare": bare,
                "on_disk": on_disk,
                "weights": self.weights.is_some(),
                "spares": self.options.spares,
            }),
            environment: Vec::new(),
        }
    }

    /// Where a run finds its task's public files.
    pub(crate) fn inputs(&self, bare: bool) -> impl Iterator<Item = (TaskId, String)> {
        self.data.iter().map(move |(task, bind)| {
            (task.clone(), if bare { &bind.source } else { &bind.target }.clone())
        })
    }

    /// Where a run finds pretrained weights.
    pub(crate) fn weights(&self, bare: bool) -> Option<String> {
        self.weights.as_ref().map(|bind| if bare { &bind.source } else { &bind.target }.clone())
    }

    /// What scripts read beside their programs.
    fn data(&self) -> impl Iterator<Item = &Bind> {
        self.data.iter().map(|(_, bind)| bind).chain(&self.weights)
    }

    /// What a run without a box may read.
    pub(crate) fn readable(&self) -> Bare {
        Bare { programs: programs(self.python).into_iter().map(|bind| bind.source).collect() }
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

/// The tree of pretrained weights.
fn weights(folder: &Utf8Path) -> Result<Bind, StartError> {
    let failed = |source| StartError::Weights { folder: folder.to_owned(), source };
    let source = folder.canonicalize_utf8().map_err(failed)?;
    if !source.is_dir() {
        return Err(failed(std::io::ErrorKind::NotADirectory.into()));
    }
    Ok(Bind { source: source.into(), target: WEIGHTS.to_owned() })
}

/// Pretrained weights do not lie in the folder that holds a task's public files, where its answers
/// are.
fn beside_no_answers(weights: &Bind, data: &[(TaskId, Bind)]) -> Result<(), StartError> {
    for (task, public) in data {
        let folder = Utf8Path::new(&public.source).parent();
        if folder.is_some_and(|folder| Utf8Path::new(&weights.source).starts_with(folder)) {
            let source = std::io::Error::other(format!("it lies beside the answers of {task}"));
            return Err(StartError::Weights { folder: weights.source.clone().into(), source });
        }
    }
    Ok(())
}

/// One tree per task: its public files and no more.
fn data<'a>(
    visible: &[Utf8PathBuf],
    tasks: impl Iterator<Item = (&'a TaskId, &'a Utf8Path)>,
) -> Result<Vec<(TaskId, Bind)>, StartError> {
    let bind = |(task, public): (&TaskId, &Utf8Path)| {
        let source = public
            .canonicalize_utf8()
            .map_err(|source| StartError::Task { task: task.clone(), source })?;
        // The answers lie beside the public files, and would be just as visible.
        if let Some(folder) = visible.iter().find(|folder| source.starts_with(folder)) {
            return Err(StartError::Exposed { task: task.clone(), folder: folder.clone() });
        }
        let target = format!("{TASKS}/{task}");
        Ok((task.clone(), Bind { source: source.into(), target }))
    };
    tasks.map(bind).collect()
}

/// The whole environment of the box: nothing of the supervisor's own.
pub(crate) fn environment() -> Vec<(String, String)> {
    environment_with("/opt/venv/bin", "/work", "/tmp")
}

/// The same where Python's programs are in `bin`.
fn environment_with(bin: &str, home: &str, temporary: &str) -> Vec<(String, String)> {
    let path = format!("{bin}:/usr/local/bin:/usr/bin:/bin");
    let fixed = [
        ("PATH", path.as_str()),
        ("HOME", home),
        ("TMPDIR", temporary),
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
        // pyarrow, which pandas imports where it is installed, would start one to free memory.
        ("JE_ARROW_MALLOC_CONF", "background_thread:false"),
        // `n_jobs=-1` and `n_jobs=4` alike run in the process itself: on such data, starting
        // workers costs a hundred times what they save.
        ("JOBLIB_MULTIPROCESSING", "0"),
        ("LOKY_MAX_CPU_COUNT", "1"),
        // A run with GPUs gets these variables when it begins.
        (gpus::VARIABLE, ""),
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
            (bound[0].1.source.as_str(), bound[0].1.target.as_str()),
            (public.as_str(), "/tasks/alpha")
        );
        let missing = folder.join("missing");
        let error = data(&[], std::iter::once((&task, missing.as_path()))).unwrap_err();
        assert!(matches!(error, StartError::Task { .. }));
    }
}
