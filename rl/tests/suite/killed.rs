//! SIGKILL at random moments: the command that is run again finishes the same work.

use crate::corpus;
use crate::loops::{checkpoints, curve};
use camino::Utf8Path;
use fs_err as fs;
use rand::RngExt;
use sandbox::stream::Stream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often each command is killed before it may finish.
const KILLS: u64 = 3;

fn start(arguments: &[&str], out: &Utf8Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_rl"))
        .args(arguments)
        .args(["--out", out.as_str(), "--device", "cpu", "--threads", "1"])
        .stdout(Stdio::null())
        .stderr(fs::File::create(out.with_extension("log")).unwrap().into_parts().0)
        .spawn()
        .unwrap()
}

/// Runs the command to its end and returns how long that took.
fn finish(arguments: &[&str], out: &Utf8Path) -> Duration {
    let began = Instant::now();
    let status = start(arguments, out).wait().unwrap();
    let log = fs::read_to_string(out.with_extension("log")).unwrap();
    assert!(status.success(), "{arguments:?}: {log}");
    began.elapsed()
}

/// Runs the command once undisturbed and once with kills, and compares all that they leave.
fn killed_equals_undisturbed(arguments: &[&str], straight: &Utf8Path, killed: &Utf8Path) {
    let whole = finish(arguments, straight);
    let mut moments = Stream::root(7).child(arguments[0]).rng();
    for _ in 0..KILLS {
        let mut child = start(arguments, killed);
        std::thread::sleep(whole.mul_f64(moments.random_range(0.1..0.9)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    finish(arguments, killed);
    assert_eq!(curve(killed), curve(straight));
    let (last, expected) =
        (checkpoints(killed).pop().unwrap(), checkpoints(straight).pop().unwrap());
    for file in ["model.safetensors", "optimizer.safetensors", "tokenizer.json", "training.json"] {
        assert_eq!(
            fs::read(last.join(file)).unwrap(),
            fs::read(expected.join(file)).unwrap(),
            "{file}"
        );
    }
}

/// The lines of a JSONL file, sorted: who plays beside whom decides their order.
fn lines(path: &Utf8Path) -> Vec<String> {
    let mut lines: Vec<String> =
        fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn killed_runs_finish_the_same_work() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let tasks = dir.join("tasks");
    corpus::write(&tasks);

    let sft = ["sft", "--tasks", tasks.as_str(), "--attempts", "1", "--epochs", "20"];
    let sizes = ["--set", "batch=4", "--set", "vocab_size=500", "--set", "checkpoint_every=5"];
    let (straight, killed) = (dir.join("sft"), dir.join("sft-killed"));
    killed_equals_undisturbed(&[&sft[..], &sizes].concat(), &straight, &killed);
    let demonstrations = "demonstrations.jsonl";
    let played = lines(&straight.join(demonstrations));
    assert_eq!(played.len(), 2 * 4);
    let keys = |lines: &[String]| -> Vec<(String, String)> {
        let key = |line: &String| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            (line["task"].to_string(), line["agent"].to_string())
        };
        lines.iter().map(key).collect()
    };
    assert_eq!(keys(&lines(&killed.join(demonstrations))), keys(&played));

    let train = ["train", "--model", straight.as_str(), "--tasks", tasks.as_str(), "--steps", "4"];
    let sizes = ["--tasks-per-step", "2", "--group", "2", "--set", "checkpoint_every=1"];
    // One conversation at a time: who shares a batch changes rounding, and this test compares bits.
    let exact =
        ["--set", "validate_every=2", "--set", "validate_attempts=1", "--set", "rollout.rows=1"];
    let short = ["--set", "rollout.turn_tokens=160"];
    let (straight, killed) = (dir.join("grpo"), dir.join("grpo-killed"));
    killed_equals_undisturbed(&[&train[..], &sizes, &exact, &short].concat(), &straight, &killed);
    for step in 1..=4 {
        let file = format!("episodes/step-{step:06}.jsonl");
        assert_eq!(lines(&killed.join(&file)).len(), lines(&straight.join(&file)).len(), "{file}");
    }
}
