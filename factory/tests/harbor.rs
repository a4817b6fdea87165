//! Exports in the programs that they are for, unchanged: Harbor plays a task of every kind, and
//! `datasets` reads the rows.
//!
//! Not part of `make test`, because both have an environment of their own: `make test-harbor`. Images
//! are not built: boxes are folders here (`harbor/box.py`).
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "suite/rewards.rs"]
mod rewards;

use camino::{Utf8Path, Utf8PathBuf};
use factory::spec::mix::Cell;
use fs_err as fs;
use rewards::{assert_same, expected};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use tasks::description::without_glance;
use tasks::task::{Corpus, Split};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// A program of an environment in the repository.
fn program(environment: &str, name: &str) -> Utf8PathBuf {
    let path = Utf8Path::new(HERE).parent().unwrap().join(environment).join("bin").join(name);
    assert!(path.is_file(), "there is no {path}: run `make test-harbor`, which makes it");
    path
}

/// Runs a command that must succeed; what it prints.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, complaints) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?} failed:\n{printed}\n{complaints}");
    printed
}

/// A corpus with a task of every kind.
fn corpus(desk: &Utf8Path) -> Corpus {
    let cells = Cell::all();
    let share = 1.0 / cells.len() as f64;
    let shares: Vec<String> = cells.iter().map(|cell| format!("{cell}={share:.5}")).collect();
    let path = desk.join("corpus");
    let made = Command::new(env!("CARGO_BIN_EXE_factory"))
        .args(["generate", "--out", path.as_str(), "--seed", "9"])
        .args(["--count", &cells.len().to_string(), "--shares", &shares.join(",")])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let corpus = Corpus::open(&path).unwrap();
    let kinds: BTreeSet<Cell> = corpus
        .tasks()
        .iter()
        .map(|task| task.manifest())
        .map(|task| Cell { modality: task.modality, formulation: task.formulation })
        .collect();
    assert_eq!(kinds.len(), cells.len(), "{kinds:?}");
    corpus
}

/// Exports a corpus in a format.
fn export(corpus: &Corpus, format: &str, out: &Utf8Path) {
    let corpus = corpus.path().as_str();
    run(Command::new(env!("CARGO_BIN_EXE_factory")).args([
        "export",
        corpus,
        "--format",
        format,
        out.as_str(),
    ]));
}

/// Harbor's program, with boxes that are folders.
fn harbor() -> Command {
    let python =
        std::env::var("MLE_PYTHON").unwrap_or_else(|_| program(".venv", "python").into_string());
    let mut command = Command::new(program(".venv-harbor", "harbor"));
    command
        .env("PYTHONPATH", format!("{HERE}/tests/harbor"))
        .env("MLE_PYTHON", python)
        // No list of prices from the internet.
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
    command
}

/// Lets an agent of Harbor play all tasks of a folder. By name of the task: the rewards, and the
/// submission if there is one.
fn play(
    tasks: &Utf8Path,
    agent: &str,
    jobs: &Utf8Path,
) -> BTreeMap<String, (Value, Option<String>)> {
    run(harbor()
        .args(["run", "-p", tasks.as_str(), "-a", agent, "--env", "box:Box", "-n", "2"])
        .args(["-o", jobs.as_str(), "--job-name", agent, "--yes", "--quiet"]));
    let mut played = BTreeMap::new();
    for trial in jobs.join(agent).read_dir_utf8().unwrap() {
        let trial = trial.unwrap().into_path();
        if let Ok(result) = fs::read(trial.join("result.json"))
            && trial.is_dir()
        {
            let result: Value = serde_json::from_slice(&result).unwrap();
            assert!(result["exception_info"].is_null(), "{}", result["exception_info"]);
            let name = result["task_name"].as_str().unwrap();
            let name = name.strip_prefix("factory/").unwrap().to_owned();
            let submission = fs::read_to_string(trial.join("artifacts/app/submission.csv")).ok();
            played.insert(name, (result["verifier_result"]["rewards"].clone(), submission));
        }
    }
    played
}

#[test]
fn harbor_plays_every_kind_of_task_and_datasets_reads_the_rows() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    let corpus = corpus(desk);
    let out = desk.join("harbor");
    export(&corpus, "harbor", &out);

    // Both splits in one folder, so that one job plays them.
    let train = out.join("train");
    for task in corpus.split(Split::Val) {
        fs::rename(out.join("val").join(task.id().as_str()), train.join(task.id().as_str()))
            .unwrap();
    }
    let folders = train.read_dir_utf8().unwrap().map(|entry| entry.unwrap().into_path());
    let folders: Vec<Utf8PathBuf> = folders.collect();
    assert_eq!(folders.len(), corpus.tasks().len());
    let findings = run(harbor().args(["lint", "--select", "ALL", "--json"]).args(&folders));
    assert_eq!(serde_json::from_str::<Vec<Value>>(&findings).unwrap(), Vec::<Value>::new());

    let solved = play(&train, "oracle", &desk.join("jobs"));
    let idle = play(&train, "nop", &desk.join("jobs"));
    assert_eq!((solved.len(), idle.len()), (folders.len(), folders.len()));
    let mut medals = 0;
    for task in corpus.tasks() {
        let (rewards, submission) = &solved[task.id().as_str()];
        let submission = submission.as_ref().expect("the reference script submits something");
        assert_same(rewards, &expected(task, submission), task.id().as_str());
        assert_eq!(rewards["valid"], 1, "{}", task.id());
        medals += rewards["bronze"].as_u64().unwrap();
        let (rewards, submission) = &idle[task.id().as_str()];
        assert_same(rewards, &expected(task, ""), task.id().as_str());
        assert!(submission.is_none());
    }
    assert!(medals > 0, "no reference script earns a medal");

    let out = desk.join("hf");
    export(&corpus, "hf", &out);
    let rows = run(Command::new(program(".venv-harbor", "python"))
        .args([&format!("{HERE}/tests/harbor/load.py"), out.as_str()])
        .env("HF_HOME", desk.join("cache"))
        .env("HF_HUB_OFFLINE", "1"));
    let rows: Value = serde_json::from_str(&rows).unwrap();
    for (split, name) in [(Split::Train, "train"), (Split::Val, "validation")] {
        let (tasks, rows) = (corpus.split(split), rows[name].as_array().unwrap());
        assert_eq!(rows.len(), tasks.len());
        for (task, row) in tasks.iter().zip(rows) {
            let manifest = task.manifest();
            assert_eq!(row["task"], task.id().as_str());
            assert_eq!(row["modality"], manifest.modality.name());
            assert_eq!(row["formulation"], manifest.formulation.name());
            assert_eq!(row["metric"], manifest.metric.to_string());
            assert_eq!(row["rows"]["train"], manifest.rows.train);
            assert_eq!(row["rows"]["test"], manifest.rows.test);
            let page = fs::read_to_string(task.public().path().join("description.md")).unwrap();
            let messages = row["prompt"].as_array().unwrap();
            assert_eq!((messages.len(), &messages[0]["role"]), (1, &Value::from("user")));
            let prompt = messages[0]["content"].as_str().unwrap();
            assert!(prompt.trim_end().ends_with(without_glance(&page).trim_end()));
            assert!(row["canary"].as_str().unwrap().starts_with("canary GUID "));
        }
    }
}
