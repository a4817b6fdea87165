//! Finding the Python environment and what of it must be visible in the box.

use crate::isolation::enter::{EMPTY, TASKS, WEIGHTS, WORK, WORKSPACES};
use crate::isolation::gpus::GPUS;
use crate::isolation::root::SYSTEM;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use std::process::{Command, Stdio};

/// Names the interpreter, over everything that would be found otherwise.
pub const VARIABLE: &str = "MLE_PYTHON";

/// Where a virtual environment appears in the box, whatever its path on the host.
const IN_BOX: &str = "/opt/venv";

/// Folders of the box that runs have for themselves: what lies below one on the host is covered.
const COVERED: [&str; 9] = [WORK, TASKS, WEIGHTS, WORKSPACES, GPUS, EMPTY, "/tmp", "/dev", "/proc"];

/// The oldest Python that the zygote runs on.
const OLDEST: (u32, u32) = (3, 11);

/// No usable Python environment.
#[derive(Debug, thiserror::Error)]
pub enum PythonError {
    /// There is none in the usual places.
    #[error(
        "no Python environment found: neither {VARIABLE} nor `.venv/bin/python` in or above {}; \
         make one with `make venv`", searched.join(" or ")
    )]
    NotFound {
        /// Folders that were searched upwards from.
        searched: Vec<String>,
    },
    /// It could not be started.
    #[error("could not run {path} ({source}); make an environment with `make venv`")]
    Run {
        /// Path of the interpreter.
        path: Utf8PathBuf,
        /// The I/O error of starting it.
        source: std::io::Error,
    },
    /// It ran, but not to an answer.
    #[error("{path} is no working Python: {detail}")]
    Broken {
        /// Path of the interpreter.
        path: Utf8PathBuf,
        /// What the interpreter printed.
        detail: String,
    },
    /// It is too old.
    #[error("{path} is Python {found}; 3.11 or later is needed")]
    TooOld {
        /// Path of the interpreter.
        path: Utf8PathBuf,
        /// The version that it reports.
        found: String,
    },
    /// A library that every run expects is not installed.
    #[error("{path} lacks {}; install the locked requirements with `make venv`", .missing.join(", "))]
    Lacks {
        /// Path of the interpreter.
        path: Utf8PathBuf,
        /// What is not there.
        missing: Vec<String>,
    },
    /// The box would hide it.
    #[error(
        "{path} builds on the Python in {base}, and scripts have a `{folder}` of their own, which \
         hides it; install Python somewhere else, for example below /opt or your home folder, \
         and make the environment anew"
    )]
    Covered {
        /// Path of the interpreter.
        path: Utf8PathBuf,
        /// Folder of its installation.
        base: Utf8PathBuf,
        /// The folder of the box that covers it.
        folder: &'static str,
    },
}

/// An interpreter with its libraries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonEnv {
    interpreter: Utf8PathBuf,
    version: String,
    /// The virtual environment, or the same as `base`.
    prefix: Utf8PathBuf,
    /// The installation that the environment builds on.
    base: Utf8PathBuf,
}

/// What an interpreter reports about itself.
#[derive(Deserialize)]
struct InterpreterReport {
    version: (u32, u32, u32),
    prefix: Utf8PathBuf,
    base: Utf8PathBuf,
    missing: Vec<String>,
}

const PROBE: &str = r#"
import importlib.util, json, sys
print(json.dumps({
    "version": list(sys.version_info[:3]), "prefix": sys.prefix, "base": sys.base_prefix,
    "missing": [n for n in ("numpy", "pandas", "sklearn") if importlib.util.find_spec(n) is None],
}))
"#;

impl PythonEnv {
    /// The environment that [`VARIABLE`] names, or else the first `.venv/bin/python` upwards from
    /// the current directory, or else from the running program.
    ///
    /// # Errors
    /// A [`PythonError`] that says what to do.
    pub fn locate() -> Result<Self, PythonError> {
        if let Some(named) = std::env::var(VARIABLE).ok().filter(|named| !named.is_empty()) {
            return Self::at(Utf8Path::new(&named));
        }
        let program = std::env::current_exe().ok();
        let folders: Vec<Utf8PathBuf> = [
            std::env::current_dir().ok(),
            program.as_deref().and_then(|path| path.parent()).map(Into::into),
        ]
        .into_iter()
        .flatten()
        .filter_map(|path| Utf8PathBuf::from_path_buf(path).ok())
        .collect();
        let mut candidates = folders
            .iter()
            .flat_map(|folder| folder.ancestors())
            .map(|folder| folder.join(".venv/bin/python"));
        match candidates.find(|path| path.exists()) {
            Some(path) => Self::at(&path),
            None => Err(PythonError::NotFound {
                searched: folders.into_iter().map(Into::into).collect(),
            }),
        }
    }

    /// The environment of a given interpreter.
    ///
    /// # Errors
    /// A [`PythonError`] if it does not run, is too old, or lacks the libraries.
    pub fn at(path: &Utf8Path) -> Result<Self, PythonError> {
        let path = camino::absolute_utf8(path)
            .map_err(|source| PythonError::Run { path: path.to_owned(), source })?;
        let output = Command::new(&path)
            .args(["-I", "-c", PROBE])
            .stdin(Stdio::null())
            .output()
            .map_err(|source| PythonError::Run { path: path.clone(), source })?;
        let broken = |detail: String| PythonError::Broken { path: path.clone(), detail };
        if !output.status.success() {
            return Err(broken(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let answer: InterpreterReport =
            serde_json::from_slice(&output.stdout).map_err(|error| broken(error.to_string()))?;
        let (major, minor, patch) = answer.version;
        let version = format!("{major}.{minor}.{patch}");
        if (major, minor) < OLDEST {
            return Err(PythonError::TooOld { path, found: version });
        }
        if !answer.missing.is_empty() {
            return Err(PythonError::Lacks { path, missing: answer.missing });
        }
        Ok(Self { interpreter: path, version, prefix: answer.prefix, base: answer.base })
    }

    /// The interpreter's path on the host.
    pub fn interpreter(&self) -> &Utf8Path {
        &self.interpreter
    }

    /// Its version, such as `3.11.7`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The interpreter's path in the box.
    pub(crate) fn interpreter_in_box(&self) -> Utf8PathBuf {
        match self.interpreter.strip_prefix(&self.prefix) {
            Ok(relative) if self.prefix != self.base => Utf8Path::new(IN_BOX).join(relative),
            _ => self.interpreter.clone(),
        }
    }

    /// Makes sure that the installation can be seen at its place in the box. Without a box nothing
    /// is covered.
    ///
    /// # Errors
    /// [`PythonError::Covered`].
    pub(crate) fn visible_in_box(&self) -> Result<(), PythonError> {
        // The virtual environment moves to a place of its own, and covers what was there.
        let moved = (self.prefix != self.base).then_some(IN_BOX);
        let covered: Vec<_> = COVERED.into_iter().chain(moved).collect();
        let folders = self.folders();
        let base = folders.iter().map(|(source, _)| source).filter(|path| **path != self.prefix);
        let hidden = base
            .flat_map(|path| covered.iter().map(move |folder| (path, *folder)))
            .find(|(path, folder)| path.starts_with(folder));
        match hidden {
            None => Ok(()),
            Some((_, folder)) => Err(PythonError::Covered {
                path: self.interpreter.clone(),
                base: self.base.clone(),
                folder,
            }),
        }
    }

    /// Host folders that must be visible, each with its path in the box.
    ///
    /// Of the base only what Python itself needs: it may be `/usr/local`, or a folder where
    /// people keep other things too. It keeps its place, for the environment refers to it by
    /// absolute path.
    pub(crate) fn folders(&self) -> Vec<(Utf8PathBuf, Utf8PathBuf)> {
        let seen = |path: &Utf8PathBuf| SYSTEM.iter().any(|system| path.starts_with(system));
        let mut folders: Vec<_> = ["bin", "lib", "lib64"]
            .map(|name| self.base.join(name))
            .into_iter()
            .filter(|path| path.is_dir() && !path.is_symlink() && !seen(path))
            .map(|path| (path.clone(), path))
            .collect();
        if self.prefix != self.base {
            folders.push((self.prefix.clone(), IN_BOX.into()));
        }
        folders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_interpreters_give_distinct_errors() {
        let missing = PythonEnv::at(Utf8Path::new("/nonexistent/python")).unwrap_err();
        assert!(matches!(missing, PythonError::Run { .. }), "{missing}");
        assert!(missing.to_string().contains("make venv"));
        let not_python = PythonEnv::at(Utf8Path::new("/bin/cat")).unwrap_err();
        assert!(matches!(not_python, PythonError::Broken { .. }), "{not_python}");
    }

    #[test]
    fn environment_is_bound_elsewhere_and_its_base_in_place() {
        let env = PythonEnv {
            interpreter: "/home/me/project/.venv/bin/python".into(),
            version: "3.12.1".into(),
            prefix: "/home/me/project/.venv".into(),
            base: "/usr".into(),
        };
        assert_eq!(env.interpreter_in_box(), "/opt/venv/bin/python");
        let plain =
            PythonEnv { prefix: "/usr".into(), interpreter: "/usr/bin/python3".into(), ..env };
        assert_eq!(plain.interpreter_in_box(), "/usr/bin/python3");
        assert_eq!(plain.folders(), [], "the system's own Python is visible anyway");
        assert!(plain.visible_in_box().is_ok());
    }

    #[test]
    fn an_installation_that_the_box_covers_is_refused_by_folder() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        fs_err::create_dir_all(folder.join("base/lib")).unwrap();
        let env = |prefix: &str, base: &str| PythonEnv {
            interpreter: folder.join(prefix).join("bin/python"),
            version: "3.12.1".into(),
            prefix: folder.join(prefix),
            base: folder.join(base),
        };
        for (prefix, base) in [("venv", "base"), ("base", "base")] {
            let error = env(prefix, base).visible_in_box().unwrap_err();
            assert!(matches!(error, PythonError::Covered { folder: "/tmp", .. }), "{error}");
        }
        // An environment there moves away; what it builds on is elsewhere.
        let mut moved = env("venv", "base");
        moved.base = "/usr".into();
        assert!(moved.visible_in_box().is_ok());
    }
}
