//! `SkyRL`'s server of the Tinker protocol, unchanged, with its JAX backend on the CPU: losses,
//! log-probabilities, gradients and weights of a few steps through it equal those of the native
//! learner, on the same adapters of the same random policy.
//!
//! Not part of `make test`, because the server has an environment of its own: `make test-tinker`.
#![expect(clippy::unwrap_used, reason = "tests: a failure should stop the test")]

#[expect(dead_code, reason = "the helpers of the other tests")]
#[path = "suite/server.rs"]
mod server;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rl::checkpoint::{Checkpoints, policy};
use rl::generate::engine::{TurnEnd, TurnOptions};
use rl::generate::sample::Sampling;
use rl::generate::{ConversationId, Generated, Generator};
use rl::model::{ADAPTERS, Gradients, Qwen3, Weights};
use rl::optim::{AdamConfig, AdamW};
use rl::run::watchdog::Heartbeat;
use rl::text::tokenizer::{Pieces, Tokenizer};
use rl::train::batch::{Memory, TrainSequence};
use rl::train::learner::{GrpoInputs, Learner, TrainingLoss, UpdateStats, WeightSet};
use rl::train::loss::{Aggregation, Clip, Kl, Objective};
use rl::train::native::{NativeLearner, imitate};
use rl::train::tinker::{
    AdapterStart, Backend, LearnerSettings, TinkerClient, TinkerGenerator, TinkerLearner,
    TinkerStart,
};
use server::random_with;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tasks::stream::Stream;
use tch::{Device, Kind, Tensor, no_grad};

/// Losses and log-probabilities, in nats; norms relative to themselves, entries of the gradient to the
/// largest.
const TOLERANCE: f64 = 1e-4;
/// Weights after steps that move each by up to [`RATE`].
const WEIGHT_TOLERANCE: f64 = 1e-5;
const RATE: f64 = 3e-4;
const RANK: i64 = 8;

const MEMORY: Memory = Memory {
    max_tokens_per_micro_batch: 4096,
    logit_tokens: 4096,
    gradient_checkpointing: false,
    share_prefixes: false,
};

/// Projections whose adapters have one A in common on the server, because it computes them as one.
const FUSED: [&[&str]; 2] = [&["q_proj", "k_proj", "v_proj"], &["gate_proj", "up_proj"]];

/// The server, stopped at the end with all its processes.
struct SkyRl {
    child: Child,
    url: String,
    checkpoints: Utf8PathBuf,
}

impl SkyRl {
    fn start(folder: &Utf8Path, base_model: &Utf8Path) -> Self {
        let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let environment = root.join(".venv-tinker");
        let python = environment.join("bin/python");
        assert!(python.is_file(), "there is no {python}: run `make test-tinker`, which makes it");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let checkpoints = folder.join("checkpoints");
        let log = Utf8Path::new(env!("CARGO_TARGET_TMPDIR")).join("tinker-server.log");
        let log = fs::File::create(log).unwrap().into_parts().0;
        // The server starts its engine by `uv run`, and insists on being started so itself.
        let bin = root.join(".venv/bin");
        let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
        let backend = r#"{"max_lora_adapters": 3, "max_lora_rank": 8, "train_micro_batch_size": 2, "sample_max_num_sequences": 2}"#;
        let child = Command::new(bin.join("uv"))
            .args(["run", "--no-project", "--active", "-m", "skyrl.tinker.api"])
            .args(["--base-model", base_model.as_str(), "--backend", "jax"])
            .args(["--backend-config", backend, "--checkpoints-base", checkpoints.as_str()])
            .args(["--database-url", &format!("sqlite:///{folder}/tinker.db")])
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .current_dir(folder)
            .env("PATH", path)
            .env("VIRTUAL_ENV", &environment)
            .env("JAX_PLATFORMS", "cpu")
            // Where the tests find libtorch; the server has one of its own.
            .env_remove("LD_LIBRARY_PATH")
            .env("HF_HUB_OFFLINE", "1")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn()
            .unwrap();
        Self { child, url: format!("http://127.0.0.1:{port}"), checkpoints }
    }

    fn settings(&self) -> LearnerSettings {
        LearnerSettings { url: self.url.clone(), backend: Backend::Jax, ..Default::default() }
    }

    fn wait(&mut self) {
        let began = Instant::now();
        while TinkerClient::open(&self.settings()).is_err() {
            assert!(self.child.try_wait().unwrap().is_none(), "the server ended: see its log");
            assert!(began.elapsed() < Duration::from_mins(5), "the server does not answer");
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    /// The adapters that the learner's model has now, in a folder that the native learner reads.
    fn adapters(
        &self,
        learner: &TinkerLearner<'_>,
        name: &str,
        folder: &Utf8Path,
        base: &Utf8Path,
    ) -> Utf8PathBuf {
        let model = learner.model();
        assert_eq!(model.export(name).unwrap(), format!("tinker://{}/{name}", model.id()));
        let archive = self
            .checkpoints
            .join(model.id())
            .join("sampler_weights")
            .join(format!("{name}.tar.gz"));
        let folder = folder.join(name);
        fs::create_dir(&folder).unwrap();
        let unpacked =
            Command::new("tar").args(["-xf", archive.as_str(), "-C", folder.as_str()]).status();
        assert!(unpacked.unwrap().success());
        // The server's own names no projections.
        let config = serde_json::json!({
            "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base,
            "r": RANK, "lora_alpha": 32.0, "target_modules":
            ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        });
        fs::write(folder.join("adapter_config.json"), config.to_string()).unwrap();
        folder
    }
}

impl Drop for SkyRl {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-s", "TERM", "--", &group]).status();
        let began = Instant::now();
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            if began.elapsed() > Duration::from_secs(20) {
                let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).status();
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The native learner's parts, so that adapters can be tied as the server ties them.
struct Native {
    model: Qwen3,
    adam: AdamW,
}

impl Native {
    fn open(folder: &Utf8Path, config: AdamConfig) -> Self {
        let stream = Stream::root(0);
        let (model, _) =
            policy::open_to_train(folder, None, Kind::Float, Device::Cpu, stream).unwrap();
        assert!(model.lora().is_some());
        let adam = AdamW::new(&model, config);
        Self { model, adam }
    }

    /// The gradient of a loss, with what the server shares added up; and the norm as it counts.
    fn gradients(&self, loss: &TrainingLoss<'_>) -> (UpdateStats, Gradients, f64) {
        let mut gradients = Gradients::default();
        let stats = match loss {
            TrainingLoss::CrossEntropy(samples) => {
                let (loss, tokens) = imitate(&self.model, samples, &MEMORY, &mut gradients);
                UpdateStats { loss, tokens, ..UpdateStats::default() }
            }
            TrainingLoss::Imitation { .. } | TrainingLoss::Weighted { .. } => {
                panic!("the server does not know it")
            }
            TrainingLoss::Surrogate(update) => {
                update.backward(&self.model, &MEMORY, &mut gradients, &mut || ())
            }
        };
        let mut square = 0.0;
        no_grad(|| {
            let all: Vec<(String, Tensor)> = gradients
                .iter()
                .map(|(name, gradient)| (name.to_owned(), gradient.shallow_clone()))
                .collect();
            for (name, gradient) in &all {
                let group = FUSED.iter().find(|group| {
                    name.contains("lora_A") && group.iter().any(|part| name.contains(part))
                });
                let Some(group) = group else {
                    square += gradient.square().sum(Kind::Double).double_value(&[]);
                    continue;
                };
                if !name.contains(group[0]) {
                    continue;
                }
                let members: Vec<&Tensor> = group
                    .iter()
                    .map(|part| {
                        let wanted = name.replace(group[0], part);
                        &all.iter().find(|(name, _)| *name == wanted).unwrap().1
                    })
                    .collect();
                let sum = members[1..].iter().fold(members[0].copy(), |sum, next| sum + *next);
                square += sum.square().sum(Kind::Double).double_value(&[]);
                for member in members {
                    member.shallow_clone().copy_(&sum);
                }
            }
        });
        (stats, gradients, square.sqrt())
    }

    fn step(&mut self, gradients: &mut Gradients, rate: f64) {
        self.adam.step(gradients, rate).unwrap();
    }

    fn log_probs(&self, tokenizer: &Tokenizer, samples: &[TrainSequence]) -> Vec<Vec<f32>> {
        let learner = NativeLearner::new(&self.model, tokenizer, AdamConfig::default(), MEMORY);
        let sampling = Sampling::default();
        learner.log_probs(WeightSet::Current, samples, &sampling, &mut || ()).unwrap()
    }

    /// The largest difference of any weight from those in a folder, and how far the furthest is from
    /// `start`.
    fn compare(&self, folder: &Utf8Path, start: &Utf8Path) -> (f64, f64) {
        let open = |folder: &Utf8Path| Weights::map(&[folder.join(ADAPTERS)]).unwrap();
        let (theirs, start) = (open(folder), open(start));
        let (mut gap, mut moved) = (0.0_f64, 0.0_f64);
        let parameters = self.model.parameters();
        assert_eq!(parameters.len(), theirs.names().count());
        for parameter in parameters {
            let name = format!("base_model.model.{}", parameter.name);
            let of = |weights: &Weights| weights.tensor(&name, &parameter.tensor.size()).unwrap();
            let furthest =
                |from: &Tensor| (parameter.tensor.detach() - from).abs().max().double_value(&[]);
            gap = gap.max(furthest(&of(&theirs)));
            moved = moved.max(furthest(&of(&start)));
        }
        (gap, moved)
    }
}

/// A prompt, turns and observations of random tokens; the last is an observation in one of them.
fn samples(vocab_size: i64) -> Vec<TrainSequence> {
    let lengths: [&[usize]; 4] = [&[5, 4], &[3, 2, 4, 7], &[7, 1, 2], &[4, 9]];
    let mut ids = (0..).map(|index: i64| (index * 7919 + 13) % vocab_size);
    lengths
        .iter()
        .map(|pieces| {
            let mut sample = TrainSequence::default();
            for (index, &length) in pieces.iter().enumerate() {
                let piece: Vec<i64> = ids.by_ref().take(length).collect();
                sample.push(&piece, index % 2 == 1);
            }
            sample
        })
        .collect()
}

fn close(what: &str, found: f64, expected: f64) {
    let gap = (found - expected).abs();
    assert!(gap <= TOLERANCE * expected.abs().max(1.0), "{what}: {found} is not {expected}");
}

fn close_all(what: &str, found: &[Vec<f32>], expected: &[Vec<f32>]) {
    assert_eq!(
        found.iter().map(Vec::len).collect::<Vec<_>>(),
        expected.iter().map(Vec::len).collect::<Vec<_>>()
    );
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        close(what, f64::from(*found), f64::from(*expected));
    }
}

const ADVANTAGES: [f64; 4] = [-0.9, 1.3, 0.0, -0.4];

fn objective(tis_cap: f64) -> Objective {
    Objective { clip: Clip::default(), kl: Kl::default(), tis_cap }
}

fn update<'a>(
    samples: &'a [TrainSequence],
    sampler: &'a [Vec<f32>],
    weights: &'a [f64],
    tis_cap: f64,
) -> TrainingLoss<'a> {
    TrainingLoss::Surrogate(GrpoInputs {
        samples,
        sampler,
        old: None,
        reference: None,
        advantages: &ADVANTAGES,
        weights,
        objective: objective(tis_cap),
        sampling: Sampling::default(),
    })
}

fn tokenizer() -> Tokenizer {
    let texts: Vec<String> =
        (0..20).map(|index| format!("user\nassistant\nprint({index})\n")).collect();
    Tokenizer::train(&texts, 300, Pieces::Lines).unwrap()
}

fn turn(generator: &mut dyn Generator, ids: &[i64], options: TurnOptions) -> Generated {
    generator.begin(1).unwrap();
    generator.start(ConversationId(3), ids, options).unwrap();
    let began = Instant::now();
    loop {
        if let Some(turn) = generator.poll(&Heartbeat::default()).unwrap().pop() {
            return turn;
        }
        assert!(began.elapsed() < Duration::from_mins(5), "no turn came");
    }
}

#[test]
fn steps_through_skyrl_are_those_of_the_native_learner() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let (base, tokenizer) = (dir.join("base"), tokenizer());
    fs::create_dir(&base).unwrap();
    random_with(&base, &tokenizer);
    let mut skyrl = SkyRl::start(dir, &base);
    skyrl.wait();
    let settings = skyrl.settings();
    let open = |adam: AdamConfig| {
        TinkerLearner::open(TinkerStart {
            settings: &settings,
            adam,
            folder: &base,
            tokenizer: &tokenizer,
            adapters: AdapterStart { rank: RANK, seed: 5 },
        })
        .unwrap()
    };
    let samples = samples(i64::try_from(tokenizer.vocab_size()).unwrap());
    let counts: Vec<usize> = samples.iter().map(TrainSequence::trained_count).collect();
    let [of_sequences, of_tokens] = [Aggregation::SeqMeanTokenMean, Aggregation::TokenMean]
        .map(|aggregation| aggregation.weights(&counts));

    // 1. One step in which Adam's epsilon is far above every gradient: what the weights move by is
    //    the gradient itself. B is zero before it, so nothing is rounded away.
    let plain =
        AdamConfig { epsilon: 1e3, weight_decay: 0.0, max_grad_norm: 0.0, ..AdamConfig::default() };
    let mut learner = open(plain);
    let start = skyrl.adapters(&learner, "gradient-start", dir, &base);
    let mut native = Native::open(&start, plain);
    let before = native.log_probs(&tokenizer, &samples);
    let shifts = [0.35_f32, -0.4, 0.05, -0.1, 0.6].into_iter().cycle();
    let mut shifts = shifts.into_iter();
    let sampler: Vec<Vec<f32>> = before
        .iter()
        .map(|values| values.iter().map(|value| value + shifts.next().unwrap()).collect())
        .collect();
    let loss = update(&samples, &sampler, &of_sequences, 0.0);
    let (expected, mut gradients, norm) = native.gradients(&loss);
    let found = learner.accumulate(&loss, &mut || ()).unwrap();
    close("loss", found.loss, expected.loss);
    assert_eq!(found.clipped, expected.clipped);
    assert!(expected.clipped > 0.0, "some token should be clipped");
    close("norm", learner.step(1.0).unwrap(), norm);
    native.step(&mut gradients, 1.0);
    let after = skyrl.adapters(&learner, "gradient-end", dir, &base);
    let (gap, moved) = native.compare(&after, &start);
    assert!(moved > 1e-5 && gap <= TOLERANCE * moved, "gradients differ by {gap} of {moved}");
    drop(learner);

    // 2. Three steps of Adam: the two losses of GRPO, and that of SFT.
    let adam = AdamConfig { epsilon: 1e-6, max_grad_norm: 0.0, ..AdamConfig::default() };
    let mut learner = open(adam);
    let start = skyrl.adapters(&learner, "start", dir, &base);
    let mut native = Native::open(&start, adam);
    let losses = [
        update(&samples, &sampler, &of_sequences, 0.0),
        update(&samples, &sampler, &of_tokens, 1.2),
        TrainingLoss::CrossEntropy(&samples),
    ];
    let sampling = Sampling::default();
    let mut check = |learner: &mut TinkerLearner<'_>, name: &str, loss: &TrainingLoss<'_>| {
        let scores =
            learner.log_probs(WeightSet::Current, &samples, &sampling, &mut || ()).unwrap();
        close_all(name, &scores, &native.log_probs(&tokenizer, &samples));
        let (expected, mut gradients, norm) = native.gradients(loss);
        let found = learner.accumulate(loss, &mut || ()).unwrap();
        close(name, found.loss, expected.loss);
        close(name, found.importance, expected.importance);
        close(name, found.gap, expected.gap);
        close(name, found.gaps, expected.gaps);
        assert_eq!((found.tokens, found.clipped), (expected.tokens, expected.clipped), "{name}");
        close(name, learner.step(RATE).unwrap(), norm);
        native.step(&mut gradients, RATE);
        let after = skyrl.adapters(learner, name, dir, &base);
        let (gap, moved) = native.compare(&after, &start);
        assert!(moved > RATE / 2.0 && gap < WEIGHT_TOLERANCE, "{name}: {gap} of {moved}");
    };
    for (loss, name) in losses.iter().zip(["clipped", "corrected", "imitated"]) {
        check(&mut learner, name, loss);
    }

    // 3. The state survives on the server, with the optimizer's moments.
    let run = dir.join("run");
    let checkpoints = Checkpoints::new(&run, 2);
    checkpoints.save(3, &|folder| learner.save(folder), &(), None).unwrap();
    drop(learner);
    let mut learner = open(adam);
    learner.restore(&checkpoints.latest().unwrap().unwrap()).unwrap();
    check(&mut learner, "resumed", &losses[2]);

    // 4. What is sampled has the log-probabilities of the weights that were published.
    let control = tokenizer.control();
    let stops = vec![control.end_of_turn, control.end_of_text];
    let mut generator = TinkerGenerator::new(learner.model().client(), 1, 64, stops);
    generator.publish(&learner.publish(4, &[1, 2]).unwrap()).unwrap();
    let prompt = &samples[1].ids[..6];
    let stream = Stream::root(9);
    let options = TurnOptions { sampling, stream, max_tokens: 12, ignore_eos: false };
    let sampled = turn(&mut generator, prompt, options);
    assert_eq!(sampled.version, 4);
    let ends = sampled.ending == TurnEnd::EndOfTurn;
    assert!(ends || (sampled.ending == TurnEnd::TurnLength && sampled.ids.len() == 12));
    let mut sequence = TrainSequence::default();
    sequence.push(prompt, false);
    sequence.push(&sampled.ids, true);
    let sequence = [sequence];
    let found = std::slice::from_ref(&sampled.log_probs);
    close_all("sampled", found, &native.log_probs(&tokenizer, &sequence));
    let again = turn(&mut generator, prompt, options);
    assert_eq!(again.ids, sampled.ids, "the same stream draws the same tokens");
}
