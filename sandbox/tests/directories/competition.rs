//! Competitions as MLE-bench prepares them.

use crate::fixture::{TemporaryFolder, config, python, suite};
use sandbox::env::{Action, EpisodeConfig, EpisodeFault, Feedback};
use sandbox::graders::Graders;
use std::process::Command;
use tasks::grade::MleBenchGrader;
use tasks::submission::Part;
use tasks::task::{DataSource, Opening, Task, TaskError};
use tasks::thresholds::Milestone;
use tasks::units::ByteSize;

#[test]
fn a_competition_is_played_and_graded_as_mle_bench_grades() {
    let folder = TemporaryFolder::new();
    folder.competition();
    let suite = suite(folder.open());
    let task = &suite.tasks()[0];
    assert_eq!(task.id().as_str(), "spooky-author-identification");
    assert_eq!(task.description().unwrap(), "Tell three authors apart.\n");

    let mut episode = suite.reset(task, &config(Feedback::Validate)).unwrap();
    let seen = python(
        &mut episode,
        "import os\nprint(sorted(os.listdir('input')))\n\
         print([p for top in ('/work', '/tasks', '/tmp') for p, _, _ in os.walk(top) if 'private' in p])\n\
         print(os.path.exists('input/../private'), os.path.exists('/work/input/../../private'))",
    );
    assert!(seen.contains("['description.md', 'sample_submission.csv', 'test.csv', 'train.csv']"));
    assert!(seen.contains("[]\nFalse False"), "{seen}");
    python(&mut episode, "open('submission.csv', 'w').write('id,EAP\\nid2,1\\n')");
    let step = episode.step(&Action::Score).unwrap();
    assert!(!step.feedback.unwrap().valid);
    assert!(step.observation.text.starts_with("invalid submission: "), "{:?}", step.observation);

    let write = "open('submission.csv', 'w').write(\
                 'id,EAP,HPL,MWS\\nid2,0.1,0.8,0.1\\nid3,0.05,0.05,0.9\\n')";
    python(&mut episode, write);
    let step = episode.step(&Action::Score).unwrap();
    assert_eq!(step.observation.text, "valid submission");
    let grade = episode.close().unwrap().grade.unwrap();
    // -(ln 0.8 + ln 0.9) / 2, rounded; gold is 0.16506.
    assert_eq!((grade.score, grade.tier), (0.16425, Some(Milestone::Gold)));
}

#[test]
fn competition_refuses_feedback_beyond_validity() {
    let folder = TemporaryFolder::new();
    folder.competition();
    let tasks = folder.open();
    let suite = suite(tasks);
    for feedback in [Feedback::Tier, Feedback::Full] {
        let fault = suite.reset(&suite.tasks()[0], &config(feedback)).unwrap_err();
        assert!(matches!(fault, EpisodeFault::WholeOnly(_)), "{fault}");
        assert!(fault.to_string().contains("`validate`"));
    }
}

#[test]
fn exposed_feedback_tells_the_final_score_of_a_competition_and_of_nothing_else() {
    let folder = TemporaryFolder::new();
    folder.competition();
    folder.bundle("bundle", 10);
    let suite = suite(folder.open());
    let task = |id: &str| suite.tasks().iter().find(|task| task.id().as_str() == id).unwrap();
    let exposed = config(Feedback::Exposed);
    let fault = suite.reset(task("bundle"), &exposed).unwrap_err();
    assert!(matches!(fault, EpisodeFault::Hidden(_)), "{fault}");
    assert!(fault.to_string().contains("competitions of MLE-bench and MLE-Dojo only"), "{fault}");

    let mut episode = suite.reset(task("spooky-author-identification"), &exposed).unwrap();
    let write = "open('submission.csv', 'w').write(\
                 'id,EAP,HPL,MWS\\nid2,0.1,0.8,0.1\\nid3,0.05,0.05,0.9\\n')";
    python(&mut episode, write);
    let step = episode.step(&Action::Score).unwrap();
    assert!(step.observation.text.contains("score: 0.16425"), "{:?}", step.observation);
    assert_eq!(step.feedback.unwrap().tier, Some(Milestone::Gold));
    assert_eq!(episode.close().unwrap().grade.unwrap().score, 0.16425);
}

#[test]
fn submission_beyond_its_limit_is_refused_and_one_at_the_limit_is_graded() {
    let folder = TemporaryFolder::new();
    folder.competition();
    let suite = suite(folder.open());
    let csv = "id,EAP,HPL,MWS\nid2,0.1,0.8,0.1\nid3,0.05,0.05,0.9\n";
    let play = |limit: usize| {
        let submission_limit = ByteSize::new(limit as u64);
        let config = EpisodeConfig { submission_limit, ..config(Feedback::Validate) };
        let mut episode = suite.reset(&suite.tasks()[0], &config).unwrap();
        python(&mut episode, &format!("open('submission.csv', 'w').write({csv:?})"));
        episode.close().unwrap()
    };
    assert_eq!(play(csv.len()).grade.unwrap().score, 0.16425);
    let refusal = play(csv.len() - 1).refusal.unwrap();
    assert!(refusal.starts_with("invalid submission: "), "{refusal}");
}

#[test]
fn thresholds_come_from_a_checkout_if_one_is_named() {
    let folder = TemporaryFolder::new();
    folder.competition();
    let inside = "checkout/mlebench/competitions/spooky-author-identification";
    folder.write(&format!("{inside}/leaderboard.csv"), "score\n0.1\n0.5\n0.9\n");
    let answers = "answers: spooky-author-identification/prepared/private/renamed.csv\n";
    folder.write(&format!("{inside}/config.yaml"), &format!("dataset:\n  {answers}"));
    // Under a name that only the configuration gives.
    let path = folder.path().join("spooky-author-identification");
    let private = path.join("prepared/private");
    fs_err::rename(private.join("test.csv"), private.join("renamed.csv")).unwrap();
    let error = Task::open(&path, &Opening::default()).unwrap_err();
    assert!(error.to_string().contains("it has no `prepared/private/test.csv`"), "{error}");

    let opening = Opening { checkout: Some(folder.path().join("checkout")), ..Opening::default() };
    let grader = Graders::default().open(&Task::open(&path, &opening).unwrap()).unwrap();
    assert_eq!(grader.thresholds().median_threshold, 0.5);
    let even = "id,EAP,HPL,MWS\nid2,0.2,0.6,0.2\nid3,0.2,0.2,0.6\n";
    let grade = grader.grade(even.as_bytes(), Part::All).unwrap();
    // The median itself would not count, 0.51083 is worse.
    assert_eq!((grade.score, grade.tier), (0.51083, None));
}

#[test]
fn competition_without_a_marker_has_real_data() {
    let folder = TemporaryFolder::new();
    folder.competition();
    let path = folder.path().join("spooky-author-identification");
    let open = || Task::open(&path, &Opening::default());
    let real = open().unwrap();
    assert_eq!(real.data_source(), DataSource::Real);
    assert!(real.competition().unwrap().stand_in().is_none());

    let marker = "{\"stand_in\": true, \"seed\": 5, \"differences\": [\"invented texts\"]}";
    folder.write("spooky-author-identification/stand-in.json", marker);
    let invented = open().unwrap();
    assert_eq!(invented.data_source(), DataSource::StandIn);
    let stand_in = invented.competition().unwrap().stand_in().unwrap();
    assert_eq!((stand_in.seed, &*stand_in.differences), (5, &["invented texts".to_owned()][..]));

    folder.write("spooky-author-identification/stand-in.json", "{\"stand_in\": false}");
    let error = open().unwrap_err();
    assert!(matches!(error, TaskError::StandIn { .. }), "{error}");
    assert!(error.to_string().contains("\"differences\": []"), "{error}");
}

#[test]
fn report_of_a_competition_counts_medals_as_mle_bench_does() {
    let folder = TemporaryFolder::new();
    folder.competition();
    let path = folder.path().join("spooky-author-identification");
    let task = Task::open(&path, &Opening::default()).unwrap();
    let grader = MleBenchGrader::open(task.competition().unwrap()).unwrap();
    let of = |csv| grader.report(csv, "run/submission.csv".into(), "now".to_owned());

    let good = of(Some(&b"id,EAP,HPL,MWS\nid2,0.1,0.8,0.1\nid3,0.05,0.05,0.9\n"[..]));
    assert_eq!(good.report.score, Some(0.16425));
    assert_eq!((good.report.medal(), good.report.above_median()), (Some(Milestone::Gold), true));
    let even = of(Some(b"id,EAP,HPL,MWS\nid2,0.2,0.6,0.2\nid3,0.2,0.2,0.6\n"));
    assert_eq!((even.report.medal(), even.report.above_median()), (None, false));
    let refused = of(Some(b"id,EAP\nid2,1\n"));
    assert!(refused.report.score.is_none() && refused.report.submission_exists);
    assert!(refused.refusal.unwrap().to_string().starts_with("invalid submission: "));
    let no_table = of(Some(b"\xff"));
    assert!(no_table.refusal.unwrap().to_string().contains("UTF-8"));
    let none = of(None);
    assert!(!none.report.submission_exists && none.refusal.is_none());
    let json: serde_json::Value = serde_json::from_str(&none.report.to_json(0)).unwrap();
    assert_eq!(
        (&json["valid_submission"], &json["competition_id"], &json["submission_path"]),
        (&false.into(), &"spooky-author-identification".into(), &"run/submission.csv".into())
    );
}

#[test]
fn the_command_line_takes_a_competitions_folder() {
    let folder = TemporaryFolder::new();
    folder.competition();
    let task = folder.path().join("spooky-author-identification");
    let sample = task.join("prepared/public/sample_submission.csv");
    let output = Command::new(env!("CARGO_BIN_EXE_sandbox"))
        .args(["grade", task.as_str(), sample.as_str(), "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["score"], 1.20397);
    assert_eq!(report["thresholds"]["gold_threshold"], 0.16506);
    assert_eq!(
        (&report["tier"], &report["is_lower_better"]),
        (&serde_json::Value::Null, &true.into())
    );
}
