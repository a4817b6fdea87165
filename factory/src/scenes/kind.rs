//! Pictures with an answer of their own, as a kind of task.

use super::{constants, files, python, scene};
use crate::baselines::ladder::{Ladder, LadderError};
use crate::data::assets::Assets;
use crate::data::items::Item;
use crate::generator::GeneratedRows;
use crate::kinds::{ExtraFiles, RenderError, TaskKind};
use crate::media::{Blemish, Format, MediumError, Reading, form};
use crate::spec::blueprint::Blueprint;
use crate::spec::scene::SceneLayout;
use polars::prelude::Column;
use std::collections::BTreeMap;
use tasks::prediction::Prediction;
use tasks::task::{Formulation, OracleScript, TaskScripts};
use tasks::values::Values;

impl TaskKind for SceneLayout {
    fn render(
        &self,
        blueprint: &Blueprint,
        _generated: Option<&GeneratedRows>,
    ) -> Result<Assets, RenderError> {
        Ok(scene::render(blueprint, self)?)
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

    fn made_of(&self, _blueprint: &Blueprint) -> String {
        "pictures".to_owned()
    }

    fn extra_files(&self, blueprint: &Blueprint, assets: &Assets) -> Vec<ExtraFiles> {
        let items = assets.items().map(|item| item.bytes.as_slice());
        let pictures = ExtraFiles::Items {
            folder: files::PICTURES,
            extension: "png",
            column: self.column.clone(),
            labelled: false,
            form: form::of_files(Format::Png, items).expect("pictures were read back"),
        };
        let truth = match blueprint.formulation {
            Formulation::Segmentation => Some((
                files::MASKS,
                "its mask: 8-bit grey, 255 inside, 0 outside, of the same size",
            )),
            Formulation::Reconstruction => {
                Some((files::CLEAN, "the clean picture: 8-bit grey, of the same size"))
            }
            _ => None,
        };
        let truth = truth.map(|(folder, what)| ExtraFiles::Other {
            path: format!("{folder}/"),
            note: format!("`<id>.png` for each training row, {what}"),
        });
        [Some(pictures), truth].into_iter().flatten().collect()
    }
}
