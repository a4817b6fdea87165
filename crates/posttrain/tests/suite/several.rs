//! Runs of several tasks and seeds, one after another.

use crate::fixture::until;
use crate::running::{Runs, marker, processes_with};
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

fn report(runs: &Runs) -> Value {
    runs.read("report/report.json")
}

#[test]
fn runs_of_all_tasks_are_reported_together_and_not_made_again() {
    let runs = Runs::new();
    let flags = ["--task", "all", "--budget", "20s"];
    let output = runs.run("scripted/copy", &flags);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("--- household-seed-0") && text.contains("anecdote"), "{text}");
    let report = report(&runs);
    let tasks: Vec<&str> = report["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["task"].as_str().unwrap())
        .collect();
    assert_eq!(tasks.len(), 6, "{tasks:?}");
    assert!(report["groups"].as_array().unwrap().iter().all(|group| group["improvement"] == 0.0));
    let gradings = runs.place.gradings("done").len();
    assert!(runs.run("scripted/copy", &flags).status.success());
    assert_eq!(runs.place.gradings("done").len(), gradings);
    // The folder of a group is no run, and another mode is another run.
    let other =
        runs.run("scripted/copy", &["--task", "all", "--budget", "20s", "--mode", "sft-only"]);
    assert_eq!(other.status.code(), Some(2));
    let one = runs.run("scripted/copy", &["--budget", "20s"]);
    assert_eq!(one.status.code(), Some(2));
}

#[test]
fn seeds_that_were_interrupted_go_on_and_more_of_them_can_follow() {
    let (runs, marker) = (Runs::new(), marker());
    let script = format!(
        "import os, subprocess\n\
         from common import model, submit\n\
         if os.environ['SEED'] == '4' and not os.path.exists('begun'):\n    \
             open('begun', 'w').close()\n    \
             subprocess.run(['sleep', '{marker}'])\n\
         print(submit(model('step-1', int(os.environ['SEED']) / 10)))\n"
    );
    let agent = runs.python(&script, &json!({}));
    let flags = ["--seeds", "2", "--seed", "3"];
    let mut child = runs.start(agent.as_str(), &flags);
    until("the second agent", || processes_with(&marker) == 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let first = fs::read(runs.out().join("household-seed-3/result.json")).unwrap();
    let output = runs.run(agent.as_str(), &flags);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read(runs.out().join("household-seed-3/result.json")).unwrap(), first);
    let group = &report(&runs)["groups"][0];
    assert_eq!((&group["finished"], &group["runs"].as_array().unwrap().len()), (&json!(2), &2));
    let best = group["best"].as_f64().unwrap();
    assert!((best - 0.35).abs() < 0.01, "{best}");
    let low = group["interval"][0].as_f64().unwrap();
    assert!(low > 0.0 && low < group["improvement"].as_f64().unwrap(), "{group}");
    assert!(runs.run(agent.as_str(), &["--seeds", "3", "--seed", "3"]).status.success());
    assert_eq!(report(&runs)["groups"][0]["finished"], 3);
    let one = runs.run(agent.as_str(), &["--seed", "3"]);
    assert_eq!(one.status.code(), Some(2), "the folder has several");
}

#[test]
fn dry_run_of_a_recipe_prints_the_plan_and_runs_nothing() {
    let runs = Runs::new();
    let tools = runs.place.path("tools");
    fs::create_dir_all(&tools).unwrap();
    fs::write(tools.join("rl"), "#!/bin/sh\necho \"$@\"\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(tools.join("rl"), mode).unwrap();
    let plan = |flags: &[&str]| {
        let recipe = ["--config", "rlbench-paper", "--task", "all", "--dry-run", "--seeds", "2"];
        let more = ["--gpu-memory", "141GiB", "--toolbox", tools.as_str(), "--budget", "12h"];
        let output = runs.run("scripted/copy", &[&recipe[..], &more, flags].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let one = plan(&[]);
    assert!(one.contains("12: arithmetic, programs"), "{one}");
    assert!(one.contains("12 hours each, 144 hours in all; grading counts"), "{one}");
    assert!(one.contains("134 items of at most 40 turns"), "{one}");
    assert!(one.contains("plan --model") && one.contains("--memory 141GiB"), "{one}");
    assert!(one.contains("answered `busy`"), "{one}");
    assert!(plan(&["--device", "cuda:1"]).contains("at the same time"));
    assert!(!runs.out().exists(), "nothing was made");
}

#[test]
fn one_model_for_all_tasks_is_graded_on_each_and_its_score_is_the_mean_of_theirs() {
    let runs = Runs::new();
    let agent = runs.python(
        "import os\n\
         from common import ask, model, submit\n\
         assert os.environ['TASK'] == 'all'\n\
         data = os.environ['DATA_PATH']\n\
         assert len(os.listdir(data)) == 6\n\
         for task in os.listdir(data):\n    \
             assert sorted(os.listdir(f'{data}/{task}')) == ['description.md', 'public', 'task.toml']\n\
         assert ask('/v1/task')[1]['items']['dev'] > 400\n\
         print(submit(model('step-1', 0.5)))\n",
        &json!({}),
    );
    let spec =
        fs::read_to_string(agent.join("agent.toml")).unwrap().replace("'sft-only'", "'multi'");
    fs::write(agent.join("agent.toml"), spec).unwrap();
    let flags = ["--task", "all", "--mode", "multi"];
    let result = runs.result(agent.as_str(), &flags);
    assert_eq!(result["ended"]["how"], json!({"exited": 0}), "{}", runs.log());
    assert_eq!(result["findings"], json!([]));
    // The base, a submission; base, best and last after the end, of which two are one: on six tasks.
    assert_eq!(runs.place.gradings("done").len(), 24);
    let report = crate::reports::report(&runs, &[]);
    let run = &report["runs"][0];
    let scores = run["iterations"][0]["by_task"].as_object().unwrap();
    assert_eq!(scores.len(), 6);
    let mean = scores.values().map(|score| score.as_f64().unwrap()).sum::<f64>() / 6.0;
    let score = run["iterations"][0]["score"].as_f64().unwrap();
    assert!((score - mean).abs() < 1e-12, "{score}, {mean}");
    let (win_rate, won) = (&scores["instructions"], &scores["household"]);
    assert_eq!((win_rate, won), (&json!(0.25), &json!(0.5)));
    assert!(run["metrics"]["final_improvement"].as_f64().unwrap() > 0.0, "{run}");
    assert_eq!(run["metrics"]["interval"], Value::Null, "a win rate is no mean of items");
    // The mode and the tasks go together.
    let one = Runs::new().run(agent.as_str(), &["--mode", "multi"]);
    assert_eq!(one.status.code(), Some(2));
    assert!(String::from_utf8(one.stderr).unwrap().contains("--task all"));
}
