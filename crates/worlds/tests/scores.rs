//! Scores against scikit-learn, rouge-score, nltk, and pairs that TableBench's functions judged.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use support::reference;
use tasks::stream::Stream;
use worlds::score::{
    TableRule, boxed_integer, corpus_bleu, exact_match, final_answer, macro_f1, match_within,
    rouge_l, set_f1,
};

const REFERENCE: &str = "crates/worlds/tests/reference/scores.py";
const CASES: u64 = 2000;

fn rngs(name: &str) -> impl Iterator<Item = ChaCha8Rng> {
    let stream = Stream::root(0).child("scores").child(name);
    (0..CASES).map(move |case| stream.index(case).rng())
}

/// Up to `most` pieces in a row.
fn text(pieces: &[&str], most: usize, rng: &mut ChaCha8Rng) -> String {
    let length = rng.random_range(0..=most);
    (0..length).filter_map(|_| pieces.choose(rng)).copied().collect()
}

/// Asks the reference what each case comes to.
fn ask(name: &str, cases: impl IntoIterator<Item = Vec<Value>>) -> Vec<Value> {
    let question = |arguments: Vec<Value>| {
        Value::Array(std::iter::once(json!(name)).chain(arguments).collect())
    };
    reference::ask(REFERENCE, cases.into_iter().map(question).collect())
}

/// Compares scores, and asks that some are 0, some 1 and some between.
fn compare(found: &[f64], expected: &[Value], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (case, (found, expected)) in found.iter().zip(expected).enumerate() {
        let expected = expected.as_f64().unwrap();
        assert!((found - expected).abs() <= tolerance, "{case}: {found} and {expected}");
    }
    let count = |condition: fn(&f64) -> bool| found.iter().filter(|one| condition(one)).count();
    let parts = [count(|&one| one == 0.0), count(|&one| one > 0.99), count(|&one| one > 0.01)];
    assert!(parts.iter().all(|&count| count > 20) && parts[2] > parts[1] + 20, "{parts:?}");
}

#[test]
fn set_f1_agrees_with_scikit_learn() {
    let draw = |rng: &mut ChaCha8Rng| -> BTreeSet<char> {
        let letters: Vec<char> = ('A'..='H').collect();
        let count = rng.random_range(0..4);
        letters.sample(rng, count).copied().collect()
    };
    let cases: Vec<_> = rngs("sets").map(|mut rng| (draw(&mut rng), draw(&mut rng))).collect();
    let expected = ask("set_f1", cases.iter().map(|(a, b)| vec![json!(a), json!(b)]));
    let found: Vec<f64> = cases.iter().map(|(truth, answer)| set_f1(truth, answer)).collect();
    compare(&found, &expected, 1e-12);
}

#[test]
fn macro_f1_agrees_with_scikit_learn() {
    let draw = |mut rng: ChaCha8Rng| {
        let (rows, right) = (rng.random_range(1..30), rng.random_range(0.0..=1.0));
        let truth: Vec<usize> = (0..rows).map(|_| rng.random_range(0..3)).collect();
        let answer = |truth: &usize| {
            let is_right = rng.random_range(0.0..1.0) < right;
            let class = if is_right { *truth } else { rng.random_range(0..4) };
            (class < 3).then_some(class)
        };
        let answers: Vec<Option<usize>> = truth.iter().map(answer).collect();
        (truth, answers)
    };
    let cases: Vec<_> = rngs("classes").map(draw).collect();
    let expected = ask("macro_f1", cases.iter().map(|(a, b)| vec![json!(a), json!(b), json!(3)]));
    let found: Vec<f64> =
        cases.iter().map(|(truth, answers)| macro_f1(truth, answers, 3)).collect();
    compare(&found, &expected, 1e-12);
}

#[test]
fn rouge_l_agrees_with_rouge_score() {
    let pieces =
        ["the ", "Bears ", "rise", " with ", "3.14", " ", "-", "ice-cream ", "é", "SALES ", "a "];
    let draw = |mut rng: ChaCha8Rng| {
        let truth = text(&pieces, 12, &mut rng);
        match rng.random_range(0..6) {
            0 => (truth.to_uppercase(), truth),
            _ => (text(&pieces, 12, &mut rng), truth),
        }
    };
    let cases: Vec<_> = rngs("rouge").map(draw).collect();
    let expected = ask("rouge", cases.iter().map(|(a, b)| vec![json!(a), json!(b)]));
    let found: Vec<f64> = cases.iter().map(|(truth, answer)| rouge_l(truth, answer)).collect();
    compare(&found, &expected, 1e-12);
}

#[test]
fn bleu_agrees_with_nltk() {
    let pieces = ["C", "c1", "O", "(=O)", "N", "Cl", "ccc", "1", "[nH]", "=", "#"];
    let draw = |mut rng: ChaCha8Rng| {
        let pairs = rng.random_range(1..4);
        let mut pair = || {
            let truth = text(&pieces, 10, &mut rng);
            let answer = match rng.random_range(0..4) {
                0 => truth.clone(),
                1 => truth.chars().rev().collect(),
                _ => text(&pieces, 10, &mut rng),
            };
            [truth, answer]
        };
        (0..pairs).map(|_| pair()).collect::<Vec<_>>()
    };
    let cases: Vec<Vec<[String; 2]>> = rngs("bleu").map(draw).collect();
    let expected = ask("bleu", cases.iter().map(|pairs| vec![json!(pairs)]));
    let of = |pairs: &Vec<[String; 2]>| {
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|[a, b]| (a.as_str(), b.as_str())).collect();
        corpus_bleu(&pairs)
    };
    let found: Vec<f64> = cases.iter().map(of).collect();
    compare(&found, &expected, 1e-12);
}

#[test]
fn boxes_are_read_as_the_reference_reads_them() {
    let pieces = [
        "\\boxed{",
        "}",
        "{",
        "4",
        "42",
        "-",
        " ",
        "$",
        ",",
        "007",
        "1,234",
        "\\boxed{7}",
        "x",
        "\n",
        "12",
    ];
    let cases: Vec<String> = rngs("boxes").map(|mut rng| text(&pieces, 9, &mut rng)).collect();
    let expected = ask("boxed", cases.iter().map(|text| vec![json!(text)]));
    let mut numbers = 0;
    for (text, expected) in cases.iter().zip(&expected) {
        assert_eq!(boxed_integer(text).ok(), expected.as_i64(), "{text:?}");
        numbers += u64::from(expected.is_number());
    }
    assert!((CASES / 10..CASES).contains(&numbers), "{numbers} numbers");
}

#[test]
fn final_answers_are_read_as_the_published_pattern_reads_them() {
    let pieces =
        ["Final Answer:", "Final Answer: ", " ", "\n", "7", "Oslo, 3", ".", "answer: ", "\r"];
    let cases: Vec<String> = rngs("answers").map(|mut rng| text(&pieces, 7, &mut rng)).collect();
    let expected = ask("final_answer", cases.iter().map(|text| vec![json!(text)]));
    for (text, expected) in cases.iter().zip(&expected) {
        assert_eq!(final_answer(text).ok(), expected.as_str(), "{text:?}");
    }
    let read = expected.iter().filter(|answer| answer.is_string()).count();
    assert!(read > 300, "{read}");
}

/// Rows of truth, answer, and what TableBench's `compute_em` and `compute_em_with_tolerance` (10 %)
/// gave, commit 6c61a20: first on texts in lower case without blanks around them, then on texts that
/// its `normalize_answer` had gone over.
#[test]
fn table_answers_are_judged_as_tablebench_judges_them() {
    let pairs = include_str!("reference/tablebench.jsonl");
    assert!(pairs.lines().count() >= 1500);
    for line in pairs.lines() {
        let (truth, answer, scores): (String, String, [f64; 4]) = {
            let row: Vec<Value> = serde_json::from_str(line).unwrap();
            let text = |at: usize| row[at].as_str().unwrap().to_owned();
            (text(0), text(1), [2, 3, 4, 5].map(|at| row[at].as_f64().unwrap()))
        };
        let found = [
            exact_match(&truth, &answer, TableRule::Strict),
            match_within(&truth, &answer, 0.1, TableRule::Strict),
            exact_match(&truth, &answer, TableRule::TableBench),
            match_within(&truth, &answer, 0.1, TableRule::TableBench),
        ];
        for (found, expected) in found.iter().zip(scores) {
            assert!((found - expected).abs() < 1e-9, "{line}: {found} and {expected}");
        }
    }
}
