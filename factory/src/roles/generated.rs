//! Tasks whose rows a generator draws: the blueprint before there is a generator, and everything
//! that follows from its rows.

use super::{
    Brief, RoleCheckError, RoleRefusal, TaskFacts, developer, mutations, scoring, strategist,
    structure::Structure,
};
use crate::data::assets::Assets;
use crate::generator::{self, GeneratedRows, Generation, GeneratorJail, GeneratorSpec};
use crate::kinds::{GeneratedView, RenderError};
use crate::media::{Format, MediumKind};
use crate::numeric::draws::Draws;
use crate::spec::blueprint::{Blueprint, Origin};
use crate::spec::generated::{GeneratedItemLayout, GeneratedLayout, ItemForm};
use crate::spec::layout::{ItemLayout, Labels, Layout};
use crate::spec::mix::Cell;
use crate::spec::scenario::{ItemSpec, Story, TableScenario};
use tasks::task::{Formulation, Modality};

/// The stream of an attempt from which a generator's rows are drawn.
pub const STREAM: &str = "developer";

/// The medium of a generator's items where a story has items of `medium`; none for pairs of texts
/// and for graphs.
fn medium(medium: MediumKind) -> Option<MediumKind> {
    match medium {
        MediumKind::Surface | MediumKind::Objects | MediumKind::Scenery => {
            Some(MediumKind::Picture)
        }
        MediumKind::Recording => Some(MediumKind::Sound),
        MediumKind::Report | MediumKind::Dossier => Some(MediumKind::Text),
        _ => None,
    }
}

/// The table of a story whose rows a generator can draw for this kind of task; `None` if a
/// generator cannot.
pub fn served(cell: Cell, story: &Story) -> Option<&TableScenario> {
    let Story::Table(table) = story else { return None };
    let asks = matches!(
        cell.formulation,
        Formulation::Binary
            | Formulation::Multiclass
            | Formulation::Regression
            | Formulation::Multilabel
            | Formulation::MultiTarget
    );
    let has_rows = match cell.modality {
        Modality::Tabular => true,
        Modality::Image | Modality::Audio | Modality::Text | Modality::Multimodal => {
            table.item.as_ref().is_some_and(|item| medium(item.medium).is_some())
        }
        Modality::TimeSeries | Modality::Graph => false,
    };
    (asks && has_rows).then_some(table)
}

/// The blueprint of a task whose generator is still to be written: columns, sizes, question,
/// mutations. Columns and the form of items are the same at every attempt of a slot, so that a
/// generator serves them all.
///
/// # Errors
/// [`RoleRefusal`] with the code `scenario`.
pub fn blueprint(brief: &Brief<'_>, story: &Story) -> Result<Blueprint, RoleRefusal> {
    let cell = brief.slot.cell;
    let table = served(cell, story).filter(|_| story.serves(cell)).ok_or_else(|| {
        let detail = format!("no generator serves `{cell}` with this story");
        RoleRefusal { code: "scenario", detail }
    })?;
    let first = Origin { attempt: 0, ..brief.origin };
    let mut fixed = Draws::new(first.stream("generator"));
    // The generator draws the columns, correlations included.
    let (numbers, words) = strategist::columns(brief, table, &mut fixed);
    let item = table.item.as_ref().filter(|_| cell.modality != Modality::Tabular);
    let item = item.and_then(|item| item_layout(item, &mut fixed));

    let mut draws = Draws::new(brief.origin.stream("strategy"));
    let scoring = scoring::choose(brief, table, &Structure::default(), None, &mut draws);
    let items = item.as_ref().map(|item| item.layout.medium);
    let rows = strategist::sizes(brief, items, None, None, &mut draws);
    let target = |(column, classes)| strategist::unlinked(column, classes, None);
    let mut blueprint = Blueprint {
        metric: scoring.metric,
        prediction: scoring.prediction,
        id_column: table.id.clone(),
        rows,
        layout: Layout::Generated(GeneratedLayout { item, generator: None }),
        numbers,
        words,
        targets: scoring.targets.into_iter().map(target).collect(),
        ..strategist::outline(brief, story)
    };
    strategist::place_labels(brief, &mut blueprint);
    blueprint.mutations = mutations::choose(&blueprint, None, &mut draws);
    Ok(blueprint)
}

/// The items of a generator in place of a story's.
fn item_layout(item: &ItemSpec, draws: &mut Draws) -> Option<GeneratedItemLayout> {
    let medium = medium(item.medium)?;
    let (form, format) = match medium {
        MediumKind::Picture => {
            let side = *draws.pick(&[48, 56, 64]);
            let colour = draws.chance(0.5);
            (ItemForm::Picture { height: side, width: side, colour }, Format::Png)
        }
        MediumKind::Sound => {
            (ItemForm::Sound { samples: *draws.pick(&[4096, 6144, 8192]) }, Format::Wav)
        }
        _ if draws.chance(0.35) => (ItemForm::Text, Format::Text),
        _ => (ItemForm::Text, Format::Cells),
    };
    let (column, vocabulary) = (item.column.clone(), item.vocabulary.clone());
    let layout = ItemLayout {
        medium,
        format,
        column,
        statistics: Vec::new(),
        vocabulary,
        subject: None,
        genre: None,
        source: None,
        samples: None,
        labels: Labels::Column,
    };
    Some(GeneratedItemLayout { layout, form })
}

/// Runs a generator for a blueprint that [`blueprint`] made, and makes everything that follows
/// from its rows: links, data, baselines, milestones. The facts have the blueprint with the
/// generator and the links.
///
/// # Errors
/// [`RoleCheckError`].
pub fn develop(
    blueprint: &Blueprint,
    story: &TableScenario,
    code: &str,
    jail: &GeneratorJail,
) -> Result<TaskFacts, RoleCheckError> {
    let spec = GeneratorSpec::from_blueprint(blueprint);
    let Generation { rows, inspection } =
        generator::generate(jail, code, &spec, blueprint.origin.stream(STREAM))?;
    let mut blueprint = blueprint.clone();
    if let Layout::Generated(layout) = &mut blueprint.layout {
        layout.generator = Some(inspection.into_record(code));
    }
    let mut draws = Draws::new(blueprint.origin.stream("links"));
    for (index, scores) in rows.standard_scores().iter().enumerate() {
        let number = scoring::number(blueprint.formulation, story, index);
        blueprint.targets[index].link =
            strategist::link(&blueprint, index, number, scores, &mut draws);
    }
    let assets = developer::rendered(&blueprint, Some(&rows)).map_err(RoleRefusal::from)?;
    let transforms = public_transforms(&blueprint, &assets, jail)?;
    let assets = Assets { transforms: Some(transforms.clone()), ..assets };
    Ok(developer::fitted(&blueprint, Some(GeneratedRows { transforms, ..rows }), assets)?)
}

/// What the generator of a blueprint makes of the public files, as a solver should: `[rows, 2..=8]`,
/// in natural order.
///
/// # Errors
/// [`RoleCheckError`].
///
/// # Panics
/// If the blueprint has no generator.
pub fn public_transforms(
    blueprint: &Blueprint,
    assets: &Assets,
    jail: &GeneratorJail,
) -> Result<ndarray::Array2<f64>, RoleCheckError> {
    let generator = blueprint.generator().expect("a generator drew the rows");
    let view = GeneratedView::new(blueprint, assets).map_err(RenderError::from);
    let view = view.map_err(RoleRefusal::from)?;
    let spec = GeneratorSpec::from_blueprint(blueprint);
    Ok(jail.transform(&generator.code, &spec, &view.columns, &view.items)?)
}
