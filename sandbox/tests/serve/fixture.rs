//! A corpus of small tasks, a server on it, and clients in Python.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use sandbox::env::EpisodeRecord;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::manifest::manifest;
use tempfile::TempDir;

const TASKS: [&str; 3] = ["alpha", "beta", "gamma"];
const ROWS: usize = 40;

/// Three tasks; the class of a row is whether its number is odd.
pub(crate) struct ServedCorpus(TempDir);

impl ServedCorpus {
    pub(crate) fn new() -> Self {
        let corpus = Self(tempfile::tempdir().unwrap());
        for task in TASKS {
            let root = corpus.path().join("tasks").join(task);
            let (public, private) = (root.join("prepared/public"), root.join("prepared/private"));
            fs::create_dir_all(&public).unwrap();
            fs::create_dir_all(&private).unwrap();
            let table = |column: &str, value: fn(usize) -> usize| {
                let mut text = format!("id,{column}\n");
                for row in 0..ROWS {
                    let _ = writeln!(text, "r{row},{}", value(row));
                }
                text
            };
            fs::write(public.join("description.md"), format!("# {task}\nodd or even?\n")).unwrap();
            fs::write(public.join("test.csv"), table("x", |row| row)).unwrap();
            fs::write(public.join("sample_submission.csv"), table("y", |_| 0)).unwrap();
            fs::write(private.join("answer.csv"), table("y", |row| row % 2)).unwrap();
            fs::write(root.join("task.json"), manifest(task, ROWS, [0.95, 0.9, 0.8, 0.4])).unwrap();
        }
        corpus
    }

    /// Makes a task one of those that are held out.
    pub(crate) fn hold_out(&self, task: &str) {
        let path = self.tasks().join(task).join("task.json");
        let mut manifest: Value =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        manifest["split"] = "val".into();
        fs::write(path, manifest.to_string()).unwrap();
    }

    /// Adds the task `numbers`, with such answers, the better the smaller the mean absolute error.
    pub(crate) fn add_numbers(&self, answers: &[u64], thresholds: [f64; 4]) {
        let root = self.path().join("tasks/numbers");
        let (public, private) = (root.join("prepared/public"), root.join("prepared/private"));
        fs::create_dir_all(&public).unwrap();
        fs::create_dir_all(&private).unwrap();
        let (mut shown, mut hidden) = ("id\n".to_owned(), "id,y\n".to_owned());
        for (row, answer) in answers.iter().enumerate() {
            let _ = writeln!(shown, "r{row}");
            let _ = writeln!(hidden, "r{row},{answer}");
        }
        fs::write(public.join("description.md"), "# numbers\nhow much?\n").unwrap();
        fs::write(public.join("test.csv"), shown).unwrap();
        fs::write(private.join("answer.csv"), hidden).unwrap();
        let text = manifest("numbers", answers.len(), thresholds);
        let mut manifest: Value = serde_json::from_str(&text).unwrap();
        manifest["metric"] = "mae".into();
        manifest["formulation"] = "regression".into();
        manifest["prediction"]["kind"] = "number".into();
        fs::write(root.join("task.json"), manifest.to_string()).unwrap();
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        Utf8Path::from_path(self.0.path()).unwrap()
    }

    pub(crate) fn tasks(&self) -> Utf8PathBuf {
        self.path().join("tasks")
    }

    /// The records of all episodes, by file.
    pub(crate) fn records(&self) -> Vec<(Utf8PathBuf, EpisodeRecord)> {
        let mut found = Vec::new();
        for task in TASKS.into_iter().chain(["numbers"]) {
            let Ok(files) = self.path().join("records").join(task).read_dir_utf8() else {
                continue;
            };
            for file in files {
                let path = file.unwrap().into_path();
                found.push((path.clone(), EpisodeRecord::read(&path).unwrap()));
            }
        }
        found
    }
}

/// `sandbox serve`, killed at the end.
pub(crate) struct SandboxServer {
    child: Child,
    pub(crate) address: String,
}

impl SandboxServer {
    pub(crate) fn start(corpus: &ServedCorpus, flags: &[&str]) -> Self {
        // With far fewer descriptors than thirty episodes take, as from a shell that grants few.
        let few = "ulimit -Sn 128 && exec \"$0\" \"$@\"";
        let mut child = Command::new("sh")
            .args(["-c", few, env!("CARGO_BIN_EXE_sandbox")])
            .args(["serve", corpus.tasks().as_str(), "--listen", "127.0.0.1:0", "--records"])
            .arg(corpus.path().join("records"))
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("http://").unwrap().1.to_owned();
        Self { child, address }
    }

    /// All processes that it has, but itself.
    pub(crate) fn processes(&self) -> usize {
        fn below(pid: u32) -> usize {
            let path = format!("/proc/{pid}/task");
            // A thread's children are its own in this list.
            let tasks = std::fs::read_dir(path).into_iter().flatten().flatten();
            let lists =
                tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
            let children: Vec<u32> = lists
                .flat_map(|list| {
                    list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()
                })
                .collect();
            children.into_iter().map(|child| 1 + below(child)).sum()
        }
        below(self.child.id())
    }

    /// KiB of its largest resident set so far.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// The exit code, once it has ended by itself.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_mins(1);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the server did not end");
    }

    /// The status and the body of a page.
    pub(crate) fn page(&self, path: &str) -> (u16, String) {
        let (status, _, body) = self.ask("GET", path, &[], "");
        (status, body)
    }

    /// The status, the head and the body of the answer to a request.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String, String) {
        use std::io::Write as _;
        let mut stream = std::net::TcpStream::connect(&self.address).unwrap();
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
        for (name, value) in headers {
            let _ = write!(request, "{name}: {value}\r\n");
        }
        let _ = write!(request, "Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), body.to_owned())
    }

    /// The status, the head and the JSON of the answer to a `POST`.
    pub(crate) fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> (u16, String, Value) {
        let (status, head, body) = self.ask("POST", path, headers, &body.to_string());
        (status, head, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    /// The answer to a request of JSON-RPC, in a session or without one.
    pub(crate) fn rpc(&self, session: Option<&str>, method: &str, params: &Value) -> Value {
        let headers: Vec<_> = session.iter().map(|id| ("Mcp-Session-Id", *id)).collect();
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let (status, _, answer) = self.post("/mcp", &headers, &request);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Begins a session as clients of MCP do, with a query such as `?task=alpha`: its id, and what
    /// the server says of itself.
    pub(crate) fn initialize(&self, query: &str) -> (String, Value) {
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}});
        let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let (status, head, answer) = self.post(&format!("/mcp{query}"), &[], &request);
        assert_eq!(status, 200, "{answer}");
        let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        (id.unwrap().to_owned(), answer["result"].clone())
    }

    /// Starts a client of `client.py`.
    pub(crate) fn client(&self, scenario: &str, arguments: &[&str]) -> PythonClient {
        PythonClient::start(&self.address, scenario, arguments)
    }

    /// Runs one to its end and returns what it found.
    pub(crate) fn play(&self, scenario: &str, arguments: &[&str]) -> Value {
        self.client(scenario, arguments).end()
    }
}

impl Drop for SandboxServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Python process that plays a scenario.
pub(crate) struct PythonClient {
    child: Child,
    input: std::process::ChildStdin,
    output: BufReader<std::process::ChildStdout>,
}

impl PythonClient {
    pub(crate) fn start(address: &str, scenario: &str, arguments: &[&str]) -> Self {
        let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/client.py");
        Self::program(&[&[client, address, scenario], arguments].concat())
    }

    /// A Python program with arguments.
    pub(crate) fn program(words: &[&str]) -> Self {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let python = std::env::var("MLE_PYTHON").unwrap_or(format!("{root}/.venv/bin/python"));
        Self::run(&python, words)
    }

    /// The same with another interpreter.
    pub(crate) fn run(python: &str, words: &[&str]) -> Self {
        let mut child = Command::new(python)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    /// Lets a client go on that waits for that.
    pub(crate) fn go_on(&mut self) {
        use std::io::Write as _;
        self.input.write_all(b"\n").unwrap();
    }

    /// Waits for the word that a client says when it has got to some point.
    pub(crate) fn wait_for(&mut self, word: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), word);
    }

    /// The JSON that it prints last.
    pub(crate) fn end(self) -> Value {
        serde_json::from_str(self.text().lines().last().unwrap()).unwrap()
    }

    /// All that it prints from here on.
    pub(crate) fn text(mut self) -> String {
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        assert!(
            status.success(),
            "the client failed; `make venv-test` installs what it needs\n{text}"
        );
        text
    }
}

/// A request that asks for nothing but an answer.
pub(crate) fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})
}

pub(crate) fn sandbox(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sandbox")).args(arguments).output().unwrap()
}
