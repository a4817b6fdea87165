//! The facts about a task from which a scripted agent writes its script.
//!
//! The manifest of one of our own tasks states what is predicted. Competitions and bundles have no
//! manifest, so there it is inferred from the public tables, as a template agent does.

use crate::card;
use camino::Utf8Path;
use std::collections::{BTreeMap, BTreeSet};
use tasks::file_label;
use tasks::prediction::Prediction;
use tasks::task::{Formulation, Task, TaskScripts};

/// Largest number of rows of a training table that are read.
const ROWS: usize = 5000;
/// What answers are called that stand in the names of files and have no column.
const LABEL: &str = "label";
/// Most distinct integers that are taken for classes.
const CLASSES: usize = 20;

/// Facts about a task.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// What is predicted; `None` if it cannot be inferred. The agent then submits the sample.
    pub(crate) prediction: Option<Prediction>,
    /// The place of the training table's column whose files have the answers in their names; `None` where
    /// the answers have a column.
    pub(super) labelled: Option<usize>,
    /// The formulation, for tasks with a manifest.
    pub(super) formulation: Option<Formulation>,
    /// Scripts that came with the task.
    pub(super) scripts: TaskScripts,
}

impl Facts {
    pub(crate) fn from_task(task: &Task) -> Self {
        let public = task.public();
        let (prediction, formulation, scripts) = match task.ours() {
            Some(dir) => {
                let manifest = dir.manifest();
                let prediction = manifest.prediction.clone();
                (Some(prediction), Some(manifest.formulation), manifest.scripts())
            }
            None => (infer(public.path()), None, TaskScripts::default()),
        };
        let labelled = prediction.as_ref().and_then(|known| labelled(public.path(), known));
        Self { prediction, labelled, formulation, scripts }
    }

    /// The data card of `task`, whose facts these are; none if it has no table that one is made of.
    pub(crate) fn card(&self, task: &Task) -> Option<String> {
        card::lines(task.public().path(), self.prediction.as_ref()?)
    }
}

/// The place of the training table's column whose files have the answers in their names, if the table
/// has no column of answers.
fn labelled(public: &Utf8Path, prediction: &Prediction) -> Option<usize> {
    let column = prediction.class_column()?;
    let train = TableColumns::read(&public.join("train.csv"))?;
    if train.names.iter().any(|name| name == column) {
        return None;
    }
    train.names.iter().position(|name| train.labels(name).is_some())
}

/// What the submission to a task with these public tables holds; `None` if there are no such
/// tables, or they do not determine it.
fn infer(public: &Utf8Path) -> Option<Prediction> {
    let sample = TableColumns::read(&public.join("sample_submission.csv"))?;
    let train = TableColumns::read(&public.join("train.csv"))?;
    let test = TableColumns::read(&public.join("test.csv"))?;
    let targets = sample.names.get(1..)?;
    match targets {
        [] => None,
        [target] => {
            if test.names.contains(target) {
                return None;
            }
            let example = sample.values.get(target)?;
            if let Some(known) = train.values.get(target) {
                return Some(one(target, known, example));
            }
            let labels = train.names.iter().find_map(|name| train.labels(name))?;
            Some(match one(target, &labels, example) {
                // Many numbers in names are classes all the same.
                Prediction::Number { column } => {
                    Prediction::Label { column, classes: labels.into_iter().collect() }
                }
                other => other,
            })
        }
        several => {
            if several.iter().all(|name| train.names.contains(name)) {
                let columns = several.to_vec();
                let flags = several.iter().all(|name| train.values[name].iter().all(is_flag));
                return Some(if flags {
                    Prediction::Probabilities { columns }
                } else {
                    Prediction::Numbers { columns }
                });
            }
            let quantiles = |name: &&String| {
                !test.names.contains(name) && Prediction::quantiles(name).columns() == several
            };
            if let Some(column) = train.names.iter().find(quantiles) {
                return Some(Prediction::quantiles(column));
            }
            let classes: BTreeSet<&String> = several.iter().collect();
            let is_target = |name: &&String| {
                !test.names.contains(name) && train.values[*name].iter().eq(classes.iter().copied())
            };
            let column = if let Some(column) = train.names.iter().find(is_target) {
                column.clone()
            } else {
                let mut labels = train.names.iter().filter_map(|name| train.labels(name));
                labels.find(|labels| labels.iter().eq(classes.iter().copied()))?;
                LABEL.to_owned()
            };
            Some(Prediction::ClassProbabilities { column, classes: several.to_vec() })
        }
    }
}

/// One target column with these values in the training table and in the sample submission.
fn one(target: &str, known: &BTreeSet<String>, example: &BTreeSet<String>) -> Prediction {
    let column = target.to_owned();
    let are_numbers = known.iter().all(|value| value.parse::<f64>().is_ok());
    let are_whole = |values: &BTreeSet<String>| values.iter().all(|v| v.parse::<i64>().is_ok());
    if are_numbers && known.len() <= 2 && known.iter().all(is_flag) && !are_whole(example) {
        return Prediction::Probability { column };
    }
    if !are_numbers || (are_whole(known) && are_whole(example) && known.len() <= CLASSES) {
        return Prediction::Label { column, classes: known.iter().cloned().collect() };
    }
    Prediction::Number { column }
}

fn is_flag(value: &String) -> bool {
    value == "0" || value == "1"
}

/// The columns of a table, and the distinct values of each in its first [`ROWS`] rows.
struct TableColumns {
    names: Vec<String>,
    values: BTreeMap<String, BTreeSet<String>>,
}

impl TableColumns {
    fn read(path: &Utf8Path) -> Option<Self> {
        let mut reader = csv::Reader::from_reader(fs_err::File::open(path).ok()?);
        let names: Vec<String> = reader.headers().ok()?.iter().map(str::to_owned).collect();
        let mut values: BTreeMap<String, BTreeSet<String>> =
            names.iter().map(|name| (name.clone(), BTreeSet::new())).collect();
        for record in reader.records().take(ROWS) {
            for (name, cell) in names.iter().zip(record.ok()?.iter()) {
                if let Some(column) = values.get_mut(name) {
                    column.insert(cell.to_owned());
                }
            }
        }
        Some(Self { names, values })
    }

    /// The distinct labels in the names of the files that a column names; `None` if it names none, or
    /// some that have no label.
    fn labels(&self, name: &str) -> Option<BTreeSet<String>> {
        let labels = file_label::labels_of(self.values[name].iter().map(String::as_str))?;
        Some(labels.into_iter().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(train: &str, test: &str, sample: &str) -> Option<Prediction> {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        for (name, text) in
            [("train.csv", train), ("test.csv", test), ("sample_submission.csv", sample)]
        {
            fs_err::write(path.join(name), text).unwrap();
        }
        infer(path)
    }

    #[test]
    fn labels_are_read_from_the_names_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        let train = "id,x,clip\n1,0.5,audio/up.1.wav\n2,1.5,audio/down.2.wav\n";
        fs_err::write(path.join("train.csv"), train).unwrap();
        let test = "id,x,clip\n3,1,audio/3.wav\n";
        let classes = vec!["down".to_owned(), "up".to_owned()];
        let one = Prediction::Label { column: "call".into(), classes: classes.clone() };
        assert_eq!(inferred(train, test, "id,call\n3,up\n"), Some(one.clone()));
        assert_eq!(labelled(path, &one), Some(2));
        let several = Prediction::ClassProbabilities { column: "label".into(), classes };
        assert_eq!(inferred(train, test, "id,down,up\n3,0.5,0.5\n"), Some(several));
        // Not where there is a column, nor for answers that are no classes.
        let known = Prediction::Label { column: "x".into(), classes: Vec::new() };
        assert_eq!(labelled(path, &known), None);
        assert_eq!(labelled(path, &Prediction::Number { column: "call".into() }), None);
    }

    #[test]
    fn quantiles_are_columns_named_after_one_target() {
        let sample = "id,y_p10,y_p50,y_p90\n3,0,1,2\n";
        let found = inferred("id,a,y\n1,2,3.5\n2,3,4.5\n", "id,a\n3,4\n", sample);
        assert_eq!(found, Some(Prediction::quantiles("y")));
    }

    #[test]
    fn prediction_is_inferred_from_the_public_tables() {
        let y = || "y".to_owned();
        let test = "id,x\n3,1\n";
        let cases = [
            ("id,x,y\n1,2,0\n2,3,1\n", "id,y\n3,0.5\n", Prediction::Probability { column: y() }),
            ("id,x,y\n1,2,0.25\n2,3,1\n", "id,y\n3,0\n", Prediction::Number { column: y() }),
            (
                "id,x,y\n1,2,cat\n2,3,dog\n",
                "id,y\n3,cat\n",
                Prediction::Label { column: y(), classes: vec!["cat".into(), "dog".into()] },
            ),
            (
                "id,x,y\n1,2,EAP\n2,3,HPL\n",
                "id,EAP,HPL\n3,0.5,0.5\n",
                Prediction::ClassProbabilities {
                    column: y(),
                    classes: vec!["EAP".into(), "HPL".into()],
                },
            ),
            (
                "id,x,a,b\n1,2,0,1\n2,3,1,1\n",
                "id,a,b\n3,0.5,0.5\n",
                Prediction::Probabilities { columns: vec!["a".into(), "b".into()] },
            ),
            (
                "id,x,a,b\n1,2,0.5,1\n2,3,1,1\n",
                "id,a,b\n3,0.5,0.5\n",
                Prediction::Numbers { columns: vec!["a".into(), "b".into()] },
            ),
        ];
        for (train, sample, expected) in cases {
            assert_eq!(inferred(train, test, sample), Some(expected), "{train}{sample}");
        }
        assert_eq!(inferred("id,x\n1,2\n", test, "id,y\n3,1\n"), None);
        assert_eq!(infer("/nowhere".into()), None);
    }
}
