//! The server is killed after every event, and the run comes out as if it had not been.

use crate::fixture::{Place, Server, audit, base_weights, winning};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What the agent submits: a model, a copy of the base, nothing, a better model, the first again.
const MODELS: [&str; 5] = ["output/one", "output/copy", "output/none", "output/two", "output/one"];

/// Submits until the server has taken all of [`MODELS`], in order; false if it went away before.
fn submit_all(server: &Server) -> bool {
    loop {
        let (status, all) = server.get("/v1/submissions");
        if status != 200 {
            return false;
        }
        let made = all["submissions"].as_array().unwrap();
        // A client that got no answer asks what arrived.
        let Some(model) = MODELS.get(made.len()) else { return true };
        match server.post("/v1/submit", &json!({"model_path": model})).0 {
            0 => return false,
            202 | 422 => {}
            503 | 409 => std::thread::sleep(Duration::from_millis(5)),
            other => panic!("status {other}"),
        }
    }
}

#[test]
fn server_killed_after_each_event_loses_nothing_and_grades_nothing_twice() {
    for lines in 1..=3 {
        kill_after(lines);
    }
}

/// Plays a run whose servers are killed once each has written so many lines of its own.
fn kill_after(lines: usize) {
    let place = Place::new();
    place.model("one", &winning(0.5));
    place.model("copy", &base_weights());
    place.model("two", &winning(0.75));
    let flags = ["--budget", "10m", "--until-final"];
    let (mut kills, began) = (0, Instant::now());
    // A restart writes one line itself.
    let status = loop {
        assert!(
            began.elapsed() < Duration::from_mins(3),
            "{kills} kills: {:?}",
            place.events().last()
        );
        let before = place.lines();
        let mut server = place.serve(&flags);
        let most = before + 1 + lines;
        let ended = std::thread::scope(|scope| {
            let (agent, place) = (&server, &place);
            let submitting = scope.spawn(move || submit_all(agent));
            loop {
                let events = place.events();
                let submissions = events.iter().filter(|event| is_submission(event)).count();
                let graded = events.iter().filter(|event| is_outcome(event)).count();
                if submissions == 5 && graded == 5 {
                    // The agent has nothing left to do.
                    let _ = submitting.join();
                    return true;
                }
                if place.lines() >= most {
                    let pid = rustix::process::Pid::from_child(&agent.child);
                    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
                    return false;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        if !ended {
            server.kill();
            kills += 1;
            continue;
        }
        // And after each of the lines that follow the end.
        let _ = Server::try_operator(&place, "POST", "/end");
        let before = place.lines();
        let began = Instant::now();
        let killed = loop {
            if let Some(status) = server.child.try_wait().unwrap() {
                break Err(status);
            }
            if place.lines() > before {
                server.kill();
                break Ok(());
            }
            assert!(began.elapsed() < Duration::from_mins(1));
            std::thread::sleep(Duration::from_millis(1));
        };
        match killed {
            Ok(()) => kills += 1,
            Err(status) => break status,
        }
    };
    assert!(status.success());
    assert!(kills >= 12 / lines, "{kills} kills after {lines} lines");
    let events = place.events();
    let mut outcomes: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for event in events.iter().filter(|event| is_outcome(event)) {
        let name = event["event"].as_str().unwrap();
        outcomes.entry(event["id"].as_u64().unwrap()).or_default().push(name);
    }
    let expected = [(1, "graded"), (2, "cached"), (3, "refused"), (4, "graded"), (5, "cached")];
    assert_eq!(outcomes, expected.map(|(id, name)| (id, vec![name])).into());
    let done = place.gradings("done");
    let mut once = done.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), 6, "base, one and two, on dev and on test: {done:?}");
    let report = audit(&place, 0);
    assert_eq!(report["is_finished"], true);
    assert_eq!(report["metrics"]["final_best"], 100.0 / 134.0);
    assert_eq!(report["metrics"]["final_last"], 0.5);
}

/// Whether a line makes a submission.
fn is_submission(event: &Value) -> bool {
    event["event"] == "submitted" || (event["event"] == "refused" && !event["request"].is_null())
}

/// Whether a line says what became of one.
fn is_outcome(event: &Value) -> bool {
    matches!(event["event"].as_str(), Some("graded" | "cached" | "refused" | "failed"))
}
