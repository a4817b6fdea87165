//! Listening, admission of requests, and shutdown.

use super::api_error::ApiError;
use super::chat::chat;
use super::choice::{ChoiceStream, Echo, StopRules};
use super::completions::completions;
use super::config::{InferenceConfig, InferenceError};
use super::grammars::Grammars;
use super::parameters::BODY;
use super::request_options::RequestOptions;
use super::respond::{PendingResponse, ResponseHead, page};
use super::structured::OutputForm;
use super::tokens::{detokenize, tokenize};
use crate::generate::NativeGenerator;
use crate::generate::engine::{Engine, TurnOptions};
use crate::generate::jobs::{GenerationJob, generate};
use crate::generate::sample::Grammar;
use crate::model::Qwen3;
use crate::run::settings::Checked;
use crate::text::template::{ChatTemplate, TemplateError};
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
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
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
/// The route that says whether the server generates.
const HEALTH: &str = "/health";
/// Time for running requests to end at shutdown.
const DRAIN: Duration = Duration::from_secs(10);

/// The state that all requests share.
#[derive(Debug)]
pub(super) struct InferenceState {
    config: InferenceConfig,
    pub(super) tokenizer: Arc<Tokenizer>,
    /// `None` for a base model that came without one.
    template: Option<ChatTemplate<Arc<Tokenizer>>>,
    pub(super) vocab_size: i64,
    /// The tokens that end a turn.
    ending: Vec<i64>,
    /// Made for the first request that needs them.
    grammars: OnceLock<Result<Grammars, String>>,
    /// The largest number of tokens of a prompt and its choice together.
    pub(super) capacity: usize,
    jobs: UnboundedSender<GenerationJob>,
    /// A permit per choice that runs or waits.
    permits: Arc<Semaphore>,
    /// Drawn at the start of the server; part of ids and of the seed of requests without one.
    entropy: u64,
    /// The number of requests so far.
    count: AtomicU64,
    started: u64,
}

impl InferenceState {
    /// The chat template.
    ///
    /// # Errors
    /// An [`ApiError`] if the model has none.
    pub(super) fn template(&self) -> Result<&ChatTemplate<Arc<Tokenizer>>, ApiError> {
        self.template.as_ref().ok_or_else(ApiError::no_template)
    }

    /// Compiles the grammar of a form, which `param` of the request asks for.
    ///
    /// # Errors
    /// An [`ApiError`] with the reason if the form is not supported.
    pub(super) fn grammar(
        &self,
        form: &OutputForm,
        reasoning: Option<bool>,
        param: &str,
    ) -> Result<Grammar, ApiError> {
        let grammars = self.grammars.get_or_init(|| {
            Grammars::new(Arc::clone(&self.tokenizer), self.vocab_size, &self.ending)
        });
        let grammars = grammars.as_ref().map_err(|error| ApiError::broken(error.as_str()))?;
        grammars
            .compile(form.grammar(reasoning))
            .map_err(|error| ApiError::invalid(param, format!("`{param}` cannot be used: {error}")))
    }

    /// Sends prompts to the generator: `n` choices for each, of at most `limit` tokens. `kind` is
    /// the prefix of the response's id, and `param` the parameter that holds the prompts.
    ///
    /// # Errors
    /// An [`ApiError`] if another model is asked for, a prompt is too long or has an id outside of
    /// the vocabulary, or the queue is full.
    pub(super) fn begin(
        &self,
        kind: &str,
        param: &str,
        prompts: Vec<Vec<i64>>,
        options: &RequestOptions,
        limit: usize,
    ) -> Result<PendingResponse, ApiError> {
        self.check_model(options.model.as_deref())?;
        for ids in &prompts {
            if ids.len() >= self.capacity {
                return Err(ApiError::too_long(param, ids.len(), self.capacity));
            }
            if let Some(id) = ids.iter().find(|id| !(0..self.vocab_size).contains(id)) {
                let message =
                    format!("the id {id} is outside the vocabulary of {}", self.vocab_size);
                return Err(ApiError::invalid(param, message));
            }
        }
        let count = prompts.len().saturating_mul(options.n);
        let most = self.config.rows + self.config.queue;
        if count > most {
            let message = format!("{count} choices in one request; the server has room for {most}");
            return Err(ApiError::invalid("n", message));
        }
        let permits = u32::try_from(count).unwrap_or(u32::MAX);
        let mut permits = Arc::clone(&self.permits)
            .try_acquire_many_owned(permits)
            .map_err(|_| ApiError::busy(count, most))?;

        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let stream = match options.seed {
            Some(seed) => Stream::root(seed).child("serve"),
            None => Stream::root(self.entropy).child("request").index(number),
        };
        let prompt_tokens = prompts.iter().map(Vec::len).sum();
        let mut choices = Vec::with_capacity(count);
        for (index, ids) in prompts.into_iter().flat_map(|ids| vec![ids; options.n]).enumerate() {
            let (events, receiver) = unbounded_channel();
            let turn = TurnOptions {
                sampling: options.sampling,
                stream: stream.index(index as u64),
                // A prompt is also read by a turn, of whose tokens none is used here.
                max_tokens: limit.max(1),
                ignore_eos: options.ignore_eos,
            };
            let echo = options.echo.then(|| Echo { ids: ids.clone(), is_all: limit == 0 });
            let extras = options.extras.clone();
            let permit = permits.split(1).expect("there is a permit for every choice");
            let job = GenerationJob { ids, turn, extras, events, permit: Some(permit) };
            self.jobs.send(job).map_err(|_| ApiError::stopped())?;
            let tokenizer = Arc::clone(&self.tokenizer);
            choices.push(ChoiceStream::new(
                index,
                tokenizer,
                StopRules::new(options, &self.ending),
                echo,
                receiver,
            ));
        }
        let id = format!("{kind}-{:016x}{number:08x}", self.entropy);
        let head = ResponseHead { id, created: now(), model: self.config.name.clone() };
        let (stream, usage) = (options.stream, options.usage);
        Ok(PendingResponse { head, choices, n: options.n, prompt_tokens, stream, usage })
    }

    /// Checks that a request which names a model names this one.
    ///
    /// # Errors
    /// An [`ApiError`] with the name of the served model.
    pub(super) fn check_model(&self, requested: Option<&str>) -> Result<(), ApiError> {
        let served = &self.config.name;
        match requested.filter(|requested| requested != served) {
            Some(requested) => Err(ApiError::model(requested, served)),
            None => Ok(()),
        }
    }

    fn model(&self) -> Value {
        let (id, created) = (&self.config.name, self.started);
        json!({
            "id": id, "object": "model", "created": created, "owned_by": "rl",
            "max_model_len": self.capacity,
        })
    }
}

/// The chat template that came with the tokenizer, if one did.
fn template(
    tokenizer: &Arc<Tokenizer>,
) -> Result<Option<ChatTemplate<Arc<Tokenizer>>>, TemplateError> {
    match ChatTemplate::new(Arc::clone(tokenizer)) {
        Ok(template) => Ok(Some(template)),
        Err(TemplateError::Missing) => {
            tracing::warn!(
                "the model has no chat template: only `/v1/completions` is served, \
                 conversations are refused"
            );
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A server that listens and does not accept connections yet.
#[derive(Debug)]
pub struct InferenceServer {
    shared: InferenceState,
    model: Qwen3,
    jobs: UnboundedReceiver<GenerationJob>,
    runtime: Runtime,
    listener: TcpListener,
    /// Installed before the address is printed, so that a signal is never lost.
    signals: Signals,
    address: SocketAddr,
}

impl InferenceServer {
    /// Binds the address.
    ///
    /// # Errors
    /// [`InferenceError`] if the cache, the address or a chat template that is there cannot be used.
    pub fn bind(
        config: Checked<InferenceConfig>,
        model: Qwen3,
        tokenizer: Tokenizer,
    ) -> Result<Self, InferenceError> {
        let (config, model) = (config.into_inner(), model.merged());
        // Allocates nothing yet; settings that do not fit the model fail here, not later.
        Engine::with_capacity(&model, config.capacity())?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("serve")
            .enable_all()
            .build()
            .map_err(InferenceError::Runtime)?;
        let refused = |source| InferenceError::Listen { address: config.listen, source };
        let listener = runtime.block_on(TcpListener::bind(config.listen)).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let signals =
            runtime.block_on(async { Signals::new() }).map_err(InferenceError::Runtime)?;
        let (sender, jobs) = unbounded_channel();
        let tokenizer = Arc::new(tokenizer);
        let longest = usize::try_from(model.config().max_position_embeddings).unwrap_or(usize::MAX);
        let shared = InferenceState {
            template: template(&tokenizer)?,
            tokenizer,
            vocab_size: model.config().vocab_size,
            ending: model.config().eos_token_ids.clone(),
            grammars: OnceLock::new(),
            capacity: config.context.min(longest),
            jobs: sender,
            permits: Arc::new(Semaphore::new(config.rows + config.queue)),
            entropy: RandomState::new().hash_one(std::process::id()),
            count: AtomicU64::new(0),
            started: now(),
            config,
        };
        Ok(Self { shared, model, jobs, runtime, listener, signals, address })
    }

    /// The address that it listens on, with the port that was chosen for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until SIGINT or SIGTERM; then accepts no more requests, gives running ones ten
    /// seconds to end, and returns. A second signal ends it at once.
    ///
    /// # Errors
    /// [`InferenceError`] if generation fails, or the server could not be set up.
    pub fn run(self) -> Result<(), InferenceError> {
        let Self { shared, model, jobs, runtime, listener, signals, .. } = self;
        let result = runtime.block_on(serve(shared, model, jobs, listener, signals));
        runtime.shutdown_timeout(Duration::from_secs(1));
        result
    }
}

async fn serve(
    shared: InferenceState,
    model: Qwen3,
    jobs: UnboundedReceiver<GenerationJob>,
    listener: TcpListener,
    mut signals: Signals,
) -> Result<(), InferenceError> {
    let (room, keeps_prefixes) = (shared.config.capacity(), shared.config.prefix_caching);
    let mut generator = tokio::task::spawn_blocking(move || {
        let generator = NativeGenerator::new(&model, room);
        let mut generator = if keeps_prefixes { generator.keeping_prefixes() } else { generator };
        generate(&mut generator, room.rows, jobs)
    });
    let (stop, stopping) = watch::channel(false);
    let router = router(Arc::new(shared));
    let mut connections = JoinSet::new();
    let result = tokio::select! {
        () = accept(listener, &router, CONNECTIONS, &stopping, &mut connections) => Ok(()),
        () = signals.next() => Ok(()),
        ended = &mut generator => match ended {
            Ok(ended) => ended.map_err(InferenceError::Engine),
            Err(_) => Err(InferenceError::Panicked),
        },
    };
    tracing::info!("shutting down: running requests have ten seconds to end");
    // Sending fails if all connections have ended already.
    let _ = stop.send(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    tokio::select! {
        ended = timeout(DRAIN, drained) => if ended.is_err() {
            tracing::warn!("some requests did not end in time and were cut off");
        },
        () = signals.next() => tracing::warn!("second signal: shut down at once"),
    }
    result
}

fn router(shared: Arc<InferenceState>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/completions", post(completions))
        .route("/v1/models", get(models))
        .route("/v1/models/{*name}", get(model))
        .route("/tokenize", post(tokenize))
        .route("/detokenize", post(detokenize))
        .route("/version", get(version))
        .route(HEALTH, get(health))
        .fallback(unknown_route)
        .method_not_allowed_fallback(unknown_method)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), authorize))
        .with_state(shared)
}

async fn authorize(
    State(shared): State<Arc<InferenceState>>,
    request: Request,
    next: Next,
) -> Response {
    if is_from_a_page(request.headers()) {
        return ApiError::page().into_response();
    }
    match &shared.config.key {
        // Health probes, such as those of Kubernetes, have no key. vLLM asks for none here either.
        _ if request.uri().path() == HEALTH => next.run(request).await,
        Some(key) if !key.is_in(request.headers()) => ApiError::key().into_response(),
        _ => next.run(request).await,
    }
}

/// Whether the server generates: 200, or 503 once it no longer does.
async fn health(State(shared): State<Arc<InferenceState>>) -> StatusCode {
    if shared.jobs.is_closed() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }
}

async fn version() -> Response {
    page(&json!({"version": env!("CARGO_PKG_VERSION")}))
}

async fn models(State(shared): State<Arc<InferenceState>>) -> Response {
    page(&json!({"object": "list", "data": [shared.model()]}))
}

async fn model(
    State(shared): State<Arc<InferenceState>>,
    Path(name): Path<String>,
) -> Result<Response, ApiError> {
    if name == shared.config.name {
        Ok(page(&shared.model()))
    } else {
        Err(ApiError::model(&name, &shared.config.name))
    }
}

async fn unknown_route(uri: Uri) -> ApiError {
    let known = "`/v1/chat/completions`, `/v1/completions`, `/v1/models`, `/tokenize`, \
                 `/detokenize`, `/version` and `/health`";
    let message = format!("there is no route `{}`; the routes are {known}", uri.path());
    ApiError::route(StatusCode::NOT_FOUND, message)
}

async fn unknown_method(method: Method, uri: Uri) -> ApiError {
    let message = format!("`{}` does not answer {method}", uri.path());
    ApiError::route(StatusCode::METHOD_NOT_ALLOWED, message)
}
