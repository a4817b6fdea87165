//! The settings of engines on other machines.

use crate::generate::engine::EngineError;
use crate::run::settings::{SettingsError, require};
use camino::Utf8PathBuf;
use llm::ApiKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The environment variable of the key.
const KEY: &str = "RL_ENGINE_KEY";

/// Inference engines that sample turns for a trainer.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `api` | | the engine: `vllm` or `sglang` |
/// | `servers` | | their addresses, such as `http://10.0.0.5:8000` |
/// | `weights` | `RUN/published` | folder through which weights are handed over |
/// | `timeout_seconds` | 600 | until a turn, or the loading of weights, counts as lost |
/// | `patience_seconds` | 300 | how long the run waits while no server can generate |
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// The engine, and so the form of requests.
    pub api: EngineApi,
    /// Addresses of servers of the same model; at least one. A key for all of them is read from
    /// the environment, `RL_ENGINE_KEY`.
    pub servers: Vec<String>,
    /// The folder that the trainer writes weights into and all servers read, under the same path;
    /// best in memory, such as `/dev/shm`. `RUN/published` if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub weights: Option<Utf8PathBuf>,
    /// Seconds until a turn, or the loading of weights, counts as lost; at least 1.
    #[serde(default = "timeout")]
    pub timeout_seconds: u64,
    /// Seconds that the run waits for a server while none can generate; then it stops.
    #[serde(default = "patience")]
    pub patience_seconds: u64,
}

const fn timeout() -> u64 {
    600
}

const fn patience() -> u64 {
    300
}

/// An inference engine.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum EngineApi {
    /// vLLM, with `VLLM_SERVER_DEV_MODE=1`; for adapters
    /// `VLLM_ALLOW_RUNTIME_LORA_UPDATING=1` and `--enable-lora`.
    Vllm,
    /// SGLang; for adapters with `--enable-lora`.
    Sglang,
}

impl EngineSettings {
    /// Servers of an engine, with defaults for the rest.
    pub fn new(api: EngineApi, servers: Vec<String>) -> Self {
        let (timeout_seconds, patience_seconds) = (timeout(), patience());
        Self { api, servers, weights: None, timeout_seconds, patience_seconds }
    }

    /// The key for all servers, if the environment has one.
    ///
    /// # Errors
    /// [`EngineError::Key`] if it cannot be one.
    pub fn key() -> Result<Option<ApiKey>, EngineError> {
        let text = std::env::var(KEY).ok().filter(|text| !text.is_empty());
        text.map(|text| ApiKey::new(&text)).transpose().map_err(EngineError::Key)
    }

    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`SettingsError::Range`] naming the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        require(
            !self.servers.is_empty(),
            "rollout.engine.servers",
            &"[]",
            "a list of addresses, such as `[\"http://10.0.0.5:8000\"]`",
        )?;
        let mut sorted: Vec<&str> =
            self.servers.iter().map(|address| address.trim_end_matches('/')).collect();
        sorted.sort_unstable();
        let is_repeated = |pair: &&[&str]| pair[0] == pair[1];
        let repeated = sorted.windows(2).find(is_repeated).map_or("", |pair| pair[0]);
        require(
            repeated.is_empty(),
            "rollout.engine.servers",
            &repeated,
            "a list without repetitions: a server batches all of its turns by itself",
        )?;
        require(
            self.timeout_seconds > 0,
            "rollout.engine.timeout_seconds",
            &self.timeout_seconds,
            "at least 1",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_make_no_sense_are_refused() {
        let settings = |servers: &[&str]| {
            let servers = servers.iter().map(ToString::to_string).collect();
            EngineSettings::new(EngineApi::Vllm, servers)
        };
        settings(&["http://a:8000", "http://b:8000"]).check().unwrap();
        for servers in [&[][..], &["http://a:8000", "http://b:8000", "http://a:8000/"]] {
            let error = settings(servers).check().unwrap_err().to_string();
            assert!(error.contains("rollout.engine.servers"), "{error}");
        }
        let parsed: EngineSettings =
            toml::from_str("api = 'sglang'\nservers = ['http://a:30000']").unwrap();
        let expected = vec!["http://a:30000".to_owned()];
        assert_eq!(parsed, EngineSettings::new(EngineApi::Sglang, expected));
    }
}
