//! Small CSV files that are rarely plain: every type and what nearly is one, every line ending,
//! rows too short and too long, quotes in odd places, blanks, zero bytes and broken encodings.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tasks::stream::Stream;

const NAMES: [&str; 12] =
    ["id", "a", "a", "b", "", "a.1", "a.2", "Unnamed: 0", "Unnamed: 1.1", " x", "\"q,q\"", "é"];

const INTEGERS: [&str; 12] =
    ["0", "1", "2", "-3", "+4", "007", " 5", "6 ", "\t7\t", "-0", "42", "1234567890123"];

const LARGE: [&str; 14] = [
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "+18446744073709551615",
    "99999999999999999999.5",
    "99999999999999999999x",
    "-99999999999999999999",
    "-abc",
    "+",
    "-",
    "0",
];

const FLOATS: [&str; 26] = [
    "0.5",
    "1.",
    ".5",
    "-.5",
    "+1.5e3",
    "1E5",
    "1e-5",
    "1e",
    "1e+",
    "e5",
    ".",
    "0.1",
    "123456789.123456789123456789",
    "1e400",
    "-1e400",
    "1e-400",
    "2.2250738585072011e-308",
    "4.9e-324",
    "8.98846567431158e307",
    "inf",
    "-Inf",
    "+INFINITY",
    " inf",
    "infinit",
    "1.7976931348623157e308",
    " 2.5 ",
];

const BOOLEANS: [&str; 8] = ["True", "False", "TRUE", "false", "true", "fAlSe", " True", "Tru"];

const MISSING: [&str; 26] = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "NAN", " NA", "none", "\"\"",
    "+nan", "Nan", "\"NA\"",
];

const TEXTS: [&str; 22] = [
    "x",
    "the cat",
    "é",
    "\"a,b\"",
    "\"a\"\"b\"",
    "\"a\nb\"",
    "\"a\r\nb\"",
    "a\"b",
    "\"a\"b",
    "\"a\"b\"c",
    "x\0y",
    "\0",
    "1\x002",
    "0x10",
    "1_000",
    "1,",
    " ",
    "\t",
    "\u{feff}",
    "\u{a0}1",
    "#",
    "'1'",
];

const ENDS: [&str; 3] = ["\n", "\r\n", "\r"];

const SOUP: [&str; 22] = [
    ",",
    ",",
    "\n",
    "\n",
    "\r",
    "\r\n",
    "\"",
    "\"\"",
    " ",
    "\t",
    "1",
    "2.5",
    "a",
    "\0",
    "NA",
    "True",
    "\u{feff}",
    "é",
    "-",
    "e5",
    "9223372036854775808",
    "\n\n",
];

fn pick<'a>(rng: &mut ChaCha8Rng, choices: &[&'a str]) -> &'a str {
    choices[rng.random_range(0..choices.len())]
}

fn chance(rng: &mut ChaCha8Rng, percent: u32) -> bool {
    rng.random_range(0..100) < percent
}

/// A cell of a column whose cells are mostly alike.
fn cell<'a>(rng: &mut ChaCha8Rng, mood: usize) -> &'a str {
    let moods: [&[&str]; 6] = [&INTEGERS, &LARGE, &FLOATS, &BOOLEANS, &MISSING, &TEXTS];
    let all = rng.random_range(0..moods.len());
    match mood {
        // The same as some below, with gaps, and two types in one column.
        6..12 if chance(rng, 30) => pick(rng, &MISSING[..19]),
        16 if chance(rng, 50) => pick(rng, &LARGE[..5]),
        17 if chance(rng, 50) => pick(rng, &LARGE),
        // Clean columns of one type, so that every type is reached often.
        0 | 6 | 12 | 17 => pick(rng, &INTEGERS),
        1 => pick(rng, &LARGE[..3]),
        2 | 16 => pick(rng, &FLOATS[..7]),
        3 => pick(rng, &BOOLEANS[..6]),
        4 => pick(rng, &MISSING[..19]),
        5 => pick(rng, &TEXTS[..7]),
        7 | 13 => pick(rng, &LARGE),
        8 | 14 => pick(rng, &FLOATS),
        9 | 15 => pick(rng, &BOOLEANS),
        10 => pick(rng, &TEXTS),
        _ => pick(rng, moods[all]),
    }
}

fn table(rng: &mut ChaCha8Rng) -> String {
    let columns: usize = rng.random_range(1..=4);
    let end = rng.random_range(0..4);
    let tidy = chance(rng, 60);
    let mut text = String::new();
    if chance(rng, 5) {
        text.push('\u{feff}');
    }
    let moods: Vec<usize> = (0..columns).map(|_| rng.random_range(0..19)).collect();
    let rows = rng.random_range(0..8);
    for row in 0..=rows {
        if !tidy && chance(rng, 6) {
            text.push_str(pick(rng, &["", " ", "\t ", ","]));
            text.push_str(pick(rng, &ENDS));
        }
        let fields = match rng.random_range(0..20) {
            0 if !tidy => columns + 1,
            1 if !tidy => columns.saturating_sub(1).max(1),
            _ => columns,
        };
        let extra = usize::from(row == 1 && chance(rng, 6));
        for field in 0..fields + extra {
            if field > 0 {
                text.push(',');
            }
            if row == 0 {
                text.push_str(pick(rng, &NAMES));
            } else {
                text.push_str(cell(rng, moods.get(field).copied().unwrap_or(18)));
            }
        }
        if row < rows || chance(rng, 80) {
            let end = if end == 3 { rng.random_range(0..3) } else { end };
            text.push_str(ENDS[end]);
        }
    }
    text
}

/// The file of an index.
pub(crate) fn file(stream: Stream) -> Vec<u8> {
    let rng = &mut stream.rng();
    let text = if chance(rng, 75) {
        table(rng)
    } else {
        let pieces = rng.random_range(0..40);
        (0..pieces).map(|_| pick(rng, &SOUP)).collect()
    };
    let mut bytes = text.into_bytes();
    if !bytes.is_empty() && chance(rng, 2) {
        let place = rng.random_range(0..bytes.len());
        bytes[place] = rng.random();
    }
    bytes
}
