//! The files that mle-bench's own scripts read.
//!
//! ```text
//! <out>/mlebench/<agent>_seed<k>/<timestamp>_grading_report.json   one seed's reports
//! <out>/mlebench/run_group_experiments.csv                         which folders are of one agent
//! <out>/mlebench/summary.json                                      what aggregate_grading_reports.py prints, by agent
//! ```
//!
//! With `mlebench` as its `runs` folder, mle-bench's `aggregate_grading_reports.py --experiment-id
//! <agent>` runs on them unchanged. Runs on stand-ins go to `stand_in_report.json` and
//! `stand_in_summary.json` instead, which its pattern `*grading_report*.json` does not match.

use super::contender::{ContenderSummary, grade};
use super::measure::Measure;
use super::outcome::{BenchRun, GradedRun};
use super::summary::BenchTable;
use crate::statistics::{Z, mean, standard_error};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use sandbox::env::Feedback;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tasks::files;
use tasks::mlebench::grading::{GradingError, known_board};
use tasks::mlebench::report::{CompetitionReport, aggregate};
use tasks::task::DataSource;

/// Folder of all files, below that of the evaluation.
pub const FOLDER: &str = "mlebench";
/// End of the name of a report on real data.
const REPORT: &str = "_grading_report.json";

/// Why the files could not be written.
#[derive(Debug, thiserror::Error)]
pub enum MlebenchFilesError {
    /// A file or folder could not be written.
    #[error("failed to write the files for mle-bench")]
    Io(#[from] std::io::Error),
    /// Not one of mle-bench's competitions.
    #[error("failed to report `{agent}` to mle-bench")]
    Competition {
        /// Name of the agent.
        agent: String,
        /// What is wrong with its competition.
        #[source]
        source: GradingError,
    },
    /// Grades that do not follow from the score.
    #[error(
        "the grade of `{agent}` on `{competition}`, seed {seed}, does not follow from its score and mle-bench's thresholds; grade the run again"
    )]
    Disagrees {
        /// Name of the agent.
        agent: String,
        /// What it played.
        competition: String,
        /// The seed of the run.
        seed: u64,
    },
    /// A moment that is none.
    #[error("`{agent}` was graded at `{created_at}`; expected a time such as 2026-01-02T03:04:05")]
    BadTime {
        /// Name of the agent.
        agent: String,
        /// What stands there.
        created_at: String,
    },
    /// Two agents whose folders would be one.
    #[error(
        "the agents `{one}` and `{other}` would both be written to `{slug}`; rename one of them"
    )]
    SameName {
        /// One agent.
        one: String,
        /// The other.
        other: String,
        /// The name of their folder.
        slug: String,
    },
}

/// The keys of mle-bench's metrics, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MlebenchMetrics<T> {
    /// Competitions of a seed.
    pub total_competitions: T,
    /// Runs with a file that ends in `.csv`.
    pub submission_exists_percentage: T,
    /// Runs with a submission that the grader took.
    pub valid_submissions_percentage: T,
    /// Runs strictly better than the median.
    pub above_median_percentage: T,
    /// Runs with gold.
    pub gold_medal_percentage: T,
    /// Runs with silver.
    pub silver_medal_percentage: T,
    /// Runs with bronze.
    pub bronze_medal_percentage: T,
    /// Runs with any medal.
    pub any_medal_percentage: T,
}

/// A metric over seeds, as mle-bench writes it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MlebenchMetric {
    /// The mean.
    pub mean: f64,
    /// `mean - 1.96 standard_error`.
    pub ci_lower: f64,
    /// `mean + 1.96 standard_error`.
    pub ci_upper: f64,
    /// With ddof 1; 0 of a single seed.
    pub standard_error: f64,
}

/// What `aggregate_grading_reports.py` prints for one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MlebenchSummary {
    /// Number of seeds.
    pub num_seeds_averaged: usize,
    /// Number of competitions of the split.
    pub num_competitions_per_seed: usize,
    /// The metrics.
    pub metrics: MlebenchMetrics<MlebenchMetric>,
}

/// Writes the files of all agents of a table below `out`, and returns their folder. Of the
/// same runs they are the same bytes.
///
/// # Errors
/// [`MlebenchFilesError`].
pub fn write(out: &Utf8Path, table: &BenchTable) -> Result<Utf8PathBuf, MlebenchFilesError> {
    let folder = out.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let is_real = table.data != DataSource::StandIn;
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    let mut groups = String::from("experiment_id,run_group\n");
    let mut summaries = BTreeMap::new();
    for row in &table.rows {
        let slug = slug(row);
        if let Some(one) = owners.insert(slug.clone(), &row.agent) {
            let (one, other) = (one.to_owned(), row.agent.clone());
            return Err(MlebenchFilesError::SameName { one, other, slug });
        }
        for seed in &row.seeds {
            let Some(seed_report) = SeedReport::from_runs(table, row, *seed)? else { continue };
            let group = format!("{slug}_seed{seed}");
            let place = folder.join(&group);
            fs::create_dir_all(&place)?;
            let name = if is_real { seed_report.name } else { "stand_in_report.json".to_owned() };
            // The scripts refuse a folder with two reports.
            remove_reports(&place, &name)?;
            let mut text = aggregate(&seed_report.reports);
            if !is_real {
                text = text.replacen("{\n", "{\n  \"data\": \"stand_in\",\n", 1);
            }
            files::write_atomic(&place.join(name), text.as_bytes())?;
            let _ = writeln!(groups, "{slug},{group}");
        }
        if let Some(summary) = summary(table, row) {
            summaries.insert(slug, summary);
        }
    }
    if is_real {
        files::write_atomic(&folder.join("run_group_experiments.csv"), groups.as_bytes())?;
    }
    let name = if is_real { "summary.json" } else { "stand_in_summary.json" };
    files::write_json(&folder.join(name), &summaries)?;
    Ok(folder)
}

/// The name of an agent as part of a path and of a CSV file without quotes.
fn slug(row: &ContenderSummary) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let mut slug: String = row.agent.chars().map(kept).collect();
    // Two names of folders that mean something else.
    if slug.starts_with('.') {
        slug.insert(0, '-');
    }
    if row.feedback != Feedback::Validate {
        slug = format!("{slug}_{}", row.feedback.name());
    }
    slug
}

/// Removes the reports of earlier calls other than `name`.
fn remove_reports(place: &Utf8Path, name: &str) -> std::io::Result<()> {
    for entry in place.read_dir_utf8()? {
        let entry = entry?;
        let found = entry.file_name();
        if found.ends_with(REPORT) && found != name && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The reports of one agent with one seed, and the name of their file.
struct SeedReport {
    name: String,
    reports: Vec<CompetitionReport>,
}

impl SeedReport {
    /// `None` if nothing was graded with this seed.
    fn from_runs(
        table: &BenchTable,
        row: &ContenderSummary,
        seed: u64,
    ) -> Result<Option<Self>, MlebenchFilesError> {
        let mut reports = Vec::new();
        for competition in &table.field.competitions {
            let Some(run) = row.runs.get(&(competition.clone(), seed)) else { continue };
            let Some(graded) = grade(run) else { continue };
            reports.push(report(run, graded)?);
        }
        // The last grade names the file, so that the same runs have the same name.
        let Some(last) = reports.iter().map(|report| &report.created_at).max() else {
            return Ok(None);
        };
        let stamp = last.get(..19).filter(|text| {
            let shape = |(at, byte): (usize, u8)| match at {
                4 | 7 => byte == b'-',
                10 => byte == b'T',
                13 | 16 => byte == b':',
                _ => byte.is_ascii_digit(),
            };
            text.bytes().enumerate().all(shape)
        });
        let Some(stamp) = stamp else {
            let (agent, created_at) = (row.agent.clone(), last.clone());
            return Err(MlebenchFilesError::BadTime { agent, created_at });
        };
        let name = format!("{}-UTC{REPORT}", stamp.replace(':', "-"));
        Ok(Some(Self { name, reports }))
    }
}

/// The report of one run, whose grade must follow from its score.
fn report(run: &BenchRun, graded: &GradedRun) -> Result<CompetitionReport, MlebenchFilesError> {
    let board = known_board(&run.competition)
        .map_err(|source| MlebenchFilesError::Competition { agent: run.agent.clone(), source })?;
    let report = CompetitionReport {
        competition_id: run.competition.clone(),
        score: graded.score,
        board,
        submission_exists: graded.submission_exists,
        created_at: graded.created_at.clone(),
        submission_path: graded.submission_path.clone(),
    };
    if report.medal() != graded.medal || report.above_median() != graded.above_median {
        return Err(MlebenchFilesError::Disagrees {
            agent: run.agent.clone(),
            competition: run.competition.clone(),
            seed: run.seed,
        });
    }
    Ok(report)
}

/// What mle-bench's script makes of these reports: the i-th seed has the i-th report of every
/// competition. `None` where it stops: without padding, if a competition has no report; with it,
/// if none has.
pub fn summary(table: &BenchTable, row: &ContenderSummary) -> Option<MlebenchSummary> {
    let ids = &table.field.competitions;
    let of = |id: &String| row.runs_on(id).into_iter().filter_map(grade).collect();
    let reports: Vec<Vec<&GradedRun>> = ids.iter().map(of).collect();
    let counts = reports.iter().map(Vec::len);
    let seeds = if table.pad_missing { counts.max() } else { counts.min() };
    let seeds = seeds.filter(|seeds| *seeds > 0)?;
    let metric = |holds: &dyn Fn(&GradedRun) -> bool| {
        let share = |seed: usize| {
            let won = reports.iter().filter(|of| of.get(seed).is_some_and(|run| holds(run)));
            won.count() as f64 / ids.len() as f64 * 100.0
        };
        over_seeds(&(0..seeds).map(share).collect::<Vec<f64>>())
    };
    let of = |measure: Measure| metric(&|run| measure.holds(run));
    let metrics = MlebenchMetrics {
        total_competitions: over_seeds(&vec![ids.len() as f64; seeds]),
        submission_exists_percentage: metric(&|run| run.submission_exists),
        valid_submissions_percentage: of(Measure::Valid),
        above_median_percentage: of(Measure::AboveMedian),
        gold_medal_percentage: of(Measure::Gold),
        silver_medal_percentage: of(Measure::Silver),
        bronze_medal_percentage: of(Measure::Bronze),
        any_medal_percentage: of(Measure::AnyMedal),
    };
    let (num_seeds_averaged, num_competitions_per_seed) = (seeds, ids.len());
    Some(MlebenchSummary { num_seeds_averaged, num_competitions_per_seed, metrics })
}

fn over_seeds(values: &[f64]) -> MlebenchMetric {
    let (center, error) = (mean(values.iter().copied()), standard_error(values));
    let (ci_lower, ci_upper) = (center - Z * error, center + Z * error);
    MlebenchMetric { mean: center, ci_lower, ci_upper, standard_error: error }
}
