//! The labels of a task by rules: from the `At a glance` list of its description, else from its public
//! files and the words of the description.

use super::labels::{Label, TaskLabels};
use crate::scaffold::Facts;
use camino::Utf8Path;
use fs_err as fs;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use tasks::description::glance;
use tasks::prediction::Prediction;
use tasks::task::Task;

/// Files of a folder that are looked at.
const MOST_FILES: usize = 20_000;
/// Files of a kind from which on they are what the rows are about.
const SEVERAL: usize = 8;
/// Rows of a table that are looked at.
const ROWS: usize = 200;
/// Words of a cell, in the mean, from which on a column holds texts.
const WORDS: f64 = 4.0;
/// Columns of numbers and classes from which on a table stands beside its items.
const TABLE_COLUMNS: usize = 5;
/// Bytes of a JSON file that are parsed.
const PARSED: u64 = 32 << 20;

const CLASSIFICATION: &str = "General Machine Learning/Classification";
const REGRESSION: &str = "General Machine Learning/Regression";
const FUSION: &str = "Cross-Modal/Fusion Classification";
const PICTURES: &str = "Computer Vision/Image Classification";
const SEGMENTATION: &str = "Computer Vision/Image Segmentation";
const DETECTION: &str = "Computer Vision/Object Detection";
const RESTORATION: &str = "Computer Vision/Image-to-Image";
const CLIPS: &str = "Computer Vision/Video Classification";
const TEXTS: &str = "Natural Language Processing/Text Classification";
const PAIRS: &str = "Natural Language Processing/Semantic Similarity";
const SEARCH: &str = "Natural Language Processing/Information Retrieval";
const NORMALISATION: &str = "Natural Language Processing/Text Normalisation";
const ANSWERS: &str = "Natural Language Processing/Question Answering";
const ENTITIES: &str = "Natural Language Processing/Named Entity Recognition";
const SENTIMENT: &str = "Natural Language Processing/Sentiment Analysis";
const SOUND: &str = "Signal Processing/Audio Classification";
const FORECASTING: &str = "Sequential Modeling/Forecasting";
const SERIES: &str = "Sequential Modeling/Series Classification";
const GRAPHS: &str = "Graph Learning/Graph Embedding";
const NODES: &str = "Graph Learning/Node Classification";
const RANKING: &str = "Recommender Systems/Ranking";
const COLLABORATIVE: &str = "Recommender Systems/Collaborative Filtering";
const CLICKS: &str = "Recommender Systems/Click-Through Rate";
const REPRESENTATION: &str = "General Machine Learning/Representation Learning";
const POINTS: &str = "Anomaly Detection/Point Anomalies";

/// Every label that the rules give.
#[cfg(test)]
pub(super) const RULE_LABELS: [&str; 25] = [
    CLASSIFICATION,
    REGRESSION,
    FUSION,
    PICTURES,
    SEGMENTATION,
    DETECTION,
    RESTORATION,
    CLIPS,
    TEXTS,
    PAIRS,
    SEARCH,
    NORMALISATION,
    ANSWERS,
    ENTITIES,
    SENTIMENT,
    SOUND,
    FORECASTING,
    SERIES,
    GRAPHS,
    NODES,
    RANKING,
    COLLABORATIVE,
    CLICKS,
    REPRESENTATION,
    POINTS,
];

fn labels(names: &[&str]) -> TaskLabels {
    let parse = |name: &&str| name.parse::<Label>().expect("a test parses every constant above");
    names.iter().map(parse).collect()
}

/// The labels of a task with this description and these public files; at least one.
pub(super) fn label_task(task: &Task, description: &str, files: &PublicFiles) -> TaskLabels {
    if let Some(found) = glance(description).and_then(from_glance) {
        return found;
    }
    let prediction = Facts::from_task(task).prediction;
    from_files(description, files, prediction.as_ref())
}

/// The labels that the rules find in a text alone.
pub(crate) fn label_text(text: &str) -> TaskLabels {
    if let Some(found) = glance(text).and_then(from_glance) {
        return found;
    }
    let small = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| small.contains(word));
    let kind = if has(&["image", "picture", "photo", "pixel", "x-ray", "radiograph", "scans"]) {
        FileKind::Picture
    } else if has(&["audio", "sound", "recording", "speech", "acoustic"]) {
        FileKind::Sound
    } else if has(&["video", "footage"]) {
        FileKind::Video
    } else {
        FileKind::Table
    };
    let is_text = kind == FileKind::Table
        && has(&[
            "comment", "essay", "sentence", "tweet", "text", "language", "question", "review",
        ]);
    let counts = if kind == FileKind::Table { [].into() } else { [(kind, SEVERAL)].into() };
    let files = PublicFiles { counts, texts: usize::from(is_text), columns: 0 };
    from_files(text, &files, None)
}

/// The labels of a page of ours, by its fixed list; `None` if that has not this form.
pub(super) fn from_glance(list: &str) -> Option<TaskLabels> {
    let item = |name: &str| list.lines().find_map(|line| line.strip_prefix(name));
    let (task, data) = (item("- Task: ")?, item("- Data: ")?);
    let numbers = item("- Target: ").is_some_and(|target| {
        ["(number)", "(a number each)", "(three quantiles)"].iter().any(|end| target.ends_with(end))
    });
    let is_table = data.starts_with("a table");
    let is_network = data.starts_with("a network");
    let mut found = if !is_network && !is_table && data.ends_with(" and a table") {
        labels(&[FUSION])
    } else {
        match task {
            "segmentation" => labels(&[SEGMENTATION]),
            "object detection" => labels(&[DETECTION]),
            "reconstruction" => labels(&[RESTORATION]),
            "forecasting" => labels(&[FORECASTING]),
            "text normalisation" => labels(&[NORMALISATION]),
            "span extraction" => labels(&[ANSWERS, ENTITIES]),
            "pair matching" => labels(&[PAIRS]),
            "re-identification" => labels(&[REPRESENTATION, CLASSIFICATION]),
            "recommendation" => labels(&[COLLABORATIVE, RANKING]),
            "an answer per position of a sequence" => labels(&[SERIES]),
            "ranking" if is_table => return Some(labels(&[RANKING])),
            "ranking" => return Some(labels(&[SEARCH])),
            _ => match data {
                "pictures" => labels(&[PICTURES]),
                "clips" | "folders of frames" => labels(&[CLIPS]),
                "texts" | "documents" => labels(&[TEXTS]),
                "pairs of texts" => labels(&[PAIRS]),
                "recordings" | "soundscapes" => labels(&[SOUND]),
                "graphs" => labels(&[GRAPHS]),
                "series" => labels(&[FORECASTING]),
                _ if is_network => labels(&[NODES]),
                _ if is_table && !numbers => labels(&[CLASSIFICATION]),
                _ if is_table => labels(&[REGRESSION]),
                _ => return None,
            },
        }
    };
    if numbers && task != "forecasting" {
        found.insert(REGRESSION.parse().ok()?);
    }
    Some(found)
}

/// What a file holds, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileKind {
    Picture,
    Video,
    Sound,
    Table,
}

/// What the public files of a task are.
#[derive(Debug, Default)]
pub(super) struct PublicFiles {
    /// How many there are, members of ZIP files included.
    pub(super) counts: BTreeMap<FileKind, usize>,
    /// Columns of texts in the training table.
    pub(super) texts: usize,
    /// Its other columns, less those that a submission has.
    pub(super) columns: usize,
}

impl PublicFiles {
    /// The files of a folder. What cannot be read is passed over.
    pub(super) fn of(public: &Utf8Path) -> Self {
        let mut files = Self::default();
        let asked = sample_columns(public);
        let mut folders = vec![public.to_owned()];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            let Ok(entries) = folder.read_dir_utf8() else { continue };
            for entry in entries.flatten() {
                seen += 1;
                if seen > MOST_FILES {
                    return files;
                }
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path.to_owned());
                } else if path.extension() == Some("zip") {
                    files.count_members(path);
                } else {
                    files.count(path);
                }
                let is_train = entry.file_name().starts_with("train") && folder == public;
                match path.extension() {
                    Some("csv" | "tsv") if is_train => files.read_table(path, &asked),
                    Some("json") if is_train => files.read_records(path),
                    _ => {}
                }
            }
        }
        files
    }

    fn count(&mut self, path: &Utf8Path) {
        let extension = path.extension().unwrap_or_default().to_lowercase();
        let kind = match extension.as_str() {
            "png" | "jpg" | "jpeg" | "tif" | "tiff" | "bmp" | "gif" | "dcm" | "dicom" | "webp" => {
                FileKind::Picture
            }
            "mp4" | "avi" | "mov" | "mkv" => FileKind::Video,
            "wav" | "aif" | "aiff" | "mp3" | "flac" | "ogg" => FileKind::Sound,
            "csv" | "tsv" | "parquet" => FileKind::Table,
            _ => return,
        };
        *self.counts.entry(kind).or_default() += 1;
    }

    fn count_members(&mut self, path: &Utf8Path) {
        let Ok(file) = fs::File::open(path) else { return };
        let Ok(archive) = zip::ZipArchive::new(BufReader::new(file)) else { return };
        archive.file_names().take(MOST_FILES).for_each(|name| self.count(Utf8Path::new(name)));
    }

    fn read_table(&mut self, path: &Utf8Path, asked: &BTreeSet<String>) {
        let Ok(file) = fs::File::open(path) else { return };
        let delimiter = if path.extension() == Some("tsv") { b'\t' } else { b',' };
        let mut reader =
            csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(file);
        let names = reader.headers().cloned().unwrap_or_default();
        let mut cells: Vec<Vec<String>> = vec![Vec::new(); names.len()];
        for record in reader.records().take(ROWS).map_while(Result::ok) {
            for (column, cell) in cells.iter_mut().zip(&record) {
                column.push(cell.to_owned());
            }
        }
        let known = names.iter().zip(&cells).filter(|(name, _)| !asked.contains(*name));
        let known: Vec<&Vec<String>> = known.map(|(_, cells)| cells).collect();
        self.read_columns(known.iter().map(|column| column.iter().map(String::as_str)));
    }

    fn read_records(&mut self, path: &Utf8Path) {
        if fs::metadata(path).map_or(u64::MAX, |found| found.len()) > PARSED {
            return;
        }
        let Ok(bytes) = fs::read(path) else { return };
        let records: Vec<BTreeMap<String, serde_json::Value>> =
            serde_json::from_slice(&bytes).unwrap_or_default();
        let mut columns: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, value) in records.iter().take(ROWS).flatten() {
            columns.entry(name).or_default().push(value.as_str().unwrap_or_default());
        }
        self.read_columns(columns.values().map(|cells| cells.iter().copied()));
    }

    fn read_columns<'a>(
        &mut self,
        columns: impl Iterator<Item = impl ExactSizeIterator<Item = &'a str>>,
    ) {
        for cells in columns {
            let count = cells.len().max(1) as f64;
            let words: usize = cells.map(|cell| cell.split_whitespace().count()).sum();
            if words as f64 / count >= WORDS { self.texts += 1 } else { self.columns += 1 }
        }
    }

    fn several(&self, kind: FileKind) -> bool {
        self.counts.get(&kind).is_some_and(|count| *count >= SEVERAL)
    }
}

/// The columns of the sample submission at the top of a public folder.
fn sample_columns(public: &Utf8Path) -> BTreeSet<String> {
    let Ok(entries) = public.read_dir_utf8() else { return BTreeSet::new() };
    let samples = entries.flatten().filter(|entry| {
        let name = entry.file_name().to_lowercase();
        name.contains("sample") && entry.path().extension() == Some("csv")
    });
    let names = samples.filter_map(|sample| {
        let file = fs::File::open(sample.path()).ok()?;
        let mut reader = csv::Reader::from_reader(file);
        Some(reader.headers().ok()?.iter().map(str::to_owned).collect::<Vec<_>>())
    });
    names.flatten().collect()
}

/// The labels of a competition: what its rows are about, then what is asked of them.
fn from_files(
    description: &str,
    files: &PublicFiles,
    prediction: Option<&Prediction>,
) -> TaskLabels {
    let small = description.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| small.contains(word));
    let numbers = match prediction {
        Some(
            Prediction::Number { .. } | Prediction::Numbers { .. } | Prediction::Quantiles { .. },
        ) => true,
        Some(_) => false,
        None => {
            has(&["rmse", "root mean squared", "mean absolute error", "mean squared", "mcrmse"])
        }
    };
    let has_table = files.columns >= TABLE_COLUMNS;
    let mut found = if files.several(FileKind::Video) {
        labels(&[CLIPS])
    } else if files.several(FileKind::Sound) {
        return labels(&[SOUND]);
    } else if files.several(FileKind::Picture) {
        if has(&["run-length", "run length", "segmentation", "segment the", " mask"]) {
            return labels(&[SEGMENTATION]);
        }
        if has(&["bounding box", "bounding-box"]) {
            return labels(&[DETECTION]);
        }
        if has(&["denois", "each pixel", "super-resolution", "inpaint", "clean page"]) {
            return labels(&[RESTORATION]);
        }
        labels(if has_table || files.texts > 0 { &[PICTURES, FUSION] } else { &[PICTURES] })
    } else if has(&[
        "text normalization",
        "text normalisation",
        "text-normalization",
        "text-normalisation",
        "spoken form",
        "read aloud",
        "read out loud",
    ]) {
        return labels(&[NORMALISATION]);
    } else if files.texts > 0 {
        if has(&["answer span", "extract the", "word or phrase", "answers to questions"]) {
            return labels(&[ANSWERS]);
        }
        let is_pair = has(&["similar", "duplicate", "same meaning", "phrase matching", "pairs of"]);
        if has(&["ndcg", "retriev", "average precision of the first", "map@"]) {
            labels(&[SEARCH])
        } else if is_pair {
            labels(&[PAIRS])
        } else if has(&["sentiment"]) {
            labels(&[TEXTS, SENTIMENT])
        } else {
            labels(&[TEXTS])
        }
    } else if has(&["forecast"]) {
        return labels(&[FORECASTING]);
    } else if files.several(FileKind::Table)
        || has(&["time series", "time step", "time-series", "per position", "sensor readings"])
    {
        labels(&[SERIES])
    } else if has(&["click-through", "click through rate"]) {
        return labels(&[CLICKS]);
    } else if has(&["recommend"]) {
        return labels(&[COLLABORATIVE]);
    } else if has(&["ndcg", "rank the", "relevance"]) {
        return labels(&[RANKING]);
    } else if has(&["anomal"]) {
        labels(&[POINTS])
    } else if numbers {
        labels(&[REGRESSION])
    } else {
        labels(&[CLASSIFICATION])
    };
    if numbers {
        found.insert(REGRESSION.parse().expect("a test parses every constant above"));
    }
    found
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::knowledge::base::Knowledge;
    use std::fmt::Write as _;

    /// The list of every cell of the factory with each kind of data: task, data, form of the target.
    const CELLS: [(&str, &str, &str); 52] = [
        ("binary classification", "a table", "probability of class 1"),
        ("binary classification", "a table with records", "label"),
        ("multiclass classification", "a table with places", "one probability column per class"),
        ("multilabel classification", "a table", "a probability each"),
        ("regression", "a table", "number"),
        ("multi-target regression", "a table", "a number each"),
        ("quantile regression", "a table", "three quantiles"),
        ("ranking", "a table", "a score to rank by"),
        ("re-identification", "measurements", "identifiers"),
        ("recommendation", "lists of earlier choices", "identifiers"),
        ("an answer per position of a sequence", "sequences of symbols", "label"),
        ("an answer per position of a sequence", "sequences of symbols", "a number each"),
        ("forecasting", "series", "number"),
        ("binary classification", "pictures", "probability of class 1"),
        ("multiclass classification", "pictures", "label"),
        ("multilabel classification", "pictures", "the labels that hold"),
        ("regression", "pictures", "number"),
        ("regression", "clips", "number"),
        ("multiclass classification", "folders of frames", "label"),
        ("segmentation", "pictures", "a mask"),
        ("object detection", "pictures", "boxes"),
        ("reconstruction", "pictures", "an image"),
        ("binary classification", "texts", "label"),
        ("multiclass classification", "documents", "label"),
        ("regression", "texts", "number"),
        ("regression", "documents", "number"),
        ("pair matching", "pairs of texts", "label"),
        ("text normalisation", "sentences", "a text"),
        ("span extraction", "short texts", "a text"),
        ("ranking", "texts", "a score to rank by"),
        ("ranking", "documents", "a score to rank by"),
        ("binary classification", "recordings", "label"),
        ("multiclass classification", "recordings", "label"),
        ("multilabel classification", "soundscapes", "a probability each"),
        ("binary classification", "graphs", "label"),
        ("multiclass classification", "graphs", "label"),
        ("regression", "graphs", "number"),
        ("binary classification", "a network and a table", "label"),
        ("multiclass classification", "a network and a table", "label"),
        ("regression", "a network and a table", "number"),
        ("binary classification", "pictures and a table", "label"),
        ("multiclass classification", "pictures and a table", "label"),
        ("regression", "pictures and a table", "number"),
        ("binary classification", "texts and a table", "label"),
        ("multiclass classification", "documents and a table", "label"),
        ("regression", "texts and a table", "number"),
        ("binary classification", "recordings and a table", "label"),
        ("multiclass classification", "soundscapes and a table", "label"),
        ("regression", "recordings and a table", "number"),
        ("binary classification", "folders of frames and a table", "label"),
        ("multiclass classification", "graphs and a table", "label"),
        ("regression", "clips and a table", "number"),
    ];

    /// Labels of each cell, for the tests of the shipped base.
    pub(in crate::knowledge) fn cells() -> impl Iterator<Item = (String, TaskLabels)> {
        CELLS.iter().map(|(task, data, form)| {
            let list = format!("- Task: {task}\n- Data: {data}\n- Target: `y` ({form})\n");
            let found = from_glance(&list);
            let name = format!("{task}, {data} ({form})");
            (name.clone(), found.unwrap_or_else(|| panic!("{name} has no labels")))
        })
    }

    #[test]
    fn every_cell_of_the_factory_has_labels() {
        let mut said = String::new();
        for (name, labels) in cells() {
            let _ = writeln!(said, "{name}\n    {labels}");
        }
        insta::assert_snapshot!(said);
    }

    #[test]
    fn every_label_of_the_rules_is_in_the_tree() {
        let tree = Knowledge::shipped().labels();
        for name in RULE_LABELS {
            assert!(tree.contains(&name.parse().unwrap()), "{name}");
        }
        assert_eq!(from_glance("- Task: regression"), None);
        assert_eq!(from_glance("- Task: painting\n- Data: dreams"), None);
    }

    #[test]
    fn texts_of_posts_get_labels_by_their_words() {
        for (text, expected) in [
            ("Classify X-ray images of the chest.", "Computer Vision: Image Classification"),
            ("Draw a mask for each picture.", "Computer Vision: Image Segmentation"),
            ("Find whales in sound recordings.", "Signal Processing: Audio Classification"),
            (
                "Rate comments by how rude they are.",
                "Natural Language Processing: Text Classification",
            ),
            ("Forecast the sales of shops.", "Sequential Modeling: Forecasting"),
            (
                "Estimate prices, by the mean absolute error.",
                "General Machine Learning: Regression",
            ),
            ("Who defaults?", "General Machine Learning: Classification"),
        ] {
            assert_eq!(label_text(text).to_string(), expected, "{text}");
        }
    }
}
