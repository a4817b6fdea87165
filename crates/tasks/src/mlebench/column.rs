//! Columns of one type, as pandas holds them, and what graders ask of them.

use super::{order, python};
use std::cmp::Ordering;

/// One cell. A column owns its texts; a cell read from it borrows them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PandasCell<T> {
    /// Nothing, or a word that stands for it.
    Missing,
    /// `True` or `False`.
    Boolean(bool),
    /// A whole number that fits 64 bits with sign.
    Integer(i64),
    /// A whole number of a column that has some beyond [`i64::MAX`].
    Unsigned(u64),
    /// Any other number, NaN included.
    Float(f64),
    /// Text that pandas does not read as a number or a Boolean.
    Text(T),
}

impl PandasCell<&str> {
    /// The number that stands there, of truth values too; nothing for texts and missing cells.
    fn number(self) -> Option<f64> {
        match self {
            Self::Boolean(value) => Some(f64::from(u8::from(value))),
            Self::Integer(value) => Some(value as f64),
            Self::Unsigned(value) => Some(value as f64),
            Self::Float(value) => Some(value),
            Self::Missing | Self::Text(_) => None,
        }
    }

    /// The same without rounding, if it is a whole number.
    fn whole(self) -> Option<i128> {
        match self {
            Self::Boolean(value) => Some(i128::from(value)),
            Self::Integer(value) => Some(i128::from(value)),
            Self::Unsigned(value) => Some(i128::from(value)),
            Self::Float(_) | Self::Missing | Self::Text(_) => None,
        }
    }

    /// Whether Python finds both equal: numbers across types, and a missing cell never.
    pub fn equals(self, other: Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            _ => self.compare_numbers(other) == Some(Ordering::Equal),
        }
    }

    fn compare_numbers(self, other: Self) -> Option<Ordering> {
        match (self.whole(), other.whole()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => self.number()?.partial_cmp(&other.number()?),
        }
    }

    /// As `astype(float)` takes it; a missing one is NaN. None for a text that is no number.
    pub(super) fn float(self) -> Option<f64> {
        match self {
            PandasCell::Missing => Some(f64::NAN),
            PandasCell::Text(text) => python::float(text),
            cell => cell.number(),
        }
    }

    /// Which comes first; nothing between a number and a text, or with a missing cell.
    pub(super) fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            _ => self.compare_numbers(other),
        }
    }
}

/// The cells of one column. A missing cell of `Floats` is NaN; the other types but `Objects`
/// have none.
#[derive(Debug, Clone, PartialEq)]
pub enum PandasColumn {
    /// Whole numbers, of type `int64` in pandas.
    Integers(Vec<i64>),
    /// Whole numbers beyond `int64`, of type `uint64` in pandas.
    Unsigned(Vec<u64>),
    /// Numbers, some of them missing or fractional, of type `float64` in pandas.
    Floats(Vec<f64>),
    /// Truth values, of type `bool` in pandas.
    Booleans(Vec<bool>),
    /// `object`: texts, and whatever has no common type.
    Objects(Vec<PandasCell<Box<str>>>),
}

/// A column that holds both numbers and texts, which have no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("numbers and texts stand in one column, which cannot be sorted")]
pub struct Unsortable;

impl PandasColumn {
    /// Number of cells in the column.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(cells) => cells.len(),
            Self::Unsigned(cells) => cells.len(),
            Self::Floats(cells) => cells.len(),
            Self::Booleans(cells) => cells.len(),
            Self::Objects(cells) => cells.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all texts in it.
    pub(super) fn text_bytes(&self) -> usize {
        let bytes = |cell: &PandasCell<Box<str>>| {
            if let PandasCell::Text(text) = cell { text.len() } else { 0 }
        };
        match self {
            Self::Objects(cells) => cells.iter().map(bytes).sum(),
            _ => 0,
        }
    }

    /// pandas' name of the type.
    pub fn dtype(&self) -> &'static str {
        match self {
            Self::Integers(_) => "int64",
            Self::Unsigned(_) => "uint64",
            Self::Floats(_) => "float64",
            Self::Booleans(_) => "bool",
            Self::Objects(_) => "object",
        }
    }

    /// The cell of a row.
    pub fn cell(&self, row: usize) -> PandasCell<&str> {
        match self {
            Self::Integers(cells) => PandasCell::Integer(cells[row]),
            Self::Unsigned(cells) => PandasCell::Unsigned(cells[row]),
            Self::Floats(cells) if cells[row].is_nan() => PandasCell::Missing,
            Self::Floats(cells) => PandasCell::Float(cells[row]),
            Self::Booleans(cells) => PandasCell::Boolean(cells[row]),
            Self::Objects(cells) => match &cells[row] {
                PandasCell::Missing => PandasCell::Missing,
                PandasCell::Boolean(value) => PandasCell::Boolean(*value),
                PandasCell::Integer(value) => PandasCell::Integer(*value),
                PandasCell::Unsigned(value) => PandasCell::Unsigned(*value),
                PandasCell::Float(value) => PandasCell::Float(*value),
                PandasCell::Text(text) => PandasCell::Text(text),
            },
        }
    }

    /// All cells, from the top.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = PandasCell<&str>> {
        (0..self.len()).map(|row| self.cell(row))
    }

    /// The rows in ascending order of their cells, missing ones last. Equal cells end in the
    /// order of `order::sort`.
    ///
    /// # Errors
    /// [`Unsortable`] where numbers stand beside texts.
    pub fn order(&self) -> Result<Vec<usize>, Unsortable> {
        let is_text = |cell: PandasCell<&str>| match cell {
            PandasCell::Missing => None,
            cell => Some(matches!(cell, PandasCell::Text(_))),
        };
        let mut kinds = self.cells().filter_map(is_text);
        let first = kinds.next();
        if kinds.any(|kind| Some(kind) != first) {
            return Err(Unsortable);
        }
        let (mut rows, missing): (Vec<usize>, Vec<usize>) =
            (0..self.len()).partition(|row| self.cell(*row) != PandasCell::Missing);
        // What stands in one column is comparable now.
        let compare = |a, b| self.cell(a).order(self.cell(b)).unwrap_or(Ordering::Equal);
        order::sort(&mut rows, compare);
        rows.extend(missing);
        Ok(rows)
    }

    /// As numbers, missing cells as NaN; nothing if there is a text.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let number = |cell: PandasCell<&str>| match cell {
            PandasCell::Missing => Some(f64::NAN),
            cell => cell.number(),
        };
        self.cells().map(number).collect()
    }

    /// The same where `astype(float)` also reads texts that Python reads as numbers, such as
    /// `1_000` and integers beyond 64 bits.
    pub fn floats(&self) -> Option<Vec<f64>> {
        self.cells().map(PandasCell::float).collect()
    }

    /// As texts the way Python prints them: a missing cell is `nan`, a float has its point.
    pub fn texts(&self) -> Vec<String> {
        let text = |cell: PandasCell<&str>| match cell {
            PandasCell::Missing => python::repr(f64::NAN),
            PandasCell::Boolean(true) => "True".to_owned(),
            PandasCell::Boolean(false) => "False".to_owned(),
            PandasCell::Integer(value) => value.to_string(),
            PandasCell::Unsigned(value) => value.to_string(),
            PandasCell::Float(value) => python::repr(value),
            PandasCell::Text(text) => text.to_owned(),
        };
        self.cells().map(text).collect()
    }

    /// Parts of a column under each other, in the type that NumPy finds for all.
    pub(super) fn concatenate(mut parts: Vec<Self>) -> Self {
        if parts.len() <= 1 {
            return parts.pop().unwrap_or(Self::Objects(Vec::new()));
        }
        let has = |kind: fn(&Self) -> bool| parts.iter().any(kind);
        let floats = has(|part| matches!(part, Self::Floats(_)));
        let integers = has(|part| matches!(part, Self::Integers(_)));
        let unsigned = has(|part| matches!(part, Self::Unsigned(_)));
        let booleans = has(|part| matches!(part, Self::Booleans(_)));
        if has(|part| matches!(part, Self::Objects(_))) {
            return Self::Objects(parts.into_iter().flat_map(Self::into_objects).collect());
        }
        let numbers = floats || integers || unsigned;
        let joined = if floats || (integers && unsigned) {
            let numbers = parts.iter().filter_map(Self::numbers).flatten();
            Self::Floats(numbers.collect())
        } else if integers {
            Self::Integers(parts.iter().flat_map(Self::cells).filter_map(integer).collect())
        } else if unsigned {
            Self::Unsigned(parts.iter().flat_map(Self::cells).filter_map(natural).collect())
        } else {
            let truth = |cell: PandasCell<&str>| Some(matches!(cell, PandasCell::Boolean(true)));
            Self::Booleans(parts.iter().flat_map(Self::cells).filter_map(truth).collect())
        };
        // pandas keeps truth values from becoming numbers, but only after they have.
        if booleans && numbers { Self::Objects(joined.into_objects()) } else { joined }
    }

    fn into_objects(self) -> Vec<PandasCell<Box<str>>> {
        match self {
            Self::Integers(cells) => cells.into_iter().map(PandasCell::Integer).collect(),
            Self::Unsigned(cells) => cells.into_iter().map(PandasCell::Unsigned).collect(),
            Self::Floats(cells) => {
                let float = |value: f64| {
                    if value.is_nan() { PandasCell::Missing } else { PandasCell::Float(value) }
                };
                cells.into_iter().map(float).collect()
            }
            Self::Booleans(cells) => cells.into_iter().map(PandasCell::Boolean).collect(),
            Self::Objects(cells) => cells,
        }
    }
}

fn integer(cell: PandasCell<&str>) -> Option<i64> {
    cell.whole().and_then(|value| i64::try_from(value).ok())
}

fn natural(cell: PandasCell<&str>) -> Option<u64> {
    cell.whole().and_then(|value| u64::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(cells: &[&str]) -> PandasColumn {
        PandasColumn::Objects(cells.iter().map(|cell| PandasCell::Text((*cell).into())).collect())
    }

    #[test]
    fn joined_columns_have_the_type_that_numpy_gives() {
        use PandasColumn::{Booleans, Floats, Integers, Unsigned};
        let join = |parts: &[PandasColumn]| PandasColumn::concatenate(parts.to_vec());
        let large = 1 << 63;
        assert_eq!(join(&[Integers(vec![1]), Floats(vec![0.5])]), Floats(vec![1.0, 0.5]));
        let rounded = Floats(vec![-1.0, 9_223_372_036_854_776_000.0]);
        assert_eq!(join(&[Integers(vec![-1]), Unsigned(vec![large])]), rounded);
        let mixed = join(&[Booleans(vec![true]), Integers(vec![7])]);
        assert_eq!(
            mixed,
            PandasColumn::Objects(vec![PandasCell::Integer(1), PandasCell::Integer(7)])
        );
        let mixed = join(&[Booleans(vec![true]), texts(&["x"]), Floats(vec![f64::NAN])]);
        let cells =
            vec![PandasCell::Boolean(true), PandasCell::Text("x".into()), PandasCell::Missing];
        assert_eq!(mixed, PandasColumn::Objects(cells));
    }

    #[test]
    fn numbers_and_texts_have_no_order() {
        let mixed = PandasColumn::Objects(vec![
            PandasCell::Integer(1),
            PandasCell::Missing,
            PandasCell::Text("a".into()),
        ]);
        assert_eq!(mixed.order(), Err(Unsortable));
        let numbers = PandasColumn::Objects(vec![
            PandasCell::Missing,
            PandasCell::Float(0.5),
            PandasCell::Boolean(false),
        ]);
        assert_eq!(numbers.order(), Ok(vec![2, 1, 0]));
        assert_eq!(texts(&["b", "B", "ä", "a"]).order(), Ok(vec![1, 3, 0, 2]));
    }

    #[test]
    fn equality_crosses_types_and_leaves_missing_cells_out() {
        assert!(PandasCell::Integer(1).equals(PandasCell::Float(1.0)));
        assert!(PandasCell::Boolean(true).equals(PandasCell::Unsigned(1)));
        assert!(!PandasCell::Missing.equals(PandasCell::Missing));
        assert!(!PandasCell::Text("1").equals(PandasCell::Integer(1)));
    }
}
