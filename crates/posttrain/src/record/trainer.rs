//! What trainers of the toolbox leave beside their models: settings, metrics, the models that they began
//! with.
//!
//! ```text
//! <out>/settings.toml                 `rl sft`, `rl train`, `rl prefer`
//! <out>/metrics.jsonl                 a line an update
//! <out>/checkpoints/step-000100/      models
//! <out>/merge.json                    `rl merge`, beside the model itself
//! ```
//!
//! The files lie in the agent's folder, so they are told and not observed; nothing about them is trusted
//! but that they were there.

use crate::intake::OutputFolder;
use crate::route::Route;
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tasks::collect;

/// Bytes of a file of settings.
const SETTINGS: u64 = 256 << 10;
/// Bytes of a file of metrics.
const METRICS: u64 = 64 << 20;
/// Settings that are kept of a stage, and the length of one.
const KEPT: usize = 48;
const LENGTH: usize = 300;
/// Losses that are kept from the end.
const LOSSES: usize = 5;
/// Stages of one model.
const STAGES: usize = 16;

/// A stage of training, as the files beside a model tell it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainerFacts {
    /// The trainer's folder, below the output folder.
    pub folder: String,
    /// The way of training.
    pub route: Route,
    /// Settings at the top level of its file: numbers, words, lists of words.
    pub settings: BTreeMap<String, Value>,
    /// Updates that were made.
    pub updates: Option<u64>,
    /// The loss of the first update; none if it was not finite.
    pub first_loss: Option<f64>,
    /// The losses of the last updates, at most five; none where one was not finite.
    pub losses: Vec<Option<f64>>,
    /// The models that it began with, as it names them.
    pub parents: Vec<String>,
}

impl TrainerFacts {
    /// Whether a loss was not finite.
    pub fn has_diverged(&self) -> bool {
        self.losses.contains(&None)
    }
}

/// The stage whose files lie in the folder `inside` of `top`; none if there are none that can be read.
pub fn beside(top: &OwnedFd, inside: &Utf8Path) -> Option<TrainerFacts> {
    let read = |name: &str, limit| {
        let found = collect::find(top, inside.join(name).as_str(), limit).ok()?;
        String::from_utf8(found.read().ok()?).ok()
    };
    let folder = inside.as_str().to_owned();
    if let Some(text) = read("merge.json", SETTINGS) {
        let record: serde_json::Map<String, Value> = serde_json::from_str(&text).ok()?;
        let parents = words(record.get("models"));
        let settings = kept(record);
        let (updates, first_loss, losses) = (None, None, Vec::new());
        let route = Route::Merge;
        return Some(TrainerFacts {
            folder,
            route,
            settings,
            updates,
            first_loss,
            losses,
            parents,
        });
    }
    let table: toml::Table = read("settings.toml", SETTINGS)?.parse().ok()?;
    let record: serde_json::Map<String, Value> =
        serde_json::from_value(serde_json::to_value(table).ok()?).ok()?;
    let parents = words(record.get("model"));
    let route = Route::of_settings(&record);
    let all = read("metrics.jsonl", METRICS).unwrap_or_default();
    let lines: Vec<Value> =
        all.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let with_loss: Vec<&Value> = lines.iter().filter(|line| line.get("loss").is_some()).collect();
    let loss = |line: &&Value| line["loss"].as_f64();
    Some(TrainerFacts {
        folder,
        route,
        settings: kept(record),
        updates: with_loss.last().and_then(|line| line["step"].as_u64()),
        first_loss: with_loss.first().and_then(loss),
        losses: with_loss.iter().skip(with_loss.len().saturating_sub(LOSSES)).map(loss).collect(),
        parents,
    })
}

/// The stages that led to the model that an agent calls `path`, the last one first, as far as their
/// files lie below the output folder.
pub fn lineage(output: &OutputFolder, path: &str) -> Vec<TrainerFacts> {
    let (mut stages, mut seen) = (Vec::new(), BTreeSet::new());
    let mut queue = VecDeque::from([path.to_owned()]);
    while let Some(path) = queue.pop_front()
        && stages.len() < STAGES
    {
        let path = path.strip_prefix("../").unwrap_or(&path);
        let Some(inside) = output.below(path) else { continue };
        let found = places(&inside).into_iter().find_map(|place| beside(output.fd(), &place));
        let Some(facts) = found.filter(|facts| seen.insert(facts.folder.clone())) else { continue };
        queue.extend(facts.parents.iter().cloned());
        stages.push(facts);
    }
    stages
}

/// Where the files of a model's trainer may lie: beside it, or above its folder of checkpoints.
fn places(model: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut places = vec![model.to_owned()];
    if let Some(folder) = model.parent().filter(|folder| folder.file_name() == Some("checkpoints"))
    {
        places.extend(folder.parent().map(Utf8Path::to_owned));
    }
    places
}

fn words(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(word)) => vec![word.clone()],
        Some(Value::Array(all)) => {
            all.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

/// Settings without tables, and without what is too long to be looked at.
fn kept(record: serde_json::Map<String, Value>) -> BTreeMap<String, Value> {
    let is_kept = |value: &Value| match value {
        Value::Object(_) | Value::Null => false,
        value => value.to_string().len() <= LENGTH,
    };
    record.into_iter().filter(|(_, value)| is_kept(value)).take(KEPT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;

    fn output(folder: &Utf8Path) -> OutputFolder {
        OutputFolder::open(folder, &["/workspace/output".into()]).unwrap()
    }

    fn write(folder: &Utf8Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn lineage_of_a_checkpoint_goes_back_to_the_base_over_merges_and_never_in_circles() {
        let kept = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(kept.path()).unwrap();
        write(
            folder,
            "sft/settings.toml",
            "model = \"/workspace/models/base\"\nepochs = 4\nbatch = 16\n[adam]\nbeta1 = 0.9\n",
        );
        write(
            folder,
            "sft/metrics.jsonl",
            "{\"step\":1,\"loss\":2.0}\n{\"step\":2,\"loss\":null}\n",
        );
        write(folder, "grpo/settings.toml", "model = \"/workspace/output/sft\"\ngroup_size = 4\n");
        write(
            folder,
            "soup/merge.json",
            r#"{"method": "mean", "models": ["output/grpo/checkpoints/step-000004", "output/soup"], "t": null}"#,
        );
        fs::create_dir_all(folder.join("grpo/checkpoints/step-000004")).unwrap();
        let stages = lineage(&output(folder), "output/soup");
        let routes: Vec<Route> = stages.iter().map(|stage| stage.route).collect();
        assert_eq!(routes, [Route::Merge, Route::Grpo, Route::Sft]);
        let sft = &stages[2];
        assert_eq!((sft.updates, sft.first_loss), (Some(2), Some(2.0)));
        assert!(sft.has_diverged() && !stages[1].has_diverged());
        assert_eq!(sft.settings["epochs"], 4);
        assert!(!sft.settings.contains_key("adam"));
    }

    #[test]
    fn files_behind_links_and_outside_of_the_folder_are_not_read() {
        let kept = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(kept.path()).unwrap();
        write(folder, "elsewhere/settings.toml", "epochs = 1\n");
        let inside = folder.join("output");
        fs::create_dir_all(inside.join("a")).unwrap();
        std::os::unix::fs::symlink(folder.join("elsewhere"), inside.join("b")).unwrap();
        for path in ["output/a", "output/b", "output/../elsewhere", "/etc", "", "output"] {
            assert_eq!(lineage(&output(&inside), path), [], "{path}");
        }
    }
}
