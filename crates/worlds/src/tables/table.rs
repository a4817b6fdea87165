//! Tables: a column of names or years, and columns of whole numbers.

use crate::kind::Scale;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a table is about.
#[derive(Debug)]
struct Theme {
    /// The first column.
    label: &'static str,
    /// What may stand in it; empty for years.
    names: &'static [&'static str],
    /// What is counted.
    measures: &'static [&'static str],
}

const THEMES: [Theme; 5] = [
    Theme {
        label: "city",
        names: &[
            "Aarhus", "Basel", "Cadiz", "Delft", "Essen", "Fano", "Graz", "Haifa", "Izmir", "Jena",
            "Kyoto", "Lyon", "Malmo", "Nancy", "Oslo", "Porto",
        ],
        measures: &["hotels", "schools", "parks", "visits", "buses", "shops"],
    },
    Theme {
        label: "team",
        names: &[
            "Bears", "Crows", "Doves", "Eagles", "Foxes", "Gulls", "Hawks", "Jays", "Kites",
            "Lions", "Moles", "Otters", "Pikes", "Rams", "Seals", "Tigers",
        ],
        measures: &["wins", "losses", "goals", "fouls", "points", "fans"],
    },
    Theme {
        label: "product",
        names: &[
            "apple", "bread", "cheese", "date", "egg", "fish", "grape", "honey", "jam", "kale",
            "lemon", "milk", "nut", "olive", "peach", "rice",
        ],
        measures: &["sales", "cost", "stock", "orders", "price", "returns"],
    },
    Theme {
        label: "shop",
        names: &[
            "Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Ivy", "Juniper", "Larch", "Maple",
            "Oak", "Pine", "Rowan", "Spruce", "Willow", "Yew",
        ],
        measures: &["sales", "cost", "staff", "orders", "visits", "returns"],
    },
    Theme {
        label: "year",
        names: &[],
        measures: &["sales", "cost", "staff", "visits", "births", "orders"],
    },
];

/// The greatest first year.
const YEARS: std::ops::RangeInclusive<i64> = 1950..=2010;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Names of the columns; the first is that of `names`.
    pub columns: Vec<String>,
    /// The first column: names, or years that follow each other.
    pub names: Vec<String>,
    /// The other columns, row by row.
    pub rows: Vec<Vec<i64>>,
}

/// What a question needs of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Names or years.
    Any,
    /// Names.
    Names,
    /// Years.
    Years,
}

impl Table {
    pub(super) fn draw(shape: Shape, scale: Scale, rng: &mut ChaCha8Rng) -> Option<Self> {
        let fits = |theme: &&Theme| match shape {
            Shape::Any => true,
            Shape::Names => !theme.names.is_empty(),
            Shape::Years => theme.names.is_empty(),
        };
        let themes: Vec<&Theme> = THEMES.iter().filter(fits).collect();
        let theme = themes.choose(rng)?;
        let (rows, columns, most) = match scale {
            Scale::Tiny => (rng.random_range(3..=4), rng.random_range(2..=3), 99),
            Scale::Full => (rng.random_range(6..=12), rng.random_range(3..=5), 9999),
        };
        let names: Vec<String> = if theme.names.is_empty() {
            let first = rng.random_range(YEARS);
            (first..first + rows).map(|year| year.to_string()).collect()
        } else {
            let rows = usize::try_from(rows).unwrap_or(0);
            theme.names.sample(rng, rows).map(|&name| name.to_owned()).collect()
        };
        let measures = theme.measures.sample(rng, columns).map(|&measure| measure.to_owned());
        let columns: Vec<String> =
            std::iter::once(theme.label.to_owned()).chain(measures).collect();
        let row = |_| (1..columns.len()).map(|_| rng.random_range(1..=most)).collect();
        let rows = (0..names.len()).map(row).collect();
        Some(Self { columns, names, rows })
    }

    /// What the rows are called: `city`.
    pub(super) fn label(&self) -> &str {
        self.columns.first().map_or("", String::as_str)
    }

    /// A column of numbers, from 0, by rows.
    pub(super) fn column(&self, index: usize) -> Vec<i64> {
        self.rows.iter().map(|row| row[index]).collect()
    }

    /// The name of a column of numbers, from 0.
    pub(super) fn measure(&self, index: usize) -> &str {
        &self.columns[index + 1]
    }

    /// How many columns of numbers there are.
    pub(super) fn measures(&self) -> usize {
        self.columns.len() - 1
    }

    /// The rows in lines, cells separated by bars, as prompts have them.
    pub fn in_lines(&self) -> String {
        let row = |(name, values): (&String, &Vec<i64>)| {
            let cells = values.iter().map(i64::to_string);
            std::iter::once(name.clone()).chain(cells).collect::<Vec<_>>().join(" | ")
        };
        let rows = self.names.iter().zip(&self.rows).map(row);
        let lines = std::iter::once(self.columns.join(" | ")).chain(rows);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The same as CSV.
    pub fn csv(&self) -> String {
        self.in_lines().replace(" | ", ",") + "\n"
    }

    /// The same as TableBench has it: `{"columns": […], "data": [[…]]}`.
    pub fn json(&self) -> Value {
        let label = |name: &String| name.parse::<i64>().map_or(json!(name), |year| json!(year));
        let row = |(name, values): (&String, &Vec<i64>)| {
            let cells = values.iter().map(|&value| json!(value));
            std::iter::once(label(name)).chain(cells).collect::<Vec<Value>>()
        };
        let data: Vec<Vec<Value>> = self.names.iter().zip(&self.rows).map(row).collect();
        json!({"columns": self.columns, "data": data})
    }
}
