//! Independent rows that a generator drew, with an item each or without.

use super::{RenderError, TaskKind, pandas};
use crate::baselines::ladder;
use crate::data::assets::{self, Assets, Attachments};
use crate::data::items::{self, Item};
use crate::data::tabular;
use crate::generator::{GeneratedItems, GeneratedRows};
use crate::media::MediumError;
use crate::media::given::{self, DecodedItem};
use crate::spec::blueprint::Blueprint;
use crate::spec::generated::{GeneratedItemLayout, GeneratedLayout};
use crate::spec::rule::Frame;
use tasks::stream::Stream;
use tasks::task::{OracleScript, TaskScripts};

impl TaskKind for GeneratedLayout {
    fn render(
        &self,
        blueprint: &Blueprint,
        generated: Option<&GeneratedRows>,
    ) -> Result<Assets, RenderError> {
        let generated = generated.ok_or(RenderError::Rows("they are missing"))?;
        fits(blueprint, generated)?;
        let stream = blueprint.origin.stream("assets");
        let columns = public(blueprint, &generated.columns);
        let rows = tabular::written(blueprint, columns, stream);
        let attachments = Attachments {
            items: self.items(blueprint, &generated.items, stream)?,
            ..Attachments::default()
        };
        let scores = generated.standard_scores();
        let assets = assets::scored(blueprint, rows, &scores, attachments, stream);
        Ok(Assets { transforms: Some(generated.transforms.clone()), ..assets })
    }

    fn scripts(&self, blueprint: &Blueprint) -> TaskScripts {
        let (code, logarithmic) = (pandas::generated(blueprint), pandas::logarithmic(blueprint));
        let oracle = OracleScript { code, logarithmic };
        TaskScripts { reader: pandas::reader(blueprint), oracle }
    }
}

impl GeneratedLayout {
    /// The items of all rows as they are kept, with their blemishes.
    fn items(
        &self,
        blueprint: &Blueprint,
        given: &GeneratedItems,
        stream: Stream,
    ) -> Result<Vec<Item>, RenderError> {
        let Some(GeneratedItemLayout { layout, .. }) = &self.item else { return Ok(Vec::new()) };
        let rows = blueprint.rows.train + blueprint.rows.test;
        items::written(blueprint, layout, rows, stream.child("items"), |row, look, draws| {
            let given = given.item(row).ok_or(RenderError::Rows("an item is missing"))?;
            Ok(given::write(given, look, draws)?)
        })
    }
}

/// Makes sure that the rows are those that the blueprint asks for.
fn fits(blueprint: &Blueprint, generated: &GeneratedRows) -> Result<(), RenderError> {
    let GeneratedRows { columns, scores, transforms, .. } = generated;
    let rows = blueprint.rows.train + blueprint.rows.test;
    let numbers = || blueprint.numbers.iter().map(|column| column.name.as_str());
    let words = || blueprint.words.iter().map(|spec| spec.column.name.as_str());
    if columns.rows != rows || scores.nrows() != rows || transforms.nrows() != rows {
        return Err(RenderError::Rows("their number is another"));
    }
    if scores.ncols() != blueprint.targets.len() {
        return Err(RenderError::Rows("the number of targets is another"));
    }
    if !numbers().all(|name| columns.numbers.contains_key(name))
        || !words().all(|name| columns.words.contains_key(name))
    {
        return Err(RenderError::Rows("a column is missing"));
    }
    Ok(())
}

/// The columns of the table alone.
fn public(blueprint: &Blueprint, columns: &Frame) -> Frame {
    let mut public = columns.clone();
    public.numbers.retain(|name, _| blueprint.numbers.iter().any(|own| own.name == *name));
    public.words.retain(|name, _| blueprint.words.iter().any(|own| own.column.name == *name));
    public
}

/// All rows as a careful solver sees them: columns with their mutations undone and gaps filled,
/// and items as they are decoded. In natural order.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedView {
    /// The columns of the table; a missing word is empty.
    pub columns: Frame,
    /// The items.
    pub items: GeneratedItems,
}

impl GeneratedView {
    /// The view of a task's public files.
    ///
    /// # Errors
    /// [`MediumError`] if an item cannot be decoded.
    pub fn new(blueprint: &Blueprint, assets: &Assets) -> Result<Self, MediumError> {
        let columns = public(blueprint, &ladder::rebuilt(blueprint, assets));
        let Some(layout) = blueprint.item() else {
            return Ok(Self { columns, items: GeneratedItems::None });
        };
        let items = assets.train_items.iter().chain(&assets.test_items);
        let decoded: Result<Vec<DecodedItem>, MediumError> =
            items.map(|item| given::decode(layout.medium, &item.bytes)).collect();
        let items = GeneratedItems::from_decoded(&decoded?);
        let items = items.ok_or_else(|| MediumError("items differ in form".to_owned()))?;
        Ok(Self { columns, items })
    }
}
