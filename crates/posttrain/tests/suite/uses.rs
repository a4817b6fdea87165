//! The record of the toolbox, as wrappers in a box report it.

use crate::running::Runs;
use camino::Utf8Path;
use fs_err as fs;
use serde_json::{Value, json};

/// What stands for `rl`: it leaves what a trainer leaves.
const TRAINER: &str = r#"#!/bin/sh
out= previous=
for word in "$@"; do
    [ "$previous" = --out ] && out=$word
    previous=$word
done
case "$1" in
sft) settings="model = \"$MODEL_PATH\"\nepochs = 2\nlearning_rate = 0.003\n" ;;
train) settings="model = \"$OUTPUT_DIR/sft\"\ngroup_size = 4\nlearning_rate = 0.0001\n" ;;
hang) exec sleep 60 ;;
*) echo "rl $*"; exit 3 ;;
esac
mkdir -p "$out"
printf "$settings" > "$out/settings.toml"
printf '{"step":1,"loss":2.5}\n{"step":2,"loss":1.25}\n' > "$out/metrics.jsonl"
"#;

/// Writes it; the folder for `--toolbox`.
pub(crate) fn tools(runs: &Runs) -> camino::Utf8PathBuf {
    let tools = runs.place.path("tools");
    fs::create_dir_all(&tools).unwrap();
    fs::write(tools.join("rl"), TRAINER).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(tools.join("rl"), mode).unwrap();
    tools
}

fn lines(path: &Utf8Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn uses_are_written_down_with_their_end_where_the_agent_cannot_reach() {
    let runs = Runs::new();
    let tools = tools(&runs);
    let agent = runs.python(
        "import os, signal, subprocess, time\n\
         from common import ask, fails, hint, model, submit\n\
         out = os.environ['OUTPUT_DIR']\n\
         assert subprocess.run(['rl', 'sft', '--out', out + '/sft']).returncode == 0\n\
         assert submit(model('sft/checkpoints/step-000002', 0.5))[0] == 200\n\
         assert subprocess.run(['rl', 'train', '--out', out + '/grpo']).returncode == 0\n\
         assert submit(model('grpo/checkpoints/step-000002', 0.75))[0] == 200\n\
         failed = subprocess.run(['rl', 'nothing'], capture_output=True)\n\
         assert failed.returncode == 3 and failed.stdout == b'rl nothing\\n', failed\n\
         # A signal reaches the program, and nothing of it is left.\n\
         hanging = subprocess.Popen(['rl', 'hang'])\n\
         time.sleep(1)\n\
         hanging.terminate()\n\
         assert hanging.wait(20) == 128 + signal.SIGTERM\n\
         # Whoever invents a use is believed to have told so; no line is changed.\n\
         assert ask('/v1/uses', {'event': 'began', 'program': 'rl', 'arguments': ['merge']})[0] == 200\n\
         end = {'event': 'ended', 'use': 99, 'code': 0, 'signal': None, 'seconds': 1.0}\n\
         assert ask('/v1/uses', end)[0] == 409\n\
         assert ask('/v1/uses', {'event': 'graded', 'score': 1.0})[0] == 400\n\
         fails(lambda: open(hint('uses'), 'a'))\n",
        &json!({ "uses": runs.out().join("uses.jsonl") }),
    );
    let result = runs.result(agent.as_str(), &["--toolbox", tools.as_str()]);
    assert_eq!(result["ended"]["how"], json!({"exited": 0}), "{}", runs.log());
    let lines = lines(&runs.out().join("uses.jsonl"));
    let events: Vec<String> =
        lines.iter().map(|line| format!("{} {}", line["use"], line["event"])).collect();
    let pair = |number: u32| [format!("{number} \"began\""), format!("{number} \"ended\"")];
    let expected: Vec<String> = (1..=4).flat_map(pair).chain(["5 \"began\"".to_owned()]).collect();
    assert_eq!(events, expected);
    assert_eq!(lines[0]["arguments"][0], "sft");
    let end = &lines[1];
    assert_eq!((&end["code"], &end["trainer"]["route"]), (&json!(0), &json!("sft")));
    assert_eq!(end["trainer"]["losses"], json!([2.5, 1.25]));
    assert_eq!(end["trainer"]["settings"]["learning_rate"], 0.003);
    assert_eq!(lines[5]["code"], 3);
    assert_eq!(lines[7]["signal"], 15);

    // What lies beside a checkpoint is kept with the submission.
    let stages = |id: u64| runs.read(&format!("snapshots/{id:04}.json"))["stages"].clone();
    assert_eq!(stages(1)[0]["route"], "sft");
    let routes: Vec<Value> =
        stages(2).as_array().unwrap().iter().map(|stage| stage["route"].clone()).collect();
    assert_eq!(routes, ["grpo", "sft"]);
    let report = crate::reports::report(&runs, &[]);
    let run = &report["runs"][0];
    assert_eq!(run["metrics"]["route_chain"], json!(["sft", "grpo"]));
    assert_eq!(run["iterations"][1]["route"]["by"], "checkpoint");
    assert_eq!(run["metrics"]["strict_online_rl_in_best"], true);
    assert_eq!(run["metrics"]["attempted"], json!(["sft", "merge", "grpo"]), "told, and tried");
    assert_eq!(run["iterations"][1]["settings"]["group_size"], 4);
    assert_eq!(run["problems"][0]["failure"], "code_error");
}

#[test]
fn use_that_the_mode_rules_out_is_refused_and_written_down() {
    let runs = Runs::new();
    let tools = tools(&runs);
    let agent = runs.python(
        "import subprocess\n\
         assert subprocess.run(['rl', 'train', '--out', 'x']).returncode == 2\n",
        &json!({}),
    );
    runs.result(agent.as_str(), &["--mode", "sft-only", "--toolbox", tools.as_str()]);
    let lines = lines(&runs.out().join("uses.jsonl"));
    assert_eq!(lines.len(), 1);
    assert_eq!((&lines[0]["event"], &lines[0]["program"]), (&json!("refused"), &json!("rl")));
    let run = &crate::reports::report(&runs, &[])["runs"][0];
    assert_eq!(run["metrics"]["attempted"], json!([]));
    assert_eq!(run["compliance"]["mode_kept"], true);
}
