//! Two published traces, replayed by scripted agents with planted scores and planted code: the report
//! must name the way of training, the jumps and the failures of each.

use crate::fixture::{config, save, winning};
use crate::reports::report;
use crate::running::Runs;
use fs_err as fs;
use serde_json::{Value, json};

/// What both agents begin with: `work` writes code and submits a model with a planted score.
const WORK: &str = "from pathlib import Path\n\
                    from common import model, submit\n\
                    def work(name, share, **files):\n    \
                        for stem, text in files.items():\n        \
                            Path(stem + '.py').write_text(text)\n    \
                        status, answer = submit(model(name, share))\n    \
                        assert status == 200, answer\n";

/// HumanEval, 82 items: 62.20 → 2.44 (SFT with another prompt than the evaluation's) → 43.90 (the
/// evaluation's) → 79.27 (GRPO) → 76.83 → 84.15 (imitation of verified own answers).
const HUMANEVAL: &str = r#"
sft = '''from trl import SFTTrainer
PROMPT = "Instruct: {task}"
learning_rate = 2e-5
epochs = 4
SFTTrainer(model, args(learning_rate), examples(PROMPT)).train()
'''
work("sft-1", 2 / 82, train_sft=sft)
sft = sft.replace("Instruct: {task}", "{signature}").replace("2e-5", "5e-6")
work("sft-2", 36 / 82, train_sft=sft)
grpo = '''from trl import GRPOTrainer
# SFTTrainer came before
model = load("output/sft-2", lora=16)
GRPOTrainer(model, reward_funcs=[tests_pass], learning_rate=1e-5).train()
'''
work("grpo-1", 65 / 82, train_grpo=grpo)
work("grpo-2", 63 / 82, train_grpo=grpo.replace("1e-5", "2e-5"))
rft = '''from trl import SFTTrainer
kept = []
for task in tasks:
    for answer in engine.generate(task, n=16):
        if passed(task, answer):
            kept.append((task, answer))
learning_rate = 1e-6
SFTTrainer(load(os.environ["MODEL_PATH"]), args(learning_rate), kept).train()
'''
work("rft-1", 69 / 82, rft=rft)
"#;

/// ALFWorld, 134 games: 8.96 → 14.93 → 16.42 (few examples) → 19.40 (synthetic episodes with the
/// engine's verb) → 45.52 (own successes) → 95.52 (the evaluation's few-shot text) → 96.27 → 97.76.
const ALFWORLD: &str = r##"
sft = '''learning_rate = 2e-5
epochs = 8
for batch in loader(examples[:18]):
    loss = F.cross_entropy(model(batch), batch.labels)
    loss.backward()
    optimizer.step()
'''
work("sft-1", 20 / 134, train=sft)
print("Traceback (most recent call last):\n  File 'train.py'\nKeyError: 'move'")
work("sft-2", 22 / 134, train=sft.replace("[:18]", "[:20]"))
work("sft-3", 26 / 134, synth='episodes = [text.replace("put", "move") for text in texts]\n',
     train=sft.replace("examples[:18]", "synthetic + examples"))
collect = '''for game in games:
    episode = rollout(model, game, few_shot=None)
    if episode.won:
        kept.append(episode)
'''
work("rft-1", 61 / 134, collect=collect, train=sft.replace("examples[:18]", "own * 3"))
work("rft-2", 128 / 134, collect=collect.replace("None", "EVALUATION"),
     train=sft.replace("examples[:18]", "own").replace("2e-5", "1e-5"))
work("rft-3", 129 / 134, collect=collect.replace("None", "EVALUATION, seed=1"), train=sft + "# again\n")
work("rft-4", 131 / 134, collect=collect.replace("None", "EVALUATION, seed=2"), train=sft)
"##;

/// Replays a trace from a base with this share of items.
fn replay(script: &str, base: f32, flags: &[&str]) -> (Runs, Value) {
    let runs = Runs::new();
    save(&runs.place.path("base"), &winning(base), &config());
    let agent = runs.python(&format!("{WORK}{script}"), &json!({}));
    let result = runs.result(agent.as_str(), flags);
    assert_eq!(result["ended"]["how"], json!({"exited": 0}), "{}", runs.log());
    let report = report(&runs, &[]);
    (runs, report)
}

fn column(run: &Value, at: &str) -> Vec<Value> {
    let all = run["iterations"].as_array().unwrap();
    all.iter().map(|one| one.pointer(at).unwrap_or(&Value::Null).clone()).collect()
}

/// The submissions whose score jumped, the largest change first.
fn jumps(run: &Value) -> Vec<u64> {
    let beyond = |one: &&Value| one["gain"]["beyond_chance"] == true;
    let mut all: Vec<&Value> =
        run["iterations"].as_array().unwrap().iter().filter(beyond).collect();
    all.sort_by(|one, other| {
        let size = |one: &Value| one["gain"]["by"].as_f64().unwrap().abs();
        size(other).total_cmp(&size(one))
    });
    all.into_iter().map(|one| one["iteration"].as_u64().unwrap()).collect()
}

#[test]
fn trace_of_humaneval_shows_a_wrong_prompt_then_grpo_then_verified_answers() {
    let (runs, report) = replay(HUMANEVAL, 51.0 / 82.0, &["--task", "programs"]);
    let run = &report["runs"][0];
    assert_eq!(column(run, "/route/route"), ["sft", "sft", "grpo", "grpo", "rft"], "{run:#}");
    assert_eq!(run["iterations"][2]["route"]["chain"], json!(["sft", "grpo"]));
    assert_eq!(
        column(run, "/failure/failure"),
        [json!("rollout_wrong"), json!("unknown"), Value::Null, Value::Null, Value::Null]
    );
    assert_eq!(jumps(run), [1, 2, 3, 5], "the fourth is within chance");
    let metrics = &run["metrics"];
    assert_eq!(metrics["route_chain"], json!(["rft"]));
    assert_eq!(metrics["attempted"], json!(["sft", "rft", "grpo"]));
    assert_eq!(metrics["strict_online_rl"], true);
    assert_eq!(metrics["strict_online_rl_in_best"], false, "the best began with the base");
    assert_eq!(metrics["best"], 69.0 / 82.0);
    let read = |name: &str| fs::read_to_string(runs.out().join("report").join(name)).unwrap();
    let summary = read("summary.md");
    assert!(summary.contains("rollout_wrong") && summary.contains("sft → grpo"), "{summary}");
    assert!(summary.contains("it begins with submission 2"), "{summary}");
    assert!(summary.contains("learning_rate = 5e-6"), "{summary}");
    let lines: Vec<Value> =
        read("summary.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!((&lines[2]["train_type"], &lines[2]["status"]), (&json!("grpo"), &json!("graded")));
    assert!(read("index.html").contains("anecdote"), "one seed");
}

#[test]
fn trace_of_alfworld_shows_its_largest_jump_where_the_prompt_became_the_evaluations() {
    let flags = ["--task", "household", "--protocol", "paper"];
    let (_, report) = replay(ALFWORLD, 12.0 / 134.0, &flags);
    let run = &report["runs"][0];
    let expected = ["sft", "sft", "sft", "rft", "rft", "rft", "rft"];
    assert_eq!(column(run, "/route/route"), expected, "{run:#}");
    assert_eq!(jumps(run)[..2], [5, 4], "95.52 after 45.52, and 45.52 after 19.40");
    assert!(column(run, "/failure").iter().all(Value::is_null), "none is worse than the base");
    assert_eq!(run["iterations"][1]["problems"][0]["failure"], "code_error");
    assert_eq!(run["iterations"][2]["problems"], json!([]));
    let metrics = &run["metrics"];
    assert_eq!(metrics["adopted"], json!(["rft"]));
    assert_eq!(metrics["strict_online_rl"], false, "successes are imitated, not weighted");
    assert_eq!(metrics["final_best"], 131.0 / 134.0);
    assert_eq!(report["groups"][0]["protocol"], "paper");
}
