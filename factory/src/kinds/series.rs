//! Steps of several series, of which the last ones are forecast.

use super::{RenderError, TaskKind};
use crate::data::assets::{self, Assets, Attachments};
use crate::data::series;
use crate::generator::GeneratedRows;
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::SeriesSpec;

impl TaskKind for SeriesSpec {
    fn render(
        &self,
        blueprint: &Blueprint,
        _generated: Option<&GeneratedRows>,
    ) -> Result<Assets, RenderError> {
        let stream = blueprint.origin.stream("assets");
        let rows = series::draw(blueprint, self, stream);
        Ok(assets::labelled(blueprint, rows, Attachments::default(), stream))
    }

    fn made_of(&self, _blueprint: &Blueprint) -> String {
        "series".to_owned()
    }
}
