//! The learner and the generator over the Tinker protocol, against a server that is scripted.

use super::server::random;
use super::tinker_double::{Double, found, log_prob};
use camino::Utf8Path;
use fs_err as fs;
use rl::checkpoint::policy::PolicyError;
use rl::checkpoint::{Checkpoints, policy};
use rl::generate::engine::{EngineError, TurnEnd, TurnOptions};
use rl::generate::sample::Sampling;
use rl::generate::{ConversationId, Generated, Generator, Publication, PublishedWeights};
use rl::optim::AdamConfig;
use rl::run::watchdog::Heartbeat;
use rl::text::tokenizer::Tokenizer;
use rl::train::batch::TrainSequence;
use rl::train::learner::{GrpoInputs, Learner, LearnerError, TrainingLoss, UpdateStats, WeightSet};
use rl::train::loss::{Aggregation, Clip, Kl, KlEstimator, Objective};
use rl::train::tinker::{
    AdapterStart, Backend, LearnerSettings, LossFunction, TinkerError, TinkerGenerator,
    TinkerLearner, TinkerStart,
};
use std::error::Error;
use std::time::{Duration, Instant};
use support::provider::{Piece, answer};
use tasks::stream::Stream;
use tch::{Device, Kind};

/// A policy's folder and its tokenizer, for learners to begin with.
struct Local {
    dir: tempfile::TempDir,
    tokenizer: Tokenizer,
}

impl Local {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = random(Utf8Path::from_path(dir.path()).unwrap());
        Self { tokenizer: Tokenizer::open(&folder).unwrap(), dir }
    }

    fn folder(&self) -> &Utf8Path {
        Utf8Path::from_path(self.dir.path()).unwrap()
    }

    fn open<'a>(&'a self, settings: &'a LearnerSettings) -> Result<TinkerLearner<'a>, TinkerError> {
        TinkerLearner::open(TinkerStart {
            settings,
            adam: AdamConfig::default(),
            folder: self.folder(),
            tokenizer: &self.tokenizer,
            adapters: AdapterStart { rank: 8, seed: 1 },
        })
    }
}

fn settings(double: &Double, backend: Backend) -> LearnerSettings {
    LearnerSettings { url: double.url(), backend, ..LearnerSettings::default() }
}

fn sequence(pieces: &[(&[i64], bool)]) -> TrainSequence {
    let mut sequence = TrainSequence::default();
    for (ids, trained) in pieces {
        sequence.push(ids, *trained);
    }
    sequence
}

/// Three trajectories of 2, 3 and 1 trained tokens; the third has no advantage.
fn samples() -> Vec<TrainSequence> {
    vec![
        sequence(&[(&[3, 4], false), (&[5, 6], true)]),
        sequence(&[(&[3], false), (&[7], true), (&[8, 9], false), (&[10, 11], true)]),
        sequence(&[(&[3], false), (&[12], true), (&[13], false)]),
    ]
}

/// What a sampler with other weights reported.
fn sampler(samples: &[TrainSequence]) -> Vec<Vec<f32>> {
    let of = |sample: &TrainSequence| {
        let pairs = sample.ids.iter().zip(&sample.trained).filter(|(_, trained)| **trained);
        let shifts = [0.4, -0.3, 0.05].into_iter().cycle();
        pairs.zip(shifts).map(|((&id, _), shift)| log_prob(id) + shift).collect()
    };
    samples.iter().map(of).collect()
}

const ADVANTAGES: [f64; 3] = [1.0, -0.5, 0.0];
const PLAIN: Objective = Objective {
    clip: Clip { low: 0.2, high: 0.28, dual: 0.0 },
    kl: Kl { beta: 0.0, estimator: KlEstimator::K3 },
    tis_cap: 0.0,
};

fn update<'a>(
    samples: &'a [TrainSequence],
    sampler: &'a [Vec<f32>],
    aggregation: Aggregation,
    objective: Objective,
) -> GrpoInputs<'a> {
    GrpoInputs {
        samples,
        sampler,
        old: None,
        reference: None,
        advantages: &ADVANTAGES,
        weights: aggregation.weights(&[2, 3, 1]).leak(),
        objective,
        sampling: Sampling::default(),
    }
}

fn accumulate(
    learner: &mut dyn Learner,
    inputs: GrpoInputs<'_>,
) -> Result<UpdateStats, LearnerError> {
    learner.accumulate(&TrainingLoss::Surrogate(inputs), &mut || ())
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
}

#[test]
fn surrogate_becomes_advantages_of_tokens_whatever_the_server_averages() {
    let local = Local::new();
    let samples = samples();
    let sampler = sampler(&samples);
    for backend in [Backend::Fsdp, Backend::Jax] {
        let double = Double::start(backend == Backend::Jax);
        let settings = settings(&double, backend);
        let mut learner = local.open(&settings).unwrap();
        for (aggregation, tis_cap) in [
            (Aggregation::SeqMeanTokenMean, 0.0),
            (Aggregation::TokenMean, 1.2),
            (Aggregation::DrGrpo { length: 4 }, 0.0),
            (Aggregation::SeqMeanTokenSum, 0.0),
        ] {
            let objective = Objective { tis_cap, ..PLAIN };
            let inputs = update(&samples, &sampler, aggregation, objective);
            let found = accumulate(&mut learner, inputs).unwrap();
            assert_eq!(learner.step(1e-3).unwrap(), 0.5);

            // By hand, in f64.
            let weights = aggregation.weights(&[2, 3, 1]);
            let pass = double.passes().pop().unwrap();
            assert!(!pass.forward_only && pass.loss_fn == "ppo");
            assert_eq!(pass.loss_fn_config["clip_low_threshold"], 0.8);
            assert_eq!(pass.loss_fn_config["clip_high_threshold"], 1.28);
            assert_eq!(pass.data.len(), 2, "what has no advantage has no gradient");
            let (mut loss, mut clipped, mut importances) = (0.0, 0.0, 0.0);
            for index in 0..2 {
                let datum = &pass.data[index];
                let (sent, old) = (datum.floats("weights"), datum.floats("logprobs"));
                let advantages = datum.floats("advantages");
                close(sent.iter().map(|&weight| f64::from(weight)).sum(), 1.0);
                let trained: Vec<usize> = (1..samples[index].ids.len())
                    .filter(|&at| samples[index].trained[at])
                    .collect();
                let context = sent.iter().filter(|&&weight| weight == 0.0).count();
                assert_eq!(context + trained.len(), sent.len());
                for (token, &at) in trained.iter().enumerate() {
                    let new = log_prob(samples[index].ids[at]);
                    let drawn = sampler[index][token];
                    let before = if tis_cap > 0.0 { new } else { drawn };
                    assert_eq!(old[at - 1], before);
                    let importance =
                        if tis_cap > 0.0 { f64::from(new - drawn).exp().min(tis_cap) } else { 1.0 };
                    let ratio = f64::from(new - before).exp();
                    let advantage = ADVANTAGES[index];
                    let plain = ratio * advantage;
                    let gain = plain.min(ratio.clamp(0.8, 1.28) * advantage);
                    loss -= gain * weights[index] * importance;
                    clipped += if gain < plain { 1.0 } else { 0.0 };
                    importances += if tis_cap > 0.0 { importance } else { 0.0 };
                    let counted = if backend == Backend::Jax { 2.0 } else { 1.0 };
                    close(
                        f64::from(sent[at - 1]) * f64::from(advantages[at - 1]),
                        advantage * weights[index] * importance * counted,
                    );
                }
            }
            close(found.loss, loss);
            assert_eq!((found.clipped, found.tokens), (clipped, 5));
            close(found.importance, importances);
            close(found.gap, 0.4);
            assert!(tis_cap > 0.0 || clipped > 0.0, "some token should be clipped");
        }
    }
}

#[test]
fn cross_entropy_is_the_mean_over_tokens_whatever_the_server_averages() {
    let local = Local::new();
    let samples = samples();
    let trained: Vec<i64> = vec![5, 6, 7, 10, 11, 12];
    let expected = -trained.iter().map(|&id| f64::from(log_prob(id))).sum::<f64>() / 6.0;
    for backend in [Backend::Megatron, Backend::Jax] {
        let double = Double::start(backend == Backend::Jax);
        let settings = settings(&double, backend);
        let mut learner = local.open(&settings).unwrap();
        let loss = TrainingLoss::CrossEntropy(&samples);
        let found = learner.accumulate(&loss, &mut || ()).unwrap();
        close(found.loss, expected);
        assert_eq!(found.tokens, 6);
        let pass = double.passes().pop().unwrap();
        for datum in &pass.data {
            let weights = datum.floats("weights");
            // Over all sequences, the coefficient of each token's log-probability is 1 / 6; where
            // the server divides by three sequences, it is sent three times as large.
            if backend == Backend::Jax {
                assert_eq!(pass.loss_fn, "importance_sampling");
                let advantages = datum.floats("advantages");
                let products = weights.iter().zip(&advantages).filter(|(weight, _)| **weight > 0.0);
                for (weight, advantage) in products {
                    close(f64::from(weight * advantage), 3.0 / 6.0);
                }
            } else {
                assert_eq!(pass.loss_fn, "cross_entropy");
                let nonzero = weights.iter().filter(|weight| **weight > 0.0);
                nonzero.for_each(|&weight| close(f64::from(weight), 1.0 / 6.0));
            }
        }
    }
}

#[test]
fn server_of_another_backend_is_found_out_by_the_loss_that_it_tells() {
    let local = Local::new();
    let samples = samples();
    let sampler = sampler(&samples);
    for (averages, backend) in [(true, Backend::Fsdp), (false, Backend::Jax)] {
        let double = Double::start(averages);
        let settings = settings(&double, backend);
        let mut learner = local.open(&settings).unwrap();
        let inputs = update(&samples, &sampler, Aggregation::SeqMeanTokenMean, PLAIN);
        let error = accumulate(&mut learner, inputs).unwrap_err().to_string();
        assert!(error.contains("learner.backend"), "{error}");
    }
}

#[test]
fn log_probs_are_those_of_trained_tokens_and_there_is_no_reference_model() {
    let (local, double) = (Local::new(), Double::start(false));
    let settings = settings(&double, Backend::Fsdp);
    let learner = local.open(&settings).unwrap();
    let mut samples = samples();
    samples.push(sequence(&[(&[3, 4], false)]));
    let score =
        |weights, sampling: &Sampling| learner.log_probs(weights, &samples, sampling, &mut || ());
    let found = score(WeightSet::Current, &Sampling::default()).unwrap();
    let expected: Vec<Vec<f32>> = [&[5, 6][..], &[7, 10, 11], &[12], &[]]
        .iter()
        .map(|ids| ids.iter().map(|&id| log_prob(id)).collect())
        .collect();
    assert_eq!(found, expected);
    assert!(double.passes().iter().all(|pass| pass.forward_only));
    let none = score(WeightSet::Reference, &Sampling::default());
    assert!(matches!(none, Err(LearnerError::NoReference)));
    let cold = Sampling { temperature: 0.5, ..Sampling::default() };
    let refused = score(WeightSet::Current, &cold);
    assert!(matches!(refused, Err(LearnerError::Tinker(TinkerError::Unsupported(_)))));
}

#[test]
fn losses_that_the_server_does_not_have_are_refused() {
    let (local, double) = (Local::new(), Double::start(true));
    let settings = settings(&double, Backend::Jax);
    let mut learner = local.open(&settings).unwrap();
    let samples = samples();
    let sampler = sampler(&samples);
    let mean = Aggregation::SeqMeanTokenMean;
    let kl = Objective { kl: Kl { beta: 0.1, ..PLAIN.kl }, ..PLAIN };
    let dual = Objective { clip: Clip { dual: 3.0, ..PLAIN.clip }, ..PLAIN };
    for objective in [kl, dual] {
        let error = accumulate(&mut learner, update(&samples, &sampler, mean, objective));
        assert!(matches!(error, Err(LearnerError::Tinker(TinkerError::Unsupported(_)))));
    }
    assert!(double.passes().is_empty(), "nothing was sent");
    accumulate(&mut learner, update(&samples, &sampler, mean, PLAIN)).unwrap();
    let second = accumulate(&mut learner, update(&samples, &sampler, mean, PLAIN));
    assert!(matches!(second, Err(LearnerError::Tinker(TinkerError::TwoLosses))));
}

#[test]
fn step_sends_adams_constants_and_a_norm_that_is_no_number_ends_the_run() {
    let (local, double) = (Local::new(), Double::start(true));
    let settings = settings(&double, Backend::Jax);
    let mut learner = local.open(&settings).unwrap();
    double.set_norm(Some(2.5));
    assert_eq!(learner.step(0.125).unwrap(), 2.5);
    let body = double.posts("optim_step").pop().unwrap();
    let sent = &body["adam_params"];
    assert_eq!(sent["learning_rate"], 0.125);
    let constants = ["beta1", "beta2", "eps", "weight_decay"].map(|name| sent[name].clone());
    assert_eq!(constants, [0.9, 0.95, 1e-8, 0.01]);
    double.set_norm(None);
    let error = learner.step(0.125).unwrap_err();
    assert!(matches!(error, LearnerError::Optim(_)), "{error}");
}

/// What passes by itself.
fn passing_faults() -> Vec<(&'static str, Vec<Piece>)> {
    let bytes = |bytes| vec![Piece::Bytes(bytes)];
    vec![
        ("retrieve_future", bytes(answer(200, &[], r#"{"type": "try_again"}"#))),
        ("retrieve_future", bytes(answer(408, &[], r#"{"detail": "Timeout"}"#))),
        ("retrieve_future", bytes(answer(500, &[], "Internal Server Error"))),
        ("retrieve_future", vec![Piece::Close]),
        ("retrieve_future", vec![Piece::Bytes(b"HTTP/1.1 200".to_vec()), Piece::Close]),
        ("forward_backward", vec![Piece::Close]),
        ("forward_backward", bytes(answer(503, &[], "busy"))),
    ]
}

#[test]
fn faults_that_pass_change_no_result_and_repeated_requests_keep_their_number() {
    let local = Local::new();
    let samples = samples();
    let sampler = sampler(&samples);
    let mean = Aggregation::SeqMeanTokenMean;
    let mut results = Vec::new();
    for with_faults in [false, true] {
        let double = Double::start(false);
        let settings = settings(&double, Backend::Fsdp);
        let mut learner = local.open(&settings).unwrap();
        if with_faults {
            for (path, pieces) in passing_faults() {
                double.fail(path, pieces);
            }
        }
        results.push(accumulate(&mut learner, update(&samples, &sampler, mean, PLAIN)).unwrap());
        let numbers: Vec<i32> = double.passes().iter().map(|pass| pass.seq_id).collect();
        assert_eq!(numbers, [1], "two were lost on the way, and the third is the first again");
    }
    assert_eq!(results[0], results[1]);
}

#[test]
fn faults_that_stay_are_told_in_the_servers_words() {
    let local = Local::new();
    let samples = samples();
    let sampler = sampler(&samples);
    let bytes = |bytes| vec![Piece::Bytes(bytes)];
    let cases: Vec<(&str, Vec<Piece>, usize, &str)> = vec![
        (
            "retrieve_future",
            bytes(answer(400, &[], r#"{"detail": "out of memory"}"#)),
            1,
            "out of memory",
        ),
        (
            "retrieve_future",
            bytes(answer(404, &[], r#"{"detail": "Future not found"}"#)),
            1,
            "goes on from the newest checkpoint",
        ),
        (
            "forward_backward",
            bytes(answer(404, &[], r#"{"detail": "Model not found"}"#)),
            1,
            "Model not found",
        ),
        ("forward_backward", bytes(answer(415, &[], "unsupported")), 1, "415"),
        ("retrieve_future", bytes(found(b"\xff\xffgarbage")), 1, "cannot be used"),
        ("retrieve_future", bytes(found(b"")), 1, "not one record"),
        ("forward_backward", bytes(found(b"<html>")), 1, "cannot be used"),
        ("retrieve_future", bytes(answer(500, &[], "broken")), 5, "500"),
    ];
    for (path, pieces, times, expected) in cases {
        let double = Double::start(false);
        let settings = settings(&double, Backend::Fsdp);
        let mut learner = local.open(&settings).unwrap();
        for _ in 0..times {
            double.fail(path, pieces.clone());
        }
        let inputs = update(&samples, &sampler, Aggregation::SeqMeanTokenMean, PLAIN);
        let error = accumulate(&mut learner, inputs).unwrap_err().to_string();
        assert!(error.contains(expected), "{path}: {error}");
    }
}

#[test]
fn result_that_never_comes_is_given_up() {
    let (local, double) = (Local::new(), Double::start(false));
    let settings = LearnerSettings { patience_seconds: 1, ..settings(&double, Backend::Fsdp) };
    let mut learner = local.open(&settings).unwrap();
    for _ in 0..200 {
        double.fail("retrieve_future", vec![Piece::Bytes(answer(408, &[], "{}"))]);
    }
    let began = Instant::now();
    let error = learner.step(0.1).unwrap_err().to_string();
    assert!(error.contains("learner.patience_seconds"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn server_without_the_model_or_without_an_answer_is_refused() {
    let (local, double) = (Local::new(), Double::start(false));
    let other =
        LearnerSettings { base_model: "another".to_owned(), ..settings(&double, Backend::Fsdp) };
    let error = local.open(&other).unwrap_err().to_string();
    assert!(error.contains("serves `base`") && error.contains("learner.base_model"), "{error}");
    let nobody = LearnerSettings { url: "http://127.0.0.1:9".to_owned(), ..other };
    let error = local.open(&nobody).unwrap_err();
    assert!(matches!(error, TinkerError::Server(_)), "{error}");
}

#[test]
fn checkpoint_names_the_state_on_the_server_and_restores_it_first() {
    let (local, double) = (Local::new(), Double::start(false));
    let settings = settings(&double, Backend::Fsdp);
    let run = local.folder().join("run");
    let checkpoints = Checkpoints::new(&run, 1);
    let mut learner = local.open(&settings).unwrap();
    for step in 1..=3 {
        learner.step(0.1).unwrap();
        checkpoints.save(step, &|folder| learner.save(folder), &"seen", None).unwrap();
    }
    let states = double.posts("save_weights");
    assert_eq!(states.len(), 3);
    let name = |index: usize| states[index]["path"].as_str().unwrap().to_owned();
    // Only the newest stays here; what it replaced is removed there with the next save.
    assert!(double.has_deleted(&format!("weights/{}", name(0))));
    assert!(!double.has_deleted(&format!("/weights/{}", name(2))));

    let latest = checkpoints.latest().unwrap().unwrap();
    assert_eq!((latest.step(), latest.state::<String>().unwrap().as_str()), (3, "seen"));
    let opened = policy::open(latest.folder(), Kind::Float, Device::Cpu);
    assert!(matches!(opened, Err(PolicyError::Remote(_))));

    let second = Double::start(false);
    let settings = LearnerSettings { url: second.url(), ..settings };
    let mut resumed = local.open(&settings).unwrap();
    resumed.restore(&latest).unwrap();
    let loaded = second.posts("load_weights").pop().unwrap();
    assert_eq!(loaded["path"], format!("tinker://model-1/weights/{}", name(2)));
    assert_eq!(loaded["optimizer"], true);
    let again = run.join("again");
    fs::create_dir(&again).unwrap();
    assert_eq!(resumed.save(&again).unwrap(), 3, "updates are counted on");

    let path = latest.folder().join("trainer/remote.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"base\"", "\"another\"")).unwrap();
    let error = resumed.restore(&latest).unwrap_err();
    assert!(error.source().unwrap().to_string().contains("another"), "{error:?}");
    fs::write(&path, "{").unwrap();
    assert!(checkpoints.latest().is_err(), "a checkpoint that names no state is damaged");
}

#[test]
fn model_is_given_back_at_the_end() {
    let (local, double) = (Local::new(), Double::start(false));
    let settings = settings(&double, Backend::Fsdp);
    drop(local.open(&settings).unwrap());
    assert_eq!(double.posts("unload_model"), [serde_json::json!({"model_id": "model-1"})]);
}

fn turn(max_tokens: usize) -> TurnOptions {
    let (sampling, stream) = (Sampling::default(), Stream::root(5));
    TurnOptions { sampling, stream, max_tokens, ignore_eos: false }
}

fn wait(generator: &mut dyn Generator) -> Result<Generated, EngineError> {
    let began = Instant::now();
    loop {
        if let Some(turn) = generator.poll(&Heartbeat::default())?.pop() {
            return Ok(turn);
        }
        assert!(began.elapsed() < Duration::from_secs(30), "no turn came");
    }
}

#[test]
fn turns_come_from_the_published_weights_with_all_tokens_sent_each_time() {
    let (local, double) = (Local::new(), Double::start(false));
    let settings = settings(&double, Backend::Fsdp);
    let mut learner = local.open(&settings).unwrap();
    let client = learner.model().client().clone();
    let mut generator = TinkerGenerator::new(&client, 2, 10, vec![1, 2]);
    let conversation = ConversationId(7);
    assert_eq!(generator.begin(5).unwrap(), 2);
    let unpublished = generator.start(conversation, &[3, 4], turn(5));
    assert!(matches!(unpublished, Err(EngineError::Remote(_))));
    let publication = learner.publish(4, &[1, 2]).unwrap();
    assert!(matches!(publication.weights, PublishedWeights::Named(_)));
    generator.publish(&publication).unwrap();

    double.say(&[5, 1], true);
    generator.start(conversation, &[3, 4], turn(5)).unwrap();
    assert!(matches!(generator.start(conversation, &[3], turn(5)), Err(EngineError::Busy)));
    let first = wait(&mut generator).unwrap();
    assert_eq!((first.conversation, first.ids, first.version), (conversation, vec![5, 1], 4));
    assert_eq!(first.log_probs, [log_prob(5), log_prob(1)]);
    assert_eq!(first.ending, TurnEnd::EndOfTurn);

    double.say(&[8, 9], false);
    generator.start(conversation, &[3, 4, 5, 1, 6, 7], turn(2)).unwrap();
    assert_eq!(wait(&mut generator).unwrap().ending, TurnEnd::TurnLength);
    assert_eq!(generator.end(conversation).unwrap(), [3, 4, 5, 1, 6, 7, 8, 9]);
    double.say(&[8, 9], false);
    generator.start(conversation, &[3; 8], turn(5)).unwrap();
    assert_eq!(wait(&mut generator).unwrap().ending, TurnEnd::ContextFull);

    let asked = double.posts("asample");
    assert_eq!(asked[1]["prompt"]["chunks"][0]["tokens"], serde_json::json!([3, 4, 5, 1, 6, 7]));
    let parameters = &asked[2]["sampling_params"];
    assert_eq!(parameters["max_tokens"], 2, "no more than the context holds");
    assert_eq!(parameters["stop"], serde_json::json!([1, 2]));
    assert_eq!(parameters["top_k"], -1);
    assert_eq!(parameters["seed"], asked[0]["sampling_params"]["seed"], "the stream's own");
    assert_eq!(asked[0]["seq_id"], 7);
    let PublishedWeights::Named(name) = &publication.weights else { unreachable!() };
    assert!(asked.iter().all(|request| request["sampling_session_id"] == *name));
}

#[test]
fn samples_that_cannot_be_used_end_the_rollout() {
    let (local, double) = (Local::new(), Double::start(false));
    let settings = settings(&double, Backend::Fsdp);
    let mut learner = local.open(&settings).unwrap();
    let client = learner.model().client().clone();
    let mut generator = TinkerGenerator::new(&client, 2, 20, vec![1]);
    let shared = generator.publish(&Publication::shared(1));
    assert!(matches!(shared, Err(EngineError::Remote(_))), "these weights are not there");
    generator.publish(&learner.publish(1, &[1, 2]).unwrap()).unwrap();
    for (tokens, stopped) in [(&[][..], true), (&[4, 5, 6], false), (&[4], true)] {
        generator.begin(1).unwrap();
        double.say(tokens, stopped);
        generator.start(ConversationId(1), &[3], turn(2)).unwrap();
        let error = wait(&mut generator).unwrap_err();
        assert!(error.source().is_some(), "{error}");
    }
    let (floor, endless) = (
        TurnOptions { sampling: Sampling { min_p: 0.1, ..Sampling::default() }, ..turn(2) },
        TurnOptions { ignore_eos: true, ..turn(2) },
    );
    for options in [floor, endless] {
        generator.begin(1).unwrap();
        let refused = generator.start(ConversationId(1), &[3], options);
        assert!(matches!(refused, Err(EngineError::Remote(_))));
    }
    let long = generator.start(ConversationId(1), &[3; 20], turn(2));
    assert!(matches!(long, Err(EngineError::TooLong { .. })));
}

#[test]
fn conversations_that_are_closed_are_forgotten_with_their_turns() {
    let (local, double) = (Local::new(), Double::start(false));
    let settings = settings(&double, Backend::Fsdp);
    let mut learner = local.open(&settings).unwrap();
    let client = learner.model().client().clone();
    let mut generator = TinkerGenerator::new(&client, 1, 20, vec![1]);
    generator.publish(&learner.publish(1, &[1, 2]).unwrap()).unwrap();
    generator.begin(1).unwrap();
    double.fail("asample", vec![Piece::Wait(Duration::from_mins(1))]);
    generator.start(ConversationId(1), &[3, 4], turn(4)).unwrap();
    let full = generator.start(ConversationId(2), &[3], turn(4));
    assert!(matches!(full, Err(EngineError::Full(1))));
    assert!(generator.partial_turn(ConversationId(1)).unwrap().0.is_empty());
    // Or the turn could end before its request is on the way, and the next one would hang.
    let began = Instant::now();
    while !double.has_seen("asample") {
        assert!(began.elapsed() < Duration::from_secs(30), "no request came");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(generator.end(ConversationId(1)).unwrap(), [3, 4]);
    assert!(matches!(generator.end(ConversationId(1)), Err(EngineError::Gone)));
    double.say(&[9, 1], true);
    generator.start(ConversationId(2), &[3], turn(4)).unwrap();
    assert_eq!(wait(&mut generator).unwrap().conversation, ConversationId(2));
}

#[test]
fn loss_without_a_clip_is_asked_for_by_its_name() {
    let (local, double) = (Local::new(), Double::start(false));
    let loss = LossFunction::ImportanceSampling;
    let settings = LearnerSettings { loss, ..settings(&double, Backend::Fsdp) };
    let mut learner = local.open(&settings).unwrap();
    let samples = samples();
    let sampler = sampler(&samples);
    let objective = Objective { tis_cap: 2.0, ..PLAIN };
    let mean = Aggregation::SeqMeanTokenMean;
    let found = accumulate(&mut learner, update(&samples, &sampler, mean, objective)).unwrap();
    let pass = double.passes().pop().unwrap();
    assert_eq!((pass.loss_fn.as_str(), pass.loss_fn_config.len()), ("importance_sampling", 0));
    assert_eq!(found.clipped, 0.0);
}
