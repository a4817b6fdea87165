//! Servers that do not start, that end, and that go on.

use crate::fixture::{PROGRAM, Place, Server, TOKEN, audit, base_weights, started, until, winning};
use fs_err as fs;
use serde_json::json;
use std::process::Command;
use std::time::{Duration, Instant};
use support::process::Process;

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
    let child = Process::from_pid(hanging_child(&place)).unwrap();
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

/// The process that a hanging grader started, once the grader has written it down.
fn hanging_child(place: &Place) -> u32 {
    let read = || fs::read_to_string(place.path("control/child")).ok()?.parse().ok();
    until("the grading", || read().is_some());
    read().unwrap()
}

#[test]
fn killed_server_takes_its_grader_along() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let mut server = started(&place, &[]);
    place.grader("hang");
    assert_eq!(server.post("/v1/submit", &json!({"model_path": model})).0, 202);
    let child = hanging_child(&place);
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
    let child = rustix::process::Pid::from_raw(child.try_into().unwrap()).unwrap();
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
