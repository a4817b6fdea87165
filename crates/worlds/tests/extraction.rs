//! The extraction of answers and programs against the released evaluation's regular expressions, in
//! Python.

use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use serde_json::Value;
use support::reference;
use tasks::stream::Stream;
use worlds::arithmetic::last_number;
use worlds::programs::program_of;

const REFERENCE: &str = "crates/worlds/tests/reference/extraction.py";
const TRIMMING: &str = "crates/worlds/tests/reference/trimming.py";
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

/// What texts with programs are put together from.
const CODE: [&str; 29] = [
    "```",
    "```\n",
    "```\n",
    "```python\n",
    "```",
    "```\n",
    "\n```",
    "```python\n",
    "```py thon\n",
    "```é_1\n",
    "`",
    "``",
    " ",
    "    ",
    "\n",
    "\n\n",
    "\t",
    "\u{b}",
    "\u{1c}",
    "\u{a0}",
    "\u{2003}",
    "def f(x):",
    "return x",
    "Sure:",
    "import re",
    "'",
    "#",
    "\r\n",
    "٣",
];

/// A text of fewer than `most` of these pieces.
fn text(pieces: &[&str], most: usize, stream: Stream) -> String {
    let mut rng = stream.rng();
    let count = rng.random_range(0..most);
    (0..count).filter_map(|_| pieces.choose(&mut rng)).copied().collect()
}

#[test]
fn trimming_agrees_with_the_released_one_on_fuzzed_texts() {
    let stream = Stream::root(0).child("trimming");
    let texts: Vec<String> = (0..CASES).map(|case| text(&CODE, 30, stream.index(case))).collect();
    let questions = texts.iter().map(|text| Value::from(text.as_str())).collect();
    let expected = reference::ask(TRIMMING, questions);
    for (text, expected) in texts.iter().zip(&expected) {
        assert_eq!(Some(program_of(text)), expected.as_str(), "{text:?}");
    }
    let fenced = texts.iter().filter(|text| !text.ends_with(program_of(text))).count() as u64;
    assert!((CASES / 4..CASES).contains(&fenced), "{fenced} texts have a block");
}

#[test]
fn extraction_agrees_with_the_released_one_on_fuzzed_texts() {
    let stream = Stream::root(0).child("extraction");
    let texts: Vec<String> = (0..CASES).map(|case| text(&PIECES, 14, stream.index(case))).collect();
    let questions = texts.iter().map(|text| Value::from(text.as_str())).collect();
    let expected = reference::ask(REFERENCE, questions);
    for (text, expected) in texts.iter().zip(&expected) {
        assert_eq!(last_number(text), expected.as_str(), "{text:?}");
    }
    let numbers = expected.iter().filter(|answer| answer.is_string()).count();
    assert!((CASES / 2..CASES).contains(&(numbers as u64)), "{numbers} texts have a number");
}
