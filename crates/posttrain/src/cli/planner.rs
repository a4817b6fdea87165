//! Flags of `posttrain ft` on who decides what to try.

use super::UsageError;
use super::model_files::ModelFiles;
use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use llm::{
    CacheUse, CachedModel, CallRecord, ChatClient, ChatModel, ChatRecorder, Endpoints, MicroUsd,
    ModelName, PriceList, Replay,
};
use std::sync::Arc;

/// The planners without a model.
const SCRIPTED: &str = "scripted";
pub(super) const MANUAL: &str = "manual";
/// Answers of a chat model, kept in the folder of a run so that none is paid for twice.
const ANSWERS: &str = "answers";
/// The same as a recording.
const RECORDING: &str = "recording.jsonl";
/// What was asked, and what it cost.
const CALLS: &str = "calls.jsonl";

#[derive(Debug, Args)]
pub(super) struct PlannerArgs {
    /// Who decides what to try: `scripted`, a table from what went wrong to the next change; `manual`,
    /// two passes by rule, to compare with; or `ENDPOINT:NAME`, a chat model.
    #[arg(long, value_name = "NAME", default_value = SCRIPTED)]
    pub(super) planner: String,
    /// Answer from a recording of the same run instead of asking: the `recording.jsonl` of a run.
    #[arg(long, value_name = "FILE")]
    replay: Option<Utf8PathBuf>,
    /// Most money to spend on the model in US dollars; default: no limit.
    #[arg(long, value_name = "AMOUNT")]
    budget_usd: Option<MicroUsd>,
    /// Tokens of one answer, thoughts included.
    #[arg(long, value_name = "COUNT", default_value_t = 16_000)]
    pub(super) answer_tokens: u32,
    #[command(flatten)]
    files: ModelFiles,
}

/// What is known of a chat model before it is asked.
struct ChosenModel {
    endpoints: Endpoints,
    prices: PriceList,
    /// The provider's name of it.
    name: String,
}

/// A chat model that plans.
pub(super) struct PlannerModel {
    pub(super) chat: Box<dyn ChatModel>,
    /// The provider's name of it.
    pub(super) name: String,
    /// What it has cost; none where a recording answers.
    pub(super) calls: Option<Arc<CallRecord>>,
}

impl PlannerArgs {
    /// Refuses flags that cannot be meant, before anything is begun.
    pub(super) fn check(&self) -> Result<()> {
        self.chosen().map(drop)
    }

    /// What the flags name; none for a planner without a model.
    fn chosen(&self) -> Result<Option<ChosenModel>> {
        let is_about_models = self.replay.is_some() || self.budget_usd.is_some();
        if [SCRIPTED, MANUAL].contains(&self.planner.as_str()) {
            if is_about_models {
                let what = "--replay and --budget-usd are about a chat model; name one with --planner \
                            ENDPOINT:NAME";
                return Err(UsageError(what.to_owned()).into());
            }
            return Ok(None);
        }
        let (endpoints, prices) = (self.files.endpoints()?, self.files.prices()?);
        let ModelName { model, free, .. } =
            endpoints.model(&self.planner).map_err(|error| UsageError(error.to_string()))?;
        let name = model.to_owned();
        let is_paid = self.replay.is_none() && self.budget_usd.is_some() && !free;
        if is_paid && prices.price(&name).is_none() {
            return Err(UsageError(format!(
                "`--budget-usd` needs the price of `{name}`; add it to a file, and name that with `--prices`"
            ))
            .into());
        }
        Ok(Some(ChosenModel { endpoints, prices, name }))
    }

    /// Opens the model, whose answers and cost are kept in the folder `out`; none for `scripted`.
    pub(super) fn open(&self, out: &Utf8Path) -> Result<Option<PlannerModel>> {
        let Some(ChosenModel { endpoints, prices, name }) = self.chosen()? else {
            return Ok(None);
        };
        if let Some(path) = &self.replay {
            let replay = Replay::open(path).with_context(|| format!("failed to read `{path}`"))?;
            return Ok(Some(PlannerModel { chat: Box::new(replay), name, calls: None }));
        }
        let usage = |error: &dyn std::fmt::Display| UsageError(error.to_string());
        let (endpoint, _) = endpoints.resolve(&self.planner).map_err(|error| usage(&error))?;
        let calls = CallRecord::open(&out.join(CALLS), prices, self.budget_usd)
            .context("failed to open the record of calls")?;
        let calls = Arc::new(calls);
        let client = ChatClient::new(endpoint, None).map_err(|error| usage(&error))?;
        let client = client.booked_in(Arc::clone(&calls));
        let kept = CachedModel::new(
            client,
            &out.join(ANSWERS),
            CacheUse::ReadAndWrite,
            Some(Arc::clone(&calls)),
        );
        let recorded = ChatRecorder::new(kept, &out.join(RECORDING))
            .context("failed to open the recording")?;
        Ok(Some(PlannerModel { chat: Box::new(recorded), name, calls: Some(calls) }))
    }
}
