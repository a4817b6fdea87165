//! Cached, batched, joined and left: generation equals the full forward pass.

use proptest::prelude::*;
use rl::generate::engine::{Capacity, Engine, EngineError, Finished, RowId, TurnEnd, TurnOptions};
use rl::generate::sample::Sampling;
use rl::model::{CacheRows, CpuLinear, KvCache, Mixture, NewTokens, Packed, Qwen3, Qwen3Config};
use rl::train::loss;
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tasks::units::ByteSize;
use tch::{Device, Kind, Tensor, no_grad};

const VOCAB: i64 = 60;
/// Tokens of a conversation whose texts are `STRETCH` times as long as usual, at most.
const LONG: usize = 1000;
const STRETCH: u64 = 30;

/// Rounding of f32 sums taken in another order, on log-probabilities.
const TOLERANCE: f64 = 1e-4;

fn model() -> Qwen3 {
    of_kind(false)
}

fn of_kind(has_experts: bool) -> Qwen3 {
    Qwen3::random(&config(has_experts), Kind::Float, Device::Cpu, Stream::root(3))
}

fn config(has_experts: bool) -> Qwen3Config {
    let mixture = Mixture {
        experts: 5,
        per_token: 2,
        intermediate_size: 20,
        normalise: true,
        sparse_step: 1,
        dense_layers: vec![0],
    };
    Qwen3Config {
        mixture: has_experts.then_some(mixture),
        hidden_size: 32,
        intermediate_size: 48,
        num_hidden_layers: 2,
        head_dim: 8,
        initializer_range: 0.3,
        max_position_embeddings: LONG as i64,
        ..Qwen3Config::tiny(VOCAB, 58, 59)
    }
}

/// Neither the temperature nor the floor is the trivial one.
const SAMPLING: Sampling = Sampling { temperature: 1.3, top_p: 1.0, top_k: 0, min_p: 0.2 };

fn turn(row: u64, number: u64, max_tokens: usize) -> TurnOptions {
    let stream = Stream::root(9).index(row).index(number);
    TurnOptions { sampling: SAMPLING, stream, max_tokens, ignore_eos: false }
}

fn prompt(row: u64, stretch: u64) -> Vec<i64> {
    (0..(3 + 5 * (row % 4)) * stretch)
        .map(|i| ((row * 13 + i * 7 + i * i / 31) % 50) as i64)
        .collect()
}

fn reply(row: u64, number: u64, stretch: u64) -> Vec<i64> {
    (0..(1 + (row + number) % 6) * stretch)
        .map(|i| ((row + number * 11 + i * 3) % 50) as i64)
        .collect()
}

/// What the trainer would say about ids that were sampled at `places` of a conversation.
fn recomputed(model: &Qwen3, conversation: &[i64], places: &[i64]) -> Vec<f64> {
    let before: Vec<i64> = places.iter().map(|place| place - 1).collect();
    let logits = model.forward(&Packed::new([conversation], Device::Cpu));
    let logits = logits.index_select(0, &Tensor::from_slice(&before));
    let targets: Vec<i64> = places.iter().map(|&place| conversation[place as usize]).collect();
    let log_probs = loss::log_probs(&logits, &Tensor::from_slice(&targets), &SAMPLING);
    Vec::try_from(log_probs.to_kind(Kind::Double)).unwrap()
}

#[derive(Default)]
struct ConversationLog {
    ids: Vec<i64>,
    places: Vec<i64>,
    log_probs: Vec<f32>,
    turns: u64,
    endings: Vec<TurnEnd>,
}

impl ConversationLog {
    fn take(&mut self, finished: &Finished) {
        for (id, log_prob) in finished.ids.iter().zip(&finished.log_probs) {
            self.places.push(self.ids.len() as i64);
            self.ids.push(*id);
            self.log_probs.push(*log_prob);
        }
        self.turns += 1;
        self.endings.push(finished.ending);
    }
}

/// Plays `count` conversations of three turns in an engine with `slots` places; a row is answered
/// `delay` steps after its turn has ended, and the next conversation joins when a place is free.
fn play(model: &Qwen3, count: u64, slots: usize, delay: u64) -> Vec<ConversationLog> {
    play_with(model, count, slots, &|_, _| delay)
}

/// The same, with a delay for every turn of every row.
fn play_with(
    model: &Qwen3,
    count: u64,
    slots: usize,
    delay: &dyn Fn(u64, u64) -> u64,
) -> Vec<ConversationLog> {
    play_in(&mut Engine::new(model, slots, 120), count, slots, delay, 1)
}

/// The same in a given engine, with texts `stretch` times as long.
fn play_in(
    engine: &mut Engine,
    count: u64,
    slots: usize,
    delay: &dyn Fn(u64, u64) -> u64,
    stretch: u64,
) -> Vec<ConversationLog> {
    let mut conversations: Vec<ConversationLog> =
        (0..count).map(|_| ConversationLog::default()).collect();
    let mut playing: BTreeMap<RowId, u64> = BTreeMap::new();
    let mut waiting: Vec<(u64, RowId)> = Vec::new();
    let mut next = 0;
    for clock in 0.. {
        while next < count && playing.len() < slots {
            // Pairs of rows share a prompt, as the samples of a group do.
            let ids = prompt(next / 2, stretch);
            playing.insert(engine.admit(&ids, turn(next, 0, 12)).unwrap(), next);
            conversations[next as usize].ids = ids;
            next += 1;
        }
        for (_, row) in waiting.extract_if(.., |(due, _)| *due <= clock) {
            let number = playing[&row];
            let conversation = &mut conversations[number as usize];
            let ids = reply(number, conversation.turns, stretch);
            conversation.ids.extend(&ids);
            engine.extend(row, &ids, turn(number, conversation.turns, 12)).unwrap();
        }
        let was_idle = engine.is_idle();
        let before = engine.generated();
        let all_finished = engine.step().unwrap();
        assert!(was_idle || engine.generated() > before, "a step that could say nothing");
        for finished in all_finished {
            let conversation = &mut conversations[playing[&finished.row] as usize];
            conversation.take(&finished);
            if conversation.turns == 3 {
                let context = engine.release(finished.row).unwrap();
                assert_eq!(context, conversation.ids);
                playing.remove(&finished.row);
            } else {
                let delay = delay(playing[&finished.row], conversation.turns);
                waiting.push((clock + delay, finished.row));
            }
        }
        if playing.is_empty() && next == count {
            break;
        }
    }
    conversations
}

/// Every sampled token has the log-probability that the plain pass gives it.
fn assert_plain(model: &Qwen3, conversations: &[ConversationLog]) {
    for conversation in conversations {
        let expected = recomputed(model, &conversation.ids, &conversation.places);
        assert!(!expected.is_empty() && expected.len() == conversation.log_probs.len());
        for (found, expected) in conversation.log_probs.iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < TOLERANCE, "{found} is not {expected}");
        }
    }
}

#[test]
fn rollout_log_probs_are_the_trainers() {
    let model = model();
    assert_plain(&model, &play(&model, 9, 4, 2));
}

/// Also after an update, when weights have to be packed anew.
#[test]
fn rollout_log_probs_with_packed_weights_are_the_trainers() {
    let model = model();
    let room = Capacity { cpu_linear: CpuLinear::Onednn, ..Capacity::new(4, 120) };
    let mut engine = Engine::with_capacity(&model, room).unwrap();
    let before = play_in(&mut engine, 9, 4, &|_, _| 2, 1);
    assert_plain(&model, &before);
    no_grad(|| {
        for mut parameter in model.parameters() {
            let _ = parameter.tensor.g_mul_scalar_(0.9);
        }
    });
    engine.take_weights(&model);
    let after = play_in(&mut engine, 9, 4, &|_, _| 2, 1);
    assert_plain(&model, &after);
    assert!(before.iter().zip(&after).any(|(before, after)| before.log_probs != after.log_probs));
}

/// A cache for `tokens` tokens, scratch places included.
fn cache_of(model: &Qwen3, tokens: usize) -> ByteSize {
    ByteSize::new((tokens * KvCache::token_bytes(model.config(), model.kind())) as u64)
}

fn capacity(rows: usize, context: usize, cache: ByteSize) -> Capacity {
    Capacity { cache: Some(cache), ..Capacity::new(rows, context) }
}

/// Whatever fits into the cache, and whoever gives way: the numbers are those of the plain pass, all
/// conversations come to their end, and the budget holds.
#[test]
fn a_small_cache_changes_no_numbers() {
    let model = model();
    proptest!(ProptestConfig::with_cases(12), |(
        count in 1_u64..9, slots in 1_usize..7, tokens in LONG + 1..5 * LONG,
        delays in prop::collection::vec(1_u64..9, 1..7),
    )| {
        let delay = |row: u64, turn: u64| delays[(row * 3 + turn) as usize % delays.len()];
        let budget = cache_of(&model, tokens);
        let mut engine = Engine::with_capacity(&model, capacity(slots, LONG, budget)).unwrap();
        let conversations = play_in(&mut engine, count, slots, &delay, STRETCH);
        prop_assert!(engine.cache_use().peak_bytes <= budget.bytes());
        prop_assert!(conversations.iter().all(|conversation| conversation.turns == 3));
        assert_plain(&model, &conversations);
    });
}

#[test]
fn preempted_sequence_continues_with_the_same_tokens() {
    let model = model();
    let (count, slots) = (9, 6);
    let mut used = Vec::new();
    let mut said: Vec<Vec<Vec<i64>>> = Vec::new();
    for tokens in [usize::MAX / 1024, 3 * LONG, LONG + 1] {
        let room = capacity(slots, LONG, cache_of(&model, tokens));
        let mut engine = Engine::with_capacity(&model, room).unwrap();
        let conversations = play_in(&mut engine, count, slots, &|_, _| 2, STRETCH);
        said.push(conversations.into_iter().map(|conversation| conversation.ids).collect());
        used.push(engine.cache_use());
    }
    assert!(said.iter().all(|ids| *ids == said[0]));
    // Never more than conversations have come to need, though all of them could be longer.
    let longest = said[0].iter().map(Vec::len).max().unwrap();
    let most = slots * (longest + longest / 4 + 256);
    let [plenty, some, least] = used[..] else { unreachable!("three budgets") };
    assert!(longest < LONG && plenty.peak_bytes < cache_of(&model, most).bytes());
    assert_eq!((plenty.preemptions, plenty.recomputed_tokens), (0, 0));
    assert!(0 < some.preemptions && some.preemptions < least.preemptions, "{used:?}");
    assert!(
        0 < some.recomputed_tokens && some.recomputed_tokens < least.recomputed_tokens,
        "{used:?}"
    );
}

/// Whoever joins and leaves when, with experts or without: the engine's numbers are those of the
/// plain pass over each conversation, and so are those of a pass over all of them packed.
#[test]
fn cached_and_packed_passes_equal_the_plain_pass() {
    let models = [of_kind(false), of_kind(true)];
    proptest!(ProptestConfig::with_cases(16), |(
        has_experts: bool, count in 1_u64..9, slots in 1_usize..7,
        delays in prop::collection::vec(1_u64..9, 1..7),
    )| {
        let model = &models[usize::from(has_experts)];
        let delay = |row: u64, turn: u64| delays[(row * 3 + turn) as usize % delays.len()];
        let conversations = play_with(model, count, slots, &delay);
        let sequences: Vec<&[i64]> =
            conversations.iter().map(|conversation| conversation.ids.as_slice()).collect();
        let packed = model.forward(&Packed::new(sequences.iter().copied(), Device::Cpu));
        let lengths: Vec<i64> = sequences.iter().map(|ids| ids.len() as i64).collect();
        let parts = packed.split_with_sizes(lengths.as_slice(), 0);
        for (conversation, part) in conversations.iter().zip(parts) {
            let plain = model.forward(&Packed::new([conversation.ids.as_slice()], Device::Cpu));
            let gap = (part - plain).abs().max().double_value(&[]);
            prop_assert!(gap < TOLERANCE, "packed differs by {}", gap);
        }
        assert_plain(model, &conversations);
    });
}

/// On a GPU attention reaches over more places than are filled.
#[test]
fn reach_beyond_what_is_cached_changes_nothing() {
    // Rounding, in shares of the largest number.
    for (kind, tolerance) in [(Kind::Float, 1e-6), (Kind::BFloat16, 0.03)] {
        let model = Qwen3::random(&config(false), kind, Device::Cpu, Stream::root(3));
        let ids: Vec<i64> = (0..26).map(|i| (i * 7) % 50).collect();
        let hidden = |beyond: i64| {
            let mut cache = KvCache::new(model.config(), 2, 64, kind, Device::Cpu);
            let rows = CacheRows::Span { first: 0, count: 2 };
            let mut read = |from: i64, width: i64, reach: i64| {
                let ids = Tensor::from_slice(&ids).view([2, 13]).narrow(1, from, width);
                let positions =
                    Tensor::arange_start(from, from + width, (Kind::Int64, Device::Cpu));
                let positions = positions.expand([2, width], false).contiguous();
                let (ids, positions) = (&ids.contiguous(), &positions);
                let all_begin = from == 0;
                let new = NewTokens { ids, positions, rows: &rows, reach, all_begin };
                model.forward_cached(&new, &mut cache)
            };
            // A prompt, what continues it, and single tokens.
            let _ = read(0, 5, 5 + beyond);
            let continued = read(5, 6, 11 + beyond).narrow(1, 5, 1);
            Tensor::cat(&[continued, read(11, 1, 12 + beyond), read(12, 1, 13 + beyond)], 1)
        };
        let largest = |x: &Tensor| x.abs().max().double_value(&[]);
        let (near, far) = (hidden(0), hidden(40));
        let apart = largest(&(&far - &near)) / largest(&near);
        assert!(apart < tolerance, "{kind:?}: {apart}");
    }
}

#[test]
fn row_is_independent_of_the_batch() {
    let model = model();
    let alone = play(&model, 9, 1, 1);
    for (slots, delay) in [(2, 1), (4, 3), (9, 1), (9, 7)] {
        for (a, b) in alone.iter().zip(play(&model, 9, slots, delay)) {
            assert_eq!(a.ids, b.ids, "{slots} slots, delay {delay}");
            assert_eq!(a.endings, b.endings);
        }
    }
}

#[test]
fn rows_that_share_a_prompt_have_settings_of_their_own() {
    let model = model();
    let turn = |temperature: f64| TurnOptions {
        sampling: Sampling { temperature, ..Sampling::default() },
        ignore_eos: true,
        ..turn(0, 0, 6)
    };
    let play = |temperatures: &[f64]| -> Vec<(Vec<i64>, Vec<f32>)> {
        let mut engine = Engine::new(&model, temperatures.len(), 100);
        let admit = |&temperature: &f64| engine.admit(&prompt(3, 1), turn(temperature)).unwrap();
        let rows: Vec<RowId> = temperatures.iter().map(admit).collect();
        let mut finished = Vec::new();
        while finished.len() < rows.len() {
            finished.extend(engine.step().unwrap());
        }
        finished.sort_by_key(|one| rows.iter().position(|row| *row == one.row));
        finished.into_iter().map(|one| (one.ids, one.log_probs)).collect()
    };
    let temperatures = [1.0, 0.0, 3.0, 0.3];
    for (together, temperature) in play(&temperatures).into_iter().zip(temperatures) {
        let alone = play(&[temperature]).remove(0);
        assert_eq!(together.0, alone.0, "temperature {temperature}");
        for (a, b) in together.1.iter().zip(&alone.1) {
            assert!(f64::from((a - b).abs()) < TOLERANCE, "temperature {temperature}: {a} {b}");
        }
    }
}

#[test]
fn turns_end_at_eos_limit_or_full_context() {
    let model = model();
    let ends: Vec<ConversationLog> = play(&model, 40, 8, 1);
    let all: Vec<(TurnEnd, usize)> =
        ends.iter().flat_map(|c| c.endings.iter().map(|e| (*e, c.ids.len()))).collect();
    assert!(all.iter().any(|(ending, _)| *ending == TurnEnd::EndOfTurn));
    assert!(all.iter().any(|(ending, _)| *ending == TurnEnd::TurnLength));

    let mut engine = Engine::new(&model, 1, 20);
    let ids: Vec<i64> = (0..18).collect();
    let row = engine.admit(&ids, turn(2, 0, 12)).unwrap();
    let mut finished = Vec::new();
    while finished.is_empty() {
        finished = engine.step().unwrap();
    }
    assert_eq!((finished[0].ending, finished[0].ids.len()), (TurnEnd::ContextFull, 2));
    assert!(matches!(
        engine.extend(row, &[1], turn(2, 1, 5)),
        Err(EngineError::TooLong { tokens: 21, capacity: 20 })
    ));
}

#[test]
fn partial_turns_are_readable_and_can_ignore_eos() {
    const PAIRS: usize = 6;
    let model = model();
    let mut engine = Engine::new(&model, 2 * PAIRS, 120);
    // Pairs of one stream, of which the second ignores the end.
    let mut rows = Vec::new();
    for row in 0..2 * PAIRS {
        let turn = TurnOptions { ignore_eos: row % 2 == 1, ..turn(row as u64 / 2, 0, 60) };
        rows.push(engine.admit(&prompt(0, 1), turn).unwrap());
    }
    let mut whole: BTreeMap<RowId, Finished> = BTreeMap::new();
    let mut watched: BTreeMap<RowId, Vec<i64>> = BTreeMap::new();
    while !engine.is_idle() {
        let finished = engine.step().unwrap();
        whole.extend(finished.into_iter().map(|finished| (finished.row, finished)));
        for &row in &rows {
            let (ids, log_probs) = engine.partial_turn(row).unwrap();
            assert_eq!(ids.len(), log_probs.len());
            let seen = watched.entry(row).or_default();
            assert!(whole.contains_key(&row) == ids.is_empty() && ids.len() <= seen.len() + 2);
            if !ids.is_empty() {
                assert!(ids.starts_with(seen));
                *seen = ids.to_vec();
            }
        }
    }
    let mut ended = 0;
    for pair in rows.chunks(2) {
        let (plain, endless) = (&whole[&pair[0]], &whole[&pair[1]]);
        assert_eq!((endless.ending, endless.ids.len()), (TurnEnd::TurnLength, 60));
        assert!(endless.ids.starts_with(&plain.ids) && plain.ids.starts_with(&watched[&pair[0]]));
        ended += usize::from(plain.ending == TurnEnd::EndOfTurn);
    }
    assert!(ended > 0);
}

#[test]
fn invalid_calls_of_the_engine_are_refused_without_effect() {
    let model = model();
    let with =
        |rows, tokens| Engine::with_capacity(&model, capacity(rows, 50, cache_of(&model, tokens)));
    let error = with(9, 50).unwrap_err().to_string();
    assert!(error.contains("50 tokens") && error.contains("rollout.cache"), "{error}");
    let mut engine = with(1, 51).unwrap();
    assert!(matches!(engine.admit(&[], turn(0, 0, 5)), Err(EngineError::Empty)));
    assert!(matches!(
        engine.admit(&[VOCAB], turn(0, 0, 5)),
        Err(EngineError::Id { id: VOCAB, .. })
    ));
    let row = engine.admit(&[1, 2], turn(0, 0, 5)).unwrap();
    assert!(matches!(engine.admit(&[1], turn(0, 0, 5)), Err(EngineError::Full(1))));
    assert!(matches!(engine.extend(row, &[1], turn(0, 0, 5)), Err(EngineError::Busy)));
    engine.release(row).unwrap();
    assert!(matches!(engine.release(row), Err(EngineError::Gone)));
    let second = engine.admit(&[1, 2], turn(0, 0, 5)).unwrap();
    assert!(
        matches!(engine.release(row), Err(EngineError::Gone)),
        "a place's old name opens nothing"
    );
    engine.release(second).unwrap();
    assert!(engine.is_idle());
}
