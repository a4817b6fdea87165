//! Nodes of one network that joins the rows of both tables.

use super::{ExtraFiles, RenderError, TaskKind};
use crate::data::assets::{self, Assets, Attachments};
use crate::data::network::{EDGES, Ties};
use crate::data::tabular;
use crate::generator::GeneratedRows;
use crate::media::graph::nodes;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::NetworkLayout;
use std::collections::BTreeMap;

impl TaskKind for NetworkLayout {
    fn render(
        &self,
        blueprint: &Blueprint,
        _generated: Option<&GeneratedRows>,
    ) -> Result<Assets, RenderError> {
        let stream = blueprint.origin.stream("assets");
        let ties = Ties::draw(self, blueprint.rows.train + blueprint.rows.test, stream);
        let rows = tabular::draw(blueprint, Some(&ties), stream);
        let links = ties.network.links(&mut Draws::new(stream.child("links")));
        let attachments = Attachments { links, ..Attachments::default() };
        Ok(assets::labelled(blueprint, rows, attachments, stream))
    }

    fn files(&self, _blueprint: &Blueprint, assets: &Assets) -> BTreeMap<String, Vec<u8>> {
        BTreeMap::from([(EDGES.to_owned(), nodes::csv(&assets.links, &assets.names()))])
    }

    fn made_of(&self, _blueprint: &Blueprint) -> String {
        "a network and a table".to_owned()
    }

    fn extra_files(&self, _blueprint: &Blueprint, assets: &Assets) -> Vec<ExtraFiles> {
        let note = format!(
            "{} links between rows of both tables, one per line, as ids in the columns `source` and \
             `target`",
            assets.links.len()
        );
        vec![ExtraFiles::Other { path: EDGES.to_owned(), note }]
    }
}
