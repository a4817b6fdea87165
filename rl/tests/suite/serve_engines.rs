//! What `rl serve` has in common with other engines: vLLM's routes and flags, and calls of every
//! form.

use crate::server::{ServeProcess, random, scripted, scripted_to_say};
use camino::Utf8Path;
use rl::checkpoint::policy;
use serde_json::{Value, json};
use tch::{Device, Kind};

fn say(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

#[test]
fn health_version_and_tokens_are_told_as_in_vllm() {
    let dir = tempfile::tempdir().unwrap();
    let folder = random(Utf8Path::from_path(dir.path()).unwrap());
    let guarded = ServeProcess::start(&folder, &["--api-key", "open sesame"]);
    assert_eq!(guarded.ask("GET /health HTTP/1.1", "").0, 200, "a probe has no key");
    assert_eq!(guarded.ask("GET /version HTTP/1.1", "").0, 401);

    let server = ServeProcess::start(&folder, &["--max-model-len", "500"]);
    let (status, _, body) = server.ask("GET /health HTTP/1.1", "");
    assert_eq!((status, body.as_str()), (200, ""));
    let (_, _, body) = server.ask("GET /version HTTP/1.1", "");
    let version: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(version, json!({"version": env!("CARGO_PKG_VERSION")}));

    let (_, tokenizer) = policy::open(&folder, Kind::Float, Device::Cpu).unwrap();
    let text = "<|im_start|>user\nprint(3)é<|im_end|>\n";
    let ids = tokenizer.encode_with_control(text, None).unwrap();
    let (status, answer) = server.post_to(
        "/tokenize",
        &json!({"model": "tiny", "prompt": text, "add_special_tokens": false, "return_token_strs": true}),
    );
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["tokens"], json!(ids));
    assert_eq!((&answer["count"], &answer["max_model_len"]), (&json!(ids.len()), &json!(500)));
    let texts: Vec<String> = serde_json::from_value(answer["token_strs"].clone()).unwrap();
    assert_eq!((texts.len(), texts[0].as_str()), (ids.len(), "<|im_start|>"));
    let (_, answer) = server.post_to("/detokenize", &json!({"tokens": ids}));
    assert_eq!(answer, json!({"prompt": text}));

    // A conversation has the ids with which it is answered.
    let tool = json!({"type": "function", "function": {"name": "score", "parameters": {}}});
    let talk = json!({"messages": say("print(3)"), "tools": [tool]});
    let (_, answer) = server.post_to("/tokenize", &talk);
    let mut asked = talk.clone();
    (asked["max_tokens"], asked["return_token_ids"]) = (1.into(), true.into());
    let answered = server.good("chat/completions", &asked);
    assert_eq!(
        (&answer["tokens"], &answer["token_strs"]),
        (&answered["prompt_token_ids"], &Value::Null)
    );

    for (route, request, status, words) in [
        ("/tokenize", json!({}), 400, "`messages` is missing"),
        ("/tokenize", json!({"prompt": "a", "model": "other"}), 404, "no model `other`"),
        ("/tokenize", json!({"prompt": "a", "truncate": 3}), 400, "`truncate` is not a known"),
        (
            "/tokenize",
            json!({"messages": say("a"), "add_generation_prompt": false}),
            400,
            "not supported",
        ),
        ("/detokenize", json!({}), 400, "no `tokens`"),
        ("/detokenize", json!({"tokens": [99_999]}), 400, "99999 is not in the vocabulary"),
        ("/detokenize", json!({"tokens": [-1]}), 400, "-1 is not in the vocabulary"),
    ] {
        let (found, answer) = server.post_to(route, &request);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(found == status && message.contains(words), "{route} {request}: {answer}");
    }
}

#[test]
fn control_tokens_are_part_of_the_text_where_they_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let folder = random(Utf8Path::from_path(dir.path()).unwrap());
    let (_, tokenizer) = policy::open(&folder, Kind::Float, Device::Cpu).unwrap();
    let server = ServeProcess::start(&folder, &[]);
    let end = tokenizer.control().end_of_turn;
    // The bias makes control tokens likely; the last of them ends the turn.
    let bias = json!({tokenizer.control().start_of_turn.to_string(): 7, end.to_string(): 4});
    let request = json!({"prompt": [5], "max_tokens": 200, "seed": 1, "logit_bias": bias,
        "skip_special_tokens": false, "return_token_ids": true});
    let answer = server.good("completions", &request);
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "stop");
    let ids: Vec<i64> = serde_json::from_value(choice["token_ids"].clone()).unwrap();
    let (&last, said) = ids.split_last().unwrap();
    assert_eq!(last, end);
    assert!(said.iter().any(|&id| tokenizer.is_control(id)), "{ids:?}");
    assert_eq!(choice["text"], tokenizer.decode(said).unwrap());

    let with = |name: &str, value: bool| {
        let mut request = request.clone();
        request[name] = value.into();
        server.good("completions", &request)["choices"][0].clone()
    };
    let included = with("include_stop_str_in_output", true);
    assert_eq!(included["token_ids"], choice["token_ids"]);
    assert_eq!(included["text"], tokenizer.decode(&ids).unwrap());
    let endless = with("ignore_eos", true);
    let ids: Vec<i64> = serde_json::from_value(endless["token_ids"].clone()).unwrap();
    assert!(ids.contains(&end));
    assert_eq!(endless["text"], tokenizer.decode(&ids).unwrap());
    let skipped = with("skip_special_tokens", true);
    assert!(!skipped["text"].as_str().unwrap().contains("<|im_"));
}

#[test]
fn effort_of_reasoning_is_none_or_the_models_own() {
    let dir = tempfile::tempdir().unwrap();
    let folder = scripted(Utf8Path::from_path(dir.path()).unwrap());
    let server = ServeProcess::start(&folder, &[]);
    let prompt = |more: Value| {
        let mut request = json!({"messages": say("x"), "max_tokens": 1, "return_token_ids": true});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, answer) = server.post("chat/completions", &request);
        assert_eq!(status, 200, "{answer}");
        answer["prompt_token_ids"].clone()
    };
    let plain = prompt(json!({}));
    let without = prompt(json!({"chat_template_kwargs": {"enable_thinking": false}}));
    assert_ne!(plain, without);
    assert_eq!(prompt(json!({"reasoning_effort": "none"})), without);
    assert_eq!(prompt(json!({"reasoning_effort": "medium"})), plain);
    for more in [
        json!({"reasoning_effort": "high"}),
        json!({"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": true}}),
    ] {
        let mut request = json!({"messages": say("x")});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, answer) = server.post("chat/completions", &request);
        assert_eq!((status, &answer["error"]["param"]), (400, &json!("reasoning_effort")));
    }
}

#[test]
fn script_in_a_turn_is_a_tool_call_where_there_are_tools() {
    let dir = tempfile::tempdir().unwrap();
    let turn = "<think>ü?</think><tool_call>python<code>7€</code></tool_call>";
    let folder = scripted_to_say(Utf8Path::from_path(dir.path()).unwrap(), turn);
    let server = ServeProcess::start(&folder, &[]);
    let tool = json!({"type": "function", "function": {"name": "python", "parameters": {}}});
    let talk = json!({"messages": say("x"), "tools": [tool], "temperature": 0});
    let choice = server.good("chat/completions", &talk)["choices"][0].clone();
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["reasoning_content"], "ü?");
    assert_eq!(choice["message"]["content"], Value::Null);
    let called = json!({"name": "python", "arguments": "{\"code\":\"7€\"}"});
    assert_eq!(choice["message"]["tool_calls"][0]["function"], called);
    let chunks = server.streamed("chat/completions", &talk);
    let calls: Vec<&Value> = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array())
        .flatten()
        .collect();
    assert_eq!((calls.len(), &calls[0]["function"]), (1, &called));

    let plain = json!({"messages": say("x"), "temperature": 0});
    let message = server.good("chat/completions", &plain)["choices"][0]["message"].clone();
    assert_eq!(message["content"], turn.split_once("</think>").unwrap().1);
}
