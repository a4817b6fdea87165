//! Agreement with transformers: the same weights give the same logits, in both directions.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rl::engine::{Engine, Turn};
use rl::model::{Qwen3, Qwen3Config, Weights, save_folder};
use rl::sample::Sampling;
use sandbox::stream::Stream;
use std::process::Command;
use tch::{Device, Kind, Tensor};

const CASES: [&str; 4] = ["tied", "untied", "one-key-head", "wide-heads"];

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
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/reference.py");
    let output = Command::new(python()).arg("-I").arg(script).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "the reference failed; `make test` installs what it needs:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn load(folder: &Utf8Path) -> Qwen3 {
    let config = Qwen3Config::open(folder).unwrap();
    Qwen3::load(&config, &Weights::open(folder).unwrap(), Kind::Float, Device::Cpu).unwrap()
}

fn stored_logits(path: &Utf8Path, tokens: i64, vocab: i64) -> Tensor {
    Weights::map(&[path.to_owned()]).unwrap().tensor("logits", &[tokens, vocab]).unwrap()
}

fn logits(model: &Qwen3, ids: &[i64]) -> Tensor {
    model.logits(&model.forward(&Tensor::from_slice(ids).unsqueeze(0))).squeeze_dim(0)
}

fn difference(a: &Tensor, b: &Tensor) -> f64 {
    (a - b).abs().max().double_value(&[])
}

fn ids(folder: &Utf8Path, name: &str) -> Vec<i64> {
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

// One test, because starting Python with transformers takes seconds.
#[test]
fn logits_answers_and_files_agree_with_transformers() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    reference(&["make", dir.as_str()]);
    let prompt = ids(dir, "ids.json");
    for case in CASES {
        let folder = dir.join(case);
        let model = load(&folder);
        let vocab = model.config().vocab_size;
        let expected = stored_logits(&folder.join("logits.safetensors"), 40, vocab);
        let ours = logits(&model, &prompt);
        assert!(
            expected.abs().max().double_value(&[]) > 1.0,
            "{case}: logits too small to compare"
        );
        let gap = difference(&ours, &expected);
        assert!(gap <= TOLERANCE, "{case}: logits differ by {gap}");

        // Greedy decoding through the cache gives transformers' answer.
        let mut engine = Engine::new(&model, 1, 64);
        let (sampling, stream) = (Sampling::greedy(), Stream::root(0));
        let turn = Turn { sampling, stream, max_tokens: 24, ignore_eos: false };
        engine.admit(&prompt[..9], turn).unwrap();
        let mut finished = Vec::new();
        while finished.is_empty() {
            finished = engine.step().unwrap();
        }
        assert_eq!(finished[0].ids, ids(&folder, "greedy.json"), "{case}: greedy answers differ");

        let saved = dir.join(format!("{case}-saved"));
        fs::create_dir(&saved).unwrap();
        save_folder(&model, &saved).unwrap();
        assert_eq!(difference(&logits(&load(&saved), &prompt), &ours).to_bits(), 0.0_f64.to_bits());
    }

    // What we save, transformers loads.
    let saved = CASES.map(|case| dir.join(format!("{case}-saved")));
    let arguments: Vec<&str> =
        ["logits"].into_iter().chain(saved.iter().map(|folder| folder.as_str())).collect();
    reference(&arguments);
    for folder in &saved {
        let model = load(folder);
        let theirs =
            stored_logits(&folder.join("logits.safetensors"), 40, model.config().vocab_size);
        let gap = difference(&logits(&model, &prompt), &theirs);
        assert!(gap <= TOLERANCE, "transformers reads `{folder}` differently, by {gap}");
    }
}

#[test]
fn damaged_folders_are_explained() {
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
