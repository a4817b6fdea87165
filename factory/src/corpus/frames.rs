//! A corpus as data frames: a row per task, a row per mutation, a row per attempt.

use super::folder;
use super::ledger::Entry;
use crate::data::table;
use crate::roles::{RoleCost, RoleName};
use crate::spec::mix::name;
use polars::prelude::{Column, DataFrame};
use tasks::rating::{Ratings, TaskLevel};
use tasks::task::Manifest;

/// The texts of one key of a manifest's provenance; `unknown` where it is missing.
fn provenance<'a>(manifest: &'a Manifest, key: &str) -> &'a str {
    manifest.provenance[key].as_str().unwrap_or("unknown")
}

/// The skeletons of a task's rules, joined by ` | `; empty where it has none.
fn skeletons(manifest: &Manifest) -> String {
    let list = manifest.provenance["skeletons"].as_array().into_iter().flatten();
    list.filter_map(|text| text.as_str()).collect::<Vec<_>>().join(" | ")
}

/// One row per task, in the order of `manifests`. Scores and thresholds are in units of the task's
/// metric; `direction` says whether lower or higher ones are better.
///
/// | columns | type |
/// | --- | --- |
/// | `id`, `title`, `split`, `seed_task`, `domain`, `modality`, `formulation`, `metric`, `direction`, `family`, `medium`, `skeleton`, `rule_hash` | `String` |
/// | `level_source` (what the level follows from: `solvers` or `ladder`) | `String` |
/// | `train_rows`, `test_rows`, `level` (of difficulty, 1 to 5) | `Int64` |
/// | `gold_threshold`, `silver_threshold`, `bronze_threshold`, `median_threshold`, `baseline_r0` to `baseline_r3`, `ceiling` | `Float64` |
pub fn tasks(manifests: &[&Manifest], ratings: &Ratings) -> DataFrame {
    let levels: Vec<TaskLevel> = manifests.iter().map(|task| ratings.level(task)).collect();
    let numbers: Vec<f64> = levels.iter().map(|one| f64::from(one.level.number())).collect();
    let text = |name: &str, value: &dyn Fn(&Manifest) -> String| {
        table::texts(name, manifests.iter().map(|task| value(task)))
    };
    let score = |name: &str, value: &dyn Fn(&Manifest) -> f64| {
        let values: Vec<f64> = manifests.iter().map(|task| value(task)).collect();
        Column::new(name.into(), values)
    };
    let count = |name: &str, value: &dyn Fn(&Manifest) -> usize| {
        let values: Vec<f64> = manifests.iter().map(|task| value(task) as f64).collect();
        table::numbers(name, &values, 0)
    };
    table::from_columns(vec![
        text("id", &|task| task.id.to_string()),
        text("title", &|task| task.title.clone()),
        text("split", &|task| name(&task.split)),
        text("seed_task", &|task| task.seed_task.clone()),
        text("domain", &|task| task.domain.clone()),
        text("modality", &|task| name(&task.modality)),
        text("formulation", &|task| name(&task.formulation)),
        text("metric", &|task| task.metric.to_string()),
        text("direction", &|task| name(&task.direction())),
        text("family", &|task| folder::family(task).to_owned()),
        text("medium", &|task| provenance(task, "medium").to_owned()),
        text("skeleton", &skeletons),
        text("rule_hash", &|task| provenance(task, "rule_hash").to_owned()),
        count("train_rows", &|task| task.rows.train),
        count("test_rows", &|task| task.rows.test),
        score("gold_threshold", &|task| task.thresholds.gold_threshold),
        score("silver_threshold", &|task| task.thresholds.silver_threshold),
        score("bronze_threshold", &|task| task.thresholds.bronze_threshold),
        score("median_threshold", &|task| task.thresholds.median_threshold),
        score("baseline_r0", &|task| task.baselines.ladder[0]),
        score("baseline_r1", &|task| task.baselines.ladder[1]),
        score("baseline_r2", &|task| task.baselines.ladder[2]),
        score("baseline_r3", &|task| task.baselines.ladder[3]),
        score("ceiling", &|task| task.baselines.ceiling),
        table::numbers("level", &numbers, 0),
        table::texts("level_source", levels.iter().map(|one| one.source.name())),
    ])
}

/// One row per task and kind of mutation, however many columns it changes: `id` and `mutation`,
/// both `String`. A blemish of items has a second row under its own name.
pub fn mutations(manifests: &[&Manifest]) -> DataFrame {
    let mut rows: Vec<(&str, String)> = Vec::new();
    for manifest in manifests {
        for mutation in manifest.provenance["mutations"].as_array().into_iter().flatten() {
            let kind = mutation["kind"].as_str().unwrap_or("unknown");
            rows.push((manifest.id.as_str(), kind.to_owned()));
            if let (true, Some(name)) = (kind == "blemish", mutation["name"].as_str()) {
                rows.push((manifest.id.as_str(), format!("blemish: {name}")));
            }
        }
    }
    rows.sort();
    rows.dedup();
    table::from_columns(vec![
        table::texts("id", rows.iter().map(|(task, _)| task)),
        table::texts("mutation", rows.iter().map(|(_, mutation)| mutation)),
    ])
}

/// One row per attempt, in the order of `entries`.
///
/// | columns | type |
/// | --- | --- |
/// | `slot` | `Int64` |
/// | `kind`, `stage`, `outcome`, `reason` (null where there is none) | `String` |
/// | `stages_passed`, `milliseconds` (null where it is not known) | `Int64` |
/// | `roles` (`builtin`, or mode and models) | `String` |
/// | `calls`, `prompt_tokens`, `completion_tokens`, `cost_micro` (null where roles are built in or a price is unknown) | `Int64` |
/// | `evaluator_fallback`, `writer_fallback` (1 where evaluator or page is built in because the model's was refused, null where roles are built in) | `Int64` |
pub fn attempts(entries: &[Entry]) -> DataFrame {
    let text = |name: &str, value: &dyn Fn(&Entry) -> String| {
        table::texts(name, entries.iter().map(value))
    };
    let consumed = |entry: &Entry, part: fn(&RoleCost) -> Option<u64>| {
        let count = entry.model.as_ref().and_then(|model| part(&model.cost));
        count.map_or(f64::NAN, |count| count as f64)
    };
    let fallbacks = |entry: &Entry, role: RoleName| {
        let model = entry.model.as_ref();
        model.map_or(f64::NAN, |model| f64::from(u8::from(model.fallbacks.contains(&role))))
    };
    let count = |name: &str, value: &dyn Fn(&Entry) -> f64| {
        table::numbers(name, &entries.iter().map(value).collect::<Vec<f64>>(), 0)
    };
    table::from_columns(vec![
        count("slot", &|entry| entry.slot as f64),
        text("kind", &|entry| entry.cell.to_string()),
        text("stage", &|entry| name(&entry.stage)),
        count("stages_passed", &|entry| f64::from(entry.stage as u8)),
        text("outcome", &|entry| name(&entry.outcome)),
        text("reason", &|entry| entry.reason.clone().unwrap_or_default()),
        count("milliseconds", &|entry| entry.milliseconds.map_or(f64::NAN, |time| time as f64)),
        text("roles", &|entry| match &entry.model {
            None => "builtin".to_owned(),
            Some(model) => format!("{}:{}", model.mode, model.name),
        }),
        count("calls", &|entry| consumed(entry, |cost| Some(cost.calls))),
        count("prompt_tokens", &|entry| consumed(entry, |cost| Some(cost.prompt_tokens))),
        count("completion_tokens", &|entry| consumed(entry, |cost| Some(cost.completion_tokens))),
        count("cost_micro", &|entry| consumed(entry, |cost| cost.cost_micro_usd)),
        count("evaluator_fallback", &|entry| fallbacks(entry, RoleName::Operator)),
        count("writer_fallback", &|entry| fallbacks(entry, RoleName::Writer)),
    ])
}
