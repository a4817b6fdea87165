//! Prefix caching of `rl serve` between the turns of conversations.

use crate::server::{ServeProcess, random};
use camino::Utf8Path;
use serde_json::{Value, json};

fn cached(answer: &Value) -> u64 {
    answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap()
}

/// The answers to four turns of a conversation.
fn talk(server: &ServeProcess) -> Vec<Value> {
    let mut messages = json!([{"role": "system", "content": "print(1) print(2) print(3)\n"}]);
    let mut answers = Vec::new();
    for number in 0..4 {
        let question = json!({"role": "user", "content": format!("print({number}) print(9)")});
        messages.as_array_mut().unwrap().push(question);
        let request = json!({"messages": messages, "temperature": 0, "max_tokens": 10,
            "logprobs": true, "ignore_eos": true, "chat_template_kwargs": {"enable_thinking": false}});
        let answer = server.good("chat/completions", &request);
        let content = answer["choices"][0]["message"]["content"].clone();
        messages.as_array_mut().unwrap().push(json!({"role": "assistant", "content": content}));
        answers.push(answer);
    }
    answers
}

#[test]
fn turns_of_a_conversation_start_from_the_rows_of_earlier_ones() {
    let dir = tempfile::tempdir().unwrap();
    let folder = random(Utf8Path::from_path(dir.path()).unwrap());
    let reusing = ServeProcess::start(&folder, &[]);
    let fresh = ServeProcess::start(&folder, &["--no-enable-prefix-caching"]);
    let (found_answers, expected_answers) = (talk(&reusing), talk(&fresh));
    assert!(expected_answers.iter().all(|answer| cached(answer) == 0));
    assert_eq!(cached(&found_answers[0]), 0);
    for (turn, (found, expected)) in found_answers.iter().zip(&expected_answers).enumerate() {
        let (choice, same) = (&found["choices"][0], &expected["choices"][0]);
        assert_eq!(choice["message"], same["message"]);
        let tokens = choice["logprobs"]["content"].as_array().unwrap();
        for (token, same) in tokens.iter().zip(same["logprobs"]["content"].as_array().unwrap()) {
            let [a, b] = [token, same].map(|token| token["logprob"].as_f64().unwrap());
            assert!((a - b).abs() < 1e-4, "{a} is not {b}");
        }
        assert_eq!(found["usage"]["prompt_tokens"], expected["usage"]["prompt_tokens"]);
        // At least the prompt before, without the generation prompt, was there already.
        if turn > 0 {
            let before = expected_answers[turn - 1]["usage"]["prompt_tokens"].as_u64().unwrap();
            assert!(cached(found) + 8 > before, "turn {turn}: {} of {before}", cached(found));
        }
    }

    // One conversation does not end the reuse of another; choices of one prompt count once.
    let again = talk(&reusing);
    assert!(again.iter().skip(1).all(|answer| cached(answer) > 0));
    let prompt = json!({"prompt": "print(1) print(2) print(3) print(4) print(5) print(6)\n",
        "n": 3, "max_tokens": 2});
    reusing.good("completions", &prompt);
    let answer = reusing.good("completions", &prompt);
    let tokens = answer["usage"]["prompt_tokens"].as_u64().unwrap();
    assert!(tokens > 16 && cached(&answer) == tokens - 1, "{answer}");
    let mut streamed = prompt.clone();
    streamed["stream_options"] = json!({"include_usage": true});
    let chunks = reusing.streamed("completions", &streamed);
    assert_eq!(cached(chunks.last().unwrap()), tokens - 1);
}
