//! How rows hang together beyond their columns: groups, dates, readings in lists, zeros, records in
//! further files, places on a map.

use crate::spec::scenario::WordColumn;
use camino::Utf8Path;
use serde::{Deserialize, Serialize};

/// What a task's rows have beyond independent columns, each part only where the seed has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowStructure {
    /// Groups of rows that are alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupSpec>,
    /// Dates of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dates: Option<DateSpec>,
    /// A column that is zero for most rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zeros: Option<ZeroSpec>,
    /// A column that is written as a list of readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readings: Option<ReadingSpec>,
    /// A column that follows from records in a file of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordSpec>,
    /// A distance that follows from the places of a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<PlaceSpec>,
}

/// Groups of rows. Groups of test rows have no training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSpec {
    /// The column that names a row's group.
    pub column: String,
    /// Training rows per group, in the mean.
    pub size: usize,
    /// Number columns in which rows of a group are alike.
    pub columns: Vec<String>,
    /// Share of those columns' variance that lies between groups, in [0, 1).
    pub alike: f64,
    /// Size of what a group adds to the scores of its rows, in standard deviations of the score.
    pub shift: f64,
    /// Coarser groups that the groups are nested in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<ParentSpec>,
}

/// Coarser groups, which training and test rows share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParentSpec {
    /// The column that names a row's coarser group.
    pub column: String,
    /// How many there are.
    pub count: usize,
}

/// Dates of rows. All test rows are later than the training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DateSpec {
    /// The column with the date.
    pub column: String,
    /// The first day, in days since 1970-01-01.
    pub first: i32,
    /// How many days there are.
    pub days: usize,
    /// How far columns move.
    pub drifts: Vec<Drift>,
}

/// How far a column moves over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// The number column.
    pub column: String,
    /// The mean of the test rows minus that of the training rows, in standard deviations.
    pub size: f64,
}

/// A number column that is zero for most rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZeroSpec {
    /// The number column, which has no negative values.
    pub column: String,
    /// Share of rows in which it is zero.
    pub share: f64,
}

/// A number column that is written as a list of readings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingSpec {
    /// The column with the lists.
    pub column: String,
    /// The number column that is not written itself.
    pub of: String,
    /// How the number follows from the list.
    pub summary: Summary,
    /// Fewest readings.
    pub least: usize,
    /// Most readings.
    pub most: usize,
}

/// A number that follows from a list of readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Summary {
    /// The mean.
    Mean,
    /// The largest reading.
    Max,
}

/// A number column that is not written, but follows from a row's records in a file of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordSpec {
    /// The number column that is not written.
    pub of: String,
    /// How the number follows from the records.
    pub relation: Relation,
    /// Stem of the name of the file of records.
    pub file: String,
    /// Name of the column with a record's day.
    pub day: String,
    /// Column with where a record comes from, and its words.
    pub source: WordColumn,
    /// Fewest records of a row.
    pub least: usize,
    /// Most records of a row.
    pub most: usize,
    /// How they are written.
    #[serde(default)]
    pub format: RecordFormat,
}

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordFormat {
    /// A line for each record.
    #[default]
    Csv,
    /// A line of JSON for each row, with a list of its records.
    JsonLines,
    /// A row for each record, in the columns that CSV has.
    Parquet,
}

/// How a number follows from a row's records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Relation {
    /// It is the mean of all values.
    Mean,
    /// It is the largest value.
    Largest,
    /// It is the value of the latest record.
    Latest,
    /// It is the mean of the values from one source; others say nothing.
    Source {
        /// The source that counts.
        name: String,
    },
    /// It is the mean of the values that a second file has for the records' items.
    Catalogue {
        /// Stem of the name of the second file.
        file: String,
        /// The column with the item, in both files.
        item: String,
        /// How many items there are.
        items: usize,
    },
}

/// A number column that is not written, but is how far the place of a row is from another one. A
/// place has two columns, its latitude and its longitude in degrees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceSpec {
    /// The number column that is not written.
    pub of: String,
    /// How many kilometres one unit of it is.
    pub unit: f64,
    /// What the place of a row is called.
    pub here: String,
    /// What it is as far from.
    pub there: There,
    /// Latitude and longitude in degrees of the middle of all rows.
    pub middle: [f64; 2],
}

/// What the place of a row is so far from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum There {
    /// Another place of the row.
    Written {
        /// What it is called.
        name: String,
    },
    /// The nearest of a few places that stand in no file.
    Unwritten {
        /// Their latitudes and longitudes in degrees.
        places: Vec<[f64; 2]>,
    },
}

/// Ends of the names of a place's columns.
pub const COORDINATES: [&str; 2] = ["_lat", "_lon"];
/// Digits after the point of coordinates: a metre.
pub const COORDINATE_DECIMALS: usize = 5;

/// The names of the columns of a place of this name: of its latitude and its longitude.
pub fn coordinate_columns(place: &str) -> [String; 2] {
    COORDINATES.map(|end| format!("{place}{end}"))
}

impl PlaceSpec {
    /// The names of its columns, the coordinates of a row's own place first.
    pub fn columns(&self) -> Vec<String> {
        let there = match &self.there {
            There::Written { name } => Some(name),
            There::Unwritten { .. } => None,
        };
        [&self.here].into_iter().chain(there).flat_map(|place| coordinate_columns(place)).collect()
    }

    /// Whether a column is the latitude or the longitude of a place; `None` if it is neither.
    pub fn coordinate(&self, column: &str) -> Option<&'static str> {
        let place = self.columns().iter().position(|name| name == column)?;
        Some(["latitude", "longitude"][place % COORDINATES.len()])
    }

    /// The family of tasks that it makes, as in manifests.
    pub fn family(&self) -> &'static str {
        match self.there {
            There::Written { .. } => "distance_of_places",
            There::Unwritten { .. } => "distance_to_unwritten_places",
        }
    }

    /// Whether only held-out tasks have it. Distances between places of a row are usually computed.
    pub fn is_held_out(&self) -> bool {
        matches!(self.there, There::Unwritten { .. })
    }
}

impl Relation {
    /// The family of tasks that it makes, as in manifests.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Mean => "mean_of_records",
            Self::Largest => "largest_record",
            Self::Latest => "latest_record",
            Self::Source { .. } => "records_of_a_source",
            Self::Catalogue { .. } => "records_and_catalogue",
        }
    }

    /// Whether only held-out tasks have it. What is usually computed of a row's records, counts,
    /// means, and extremes, does not find it.
    pub fn is_held_out(&self) -> bool {
        match self {
            Self::Mean | Self::Largest => false,
            Self::Latest | Self::Source { .. } | Self::Catalogue { .. } => true,
        }
    }
}

impl RecordFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Csv, Self::JsonLines, Self::Parquet];

    /// What names of such files end in, after the last dot.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
            Self::Parquet => "parquet",
        }
    }

    /// The format of a file of this name; `None` if it ends in none of them.
    pub fn of_name(name: &str) -> Option<Self> {
        let ending = Utf8Path::new(name).extension()?;
        Self::ALL.into_iter().find(|format| format.ending() == ending)
    }
}

impl RecordSpec {
    /// Name of the file of records.
    pub fn path(&self) -> String {
        format!("{}.{}", self.file, self.format.ending())
    }

    /// Names of its files.
    pub fn paths(&self) -> Vec<String> {
        [self.path()].into_iter().chain(self.catalogue_path()).collect()
    }

    /// Name of the second file, where there is one.
    pub fn catalogue_path(&self) -> Option<String> {
        match &self.relation {
            Relation::Catalogue { file, .. } => Some(format!("{file}.csv")),
            _ => None,
        }
    }
}

impl RowStructure {
    /// Whether rows are independent.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The number columns that stand in no cells of their own: lists, records and places hold them.
    pub fn unwritten(&self) -> impl Iterator<Item = &str> {
        let readings = self.readings.iter().map(|spec| spec.of.as_str());
        readings.chain(self.worked_out())
    }

    /// The number column that has to be worked out from records or places. Rules begin with it.
    pub fn worked_out(&self) -> Option<&str> {
        let records = self.records.as_ref().map(|spec| spec.of.as_str());
        records.or_else(|| self.places.as_ref().map(|spec| spec.of.as_str()))
    }

    /// The family of tasks that records or places make, as in manifests.
    pub fn family(&self) -> Option<&'static str> {
        let records = self.records.as_ref().map(|spec| spec.relation.family());
        records.or_else(|| self.places.as_ref().map(PlaceSpec::family))
    }

    /// Whether a number column is neither zero for most rows nor held by lists, records or places.
    pub fn is_ordinary(&self, column: &str) -> bool {
        let mut zeros = self.zeros.iter().map(|spec| spec.column.as_str());
        !zeros.any(|name| name == column) && !self.unwritten().any(|name| name == column)
    }

    /// The text columns that it adds to the table, without lists.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let groups = self.groups.iter().flat_map(|groups| {
            let within = groups.within.iter().map(|parent| parent.column.as_str());
            within.chain([groups.column.as_str()])
        });
        groups.chain(self.dates.iter().map(|dates| dates.column.as_str()))
    }
}

impl Summary {
    /// The number of a list as it is written; NaN if it holds none.
    pub fn of(self, list: &str) -> f64 {
        let values: Vec<f64> =
            list.split_whitespace().filter_map(|value| value.parse().ok()).collect();
        match self {
            _ if values.is_empty() => f64::NAN,
            Self::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Self::Max => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// A day, in days since 1970-01-01, as `2024-02-29` (Hinnant, `civil_from_days`).
pub fn date(days: i32) -> String {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year + 400 * era + later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        let known =
            [(0, "1970-01-01"), (11_016, "2000-02-29"), (19_782, "2024-02-29"), (-1, "1969-12-31")];
        for (days, text) in known {
            assert_eq!(date(days), text);
        }
    }

    #[test]
    fn names_of_files_say_their_format() {
        for format in RecordFormat::ALL {
            let spec = RecordSpec {
                of: "load".to_owned(),
                relation: Relation::Mean,
                file: "visits".to_owned(),
                day: "day".to_owned(),
                source: WordColumn::try_from("source: device hand".to_owned()).unwrap(),
                least: 4,
                most: 9,
                format,
            };
            assert_eq!(RecordFormat::of_name(&spec.path()), Some(format));
            let relation = Relation::Catalogue {
                file: "items".to_owned(),
                item: "item".to_owned(),
                items: 150,
            };
            let paths = RecordSpec { relation, ..spec.clone() }.paths();
            assert_eq!(paths, [spec.path(), "items.csv".to_owned()]);
        }
        let endings = RecordFormat::ALL.map(RecordFormat::ending);
        assert_eq!(endings, ["csv", "jsonl", "parquet"]);
        for name in ["visits", "visits.csv.gz", "csv", ".csv"] {
            assert_eq!(RecordFormat::of_name(name), None, "{name}");
        }
    }

    #[test]
    fn lists_are_summed_up() {
        assert_eq!(Summary::Mean.of("1.5 2 4"), 2.5);
        assert_eq!(Summary::Max.of("1.5 -2 0.4"), 1.5);
        assert!(Summary::Max.of("").is_nan());
    }
}
