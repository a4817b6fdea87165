//! Chat models for the roles of a corpus: from flags and files to models that answer.

use crate::cli::{ModelFiles, ModelFlags};
use crate::{INCOMPLETE, complain, say};
use anyhow::{Context as _, Result, bail};
use camino::Utf8Path;
use factory::corpus::folder::{self, CACHE, CALLS};
use factory::corpus::forecast::{CostForecast, TaskCost};
use factory::corpus::pipeline::{self, PipelineError};
use factory::generator::GeneratorJail;
use factory::roles::model::{ModelPrograms, ModelRoles, RoleModel};
use factory::spec::config::Options;
use factory::spec::role_settings::{RoleSettings, RolesTable};
use factory::verify::run::JailedTrial;
use fs_err as fs;
use llm::{
    CacheUse, CachedModel, CallRecord, ChatClient, ChatError, ChatModel, Endpoints, ModelName,
    Price, PriceList, Replay,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Where models are, what they cost, and which of them play roles.
pub(crate) struct ModelsFile {
    endpoints: Endpoints,
    prices: PriceList,
    /// The table `[roles]`.
    pub(crate) roles: RolesTable,
}

/// The part of a file of models that [`Endpoints`] leaves to this program.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RolesFile {
    #[serde(default)]
    roles: RolesTable,
    #[serde(default, rename = "endpoint")]
    _endpoint: IgnoredAny,
}

/// Models that play the roles of a run.
pub(crate) struct AskedModels {
    /// The roles.
    pub(crate) roles: ModelRoles,
    /// Where calls are booked; nowhere if answers come from a recording.
    pub(crate) calls: Option<Arc<CallRecord>>,
}

impl ModelsFile {
    /// Reads the files that flags name.
    pub(crate) fn read(files: &ModelFiles) -> Result<Self> {
        let (endpoints, roles) = match &files.models {
            None => (Endpoints::builtin(), RolesTable::default()),
            Some(path) => {
                let text = fs::read_to_string(path)?;
                let malformed = || format!("failed to use the models in `{path}`");
                let endpoints = Endpoints::from_toml(&text).with_context(malformed)?;
                let file: RolesFile = toml::from_str(&text).with_context(malformed)?;
                (endpoints, file.roles)
            }
        };
        let prices = match &files.prices {
            None => PriceList::default(),
            Some(path) => PriceList::from_file(path)
                .with_context(|| format!("failed to use the prices in `{path}`"))?,
        };
        Ok(Self { endpoints, prices, roles })
    }

    /// The provider's name and the price of a model by its name in settings; no price if it is not
    /// known.
    fn model(&self, name: &str) -> Result<(String, Option<Price>)> {
        let ModelName { model, free, .. } = self.endpoints.model(name)?;
        let price = if free { Some(Price::FREE) } else { self.prices.price(model) };
        Ok((model.to_owned(), price))
    }

    /// Opens the models of `settings` and asks each for one word, unless a recording answers.
    pub(crate) fn open(
        &self,
        settings: RoleSettings,
        flags: &ModelFlags,
        options: &Options,
    ) -> Result<AskedModels> {
        let programs = programs(&settings, options)?;
        if let Some(path) = &flags.replay {
            let replay = Replay::open(path).with_context(|| format!("failed to read `{path}`"))?;
            let chat: Arc<dyn ChatModel> = Arc::new(replay);
            let mut models = BTreeMap::new();
            for name in settings.models() {
                let (model, price) = self.model(name)?;
                let chat = Arc::clone(&chat);
                models.insert(name.to_owned(), RoleModel { chat, name: model, price });
            }
            let roles = ModelRoles::new(settings, models, programs)?;
            return Ok(AskedModels { roles, calls: None });
        }
        // Before anything is written: is this a place for a corpus, and may models be asked?
        folder::usable(&options.out)?;
        let mut clients: BTreeMap<String, (ChatClient, String, Option<Price>)> = BTreeMap::new();
        for name in settings.models() {
            let (endpoint, _) = self.endpoints.resolve(name)?;
            let (model, price) = self.model(name)?;
            if price.is_none() && flags.budget_usd.is_some() {
                bail!(
                    "`--budget-usd` needs the price of `{model}`; add to a file, in US dollars per \
                     million tokens, and name it with `--prices`:\n\n[[price]]\nmodel = \
                     \"{model}\"\ninput = \"1.00\"\noutput = \"5.00\"\n\nor set `free = true` for \
                     an endpoint of your own"
                );
            }
            // One without calls is enough to see that the endpoint's settings can be used.
            clients.insert(name.to_owned(), (ChatClient::new(endpoint, None)?, model, price));
        }
        fs::create_dir_all(&options.out)?;
        let calls =
            CallRecord::open(&options.out.join(CALLS), self.prices.clone(), flags.budget_usd)
                .context("failed to open the record of calls")?;
        let calls = Arc::new(calls);
        let cache = flags.cache.clone().unwrap_or_else(|| options.out.join(CACHE));
        let mut models = BTreeMap::new();
        for (name, (client, model, price)) in clients {
            let client = client.booked_in(Arc::clone(&calls));
            client.probe(&model).with_context(|| format!("the model `{name}` does not answer"))?;
            let chat = kept(client, &cache, flags.no_cache, &calls);
            models.insert(name, RoleModel { chat, name: model, price });
        }
        Ok(AskedModels { roles: ModelRoles::new(settings, models, programs)?, calls: Some(calls) })
    }

    /// Asks models for one word each and shows how they answer; returns how many do not.
    pub(crate) fn check(&self, names: &[String]) -> Result<usize> {
        let settings = RoleSettings::new(&self.roles, None)?;
        let names: Vec<&str> = if names.is_empty() {
            settings.models()
        } else {
            names.iter().map(String::as_str).collect()
        };
        if names.is_empty() {
            bail!("name a model, for example `factory models check openai:NAME`");
        }
        let mut failed = 0;
        for name in names {
            match self.check_one(name) {
                Ok(text) => say(&text),
                Err(error) => {
                    failed += 1;
                    say(&format!("{name}: no answer: {error:#}"));
                }
            }
        }
        Ok(failed)
    }

    fn check_one(&self, name: &str) -> Result<String> {
        let (endpoint, model) = self.endpoints.resolve(name)?;
        let url = endpoint.base_url.to_string();
        let price = match self.model(name)?.1 {
            Some(price) if price == Price::FREE => "free".to_owned(),
            Some(price) => {
                format!("{} in and {} out a million tokens", price.input, price.output)
            }
            None => "price unknown".to_owned(),
        };
        let client = ChatClient::new(endpoint, None)?;
        let started = Instant::now();
        let completion = client.probe(model)?;
        let milliseconds = started.elapsed().as_millis();
        let taken = client.capabilities();
        let yes = |taken: bool| if taken { "yes" } else { "no" };
        Ok(format!(
            "{name}: answers as `{}` in {milliseconds} ms at {url}\n  {price}\n  schema {:?}, \
             temperature {}, seed {}, effort {}, stream {}",
            completion.model,
            taken.schema,
            yes(taken.temperature),
            yes(taken.seed),
            yes(taken.effort),
            yes(taken.stream),
        ))
    }
}

/// Starts the jail for programs of models, if a model is to write some.
fn programs(settings: &RoleSettings, options: &Options) -> Result<Option<ModelPrograms>> {
    if !settings.has_programs() {
        return Ok(None);
    }
    let generators = GeneratorJail::start(options.threads())
        .context("failed to start the jail in which programs of models run")?;
    let evaluators = Arc::new(JailedTrial::new(generators.sandbox().clone()));
    Ok(Some(ModelPrograms { generators, evaluators }))
}

/// A client whose answers are kept in a cache, and taken from there unless `no_cache` is set.
fn kept(
    client: ChatClient,
    cache: &Utf8Path,
    no_cache: bool,
    calls: &Arc<CallRecord>,
) -> Arc<dyn ChatModel> {
    let client = client.keeping_answers(cache);
    if no_cache {
        return Arc::new(client);
    }
    let calls = Some(Arc::clone(calls));
    Arc::new(CachedModel::new(client, cache, CacheUse::ReadOnly, calls))
}

/// What a run would ask of models, and what that would cost.
pub(crate) fn forecast(
    file: &ModelsFile,
    settings: &RoleSettings,
    options: &Options,
) -> Result<String> {
    let open = pipeline::open_slots(options)?;
    let Some(per_task) = TaskCost::new(settings, &open.finished) else {
        return Ok(format!("{} slots for the built-in roles; no model is asked", open.builtin));
    };
    let mut usd = Some(0.0);
    let models = settings.models();
    for name in &models {
        // Where several models share the work, each is taken to do an equal part.
        let (_, price) = file.model(name)?;
        let part = open.models as f64 / models.len() as f64 / 1e12;
        usd = usd.zip(price).map(|(sum, price)| {
            let input = price.input.0 as f64 * per_task.prompt_tokens;
            let output = price.output.0 as f64 * per_task.completion_tokens;
            sum + part * (input + output)
        });
    }
    let concurrency = options.concurrency;
    Ok(CostForecast { slots: open.models, per_task, usd, concurrency }.to_string())
}

/// How a run ends that a role or a file ended: with an error, or, if the budget is used up, with
/// what was made so far.
pub(crate) fn stopped(error: PipelineError, options: &Options, spent: &str) -> Result<ExitCode> {
    let budget = match &error {
        PipelineError::Role { source, .. } => match source.source.downcast_ref::<ChatError>() {
            Some(ChatError::Budget { reason }) => Some(reason),
            _ => None,
        },
        _ => None,
    };
    let Some(reason) = budget else { return Err(error.into()) };
    complain(&format!("stopped by the budget{spent}: {reason}"));
    complain(&format!(
        "finished tasks are in `{}`; run the same command with a higher `--budget-usd` to continue",
        options.out
    ));
    Ok(ExitCode::from(INCOMPLETE))
}
