//! `rl serve` from outside: plain HTTP, and the official client.

use crate::server::{SCRIPT, ServeProcess, random, scripted};
use crate::transformers::python;
use camino::Utf8Path;
use fs_err as fs;
use rl::checkpoint::policy;
use rl::generate::engine::{Engine, Finished, TurnEnd, TurnOptions};
use rl::generate::sample::Sampling;
use rl::model::{Qwen3, write_safetensors};
use rl::text::template::{ChatMessage, ChatRole, ChatTemplate, ChatTemplateOptions};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};
use tasks::stream::Stream;
use tch::{Device, Kind};

/// What the engine itself makes of a prompt.
fn engine(model: &Qwen3, prompt: &[i64], turn: TurnOptions) -> Finished {
    let mut engine = Engine::new(model, 1, 20_000);
    engine.admit(prompt, turn).unwrap();
    loop {
        if let Some(finished) = engine.step().unwrap().pop() {
            return finished;
        }
    }
}

fn close(found: &Value, expected: &[f32]) -> bool {
    let found: Vec<f64> = serde_json::from_value(found.clone()).unwrap();
    let near = |(a, b): (&f64, &f32)| (a - f64::from(*b)).abs() < 1e-4;
    found.len() == expected.len() && found.iter().zip(expected).all(near)
}

#[test]
fn served_tokens_equal_the_engines() {
    let dir = tempfile::tempdir().unwrap();
    let folder = random(Utf8Path::from_path(dir.path()).unwrap());
    let (model, tokenizer) = policy::open(&folder, Kind::Float, Device::Cpu).unwrap();
    // Answers to repeated requests are compared to the bit, so none starts from a cached prefix.
    let server = ServeProcess::start(&folder, &["--no-enable-prefix-caching"]);
    let text = "<|im_start|>user\nprint(3)<|im_end|>\n<|im_start|>assistant\n";
    let ids = tokenizer.encode_with_control(text, None).unwrap();
    assert_eq!(ids[0], tokenizer.control().start_of_turn);

    let greedy = json!({"model": "tiny", "prompt": ids, "max_tokens": 40, "temperature": 0,
        "logprobs": 0, "return_token_ids": true});
    let turn = TurnOptions {
        sampling: Sampling::greedy(),
        stream: Stream::root(0),
        max_tokens: 40,
        ignore_eos: false,
    };
    let expected = engine(&model, &ids, turn);
    let answer = server.good("completions", &greedy);
    let choice = &answer["choices"][0];
    assert_eq!(choice["token_ids"], json!(expected.ids));
    assert_eq!(choice["prompt_token_ids"], json!(ids));
    assert!(close(&choice["logprobs"]["token_logprobs"], &expected.log_probs), "{choice}");
    let ended = expected.ending == TurnEnd::EndOfTurn;
    assert_eq!(choice["finish_reason"], if ended { "stop" } else { "length" });
    let said = &expected.ids[..expected.ids.len() - usize::from(ended)];
    let visible: Vec<i64> = said.iter().copied().filter(|&id| !tokenizer.is_control(id)).collect();
    assert_eq!(choice["text"], tokenizer.decode(&visible).unwrap());
    let count = expected.ids.len();
    assert_eq!(
        answer["usage"],
        json!({"prompt_tokens": ids.len(), "completion_tokens": count,
        "total_tokens": ids.len() + count, "prompt_tokens_details": {"cached_tokens": 0}})
    );
    assert_eq!(choice["logprobs"]["text_offset"].as_array().unwrap().len(), count);

    // The same prompt as text, streamed, and as a conversation.
    let with = |request: &Value, name: &str, value: Value| {
        let mut request = request.clone();
        request[name] = value;
        request
    };
    let as_text = server.good("completions", &with(&greedy, "prompt", text.into()));
    assert_eq!(as_text["choices"], answer["choices"]);
    let chunks = server
        .streamed("completions", &with(&greedy, "stream_options", json!({"include_usage": true})));
    let streamed: String =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["text"].as_str()).collect();
    assert_eq!(choice["text"], streamed);
    let streamed: Vec<Value> = chunks
        .iter()
        .flat_map(|chunk| chunk["choices"][0]["token_ids"].as_array().cloned().unwrap_or_default())
        .collect();
    assert_eq!(json!(streamed), choice["token_ids"]);
    assert_eq!(chunks[0]["choices"][0]["prompt_token_ids"], json!(ids));
    assert_eq!(chunks.last().unwrap()["usage"], answer["usage"]);
    assert!(chunks[..chunks.len() - 1].iter().all(|chunk| chunk["usage"].is_null()));
    let talk = json!({"messages": [{"role": "user", "content": "print(3)"}], "max_completion_tokens": 40,
        "temperature": 0, "logprobs": true, "return_token_ids": true,
        "chat_template_kwargs": {"enable_thinking": true}});
    let chat = server.good("chat/completions", &talk);
    assert_eq!(chat["prompt_token_ids"], json!(ids));
    assert_eq!(chat["choices"][0]["token_ids"], choice["token_ids"]);
    let tokens = chat["choices"][0]["logprobs"]["content"].as_array().unwrap();
    let log_probs: Vec<Value> = tokens.iter().map(|token| token["logprob"].clone()).collect();
    assert!(close(&json!(log_probs), &expected.log_probs));
    for (token, &id) in tokens.iter().zip(&expected.ids) {
        assert_eq!(token["bytes"], json!(tokenizer.bytes(id).unwrap()));
    }
    let unthinking = with(&talk, "chat_template_kwargs", json!({"enable_thinking": false}));
    let options = ChatTemplateOptions { tools: Vec::new(), thinking: Some(false) };
    let laid_out = ChatTemplate::new(&tokenizer)
        .unwrap()
        .apply(&[ChatMessage::new(ChatRole::User, "print(3)")], &options)
        .unwrap();
    assert_eq!(server.good("chat/completions", &unthinking)["prompt_token_ids"], json!(laid_out));

    // Drawn answers are the seed's, whoever else is served; filters and limits arrive.
    let sampling = Sampling { temperature: 1.3, top_p: 0.9, top_k: 30, min_p: 0.01 };
    let drawn = json!({"prompt": [ids, [1, 2, 3]], "n": 2, "seed": -7, "max_tokens": 30, "temperature": 1.3,
        "top_p": 0.9, "top_k": 30, "min_p": 0.01, "ignore_eos": true, "logprobs": 0, "return_token_ids": true});
    let alone = server.good("completions", &drawn);
    for (index, prompt) in [&ids, &ids, &vec![1, 2, 3], &vec![1, 2, 3]].into_iter().enumerate() {
        let stream = Stream::root((-7_i64).cast_unsigned()).child("serve").index(index as u64);
        let expected = engine(
            &model,
            prompt,
            TurnOptions { sampling, stream, max_tokens: 30, ignore_eos: true },
        );
        let choice = &alone["choices"][index];
        assert_eq!((&choice["index"], &choice["token_ids"]), (&json!(index), &json!(expected.ids)));
        assert!(close(&choice["logprobs"]["token_logprobs"], &expected.log_probs), "{choice}");
        assert_eq!((choice["finish_reason"].as_str(), expected.ids.len()), (Some("length"), 30));
        assert_eq!(choice["prompt_token_ids"], json!(prompt));
    }
    assert_eq!(alone["usage"]["prompt_tokens"], ids.len() + 3);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..12)
            .map(|client: i64| {
                let (server, drawn, with) = (&server, &drawn, &with);
                scope.spawn(move || {
                    if client % 3 == 0 {
                        return Some(server.good("completions", drawn)["choices"].clone());
                    }
                    server.good("completions", &with(drawn, "seed", client.into()));
                    None
                })
            })
            .collect();
        for choices in clients.into_iter().filter_map(|client| client.join().unwrap()) {
            for (a, b) in
                choices.as_array().unwrap().iter().zip(alone["choices"].as_array().unwrap())
            {
                assert_eq!(a["token_ids"], b["token_ids"]);
            }
        }
    });
    let unseeded = with(&drawn, "seed", Value::Null);
    let [a, b] =
        [(); 2].map(|()| server.good("completions", &unseeded)["choices"][0]["token_ids"].clone());
    assert_ne!(a, b, "requests without a seed draw alike");
}

#[test]
fn response_splits_reasoning_content_and_tool_calls() {
    let dir = tempfile::tempdir().unwrap();
    let folder = scripted(Utf8Path::from_path(dir.path()).unwrap());
    let server = ServeProcess::start(&folder, &[]);
    let tool = json!({"type": "function", "function": {"name": "score", "parameters": {}}});
    let talk =
        json!({"messages": [{"role": "user", "content": "x"}], "tools": [tool], "temperature": 0});

    let answer = server.good("chat/completions", &talk);
    let choice = &answer["choices"][0];
    let message = &choice["message"];
    assert_eq!(message["reasoning_content"], "ü?");
    assert_eq!(message["content"], "Now: 7€.");
    let call = &message["tool_calls"][0];
    assert_eq!(call["function"], json!({"name": "score", "arguments": "{\"b\": 1, \"a\": []}"}));
    assert_eq!(
        (&choice["finish_reason"], &call["type"]),
        (&json!("tool_calls"), &json!("function"))
    );

    // As it is made: the same, in pieces, and never half a tag or half a character.
    let chunks = server.streamed("chat/completions", &talk);
    let deltas: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]).collect();
    let joined =
        |name: &str| deltas.iter().filter_map(|delta| delta[name].as_str()).collect::<String>();
    assert_eq!(deltas[0], &json!({"role": "assistant", "content": ""}));
    assert_eq!(message["reasoning_content"], joined("reasoning_content"));
    assert_eq!(message["content"], joined("content"));
    let calls: Vec<&Value> =
        deltas.iter().filter_map(|delta| delta["tool_calls"].as_array()).flatten().collect();
    assert_eq!((calls.len(), &calls[0]["function"]), (1, &call["function"]));
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");

    // The call can be handed back, with its answer.
    let mut history = talk.clone();
    history["messages"] = json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}, message,
        {"role": "tool", "tool_call_id": call["id"], "content": "0.7"}]);
    assert_eq!(
        server.good("chat/completions", &history)["choices"][0]["message"]["content"],
        message["content"]
    );

    // Without tools or thoughts the text stays as it is.
    let plain = json!({"messages": talk["messages"], "temperature": 0,
        "chat_template_kwargs": {"enable_thinking": true}, "tools": [tool], "tool_choice": "none"});
    let plain = server.good("chat/completions", &plain)["choices"][0]["message"].clone();
    assert_eq!(plain["content"], SCRIPT.split_once("</think>").unwrap().1);
    let prompt = "<|im_start|>assistant\n";
    let whole = json!({"prompt": prompt, "temperature": 0, "max_tokens": 500});
    assert_eq!(server.good("completions", &whole)["choices"][0]["text"], SCRIPT);
    assert_eq!(
        server.good("completions", &json!({"prompt": prompt, "temperature": 0}))["usage"]["completion_tokens"],
        16
    );

    // Stop strings over the borders of tokens, in the middle of lines, and of one character.
    for stop in
        [json!("w: 7"), json!(["zzz", ": 7€"]), json!("€"), json!("?</th"), json!(["name", "k>ü"])]
    {
        let mut request = whole.clone();
        request["stop"] = stop.clone();
        let stops: Vec<String> = match &stop {
            Value::String(stop) => vec![stop.clone()],
            stops => serde_json::from_value(stops.clone()).unwrap(),
        };
        let cut = stops.iter().filter_map(|stop| SCRIPT.find(stop)).min().unwrap();
        let answer = server.good("completions", &request);
        assert_eq!(answer["choices"][0]["text"], SCRIPT[..cut], "{stop}");
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
        let chunks = server.streamed("completions", &request);
        let text: String =
            chunks.iter().filter_map(|chunk| chunk["choices"][0]["text"].as_str()).collect();
        assert_eq!(text, SCRIPT[..cut], "{stop}");
        assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "stop");
        let mut kept = request.clone();
        kept["stop"] = "no such text".into();
        let longer = server.good("completions", &kept)["usage"]["completion_tokens"].as_u64();
        assert!(answer["usage"]["completion_tokens"].as_u64() < longer);
    }
}

#[test]
fn invalid_requests_get_errors_that_name_the_parameter() {
    let dir = tempfile::tempdir().unwrap();
    let folder = scripted(Utf8Path::from_path(dir.path()).unwrap());
    let server = ServeProcess::start(
        &folder,
        &["--max-model-len", "50", "--max-num-seqs", "2", "--queue", "1"],
    );
    let refused = |path: &str, request: Value| {
        let (status, answer) = server.post(path, &request);
        let error = &answer["error"];
        assert!(error["message"].is_string() && error["type"].is_string(), "{answer}");
        (
            status,
            error["message"].as_str().unwrap().to_owned(),
            error["param"].clone(),
            error["code"].clone(),
        )
    };
    let bad = |path: &str, name: &str, value: Value, words: &str| {
        let mut request = match path {
            "completions" => json!({"prompt": [1]}),
            _ => json!({"messages": [{"role": "user", "content": "x"}]}),
        };
        request[name] = value;
        let (status, message, param, _) = refused(path, request);
        assert!(status == 400 && message.contains(words), "{name}: {status} {message}");
        assert!(param == name || param.is_null(), "{name}: {param}");
    };
    for path in ["completions", "chat/completions"] {
        bad(path, "temperature", json!("hot"), "`temperature` cannot be used");
        bad(path, "temperature", json!(-1), "`temperature` is -1");
        bad(path, "top_p", json!(0), "`top_p` is 0");
        bad(path, "top_k", json!(-2), "at least 0");
        bad(path, "n", json!(0), "at least 1");
        bad(path, "n", json!(4), "has room for 3");
        bad(path, "n", json!(9_999_999), "has room for 3");
        bad(path, "max_tokens", json!(0), "at least 1");
        bad(path, "max_tokens", json!(2.5), "`max_tokens` cannot be used");
        bad(path, "stop", json!(["a", ""]), "empty");
        bad(path, "stop", json!(3), "a string or a list of strings");
        bad(path, "stream_options", json!({"include_usage": true}), "needs `stream`");
        bad(path, "presence_penalty", json!(2.5), "between -2 and 2");
        bad(path, "frequency_penalty", json!(-3), "between -2 and 2");
        bad(path, "repetition_penalty", json!(0), "above 0");
        bad(path, "logit_bias", json!({"five": 1}), "not the id of a token");
        bad(path, "logit_bias", json!({"99999": 1}), "outside the vocabulary");
        bad(path, "stop_token_ids", json!([-1]), "outside the vocabulary");
        bad(path, "min_tokens", json!(-1), "`min_tokens` cannot be used");
        bad(path, "skip_special_tokens", json!("no"), "`skip_special_tokens` cannot be used");
        bad(path, "guided_json", json!({}), "not a known parameter");
        bad(path, "seed", json!("x"), "`seed` cannot be used");
    }
    bad("completions", "min_tokens", json!(17), "at most 16");
    bad("completions", "logprobs", json!(21), "between 0 and 20");
    bad("completions", "logprobs", json!(-1), "between 0 and 20");
    bad("completions", "logprobs", json!(true), "`logprobs` cannot be used");
    bad("completions", "prompt", json!([]), "at least one token");
    bad("completions", "prompt", json!(""), "at least one token");
    bad("completions", "prompt", json!([[1], []]), "at least one token");
    bad("completions", "prompt", json!([1, "a"]), "a string, a list of strings");
    bad("completions", "prompt", json!([1, 99_999]), "the id 99999 is outside the vocabulary");
    bad("completions", "prompt", json!([-1]), "the id -1 is outside");
    bad("completions", "suffix", json!("x"), "not supported");
    let chat = "chat/completions";
    bad(chat, "messages", json!([]), "`messages` is missing or empty");
    bad(chat, "messages", json!([{"role": "user"}]), "has no `content`");
    bad(chat, "messages", json!([{"role": "king", "content": "x"}]), "unknown variant `king`");
    bad(
        chat,
        "messages",
        json!([{"role": "user", "content": [{"type": "image_url"}]}]),
        "list of text parts",
    );
    bad(
        chat,
        "messages",
        json!([{"role": "assistant", "tool_calls": [
        {"function": {"name": "f", "arguments": "{"}}]}]),
        "arguments of a call of `f` are not JSON",
    );
    bad(chat, "top_logprobs", json!(2), "needs `logprobs: true`");
    bad(chat, "top_logprobs", json!(21), "between 0 and 20");
    bad(chat, "tools", json!([{"name": "f"}]), "a tool is");
    bad(chat, "tools", json!([{"type": "function", "function": 3}]), "a tool is");
    bad(chat, "tool_choice", json!("required"), "there are no `tools`");
    bad(chat, "tool_choice", json!("always"), "expected `none`, `auto`, `required`");
    bad(
        chat,
        "tool_choice",
        json!({"type": "function", "function": {"name": "f"}}),
        "names `f`, which is not one of the `tools`",
    );
    for path in ["completions", chat] {
        bad(path, "response_format", json!({"type": "xml"}), "unknown variant `xml`");
        let schema = |schema: Value| json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
        bad(path, "response_format", schema(json!({"type": "thing"})), "cannot be used");
        bad(path, "response_format", schema(json!({"if": {}})), "cannot be used");
        bad(path, "structured_outputs", json!({"choice": []}), "list at least one");
        bad(path, "structured_outputs", json!({"json": "{"}), "not a JSON schema");
        bad(path, "structured_outputs", json!({"regex": "["}), "cannot be used");
    }
    bad(chat, "chat_template_kwargs", json!({"thinking": 1}), "unknown field");

    let (status, message, _, code) = refused("completions", json!({"prompt": vec![1; 50]}));
    assert_eq!((status, code), (400, json!("context_length_exceeded")));
    assert!(message.contains("50 tokens") && message.contains("holds 50"), "{message}");
    let (status, message, _, code) =
        refused("completions", json!({"prompt": "a", "model": "other"}));
    assert_eq!((status, code), (404, json!("model_not_found")));
    assert!(message.contains("`other`") && message.contains("`tiny`"), "{message}");

    for (head, body, status, words) in [
        ("POST /v1/completions HTTP/1.1", "{\"prompt\": ", 400, "not a JSON object"),
        ("POST /v1/completions HTTP/1.1", "[]", 400, "not a JSON object"),
        ("POST /v1/completions HTTP/1.1", "", 400, "not a JSON object"),
        ("POST /v1/completions HTTP/1.1", "{}", 400, "there is no `prompt`"),
        ("POST /v1/embeddings HTTP/1.1", "{}", 404, "no route `/v1/embeddings`"),
        ("GET /v1/completions HTTP/1.1", "", 405, "does not answer GET"),
        ("GET /v1/models/other HTTP/1.1", "", 404, "no model `other`"),
        ("GET /v1/models HTTP/1.1\r\nOrigin: http://evil.example", "", 403, "browser"),
        ("GET /v1/models/tiny HTTP/1.1", "", 200, "\"id\":\"tiny\""),
        ("GET /v1/models HTTP/1.1", "", 200, "\"object\":\"list\""),
    ] {
        let (found, _, answer) = server.ask(head, body);
        assert_eq!(found, status, "{head}: {answer}");
        let _: Value = serde_json::from_str(&answer).unwrap();
        assert!(answer.contains(words), "{head}: {answer}");
    }
    // One byte too many; with all of them sent, the answer might be lost in a reset.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b' '; (16 << 20) + 1]).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert!(line.contains(" 413 "), "{line}");

    let guarded = ServeProcess::start(&folder, &["--api-key", "open sesame"]);
    let (status, head, _) = guarded.ask("GET /v1/models HTTP/1.1", "");
    assert!(status == 401 && head.contains("www-authenticate: bearer"), "{head}");
    for (key, status) in [("open", 401), ("open sesame", 200)] {
        let head = format!("GET /v1/models HTTP/1.1\r\nAuthorization: Bearer {key}");
        assert_eq!(guarded.ask(&head, "").0, status);
    }
    let open = Command::new(env!("CARGO_BIN_EXE_rl"))
        .args(["serve", "--model", folder.as_str(), "--host", "0.0.0.0", "--port", "0"])
        .output()
        .unwrap();
    let error = String::from_utf8(open.stderr).unwrap();
    assert!(open.status.code() == Some(1) && error.contains("--api-key"), "{error}");
}

/// An answer that takes far longer than any test waits for it.
fn endless() -> Value {
    json!({"prompt": [5], "max_tokens": 19_000, "ignore_eos": true, "temperature": 1, "stream": true})
}

/// Waits for the first event of a streamed answer.
fn begun(client: &mut BufReader<TcpStream>) {
    let mut line = String::new();
    while !line.starts_with("data: ") {
        line.clear();
        assert!(client.read_line(&mut line).unwrap() > 0, "there is no answer");
    }
}

#[test]
fn disconnected_clients_free_their_rows() {
    let dir = tempfile::tempdir().unwrap();
    let folder = random(Utf8Path::from_path(dir.path()).unwrap());
    let mut server = ServeProcess::start(
        &folder,
        &["--max-num-seqs", "2", "--queue", "0", "--max-model-len", "20000"],
    );
    let short = json!({"prompt": [5], "max_tokens": 1});
    let pair = json!({"prompt": [5], "max_tokens": 1, "n": 2});
    for stream in [true, false] {
        let mut request = endless();
        request["stream"] = stream.into();
        request["n"] = 2.into();
        let mut tries = 0;
        let client = loop {
            let mut client = server.open("POST /v1/completions HTTP/1.1", &request.to_string());
            if stream {
                begun(&mut client);
                break client;
            }
            // Nothing tells that an answer has been begun that comes whole, but that there is no
            // place; and a question that comes first takes the place that it asks for.
            std::thread::sleep(Duration::from_millis(50));
            if server.post("completions", &short).0 == 429 {
                break client;
            }
            drop(client);
            server.until_free(&pair);
            tries += 1;
            assert!(tries < 50, "the request is never begun");
        };
        let (status, head, body) = server.ask("POST /v1/completions HTTP/1.1", &short.to_string());
        assert_eq!(status, 429, "{body}");
        assert!(
            head.contains("retry-after: 1") && body.contains("rate_limit_exceeded"),
            "{head} {body}"
        );
        drop(client);
        let took = server.until_free(&pair);
        assert!(took < Duration::from_secs(5), "{took:?}");
    }

    // While one goes on, others come and go.
    let mut client = server.open("POST /v1/completions HTTP/1.1", &endless().to_string());
    begun(&mut client);
    for _ in 0..3 {
        server.good("completions", &short);
    }

    // Asked to end, the server still finishes what is short; asked again, it cuts off the rest.
    let brief = json!({"prompt": [5], "max_tokens": 200, "ignore_eos": true, "stream": true});
    let mut second = server.open("POST /v1/completions HTTP/1.1", &brief.to_string());
    begun(&mut second);
    let began = Instant::now();
    server.signal();
    let mut answer = String::new();
    second.read_to_string(&mut answer).unwrap();
    assert!(
        answer.contains("\"finish_reason\":\"length\"") && answer.contains("[DONE]"),
        "{answer}"
    );
    server.signal();
    assert_eq!(server.end(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
}

#[test]
fn broken_weights_end_the_server_with_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let folder = random(Utf8Path::from_path(dir.path()).unwrap());
    let (model, _) = policy::open(&folder, Kind::Float, Device::Cpu).unwrap();
    let mut weights = model.published();
    let norm = weights["model.norm.weight"].full_like(f64::NAN);
    weights.insert("model.norm.weight".into(), norm);
    write_safetensors(&folder.join("model.safetensors"), &weights).unwrap();
    let mut server = ServeProcess::start(&folder, &[]);
    let (status, answer) = server.post("completions", &json!({"prompt": [5]}));
    assert_eq!((status, &answer["error"]["type"]), (503, &json!("server_error")), "{answer}");
    assert_eq!(server.end(), Some(1));
}

#[test]
fn an_idle_server_ends_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let folder = scripted(Utf8Path::from_path(dir.path()).unwrap());
    let mut server = ServeProcess::start(&folder, &[]);
    // A connection that is kept alive does not keep the server.
    let idle = TcpStream::connect(&server.address).unwrap();
    let began = Instant::now();
    server.signal();
    assert_eq!(server.end(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop(idle);
}

#[test]
fn the_official_client_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let folder = scripted(Utf8Path::from_path(dir.path()).unwrap());
    let server = ServeProcess::start(&folder, &["--api-key", "open sesame"]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/client.py");
    fs::write(folder.join("script.txt"), SCRIPT).unwrap();
    let output = Command::new(python())
        .arg("-I")
        .arg(script)
        .args([&server.address, "open sesame", folder.join("script.txt").as_str()])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "the client failed; `make venv-test` installs what it needs:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
