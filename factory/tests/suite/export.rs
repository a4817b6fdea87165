//! `factory export`: what MLE-bench would read parses, and grades as the native grader does; tables
//! in Parquet are those of the corpus.

use camino::Utf8Path;
use factory::data::table::{self, Cells};
use fs_err as fs;
use polars::prelude::{DataFrame, DataType, ParquetReader, SerReader};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use tasks::grade::NativeGrader;
use tasks::prediction::Prediction;
use tasks::submission::Part;
use tasks::task::{Corpus, TaskDir};

pub(crate) fn factory(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_factory")).args(args).output().unwrap()
}

/// The answers in the form of a submission.
pub(crate) fn perfect(task: &TaskDir) -> String {
    let text = fs::read_to_string(task.private().answers()).unwrap();
    let manifest = task.manifest();
    match &manifest.prediction {
        Prediction::ClassProbabilities { classes, .. } => {
            let mut csv = format!("{},{}\n", manifest.id_column, classes.join(","));
            for line in text.lines().skip(1) {
                let (id, truth) = line.split_once(',').unwrap();
                let cells = classes.iter().map(|class| if class == truth { "1" } else { "0" });
                let _ = writeln!(csv, "{id},{}", cells.collect::<Vec<_>>().join(","));
            }
            csv
        }
        Prediction::Relevance { .. } => {
            let line = |line: &str| {
                let cells: Vec<&str> = line.split(',').collect();
                format!("{},{}\n", cells[0], cells[cells.len() - 1])
            };
            text.lines().map(line).collect()
        }
        _ => text,
    }
}

/// Reads and grades the export as MLE-bench does: a line in, a line out.
fn check(out: &Utf8Path, submissions: &[(String, String)]) -> Vec<Value> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let python = std::env::var("MLE_PYTHON").unwrap_or(format!("{root}/.venv/bin/python"));
    let mut python = Command::new(python)
        .arg(format!("{root}/factory/tests/reference/read_export.py"))
        .arg(out)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`make venv` sets up the Python environment");
    let mut stdin = python.stdin.take().unwrap();
    let lines: Vec<String> =
        submissions.iter().map(|(task, path)| format!("{task} {path}\n")).collect();
    let writer = std::thread::spawn(move || stdin.write_all(lines.concat().as_bytes()).unwrap());
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_export_grades_as_the_native_grader_does() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    let (corpus, out) = (desk.join("corpus"), desk.join("export"));
    let kinds = ["--count", "8", "--modality", "tabular,text", "--seed", "3"];
    let made = factory(&[&["generate", "--out", corpus.as_str()][..], &kinds].concat());
    // 3: some slots stay empty.
    assert!(matches!(made.status.code(), Some(0 | 3)), "{made:?}");
    let export = ["export", corpus.as_str(), "--format", "mlebench", out.as_str()];
    let output = factory(&export);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let again = factory(&export);
    assert!(String::from_utf8(again.stderr).unwrap().contains("is not empty"));

    let corpus = Corpus::open(&corpus).unwrap();
    assert!(corpus.tasks().len() >= 6, "{} tasks", corpus.tasks().len());
    let mut submissions = Vec::new();
    let mut native = Vec::new();
    for task in corpus.tasks() {
        let grader = NativeGrader::open(task).unwrap();
        let sample =
            fs::read_to_string(task.public().path().join("sample_submission.csv")).unwrap();
        let perfect = perfect(task);
        let short: String = perfect.lines().take(3).flat_map(|line| [line, "\n"]).collect();
        for (name, csv) in [("sample", sample), ("perfect", perfect), ("short", short)] {
            let path = desk.join(format!("{}-{name}.csv", task.id()));
            fs::write(&path, &csv).unwrap();
            let grade = grader.grade(csv.as_bytes(), Part::All).ok();
            submissions.push((task.id().to_string(), path.into_string()));
            native.push((task, grade));
        }
    }
    let reports = check(&out, &submissions);
    assert_eq!(reports.len(), native.len());
    for (report, (task, grade)) in reports.iter().zip(&native) {
        let thresholds = task.manifest().thresholds;
        for (name, threshold) in [
            ("gold", thresholds.gold_threshold),
            ("silver", thresholds.silver_threshold),
            ("bronze", thresholds.bronze_threshold),
            ("median", thresholds.median_threshold),
        ] {
            let found = report[name].as_f64().unwrap();
            assert!((found - threshold).abs() <= 0.51e-5, "{}: {name} {found}", task.id());
        }
        let lower = task.manifest().direction() == tasks::metrics::Direction::LowerIsBetter;
        assert_eq!(report["is_lower_better"], lower, "{}", task.id());
        let Some(grade) = grade else {
            assert!(report["score"].is_null(), "{report}");
            continue;
        };
        let score = report["score"].as_f64().unwrap();
        let gap = (score - grade.score).abs() / grade.score.abs().max(1.0);
        assert!(gap <= 1e-9, "{}: native {}, exported {report}", task.id(), grade.score);
        assert_eq!(report["gold_medal"], grade.tier == Some(tasks::thresholds::Milestone::Gold));
    }
}

fn read(path: &Utf8Path) -> DataFrame {
    ParquetReader::new(std::io::Cursor::new(fs::read(path).unwrap())).finish().unwrap()
}

/// Whether a table in Parquet holds what a CSV file does; how many columns are of numbers.
fn assert_same(parquet: &Utf8Path, csv: &Utf8Path) -> usize {
    let (typed, texts) = (read(parquet), table::read_csv(&fs::read(csv).unwrap()).unwrap());
    assert_eq!(typed.get_column_names(), texts.get_column_names(), "{csv}");
    for (typed, texts) in typed.columns().iter().zip(texts.columns()) {
        let Cells::Text(texts) = Cells::from_column(texts) else { unreachable!() };
        match Cells::from_column(typed) {
            Cells::Text(found) => assert_eq!(found, texts, "{csv}"),
            Cells::Numbers(found) => {
                assert_eq!(found.len(), texts.len());
                for (number, text) in found.iter().zip(&texts) {
                    let expected = if text.is_empty() { f64::NAN } else { text.parse().unwrap() };
                    assert!(number.total_cmp(&expected).is_eq(), "{csv}: {number} for {text}");
                }
            }
        }
        assert_eq!(typed.null_count(), texts.iter().filter(|text| text.is_empty()).count());
    }
    typed.dtypes().iter().filter(|kind| **kind != DataType::String).count()
}

#[test]
fn a_parquet_export_holds_the_tables_of_the_corpus() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    let (corpus, out) = (desk.join("corpus"), desk.join("export"));
    let kinds = ["--count", "10", "--modality", "tabular,time_series,text,image", "--seed", "4"];
    let made = factory(&[&["generate", "--out", corpus.as_str()][..], &kinds].concat());
    assert!(made.status.success());
    let export = ["export", corpus.as_str(), "--format", "parquet", out.as_str()];
    let output = factory(&export);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let again = factory(&export);
    assert!(String::from_utf8(again.stderr).unwrap().contains("is not empty"));
    let other = desk.join("other");
    let output =
        factory(&["export", corpus.as_str(), "--format", "parquet", "--answers", other.as_str()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let corpus = Corpus::open(&corpus).unwrap();
    let tasks = read(&out.join("tasks.parquet"));
    assert_eq!(tasks.height(), 10);
    let Some(Cells::Numbers(gold)) = table::cells(&tasks, "gold_threshold") else { panic!() };
    let Some(Cells::Text(ids)) = table::cells(&tasks, "id") else { panic!() };
    let Some(Cells::Text(pages)) = table::cells(&tasks, "description") else { panic!() };
    let mut numbers = 0;
    for (row, task) in corpus.tasks().iter().enumerate() {
        assert_eq!(
            (ids[row], gold[row]),
            (task.id().as_str(), task.manifest().thresholds.gold_threshold)
        );
        let public = task.public();
        assert_eq!(pages[row], fs::read_to_string(public.path().join("description.md")).unwrap());
        for name in ["train", "test", "sample_submission"] {
            let path = out.join(task.id().as_str()).join(format!("{name}.parquet"));
            numbers += assert_same(&path, &public.path().join(format!("{name}.csv")));
            assert_eq!(read(&path).columns()[0].dtype(), &DataType::String);
            // Made again, it is the same to the byte.
            let twin = other.join(task.id().as_str()).join(format!("{name}.parquet"));
            assert_eq!(fs::read(&path).unwrap(), fs::read(&twin).unwrap());
        }
        let answers = |out: &Utf8Path| out.join(task.id().as_str()).join("answer.parquet");
        assert!(!answers(&out).exists());
        assert_same(&answers(&other), &task.private().answers());
    }
    assert!(numbers > 30, "{numbers} columns of numbers");
    let names: Vec<String> = desk
        .read_dir_utf8()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_owned())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert!(names.is_empty(), "{names:?} are left over");
}

#[test]
fn answers_flag_without_parquet_is_refused() {
    let output = factory(&["export", "corpus", "--answers", "out"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("`--answers` is for `--format parquet`"), "{text}");
}
