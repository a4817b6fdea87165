//! SIGINT and SIGTERM: a run saves what is done, says how to go on, and leaves nothing behind.

use crate::corpus;
use crate::killed::{command, finish, signal};
use crate::loops::curve;
use agents::grammar::python_turn;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long anything here may take that should take no time at all.
const PATIENCE: Duration = Duration::from_mins(1);

/// Has a policy imitate a single script that sleeps for two minutes, whatever the task.
fn sleeper(dir: &Utf8Path, tasks: &Utf8Path) -> Utf8PathBuf {
    let run = dir.join("sleeper");
    let turn = python_turn("Wait.", "import time\ntime.sleep(120)");
    corpus::demonstrate(tasks, &run, &turn);
    let arguments = ["sft", "--tasks", tasks.as_str(), "--attempts", "1", "--epochs", "15"];
    let sizes = ["--set", "batch=4", "--set", "vocab_size=320"];
    finish(&[&arguments[..], &sizes].concat(), &run);
    run
}

fn descendants(root: u32) -> Vec<u32> {
    let mut all = Vec::new();
    // Each thread of a process has children of its own.
    for thread in fs::read_dir(format!("/proc/{root}/task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().map(|pid| pid.parse().unwrap()) {
            all.push(child);
            all.extend(descendants(child));
        }
    }
    all
}

fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").starts_with(" Z"))
}

fn soon(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn log(out: &Utf8Path) -> String {
    fs::read_to_string(out.with_extension("log")).unwrap_or_default()
}

/// Waits until the run hangs on its scripts, and says so.
fn asleep(child: &Child, out: &Utf8Path) -> Vec<u32> {
    let warned = || log(out).contains("while waiting for scripts; waits for script on `");
    soon("the watchdog names the scripts", warned);
    descendants(child.id())
}

#[test]
fn stop_does_not_wait_for_a_sleeping_script() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let tasks = dir.join("tasks");
    corpus::write(&tasks);
    let policy = sleeper(dir, &tasks);
    let train = ["train", "--model", policy.as_str(), "--tasks", tasks.as_str()];
    let sizes = ["--tasks-per-step", "2", "--group-size", "2", "--set", "watchdog_seconds=1"];
    // Nearly greedy, so that the script is said as it was learnt; and with time to sleep in.
    let greedy = ["--set", "rollout.sampling.min_p=0.9", "--set", "validate_every=0"];
    let long = ["--set", "rules.episode.policy.time_limit=110s"];
    let arguments = [&train[..], &sizes, &greedy, &long].concat();

    for (name, signals, code) in
        [("int", &["-INT"][..], 130), ("term", &["-TERM"], 143), ("twice", &["-INT", "-INT"], 130)]
    {
        let out = dir.join(name);
        let mut child = command(&arguments, &out).spawn().unwrap();
        let below = asleep(&child, &out);
        assert!(!below.is_empty());
        let began = Instant::now();
        for name in signals {
            signal(&child, name);
        }
        let status = child.wait().unwrap();
        assert!(began.elapsed() < Duration::from_secs(20), "{name}: {:?}", began.elapsed());
        assert_eq!(status.code(), Some(code), "{name}: {}", log(&out));
        soon("no orphans", || !below.iter().any(|pid| is_alive(*pid)));
        if signals.len() == 1 {
            assert!(log(&out).contains("stopped before the first step"), "{}", log(&out));
        }
    }
}

/// Gives the settings of a run the names that they had in the previous release.
fn with_old_names(run: &Utf8Path) {
    let path = run.join("settings.toml");
    let mut settings = fs::read_to_string(&path).unwrap();
    for (new, old) in [
        ("learning_rate = ", "rate = "),
        ("group_size = ", "group = "),
        ("early_stopping_patience = ", "patience = "),
        ("[dynamic_sampling]\nmax_rounds = 1\n", ""),
        ("tis_cap = ", "max_draws = 1\nimportance_cap = "),
        ("max_tokens_per_micro_batch = ", "micro_tokens = "),
        ("gradient_checkpointing = ", "recompute = "),
        ("[advantage]\n", "[normalisation]\n"),
        ("\nstd = ", "\nspread = "),
        ("max_grad_norm = ", "clip_norm = "),
        ("optim = \"adamw\"", "moments = \"full\""),
        ("max_num_seqs = ", "rows = "),
        ("max_model_len = ", "context = "),
        ("deterministic = ", "lockstep = "),
        ("context_overflow = \"end\"", "overflow = \"stop\""),
    ] {
        assert!(settings.contains(new), "`{new}` is not in {settings}");
        settings = settings.replace(new, old);
    }
    fs::write(path, settings).unwrap();
    // The update that waits for its validation.
    let path = run.join("checkpoints/step-000001/training.json");
    let mut state = fs::read_to_string(&path).unwrap();
    for (old, new) in [
        ("rate", "learning_rate"),
        ("clipped", "clip_fraction"),
        ("draws", "sampling_rounds"),
        ("reread_tokens", "recomputed_tokens"),
    ] {
        let [old, new] = [old, new].map(|name| format!("\"{name}\":"));
        assert!(state.contains(&new), "`{new}` is not in {state}");
        state = state.replace(&new, &old);
    }
    fs::write(path, state).unwrap();
}

#[test]
fn interrupted_validation_is_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let tasks = dir.join("tasks");
    corpus::write(&tasks);
    let policy = sleeper(dir, &tasks);
    let train = ["train", "--model", policy.as_str(), "--tasks", tasks.as_str(), "--steps", "1"];
    let sizes = ["--tasks-per-step", "1", "--group-size", "2", "--set", "validate_every=1"];
    let greedy = ["--set", "rollout.sampling.min_p=0.9", "--set", "validate_attempts=1"];
    // Every script times out, so that nothing is learnt and a validation takes seconds.
    let short = ["--set", "rules.episode.policy.time_limit=1s"];
    let arguments = [&train[..], &sizes, &greedy, &short].concat();
    let out = dir.join("grpo");

    let mut child = command(&arguments, &out).spawn().unwrap();
    soon("the first update", || log(&out).contains("trained step=1"));
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{}", log(&out));
    assert!(log(&out).contains("stopped after step 1 of 1"), "{}", log(&out));
    let steps = |run: &Utf8Path| -> Vec<u64> {
        curve(run).iter().map(|line| line["step"].as_u64().unwrap()).collect()
    };
    assert_eq!(steps(&out), [0], "the update is not recorded without its validation");

    let killed = dir.join("killed");
    let copied = Command::new("cp").args(["-a", out.as_str(), killed.as_str()]).status().unwrap();
    assert!(copied.success());

    finish(&arguments, &out);
    assert_eq!(steps(&out), [0, 1]);

    // As if the previous release had begun it.
    with_old_names(&killed);
    // As if that had been killed between the record and the checkpoint.
    fs::copy(out.join("metrics.jsonl"), killed.join("metrics.jsonl")).unwrap();
    finish(&arguments, &killed);
    assert_eq!(steps(&killed), [0, 1], "recorded once");
    for [new, old] in [["group_size", "group"], ["adam.optim", "adam.moments"]] {
        let warning = format!("`{old}` is now called `{new}`");
        assert!(log(&killed).contains(&warning), "{}", log(&killed));
    }
    assert_eq!(
        fs::read_to_string(killed.join("settings.toml")).unwrap(),
        fs::read_to_string(out.join("settings.toml")).unwrap()
    );

    let line = curve(&out).pop().unwrap();
    assert!(line["validation"]["reward"].is_f64(), "{line}");
    assert_eq!((line["played"].as_u64(), line["masked_time_limit"].as_u64()), (Some(2), Some(2)));
    assert_eq!((line["updates"].as_u64(), line["trained_tokens"].as_u64()), (Some(0), Some(0)));
}

#[test]
fn a_run_that_is_stopped_after_an_update_has_a_checkpoint_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let tasks = dir.join("tasks");
    corpus::write(&tasks);
    let out = dir.join("sft");
    corpus::demonstrate(&tasks, &out, "Go on.");
    let arguments = ["sft", "--tasks", tasks.as_str(), "--attempts", "1", "--epochs", "100"];
    let rare = ["--set", "batch=4", "--set", "vocab_size=320", "--set", "checkpoint_every=100000"];
    let mut child = command(&[&arguments[..], &rare].concat(), &out).spawn().unwrap();
    soon("the first updates", || out.join("metrics.jsonl").is_file() && curve(&out).len() > 2);
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let made = curve(&out).len();
    let checkpoint = out.join(format!("checkpoints/step-{made:06}"));
    assert!(checkpoint.join("training.json").is_file());
    let text = log(&out);
    assert!(text.contains(&format!("stopped after step {made} of 200")), "{text}");
    assert!(text.contains(&format!("goes on from `{checkpoint}`")), "{text}");
}
