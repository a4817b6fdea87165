//! The server as an agent meets it: answers, scores, limits.

use crate::fixture::{Place, Server, audit, base_weights, started, until, winning};
use fs_err as fs;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn run_goes_from_the_baseline_to_the_final_scores_and_audits_clean() {
    let place = Place::new();
    let better = place.model("better", &winning(0.5));
    let worse = place.model("worse", &winning(0.125));
    let copy = place.model("copy", &base_weights());
    let mut server = started(&place, &["--budget", "4s", "--until-final"]);
    let (status, entry) = server.submit(&better);
    assert_eq!((status, &entry["state"]), (200, &json!("graded")), "{entry}");
    assert_eq!((&entry["score"], &entry["baseline_score"]), (&json!(0.5), &json!(0.25)));
    assert_eq!((&entry["improvement"], &entry["is_best"]), (&json!(0.25), &json!(true)));
    let (_, entry) = server.submit(&copy);
    assert_eq!((&entry["state"], &entry["same_as"]), (&json!("cached"), &json!("base")));
    assert_eq!((&entry["score"], &entry["facts"]["copy"]), (&json!(0.25), &json!(true)));
    let (_, entry) = server.submit(&better);
    assert_eq!((&entry["state"], &entry["same_as"]), (&json!("cached"), &json!(1)));
    let (status, entry) = server.post("/v1/submit", &json!({"model_path": worse, "note": "hm"}));
    assert_eq!((status, &entry["submission_id"], &entry["note"]), (202, &json!(4), &json!("hm")));
    until("the grade", || server.get("/v1/submissions/4").1["state"] == "graded");
    let (_, all) = server.get("/v1/submissions");
    assert_eq!(all["submissions"].as_array().unwrap().len(), 4);
    assert_eq!(all["best"]["submission_id"], 1);
    assert!(!all.to_string().contains("test"), "nothing is said of the test items");
    assert!(server.wait(Duration::from_mins(1)).success());
    let report = audit(&place, 0);
    let metrics = &report["metrics"];
    let expected = json!({
        "task": "household", "protocol": "sealed", "baseline": 0.25, "best": 0.5,
        "improvement": 0.25, "success": true, "submissions": 4, "valid_submission_rate": 1.0,
        "first_valid_idx": 1, "score_trajectory": [0.5, 0.25, 0.5, 8.0 / 60.0],
        "monotonic_ratio": 1.0 / 3.0, "copy_model_count": 1, "foreign_model_count": 0,
        "time_used_ratio": 1.0, "final_base": 34.0 / 134.0, "final_best": 0.5,
        "final_last": 17.0 / 134.0, "final_improvement": 0.5 - 34.0 / 134.0,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&metrics[name], value, "{name}");
    }
    let [low, high] = [0, 1].map(|end| report["interval"][end].as_f64().unwrap());
    assert!(0.0 < low && low < 0.246 && 0.246 < high && high < 0.5, "{low} to {high}");
    // Each content once on each part, and the copy not at all.
    assert_eq!(place.gradings("begin").len(), 6, "base, better, worse on dev and test");
    let kept: Vec<_> = fs::read_dir(place.path("sealed/models")).unwrap().collect();
    assert_eq!(kept.len(), 3, "base, best and last");
}

#[test]
fn paper_protocol_scores_on_the_test_items_and_grades_nothing_after_the_end() {
    let place = Place::new();
    let better = place.model("better", &winning(0.5));
    let mut server = started(
        &place,
        &["--budget", "2s", "--protocol", "paper", "--clock", "wall", "--until-final"],
    );
    assert_eq!(server.submit(&better).1["score"], 0.5);
    assert!(server.wait(Duration::from_mins(1)).success());
    let report = audit(&place, 0);
    assert_eq!(report["metrics"]["protocol"], "paper");
    assert_eq!(report["metrics"]["final_best"], 0.5);
    assert!(place.gradings("begin").iter().all(|line| line.starts_with("test ")));
    assert_eq!(place.gradings("begin").len(), 2);
}

#[test]
fn refused_submission_has_a_number_a_reason_and_no_score() {
    let place = Place::new();
    place.model("step-1", &winning(0.5));
    fs::write(place.path("output/step-1/pytorch_model.bin"), "x").unwrap();
    let server = started(&place, &[]);
    let (status, entry) = server.submit("output/step-1");
    assert_eq!(
        (status, &entry["state"], &entry["code"]),
        (422, &json!("refused"), &json!("pickle"))
    );
    assert!(entry["error"].as_str().unwrap().contains("safetensors") && entry["score"].is_null());
    let (status, entry) = server.submit("/etc");
    assert_eq!((status, &entry["submission_id"]), (400, &json!(2)));
    fs::remove_file(place.path("output/step-1/pytorch_model.bin")).unwrap();
    place.grader("refuse");
    let (status, entry) = server.submit("output/step-1");
    assert_eq!((status, &entry["code"]), (422, &json!("model")));
    assert_eq!(server.get("/v1/submissions").1["best"], Value::Null);
}

#[test]
fn fault_of_ours_is_told_without_its_details_and_does_not_count() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let server = started(&place, &["--submissions", "1"]);
    place.grader("fail");
    let (status, entry) = server.submit(&model);
    assert_eq!((status, &entry["state"]), (503, &json!("failed")));
    assert!(!entry.to_string().contains("sealed/secret"), "{entry}");
    let operator = Server::operator(&place, "GET", "/state");
    assert!(operator["submissions"][0]["fault"].as_str().unwrap().contains("sealed/secret"));
    place.grader("busy");
    let (status, entry) = server.submit(&model);
    assert_eq!((status, &entry["state"]), (503, &json!("busy")));
    place.grader("");
    assert_eq!(server.submit(&model).0, 200, "neither counted");
    let (status, answer) = server.submit(&model);
    assert_eq!(status, 429, "one submission is allowed: {answer}");
}

#[test]
fn same_content_in_work_is_a_conflict_and_a_full_queue_says_so() {
    let place = Place::new();
    let models: Vec<String> = [0.5, 0.625, 0.75]
        .into_iter()
        .enumerate()
        .map(|(number, share)| place.model(&format!("step-{number}"), &winning(share)))
        .collect();
    let server = started(&place, &["--queue", "2"]);
    place.grader("hang");
    let submit = |model: &str| server.post("/v1/submit", &json!({"model_path": model}));
    assert_eq!(submit(&models[0]).0, 202);
    let (status, answer) = submit(&models[0]);
    assert_eq!((status, &answer["submission_id"]), (409, &json!(1)));
    assert_eq!(submit(&models[1]).0, 202);
    assert_eq!(submit(&models[2]).0, 503);
    let (_, time) = server.get("/v1/time");
    assert_eq!((&time["state"], &time["submissions"]["waiting"]), (&json!("paused"), &json!(2)));
}

#[test]
fn what_arrives_in_time_is_graded_and_what_comes_later_is_not_taken() {
    let place = Place::new();
    let models: Vec<String> = (0_u8..4)
        .map(|number| place.model(&format!("step-{number}"), &winning(f32::from(number) / 8.0)))
        .collect();
    place.grader("slow");
    let mut server = started(&place, &["--budget", "1s", "--clock", "wall", "--until-final"]);
    let began = Instant::now();
    for model in &models[..3] {
        assert_eq!(server.post("/v1/submit", &json!({"model_path": model})).0, 202);
    }
    std::thread::sleep(Duration::from_millis(1_100).saturating_sub(began.elapsed()));
    let (status, answer) = server.post("/v1/submit", &json!({"model_path": models[3]}));
    assert_eq!(status, 410, "{answer}");
    assert_eq!(server.get("/v1/time").1["state"], "over");
    assert!(server.wait(Duration::from_mins(1)).success());
    let metrics = &audit(&place, 0)["metrics"];
    assert_eq!(metrics["score_trajectory"].as_array().unwrap().len(), 3);
    assert_eq!(metrics["best"], 15.0 / 60.0);
}

#[test]
fn deadline_is_kept_within_two_seconds_and_operator_pauses_and_ends() {
    let place = Place::new();
    // It serves until it is dropped.
    let _server = started(&place, &["--budget", "3s"]);
    let began = Instant::now();
    assert_eq!(Server::operator(&place, "POST", "/pause")["state"], "paused");
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(Server::operator(&place, "POST", "/resume")["state"], "running");
    assert!(Server::operator(&place, "POST", "/resume")["error"].is_string());
    until("the end", || place.events().iter().any(|line| line["event"] == "ended"));
    let took = began.elapsed().as_secs_f64();
    assert!((3.5..6.0).contains(&took), "{took} s");
    let place = Place::new();
    let server = started(&place, &[]);
    Server::operator(&place, "POST", "/end");
    until("the final scores", || {
        Server::operator(&place, "GET", "/state")["finals"]["best"]["score"] == 0.0
    });
    assert_eq!(server.submit("output/x").0, 410);
    assert_eq!(audit(&place, 0)["metrics"]["success"], false, "no submission is no success");
}

#[test]
fn grading_is_time_of_the_agent_on_the_wall_clock_alone() {
    for (clock, counts) in [("wall", true), ("paused", false)] {
        let place = Place::new();
        let model = place.model("step-1", &winning(0.5));
        let server = started(&place, &["--clock", clock]);
        place.grader("slow");
        let used = || server.get("/v1/time").1["used_seconds"].as_f64().unwrap();
        let (before, began) = (used(), Instant::now());
        let (_, entry) = server.submit(&model);
        assert_eq!(entry["score"], 0.5);
        let (passed, took) = (used() - before, began.elapsed().as_secs_f64());
        assert!(took >= 1.0);
        assert_eq!(passed > 0.9, counts, "{clock}: {passed} of {took} s");
    }
}

#[test]
fn published_routes_answer_in_their_shapes() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let server = started(&place, &["--budget", "10m"]);
    let absolute = place.path("output/step-1");
    let (status, entry) = server.post("/submit", &json!({"model_path": absolute, "gpu": "0"}));
    assert_eq!(
        (status, &entry["score"], &entry["total_submissions"]),
        (200, &json!(0.5), &json!(1))
    );
    assert_eq!(entry["best"]["submission_id"], 1);
    for name in ["submission_id", "timestamp", "improvement", "elapsed_seconds", "baseline_score"] {
        assert!(!entry[name].is_null(), "{name}");
    }
    let (status, entry) = server.post("/submit", &json!({"model_path": "output/none"}));
    assert_eq!((status, &entry["score"]), (200, &json!(0.0)));
    assert!(entry["error"].is_string());
    let (_, time) = server.get("/time");
    assert!(time["remaining"].as_u64().unwrap() > 500 && time["timeout_s"] == 600.0);
    let (_, health) = server.send("/health", &[], None);
    assert_eq!((&health["status"], &health["task"]), (&json!("ok"), &json!("household")));
    assert_eq!(server.post("/set_baseline", &json!({"score": -1.0})).0, 404);
    assert_eq!(server.get("/v1/submissions/1").1["baseline_score"], 0.25);
    let _ = model;
}
