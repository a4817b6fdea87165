//! What the columns of a submission hold.

use serde::{Deserialize, Serialize};

/// The quantiles that are asked for where a submission says how sure it is: the lower end, the middle
/// and the upper end of a range that holds four truths of five.
pub const QUANTILES: [f64; 3] = [0.1, 0.5, 0.9];

/// Most bytes of a cell of free text.
pub const MOST_TEXT: usize = 1024;

/// What a submission's prediction columns hold.
///
/// # Examples
/// ```rust
/// use tasks::prediction::Prediction;
///
/// let prediction: Prediction = serde_json::from_str(
///     r#"{"kind": "class_probabilities", "column": "animal", "classes": ["cat", "dog"]}"#,
/// )?;
/// // A submission has a column per class, the answers have one with the name of the class.
/// assert_eq!(prediction.columns(), ["cat", "dog"]);
/// assert_eq!(prediction.answer_columns(), ["animal"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Prediction {
    /// One column of real numbers.
    Number {
        /// Name of the column.
        column: String,
    },
    /// One column that holds the probability of the class `1`, in [0, 1].
    Probability {
        /// Name of the column.
        column: String,
    },
    /// One column that holds one of `classes`.
    Label {
        /// Name of the column.
        column: String,
        /// All admissible values, sorted.
        classes: Vec<String>,
    },
    /// One probability column per class, each in [0, 1] and each row summing to 1 (± 1e-3).
    /// The answers hold the class's name in `column`.
    ClassProbabilities {
        /// Name of the column in the answers.
        column: String,
        /// Class names, sorted; the submission has a column per class, named like it.
        classes: Vec<String>,
    },
    /// Several columns of real numbers, `[rows, columns]`.
    Numbers {
        /// Names of the columns, in the sample submission's order.
        columns: Vec<String>,
    },
    /// The [`QUANTILES`] of one real number, a column each. The answers hold the number itself in
    /// `column`: what is true is one number, and a copy of it per quantile could only contradict it.
    /// Quantiles of a row may cross each other; such a row is scored as it is.
    Quantiles {
        /// Name of the column in the answers.
        column: String,
        /// Names of the submission's columns, from the lowest quantile to the highest.
        columns: [String; 3],
    },
    /// One probability column per label, each in [0, 1] and independent of the others. The
    /// answers hold 0 or 1 in the same columns.
    Probabilities {
        /// Label names, which name the columns.
        columns: Vec<String>,
    },
    /// One column with the names of the labels that hold, each at most once, separated by
    /// spaces; an empty cell where none holds.
    Flags {
        /// Name of the column.
        column: String,
        /// All admissible labels, sorted, without spaces in them.
        labels: Vec<String>,
    },
    /// One column of real scores that rank the items of each query, the highest first. The
    /// answers hold each row's grade (0, 1, 2, ...; 0 is irrelevant) in `column` and name its
    /// query in `query`, a column that submissions do not have.
    Relevance {
        /// The column of scores, and of grades in the answers.
        column: String,
        /// The column of queries, in the answers only.
        query: String,
    },
    /// One column with a binary mask of `width` x `height` pixels, run-length encoded as on
    /// Kaggle: `start length start length ...`, where pixel 1 is at the top left and numbers run
    /// down the columns, then from left to right; an empty cell where no pixel is set.
    Mask {
        /// Name of the column.
        column: String,
        /// Pixels from left to right.
        width: usize,
        /// Pixels from top to bottom.
        height: usize,
    },
    /// One column with any number of boxes (at most [`MAX_BOXES`](crate::boxes::MAX_BOXES)),
    /// each `class confidence x y w h`, separated by spaces; an empty cell where there is none.
    /// `x y` is the corner with the smallest coordinates. The answers leave the confidence out.
    Boxes {
        /// Name of the column.
        column: String,
        /// All admissible classes, sorted, without spaces in them.
        classes: Vec<String>,
    },
    /// One column with an image of `width` x `height` pixels: whole numbers in [0, levels),
    /// separated by spaces, row by row from the top.
    Pixels {
        /// Name of the column.
        column: String,
        /// Pixels from left to right.
        width: usize,
        /// Pixels from top to bottom.
        height: usize,
        /// Number of intensities, 2 to 65536.
        levels: u32,
    },
    /// One column with free text, at most [`MOST_TEXT`] bytes of it and without control
    /// characters such as line breaks. Spaces around it do not count; an empty cell is an empty
    /// text.
    Text {
        /// Name of the column.
        column: String,
    },
    /// One column with up to `most` different identifiers, the best guess first, separated by
    /// spaces; an empty cell where nothing is guessed. The answers hold one or several right
    /// identifiers, in any order.
    Ids {
        /// Name of the column.
        column: String,
        /// Most identifiers of a row, at least 1.
        most: usize,
    },
}

impl Prediction {
    /// The quantiles of the number in `column`, in columns that are named after it.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::prediction::Prediction;
    ///
    /// let prediction = Prediction::quantiles("price");
    /// assert_eq!(prediction.columns(), ["price_p10", "price_p50", "price_p90"]);
    /// assert_eq!(prediction.answer_columns(), ["price"]);
    /// ```
    pub fn quantiles(column: &str) -> Self {
        let name = |level: f64| format!("{column}_p{:.0}", 100.0 * level);
        Self::Quantiles { column: column.to_owned(), columns: QUANTILES.map(name) }
    }

    /// The prediction columns that a submission must have, in the sample's order.
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Self::Number { column }
            | Self::Probability { column }
            | Self::Label { column, .. }
            | Self::Flags { column, .. }
            | Self::Relevance { column, .. }
            | Self::Mask { column, .. }
            | Self::Boxes { column, .. }
            | Self::Pixels { column, .. }
            | Self::Text { column }
            | Self::Ids { column, .. } => vec![column],
            Self::ClassProbabilities { classes: columns, .. }
            | Self::Numbers { columns }
            | Self::Probabilities { columns } => columns.iter().map(String::as_str).collect(),
            Self::Quantiles { columns, .. } => columns.iter().map(String::as_str).collect(),
        }
    }

    /// The columns of `answer.csv` that hold the truth: that of the target first.
    pub fn answer_columns(&self) -> Vec<&str> {
        match self {
            Self::ClassProbabilities { column, .. } | Self::Quantiles { column, .. } => {
                vec![column]
            }
            Self::Relevance { column, query } => vec![column, query],
            _ => self.columns(),
        }
    }

    /// The target's column where a row's answer is one class; `None` for other answers.
    pub fn class_column(&self) -> Option<&str> {
        match self {
            Self::Probability { column }
            | Self::Label { column, .. }
            | Self::ClassProbabilities { column, .. } => Some(column),
            _ => None,
        }
    }
}
