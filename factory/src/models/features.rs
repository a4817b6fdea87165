//! From written tables to model inputs. Everything fitted is fitted on training rows.

use super::Matrix;
use crate::mutation::median;
use crate::table::{Cells, Table};
use std::collections::BTreeSet;

/// A train and a test matrix with the same columns.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// Training rows.
    pub train: Matrix,
    /// Test rows.
    pub test: Matrix,
}

/// The number columns as they are written, gaps filled with the training median.
pub fn raw_numbers(train: &Table, test: &Table) -> Inputs {
    encode(train, test, false)
}

/// The number columns and an indicator per word.
pub fn generic(train: &Table, test: &Table) -> Inputs {
    encode(train, test, true)
}

fn encode(train: &Table, test: &Table, words: bool) -> Inputs {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (a, b) in train.columns.iter().zip(&test.columns) {
        match (&a.cells, &b.cells) {
            (Cells::Numbers { values: a, .. }, Cells::Numbers { values: b, .. }) => {
                let fill = median(a);
                let filled = |values: &[f64]| -> Vec<f64> {
                    values.iter().map(|v| if v.is_nan() { fill } else { *v }).collect()
                };
                left.push(filled(a));
                right.push(filled(b));
            }
            (Cells::Text(a), Cells::Text(b)) if words => {
                let known: BTreeSet<&String> = a.iter().collect();
                for word in known {
                    let indicator = |words: &[String]| -> Vec<f64> {
                        words.iter().map(|w| f64::from(u8::from(w == word))).collect()
                    };
                    left.push(indicator(a));
                    right.push(indicator(b));
                }
            }
            _ => {}
        }
    }
    Inputs { train: Matrix::from_columns(&left), test: Matrix::from_columns(&right) }
}
