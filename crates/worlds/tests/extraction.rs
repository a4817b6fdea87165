//! The extraction of answers against the released evaluation's regular expression, in Python.

use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use serde_json::Value;
use support::reference;
use tasks::stream::Stream;
use worlds::arithmetic::last_number;

const REFERENCE: &str = "crates/worlds/tests/reference/extraction.py";
const CASES: u64 = 3000;
/// What texts are put together from.
const PIECES: [&str; 28] = [
    "0",
    "7",
    "42",
    "1000",
    "-",
    "--",
    ".",
    "..",
    ",",
    " ",
    "\n",
    "####",
    "#### ",
    "Question:",
    "Question",
    "question:",
    "Answer: ",
    "a",
    "é",
    "½",
    "٣",
    "<<3*4=12>>",
    "$",
    "%",
    "1.5",
    "-2.25",
    "= ",
    "The answer is ",
];

#[test]
fn extraction_agrees_with_the_released_one_on_fuzzed_texts() {
    let text = |case: u64| {
        let mut rng = Stream::root(0).child("extraction").index(case).rng();
        let pieces = rng.random_range(0..14);
        (0..pieces).filter_map(|_| PIECES.choose(&mut rng)).copied().collect::<String>()
    };
    let texts: Vec<String> = (0..CASES).map(text).collect();
    let questions = texts.iter().map(|text| Value::from(text.as_str())).collect();
    let expected = reference::ask(REFERENCE, questions);
    for (text, expected) in texts.iter().zip(&expected) {
        assert_eq!(last_number(text), expected.as_str(), "{text:?}");
    }
    let numbers = expected.iter().filter(|answer| answer.is_string()).count();
    assert!((CASES / 2..CASES).contains(&(numbers as u64)), "{numbers} texts have a number");
}
