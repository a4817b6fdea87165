//! The answers of training rows, wherever a task has them.

use super::table::{self, Cells};
use polars::prelude::{Column, DataFrame};
use tasks::file_label;
use tasks::prediction::Prediction;

/// The table of training rows with a column of their answers: that of the table itself, or one of the
/// labels in the names of the rows' files. A table without either is left as it is.
#[must_use]
pub fn answered(mut train: DataFrame, prediction: &Prediction) -> DataFrame {
    if let Some((column, _)) = labels_in_names(&train, prediction) {
        table::put(&mut train, column);
    }
    train
}

/// The answers of training rows as a column, where they stand in the names of their files, and the
/// column that names these; `None` where the table has a column of answers or no name has a label.
pub fn labels_in_names(train: &DataFrame, prediction: &Prediction) -> Option<(Column, String)> {
    let column = prediction.class_column()?;
    if train.column(column).is_ok() {
        return None;
    }
    train.columns().iter().find_map(|named| match Cells::from_column(named) {
        Cells::Text(names) => {
            let labels = file_label::labels_of(names)?;
            Some((table::texts(column, labels), named.name().to_string()))
        }
        Cells::Numbers(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label() -> Prediction {
        Prediction::Label { column: "kind".to_owned(), classes: vec!["ash".into(), "oak".into()] }
    }

    #[test]
    fn labels_in_names_become_a_column() {
        let named = table::read_csv(b"id,leaf,x\n1,images/oak.1.png,0.5\n2,images/ash.2.png,1.5\n");
        let train = answered(named.unwrap(), &label());
        assert_eq!(table::cells(&train, "kind"), Some(Cells::Text(vec!["oak", "ash"])));
    }

    #[test]
    fn tables_with_answers_and_names_without_are_left_alone() {
        for text in ["id,leaf,kind\n1,images/oak.1.png,ash\n", "id,leaf\n1,images/1.png\n"] {
            let train = table::read_csv(text.as_bytes()).unwrap();
            assert_eq!(answered(train.clone(), &label()), train, "{text}");
        }
        let named = table::read_csv(b"id,leaf\n1,images/oak.1.png\n").unwrap();
        let number = Prediction::Number { column: "kind".to_owned() };
        assert_eq!(answered(named.clone(), &number), named);
    }
}
