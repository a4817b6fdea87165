//! A server of the Tinker protocol that computes nothing: log-probabilities depend on the token
//! alone, and samples are scripted. It keeps what it was asked.

use prost::Message;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use support::provider::{FakeProvider, Piece, SeenRequest, answer};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Pass {
    #[prost(string, tag = "1")]
    pub(crate) model_id: String,
    #[prost(int32, tag = "2")]
    pub(crate) seq_id: i32,
    #[prost(message, repeated, tag = "3")]
    pub(crate) data: Vec<Datum>,
    #[prost(string, tag = "4")]
    pub(crate) loss_fn: String,
    #[prost(btree_map = "string, double", tag = "5")]
    pub(crate) loss_fn_config: BTreeMap<String, f64>,
    #[prost(bool, tag = "6")]
    pub(crate) forward_only: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Datum {
    #[prost(btree_map = "string, message", tag = "2")]
    inputs: BTreeMap<String, Tensor>,
}

#[derive(Clone, PartialEq, Message)]
struct Tensor {
    #[prost(bytes = "vec", tag = "1")]
    dense: Vec<u8>,
}

impl Datum {
    pub(crate) fn floats(&self, name: &str) -> Vec<f32> {
        let bytes = self.inputs.get(name).map_or(&[][..], |tensor| &tensor.dense);
        bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    fn targets(&self) -> Vec<i64> {
        let words = self.inputs["target_tokens"].dense.chunks_exact(8);
        words.map(|word| i64::from_le_bytes(word.try_into().unwrap())).collect()
    }
}

#[derive(Clone, PartialEq, Message)]
struct Passed {
    #[prost(message, repeated, tag = "2")]
    records: Vec<Record>,
    #[prost(btree_map = "string, double", tag = "3")]
    metrics: BTreeMap<String, f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Record {
    #[prost(btree_map = "string, message", tag = "2")]
    fields: BTreeMap<String, Batched>,
    #[prost(int64, tag = "3")]
    num_datums: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Batched {
    #[prost(bytes = "vec", tag = "1")]
    data: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    offsets: Vec<u8>,
    #[prost(int32, tag = "3")]
    dtype: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Samples {
    #[prost(message, repeated, tag = "1")]
    sequences: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(int32, tag = "1")]
    stop_reason: i32,
    #[prost(bytes = "vec", tag = "2")]
    tokens: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "3")]
    logprobs: Option<Vec<u8>>,
}

/// The log-probability of a token, wherever it stands.
pub(crate) fn log_prob(token: i64) -> f32 {
    -0.5 - (token % 7) as f32 * 0.1
}

/// A server, and what it was asked.
pub(crate) struct Double {
    provider: FakeProvider,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Whether it tells losses as a server does that averages over sequences.
    averages: bool,
    results: Vec<Vec<u8>>,
    faults: VecDeque<(&'static str, Vec<Piece>)>,
    passes: Vec<Pass>,
    posts: Vec<(String, Value)>,
    /// The tokens of each sample, and whether it was stopped.
    samples: VecDeque<(Vec<i32>, bool)>,
    norm: Option<f64>,
}

impl Double {
    pub(crate) fn start(averages: bool) -> Self {
        let state = State { averages, norm: Some(0.5), ..State::default() };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let provider =
            FakeProvider::start(move |_, request| shared.lock().unwrap().respond(request));
        Self { provider, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.provider.address)
    }

    /// The next request to `path` is treated like this instead.
    pub(crate) fn fail(&self, path: &'static str, pieces: Vec<Piece>) {
        self.state.lock().unwrap().faults.push_back((path, pieces));
    }

    /// The next sample.
    pub(crate) fn say(&self, tokens: &[i32], stopped: bool) {
        self.state.lock().unwrap().samples.push_back((tokens.to_vec(), stopped));
    }

    /// The gradient's norm of steps from now on.
    pub(crate) fn set_norm(&self, norm: Option<f64>) {
        self.state.lock().unwrap().norm = norm;
    }

    pub(crate) fn passes(&self) -> Vec<Pass> {
        self.state.lock().unwrap().passes.clone()
    }

    /// The bodies of requests to `path`.
    pub(crate) fn posts(&self, path: &str) -> Vec<Value> {
        let posts = &self.state.lock().unwrap().posts;
        posts.iter().filter(|(to, _)| to == path).map(|(_, body)| body.clone()).collect()
    }

    /// Whether there was a request to `path`, one that was not answered included.
    pub(crate) fn has_seen(&self, path: &str) -> bool {
        let seen = self.provider.seen();
        let mut lines = seen.iter().filter_map(|request| request.head.lines().next());
        lines.any(|line| line.contains(path))
    }

    /// Whether something was deleted whose path ends like this.
    pub(crate) fn has_deleted(&self, name: &str) -> bool {
        let seen = self.provider.seen();
        let lines = seen.iter().filter_map(|request| request.head.lines().next());
        lines.filter(|line| line.starts_with("delete ")).any(|line| line.contains(name))
    }
}

impl State {
    fn respond(&mut self, request: &SeenRequest) -> Vec<Piece> {
        let line = request.head.lines().next().unwrap_or_default();
        let path = line.split(' ').nth(1).unwrap_or_default().trim_start_matches("/api/v1/");
        if let Some(index) = self.faults.iter().position(|(at, _)| *at == path) {
            return self.faults.remove(index).unwrap().1;
        }
        let body: Value = serde_json::from_slice(&request.bytes).unwrap_or_default();
        self.posts.push((path.to_owned(), body.clone()));
        let promised = |number: usize| json!({"request_id": number.to_string()});
        let text = match path {
            "create_session" => json!({"session_id": "session-1"}),
            "session_heartbeat" | "unload_model" => json!({}),
            "get_server_capabilities" => json!({"supported_models": [{"model_name": "base"}]}),
            "create_model" => {
                let number = self.promise(json!({"model_id": "model-1"}).to_string());
                json!({"model_id": "model-1", "request_id": number.to_string()})
            }
            "retrieve_future" => {
                let number: usize = body["request_id"].as_str().unwrap().parse().unwrap();
                return vec![Piece::Bytes(found(&self.results[number]))];
            }
            "forward_backward" => {
                let pass = Pass::decode(request.bytes.as_slice()).unwrap();
                let result = self.passed(&pass);
                self.passes.push(pass);
                self.results.push(result);
                promised(self.results.len() - 1)
            }
            "optim_step" => {
                let metrics = json!({"skyrl.ai/grad_norm": self.norm});
                promised(self.promise(json!({"metrics": metrics}).to_string()))
            }
            "save_weights" => {
                let path = format!("tinker://model-1/weights/{}", body["path"].as_str().unwrap());
                promised(self.promise(json!({"path": path, "type": path}).to_string()))
            }
            "save_weights_for_sampler" => {
                let result = if let Some(name) = body["path"].as_str() {
                    json!({"path": format!("tinker://model-1/{name}")})
                } else {
                    let name = format!("sampling-{}", body["seq_id"]);
                    json!({"path": null, "sampling_session_id": name})
                };
                promised(self.promise(result.to_string()))
            }
            "load_weights" => promised(self.promise(json!({"type": "load_weights"}).to_string())),
            "asample" => {
                let (tokens, stopped) = self.samples.pop_front().expect("a scripted sample");
                let log_probs = tokens.iter().map(|&token| log_prob(token.into()));
                let sample = Sample {
                    stop_reason: i32::from(!stopped),
                    tokens: tokens.iter().flat_map(|token| token.to_le_bytes()).collect(),
                    logprobs: Some(log_probs.flat_map(f32::to_le_bytes).collect()),
                };
                self.results.push(Samples { sequences: vec![sample] }.encode_to_vec());
                promised(self.results.len() - 1)
            }
            _ if line.starts_with("delete ") => json!({}),
            other => panic!("nobody should ask for `{other}`"),
        };
        vec![Piece::Bytes(answer(200, &[], &text.to_string()))]
    }

    fn promise(&mut self, result: String) -> usize {
        self.results.push(result.into_bytes());
        self.results.len() - 1
    }

    fn passed(&self, pass: &Pass) -> Vec<u8> {
        let config =
            |name: &str, default| pass.loss_fn_config.get(name).copied().unwrap_or(default);
        let (low, high) =
            (config("clip_low_threshold", 0.0), config("clip_high_threshold", f64::INFINITY));
        let (mut log_probs, mut losses) = (Vec::new(), Vec::new());
        for datum in &pass.data {
            let (weights, old) = (datum.floats("weights"), datum.floats("logprobs"));
            let advantages = datum.floats("advantages");
            let new: Vec<f32> = datum.targets().into_iter().map(log_prob).collect();
            let loss = |(place, &new): (usize, &f32)| {
                if pass.loss_fn == "cross_entropy" {
                    return -new * weights[place];
                }
                let ratio = f64::from(new - old[place]).exp();
                let advantage = f64::from(advantages[place]);
                let gain = (ratio * advantage).min(ratio.clamp(low, high) * advantage);
                -(gain * f64::from(weights[place])) as f32
            };
            losses.push(new.iter().enumerate().map(loss).collect::<Vec<f32>>());
            log_probs.push(new);
        }
        let mut record = Record { fields: BTreeMap::new(), num_datums: pass.data.len() as i64 };
        record.fields.insert("logprobs".to_owned(), batched(&log_probs));
        let total = losses.iter().flatten().map(|&loss| f64::from(loss)).sum();
        let mut metrics = BTreeMap::new();
        if self.averages {
            record.fields.insert("elementwise_loss".to_owned(), batched(&losses));
        } else {
            metrics.insert("total_loss:sum".to_owned(), total);
        }
        Passed { records: vec![record], metrics }.encode_to_vec()
    }
}

fn batched(vectors: &[Vec<f32>]) -> Batched {
    let mut offsets = vec![0_i64];
    for vector in vectors {
        offsets.push(offsets.last().unwrap() + 4 * vector.len() as i64);
    }
    Batched {
        data: vectors.iter().flatten().flat_map(|value| value.to_le_bytes()).collect(),
        offsets: offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect(),
        dtype: 1,
    }
}

/// An answer of bytes that need not be text.
pub(crate) fn found(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}
