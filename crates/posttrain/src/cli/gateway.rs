//! Flags of `posttrain run` on chat models: those that an agent may ask, and what they may take.

use super::UsageError;
use super::model_files::ModelFiles;
use anyhow::Result;
use clap::Args;
use llm::MicroUsd;
use posttrain::gateway::{Caps, GatewaySettings};
use std::convert::Infallible;
use std::str::FromStr;

#[derive(Debug, Args)]
pub(super) struct GatewayArgs {
    /// Chat models that an agent may ask whose `agent.toml` names one: each `ENDPOINT:NAME`, or
    /// `replay:FILE`, a recording; with commas between them. The first is the agent's `CHAT_MODEL`.
    #[arg(long, value_name = "MODELS")]
    gateway_models: Option<ModelNames>,
    /// Tokens that an agent may take from them, read and written together; default: no limit.
    #[arg(long, value_name = "COUNT")]
    gateway_tokens: Option<u64>,
    /// Most money to spend on them in US dollars, in each run; default: no limit.
    #[arg(long, value_name = "AMOUNT")]
    gateway_cost: Option<MicroUsd>,
    #[command(flatten)]
    files: ModelFiles,
    /// Keep what was said with chat models in `sealed/recording.jsonl`, for `replay:FILE`.
    #[arg(long)]
    record: bool,
}

/// Names with commas between them.
#[derive(Debug, Clone)]
struct ModelNames(Vec<String>);

impl FromStr for ModelNames {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(Self(names.map(str::to_owned).collect()))
    }
}

impl GatewayArgs {
    /// The settings; none if no model is named.
    pub(super) fn settings(&self) -> Result<Option<GatewaySettings>> {
        let Some(ModelNames(models)) = &self.gateway_models else {
            let caps = self.gateway_tokens.is_some() || self.gateway_cost.is_some();
            if caps || self.record {
                let what = "--gateway-tokens, --gateway-cost and --record are about chat models; name \
                            some with --gateway-models";
                return Err(UsageError(what.to_owned()).into());
            }
            return Ok(None);
        };
        let endpoints = self.files.endpoints()?;
        let prices = self.files.prices()?;
        Ok(Some(GatewaySettings {
            models: models.clone(),
            caps: Caps { tokens: self.gateway_tokens, cost: self.gateway_cost },
            endpoints,
            prices,
            is_recorded: self.record,
        }))
    }
}
