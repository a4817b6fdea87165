//! Right and wrong use of the commands.

use camino::{Utf8Path, Utf8PathBuf};
use std::process::{Command, Output};
use support::{dojo, shifts};

fn agents(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agents"))
        .args(args)
        .env_remove("MLE_BENCH_DATA")
        .output()
        .unwrap()
}

fn error(args: &[&str], code: i32) -> String {
    let output = agents(args);
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn wrong_use_is_told_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let task = shifts::write(folder);
    let out = folder.join("run");
    let run = |scaffold: &str, model: &str, more: &[&str], code| {
        let args = ["run", "--scaffold", scaffold, "--model", model, "--task", task.as_str()];
        let args = [&args[..], &["--out", out.as_str()], more].concat();
        error(&args, code)
    };
    let cases = [
        (
            run("nope", "script:mutator", &[], 1),
            "there is no preset `nope`; one of react, mle-agent,",
        ),
        (run("aide", "script:nope", &[], 1), "there is no script `nope`: give `script:mutator`,"),
        (run("aide", "nope:model", &[], 1), "there is no endpoint `nope`"),
        (run("aide", "script:mutator", &["--set", "steps"], 1), "`steps` is not KEY=VALUE"),
        (run("aide", "script:mutator", &["--set", "stepps=3"], 1), "unknown field `stepps`"),
        (run("aide", "script:mutator", &["--set", "feedback=exposed"], 1), "validate"),
        (run("react", "script:mutator", &["--set", "steps=3"], 1), "unknown field `steps`"),
        (
            run("aide", "script:reference", &[], 1),
            "there is no reference script for `night-shifts`",
        ),
        (
            run("aide", "openai:x", &["--budget-usd", "1"], 1),
            "`--budget-usd` needs the price of `x`",
        ),
        (
            run("aide", "script:mutator", &["--role", "coder=script:sample"], 1),
            "`--role` is for `automind`: `aide` asks one model alone",
        ),
        (
            run("automind", "script:engineer", &["--role", "tester=script:sample"], 1),
            "there is no role `tester`; one of retriever,",
        ),
        (run("automind", "script:engineer", &["--role", "coder"], 1), "is not ROLE=MODEL"),
        (run("aide", "script:mutator", &["--step", "3"], 2), "unexpected argument '--step'"),
    ];
    for (message, expected) in cases {
        assert!(message.contains(expected), "{message}");
        assert_eq!(message.matches("error:").count(), 1, "{message}");
    }
    let missing = folder.join("nothing");
    let args = ["run", "--scaffold", "aide", "--model", "script:mutator", "--out", out.as_str()];
    let message = error(&[&args[..], &["--task", missing.as_str()]].concat(), 1);
    assert!(message.contains(missing.as_str()), "{message}");
    assert!(!out.join("journal.jsonl").exists());
}

#[test]
fn linear_agents_are_evaluated_turn_by_turn() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let data = held_out(folder);
    let out = folder.join("eval");
    let read = |args: &[&str]| {
        let output = agents(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let args = ["eval", "--bench", "synthetic", "--data", data.as_str(), "--preset", "react"];
    let model = ["--model", "script:mutator", "--set", "turns=4", "--seeds", "1"];
    let table = read(&[&args[..], &model, &["--out", out.as_str()]].concat());
    assert!(table.contains("react/mutator") && table.contains("Share of the way"), "{table}");
    let run = out.join("runs/night-shifts/seed0");
    let graded: serde_json::Value =
        serde_json::from_slice(&fs_err::read(run.join("run.json")).unwrap()).unwrap();
    assert_eq!(graded["steps"], 4);
    let by_step = graded["by_step"].as_array().unwrap();
    assert_eq!(by_step.len(), 4);
    assert_eq!(by_step[3]["score"], graded["outcome"]["graded"]["score"]);
    assert_eq!(graded["selection_gap"], serde_json::Value::Null);
    let page = fs_err::read_to_string(run.join("tree.html")).unwrap();
    assert!(page.contains("Score by steps") && page.contains("Score by seconds"));
    let leaderboard = fs_err::read_to_string(out.join("leaderboard.html")).unwrap();
    assert!(leaderboard.contains("href=\"runs/night-shifts/seed0/tree.html\""));
    let html = folder.join("pages/report.html");
    fs_err::create_dir(folder.join("pages")).unwrap();
    read(&["report", out.as_str(), "--html", html.as_str()]);
    let report = fs_err::read_to_string(&html).unwrap();
    assert!(report.contains("href=\"../eval/runs/night-shifts/seed0/tree.html\""));
    let tree = read(&["tree", run.as_str(), "--html", html.as_str()]);
    assert_eq!(fs_err::read_to_string(&html).unwrap(), page);
    assert_eq!(tree.matches(": python: the script ").count(), 4, "{tree}");
    assert!(tree.contains("over (all steps were taken): turn 3 is submitted"), "{tree}");

    // The same answers again, without the player.
    let (again, task) = (folder.join("again"), data.join("night-shifts"));
    let replay = ["replay", run.as_str(), "--task", task.as_str(), "--out"];
    let said = read(&[&replay[..], &[again.as_str()]].concat());
    assert!(said.contains("all 4 steps came out as before"), "{said}");
    // A script that is another now: the last, so that no answer depends on it.
    let journal = fs_err::read_to_string(run.join("journal.jsonl")).unwrap();
    let last = journal.lines().rfind(|line| line.contains("\"line\":\"asked\""));
    let last: serde_json::Value = serde_json::from_str(last.unwrap()).unwrap();
    let blob = run.join("blobs").join(last["answer"].as_str().unwrap());
    let other = fs_err::read_to_string(&blob).unwrap().replace("read_csv", "read_cvs");
    let hash = agents::run::node::BlobHash::of(other.as_bytes());
    fs_err::write(run.join("blobs").join(&hash.0), other).unwrap();
    let changed = journal.replace(last["answer"].as_str().unwrap(), &hash.0);
    fs_err::write(run.join("journal.jsonl"), changed).unwrap();
    let again = folder.join("once-more");
    let output = agents(&[&replay[..], &[again.as_str()]].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("turn 3 was `") && said.contains("now `raised AttributeError`"),
        "{said}"
    );
    let other = shifts::write(&folder.join("other"));
    fs_err::rename(&other, folder.join("other/elsewhere")).unwrap();
    let wrong = folder.join("other/elsewhere");
    let args = ["replay", run.as_str(), "--task", wrong.as_str(), "--out", "nowhere"];
    assert!(!error(&args, 1).is_empty());
}

/// A corpus of one held-out task; only those are played.
pub(crate) fn held_out(folder: &Utf8Path) -> Utf8PathBuf {
    let task = shifts::write(&folder.join("corpus"));
    let manifest = task.join("task.json");
    let text = fs_err::read_to_string(&manifest).unwrap();
    fs_err::write(&manifest, text.replace("\"split\":\"train\"", "\"split\":\"val\"")).unwrap();
    folder.join("corpus")
}

#[test]
fn check_of_an_empty_folder_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let output = agents(&["bench", "check", "--data", folder.as_str()]);
    assert_eq!(output.status.code(), Some(3));
    let (said, hints) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(said.lines().filter(|line| line.ends_with("missing")).count(), 22, "{said}");
    for expected in ["~/.kaggle/kaggle.json", "mlebench prepare --lite", "factory standin"] {
        assert!(hints.contains(expected), "{hints}");
    }
    let out = folder.join("eval");
    let args = ["eval", "--bench", "mlebench-lite", "--data", folder.as_str(), "--preset", "aide"];
    let message =
        error(&[&args[..], &["--model", "script:sample", "--out", out.as_str()]].concat(), 3);
    assert!(
        message.contains("22 of 22 competitions of mlebench-lite are not prepared"),
        "{message}"
    );
    assert!(!out.exists());
}

#[test]
fn synthetic_evaluation_ends_in_a_table_and_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (data, out) = (held_out(folder), folder.join("eval"));
    let eval = |seeds: &str| {
        let output = agents(&[
            "eval",
            "--bench",
            "synthetic",
            "--data",
            data.as_str(),
            "--preset",
            "aide",
            "--model",
            "script:mutator",
            "--set",
            "steps=4",
            "--seeds",
            seeds,
            "--out",
            out.as_str(),
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let first = eval("1");
    assert!(first.contains("aide/mutator"), "{first}");
    let graded = out.join("runs/night-shifts/seed0/run.json");
    let before = fs_err::metadata(&graded).unwrap().modified().unwrap();
    eval("2");
    assert_eq!(fs_err::metadata(&graded).unwrap().modified().unwrap(), before, "not run again");
    assert!(out.join("runs/night-shifts/seed1/run.json").exists());
    reports_and_trees(folder, &out);
    assert!(fs_err::read_to_string(out.join("leaderboard.html")).unwrap().contains("aide/mutator"));
}

/// What is read from a finished evaluation of two seeds.
fn reports_and_trees(folder: &Utf8Path, out: &Utf8Path) {
    let (page, json) = (folder.join("page.html"), folder.join("table.json"));
    let read = |args: &[&str]| {
        let output = agents(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let files = ["--html", page.as_str(), "--json", json.as_str()];
    let table = read(&[&["report", out.as_str()][..], &files].concat());
    assert!(table.contains("aide/mutator") && table.contains("Share of the way"), "{table}");
    assert!(fs_err::read_to_string(page).unwrap().contains("aide/mutator"));
    let tables: serde_json::Value =
        serde_json::from_str(&fs_err::read_to_string(json).unwrap()).unwrap();
    assert_eq!(tables[0]["rows"][0]["seeds"], serde_json::json!([0, 1]));
    let twice = error(&["report", out.as_str(), out.as_str()], 1);
    assert!(twice.contains("has two runs on `night-shifts` with seed 0"), "{twice}");
    let nothing = error(&["report", folder.as_str()], 1);
    assert!(nothing.contains("holds no evaluation"), "{nothing}");
    let beside = error(&["report", out.as_str(), "--beside", "paper"], 1);
    assert!(beside.contains("no row of the paper on 1 tasks"), "{beside}");

    let run = out.join("runs/night-shifts/seed0");
    let tree = read(&["tree", run.as_str()]);
    assert!(tree.starts_with("aide by mutator on night-shifts (seed 0, synthetic"), "{tree}");
    for node in 0..4 {
        assert_eq!(tree.matches(&format!("node {node}: ")).count(), 1, "{tree}");
    }
    assert!(tree.contains("over (all steps were taken): node"), "{tree}");
    let nothing = error(&["tree", folder.as_str()], 1);
    assert!(nothing.contains("is not the folder of a run"), "{nothing}");
}

#[test]
fn mle_dojo_is_checked_and_played_with_places_among_people() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (data, checkout, out) = (folder.join("data"), folder.join("checkout"), folder.join("eval"));
    for fixture in &dojo::DOJO {
        dojo::write(fixture, &data, &checkout);
    }
    // One of the three has an answer in every row of its sample, the others a constant.
    let script = folder.join("script.py");
    fs_err::write(
        &script,
        "import pandas as pd\ns = pd.read_csv('input/sample_submission.csv')\n\
         n = s.id.str[1:].astype(int)\ns['y'] = n % 2\n\
         s.to_csv('submission.csv', index=False)\nprint('Validation score: 0.5')\n",
    )
    .unwrap();
    let bench = ["--bench", "mle-dojo", "--data", data.as_str(), "--mledojo", checkout.as_str()];
    let check = agents(&[&["bench", "check"][..], &bench].concat());
    let said = String::from_utf8(check.stdout).unwrap();
    assert!(check.status.success(), "{said}");
    assert!(said.contains("3 of 3 competitions can be played"), "{said}");
    let without = error(&["bench", "check", "--bench", "mle-dojo", "--data", data.as_str()], 3);
    assert!(without.is_empty(), "{without}");
    let nothing = error(&["bench", "check", "--bench", "mle-dojo", "--data", checkout.as_str()], 1);
    assert!(nothing.contains("holds no competition of MLE-Dojo"), "{nothing}");

    let model = format!("script:{script}");
    let args = ["--preset", "mle-agent", "--set", "turns=2", "--set", "feedback=exposed"];
    let rest = ["--model", model.as_str(), "--seeds", "1", "--out", out.as_str()];
    let output = agents(&[&["eval"][..], &bench, &args, &rest].concat());
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(table.contains("HumanRank") && !table.contains("medal"), "{table}");
    let runs: serde_json::Value =
        serde_json::from_slice(&fs_err::read(out.join("runs.json")).unwrap()).unwrap();
    let rank = |name: &str| {
        let run = runs.as_array().unwrap().iter().find(|run| run["competition"] == name).unwrap();
        run["outcome"]["graded"]["human_rank"]["coded"].as_f64().unwrap()
    };
    // All rows right: first of four. A root mean square error of about 12 beats the last only.
    assert_eq!((rank("late-trains"), rank("house-prices")), (1.0, 0.25));
    // Accuracy of about a third: the last of four is beaten.
    assert_eq!(rank("night-shifts"), 0.25);
    assert!(table.contains("50.00"), "{table}");
}

fn joined<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}

#[test]
fn weights_and_gpus_are_promised_only_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (data, out, weights) = (held_out(folder), folder.join("eval"), folder.join("weights"));
    // Without a box, scripts reach them by their own path.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs_err::set_permissions(folder, open).unwrap();
    fs_err::create_dir_all(weights.join("tiny-net")).unwrap();
    fs_err::write(weights.join("tiny-net/config.json"), "{}").unwrap();
    let script = folder.join("solve.py");
    let code = "import os, shutil\nassert os.listdir('models/tiny-net') == ['config.json']\n\
                shutil.copy('input/sample_submission.csv', 'submission.csv')\n\
                print('Validation score: 0.5')";
    fs_err::write(&script, code).unwrap();
    let model = format!("script:{script}");
    let args = ["eval", "--bench", "synthetic", "--data", data.as_str(), "--preset", "drafts"];
    let rest = ["--set", "steps=1", "--seeds", "1", "--model", &model, "--out", out.as_str()];
    let args = [&args[..], &rest].concat();

    let missing = folder.join("nothing");
    let message = error(&joined(&args, &["--weights", missing.as_str()]), 1);
    assert!(message.contains(missing.as_str()), "{message}");
    let message = error(&joined(&args, &["--weights", data.as_str()]), 1);
    assert!(message.contains("which scripts can read, and its answers with it"), "{message}");
    let message = error(&joined(&args, &["--gpus", "900"]), 1);
    assert!(message.contains("gpus = \"900\""), "{message}");
    let message = error(&joined(&args, &["--gpus", "900", "--jobs", "2"]), 1);
    assert!(message.contains("--share-gpus"), "{message}");
    error(&joined(&args, &["--share-gpus"]), 2);
    assert!(!out.join("runs").exists());

    let output = agents(&joined(&args, &["--weights", weights.as_str()]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let run = out.join("runs/night-shifts/seed0");
    let journal = fs_err::read_to_string(run.join("journal.jsonl")).unwrap();
    assert!(journal.contains("\"good\""), "{journal}");
    let leaderboard = fs_err::read_to_string(out.join("leaderboard.html")).unwrap();
    assert!(leaderboard.contains("tiny-net/"));

    // Not graded yet, so it is taken up again.
    fs_err::remove_file(run.join("run.json")).unwrap();
    let message = error(&args, 1);
    assert!(message.contains("`weights` was"), "{message}");
    fs_err::write(weights.join("tiny-net/config.json"), "{\"changed\": 1}").unwrap();
    let message = error(&joined(&args, &["--weights", weights.as_str()]), 1);
    assert!(message.contains("changed since the run began: tiny-net/config.json"), "{message}");
}
