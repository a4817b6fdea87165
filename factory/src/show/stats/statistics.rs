//! The numbers of a corpus, gathered from its record, its ledger and its tasks.

use super::figure::Figure;
use super::funnel::{self, Passage};
use super::groups::{ALL, Counts, counts, groups, numbers, rows, texts};
use super::held_out::{HeldOut, held_out};
use super::paper;
use super::sizes::Sizes;
use super::structure::{self, PublicTables, StructureRow, TaskStructure};
use crate::corpus::folder::{self, CorpusError, Record};
use crate::corpus::frames;
use crate::corpus::ledger::{self, Entry};
use crate::data::answers;
use crate::data::likeness::Likeness;
use crate::data::table;
use crate::data::table_file::read_table;
use crate::numeric::intervals::Quantiles;
use crate::page::PageDiversity;
use crate::spec::mix::Mix;
use crate::spec::structure::RecordFormat;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use tasks::rating::{RatingError, Ratings};
use tasks::task::{Corpus, Manifest, TaskDir, TaskError};

/// The version of [`Statistics`] that this build writes.
pub const STATISTICS_VERSION: u32 = 3;

/// What is in a corpus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// Version of the output's format, [`STATISTICS_VERSION`] in this build.
    pub version: u32,
    /// Version of the software that made the corpus.
    pub factory: String,
    /// The seed of the corpus's random streams.
    pub seed: u64,
    /// Whether every slot is finished.
    pub complete: bool,
    /// Number of tasks in the corpus.
    pub tasks: usize,
    /// Number of tasks by split.
    pub splits: Counts,
    /// The paper's figure 3: domains, modalities, formulations.
    pub figures: Vec<Figure>,
    /// The paper's figure 5.
    pub sizes: Sizes,
    /// How many attempts came through each stage, beside the paper's funnel.
    pub passage: Passage,
    /// The same by what played the roles: `builtin`, or mode and models, such as
    /// `writer:openai:NAME`. Empty where all roles are built in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_model: BTreeMap<String, Passage>,
    /// Tasks by modality and formulation.
    pub coverage: BTreeMap<String, Counts>,
    /// Tasks by kind of rule.
    pub families: Counts,
    /// What held-out tasks have that training tasks do not.
    pub held_out: Vec<HeldOut>,
    /// What the public tables show of the tasks' structure. Empty in statistics of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub structure: Vec<StructureRow>,
    /// Tasks by level of difficulty, by what it follows from: `solvers` or `ladder`.
    #[serde(default)]
    pub levels: BTreeMap<String, Counts>,
    /// Tasks by level, by modality.
    #[serde(default)]
    pub levels_by_modality: BTreeMap<String, Counts>,
    /// Number of tasks by metric.
    pub metrics: Counts,
    /// Tasks by mutation; a blemish of items is counted under its own name too.
    pub mutations: Counts,
    /// What is left to discover, (R3 − R2) / (ceiling − R0), by modality; `all` over all tasks.
    pub discovery: BTreeMap<String, Quantiles>,
    /// Number of rules that differ from each other.
    pub unique_rules: usize,
    /// Tasks that share their rule, by the rule's hash.
    pub shared_rules: BTreeMap<String, Vec<String>>,
    /// How alike descriptions are.
    pub likeness: Likeness,
    /// How different the description pages are.
    pub pages: PageDiversity,
}

/// Why there are no statistics.
#[derive(Debug, thiserror::Error)]
pub enum StatisticsError {
    /// The tasks do not open.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The record does not open.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// There is no record.
    #[error("`{0}` holds no `corpus.json`; name a folder that `factory generate` made")]
    NotACorpus(Utf8PathBuf),
    /// A line of the ledger is not one.
    #[error(
        "line {line} of `{path}` is damaged; run `factory generate` with the same options to mend it"
    )]
    Ledger {
        /// Path of the ledger's file.
        path: Utf8PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Where the JSON cannot be parsed.
        #[source]
        source: serde_json::Error,
    },
    /// The ratings of solvers do not open.
    #[error(transparent)]
    Ratings(#[from] RatingError),
    /// A file could not be read.
    #[error("failed to read the corpus")]
    Io(#[from] io::Error),
}

/// Gathers the statistics of the corpus in `dir`.
///
/// # Errors
/// [`StatisticsError`].
pub fn gather(dir: &Utf8Path) -> Result<Statistics, StatisticsError> {
    let record = folder::read(dir)?.ok_or_else(|| StatisticsError::NotACorpus(dir.to_owned()))?;
    let corpus = Corpus::open(dir)?;
    let tasks = corpus.tasks();
    let manifests: Vec<&Manifest> = tasks.iter().map(TaskDir::manifest).collect();
    let descriptions = tasks
        .iter()
        .map(|task| {
            let path = task.public().path().join("description.md");
            Ok((task.id().to_string(), fs::read_to_string(path)?))
        })
        .collect::<io::Result<Vec<_>>>()?;
    let mut entries = entries(&dir.join(ledger::LEDGER))?;
    ledger::add_times(dir, &mut entries)?;
    let attempts = frames::attempts(&entries);
    let structures = tasks.iter().map(structure_of).collect::<io::Result<Vec<_>>>()?;
    let ratings = Ratings::read(dir)?;
    Ok(of_tables(&record, &manifests, &ratings, &attempts, &descriptions, &structures))
}

/// Where the public half lies in a task's folder.
const PUBLIC: &str = "prepared/public/";

/// The structure of a task, from its public tables.
fn structure_of(task: &TaskDir) -> io::Result<TaskStructure> {
    let read = |name: &str| {
        let bytes = fs::read(task.public().path().join(name))?;
        read_table(name, &bytes, &task.manifest().id_column)
    };
    let manifest = task.manifest();
    let (train, test) = (read("train.csv")?, read("test.csv")?);
    let train = answers::answered(train, &manifest.prediction);
    let known = ["train", "test", "sample_submission"].map(|name| format!("{PUBLIC}{name}.csv"));
    let others = manifest.hashes.keys().filter(|path| !known.contains(path));
    let others = others.filter_map(|path| path.strip_prefix(PUBLIC));
    let is_table = |name: &&str| RecordFormat::of_name(name).is_some() && !name.contains('/');
    let others = others.filter(is_table);
    let others = others.map(read).collect::<io::Result<Vec<_>>>()?;
    let (id, prediction, others) = (id_of(&train, manifest), &manifest.prediction, &others[..]);
    Ok(TaskStructure::of(&PublicTables { train: &train, test: &test, id, prediction, others }))
}

/// The column that names the rows of the training table: that of submissions, or the first one where
/// their rows are positions.
fn id_of<'a>(train: &'a DataFrame, manifest: &'a Manifest) -> &'a str {
    let names = train.get_column_names();
    let own = |name: &&str| *name == manifest.id_column;
    let names: Vec<&str> = names.into_iter().map(polars::prelude::PlSmallStr::as_str).collect();
    names.iter().copied().find(own).or_else(|| names.first().copied()).unwrap_or_default()
}

/// The statistics of tasks, ratings, attempts (one row each) and descriptions (by the task's name).
fn of_tables(
    record: &Record,
    manifests: &[&Manifest],
    ratings: &Ratings,
    attempts: &DataFrame,
    descriptions: &[(String, String)],
    structures: &[TaskStructure],
) -> Statistics {
    let tasks = frames::tasks(manifests, ratings);
    let modalities = groups(&tasks, "modality");
    let pages: Vec<&str> = descriptions.iter().map(|(_, page)| page.as_str()).collect();
    let rules = counts(&tasks, "rule_hash");
    let with_tasks = |rule: &String| (rule.clone(), texts(&rows(&tasks, "rule_hash", rule), "id"));
    let shared = rules.iter().filter(|(_, tasks)| **tasks > 1).map(|(rule, _)| rule);
    Statistics {
        version: STATISTICS_VERSION,
        factory: record.factory.clone(),
        seed: record.request.seed,
        complete: record.complete,
        tasks: tasks.height(),
        splits: counts(&tasks, "split"),
        figures: figures(manifests, &record.request.mix),
        sizes: Sizes::from_tasks(&tasks),
        passage: funnel::follow(attempts),
        by_model: funnel::by_model(attempts),
        coverage: modalities
            .iter()
            .map(|(modality, tasks)| (modality.clone(), counts(tasks, "formulation")))
            .collect(),
        families: counts(&tasks, "family"),
        held_out: held_out(&tasks),
        structure: structure::rows(structures),
        levels: groups(&tasks, "level_source")
            .iter()
            .map(|(source, tasks)| (source.clone(), counts(tasks, "level")))
            .collect(),
        levels_by_modality: modalities
            .iter()
            .map(|(modality, tasks)| (modality.clone(), counts(tasks, "level")))
            .collect(),
        metrics: counts(&tasks, "metric"),
        mutations: counts(&frames::mutations(manifests), "mutation"),
        discovery: modalities
            .iter()
            .chain([(&ALL.to_owned(), &tasks)])
            .filter_map(|(kind, tasks)| Some((kind.clone(), Quantiles::of(to_discover(tasks))?)))
            .collect(),
        unique_rules: rules.len(),
        shared_rules: shared.map(with_tasks).collect(),
        likeness: Likeness::of(descriptions),
        pages: PageDiversity::from_pages(&pages),
    }
}

/// The tasks beside the paper's, by the names under which the paper counts.
fn figures(manifests: &[&Manifest], mix: &Mix) -> Vec<Figure> {
    let mut modalities: BTreeMap<String, f64> = BTreeMap::new();
    let mut formulations: BTreeMap<String, f64> = BTreeMap::new();
    for (cell, share) in &mix.cells {
        *modalities.entry(paper::modality(cell.modality).to_owned()).or_default() += share;
        *formulations.entry(paper::formulation(cell.formulation).to_owned()).or_default() += share;
    }
    let mut domains: BTreeMap<String, f64> = BTreeMap::new();
    for (domain, share) in &mix.domains {
        *domains.entry(paper::domain(domain).to_owned()).or_default() += share;
    }
    let rest = (1.0 - mix.domains.values().sum::<f64>()).max(0.0);
    *domains.entry(paper::OTHER.to_owned()).or_default() += rest;
    let named = |name: &'static str, of: fn(&Manifest) -> &str| {
        table::texts(name, manifests.iter().map(|task| of(task)))
    };
    let tasks = table::from_columns(vec![
        named("domain", |task| paper::domain(&task.domain)),
        named("modality", |task| paper::modality(task.modality)),
        named("formulation", |task| paper::formulation(task.formulation)),
    ]);
    vec![
        Figure::new("Domains", &paper::DOMAINS, &counts(&tasks, "domain"), &domains),
        Figure::new("Modalities", &paper::MODALITIES, &counts(&tasks, "modality"), &modalities),
        Figure::new(
            "Formulations",
            &paper::FORMULATIONS,
            &counts(&tasks, "formulation"),
            &formulations,
        ),
    ]
}

/// Of each task's way from a constant to the ceiling, the part that only the rule's own transforms
/// go.
fn to_discover(tasks: &DataFrame) -> Vec<f64> {
    let [r0, r2, r3, ceiling] = ["baseline_r0", "baseline_r2", "baseline_r3", "ceiling"]
        .map(|column| numbers(tasks, column));
    (0..tasks.height()).map(|task| (r3[task] - r2[task]) / (ceiling[task] - r0[task])).collect()
}

/// Every attempt, by slot. Half a line at the end belongs to a run that was killed, or is still
/// being written.
fn entries(path: &Utf8Path) -> Result<Vec<Entry>, StatisticsError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.into()),
    };
    let whole = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
    let mut entries: Vec<Entry> = Vec::new();
    for (index, line) in whole.lines().enumerate() {
        let entry = serde_json::from_str(line).map_err(|source| StatisticsError::Ledger {
            path: path.to_owned(),
            line: index + 1,
            source,
        })?;
        entries.push(entry);
    }
    entries.sort_by_key(|entry| (entry.slot, entry.attempt));
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::folder::{Funnel, RECORD_VERSION};
    use crate::corpus::ledger::{AttemptOutcome, Stage};
    use crate::spec::config::Request;
    use serde_json::json;

    fn record() -> Record {
        Record {
            version: RECORD_VERSION,
            factory: "0.0.0".to_owned(),
            request: Request::for_tests(),
            shard: None,
            complete: true,
            reserved_seeds: Vec::new(),
            notes: Vec::new(),
            funnel: Funnel::default(),
            empty_slots: Vec::new(),
            statistics: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    /// A task with a rule, in a domain, of a kind of data and of question.
    fn manifest(id: &str, rule: &str, kind: [&str; 3], train: usize, r2: f64) -> Manifest {
        let text = support::manifest::manifest(id, 400, [0.9, 0.8, 0.7, 0.6]);
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        [value["domain"], value["modality"], value["formulation"]] = kind.map(|part| json!(part));
        value["rows"]["train"] = json!(train);
        value["baselines"]["ladder"][2] = json!(r2);
        value["provenance"] = json!({"rule_hash": rule, "family": "products", "mutations": [
            {"kind": "missing", "column": "a"}, {"kind": "missing", "column": "b"},
            {"kind": "blemish", "name": "blur", "strength": 0.5}
        ]});
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn statistics_of_a_small_corpus_are_as_before() {
        let manifests = [
            manifest("t0", "aa", ["healthcare", "tabular", "binary"], 100, 0.7),
            manifest("t1", "bb", ["retail", "time_series", "forecasting"], 150, 0.75),
            manifest("t2", "aa", ["healthcare", "image", "multiclass"], 60, 0.8),
            manifest("t3", "cc", ["museums", "image", "segmentation"], 199, 0.65),
        ];
        let attempt = |slot, attempt, stage, reason: Option<&str>| Entry {
            stage,
            outcome: if reason.is_some() {
                AttemptOutcome::Refused
            } else {
                AttemptOutcome::Accepted
            },
            reason: reason.map(str::to_owned),
            milliseconds: Some(100 * (slot + 1)),
            ..Entry::for_tests(slot, attempt)
        };
        let attempts = frames::attempts(&[
            attempt(0, 0, Stage::Packaged, None),
            attempt(1, 0, Stage::Verification, Some("unlearnable")),
            attempt(1, 1, Stage::Packaged, None),
            attempt(2, 0, Stage::Development, Some("ladder")),
            attempt(2, 1, Stage::Verification, Some("unlearnable")),
            attempt(2, 2, Stage::Packaged, None),
            attempt(3, 0, Stage::Packaged, None),
            attempt(4, 0, Stage::Strategy, Some("rule")),
        ]);
        let descriptions = ["a b c d e f g", "a b c d e f h", "i j k l m n", "o p q r s t"]
            .into_iter()
            .enumerate()
            .map(|(task, text)| (format!("t{task}"), text.to_owned()))
            .collect::<Vec<_>>();
        let manifests: Vec<&Manifest> = manifests.iter().collect();
        let ratings = Ratings::default();
        let statistics = of_tables(&record(), &manifests, &ratings, &attempts, &descriptions, &[]);
        insta::assert_snapshot!(super::super::text::text(&statistics));
    }
}
