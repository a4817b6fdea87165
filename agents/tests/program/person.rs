//! Scripted people: at a server as clients of their own, and in the process of an agent.

use crate::guide::{Server, program, token};
use crate::samples::{agents, said};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use std::process::{Child, Stdio};
use support::shifts;

const RULES: &str = r#"
name = "ann"
[[rule]]
name = "first"
observation = "finished"
say = ["Try a forest.", "A forest may help."]
about = true
drop = "turn"
"#;

fn rules(folder: &Utf8Path) -> Utf8PathBuf {
    let path = folder.join("ann.toml");
    fs_err::write(&path, RULES).unwrap();
    path
}

fn run(task: &Utf8Path, out: &Utf8Path, guide: &str, more: &[&str]) -> Vec<String> {
    let fixed = ["run", "--scaffold", "react", "--model", "script:mutator", "--set", "turns=5"];
    let places = ["--task", task.as_str(), "--out", out.as_str(), "--guide", guide];
    [&fixed[..], &places, more].concat().into_iter().map(str::to_owned).collect()
}

fn guidance(run: &Utf8Path) -> Value {
    let text = fs_err::read_to_string(run.join("trajectory.jsonl")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["guidance"].clone()
}

fn watch(server: &Server, rules: &Utf8Path, more: &[&str]) -> Child {
    let url = format!("http://{}", server.address);
    program()
        .args(["guide", "person", "--url", &url, "--rules", rules.as_str(), "--until-over"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn person_at_a_server_advises_a_run_and_leaves_when_it_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (task, out, rules) = (shifts::write(folder), folder.join("run"), rules(folder));
    let store = folder.join("store");
    let (ann, bot) = (token(&store, "ann", "annotator"), token(&store, "bot", "agent"));
    let mut server = Server::start(&store);
    let person = watch(&server, &rules, &["--guide-token", &ann]);
    let url = format!("http://{}", server.address);
    // The server goes away and comes back before anything happens.
    server.restart();
    let args = run(&task, &out, &url, &["--guide-token", &bot, "--on-lost", "wait=1m"]);
    said(&program().args(args).output().unwrap());
    let output = person.wait_with_output().unwrap();
    let told = said(&output);
    assert_eq!(told.trim(), "runs: 1, turns read: 5, pieces posted: 1, too late: 0");
    let heard = guidance(&out);
    let piece = &heard.as_array().unwrap()[0];
    assert_eq!(
        (&piece["id"], &piece["by"], &piece["about"]),
        (&json!("ann-0"), &json!("ann"), &json!(0))
    );
    // Who looks again says nothing again.
    let again = watch(&server, &rules, &["--guide-token", &ann]).wait_with_output().unwrap();
    let told = said(&again);
    assert!(
        told.contains("pieces posted: 1, too late: 0"),
        "the same piece, which is there: {told}"
    );
    assert_eq!(guidance(&out).as_array().unwrap().len(), 1);
    // Who is not let in is told why.
    let refused = watch(&server, &rules, &["--guide-token", "wrong"]).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && text.contains("agents guide token"), "{text}");
}

#[test]
fn person_in_the_process_of_an_agent_makes_a_run_that_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (task, rules) = (shifts::write(folder), rules(folder));
    let person = ["--person", rules.as_str()];
    let heard = ["one", "two"].map(|name| {
        let (out, store) = (folder.join(name), folder.join(format!("store-{name}")));
        said(&program().args(run(&task, &out, store.as_str(), &person)).output().unwrap());
        guidance(&out)
    });
    assert_eq!(heard[0], heard[1], "to the bit");
    assert_eq!(heard[0].as_array().unwrap().len(), 1);
    let wrong = run(&task, &folder.join("three"), "http://127.0.0.1:1", &person);
    let refused = program().args(wrong).output().unwrap();
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && text.contains("the guide is a folder"), "{text}");
    // What a person drops with their advice is not trained on.
    let store = folder.join("store-one");
    let all = said(&agents(&["guide", "verdicts", "--store", store.as_str()]));
    assert!(all.contains("found by rules: advised 1"), "{all}");
}
