//! Flags of `posttrain ft` and `posttrain tune` on who decides what to try, and on chat models.

use super::UsageError;
use super::model_files::ModelFiles;
use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use llm::{
    CacheUse, CachedModel, CallRecord, ChatClient, ChatModel, ChatRecorder, Endpoints, MicroUsd,
    ModelName, Replay,
};
use posttrain::ft::{Teacher, TeacherModel, Teachers};
use std::sync::Arc;

/// The planners without a model.
const SCRIPTED: &str = "scripted";
pub(super) const MANUAL: &str = "manual";
/// Answers of chat models, kept in the folder of a run so that none is paid for twice.
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
    /// A chat model that writes for the data where the planner wishes: `weak=ENDPOINT:NAME`, a cheap one, or
    /// `strong=ENDPOINT:NAME`, a dear one; may be given for both.
    #[arg(long = "teacher", value_name = "TIER=ENDPOINT:NAME", value_parser = of_tier)]
    teachers: Vec<(Teacher, String)>,
    /// Answer from a recording of the same run instead of asking: the `recording.jsonl` of a run.
    #[arg(long, value_name = "FILE")]
    replay: Option<Utf8PathBuf>,
    /// Most money to spend on chat models in US dollars; default: no limit.
    #[arg(long, value_name = "AMOUNT")]
    budget_usd: Option<MicroUsd>,
    /// Tokens of one answer of the planner, thoughts included.
    #[arg(long, value_name = "COUNT", default_value_t = 16_000)]
    pub(super) answer_tokens: u32,
    #[command(flatten)]
    files: ModelFiles,
}

/// The chat models of a run.
pub(super) struct ChatModels {
    /// The one that plans, with the provider's name of it.
    pub(super) planner: Option<(Box<dyn ChatModel>, String)>,
    /// Those that scripts may ask.
    pub(super) teachers: Teachers,
    /// What they have cost; none where a recording answers, or there is none.
    pub(super) calls: Option<Arc<CallRecord>>,
}

/// Where answers come from.
enum AnswerSource<'a> {
    /// A recording.
    Replay(Arc<Replay>),
    /// The providers, of whose answers this folder keeps all.
    Providers(&'a Utf8Path, Arc<CallRecord>),
}

/// A tier and its model.
fn of_tier(text: &str) -> Result<(Teacher, String), String> {
    let (tier, model) = text.split_once('=').ok_or("write it as TIER=ENDPOINT:NAME")?;
    let tiers = [Teacher::Weak, Teacher::Strong];
    let tier = tiers.into_iter().find(|it| it.name() == tier);
    let tier = tier.ok_or("the tier is `weak` or `strong`")?;
    Ok((tier, model.to_owned()))
}

impl PlannerArgs {
    /// Refuses flags that cannot be meant, before anything is begun.
    pub(super) fn check(&self) -> Result<()> {
        let models = self.models();
        if models.is_empty() && (self.replay.is_some() || self.budget_usd.is_some()) {
            let what = "--replay and --budget-usd are about chat models; name one with --planner \
                        ENDPOINT:NAME or with --teacher";
            return Err(UsageError(what.to_owned()).into());
        }
        for tier in [Teacher::Weak, Teacher::Strong] {
            if self.teachers.iter().filter(|(it, _)| *it == tier).count() > 1 {
                let tier = tier.name();
                return Err(
                    UsageError(format!("there is more than one `--teacher {tier}=…`")).into()
                );
            }
        }
        let (endpoints, prices) = (self.files.endpoints()?, self.files.prices()?);
        for model in models {
            let ModelName { model: name, free, .. } = named(&endpoints, model)?;
            let is_paid = self.replay.is_none() && self.budget_usd.is_some() && !free;
            if is_paid && prices.price(name).is_none() {
                return Err(UsageError(format!(
                    "`--budget-usd` needs the price of `{name}`; add it to a file, and name that with `--prices`"
                ))
                .into());
            }
        }
        Ok(())
    }

    /// The planner, if it is a chat model.
    fn planner_model(&self) -> Option<&str> {
        Some(self.planner.as_str()).filter(|name| ![SCRIPTED, MANUAL].contains(name))
    }

    /// All chat models as the flags name them.
    fn models(&self) -> Vec<&str> {
        let teachers = self.teachers.iter().map(|(_, model)| model.as_str());
        self.planner_model().into_iter().chain(teachers).collect()
    }

    /// The tiers and the names of their models: with others, a run is another one.
    pub(super) fn teachers(&self) -> Vec<(&'static str, &str)> {
        let mut teachers: Vec<_> =
            self.teachers.iter().map(|(tier, model)| (tier.name(), model.as_str())).collect();
        teachers.sort_unstable();
        teachers
    }

    /// Opens the models, whose answers and cost are kept in the folder `out`.
    pub(super) fn open(&self, out: &Utf8Path) -> Result<ChatModels> {
        if self.models().is_empty() {
            return Ok(ChatModels { planner: None, teachers: Teachers::default(), calls: None });
        }
        let (source, endpoints) = (self.source(out)?, self.files.endpoints()?);
        let open = |model: &str| -> Result<(Box<dyn ChatModel>, String)> {
            let name = named(&endpoints, model)?.model.to_owned();
            Ok((source.open(&endpoints, model)?, name))
        };
        let teacher = |tier: Teacher| -> Result<Option<TeacherModel>> {
            let Some((_, model)) = self.teachers.iter().find(|(it, _)| *it == tier) else {
                return Ok(None);
            };
            let (model, name) = open(model)?;
            Ok(Some(TeacherModel::new(model, name)))
        };
        let teachers =
            Teachers { weak: teacher(Teacher::Weak)?, strong: teacher(Teacher::Strong)? };
        let planner = self.planner_model().map(open).transpose()?;
        let calls = match &source {
            AnswerSource::Replay(_) => None,
            AnswerSource::Providers(_, calls) => Some(Arc::clone(calls)),
        };
        Ok(ChatModels { planner, teachers, calls })
    }

    fn source<'a>(&self, out: &'a Utf8Path) -> Result<AnswerSource<'a>> {
        if let Some(path) = &self.replay {
            let replay = Replay::open(path).with_context(|| format!("failed to read `{path}`"))?;
            return Ok(AnswerSource::Replay(Arc::new(replay)));
        }
        let calls = CallRecord::open(&out.join(CALLS), self.files.prices()?, self.budget_usd)
            .context("failed to open the record of calls")?;
        Ok(AnswerSource::Providers(out, Arc::new(calls)))
    }
}

impl AnswerSource<'_> {
    /// The model that a flag names.
    fn open(&self, endpoints: &Endpoints, model: &str) -> Result<Box<dyn ChatModel>> {
        let (out, calls) = match self {
            Self::Replay(replay) => return Ok(Box::new(Arc::clone(replay))),
            Self::Providers(out, calls) => (out, calls),
        };
        let usage = |error: &dyn std::fmt::Display| UsageError(error.to_string());
        let (endpoint, _) = endpoints.resolve(model).map_err(|error| usage(&error))?;
        let client = ChatClient::new(endpoint, None).map_err(|error| usage(&error))?;
        let client = client.booked_in(Arc::clone(calls));
        let (answers, calls) = (out.join(ANSWERS), Some(Arc::clone(calls)));
        let kept = CachedModel::new(client, &answers, CacheUse::ReadAndWrite, calls);
        let recorded = ChatRecorder::new(kept, &out.join(RECORDING));
        Ok(Box::new(recorded.context("failed to open the recording")?))
    }
}

/// What a name of a model says.
fn named<'a>(endpoints: &'a Endpoints, model: &'a str) -> Result<ModelName<'a>> {
    Ok(endpoints.model(model).map_err(|error| UsageError(error.to_string()))?)
}
