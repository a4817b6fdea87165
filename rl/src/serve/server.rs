//! Listening, taking in requests, and shutting down.

use super::answer::Answer;
use super::chat::chat;
use super::completions::completions;
use super::config::{ServeConfig, ServeError};
use super::generator::{Job, generate};
use super::parameters::BODY;
use super::refusal::Refusal;
use super::respond::{Answers, Head, page};
use super::wanted::Wanted;
use crate::generate::engine::{Engine, Turn};
use crate::generate::{Capacity, NativeGenerator};
use crate::model::Qwen3;
use crate::run::settings::Checked;
use crate::text::template::Template;
use crate::text::tokenizer::Tokenizer;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tasks::stream::Stream;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use web::listener::accept;
use web::signals::Signals;
use web::token::is_from_a_page;

/// Connections at a time; more wait to be accepted.
const CONNECTIONS: usize = 1024;
/// Time for requests in work to end when the server does.
const DRAIN: Duration = Duration::from_secs(10);

/// What all requests share.
#[derive(Debug)]
pub(super) struct Shared {
    config: ServeConfig,
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) template: Template<Arc<Tokenizer>>,
    vocab_size: i64,
    /// Tokens that a row holds.
    capacity: usize,
    jobs: UnboundedSender<Job>,
    /// A permit per answer in work or waiting.
    places: Arc<Semaphore>,
    /// Different each time that a server starts.
    entropy: u64,
    /// The number of requests so far.
    count: AtomicU64,
    started: u64,
}

impl Shared {
    /// Hands prompts to the generator: `copies` answers for each, of at most `limit` tokens.
    /// `param` is what the prompts were made of.
    pub(super) fn begin(
        &self,
        kind: &str,
        param: &str,
        prompts: Vec<Vec<i64>>,
        wanted: &Wanted,
        limit: usize,
    ) -> Result<Answers, Refusal> {
        let model = &self.config.name;
        if let Some(asked) = wanted.model.as_ref().filter(|asked| *asked != model) {
            return Err(Refusal::model(asked, model));
        }
        for ids in &prompts {
            if ids.len() >= self.capacity {
                return Err(Refusal::too_long(param, ids.len(), self.capacity));
            }
            if let Some(id) = ids.iter().find(|id| !(0..self.vocab_size).contains(id)) {
                let message =
                    format!("the id {id} is outside the vocabulary of {}", self.vocab_size);
                return Err(Refusal::invalid(param, message));
            }
        }
        let count = prompts.len().saturating_mul(wanted.copies);
        let places = self.config.rows + self.config.queue;
        if count > places {
            let message = format!("{count} answers at once are more than the server's {places}");
            return Err(Refusal::invalid("n", message));
        }
        let permits = u32::try_from(count).unwrap_or(u32::MAX);
        let mut permits = Arc::clone(&self.places)
            .try_acquire_many_owned(permits)
            .map_err(|_| Refusal::busy(count, places))?;

        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let draws = match wanted.seed {
            Some(seed) => Stream::root(seed).child("serve"),
            None => Stream::root(self.entropy).child("request").index(number),
        };
        let prompt_tokens = prompts.iter().map(Vec::len).sum();
        let mut answers = Vec::with_capacity(count);
        for (index, ids) in prompts.into_iter().flat_map(|ids| vec![ids; wanted.copies]).enumerate()
        {
            let (events, receiver) = unbounded_channel();
            let turn = Turn {
                sampling: wanted.sampling,
                stream: draws.index(index as u64),
                max_tokens: limit,
                ignore_eos: wanted.ignore_eos,
            };
            let place = permits.split(1).expect("there is a permit for every answer");
            let job = Job { ids, turn, events, place };
            self.jobs.send(job).map_err(|_| Refusal::stopped())?;
            let (tokenizer, stops) = (Arc::clone(&self.tokenizer), wanted.stops.clone());
            answers.push(Answer::new(index, tokenizer, stops, receiver));
        }
        let id = format!("{kind}-{:016x}{number:08x}", self.entropy);
        let head = Head { id, created: now(), model: model.clone() };
        let (made, stream, usage) = (answers, wanted.stream, wanted.usage);
        Ok(Answers { head, made, prompt_tokens, stream, usage })
    }

    fn model(&self) -> Value {
        let (id, created) = (&self.config.name, self.started);
        json!({
            "id": id, "object": "model", "created": created, "owned_by": "rl",
            "max_model_len": self.capacity,
        })
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A server that listens and does not yet answer.
#[derive(Debug)]
pub struct Server {
    shared: Shared,
    model: Qwen3,
    jobs: UnboundedReceiver<Job>,
    runtime: Runtime,
    listener: TcpListener,
    /// Caught from the beginning: whoever knows the address may already ask it to end.
    signals: Signals,
    address: SocketAddr,
}

impl Server {
    /// Takes the address.
    ///
    /// # Errors
    /// [`ServeError`] if cache, template or address cannot be used.
    pub fn bind(
        config: Checked<ServeConfig>,
        model: Qwen3,
        tokenizer: Tokenizer,
    ) -> Result<Self, ServeError> {
        let config = config.into_inner();
        // It costs nothing before there are answers, and says now what it would say then.
        Engine::with_cache(&model, config.rows, config.context, config.cache)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("serve")
            .enable_all()
            .build()
            .map_err(ServeError::Runtime)?;
        let refused = |source| ServeError::Listen { address: config.listen, source };
        let listener = runtime.block_on(TcpListener::bind(config.listen)).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let signals = runtime.block_on(async { Signals::new() }).map_err(ServeError::Runtime)?;
        let (sender, jobs) = unbounded_channel();
        let tokenizer = Arc::new(tokenizer);
        let longest = usize::try_from(model.config().max_position_embeddings).unwrap_or(usize::MAX);
        let shared = Shared {
            template: Template::new(Arc::clone(&tokenizer))?,
            tokenizer,
            vocab_size: model.config().vocab_size,
            capacity: config.context.min(longest),
            jobs: sender,
            places: Arc::new(Semaphore::new(config.rows + config.queue)),
            entropy: RandomState::new().hash_one(std::process::id()),
            count: AtomicU64::new(0),
            started: now(),
            config,
        };
        Ok(Self { shared, model, jobs, runtime, listener, signals, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the process is interrupted or asked to terminate; then takes in no more
    /// requests, gives those in work ten seconds to end, and returns. A second such signal ends
    /// it at once.
    ///
    /// # Errors
    /// [`ServeError`] if the model cannot go on, or the server could not be set up.
    pub fn run(self) -> Result<(), ServeError> {
        let Self { shared, model, jobs, runtime, listener, signals, .. } = self;
        let result = runtime.block_on(serve(shared, model, jobs, listener, signals));
        runtime.shutdown_timeout(Duration::from_secs(1));
        result
    }
}

async fn serve(
    shared: Shared,
    model: Qwen3,
    jobs: UnboundedReceiver<Job>,
    listener: TcpListener,
    mut signals: Signals,
) -> Result<(), ServeError> {
    let (rows, capacity, cache) = (shared.config.rows, shared.capacity, shared.config.cache);
    let mut generator = tokio::task::spawn_blocking(move || {
        let room = Capacity { rows, context: capacity, cache };
        generate(&mut NativeGenerator::new(&model, room), rows, jobs)
    });
    let (stop, stopping) = watch::channel(false);
    let router = router(Arc::new(shared));
    let mut connections = JoinSet::new();
    let result = tokio::select! {
        () = accept(listener, &router, CONNECTIONS, &stopping, &mut connections) => Ok(()),
        () = signals.next() => Ok(()),
        ended = &mut generator => match ended {
            Ok(ended) => ended.map_err(ServeError::Engine),
            Err(_) => Err(ServeError::Panicked),
        },
    };
    tracing::info!("shutting down: requests in work have ten seconds to end");
    // Connections may all be gone already.
    let _ = stop.send(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    tokio::select! {
        ended = timeout(DRAIN, drained) => if ended.is_err() {
            tracing::warn!("some requests did not end in time and were cut off");
        },
        () = signals.next() => tracing::warn!("ended at once, as was asked"),
    }
    result
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/completions", post(completions))
        .route("/v1/models", get(models))
        .route("/v1/models/{*name}", get(model))
        .fallback(nowhere)
        .method_not_allowed_fallback(otherwise)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), gate))
        .with_state(shared)
}

async fn gate(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    if is_from_a_page(request.headers()) {
        return Refusal::page().into_response();
    }
    match &shared.config.key {
        Some(key) if !key.is_in(request.headers()) => Refusal::key().into_response(),
        _ => next.run(request).await,
    }
}

async fn models(State(shared): State<Arc<Shared>>) -> Response {
    page(&json!({"object": "list", "data": [shared.model()]}))
}

async fn model(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    if name == shared.config.name {
        Ok(page(&shared.model()))
    } else {
        Err(Refusal::model(&name, &shared.config.name))
    }
}

async fn nowhere(uri: Uri) -> Refusal {
    let known = "`/v1/chat/completions`, `/v1/completions` and `/v1/models`";
    let message = format!("there is nothing at `{}`; there are {known}", uri.path());
    Refusal::route(StatusCode::NOT_FOUND, message)
}

async fn otherwise(method: Method, uri: Uri) -> Refusal {
    let message = format!("`{}` does not answer {method}", uri.path());
    Refusal::route(StatusCode::METHOD_NOT_ALLOWED, message)
}
