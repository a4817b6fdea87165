//! Submissions read the plain way, whole tables at a time: what the parser must agree with.

use tasks::cells;
use tasks::prediction::Prediction;
use tasks::values::Values;

/// The values in the order of `ids`, or nothing.
pub(crate) fn parse(bytes: &[u8], ids: &[String], prediction: &Prediction) -> Option<Values> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if bytes.contains(&0) {
        return None;
    }
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(bytes);
    let header = reader.headers().ok()?.clone();
    let expected = [vec!["id"], prediction.columns()].concat();
    let place = |column: &&str| header.iter().position(|found| found == *column);
    let positions: Vec<usize> = expected.iter().map(place).collect::<Option<_>>()?;
    let mut rows: Vec<Option<Vec<String>>> = vec![None; ids.len()];
    for record in reader.records() {
        let record = record.ok()?;
        if header.len() != expected.len() || record.len() != header.len() {
            return None;
        }
        let cells: Vec<String> = positions.iter().map(|at| record[*at].to_owned()).collect();
        let row = &mut rows[ids.iter().position(|id| *id == cells[0])?];
        if row.replace(cells[1..].to_vec()).is_some() {
            return None;
        }
    }
    let rows: Vec<Vec<String>> = rows.into_iter().collect::<Option<_>>()?;
    let rows: Vec<&[String]> = rows.iter().map(Vec::as_slice).collect();
    cells::parse_predicted(prediction, &rows).ok()
}
