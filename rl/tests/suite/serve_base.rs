//! `rl serve` with a base model: one that came without a chat template.

use crate::server::{ServeProcess, random};
use camino::Utf8Path;
use fs_err as fs;
use serde_json::{Value, json};

#[test]
fn model_without_chat_template_completes_prompts_and_refuses_conversations() {
    let dir = tempfile::tempdir().unwrap();
    let folder = random(Utf8Path::from_path(dir.path()).unwrap());
    let path = folder.join("tokenizer_config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let template = config.as_object_mut().unwrap().remove("chat_template").unwrap();
    fs::write(&path, config.to_string()).unwrap();

    let server = ServeProcess::start(&folder, &[]);
    let answer = server
        .good("completions", &json!({"prompt": "print(", "max_tokens": 3, "ignore_eos": true}));
    assert_eq!(answer["usage"]["completion_tokens"], 3);
    let talk = json!({"messages": [{"role": "user", "content": "x"}], "max_tokens": 1});
    let (status, refusal) = server.post("chat/completions", &talk);
    assert_eq!((status, &refusal["error"]["code"]), (400, &json!("no_chat_template")));
    let message = refusal["error"]["message"].as_str().unwrap();
    assert!(message.contains("/v1/completions") && message.contains("chat_template.jinja"));

    // With the template in a file of its own, conversations are served.
    fs::write(folder.join("chat_template.jinja"), template.as_str().unwrap()).unwrap();
    let server = ServeProcess::start(&folder, &[]);
    assert_eq!(server.good("chat/completions", &talk)["usage"]["completion_tokens"], 1);
}

#[test]
fn broken_chat_template_is_refused_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let folder = random(Utf8Path::from_path(dir.path()).unwrap());
    fs::write(folder.join("chat_template.jinja"), "{% if %}").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_rl"))
        .args(["serve", "--model", folder.as_str(), "--port", "0", "--device", "cpu"])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("chat template"), "{error}");
}
