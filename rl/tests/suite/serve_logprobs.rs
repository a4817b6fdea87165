//! `logprobs`, `top_logprobs` and `echo` of `rl serve`, against the model's own forward pass.

use crate::server::{ServeProcess, random};
use camino::{Utf8Path, Utf8PathBuf};
use rl::checkpoint::policy;
use rl::model::{Packed, Qwen3};
use rl::text::tokenizer::Tokenizer;
use serde_json::{Value, json};
use tch::{Device, Kind, Tensor};

/// A served random policy, and the same policy here.
struct Served {
    server: ServeProcess,
    model: Qwen3,
    tokenizer: Tokenizer,
    _dir: tempfile::TempDir,
}

impl Served {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder: Utf8PathBuf = random(Utf8Path::from_path(dir.path()).unwrap());
        let (model, tokenizer) = policy::open(&folder, Kind::Float, Device::Cpu).unwrap();
        Self { server: ServeProcess::start(&folder, &[]), model, tokenizer, _dir: dir }
    }

    /// Log-probabilities of what follows each token of `ids`, `[T, V]`.
    fn log_probs(&self, ids: &[i64], temperature: f64) -> Vec<Vec<f32>> {
        let logits = self.model.forward(&Packed::new([ids], Device::Cpu));
        let rows: Tensor = (logits / temperature).log_softmax(-1, Kind::Float);
        rows.view([ids.len() as i64, -1]).try_into().unwrap()
    }

    fn name(&self, id: i64) -> String {
        String::from_utf8_lossy(&self.tokenizer.bytes(id).unwrap()).into_owned()
    }
}

fn numbers(value: &Value) -> Vec<Option<f64>> {
    value.as_array().unwrap().iter().map(Value::as_f64).collect()
}

fn near(found: f64, expected: f32) -> bool {
    (found - f64::from(expected)).abs() < 1e-4
}

fn descending(row: &[f32]) -> Vec<f32> {
    let mut sorted = row.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted
}

#[test]
fn echoed_prompts_have_the_log_probabilities_of_a_forward_pass() {
    let served = Served::new();
    let texts = ["user\nprint(7) ü€ print(3)\n", "assistant\nprint(12)"];
    let prompts: Vec<Vec<i64>> =
        texts.iter().map(|text| served.tokenizer.encode(text).unwrap()).collect();
    // As lm-eval asks: one token more than the prompt, greedily.
    let request = json!({"prompt": prompts, "echo": true, "max_tokens": 1, "temperature": 0,
        "logprobs": 2, "seed": 1234});
    let answer = served.server.good("completions", &request);
    for ((choice, ids), text) in
        answer["choices"].as_array().unwrap().iter().zip(&prompts).zip(texts)
    {
        let expected = served.log_probs(ids, 1.0);
        let log_probs = &choice["logprobs"];
        let found = numbers(&log_probs["token_logprobs"]);
        let top = log_probs["top_logprobs"].as_array().unwrap();
        let offsets = numbers(&log_probs["text_offset"]);
        assert_eq!(
            (found.len(), top.len(), offsets.len()),
            (ids.len() + 1, ids.len() + 1, ids.len() + 1)
        );
        assert_eq!((found[0], &top[0]), (None, &Value::Null));
        for (place, own) in found.iter().enumerate().skip(1) {
            let (row, own) = (&expected[place - 1], own.unwrap());
            match ids.get(place) {
                Some(&id) => assert!(near(own, row[id as usize]), "{place}: {own}"),
                // The generated token is the likeliest.
                None => assert!(near(own, descending(row)[0]), "{own}"),
            }
            let values: Vec<f64> = top[place]
                .as_object()
                .unwrap()
                .values()
                .map(|value| value.as_f64().unwrap())
                .collect();
            assert!((1..=3).contains(&values.len()), "{values:?}");
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert!(near(most, descending(row)[0]), "{place}: {most}");
            // Under the token's text stands its own number, to the bit, or that of a likelier token
            // with the same text, such as another half of a character.
            let shown = top[place][log_probs["tokens"][place].as_str().unwrap()].as_f64().unwrap();
            assert!(shown >= own, "{place}: {shown} {own}");
        }
        let whole = choice["text"].as_str().unwrap();
        assert!(whole.starts_with(text), "{whole}");
        assert_eq!(log_probs["tokens"].as_array().unwrap().len(), ids.len() + 1);
        let begin = text.chars().count() as f64;
        assert_eq!(offsets[ids.len()], Some(begin), "generated text begins where the prompt ends");
    }
    let lengths: usize = prompts.iter().map(Vec::len).sum();
    assert_eq!(answer["usage"]["prompt_tokens"], lengths);
    assert_eq!(answer["usage"]["completion_tokens"], 2);

    // Streamed, the prompt is in the first chunk with text.
    let chunks = served.server.streamed("completions", &request);
    for (index, choice) in answer["choices"].as_array().unwrap().iter().enumerate() {
        let own: Vec<&Value> = chunks
            .iter()
            .map(|chunk| &chunk["choices"][0])
            .filter(|choice| choice["index"] == index)
            .collect();
        let text: String = own.iter().filter_map(|choice| choice["text"].as_str()).collect();
        assert_eq!(choice["text"], text);
        let streamed: Vec<Value> = own
            .iter()
            .filter_map(|choice| choice["logprobs"]["token_logprobs"].as_array())
            .flatten()
            .cloned()
            .collect();
        assert_eq!(streamed.len(), numbers(&choice["logprobs"]["token_logprobs"]).len());
    }
}

#[test]
fn echo_without_generation_returns_the_prompt_alone() {
    let served = Served::new();
    let ids = served.tokenizer.encode("print(7)\nprint(8)\n").unwrap();
    let request = json!({"prompt": ids, "echo": true, "max_tokens": 0, "logprobs": 0});
    let answer = served.server.good("completions", &request);
    let choice = &answer["choices"][0];
    assert_eq!(choice["text"], "print(7)\nprint(8)\n");
    assert_eq!(
        (&choice["finish_reason"], &answer["usage"]["completion_tokens"]),
        (&json!("length"), &json!(0))
    );
    let found = numbers(&choice["logprobs"]["token_logprobs"]);
    assert_eq!(found.len(), ids.len());
    let expected = served.log_probs(&ids, 1.0);
    for (place, own) in found.iter().enumerate().skip(1) {
        assert!(near(own.unwrap(), expected[place - 1][ids[place] as usize]));
    }
    // With 0 tokens beside it, the token itself is there.
    let own = &choice["logprobs"]["top_logprobs"][1];
    assert_eq!(own, &json!({served.name(ids[1]): found[1]}));
    // Without log-probabilities the prompt is only repeated; a single token has none.
    let plain = json!({"prompt": [ids[0]], "echo": true, "max_tokens": 0});
    let plain = &served.server.good("completions", &plain)["choices"][0];
    assert_eq!((&plain["text"], &plain["logprobs"]), (&json!(served.name(ids[0])), &Value::Null));
    let single = json!({"prompt": [ids[0]], "echo": true, "max_tokens": 0, "logprobs": 1});
    let single = &served.server.good("completions", &single)["choices"][0];
    assert_eq!(single["logprobs"]["token_logprobs"], json!([null]));
}

#[test]
fn top_log_probabilities_are_of_the_distribution_that_was_sampled() {
    let served = Served::new();
    let ids = served.tokenizer.encode("user\nprint(7)\n").unwrap();
    let request = json!({"prompt": ids, "max_tokens": 6, "temperature": 1.7, "seed": 3, "logprobs": 5,
        "ignore_eos": true, "return_token_ids": true});
    let choice = &served.server.good("completions", &request)["choices"][0];
    let sampled: Vec<i64> = serde_json::from_value(choice["token_ids"].clone()).unwrap();
    let whole = [ids.as_slice(), &sampled].concat();
    let expected = served.log_probs(&whole, 1.7);
    let found = numbers(&choice["logprobs"]["token_logprobs"]);
    for (place, &id) in sampled.iter().enumerate() {
        let row = &expected[ids.len() + place - 1];
        assert!(near(found[place].unwrap(), row[id as usize]));
        let top = choice["logprobs"]["top_logprobs"][place].as_object().unwrap();
        assert_eq!(top[&served.name(id)].as_f64(), found[place]);
        let most = top.values().filter_map(Value::as_f64).fold(f64::NEG_INFINITY, f64::max);
        assert!(near(most, descending(row)[0]));
    }

    // The same of a conversation, in the order of their likelihood.
    let talk = json!({"messages": [{"role": "user", "content": "print(7)"}], "max_tokens": 4,
        "temperature": 1.7, "seed": 3, "logprobs": true, "top_logprobs": 4, "ignore_eos": true,
        "return_token_ids": true});
    let answer = served.server.good("chat/completions", &talk);
    let prompt: Vec<i64> = serde_json::from_value(answer["prompt_token_ids"].clone()).unwrap();
    let choice = &answer["choices"][0];
    let sampled: Vec<i64> = serde_json::from_value(choice["token_ids"].clone()).unwrap();
    let expected = served.log_probs(&[prompt.as_slice(), &sampled].concat(), 1.7);
    for (place, token) in choice["logprobs"]["content"].as_array().unwrap().iter().enumerate() {
        let row = descending(&expected[prompt.len() + place - 1]);
        let top = token["top_logprobs"].as_array().unwrap();
        assert_eq!(top.len(), 4);
        for (entry, expected) in top.iter().zip(row) {
            assert!(near(entry["logprob"].as_f64().unwrap(), expected), "{entry}");
            let bytes: Vec<u8> = serde_json::from_value(entry["bytes"].clone()).unwrap();
            assert_eq!(entry["token"], String::from_utf8_lossy(&bytes).as_ref());
        }
    }
}
