//! The data card: what the tables of a task say of themselves, in a few short lines.
//!
//! For policies of a few million parameters, which cannot look at data before they write a script.
//! Numbers are rounded to what such a policy can tell apart, so that cards are made of few tokens.
//! Only public files are read.

use camino::Utf8Path;
use std::fmt::Write as _;
use tasks::prediction::Prediction;

/// Rows of the training table that are read.
const ROWS: usize = 2000;
/// Columns of numbers among which products are looked for.
const COLUMNS: usize = 40;

/// The lines of the card for a task with these public tables; none if its training table cannot be
/// read, or has no column of numbers or classes that is predicted.
pub(crate) fn lines(public: &Utf8Path, prediction: &Prediction) -> Option<String> {
    let (target, classes): (&str, &[String]) = match prediction {
        Prediction::Number { column } => (column, &[]),
        Prediction::Probability { column } => (column, &["0".to_owned(), "1".to_owned()]),
        Prediction::Label { column, classes }
        | Prediction::ClassProbabilities { column, classes } => (column, classes),
        _ => return None,
    };
    let table = Table::read(&public.join("train.csv"))?;
    let test = Table::read(&public.join("test.csv"))?;
    let known = table.column(target)?;
    // What test rows have as well, but for the id, which comes first.
    let used: Vec<usize> = (1..table.names.len())
        .filter(|&column| column != known && test.names.contains(&table.names[column]))
        .collect();
    let numbers: Vec<Vec<f64>> =
        used.iter().filter_map(|&column| standardised(&table.cells[column])).collect();
    let targets = Targets::new(&table.cells[known], classes);
    let missing = used.iter().flat_map(|&column| &table.cells[column]);
    let missing = missing.filter(|cell| cell.is_empty()).count();
    let cells = (used.len() * table.rows()).max(1);

    let mut text = String::new();
    let _ = writeln!(text, "Rows: {}", coarse(table.rows()));
    let words = used.len() - numbers.len();
    let _ = writeln!(text, "Columns: {} numbers, {words} words", numbers.len());
    let _ = writeln!(text, "Missing: {} %", 5 * (missing * 20).div_ceil(cells));
    match &targets {
        Targets::Number(values) => {
            let _ = writeln!(text, "Skew: {}", half(skew(values)));
        }
        Targets::Classes(classes) => {
            let count = |class: &Vec<f64>| class.iter().filter(|value| **value > 0.0).count();
            let rarest = classes.iter().map(count).min().unwrap_or(0);
            let share = 5 * (rarest * 20).div_ceil(table.rows().max(1));
            let _ = writeln!(text, "Classes: {}, the rarest {share} %", classes.len());
        }
    }
    let targets = targets.standardised();
    let best = |column: &[f64]| {
        targets.iter().map(|target| correlation(column, target).abs()).fold(0.0, f64::max)
    };
    let mut alone: Vec<f64> = numbers.iter().map(|column| best(column)).collect();
    alone.sort_by(|a, b| b.total_cmp(a));
    let first = alone.first().copied().unwrap_or(0.0);
    let third = alone.get(2).copied().unwrap_or(0.0);
    let _ = writeln!(text, "Best column: {}, third: {}", tenth(first), tenth(third));
    let _ = write!(text, "Best product: {}", tenth(best_product(&numbers, &best)));
    Some(text)
}

/// The cells of a table, column by column.
struct Table {
    names: Vec<String>,
    cells: Vec<Vec<String>>,
}

impl Table {
    fn read(path: &Utf8Path) -> Option<Self> {
        let mut reader = csv::Reader::from_reader(fs_err::File::open(path).ok()?);
        let names: Vec<String> = reader.headers().ok()?.iter().map(str::to_owned).collect();
        let mut cells = vec![Vec::new(); names.len()];
        for record in reader.records().take(ROWS) {
            for (column, cell) in cells.iter_mut().zip(record.ok()?.iter()) {
                column.push(cell.to_owned());
            }
        }
        Some(Self { names, cells })
    }

    fn rows(&self) -> usize {
        self.cells.first().map_or(0, Vec::len)
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }
}

/// What is predicted, as numbers.
enum Targets {
    Number(Vec<f64>),
    /// For each class 1 where a row has it, else 0.
    Classes(Vec<Vec<f64>>),
}

impl Targets {
    /// Of a column with these classes, or of numbers if there are none.
    fn new(cells: &[String], classes: &[String]) -> Self {
        if classes.is_empty() {
            return Self::Number(cells.iter().map(|cell| cell.parse().unwrap_or(0.0)).collect());
        }
        let has =
            |class: &String| cells.iter().map(|cell| f64::from(u8::from(cell == class))).collect();
        Self::Classes(classes.iter().map(has).collect())
    }

    fn standardised(self) -> Vec<Vec<f64>> {
        let all = match self {
            Self::Number(values) => vec![values],
            Self::Classes(classes) => classes,
        };
        all.into_iter().map(|values| standard(&values)).collect()
    }
}

/// A column of numbers with mean 0 and variance 1, gaps at the mean; none if it holds words.
fn standardised(cells: &[String]) -> Option<Vec<f64>> {
    let parsed: Vec<Option<f64>> = cells
        .iter()
        .map(|cell| if cell.is_empty() { Some(None) } else { cell.parse().ok().map(Some) })
        .collect::<Option<_>>()?;
    let known: Vec<f64> = parsed.iter().flatten().copied().collect();
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    Some(standard(&parsed.into_iter().map(|value| value.unwrap_or(mean)).collect::<Vec<_>>()))
}

/// The values with mean 0 and variance 1; zeros if they are all the same.
fn standard(values: &[f64]) -> Vec<f64> {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let spread = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let scale = if spread > 1e-12 { spread.recip() } else { 0.0 };
    values.iter().map(|value| (value - mean) * scale).collect()
}

/// Pearson's correlation of two columns with mean 0 and variance 1, within ±1; 0 for a constant.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / a.len().max(1) as f64
}

/// The largest correlation of a product of two columns with what is predicted.
fn best_product(numbers: &[Vec<f64>], best: &dyn Fn(&[f64]) -> f64) -> f64 {
    let numbers = &numbers[..numbers.len().min(COLUMNS)];
    let mut most: f64 = 0.0;
    for (index, a) in numbers.iter().enumerate() {
        for b in &numbers[index + 1..] {
            let product: Vec<f64> = a.iter().zip(b).map(|(a, b)| a * b).collect();
            most = most.max(best(&standard(&product)));
        }
    }
    most
}

fn skew(values: &[f64]) -> f64 {
    let values = standard(values);
    values.iter().map(|value| value.powi(3)).sum::<f64>() / values.len().max(1) as f64
}

/// With one significant digit.
fn coarse(count: usize) -> usize {
    let unit = 10_usize.pow(count.checked_ilog10().unwrap_or(0));
    (count + unit / 2) / unit * unit
}

fn tenth(value: f64) -> String {
    format!("{value:.1}")
}

/// To the next half, between -3 and 3.
fn half(value: f64) -> String {
    format!("{:.1}", (value.clamp(-3.0, 3.0) * 2.0).round() / 2.0 + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;

    fn card(train: &str, test: &str, prediction: &Prediction) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        fs::write(path.join("train.csv"), train).unwrap();
        fs::write(path.join("test.csv"), test).unwrap();
        lines(path, prediction)
    }

    #[test]
    fn a_number_that_is_a_product_of_two_columns() {
        // a and b alone say nothing of y, which is their product.
        let mut train = "id,a,b,place,left,y\n".to_owned();
        for row in 0..16 {
            let (a, b) = ([-1, 1][row % 2], [-1, 1][row / 2 % 2]);
            let place = if row < 4 { "" } else { "north" };
            let _ = writeln!(train, "{row},{a},{b},{place},7,{}", a * b);
        }
        let found = card(&train, "id,a,b,place\n", &Prediction::Number { column: "y".into() });
        let expected = "Rows: 20\nColumns: 2 numbers, 1 words\nMissing: 10 %\nSkew: 0.0\n\
                        Best column: 0.0, third: 0.0\nBest product: 1.0";
        assert_eq!(found.as_deref(), Some(expected));
    }

    #[test]
    fn classes_with_the_share_of_the_rarest() {
        let mut train = "id,a,b,c,kind\n".to_owned();
        for row in 0..40 {
            let kind = if row < 4 { "rare" } else { "usual" };
            let a = i32::from(row < 4);
            let _ = writeln!(train, "{row},{a},{},{},{kind}", row % 3, row % 5);
        }
        let classes = vec!["rare".into(), "usual".into()];
        let prediction = Prediction::Label { column: "kind".into(), classes };
        let found = card(&train, "id,a,b,c\n", &prediction).unwrap();
        assert!(found.contains("\nClasses: 2, the rarest 10 %\nBest column: 1.0"), "{found}");
    }

    #[test]
    fn tasks_without_such_tables_have_no_card() {
        let number = Prediction::Number { column: "y".into() };
        assert_eq!(card("id,a\n1,2\n", "id,a\n", &number), None, "no column of answers");
        assert_eq!(lines("/nowhere".into(), &number), None);
        let several = Prediction::Numbers { columns: vec!["y".into(), "z".into()] };
        assert_eq!(card("id,a,y,z\n1,2,3,4\n", "id,a\n", &several), None);
    }

    #[test]
    fn counts_have_one_digit() {
        let counts = [0, 7, 12, 95, 148, 150, 5040].map(coarse);
        assert_eq!(counts, [0, 7, 10, 100, 100, 200, 5000]);
    }
}
