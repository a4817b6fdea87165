//! From searches to a policy that searches: its questions are imitated, then trained on, and the
//! policy plays a benchmark.

use crate::corpus;
use crate::server::{ServeProcess, random};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde_json::Value;
use std::process::{Command, Output};

/// A script that earns a good score on every task of the corpus.
const SCRIPT: &str = "\
import pandas as pd
train = pd.read_csv('input/train.csv')
test = pd.read_csv('input/test.csv')
share = test['a'] / train['a'].max()
out = pd.DataFrame({'id': test['id'], 'y': share.clip(0, 1)})
out.to_csv('submission.csv', index=False)
print('Validation score: 0.9')
";

struct OperatorFixture {
    _dir: tempfile::TempDir,
    folder: Utf8PathBuf,
}

impl OperatorFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = Utf8PathBuf::from_path_buf(dir.path().to_owned()).unwrap();
        fs::create_dir(folder.join("tasks")).unwrap();
        corpus::write(&folder.join("tasks"));
        fs::write(folder.join("script.py"), SCRIPT).unwrap();
        Self { _dir: dir, folder }
    }

    /// Runs a program that lies beside `rl`, in the folder of the fixture.
    fn run(&self, program: &str, args: &str) -> Output {
        let rl = Utf8Path::new(env!("CARGO_BIN_EXE_rl"));
        let program = rl.with_file_name(program);
        assert!(program.is_file(), "`{program}` is missing; `cargo build --workspace` builds it");
        let mut command = Command::new(program);
        command.args(args.split_whitespace()).current_dir(&self.folder).env("OMP_NUM_THREADS", "1");
        command.output().unwrap()
    }

    /// The same for a command that must succeed; returns what it wrote to standard output.
    fn succeed(&self, program: &str, args: &str) -> String {
        let output = self.run(program, args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {args}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same for a command that must fail; returns its code and what it wrote to standard error.
    fn fail(&self, program: &str, args: &str) -> (Option<i32>, String) {
        let output = self.run(program, args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{program} {args}: {said}");
        (output.status.code(), said)
    }

    fn search(&self, task: &str) {
        let args = format!(
            "run --scaffold drafts --model script:script.py --task tasks/{task} \
             --out searches/{task} --set steps=4"
        );
        self.succeed("agents", &args);
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.folder.join(path)).unwrap()).unwrap()
    }
}

#[test]
fn searches_become_a_policy_that_plays_a_benchmark() {
    let fixture = OperatorFixture::new();
    for task in ["one", "two"] {
        fixture.search(task);
    }
    fixture.succeed(
        "rl",
        "sft --model tiny --tasks tasks --searches searches --out sft --seed 1 --epochs 60 \
         --set batch=4 --set context=4096 --set vocab_size=800 --set context_noise=0.2 \
         --set checkpoint_every=1000",
    );
    let demonstrations = fs::read_to_string(fixture.folder.join("sft/demonstrations.jsonl"));
    assert_eq!(demonstrations.unwrap().lines().count(), 8);

    let (_, said) = fixture.fail(
        "rl",
        "train --model sft --tasks tasks --searches searches --out none \
         --set rollout.max_model_len=4096",
    );
    assert!(said.contains("no question for a held-out task"), "{said}");
    fixture.succeed(
        "rl",
        "train --model sft --tasks tasks --searches searches --out grpo --steps 1 \
         --tasks-per-step 2 --group-size 2 --set validate_every=0 \
         --set rollout.max_model_len=4096",
    );
    let line = fs::read_to_string(fixture.folder.join("grpo/metrics.jsonl")).unwrap();
    let line: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert_eq!(line["episodes"], 4, "{line}");
    assert!(line["valid"].as_f64().unwrap() > 0.5, "{line}");

    let eval = "eval --bench synthetic --data tasks --preset drafts --seeds 1 \
                --set preset.search.steps=2 --policy sft=sft --policy grpo=grpo --out eval";
    let table = fixture.succeed("rl", eval);
    assert!(table.contains("drafts/sft") && table.contains("drafts/grpo"), "{table}");
    let runs = fixture.json("eval/runs.json");
    let runs = runs.as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!(run["competition"], "three");
        assert!(run["outcome"]["graded"]["score"].as_f64() > Some(0.6), "{run}");
        assert!(run["tokens"]["written"].as_u64().unwrap() > 50, "{run}");
    }
    let page = fs::read_to_string(fixture.folder.join("eval/leaderboard.html")).unwrap();
    assert!(page.contains("drafts/grpo"));

    // Nothing is asked or run again.
    let journal = fixture.folder.join("eval/sft/runs/three/seed0/journal.jsonl");
    let before = fs::read(&journal).unwrap();
    assert_eq!(fixture.succeed("rl", eval), table);
    assert_eq!(fs::read(&journal).unwrap(), before);
    let (code, said) = fixture.fail("rl", &eval.replace("steps=2", "steps=3"));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("preset.search.steps"), "{said}");
}

#[test]
fn served_policy_plays_a_benchmark_and_ends_in_a_report() {
    let fixture = OperatorFixture::new();
    let served = fixture.folder.join("served");
    fs::create_dir(&served).unwrap();
    let server = ServeProcess::start(&random(&served), &[]);
    let models = format!(
        "[endpoint.local]\nprotocol = \"openai\"\nbase_url = \"http://{}/v1\"\nfree = true\n",
        server.address
    );
    fs::write(fixture.folder.join("models.toml"), models).unwrap();
    let table = fixture.succeed(
        "agents",
        "eval --bench synthetic --data tasks --preset react --models models.toml \
         --model local:tiny --seeds 1 --set turns=2 --set linear.max_tokens=48 --out eval",
    );
    assert!(table.contains("react/tiny"), "{table}");
    let runs = fixture.json("eval/runs.json");
    assert_eq!(runs[0]["steps"], 2);
    assert!(runs[0]["tokens"]["written"].as_u64().unwrap() > 0, "{runs}");
    // The policy's weights are random: it is told that its turns are malformed.
    let run = fixture.folder.join("eval/runs/three/seed0");
    let trajectory = fs::read_to_string(run.join("trajectory.jsonl")).unwrap();
    assert!(trajectory.contains("malformed turn"), "{trajectory}");

    // The same policy in the same process, with the brief prompt.
    let table = fixture.succeed(
        "rl",
        "eval --bench synthetic --data tasks --preset react --seeds 1 --policy tiny=served \
         --set preset.linear.turns=2 --set preset.linear.max_tokens=48 \
         --set preset.linear.prompt=brief --out own",
    );
    assert!(table.contains("react/tiny"), "{table}");
    assert_eq!(fixture.json("own/runs.json")[0]["steps"], 2);
}

#[test]
fn folders_without_searches_are_refused() {
    let fixture = OperatorFixture::new();
    let (code, said) =
        fixture.fail("rl", "sft --model tiny --tasks tasks --searches tasks --out sft");
    assert_eq!(code, Some(1));
    assert!(said.contains("no runs of agents in `tasks`") && said.contains("agents run"), "{said}");

    // Held-out tasks are not imitated.
    fixture.search("three");
    let (_, said) =
        fixture.fail("rl", "sft --model tiny --tasks tasks --searches searches --out sft");
    assert!(said.contains("none of 4 answers"), "{said}");
}

#[test]
fn benchmark_without_its_data_says_what_to_do() {
    let fixture = OperatorFixture::new();
    fs::create_dir(fixture.folder.join("empty")).unwrap();
    let policy = crate::server::random(&fixture.folder);
    let args = format!(
        "eval --bench mlebench-lite --data empty --preset drafts --policy p={policy} --out eval"
    );
    let (code, said) = fixture.fail("rl", &args);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("22 of 22 competitions") && said.contains("factory standin"), "{said}");
    let (code, said) = fixture.fail("rl", &args.replace("mlebench-lite", "kaggle"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there is no benchmark `kaggle`"), "{said}");
}
