//! Cached prefixes: turns that start from kept rows equal those that prefill everything.

use rl::generate::engine::{
    Capacity, Engine, Finished, RowId, TurnDetails, TurnExtras, TurnOptions,
};
use rl::generate::sample::Sampling;
use rl::model::{Family, KvCache, Qwen3, Qwen3Config};
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tasks::units::ByteSize;
use tch::{Device, Kind, Tensor};

const VOCAB: i64 = 60;
const CONTEXT: usize = 700;

fn model(seed: u64) -> Qwen3 {
    model_of(Family::Qwen3, seed)
}

fn model_of(family: Family, seed: u64) -> Qwen3 {
    let config = Qwen3Config {
        family,
        hidden_size: 32,
        intermediate_size: 48,
        num_hidden_layers: 2,
        head_dim: 8,
        initializer_range: 0.3,
        max_position_embeddings: 1000,
        ..Qwen3Config::tiny(VOCAB, 58, 59)
    };
    let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(seed));
    // Fresh biases are zero, and zeros would hide that one is left out.
    for (index, mut parameter) in model.parameters().into_iter().enumerate() {
        if parameter.name.ends_with("bias") {
            let count = parameter.tensor.size1().unwrap();
            let bias = Tensor::arange(count, (Kind::Float, Device::Cpu)) * 0.7 + index as f64;
            tch::no_grad(|| parameter.tensor.copy_(&bias.sin()));
        }
    }
    model
}

/// A message of `length` tokens.
fn message(number: u64, length: u64) -> Vec<i64> {
    (0..length).map(|i| ((number * 17 + i * 7 + i * i / 13) % 55) as i64).collect()
}

fn turn(agent: u64, number: u64) -> TurnOptions {
    let stream = Stream::root(4).index(agent).index(number);
    TurnOptions { sampling: Sampling::default(), stream, max_tokens: 9, ignore_eos: true }
}

fn finish(engine: &mut Engine, row: RowId) -> (Finished, TurnDetails) {
    loop {
        if let Some(finished) = engine.step().unwrap().into_iter().find(|turn| turn.row == row) {
            let details = engine.details(row).unwrap().clone();
            engine.release(row).unwrap();
            return (finished, details);
        }
    }
}

fn assert_alike(found: &Finished, expected: &Finished) {
    assert_eq!((&found.ids, found.ending), (&expected.ids, expected.ending));
    for (found, expected) in found.log_probs.iter().zip(&expected.log_probs) {
        assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
    }
}

/// The turn in an engine that has seen nothing else.
fn alone(model: &Qwen3, ids: &[i64], turn: TurnOptions) -> Finished {
    let mut engine = Engine::new(model, 1, CONTEXT);
    let row = engine.admit(ids, turn).unwrap();
    finish(&mut engine, row).0
}

#[test]
fn next_turn_prefills_only_what_is_new() {
    for family in [Family::Qwen3, Family::Qwen2] {
        next_turn_is_as_without_prefixes(&model_of(family, 3));
    }
}

fn next_turn_is_as_without_prefixes(model: &Qwen3) {
    let mut engine = Engine::new(model, 2, CONTEXT);
    engine.keep_prefixes();
    let mut ids = message(0, 40);
    let mut cached = 0;
    for number in 0..5 {
        let row = engine.admit(&ids, turn(0, number)).unwrap();
        let (found, details) = finish(&mut engine, row);
        assert_alike(&found, &alone(model, &ids, turn(0, number)));
        assert_eq!(details.cached_tokens, cached, "turn {number}");
        // The last sampled token was never fed.
        cached = ids.len() + found.ids.len() - 1;
        ids.extend(&found.ids);
        ids.extend(message(number + 1, 12));
    }

    // A template that leaves something out of earlier turns shortens the prefix.
    ids.drain(100..110);
    let row = engine.admit(&ids, turn(0, 9)).unwrap();
    let (found, details) = finish(&mut engine, row);
    assert_alike(&found, &alone(model, &ids, turn(0, 9)));
    assert!((100..110).contains(&details.cached_tokens), "{}", details.cached_tokens);

    // The same request again computes its last token only.
    let row = engine.admit(&ids, turn(0, 9)).unwrap();
    let (found, details) = finish(&mut engine, row);
    assert_alike(&found, &alone(model, &ids, turn(0, 9)));
    assert_eq!(details.cached_tokens, ids.len() - 1);
}

/// Plays `agents` conversations, in turn and at once, in a cache of `tokens` tokens.
/// Returns how many tokens were cached already.
fn play(model: &Qwen3, agents: u64, rows: usize, tokens: usize) -> usize {
    let bytes = tokens * KvCache::token_bytes(model.config(), Kind::Float);
    let capacity =
        Capacity { cache: Some(ByteSize::new(bytes as u64)), ..Capacity::new(rows, CONTEXT) };
    let mut engine = Engine::with_capacity(model, capacity).unwrap();
    engine.keep_prefixes();
    let mut contexts: Vec<Vec<i64>> = (0..agents)
        .map(|agent| [message(99, 30), message(agent, 10 + 7 * agent)].concat())
        .collect();
    let mut turns = vec![0; agents as usize];
    let mut playing: BTreeMap<RowId, usize> = BTreeMap::new();
    let mut cached = 0;
    for clock in 0.. {
        // Agents come one by one, and are away for a while after a turn.
        for agent in 0..agents as usize {
            let is_free = playing.len() < rows && !playing.values().any(|&other| other == agent);
            if is_free && turns[agent] < 6 && (clock + agent) % 7 == 0 {
                let options = turn(agent as u64, turns[agent]);
                playing.insert(engine.admit(&contexts[agent], options).unwrap(), agent);
            }
        }
        if playing.is_empty() && turns.iter().all(|turns| *turns == 6) {
            break;
        }
        for finished in engine.step().unwrap() {
            let agent = playing.remove(&finished.row).unwrap();
            let context = &mut contexts[agent];
            let options = turn(agent as u64, turns[agent]);
            assert_alike(&finished, &alone(model, context, options));
            cached += engine.details(finished.row).unwrap().cached_tokens;
            engine.release(finished.row).unwrap();
            context.extend(&finished.ids);
            context.extend(message(turns[agent] + 1, 3 + 40 * (turns[agent] % 2)));
            turns[agent] += 1;
        }
    }
    assert!(engine.cache_use().peak_bytes <= bytes as u64, "{:?}", engine.cache_use());
    cached
}

#[test]
fn prefixes_change_no_turn_whatever_else_runs() {
    let model = model(3);
    let roomy = play(&model, 5, 3, 3 * (CONTEXT + 1));
    let crowded = play(&model, 5, 3, CONTEXT + 1);
    let alone = play(&model, 1, 1, CONTEXT + 1);
    assert!(alone > 0 && roomy > crowded, "{alone}, {roomy}, {crowded}");
}

#[test]
fn prompts_that_are_scored_are_fed_as_a_whole() {
    let model = model(3);
    let mut engine = Engine::new(&model, 2, CONTEXT);
    engine.keep_prefixes();
    let ids = message(0, 40);
    let extras = TurnExtras { score_prompt: true, top: 2, ..TurnExtras::default() };
    let mut scores = Vec::new();
    for _ in 0..2 {
        let row = engine.admit_with(&ids, turn(0, 0), extras.clone()).unwrap();
        let (found, details) = finish(&mut engine, row);
        assert_alike(&found, &alone(&model, &ids, turn(0, 0)));
        assert_eq!((details.cached_tokens, details.prompt.len()), (0, ids.len() - 1));
        scores.push(details.prompt);
    }
    assert_eq!(scores[0], scores[1]);
}

#[test]
fn new_weights_never_meet_rows_of_the_old_ones() {
    let (old, new) = (model(3), model(8));
    let mut engine = Engine::new(&old, 2, CONTEXT);
    engine.keep_prefixes();
    let ids = message(0, 40);
    let row = engine.admit(&ids, turn(0, 0)).unwrap();
    finish(&mut engine, row);
    engine.take_weights(&new);
    let row = engine.admit(&ids, turn(0, 0)).unwrap();
    let (found, details) = finish(&mut engine, row);
    assert_eq!(details.cached_tokens, 0);
    assert_alike(&found, &alone(&new, &ids, turn(0, 0)));
}

#[test]
fn engines_of_rollouts_keep_no_rows() {
    let model = model(3);
    let mut engine = Engine::new(&model, 2, CONTEXT);
    for _ in 0..2 {
        let row = engine.admit(&message(0, 40), turn(0, 0)).unwrap();
        assert_eq!(finish(&mut engine, row).1.cached_tokens, 0);
    }
}
