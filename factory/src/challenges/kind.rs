//! Rows with an answer of their own, as a kind of task.

use super::challenge;
use crate::baselines::ladder::{Ladder, LadderError};
use crate::data::assets::{Assets, POSITIONS, Sequences};
use crate::data::items::Item;
use crate::data::table;
use crate::generator::GeneratedRows;
use crate::kinds::{ExtraFiles, RenderError, TaskKind};
use crate::media::{Blemish, MediumError, Reading};
use crate::spec::blueprint::Blueprint;
use crate::spec::challenge::{ChallengeLayout, ChallengeRule};
use polars::prelude::Column;
use std::collections::BTreeMap;
use tasks::cells;
use tasks::prediction::Prediction;
use tasks::task::{OracleScript, TaskScripts};
use tasks::values::Values;

/// How many of the most frequent answers are tried as constants.
const FREQUENT: usize = 10;

impl TaskKind for ChallengeLayout {
    fn render(
        &self,
        blueprint: &Blueprint,
        _generated: Option<&GeneratedRows>,
    ) -> Result<Assets, RenderError> {
        Ok(challenge::render(blueprint, self))
    }

    fn fit_baselines(&self, blueprint: &Blueprint, assets: &Assets) -> Result<Ladder, LadderError> {
        challenge::climb(blueprint, self, assets)
    }

    fn item_cells(&self, _blueprint: &Blueprint, _ids: &[String], items: &[Item]) -> Vec<Column> {
        let rows: Vec<Vec<String>> =
            items.iter().map(|item| challenge::cells(&item.bytes)).collect();
        let column = |(place, name): (usize, &String)| {
            let cell = |row: &Vec<String>| row.get(place).cloned().unwrap_or_default();
            table::texts(name, rows.iter().map(cell))
        };
        self.columns.iter().enumerate().map(column).collect()
    }

    fn files(&self, _blueprint: &Blueprint, _assets: &Assets) -> BTreeMap<String, Vec<u8>> {
        BTreeMap::new()
    }

    fn read(&self, _blueprint: &Blueprint, bytes: &[u8]) -> Result<Reading, MediumError> {
        Ok(self.rule.challenge().read(&challenge::cells(bytes)))
    }

    fn blemishes(&self, _blueprint: &Blueprint) -> &'static [Blemish] {
        self.rule.challenge().blemishes()
    }

    fn target_columns(&self, _blueprint: &Blueprint) -> Vec<String> {
        match &self.rule {
            ChallengeRule::Positions(rule) => {
                rule.targets.iter().map(|target| target.column.clone()).collect()
            }
            _ => vec![self.target.clone()],
        }
    }

    fn scripts(&self, _blueprint: &Blueprint) -> TaskScripts {
        let oracle = OracleScript { code: self.rule.challenge().oracle(), logarithmic: false };
        TaskScripts { reader: None, oracle }
    }

    fn constants(&self, prediction: &Prediction, train: &Values) -> Vec<Vec<String>> {
        let mut counts: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        for row in 0..train.len() {
            *counts.entry(cells::write(prediction, train, row).unwrap_or_default()).or_default() +=
                1;
        }
        let mut frequent: Vec<(Vec<String>, usize)> = counts.into_iter().collect();
        // Stable, so answers that are as frequent stay in order.
        frequent.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let constants = frequent.into_iter().take(FREQUENT).map(|(cells, _)| cells);
        let own = self.rule.challenge().constants(train).into_iter().map(|cell| vec![cell]);
        constants.chain(own).chain([vec![String::new()]]).collect()
    }

    fn made_of(&self, _blueprint: &Blueprint) -> String {
        self.rule.challenge().made_of().to_owned()
    }

    fn extra_files(&self, blueprint: &Blueprint, assets: &Assets) -> Vec<ExtraFiles> {
        let note = |sequences: &Sequences| {
            let Sequences { column, place, .. } = sequences;
            let columns = self.target_columns(blueprint);
            let columns: Vec<String> = columns.iter().map(|name| format!("`{name}`")).collect();
            let columns = columns.join(", ");
            let note = format!(
                "what is known of the training rows: `{column}`, `{place}` and {columns}, a line for \
                 each position"
            );
            ExtraFiles::Other { path: POSITIONS.to_owned(), note }
        };
        assets.sequences.iter().map(note).collect()
    }
}
