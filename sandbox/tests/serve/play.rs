//! Whole episodes with the client of OpenEnv.

use crate::fixture::{PythonClient, SandboxServer, ServedCorpus, sandbox};
use sandbox::env::{CloseReason, Event};
use serde_json::json;

fn sum(rewards: &serde_json::Value) -> f64 {
    rewards.as_array().unwrap().iter().map(|reward| reward.as_f64().unwrap()).sum()
}

/// Everything that an honest episode should look like.
pub(crate) fn assert_whole(episode: &serde_json::Value) {
    assert_eq!(episode["before"], json!([null, 0]));
    assert_eq!(episode["tools"], json!(["python", "score", "submit"]));
    assert_eq!(episode["done"], json!([false, false, false, false, false, true]));
    assert_eq!(episode["state"][1], 6);
    let task = episode["task"].as_str().unwrap();
    assert_eq!(episode["description"], format!("# {task}\nodd or even?\n"));
    let said = |turn: usize| episode["results"][turn].as_str().unwrap();
    assert!(
        said(0).contains("no file `submission.csv`") || said(0).contains("submission"),
        "{}",
        said(0)
    );
    assert!(said(1).contains("[stdout]\nwrote 40"), "{}", said(1));
    assert_eq!(said(2), "valid submission; tier: median");
    assert_eq!(said(4), "valid submission; tier: gold");
    // The server has the score, and the client its tier.
    assert_eq!(
        episode["finish"],
        json!({"valid": true, "grade": {"tier": "gold"}, "refusal": null})
    );
    // Valid and median, then gold, each for the step that told of it; all is the final value.
    let rewards: Vec<f64> =
        episode["rewards"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    for (found, expected) in rewards.iter().zip([0.0, 0.0, 0.3, 0.0, 0.6, 0.0]) {
        assert!((found - expected).abs() < 1e-12, "{rewards:?}");
    }
    assert!((sum(&episode["rewards"]) - 0.9).abs() < 1e-12);
}

#[test]
fn thirty_two_clients_play_to_the_end() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--max-episodes", "32", "--answer-limit", "10m"]);
    let episodes = server.play("play", &["32"]);
    let episodes = episodes.as_array().unwrap();
    assert_eq!(episodes.len(), 32);
    for episode in episodes {
        assert_whole(episode);
    }
    let tasks: std::collections::BTreeSet<&str> =
        episodes.iter().map(|episode| episode["task"].as_str().unwrap()).collect();
    assert_eq!(tasks.len(), 3, "seeds choose among all tasks");

    let records = corpus.records();
    assert_eq!(records.len(), 32);
    let mut names = Vec::new();
    for (path, record) in &records {
        let Event::Header { episode, seed, .. } = &record.header else { panic!("no header") };
        names.push((episode.clone(), seed.unwrap()));
        assert_eq!((record.turns.len(), record.ending), (6, Some(CloseReason::Closed)), "{path}");
        assert_eq!(record.finish.as_ref().unwrap().grade.unwrap().score, 1.0);
    }
    names.sort_by_key(|(_, seed)| *seed);
    let expected = |(at, (name, seed)): (usize, &(String, u64))| {
        *name == format!("episode-{at}") && *seed == at as u64
    };
    assert!(names.iter().enumerate().all(expected), "{names:?}");

    let (path, _) = &records[0];
    let tasks = corpus.tasks();
    let again = sandbox(&["replay", path.as_str(), tasks.as_str()]);
    let said = String::from_utf8_lossy(&again.stdout);
    assert_eq!(said.trim(), "6 turns played again, 0 differences");
    assert_eq!(again.status.code(), Some(0));
    // Another script was recorded than the one that is played: that shows.
    let text = fs_err::read_to_string(path).unwrap();
    assert!(text.contains("{0.5}"), "{text}");
    fs_err::write(path, text.replacen("{0.5}", "{0.25 + int(x) % 2}", 1)).unwrap();
    let again = sandbox(&["replay", path.as_str(), tasks.as_str()]);
    let said = String::from_utf8_lossy(&again.stdout);
    assert_eq!(again.status.code(), Some(6), "{said}");
    assert!(said.contains("turn 3, feedback: "), "{said}");
}

#[test]
fn rewards_reveal_no_more_than_the_feedback() {
    let graded = json!({"tier": "gold"});
    for (flags, rewards, grade) in [
        (&["--reveal", "none"][..], [0.0, 0.0, 0.3, 0.0, 0.6, -0.7], None),
        (&["--feedback", "validate"], [0.0, 0.0, 0.2, 0.0, 0.0, 0.0], None),
        (
            &["--feedback", "validate", "--reveal", "tier"],
            [0.0, 0.0, 0.2, 0.0, 0.0, 0.7],
            Some(&graded),
        ),
    ] {
        let corpus = ServedCorpus::new();
        let server = SandboxServer::start(&corpus, flags);
        let episode = &server.play("play", &["1"])[0];
        for (turn, expected) in rewards.into_iter().enumerate() {
            let found = episode["rewards"][turn].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-12, "{flags:?}, {turn}: {episode}");
        }
        let finish = &episode["finish"];
        assert_eq!((&finish["valid"], finish.get("grade")), (&json!(true), grade), "{flags:?}");
        let (_, record) = corpus.records().remove(0);
        assert_eq!(record.finish.unwrap().grade.unwrap().score, 1.0);
    }
}

#[test]
fn session_scripts_share_state_and_replay() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--mode", "session"]);
    let said = server.play("session", &[]);
    assert_eq!(said["mode"], "session");
    assert!(said["tool"].as_str().unwrap().contains("Variables last"), "{said}");
    let result = |call: usize| said["results"][call].as_str().unwrap();
    assert!(result(0).ends_with("[stdout]\nwrote 40\n40"), "{said}");
    assert!(result(1).ends_with("[stdout]\n42"), "{said}");
    assert!(result(2).contains("NameError: name 'x' is not defined"), "{said}");
    assert_eq!(said["finish"]["grade"]["tier"], "median");

    let (path, record) = &corpus.records()[0];
    assert_eq!(record.turns.len(), 5);
    let again = sandbox(&["replay", path.as_str(), corpus.tasks().as_str()]);
    let said = String::from_utf8_lossy(&again.stdout);
    assert_eq!(said.trim(), "5 turns played again, 0 differences");
}

#[test]
fn mistakes_are_answered_and_budgets_hold() {
    let corpus = ServedCorpus::new();
    let flags =
        ["--turns", "5", "--keep-head", "100", "--keep-tail", "50", "--feedback", "validate"];
    let server = SandboxServer::start(&corpus, &flags);
    let said = server.play("generic", &[]);
    let text = |name: &str| said[name].as_str().unwrap();
    assert!(text("early").contains("there is no episode; reset to begin one"), "{said}");
    assert!(text("unknown task").contains("there is no task `omega`; there are 3"), "{said}");
    assert!(text("two tasks").contains("send one of them"), "{said}");
    assert!(text("no action").contains("VALIDATION_ERROR"), "{said}");
    assert_eq!((text("task"), &said["ignored"]), ("beta", &json!(["prompt", "sed"])));
    assert!(text("short").contains("[stdout]\nshort"), "{said}");
    assert_eq!(said["unknown tool"][0]["error_type"], "tool_not_found");
    assert!(said["unknown tool"][1].as_str().unwrap().starts_with("malformed turn: "), "{said}");
    assert_eq!(said["no code"]["error_type"], "invalid_args");
    let long = text("long");
    assert!(long.contains("[... 8851 bytes omitted ...]") && long.len() < 400, "{long}");
    assert_eq!((&said["last"][0], &said["last"][1]), (&json!(true), &json!(0.0)));
    assert!(
        said["last"][2].as_str().unwrap().ends_with("the budget is used up; the episode is over")
    );
    assert_eq!(said["state"]["turns_left"], 0);
    assert!(text("late").contains("the episode is over; reset to begin another"), "{said}");
    assert_eq!(text("again"), "gamma");

    let endings: Vec<_> = corpus.records().into_iter().map(|(_, record)| record.ending).collect();
    assert_eq!(endings, [Some(CloseReason::Closed), Some(CloseReason::Left)]);
}

#[test]
fn pages_describe_the_served_tasks() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &[]);
    let page = |path: &str| -> serde_json::Value {
        let (status, body) = server.page(path);
        assert_eq!(status, 200, "{path}");
        serde_json::from_str(&body).unwrap()
    };
    let health = page("/health");
    assert_eq!(health["status"], "healthy");
    assert_eq!((&health["active_sessions"], &health["max_sessions"]), (&json!(0), &json!(256)));
    let metadata = page("/metadata");
    assert!(metadata["description"].as_str().unwrap().starts_with("3 tasks"), "{metadata}");
    let schema = page("/schema");
    assert_eq!(schema["action"]["oneOf"][1]["properties"]["tool_name"]["enum"][0], "python");
    let openapi = page("/openapi.json");
    for path in ["/ws", "/health", "/metadata", "/schema", "/list_environments", "/{env}/splits"] {
        assert!(openapi["paths"][path]["get"].is_object(), "{path}");
    }
    for path in ["/mcp", "/{env}/tasks", "/{env}/task", "/{env}/num_tasks", "/{env}/task_range"] {
        assert!(openapi["paths"][path]["post"].is_object(), "{path}");
    }
    // Clients would take a server that lists these for one without sessions.
    for path in ["/reset", "/step", "/state"] {
        assert!(openapi["paths"].get(path).is_none(), "{path}");
    }
    let (status, body) = server.page("/reset");
    assert!(status == 404 && body.contains("`/ws` and `/mcp`"), "{status} {body}");
}

#[test]
fn a_step_answers_pings_while_it_runs() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &[]);
    let result = server.play("pings", &[]);
    assert!(result.as_str().unwrap().contains("slept"), "{result}");
}

#[test]
fn step_without_a_free_slot_in_time_gets_busy() {
    let corpus = ServedCorpus::new();
    let flags = ["--slots", "1", "--step-limit", "10s", "--answer-limit", "12s"];
    let server = SandboxServer::start(&corpus, &flags);
    let said = server.play("busy", &[]);
    assert_eq!((&said["error"], &said["turns"]), (&json!("timeout"), &json!(0)), "{said}");
    assert!(said["after"].as_str().unwrap().contains("[stdout]\n1"), "{said}");
}

#[test]
fn the_example_of_the_documentation_plays_an_episode() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/openenv_client.py");
    let lean = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/lean.py");
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/OPENENV.md");
    let code = fs_err::read_to_string(example).unwrap();
    let docs = fs_err::read_to_string(docs).unwrap();
    assert!(docs.contains(&format!("```python\n{code}```")), "docs/OPENENV.md has another example");
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &[]);
    let url = format!("http://{}", server.address);
    let said = PythonClient::program(&[lean, example, &url, "beta"]).text();
    for line in [
        "task beta: 15 turns of 30s each",
        "40 rows",
        "valid submission; tier: median",
        "submitted; the episode is over",
        "'grade': {'tier': 'median'}",
        "total reward 0.30",
    ] {
        assert!(said.contains(line), "`{line}` is not in:\n{said}");
    }
}
