//! `rl serve`.

use super::{cache_of, scale_of};
use crate::checkpoint::policy;
use crate::checkpoint::source::{PolicySource, locate};
use crate::rollout::RolloutSettings;
use crate::run::device::{self, DeviceChoice};
use crate::run::settings::{Validate as _, warn_of_old_name};
use crate::serve::{InferenceConfig, InferenceServer};
use crate::train::presets::{Dtype, Scale};
use anyhow::{Result, bail};
use camino::Utf8Path;
use clap::Args;
use std::net::IpAddr;
use tasks::units::ByteSize;
use tch::Device;
use web::token::{BadToken, Token};

#[derive(Debug, Args)]
pub(super) struct PolicyServeArgs {
    /// A run of `rl sft` or `rl train`, a model's folder or name.
    #[arg(long)]
    model: String,
    /// The name of the model in requests and responses [default: the last part of `--model`, of a
    /// checkpoint the name of its run].
    #[arg(long, value_name = "NAME")]
    served_model_name: Option<String>,
    /// The address to listen on. Other machines are served only with a key.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 8001)]
    port: u16,
    /// The key that requests need, as `Authorization: Bearer KEY`.
    #[arg(long, env = "RL_API_KEY", hide_env_values = true, value_name = "KEY", value_parser = key)]
    api_key: Option<Token>,
    /// Most sequences that are generated at once [default: 16, or 4 if a large policy is served by
    /// a CPU].
    #[arg(long, value_name = "N")]
    max_num_seqs: Option<usize>,
    /// The old name of `--max-num-seqs`.
    #[arg(long, hide = true, conflicts_with = "max_num_seqs")]
    rows: Option<usize>,
    /// Context length: most tokens of a prompt and its completion, at most that of the model
    /// [default: 4096, or 8192 if a large policy is served by a GPU].
    #[arg(long, value_name = "TOKENS")]
    max_model_len: Option<usize>,
    /// The old name of `--max-model-len`.
    #[arg(long, hide = true, conflicts_with = "max_model_len")]
    context: Option<usize>,
    /// Size of the KV cache, such as `8GiB`. Memory is allocated as sequences need it; if it is too
    /// little for all of them, some are preempted [default: what the device has left, at most what
    /// `--max-num-seqs` sequences of `--max-model-len` tokens need].
    #[arg(long, value_name = "SIZE")]
    cache: Option<ByteSize>,
    /// Prefill every prompt as a whole, even if the cache still holds its beginning from an earlier
    /// request.
    #[arg(long)]
    no_enable_prefix_caching: bool,
    /// Most sequences that wait; further requests get status 429 and may be repeated.
    #[arg(long, default_value_t = 256, value_name = "N")]
    queue: usize,
    /// `auto`, `cpu`, `cuda` or `cuda:N`.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// The type of the weights [default: f32 on a CPU, bf16 on a GPU].
    #[arg(long)]
    dtype: Option<Dtype>,
    /// Threads of libtorch [default: 1 for tiny policies, else one per processor].
    #[arg(long, value_name = "N")]
    threads: Option<i32>,
}

impl PolicyServeArgs {
    /// Serves the policy until a signal arrives; prints the address on standard output.
    ///
    /// # Errors
    /// If the policy cannot be opened, the address cannot be bound, or generation fails.
    #[expect(clippy::print_stdout, reason = "scripts wait for the address")]
    pub(super) fn run(self) -> Result<String> {
        let source = locate(&self.model)?;
        let PolicySource::Folder(folder) = &source else {
            bail!(
                "a built-in policy has no trained weights; give the folder of a run or of a model"
            );
        };
        let scale = scale_of(&source)?;
        let threads = self.threads.or_else(|| i32::try_from(scale.rollout().threads).ok());
        let device = device::set_up(self.device, threads)?;
        let usual = if device == Device::Cpu { Dtype::F32 } else { Dtype::Bf16 };
        let dtype = self.dtype.unwrap_or(usual);
        let (rows, context) = match (scale, device) {
            (Scale::Tiny | Scale::Small, _) => (16, 4096),
            (Scale::Large, Device::Cpu) => (4, 4096),
            (Scale::Large, _) => (16, 8192),
        };
        let renamed = [
            (self.rows, "--rows", "--max-num-seqs"),
            (self.context, "--context", "--max-model-len"),
        ];
        for (_, old, new) in renamed.iter().filter(|(given, ..)| given.is_some()) {
            warn_of_old_name(old, new);
        }
        let rows = self.max_num_seqs.or(self.rows).unwrap_or(rows);
        let context = self.max_model_len.or(self.context).unwrap_or(context);
        let rollout = RolloutSettings {
            max_num_seqs: rows,
            max_model_len: context,
            cache: self.cache,
            ..scale.rollout()
        };
        let cache = cache_of(&[folder], &rollout, dtype, device)?;
        let (model, tokenizer) = policy::open_base(folder, dtype.kind(), device)?;
        let name = self.served_model_name.unwrap_or_else(|| served_name(&self.model));
        let config = InferenceConfig {
            listen: (self.host, self.port).into(),
            name: name.clone(),
            key: self.api_key,
            rows,
            context,
            cache,
            prefix_caching: !self.no_enable_prefix_caching,
            queue: self.queue,
        };
        let server = InferenceServer::bind(config.check()?, model, tokenizer)?;
        let address = server.address();
        tracing::info!(%folder, %address, model = name, "serving");
        println!("listening on http://{address}");
        server.run()?;
        Ok(String::new())
    }
}

/// A model's name without slashes: the last part of a path, or of a checkpoint in a run's folder the
/// name of the run.
fn served_name(model: &str) -> String {
    let path = Utf8Path::new(model);
    let real = path.canonicalize_utf8().ok();
    let name = |path: &Utf8Path| {
        let is_checkpoint = path.parent().and_then(Utf8Path::file_name) == Some("checkpoints");
        let named = if is_checkpoint { path.ancestors().nth(2)? } else { path };
        named.file_name().map(str::to_owned)
    };
    // A path such as `.` has no name of its own.
    name(path).or_else(|| name(real.as_deref()?)).unwrap_or_else(|| model.to_owned())
}

/// A key that a client can send.
fn key(secret: &str) -> std::result::Result<Token, BadToken> {
    Token::new(secret, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn served_name_is_the_last_part_of_a_path_or_the_run_of_a_checkpoint() {
        for (model, name) in [
            ("qwen3-8b", "qwen3-8b"),
            ("generated/quickstart/grpo", "grpo"),
            ("generated/quickstart/grpo/", "grpo"),
            ("/runs/grpo/checkpoints/best", "grpo"),
            ("grpo/checkpoints/step-000040/", "grpo"),
        ] {
            assert_eq!(served_name(model), name, "{model}");
        }
        let here = std::env::current_dir().unwrap();
        assert_eq!(
            Some(served_name(".").as_str()),
            here.file_name().and_then(|name| name.to_str())
        );
    }
}
