//! Signals at random moments: the command that is run again finishes the same work.
//!
//! `KILLS=10 cargo test --release -p rl --test suite interrupted_runs` kills a longer training run
//! that many times.

use crate::corpus;
use crate::loops::{checkpoints, curve};
use agents::trajectory;
use camino::Utf8Path;
use fs_err as fs;
use rand::RngExt;
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tasks::stream::Stream;

/// How each command is interrupted before it may finish, and the exit code that it then has.
const INTERRUPTIONS: [(&str, Option<i32>); 3] =
    [("-KILL", None), ("-INT", Some(130)), ("-TERM", Some(143))];

pub(crate) fn command(arguments: &[&str], out: &Utf8Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rl"));
    command
        .args(arguments)
        .args(["--out", out.as_str(), "--device", "cpu", "--threads", "1"])
        .stdout(Stdio::null())
        .stderr(fs::File::create(out.with_extension("log")).unwrap().into_parts().0);
    command
}

/// Runs the command to its end and returns how long that took.
pub(crate) fn finish(arguments: &[&str], out: &Utf8Path) -> Duration {
    let began = Instant::now();
    let status = command(arguments, out).status().unwrap();
    let log = fs::read_to_string(out.with_extension("log")).unwrap();
    assert!(status.success(), "{arguments:?}: {log}");
    began.elapsed()
}

pub(crate) fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Runs the command once undisturbed and once with interruptions, and compares all that they
/// leave. Returns how many of them found it at work, at least one.
fn equals_undisturbed(
    arguments: &[&str],
    straight: &Utf8Path,
    disturbed: &Utf8Path,
    interruptions: &[(&str, Option<i32>)],
) -> usize {
    let whole = finish(arguments, straight);
    let mut moments = Stream::root(7).child(arguments[0]).rng();
    let mut hits = 0;
    for &(name, code) in interruptions {
        let mut child = command(arguments, disturbed).spawn().unwrap();
        let share = moments.random_range(0.3..2.1) / interruptions.len() as f64;
        let moment = Instant::now() + whole.mul_f64(share);
        while Instant::now() < moment && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        if child.try_wait().unwrap().is_none() {
            signal(&child, name);
            hits += 1;
        }
        // What comes too late finds a run that is finished, or ends one that has not begun.
        let status = child.wait().unwrap();
        assert!(status.code().is_none_or(|found| found == 0 || Some(found) == code), "{status}");
    }
    assert!(hits > 0, "no signal found `rl {}` at work", arguments[0]);
    finish(arguments, disturbed);
    assert_eq!(curve(disturbed), curve(straight));
    let (last, expected) =
        (checkpoints(disturbed).pop().unwrap(), checkpoints(straight).pop().unwrap());
    for file in
        ["model.safetensors", "trainer/optimizer.safetensors", "tokenizer.json", "training.json"]
    {
        assert_eq!(
            fs::read(last.join(file)).unwrap(),
            fs::read(expected.join(file)).unwrap(),
            "{file}"
        );
    }
    hits
}

/// The lines of a JSONL file, sorted: who plays beside whom decides their order.
fn lines(path: &Utf8Path) -> Vec<String> {
    let mut lines: Vec<String> =
        fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn interrupted_runs_finish_the_same_work() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let tasks = dir.join("tasks");
    corpus::write(&tasks);

    let sft = ["sft", "--tasks", tasks.as_str(), "--attempts", "1", "--epochs", "12"];
    let sizes = ["--set", "batch=4", "--set", "vocab_size=500", "--set", "checkpoint_every=5"];
    let (straight, disturbed) = (dir.join("sft"), dir.join("sft-disturbed"));
    equals_undisturbed(&[&sft[..], &sizes].concat(), &straight, &disturbed, &INTERRUPTIONS);
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
    assert_eq!(keys(&lines(&disturbed.join(demonstrations))), keys(&played));

    let kills = std::env::var("KILLS").map(|kills| kills.parse::<usize>().unwrap()).ok();
    let steps = kills.map_or(4, |kills| 4 * kills);
    let count = steps.to_string();
    let train =
        ["train", "--model", straight.as_str(), "--tasks", tasks.as_str(), "--steps", &count];
    let sizes = ["--tasks-per-step", "2", "--group-size", "2", "--set", "checkpoint_every=3"];
    // Every option that has a state of its own, and in lockstep: who shares a batch changes
    // rounding, and this test compares bits.
    let lockstep = "rollout.deterministic=true";
    let exact = ["--set", "validate_every=2", "--set", "validate_attempts=1", "--set", lockstep];
    // The tiny policy is too small for oneDNN on some processors; here it is used on all.
    let packed = ["--set", "rollout.cpu_linear=onednn"];
    let short = ["--set", "rollout.turn_tokens=160", "--set", "epochs=2", "--set", "kl.beta=0.01"];
    let (straight, disturbed) = (dir.join("grpo"), dir.join("grpo-disturbed"));
    let draws = ["--set", "curriculum.sampler=adaptive", "--set", "dynamic_sampling.max_rounds=2"];
    let train = [&train[..], &sizes, &exact, &packed, &short, &draws].concat();
    let signals = kills.map_or(INTERRUPTIONS.to_vec(), |kills| vec![("-KILL", None); kills]);
    let hits = equals_undisturbed(&train, &straight, &disturbed, &signals);
    println!("{hits} of {} interruptions found {steps} steps of training at work", signals.len());
    for step in 1..=steps {
        let file = format!("episodes/step-{step:06}.jsonl");
        assert_eq!(
            lines(&disturbed.join(&file)).len(),
            lines(&straight.join(&file)).len(),
            "{file}"
        );
    }
    let best = |run: &Utf8Path| run.join("checkpoints/best").read_link_utf8().ok();
    assert_eq!(best(&disturbed), best(&straight));

    // Episodes of an evaluation are kept as they end.
    let policy = format!("policy={straight}");
    let eval = ["eval", "--tasks", tasks.as_str(), "--policy", &policy, "--attempts", "12"];
    let eval =
        [&eval[..], &["--set", "rollout.turn_tokens=160", "--set", "rollout.max_num_seqs=2"]]
            .concat();
    let out = dir.join("eval");
    let episodes = out.join("episodes/policy.jsonl");
    let kept = || fs::read_to_string(&episodes).map_or(0, |text| text.matches('\n').count());
    let mut child = command(&eval, &out).spawn().unwrap();
    while kept() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
    signal(&child, "-KILL");
    child.wait().unwrap();
    let first = kept();
    assert!((2..12).contains(&first), "{first} of 12");
    let before = fs::read_to_string(&episodes).unwrap();
    fs::write(&episodes, format!("{before}{{\"torn")).unwrap();
    finish(&eval, &out);
    let after = lines(&episodes);
    let mut whole = before.lines().take(first);
    assert!(whole.all(|line| after.iter().any(|other| other == line)), "played again");
    let attempts: BTreeSet<u64> =
        trajectory::read(&episodes).unwrap().iter().map(|episode| episode.attempt).collect();
    assert_eq!((after.len(), attempts.len()), (12, 12));
}
