//! From `--model` to players, one for each run.

use crate::cli::ModelArgs;
use agents::automind::engineer::{Engineer, EngineerSkill};
use agents::reference;
use agents::run::player::{ChatPlayer, Player};
use agents::scaffold::fixed::FixedScript;
use agents::scaffold::mutator::Mutator;
use anyhow::{Context as _, Result, bail};
use camino::Utf8Path;
use fs_err as fs;
use llm::{CallRecord, ChatClient, ChatModel, Endpoints, ModelName, Price, PriceList, Replay};
use std::sync::Arc;
use tasks::metrics::Direction;
use tasks::stream::Stream;
use tasks::task::Task;

/// The script that submits the sample. It cannot measure itself, and says so with the worst score.
const SAMPLE: &str = include_str!("sample.py");

/// Who answers in all runs of a command.
pub(crate) enum Players {
    /// A chat model, under the provider's name.
    Chat {
        chat: Arc<dyn ChatModel>,
        model: String,
        calls: Option<Arc<CallRecord>>,
        price: Option<Price>,
    },
    /// A script, under a name.
    Script { name: String, code: String },
    /// The reference solution of each competition.
    Reference,
    /// The mutating player.
    Mutator,
    /// The scripted engineer.
    Engineer(EngineerSkill),
}

impl Players {
    /// Opens the model that the flags name. Calls are booked in `out`.
    pub(crate) fn open(args: &ModelArgs, out: &Utf8Path) -> Result<Self> {
        if let Some(name) = args.model.strip_prefix("script:") {
            return match name {
                "mutator" => Ok(Self::Mutator),
                "engineer" => Ok(Self::Engineer(EngineerSkill::default())),
                skilled if skilled.starts_with("engineer:") => {
                    let skill = skilled.trim_start_matches("engineer:");
                    Ok(Self::Engineer(EngineerSkill::from_text(skill)?))
                }
                "reference" => Ok(Self::Reference),
                "sample" => Ok(Self::Script { name: "sample".to_owned(), code: SAMPLE.to_owned() }),
                path if Utf8Path::new(path).is_file() => Ok(Self::Script {
                    name: Utf8Path::new(path).file_stem().unwrap_or(path).to_owned(),
                    code: fs::read_to_string(path)?,
                }),
                other => bail!(
                    "there is no script `{other}`: give `script:mutator`, `script:engineer`, \
                     `script:sample`, `script:reference` or `script:FILE`"
                ),
            };
        }
        let endpoints = match &args.models {
            None => Endpoints::builtin(),
            Some(path) => Endpoints::from_toml(&fs::read_to_string(path)?)
                .with_context(|| format!("failed to use the models in `{path}`"))?,
        };
        let ModelName { model, free, .. } = endpoints.model(&args.model)?;
        if let Some(path) = &args.replay {
            let replay = Replay::open(path).with_context(|| format!("failed to read `{path}`"))?;
            let chat: Arc<dyn ChatModel> = Arc::new(replay);
            return Ok(Self::Chat { chat, model: model.to_owned(), calls: None, price: None });
        }
        let prices = match &args.prices {
            None => PriceList::default(),
            Some(path) => PriceList::from_file(path)
                .with_context(|| format!("failed to use the prices in `{path}`"))?,
        };
        let price = if free { Some(Price::FREE) } else { prices.price(model) };
        if price.is_none() && args.budget_usd.is_some() {
            bail!(
                "`--budget-usd` needs the price of `{model}`; add to a file, in US dollars per \
                 million tokens, and name it with `--prices`:\n\n[[price]]\nmodel = \
                 \"{model}\"\ninput = \"1.00\"\noutput = \"5.00\"\n\nor set `free = true` for an \
                 endpoint of your own"
            );
        }
        let (endpoint, model) = endpoints.resolve(&args.model)?;
        let model = model.to_owned();
        let client = ChatClient::new(endpoint, None)?;
        fs::create_dir_all(out)?;
        let calls = CallRecord::open(&out.join("calls.jsonl"), prices, args.budget_usd)
            .context("failed to open the record of calls")?;
        let calls = Arc::new(calls);
        let client = client.booked_in(Arc::clone(&calls));
        client
            .probe(&model)
            .with_context(|| format!("the model `{}` does not answer", args.model))?;
        Ok(Self::Chat { chat: Arc::new(client), model, calls: Some(calls), price })
    }

    /// The player for one run on `task`.
    pub(crate) fn player(
        &self,
        task: &Task,
        direction: Direction,
        seed: u64,
    ) -> Result<Box<dyn Player>> {
        Ok(match self {
            Self::Chat { chat, model, .. } => {
                // Runs of one command differ in task and seed; 32 bits tell them apart.
                let run = Stream::root(seed).child(task.id().as_str()).seed() >> 32;
                Box::new(ChatPlayer::new(Arc::clone(chat), model, run))
            }
            Self::Script { name, code } => Box::new(FixedScript::new(name, code)),
            Self::Reference => match reference::script(task.id().as_str()) {
                Some(code) => Box::new(FixedScript::new("reference", code)),
                None => bail!(
                    "there is no reference script for `{}`, only for the 22 competitions of \
                     mlebench-lite",
                    task.id()
                ),
            },
            Self::Engineer(skill) => Box::new(Engineer::new(seed, *skill)),
            Self::Mutator => match Mutator::new(task, direction, seed)? {
                Some(mutator) => Box::new(mutator),
                None => bail!(
                    "`script:mutator` writes columns of a table, and task `{}` asks for something \
                     else",
                    task.id()
                ),
            },
        })
    }

    /// The name of the player in reports.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Chat { model, .. } => model,
            Self::Script { name, .. } => name,
            Self::Reference => "reference",
            Self::Mutator => "mutator",
            Self::Engineer(_) => "engineer",
        }
    }

    /// The chance that a line which it writes is broken, where that is known.
    pub(crate) fn slip(&self) -> Option<f64> {
        match self {
            Self::Engineer(skill) => Some(skill.slip),
            Self::Chat { .. } | Self::Script { .. } | Self::Reference | Self::Mutator => None,
        }
    }

    /// What a token costs, if that is known.
    pub(crate) fn price(&self) -> Option<Price> {
        match self {
            Self::Chat { price, .. } => *price,
            Self::Script { .. } | Self::Reference | Self::Mutator | Self::Engineer(_) => {
                Some(Price::FREE)
            }
        }
    }

    /// Money spent so far, in words for people; empty where nothing is booked.
    pub(crate) fn spent(&self) -> String {
        match self {
            Self::Chat { calls: Some(calls), .. } => format!(", {}", calls.totals().spent),
            _ => String::new(),
        }
    }
}
