//! From written tables and items to model inputs. Everything fitted is fitted on training rows.

use super::Matrix;
use crate::assets::Assets;
use crate::assets::items::Item;
use crate::media::Reading;
use crate::mutation::median;
use crate::table::Cells;
use std::collections::BTreeSet;

/// A train and a test matrix with the same columns.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// Training rows.
    pub train: Matrix,
    /// Test rows.
    pub test: Matrix,
}

/// What someone in a hurry feeds to a straight line: the number columns as they are written,
/// gaps filled with the training median, and the items' plain readings.
pub fn plain(assets: &Assets) -> Inputs {
    encode(assets, false, |reading| &reading.plain)
}

/// What a practised engineer feeds to a forest: the number columns, an indicator per word, and
/// the items' generic readings.
pub fn generic(assets: &Assets) -> Inputs {
    encode(assets, true, |reading| &reading.generic)
}

fn encode(assets: &Assets, words: bool, read: impl Fn(&Reading) -> &Vec<f64>) -> Inputs {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (a, b) in assets.train.columns.iter().zip(&assets.test.columns) {
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
    left.extend(columns(&assets.train_items, &read));
    right.extend(columns(&assets.test_items, &read));
    Inputs { train: Matrix::from_columns(&left), test: Matrix::from_columns(&right) }
}

/// One kind of reading of all items, column by column.
pub fn columns(items: &[Item], read: impl Fn(&Reading) -> &Vec<f64>) -> Vec<Vec<f64>> {
    let width = items.first().map_or(0, |item| read(&item.reading).len());
    let column = |index| items.iter().map(|item| read(&item.reading)[index]).collect();
    (0..width).map(column).collect()
}
