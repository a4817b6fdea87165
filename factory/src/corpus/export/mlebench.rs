//! MLE-bench: one registry folder and one data folder per task.
//!
//! There is no way to register tasks from outside, so the export lies as in a checkout of
//! mle-bench and is copied into one. Checksums are left out: only `mlebench prepare` reads them,
//! after a download that these tasks do not have.

use super::error::ExportError;
use super::leaderboard;
use super::place::refuse_used;
use crate::corpus::tree;
use camino::Utf8Path;
use fs_err as fs;
use rayon::prelude::*;
use std::io;
use tasks::prediction::Prediction;
use tasks::task::{Corpus, Manifest, Split, TaskDir};

const GRADE: &str = include_str!("grade.py");
const PREPARE: &str = include_str!("prepare.py");
const README: &str = include_str!("readme.md");

/// Words that pandas reads as a missing cell or as a truth value.
const NOT_TEXT: [&str; 25] = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "True", "TRUE", "true",
    "False", "FALSE", "false",
];

/// Counts of an export that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Number of tasks that were written.
    pub tasks: usize,
    /// Tasks whose milestones are not all apart at five decimals, to which MLE-bench rounds.
    pub coarse: Vec<String>,
}

/// Exports every task of the corpus in `dir` to `out`, a folder that does not exist or is empty.
///
/// # Errors
/// [`ExportError`].
pub fn mlebench(dir: &Utf8Path, out: &Utf8Path) -> Result<Exported, ExportError> {
    let corpus = Corpus::open(dir)?;
    refuse_used(out)?;
    for task in corpus.tasks() {
        readable(task.manifest())?;
    }
    let distinct =
        corpus.tasks().par_iter().map(|task| export(task, out)).collect::<Result<Vec<_>, _>>()?;
    let tasks = corpus.tasks();
    let coarse = tasks.iter().zip(distinct).filter(|(_, distinct)| !distinct);
    let splits = out.join("experiments/splits");
    fs::create_dir_all(&splits)?;
    for (split, file) in [(Split::Train, "factory-train.txt"), (Split::Val, "factory-val.txt")] {
        let of_split = tasks.iter().filter(|task| task.manifest().split == split);
        let lines: String = of_split.flat_map(|task| [task.id().as_str(), "\n"]).collect();
        fs::write(splits.join(file), lines)?;
    }
    fs::write(out.join("README.md"), README)?;
    Ok(Exported {
        tasks: tasks.len(),
        coarse: coarse.map(|(task, _)| task.id().to_string()).collect(),
    })
}

/// Writes one task; whether its milestones are apart.
fn export(task: &TaskDir, out: &Utf8Path) -> Result<bool, ExportError> {
    task.check_files()?;
    let manifest = task.manifest();
    let id = task.id().as_str();
    let registry = out.join("mlebench/competitions").join(id);
    fs::create_dir_all(&registry)?;
    let scores = leaderboard::scores(&manifest.thresholds, manifest.baselines.ladder[0]);
    fs::write(registry.join("config.yaml"), config(manifest)?)?;
    fs::write(registry.join("grade.py"), GRADE)?;
    fs::write(registry.join("prepare.py"), PREPARE)?;
    fs::write(registry.join("leaderboard.csv"), leaderboard::csv(&scores))?;
    fs::copy(task.path().join("source/evaluator.py"), registry.join("evaluator.py"))?;
    fs::copy(task.public().path().join("description.md"), registry.join("description.md"))?;
    // Copied, not linked: what is done to the export must not reach the corpus.
    let prepared = out.join("data").join(id).join("prepared");
    tree::copy(task.public().path(), &prepared.join("public"))?;
    tree::copy(task.private().path(), &prepared.join("private"))?;
    Ok(leaderboard::distinct(&scores))
}

/// `config.yaml`. Text is quoted as in JSON, which YAML reads.
fn config(manifest: &Manifest) -> io::Result<String> {
    let id = manifest.id.as_str();
    let title = serde_json::to_string(&manifest.title)?;
    // Quoted too: digits and dashes alone could be read as a number or a date.
    Ok(format!(
        "id: \"{id}\"\n\
         name: {title}\n\
         competition_type: simple\n\
         awards_medals: true\n\
         prizes: null\n\
         description: mlebench/competitions/{id}/description.md\n\
         dataset:\n  \
           answers: {id}/prepared/private/answer.csv\n  \
           sample_submission: {id}/prepared/public/sample_submission.csv\n\
         grader:\n  \
           name: {}\n  \
           grade_fn: mlebench.competitions.{id}.grade:grade\n\
         preparer: mlebench.competitions.{id}.prepare:prepare\n",
        manifest.metric
    ))
}

/// MLE-bench hands over tables whose cells pandas has made into what it took them for; classes
/// must still be themselves after that.
fn readable(manifest: &Manifest) -> Result<(), ExportError> {
    // Whole numbers stay what they are; a number with a point or zeros before it does not.
    let whole = |word: &str| word == "0" || (!word.starts_with('0') && word.len() < 16);
    let stays = |word: &str| {
        let number = word.parse::<f64>().is_ok();
        let digits = word.chars().all(|c| c.is_ascii_digit());
        !NOT_TEXT.contains(&word) && (!number || (digits && whole(word)))
    };
    let words = match &manifest.prediction {
        Prediction::Label { classes, .. }
        | Prediction::ClassProbabilities { classes, .. }
        | Prediction::Boxes { classes, .. } => classes,
        Prediction::Flags { labels, .. } => labels,
        _ => return Ok(()),
    };
    match words.iter().find(|word| !stays(word)) {
        None => Ok(()),
        Some(word) => {
            let (task, word) = (manifest.id.to_string(), word.clone());
            Err(ExportError::Word { task, word })
        }
    }
}
