//! From `--model` and `--role` to players, one for each run.

use crate::cli::{KnowledgeSources, ModelArgs};
use agents::automind::engineer::{Engineer, EngineerSkill};
use agents::knowledge::ProviderEmbedder;
use agents::reference;
use agents::run::player::{Asked, ChatPlayer, Player};
use agents::run::role::{AgentRole, RolePlayers, names};
use agents::scaffold::fixed::FixedScript;
use agents::scaffold::mutator::Mutator;
use anyhow::{Context as _, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use llm::{
    CallRecord, ChatClient, ChatModel, EmbeddingModel, Endpoints, KeptEmbeddings, ModelName,
    NoEmbeddings, Price, PriceList, Replay,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use tasks::metrics::Direction;
use tasks::stream::Stream;
use tasks::task::Task;

/// The script that submits the sample. It cannot measure itself, and says so with the worst score.
const SAMPLE: &str = include_str!("sample.py");

/// Who answers in all runs of a command.
pub(crate) struct Players {
    /// Who answers what no role does.
    others: PlayerModel,
    /// Models of single roles.
    roles: BTreeMap<AgentRole, PlayerModel>,
    name: String,
    calls: Option<Arc<CallRecord>>,
    embedder: Option<ProviderEmbedder>,
}

/// A model that answers, or what stands for one.
enum PlayerModel {
    /// A chat model, under the provider's name.
    Chat { chat: Arc<dyn ChatModel>, model: String, price: Option<Price> },
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
    /// Opens the models that the flags name. Calls of all of them are booked in `out`.
    pub(crate) fn open(
        args: &ModelArgs,
        sources: Option<&KnowledgeSources>,
        out: &Utf8Path,
    ) -> Result<Self> {
        let mut desk = ModelDesk::new(args, out)?;
        let others = desk.open(&args.model)?;
        let mut roles = BTreeMap::new();
        for given in &args.roles {
            let (role, model) = given.split_once('=').with_context(|| {
                format!("`--role {given}` is not ROLE=MODEL, such as `coder=openai:NAME`")
            })?;
            let role: AgentRole = role.parse()?;
            let opened = desk.open(model).with_context(|| format!("there is no {role}"))?;
            if roles.insert(role, opened).is_some() {
                bail!("`--role {role}=` is given twice");
            }
        }
        let of_roles = roles.iter().map(|(role, model)| (*role, model.name().to_owned()));
        let name = names(others.name(), of_roles);
        let embedder = sources.map(|sources| desk.embedder(sources)).transpose()?.flatten();
        Ok(Self { others, roles, name, calls: desk.calls, embedder })
    }

    /// The player for one run on `task`.
    pub(crate) fn player(
        &self,
        task: &Task,
        direction: Direction,
        seed: u64,
    ) -> Result<Box<dyn Player>> {
        let others = self.others.player(task, direction, seed)?;
        if self.roles.is_empty() {
            return Ok(others);
        }
        let roles = self
            .roles
            .iter()
            .map(|(role, model)| Ok((*role, model.player(task, direction, seed)?)));
        Ok(Box::new(RolePlayers::new(others, roles.collect::<Result<_>>()?)))
    }

    /// The name of the players in reports.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether roles have models of their own.
    pub(crate) fn has_roles(&self) -> bool {
        !self.roles.is_empty()
    }

    /// What a token costs of what no role answers, if that is known.
    pub(crate) fn price(&self) -> Option<Price> {
        self.others.price()
    }

    /// What a token of an answer to a question costs, if that is known.
    pub(crate) fn price_of(&self, what: Asked) -> Option<Price> {
        let role = AgentRole::of(what).and_then(|role| self.roles.get(&role));
        role.unwrap_or(&self.others).price()
    }

    /// The chance that a line which it writes is broken, where that is known.
    pub(crate) fn slip(&self) -> Option<f64> {
        self.others.slip()
    }

    /// The chat model that answers what no role does, and the provider's name of it.
    pub(crate) fn chat(&self) -> Option<(&Arc<dyn ChatModel>, &str)> {
        match &self.others {
            PlayerModel::Chat { chat, model, .. } => Some((chat, model)),
            _ => None,
        }
    }

    /// Whose vectors texts are compared by, if a model was named for that.
    pub(crate) fn embedder(&self) -> Option<&ProviderEmbedder> {
        self.embedder.as_ref()
    }

    /// Money spent so far, in words for people; empty where nothing is booked.
    pub(crate) fn spent(&self) -> String {
        self.calls.as_ref().map(|calls| format!(", {}", calls.totals().spent)).unwrap_or_default()
    }
}

/// What models of one command share: endpoints, prices, the record of calls, a recording.
struct ModelDesk<'a> {
    args: &'a ModelArgs,
    out: Utf8PathBuf,
    endpoints: Endpoints,
    prices: PriceList,
    replay: Option<Arc<dyn ChatModel>>,
    calls: Option<Arc<CallRecord>>,
}

impl<'a> ModelDesk<'a> {
    fn new(args: &'a ModelArgs, out: &Utf8Path) -> Result<Self> {
        let endpoints = match &args.models {
            None => Endpoints::builtin(),
            Some(path) => Endpoints::from_toml(&fs::read_to_string(path)?)
                .with_context(|| format!("failed to use the models in `{path}`"))?,
        };
        let prices = match &args.prices {
            None => PriceList::default(),
            Some(path) => PriceList::from_file(path)
                .with_context(|| format!("failed to use the prices in `{path}`"))?,
        };
        let replay = match &args.replay {
            None => None,
            Some(path) => {
                let replay = Replay::open(path);
                let replay = replay.with_context(|| format!("failed to read `{path}`"))?;
                Some(Arc::new(replay) as Arc<dyn ChatModel>)
            }
        };
        Ok(Self { args, out: out.to_owned(), endpoints, prices, replay, calls: None })
    }

    /// Opens a model by its name in flags.
    fn open(&mut self, name: &str) -> Result<PlayerModel> {
        if let Some(script) = name.strip_prefix("script:") {
            return script_model(script);
        }
        let ModelName { model, free, .. } = self.endpoints.model(name)?;
        if let Some(replay) = &self.replay {
            let (chat, model) = (Arc::clone(replay), model.to_owned());
            return Ok(PlayerModel::Chat { chat, model, price: None });
        }
        let price = if free { Some(Price::FREE) } else { self.prices.price(model) };
        if price.is_none() && self.args.budget_usd.is_some() {
            bail!(
                "`--budget-usd` needs the price of `{model}`; add to a file, in US dollars per \
                 million tokens, and name it with `--prices`:\n\n[[price]]\nmodel = \
                 \"{model}\"\ninput = \"1.00\"\noutput = \"5.00\"\n\nor set `free = true` for an \
                 endpoint of your own"
            );
        }
        let (endpoint, model) = self.endpoints.resolve(name)?;
        let (model, client) = (model.to_owned(), ChatClient::new(endpoint, None)?);
        let client = client.booked_in(self.calls()?);
        client.probe(&model).with_context(|| format!("the model `{name}` does not answer"))?;
        Ok(PlayerModel::Chat { chat: Arc::new(client), model, price })
    }

    /// Opens the model that makes vectors, which are kept.
    fn embedder(&mut self, sources: &KnowledgeSources) -> Result<Option<ProviderEmbedder>> {
        let Some(name) = &sources.embedder else { return Ok(None) };
        let folder = sources.embeddings.clone().unwrap_or_else(|| self.out.join("embeddings"));
        let ModelName { model, .. } = self.endpoints.model(name)?;
        if self.replay.is_some() {
            let kept: Arc<dyn EmbeddingModel> =
                Arc::new(KeptEmbeddings::new(NoEmbeddings, &folder));
            return Ok(Some(ProviderEmbedder::new(kept, model)));
        }
        let (endpoint, model) = self.endpoints.resolve(name)?;
        let model = model.to_owned();
        let client = ChatClient::new(endpoint, None)?.booked_in(self.calls()?);
        let kept: Arc<dyn EmbeddingModel> = Arc::new(KeptEmbeddings::new(client, &folder));
        Ok(Some(ProviderEmbedder::new(kept, model)))
    }

    /// The record of the calls of all models, opened with the first of them.
    fn calls(&mut self) -> Result<Arc<CallRecord>> {
        if let Some(calls) = &self.calls {
            return Ok(Arc::clone(calls));
        }
        fs::create_dir_all(&self.out)?;
        let path = self.out.join("calls.jsonl");
        let calls = CallRecord::open(&path, self.prices.clone(), self.args.budget_usd)
            .context("failed to open the record of calls")?;
        Ok(Arc::clone(self.calls.insert(Arc::new(calls))))
    }
}

/// What `script:NAME` stands for.
fn script_model(name: &str) -> Result<PlayerModel> {
    match name {
        "mutator" => Ok(PlayerModel::Mutator),
        "engineer" => Ok(PlayerModel::Engineer(EngineerSkill::default())),
        skilled if skilled.starts_with("engineer:") => {
            let skill = skilled.trim_start_matches("engineer:");
            Ok(PlayerModel::Engineer(EngineerSkill::from_text(skill)?))
        }
        "reference" => Ok(PlayerModel::Reference),
        "sample" => Ok(PlayerModel::Script { name: "sample".to_owned(), code: SAMPLE.to_owned() }),
        path if Utf8Path::new(path).is_file() => Ok(PlayerModel::Script {
            name: Utf8Path::new(path).file_stem().unwrap_or(path).to_owned(),
            code: fs::read_to_string(path)?,
        }),
        other => bail!(
            "there is no script `{other}`: give `script:mutator`, `script:engineer`, \
             `script:sample`, `script:reference` or `script:FILE`"
        ),
    }
}

impl PlayerModel {
    fn player(&self, task: &Task, direction: Direction, seed: u64) -> Result<Box<dyn Player>> {
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

    fn name(&self) -> &str {
        match self {
            Self::Chat { model, .. } => model,
            Self::Script { name, .. } => name,
            Self::Reference => "reference",
            Self::Mutator => "mutator",
            Self::Engineer(_) => "engineer",
        }
    }

    /// The chance that a line which it writes is broken, where that is known.
    fn slip(&self) -> Option<f64> {
        match self {
            Self::Engineer(skill) => Some(skill.slip),
            Self::Chat { .. } | Self::Script { .. } | Self::Reference | Self::Mutator => None,
        }
    }

    /// What a token costs, if that is known.
    fn price(&self) -> Option<Price> {
        match self {
            Self::Chat { price, .. } => *price,
            Self::Script { .. } | Self::Reference | Self::Mutator | Self::Engineer(_) => {
                Some(Price::FREE)
            }
        }
    }
}
