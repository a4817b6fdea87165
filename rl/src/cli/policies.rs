//! The policies that `--policy` names.

use super::{cache_of, scale_of};
use crate::checkpoint::policy;
use crate::checkpoint::source::{PolicySource, locate, tool_call_format};
use crate::eval::PolicyContestant;
use crate::model::Qwen3;
use crate::rollout::RolloutSettings;
use crate::train::presets::{Dtype, Scale};
use agents::grammar::ToolCallFormat;
use anyhow::{Result, bail};
use camino::Utf8PathBuf;
use tasks::stream::Stream;
use tasks::units::ByteSize;
use tch::Device;

/// Policies by name, each in a folder, and whether one with fresh weights takes part.
#[derive(Debug)]
pub(super) struct NamedPolicies {
    named: Vec<(String, Utf8PathBuf)>,
    random: bool,
}

impl NamedPolicies {
    /// From the values of `--policy`.
    ///
    /// # Errors
    /// If one is neither NAME=SOURCE nor `random`, or there is nothing to take a shape from.
    pub(super) fn from_flags(flags: &[String]) -> Result<Self> {
        let (mut named, mut random) = (Vec::new(), false);
        for flag in flags {
            match flag.split_once('=') {
                Some((name, source)) if !name.is_empty() => match locate(source)? {
                    PolicySource::BuiltIn(_) => random = true,
                    PolicySource::Folder(folder) => named.push((name.to_owned(), folder)),
                },
                _ if flag == "random" => random = true,
                _ => bail!("`--policy {flag}` is neither NAME=SOURCE nor `random`"),
            }
        }
        if random && named.is_empty() {
            bail!(
                "`--policy random` takes its shape and vocabulary from another policy; give one as NAME=FOLDER"
            );
        }
        Ok(Self { named, random })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// The scale of the first.
    pub(super) fn scale(&self) -> Result<Scale> {
        match self.named.first() {
            Some((_, folder)) => scale_of(&PolicySource::Folder(folder.clone())),
            None => Ok(Scale::Tiny),
        }
    }

    /// How those write their tool calls that learnt a format here, by name.
    ///
    /// # Errors
    /// If a file that says so is damaged.
    pub(super) fn tool_call_formats(&self) -> Result<Vec<(&str, ToolCallFormat)>> {
        let mut formats = Vec::new();
        for (name, folder) in &self.named {
            formats.extend(tool_call_format(folder)?.map(|format| (name.as_str(), format)));
        }
        Ok(formats)
    }

    /// The format of calls in episodes that all of them play; the default if none learnt one.
    ///
    /// # Errors
    /// If they learnt different ones: the episodes of an evaluation have the same rules.
    pub(super) fn tool_call_format(&self) -> Result<ToolCallFormat> {
        let formats = self.tool_call_formats()?;
        let Some(&(first, format)) = formats.first() else { return Ok(ToolCallFormat::default()) };
        if let Some((other, found)) = formats.iter().find(|(_, found)| *found != format) {
            bail!(
                "`{first}` writes its tool calls as `{}` and `{other}` as `{}`; evaluate them one by \
                 one, or say what all are to write: `--set rules.tool_call_format={}`",
                format.name(),
                found.name(),
                found.name()
            );
        }
        Ok(format)
    }

    /// Names and sources, in the order of tables.
    pub(super) fn sources(&self) -> Vec<(String, String)> {
        let random = self.random.then(|| ("random".to_owned(), "tiny".to_owned()));
        let named = self.named.iter().map(|(name, folder)| (name.clone(), folder.to_string()));
        random.into_iter().chain(named).collect()
    }

    /// The cache of whichever of them generates, beside the weights of all.
    pub(super) fn cache(
        &self,
        rollout: &RolloutSettings,
        dtype: Dtype,
        device: Device,
    ) -> Result<Option<ByteSize>> {
        let mut folders: Vec<&Utf8PathBuf> = self.named.iter().map(|(_, folder)| folder).collect();
        if self.random {
            folders.extend(folders.first().copied());
        }
        cache_of(&folders, rollout, dtype, device)
    }

    /// Loads all; the one with fresh weights draws them from `stream`.
    pub(super) fn open(
        self,
        dtype: Dtype,
        device: Device,
        stream: Stream,
    ) -> Result<Vec<PolicyContestant>> {
        let mut policies = Vec::new();
        for (name, folder) in self.named {
            let (model, tokenizer) = policy::open(&folder, dtype.kind(), device)?;
            policies.push(PolicyContestant { name, model: model.merged(), tokenizer });
        }
        if let (true, Some(first)) = (self.random, policies.first()) {
            let model = Qwen3::random(first.model.config(), dtype.kind(), device, stream);
            let tokenizer = first.tokenizer.clone();
            policies.insert(0, PolicyContestant { name: "random".into(), model, tokenizer });
        }
        Ok(policies)
    }
}
