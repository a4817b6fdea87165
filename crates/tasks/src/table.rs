//! A CSV file read row by row, in memory that its reader's needs bound and not the file.
//!
//! The caller gives the columns that a table must have and the longest cell of each.
//! Anything beyond is counted and thrown away while it is read: fields that the header has not,
//! the rest of a cell that is too long, names in a header that is another's.

use crate::submission::SubmissionError;
use crate::text::is_active;
use csv_core::ReadRecordResult;

/// Names of a header that a refusal shows.
const SHOWN: usize = 30;
/// Bytes of a header beside the names that it must have: spaces, quotes, and what a refusal shows.
const HEADER_SLACK: usize = 8 << 10;
/// Where the buffer of a row starts to grow from.
const FIRST_ROOM: usize = 4 << 10;

/// A table with the header that was asked for.
pub(crate) struct CsvTable<'a> {
    core: Box<csv_core::Reader>,
    bytes: &'a [u8],
    /// Offset of the next byte to read.
    at: usize,
    /// Records read, the header among them.
    records: u64,
    /// Where each of the expected columns stands.
    positions: Vec<usize>,
    /// The most bytes of a cell, column by column as they stand in the file.
    most: Vec<usize>,
    text: Vec<u8>,
    /// Where each kept field ends, what was thrown away counted in.
    ends: Vec<usize>,
    /// Bytes of `text` in use.
    length: usize,
    /// A buffer for bytes that are skipped.
    rest: Vec<u8>,
    rest_ends: Vec<usize>,
}

/// One row, its cells in the order of the expected columns and without surrounding spaces.
pub(crate) struct CsvRow<'t> {
    /// 1-based line where it begins, or where the blank lines before it do.
    pub(crate) line: u64,
    pub(crate) cells: Vec<&'t str>,
    /// The first column whose cell is longer than it may be; only its beginning is there.
    pub(crate) cut: Option<usize>,
}

/// Where a record stands.
struct RecordPosition {
    number: u64,
    line: u64,
    byte: usize,
    /// How many fields it has, kept or not.
    fields: usize,
}

impl<'a> CsvTable<'a> {
    /// Reads the header, which must have the `expected` columns in any order. A cell of each may
    /// have `most` bytes, in the same order.
    pub(crate) fn open(
        bytes: &'a [u8],
        expected: &[&str],
        most: &[usize],
    ) -> Result<Self, SubmissionError> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        if bytes.contains(&0) {
            return Err(SubmissionError::Csv("it contains NUL bytes".to_owned()));
        }
        let mut table = Self {
            core: Box::new(csv_core::Reader::new()),
            bytes,
            at: 0,
            records: 0,
            positions: Vec::new(),
            most: Vec::new(),
            text: Vec::new(),
            ends: vec![0; expected.len().max(SHOWN)],
            length: 0,
            rest: vec![0; 4 << 10],
            rest_ends: vec![0; 512],
        };
        let names: usize = expected.iter().map(|name| name.len()).sum();
        let Some(place) = table.read(names.saturating_add(HEADER_SLACK)) else {
            return Err(SubmissionError::Empty);
        };
        let kept = place.fields.min(table.ends.len());
        let header = (0..kept).map(|field| table.field(field, &place));
        let header: Vec<&str> = header.collect::<Result<_, _>>()?;
        let positions: Option<Vec<usize>> =
            expected.iter().map(|column| header.iter().position(|found| found == column)).collect();
        let whole = place.fields == expected.len() && table.ends[kept - 1] == table.length;
        let Some(positions) = positions.filter(|_| whole) else {
            return Err(SubmissionError::Columns {
                found: table.shown(&header, place.fields),
                expected: expected.iter().map(|column| (*column).to_owned()).collect(),
            });
        };
        // Of a name that occurs twice, only the first column is used.
        table.most = vec![most.iter().copied().max().unwrap_or(0); expected.len()];
        for (position, most) in positions.iter().zip(most) {
            table.most[*position] = *most;
        }
        table.positions = positions;
        table.ends.truncate(expected.len());
        Ok(table)
    }

    /// The next row; nothing after the last.
    pub(crate) fn next(&mut self) -> Result<Option<CsvRow<'_>>, SubmissionError> {
        let room = self.most.iter().fold(0, |sum: usize, most| sum.saturating_add(*most));
        let Some(place) = self.read(room) else { return Ok(None) };
        let (found, expected) = (place.fields, self.most.len());
        if found != expected {
            return Err(SubmissionError::Fields { line: place.line, found, expected });
        }
        let cells = self.positions.iter().map(|field| self.field(*field, &place));
        let cells = cells.collect::<Result<_, _>>()?;
        let too_long = |field: &usize| {
            let (start, end) = self.ends_of(*field);
            end - start > self.most[*field]
        };
        let cut = self.positions.iter().position(too_long);
        Ok(Some(CsvRow { line: place.line, cells, cut }))
    }

    /// Reads a record and keeps at most `room` bytes of it.
    fn read(&mut self, room: usize) -> Option<RecordPosition> {
        let (line, byte) = (self.core.line(), self.at);
        let mut fields = 0;
        self.length = 0;
        loop {
            let input = &self.bytes[self.at..];
            if self.length == self.text.len() && self.length < room && !input.is_empty() {
                let more = self.length.max(FIRST_ROOM).min(input.len());
                self.text.reserve_exact(more.min(room - self.length));
                self.text.resize((self.length + more).min(room), 0);
            }
            let kept = self.length < self.text.len().min(room);
            let end = self.text.len().min(room);
            let output =
                if kept { &mut self.text[self.length..end] } else { self.rest.as_mut_slice() };
            let ends = match self.ends.get_mut(fields..) {
                Some(ends) if !ends.is_empty() => ends,
                _ => self.rest_ends.as_mut_slice(),
            };
            let (result, used, written, ended) = self.core.read_record(input, output, ends);
            self.at += used;
            fields += ended;
            if kept {
                self.length += written;
            }
            match result {
                // At the end of the file, the next call reports an open quote.
                ReadRecordResult::InputEmpty
                | ReadRecordResult::OutputFull
                | ReadRecordResult::OutputEndsFull => {}
                ReadRecordResult::End => return None,
                ReadRecordResult::Record => break,
            }
        }
        let number = self.records;
        self.records += 1;
        Some(RecordPosition { number, line, byte, fields })
    }

    /// Where a kept field begins and ends, with what was thrown away.
    fn ends_of(&self, field: usize) -> (usize, usize) {
        (field.checked_sub(1).map_or(0, |before| self.ends[before]), self.ends[field])
    }

    /// What is there of a kept field.
    fn field(&self, field: usize, place: &RecordPosition) -> Result<&str, SubmissionError> {
        let (start, end) = self.ends_of(field);
        let bytes = &self.text[start.min(self.length)..end.min(self.length)];
        let text = match str::from_utf8(bytes) {
            Ok(text) => text,
            // A character may have been cut in two.
            Err(error) if end > self.length && error.error_len().is_none() => {
                str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(error) => {
                let (RecordPosition { number, line, byte, .. }, near) =
                    (place, error.valid_up_to());
                return Err(SubmissionError::Csv(format!(
                    "CSV parse error: record {number} (line {line}, field: {field}, byte: \
                     {byte}): invalid utf-8: invalid UTF-8 in field {field} near byte index {near}"
                )));
            }
        };
        Ok(text.trim())
    }

    /// The first names of a header of so many, so that an error message stays a message.
    fn shown(&self, header: &[&str], fields: usize) -> Vec<String> {
        let mut names = Vec::new();
        for (field, name) in header.iter().take(SHOWN).enumerate() {
            let (start, end) = self.ends_of(field);
            if start > self.length {
                break;
            }
            // The dots of a name that is cut stay, however short what is left of it.
            let name = if end > self.length { format!("{name}...") } else { (*name).to_owned() };
            names.push(shorten(&name));
        }
        if fields > names.len() {
            names.push(format!("... and {} more", fields - names.len()));
        }
        names
    }
}

/// At most 40 characters of a cell, so that an error message stays a message. What would steer a
/// terminal or break a line is shown by its code.
pub(crate) fn shorten(cell: &str) -> String {
    const MOST: usize = 40;
    let mut shown = String::new();
    let (mut length, mut cut) = (0, 0);
    for character in cell.chars() {
        let text = if is_active(character) {
            character.escape_default().to_string()
        } else {
            character.to_string()
        };
        length += text.chars().count();
        if length > MOST {
            shown.truncate(cut);
            shown.push_str("...");
            return shown;
        }
        shown.push_str(&text);
        if length <= MOST - "...".len() {
            cut = shown.len();
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(csv: &str, most: [usize; 2]) -> Result<Vec<Vec<String>>, String> {
        let mut table = CsvTable::open(csv.as_bytes(), &["id", "y"], &most)
            .map_err(|error| error.to_string())?;
        let mut rows = Vec::new();
        while let Some(row) = table.next().map_err(|error| error.to_string())? {
            let cut = row.cut.map(|column| format!("cut {column}"));
            rows.push(row.cells.into_iter().map(str::to_owned).chain(cut).collect());
        }
        Ok(rows)
    }

    #[test]
    fn cells_stand_in_the_order_asked_for_and_long_ones_are_cut() {
        let read = rows("y,id\n 1 ,a\n\n\"2\n3\",\"b\"\"\"\n", [9, 9]).unwrap();
        assert_eq!(read, [["a", "1"], ["b\"", "2\n3"]]);
        let read = rows("y,id\n1234,a\n1,abc\n1234,abc\n123,ab", [2, 3]).unwrap();
        assert_eq!(read[0], ["a", "1234", "cut 1"]);
        assert_eq!(read[1], ["abc", "1", "cut 0"]);
        // What is kept is bounded over the row: its last cell is gone.
        assert_eq!(read[2], ["a", "1234", "cut 0"]);
        assert_eq!(read[3], ["ab", "123"]);
        // Two letters of two bytes each, of which three bytes are kept.
        let read = rows("id,y\näöü,\n", [2, 1]).unwrap();
        assert_eq!(read, [["ä", "", "cut 0"]]);
    }

    #[test]
    fn surplus_is_counted_and_not_kept() {
        let many = ",".repeat(9_999);
        let error = |csv: &str| rows(csv, [9, 9]).unwrap_err();
        assert_eq!(
            error(&format!("id,y\na,1{many}\n")),
            "line 2 has 10001 fields, the header has 2"
        );
        assert!(error(&format!("id,y{many}\n")).contains("... and 9971 more], expected exactly"));
        let long = "x".repeat(100_000);
        let message = error(&format!("id,{long},z\n"));
        let cut = format!("the columns are [id, {}..., ... and 1 more]", &long[..37]);
        assert!(message.starts_with(&cut), "{message}");
        // Even the right names are refused behind more spaces than anybody writes.
        assert!(error(&format!("id,{}y\n", " ".repeat(100_000))).contains("expected exactly"));
    }

    #[test]
    fn quotes_are_short_and_on_one_line() {
        assert_eq!(shorten("plain é 名"), "plain é 名");
        assert_eq!(shorten("a\nb\u{1b}[2J\u{202e}"), "a\\nb\\u{1b}[2J\\u{202e}");
        assert_eq!(shorten(&"é".repeat(40)), "é".repeat(40));
        assert_eq!(shorten(&"é".repeat(41)), format!("{}...", "é".repeat(37)));
        let steered = shorten(&"\u{1b}".repeat(100));
        assert_eq!(steered, format!("{}...", "\\u{1b}".repeat(6)));
    }
}
