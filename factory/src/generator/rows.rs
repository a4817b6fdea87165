//! Rows that a generator made, and the file that keeps them.

use super::framed::{self, FramedArray, FramedError, FramedValues, MOST_FRAMED};
use crate::media::given::{DecodedItem, GivenItem};
use crate::numeric::moments::moments;
use crate::spec::rule::Frame;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use ndarray::{Array2, ArrayD, ArrayView1, Axis, Ix2};

/// How hard the file is compressed, from 0 to 10: more takes several times as long for a few
/// hundredths of its size.
const LEVEL: u8 = 6;
/// What the names of columns begin with.
const COLUMNS: &str = "columns/";

/// Rows of one task, before labels, noise, mutations and encoding. `source/generated.bin` holds
/// them, so that a rebuild needs no Python.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedRows {
    /// Clean columns, hidden ones included; no value is missing.
    pub columns: Frame,
    /// Noise-free scores, `[rows, targets]`.
    pub scores: Array2<f64>,
    /// What each row has beside its columns.
    pub items: GeneratedItems,
    /// What a solver should discover, `[rows, 2..=8]`.
    pub transforms: Array2<f64>,
}

/// Items before blemishes and encoding, one per row.
#[derive(Debug, Clone, PartialEq)]
pub enum GeneratedItems {
    /// Rows have none.
    None,
    /// Levels, `[rows, height, width]` or `[rows, height, width, 3]`.
    Pictures(ArrayD<u8>),
    /// Samples of 16 bits, `[rows, samples]`.
    Sounds(Array2<i16>),
    /// Texts.
    Texts(Vec<String>),
}

/// Bytes that hold no rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowsError {
    /// They are not compressed, or hold more than 48 MiB.
    #[error("the rows cannot be decompressed to at most {MOST_FRAMED}")]
    Compression,
    /// They are no framed file.
    #[error("the file of rows is malformed")]
    Framed(#[from] FramedError),
    /// The arrays of the file are not those of rows.
    #[error("the file of rows is malformed: {0}")]
    Arrays(String),
}

impl GeneratedRows {
    /// As a compressed file. Equal rows give equal bytes on every machine: the compressor uses no
    /// feature of the processor that changes what it writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut arrays = arrays_of(&self.columns, &self.items);
        arrays.push(numbers("scores", self.scores.clone()));
        arrays.push(numbers("transforms", self.transforms.clone()));
        compress_to_vec_zlib(&framed::encode(&arrays), LEVEL)
    }

    /// Reads what [`GeneratedRows::to_bytes`] writes.
    ///
    /// # Errors
    /// [`RowsError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RowsError> {
        let framed = decompress_to_vec_zlib_with_limit(bytes, MOST_FRAMED.length())
            .map_err(|_| RowsError::Compression)?;
        let mut parts = FramedRows::new(framed::decode(&framed)?)?;
        let rows = Self {
            columns: parts.columns()?,
            scores: parts.matrix("scores")?,
            items: parts.items()?,
            transforms: parts.matrix("transforms")?,
        };
        parts.end()?;
        Ok(rows)
    }

    /// The scores of each target, with mean 0 and variance 1 over all rows.
    pub fn standard_scores(&self) -> Vec<Vec<f64>> {
        let standard = |scores: ArrayView1<'_, f64>| {
            let values = scores.to_vec();
            let (mean, spread) = moments(&values);
            values.into_iter().map(|value| (value - mean) / spread).collect()
        };
        self.scores.columns().into_iter().map(standard).collect()
    }

    /// The rows at the given places, in the given order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        Self {
            columns: take_columns(&self.columns, rows),
            scores: self.scores.select(Axis(0), rows),
            items: self.items.take(rows),
            transforms: self.transforms.select(Axis(0), rows),
        }
    }
}

impl GeneratedItems {
    /// The item of a row; `None` if there is none.
    pub fn item(&self, row: usize) -> Option<GivenItem<'_>> {
        match self {
            Self::Pictures(levels) if row < levels.len_of(Axis(0)) => {
                GivenItem::from_levels(levels.index_axis(Axis(0), row)).ok()
            }
            Self::Sounds(samples) if row < samples.nrows() => {
                samples.row(row).to_slice().map(GivenItem::Sound)
            }
            Self::Texts(texts) => texts.get(row).map(|text| GivenItem::Text(text)),
            Self::None | Self::Pictures(_) | Self::Sounds(_) => None,
        }
    }

    /// Items that were read back, one per row; `None` if they differ in form. Grey pictures have no
    /// axis of channels.
    pub fn from_decoded(items: &[DecodedItem]) -> Option<Self> {
        match items.first()? {
            DecodedItem::Picture(_) => {
                let levels = items.iter().map(|item| match item {
                    DecodedItem::Picture(levels) => Some(levels.view().into_dyn()),
                    _ => None,
                });
                let levels = ndarray::stack(Axis(0), &levels.collect::<Option<Vec<_>>>()?).ok()?;
                let is_grey = levels.len_of(Axis(3)) == 1;
                Some(Self::Pictures(if is_grey {
                    levels.index_axis_move(Axis(3), 0)
                } else {
                    levels
                }))
            }
            DecodedItem::Sound(_) => {
                let sounds = items.iter().map(|item| match item {
                    DecodedItem::Sound(samples) => Some(ArrayView1::from(samples)),
                    _ => None,
                });
                let sounds = ndarray::stack(Axis(0), &sounds.collect::<Option<Vec<_>>>()?);
                sounds.ok().map(Self::Sounds)
            }
            DecodedItem::Text(_) => {
                let texts = items.iter().map(|item| match item {
                    DecodedItem::Text(text) => Some(text.clone()),
                    _ => None,
                });
                texts.collect::<Option<Vec<_>>>().map(Self::Texts)
            }
        }
    }

    /// The items of the given rows, in the given order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        match self {
            Self::None => Self::None,
            Self::Pictures(levels) => Self::Pictures(levels.select(Axis(0), rows)),
            Self::Sounds(samples) => Self::Sounds(samples.select(Axis(0), rows)),
            Self::Texts(texts) => Self::Texts(rows.iter().map(|row| texts[*row].clone()).collect()),
        }
    }
}

/// The columns of the given rows, in the given order.
///
/// # Panics
/// If there is no such row.
pub(super) fn take_columns(columns: &Frame, rows: &[usize]) -> Frame {
    let numbers = columns
        .numbers
        .iter()
        .map(|(name, values)| (name.clone(), rows.iter().map(|row| values[*row]).collect()));
    let words = columns.words.iter().map(|(name, values)| {
        (name.clone(), rows.iter().map(|row| values[*row].clone()).collect())
    });
    Frame { numbers: numbers.collect(), words: words.collect(), block: 0, rows: rows.len() }
}

/// Columns and items as arrays of a file.
pub(super) fn arrays_of(columns: &Frame, items: &GeneratedItems) -> Vec<FramedArray> {
    let mut arrays = Vec::new();
    for (name, values) in &columns.numbers {
        let values =
            FramedValues::Numbers(ArrayD::from_shape_fn(vec![values.len()], |at| values[at[0]]));
        arrays.push(FramedArray { name: format!("{COLUMNS}{name}"), values });
    }
    for (name, values) in &columns.words {
        let values = FramedValues::Texts(values.clone());
        arrays.push(FramedArray { name: format!("{COLUMNS}{name}"), values });
    }
    let items = match items {
        GeneratedItems::None => return arrays,
        GeneratedItems::Pictures(levels) => FramedValues::Bytes(levels.clone()),
        GeneratedItems::Sounds(samples) => FramedValues::Shorts(samples.clone().into_dyn()),
        GeneratedItems::Texts(texts) => FramedValues::Texts(texts.clone()),
    };
    arrays.push(FramedArray { name: "items".to_owned(), values: items });
    arrays
}

/// A matrix as an array of a file.
pub(super) fn numbers(name: &str, values: Array2<f64>) -> FramedArray {
    FramedArray { name: name.to_owned(), values: FramedValues::Numbers(values.into_dyn()) }
}

/// Arrays of a file that become rows: all of the same number of rows.
#[derive(Debug)]
pub(super) struct FramedRows {
    arrays: Vec<FramedArray>,
    rows: usize,
}

impl FramedRows {
    /// Takes arrays whose first axis is the row.
    pub(super) fn new(arrays: Vec<FramedArray>) -> Result<Self, RowsError> {
        let length = |array: &FramedArray| match &array.values {
            FramedValues::Numbers(values) => values.shape()[0],
            FramedValues::Bytes(values) => values.shape()[0],
            FramedValues::Shorts(values) => values.shape()[0],
            FramedValues::Texts(texts) => texts.len(),
        };
        let rows = arrays.first().map_or(0, length);
        match arrays.iter().find(|array| length(array) != rows) {
            Some(array) => {
                let name = array.name.chars().take(60).collect::<String>();
                Err(RowsError::Arrays(format!("`{name}` does not have {rows} rows")))
            }
            None => Ok(Self { arrays, rows }),
        }
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Takes the array of this name.
    fn array(&mut self, name: &str) -> Option<FramedValues> {
        let place = self.arrays.iter().position(|array| array.name == name)?;
        Some(self.arrays.swap_remove(place).values)
    }

    /// Takes the matrix of this name.
    pub(super) fn matrix(&mut self, name: &str) -> Result<Array2<f64>, RowsError> {
        let wrong = || RowsError::Arrays(format!("`{name}` is not a matrix of floats"));
        match self.array(name) {
            Some(FramedValues::Numbers(values)) => {
                values.into_dimensionality::<Ix2>().map_err(|_| wrong())
            }
            _ => Err(wrong()),
        }
    }

    /// Takes all columns.
    pub(super) fn columns(&mut self) -> Result<Frame, RowsError> {
        let mut columns = Frame { rows: self.rows, ..Frame::default() };
        let is_column = |array: &mut FramedArray| array.name.starts_with(COLUMNS);
        for FramedArray { name, values } in self.arrays.extract_if(.., is_column) {
            let name = name[COLUMNS.len()..].to_owned();
            match values {
                FramedValues::Numbers(values) if values.ndim() == 1 => {
                    columns.numbers.insert(name, values.into_iter().collect());
                }
                FramedValues::Texts(texts) => {
                    columns.words.insert(name, texts);
                }
                _ => {
                    let name = name.chars().take(60).collect::<String>();
                    return Err(RowsError::Arrays(format!("`{name}` is not a column")));
                }
            }
        }
        Ok(columns)
    }

    /// Takes the items.
    pub(super) fn items(&mut self) -> Result<GeneratedItems, RowsError> {
        let wrong = || RowsError::Arrays("`items` has the shape of no item".to_owned());
        Ok(match self.array("items") {
            None => GeneratedItems::None,
            Some(FramedValues::Texts(texts)) => GeneratedItems::Texts(texts),
            Some(FramedValues::Bytes(levels)) => match levels.shape() {
                [_, _, _] | [_, _, _, 3] => GeneratedItems::Pictures(levels),
                _ => return Err(wrong()),
            },
            Some(FramedValues::Shorts(samples)) => {
                let samples = samples.into_dimensionality::<Ix2>().map_err(|_| wrong())?;
                GeneratedItems::Sounds(samples)
            }
            Some(FramedValues::Numbers(_)) => return Err(wrong()),
        })
    }

    /// Makes sure that nothing is left.
    pub(super) fn end(&self) -> Result<(), RowsError> {
        match self.arrays.first() {
            None => Ok(()),
            Some(array) => {
                let name = array.name.chars().take(60).collect::<String>();
                Err(RowsError::Arrays(format!("there is an array `{name}` too many")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn rows(items: GeneratedItems) -> GeneratedRows {
        let columns = Frame {
            numbers: [("load".to_owned(), vec![0.5, 1.5, -2.25])].into(),
            words: [("wood".to_owned(), ["oak", "ash", "oak"].map(str::to_owned).to_vec())].into(),
            block: 0,
            rows: 3,
        };
        GeneratedRows {
            columns,
            scores: array![[0.1], [0.2], [-1e-300]],
            items,
            transforms: array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        }
    }

    fn all() -> [GeneratedRows; 4] {
        let levels =
            ArrayD::from_shape_fn(vec![3, 2, 2, 3], |at| u8::try_from(at[0] * 90 + at[3]).unwrap());
        [
            rows(GeneratedItems::None),
            rows(GeneratedItems::Pictures(levels)),
            rows(GeneratedItems::Sounds(array![[1, -2], [3, i16::MIN], [0, 7]])),
            rows(GeneratedItems::Texts(["one", "two\nlines", ""].map(str::to_owned).to_vec())),
        ]
    }

    #[test]
    fn rows_written_and_read_are_the_same_and_so_are_their_bytes() {
        for rows in all() {
            let bytes = rows.to_bytes();
            let read = GeneratedRows::from_bytes(&bytes).unwrap();
            assert_eq!(read, rows);
            assert_eq!(read.to_bytes(), bytes);
        }
    }

    #[test]
    fn bytes_of_rows_are_pinned_across_releases() {
        let hash = blake3::hash(&all()[1].to_bytes()).to_hex();
        assert_eq!(&hash[..16], "6df54344f8525433");
    }

    #[test]
    fn taken_rows_come_in_the_given_order() {
        for rows in all() {
            let taken = rows.take(&[2, 0]);
            assert_eq!(taken.columns.numbers["load"], [-2.25, 0.5]);
            assert_eq!(taken.scores, array![[-1e-300], [0.1]]);
            assert_eq!(taken.take(&[1, 0]).items, rows.take(&[0, 2]).items);
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let good = rows(GeneratedItems::None);
        assert_eq!(GeneratedRows::from_bytes(b"junk"), Err(RowsError::Compression));
        let bomb = compress_to_vec_zlib(&vec![0; MOST_FRAMED.length() + 1], 9);
        assert!(bomb.len() < 1 << 20);
        assert_eq!(GeneratedRows::from_bytes(&bomb), Err(RowsError::Compression));
        let packed = |arrays: &[FramedArray]| {
            GeneratedRows::from_bytes(&compress_to_vec_zlib(&framed::encode(arrays), 1))
                .unwrap_err()
                .to_string()
        };
        let mut arrays = arrays_of(&good.columns, &good.items);
        arrays.push(numbers("scores", good.scores.clone()));
        assert!(packed(&arrays).contains("`transforms` is not a matrix"));
        arrays.push(numbers("transforms", good.transforms.clone()));
        arrays.push(numbers("more", good.scores.clone()));
        assert!(packed(&arrays).contains("`more` too many"));
        arrays.pop();
        arrays[0].values = FramedValues::Numbers(ArrayD::zeros(vec![2]));
        assert!(packed(&arrays).contains("does not have 2 rows"));
        arrays[0].values = FramedValues::Bytes(ArrayD::zeros(vec![3]));
        assert!(packed(&arrays).contains("`load` is not a column"));
    }
}
