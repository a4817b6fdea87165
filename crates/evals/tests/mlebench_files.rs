//! The files for mle-bench, read back by a program that knows only its documentation.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use camino::{Utf8Path, Utf8PathBuf};
use evals::bench::mlebench_files::{MlebenchFilesError, MlebenchSummary, write};
use evals::bench::outcome::{BenchOutcome, BenchRun, GradedRun, PlayerTokens, RunSeconds};
use evals::bench::summary::{BenchField, BenchTable};
use rand::RngExt as _;
use sandbox::env::Feedback;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::reference::ask;
use tasks::mlebench::grading::known_board;
use tasks::mlebench::report::CompetitionReport;
use tasks::stream::Stream;
use tasks::task::DataSource;

/// A run whose score is one of the thresholds, between them, or none.
fn run(agent: &str, competition: &str, seed: u64, data: DataSource) -> BenchRun {
    let board = known_board(competition).unwrap();
    let mut rng = Stream::root(seed).child(agent).child(competition).rng();
    let thresholds = &board.thresholds;
    let scores = [
        None,
        Some(f64::NAN),
        Some(thresholds.median_threshold),
        Some(thresholds.bronze_threshold),
        Some(thresholds.silver_threshold),
        Some(thresholds.gold_threshold),
    ];
    let score = scores[rng.random_range(0..scores.len())];
    let report = CompetitionReport {
        competition_id: competition.to_owned(),
        score,
        board,
        submission_exists: score.is_some() || rng.random(),
        created_at: format!("2026-01-02T03:04:0{seed}.000123"),
        submission_path: "submission.csv".to_owned(),
    };
    BenchRun {
        competition: competition.to_owned(),
        agent: agent.to_owned(),
        seed,
        data,
        feedback: Feedback::Validate,
        outcome: BenchOutcome::Graded(GradedRun::from_report(&report)),
        selection_gap: None,
        way: None,
        by_step: Vec::new(),
        steps: 20,
        seconds: RunSeconds::default(),
        tokens: PlayerTokens::default(),
        cost: None,
        roles: Vec::new(),
    }
}

fn runs(agent: &str, seeds: u64, data: DataSource) -> Vec<BenchRun> {
    let field = BenchField::lite();
    let of_seed = |seed| {
        let ids = field.competitions.iter();
        ids.map(move |id| run(agent, id, seed, data)).collect::<Vec<BenchRun>>()
    };
    (0..seeds).flat_map(of_seed).collect()
}

fn names(folder: &Utf8Path) -> Vec<String> {
    let entries = folder.read_dir_utf8().unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_owned()).collect();
    names.sort();
    names
}

fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
    (folder, path)
}

#[test]
fn summary_is_what_a_reader_of_the_reports_computes() {
    let (_guard, out) = folder();
    let mut all = runs("aide/openai:some model", 3, DataSource::Real);
    // Three seeds of one agent, a single one of another, and one with holes.
    all.extend(runs("react", 1, DataSource::Real));
    let mut holes = runs("holes", 2, DataSource::Real);
    holes.remove(25);
    holes.remove(3);
    all.extend(holes);
    let field = BenchField::lite();
    for pad in [false, true] {
        let table = BenchTable::from_runs(&field, &all, pad).unwrap();
        let path = write(&out, &table).unwrap();
        let text = fs_err::read_to_string(path.join("summary.json")).unwrap();
        let summaries: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
        for experiment in ["aide-openai-some-model", "react", "holes"] {
            let ids = &field.competitions;
            let question =
                json!({"runs": path, "experiment": experiment, "competitions": ids, "pad": pad});
            let [answer] = ask("crates/evals/tests/reference/aggregate.py", vec![question])
                .try_into()
                .unwrap();
            let Some(ours) = summaries.get(experiment) else {
                assert_eq!(answer["error"], "no complete seed", "{experiment}");
                continue;
            };
            let ours: MlebenchSummary = serde_json::from_value(ours.clone()).unwrap();
            let theirs: MlebenchSummary = serde_json::from_value(answer).unwrap();
            assert_eq!(ours.num_seeds_averaged, theirs.num_seeds_averaged, "{experiment}");
            let flat = |summary: &MlebenchSummary| -> Vec<f64> {
                let metrics = serde_json::to_value(summary.metrics).unwrap();
                let of = |metric: &Value| -> Vec<f64> {
                    metric.as_object().unwrap().values().map(|v| v.as_f64().unwrap()).collect()
                };
                metrics.as_object().unwrap().values().flat_map(of).collect()
            };
            for (ours, theirs) in flat(&ours).iter().zip(flat(&theirs)) {
                assert!((ours - theirs).abs() < 1e-9, "{experiment}: {ours} {theirs}");
            }
        }
        assert_eq!(summaries.contains_key("holes"), pad);
    }
}

#[test]
fn writing_twice_leaves_one_report_per_folder_and_the_same_bytes() {
    let (_guard, out) = folder();
    let field = BenchField::lite();
    let table = |runs: &[BenchRun]| BenchTable::from_runs(&field, runs, false).unwrap();
    let all = runs("aide", 2, DataSource::Real);
    // Half of the runs first, as a report of an evaluation that goes on would.
    let mut early = all[..30].to_vec();
    for run in &mut early {
        let BenchOutcome::Graded(graded) = &mut run.outcome else { unreachable!() };
        graded.created_at = "2025-12-31T23:59:59".to_owned();
    }
    write(&out, &table(&early)).unwrap();
    let path = write(&out, &table(&all)).unwrap();
    assert_eq!(
        names(&path),
        ["aide_seed0", "aide_seed1", "run_group_experiments.csv", "summary.json"]
    );
    let report = "2026-01-02T03-04-01-UTC_grading_report.json";
    assert_eq!(names(&path.join("aide_seed1")), [report]);
    let read = || fs_err::read(path.join("aide_seed1").join(report)).unwrap();
    let before = read();
    write(&out, &table(&all)).unwrap();
    assert_eq!(read(), before);
}

#[test]
fn reports_on_stand_ins_are_not_taken_for_real_ones() {
    let (_guard, out) = folder();
    let all = runs("aide", 1, DataSource::StandIn);
    let table = BenchTable::from_runs(&BenchField::lite(), &all, false).unwrap();
    let path = write(&out, &table).unwrap();
    assert_eq!(names(&path), ["aide_seed0", "stand_in_summary.json"]);
    assert_eq!(names(&path.join("aide_seed0")), ["stand_in_report.json"]);
    let text = fs_err::read_to_string(path.join("aide_seed0/stand_in_report.json")).unwrap();
    assert!(text.starts_with("{\n  \"data\": \"stand_in\",\n  \"total_runs\": 22,\n"), "{text}");
}

#[test]
fn runs_that_mle_bench_would_misread_are_refused() {
    let error = |field: &BenchField, all: &[BenchRun]| {
        let (_guard, out) = folder();
        let table = BenchTable::from_runs(field, all, false).unwrap();
        write(&out, &table).unwrap_err()
    };
    let lite = BenchField::lite();
    let mut wrong = runs("aide", 1, DataSource::Real);
    let graded = |run: &mut BenchRun, change: &dyn Fn(&mut GradedRun)| {
        let BenchOutcome::Graded(graded) = &mut run.outcome else { unreachable!() };
        change(graded);
    };
    graded(&mut wrong[4], &|graded| graded.above_median = !graded.above_median);
    let found = error(&lite, &wrong);
    assert!(matches!(found, MlebenchFilesError::Disagrees { seed: 0, .. }), "{found}");
    let mut wrong = runs("aide", 1, DataSource::Real);
    for run in &mut wrong {
        graded(run, &|graded| graded.created_at = "today".to_owned());
    }
    let found = error(&lite, &wrong).to_string();
    assert_eq!(found, "`aide` was graded at `today`; expected a time such as 2026-01-02T03:04:05");
    let mut same = runs("a/b", 1, DataSource::Real);
    same.extend(runs("a:b", 1, DataSource::Real));
    let found = error(&lite, &same).to_string();
    assert!(found.contains("would both be written to `a-b`"), "{found}");
    let mut other = runs("aide", 1, DataSource::Synthetic);
    other.truncate(1);
    other[0].competition = "task-0001".to_owned();
    let field =
        BenchField { name: "synthetic".to_owned(), competitions: vec!["task-0001".to_owned()] };
    let found = error(&field, &other);
    assert!(matches!(found, MlebenchFilesError::Competition { .. }), "{found}");
}
