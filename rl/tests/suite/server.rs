//! `rl serve` in a process of its own, with policies that are made in a moment.

use camino::{Utf8Path, Utf8PathBuf};
use rl::model::{Qwen3, Qwen3Config, save_folder, write_safetensors};
use rl::text::template::ChatTemplate;
use rl::text::tokenizer::{Pieces, Tokenizer};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tasks::stream::Stream;
use tch::{Device, Kind, Tensor, no_grad};

/// What the scripted model says, whatever it is asked. No token occurs twice.
pub(crate) const SCRIPT: &str = "<think>ü?</think>Now: 7€.<tool_call>\n{\"name\": \"score\", \"arguments\": {\"b\": 1, \"a\": []}}\n</tool_call>";

fn tokenizer() -> Tokenizer {
    let texts: Vec<String> = (0..20)
        .map(|i| format!("user\nassistant\nprint({i})\n{{\"name\": \"score\", \"arguments\": {{\"b\": 1, \"a\": []}}}}\n"))
        .collect();
    Tokenizer::train(&texts, 400, Pieces::Lines).unwrap()
}

fn config(tokenizer: &Tokenizer) -> Qwen3Config {
    let control = tokenizer.control();
    let size = tokenizer.vocab_size().try_into().unwrap();
    Qwen3Config {
        hidden_size: 32,
        intermediate_size: 48,
        num_hidden_layers: 2,
        head_dim: 8,
        initializer_range: 0.3,
        max_position_embeddings: 20_000,
        ..Qwen3Config::tiny(size, control.end_of_turn, control.end_of_text)
    }
}

/// A policy with random weights.
pub(crate) fn random(folder: &Utf8Path) -> Utf8PathBuf {
    random_with(folder, &tokenizer())
}

/// A policy with random weights and a tokenizer.
pub(crate) fn random_with(folder: &Utf8Path, tokenizer: &Tokenizer) -> Utf8PathBuf {
    let model = Qwen3::random(&config(tokenizer), Kind::Float, Device::Cpu, Stream::root(11));
    save_folder(&model, folder).unwrap();
    tokenizer.save(folder).unwrap();
    folder.to_owned()
}

/// A policy that says [`SCRIPT`].
pub(crate) fn scripted(folder: &Utf8Path) -> Utf8PathBuf {
    scripted_to_say(folder, SCRIPT)
}

/// A policy that says one thing and hardly ever another.
pub(crate) fn scripted_to_say(folder: &Utf8Path, script: &str) -> Utf8PathBuf {
    scripted_with(folder, &tokenizer(), script, 200.0)
}

/// A policy that says one thing, in which no token occurs twice: each alone decides which one
/// follows. Its logit is `certainty`, that of all others is 0.
pub(crate) fn scripted_with(
    folder: &Utf8Path,
    tokenizer: &Tokenizer,
    script: &str,
    certainty: f64,
) -> Utf8PathBuf {
    let size: i64 = tokenizer.vocab_size().try_into().unwrap();
    let config = Qwen3Config {
        hidden_size: size,
        num_hidden_layers: 1,
        tie_word_embeddings: false,
        ..config(tokenizer)
    };
    let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(0));
    save_folder(&model, folder).unwrap();
    tokenizer.save(folder).unwrap();

    let template = ChatTemplate::new(tokenizer).unwrap();
    let last = *template.prompt("", "x").unwrap().last().unwrap();
    let mut ids = vec![last];
    ids.extend(template.answer(script).unwrap());
    let mut seen = ids.clone();
    seen.sort_unstable();
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "a token occurs twice: {ids:?}");
    let mut weights = model.published();
    no_grad(|| {
        for (name, tensor) in &mut weights {
            if name.contains("proj") {
                let _ = tensor.zero_();
            }
        }
        let options = (Kind::Float, Device::Cpu);
        weights.insert("model.embed_tokens.weight".into(), Tensor::eye(size, options));
        let follows = Tensor::zeros([size, size], options);
        // What the norm makes of a vector with a single one.
        let height = f64::sqrt(size as f64);
        for pair in ids.windows(2) {
            let _ = follows.get(pair[1]).narrow(0, pair[0], 1).fill_(certainty / height);
        }
        weights.insert("lm_head.weight".into(), follows);
    });
    write_safetensors(&folder.join("model.safetensors"), &weights).unwrap();
    folder.to_owned()
}

/// `rl serve`, killed at the end.
pub(crate) struct ServeProcess {
    child: Child,
    pub(crate) address: String,
}

impl ServeProcess {
    pub(crate) fn start(folder: &Utf8Path, flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rl"))
            .args(["serve", "--model", folder.as_str(), "--served-model-name", "tiny"])
            .args(["--port", "0", "--device", "cpu"])
            .args(flags)
            // Already set, so that the program need not start itself anew.
            .env("OMP_WAIT_POLICY", "passive")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap().to_owned();
        Self { child, address }
    }

    /// Sends a request and leaves the connection open.
    pub(crate) fn open(&self, head: &str, body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let length = body.len();
        write!(
            stream,
            "{head}\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        BufReader::new(stream)
    }

    /// Status, headers and body of a response.
    pub(crate) fn ask(&self, head: &str, body: &str) -> (u16, String, String) {
        let mut answer = String::new();
        self.open(head, body).read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_lowercase(), body.to_owned())
    }

    pub(crate) fn post(&self, path: &str, request: &Value) -> (u16, Value) {
        self.post_to(&format!("/v1/{path}"), request)
    }

    /// As [`Self::post`], to any route.
    pub(crate) fn post_to(&self, route: &str, request: &Value) -> (u16, Value) {
        let (status, _, body) = self.ask(&format!("POST {route} HTTP/1.1"), &request.to_string());
        (status, serde_json::from_str(&body).unwrap())
    }

    /// The answer to a good request.
    pub(crate) fn good(&self, path: &str, request: &Value) -> Value {
        let (status, answer) = self.post(path, request);
        assert_eq!(status, 200, "{request}: {answer}");
        answer
    }

    /// The chunks of a streamed answer, the last of which says that it is the last.
    pub(crate) fn streamed(&self, path: &str, request: &Value) -> Vec<Value> {
        let mut request = request.clone();
        request["stream"] = true.into();
        let (status, head, body) =
            self.ask(&format!("POST /v1/{path} HTTP/1.1"), &request.to_string());
        assert_eq!(status, 200, "{body}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        let mut events: Vec<&str> =
            body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        assert_eq!(events.pop(), Some("[DONE]"));
        events.into_iter().map(|event| serde_json::from_str(event).unwrap()).collect()
    }

    /// Asks until there is a place, and says how long that took.
    pub(crate) fn until_free(&self, request: &Value) -> Duration {
        let began = Instant::now();
        while self.post("completions", request).0 == 429 {
            assert!(began.elapsed() < Duration::from_secs(30), "no place has become free");
            std::thread::sleep(Duration::from_millis(5));
        }
        began.elapsed()
    }

    pub(crate) fn signal(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
    }

    /// The exit code, once it has ended.
    pub(crate) fn end(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
