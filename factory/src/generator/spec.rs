//! What a generator is asked for: rows, columns, targets, items.

use super::framed::MOST_FRAMED;
use super::refusal::GeneratorFault;
use crate::spec::blueprint::Blueprint;
use crate::spec::generated::ItemForm;
use crate::spec::scenario::{NumberColumn, WordColumn};

/// The most hidden columns: numbers that an item shows and no table holds.
pub const MOST_HIDDEN: usize = 8;
/// What the names of hidden columns begin with.
pub(super) const HIDDEN: &str = "item.";
/// The longest side of a picture, in pixels.
pub const MOST_SIDE: usize = 256;
/// Samples of the longest sound: 4 s at 16 kHz.
pub const MOST_SAMPLES: usize = 4 * 16_000;
/// The longest text of an item, in bytes.
pub const MOST_TEXT: usize = 4 << 10;

/// What a generator is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratorSpec {
    /// Number of rows, training and test rows together.
    pub rows: usize,
    /// Number columns of the table. Values are rounded to the column's decimals before scores
    /// and items follow from them, and lie within its bounds.
    pub numbers: Vec<NumberColumn>,
    /// Word columns of the table.
    pub words: Vec<WordColumn>,
    /// Number of targets, each with a score of its own.
    pub targets: usize,
    /// What each row has beside its columns.
    pub item: Option<ItemForm>,
}

/// The largest size of one item in memory, in bytes.
fn bytes(form: ItemForm) -> usize {
    match form {
        ItemForm::Picture { height, width, colour } => height * width * if colour { 3 } else { 1 },
        ItemForm::Sound { samples } => 2 * samples,
        ItemForm::Text => MOST_TEXT,
    }
}

impl GeneratorSpec {
    /// The rows of a blueprint: its columns, its sizes, its number of targets, and its items.
    pub fn from_blueprint(blueprint: &Blueprint) -> Self {
        let item = blueprint.generated().and_then(|layout| layout.item.as_ref());
        Self {
            rows: blueprint.rows.train + blueprint.rows.test,
            numbers: blueprint.numbers.clone(),
            words: blueprint.words.iter().map(|spec| spec.column.clone()).collect(),
            targets: blueprint.targets.len(),
            item: item.map(|item| item.form),
        }
    }

    /// Makes sure that a generator can return what is asked for.
    ///
    /// # Errors
    /// [`GeneratorFault::Spec`] with what to change.
    pub fn check(&self) -> Result<(), GeneratorFault> {
        let refuse = |text: &str| Err(GeneratorFault::Spec(text.to_owned()));
        match self.item {
            Some(ItemForm::Picture { height, width, .. })
                if ![height, width].iter().all(|side| (1..=MOST_SIDE).contains(side)) =>
            {
                return refuse("a side of a picture has 1 to 256 pixels");
            }
            Some(ItemForm::Sound { samples }) if !(1..=MOST_SAMPLES).contains(&samples) => {
                return refuse("a sound has 1 to 64,000 samples");
            }
            _ => {}
        }
        if self.rows < 2 || self.targets == 0 {
            return refuse("a task has two rows and a target or more");
        }
        let columns = self.numbers.len() + self.words.len() + MOST_HIDDEN + self.targets;
        let row = 64 * columns + self.item.map_or(0, bytes);
        let most = MOST_FRAMED.length() / row;
        if self.rows > most {
            let text = format!("{} rows take more than 48 MiB; ask for at most {most}", self.rows);
            return refuse(&text);
        }
        Ok(())
    }

    /// Names of all columns of the table, numbers first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let numbers = self.numbers.iter().map(|column| column.name.as_str());
        numbers.chain(self.words.iter().map(|column| column.name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(rows: usize, item: Option<ItemForm>) -> GeneratorSpec {
        let numbers = vec!["load 0 9 u 1".parse().unwrap()];
        GeneratorSpec { rows, numbers, words: Vec::new(), targets: 1, item }
    }

    #[test]
    fn more_than_a_file_holds_is_refused_before_a_generator_runs() {
        let picture = |side| Some(ItemForm::Picture { height: side, width: side, colour: true });
        assert!(spec(200, picture(256)).check().is_ok());
        assert!(spec(2000, None).check().is_ok());
        let error = spec(300, picture(256)).check().unwrap_err().to_string();
        assert!(error.contains("ask for at most 255"), "{error}");
        assert!(spec(50, picture(257)).check().is_err());
        assert!(spec(50, Some(ItemForm::Sound { samples: MOST_SAMPLES + 1 })).check().is_err());
        assert!(spec(1, None).check().is_err());
    }
}
