//! A corpus of two tasks with a secret beside each public folder, and a sandbox on it.

use camino::Utf8Path;
use fs_err as fs;
use jail::exec::{Run, Sandbox, SandboxOptions, Workspace};
use jail::isolation::IsolationLevel;
use jail::limits::RunLimits;
use jail::python::PythonEnv;
use std::fs::Permissions;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use support::manifest::manifest;
use tasks::task::{PublicDir, TaskDir, TaskId};
use tasks::units::Span;

/// What no script may ever read.
pub(crate) const CANARY: &str = "canary-5f1c7b";

/// Two tasks in a folder of their own.
pub(crate) struct SuiteCorpus {
    folder: tempfile::TempDir,
}

impl SuiteCorpus {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Without a box, scripts reach their data by its own path.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let corpus = Self { folder };
        for task in ["alpha", "beta"] {
            let root = corpus.path().join(task);
            let (public, private) = (root.join("prepared/public"), root.join("prepared/private"));
            fs::create_dir_all(&public).unwrap();
            fs::create_dir_all(&private).unwrap();
            fs::write(public.join("train.csv"), "id,x,y\n1,0.5,1\n2,0.1,0\n").unwrap();
            fs::write(public.join("test.csv"), format!("id,x\n3,0.4\n{task},0\n")).unwrap();
            fs::write(private.join("answer.csv"), format!("id,y\n3,1\n{task},0\n")).unwrap();
            fs::write(private.join("notes.txt"), CANARY).unwrap();
            fs::write(root.join("task.json"), manifest(task, 2, [0.9, 0.8, 0.7, 0.6])).unwrap();
        }
        corpus
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        Utf8Path::from_path(self.folder.path()).unwrap()
    }

    pub(crate) fn tasks(&self) -> Vec<(TaskId, PublicDir)> {
        let open = |name: &str| TaskDir::open(&self.path().join(name)).unwrap();
        ["alpha", "beta"].map(open).map(|task| (task.id().clone(), task.public())).to_vec()
    }
}

pub(crate) fn quick() -> SandboxOptions {
    SandboxOptions {
        slots: 4,
        warm_up: false,
        modules: vec!["numpy".to_owned()],
        ..SandboxOptions::default()
    }
}

/// A corpus and a sandbox that knows it.
pub(crate) struct SandboxFixture {
    pub(crate) corpus: SuiteCorpus,
    pub(crate) sandbox: Sandbox,
    /// How many processes stand ready between runs.
    pub(crate) spares: usize,
    listeners: Listeners,
}

/// Services of the host that no script may reach.
struct Listeners {
    tcp: TcpListener,
    path: UnixListener,
    /// The name of one without a path.
    name: String,
    named: UnixListener,
}

impl Listeners {
    fn beside(corpus: &SuiteCorpus) -> Self {
        let path = UnixListener::bind(corpus.path().join("listener")).unwrap();
        let name = corpus.path().file_name().unwrap().to_owned();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let (tcp, named) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind_addr(&address).unwrap());
        tcp.set_nonblocking(true).unwrap();
        path.set_nonblocking(true).unwrap();
        named.set_nonblocking(true).unwrap();
        Self { tcp, path, name, named }
    }
}

impl SandboxFixture {
    /// A warmed sandbox, for scripts that use the libraries.
    pub(crate) fn warm() -> Self {
        Self::with(SandboxOptions { slots: 4, ..SandboxOptions::default() })
    }

    /// One that only imports: starts faster, and the jail is the same.
    pub(crate) fn quick() -> Self {
        Self::with(quick())
    }

    pub(crate) fn with(options: SandboxOptions) -> Self {
        let corpus = SuiteCorpus::new();
        let python = PythonEnv::locate().unwrap();
        let spares = options.spares;
        let sandbox = Sandbox::start(&python, options, &corpus.tasks()).unwrap();
        let spares = if sandbox.tier() == IsolationLevel::T3 { 0 } else { spares };
        let listeners = Listeners::beside(&corpus);
        Self { corpus, sandbox, spares, listeners }
    }

    /// A program with what it is to look for: the corpus, the secret (backwards, so that it finds
    /// not only itself), the listeners, the supervisor and the tier.
    pub(crate) fn fill_in(&self, code: &str) -> String {
        code.replace("@CORPUS@", self.corpus.path().as_str())
            .replace("@CANARY@", &CANARY.chars().rev().collect::<String>())
            .replace("@PORT@", &self.listeners.tcp.local_addr().unwrap().port().to_string())
            .replace("@LISTENER@", &self.listeners.name)
            .replace("@SUPERVISOR@", &std::process::id().to_string())
            .replace("@TIER@", self.sandbox.tier().name())
    }

    /// How many listeners somebody has come to.
    pub(crate) fn visitors(&self) -> usize {
        let Listeners { tcp, path, named, .. } = &self.listeners;
        [tcp.accept().is_ok(), path.accept().is_ok(), named.accept().is_ok()]
            .into_iter()
            .filter(|came| *came)
            .count()
    }

    pub(crate) fn workspace(&self) -> Workspace {
        self.sandbox.workspace(&TaskId::new("alpha").unwrap()).unwrap()
    }

    /// Runs a script in a work dir of its own.
    pub(crate) fn run(&self, code: &str) -> Run {
        self.workspace().run(code, &policy()).unwrap()
    }
}

/// What a sandbox of another user needs to reach: this program, the programs of the suite, and
/// Python with its libraries.
pub(crate) fn reachable_paths() -> &'static [PathBuf] {
    static PATHS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    PATHS.get_or_init(|| {
        let python = PythonEnv::locate().unwrap();
        let answer = std::process::Command::new(python.interpreter())
            .args(["-c", "import sys\nprint(sys.prefix)\nprint(sys.base_prefix)"])
            .output()
            .unwrap();
        let prefixes = String::from_utf8(answer.stdout).unwrap();
        let program = std::env::current_exe().unwrap();
        // The library and the program `sandbox` lie one folder up.
        let built = program.parent().and_then(Path::parent).unwrap().to_owned();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).to_owned();
        let mut paths: Vec<PathBuf> = prefixes.lines().map(PathBuf::from).collect();
        paths.extend([built, source]);
        paths
    })
}

/// Tight enough for a test, wide enough for a loaded machine.
pub(crate) fn policy() -> RunLimits {
    RunLimits { time_limit: Span::seconds(30), ..RunLimits::default() }
}

pub(crate) fn within(time: Duration) -> RunLimits {
    RunLimits { time_limit: Span(time), ..RunLimits::default() }
}

/// A script written inside a test: without the indentation of its first line.
pub(crate) fn script(text: &str) -> String {
    let text = text.trim_start_matches('\n').trim_end();
    let margin = text.len() - text.trim_start().len();
    let lines = text.lines().map(|line| line.get(margin..).unwrap_or(""));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Whether the calling test, `name`, has a process of its own. If not, it has been run in one by
/// the time of the answer, and must have passed there: what a process holds open can be counted
/// only where no other test holds anything.
pub(crate) fn is_alone(name: &str) -> bool {
    const ALONE: &str = "MLE_SUITE_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let answer = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&answer.stdout);
    assert!(
        answer.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&answer.stderr)
    );
    false
}

/// Fails with everything the script said unless it finished.
pub(crate) fn assert_finished(name: &str, run: &Run) {
    assert!(
        run.outcome.is_finished(),
        "{name}: {}\n{}\n{}",
        run.outcome,
        run.stdout.text(),
        run.stderr.text()
    );
}
