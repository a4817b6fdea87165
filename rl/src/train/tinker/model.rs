//! A model on a server: passes, optimizer steps, states and weights for sampling.

use super::client::TinkerClient;
use super::connection::Promise;
use super::datum::{Example, trained};
use super::error::TinkerError;
use super::wire::{ForwardBackwardOutput, ForwardBackwardRequest, PROTOBUF};
use crate::optim::AdamConfig;
use prost::Message as _;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// For giving a model back at the end.
const FAREWELL: Duration = Duration::from_secs(5);

/// The adapters that a model gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdapterStart {
    /// Their rank; 0 trains the model itself.
    pub rank: i64,
    /// The seed of their weights.
    pub seed: u32,
}

/// A model on a server. It is unloaded when it is dropped.
#[derive(Debug)]
pub struct RemoteModel {
    client: TinkerClient,
    id: String,
    /// The number of the next request. A request that is sent again with its number is answered by
    /// the result of the first.
    number: AtomicI32,
}

/// A loss function with its constants.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerLoss {
    pub(super) name: &'static str,
    pub(super) config: [Option<(&'static str, f64)>; 2],
}

impl ServerLoss {
    pub(super) const CROSS_ENTROPY: Self = Self { name: "cross_entropy", config: [None; 2] };
}

/// The result of a pass.
#[derive(Debug)]
pub(super) struct Passed {
    /// Log-probabilities of the trained tokens, in nats, example by example.
    pub(super) log_probs: Vec<Vec<f32>>,
    /// The sum of all tokens' losses, from a server that adds up over sequences.
    pub(super) total: Option<f64>,
    /// The same, from one that tells each token's.
    pub(super) elementwise: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Created {
    model_id: String,
    request_id: String,
}

#[derive(Debug, Deserialize)]
struct Stepped {
    #[serde(default)]
    metrics: Option<BTreeMap<String, Option<f64>>>,
}

#[derive(Debug, Deserialize)]
struct Stored {
    path: Option<String>,
    sampling_session_id: Option<String>,
}

impl RemoteModel {
    /// Loads `base_model` for training. This takes minutes where the model is large.
    ///
    /// # Errors
    /// [`TinkerError`] if the server refuses it, such as a second model where there is room for one.
    pub fn create(
        client: &TinkerClient,
        base_model: &str,
        adapters: AdapterStart,
    ) -> Result<Self, TinkerError> {
        let AdapterStart { rank, seed } = adapters;
        let body = json!({
            "session_id": client.session(), "base_model": base_model,
            "lora_config": {"rank": rank, "seed": seed},
        });
        let what = "create_model";
        let connection = client.connection();
        let created: Created = client.wait(connection.once(what, &body))?;
        let promise = Promise { request_id: created.request_id };
        let _: Value = client.wait(connection.json_result(what, &promise))?;
        Ok(Self { client: client.clone(), id: created.model_id, number: AtomicI32::new(1) })
    }

    /// Its name on the server.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The client that it was made with.
    pub fn client(&self) -> &TinkerClient {
        &self.client
    }

    /// Scores the examples, or adds the gradient of a loss over them to what the next step uses.
    pub(super) fn pass(
        &self,
        examples: &[Example<'_>],
        loss: ServerLoss,
        forward_only: bool,
    ) -> Result<Passed, TinkerError> {
        let what = "forward_backward";
        let config = loss.config.iter().flatten();
        let request = ForwardBackwardRequest {
            model_id: self.id.clone(),
            seq_id: self.next(),
            data: examples.iter().map(Example::datum).collect(),
            loss_fn: loss.name.to_owned(),
            loss_fn_config: config.map(|&(name, value)| (name.to_owned(), value)).collect(),
            forward_only,
        };
        let connection = self.client.connection();
        let body = request.encode_to_vec();
        let bytes = self.client.wait(async {
            let promise = connection.promise(what, PROTOBUF, &body).await?;
            connection.result(what, &promise).await
        })?;
        let unusable = |why: &str| connection.unusable(what, &why);
        let output = ForwardBackwardOutput::decode(bytes.as_slice())
            .map_err(|error| connection.unusable(what, &error))?;
        let [record] = output.loss_fn_outputs.as_slice() else {
            return Err(unusable("it is not one record for all sequences"));
        };
        let vectors = |name: &str| {
            let field = record.fields.get(name)?;
            field.vectors().filter(|vectors| vectors.len() == examples.len())
        };
        let log_probs = vectors("logprobs")
            .and_then(|found| {
                let pairs = examples.iter().zip(&found);
                pairs.map(|(example, values)| trained(example.sample, values)).collect()
            })
            .ok_or_else(|| unusable("it has no log-probability for each target"))?;
        let elementwise = vectors("elementwise_loss")
            .map(|found| found.iter().flatten().map(|&loss| f64::from(loss)).sum());
        let total = output.metrics.get("total_loss:sum").copied();
        Ok(Passed { log_probs, total, elementwise })
    }

    /// One step of `AdamW` with the gradient since the last one. Returns its norm before clipping.
    ///
    /// # Errors
    /// [`TinkerError`], also if the server does not tell the norm.
    pub(super) fn optim_step(&self, rate: f64, adam: &AdamConfig) -> Result<f64, TinkerError> {
        let what = "optim_step";
        let body = json!({
            "model_id": self.id, "seq_id": self.next(),
            "adam_params": {
                "learning_rate": rate, "beta1": adam.beta1, "beta2": adam.beta2,
                "eps": adam.epsilon, "weight_decay": adam.weight_decay,
            },
        });
        let connection = self.client.connection();
        let body = body.to_string().into_bytes();
        let stepped: Stepped = self.client.wait(async {
            let promise = connection.promise(what, "application/json", &body).await?;
            connection.json_result(what, &promise).await
        })?;
        let metrics = stepped.metrics.unwrap_or_default();
        match metrics.get("skyrl.ai/grad_norm") {
            // JSON has no number for one that is not finite.
            Some(norm) => Ok(norm.unwrap_or(f64::NAN)),
            None => Err(connection.unusable(what, &"it does not tell the gradient's norm")),
        }
    }

    /// Has the server write weights and optimizer under `name`; returns where.
    pub(super) fn save_state(&self, name: &str) -> Result<String, TinkerError> {
        let what = "save_weights";
        let body = json!({"model_id": self.id, "path": name});
        self.stored(what, &body)?
            .path
            .ok_or_else(|| self.client.connection().unusable(what, &"it does not tell the path"))
    }

    /// Restores weights and optimizer. The first request about a model, or none.
    pub(super) fn load_state(&self, path: &str) -> Result<(), TinkerError> {
        let what = "load_weights";
        let body = json!({
            "model_id": self.id, "path": path, "optimizer": true, "seq_id": self.next(),
        });
        let connection = self.client.connection();
        let _: Value = self.client.wait(async {
            let promise: Promise = connection.once(what, &body).await?;
            connection.json_result(what, &promise).await
        })?;
        Ok(())
    }

    /// Has the server write the model under `name` in Hugging Face's format, or its adapters in
    /// PEFT's, in an archive; returns where.
    ///
    /// # Errors
    /// [`TinkerError`].
    pub fn export(&self, name: &str) -> Result<String, TinkerError> {
        let what = "save_weights_for_sampler";
        let body = json!({"model_id": self.id, "path": name});
        self.stored(what, &body)?
            .path
            .ok_or_else(|| self.client.connection().unusable(what, &"it does not tell the path"))
    }

    /// Hands the weights as they are now to the server's own engines; returns the name by which
    /// samples are asked for, and that of the copy on the server.
    pub(super) fn publish(&self) -> Result<(String, String), TinkerError> {
        let what = "save_weights_for_sampler";
        let number = self.next();
        let body = json!({
            "model_id": self.id, "sampling_session_seq_id": number, "seq_id": number,
        });
        let name = self.stored(what, &body)?.sampling_session_id;
        let connection = self.client.connection();
        let name = name.ok_or_else(|| connection.unusable(what, &"it has no sampling session"))?;
        Ok((name, format!("tinker://{}/ss{number}_seq{number}", self.id)))
    }

    /// Deletes a state or a copy of weights, by its path.
    pub(super) fn delete(&self, path: &str) -> Result<(), TinkerError> {
        let connection = self.client.connection();
        let parts: Vec<&str> = path.trim_start_matches("tinker://").split('/').collect();
        let (model, kind, name) = match *parts.as_slice() {
            [model, name] => (model, "sampler_weights", name),
            [model, kind, name] => (model, kind, name),
            _ => return Err(connection.unusable("save_weights", &format!("the path `{path}`"))),
        };
        let path = format!("api/v1/training_runs/{model}/checkpoints/{kind}/{name}");
        self.client.wait(connection.delete(&path))
    }

    fn stored(&self, what: &'static str, body: &Value) -> Result<Stored, TinkerError> {
        let connection = self.client.connection();
        self.client.wait(async {
            let promise: Promise = connection.once(what, body).await?;
            connection.json_result(what, &promise).await
        })
    }

    /// A number that was not given before.
    pub(super) fn next(&self) -> i32 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }
}

impl Drop for RemoteModel {
    fn drop(&mut self) {
        // Otherwise the server keeps the model until the session is found to be silent, and a next
        // run finds no room.
        let body = json!({"model_id": self.id});
        let request = self.client.connection().once::<Value>("unload_model", &body);
        let farewell = async { tokio::time::timeout(FAREWELL, request).await };
        if let Ok(Err(error)) = self.client.wait(farewell) {
            tracing::debug!(%error, "the server ends the session by itself");
        }
    }
}
