//! `sandbox grade` as MLE-bench grades: what it prints and how it ends.

use camino::Utf8PathBuf;
use std::process::{Command, Output};

const ANSWERS: &str = "id,has_cactus\na,1\nb,0\n";

struct CompetitionFolder {
    path: Utf8PathBuf,
    _guard: tempfile::TempDir,
}

impl CompetitionFolder {
    fn new() -> Self {
        let guard = tempfile::tempdir().unwrap();
        Self { path: guard.path().to_owned().try_into().unwrap(), _guard: guard }
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path.join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, text).unwrap();
        path.into_string()
    }
}

fn grade(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sandbox")).arg("grade").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_submission_is_graded_with_the_known_thresholds() {
    let folder = CompetitionFolder::new();
    let answers = folder.write("answers.csv", ANSWERS);
    let cactus = ["--competition", "aerial-cactus-identification", "--answers", &answers];
    let grade = |submission: &str, more: &[&str]| {
        grade(&[&cactus[..], &["--submission", submission], more].concat())
    };

    let good = folder.write("good.CSV", "id,has_cactus\nb,0.1\na,0.9\n");
    let output = grade(&good, &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
    assert_eq!((report["score"].as_f64(), &report["gold_medal"]), (Some(1.0), &true.into()));
    assert_eq!(
        (&report["median_threshold"], &report["submission_path"]),
        (&0.9991.into(), &good.as_str().into())
    );
    assert_eq!(text(&grade(&good, &[]).stdout), "1 (gold medal)\n");

    // Refused: the object is the original's, why is said beside it.
    let bad = folder.write("bad.csv", "id,has_cactus\nb,0.1\na,1.9\n");
    let output = grade(&bad, &["--json"]);
    assert_eq!(output.status.code(), Some(4));
    let report = json(&output);
    assert_eq!((&report["score"], &report["submission_exists"]), (&().into(), &true.into()));
    assert_eq!(
        (&report["valid_submission"], report.as_object().unwrap().len()),
        (&false.into(), 16)
    );
    assert!(text(&output.stderr).contains("outside of 0 to 1"), "{}", text(&output.stderr));

    // Missing: no file, or another ending.
    for path in ["none.csv", &folder.write("good.txt", "id,has_cactus\na,1\nb,0\n")] {
        let output = grade(path, &["--json"]);
        assert_eq!(output.status.code(), Some(4));
        assert_eq!(json(&output)["submission_exists"], false, "{path}");
    }

    // No table: the original stops without a report.
    let broken = folder.write("broken.csv", "id,has_cactus\na,1\nb,0,1\n");
    let output = grade(&broken, &["--json"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(4), String::new()));
    assert!(text(&output.stderr).contains("line 3 has 3 fields"), "{}", text(&output.stderr));

    // Other thresholds, named in two ways.
    let board = "score\n1.0\n1.0\n0.5\n";
    let file = folder.write(
        "checkout/mlebench/competitions/aerial-cactus-identification/leaderboard.csv",
        board,
    );
    let checkout = folder.path.join("checkout");
    for more in [["--leaderboard", &file], ["--mlebench", checkout.as_str()]] {
        let output = grade(&good, &[&more[..], &["--json"]].concat());
        assert_eq!(json(&output)["above_median"], false, "{}", text(&output.stderr));
    }
}

#[test]
fn many_submissions_are_graded_into_one_report() {
    let folder = CompetitionFolder::new();
    let answers = "data/aerial-cactus-identification/prepared/private/test.csv";
    folder.write(answers, ANSWERS);
    let good = folder.write("good.csv", ANSWERS);
    let list = format!(
        "# two runs\n{{\"competition_id\": \"aerial-cactus-identification\", \"submission_path\": {good:?}}}\n\
         {{\"competition_id\": \"aerial-cactus-identification\", \"submission_path\": null}}\n"
    );
    let list = folder.write("runs.jsonl", &list);
    let data = folder.path.join("data");
    let output = grade(&["--submissions", &list, "--data-dir", data.as_str(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
    assert_eq!((&report["total_runs"], &report["total_gold_medals"]), (&2.into(), &1.into()));
    assert_eq!(report["competition_reports"][1]["submission_path"], "None");

    // A second file beside the answers is left alone, and a checkout may name another as answers.
    folder.write("data/aerial-cactus-identification/prepared/private/gold.csv", "");
    let output = grade(&["--submissions", &list, "--data-dir", data.as_str()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let renamed = "data/aerial-cactus-identification/prepared/private/renamed.csv";
    fs_err::rename(folder.path.join(answers), folder.path.join(renamed)).unwrap();
    let config = "checkout/mlebench/competitions/aerial-cactus-identification/config.yaml";
    let path = renamed.trim_start_matches("data/");
    folder.write(config, &format!("id: x\ndataset:\n  answers: {path}\n"));
    folder.write(&config.replace("config.yaml", "leaderboard.csv"), "score\n1.0\n0.5\n");
    let checkout = folder.path.join("checkout");
    let arguments = ["--submissions", &list, "--data-dir", data.as_str(), "--mlebench"];
    let output = grade(&[&arguments[..], &[checkout.as_str()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("aerial-cactus-identification: 1 (gold medal)\n"));
}

#[test]
fn mistakes_are_explained() {
    let folder = CompetitionFolder::new();
    let file = folder.write("a.csv", ANSWERS);
    let to = |id: &str| {
        let output = grade(&["--competition", id, "--answers", &file, "--submission", &file]);
        (output.status.code(), text(&output.stderr))
    };
    let (code, error) = to("aerial-cactus");
    assert_eq!(code, Some(2));
    assert!(error.contains("did you mean aerial-cactus-identification or"), "{error}");
    let (code, error) = to("herbarium-2022-fgvc9");
    assert_eq!(code, Some(2));
    assert!(error.contains("not built in") && error.contains("are known"), "{error}");

    let cactus = ["--competition", "aerial-cactus-identification"];
    for arguments in [
        &[
            "task",
            "submission.csv",
            cactus[0],
            cactus[1],
            "--answers",
            &file,
            "--submission",
            &file,
        ][..],
        &["task", "submission.csv", "--submissions", &file, "--data-dir", "d"],
        &["task", "submission.csv", "--leaderboard", &file],
        &[cactus[0], cactus[1], "--answers", &file],
        &[cactus[0], cactus[1], "--submission", &file],
        &["--submissions", &file],
        &["--submission", &file],
        &["task"],
        &[],
    ] {
        let output = grade(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
    }
}
