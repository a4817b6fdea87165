//! `PandasFrame` against pandas: names, types and every cell, to the bit.

use crate::{REFERENCE, files};
use serde_json::{Value, json};
use support::reference;
use tasks::mlebench::column::{PandasCell, PandasColumn};
use tasks::mlebench::frame::{FrameError, PandasFrame};
use tasks::stream::Stream;

const FILES: u64 = 10_000;

fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn cell(cell: PandasCell<&str>) -> String {
    match cell {
        PandasCell::Missing => "m".to_owned(),
        PandasCell::Boolean(value) => format!("b{}", u8::from(value)),
        PandasCell::Integer(value) => format!("i{value}"),
        PandasCell::Unsigned(value) => format!("i{value}"),
        PandasCell::Float(value) => format!("f{:016x}", value.to_bits()),
        PandasCell::Text(text) => format!("t{text}"),
    }
}

/// Equal neighbours once, with their number.
fn runs(column: &PandasColumn) -> Vec<(String, usize)> {
    let mut runs: Vec<(String, usize)> = Vec::new();
    let mut last = None;
    for next in column.cells() {
        // Writing a cell takes longer than comparing it; of zeros, the sign counts.
        let same = last == Some(next) && next != PandasCell::Float(0.0);
        let word = if same { None } else { Some(cell(next)) };
        last = Some(next);
        match (runs.last_mut(), word) {
            (Some((_, count)), None) => *count += 1,
            (Some((known, count)), Some(word)) if *known == word => *count += 1,
            (_, word) => runs.push((word.unwrap_or_default(), 1)),
        }
    }
    runs
}

fn ours(read: Result<PandasFrame, FrameError>) -> Value {
    match read {
        Ok(frame) => {
            let columns = frame.names().iter().zip(frame.columns());
            let columns: Vec<Value> =
                columns.map(|(name, column)| json!([name, column.dtype(), runs(column)])).collect();
            json!({"columns": columns, "rows": frame.rows()})
        }
        Err(FrameError::Encoding { .. }) => json!({"error": "UnicodeDecodeError"}),
        Err(FrameError::TooLarge { .. }) => panic!("none of the files is large"),
        Err(_) => json!({"error": "ParserError"}),
    }
}

#[test]
fn frames_agree_with_pandas() {
    let stream = Stream::root(1).child("csv files");
    let files: Vec<Vec<u8>> = (0..FILES).map(|index| files::file(stream.index(index))).collect();
    let request = |(index, bytes): (usize, &Vec<u8>)| json!({"bytes": latin(bytes), "whole": index.is_multiple_of(8)});
    let requests = files.iter().enumerate().map(request).collect();
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for (bytes, expected) in files.iter().zip(reference::ask(REFERENCE, requests)) {
        let ours = ours(PandasFrame::read(bytes));
        assert_eq!(ours, expected, "{:?}", String::from_utf8_lossy(bytes));
        let kinds = match &expected["error"] {
            Value::String(error) => vec![error.clone()],
            _ => expected["columns"]
                .as_array()
                .unwrap()
                .iter()
                .map(|column| column[1].as_str().unwrap().to_owned())
                .collect(),
        };
        for kind in kinds {
            *seen.entry(kind).or_default() += 1;
        }
    }
    for kind in
        ["int64", "uint64", "float64", "bool", "object", "ParserError", "UnicodeDecodeError"]
    {
        assert!(seen.get(kind).is_some_and(|count| *count >= 50), "{kind} is rare: {seen:?}");
    }
}

/// Files of several batches: what a batch decides alone, and how they are put together.
#[test]
fn large_frames_agree_with_pandas() {
    // A batch has 2^19 lines of one column, or 2^18 of two.
    let cases = [
        ("a\n", "1\n", 600_000, "x\n2\n"),
        ("a\n", "1\n", 600_000, "0.5\nNA\n"),
        ("a\n", "True\n", 600_000, "2\n"),
        ("a\n", "True\n", 600_000, "x\n\n \n"),
        ("a\n", "-1\n", 600_000, "18446744073709551615\n"),
        ("a\n", "18446744073709551615\n", 524_288, "-1\n"),
        ("a\n", "\n", 700_000, "9223372036854775808\nNA\n"),
        ("a\n", "1\n", 524_288, "2,3\n4\n5,6\n"),
        ("a\n", "1\n", 524_288, "2,3\n4,5,6\n"),
        ("a\n", "1\n", 524_287, "2,3\n"),
        ("a,b\n", "1,\0\n", 300_000, "NA,nan\n x,\"\"\n"),
        ("a,b\n7\n", "é,1.0\n", 300_000, "x\n"),
        ("a\n", "1\r", 524_288, " 2\r3\r"),
        ("a\r", "é", 262_200, "\r 1\r2"),
    ];
    let requests = cases
        .iter()
        .map(|(head, line, times, tail)| {
            let [head, line, tail] = [head, line, tail].map(|text| latin(text.as_bytes()));
            json!({"bytes": line, "times": times, "head": head, "tail": tail, "whole": true})
        })
        .collect();
    for ((head, line, times, tail), expected) in
        cases.iter().zip(reference::ask(REFERENCE, requests))
    {
        let text = format!("{head}{}{tail}", line.repeat(*times));
        assert_eq!(ours(PandasFrame::read(text.as_bytes())), expected, "{line:?} then {tail:?}");
    }
}
