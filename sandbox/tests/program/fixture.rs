//! A task with two test rows, and scripts beside it.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};
use support::manifest::manifest;

/// The program; Python is found as the tests find it.
pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sandbox"))
}

pub(crate) fn sandbox(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The one object on standard output.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {} {}", text(&output.stdout), text(&output.stderr))
    })
}

/// A folder with the task `alpha`.
pub(crate) struct TaskFolder(tempfile::TempDir);

impl TaskFolder {
    pub(crate) fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        // Without a box, scripts reach their data by its own path.
        fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        folder.write("alpha/prepared/public/test.csv", "id,x\n3,0.4\n4,0\n");
        folder.write("alpha/prepared/private/answer.csv", "id,y\n3,1\n4,0\n");
        folder.write("alpha/task.json", &manifest("alpha", 2, [0.9, 0.8, 0.7, 0.6]));
        folder
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        Utf8Path::from_path(self.0.path()).unwrap()
    }

    pub(crate) fn task(&self) -> Utf8PathBuf {
        self.path().join("alpha")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.into_string()
    }

    /// Runs one script with more arguments.
    pub(crate) fn run(&self, code: &str, more: &[&str]) -> Output {
        let script = self.write("script.py", code);
        sandbox(&[&["run", self.task().as_str(), &script], more].concat())
    }
}
