//! `sandbox serve` as a process of its own, for clients of it.

use camino::{Utf8Path, Utf8PathBuf};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// `sandbox serve`, killed at the end.
#[derive(Debug)]
pub struct ServedTasks {
    child: Child,
    /// Host and port.
    pub address: String,
}

/// The program `sandbox`: what `MLE_SANDBOX_BIN` names, else the one beside this program, or in the
/// folder above, as where cargo puts tests.
///
/// # Panics
/// If it is in none of these places.
pub fn program() -> Utf8PathBuf {
    if let Ok(path) = std::env::var("MLE_SANDBOX_BIN") {
        return path.into();
    }
    let here = Utf8PathBuf::from_path_buf(std::env::current_exe().unwrap()).unwrap();
    let found = here.ancestors().skip(1).take(2).map(|folder| folder.join("sandbox"));
    found.into_iter().find(|path| path.is_file()).unwrap_or_else(|| {
        panic!("there is no `sandbox` beside {here}; `cargo build -p sandbox` makes it")
    })
}

impl ServedTasks {
    /// Starts it on `tasks`, with its records in `records`, and waits until it listens to `listen`, of
    /// which the port may be 0.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(tasks: &Utf8Path, records: &Utf8Path, listen: &str, flags: &[&str]) -> Self {
        let mut child = Command::new(program())
            .args(["serve", tasks.as_str(), "--listen", listen, "--records", records.as_str()])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some((_, address)) = line.trim().rsplit_once("http://") else {
            let _ = child.kill();
            panic!("`sandbox serve` did not start: {:?}", child.wait());
        };
        Self { child, address: address.to_owned() }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Kills it, as a machine that fails does, and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for ServedTasks {
    fn drop(&mut self) {
        self.kill();
    }
}
