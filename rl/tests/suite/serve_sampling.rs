//! Penalties, biases and stop rules of `rl serve`.

use crate::server::{SCRIPT, ServeProcess, random, scripted};
use camino::Utf8Path;
use rl::checkpoint::policy;
use rl::model::{Packed, Qwen3};
use serde_json::{Value, json};
use tch::{Device, Kind};

/// Logits of what follows `ids`, by vLLM's formulas for penalties and biases, written out anew.
struct Penalized {
    repetition: f64,
    frequency: f64,
    presence: f64,
    bias: (usize, f64),
}

impl Penalized {
    fn log_probs(&self, model: &Qwen3, prompt: &[i64], turn: &[i64]) -> Vec<f64> {
        let ids = [prompt, turn].concat();
        let logits = model.forward(&Packed::new([ids.as_slice()], Device::Cpu));
        let last: Vec<f64> =
            logits.get(ids.len() as i64 - 1).to_kind(Kind::Double).try_into().unwrap();
        let penalized = |(id, mut logit): (usize, f64)| {
            if id == self.bias.0 {
                logit += self.bias.1;
            }
            let count = |ids: &[i64]| ids.iter().filter(|&&seen| seen as usize == id).count();
            if count(&ids) > 0 {
                logit *= if logit > 0.0 { 1.0 / self.repetition } else { self.repetition };
            }
            let times = count(turn);
            logit - self.frequency * times as f64 - self.presence * f64::from(u8::from(times > 0))
        };
        let logits: Vec<f64> = last.into_iter().enumerate().map(penalized).collect();
        let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mass: f64 = logits.iter().map(|logit| (logit - most).exp()).sum();
        logits.into_iter().map(|logit| logit - most - mass.ln()).collect()
    }
}

#[test]
fn penalties_and_biases_change_the_distribution_that_is_sampled_and_scored() {
    let dir = tempfile::tempdir().unwrap();
    let folder = random(Utf8Path::from_path(dir.path()).unwrap());
    let (model, tokenizer) = policy::open(&folder, Kind::Float, Device::Cpu).unwrap();
    let server = ServeProcess::start(&folder, &[]);
    let prompt = tokenizer.encode("user\nprint(7) print(3)\n").unwrap();
    let neutral = Penalized { repetition: 1.0, frequency: 0.0, presence: 0.0, bias: (0, 0.0) };
    let cases = [
        (json!({"repetition_penalty": 1.8}), Penalized { repetition: 1.8, ..neutral }),
        (json!({"frequency_penalty": 1.5}), Penalized { frequency: 1.5, ..neutral }),
        (json!({"presence_penalty": -2.0}), Penalized { presence: -2.0, ..neutral }),
        (json!({"logit_bias": {"70": 2.5}}), Penalized { bias: (70, 2.5), ..neutral }),
        (
            json!({"repetition_penalty": 0.7, "frequency_penalty": -0.4, "presence_penalty": 0.9,
                "logit_bias": {"70": -1.5}}),
            Penalized { repetition: 0.7, frequency: -0.4, presence: 0.9, bias: (70, -1.5) },
        ),
    ];
    let mut turns = Vec::new();
    for (parameters, expected) in cases {
        for temperature in [0, 1] {
            let mut request = json!({"prompt": prompt, "max_tokens": 12, "temperature": temperature,
                "seed": 5, "logprobs": 1, "ignore_eos": true, "return_token_ids": true});
            for (name, value) in parameters.as_object().unwrap() {
                request[name] = value.clone();
            }
            let choice = &server.good("completions", &request)["choices"][0];
            let turn: Vec<i64> = serde_json::from_value(choice["token_ids"].clone()).unwrap();
            for (place, &id) in turn.iter().enumerate() {
                let log_probs = expected.log_probs(&model, &prompt, &turn[..place]);
                let own = choice["logprobs"]["token_logprobs"][place].as_f64().unwrap();
                assert!((own - log_probs[id as usize]).abs() < 1e-4, "{parameters} at {place}");
                let most = log_probs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                assert!(temperature > 0 || own > most - 1e-4, "{parameters}: not the likeliest");
            }
            turns.push(turn);
        }
    }
    assert!(turns.windows(2).any(|pair| pair[0] != pair[1]));

    // A bias of 100 leaves nothing else; the largest penalties do not break the server.
    let forced = json!({"prompt": prompt, "max_tokens": 3, "logit_bias": {"70": 1e9},
        "return_token_ids": true});
    let forced = &server.good("completions", &forced)["choices"][0];
    assert_eq!(forced["token_ids"], json!([70, 70, 70]));
    for repetition in [1e-300, 1e300] {
        let extreme = json!({"prompt": prompt, "max_tokens": 3, "repetition_penalty": repetition,
            "temperature": 0.001, "logprobs": 0});
        let answer = server.good("completions", &extreme);
        assert!(answer["choices"][0]["logprobs"]["token_logprobs"][0].is_number(), "{answer}");
    }
    server.good("completions", &json!({"prompt": prompt, "max_tokens": 1}));
}

#[test]
fn stop_rules_end_a_choice_as_in_vllm() {
    let dir = tempfile::tempdir().unwrap();
    let folder = scripted(Utf8Path::from_path(dir.path()).unwrap());
    let (_, tokenizer) = policy::open(&folder, Kind::Float, Device::Cpu).unwrap();
    let server = ServeProcess::start(&folder, &[]);
    let whole = json!({"prompt": "<|im_start|>assistant\n", "temperature": 0, "max_tokens": 500,
        "return_token_ids": true});
    let ask = |parameters: Value| {
        let mut request = whole.clone();
        for (name, value) in parameters.as_object().unwrap() {
            request[name] = value.clone();
        }
        let choice = server.good("completions", &request)["choices"][0].clone();
        let chunks = server.streamed("completions", &request);
        let text: String =
            chunks.iter().filter_map(|chunk| chunk["choices"][0]["text"].as_str()).collect();
        assert_eq!(choice["text"], text, "{parameters}");
        let last = &chunks.last().unwrap()["choices"][0];
        assert_eq!(
            (&last["finish_reason"], &last["stop_reason"]),
            (&choice["finish_reason"], &choice["stop_reason"])
        );
        choice
    };
    let plain = ask(json!({}));
    assert_eq!((&plain["text"], &plain["stop_reason"]), (&json!(SCRIPT), &Value::Null));
    let script: Vec<i64> = serde_json::from_value(plain["token_ids"].clone()).unwrap();

    // Stop strings, left out or included.
    let at = SCRIPT.find(": 7").unwrap();
    let stopped = ask(json!({"stop": ["zzz", ": 7"]}));
    assert_eq!((&stopped["text"], &stopped["stop_reason"]), (&json!(SCRIPT[..at]), &json!(": 7")));
    let included = ask(json!({"stop": ": 7", "include_stop_str_in_output": true}));
    assert_eq!(included["text"], SCRIPT[..at + 3]);

    // Stop tokens, which are among the ids in any case.
    let place = script.len() / 2;
    let text = |ids: &[i64]| tokenizer.decode(ids).unwrap();
    let stopped = ask(json!({"stop_token_ids": [script[place], 0]}));
    assert_eq!(
        (&stopped["finish_reason"], &stopped["stop_reason"]),
        (&json!("stop"), &json!(script[place]))
    );
    assert_eq!(stopped["text"], text(&script[..place]));
    assert_eq!(stopped["token_ids"], json!(script[..=place]));
    let included =
        ask(json!({"stop_token_ids": [script[place]], "include_stop_str_in_output": true}));
    assert_eq!(included["text"], text(&script[..=place]));

    // Nothing ends a choice before `min_tokens`: the model is made to say something else.
    let least = place + 3;
    let kept = ask(json!({"stop_token_ids": [script[place]], "min_tokens": least}));
    let ids: Vec<i64> = serde_json::from_value(kept["token_ids"].clone()).unwrap();
    assert!(ids.len() >= least && ids[..least].iter().all(|id| *id != script[place]), "{ids:?}");
    let kept = ask(json!({"stop": text(&script[..1]), "min_tokens": 1}));
    assert_eq!(kept["text"], SCRIPT, "a stop string within the first tokens does not count");
    let more = ask(json!({"min_tokens": script.len() + 2, "max_tokens": script.len() + 2}));
    let ids: Vec<i64> = serde_json::from_value(more["token_ids"].clone()).unwrap();
    assert_eq!((ids.len(), &more["finish_reason"]), (script.len() + 2, &json!("length")));
    assert!(!ids.contains(script.last().unwrap()), "the token that ends a turn is impossible");
}
