//! Nodes of one network that joins the rows of both tables.

use super::TaskKind;
use crate::data::assets::{self, Assets, Attachments};
use crate::data::network::{EDGES, Ties};
use crate::data::tabular;
use crate::media::MediumError;
use crate::media::graph::nodes;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::NetworkLayout;
use crate::spec::scenario::Story;
use std::collections::BTreeMap;

impl TaskKind for NetworkLayout {
    fn render(&self, blueprint: &Blueprint) -> Result<Assets, MediumError> {
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

    fn notes(&self, blueprint: &Blueprint, story: &Story, draws: &mut Draws) -> String {
        let Story::Table(story) = story else { return String::new() };
        let shows = story.network.as_ref().map_or("", |network| network.shows.as_str());
        let hint = draws.pick(&[
            "the network covers all rows, and links join rows of either table",
            "rows of both tables are nodes of this one network",
        ]);
        format!(
            "- Rows are linked: each line of `{EDGES}` joins {shows}. `source` and `target` are \
             values of `{}`; {hint}. Links have no direction.\n",
            blueprint.id_column
        )
    }

    fn file_lines(&self, _blueprint: &Blueprint, assets: &Assets) -> String {
        format!("- `{EDGES}`: {} links between rows of both tables\n", assets.links.len())
    }
}
