//! Runs of agents, from their first line to the result.

use crate::fixture::{PROGRAM, until};
use crate::running::{Runs, marker, processes_with};
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::{Child, Command};
use std::time::Duration;

const HONEST: &str = "from common import model, submit\nprint(submit(model('step-1', 0.5)))\n";

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn run_writes_its_record_scores_and_the_code_of_each_submission() {
    let runs = Runs::new();
    let agent = runs.python(
        "import os\n\
         from common import model, submit\n\
         open('train.py', 'w').write('lr = 1')\n\
         assert submit(model('step-1', 0.5))[1]['score'] == 0.5\n\
         open('train.py', 'w').write('lr = 2')\n\
         assert submit('/workspace/output/none')[0] == 422\n\
         assert os.getcwd() == os.environ['WORKSPACE'] + '/code'\n\
         assert os.environ['SEED'] == '7' and os.environ['TASK'] == 'household'\n\
         assert os.environ['MODE'] == 'free' and os.environ['BASE_MODEL'] == 'base'\n\
         assert len(open(os.environ['DATA_PATH'] + '/public/train.jsonl').readlines()) == 400\n\
         assert 'Submitting' in open('../instructions.md').read()\n\
         print(os.popen('timer').read(), os.popen('timer --seconds').read())\n",
        &json!({}),
    );
    let result = runs.result(agent.as_str(), &["--seed", "7"]);
    assert_eq!(result["ended"]["how"], json!({"exited": 0}), "{}", runs.log());
    assert_eq!(result["metrics"]["improvement"], 0.25);
    assert_eq!(result["metrics"]["final_best"], 0.5);
    assert_eq!(result["mode_held_by"], "nothing");
    assert!(result["isolation"]["tier"].as_str().unwrap().starts_with('t'));
    assert!(runs.log().contains("s of 60 s left"), "{}", runs.log());
    let snapshot = |id: u64| runs.read(&format!("snapshots/{id:04}.json"));
    assert_eq!(snapshot(1)["files"][0]["path"], "train.py");
    let hash = snapshot(2)["files"][0]["hash"].as_str().unwrap().to_owned();
    let kept = runs.out().join("snapshots/files").join(hash);
    assert_eq!(fs::read_to_string(kept).unwrap(), "lr = 2");
    let ended = runs.events().into_iter().find(|line| line["event"] == "ended").unwrap();
    assert_eq!(ended["why"], "agent");
    for name in ["run.toml", "views/scores.json", "workspace/instructions.md"] {
        assert!(runs.out().join(name).is_file(), "{name}");
    }

    // A run that is there is not made again, and another one is not made in its place.
    let gradings = runs.place.gradings("done").len();
    let again = runs.result(agent.as_str(), &["--seed", "7"]);
    assert_eq!(again["metrics"], result["metrics"]);
    assert_eq!(again["ended"], result["ended"]);
    assert_eq!(runs.place.gradings("done").len(), gradings);
    let other = runs.run(agent.as_str(), &["--seed", "8", "--mode", "sft-only"]);
    assert_eq!(other.status.code(), Some(2));
    let text = String::from_utf8(other.stderr).unwrap();
    assert!(text.contains("other settings (mode, seed)"), "{text}");
}

#[test]
fn shipped_agents_without_a_trainer_have_the_scores_that_they_must_have() {
    for (name, best, improvement, submissions) in [
        ("scripted/noop", 0.0, -0.25, 0),
        ("scripted/copy", 0.25, 0.0, 1),
        ("scripted/broken", 0.0, -0.25, 4),
    ] {
        let runs = Runs::new();
        let result = runs.result(name, &[]);
        assert_eq!(result["ended"]["how"], json!({"exited": 0}), "{name}: {}", runs.log());
        let metrics = &result["metrics"];
        assert_eq!(metrics["best"], best, "{name}");
        assert_eq!(metrics["improvement"], improvement, "{name}");
        assert_eq!(metrics["submissions"], submissions, "{name}: {}", runs.log());
        assert_eq!(metrics["copy_model_count"], u64::from(name == "scripted/copy"));
    }
}

#[test]
fn mode_is_held_by_the_toolbox_and_an_agent_must_know_it() {
    let runs = Runs::new();
    let tools = runs.place.path("tools");
    fs::create_dir_all(&tools).unwrap();
    fs::write(tools.join("rl"), "#!/bin/sh\necho \"rl $1\"\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(tools.join("rl"), mode).unwrap();
    let agent = runs.python(
        "import subprocess\n\
         assert subprocess.run(['rl', 'sft'], capture_output=True).stdout == b'rl sft\\n'\n\
         refused = subprocess.run(['rl', 'train'], capture_output=True)\n\
         assert refused.returncode == 2 and b'sft-only' in refused.stderr, refused\n",
        &json!({}),
    );
    let flags = ["--mode", "sft-only", "--toolbox", tools.as_str()];
    let result = runs.result(agent.as_str(), &flags);
    assert_eq!(result["ended"]["how"], json!({"exited": 0}), "{}", runs.log());
    assert_eq!(result["mode_held_by"], "toolbox");
    let unknown = Runs::new().run(agent.as_str(), &["--mode", "rl-oriented"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8(unknown.stderr).unwrap().contains("it knows free, sft-only"));
    let without = Runs::new().run("scripted/sft", &["--toolbox", "/nowhere"]);
    assert_eq!(without.status.code(), Some(2));
    assert!(String::from_utf8(without.stderr).unwrap().contains("--toolbox"));
}

/// An agent that waits at its first start, and submits at its second.
fn twice(runs: &Runs, marker: &str) -> camino::Utf8PathBuf {
    let script = format!(
        "import os, subprocess, time\n\
         if not os.path.exists('begun'):\n    \
             open('begun', 'w').close()\n    \
             subprocess.run(['sleep', '{marker}'])\n\
         {HONEST}"
    );
    runs.python(&script, &json!({}))
}

#[test]
fn interrupted_run_stops_its_clock_and_goes_on_when_it_is_started_again() {
    let (runs, marker) = (Runs::new(), marker());
    let agent = twice(&runs, &marker);
    let mut child = runs.start(agent.as_str(), &[]);
    until("the agent", || processes_with(&marker) == 1);
    signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert_eq!(processes_with(&marker), 0);
    assert!(!runs.out().join("result.json").exists());
    let last = runs.events().pop().unwrap();
    assert_eq!((&last["change"], &last["reason"]), (&"paused".into(), &"operator".into()));
    std::thread::sleep(Duration::from_secs(2));
    let result = runs.result(agent.as_str(), &[]);
    assert_eq!(result["metrics"]["best"], 0.5, "{}", runs.log());
    let used = result["metrics"]["time_used_ratio"].as_f64().unwrap() * 60.0;
    let lines = runs.events();
    let span = lines[lines.len() - 1]["elapsed_ms"].as_f64().unwrap() / 1000.0;
    assert!(used + 2.0 <= span, "{used} s used of {span} s, of which 2 s stood still");
    assert_eq!(result["findings"], json!([]));
}

#[test]
fn killed_run_leaves_no_process_and_goes_on_when_it_is_started_again() {
    let (runs, marker) = (Runs::new(), marker());
    let agent = twice(&runs, &marker);
    let mut child = runs.start(agent.as_str(), &[]);
    until("the agent", || processes_with(&marker) == 1);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    until("its end", || processes_with(&marker) == 0);
    let result = runs.result(agent.as_str(), &[]);
    assert_eq!(result["metrics"]["best"], 0.5, "{}", runs.log());
}

#[test]
fn agent_stands_still_while_its_clock_does() {
    for (clock, stands_still) in [("paused", true), ("wall", false)] {
        let runs = Runs::new();
        runs.place.grader("slow");
        let agent = runs.python(
            "import threading, time\n\
             from common import model, submit\n\
             ticks = []\n\
             def tick():\n    \
                 while True:\n        \
                     ticks.append(time.monotonic())\n        \
                     time.sleep(0.02)\n\
             threading.Thread(target=tick, daemon=True).start()\n\
             name = model('step-1', 0.5)\n\
             begun = time.monotonic()\n\
             assert submit(name)[1]['score'] == 0.5\n\
             ended = time.monotonic()\n\
             while ticks[-1] <= ended:\n    \
                 time.sleep(0.01)\n\
             print('ticks', sum(begun < tick < ended for tick in ticks))\n\
             print('gap', max(b - a for a, b in zip(ticks, ticks[1:])))\n",
            &json!({}),
        );
        let result = runs.result(agent.as_str(), &["--clock", clock]);
        assert_eq!(result["ended"]["how"], json!({"exited": 0}), "{}", runs.log());
        let log = runs.log();
        let number = |word: &str| -> f64 {
            let line = log.lines().find_map(|line| line.strip_prefix(word)).unwrap();
            line.trim().parse().unwrap()
        };
        // Grading takes a second.
        if stands_still {
            assert!(number("gap") > 0.8, "{log}");
        } else {
            assert!(number("ticks") > 10.0, "{log}");
        }
    }
}

#[test]
fn run_without_isolation_works_says_so_and_leaves_no_process() {
    let (runs, marker) = (Runs::new(), marker());
    let script = format!(
        "import os\n\
         if os.fork() == 0:\n    \
             os.setsid()\n    \
             if os.fork() == 0:\n        \
                 os.execvp('sleep', ['sleep', '{marker}'])\n    \
             os._exit(0)\n\
         assert 'SECRET_API_KEY' not in os.environ\n\
         {HONEST}"
    );
    let agent = runs.python(&script, &json!({}));
    let output = runs.run(agent.as_str(), &["--isolation", "none"]);
    assert!(output.status.success(), "{output:?}\n{}", runs.log());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("isolation   none"), "{text}");
    let result = runs.read("result.json");
    assert_eq!(result["metrics"]["best"], 0.5, "{}", runs.log());
    assert_eq!(result["isolation"], json!({"asked": "none", "tier": null, "layers": null}));
    assert_eq!(processes_with(&marker), 0);
}

#[test]
fn agents_are_listed() {
    let output = Command::new(PROGRAM).args(["agents", "--json"]).output().unwrap();
    let agents: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> =
        agents.as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 7);
    assert!(names.contains(&"scripted/sft-grpo") && names.contains(&"react"), "{names:?}");
}
