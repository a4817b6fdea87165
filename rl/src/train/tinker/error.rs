//! Why a learner or generator over the Tinker protocol cannot go on.

use crate::remote::ServerError;
use std::time::Duration;

/// Why a learner or generator over the Tinker protocol cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum TinkerError {
    /// The server could not be asked.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server tried and failed.
    #[error("{server}: `{what}` failed: {message}")]
    Failed {
        /// The server's address.
        server: String,
        /// What was asked.
        what: &'static str,
        /// The server's words.
        message: String,
    },
    /// The server does not know the session, model or result that a request is about.
    #[error(
        "{server}: `{what}` is about something that the server does not have ({message}); if it was restarted, or heard nothing for {} s, start the same command again: it goes on from the newest checkpoint",
        super::client::SESSION_SECONDS
    )]
    Lost {
        /// The server's address.
        server: String,
        /// What was asked.
        what: &'static str,
        /// The server's words.
        message: String,
    },
    /// The result did not come in time.
    #[error("{server}: no result of `{what}` within {} s; raise `learner.patience_seconds`", waited.as_secs())]
    Late {
        /// The server's address.
        server: String,
        /// What was asked.
        what: &'static str,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The result is not what was asked for.
    #[error("{server}: the result of `{what}` cannot be used: {why}")]
    Result {
        /// The server's address.
        server: String,
        /// What was asked.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The server serves another model.
    #[error(
        "{server} serves {known}, and not `{wanted}`; set `learner.base_model` to one of its own"
    )]
    OtherModel {
        /// The server's address.
        server: String,
        /// The model that was asked for.
        wanted: String,
        /// The models that there are.
        known: String,
    },
    /// The server's loss is not ours.
    #[error(
        "{server} computes a loss of {theirs} where {ours} was expected; is `learner.backend` the one that it was started with?"
    )]
    OtherLoss {
        /// The server's address.
        server: String,
        /// The server's loss.
        theirs: f64,
        /// What follows from the log-probabilities that it returned.
        ours: f64,
    },
    /// A second loss before the optimizer step, where the server averages over sequences.
    #[error(
        "the server averages gradients over all sequences before an optimizer step, so there can be one loss for each step and not two; use a server with `learner.backend = \"fsdp\"` or `\"megatron\"`"
    )]
    TwoLosses,
    /// Something that no request can express.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The runtime for requests could not be started.
    #[error("failed to start the threads for requests")]
    Runtime(#[source] std::io::Error),
}
