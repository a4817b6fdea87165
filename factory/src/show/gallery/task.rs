//! A task as its files tell it.

use super::GalleryError;
use super::rows::{self, Rows};
use crate::data::answers::answered;
use crate::data::assets::POSITIONS;
use crate::spec::blueprint::Blueprint;
use crate::spec::positions::PositionAnswer;
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use fs_err as fs;
use tasks::cells;
use tasks::prediction::Prediction;
use tasks::task::TaskDir;
use tasks::values::Values;

/// What can be shown of a file beside a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Picture,
    Sound,
    Graph,
    Document,
}

/// A column that names files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemColumn {
    pub(super) column: usize,
    pub(super) kind: FileKind,
}

/// One thing to be predicted, as numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GalleryTarget {
    /// What the numbers are.
    pub(super) name: String,
    /// Names of the values 0, 1, ...; none if they are plain numbers.
    pub(super) classes: Vec<String>,
    /// The truth of `train.csv`.
    pub(super) train: Vec<f64>,
    /// The truth of `answer.csv`.
    pub(super) test: Vec<f64>,
}

/// Everything about a task that its page is made from.
#[derive(Debug)]
pub(super) struct GalleryTask {
    pub(super) dir: TaskDir,
    pub(super) blueprint: Blueprint,
    pub(super) description: String,
    pub(super) train: Rows,
    pub(super) test: Rows,
    /// The rows of `train.csv` with their answers, which may stand in the names of their files.
    pub(super) answered: Rows,
    /// The truth of `train.csv`, as graders read it; of the positions of its rows, where these are
    /// sequences.
    pub(super) truth: Values,
    pub(super) targets: Vec<GalleryTarget>,
}

impl GalleryTask {
    /// Reads a task whose files are all as its manifest says.
    pub(super) fn open(dir: TaskDir) -> Result<Self, GalleryError> {
        dir.check_files()?;
        let path = dir.path().join("source/blueprint.json");
        let blueprint: Blueprint = serde_json::from_slice(&fs::read(&path)?)
            .map_err(|error| GalleryError::Unreadable { path, fault: error.to_string() })?;
        let public = dir.public();
        let [train_path, test_path] =
            ["train.csv", "test.csv"].map(|name| public.path().join(name));
        let answer_path = dir.private().answers();
        let description = fs::read_to_string(public.path().join("description.md"))?;
        let known = rows::read(&train_path)?;
        let (train, test) = (Rows::of(&known), Rows::read(&test_path)?);
        let answers = Rows::read(&answer_path)?;
        let prediction = &dir.manifest().prediction;
        let answered = Rows::of(&answered(known, prediction));
        let hidden = values(&answers, &answer_path, prediction)?;
        let (truth, targets) = if blueprint.along().is_some() {
            let known_path = public.path().join(POSITIONS);
            let known = Rows::read(&known_path)?;
            let truth = values(&known, &known_path, prediction)?;
            let targets = targets(&truth, &hidden, prediction, &blueprint);
            (truth, targets.iter().map(|one| of_sequences(one, &known, &answers)).collect())
        } else {
            let truth = values(&answered, &train_path, prediction)?;
            let targets = targets(&truth, &hidden, prediction, &blueprint);
            (truth, targets)
        };
        Ok(Self { dir, blueprint, description, train, test, answered, truth, targets })
    }

    /// The columns of `train.csv` that name files, or folders of frames.
    pub(super) fn items(&self) -> Vec<ItemColumn> {
        let Some(first) = self.train.rows.first() else { return Vec::new() };
        let kind = |cell: &str| match (cell.contains('/'), Utf8Path::new(cell).extension()) {
            (true, Some("png" | "jpg" | "tif")) => Some(FileKind::Picture),
            (true, Some("wav")) => Some(FileKind::Sound),
            (true, Some("csv")) => Some(FileKind::Graph),
            (true, Some("txt")) => Some(FileKind::Document),
            (true, None) if self.item_path(cell).is_ok_and(|path| path.is_dir()) => {
                Some(FileKind::Picture)
            }
            _ => None,
        };
        let column =
            |(column, cell): (usize, &String)| Some(ItemColumn { column, kind: kind(cell)? });
        first.iter().enumerate().filter_map(column).collect()
    }

    /// The column that names the rows of both tables.
    pub(super) fn id_column(&self) -> &str {
        self.blueprint.along().map_or(&self.dir.manifest().id_column, |rule| &rule.sequence)
    }

    /// The path of a file that a table names, which stays within the public half.
    pub(super) fn item_path(&self, cell: &str) -> Result<Utf8PathBuf, GalleryError> {
        let public = self.dir.public();
        let inside = |part: Utf8Component<'_>| matches!(part, Utf8Component::Normal(_));
        if cell.is_empty() || !Utf8Path::new(cell).components().all(inside) {
            let fault = format!("it names `{cell}`, which is no file of the task");
            let path = public.path().join("train.csv");
            return Err(GalleryError::Unreadable { path, fault });
        }
        Ok(public.path().join(cell))
    }

    /// The columns of a table that hold the truth.
    pub(super) fn truth_columns(&self) -> Vec<&str> {
        let mut columns = self.dir.manifest().prediction.answer_columns();
        // The query is known to solvers.
        if self.query().is_some() {
            columns.truncate(1);
        }
        columns
    }

    /// The column that names the query a row belongs to.
    pub(super) fn query(&self) -> Option<&str> {
        match &self.dir.manifest().prediction {
            Prediction::Relevance { query, .. } => Some(query),
            _ => None,
        }
    }

    /// At most `count` rows of `train.csv` that show the whole range of the first target, from
    /// low to high; for a ranking, the rows of one query.
    pub(super) fn examples(&self, count: usize) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.train.rows.len()).collect();
        if let Some(query) = self.query().and_then(|name| self.train.place(name)) {
            let first = self.train.rows.first().map(|row| row[query].clone()).unwrap_or_default();
            rows.retain(|row| self.train.rows[*row][query] == first);
        }
        if let Some(target) = self.targets.first() {
            rows.sort_by(|a, b| target.train[*a].total_cmp(&target.train[*b]));
        }
        let count = count.min(rows.len());
        (0..count)
            .map(|step| rows[step * (rows.len() - 1) / count.saturating_sub(1).max(1)])
            .collect()
    }

    /// The truth of a training row in a few words, not escaped.
    pub(super) fn label(&self, row: usize) -> String {
        match &self.truth {
            Values::Masks(masks) => format!("{} pixels set", masks[row].area()),
            Values::Objects(rows) => match rows[row].len() {
                1 => "1 box".to_owned(),
                count => format!("{count} boxes"),
            },
            Values::Images { .. } => "undamaged".to_owned(),
            Values::Flags { .. } => {
                let held = self.targets.iter().filter(|target| target.train[row] > 0.0);
                let held: Vec<&str> = held.map(|target| target.name.as_str()).collect();
                if held.is_empty() { "none".to_owned() } else { held.join(", ") }
            }
            _ if self.blueprint.along().is_some() => {
                let mean = |one: &GalleryTarget| format!("{} {:.3}", one.name, one.train[row]);
                self.targets.iter().map(mean).collect::<Vec<_>>().join(", ")
            }
            _ => {
                let cell = |name: &&str| {
                    let cell = &self.answered.rows[row][self.answered.place(name)?];
                    Some(format!("{name} {cell}"))
                };
                self.truth_columns().iter().filter_map(cell).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// The truth of a table, read as strictly as graders do.
fn values(table: &Rows, path: &Utf8Path, prediction: &Prediction) -> Result<Values, GalleryError> {
    let unreadable = |fault: String| GalleryError::Unreadable { path: path.to_owned(), fault };
    let place = |name: &&str| {
        table.place(name).ok_or_else(|| unreadable(format!("it has no column `{name}`")))
    };
    let places =
        prediction.answer_columns().iter().map(place).collect::<Result<Vec<_>, GalleryError>>()?;
    let cells = |row: &Vec<String>| places.iter().map(|place| row[*place].clone()).collect();
    let rows: Vec<Vec<String>> = table.rows.iter().map(cells).collect();
    let rows: Vec<&[String]> = rows.iter().map(Vec::as_slice).collect();
    cells::parse_truth(prediction, &rows).map_err(|error| unreadable(error.to_string()))
}

/// A target of positions as one of their sequences: the mean over each, grades being numbers from 0.
/// The lines of a sequence stand together, and its name begins their first cell.
fn of_sequences(target: &GalleryTarget, known: &Rows, answers: &Rows) -> GalleryTarget {
    let means = |table: &Rows, values: &[f64]| {
        let name = |row: &Vec<String>| row[0].split('_').next().unwrap_or_default().to_owned();
        let lines: Vec<(String, &f64)> = table.rows.iter().map(name).zip(values).collect();
        let mean = |lines: &[(String, &f64)]| {
            lines.iter().map(|(_, value)| **value).sum::<f64>() / lines.len() as f64
        };
        lines.chunk_by(|one, other| one.0 == other.0).map(mean).collect()
    };
    GalleryTarget {
        name: format!("mean {}", target.name),
        classes: Vec::new(),
        train: means(known, &target.train),
        test: means(answers, &target.test),
    }
}

/// Each target's numbers on both sides of the split.
fn targets(
    train: &Values,
    test: &Values,
    asked: &Prediction,
    blueprint: &Blueprint,
) -> Vec<GalleryTarget> {
    let classes = match asked {
        Prediction::Label { classes, .. } | Prediction::ClassProbabilities { classes, .. } => {
            classes.clone()
        }
        _ => vec!["0".to_owned(), "1".to_owned()],
    };
    // Classes are sorted by name in files, from low to high in blueprints.
    let along = blueprint.along().and_then(|rule| match &rule.targets.first()?.answer {
        PositionAnswer::Class { classes, .. } => Some(classes.clone()),
        PositionAnswer::Number { .. } => None,
    });
    let low_to_high = match (&blueprint.targets[..], along) {
        (_, Some(along)) => along,
        ([only], None) if only.classes.len() == classes.len() => only.classes.clone(),
        _ => classes.clone(),
    };
    let rank: Vec<f64> = classes
        .iter()
        .map(|class| low_to_high.iter().position(|other| other == class).unwrap_or(0) as f64)
        .collect();
    let names = asked.answer_columns();
    let several: Vec<&str> = match asked {
        Prediction::Flags { labels, .. } => labels.iter().map(String::as_str).collect(),
        _ => names.clone(),
    };
    let (train, test) = (columns(train, &rank), columns(test, &rank));
    let count = train.len();
    let target = |(index, (train, test)): (usize, (Vec<f64>, Vec<f64>))| {
        let plain = if count > 1 { several.get(index) } else { names.first() };
        let plain = plain.copied().unwrap_or_default();
        let (name, classes) = match asked {
            Prediction::Number { .. }
            | Prediction::Numbers { .. }
            | Prediction::Quantiles { .. } => (plain.to_owned(), Vec::new()),
            Prediction::Relevance { .. } => {
                let most = train.iter().chain(&test).copied().fold(0.0, f64::max);
                let grades = 0..=crate::numeric::draws::floor(most);
                (plain.to_owned(), grades.map(|grade| grade.to_string()).collect())
            }
            Prediction::Mask { .. } => (format!("pixels set in {plain}"), Vec::new()),
            Prediction::Boxes { .. } => (format!("boxes in {plain}"), Vec::new()),
            Prediction::Pixels { .. } => (format!("mean intensity of {plain}"), Vec::new()),
            Prediction::Text { .. } => (format!("characters of {plain}"), Vec::new()),
            Prediction::Ids { .. } => (format!("right identifiers in {plain}"), Vec::new()),
            Prediction::Flags { .. } | Prediction::Probabilities { .. } => {
                (plain.to_owned(), vec!["0".to_owned(), "1".to_owned()])
            }
            _ => (plain.to_owned(), low_to_high.clone()),
        };
        GalleryTarget { name, classes, train, test }
    };
    train.into_iter().zip(test).enumerate().map(target).collect()
}

/// Values as columns of numbers; `rank` is the number of each class.
fn columns(values: &Values, rank: &[f64]) -> Vec<Vec<f64>> {
    let strided = |numbers: Vec<f64>, width: usize| {
        (0..width)
            .map(|column| numbers.iter().skip(column).step_by(width).copied().collect())
            .collect()
    };
    match values {
        Values::Numbers(numbers) => vec![numbers.clone()],
        Values::Matrix { values, columns } => strided(values.clone(), *columns),
        Values::Labels(labels) => {
            vec![labels.iter().map(|label| rank.get(*label).copied().unwrap_or(0.0)).collect()]
        }
        Values::Flags { values, labels } => {
            strided(values.iter().map(|held| f64::from(u8::from(*held))).collect(), *labels)
        }
        Values::Grades { grades, .. } => vec![grades.iter().map(|g| f64::from(*g)).collect()],
        Values::Masks(masks) => vec![masks.iter().map(|mask| mask.area() as f64).collect()],
        Values::Objects(rows) => vec![rows.iter().map(|row| row.len() as f64).collect()],
        Values::Detections(rows) => vec![rows.iter().map(|row| row.len() as f64).collect()],
        Values::Texts(texts) => {
            vec![texts.iter().map(|text| text.chars().count() as f64).collect()]
        }
        Values::Ids(rows) => vec![rows.iter().map(|ids| ids.len() as f64).collect()],
        Values::Images { images, .. } => {
            let mean = |image: &Vec<u16>| {
                let sum: f64 = image.iter().map(|pixel| f64::from(*pixel)).sum();
                sum / image.len().max(1) as f64
            };
            vec![images.iter().map(mean).collect()]
        }
    }
}
