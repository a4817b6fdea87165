//! `factory inspect`: a corpus or a task, for the terminal.

use crate::corpus::{self, CorpusError, Record};
use camino::Utf8Path;
use fs_err as fs;
use sandbox::task::{Manifest, TaskDir, TaskError};
use std::fmt::Write as _;

/// Rows of a table's head.
const HEAD: usize = 6;

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The task does not open.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The corpus's record does not open.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A file of the task.
    #[error("failed to read the task")]
    Io(#[from] std::io::Error),
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
    match corpus::read(dir)? {
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
        let _ = writeln!(text, "empty slots: {:?}", record.empty_slots);
    }
    for fault in &record.faults {
        let _ = writeln!(text, "fault: {fault}");
    }
    text.truncate(text.trim_end().len());
    text
}

fn task(task: &TaskDir) -> Result<String, InspectError> {
    let manifest = task.manifest();
    let mut text = format!(
        "{}: {}\n{:?} {:?}, {} ({:?}), {} train and {} test rows, {:?}\nseed {}, domain {}\n\n",
        manifest.id,
        manifest.title,
        manifest.modality,
        manifest.formulation,
        manifest.metric,
        manifest.direction(),
        manifest.rows.train,
        manifest.rows.test,
        manifest.split,
        manifest.seed_task,
        manifest.domain,
    );
    for file in ["train.csv", "test.csv"] {
        let csv = fs::read_to_string(task.public().path().join(file))?;
        let _ = writeln!(text, "{file}\n{}", head(&csv));
    }
    text.push_str(&ladder(manifest));
    let _ = writeln!(text, "\nrule: {}", manifest.provenance["rule"].as_str().unwrap_or("unknown"));
    let _ = writeln!(text, "mutations: {}", manifest.provenance["mutations"]);
    let _ = write!(text, "derivation: {}", manifest.provenance["derivation"]);
    Ok(text)
}

/// The first rows of a CSV text, in columns.
fn head(csv: &str) -> String {
    let rows: Vec<Vec<&str>> =
        csv.lines().take(HEAD).map(|line| line.split(',').collect()).collect();
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.len()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
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
    let rows = [
        ("R0 constant", baselines.ladder[0]),
        ("R1 linear = median", thresholds.median_threshold),
        ("R2 forest = bronze", thresholds.bronze_threshold),
        ("silver", thresholds.silver_threshold),
        ("gold", thresholds.gold_threshold),
        ("R3 rule's transforms", baselines.ladder[3]),
        ("ceiling", baselines.ceiling),
    ];
    let mut text = String::from("ladder\n");
    for (name, value) in rows {
        let share = ((value - bottom) / (baselines.ceiling - bottom)).clamp(0.0, 1.0);
        let bar = "#".repeat(crate::draws::floor(share * WIDTH));
        let _ = writeln!(text, "  {name:<22}{value:>12.4}  {bar}");
    }
    text
}
