//! `posttrain scan`.

use super::{UsageError, exit, output};
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::Args;
use posttrain::contamination::SealedTexts;
use worlds::{Suite, TaskFolder};

#[derive(Debug, Args)]
pub(super) struct ScanArgs {
    /// The suite, with its sealed half.
    suite: Utf8PathBuf,
    /// Files and folders to be searched.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<Utf8PathBuf>,
    /// Search for the items of this task alone.
    #[arg(long)]
    task: Option<String>,
    /// Print what was found as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn scan(args: &ScanArgs) -> Result<u8> {
    let suite = Suite::open(&args.suite).context("failed to open the suite")?;
    let names: Vec<&str> = match &args.task {
        Some(task) => vec![task],
        None => suite.tasks().iter().map(|entry| entry.id.as_str()).collect(),
    };
    let tasks: Vec<TaskFolder> =
        names.iter().map(|name| suite.task(name)).collect::<Result<_, _>>()?;
    if let Some(missing) = args.paths.iter().find(|path| !path.exists()) {
        return Err(UsageError(format!("there is no `{missing}`")).into());
    }
    let scan = SealedTexts::of(&tasks)?.scan("".into(), &args.paths)?;
    if args.json {
        output::json(&scan)?;
    } else {
        for found in &scan.found {
            output::line(&found.to_string())?;
        }
        for file in &scan.left_out {
            output::line(&format!("{file}: too large, and not read"))?;
        }
        let (files, found) = (scan.files, scan.found.len());
        output::line(&format!("{found} sealed items in {files} files"))?;
    }
    let is_clean = scan.found.is_empty() && scan.left_out.is_empty();
    Ok(if is_clean { exit::SUCCESS } else { exit::FINDINGS })
}
