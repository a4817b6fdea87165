//! Independent rows, with an item each or without.

use super::{RenderError, TaskKind};
use crate::data::assets::{self, Assets, Attachments};
use crate::data::{items, tabular};
use crate::generator::GeneratedRows;
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::RowLayout;

impl TaskKind for RowLayout {
    fn render(
        &self,
        blueprint: &Blueprint,
        _generated: Option<&GeneratedRows>,
    ) -> Result<Assets, RenderError> {
        let stream = blueprint.origin.stream("assets");
        let rows = tabular::draw(blueprint, None, stream);
        let items = match &self.item {
            Some(layout) => items::draw(blueprint, layout, &rows.0, stream.child("items"))?,
            None => Vec::new(),
        };
        let attachments = Attachments { items, ..Attachments::default() };
        Ok(assets::labelled(blueprint, rows, attachments, stream))
    }
}
