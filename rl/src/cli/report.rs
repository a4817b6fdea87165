//! `rl report`.

use crate::report::{self, LearntFile, ReportSources};
use anyhow::{Context, Result, bail};
use camino::Utf8PathBuf;
use clap::Args;
use tasks::files;

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
    /// The run of `rl sft` whose demonstrations scripts and prompts are compared with; default: those
    /// that the policies were fine-tuned on, as the settings of the runs tell.
    #[arg(long, value_name = "FOLDER")]
    demonstrations: Option<Utf8PathBuf>,
    /// The HTML file to write.
    #[arg(long, value_name = "FILE")]
    out: Option<Utf8PathBuf>,
    /// Write the numbers of what was learnt to this JSON file.
    #[arg(long, value_name = "FILE")]
    json: Option<Utf8PathBuf>,
}

impl ReportArgs {
    /// Writes the page and the numbers, where files are named; returns the tables of what was
    /// learnt in Markdown, and the paths of the files.
    ///
    /// # Errors
    /// If there is nothing to report on, or a file cannot be read or written.
    pub(super) fn run(self) -> Result<String> {
        let Self { tasks, sft, grpo, eval, demonstrations, out, json } = self;
        if out.is_none() && grpo.is_none() && eval.is_none() {
            bail!(
                "without a page there is nothing to report on but `--grpo RUN` and `--eval FOLDER`; give one of them, or `--out FILE` for a page"
            );
        }
        let sources = ReportSources { tasks, sft, grpo, eval, demonstrations };
        let learnt = match &out {
            Some(out) => report::write(&sources, out)?,
            None => LearntFile::read(&sources)?,
        };
        if let Some(json) = &json {
            files::write_json(json, &learnt)
                .with_context(|| format!("failed to write `{json}`"))?;
        }
        let mut text = learnt.markdown();
        for path in out.iter().chain(&json) {
            text.push_str(path.as_str());
            text.push('\n');
        }
        Ok(text)
    }
}
