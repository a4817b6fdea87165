//! `rl merge`.

use super::scale_of;
use crate::checkpoint::merge::{MergeMethod, merge};
use crate::checkpoint::policy;
use crate::checkpoint::source::{PolicySource, locate};
use crate::model::{Qwen3, save_weights};
use crate::text::tokenizer::Tokenizer;
use crate::train::presets::Dtype;
use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, ValueEnum};
use fs_err as fs;
use serde_json::json;
use tasks::files;
use tch::Device;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MethodArg {
    /// The weighted mean (a "soup").
    Linear,
    /// From the first of two models to the second, on an arc.
    Slerp,
    /// Weighted differences to the base.
    TaskArithmetic,
    /// The largest differences to the base, where models agree on their sign.
    Ties,
}

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// A model to merge: a run, a checkpoint or a model's folder; adapters are merged into their
    /// base. May be repeated.
    #[arg(long = "model", value_name = "FOLDER", required = true)]
    models: Vec<String>,
    /// The model that all were trained from, for `task-arithmetic` and `ties`.
    #[arg(long, value_name = "FOLDER")]
    base: Option<String>,
    /// How.
    #[arg(long, value_enum, default_value = "linear")]
    method: MethodArg,
    /// A weight for each model, in the order of `--model` [default: 1 each].
    #[arg(long, value_name = "NUMBER,…", value_delimiter = ',', allow_hyphen_values = true)]
    weights: Vec<f64>,
    /// `slerp`: how far from the first model to the second, 0 to 1.
    #[arg(long, default_value_t = 0.5)]
    t: f64,
    /// `ties`: the share of each weight's differences that counts, the largest ones.
    #[arg(long, default_value_t = 0.2)]
    density: f64,
    /// The type of the result [default: f32 for small policies, else bf16].
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
    /// The folder of the result, which must not be there yet.
    #[arg(long, value_name = "FOLDER")]
    out: Utf8PathBuf,
}

impl MergeArgs {
    /// Merges the models, and returns the folder of the result.
    ///
    /// # Errors
    /// If models cannot be opened, do not fit together, or the result cannot be written.
    pub(super) fn run(&self) -> Result<String> {
        let method = self.method();
        method.check(self.models.len(), self.base.is_some())?;
        if self.base.is_some() && !method.has_base() {
            bail!("`{}` has no base; leave `--base` out", method.name());
        }
        if self.out.exists() {
            bail!("`{}` is there already; choose another folder", self.out);
        }
        let folder = |name: &String| match locate(name)? {
            PolicySource::Folder(folder) => Ok(folder),
            PolicySource::BuiltIn(_) => bail!("`{name}` has no weights; give a run or a folder"),
        };
        let folders: Vec<Utf8PathBuf> = self.models.iter().map(folder).collect::<Result<_>>()?;
        let base = self.base.as_ref().map(folder).transpose()?;
        let scale = scale_of(&PolicySource::Folder(folders[0].clone()))?;
        let kind = self.dtype.unwrap_or(scale.dtype()).kind();
        let open = |folder: &Utf8PathBuf| {
            let opened = policy::open_base(folder, kind, Device::Cpu);
            opened.with_context(|| format!("failed to open `{folder}`"))
        };
        let opened: Vec<(Qwen3, Tokenizer)> = folders.iter().map(open).collect::<Result<_>>()?;
        let opened_base = base.as_ref().map(open).transpose()?;
        let (models, tokenizers): (Vec<Qwen3>, Vec<Tokenizer>) = opened.into_iter().unzip();
        let others = tokenizers.iter().chain(opened_base.as_ref().map(|(_, tokenizer)| tokenizer));
        for (other, folder) in others.zip(folders.iter().chain(&base)) {
            if !other.has_vocabulary_of(&tokenizers[0]) {
                bail!("`{folder}` has another vocabulary than `{}`", folders[0]);
            }
        }
        let merged = merge(&method, &models, opened_base.as_ref().map(|(model, _)| model))?;
        let record = json!({
            "method": method.name(),
            "models": folders,
            "base": base,
            "weights": method.weights(),
            "t": (self.method == MethodArg::Slerp).then_some(self.t),
            "density": (self.method == MethodArg::Ties).then_some(self.density),
        });
        let write = |folder: &Utf8Path| -> Result<()> {
            fs::create_dir_all(folder)?;
            save_weights(&models[0], &merged, folder)?;
            tokenizers[0].save(folder)?;
            files::write_json(&folder.join("merge.json"), &record)?;
            Ok(fs::rename(folder, &self.out)?)
        };
        // All of it, or nothing.
        let unfinished = files::temporary_neighbour(&self.out);
        if let Err(error) = write(&unfinished) {
            // The first error is the one to tell.
            let _ = fs::remove_dir_all(&unfinished);
            return Err(error.context(format!("failed to write `{}`", self.out)));
        }
        Ok(format!("{}\n", self.out))
    }

    fn method(&self) -> MergeMethod {
        let weights = if self.weights.is_empty() {
            vec![1.0; self.models.len()]
        } else {
            self.weights.clone()
        };
        match self.method {
            MethodArg::Linear => MergeMethod::Linear { weights },
            MethodArg::Slerp => MergeMethod::Slerp { t: self.t },
            MethodArg::TaskArithmetic => MergeMethod::TaskArithmetic { weights },
            MethodArg::Ties => MergeMethod::Ties { weights, density: self.density },
        }
    }
}
