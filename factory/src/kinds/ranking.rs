//! Rows that answer queries: a submission orders the rows of each query.

use super::{RenderError, TaskKind};
use crate::data::assets::{self, Assets, Attachments};
use crate::data::{items, tabular};
use crate::generator::GeneratedRows;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::RankingLayout;

impl TaskKind for RankingLayout {
    fn render(
        &self,
        blueprint: &Blueprint,
        _generated: Option<&GeneratedRows>,
    ) -> Result<Assets, RenderError> {
        let stream = blueprint.origin.stream("assets");
        let rows = tabular::draw(blueprint, None, stream);
        let (frame, ..) = &rows;
        let items = match &self.item {
            Some(layout) => items::draw(blueprint, layout, frame, stream.child("items"))?,
            None => Vec::new(),
        };
        let count = frame.rows.div_ceil(self.queries.rows);
        let names = assets::ids(count, &mut Draws::new(stream.child("queries")));
        let queries = (0..frame.rows).map(|row| names[row / self.queries.rows].clone()).collect();
        let attachments = Attachments { items, queries, ..Attachments::default() };
        Ok(assets::labelled(blueprint, rows, attachments, stream))
    }
}
