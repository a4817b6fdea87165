//! The server as an agent meets it: answers, limits, and what a hostile one achieves.

use crate::fixture::{PROGRAM, Place, Server, TOKEN, base_weights, until, winning};
use fs_err as fs;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};
use support::process::Process;

fn started(place: &Place, flags: &[&str]) -> Server {
    let server = place.serve(flags);
    server.started();
    server
}

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

/// The report of `posttrain audit`, which ends with this code.
fn audit(place: &Place, code: i32) -> Value {
    let sealed = place.path("sealed");
    let output = Command::new(PROGRAM).args(["audit", sealed.as_str(), "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
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
    let server = started(&place, &["--budget", "3s"]);
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

#[test]
fn requests_without_the_token_from_pages_or_too_large_are_turned_away() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let server = started(&place, &[]);
    let body = json!({"model_path": model}).to_string();
    let right = format!("Bearer {TOKEN}");
    let post =
        |headers: &[(&str, &str)], body: &[u8]| server.send("/v1/submit", headers, Some(body)).0;
    for wrong in ["", "Bearer", "Bearer a token", "Bearer a token that is long enougH", TOKEN] {
        assert_eq!(post(&[("authorization", wrong)], body.as_bytes()), 401, "{wrong}");
    }
    assert_eq!(post(&[], body.as_bytes()), 401);
    for path in ["/v1/submissions", "/v1/time", "/v1/task", "/time", "/nothing"] {
        assert_eq!(server.send(path, &[], None).0, 401, "{path}");
    }
    let page = [("authorization", right.as_str()), ("origin", "http://localhost:5000")];
    assert_eq!(post(&page, body.as_bytes()), 403);
    let me = [("authorization", right.as_str()), ("content-type", "application/json")];
    assert_eq!(post(&me, &vec![b' '; 10 << 20]), 413);
    for body in [
        "",
        "{",
        "[]",
        "null",
        r#"{"model_path": 1}"#,
        r#"{"score": 1.0}"#,
        r#"{"model_path": "output/step-1", "score": 1.0}"#,
    ] {
        assert_eq!(post(&me, body.as_bytes()), 400, "{body}");
    }
    let form = [("authorization", right.as_str()), ("content-type", "text/plain")];
    assert_eq!(post(&form, body.as_bytes()), 415);
    let note = json!({"model_path": model, "note": "x".repeat(2_001)}).to_string();
    assert_eq!(post(&me, note.as_bytes()), 400);
    let long = json!({"model_path": format!("output/{}", "x".repeat(2_000))}).to_string();
    assert_eq!(post(&me, long.as_bytes()), 400);
    for path in ["/v1/ledger", "/state", "/pause", "/end", "/v1/submissions/1/score"] {
        assert_eq!(server.get(path).0, 404, "{path}");
        assert_eq!(server.post(path, &json!({})).0, 404, "{path}");
    }
    assert_eq!(server.get("/v1/submissions").1["submissions"], json!([]), "nothing was submitted");
    assert_eq!(server.submit(&model).0, 200);
}

#[test]
fn flood_of_refused_submissions_fills_nothing_and_ends_at_its_limit() {
    let place = Place::new();
    let server = started(&place, &["--refusals", "20"]);
    let statuses: Vec<u16> = (0..60).map(|_| server.submit("output/none").0).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 422).count(), 20);
    assert_eq!(statuses[20..], [429; 40]);
    assert!(place.lines() < 30);
}

#[test]
fn slow_and_many_connections_do_not_keep_others_out() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let server = started(&place, &[]);
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let mut slow: Vec<TcpStream> = (0..40)
        .map(|number| {
            let mut stream = TcpStream::connect(&address).unwrap();
            let begun: &[u8] = if number % 2 == 0 {
                b"POST /v1/submit HTTP/1.1\r\nhost: x\r\nauthorization: Bearer a token that is long \
                  enough\r\ncontent-length: 1000\r\n\r\n{"
            } else {
                b"POST /v1/submit HT"
            };
            stream.write_all(begun).unwrap();
            stream
        })
        .collect();
    assert_eq!(server.submit(&model).0, 200);
    let mut text = String::new();
    slow[0].set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let _ = slow[0].read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
}

#[test]
fn client_that_goes_away_has_submitted_all_the_same() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let server = started(&place, &[]);
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let body = json!({"model_path": model, "wait": true}).to_string();
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(
        stream,
        "POST /v1/submit HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    until("the line", || place.events().iter().any(|line| line["event"] == "submitted"));
    drop(stream);
    until("the grade", || server.get("/v1/submissions/1").1["score"] == 0.5);
}

#[test]
fn what_an_agent_writes_anywhere_it_can_changes_nothing() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let server = started(&place, &[]);
    for name in ["scores.json", "run_meta.json", "ledger.jsonl", "metrics.json", "results.json"] {
        let score = json!([{"submission_id": 1, "score": 1.0}]).to_string();
        fs::write(place.path("output").join(name), &score).unwrap();
        fs::write(place.path("output/step-1").join(name), &score).unwrap();
    }
    let (_, entry) = server.submit(&model);
    assert_eq!(entry["score"], 0.5);
    let left_out: Vec<&str> = entry["facts"]["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(
        left_out,
        ["ledger.jsonl", "metrics.json", "results.json", "run_meta.json", "scores.json"]
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(place.path("sealed")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn folders_may_be_given_from_where_the_server_is_started() {
    let place = Place::new();
    place.model("step-1", &winning(0.5));
    let mut command = Command::new(PROGRAM);
    command
        .current_dir(place.path(""))
        .args(["serve", crate::fixture::suite().as_str(), "household", "--listen", "127.0.0.1:0"])
        .args(["--base", "base", "--output", "output", "--sealed", "sealed", "--"])
        .args(place.grader_command())
        .env("GRADING_TOKEN", TOKEN);
    let server = Server::start(command);
    server.started();
    let absolute = place.path("output/step-1");
    for path in ["output/step-1", absolute.as_str()] {
        assert_eq!(server.submit(path).1["score"], 0.5, "{path}");
    }
}

#[test]
fn views_follow_the_state_and_are_never_read() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let views = place.path("views");
    let server = started(&place, &["--views", views.as_str(), "--budget", "10m"]);
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(views.join(name)).unwrap()).unwrap()
    };
    assert_eq!(read("scores.json"), json!([]));
    fs::write(views.join("scores.json"), r#"[{"score": 1.0}]"#).unwrap();
    fs::write(views.join("run_meta.json"), r#"{"start_time": 0, "timeout_s": 1e9}"#).unwrap();
    assert_eq!(server.submit(&model).1["score"], 0.5);
    assert_eq!(server.get("/time").1["timeout_s"], 600.0);
    until("the views", || read("run_meta.json")["timeout_s"] == 600.0);
    assert_eq!(read("scores.json")[0]["score"], 0.5);
    assert!(read("run_meta.json")["last_submit_time"].is_u64());
}

#[test]
fn server_does_not_start_where_the_agent_could_write_or_with_other_settings() {
    let place = Place::new();
    let fails = |mut command: Command| {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let mut exposed = Command::new(PROGRAM);
    exposed
        .args(["serve", crate::fixture::suite().as_str(), "household"])
        .env("GRADING_TOKEN", TOKEN);
    exposed.args([
        "--base",
        place.path("base").as_str(),
        "--output",
        place.path("output").as_str(),
    ]);
    exposed.args(["--sealed", place.path("output/sealed").as_str(), "--listen", "127.0.0.1:0"]);
    assert!(fails(exposed).contains("inside the agent's output folder"));
    let mut without = place.command(&[]);
    without.env_remove("GRADING_TOKEN");
    assert!(fails(without).contains("openssl rand"));
    let mut short = place.command(&[]);
    short.env("GRADING_TOKEN", "short");
    assert!(fails(short).contains("at least 16 characters"));
    let mut server = started(&place, &[]);
    assert!(Server::try_start(place.command(&[])).is_none(), "the ledger has its server");
    assert!(server.terminate().success());
    assert!(fails(place.command(&["--budget", "13h"])).contains("budget"));
    let mut other = base_weights();
    other.clone_from(&winning(0.375));
    crate::fixture::save(&place.path("base"), &other, &crate::fixture::config());
    assert!(fails(place.command(&[])).contains("base"));
}

#[test]
fn terminated_server_leaves_no_grader_and_goes_on_when_started_again() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let mut server = started(&place, &[]);
    place.grader("hang");
    assert_eq!(server.post("/v1/submit", &json!({"model_path": model})).0, 202);
    until("the grading", || place.path("control/child").is_file());
    let child = fs::read_to_string(place.path("control/child")).unwrap().parse().unwrap();
    let child = Process::from_pid(child).unwrap();
    assert!(server.terminate().success());
    let began = Instant::now();
    while child.is_there() {
        assert!(began.elapsed() < Duration::from_secs(5), "the grader's child is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
    place.grader("");
    let server = place.serve(&[]);
    until("the grade", || server.get("/v1/submissions/1").1["score"] == 0.5);
}

#[test]
fn servers_that_share_a_device_grade_one_after_the_other() {
    let (one, other) = (Place::new(), Place::new());
    one.grader("slow");
    let lock = one.path("device");
    let first = one.command(&["--device-lock", lock.as_str()]);
    let mut second = Command::new(PROGRAM);
    // The same grader, so that its log shows both.
    second.args(first.get_args().map(|word| {
        let word = word.to_str().unwrap();
        let own = ["base", "output", "sealed"].into_iter().find(|name| word == one.path(name));
        own.map_or_else(|| word.to_owned(), |name| other.path(name).into_string())
    }));
    second.env("GRADING_TOKEN", TOKEN);
    let servers = [Server::start(first), Server::start(second)];
    for server in &servers {
        server.started();
    }
    let log = fs::read_to_string(one.path("control/log")).unwrap();
    let words: Vec<&str> = log.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(words, ["begin", "done", "begin", "done"]);
}

#[test]
fn killed_server_takes_its_grader_along() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let mut server = started(&place, &[]);
    place.grader("hang");
    assert_eq!(server.post("/v1/submit", &json!({"model_path": model})).0, 202);
    until("the grading", || place.path("control/child").is_file());
    let log = fs::read_to_string(place.path("control/log")).unwrap();
    let pid = log.lines().last().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    let grader = Process::from_pid(pid).unwrap();
    server.kill();
    let began = Instant::now();
    while grader.is_there() {
        assert!(began.elapsed() < Duration::from_secs(5), "the grader has outlived its server");
        std::thread::sleep(Duration::from_millis(10));
    }
    // What it had started is ours to end here.
    let child = fs::read_to_string(place.path("control/child")).unwrap();
    let child = rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap();
    let _ = rustix::process::kill_process(child, rustix::process::Signal::KILL);
}

#[test]
fn disk_that_is_full_at_a_line_ends_the_server_and_the_run_goes_on_afterwards() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    drop(started(&place, &[]));
    // No file may grow beyond the ledger's size, but for 200 bytes: a line is longer.
    let length = fs::metadata(place.path("sealed/ledger.jsonl")).unwrap().len();
    let real = place.command(&[]);
    let words: Vec<String> =
        real.get_args().map(|word| word.to_str().unwrap().to_owned()).collect();
    let limit = format!("trap '' XFSZ; prlimit --fsize={} \"$0\" \"$@\"", length + 900);
    let mut command = Command::new("sh");
    command.args(["-c", &limit, PROGRAM]).args(words).env("GRADING_TOKEN", TOKEN);
    let mut server = Server::start(command);
    let mut statuses = Vec::new();
    while server.child.try_wait().unwrap().is_none() && statuses.len() < 50 {
        statuses.push(server.post("/v1/submit", &json!({"model_path": model})).0);
    }
    assert_eq!(server.wait(Duration::from_secs(20)).code(), Some(1), "{statuses:?}");
    let server = place.serve(&[]);
    server.started();
    until("a grade", || {
        let (_, all) = server.get("/v1/submissions");
        let waits =
            all["submissions"].as_array().unwrap().iter().any(|one| one["state"] == "waiting");
        !waits
    });
    assert_eq!(server.submit(&model).0, 200);
    audit(&place, 0);
}
