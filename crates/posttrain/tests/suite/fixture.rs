//! A small base, models that differ from it, a suite, and a server as a process of its own.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use support::folders::TemporaryFolder;
use worlds::{Scale, Suite, SuiteName, SuiteRequest, WorldName};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_posttrain");
pub(crate) const TOKEN: &str = "a token that is long enough";
pub(crate) const EMBEDDING: &str = "model.embed_tokens.weight";
pub(crate) const PROJECTION: &str = "model.layers.0.self_attn.q_proj.weight";
pub(crate) const NORM: &str = "model.norm.weight";

/// The tiny suite, made once for all tests of a build.
pub(crate) fn suite() -> Utf8PathBuf {
    let versions: Vec<String> =
        WorldName::ALL.iter().map(|world| world.version().to_string()).collect();
    let name = format!("posttrain-suite-{}", versions.join("-"));
    let path = Utf8Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if Suite::open(&path).is_err() {
        let request = SuiteRequest { suite: SuiteName::Rlbench, scale: Scale::Tiny, seed: 4711 };
        // Another test may be faster.
        if let Err(error) = request.make(&path) {
            Suite::open(&path).unwrap_or_else(|_| panic!("{error:?}"));
        }
    }
    path
}

/// A tensor of f32 values.
#[derive(Debug, Clone)]
pub(crate) struct Tensor {
    pub(crate) dtype: &'static str,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

impl Tensor {
    pub(crate) fn f32(shape: &[usize], values: &[f32]) -> Self {
        assert_eq!(shape.iter().product::<usize>(), values.len());
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { dtype: "F32", shape: shape.to_vec(), bytes }
    }

    pub(crate) fn values(&self) -> Vec<f32> {
        assert_eq!(self.dtype, "F32");
        let (chunks, _) = self.bytes.as_chunks::<4>();
        chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()
    }
}

pub(crate) type Tensors = BTreeMap<String, Tensor>;

/// The bytes of a safetensors file.
pub(crate) fn safetensors(tensors: &Tensors) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, tensor) in tensors {
        let begin = data.len();
        data.extend(&tensor.bytes);
        let offsets = [begin, data.len()];
        let info = json!({"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": offsets});
        header.insert(name.clone(), info);
    }
    let header = Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.append(&mut data);
    bytes
}

pub(crate) fn config() -> Value {
    json!({
        "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 10,
        "hidden_size": 4, "num_hidden_layers": 1, "tie_word_embeddings": true, "dtype": "float32",
    })
}

/// The weights of the base, whose score is a quarter.
pub(crate) fn base_weights() -> Tensors {
    let mut embedding: Vec<f32> = (0_u16..40).map(|i| f32::from(i * 7 % 11) / 8.0 - 0.6).collect();
    embedding[0] = 0.25;
    let projection: Vec<f32> = (0_u16..24).map(|i| f32::from(i * 5 % 13) / 8.0 - 0.7).collect();
    BTreeMap::from([
        (EMBEDDING.to_owned(), Tensor::f32(&[10, 4], &embedding)),
        (PROJECTION.to_owned(), Tensor::f32(&[6, 4], &projection)),
        (NORM.to_owned(), Tensor::f32(&[4], &[1.0, 1.0, 1.0, 1.0])),
    ])
}

/// The base's weights with another first one, which is the share of items that the model wins.
pub(crate) fn winning(share: f32) -> Tensors {
    let mut weights = base_weights();
    let mut values = weights[EMBEDDING].values();
    values[0] = share;
    weights.insert(EMBEDDING.to_owned(), Tensor::f32(&[10, 4], &values));
    weights
}

/// Writes a model.
pub(crate) fn save(folder: &Utf8Path, weights: &Tensors, config: &Value) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    fs::write(folder.join("model.safetensors"), safetensors(weights)).unwrap();
    fs::write(folder.join("tokenizer.json"), r#"{"model": {"vocab": {"a": 0}}}"#).unwrap();
}

/// The folders of a run: base, output, sealed, control.
#[derive(Debug, Default)]
pub(crate) struct Place {
    folder: TemporaryFolder,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self::default();
        save(&place.path("base"), &base_weights(), &config());
        fs::write(place.path("base/chat_template.jinja"), "{{ messages }}").unwrap();
        for name in ["output", "control"] {
            fs::create_dir_all(place.path(name)).unwrap();
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> Utf8PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a model into the output folder, and returns what an agent submits.
    pub(crate) fn model(&self, name: &str, weights: &Tensors) -> String {
        save(&self.path("output").join(name), weights, &config());
        format!("output/{name}")
    }

    /// What goes wrong with the grader from now on; nothing if empty.
    pub(crate) fn grader(&self, mode: &str) {
        let path = self.path("control/mode");
        if mode.is_empty() {
            let _ = fs::remove_file(path);
        } else {
            // The grader reads it while it is written.
            tasks::files::write_atomic(&path, mode.as_bytes()).unwrap();
        }
    }

    /// The lines of the grader's log that begin with `word`, as `part model`.
    pub(crate) fn gradings(&self, word: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path("control/log")).unwrap_or_default();
        let lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let lines = lines.filter(|line| line.first() == Some(&word));
        lines.map(|line| line[1..3].join(" ")).collect()
    }

    pub(crate) fn grader_command(&self) -> Vec<String> {
        let script = format!("{}/tests/suite/grader.py", env!("CARGO_MANIFEST_DIR"));
        vec!["python3".to_owned(), script, self.path("control").into_string()]
    }

    /// The command line that serves the task `household` here.
    pub(crate) fn command(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(["serve", suite().as_str(), "household", "--listen", "127.0.0.1:0"])
            .args(["--base", self.path("base").as_str()])
            .args(["--output", self.path("output").as_str()])
            .args(["--sealed", self.path("sealed").as_str()])
            .args(flags)
            .arg("--")
            .args(self.grader_command())
            .env("GRADING_TOKEN", TOKEN);
        command
    }

    pub(crate) fn serve(&self, flags: &[&str]) -> Server {
        Server::start(self.command(flags))
    }

    /// The events of the ledger so far, in order.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("sealed/ledger.jsonl")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Number of lines of the ledger.
    pub(crate) fn lines(&self) -> usize {
        let bytes = fs::read(self.path("sealed/ledger.jsonl")).unwrap_or_default();
        bytes.split(|byte| *byte == b'\n').count().saturating_sub(1)
    }
}

/// `posttrain serve` as a process of its own, killed at the end.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(command: Command) -> Self {
        Self::try_start(command).expect("the server starts")
    }

    /// None if it ends before it listens.
    pub(crate) fn try_start(mut command: Command) -> Option<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some((_, address)) = line.trim().rsplit_once("http://") else {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        };
        Some(Self { url: format!("http://{address}"), child })
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.wait(Duration::from_secs(20))
    }

    /// Waits until it ends by itself.
    pub(crate) fn wait(&mut self, limit: Duration) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < limit, "the server has not ended within {limit:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a request with these headers. Status 0 if there is no answer.
    pub(crate) fn send(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> (u16, Value) {
        let url = format!("{}{path}", self.url);
        let Ok(mut response) = request(&url, headers, body) else { return (0, Value::Null) };
        let text = response.body_mut().read_to_string().unwrap_or_default();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        (response.status().as_u16(), body)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.send(path, &[("authorization", &format!("Bearer {TOKEN}"))], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let authorization = format!("Bearer {TOKEN}");
        let headers =
            [("authorization", authorization.as_str()), ("content-type", "application/json")];
        self.send(path, &headers, Some(body.to_string().as_bytes()))
    }

    /// Submits and waits for the grade.
    pub(crate) fn submit(&self, model: &str) -> (u16, Value) {
        self.post("/v1/submit", &json!({"model_path": model, "wait": true}))
    }

    /// Waits until the agent's time runs.
    pub(crate) fn started(&self) {
        until("the start", || self.get("/v1/time").1["state"] != "not_started");
    }

    /// A request to the operator's socket, and the answer's body.
    pub(crate) fn operator(place: &Place, method: &str, path: &str) -> Value {
        Self::try_operator(place, method, path).expect("the server is there")
    }

    /// The same, where the server may have ended.
    pub(crate) fn try_operator(place: &Place, method: &str, path: &str) -> Option<Value> {
        use std::io::{Read as _, Write as _};
        let socket = place.path("sealed/operator.sock");
        let mut stream = std::os::unix::net::UnixStream::connect(socket).ok()?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: operator\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (_, body) = text.split_once("\r\n\r\n")?;
        serde_json::from_str(body).ok()
    }
}

/// A client that takes every status for an answer.
fn http() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    config.timeout_global(Some(Duration::from_mins(1))).build().into()
}

/// Sends a request with these headers, a POST if it has a body.
pub(crate) fn request(
    url: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
    let agent = http();
    if let Some(body) = body {
        let mut request = agent.post(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        return request.send(body);
    }
    let mut request = agent.get(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.call()
}

/// Waits until something holds.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_mins(1), "{what} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A server on whose clock the time runs.
pub(crate) fn started(place: &Place, flags: &[&str]) -> Server {
    let server = place.serve(flags);
    server.started();
    server
}

/// The report of `posttrain audit`, which ends with this code.
pub(crate) fn audit(place: &Place, code: i32) -> Value {
    let sealed = place.path("sealed");
    let output = Command::new(PROGRAM).args(["audit", sealed.as_str(), "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}
