//! Asks one server in the form of its engine.

use super::settings::EngineApi;
use super::turn::{RemoteTurn, SampledTurn};
use super::{sglang, vllm};
use crate::generate::{Publication, PublishedWeights};
use crate::remote::{Server, ServerError};
use std::time::{Duration, Instant};

/// Until a short question is answered.
const SHORT: Duration = Duration::from_secs(10);
/// Wait before a turn is offered again to a server that is full.
const BUSY_WAIT: Duration = Duration::from_millis(500);

/// A server and the engine that it runs. Clones share connections.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) server: Server,
    pub(super) api: EngineApi,
    /// Until a turn, or the loading of weights, counts as lost.
    pub(super) timeout: Duration,
    /// The most tokens of a conversation.
    pub(super) context: usize,
}

impl Client {
    /// Loads published weights, compares what the server makes of the probe with what the learner
    /// makes of it, and returns the name by which turns ask for them.
    pub(super) async fn load(&self, publication: &Publication) -> Result<String, ServerError> {
        let server = &self.server;
        // One that hangs is found here, and not after the time that loading may take.
        server.answers("health", SHORT).await?;
        let model = match self.api {
            EngineApi::Vllm => {
                let (base, longest) = vllm::model(server, SHORT).await?;
                if let Some(longest) = longest.filter(|longest| *longest < self.context) {
                    let what = format!(
                        "its sequences have at most {longest} tokens, and conversations {}; start \
                         it with a larger `--max-model-len`, or lower `rollout.max_model_len`",
                        self.context
                    );
                    return Err(server.unusable("v1/models", &what));
                }
                vllm::load(server, publication, self.timeout).await?;
                vllm::served_name(&base, publication)
            }
            EngineApi::Sglang => {
                sglang::load(server, publication, self.timeout).await?;
                sglang::adapter(publication).unwrap_or_default()
            }
        };
        self.compare(&model, publication).await?;
        Ok(model)
    }

    /// Scores the publication's probe.
    async fn compare(&self, model: &str, publication: &Publication) -> Result<(), ServerError> {
        let Some(probe) = &publication.probe else { return Ok(()) };
        let (server, timeout) = (&self.server, self.timeout);
        let scores = match self.api {
            EngineApi::Vllm => vllm::score(server, model, &probe.ids, timeout).await?,
            EngineApi::Sglang => sglang::score(server, named(model), &probe.ids, timeout).await?,
        };
        let gap = probe.mean_gap(&scores);
        tracing::debug!(%server, version = publication.version, gap, "weights were taken over");
        if gap <= probe.tolerance {
            return Ok(());
        }
        let base = match publication.weights {
            PublishedWeights::Folder { adapters: true, .. } => {
                "; was it started with the model that the adapters are on?"
            }
            _ => "",
        };
        let what = format!(
            "its log-probabilities of a known prompt are {gap:.2e} from the trainer's in the mean, \
             and {:.0e} is allowed: it has not the weights of step {}{base}",
            probe.tolerance, publication.version
        );
        Err(server.unusable("weights", &what))
    }

    /// Samples a turn. Waits while the server is full.
    pub(super) async fn generate(
        &self,
        model: &str,
        turn: &RemoteTurn,
    ) -> Result<SampledTurn, ServerError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            let found = match self.api {
                EngineApi::Vllm => vllm::generate(&self.server, model, turn, self.timeout).await,
                EngineApi::Sglang => {
                    sglang::generate(&self.server, named(model), turn, self.timeout).await
                }
            };
            let is_full =
                found.as_ref().is_err_and(|error| matches!(error.status(), Some(429 | 503)));
            if !is_full || Instant::now() >= deadline {
                return found;
            }
            tokio::time::sleep(BUSY_WAIT).await;
        }
    }

    /// Whether the server still has the published weights: one that was started anew has not.
    pub(super) async fn confirm(&self, publication: &Publication) -> Result<(), ServerError> {
        if let PublishedWeights::Folder { adapters: true, .. } = publication.weights {
            // Turns name them, and a server without them refuses.
            return Ok(());
        }
        let found = match self.api {
            EngineApi::Vllm => vllm::version(&self.server, SHORT).await?,
            EngineApi::Sglang => sglang::version(&self.server, SHORT).await?,
        };
        if found == publication.version.to_string() {
            return Ok(());
        }
        let what = format!(
            "it has version `{found}` of the weights, not `{}`: was it started anew?",
            publication.version
        );
        Err(self.server.unusable("weights", &what))
    }
}

/// The adapters that SGLang is asked for.
fn named(model: &str) -> Option<&str> {
    Some(model).filter(|model| !model.is_empty())
}
