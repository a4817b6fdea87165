//! Pictures with an answer of their own, as a kind of task.

use super::{constants, files, page, python, scene};
use crate::baselines::ladder::{Ladder, LadderError};
use crate::data::assets::Assets;
use crate::data::items::Item;
use crate::kinds::{TaskKind, rows};
use crate::media::{Blemish, MediumError, Reading};
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::scenario::Story;
use crate::spec::scene::SceneLayout;
use polars::prelude::Column;
use std::collections::BTreeMap;
use tasks::prediction::Prediction;
use tasks::task::{OracleScript, TaskScripts};
use tasks::values::Values;

impl TaskKind for SceneLayout {
    fn render(&self, blueprint: &Blueprint) -> Result<Assets, MediumError> {
        scene::render(blueprint, self)
    }

    fn fit_baselines(&self, blueprint: &Blueprint, assets: &Assets) -> Result<Ladder, LadderError> {
        scene::climb(blueprint, self, assets)
    }

    fn item_cells(&self, _blueprint: &Blueprint, ids: &[String], _items: &[Item]) -> Vec<Column> {
        vec![files::column(&self.column, ids)]
    }

    fn files(&self, blueprint: &Blueprint, assets: &Assets) -> BTreeMap<String, Vec<u8>> {
        let truth = assets.train_truth.values(&blueprint.prediction);
        files::pictures(&assets.train_ids, &assets.train_items)
            .chain(files::pictures(&assets.test_ids, &assets.test_items))
            .chain(files::truths(self, &assets.train_ids, &truth))
            .collect()
    }

    fn training_folders(&self) -> &'static [&'static str] {
        &[files::MASKS, files::CLEAN]
    }

    fn read(&self, _blueprint: &Blueprint, bytes: &[u8]) -> Result<Reading, MediumError> {
        scene::reading(bytes)
    }

    fn blemishes(&self, _blueprint: &Blueprint) -> &'static [Blemish] {
        self.rule.scene().blemishes()
    }

    fn target_columns(&self, _blueprint: &Blueprint) -> Vec<String> {
        vec![self.target.clone()]
    }

    fn scripts(&self, _blueprint: &Blueprint) -> TaskScripts {
        let oracle = OracleScript { code: python::oracle(&self.rule), logarithmic: false };
        TaskScripts { reader: None, oracle }
    }

    fn constants(&self, prediction: &Prediction, train: &Values) -> Vec<Vec<String>> {
        constants::constants(prediction, train, self.rule.scene().side())
    }

    fn goal(&self, blueprint: &Blueprint, story: &Story, draws: &mut Draws) -> String {
        let Story::Scene(story) = story else { return String::new() };
        page::goal(story, &blueprint.prediction, draws)
    }

    fn opening(&self, blueprint: &Blueprint, story: &Story, draws: &mut Draws) -> String {
        let Story::Scene(story) = story else { return String::new() };
        rows(blueprint, &story.row, "truth", draws)
    }

    fn cell(&self, prediction: &Prediction, draws: &mut Draws) -> String {
        page::cell(prediction, draws).unwrap_or_default()
    }

    fn made_of(&self, _blueprint: &Blueprint) -> String {
        "pictures".to_owned()
    }

    fn column_lines(&self, _blueprint: &Blueprint, story: &Story) -> String {
        let Story::Scene(story) = story else { return String::new() };
        format!(
            "| `{}` | file name | {} |\n| `{}` | target | training file only: {} |\n",
            self.column, story.shows, self.target, story.means
        )
    }

    fn notes(&self, blueprint: &Blueprint, _story: &Story, draws: &mut Draws) -> String {
        page::data(self, &blueprint.prediction, draws)
    }

    fn file_lines(&self, blueprint: &Blueprint, _assets: &Assets) -> String {
        page::files(self, blueprint.formulation)
    }
}
