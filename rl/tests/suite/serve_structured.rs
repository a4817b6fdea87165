//! Constrained decoding of `rl serve`: JSON schemas, other forms, and forced tool calls, by a
//! policy that would write anything else.

use crate::server::{ServeProcess, random};
use camino::Utf8Path;
use serde_json::{Value, json};

fn served() -> (ServeProcess, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let folder = random(Utf8Path::from_path(dir.path()).unwrap());
    (ServeProcess::start(&folder, &[]), dir)
}

/// A schema of which a random policy writes a value in a few dozen tokens.
fn schema() -> Value {
    json!({"type": "object", "properties": {
            "score": {"type": "integer", "minimum": 10, "maximum": 99},
            "kind": {"enum": ["linear", "forest"]},
            "done": {"type": "boolean"}},
        "required": ["score", "kind", "done"], "additionalProperties": false})
}

fn talk() -> Value {
    json!({"messages": [{"role": "user", "content": "print(7)"}], "max_tokens": 400, "seed": 2,
        "temperature": 1, "chat_template_kwargs": {"enable_thinking": false}})
}

fn with(request: &Value, parameters: Value) -> Value {
    let mut request = request.clone();
    let Value::Object(parameters) = parameters else { panic!("parameters have names") };
    request.as_object_mut().unwrap().extend(parameters);
    request
}

fn assert_fits(text: &str) {
    let value: Value = serde_json::from_str(text).unwrap();
    let object = value.as_object().unwrap();
    assert_eq!(object.keys().collect::<Vec<_>>(), ["score", "kind", "done"], "{text}");
    assert!((10..=99).contains(&object["score"].as_i64().unwrap()), "{text}");
    assert!(["linear", "forest"].contains(&object["kind"].as_str().unwrap()), "{text}");
    assert!(object["done"].is_boolean(), "{text}");
}

#[test]
fn choices_fit_their_json_schema() {
    let (server, _dir) = served();
    let format = json!({"type": "json_schema",
        "json_schema": {"name": "result", "strict": true, "schema": schema()}});
    let request = with(
        &talk(),
        json!({"response_format": format, "n": 3, "logprobs": true, "top_logprobs": 3}),
    );
    let answer = server.good("chat/completions", &request);
    let choices = answer["choices"].as_array().unwrap();
    let texts: Vec<&str> =
        choices.iter().map(|choice| choice["message"]["content"].as_str().unwrap()).collect();
    for (choice, text) in choices.iter().zip(&texts) {
        assert_fits(text);
        assert_eq!(choice["finish_reason"], "stop");
        let tokens = choice["logprobs"]["content"].as_array().unwrap();
        // Scored among what the grammar allows: an object begins, and much is certain.
        for entry in tokens[0]["top_logprobs"].as_array().unwrap() {
            assert!(entry["token"].as_str().unwrap().starts_with('{'), "{entry}");
        }
        assert!(tokens.iter().any(|token| token["logprob"].as_f64().unwrap() > -1e-6));
        let last = tokens.last().unwrap()["token"].as_str().unwrap();
        assert!(["<|im_end|>", "<|endoftext|>"].contains(&last), "{last}");
    }
    assert!(texts.iter().any(|text| *text != texts[0]), "choices are drawn");

    // The same when streamed, and whatever else is in the batch.
    let chunks = server.streamed("chat/completions", &request);
    for (index, text) in texts.iter().enumerate() {
        let own = chunks.iter().map(|chunk| &chunk["choices"][0]);
        let own = own.filter(|choice| choice["index"] == index);
        let streamed: String =
            own.filter_map(|choice| choice["delta"]["content"].as_str()).collect();
        assert_eq!(streamed, **text);
    }
    std::thread::scope(|scope| {
        for seed in 0..8 {
            let (server, request, texts) = (&server, &request, &texts);
            scope.spawn(move || {
                if seed % 2 == 0 {
                    let free = with(&talk(), json!({"seed": seed, "max_tokens": 40}));
                    server.good("chat/completions", &free);
                    return;
                }
                let again = server.good("chat/completions", request);
                for (choice, text) in again["choices"].as_array().unwrap().iter().zip(texts) {
                    assert_eq!(choice["message"]["content"], **text);
                }
            });
        }
    });
}

#[test]
fn prompts_are_completed_in_the_form_that_is_asked_for() {
    let (server, _dir) = served();
    let base = json!({"prompt": "user\nprint(7)\n", "max_tokens": 400, "seed": 4});
    let text = |parameters: Value| {
        let answer = server.good("completions", &with(&base, parameters));
        assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{answer}");
        answer["choices"][0]["text"].as_str().unwrap().to_owned()
    };
    let schema_text = schema().to_string();
    assert_fits(&text(json!({"structured_outputs": {"json": schema()}})));
    assert_fits(&text(json!({"structured_outputs": {"json": schema_text}})));
    let choice = text(json!({"structured_outputs": {"choice": ["yes \"sir\"", "no"]}}));
    assert!(["yes \"sir\"", "no"].contains(&choice.as_str()), "{choice}");
    let date = text(json!({"structured_outputs": {"regex": "[0-9]{4}/[0-9]{2}"}}));
    assert!(date.len() == 7 && date.as_bytes()[4] == b'/', "{date}");
    // Biases and penalties choose among what is allowed, and filters too.
    let chosen = text(json!({"structured_outputs": {"choice": ["yes", "no"]}, "top_k": 1,
        "temperature": 0.5, "presence_penalty": 1.0, "logit_bias": {"5": 100}}));
    assert!(["yes", "no"].contains(&chosen.as_str()), "{chosen}");

    // Cut off by the limit, a value is incomplete, as in vLLM.
    let cut = with(&base, json!({"structured_outputs": {"json": schema()}, "max_tokens": 3}));
    let cut = server.good("completions", &cut);
    assert_eq!(cut["choices"][0]["finish_reason"], "length");
    for (name, value) in [("min_tokens", json!(2)), ("ignore_eos", json!(true))] {
        let mut request = with(&base, json!({"structured_outputs": {"choice": ["yes"]}}));
        request[name] = value;
        let (status, answer) = server.post("completions", &request);
        assert_eq!((status, &answer["error"]["param"]), (400, &json!(name)));
    }
}

#[test]
fn forced_tool_calls_fit_their_functions() {
    let (server, _dir) = served();
    let function = |name: &str, values: Value| {
        json!({"type": "function", "function": {"name": name, "description": "", "parameters": {
            "type": "object", "properties": {"k": {"enum": values}}, "required": ["k"],
            "additionalProperties": false}}})
    };
    let tools = json!([function("fit", json!(["a", "b"])), function("look", json!([1, 2, 3]))]);
    let base = with(&talk(), json!({"tools": tools, "max_tokens": 2000}));
    let fits = |call: &Value, names: &[&str]| {
        let name = call["function"]["name"].as_str().unwrap();
        assert!(names.contains(&name), "{call}");
        let arguments: Value =
            serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        let values = if name == "fit" { json!(["a", "b"]) } else { json!([1, 2, 3]) };
        assert!(values.as_array().unwrap().contains(&arguments["k"]), "{call}");
        assert_eq!(arguments.as_object().unwrap().len(), 1, "{call}");
    };

    let named = json!({"type": "function", "function": {"name": "look"}});
    let answer = server.good("chat/completions", &with(&base, json!({"tool_choice": named})));
    let choice = &answer["choices"][0];
    let calls = choice["message"]["tool_calls"].as_array().unwrap();
    assert_eq!((calls.len(), &choice["finish_reason"]), (1, &json!("stop")));
    assert!(choice["message"]["content"].is_null());
    fits(&calls[0], &["look"]);

    let single = json!({"tool_choice": "required", "parallel_tool_calls": false});
    for seed in 0..4 {
        let request = with(&base, json!({"seed": seed}));
        let answer = server.good("chat/completions", &with(&request, single.clone()));
        let choice = &answer["choices"][0];
        let calls = choice["message"]["tool_calls"].as_array().unwrap();
        assert_eq!((calls.len(), &choice["finish_reason"]), (1, &json!("tool_calls")));
        fits(&calls[0], &["fit", "look"]);
        let chunks = server.streamed("chat/completions", &with(&request, single.clone()));
        let streamed: Vec<&Value> = chunks
            .iter()
            .filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array())
            .flatten()
            .collect();
        assert_eq!((streamed.len(), &streamed[0]["function"]), (1, &calls[0]["function"]));
    }

    // Several calls, one after another.
    let required = with(&base, json!({"tool_choice": "required"}));
    let answer = server.good("chat/completions", &required);
    let calls = answer["choices"][0]["message"]["tool_calls"].as_array().unwrap();
    assert!(!calls.is_empty());
    for call in calls {
        fits(call, &["fit", "look"]);
    }

    let both = with(&required, json!({"response_format": {"type": "json_object"}}));
    let (status, answer) = server.post("chat/completions", &both);
    assert_eq!((status, &answer["error"]["param"]), (400, &json!("response_format")));
    let free = with(&base, json!({"parallel_tool_calls": false}));
    server.good("chat/completions", &free);
}
