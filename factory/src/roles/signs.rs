//! What domain knowledge is worth: signs that a reader of the stories wrote, against the rules.

use super::briefs::BriefSet;
use super::strategist;
use crate::data::assets;
use crate::numeric::moments::moments;
use crate::spec::scenario::{Causes, Effect};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The table of signs: `signs.toml`.
#[derive(Deserialize)]
struct Signs {
    signs: Vec<Causes>,
}

/// Rows on which forecasts by signs alone are compared with the rule.
const ROWS: usize = 2000;

#[test]
fn signs_from_the_stories_alone_beat_chance() {
    let table: BTreeMap<String, Signs> = toml::from_str(include_str!("signs.toml")).unwrap();
    let (mut tasks, mut wins) = (0, 0);
    let cells = ["binary", "multiclass", "regression", "multilabel", "multi_target"];
    let cells = cells.map(|question| format!("tabular/{question}"));
    for cell in cells.iter().map(String::as_str).chain(["time_series/forecasting"]) {
        let set = BriefSet::new(cell, 75);
        for brief in set.briefs().filter(|brief| table.contains_key(brief.scenario.key())) {
            let Ok(blueprint) = strategist::strategise(&brief) else { continue };
            let frame = assets::population(&blueprint, ROWS);
            // Classes without an order have no direction.
            for target in blueprint.targets.iter().filter(|target| !target.is_nominal()) {
                let lines = &table[brief.scenario.key()].signs;
                let line = lines.iter().find(|line| line.targets.contains(&target.column));
                let mut forecast = vec![0.0; frame.rows];
                for cause in &line.unwrap().columns {
                    let values = frame.numbers.get(&cause.column);
                    let sign = Effect::sign(&cause.effect);
                    let Some((values, sign)) = values.zip(sign) else { continue };
                    let (mean, spread) = moments(values);
                    for (sum, value) in forecast.iter_mut().zip(values) {
                        *sum += sign * (value - mean) / spread;
                    }
                }
                let score = target.rule.as_ref().unwrap().score(&frame);
                let ((mean, spread), (center, width)) = (moments(&forecast), moments(&score));
                let products = forecast.iter().zip(&score).map(|(a, b)| (a - mean) * (b - center));
                let correlation = products.sum::<f64>() / (spread * width * frame.rows as f64);
                tasks += 1;
                // Two standard errors of a correlation of nothing.
                wins += usize::from(correlation > 2.0 / (frame.rows as f64).sqrt());
            }
        }
    }
    println!("{wins} of {tasks} rules");
    assert!(tasks >= 40 && wins * 10 >= tasks * 8, "{wins} of {tasks}");
}
