//! `sandbox grade` for the competitions of MLE-bench.

use super::failure::UsageError;
use super::{exit, output};
use anyhow::Result;
use camino::Utf8PathBuf;
use clap::Args;
use std::time::SystemTime;
use tasks::collect::CollectError;
use tasks::mlebench::board::Board;
use tasks::mlebench::grading::{self, GradingError, GradingOutcome};
use tasks::mlebench::report::{self, CompetitionReport};

/// What to grade as MLE-bench does, instead of a task.
#[derive(Debug, Args)]
#[command(next_help_heading = "MLE-bench")]
pub(super) struct MlebenchArgs {
    /// Grade a submission to this competition as MLE-bench does.
    #[arg(long, value_name = "ID", requires = "answers", requires = "csv")]
    #[arg(conflicts_with_all = ["task", "submissions"])]
    pub(super) competition: Option<String>,
    /// CSV file with the competition's answers.
    #[arg(long, value_name = "CSV", requires = "competition", conflicts_with = "task")]
    answers: Option<Utf8PathBuf>,
    /// The submission to the competition.
    #[arg(long = "submission", value_name = "CSV", requires = "competition")]
    #[arg(conflicts_with = "task")]
    csv: Option<Utf8PathBuf>,
    /// Grade a list of submissions: one JSON object with `competition_id` and `submission_path`
    /// per line.
    #[arg(long, value_name = "JSONL", requires = "data", conflicts_with = "task")]
    pub(super) submissions: Option<Utf8PathBuf>,
    /// MLE-bench's data folder, with `ID/prepared/private` for each competition of the list.
    #[arg(long = "data-dir", id = "data", value_name = "DIR", requires = "submissions")]
    data: Option<Utf8PathBuf>,
    /// Take thresholds from this leaderboard, not from the built-in table.
    #[arg(long, value_name = "CSV", requires = "competition")]
    #[arg(conflicts_with_all = ["task", "mlebench"])]
    leaderboard: Option<Utf8PathBuf>,
    /// Take leaderboards and configurations from this checkout of mle-bench, or from one
    /// competition's folder in it.
    #[arg(long, value_name = "DIR")]
    mlebench: Option<Utf8PathBuf>,
}

impl MlebenchArgs {
    /// Where leaderboards and configurations come from.
    pub(super) fn checkout(&self) -> Option<&Utf8PathBuf> {
        self.mlebench.as_ref()
    }

    fn board(&self, id: &str) -> Result<Board, GradingError> {
        match &self.leaderboard {
            Some(path) => {
                grading::known_board(id)?;
                grading::read_board(path)
            }
            None => grading::board(id, self.mlebench.as_deref()),
        }
    }
}

/// Grades one submission or a list of them, if the arguments ask for that.
pub(super) fn run(args: &MlebenchArgs, json: bool) -> Result<Option<u8>> {
    match (&args.competition, &args.answers, &args.csv, &args.submissions, &args.data) {
        (Some(id), Some(answers), Some(csv), _, _) => {
            let board = args.board(id).map_err(whose)?;
            let now = report::timestamp(SystemTime::now());
            match grading::grade(id, board, answers, csv, now) {
                Ok(outcome) => one(&outcome, json).map(Some),
                Err(error) => stopped(error).map(Some),
            }
        }
        (_, _, _, Some(list), Some(data)) => {
            let text =
                fs_err::read_to_string(list).map_err(UsageError::at("failed to read the list"))?;
            let mut outcomes = Vec::new();
            for entry in grading::read_list(&text).map_err(whose)? {
                let id = &entry.competition_id;
                let board = args.board(id).map_err(whose)?;
                let answers =
                    grading::answers_path(data, id, args.mlebench.as_deref()).map_err(whose)?;
                let now = report::timestamp(SystemTime::now());
                match grading::grade(id, board, &answers, &entry.submission_path, now) {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(error) => return stopped(error).map(Some),
                }
            }
            many(outcomes, json)?;
            Ok(Some(exit::SUCCESS))
        }
        _ => Ok(None),
    }
}

/// What ends in no report. A submission that is no table is still the agent's doing.
fn stopped(error: GradingError) -> Result<u8> {
    match error {
        GradingError::Submission { path, source } => {
            output::note(&format!("invalid submission `{path}`: {source}"));
            Ok(exit::SUBMISSION)
        }
        GradingError::Unread(refusal) if !matches!(refusal, CollectError::Unreadable { .. }) => {
            output::note(&format!("invalid submission: {refusal}"));
            Ok(exit::SUBMISSION)
        }
        error => Err(whose(error)),
    }
}

/// A competition that is not to be had and a file that cannot be read are the caller's to change.
fn whose(error: GradingError) -> anyhow::Error {
    match error {
        GradingError::Unknown { .. }
        | GradingError::NoGrader { .. }
        | GradingError::Io(_)
        | GradingError::Unread(_)
        | GradingError::Line { .. } => UsageError::at("nothing was graded")(error).into(),
        error => error.into(),
    }
}

fn one(outcome: &GradingOutcome, json: bool) -> Result<u8> {
    if json {
        output::json_text(&outcome.report.to_json(4))?;
        // The object has no key for it.
        if let Some(refusal) = &outcome.refusal {
            output::note(&refusal.to_string());
        }
    } else {
        output::line(&line(outcome))?;
    }
    Ok(if outcome.report.score.is_some() { exit::SUCCESS } else { exit::SUBMISSION })
}

fn many(outcomes: Vec<GradingOutcome>, json: bool) -> Result<()> {
    if !json {
        for outcome in &outcomes {
            output::line(&format!("{}: {}", outcome.report.competition_id, line(outcome)))?;
        }
        return Ok(());
    }
    for GradingOutcome { report, refusal } in &outcomes {
        if let Some(refusal) = refusal {
            output::note(&format!("{}: {refusal}", report.submission_path));
        }
    }
    let reports: Vec<CompetitionReport> =
        outcomes.into_iter().map(|outcome| outcome.report).collect();
    Ok(output::json_text(&report::aggregate(&reports))?)
}

/// An outcome in words.
fn line(GradingOutcome { report, refusal }: &GradingOutcome) -> String {
    match (report.score, report.medal(), refusal) {
        (Some(score), Some(medal), _) => format!("{score} ({} medal)", medal.name()),
        (Some(score), None, _) if report.above_median() => format!("{score} (above the median)"),
        (Some(score), None, _) => format!("{score} (not above the median)"),
        (None, _, Some(refusal)) => refusal.to_string(),
        (None, _, None) => format!("there is no CSV file `{}`", report.submission_path),
    }
}
