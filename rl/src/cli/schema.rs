//! `rl schema`.

use crate::train::grpo::TrainSettings;
use crate::train::prefer::PreferSettings;
use crate::train::schema::SettingsSchema;
use crate::train::sft::SftSettings;
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

/// A command with settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DescribedCommand {
    /// `rl sft`.
    Sft,
    /// `rl train`.
    Train,
    /// `rl prefer`.
    Prefer,
}

#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// The command whose settings are listed.
    #[arg(value_enum)]
    command: DescribedCommand,
    /// Only this key, or those of this table.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl SchemaArgs {
    /// The settings as JSON.
    ///
    /// # Errors
    /// If there is no such key.
    pub(super) fn run(&self) -> Result<String> {
        let mut schema = match self.command {
            DescribedCommand::Sft => SettingsSchema::of::<SftSettings>("sft"),
            DescribedCommand::Train => SettingsSchema::of::<TrainSettings>("train"),
            DescribedCommand::Prefer => SettingsSchema::of::<PreferSettings>("prefer"),
        };
        if let Some(key) = &self.key {
            let inside = format!("{key}.");
            schema.settings.retain(|it| it.key == *key || it.key.starts_with(&inside));
            if schema.settings.is_empty() {
                bail!("`rl {}` has no setting `{key}`", schema.command);
            }
        }
        Ok(serde_json::to_string_pretty(&schema)? + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_or_one_table_can_be_asked_for() {
        let keys = |key: &str| {
            let args = SchemaArgs { command: DescribedCommand::Sft, key: Some(key.to_owned()) };
            let found: serde_json::Value = serde_json::from_str(&args.run().unwrap()).unwrap();
            let settings = found["settings"].as_array().unwrap().clone();
            settings.iter().map(|it| it["key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(keys("epochs"), ["epochs"]);
        let mut lora = keys("lora");
        lora.sort();
        assert_eq!(lora, ["lora", "lora.alpha", "lora.rank", "lora.targets"]);
        let unknown = SchemaArgs { command: DescribedCommand::Sft, key: Some("lora.ranks".into()) };
        assert!(unknown.run().unwrap_err().to_string().contains("`lora.ranks`"));
    }
}
