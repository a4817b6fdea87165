//! Agreement with TRL: one stored batch gives the same advantages, loss and gradients.
//!
//! TRL has a Python environment of its own, so `make test-trl` runs this and `make test` does not.

use agents::grammar::{answer_turn, parse, python_turn, score_turn};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rand::RngExt;
use rl::generate::sample::Sampling;
use rl::model::{Gradients, Qwen3, Qwen3Config, Weights, save_folder};
use rl::optim::AdamConfig;
use rl::text::tokenizer::{Pieces, Tokenizer};
use rl::train::advantage::{Inclusion, Normalisation, advantages};
use rl::train::batch::{Memory, TrainSequence};
use rl::train::learner::{GrpoInputs, Learner as _, WeightSet};
use rl::train::loss::{Aggregation, Clip, Kl, KlEstimator, Objective};
use rl::train::native::{NativeLearner, weigh};
use rl::train::prefer::{PairLogProbs, PairLoss, PreferenceLoss};
use sandbox::env::Action;
use serde::Deserialize;
use serde_json::{Value, json};
use std::iter;
use std::process::Command;
use tasks::stream::Stream;
use tch::{Device, Kind, Tensor};

/// Largest difference of a loss, relative to it or absolute below 1, and of any entry of a gradient,
/// relative to the largest entry of all gradients: what an entry rounds by depends on the sums that
/// it is part of, not on its own size. TRL computes in f64, ours in f32, which rounds by half of
/// this where weights are as small as a fresh policy's.
const TOLERANCE: f64 = 1e-6;

/// Trajectories of one task.
const GROUP: usize = 4;
/// The rewards of three groups. All of the last are the same, so it has no gradient; it counts in
/// the mean over trajectories.
const REWARDS: [f64; 3 * GROUP] = [0.1, 0.3, 0.4, 1.0, 0.8, 0.3, 0.3, 0.9, 0.4, 0.4, 0.4, 0.4];
/// The constant length of `dr-grpo`, in tokens.
const LENGTH: usize = 40;

/// A loss in our words and in TRL's.
struct Case {
    name: &'static str,
    aggregation: Aggregation,
    objective: Objective,
    temperature: f64,
    options: Value,
}

fn cases() -> Vec<Case> {
    let (mean, token_mean) = (Aggregation::SeqMeanTokenMean, Aggregation::TokenMean);
    let plain = Objective { clip: Clip::default(), kl: Kl::default(), tis_cap: 0.0 };
    let dual = Objective { clip: Clip { dual: 3.0, ..Clip::default() }, ..plain };
    let kl = Objective { kl: Kl { beta: 0.1, estimator: KlEstimator::K3 }, ..plain };
    let case = |name, aggregation, objective, temperature, options| Case {
        name,
        aggregation,
        objective,
        temperature,
        options,
    };
    let constant = json!({"loss_type": "dr_grpo", "max_completion_length": LENGTH});
    let penalty = json!({"loss_type": "grpo", "beta": 0.1, "use_bias_correction_kl": false});
    vec![
        case("grpo", mean, plain, 1.0, json!({"loss_type": "grpo"})),
        case("bnpo", token_mean, plain, 1.0, json!({"loss_type": "bnpo"})),
        case("dapo", token_mean, plain, 1.0, json!({"loss_type": "dapo"})),
        case("dr-grpo", Aggregation::DrGrpo { length: LENGTH }, plain, 1.0, constant),
        case("luspo", Aggregation::SeqMeanTokenSum, plain, 1.0, json!({"loss_type": "luspo"})),
        case("dual-clip", mean, dual, 1.0, json!({"loss_type": "grpo", "delta": 3.0})),
        case("kl", mean, kl, 1.0, penalty),
        case("temperature", mean, plain, 0.7, json!({"loss_type": "grpo", "temperature": 0.7})),
    ]
}

/// What TRL found.
#[derive(Deserialize)]
struct Found {
    loss: f64,
    advantages: Vec<f64>,
    /// How far TRL's gradients in f32 are from its own in f64, relative to the largest entry.
    rounding: f64,
}

/// A prompt, then turns of the policy and observations in turn, of random tokens; either may be last.
/// The padding token is not among them: transformers gives its row of the embedding no gradient.
fn trajectory(vocab_size: i64, padding: i64, stream: Stream) -> TrainSequence {
    let mut rng = stream.rng();
    let mut sequence = TrainSequence::default();
    for piece in 0..rng.random_range(2..8) {
        let length = rng.random_range(3..12);
        let ids: Vec<i64> = iter::repeat_with(|| rng.random_range(0..vocab_size))
            .filter(|&id| id != padding)
            .take(length)
            .collect();
        sequence.push(&ids, piece % 2 == 1);
    }
    sequence
}

/// Log-probabilities of another policy: so far from `now` that many ratios are clipped, some at 3.
fn moved(now: &[Vec<f32>], stream: Stream) -> Vec<Vec<f32>> {
    let mut rng = stream.rng();
    let mut shifted = |value: &f32| value + rng.random_range(-1.5..1.5_f32);
    now.iter().map(|values| values.iter().map(&mut shifted).collect()).collect()
}

/// A trajectory as TRL takes it: what precedes the first turn is the prompt.
fn row(sample: &TrainSequence, reward: f64, sampler: &[f32], reference: &[f32]) -> Value {
    let prompt = sample.trained.iter().position(|trained| *trained).unwrap();
    let sampled: Vec<u8> = sample.trained[prompt..].iter().copied().map(u8::from).collect();
    json!({
        "prompt": sample.ids[..prompt], "completion": sample.ids[prompt..], "sampled": sampled,
        "reward": reward, "sampler": sampler, "reference": reference,
    })
}

fn write(path: Utf8PathBuf, value: &Value) {
    fs::write(path, serde_json::to_vec(value).unwrap()).unwrap();
}

/// The published names of the matrices that are one parameter here.
fn published(name: &str) -> Vec<String> {
    let fused: [(&str, &[&str]); 2] = [
        ("qkv_proj", &["q_proj", "k_proj", "v_proj"]),
        ("gate_up_proj", &["gate_proj", "up_proj"]),
    ];
    match fused.iter().find(|(joined, _)| name.contains(joined)) {
        Some((joined, parts)) => parts.iter().map(|part| name.replace(joined, part)).collect(),
        None => vec![name.to_owned()],
    }
}

/// TRL's gradients, of the parameters that ours has.
fn gradient_of(name: &str, model: &Qwen3, theirs: &Weights) -> Tensor {
    let shapes = model.published();
    let part = |name: String| theirs.tensor(&name, &shapes[&name].size()).unwrap();
    Tensor::cat(&published(name).into_iter().map(part).collect::<Vec<_>>(), 0)
}

pub(crate) fn repository() -> &'static Utf8Path {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Runs the Python that has TRL; returns what it prints.
pub(crate) fn python(arguments: &[&str]) -> Vec<u8> {
    let python = repository().join(".venv-trl/bin/python");
    assert!(python.is_file(), "there is no `{python}`; `make venv-trl` makes it");
    let output = Command::new(python).arg("-I").args(arguments).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "Python failed:\n{log}");
    output.stdout
}

fn largest(tensor: &Tensor) -> f64 {
    tensor.abs().max().double_value(&[])
}

/// A random policy in `dir`.
fn checkpoint(dir: &Utf8Path) -> (Qwen3, Tokenizer) {
    let texts = vec!["system user assistant tool\n".to_owned(); 3];
    let tokenizer = Tokenizer::train(&texts, 300, Pieces::Lines).unwrap();
    let control = tokenizer.control();
    let vocab_size = tokenizer.vocab_size() as i64;
    let config = Qwen3Config {
        hidden_size: 32,
        intermediate_size: 56,
        num_hidden_layers: 3,
        head_dim: 8,
        ..Qwen3Config::tiny(vocab_size, control.end_of_turn, control.end_of_text)
    };
    let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(11));
    save_folder(&model, dir).unwrap();
    tokenizer.save(dir).unwrap();
    (model, tokenizer)
}

/// The largest entry of TRL's gradients, and the largest difference of any of ours.
fn gradient_gap(name: &str, gradients: &Gradients, model: &Qwen3, dir: &Utf8Path) -> (f64, f64) {
    let theirs = Weights::map(&[dir.join(format!("{name}.safetensors"))]).unwrap();
    let pairs: Vec<(&Tensor, Tensor)> =
        gradients.iter().map(|(name, ours)| (ours, gradient_of(name, model, &theirs))).collect();
    let compared: usize = gradients.iter().map(|(name, _)| published(name).len()).sum();
    assert_eq!(compared, theirs.names().count(), "{name}: other parameters");
    let scale = pairs.iter().map(|(_, theirs)| largest(theirs)).fold(0.0, f64::max);
    let gap = pairs.iter().map(|(ours, theirs)| largest(&(*ours - theirs))).fold(0.0, f64::max);
    (scale, gap)
}

#[test]
#[ignore = "needs TRL; `make test-trl` installs it and runs this"]
fn advantages_losses_and_gradients_agree_with_trl() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let (model, tokenizer) = checkpoint(dir);
    let control = tokenizer.control();
    let vocab_size = model.config().vocab_size;

    let root = Stream::root(12);
    let samples: Vec<TrainSequence> = (0..REWARDS.len() as u64)
        .map(|index| {
            trajectory(vocab_size, control.end_of_text, root.child("trajectory").index(index))
        })
        .collect();
    // Several micro-batches; TRL has one.
    let memory = Memory {
        max_tokens_per_micro_batch: 150,
        logit_tokens: 20,
        gradient_checkpointing: false,
        share_prefixes: false,
    };
    let learner = NativeLearner::new(&model, &tokenizer, AdamConfig::default(), memory);
    let now =
        learner.log_probs(WeightSet::Current, &samples, &Sampling::default(), &mut || ()).unwrap();
    let sampler = moved(&now, root.child("sampler"));
    let reference = moved(&now, root.child("reference"));
    let rows: Vec<Value> = (0..samples.len())
        .map(|i| row(&samples[i], REWARDS[i], &sampler[i], &reference[i]))
        .collect();
    let Clip { low, high, .. } = Clip::default();
    let batch = json!({
        "group_size": GROUP, "epsilon": low, "epsilon_high": high, "trajectories": rows,
    });
    write(dir.join("batch.json"), &batch);
    let cases = cases();
    let named = cases.iter().map(|case| json!({"name": case.name, "options": case.options}));
    write(dir.join("cases.json"), &named.collect());

    python(&[repository().join("rl/tests/reference/grpo.py").as_str(), dir.as_str()]);

    // TRL's epsilon, which is no option there.
    let options = Normalisation { epsilon: 1e-4, ..Normalisation::default() };
    let advantages: Vec<f64> = REWARDS
        .chunks(GROUP)
        .flat_map(|group| {
            let group: Vec<_> = group.iter().map(|&reward| (reward, Inclusion::Trained)).collect();
            advantages(&group, options)
        })
        .collect();
    let counts: Vec<usize> = samples.iter().map(TrainSequence::trained_count).collect();
    for case in &cases {
        let found: Found =
            serde_json::from_slice(&fs::read(dir.join(format!("{}.json", case.name))).unwrap())
                .unwrap();
        for (ours, theirs) in advantages.iter().zip(&found.advantages) {
            assert!((ours - theirs).abs() <= TOLERANCE, "{}: {ours}, not {theirs}", case.name);
        }
        let weights = case.aggregation.weights(&counts);
        let inputs = GrpoInputs {
            samples: &samples,
            sampler: &sampler,
            old: None,
            reference: (case.objective.kl.beta > 0.0).then_some(&reference[..]),
            advantages: &advantages,
            weights: &weights,
            objective: case.objective,
            sampling: Sampling { temperature: case.temperature, ..Sampling::default() },
        };
        let mut gradients = Gradients::default();
        let stats = inputs.backward(&model, &memory, &mut gradients, &mut || ());
        assert!(stats.clipped > 0.0, "{}: no token was clipped", case.name);

        let loss_gap = (stats.loss - found.loss).abs() / found.loss.abs().max(1.0);
        let (scale, gap) = gradient_gap(case.name, &gradients, &model, dir);
        let (loss, trl, rounding) = (stats.loss, found.loss, found.rounding);
        println!(
            "{:12} loss {loss:.9}, TRL {trl:.9}; gradient gap {:.1e} of the largest entry \
             {scale:.3}; TRL's f32 from its f64 {rounding:.1e}",
            case.name,
            gap / scale
        );
        assert!(loss_gap <= TOLERANCE, "{}: loss {loss}, TRL {trl}", case.name);
        assert!(gap <= TOLERANCE * scale, "{}: gradients differ by {}", case.name, gap / scale);
    }
}

/// A prompt of random tokens and an answer to it.
fn answered(prompt: &[i64], vocab_size: i64, padding: i64, stream: Stream) -> TrainSequence {
    let mut rng = stream.rng();
    let mut sequence = TrainSequence::default();
    sequence.push(prompt, false);
    let length = rng.random_range(4..20);
    let ids: Vec<i64> = iter::repeat_with(|| rng.random_range(0..vocab_size))
        .filter(|&id| id != padding)
        .take(length)
        .collect();
    sequence.push(&ids, true);
    sequence
}

#[test]
#[ignore = "needs TRL; `make test-trl` installs it and runs this"]
fn losses_of_pairs_and_their_gradients_agree_with_trl() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let (model, tokenizer) = checkpoint(dir);
    let (vocab_size, padding) = (model.config().vocab_size, tokenizer.control().end_of_text);
    let root = Stream::root(13);
    let samples: Vec<TrainSequence> = (0..12_u64)
        .map(|index| {
            let prompt: Vec<i64> = (0..5 + index as i64 / 2).map(|i| (i * 37 + 11) % 200).collect();
            answered(&prompt, vocab_size, padding, root.child("answer").index(index))
        })
        .collect();
    let memory = Memory {
        max_tokens_per_micro_batch: 60,
        logit_tokens: 9,
        gradient_checkpointing: false,
        share_prefixes: false,
    };
    let learner = NativeLearner::new(&model, &tokenizer, AdamConfig::default(), memory);
    let now =
        learner.log_probs(WeightSet::Current, &samples, &Sampling::default(), &mut || ()).unwrap();
    let sums = |tokens: &[Vec<f32>]| -> Vec<PairLogProbs> {
        let sum = |it: &Vec<f32>| it.iter().copied().map(f64::from).sum();
        tokens
            .chunks(2)
            .map(|pair| PairLogProbs { chosen: sum(&pair[0]), rejected: sum(&pair[1]) })
            .collect()
    };
    let (policy, reference) = (sums(&now), sums(&moved(&now, root.child("reference"))));
    let rows: Vec<Value> = samples
        .chunks(2)
        .zip(&reference)
        .map(|(pair, reference)| {
            let start = pair[0].trained.iter().position(|trained| *trained).unwrap();
            json!({
                "prompt_ids": pair[0].ids[..start], "chosen_ids": pair[0].ids[start..],
                "rejected_ids": pair[1].ids[start..], "ref_chosen_logps": reference.chosen,
                "ref_rejected_logps": reference.rejected,
            })
        })
        .collect();
    write(dir.join("pairs.json"), &rows.into());
    let cases = [
        (PairLoss::Sigmoid, "sigmoid"),
        (PairLoss::Robust, "robust"),
        (PairLoss::Hinge, "hinge"),
        (PairLoss::Ipo, "ipo"),
    ];
    let named = cases.map(|(_, name)| {
        json!({"name": name, "options": {"loss_type": [name], "beta": 0.2, "label_smoothing": 0.1}})
    });
    write(dir.join("cases.json"), &named.into_iter().collect());
    python(&[repository().join("rl/tests/reference/dpo.py").as_str(), dir.as_str()]);

    let counts: Vec<[usize; 2]> =
        samples.chunks(2).map(|pair| [pair[0].trained_count(), pair[1].trained_count()]).collect();
    for (kind, name) in cases {
        let loss = PreferenceLoss { kind, beta: 0.2, label_smoothing: 0.1 };
        let found = loss.of(&policy, &reference, &counts);
        let weights: Vec<f64> =
            found.gradient.iter().flat_map(|pair| [pair.chosen, pair.rejected]).collect();
        let mut gradients = Gradients::default();
        weigh(&model, &samples, &weights, &memory, &mut gradients);
        let trl: Value =
            serde_json::from_slice(&fs::read(dir.join(format!("{name}.json"))).unwrap()).unwrap();
        let trl = trl["loss"].as_f64().unwrap();
        let (scale, gap) = gradient_gap(name, &gradients, &model, dir);
        println!(
            "{name:8} loss {:.9}, TRL {trl:.9}; gradient gap {:.1e} of the largest entry {scale:.3}",
            found.loss,
            gap / scale
        );
        assert!((found.loss - trl).abs() <= TOLERANCE * trl.abs().max(1.0), "{name}");
        assert!(gap <= TOLERANCE * scale, "{name}: gradients differ by {}", gap / scale);
    }
}

#[test]
#[ignore = "needs websockets; `make test-trl` installs it and runs this"]
fn rollout_for_trl_reads_turns_as_the_grammar_does() {
    let turns = [
        python_turn("try", "print('</think> <answer>')\n  x = \"</code> <tool_call>\""),
        score_turn("how good?"),
        answer_turn("done"),
    ];
    let others = [
        "",
        "I will train a forest.",
        "<think>endless",
        "<think>endless <tool_call>\npython\n<code>\n1\n</code>\n</tool_call>",
        "<think> \n</think><answer>submission</answer>",
        "<think><think>a</think><answer>submission</answer>",
        "<think>a</think>words <answer>submission</answer> and more",
        "<think>a</think>and then nothing",
        "<answer>submission</answer>",
        "<answer>submission",
        "<think>a</think><tool_call>\npython\n<code>\n1",
        "<think>a</think><tool_call>\npython\nprint(1)\n</tool_call>",
        "<tool_call>\n<code>\n1\n</code>\n</tool_call>",
        "<tool_call>bash</tool_call>",
        "<tool_call>{\"name\": \"Sc</tool_call>",
        "<tool_call>{\"name\": \"shell\"}</tool_call>",
        "<tool_call>{\"name\": \"python\"}</tool_call>",
        "<tool_call>{\"name\": \"Score\", \"arguments\": {\"competition_id\": \"x\"}}</tool_call>",
        "<tool_call>{\"name\": \"Score\"}</tool_call><tool_call>{\"name\": \"Score\"}</tool_call>",
        "<tool_call>{\"name\": \"Score\"}</tool_call><answer>submission</answer>",
    ];
    let turns: Vec<String> = turns.into_iter().chain(others.map(str::to_owned)).collect();
    let program = "import json, sys; sys.path.insert(0, sys.argv[1]); from episode import parse; \
                   print(json.dumps([parse(turn) for turn in json.loads(sys.argv[2])]))";
    let rollout = repository().join("scripts/trl_rollout");
    let given = serde_json::to_string(&turns).unwrap();
    let found: Vec<(String, Value, bool)> =
        serde_json::from_slice(&python(&["-c", program, rollout.as_str(), &given])).unwrap();
    assert_eq!(found.len(), turns.len());
    for (text, found) in turns.iter().zip(found) {
        let turn = parse(text);
        let (tool, arguments) = match turn.action {
            Action::Python { code } => ("python", json!({"code": code})),
            Action::Score => ("score", json!({})),
            Action::Answer => ("submit", json!({})),
            Action::Malformed { .. } => ("malformed", json!({})),
        };
        assert_eq!(found, (tool.to_owned(), arguments, turn.has_thought), "{text}");
    }
}
