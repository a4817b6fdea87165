//! `agents ablate` on two small tasks: arms, resume, and what is written.

use crate::runs::held_out;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn agents(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agents"));
    command.args(args).env_remove("MLE_BENCH_DATA").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8(text).unwrap()
}

/// A corpus of two held-out tasks.
fn two_tasks(folder: &Utf8Path) -> Utf8PathBuf {
    let data = held_out(folder);
    let (first, second) = (data.join("night-shifts"), data.join("day-shifts"));
    for part in ["prepared/public", "prepared/private"] {
        fs_err::create_dir_all(second.join(part)).unwrap();
        for entry in first.join(part).read_dir_utf8().unwrap() {
            let entry = entry.unwrap();
            fs_err::copy(entry.path(), second.join(part).join(entry.file_name())).unwrap();
        }
    }
    let manifest = fs_err::read_to_string(first.join("task.json")).unwrap();
    fs_err::write(second.join("task.json"), manifest.replace("night-shifts", "day-shifts"))
        .unwrap();
    let page = second.join("prepared/public/description.md");
    fs_err::write(page, "Predict `y`, by day, from `a` and `b`.\n").unwrap();
    data
}

const ARMS: &str = r#"
base = "plain"
[[arm]]
name = "plain"
set = ["automind.tricks.knowledge=none"]
[[arm]]
name = "tricks"
set = ["automind.tricks.knowledge=retrieved"]
[[arm]]
name = "first"
of = "plain"
steps = 1
"#;

/// The files of all runs, but for times: the lines of journals with what was asked and decided.
fn decisions(out: &Utf8Path) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for arm in ["plain", "tricks"] {
        for task in ["night-shifts", "day-shifts"] {
            let run = format!("arms/{arm}/runs/{task}/seed0");
            let text = fs_err::read_to_string(out.join(&run).join("journal.jsonl")).unwrap();
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let kept = |line: &Value| {
                let of = |name: &str| line.get(name).map_or(String::new(), Value::to_string);
                (of("line") == "\"asked\"")
                    .then(|| format!("{} {} {}", of("node"), of("what"), of("answer")))
            };
            found.insert(run, lines.filter_map(|line| kept(&line)).collect());
        }
    }
    found
}

#[test]
fn arms_are_paired_and_an_ablation_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let data = two_tasks(folder);
    let arms = folder.join("arms.toml");
    fs_err::write(&arms, ARMS).unwrap();
    let args = |out: &Utf8Path, more: &[&str]| -> Vec<String> {
        let head = ["ablate", "--arms", arms.as_str(), "--bench", "synthetic", "--data"];
        let tail = [data.as_str(), "--preset", "automind-micro", "--seeds", "1", "--out"];
        let model = ["--model", "script:engineer:slip=.01", "--set", "steps=4"];
        let parts = [&head[..], &tail, &[out.as_str()], &model, more];
        parts.concat().into_iter().map(str::to_owned).collect()
    };
    let command = |out: &Utf8Path, more: &[&str]| {
        let args = args(out, more);
        agents(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let out = folder.join("whole");
    let whole = command(&out, &[]).output().unwrap();
    let text = said(&whole);
    assert!(whole.status.success(), "{text}");
    for expected in
        ["tricks − plain", "first − plain", "first (plain after 1 steps)", "theory %", "2 × 1"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let read = |path: &str| -> Value {
        serde_json::from_slice(&fs_err::read(out.join(path)).unwrap()).unwrap()
    };
    let ablation = read("ablation.json");
    let [plain, tricks, first] = [0, 1, 2].map(|at| &ablation["arms"][at]);
    assert_eq!([&plain["runs"], &tricks["runs"], &first["runs"]], [2, 2, 2]);
    assert_eq!(plain["costs"]["steps"], 4.0);
    // What the table says is what the runs say.
    let mean = |arm: &Value| {
        let cells = arm["cells"].as_array().unwrap();
        cells.iter().map(|cell| cell["way"].as_f64().unwrap()).sum::<f64>() / cells.len() as f64
    };
    let pairs = ablation["pairs"].as_array().unwrap();
    let pair = pairs.iter().find(|pair| pair["arm"] == "tricks" && pair["measure"] == "way");
    let difference = pair.unwrap()["difference"]["mean"].as_f64().unwrap();
    assert!((difference - (mean(tricks) - mean(plain))).abs() < 1e-12);
    let run = read("arms/plain/runs/day-shifts/seed0/run.json");
    let cell = &plain["cells"][0];
    assert_eq!(
        (&cell["task"], &cell["way"]),
        (&Value::from("day-shifts"), &run["way"]["by_step"][3])
    );
    assert_eq!(first["cells"][0]["way"], run["way"]["by_step"][0]);
    let page = fs_err::read_to_string(out.join("ablation.html")).unwrap();
    assert!(page.contains("tricks − plain"));
    let page = fs_err::read_to_string(out.join("leaderboard.html")).unwrap();
    assert!(page.contains("href=\"arms/tricks/runs/day-shifts/seed0/tree.html\""));

    // The same command again plays nothing; another base compares the same runs.
    let started = Instant::now();
    let again = command(&out, &["--base", "tricks"]).output().unwrap();
    assert!(said(&again).contains("plain − tricks"), "{}", said(&again));
    assert!(started.elapsed() < Duration::from_mins(1));

    // Stopped after the first run, it goes on to the same answers.
    let stopped = folder.join("stopped");
    let mut child = command(&stopped, &[]).spawn().unwrap();
    let first_run = stopped.join("arms/plain/runs/day-shifts/seed0/run.json");
    let begun = Instant::now();
    while !first_run.exists() && begun.elapsed() < Duration::from_mins(2) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!stopped.join("arms/tricks/runs/night-shifts/seed0/run.json").exists());
    let resumed = command(&stopped, &[]).output().unwrap();
    assert!(resumed.status.success(), "{}", said(&resumed));
    assert_eq!(decisions(&stopped), decisions(&out));

    // Runs of other conditions are not mixed with these.
    let other = command(&out, &["--set", "automind.tricks.probability=0.5"]).output().unwrap();
    assert_eq!(other.status.code(), Some(1));
    assert!(said(&other).contains("holds runs with another preset or setting"), "{}", said(&other));
    let other = command(&out, &["--base", "nobody"]).output().unwrap();
    assert!(said(&other).contains("the base `nobody` is none of the arms: name one of plain,"));
}

#[test]
fn arms_are_compared_at_equal_numbers_of_questions() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let data = held_out(folder);
    let out = folder.join("coding");
    let args = ["ablate", "--arms", "coding", "--bench", "synthetic", "--data", data.as_str()];
    let model = ["--model", "script:engineer:slip=.01,lines=60-120", "--calls", "14"];
    let rest = ["--preset", "automind-micro", "--seeds", "1", "--out", out.as_str()];
    let output = agents(&[&args[..], &model, &rest].concat()).output().unwrap();
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("as they were after 14 questions"), "{text}");
    let ablation: Value =
        serde_json::from_slice(&fs_err::read(out.join("ablation.json")).unwrap()).unwrap();
    for arm in ablation["arms"].as_array().unwrap() {
        let calls = arm["costs"]["calls"].as_f64().unwrap();
        assert!(calls > 0.0 && calls <= 14.0, "{arm}");
        let journal = out.join(format!(
            "arms/{}/runs/night-shifts/seed0/journal.jsonl",
            arm["name"].as_str().unwrap()
        ));
        let journal = fs_err::read_to_string(journal).unwrap();
        assert!(journal.trim_end().lines().last().unwrap().contains("\"why\":\"calls\""), "{arm}");
    }
}

#[test]
fn competitions_from_scikit_learn_are_graded_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let data = Utf8Path::from_path(folder.path()).unwrap().join("competitions");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/sklearn_competitions.py");
    let python = std::env::var("MLE_PYTHON").unwrap_or("python3".to_owned());
    // Solvers with threads of their own wait for each other where processors are busy.
    let mut made = Command::new(python);
    let made =
        made.args([script, "--out", data.as_str()]).env("OMP_NUM_THREADS", "1").output().unwrap();
    assert!(made.status.success(), "{}", said(&made));
    let check = ["bench", "check", "--bench", "mlebench", "--data", data.as_str()];
    let checked = said(&agents(&check).output().unwrap());
    assert!(checked.contains("5 of 5 competitions can be played"), "{checked}");
    let (out, boards) = (data.join("../ablation"), data.join("boards"));
    let args = ["ablate", "--arms", "knowledge", "--bench", "mlebench", "--data", data.as_str()];
    let model = ["--model", "script:engineer:slip=0", "--boards", boards.as_str()];
    let rest = ["--preset", "automind-micro", "--set", "steps=1", "--seeds", "1", "--only"];
    let only = ["kinds-of-irises,wines-of-three-growers", "--out", out.as_str()];
    let output = agents(&[&args[..], &model, &rest, &only].concat()).output().unwrap();
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("retrieved − none") && !text.contains("| way"), "{text}");
    let ablation: Value =
        serde_json::from_slice(&fs_err::read(out.join("ablation.json")).unwrap()).unwrap();
    for arm in ablation["arms"].as_array().unwrap() {
        assert_eq!(
            (&arm["runs"], arm["estimates"]["valid"]["mean"].as_f64()),
            (&Value::from(2), Some(1.0)),
            "{arm}"
        );
        // A plain script is above the worst of the reference solvers.
        let standing = arm["estimates"]["standing"]["mean"].as_f64().unwrap();
        assert!(standing > 0.1 && standing <= 1.0, "{arm}");
    }
}
