//! `posttrain tune`: FT-Agent on a task of the user's own, with a grading server in the same process.

use super::ft::watch_signals;
use super::ft_agent::FtAgentArgs;
use super::own_server::OwnServer;
use super::{UsageError, model_folder};
use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use fs_err as fs;
use posttrain::ft::Trainer;
use tasks::task::TaskId;
use tasks::text::with_causes;
use tasks::units::Span;
use worlds::custom::{CustomTask, CustomTaskError, read_rows};
use worlds::{Limits, Suite, SuiteError};

/// The name of the task in its suite.
const TASK: &str = "task";
/// The file of items in the folder of data.
const ITEMS: &str = "items.jsonl";
/// Files beside the folders of data that are no data.
const BESIDE: [&str; 2] = [ITEMS, "README.md"];
/// What a base is taken to read where its configuration does not say.
const MODEL_LEN: u32 = 4096;
/// What the paper's models read, at most.
const MOST_LEN: u64 = 32_768;

#[derive(Debug, Args)]
pub(super) struct TuneArgs {
    /// What the model is to do: a text, which is its system message.
    #[arg(long, value_name = "FILE")]
    objective: Utf8PathBuf,
    /// What a good answer is: a Python script that reads a line of JSON (`id`, `prompt`, `prediction`,
    /// `truth`) and prints one (`id`, `score` from 0 to 1, and if it likes `tags`).
    #[arg(long, value_name = "FILE")]
    scorer: Utf8PathBuf,
    /// A folder with `items.jsonl`, what models are scored on, and a folder for each source of raw data.
    #[arg(long, value_name = "DIR")]
    data: Utf8PathBuf,
    /// The base model: a folder in Hugging Face's form, or a run of `rl`, whose newest checkpoint it is.
    #[arg(long, visible_alias = "model", value_name = "DIR", value_parser = model_folder::parser())]
    base: Utf8PathBuf,
    /// The folder of the run; a run that is there goes on.
    #[arg(long, value_name = "DIR")]
    out: Utf8PathBuf,
    /// Time for everything, training and scoring included.
    #[arg(long, value_name = "TIME", default_value_t = Span::seconds(12 * 3600))]
    budget: Span,
    /// Items that each of the two sealed parts has, at most.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    eval_items: usize,
    /// Tokens of a question with its answer. Default: what the base reads, at most 32,768.
    #[arg(long, value_name = "COUNT")]
    max_model_len: Option<u32>,
    /// Tokens of an answer. Default: a quarter of `--max-model-len`.
    #[arg(long, value_name = "COUNT")]
    max_tokens: Option<u32>,
    #[command(flatten)]
    agent: FtAgentArgs,
}

impl TuneArgs {
    fn limits(&self, trainer: &Trainer) -> Result<Limits> {
        let reads = trainer.base_facts()?.most_positions;
        let reads = reads.and_then(|most| u32::try_from(most.min(MOST_LEN)).ok());
        let context = self.max_model_len.or(reads).unwrap_or(MODEL_LEN);
        let turn_tokens = self.max_tokens.unwrap_or(context / 4);
        if reads.is_some_and(|reads| context > reads) {
            let what =
                format!("--max-model-len is {context}, and the base reads {}", reads.unwrap_or(0));
            return Err(UsageError(what).into());
        }
        if turn_tokens == 0 || turn_tokens >= context {
            let what = format!("--max-tokens must be from 1 to {}", context.saturating_sub(1));
            return Err(UsageError(what).into());
        }
        Ok(Limits { turns: 1, turn_tokens, context })
    }

    /// The task of these files.
    fn task(&self, trainer: &Trainer) -> Result<CustomTask> {
        let items = self.data.join(ITEMS);
        let rows = read_rows(&read(&items)?)
            .map_err(|error| UsageError(format!("`{items}`: {}", with_causes(&error))))?;
        for entry in self.data.read_dir_utf8()? {
            let entry = entry?;
            let (name, is_file) = (entry.file_name(), entry.file_type()?.is_file());
            if is_file && !BESIDE.contains(&name) {
                let what = format!(
                    "`{}` is beside the folders of raw data; put it into one, such as `{}`",
                    entry.path(),
                    self.data.join("raw").join(name)
                );
                return Err(UsageError(what).into());
            }
        }
        Ok(CustomTask {
            id: TaskId::new(TASK)?,
            objective: read(&self.objective)?,
            scorer: read(&self.scorer)?,
            rows,
            pool: Some(self.data.clone()),
            limits: self.limits(trainer)?,
            most: self.eval_items,
            seed: self.agent.seed,
        })
    }

    /// The suite of this task, which is made once.
    fn suite(&self, trainer: &Trainer) -> Result<Suite> {
        let (task, path) = (self.task(trainer)?, self.out.join("suite"));
        let made = if path.exists() {
            let suite = Suite::open(&path)?;
            task.is_of(&suite).map(|is_same| is_same.then_some(suite))
        } else {
            fs::create_dir_all(&self.out)?;
            task.make(&path).map(Some)
        };
        let suite = match made {
            Ok(suite) => suite,
            Err(error @ (CustomTaskError::Io(_) | CustomTaskError::Suite(SuiteError::Io(_)))) => {
                return Err(error.into());
            }
            Err(error) => return Err(UsageError(error.to_string()).into()),
        };
        let suite = suite.ok_or_else(|| {
            UsageError(format!(
                "objective, scorer, data or limits are not those that `{}` was begun with; name another --out",
                self.out
            ))
        })?;
        if suite.pool().is_none() {
            let what = format!("`{}` has no folder with raw data to train on", self.data);
            return Err(UsageError(what).into());
        }
        Ok(suite)
    }
}

pub(super) fn tune(args: &TuneArgs) -> Result<u8> {
    args.agent.check()?;
    let trainer = args.agent.trainer(&args.base)?;
    let suite = args.suite(&trainer)?;
    let interrupted = watch_signals()?;
    OwnServer {
        suite: &suite,
        folder: &args.out.join("suite"),
        task: TASK,
        trainer: &trainer,
        budget: args.budget,
        agent: &args.agent,
        out: &args.out,
    }
    .run(&interrupted)
}

fn read(path: &Utf8Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| UsageError(error.to_string()).into())
}
