//! Malformed submissions of any size: what is repeated, and where.

use crate::targets::GradingTarget;

/// What is repeated until the file is large.
const FILLERS: [(&str, &[u8]); 30] = [
    ("commas", b","),
    ("lines", b"\n"),
    ("returns", b"\r"),
    ("windows lines", b"\r\n"),
    ("empty rows", b",\n"),
    ("letters", b"a"),
    ("zeros", b"0"),
    ("nines", b"9"),
    ("quotes", b"\""),
    ("quoted nothing", b"\"\","),
    ("quoted commas", b"\",\""),
    ("spaces", b" "),
    ("tabs", b"\t"),
    ("short names", b"a,"),
    ("short numbers", b"0,"),
    ("ones", b"1 "),
    ("runs", b"1 1 "),
    ("rising runs", b"1 1 3 1 5 1 "),
    ("boxes", b"c0 1 0 0 1 1 "),
    ("labels", b"c0 c1 "),
    ("byte order marks", b"\xEF\xBB\xBF"),
    ("two-byte letters", "é".as_bytes()),
    ("broken letters", b"\xFF"),
    ("zero bytes", b"\0"),
    ("signs", b"-"),
    ("points", b"."),
    ("exponents", b"1e9"),
    ("blanks after returns", b"\r x"),
    ("indented lines", b" 1\n"),
    ("small rows", b"r0,1\n"),
];

/// Where it is repeated.
const PLACES: [&str; 9] = [
    "the whole file",
    "the header",
    "after the header",
    "the first id",
    "the first value",
    "the first value in quotes",
    "after the first row",
    "after all rows",
    "behind every row",
];

/// Shapes that are no repetition of one thing in one place.
const OTHERS: [&str; 9] = [
    "all rows again and again",
    "one row again and again",
    "rows with ids of their own",
    "rows that grow by a field each",
    "the header again and again",
    "every value a number of a thousand digits",
    "every value spaced out",
    "two bytes per letter",
    "columns of their own",
];

/// A shape by number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubmissionShape(usize);

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = SubmissionShape> {
    (0..FILLERS.len() * PLACES.len() + OTHERS.len()).map(SubmissionShape)
}

impl SubmissionShape {
    pub(crate) fn name(self) -> String {
        if let Some(other) = self.other() {
            return other.to_owned();
        }
        let (filler, place) = self.parts();
        format!("{} in {place}", FILLERS[filler].0)
    }

    fn other(self) -> Option<&'static str> {
        Some(OTHERS[self.0.checked_sub(FILLERS.len() * PLACES.len())?])
    }

    fn parts(self) -> (usize, &'static str) {
        (self.0 / PLACES.len(), PLACES[self.0 % PLACES.len()])
    }

    /// A submission of this shape with `size` bytes, or a little more or less.
    pub(crate) fn write(self, target: &GradingTarget, size: usize) -> Vec<u8> {
        let mut file = Vec::with_capacity(size + (1 << 16));
        if let Some(other) = self.other() {
            write_other(other, target, size, &mut file);
        } else {
            let (filler, place) = self.parts();
            write_filled(FILLERS[filler].1, place, target, size, &mut file);
        }
        file
    }
}

fn fill(file: &mut Vec<u8>, filler: &[u8], size: usize) {
    let block = filler.repeat(4096_usize.div_ceil(filler.len()));
    while file.len() + block.len() <= size {
        file.extend_from_slice(&block);
    }
    while file.len() < size {
        file.extend_from_slice(filler);
    }
}

fn write_filled(
    filler: &[u8],
    place: &str,
    target: &GradingTarget,
    size: usize,
    file: &mut Vec<u8>,
) {
    let header = target.header.join(",");
    let line = |row: &[String]| row.join(",") + "\n";
    let end = size.saturating_sub(1 << 10);
    if place != "the whole file" {
        file.extend_from_slice(header.as_bytes());
        if place == "the header" {
            fill(file, filler, end);
        }
        file.push(b'\n');
    }
    let first = &target.rows[0];
    match place {
        "the whole file" | "after the header" => fill(file, filler, size),
        "the first id" => {
            fill(file, filler, end);
            file.extend_from_slice(format!(",{}", line(&first[1..])).as_bytes());
        }
        "the first value" | "the first value in quotes" => {
            file.extend_from_slice(format!("{},", first[0]).as_bytes());
            let quoted = place != "the first value";
            file.extend(quoted.then_some(b'"'));
            fill(file, filler, end);
            file.extend(quoted.then_some(b'"'));
            for cell in &first[2..] {
                file.extend_from_slice(format!(",{cell}").as_bytes());
            }
            file.push(b'\n');
        }
        "after the first row" => {
            file.extend_from_slice(line(first).as_bytes());
            fill(file, filler, end);
        }
        _ => {}
    }
    let share = size / target.rows.len();
    let shown = if place == "the whole file" { 0 } else { target.rows.len() };
    for (index, row) in target.rows[..shown].iter().enumerate() {
        file.extend_from_slice(row.join(",").as_bytes());
        if place == "behind every row" {
            fill(file, filler, share * (index + 1));
        }
        file.push(b'\n');
    }
    if place == "after all rows" {
        fill(file, filler, size);
    }
}

fn write_other(name: &str, target: &GradingTarget, size: usize, file: &mut Vec<u8>) {
    let header = target.header.join(",") + "\n";
    let lines: Vec<String> = target.rows.iter().map(|row| row.join(",") + "\n").collect();
    if name == "two bytes per letter" {
        let text = header + &lines.concat();
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        return fill(file, &wide, size);
    }
    if name == "columns of their own" {
        let mut column = 0;
        while file.len() < size {
            file.extend_from_slice(format!("column {column},").as_bytes());
            column += 1;
        }
        return;
    }
    file.extend_from_slice(header.as_bytes());
    let mut number = 0;
    while file.len() < size {
        let row = &target.rows[number % target.rows.len()];
        match name {
            "all rows again and again" => file.extend_from_slice(lines.concat().as_bytes()),
            "one row again and again" => file.extend_from_slice(lines[0].as_bytes()),
            "rows with ids of their own" => {
                let cells = row[1..].join(",");
                file.extend_from_slice(format!("own {number},{cells}\n").as_bytes());
            }
            "rows that grow by a field each" => {
                let more = ",".repeat(number);
                file.extend_from_slice(format!("{}{more}\n", row.join(",")).as_bytes());
            }
            "the header again and again" => file.extend_from_slice(header.as_bytes()),
            _ => {
                let cell = |cell: &String| match name {
                    "every value spaced out" => cell.replace(' ', &" ".repeat(1 << 10)),
                    // Between two doubles, which takes all its digits to see.
                    _ if cell.parse::<f64>().is_ok() => {
                        format!(
                            "0.5000000000000001110223024625156540423631668090820312{}",
                            "5".repeat(1_000)
                        )
                    }
                    _ => cell.clone(),
                };
                let cells: Vec<String> = row[1..].iter().map(cell).collect();
                file.extend_from_slice(format!("{},{}\n", row[0], cells.join(",")).as_bytes());
            }
        }
        number += 1;
    }
}
