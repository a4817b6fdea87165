//! What guidance costs rollouts: the same episodes without people, and with a person in the same process who
//! reads every turn and has nothing to say.
//!
//! ```text
//! cargo bench -p rl --bench guidance -- [--pairs 6] [--episodes 16] [--rows 16] [--json FILE]
//! ```
//! The policy is `tiny` with random weights; one token in so many ends a turn. The environment, `household`,
//! answers at once, so that nothing but the engine and the guide's store, on a disk, takes time. Each pair
//! plays both, in turn the one and the other first. Guided prompts have two sentences more.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

use agents::guide::advice::guided_system;
use agents::guide::channel::OnLost;
use agents::guide::person::{LockstepPerson, PersonRules};
use agents::guide::store::{Store, list_conversations};
use agents::trajectory::Source;
use anyhow::{Context as _, Result, bail, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use rl::generate::NativeGenerator;
use rl::model::{Qwen3, Qwen3Config};
use rl::rollout::{
    EpisodeRequest, Policy, RolloutContext, RolloutGuide, RolloutResult, RolloutSettings, rollout,
};
use rl::run::stop::Stop;
use rl::run::watchdog::Heartbeat;
use rl::text::tokenizer::{Pieces, Tokenizer};
use rl::train::presets::Scale;
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;
use tasks::stream::Stream;
use tasks::task::TaskId;
use tch::{Device, Kind};
use worlds::{Environment, Part, WorldName};

/// Whom rules never make speak: what they look for is in no turn.
const IDLE: &str = r#"
name = "idle"
[[rule]]
name = "never"
wrote = "a text that no turn has"
say = ["Nothing."]
"#;

#[derive(Debug, Parser)]
struct GuidanceArgs {
    /// Pairs of rollouts.
    #[arg(long, default_value_t = 6)]
    pairs: usize,
    /// Episodes of a rollout.
    #[arg(long, default_value_t = 16)]
    episodes: u64,
    /// Of which generate at once.
    #[arg(long, default_value_t = 16)]
    rows: usize,
    /// Tokens of a turn, in the mean. Real policies' scripts have hundreds.
    #[arg(long, default_value_t = 64)]
    turn_tokens: usize,
    /// Where to write everything that was measured.
    #[arg(long)]
    json: Option<Utf8PathBuf>,
    /// Cargo passes this.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Sampled tokens per second of a pair.
#[derive(Debug, Serialize)]
struct GuidanceResult {
    alone: f64,
    guided: f64,
    ratio: f64,
    /// Turns of an episode, in the mean.
    turns: f64,
}

struct Scene {
    world: Box<dyn Environment>,
    items: Vec<TaskId>,
    tokenizer: Tokenizer,
    model: Qwen3,
    settings: RolloutSettings,
    episodes: u64,
}

impl Scene {
    fn new(args: &GuidanceArgs) -> Result<Self> {
        let world = WorldName::Household.generate(Part::Train, worlds::Scale::Tiny, 1)?;
        let items: Vec<TaskId> = world.items().into_iter().cloned().collect();
        let mut texts = Vec::new();
        for item in items.iter().take(50) {
            let prompt = world.prompt(item)?;
            texts.push(format!("{}\n{}", guided_system(&prompt.system), prompt.user));
        }
        let tokenizer = Tokenizer::train(&texts, 800, Pieces::Words)?;
        let size = i64::try_from(tokenizer.vocab_size())?;
        let eos_token_ids = (0..size).step_by(args.turn_tokens).collect();
        let config = Qwen3Config { eos_token_ids, ..Qwen3Config::tiny(size, 1, 2) };
        let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(1));
        let settings = RolloutSettings {
            max_num_seqs: args.rows,
            max_model_len: 8192,
            // An episode is over with a turn that does not end: next to none.
            turn_tokens: 8 * args.turn_tokens,
            ..Scale::Tiny.rollout()
        };
        Ok(Self { world, items, tokenizer, model, settings, episodes: args.episodes })
    }

    /// Sampled tokens per second of a rollout, and turns of an episode.
    fn play(&self, guide: Option<RolloutGuide<'_>>) -> Result<(f64, f64)> {
        let mut generator = NativeGenerator::new(&self.model, self.settings.capacity());
        let context = RolloutContext {
            world: &*self.world,
            settings: &self.settings,
            guide,
            stop: &Stop::default(),
            heartbeat: &Heartbeat::default(),
        };
        let policy = Policy { name: "random", tokenizer: &self.tokenizer };
        let stream = Stream::root(2);
        let jobs: Vec<EpisodeRequest<'_>> = self
            .items
            .iter()
            .cycle()
            .zip(0..self.episodes)
            .map(|(task, attempt)| EpisodeRequest { task, attempt, stream: stream.index(attempt) })
            .collect();
        let began = Instant::now();
        let rollout = rollout(&mut generator, policy, context, &jobs, &mut |_| Ok(()))?;
        let seconds = began.elapsed().as_secs_f64();
        let (mut tokens, mut turns) = (0, 0);
        for played in rollout.played {
            let trajectory = match played {
                RolloutResult::Finished { trajectory, .. } => trajectory,
                RolloutResult::Fault { fault, .. } => bail!("an episode broke: {fault}"),
            };
            ensure!(trajectory.guidance.is_empty(), "the idle person spoke");
            let said = trajectory.segments.iter().filter(|it| it.source == Source::Model);
            tokens += said.map(|segment| segment.ids.len()).sum::<usize>();
            turns += trajectory.turns.len();
        }
        Ok((tokens as f64 / seconds, turns as f64 / self.episodes as f64))
    }

    /// The same with a person who reads along, over a store in a folder of its own.
    fn play_guided(&self) -> Result<(f64, f64)> {
        let folder = tempfile::tempdir()?;
        let path = Utf8Path::from_path(folder.path()).context("a folder whose name is UTF-8")?;
        let store = Arc::new(Store::open(path)?);
        let person = LockstepPerson::new(store, PersonRules::from_toml(IDLE)?, OnLost::Continue)?;
        let rate = self.play(Some(RolloutGuide { source: &person, turns: 25, feedback: None }))?;
        let conversations = list_conversations(path)?.len() as u64;
        ensure!(conversations == self.episodes, "{conversations} conversations were kept");
        Ok(rate)
    }
}

fn main() -> Result<()> {
    let args = GuidanceArgs::parse();
    let counts = [args.pairs, args.rows, args.turn_tokens];
    ensure!(counts.iter().all(|&count| count > 0) && args.episodes > 0, "at least one of each");
    tch::set_num_threads(1);
    let scene = Scene::new(&args)?;
    println!(
        "{} episodes, {} at a time, turns of some {} tokens\n",
        args.episodes, args.rows, args.turn_tokens
    );
    println!("pair  alone, tokens/s  guided, tokens/s  ratio  turns");
    // What is done once is done before.
    scene.play(None)?;
    let mut results = Vec::new();
    for pair in 0..args.pairs {
        let ((alone, turns), (guided, _)) = if pair % 2 == 0 {
            let alone = scene.play(None)?;
            (alone, scene.play_guided()?)
        } else {
            let guided = scene.play_guided()?;
            (scene.play(None)?, guided)
        };
        let ratio = guided / alone;
        println!("{pair:4}  {alone:15.0}  {guided:16.0}  {ratio:5.3}  {turns:5.1}");
        results.push(GuidanceResult { alone, guided, ratio, turns });
    }
    let mut ratios: Vec<f64> = results.iter().map(|result| result.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let half = ratios.len() / 2;
    let median = if ratios.len() % 2 == 1 {
        ratios[half]
    } else {
        f64::midpoint(ratios[half - 1], ratios[half])
    };
    println!("\nmedian {median:.3}");
    if let Some(path) = &args.json {
        tasks::files::write_json(path, &results)?;
    }
    Ok(())
}
