//! Chat models: `(request, purpose) -> completion`.
//!
//! [`ChatModel`] is the trait that model-driven roles and agents are written against. With the
//! feature `http`, `ChatClient` implements it for providers that speak OpenAI's or Anthropic's
//! protocol. [`CallRecord`] books every try and keeps a budget, [`CachedModel`] keeps answers so that
//! each is paid once, [`ChatRecorder`] records them, and [`Replay`] answers from a recording, so that
//! whatever uses a model is tested without one. With the same feature, `Relay` passes on requests that
//! somebody else wrote. [`EmbeddingModel`] makes vectors of texts. [`schema`] derives the form of an answer from a type.
//!
//! Calls block; any number of threads may share a model. No key is shown by an error, a log, the
//! record of calls, the cache or a recording.

#[cfg(feature = "http")]
mod answer;
#[cfg(feature = "http")]
mod anthropic;
mod budget;
mod cache;
mod calls;
#[cfg(feature = "http")]
mod capabilities;
mod chat;
mod embedding;
#[cfg(feature = "http")]
mod endpoint;
#[cfg(feature = "http")]
mod endpoints;
#[cfg(feature = "http")]
mod http;
mod kept_embeddings;
#[cfg(feature = "http")]
mod limiter;
#[cfg(feature = "http")]
mod openai;
mod price;
mod record;
#[cfg(feature = "http")]
mod relay;
mod replay;
#[cfg(feature = "http")]
mod retry;
pub mod schema;
#[cfg(feature = "http")]
mod secret;
mod sse;
#[cfg(feature = "http")]
mod wire;

pub use cache::{CacheUse, CachedModel};
pub use calls::{CallLine, CallRecord, CallReservation, CallTotals, TryOutcome};
#[cfg(feature = "http")]
pub use capabilities::{Capabilities, SchemaMode, WireProtocol};
pub use chat::{
    AnswerSchema, ChatError, ChatModel, Completion, Effort, Finish, Message, Purpose, Request,
    Role, Usage,
};
pub use embedding::EmbeddingModel;
#[cfg(feature = "http")]
pub use endpoint::{Endpoint, EndpointError};
#[cfg(feature = "http")]
pub use endpoints::{Endpoints, ModelName};
#[cfg(feature = "http")]
pub use http::{ChatClient, error_text};
pub use kept_embeddings::{KeptEmbeddings, NoEmbeddings};
pub use price::{AmountError, MicroUsd, Price, PriceError, PriceList};
pub use record::{ChatRecorder, Recording, export};
#[cfg(feature = "http")]
pub use relay::{PassedAnswer, PassedEnd, PassedFault, PassedPart, PassedRequest, Relay};
pub use replay::Replay;
#[cfg(feature = "http")]
pub use retry::{RetryPolicy, Timeouts};
#[cfg(feature = "http")]
pub use secret::{ApiKey, KeyError};
pub use sse::{SseError, SseEvent, SseReader};
