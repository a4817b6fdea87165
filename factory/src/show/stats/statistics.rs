//! The numbers of a corpus, gathered from its record, its ledger and its tasks.

use super::figure::Figure;
use super::funnel::{self, Passage};
use super::paper;
use super::sizes::Sizes;
use crate::corpus::folder::{self, CorpusError};
use crate::corpus::ledger::Entry;
use crate::data::likeness::Likeness;
use crate::numeric::intervals::Quantiles;
use crate::spec::mix::{Mix, name};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use tasks::task::{Corpus, Manifest, RowCounts, TaskDir, TaskError};

/// The version of [`Statistics`] that this build writes.
pub const STATISTICS_VERSION: u32 = 1;

/// Number of tasks by name.
pub type Counts = BTreeMap<String, usize>;

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
    /// Tasks by modality and formulation.
    pub coverage: BTreeMap<String, Counts>,
    /// Tasks by kind of rule.
    pub families: Counts,
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
    let text = |manifest: &Manifest, key: &str| {
        manifest.provenance[key].as_str().unwrap_or("unknown").to_owned()
    };

    let mut coverage: BTreeMap<String, Counts> = BTreeMap::new();
    let mut mutations = Counts::new();
    let mut discovery: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut rules: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for manifest in &manifests {
        let modality = name(&manifest.modality);
        let row = coverage.entry(modality.clone()).or_default();
        *row.entry(name(&manifest.formulation)).or_default() += 1;
        for mutation in mutations_of(manifest) {
            *mutations.entry(mutation).or_default() += 1;
        }
        for kind in ["all".to_owned(), modality] {
            discovery.entry(kind).or_default().push(to_discover(manifest));
        }
        rules.entry(text(manifest, "rule_hash")).or_default().push(manifest.id.to_string());
    }
    let descriptions = tasks
        .iter()
        .map(|task| {
            let path = task.public().path().join("description.md");
            Ok((task.id().to_string(), fs::read_to_string(path)?))
        })
        .collect::<io::Result<Vec<_>>>()?;
    let rows: Vec<RowCounts> = manifests.iter().map(|manifest| manifest.rows).collect();
    Ok(Statistics {
        version: STATISTICS_VERSION,
        factory: record.factory,
        seed: record.request.seed,
        complete: record.complete,
        tasks: tasks.len(),
        splits: count(manifests.iter().map(|manifest| name(&manifest.split))),
        figures: figures(&manifests, &record.request.mix),
        sizes: Sizes::of(&rows),
        passage: funnel::follow(&ledger(&dir.join("ledger.jsonl"))?),
        coverage,
        families: count(manifests.iter().map(|manifest| folder::family(manifest).to_owned())),
        metrics: count(manifests.iter().map(|manifest| manifest.metric.to_string())),
        mutations,
        discovery: discovery
            .into_iter()
            .filter_map(|(kind, values)| Some((kind, Quantiles::of(values)?)))
            .collect(),
        unique_rules: rules.len(),
        shared_rules: rules.into_iter().filter(|(_, tasks)| tasks.len() > 1).collect(),
        likeness: Likeness::of(&descriptions),
    })
}

fn count(names: impl Iterator<Item = String>) -> Counts {
    let mut counts = Counts::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}

fn figures(manifests: &[&Manifest], mix: &Mix) -> Vec<Figure> {
    let counts = |of: &dyn Fn(&Manifest) -> String| count(manifests.iter().map(|task| of(task)));
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
    vec![
        Figure::new(
            "Domains",
            &paper::DOMAINS,
            &counts(&|task| paper::domain(&task.domain).to_owned()),
            &domains,
        ),
        Figure::new(
            "Modalities",
            &paper::MODALITIES,
            &counts(&|task| paper::modality(task.modality).to_owned()),
            &modalities,
        ),
        Figure::new(
            "Formulations",
            &paper::FORMULATIONS,
            &counts(&|task| paper::formulation(task.formulation).to_owned()),
            &formulations,
        ),
    ]
}

/// Kinds of mutations, each once per task however many columns it befell.
fn mutations_of(manifest: &Manifest) -> Vec<String> {
    let mut names = Vec::new();
    for mutation in manifest.provenance["mutations"].as_array().into_iter().flatten() {
        let kind = mutation["kind"].as_str().unwrap_or("unknown");
        names.push(kind.to_owned());
        if kind == "blemish" {
            names.extend(mutation["name"].as_str().map(|name| format!("blemish: {name}")));
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Of the way from a constant to the ceiling, the part that only the rule's own transforms go.
fn to_discover(manifest: &Manifest) -> f64 {
    let [r0, _, r2, r3] = manifest.baselines.ladder;
    (r3 - r2) / (manifest.baselines.ceiling - r0)
}

/// Every attempt, by slot. Half a line at the end belongs to a run that was killed, or is still
/// being written.
fn ledger(path: &Utf8Path) -> Result<Vec<Entry>, StatisticsError> {
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
