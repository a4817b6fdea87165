//! A benchmark of the overhead of runs: the jail against a cold interpreter, one in bubblewrap, and
//! a plain fork of a warmed one, in turns.
//!
//! All ways get the same environment and the same scripts. Times are from asking for a run to
//! knowing its end, in milliseconds.

use crate::exec::{Fault, Sandbox, SandboxOptions, StartError, Workspace, environment};
use crate::limits::RunLimits;
use crate::python::{FORK, PythonEnv, ZYGOTE};
use serde::Serialize;
use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// How often things are run.
#[derive(Debug, Clone, Copy)]
pub struct BenchSettings {
    /// Runs of each script in each warmed way.
    pub runs: usize,
    /// Runs of each script in a cold interpreter, which takes a second or more each.
    pub cold_runs: usize,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum JailBenchError {
    /// There is no sandbox.
    #[error("no sandbox")]
    Start(#[from] StartError),
    /// A run failed through no fault of its script.
    #[error("a jailed run failed")]
    Run(#[from] Fault),
    /// What the jail is compared with does not work.
    #[error("failed to run the comparison `{way}`: {why}")]
    Comparison {
        /// The way of running that failed.
        way: LaunchMethod,
        /// Why it does not work.
        why: String,
    },
}

/// A script whose runs are timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchScript {
    /// An empty script.
    NoOp,
    /// A logistic regression on 150 rows.
    Logistic,
    /// A forest of 200 trees on 150 rows.
    Forest,
}

impl BenchScript {
    const ALL: [Self; 3] = [Self::NoOp, Self::Logistic, Self::Forest];

    fn code(self) -> String {
        let fit = |import: &str, model: &str| {
            format!(
                "import numpy as np\nimport pandas as pd\nfrom {import}\n\
                 g = np.random.default_rng(0)\n\
                 x = pd.DataFrame(g.normal(size=(150, 8)))\n\
                 y = (x[0] * x[1] + x[2] > 0).astype(int)\n\
                 {model}.fit(x, y).predict_proba(x)\n"
            )
        };
        match self {
            Self::NoOp => "pass\n".to_owned(),
            Self::Logistic => {
                fit("sklearn.linear_model import LogisticRegression", "LogisticRegression()")
            }
            Self::Forest => fit(
                "sklearn.ensemble import RandomForestClassifier",
                "RandomForestClassifier(200, random_state=0)",
            ),
        }
    }
}

/// How it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchMethod {
    /// A new interpreter for each run.
    Cold,
    /// A new interpreter in a box made by bubblewrap.
    Bubblewrap,
    /// A fork of a warmed interpreter, with no jail.
    Fork,
    /// A run of this sandbox that finds no spare, and so begins with a fork.
    Unprepared,
    /// A run of this sandbox as it is: a spare stands ready, unless runs follow each other faster
    /// than spares can be made.
    Jailed,
}

impl fmt::Display for LaunchMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cold => "cold",
            Self::Bubblewrap => "bubblewrap",
            Self::Fork => "fork",
            Self::Unprepared => "no spare",
            Self::Jailed => "jailed",
        })
    }
}

/// One script, run one way.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Timing {
    /// The script that was timed.
    pub script: BenchScript,
    /// The way it was run.
    pub way: LaunchMethod,
    /// Number of timed runs.
    pub runs: usize,
    /// Median latency, in milliseconds.
    pub p50: f64,
    /// 95th percentile, in milliseconds.
    pub p95: f64,
}

/// Runs per second over several places.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Throughput {
    /// The script that was run.
    pub script: BenchScript,
    /// With one run at a time.
    pub one: f64,
    /// Runs per second with two at a time.
    pub two: f64,
}

/// The results of a benchmark.
#[derive(Debug, Clone, Serialize)]
pub struct BenchResults {
    /// Latencies of single runs, per script and way.
    pub timings: Vec<Timing>,
    /// Throughputs of the jail.
    pub throughputs: Vec<Throughput>,
    /// What could not be compared with, and why.
    pub left_out: Vec<String>,
}

/// Measures all scripts; `tick` is called with a description before each measurement.
///
/// # Errors
/// [`JailBenchError`].
pub fn bench(
    python: &PythonEnv,
    options: &SandboxOptions,
    settings: BenchSettings,
    mut tick: impl FnMut(BenchScript),
) -> Result<BenchResults, JailBenchError> {
    let folder = tempfile::tempdir().map_err(comparison(LaunchMethod::Cold))?;
    let mut forks = Forks::start(python, &options.modules)?;
    let start = |spares| {
        let options = SandboxOptions { slots: 2, spares, ..options.clone() };
        let sandbox = Sandbox::start(python, options, &[])?;
        sandbox.warm()?;
        let workspace = sandbox.empty_workspace()?;
        Ok::<_, JailBenchError>((sandbox, workspace))
    };
    let (_, unprepared) = start(0)?;
    let (sandbox, workspace) = start(2)?;
    let bubblewrap = bubblewrap_stands(python, folder.path());
    let mut bench =
        BenchResults { timings: Vec::new(), throughputs: Vec::new(), left_out: Vec::new() };
    if let Err(why) = &bubblewrap {
        bench.left_out.push(format!("{}: {why}", LaunchMethod::Bubblewrap));
    }
    for script in BenchScript::ALL {
        tick(script);
        let code = script.code();
        let path = folder.path().join("script.py");
        fs_err::write(&path, &code).map_err(comparison(LaunchMethod::Cold))?;
        let mut times: [Vec<f64>; 5] = Default::default();
        let [cold, wrapped, forked, slow, jailed] = &mut times;
        // In turns, so that what else the machine does disturbs all ways alike.
        for round in 0..settings.runs.max(settings.cold_runs) {
            if round < settings.cold_runs {
                cold.push(timed(|| run(LaunchMethod::Cold, plain(python, &path)))?);
                if bubblewrap.is_ok() {
                    let command = wrap(python, folder.path(), &path);
                    wrapped.push(timed(|| run(LaunchMethod::Bubblewrap, command))?);
                }
            }
            if round < settings.runs {
                forked.push(timed(|| forks.run(&code))?);
                slow.push(timed(|| jail(&unprepared, &code))?);
                jailed.push(timed(|| jail(&workspace, &code))?);
            }
        }
        let ways = [
            LaunchMethod::Cold,
            LaunchMethod::Bubblewrap,
            LaunchMethod::Fork,
            LaunchMethod::Unprepared,
            LaunchMethod::Jailed,
        ];
        for (way, mut times) in ways.into_iter().zip(times).filter(|(_, times)| !times.is_empty()) {
            times.sort_by(f64::total_cmp);
            let at = |percent: usize| times[((times.len() - 1) * percent + 50) / 100];
            let (p50, p95) = (at(50), at(95));
            bench.timings.push(Timing { script, way, runs: times.len(), p50, p95 });
        }
        let [one, two] = [1, 2].map(|slots| rate(&sandbox, &code, slots, settings.runs));
        bench.throughputs.push(Throughput { script, one: one?, two: two? });
    }
    Ok(bench)
}

/// Milliseconds that something takes.
fn timed(work: impl FnOnce() -> Result<(), JailBenchError>) -> Result<f64, JailBenchError> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

fn jail(workspace: &Workspace, code: &str) -> Result<(), JailBenchError> {
    let run = workspace.run(code, &RunLimits::default())?;
    if run.outcome.is_finished() {
        return Ok(());
    }
    let why = format!("it {}: {}", run.outcome, run.stderr.text());
    Err(JailBenchError::Comparison { way: LaunchMethod::Jailed, why })
}

/// Runs per second with `slots` runs at a time.
fn rate(sandbox: &Sandbox, code: &str, slots: usize, runs: usize) -> Result<f64, JailBenchError> {
    let workspaces: Vec<Workspace> =
        (0..slots).map(|_| sandbox.empty_workspace()).collect::<Result<_, _>>()?;
    let each = runs.div_ceil(slots);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let work =
            |workspace| scope.spawn(move || (0..each).try_for_each(|_| jail(workspace, code)));
        let threads: Vec<_> = workspaces.iter().map(work).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    Ok((each * slots) as f64 / started.elapsed().as_secs_f64())
}

/// A command that starts with nothing but the environment of scripts.
fn bare(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(environment()).env("HOME", "/tmp");
    command
}

fn plain(python: &PythonEnv, script: &Path) -> Command {
    let mut command = bare(python.interpreter());
    command.arg(script);
    command
}

fn wrap(python: &PythonEnv, folder: &Path, script: &Path) -> Command {
    let mut command = bare("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]);
    command.args(["--proc", "/proc", "--tmpfs", "/tmp", "--ro-bind"]);
    command.args([folder, folder]).arg(python.interpreter()).arg(script);
    command
}

/// Whether bubblewrap is there and works, with an empty script.
fn bubblewrap_stands(python: &PythonEnv, folder: &Path) -> Result<(), String> {
    let script = folder.join("empty.py");
    fs_err::write(&script, "").map_err(|error| error.to_string())?;
    run(LaunchMethod::Bubblewrap, wrap(python, folder, &script)).map_err(|error| match error {
        JailBenchError::Comparison { why, .. } => why,
        other => other.to_string(),
    })
}

/// Runs a command that prints nothing on success.
fn run(way: LaunchMethod, mut command: Command) -> Result<(), JailBenchError> {
    let output = command.stdin(Stdio::null()).output().map_err(comparison(way))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(JailBenchError::Comparison { way, why })
}

fn comparison(way: LaunchMethod) -> impl FnOnce(std::io::Error) -> JailBenchError {
    move |error| JailBenchError::Comparison { way, why: error.to_string() }
}

/// The plain fork server.
struct Forks {
    child: Child,
    scripts: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Forks {
    fn start(python: &PythonEnv, modules: &[String]) -> Result<Self, JailBenchError> {
        let fault = comparison(LaunchMethod::Fork);
        let modules = serde_json::Value::from(modules).to_string();
        let mut child = bare(python.interpreter())
            .args(["-c", FORK, ZYGOTE, &modules])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(fault)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let Some((scripts, answers)) = pipes else {
            let why = "it has no pipes".to_owned();
            return Err(JailBenchError::Comparison { way: LaunchMethod::Fork, why });
        };
        let mut forks = Self { child, scripts, answers: BufReader::new(answers) };
        forks.expect("ready")?;
        Ok(forks)
    }

    fn run(&mut self, code: &str) -> Result<(), JailBenchError> {
        let line = serde_json::Value::from(code);
        writeln!(self.scripts, "{line}").map_err(comparison(LaunchMethod::Fork))?;
        self.expect("0")
    }

    fn expect(&mut self, wanted: &str) -> Result<(), JailBenchError> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(comparison(LaunchMethod::Fork))?;
        if line.trim_end() == wanted {
            return Ok(());
        }
        let why = format!("`{}` instead of `{wanted}`", line.trim_end());
        Err(JailBenchError::Comparison { way: LaunchMethod::Fork, why })
    }
}

impl Drop for Forks {
    fn drop(&mut self) {
        // It may be gone already, which is all that is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Display for BenchResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "script    way          runs     p50 ms     p95 ms")?;
        for Timing { script, way, runs, p50, p95 } in &self.timings {
            writeln!(f, "{:9} {way:10} {runs:>6} {p50:>10.1} {p95:>10.1}", name(*script))?;
        }
        writeln!(f, "\nscript    runs/s, 1 at a time  2 at a time   ratio")?;
        for Throughput { script, one, two } in &self.throughputs {
            writeln!(f, "{:9} {one:>19.1} {two:>12.1} {:>7.2}", name(*script), two / one)?;
        }
        self.left_out.iter().try_for_each(|what| writeln!(f, "\nleft out: {what}"))
    }
}

fn name(script: BenchScript) -> &'static str {
    match script {
        BenchScript::NoOp => "no-op",
        BenchScript::Logistic => "logistic",
        BenchScript::Forest => "forest",
    }
}
