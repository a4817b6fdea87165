//! `posttrain base`: a small base model, pretrained on text of a suite's training items.

use super::grading::rl;
use super::{UsageError, exit, output};
use agents::trajectory::{Segment, Source};
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::Args;
use fs_err as fs;
use serde_json::{Value, json};
use std::process::Command;
use tasks::files::write_atomic;
use worlds::{
    BaseTextError, BaseTextSettings, Document, DocumentKind, Suite, WorldName, base_text,
};

/// As in pretraining: all tokens are learnt, none is replaced by chance, and updates are many.
const PRETRAINING: [&str; 10] = [
    "--set",
    "assistant_only_loss=false",
    "--set",
    "context_noise=0",
    "--set",
    "batch=8",
    "--set",
    "learning_rate=2e-3",
    "--set",
    // That of the shop, the longest of the scale `tiny`.
    "context=2560",
];

/// What is added with exercises: documents stay in order, so that exercises come first; the loss is on the
/// assistant's turns alone; the model begins with induction heads.
const WITH_EXERCISES: [&str; 6] = [
    "--set",
    "shuffle_dataset=false",
    "--set",
    "assistant_only_loss=true",
    "--set",
    "initial_attention=induction",
];

#[derive(Debug, Args)]
pub(super) struct BaseArgs {
    /// The suite. Its training items alone are read.
    suite: Utf8PathBuf,
    /// The folder for the text (`text.jsonl`) and the model (`model`). A run that is there is resumed.
    #[arg(long, value_name = "DIR")]
    out: Utf8PathBuf,
    /// Words of the text.
    #[arg(long, value_name = "COUNT", default_value_t = BaseTextSettings::default().words)]
    words: usize,
    /// How much of the text is about a task, as a number beside those of others, such as `household=3`; 0 leaves
    /// it out; may be given more than once. What is not named has a number with which a small model begins at a
    /// level from which there is something to learn.
    #[arg(long = "weight", value_name = "TASK=NUMBER", value_parser = of_task)]
    weights: Vec<(WorldName, f64)>,
    /// The share of documents that show several items of a task done well, one after another.
    #[arg(long, value_name = "SHARE", default_value_t = BaseTextSettings::default().transcripts)]
    transcripts: f64,
    /// The share of a task's other documents that show an item done well, such as `household=0.1`; may be given
    /// more than once. It sets how well the model does the task.
    #[arg(long = "exposure", value_name = "TASK=SHARE", value_parser = of_task)]
    exposures: Vec<(WorldName, f64)>,
    /// The share of the words that are exercises: questions that episodes ask now and then, many in a row, or
    /// several items of a task, one after another. They come before all other text.
    #[arg(long, value_name = "SHARE", default_value_t = BaseTextSettings::default().exercises)]
    exercises: f64,
    /// Documents for each training item, in the mean, before new items are drawn, none of them a sealed one; 0
    /// for the suite's own alone.
    #[arg(long, value_name = "COUNT", default_value_t = BaseTextSettings::default().repeats)]
    repeats: u64,
    /// The shape of the model: `tiny` or `small`.
    #[arg(long, default_value = "small")]
    model: String,
    /// The seed of the text and of the model.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the text and train nothing.
    #[arg(long)]
    text_only: bool,
    /// The program that trains and what else its `sft` is to be given, such as
    /// `rl --set learning_rate=1e-3`. Default: `rl` beside this program, or on the PATH.
    #[arg(last = true, value_name = "TRAINER")]
    trainer: Vec<String>,
}

impl BaseArgs {
    /// The program that trains, and what else it is given.
    fn trainer(&self) -> Result<(String, &[String])> {
        if let Some((program, more)) = self.trainer.split_first() {
            return Ok((program.clone(), more));
        }
        Ok((rl()?, &[]))
    }
}

/// A number for a task.
fn of_task(text: &str) -> Result<(WorldName, f64), String> {
    let (task, number) = text.split_once('=').ok_or("write it as TASK=NUMBER")?;
    let world = WorldName::ALL.into_iter().find(|world| world.name() == task);
    let known = || WorldName::ALL.map(WorldName::name).join(", ");
    let world = world.ok_or_else(|| format!("`{task}` is no task: there are {}", known()))?;
    let number = number.parse().map_err(|_| format!("`{number}` is no number"))?;
    Ok((world, number))
}

pub(super) fn base(args: &BaseArgs) -> Result<u8> {
    let settings = BaseTextSettings {
        words: args.words,
        weights: args.weights.iter().copied().collect(),
        transcripts: args.transcripts,
        exposure: args.exposures.iter().copied().collect(),
        exercises: args.exercises,
        repeats: args.repeats,
        seed: args.seed,
        ..BaseTextSettings::default()
    };
    let suite = Suite::open(&args.suite).context("failed to open the suite")?;
    let documents = base_text(&suite, &settings).map_err(wrong_flag)?;
    let lines: Vec<String> = documents.iter().map(|it| example(it).to_string()).collect();
    let lines = lines.join("\n") + "\n";
    let text = args.out.join("text.jsonl");
    fs::create_dir_all(&args.out)?;
    // The trainer resumes only on the same text.
    if fs::read(&text).ok().as_deref() != Some(lines.as_bytes()) {
        write_atomic(&text, lines.as_bytes()).context("failed to write the text")?;
    }
    output::note(&format!("{} documents in {text}", documents.len()));
    if args.text_only {
        return Ok(exit::SUCCESS);
    }
    let model = args.out.join("model");
    let (program, more) = args.trainer()?;
    let status = Command::new(&program)
        .args(["sft", "--model", &args.model, "--epochs", "1", "--seed", &args.seed.to_string()])
        .args(PRETRAINING)
        .args(WITH_EXERCISES.iter().filter(|_| args.exercises > 0.0))
        .args(["--data", text.as_str(), "--out", model.as_str()])
        .args(more)
        .status();
    let status = status.map_err(|source| {
        UsageError(format!(
            "failed to start `{program}`: {source}. Put it on the PATH, or name it after `--`"
        ))
    })?;
    if !status.success() {
        // The trainer has said why.
        return Ok(exit::FAULT);
    }
    output::line(model.as_str())?;
    Ok(exit::SUCCESS)
}

/// What is wrong with the flags, as such.
fn wrong_flag(error: BaseTextError) -> anyhow::Error {
    use BaseTextError::{Custom, NoTask, NotSealed, Share, Weight};
    match error {
        Share { .. } | Weight { .. } | NoTask(_) | NotSealed(_) | Custom(_) => {
            UsageError(error.to_string()).into()
        }
        error => error.into(),
    }
}

/// A document as a line of `rl sft --data`: a conversation, or plain text without roles.
fn example(document: &Document) -> Value {
    if matches!(document.kind, DocumentKind::Transcript | DocumentKind::Scrap) {
        return json!({ "text": document.text() });
    }
    let mut is_first = true;
    let message = |segment: &Segment| {
        let role = match segment.source {
            Source::Prompt if is_first => "system",
            Source::Model => "assistant",
            Source::Environment => "tool",
            Source::Prompt | Source::Guide => "user",
        };
        is_first = false;
        json!({ "role": role, "content": segment.text })
    };
    json!({ "messages": document.segments.iter().map(message).collect::<Vec<_>>() })
}
