//! `rl report`.

use crate::report::{self, ReportSources};
use anyhow::Result;
use camino::Utf8PathBuf;
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The corpus: how it was made, and some of its tasks.
    #[arg(long, value_name = "FOLDER")]
    tasks: Option<Utf8PathBuf>,
    /// A run of `rl sft`: its curve.
    #[arg(long, value_name = "FOLDER")]
    sft: Option<Utf8PathBuf>,
    /// A run of `rl train`: its curves, its best policy, some episodes; may still be going on.
    #[arg(long, value_name = "FOLDER")]
    grpo: Option<Utf8PathBuf>,
    /// A folder of `rl eval`: the comparison, and episodes of before and after.
    #[arg(long, value_name = "FOLDER")]
    eval: Option<Utf8PathBuf>,
    /// The HTML file to write.
    #[arg(long, value_name = "FILE")]
    out: Utf8PathBuf,
}

impl ReportArgs {
    /// Writes the page; returns its path.
    ///
    /// # Errors
    /// If there is nothing to report on, or a file cannot be read or written.
    pub(super) fn run(self) -> Result<String> {
        let Self { tasks, sft, grpo, eval, out } = self;
        report::write(&ReportSources { tasks, sft, grpo, eval }, &out)?;
        Ok(format!("{out}\n"))
    }
}
