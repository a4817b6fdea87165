//! A seed: the abstract structure of a real competition, written by hand, one TOML file each.
//!
//! A [`Seed`] holds facts about shape and difficulty only; no data and no prose of the
//! competition. Next in the flow: [`crate::spec::dna`].

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

/// The 22 competitions of MLE-bench's low split: they are what agents are judged on, so no
/// training task may descend from them.
pub const EVALUATION_ONLY: [&str; 22] = [
    "aerial-cactus-identification",
    "aptos2019-blindness-detection",
    "denoising-dirty-documents",
    "detecting-insults-in-social-commentary",
    "dog-breed-identification",
    "dogs-vs-cats-redux-kernels-edition",
    "histopathologic-cancer-detection",
    "jigsaw-toxic-comment-classification-challenge",
    "leaf-classification",
    "mlsp-2013-birds",
    "new-york-city-taxi-fare-prediction",
    "nomad2018-predict-transparent-conductors",
    "plant-pathology-2020-fgvc7",
    "random-acts-of-pizza",
    "ranzcr-clip-catheter-line-classification",
    "siim-isic-melanoma-classification",
    "spooky-author-identification",
    "tabular-playground-series-dec-2021",
    "tabular-playground-series-may-2022",
    "text-normalization-challenge-english-language",
    "text-normalization-challenge-russian-language",
    "the-icml-2013-whale-challenge-right-whale-redux",
];

/// Where a seed stands in MLE-bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchSplit {
    /// A competition of medium complexity.
    Medium,
    /// A competition of high complexity.
    High,
    /// A competition of the development set.
    Dev,
    /// Not from MLE-bench: a seed of the user's own.
    Own,
}

/// The kind of data of the seed competition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedModality {
    /// A table of rows and columns.
    Tabular,
    /// Values ordered in time.
    TimeSeries,
    /// Raw recordings of sensors.
    Signal,
    /// Still pictures, such as photos or scans.
    Image,
    /// Words, sentences or documents.
    Text,
    /// Recordings of audible sound.
    Audio,
    /// Nodes that are joined by edges.
    Graph,
    /// Several kinds of data at once.
    Multimodal,
    /// Volumes and point clouds.
    #[serde(rename = "3d")]
    Volume,
    /// Videos: sequences of still pictures.
    Video,
}

/// The kind of prediction the seed competition asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedTask {
    /// One or several classes per row.
    Classification,
    /// One or several numbers per row.
    Regression,
    /// Later values of a series.
    Forecasting,
    /// An order of items.
    Ranking,
    /// Equal or similar pairs.
    Matching,
    /// Boxes around the objects of a picture.
    ObjectDetection,
    /// A mask of the pixels that belong.
    Segmentation,
    /// A sequence of tokens for each input sequence.
    Seq2seq,
    /// Repaired copies of damaged inputs.
    Reconstruction,
    /// A kind of prediction not listed here.
    Other,
}

/// What makes the seed competition hard; each becomes a mutation or a part of the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trait {
    /// Some classes are much rarer than others.
    ClassImbalance,
    /// Columns that repeat each other.
    CorrelatedColumns,
    /// The future differs from the past.
    Drift,
    /// Few examples of each class.
    FewPerClass,
    /// Few examples at all.
    FewRows,
    /// Rows belong to groups that behave alike.
    GroupKeys,
    /// Noise that hides most of the signal.
    HeavyNoise,
    /// Categories are nested in each other.
    Hierarchy,
    /// Rows have very many input columns.
    HighDimension,
    /// Inputs act together, not only one by one.
    Interactions,
    /// Some labels in the data are wrong.
    LabelNoise,
    /// Very many rare classes.
    LongTail,
    /// Gaps in the data.
    MissingValues,
    /// Inputs of very different sizes.
    MixedScales,
    /// Rows that almost repeat.
    NearDuplicates,
    /// The classes have an order.
    Ordinal,
    /// The mechanism changes between stretches of the data.
    Regimes,
    /// What is known of a row stands in several files.
    RelatedTables,
    /// Records of different length.
    VariableLength,
    /// The inputs explain only little of the target.
    WeakSignal,
    /// Columns that are mostly zero.
    ZeroInflated,
}

/// What the seed competition's target looks like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedTarget {
    /// `number`, `label`, `probability`, `mask`, ...
    pub r#type: String,
    /// Number of classes, labels or columns, where known.
    pub cardinality: Option<u32>,
    /// `balanced`, `imbalanced`, `continuous`, `long-tail` or `unknown`.
    pub distribution: String,
}

/// Facts about one real competition, from which tasks descend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    /// Its name, which is also the file's name.
    pub id: String,
    /// Which part of MLE-bench it belongs to.
    pub split: BenchSplit,
    /// What it asks for, in a sentence.
    pub summary: String,
    /// Kind of data that the competition offers.
    pub modality: SeedModality,
    /// Kind of prediction that the competition asks for.
    pub task: SeedTask,
    /// Finer kind of prediction.
    pub subtype: String,
    /// Name of the competition's metric.
    pub metric: String,
    /// Whether lower scores are better.
    pub lower_is_better: bool,
    /// Rough number of training rows.
    pub train_rows: Option<u64>,
    /// Rough number of test rows.
    pub test_rows: Option<u64>,
    /// What makes it hard.
    pub traits: Vec<Trait>,
    /// Facts about its data.
    pub structure: Vec<String>,
    /// Type, cardinality and distribution of the target.
    pub target: SeedTarget,
}

/// Why a seed could not be used.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// The file could not be read.
    #[error("failed to read a seed")]
    Io(#[from] std::io::Error),
    /// The file is not a seed; the message names line and key.
    #[error("failed to parse the seed `{file}`\n{message}")]
    Parse {
        /// Path of the seed file.
        file: Utf8PathBuf,
        /// Line, column, the line itself and what is wrong with it.
        message: String,
    },
    /// A competition that agents are judged on.
    #[error(
        "`{0}` belongs to the low split of MLE-bench, which is kept for evaluation; \
         it cannot be a seed. Use a seed of the medium, high or dev split"
    )]
    EvaluationOnly(String),
    /// Neither a known set, nor a folder, nor a file.
    #[error(
        "there is no seed set, folder or file `{name}`. Known sets: {}. \
         Or name a folder of seed files or a `.toml` file",
        known.join(", ")
    )]
    Unknown {
        /// The value of `--seeds` that was given.
        name: String,
        /// The sets that are built in.
        known: Vec<String>,
    },
    /// A folder without seeds.
    #[error("`{0}` holds no seed: expected files that end in `.toml`")]
    EmptyFolder(Utf8PathBuf),
    /// Two files with one name inside.
    #[error("two seeds call themselves `{0}`; give each its own `id`")]
    Duplicate(String),
}

impl Seed {
    /// Parses the text of a seed file; `file` is for messages.
    ///
    /// # Errors
    /// [`SeedError::Parse`] with line and key, or [`SeedError::EvaluationOnly`].
    pub fn parse(file: &Utf8Path, text: &str) -> Result<Self, SeedError> {
        let refuse = |message: String| SeedError::Parse { file: file.to_owned(), message };
        // The name comes first: an evaluation competition is refused whatever else is wrong.
        let name = text.parse::<toml::Table>().ok();
        let name = name.as_ref().and_then(|table| table.get("id")).and_then(|id| id.as_str());
        check_allowed(name.unwrap_or_default())?;
        let seed: Self = toml::from_str(text).map_err(|error| refuse(error.to_string()))?;
        let line_of = |key: &str| 1 + text.lines().take_while(|l| !l.starts_with(key)).count();
        if file.file_stem() != Some(seed.id.as_str()) {
            return Err(refuse(format!(
                "line {}, key `id`: `{}` differs from the file's name",
                line_of("id"),
                seed.id
            )));
        }
        if seed.structure.is_empty() {
            return Err(refuse(format!(
                "line {}, key `structure`: at least one fact is needed",
                line_of("structure")
            )));
        }
        Ok(seed)
    }
}

/// Refuses the names of evaluation competitions.
///
/// # Errors
/// [`SeedError::EvaluationOnly`].
pub fn check_allowed(name: &str) -> Result<(), SeedError> {
    if EVALUATION_ONLY.contains(&name) {
        return Err(SeedError::EvaluationOnly(name.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = r#"
id = "pump"
split = "own"
summary = "Predict when a pump fails."
modality = "tabular"
task = "classification"
subtype = "binary"
metric = "roc_auc"
lower_is_better = false
traits = ["missing_values"]
structure = ["a few sensors"]

[target]
type = "probability"
distribution = "imbalanced"
"#;

    fn parse(text: &str) -> Result<Seed, SeedError> {
        Seed::parse(Utf8Path::new("seeds/pump.toml"), text)
    }

    #[test]
    fn a_hand_written_seed_is_read() {
        assert_eq!(parse(OWN).unwrap().traits, [Trait::MissingValues]);
    }

    #[test]
    fn errors_name_file_line_and_key() {
        let wrong = OWN.replace("lower_is_better = false", "lower_is_beter = false");
        let text = parse(&wrong).unwrap_err().to_string();
        assert!(text.contains("seeds/pump.toml"), "{text}");
        assert!(text.contains("line 9"), "{text}");
        assert!(text.contains("lower_is_beter"), "{text}");
        let wrong = OWN.replace("\"missing_values\"", "\"mising\"");
        let text = parse(&wrong).unwrap_err().to_string();
        assert!(text.contains("line 10") && text.contains("mising"), "{text}");
        let text = parse(&OWN.replace("\"pump\"", "\"pomp\"")).unwrap_err().to_string();
        assert!(text.contains("line 2, key `id`"), "{text}");
    }

    #[test]
    fn an_evaluation_competition_is_refused_with_the_reason() {
        let text = parse("id = \"leaf-classification\"").unwrap_err().to_string();
        assert!(text.contains("kept for evaluation"), "{text}");
    }
}
