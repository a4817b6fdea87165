//! Agreement with transformers: the same weights give the same logits, answers and gradients, in
//! both directions.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rl::generate::engine::{Engine, RowId, TurnOptions};
use rl::generate::sample::Sampling;
use rl::model::{
    Gradients, Lora, LoraSettings, LoraTarget, Packed, Qwen3, Qwen3Config, Weights, save_folder,
    save_whole, write_weights,
};
use rl::train::batch::{Memory, TrainSequence};
use rl::train::native::imitate;
use std::collections::BTreeMap;
use std::ops::Range;
use std::process::Command;
use tasks::stream::Stream;
use tch::{Device, Kind, Tensor};

/// Seven dense shapes and two mixtures of experts of Qwen3, and three shapes of Qwen2.5 with the
/// `config.json` of its release.
const CASES: [&str; 12] = [
    "tied",
    "untied",
    "one-key-head",
    "wide-heads",
    "deep",
    "yarn",
    "linear-rope",
    "experts",
    "some-experts",
    "qwen2-tied",
    "qwen2-untied",
    "qwen2-yarn",
];

/// Largest difference of two f32 implementations that add in different orders.
const TOLERANCE: f64 = 1e-4;

pub(crate) fn python() -> Utf8PathBuf {
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let named = std::env::var("MLE_PYTHON").ok().map(Utf8PathBuf::from);
    let places = [".venv-test/bin/python", ".venv/bin/python"].map(|place| root.join(place));
    let found = named.into_iter().chain(places).find(|path| path.is_file());
    found.expect("no Python environment: run `make test`, which sets one up")
}

pub(crate) fn reference(arguments: &[&str]) {
    run_script("reference.py", arguments);
}

/// Runs a script of `tests/reference`.
pub(crate) fn run_script(name: &str, arguments: &[&str]) {
    let script = Utf8Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference")).join(name);
    let output = Command::new(python()).arg("-I").arg(script).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "the reference failed; `make test` installs what it needs:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn load(folder: &Utf8Path, kind: Kind) -> Qwen3 {
    let config = Qwen3Config::open(folder).unwrap();
    Qwen3::load(&config, &Weights::open(folder).unwrap(), kind, Device::Cpu).unwrap()
}

fn stored_logits(path: &Utf8Path, tokens: i64, vocab: i64) -> Tensor {
    Weights::map(&[path.to_owned()]).unwrap().tensor("logits", &[tokens, vocab]).unwrap()
}

fn logits(model: &Qwen3, ids: &[i64]) -> Tensor {
    model.forward(&Packed::new([ids], Device::Cpu))
}

fn difference(a: &Tensor, b: &Tensor) -> f64 {
    (a - b).abs().max().double_value(&[])
}

fn read<T: serde::de::DeserializeOwned>(folder: &Utf8Path, name: &str) -> T {
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

/// The most likely answer to every prompt, from an engine with fewer places than prompts, so that
/// rows join and leave while others are generated.
fn greedy(model: &Qwen3, prompts: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let mut engine = Engine::new(model, 7, 128);
    let (sampling, stream) = (Sampling::greedy(), Stream::root(0));
    let turn = TurnOptions { sampling, stream, max_tokens: 64, ignore_eos: false };
    let mut answers = vec![Vec::new(); prompts.len()];
    let mut playing: BTreeMap<RowId, usize> = BTreeMap::new();
    let mut next = 0;
    while next < prompts.len() || !playing.is_empty() {
        while next < prompts.len() && playing.len() < 7 {
            playing.insert(engine.admit(&prompts[next], turn).unwrap(), next);
            next += 1;
        }
        for finished in engine.step().unwrap() {
            answers[playing.remove(&finished.row).unwrap()] = finished.ids;
            engine.release(finished.row).unwrap();
        }
    }
    answers
}

// One test, because starting Python with transformers takes seconds.
#[test]
fn logits_answers_gradients_and_files_agree_with_transformers() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    reference(&["make", dir.as_str()]);
    let text: Vec<i64> = read(dir, "ids.json");
    let prompts: Vec<Vec<i64>> = read(dir, "prompts.json");
    for case in CASES {
        let folder = dir.join(case);
        let model = load(&folder, Kind::Float);
        let vocab = model.config().vocab_size;
        let expected = stored_logits(&folder.join("logits.safetensors"), 40, vocab);
        let ours = logits(&model, &text);
        let largest = expected.abs().max().double_value(&[]);
        assert!(largest > 1.0, "{case}: logits too small to compare");
        let gap = difference(&ours, &expected);
        assert!(gap <= TOLERANCE, "{case}: logits differ by {gap}");

        // In bf16 two right answers differ; ours may be about as far from the truth as theirs. The
        // median of tokens, because rounding sends single tokens to other experts.
        let narrow = logits(&load(&folder, Kind::BFloat16), &text);
        let theirs = stored_logits(&folder.join("logits-bf16.safetensors"), 40, vocab);
        let error = |found: &Tensor| {
            let squares =
                (found - &expected).square().mean_dim([-1].as_slice(), false, Kind::Double);
            squares.median().sqrt().double_value(&[])
        };
        let (ours_off, theirs_off) = (error(&narrow), error(&theirs));
        assert!(
            ours_off <= 2.0 * theirs_off,
            "{case}: in bf16 {ours_off} from the truth, the reference {theirs_off}"
        );

        let answers: Vec<Vec<i64>> = read(&folder, "greedy.json");
        // Beyond that, rounding decides, which differs between processors.
        let certain: Vec<usize> = read(&folder, "certain.json");
        let all: usize = answers.iter().map(Vec::len).sum();
        assert!(2 * certain.iter().sum::<usize>() > all, "{case}: hardly anything is certain");
        for (at, ours) in greedy(&model, &prompts).iter().enumerate() {
            let (prompt, theirs, same) = (&prompts[at], &answers[at], certain[at]);
            assert_eq!(
                ours.get(..same),
                theirs.get(..same),
                "{case}: another answer to {prompt:?}"
            );
            if same == theirs.len() {
                assert_eq!(ours.len(), same, "{case}: a longer answer to {prompt:?}");
            }
        }
        gradients_agree(case, &model, &text, &folder.join("gradients.safetensors"));

        let saved = dir.join(format!("{case}-saved"));
        fs::create_dir(&saved).unwrap();
        save_folder(&model, &saved).unwrap();
        if case == "some-experts" {
            fs::remove_file(saved.join("model.safetensors")).unwrap();
            write_weights(&saved, &model.published(), 100_000).unwrap();
            assert!(saved.join("model-00002-of-00004.safetensors").is_file());
        }
        let again = logits(&load(&saved, Kind::Float), &text);
        assert_eq!(difference(&again, &ours).to_bits(), 0.0_f64.to_bits());
    }

    adapters_agree(dir, "tied", &text);
    adapters_agree(dir, "qwen2-tied", &text);

    // What we save, transformers loads.
    let saved = CASES.map(|case| dir.join(format!("{case}-saved")));
    let arguments: Vec<&str> =
        ["logits"].into_iter().chain(saved.iter().map(|folder| folder.as_str())).collect();
    reference(&arguments);
    for folder in &saved {
        let model = load(folder, Kind::Float);
        let theirs =
            stored_logits(&folder.join("logits.safetensors"), 40, model.config().vocab_size);
        let gap = difference(&logits(&model, &text), &theirs);
        assert!(gap <= TOLERANCE, "transformers reads `{folder}` differently, by {gap}");
    }
}

/// PEFT's adapters here, ours there, and both merged into the model.
fn adapters_agree(dir: &Utf8Path, base: &str, text: &[i64]) {
    let (base, theirs) = (dir.join(base), dir.join(format!("{base}-adapters")));
    let (model, _) = open_adapters(&base, &theirs);
    let vocab = model.config().vocab_size;
    let expected = stored_logits(&theirs.join("logits.safetensors"), 40, vocab);
    let gap = difference(&logits(&model, text), &expected);
    assert!(gap <= TOLERANCE, "PEFT's adapters: logits differ by {gap}");
    let plain = logits(&load(&base, Kind::Float), text);
    assert!(difference(&plain, &expected) > 1.0, "the adapters change too little to compare");
    gradients_agree("adapters", &model, text, &theirs.join("gradients.safetensors"));

    // Fresh ones change nothing.
    let mut model = load(&base, Kind::Float);
    let settings = LoraSettings {
        rank: 4,
        alpha: 6.0,
        targets: vec![
            LoraTarget::KProj,
            LoraTarget::OProj,
            LoraTarget::GateProj,
            LoraTarget::UpProj,
        ],
    };
    let lora = Lora { settings, base: base.clone() };
    lora.clone().attach(&mut model, Stream::root(8)).unwrap();
    let gap = difference(&logits(&model, text), &plain);
    assert!(gap <= TOLERANCE, "fresh adapters change logits by {gap}");

    // Trained ones mean the same to PEFT, to us after a restart, and when they are merged in.
    for parameter in &mut model.parameters() {
        let noise = Tensor::randn(parameter.tensor.size(), (Kind::Float, Device::Cpu)) * 0.3;
        tch::no_grad(|| parameter.tensor.copy_(&noise));
    }
    let [ours, merged] =
        ["adapters-saved", "merged"].map(|kind| Utf8PathBuf::from(format!("{base}-{kind}")));
    fs::create_dir(&ours).unwrap();
    fs::create_dir(&merged).unwrap();
    save_folder(&model, &ours).unwrap();
    save_whole(&model, &merged).unwrap();
    let expected = logits(&model, text);
    assert!(difference(&plain, &expected) > 1.0);
    let (again, found) = open_adapters(&base, &ours);
    assert_eq!(found, lora);
    assert_eq!(difference(&logits(&again, text), &expected).to_bits(), 0.0_f64.to_bits());
    let gap = difference(&logits(&load(&merged, Kind::Float), text), &expected);
    assert!(gap <= 2.0 * TOLERANCE, "merged adapters: logits differ by {gap}");
    reference(&["adapters", base.as_str(), ours.as_str()]);
    let theirs = stored_logits(&ours.join("logits.safetensors"), 40, vocab);
    let gap = difference(&theirs, &expected);
    assert!(gap <= TOLERANCE, "PEFT reads our adapters differently, by {gap}");

    // What does not fit is refused.
    let refusal = |targets: Vec<LoraTarget>, folder: &Utf8Path| {
        let mut model = load(&base, Kind::Float);
        let settings = LoraSettings { rank: 4, alpha: 6.0, targets };
        let lora = Lora { settings, base: base.clone() };
        lora.open(&mut model, folder).unwrap_err().to_string()
    };
    assert!(refusal(vec![LoraTarget::KProj], &ours).contains("belongs to another model"));
    assert!(refusal(vec![LoraTarget::KProj, LoraTarget::QProj], &ours).contains("q_proj.lora_A"));
    let mut model = load(&dir.join("experts"), Kind::Float);
    let settings = LoraSettings { targets: vec![LoraTarget::UpProj], ..LoraSettings::default() };
    let error = Lora { settings, base }.attach(&mut model, Stream::root(8)).unwrap_err();
    assert!(error.to_string().contains("mlp.up_proj"), "{error}");
}

fn open_adapters(base: &Utf8Path, folder: &Utf8Path) -> (Qwen3, Lora) {
    let mut model = load(base, Kind::Float);
    let lora = Lora::describe(folder).unwrap().unwrap();
    lora.clone().open(&mut model, folder).unwrap();
    (model, lora)
}

/// Of the mean negative log-likelihood of ids 20 to 39, kept whole and recomputed in parts.
fn gradients_agree(case: &str, model: &Qwen3, text: &[i64], path: &Utf8Path) {
    let theirs = Weights::map(&[path.to_owned()]).unwrap();
    let sample = |trained: Range<usize>| {
        let mut sample = TrainSequence::default();
        sample.push(&text[..trained.start], false);
        sample.push(&text[trained], true);
        sample
    };
    let whole = vec![sample(20..text.len())];
    // The same mean, in two sequences of which one is the beginning of the other.
    let apart = vec![sample(20..30), sample(30..text.len())];
    let memory = Memory {
        max_tokens_per_micro_batch: 100,
        logit_tokens: 100,
        gradient_checkpointing: false,
        share_prefixes: false,
    };
    let pieces = Memory { logit_tokens: 7, gradient_checkpointing: true, ..memory };
    let shared = Memory { share_prefixes: true, ..memory };
    for (samples, memory) in [(&whole, memory), (&whole, pieces), (&apart, shared)] {
        let mut gradients = Gradients::default();
        imitate(model, samples, &memory, &mut gradients);
        assert_eq!(gradients.iter().count(), theirs.names().count(), "{case}: other parameters");
        for (name, ours) in gradients.iter() {
            let expected = theirs.tensor(name, &ours.size()).unwrap();
            let gap = (ours - &expected).norm().double_value(&[]);
            let relative = gap / expected.norm().double_value(&[]);
            assert!(relative <= 1e-4, "{case}: the gradient of `{name}` differs by {relative}");
        }
    }
}

#[test]
fn damaged_folders_give_errors_that_name_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let error = |folder: &Utf8Path| Weights::open(folder).unwrap_err().to_string();
    assert!(error(dir).contains("neither `model.safetensors` nor"));
    fs::write(
        dir.join("model.safetensors.index.json"),
        r#"{"weight_map": {"a": "../../etc/passwd"}}"#,
    )
    .unwrap();
    assert!(error(dir).contains("not a plain file name"));
    fs::write(dir.join("model.safetensors"), b"not tensors").unwrap();
    assert!(error(dir).contains("is damaged or not a safetensors file"));

    let config = Qwen3Config::tiny(300, 1, 2);
    let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(1));
    save_folder(&model, dir).unwrap();
    let weights = Weights::open(dir).unwrap();
    let load =
        |config| Qwen3::load(&config, &weights, Kind::Float, Device::Cpu).unwrap_err().to_string();
    let wider = load(Qwen3Config { hidden_size: 256, ..config.clone() });
    assert!(wider.contains("[300, 128]") && wider.contains("[300, 256]"), "{wider}");
    let deeper = load(Qwen3Config { num_hidden_layers: 5, ..config });
    assert!(deeper.contains("model.layers.4."), "{deeper}");
}
