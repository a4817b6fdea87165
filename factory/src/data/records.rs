//! Numbers that follow from a row's records, which stand in a file of their own.

use super::json_lines::to_json_lines;
use super::parquet::to_parquet;
use super::table;
use crate::numeric::draws::Draws;
use crate::numeric::moments::moments;
use crate::numeric::rounding::round;
use crate::spec::scenario::NumberColumn;
use crate::spec::structure::{RecordFormat, RecordSpec, Relation, date};
use polars::prelude::ParquetCompression;
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

/// How far values of one row lie apart, in standard deviations of the column.
const APART: f64 = 0.6;
/// Days on which there are records.
const DAYS: usize = 700;
/// Days between 1970-01-01 and the first record, at least and at most.
const FIRST: (usize, usize) = (16_000, 19_000);
/// Most records of a row that come from the source that counts, where there is one.
const COUNTED: usize = 3;

/// A record of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The row, by its place in natural order.
    pub row: usize,
    /// Days since 1970-01-01; no two records of a row have the same.
    pub day: i32,
    /// Where it comes from, by its place among the sources.
    pub source: usize,
    /// The item, where values stand in a catalogue.
    pub item: Option<usize>,
    /// The value, as it is written.
    pub value: f64,
}

/// The records of all rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Records {
    /// In an order that says nothing.
    pub all: Vec<Record>,
    /// The items of the catalogue with their values, as they are written; none without one.
    pub catalogue: Vec<(String, f64)>,
}

impl Records {
    /// Records from which the values of a column follow. Row `r` has the records of `like[r]`.
    pub(super) fn draw(
        spec: &RecordSpec,
        column: &NumberColumn,
        values: &[f64],
        like: &[usize],
        stream: Stream,
    ) -> Self {
        let mut draws = Draws::new(stream.child("records"));
        let catalogue = catalogue(spec, column, values, &mut draws);
        let first = draws.whole(FIRST.0, FIRST.1);
        let apart = APART * moments(values).1;
        let drawer = Drawer { spec, column, values, apart, first, catalogue: &catalogue };
        let own: Vec<Vec<Record>> =
            (0..values.len()).map(|row| drawer.of_row(row, &mut draws)).collect();
        let of = |(row, like): (usize, &usize)| {
            own[*like].iter().map(move |record| Record { row, ..record.clone() })
        };
        let mut all: Vec<Record> = like.iter().enumerate().flat_map(of).collect();
        draws.shuffle(&mut all);
        Self { all, catalogue }
    }

    /// The numbers of `rows` rows, by what the relation makes of their records; NaN for a row
    /// without any that counts.
    pub fn related(&self, spec: &RecordSpec, rows: usize) -> Vec<f64> {
        let mut of_row: Vec<Vec<&Record>> = vec![Vec::new(); rows];
        for record in &self.all {
            of_row[record.row].push(record);
        }
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let related = |records: &Vec<&Record>| match &spec.relation {
            Relation::Mean | Relation::Catalogue { .. } => {
                mean(records.iter().map(|record| record.value).collect())
            }
            Relation::Largest => {
                records.iter().map(|record| record.value).reduce(f64::max).unwrap_or(f64::NAN)
            }
            Relation::Latest => records
                .iter()
                .max_by_key(|record| record.day)
                .map_or(f64::NAN, |record| record.value),
            Relation::Source { name } => {
                let counts = |record: &&&Record| spec.source.words[record.source] == *name;
                mean(records.iter().filter(counts).map(|record| record.value).collect())
            }
        };
        of_row.iter().map(related).collect()
    }

    /// What is usually computed of records, for each of `rows` rows: their number, and the mean,
    /// least and largest value where they are written beside them.
    pub fn summaries(&self, rows: usize) -> Vec<Vec<f64>> {
        let mut counts = vec![0.0; rows];
        let (mut sums, mut least, mut largest) =
            (vec![0.0; rows], vec![f64::INFINITY; rows], vec![f64::NEG_INFINITY; rows]);
        for Record { row, value, .. } in &self.all {
            counts[*row] += 1.0;
            sums[*row] += value;
            least[*row] = least[*row].min(*value);
            largest[*row] = largest[*row].max(*value);
        }
        if !self.catalogue.is_empty() {
            return vec![counts];
        }
        let means = sums.iter().zip(&counts).map(|(sum, count)| sum / count).collect();
        vec![counts, means, least, largest]
    }

    /// The row of each record, in the order in which records are written.
    pub fn rows(&self, format: RecordFormat) -> Vec<usize> {
        let mut rows: Vec<usize> = self.all.iter().map(|record| record.row).collect();
        if format == RecordFormat::JsonLines {
            let mut first = BTreeMap::new();
            for (place, row) in rows.iter().enumerate() {
                first.entry(*row).or_insert(place);
            }
            rows.sort_by_key(|row| first[row]);
        }
        rows
    }

    /// The files, by their path within the public half: records, and items with their values where
    /// there is a catalogue. `ids` are those of the rows, in natural order.
    pub fn files(
        &self,
        spec: &RecordSpec,
        id: &str,
        ids: &[&str],
        decimals: usize,
    ) -> BTreeMap<String, Vec<u8>> {
        let each = || self.all.iter();
        let mut columns = vec![
            table::texts(id, each().map(|record| ids[record.row])),
            table::texts(&spec.day, each().map(|record| date(record.day))),
            table::texts(&spec.source.name, each().map(|r| &spec.source.words[r.source])),
        ];
        let decimals = decimals + 1;
        let mut files = BTreeMap::new();
        if let Relation::Catalogue { item, .. } = &spec.relation {
            let name = |record: &Record| record.item.map_or("", |item| &self.catalogue[item].0);
            columns.push(table::texts(item, each().map(name)));
            let (names, values): (Vec<&String>, Vec<f64>) =
                self.catalogue.iter().map(|(name, value)| (name, *value)).unzip();
            let catalogue = table::from_columns(vec![
                table::texts(item, names),
                table::numbers(&spec.of, &values, decimals),
            ]);
            files.extend(spec.catalogue_path().map(|path| (path, table::to_csv(&catalogue))));
        } else {
            let values: Vec<f64> = each().map(|record| record.value).collect();
            columns.push(table::numbers(&spec.of, &values, decimals));
        }
        let records = table::from_columns(columns);
        let bytes = match spec.format {
            RecordFormat::Csv => table::to_csv(&records),
            RecordFormat::JsonLines => to_json_lines(&records, &spec.file),
            RecordFormat::Parquet => to_parquet(&records, ParquetCompression::Uncompressed)
                .expect("numbers and texts can be written to memory"),
        };
        files.insert(spec.path(), bytes);
        files
    }
}

/// The items of a catalogue: their values are spread as those of the column are, and their names
/// say nothing.
fn catalogue(
    spec: &RecordSpec,
    column: &NumberColumn,
    values: &[f64],
    draws: &mut Draws,
) -> Vec<(String, f64)> {
    let Relation::Catalogue { items, .. } = spec.relation else { return Vec::new() };
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let letters: Vec<char> = ('A'..='Z').collect();
    let mut names = BTreeSet::new();
    while names.len() < items {
        let [first, second] = [*draws.pick(&letters), *draws.pick(&letters)];
        names.insert(format!("{first}{second}{:03}", draws.whole(0, 999)));
    }
    let mut names: Vec<String> = names.into_iter().collect();
    draws.shuffle(&mut names);
    let value = |(place, name): (usize, String)| {
        let at = place * (sorted.len() - 1) / (items - 1).max(1);
        (name, round(sorted[at], column.decimals + 1))
    };
    let mut catalogue: Vec<(String, f64)> = names.into_iter().enumerate().map(value).collect();
    catalogue.sort_by(|a, b| a.0.cmp(&b.0));
    catalogue
}

/// What the records of every row are drawn from.
struct Drawer<'a> {
    spec: &'a RecordSpec,
    column: &'a NumberColumn,
    /// The column's values, in natural order.
    values: &'a [f64],
    /// How far values of one row lie apart.
    apart: f64,
    /// The first day, in days since 1970-01-01.
    first: usize,
    catalogue: &'a [(String, f64)],
}

impl Drawer<'_> {
    /// The records of one row, in order of time.
    fn of_row(&self, row: usize, draws: &mut Draws) -> Vec<Record> {
        let (spec, value) = (self.spec, self.values[row]);
        let count = draws.whole(spec.least, spec.most);
        let mut days = BTreeSet::new();
        while days.len() < count {
            days.insert(self.first + draws.whole(0, DAYS - 1));
        }
        let record = |day: usize| Record {
            row,
            day: i32::try_from(day).unwrap_or(i32::MAX),
            source: draws.whole(0, spec.source.words.len() - 1),
            item: None,
            value: 0.0,
        };
        let mut records: Vec<Record> = days.into_iter().map(record).collect();
        match &spec.relation {
            Relation::Mean => {
                let around = self.around(value, count, draws);
                for (record, value) in records.iter_mut().zip(around) {
                    record.value = self.written(value);
                }
            }
            Relation::Largest => {
                for record in &mut records {
                    let below = draws.between(self.column.low.min(value), value);
                    record.value = self.written(below);
                }
                records[draws.whole(0, count - 1)].value = self.written(value);
            }
            Relation::Latest => {
                for record in &mut records {
                    record.value = self.written(*draws.pick(self.values));
                }
                records[count - 1].value = self.written(value);
            }
            Relation::Source { name } => self.of_source(&mut records, name, value, draws),
            Relation::Catalogue { .. } => {
                // What one item's value is off is made good by the next one.
                let mut missing = 0.0;
                for (record, wanted) in records.iter_mut().zip(self.around(value, count, draws)) {
                    let gap = |item: &usize| (self.catalogue[*item].1 - wanted - missing).abs();
                    let items = 0..self.catalogue.len();
                    let nearest = items.min_by(|a, b| gap(a).total_cmp(&gap(b))).unwrap_or(0);
                    record.item = Some(nearest);
                    record.value = self.catalogue[nearest].1;
                    missing += wanted - record.value;
                }
            }
        }
        records
    }

    /// Gives some records the source that counts, and the others values of other rows.
    fn of_source(&self, records: &mut [Record], name: &str, value: f64, draws: &mut Draws) {
        let words = &self.spec.source.words;
        let counts = words.iter().position(|word| word == name).unwrap_or(0);
        let mut places: Vec<usize> = (0..records.len()).collect();
        draws.shuffle(&mut places);
        let counted = draws.whole(1, COUNTED.min(records.len()));
        let around = self.around(value, counted, draws);
        for (at, place) in places.into_iter().enumerate() {
            let record = &mut records[place];
            if let Some(value) = around.get(at) {
                (record.source, record.value) = (counts, self.written(*value));
            } else {
                record.source = (counts + draws.whole(1, words.len() - 1)) % words.len();
                record.value = self.written(*draws.pick(self.values));
            }
        }
    }

    /// A value with a decimal more than the column has.
    fn written(&self, value: f64) -> f64 {
        round(value, self.column.decimals + 1)
    }

    /// So many values around one, which is their mean, within the column's bounds.
    fn around(&self, value: f64, count: usize, draws: &mut Draws) -> Vec<f64> {
        let mut gaps: Vec<f64> = (0..count).map(|_| self.apart * draws.normal()).collect();
        let mean = gaps.iter().sum::<f64>() / count as f64;
        for gap in &mut gaps {
            *gap -= mean;
        }
        // The room on the side on which a gap leads away; none for a value beyond the bounds.
        let room = |gap: f64| {
            let NumberColumn { low, high, .. } = self.column;
            let bound = if gap > 0.0 { high - value } else { value - low };
            (bound.max(0.0) / gap.abs().max(1e-12)).min(1.0)
        };
        let scale = gaps.iter().map(|gap| room(*gap)).fold(1.0, f64::min);
        gaps.into_iter().map(|gap| value + scale * gap).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::parquet::read_parquet;
    use crate::data::table::Cells;
    use crate::data::table_file::read_table;
    use crate::numeric::linear::Linear;
    use crate::numeric::matrix::from_columns;
    use crate::spec::scenario::WordColumn;
    use polars::prelude::DataType;

    fn relations() -> [Relation; 5] {
        [
            Relation::Mean,
            Relation::Largest,
            Relation::Latest,
            Relation::Source { name: "manual".to_owned() },
            Relation::Catalogue {
                file: "catalogue".to_owned(),
                item: "item".to_owned(),
                items: 150,
            },
        ]
    }

    fn spec(relation: Relation) -> RecordSpec {
        RecordSpec {
            of: "load".to_owned(),
            relation,
            file: "visits".to_owned(),
            day: "day".to_owned(),
            source: WordColumn::try_from("source: device manual import".to_owned()).unwrap(),
            least: 4,
            most: 9,
            format: RecordFormat::Csv,
        }
    }

    fn values() -> (NumberColumn, Vec<f64>) {
        let column: NumberColumn = "load 0 50 u 1".parse().unwrap();
        let mut draws = Draws::new(Stream::root(4));
        let values = (0..600).map(|_| round(draws.between(0.0, 50.0), 1)).collect();
        (column, values)
    }

    fn drawn(relation: Relation) -> (RecordSpec, Vec<f64>, Records) {
        let (spec, (column, values)) = (spec(relation), values());
        let like: Vec<usize> = (0..values.len()).collect();
        let records = Records::draw(&spec, &column, &values, &like, Stream::root(3));
        (spec, values, records)
    }

    #[test]
    fn values_follow_from_records() {
        for relation in relations() {
            let (spec, values, records) = drawn(relation);
            let related = records.related(&spec, values.len());
            for (found, value) in related.iter().zip(&values) {
                assert!((found - value).abs() < 0.4, "{:?}: {found}, not {value}", spec.relation);
            }
            let counts = &records.summaries(values.len())[0];
            assert!(counts.iter().all(|count| (4.0..=9.0).contains(count)));
        }
    }

    #[test]
    fn what_is_usually_computed_finds_what_is_trained_on_and_hardly_what_is_held_out() {
        for relation in relations() {
            let (spec, values, records) = drawn(relation);
            let mut columns = records.summaries(values.len());
            columns.push(columns[0].iter().map(|_| 1.0).collect());
            let inputs = from_columns(values.len(), &columns);
            let fitted = Linear::ridge(&inputs, &values, 1e-6).score(&inputs);
            let total: f64 = values.iter().map(|value| (value - 25.0).powi(2)).sum();
            let left: f64 =
                values.iter().zip(&fitted).map(|(value, fit)| (value - fit).powi(2)).sum();
            let explained = 1.0 - left / total;
            let held_out = spec.relation.is_held_out();
            assert_eq!(explained < 0.5, held_out, "{:?}: {explained}", spec.relation);
        }
    }

    #[test]
    fn rows_that_repeat_others_have_their_records() {
        let (spec, (column, values)) = (spec(Relation::Mean), values());
        let mut like: Vec<usize> = (0..values.len()).collect();
        like[7] = 3;
        let records = Records::draw(&spec, &column, &values, &like, Stream::root(3));
        let related = records.related(&spec, values.len());
        assert_eq!(related[7].to_bits(), related[3].to_bits());
    }

    #[test]
    fn files_hold_every_record_and_every_item() {
        let (spec, values, records) = drawn(relations()[4].clone());
        let names: Vec<String> = (0..values.len()).map(|row| format!("r{row}")).collect();
        let ids: Vec<&str> = names.iter().map(String::as_str).collect();
        let files = records.files(&spec, "load_id", &ids, 1);
        let lines = |path: &str| String::from_utf8(files[path].clone()).unwrap();
        assert!(lines("visits.csv").starts_with("load_id,day,source,item\nr"));
        assert_eq!(lines("visits.csv").lines().count(), records.all.len() + 1);
        assert!(lines("catalogue.csv").starts_with("item,load\n"));
        assert_eq!(lines("catalogue.csv").lines().count(), 151);
    }

    #[test]
    fn lines_of_json_hold_the_records_of_a_row_each() {
        let (spec, values, records) = drawn(Relation::Mean);
        let spec = RecordSpec { format: RecordFormat::JsonLines, ..spec };
        let names: Vec<String> = (0..values.len()).map(|row| format!("r{row}")).collect();
        let ids: Vec<&str> = names.iter().map(String::as_str).collect();
        let files = records.files(&spec, "load_id", &ids, 1);
        let bytes = &files["visits.jsonl"];
        assert_eq!(bytes.split(|byte| *byte == b'\n').count(), values.len() + 1);
        let read = read_table("visits.jsonl", bytes, "load_id").unwrap();
        let written: Vec<&str> =
            records.rows(spec.format).into_iter().map(|row| ids[row]).collect();
        assert_eq!(table::cells(&read, "load_id"), Some(Cells::Text(written)));
        assert_eq!(read.get_column_names(), ["load_id", "day", "load", "source"]);
    }

    #[test]
    fn parquet_holds_what_csv_does_and_is_written_alike_each_time() {
        for relation in relations() {
            let (spec, values, records) = drawn(relation);
            let names: Vec<String> = (0..values.len()).map(|row| format!("r{row}")).collect();
            let ids: Vec<&str> = names.iter().map(String::as_str).collect();
            let files = |format: RecordFormat| {
                let spec = RecordSpec { format, ..spec.clone() };
                records.files(&spec, "load_id", &ids, 1)
            };
            let [csv, found] = [RecordFormat::Csv, RecordFormat::Parquet].map(files);
            assert!(found == files(RecordFormat::Parquet));
            assert_eq!(found.get("catalogue.csv"), csv.get("catalogue.csv"));
            assert!(!found.contains_key("visits.csv"));
            let bytes = &found["visits.parquet"];
            let read = read_table("visits.parquet", bytes, "load_id").unwrap();
            let expected = read_table("visits.csv", &csv["visits.csv"], "load_id").unwrap();
            assert!(read.equals(&expected), "{read} {expected}");
            let last = read_parquet(bytes).unwrap().dtypes().pop();
            let text = matches!(spec.relation, Relation::Catalogue { .. });
            assert_eq!(last, Some(if text { DataType::String } else { DataType::Float64 }));
            assert_eq!(records.rows(RecordFormat::Parquet), records.rows(RecordFormat::Csv));
        }
    }
}
