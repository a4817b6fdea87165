//! `factory inspect`: a corpus or a task, for the terminal.

use crate::corpus::folder::{self, CorpusError, Record};
use crate::data::answers;
use crate::data::network::EDGES;
use crate::package::TaskSource;
use crate::show::authors::authors;
use crate::show::gallery::GalleryError;
use crate::show::gallery::rows::{self, Rows};
use crate::show::rating::{self, level_text};
use crate::spec::blueprint::Derivation;
use crate::spec::mutation::Mutation;
use crate::spec::scenario::{self, ColumnRole};
use camino::Utf8Path;
use fs_err as fs;
use polars::prelude::DataFrame;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use tasks::metrics::Direction;
use tasks::prediction::Prediction;
use tasks::rating::{RatingError, Ratings};
use tasks::task::{Manifest, Split, TaskDir, TaskError};

/// Rows of a table's head.
const HEAD: usize = 6;
/// Letters of a cell.
const WIDTH: usize = 32;

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The task does not open.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The corpus's record does not open.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The ratings of solvers do not open.
    #[error(transparent)]
    Ratings(#[from] RatingError),
    /// A file of the task.
    #[error("failed to read the task")]
    Io(#[from] std::io::Error),
    /// A table of the task.
    #[error(transparent)]
    Table(#[from] GalleryError),
    /// Neither a corpus nor a task.
    #[error("`{0}` is neither a corpus (no `corpus.json`) nor a task (no `task.json`)")]
    Neither(camino::Utf8PathBuf),
}

/// Text about the corpus or task in `dir`.
///
/// # Errors
/// [`InspectError`].
pub fn show(dir: &Utf8Path) -> Result<String, InspectError> {
    if dir.join("task.json").is_file() {
        return task(&TaskDir::open(dir)?);
    }
    match folder::read(dir)? {
        Some(record) => Ok(summary(&record)),
        None => Err(InspectError::Neither(dir.to_owned())),
    }
}

/// Funnel and statistics of a corpus.
pub fn summary(record: &Record) -> String {
    let funnel = &record.funnel;
    let share = |count: usize| 100.0 * count as f64 / funnel.attempts.max(1) as f64;
    let mut text = format!(
        "{} tasks from {} attempts ({:.1} %): {} blueprints, {} developed, {} verified\n",
        funnel.accepted,
        funnel.attempts,
        share(funnel.accepted),
        funnel.blueprints,
        funnel.developed,
        funnel.accepted
    );
    for (reason, count) in &funnel.reasons {
        let _ = writeln!(text, "  refused {count:>4}  {reason}");
    }
    for (property, counts) in &record.statistics {
        let list: Vec<String> =
            counts.iter().map(|(value, count)| format!("{value} {count}")).collect();
        let _ = writeln!(text, "{property}: {}", list.join(", "));
    }
    if !record.reserved_seeds.is_empty() {
        let _ = writeln!(text, "held-out seeds: {}", record.reserved_seeds.join(", "));
    }
    if !record.empty_slots.is_empty() {
        let slots: Vec<String> = record.empty_slots.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "empty slots: {}", slots.join(", "));
    }
    for fault in &record.faults {
        let _ = writeln!(text, "fault: {fault}");
    }
    text.truncate(text.trim_end().len());
    text
}

fn task(task: &TaskDir) -> Result<String, InspectError> {
    let manifest = task.manifest();
    let better = match manifest.direction() {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let split = match manifest.split {
        Split::Train => "for training",
        Split::Val => "held out",
    };
    let mut text = format!(
        "{}: {}\n{} {}, {} ({better}), {} train and {} test rows, {split}\nseed {}, domain {}\n\n",
        manifest.id,
        manifest.title,
        manifest.modality.name(),
        manifest.formulation.name(),
        manifest.metric,
        manifest.rows.train,
        manifest.rows.test,
        manifest.seed_task,
        manifest.domain,
    );
    let [train, test] = ["train.csv", "test.csv"].map(|file| task.public().path().join(file));
    let known = rows::read(&train)?;
    let (train, test) = (Rows::of(&known), Rows::read(&test)?);
    let contents = [
        items(task)?,
        labels(&known, manifest),
        links(task)?,
        texts(&train, &test),
        targets(manifest),
        queries(manifest, &train, &test),
    ];
    let contents = contents.concat();
    if !contents.is_empty() {
        let _ = writeln!(text, "{contents}");
    }
    for (file, table) in [("train.csv", &train), ("test.csv", &test)] {
        let _ = writeln!(text, "{file}\n{}", head(table));
    }
    text.push_str(&roles(task));
    text.push_str(&ladder(manifest));
    // The folder around a task's is its corpus.
    let ratings = Ratings::read(task.path().parent().unwrap_or(task.path()))?;
    let _ = writeln!(text, "\nlevel: {}", level_text(ratings.level(manifest)));
    text.push_str(&rating::lines(&ratings, manifest));
    let _ = writeln!(text, "\nrule: {}", manifest.provenance["rule"].as_str().unwrap_or("unknown"));
    let _ = writeln!(text, "mutations: {}", mutations(manifest));
    let _ = writeln!(text, "from the seed: {}", derivation(manifest));
    let _ = write!(text, "made by: {}", authors(manifest));
    Ok(text)
}

/// The roles of the columns in the causes of the first target, in words; empty where the story
/// does not say, or the blueprint is of another build.
fn roles(task: &TaskDir) -> String {
    let blueprint = TaskSource::read(task).ok().map(|source| source.blueprint);
    let embedded = scenario::all().unwrap_or_default();
    let scenario = blueprint.as_ref().and_then(|known| known.scenario_among(&embedded).ok());
    let Some((blueprint, scenario)) = blueprint.as_ref().zip(scenario) else {
        return String::new();
    };
    let Some(target) = blueprint.targets.first() else { return String::new() };
    let causes = scenario.story.causes_of(&target.column);
    if causes.is_empty() {
        return String::new();
    }
    let numbers = blueprint.numbers.iter().map(|column| &column.name);
    let names = numbers.chain(blueprint.words.iter().map(|spec| &spec.column.name));
    let role = |name: &String| {
        format!("  {name}: {}\n", ColumnRole::of(name, causes, scenario.story.follows()))
    };
    let lines: Vec<String> = names.map(role).collect();
    let head = format!("roles of the columns for {}:\n", target.column);
    if lines.is_empty() { String::new() } else { head + &lines.concat() + "\n" }
}

/// What is worse than clean, in words. What this build does not know is shown as it is written.
fn mutations(manifest: &Manifest) -> String {
    let written = &manifest.provenance["mutations"];
    let known: Result<Vec<Mutation>, _> = serde_json::from_value(written.clone());
    match known {
        Err(_) => written.to_string(),
        Ok(mutations) if mutations.is_empty() => "none".to_owned(),
        Ok(mutations) => {
            let texts: Vec<String> = mutations.iter().map(ToString::to_string).collect();
            texts.join("; ")
        }
    }
}

/// How the task came from its seed, in words.
fn derivation(manifest: &Manifest) -> String {
    let written = &manifest.provenance["derivation"];
    match serde_json::from_value(written.clone()) {
        Err(_) => written.to_string(),
        Ok(Derivation::Exact) => "the same data and the same question".to_owned(),
        Ok(Derivation::Reformulated { from, how }) => format!("{from}; {how}"),
    }
}

/// The files beside the tables: how many of which kind and size.
fn items(task: &TaskDir) -> Result<String, InspectError> {
    let mut folders: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    for file in task.manifest().hashes.keys() {
        let Some(path) = file.strip_prefix("prepared/public/") else { continue };
        let Some((folder, name)) = path.split_once('/') else { continue };
        let kind = Utf8Path::new(name).extension().unwrap_or("no");
        let bytes = fs::metadata(task.path().join(file))?.len();
        folders.entry((folder, kind)).or_default().push(bytes);
    }
    let mut text = String::new();
    for ((folder, kind), sizes) in folders {
        let (count, range) = (sizes.len(), range(sizes));
        let _ = writeln!(text, "items: {count} .{kind} files in {folder}/, {range} bytes each");
    }
    Ok(text)
}

/// Which files have labels in their names, if any have.
fn labels(train: &DataFrame, manifest: &Manifest) -> String {
    let found = answers::labels_in_names(train, &manifest.prediction);
    found.map_or_else(String::new, |(labels, named)| {
        format!("labels: `{}` in the names of training files in `{named}`\n", labels.name())
    })
}

/// The network whose nodes are the rows, if there is one.
fn links(task: &TaskDir) -> Result<String, InspectError> {
    if !task.manifest().hashes.contains_key(&format!("prepared/public/{EDGES}")) {
        return Ok(String::new());
    }
    let links = Rows::read(&task.public().path().join(EDGES))?.rows.len();
    let rows = task.manifest().rows;
    let mean = 2.0 * links as f64 / (rows.train + rows.test) as f64;
    Ok(format!("network: {links} links between the rows in {EDGES}, {mean:.1} per row\n"))
}

/// The columns of prose: how many texts of which length.
fn texts(train: &Rows, test: &Rows) -> String {
    let mut text = String::new();
    for place in train.prose() {
        let name = &train.header[place];
        let theirs = test.place(name).into_iter().flat_map(|place| test.column(place));
        let lengths: Vec<u64> =
            train.column(place).chain(theirs).map(|cell| cell.chars().count() as u64).collect();
        let (count, range) = (lengths.len(), range(lengths));
        let _ = writeln!(text, "items: {count} texts in `{name}`, {range} characters each");
    }
    text
}

/// The smallest and the largest of some sizes.
fn range(mut sizes: Vec<u64>) -> String {
    sizes.sort_unstable();
    match (sizes.first(), sizes.last()) {
        (Some(low), Some(high)) if low < high => format!("{low} to {high}"),
        (Some(only), _) => only.to_string(),
        _ => "no".to_owned(),
    }
}

/// The targets of a task that has several.
fn targets(manifest: &Manifest) -> String {
    let names: Vec<&str> = match &manifest.prediction {
        Prediction::Flags { labels, .. } => labels.iter().map(String::as_str).collect(),
        Prediction::Numbers { columns } | Prediction::Probabilities { columns } => {
            columns.iter().map(String::as_str).collect()
        }
        _ => return String::new(),
    };
    format!("targets: {}: {}\n", names.len(), names.join(", "))
}

/// The queries of a ranking.
fn queries(manifest: &Manifest, train: &Rows, test: &Rows) -> String {
    let Prediction::Relevance { query, .. } = &manifest.prediction else { return String::new() };
    let count = |table: &Rows| {
        let cells = table.place(query).into_iter().flat_map(|place| table.column(place));
        cells.collect::<BTreeSet<&str>>().len()
    };
    format!("queries: {} in train, {} in test, by `{query}`\n", count(train), count(test))
}

/// The first rows of a table, in columns.
fn head(table: &Rows) -> String {
    let shortened = |cell: &String| match cell.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}...", &cell[..end]),
        None => cell.clone(),
    };
    let rows: Vec<Vec<String>> = std::iter::once(&table.header)
        .chain(&table.rows)
        .take(HEAD)
        .map(|row| row.iter().map(shortened).collect())
        .collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.header.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
    text
}

/// The ladder as bars from R0 to the ceiling, with the milestones between the rungs.
fn ladder(manifest: &Manifest) -> String {
    const WIDTH: f64 = 40.0;
    let baselines = &manifest.baselines;
    let thresholds = &manifest.thresholds;
    let bottom = baselines.ladder[0];
    // Where records have to be read, bronze lies beyond R2.
    let is_bronze = (thresholds.bronze_threshold - baselines.ladder[2]).abs() < 1e-6;
    let second = if is_bronze {
        vec![("R2 forest = bronze", thresholds.bronze_threshold)]
    } else {
        vec![("R2 forest", baselines.ladder[2]), ("bronze", thresholds.bronze_threshold)]
    };
    let first =
        [("R0 constant", baselines.ladder[0]), ("R1 linear = median", thresholds.median_threshold)];
    let further = [
        ("silver", thresholds.silver_threshold),
        ("gold", thresholds.gold_threshold),
        ("R3 rule's transforms", baselines.ladder[3]),
        ("ceiling", baselines.ceiling),
    ];
    let mut text = String::from("ladder\n");
    for (name, value) in first.into_iter().chain(second).chain(further) {
        let share = ((value - bottom) / (baselines.ceiling - bottom)).clamp(0.0, 1.0);
        let bar = "#".repeat(crate::numeric::draws::floor(share * WIDTH));
        let _ = writeln!(text, "  {name:<22}{value:>12.4}  {bar}");
    }
    text
}
