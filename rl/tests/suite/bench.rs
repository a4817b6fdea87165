//! `rl bench`, and the script that runs it on a machine with a GPU.

use crate::corpus;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::python::{PythonEnv, VARIABLE};
use rl::bench::{BenchCase, BenchJob, BenchReport, BenchSizes, CaseResult, ModelSource};
use rl::train::presets::{Dtype, Scale};
use std::process::{Command, Output};

const RL: &str = env!("CARGO_BIN_EXE_rl");

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The names and endings of all results.
fn results(path: &Utf8Path) -> Vec<(String, CaseResult)> {
    let report = BenchReport::read(path).unwrap();
    report.results.into_iter().map(|result| (result.name, result.ending)).collect()
}

/// Everything that the script does with a GPU, on a CPU and at small shapes.
#[test]
fn the_check_of_a_gpu_runs_without_one() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let (tasks, out) = (dir.join("tasks"), dir.join("out"));
    corpus::write(&tasks);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/gpu_check.sh");
    let binaries = Utf8Path::new(RL).parent().unwrap();
    let python = PythonEnv::locate().unwrap();
    let output = Command::new(script)
        .env(VARIABLE, python.interpreter())
        .args(["--small", "--bin", binaries.as_str(), "--out", out.as_str()])
        .args(["--tasks", tasks.as_str(), "--threads", "1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));

    let results = results(&out.join("gpu_check.json"));
    let names: Vec<&str> = results.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "parity",
        "tiny: decoding, 8 x 128",
        "tiny: decoding, 8 x 256",
        "tiny: SFT, 8 x 256, full",
        "tiny: SFT, 8 x 256, LoRA 8",
        "tiny: GRPO, 8 x 256, full",
        "tiny: GRPO, 8 x 256, LoRA 8",
        "tiny: SFT",
        "tiny: GRPO",
        "tiny: sampler against trainer, f32",
    ];
    assert_eq!(names, expected);
    let table = fs::read_to_string(out.join("gpu_check.md")).unwrap();
    for (name, ending) in results {
        assert!(table.contains(&format!("| {name} |")), "{name} is not in\n{table}");
        match ending {
            CaseResult::Compared { checks } => {
                // Fourteen of each of four models, or one of the sampler.
                assert!([1, 4 * 14].contains(&checks.len()), "{checks:?}");
            }
            CaseResult::Measured(figures) if figures.unit == "s" => (),
            CaseResult::Measured(figures) => {
                // Nothing is faster than its floor, a noisy clock apart.
                let at_floor = figures.at_floor.unwrap();
                assert!(figures.value > 0.0 && figures.value < 2.0 * at_floor, "{figures:?}");
                let memory = figures.memory;
                assert!(memory.peak.unwrap() > memory.before.unwrap(), "{figures:?}");
                assert!(memory.planned.is_some());
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn case_that_does_not_fit_is_reported_and_others_run() {
    let dir = tempfile::tempdir().unwrap();
    let json = Utf8Path::from_path(dir.path()).unwrap().join("bench.json");
    // The first matrix alone takes 3.1 GB.
    let limited = "ulimit -v 3145728; exec \"$0\" \"$@\"";
    let output = Command::new("bash")
        .args(["-c", limited, RL, "bench", "--shape", "qwen3-32b", "--random-weights"])
        .args(["--case", "decode", "--context", "32", "--steps", "1", "--case", "sft"])
        .args(["--device", "cpu", "--dtype", "f32", "--threads", "1", "--json", json.as_str()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let results = results(&json);
    assert!(matches!(&results[0].1, CaseResult::OutOfMemory { .. }), "{results:?}");
    match &results[1].1 {
        CaseResult::TooLarge { reason } => assert!(reason.contains("gradients in f32"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn results_of_several_runs_become_one_table() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let written = |name: &str, ending: &str| -> Utf8PathBuf {
        let path = dir.join(format!("{name}.json"));
        let text = format!(
            r#"{{"version": 1, "results": [{{"name": "{name}", "machine": {{"device": "cpu"}}, {ending}}}]}}"#
        );
        fs::write(&path, text).unwrap();
        path
    };
    let fine = written("fine", r#""ending": "measured", "value": 3, "unit": "s""#);
    let wrong = written("wrong", r#""ending": "broken", "reason": "it fell""#);
    let table = |files: &[&Utf8Path]| {
        let mut command = Command::new(RL);
        command.args(["bench", "--case", "none"]);
        for file in files {
            command.args(["--with", file.as_str()]);
        }
        command.output().unwrap()
    };
    let output = table(&[&fine]);
    assert!(output.status.success(), "{}", said(&output));
    // The table is there even if what it says is not good.
    let output = table(&[&fine, &wrong]);
    assert!(!output.status.success() && said(&output).contains("failed or out of limits: wrong"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("| fine | 3.00 s |") && text.contains("**broken**: it fell"), "{text}");
}

/// A driver that has no GPU: libtorch's CUDA half is loaded, and loaded before libtorch looks for
/// it, or it would not be asked how many GPUs it sees.
#[test]
fn the_cuda_half_of_libtorch_is_found() {
    let folder = Utf8Path::new(env!("RL_LIBTORCH_LIB"));
    let cuda = folder.join("libtorch_cuda.so");
    assert!(
        cuda.exists(),
        "there is no `{cuda}`; test with the torch of `make venv`, which has it"
    );
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let source = dir.join("driver.c");
    fs::write(&source, "int no_gpu;\n").unwrap();
    let driver = dir.join("libcuda.so.1");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", driver.as_str(), source.as_str()])
        .status()
        .unwrap();
    assert!(built.success());
    // What commands do before they make anything.
    let job = BenchJob {
        case: BenchCase::Parity,
        model: ModelSource::Shape("tiny".into()),
        dtype: Dtype::F32,
        sizes: BenchSizes::defaults(Scale::Tiny).0,
        seed: 0,
    };
    let output = Command::new(RL)
        .args(["bench", "--device", "cuda:0", "--job", &serde_json::to_string(&job).unwrap()])
        .env("LD_LIBRARY_PATH", dir)
        .output()
        .unwrap();
    assert!(said(&output).contains("libtorch sees 0 GPU(s)"), "{}", said(&output));
}
