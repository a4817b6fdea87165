//! `sandbox grade` for the competitions of MLE-bench.

use super::exit;
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::Args;
use sandbox::exec::CollectError;
use sandbox::mlebench::board::Board;
use sandbox::mlebench::grading::{self, GradingError, Outcome};
use sandbox::mlebench::report::{self, Report};
use std::time::SystemTime;

/// What to grade as MLE-bench does, instead of a task.
#[derive(Debug, Args)]
#[command(next_help_heading = "MLE-bench")]
pub(super) struct MlebenchArgs {
    /// Grade a submission to this competition as MLE-bench does.
    #[arg(long, value_name = "ID", requires = "answers", requires = "csv")]
    #[arg(conflicts_with_all = ["task", "submissions"])]
    pub(super) competition: Option<String>,
    /// The competition's answers.
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

    fn board(&self, id: &str) -> Result<Board> {
        match &self.leaderboard {
            Some(path) => {
                grading::known_board(id)?;
                Ok(grading::read_board(path)?)
            }
            None => Ok(grading::board(id, self.mlebench.as_deref())?),
        }
    }
}

/// Grades one submission or a list of them, if the arguments ask for that.
pub(super) fn run(args: &MlebenchArgs, json: bool) -> Result<Option<u8>> {
    match (&args.competition, &args.answers, &args.csv, &args.submissions, &args.data) {
        (Some(id), Some(answers), Some(csv), _, _) => {
            let board = args.board(id)?;
            let now = report::timestamp(SystemTime::now());
            match grading::grade(id, board, answers, csv, now) {
                Ok(outcome) => Ok(Some(one(&outcome, json))),
                Err(error) => stopped(error).map(Some),
            }
        }
        (_, _, _, Some(list), Some(data)) => {
            let text = fs_err::read_to_string(list).context("failed to read the list")?;
            let mut outcomes = Vec::new();
            for entry in grading::read_list(&text)? {
                let id = &entry.competition_id;
                let board = args.board(id)?;
                let answers = grading::answers_path(data, id, args.mlebench.as_deref())?;
                let now = report::timestamp(SystemTime::now());
                match grading::grade(id, board, &answers, &entry.submission_path, now) {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(error) => return stopped(error).map(Some),
                }
            }
            many(outcomes, json);
            Ok(Some(exit::SUCCESS))
        }
        _ => Ok(None),
    }
}

/// What ends in no report. A submission that is no table is still the agent's doing.
#[expect(clippy::print_stderr, reason = "the command's answer")]
fn stopped(error: GradingError) -> Result<u8> {
    match error {
        GradingError::Submission { path, source } => {
            eprintln!("invalid submission `{path}`: {source}");
            Ok(exit::SUBMISSION)
        }
        GradingError::Unread(refusal) if !matches!(refusal, CollectError::Unreadable { .. }) => {
            eprintln!("invalid submission: {refusal}");
            Ok(exit::SUBMISSION)
        }
        error => Err(error.into()),
    }
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the command's answer")]
fn one(outcome: &Outcome, json: bool) -> u8 {
    if json {
        println!("{}", outcome.report.to_json(4));
        // The object has no key for it.
        if let Some(refusal) = &outcome.refusal {
            eprintln!("{refusal}");
        }
    } else {
        println!("{}", line(outcome));
    }
    if outcome.report.score.is_some() { exit::SUCCESS } else { exit::SUBMISSION }
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the command's answer")]
fn many(outcomes: Vec<Outcome>, json: bool) {
    if !json {
        for outcome in &outcomes {
            println!("{}: {}", outcome.report.competition_id, line(outcome));
        }
        return;
    }
    for Outcome { report, refusal } in &outcomes {
        if let Some(refusal) = refusal {
            eprintln!("{}: {refusal}", report.submission_path);
        }
    }
    let reports: Vec<Report> = outcomes.into_iter().map(|outcome| outcome.report).collect();
    println!("{}", report::aggregate(&reports));
}

/// An outcome in words.
fn line(Outcome { report, refusal }: &Outcome) -> String {
    match (report.score, report.medal(), refusal) {
        (Some(score), Some(medal), _) => format!("{score} ({} medal)", medal.name()),
        (Some(score), None, _) if report.above_median() => format!("{score} (above the median)"),
        (Some(score), None, _) => format!("{score} (not above the median)"),
        (None, _, Some(refusal)) => refusal.to_string(),
        (None, _, None) => format!("there is no CSV file `{}`", report.submission_path),
    }
}
