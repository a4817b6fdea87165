//! Episodes of a policy that knows nothing, against their limits.

use crate::corpus;
use agents::play::World;
use agents::scaffold::react::MleWorld;
use agents::script_cache::{CachedWorld, ScriptCache};
use agents::trajectory::{EpisodeEnding, Segment, Source, Trajectory};
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::SandboxOptions;
use rl::generate::engine::{CacheUse, EngineError, TurnEnd, TurnOptions};
use rl::generate::{ConversationId, Generated, Generator, NativeGenerator, Publication};
use rl::model::{Packed, Qwen3, Qwen3Config};
use rl::rollout::{
    ContextOverflow, EpisodeRequest, Policy, Rollout, RolloutContext, RolloutError, RolloutGuide,
    RolloutResult, RolloutSettings, rollout,
};
use rl::run::stop::Stop;
use rl::run::watchdog::Heartbeat;
use rl::text::tokenizer::{Pieces, Tokenizer};
use rl::train::loss;
use rl::train::presets::Scale;
use sandbox::env::TaskSuite;
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tasks::task::{Opening, Split};
use tasks::units::ByteSize;
use tch::{Device, Kind, Tensor};

/// What sampler and trainer may differ by.
const TOLERANCE: f64 = 1e-4;

pub(crate) struct RolloutFixture {
    pub(crate) suite: TaskSuite,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) model: Qwen3,
    folder: tempfile::TempDir,
}

impl RolloutFixture {
    /// One id in `every` ends a turn; with 0 none does.
    pub(crate) fn new(every: usize) -> Self {
        Self::with_vocabulary(every, 300, &[])
    }

    /// The same with so many ids, which make those texts short.
    pub(crate) fn with_vocabulary(every: usize, size: usize, known: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tasks = Utf8Path::from_path(folder.path()).unwrap().join("tasks");
        corpus::write(&tasks);
        let mut texts = vec!["system user assistant tool\nmalformed turn: \n".to_owned(); 3];
        texts.extend(known.iter().flat_map(|text| std::iter::repeat_n((*text).to_owned(), 3)));
        let tokenizer = Tokenizer::train(&texts, size, Pieces::Lines).unwrap();
        let size = tokenizer.vocab_size() as i64;
        let eos_token_ids = if every == 0 { vec![] } else { (0..size).step_by(every).collect() };
        let config = Qwen3Config {
            hidden_size: 32,
            intermediate_size: 48,
            num_hidden_layers: 2,
            head_dim: 8,
            max_position_embeddings: 40_000,
            eos_token_ids,
            ..Qwen3Config::tiny(size, 1, 2)
        };
        let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(5));
        let suite =
            TaskSuite::open(&tasks, &Opening::default(), SandboxOptions::default()).unwrap();
        Self { suite, tokenizer, model, folder }
    }

    /// The folder of the corpus.
    pub(crate) fn tasks(&self) -> Utf8PathBuf {
        Utf8Path::from_path(self.folder.path()).unwrap().join("tasks")
    }

    /// The same model once more.
    pub(crate) fn again(&self) -> Qwen3 {
        Qwen3::random(self.model.config(), Kind::Float, Device::Cpu, Stream::root(5))
    }

    fn play(&self, settings: &RolloutSettings, wall_seconds: u64) -> Vec<(Trajectory, Vec<i64>)> {
        self.play_cached(settings, wall_seconds, None)
    }

    fn play_cached(
        &self,
        settings: &RolloutSettings,
        wall_seconds: u64,
        cache: Option<&ScriptCache>,
    ) -> Vec<(Trajectory, Vec<i64>)> {
        let mut generator = NativeGenerator::new(&self.model, settings.capacity());
        let rollout = self.play_with(&mut generator, settings, wall_seconds, cache, None).unwrap();
        rollout.played.into_iter().map(unsummarised).collect()
    }

    pub(crate) fn play_with(
        &self,
        generator: &mut dyn Generator,
        settings: &RolloutSettings,
        wall_seconds: u64,
        cache: Option<&ScriptCache>,
        guide: Option<RolloutGuide<'_>>,
    ) -> Result<Rollout, RolloutError> {
        let mut rules = Scale::Tiny.rules();
        rules.episode.budget.turns = 12;
        rules.episode.budget.wall_seconds = wall_seconds;
        let world = MleWorld { suite: &self.suite, rules: &rules };
        let cached = cache.map(|cache| CachedWorld::new(&world, cache));
        let context = RolloutContext {
            world: cached.as_ref().map_or(&world as &dyn World, |cached| cached),
            settings,
            guide,
            stop: &Stop::default(),
            heartbeat: &Heartbeat::default(),
        };
        let policy = Policy { name: "policy", tokenizer: &self.tokenizer };
        let tasks = self.suite.split(Split::Train).unwrap();
        let job = |attempt: u64| {
            let stream = Stream::root(6).index(attempt);
            EpisodeRequest { task: tasks[attempt as usize % 2].id(), attempt, stream }
        };
        let jobs: Vec<EpisodeRequest<'_>> = (0..4).map(job).collect();
        rollout(generator, policy, context, &jobs, &mut |_| Ok(()))
    }

    /// Every turn has the log-probabilities that the plain pass gives it after what the policy
    /// saw then.
    pub(crate) fn assert_seen(&self, trajectory: &Trajectory) {
        for (index, segment) in trajectory.segments.iter().enumerate() {
            if segment.source != Source::Model {
                continue;
            }
            let seen: Vec<usize> = (0..index).filter(|i| !omitted(trajectory, *i, index)).collect();
            let mut ids = ids_of(seen.iter().map(|&i| &trajectory.segments[i]));
            let before = ids.len() as i64 - 1;
            ids.extend(ids_of([segment]));
            let logits = self.model.forward(&Packed::new([ids.as_slice()], Device::Cpu));
            let said = segment.ids.len() as i64;
            let targets = Tensor::from_slice(&ids_of([segment]));
            let sampling = Scale::Tiny.rollout().sampling;
            let found = loss::log_probs(&logits.narrow(0, before, said), &targets, &sampling);
            let found = Vec::<f64>::try_from(found.to_kind(Kind::Double)).unwrap();
            for (found, sampled) in found.iter().zip(&segment.log_probs) {
                assert!((found - f64::from(*sampled)).abs() < TOLERANCE, "{found} {sampled}");
            }
        }
    }
}

/// The trajectory of an episode, and its only sequence.
pub(crate) fn unsummarised(played: RolloutResult) -> (Trajectory, Vec<i64>) {
    let (trajectory, mut contexts) = summarised(played);
    assert_eq!(contexts.len(), 1);
    (trajectory, contexts.remove(0))
}

/// The trajectory of an episode, and all its sequences.
pub(crate) fn summarised(played: RolloutResult) -> (Trajectory, Vec<Vec<i64>>) {
    match played {
        RolloutResult::Finished { trajectory, contexts } => (*trajectory, contexts),
        RolloutResult::Fault { fault, .. } => panic!("{fault}"),
    }
}

/// Whether a segment was taken away before the segment `index` was written.
pub(crate) fn omitted(trajectory: &Trajectory, segment: usize, index: usize) -> bool {
    let mut so_far = trajectory.omissions.iter().filter(|omission| omission.before <= index);
    so_far.any(|omission| omission.segments.contains(&segment))
}

pub(crate) fn ids_of<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> Vec<i64> {
    segments.into_iter().flat_map(|segment| &segment.ids).map(|id| i64::from(*id)).collect()
}

fn said(trajectory: &Trajectory) -> usize {
    let of_model = |segment: &&Segment| segment.source == Source::Model;
    trajectory.segments.iter().filter(of_model).map(|segment| segment.ids.len()).sum()
}

pub(crate) fn settings(context: usize) -> RolloutSettings {
    RolloutSettings { max_model_len: context, turn_tokens: 100, ..Scale::Tiny.rollout() }
}

#[test]
fn full_context_omits_failed_turns_in_evaluation_and_ends_training_episodes() {
    let scene = RolloutFixture::new(8);
    let first = scene.play(&settings(4000), 600);
    let prompt = ids_of(&first[0].0.segments[..2]).len();
    let context = prompt + 700;
    for (trajectory, context) in &first {
        assert_eq!(*context, ids_of(&trajectory.segments));
        scene.assert_seen(trajectory);
    }
    let stopped = scene.play(&settings(context), 600);
    assert!(stopped.iter().any(|(trajectory, _)| trajectory.ending == EpisodeEnding::Tokens));
    for (trajectory, seen) in &stopped {
        assert!(trajectory.omissions.is_empty() && seen.len() <= context);
        assert_eq!(*seen, ids_of(&trajectory.segments));
    }
    // Little memory on top: whoever gives way sees the same.
    let tight = (context + 1) * 2 * 2 * 2 * 8 * 4 * 3 / 2;
    let dropping = RolloutSettings {
        context_overflow: ContextOverflow::Evict,
        cache: Some(ByteSize::new(tight as u64)),
        ..settings(context)
    };
    let dropped = scene.play(&dropping, 600);
    assert!(dropped.iter().any(|(trajectory, _)| trajectory.omissions.len() > 1));
    for (trajectory, seen) in &dropped {
        assert_eq!(trajectory.ending, EpisodeEnding::Budget, "nobody runs out of tokens");
        assert_eq!(trajectory.turns.len(), 12, "and every action is there");
        assert_eq!(trajectory.segments.len(), 2 + 2 * 12 - 1);
        assert!(seen.len() <= context && trajectory.ids().len() > seen.len());
        let last = trajectory.segments.len();
        let left = (0..last).filter(|index| !omitted(trajectory, *index, last));
        assert_eq!(*seen, ids_of(left.map(|index| &trajectory.segments[index])));
        for omission in &trajectory.omissions {
            let prompt_or_last = |index: &usize| *index < 2 || *index + 2 >= omission.before;
            assert!(!omission.segments.iter().any(prompt_or_last));
        }
        scene.assert_seen(trajectory);
    }
}

#[test]
fn cached_rollout_is_the_rollout_without_a_cache() {
    let scene = RolloutFixture::new(8);
    // Who shares a batch changes rounding, and this test compares bits.
    let settings = RolloutSettings { deterministic: true, ..settings(4000) };
    let cache = ScriptCache::default();
    let play = |cache| {
        let played = scene.play_cached(&settings, 600, cache);
        let mut trajectories: Vec<Trajectory> =
            played.into_iter().map(|(trajectory, _)| trajectory).collect();
        let mut cached = 0;
        for turn in trajectories.iter_mut().flat_map(|trajectory| &mut trajectory.turns) {
            cached += usize::from(std::mem::take(&mut turn.cached));
            turn.seconds = 0.0;
        }
        (trajectories, cached)
    };
    let (plain, none) = play(None);
    let (first, _) = play(Some(&cache));
    let (second, cached) = play(Some(&cache));
    let turns: usize = plain.iter().map(|trajectory| trajectory.turns.len()).sum();
    // All but those that are drawn to be compared.
    assert!(none == 0 && cached <= turns && 10 * cached > 8 * turns, "{cached} of {turns}");
    assert_eq!(first, plain);
    assert_eq!(second, plain);
    assert_eq!(cache.take_use().mismatches, 0);
}

#[test]
fn trajectory_ends_at_its_token_limit() {
    let scene = RolloutFixture::new(8);
    let settings = RolloutSettings { trajectory_tokens: 30, ..settings(4000) };
    for (trajectory, context) in scene.play(&settings, 600) {
        assert_eq!((trajectory.ending, said(&trajectory)), (EpisodeEnding::Tokens, 30));
        assert!(trajectory.turns.len() > 1, "over several turns");
        assert_eq!(context, ids_of(&trajectory.segments));
    }
}

#[test]
fn wall_time_limit_ends_a_generating_episode() {
    let scene = RolloutFixture::new(0);
    let endless = RolloutSettings { turn_tokens: 39_000, ..settings(40_000) };
    for (trajectory, context) in scene.play(&endless, 0) {
        assert_eq!((trajectory.ending, trajectory.turns.len()), (EpisodeEnding::Budget, 0));
        assert!((1..=2).contains(&said(&trajectory)), "one step was made");
        assert_eq!(context, ids_of(&trajectory.segments));
    }
}

/// A generator that is no engine, as one behind a network is none: it says the same in every turn,
/// two conversations at a time, after some polls.
pub(crate) struct Remote<'a> {
    turn: &'a [i64],
    /// Tokens of open conversations, and in how many polls their turn ends.
    open: BTreeMap<ConversationId, (Vec<i64>, Option<u64>)>,
    most: usize,
    pub(crate) capacity: usize,
    starts: u64,
    version: u64,
    /// After how many starts there are other weights.
    moves_after: u64,
}

impl<'a> Remote<'a> {
    /// One whose weights change after so many starts.
    pub(crate) fn new(turn: &'a [i64], moves_after: u64) -> Self {
        Self {
            turn,
            open: BTreeMap::new(),
            most: 0,
            capacity: 4000,
            starts: 0,
            version: 0,
            moves_after,
        }
    }
}

impl Generator for Remote<'_> {
    fn begin(&mut self, conversations: usize) -> Result<usize, EngineError> {
        assert_eq!(conversations, 4);
        Ok(2)
    }

    fn finish(&mut self) -> Result<CacheUse, EngineError> {
        self.open.clear();
        Ok(CacheUse::default())
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn start(
        &mut self,
        conversation: ConversationId,
        ids: &[i64],
        _turn: TurnOptions,
    ) -> Result<(), EngineError> {
        let before = self.open.insert(conversation, (ids.to_vec(), Some(self.starts % 3)));
        let (before, waits) = before.unwrap_or_default();
        assert!(waits.is_none() && ids.starts_with(&before), "all tokens, after a turn has ended");
        assert!(ids.len() < self.capacity);
        self.most = self.most.max(self.open.len());
        self.starts += 1;
        if self.starts > self.moves_after {
            self.publish(&Publication::shared(1))?;
        }
        Ok(())
    }

    fn poll(&mut self, _heartbeat: &Heartbeat) -> Result<Vec<Generated>, EngineError> {
        let mut ended = Vec::new();
        for (conversation, (tokens, polls)) in &mut self.open {
            match polls {
                Some(0) => {
                    *polls = None;
                    tokens.extend_from_slice(self.turn);
                    ended.push(Generated {
                        conversation: *conversation,
                        ids: self.turn.to_vec(),
                        log_probs: vec![-0.5; self.turn.len()],
                        ending: TurnEnd::EndOfTurn,
                        version: self.version,
                    });
                }
                Some(left) => *left -= 1,
                None => (),
            }
        }
        Ok(ended)
    }

    fn partial_turn(&self, _conversation: ConversationId) -> Result<(&[i64], &[f32]), EngineError> {
        Ok((&[], &[]))
    }

    fn end(&mut self, conversation: ConversationId) -> Result<Vec<i64>, EngineError> {
        Ok(self.open.remove(&conversation).ok_or(EngineError::Gone)?.0)
    }

    fn publish(&mut self, publication: &Publication) -> Result<(), EngineError> {
        self.version = publication.version;
        Ok(())
    }

    fn version(&self) -> u64 {
        self.version
    }
}

#[test]
fn rollout_accepts_any_generator_and_refuses_changed_weights() {
    let scene = RolloutFixture::new(0);
    let end = scene.tokenizer.control().end_of_turn;
    let turn = [scene.tokenizer.encode("turn").unwrap(), vec![end]].concat();
    let remote = |moves_after| Remote::new(&turn, moves_after);
    let mut steady = remote(u64::MAX);
    let rollout = scene.play_with(&mut steady, &settings(4000), 600, None, None).unwrap();
    assert_eq!((rollout.played.len(), steady.most, steady.open.len()), (4, 2, 0));
    for played in rollout.played {
        let (trajectory, context) = unsummarised(played);
        assert_eq!((trajectory.ending, trajectory.turns.len()), (EpisodeEnding::Budget, 12));
        assert_eq!(said(&trajectory), 12 * turn.len());
        assert_eq!(context, ids_of(&trajectory.segments));
    }
    let error = scene.play_with(&mut remote(5), &settings(4000), 600, None, None).unwrap_err();
    assert!(matches!(error, RolloutError::Version { expected: 0, found: 1 }), "{error}");
}
