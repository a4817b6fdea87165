//! The settings of rollouts.

use super::fleet;
use crate::generate::Capacity;
use crate::generate::engine::EngineError;
use crate::generate::remote::{EngineSettings, RemoteGenerator};
use crate::generate::sample::Sampling;
use crate::model::{CpuLinear, Qwen3Config, has_onednn};
use crate::run::settings::{SettingsError, require};
use agents::script_cache::{ScriptCache, ScriptCacheError};
use camino::Utf8PathBuf;
use jail::exec::Sandbox;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tasks::units::ByteSize;

/// The settings of rollouts: context length, KV cache, sampling and threads.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `max_num_seqs` | 64 | sequences generated at once |
/// | `max_model_len` | 1536 | context length: tokens of one sequence |
/// | `cache` | what the device has left; else room for all sequences | size of the KV cache |
/// | `merge_adapters` | `true` where the device has room | copies of the weights with adapters merged in |
/// | `cpu_linear` | `auto` | library of linear layers in f32 on a CPU: `auto`, `mkl` or `onednn` |
/// | `turn_tokens` | 640 | tokens of one turn |
/// | `trajectory_tokens` | 0 | tokens of all turns of one conversation together; 0 for no limit |
/// | `context_overflow` | `end`; in `rl eval` `evict` | what happens at the context length: `end`, `evict`, `summarise` |
/// | `deterministic` | `false` | episodes wait for each other, so that runs repeat to the bit |
/// | `script_cache` | `true` but for large policies | scripts that were run before are answered from memory |
/// | `script_cache_folder` | none | where scripts are remembered for other runs, too |
/// | `engine` | none | see [`EngineSettings`]: engines on other machines sample the turns |
/// | `sandboxes` | none: on this machine | addresses of the environment servers that play episodes |
/// | `workers` | twice the processors | threads that run scripts and grade |
/// | `threads` | 1 for tiny policies, else all | threads that generate |
/// | `sampling` | temperature 1; tiny: and min-p 0.02; small: and min-p 0.1 | how tokens are drawn |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RolloutSettings {
    /// Most sequences that are generated at once; at least 1.
    pub max_num_seqs: usize,
    /// Context length: most tokens of one sequence, prompt and observations included.
    pub max_model_len: usize,
    /// Size of the KV cache. If it is too small for all sequences, some are preempted and
    /// prefilled again later, which changes only speed and rounding. At least one sequence of full
    /// length must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<ByteSize>,
    /// Whether generation has copies of the matrices that have adapters, with the adapters merged
    /// in: fewer products a token, for the memory of the copies. Means nothing without `lora`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_adapters: Option<bool>,
    /// The library that computes linear layers in f32 on a CPU. `auto` depends on the processor and
    /// on the sizes alone, so that a run repeats on one machine. oneDNN needs a copy of every
    /// matrix that it multiplies by (`docs/BUDGETS.md`).
    #[serde(default, skip_serializing_if = "CpuLinear::is_auto")]
    #[schemars(!skip_serializing_if)]
    pub cpu_linear: CpuLinear,
    /// Most tokens of one turn; at least 1.
    pub turn_tokens: usize,
    /// Most tokens of all turns of one episode together; 0 for no limit but the context length.
    pub trajectory_tokens: usize,
    /// What happens when an observation does not fit into the context.
    pub context_overflow: ContextOverflow,
    /// Whether all episodes finish a turn, and then all scripts, before any continues. Which
    /// sequences share a batch changes rounding and depends on how long scripts take; when
    /// deterministic it depends on the seed alone, and two runs on one machine with the same number
    /// of threads are equal to the bit. Slower: every turn waits for the slowest script.
    pub deterministic: bool,
    /// Whether replies to turns are recorded, and given again to the same turns on the same task
    /// under the same rules, so that no script is run twice
    /// ([`CachedWorld`](agents::script_cache::CachedWorld)). In memory, at most 256 MiB, for one
    /// start of a run. Scripts whose results vary from run to run have the first one for all
    /// episodes, until a check finds that. Without effect in `rl eval --bench` and `rl serve`.
    #[serde(default)]
    pub script_cache: bool,
    /// A folder in which recorded replies are kept for other runs on this machine, whatever the policy
    /// ([`ScriptCache::open`]). Not with `sandboxes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub script_cache_folder: Option<Utf8PathBuf>,
    /// Inference engines on other machines that sample the turns; the trainer's own if there are
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineSettings>,
    /// Addresses of `sandbox serve` processes that play the episodes, such as
    /// `http://10.0.0.5:8765`; none for this machine. All must serve the same corpus by the same
    /// rules (`docs/DEPLOY.md`). A token comes from `SANDBOX_TOKEN`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(!skip_serializing_if)]
    pub sandboxes: Vec<String>,
    /// Threads that run scripts and grade.
    pub workers: usize,
    /// Threads of libtorch during generation. Operations of a tiny policy are too small to be
    /// split, and threads that synchronise are slow when scripts keep the processors busy.
    pub threads: usize,
    /// How tokens are drawn.
    pub sampling: Sampling,
}

/// What happens when an observation does not fit into the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContextOverflow {
    /// The episode ends.
    End,
    /// Failed turns and their observations are removed, the oldest first, until there is room for
    /// another turn (a quarter of the context, if turns may be longer). If that is not enough, only
    /// the prompt and the last turn stay (SandMLE §5.4 and its release). Not in training: a
    /// conversation from which turns were removed is no single sequence to train on.
    Evict,
    /// The policy writes a summary of the older half of the turns, in a conversation beside, and goes
    /// on with it in their place (APOLLO §3.1), until there is room for another turn, as above. In
    /// training, summaries are trained on as turns are (`docs/GRPO.md`). A single turn that has no room
    /// ends the episode.
    Summarise,
}

impl RolloutSettings {
    /// The capacity of the engine: sequences, tokens per sequence, size of the KV cache.
    pub fn capacity(&self) -> Capacity {
        Capacity {
            rows: self.max_num_seqs,
            context: self.max_model_len,
            cache: self.cache,
            merge_adapters: self.merges_adapters(),
            cpu_linear: self.cpu_linear,
        }
    }

    /// A generator over the servers of `engine`, for a model of this shape. A key for them is read
    /// from the environment.
    ///
    /// # Errors
    /// [`EngineError`] if the key or an address is none.
    pub fn remote(
        &self,
        engine: &EngineSettings,
        config: &Qwen3Config,
    ) -> Result<RemoteGenerator, EngineError> {
        let room = (self.max_num_seqs, self.max_model_len);
        RemoteGenerator::new(engine, config, room, EngineSettings::key()?.as_ref())
    }

    /// The cache of scripts, if there is one, for episodes in `sandbox`.
    ///
    /// # Errors
    /// [`ScriptCacheError`] if its folder cannot be used.
    pub fn open_script_cache(
        &self,
        sandbox: &Sandbox,
    ) -> Result<Option<ScriptCache>, ScriptCacheError> {
        let open = || ScriptCache::open(self.script_cache_folder.as_deref(), sandbox);
        self.script_cache.then(open).transpose()
    }

    /// Whether adapters are merged for generation.
    pub fn merges_adapters(&self) -> bool {
        self.merge_adapters.unwrap_or(true)
    }

    /// Threads that wait for the environment, and in guided rollouts for people. With servers that run
    /// the scripts they only wait, and who holds one episode must not hold others, so there is then one
    /// for each sequence.
    pub(super) fn waiting_threads(&self, is_guided: bool) -> usize {
        let waits = is_guided || !self.sandboxes.is_empty();
        if waits { self.workers.max(self.max_num_seqs) } else { self.workers }
    }

    /// Tokens that must be free before a turn, or turns are evicted.
    pub(super) fn turn_room(&self) -> usize {
        self.turn_tokens.min(self.max_model_len / 4)
    }

    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`SettingsError::Range`] naming the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        require(self.max_num_seqs > 0, "rollout.max_num_seqs", &self.max_num_seqs, "at least 1")?;
        require(self.turn_tokens > 0, "rollout.turn_tokens", &self.turn_tokens, "at least 1")?;
        require(
            self.max_model_len > self.turn_tokens,
            "rollout.max_model_len",
            &self.max_model_len,
            "above `rollout.turn_tokens`: a turn must fit beside its prompt",
        )?;
        require(
            self.cpu_linear != CpuLinear::Onednn || has_onednn(),
            "rollout.cpu_linear",
            &self.cpu_linear,
            "`auto` or `mkl`: this libtorch has no oneDNN",
        )?;
        self.engine.as_ref().map_or(Ok(()), EngineSettings::check)?;
        fleet::check(&self.sandboxes)?;
        if let Some(folder) = &self.script_cache_folder {
            let key = "rollout.script_cache_folder";
            require(self.script_cache, key, folder, "none with `rollout.script_cache = false`")?;
            let is_here = self.sandboxes.is_empty();
            require(
                is_here,
                key,
                folder,
                "none with `rollout.sandboxes`, whose machines are others",
            )?;
        }
        self.sampling.check().map_err(|error| SettingsError::Range {
            key: match error.field {
                "temperature" => "rollout.sampling.temperature",
                "top_p" => "rollout.sampling.top_p",
                _ => "rollout.sampling.min_p",
            },
            got: error.got.to_string(),
            expected: error.expected,
        })
    }
}
