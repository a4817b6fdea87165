//! Data Strategist: seed, story, columns, mutations, rule and link become a blueprint.
//!
//! Story and terms of the rules can come from outside. Everything else is drawn here from the
//! streams of the brief, and the draws do not depend on who wrote story and terms.

use super::nominal;
use super::parts::Parts;
use super::rule_request::{LEAST_SHARE, RuleAuthor, RuleDraft, RuleRequest};
use super::structure::{self, ClassPlan, Structure};
use super::{Brief, RoleRefusal, families, mutations, scoring, series, spread};
use crate::challenges;
use crate::data::assets;
use crate::media::audio::Source;
use crate::media::graph::nodes::Knit;
use crate::media::{Format, MediumKind, Statistic};
use crate::numeric::draws::{Draws, floor};
use crate::scenes;
use crate::spec::blueprint::{BLUEPRINT_VERSION, Blueprint, Derivation, Link, Target, WordSpec};
use crate::spec::classes::ClassQuestion;
use crate::spec::config::Preset;
use crate::spec::dna::{self, Distance, Dna};
use crate::spec::layout::{
    ItemLayout, Labels, Layout, NetworkLayout, QueryLayout, RankingLayout, RowLayout,
};
use crate::spec::mutation::Mutation;
use crate::spec::rule::{Expr, Family, Frame, Rule};
use crate::spec::scenario::{
    self, Cause, ItemSpec, NumberColumn, NumberTarget, Shape, Story, TableScenario,
};
use crate::spec::seed::Trait;
use crate::spec::structure::RowStructure;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::{Formulation, Modality, RowCounts, Split};

/// Clean rows on which a rule is balanced.
pub(super) const POPULATION: usize = 3000;
/// Share of tasks whose labels stand in the names of training files, where they can.
const NAMED: f64 = 0.2;
/// Samples of all soundscapes of a task together, of 2 bytes each.
const MOST_SAMPLES: usize = 42_000_000;
/// The share of its soundscapes that are trained on, where there is no room for more.
const TRAINED: (usize, usize) = (9, 20);
/// Drafts of a rule before the strategist gives up.
const DRAFTS: usize = 40;
/// Number columns that rules may use; those behind them distract.
pub(super) const RULED: usize = 5;
/// Those among them whose means over a node's neighbours rules may use, too.
const SURROUNDED: usize = 3;

/// Makes the blueprint from the brief's story and rules of its own.
///
/// # Errors
/// [`RoleRefusal`] with the code `no_rule` or `scenario`.
pub fn strategise(brief: &Brief<'_>) -> Result<Blueprint, RoleRefusal> {
    strategise_with(brief, &brief.scenario.story, &mut |request| Ok(request.drafted()))
}

/// Makes the blueprint from a story, which need not be the brief's, and the terms of an author.
/// `author` is asked once per target, in order; never for a scene or a challenge.
///
/// With the brief's story and the terms of every draft, the blueprint is that of [`strategise`].
///
/// # Errors
/// [`RoleRefusal`] with the code `no_rule`, `scenario` or one of [`RuleRequest::rule`]; the
/// author's own error.
pub fn strategise_with<E: From<RoleRefusal>>(
    brief: &Brief<'_>,
    story: &Story,
    author: &mut RuleAuthor<'_, E>,
) -> Result<Blueprint, E> {
    let mut draws = Draws::new(brief.origin.stream("strategy"));
    if !story.serves(brief.slot.cell) {
        let key = brief.scenario.key();
        let detail = format!("the scenario `{key}` does not serve the formulation");
        return Err(RoleRefusal { code: "scenario", detail }.into());
    }
    let outline = outline(brief, story);
    match story {
        Story::Table(story) => rows(brief, story, outline, &mut draws, author),
        Story::Series(story) => series::strategise(story, outline, &mut draws, author),
        Story::Scene(story) => Ok(scenes::strategise(story, outline, &mut draws)),
        Story::Challenge(story) => Ok(challenges::strategise(story, outline, &mut draws)),
    }
}

/// A blueprint of independent rows, with or without items, or of rows that answer queries.
fn rows<E: From<RoleRefusal>>(
    brief: &Brief<'_>,
    story: &TableScenario,
    outline: Blueprint,
    draws: &mut Draws,
    author: &mut RuleAuthor<'_, E>,
) -> Result<Blueprint, E> {
    let dna = Dna::of(brief.seed);
    let cell = brief.slot.cell;
    let ranks = cell.formulation == Formulation::Ranking;
    let (numbers, words) = columns(brief, story, draws);
    let mut of_seed = Draws::new(brief.origin.stream("structure"));
    let plan = Structure::draw(cell, &dna, &mut of_seed);
    let asked = plan.classes.and_then(|plan| question(brief, story, plan, &mut of_seed));
    let plan = Structure { classes: plan.classes.filter(|_| asked.is_some()), ..plan };
    let scoring = scoring::choose(brief, story, &plan, asked, draws);
    let item = story.item.as_ref().filter(|_| cell.modality != Modality::Tabular);
    let item = item.map(|item| layout(item, &mut Draws::new(brief.origin.stream("format"))));
    let queries = story.ranking.as_ref().filter(|_| ranks).map(|ranking| QueryLayout {
        column: ranking.query.clone(),
        rows: draws.whole(7, 10),
        own: numbers.iter().skip(1).step_by(2).take(2).map(|c| c.name.clone()).collect(),
    });
    let network = story.network.as_ref().map(|_| network(&numbers, draws));
    let items = item.as_ref().map(|item| item.medium);
    let samples = item.as_ref().and_then(|item| item.samples);
    let usual = sizes(brief, items, samples, queries.as_ref(), draws);
    let rows = match brief.preset {
        Preset::Large => plan.rows(usual, queries.as_ref()),
        Preset::Paper => usual,
    };
    let names: Vec<&str> = numbers.iter().map(|column| column.name.as_str()).collect();
    let mut follows = scenario::bearing_on(&story.follows, &names);
    // What rows of a query share, and what neighbours have in common, follows nothing of a row, and
    // no column of a row would tell queries apart.
    follows.retain(|line| {
        let mut own = queries.iter().flat_map(|queries| &queries.own);
        let mut kindred = network.iter().flat_map(|network| &network.kindred);
        !own.any(|name| *name == line.child || *name == line.parent)
            && !kindred.any(|name| *name == line.child)
    });
    let mut blueprint = Blueprint {
        metric: scoring.metric,
        prediction: scoring.prediction.clone(),
        id_column: story.id.clone(),
        rows,
        layout: match (network, queries) {
            (Some(network), _) => Layout::Nodes(network),
            (None, Some(queries)) => Layout::Ranking(RankingLayout { queries, item }),
            (None, None) => Layout::Rows(RowLayout { item }),
        },
        numbers,
        follows,
        words,
        ..outline
    };
    // What moves the story's grades tells its classes apart, too.
    let graded = plan.classes.is_some().then_some(&*story.graded.name);
    let of_all = |name: &str| {
        scoring.targets.iter().all(|(column, _)| {
            let causes = story.causes_of(graded.unwrap_or(column));
            causes.is_empty() || causes.iter().any(|cause| cause.column == name)
        })
    };
    let ruled = blueprint.numbers.iter().take(RULED).map(|column| column.name.clone());
    let causes: Vec<String> = ruled.filter(|name| of_all(name)).collect();
    let causes: Vec<&str> = causes.iter().map(String::as_str).collect();
    let map = story.map.as_ref();
    blueprint.structure = structure::rows(&blueprint, &causes, map, &mut of_seed);
    // What records or places hold follows from no written column, or they would not have to be read.
    if let Some(of) = blueprint.structure.worked_out().map(str::to_owned) {
        blueprint.follows.retain(|line| line.child != of && line.parent != of);
    }
    let population = assets::population(&blueprint, POPULATION);
    let axes = plan.classes.map(nominal::axes);
    let parts_of = |blueprint: &Blueprint, causes: &[Cause]| {
        let parts = Parts::of(blueprint, causes);
        match axes {
            Some(axes) => parts.of_axis(axes),
            None => parts,
        }
    };
    for (column, classes) in scoring.targets {
        let parts = parts_of(&blueprint, story.causes_of(graded.unwrap_or(&column)));
        let columns = parts.columns(&blueprint, &population);
        let draft = draft(brief, &blueprint, &parts, &population, draws)?;
        let request = RuleRequest {
            blueprint: &blueprint,
            background: &story.story,
            column: &column,
            means: story.meaning(&column),
            // The score of an axis is a number; classes have no order along it.
            classes: if plan.classes.is_some() { &[] } else { &classes },
            columns: &columns,
            draft: &draft,
            population: &population,
        };
        let rule = request.ask(author)?;
        let mut target = unlinked(column, classes, Some(rule));
        // Further axes have no direction: classes are no more and no less.
        let further = axes.map_or(0, |axes| axes - 1);
        let parts = parts_of(&blueprint, &[]);
        for _ in 0..further {
            target.axes.push(self::draft(brief, &blueprint, &parts, &population, draws)?.rule);
        }
        if cell.formulation == Formulation::Quantiles {
            let mut draws = Draws::new(brief.origin.stream("spread"));
            target.spread = Some(spread::draft(&blueprint, &population, &mut draws)?);
            target.link = spread::link(&story.number, &mut draws);
        }
        blueprint.targets.push(target);
    }
    place_labels(brief, &mut blueprint);
    blueprint.mutations = mutations::choose(&blueprint, plan.positive, draws);
    let noise = louder(&blueprint);
    if let (Some(plan), [target]) = (plan.classes, &mut blueprint.targets[..]) {
        let scores: Vec<Vec<f64>> = target.rules().map(|rule| rule.score(&population)).collect();
        let certainty = draws.between(0.76, 0.84) - 0.1 * (noise - 1.0);
        target.link = nominal::link(&scores, plan, certainty, draws);
        return Ok(blueprint);
    }
    if cell.formulation == Formulation::Quantiles {
        return Ok(blueprint);
    }
    for index in 0..blueprint.targets.len() {
        let number = scoring::number(cell.formulation, story, index);
        let rule = blueprint.targets[index].rule.as_ref();
        let scores = rule.map_or_else(Vec::new, |rule| rule.score(&population));
        blueprint.targets[index].link = link(&blueprint, index, number, &scores, draws);
    }
    Ok(blueprint)
}

/// The written columns: many for tables and nodes, few beside items, none for items alone.
pub(super) fn columns(
    brief: &Brief<'_>,
    story: &TableScenario,
    draws: &mut Draws,
) -> (Vec<NumberColumn>, Vec<WordSpec>) {
    let cell = brief.slot.cell;
    let (most, most_words) = match (cell.modality, cell.formulation) {
        (Modality::Tabular, _) => (draws.whole(RULED, 8.min(story.numbers.len())), 3),
        (Modality::Graph, _) if story.network.is_some() => {
            (draws.whole(RULED, 7.min(story.numbers.len())), 2)
        }
        (Modality::Multimodal, _) => (draws.whole(4, RULED.min(story.numbers.len())), 2),
        // The queries' own columns, between two columns that are not.
        (_, Formulation::Ranking) => (4, 1),
        _ => return (Vec::new(), Vec::new()),
    };
    let mut numbers: Vec<_> = story.numbers.clone();
    let mut words = story.words.clone();
    draws.shuffle(&mut numbers);
    // The rule is free to use the first five columns, so causes come first. Those behind them
    // distract: the others follow a cause, or nothing that matters.
    let asked = story.asked(cell.formulation);
    let unmoved = |column: &NumberColumn| {
        let moved = |target: &&&str| {
            story.causes_of(target).iter().any(|cause| cause.column == column.name)
        };
        asked.len() - asked.iter().filter(moved).count()
    };
    numbers.sort_by_key(unmoved);
    // So does a distance that can be written as places.
    let distance = story.map.as_ref().map(|map| &map.distance);
    let far = numbers.iter().position(|column| Some(&column.name) == distance);
    if let Some(at) = far.filter(|at| *at >= RULED && unmoved(&numbers[*at]) == 0) {
        numbers.swap(at, RULED - 1);
    }
    numbers.truncate(most);
    draws.shuffle(&mut words);
    words.truncate(draws.whole(1, most_words.min(words.len())));

    let words = words
        .into_iter()
        .map(|column| {
            let weights =
                column.words.iter().map(|_| (draws.between(1.0, 1.6) * 100.0).round()).collect();
            WordSpec { column, weights }
        })
        .collect();
    (numbers, words)
}

/// The items' layout: every statistic of the medium becomes a hidden column. The format is drawn
/// from a stream of its own, so that the rest of the task does not depend on it.
fn layout(item: &ItemSpec, draws: &mut Draws) -> ItemLayout {
    let formats = item.medium.reader().formats();
    let other = formats[1..].iter().find(|format| draws.chance(share(**format)));
    let statistic = |statistic: &Statistic| NumberColumn {
        name: format!("{}.{}", item.column, statistic.name),
        low: statistic.low,
        high: statistic.high,
        shape: Shape::Uniform,
        decimals: statistic.decimals,
    };
    // Soundscapes of a task have one source and one length.
    let source = (item.medium == MediumKind::Soundscape).then(|| {
        let any = *draws.pick(&Source::ALL);
        item.source.unwrap_or(any)
    });
    ItemLayout {
        medium: item.medium,
        format: *other.unwrap_or(&formats[0]),
        column: item.column.clone(),
        statistics: item.medium.statistics().iter().map(statistic).collect(),
        vocabulary: item.vocabulary.clone(),
        subject: item.subject,
        genre: item.genre,
        samples: source.map(|source| source.samples(draws)),
        source,
        labels: Labels::Column,
    }
}

/// Draws where the answers of training rows stand, from a stream of its own as well.
pub(super) fn place_labels(brief: &Brief<'_>, blueprint: &mut Blueprint) {
    if Draws::new(brief.origin.stream("labels in names")).chance(NAMED) {
        blueprint.name_labels();
    }
}

/// How often a format is chosen where a medium offers it beside its usual one.
fn share(format: Format) -> f64 {
    match format {
        Format::Jpeg | Format::Frames => 0.4,
        Format::Text => 0.35,
        Format::Png => 0.25,
        Format::Tiff | Format::Wav | Format::Csv | Format::Cells => 0.0,
    }
}

/// The network's layout: which columns its links have to do with.
fn network(numbers: &[NumberColumn], draws: &mut Draws) -> NetworkLayout {
    let surrounded: Vec<String> =
        numbers.iter().take(SURROUNDED).map(|column| column.name.clone()).collect();
    // Where neighbours resemble each other, a row's own value hints at theirs.
    NetworkLayout { knit: Knit::drawn(draws), near: surrounded.clone(), kindred: surrounded }
}

/// How many rows to train and to test on. Items cost more than table rows, so fewer of them
/// are tested on. Of soundscapes with so many samples, there are as many rows as a task has room for.
pub(super) fn sizes(
    brief: &Brief<'_>,
    items: Option<MediumKind>,
    samples: Option<usize>,
    queries: Option<&QueryLayout>,
    draws: &mut Draws,
) -> RowCounts {
    // What items and links say is read with errors, which takes more rows to see through.
    let indirect = items.is_some() || brief.slot.cell.modality == Modality::Graph;
    let train = draws.whole(if indirect { 180 } else { 140 }, 200);
    let large = match items {
        None => draws.whole(700, 800),
        Some(medium) => match medium.modality() {
            // Texts and graphs are cheap beside pictures and sounds, unless they are long.
            Modality::Text | Modality::Graph if medium != MediumKind::Dossier => {
                draws.whole(500, 600)
            }
            _ => draws.whole(320, 400),
        },
    };
    let most = samples.map_or(usize::MAX, |samples| MOST_SAMPLES / samples);
    let train = train.min(most.saturating_mul(TRAINED.0) / TRAINED.1);
    let test = match brief.preset {
        Preset::Large => large.min(most - train),
        Preset::Paper => train / 4,
    };
    let unit = queries.map_or(1, |queries| queries.rows);
    RowCounts { train: train / unit * unit, test: test.div_ceil(unit) * unit }
}

/// The draft of a rule over the columns that the blueprint has.
fn draft(
    brief: &Brief<'_>,
    blueprint: &Blueprint,
    parts: &Parts,
    population: &Frame,
    draws: &mut Draws,
) -> Result<RuleDraft, RoleRefusal> {
    let mut rarely = Draws::new(brief.origin.stream("rare families"));
    balanced(blueprint.split, population, draws, |draws| {
        let family = match blueprint.queries() {
            Some(_) => *draws.pick(&[Family::Products, Family::Products, Family::Conditional]),
            None => families::pick(parts.rest(), &mut rarely, draws),
        };
        let mut columns = parts.deal(population, draws)?;
        // The lower rungs read items with errors: with less of the floor they would see nothing.
        let interacts = blueprint.dna.has(Trait::Interactions) && structure::shapes(blueprint);
        if interacts && family != Family::Products {
            return None;
        }
        if interacts {
            columns.shares = columns.shares.interacting();
        }
        if blueprint.formulation == Formulation::Quantiles {
            columns.shares = columns.shares.beside_a_spread();
        }
        columns.shares = columns.shares.at(brief.levels);
        let terms = families::draft(family, &columns, draws)?;
        let reads = |of: &str| terms.iter().any(|(_, expr)| expr.number_columns().contains(of));
        blueprint.structure.worked_out().is_none_or(reads).then_some((family, terms))
    })
}

/// What a blueprint takes from its brief and its story; the rest is still to be drawn.
pub(super) fn outline(brief: &Brief<'_>, story: &Story) -> Blueprint {
    let embedded = *story == brief.scenario.story;
    Blueprint {
        version: BLUEPRINT_VERSION,
        task: brief.slot.task.clone(),
        // A story of its own is told once.
        title: titled(story.title(), if embedded { brief.slot.variant } else { 0 }),
        origin: brief.origin,
        seed: brief.seed.id.clone(),
        derivation: derivation(brief),
        dna: Dna::of(brief.seed),
        domain: brief.scenario.domain.clone(),
        scenario: brief.scenario.key().to_owned(),
        story: (!embedded).then(|| story.clone()),
        variant: brief.slot.variant,
        modality: brief.slot.cell.modality,
        formulation: brief.slot.cell.formulation,
        metric: Metric::Rmse,
        prediction: Prediction::Number { column: String::new() },
        id_column: "row_id".to_owned(),
        split: brief.slot.split,
        rows: RowCounts { train: 0, test: 0 },
        preset: brief.preset,
        layout: Layout::Rows(RowLayout::default()),
        numbers: Vec::new(),
        follows: Vec::new(),
        words: Vec::new(),
        structure: RowStructure::default(),
        targets: Vec::new(),
        mutations: Vec::new(),
    }
}

/// Drafts rules until every term carries its weight.
///
/// A training task gets none that is kept for held-out tasks; half of the held-out tasks get one
/// of those, where one is found.
pub(super) fn balanced(
    split: Split,
    population: &Frame,
    draws: &mut Draws,
    mut draft: impl FnMut(&mut Draws) -> Option<(Family, Vec<(f64, Expr)>)>,
) -> Result<RuleDraft, RoleRefusal> {
    let novel = split == Split::Val && draws.chance(0.5);
    let mut usual = None;
    for _ in 0..DRAFTS {
        let Some((family, terms)) = draft(draws) else { continue };
        if families::mixes(family, &terms) {
            continue;
        }
        let shares = terms.iter().map(|(share, _)| *share).collect();
        let Some(rule) = Rule::balanced(family, terms, population) else { continue };
        let carried = rule.shares(population).iter().all(|share| *share >= LEAST_SHARE);
        let trains = families::trains(&rule);
        if !carried || split == Split::Train && !trains {
            continue;
        }
        let draft = RuleDraft { rule, shares };
        if !novel || !trains {
            return Ok(draft);
        }
        usual = usual.or(Some(draft));
    }
    if let Some(draft) = usual {
        return Ok(draft);
    }
    let detail = format!("no balanced rule was found in {DRAFTS} drafts");
    Err(RoleRefusal { code: "no_rule", detail })
}

/// A target whose link is still to be drawn.
pub(super) fn unlinked(column: String, classes: Vec<String>, rule: Option<Rule>) -> Target {
    let link = Link::Graded { cuts: Vec::new(), noise: 0.0 };
    Target { column, classes, rule, axes: Vec::new(), spread: None, link }
}

/// The column of classes without an order, and their names; `None` if there is no question for them
/// that suits the story. What pictures show is asked for by questions of their own alone, and not of
/// the paper's tasks, which have too few rows.
fn question(
    brief: &Brief<'_>,
    story: &TableScenario,
    plan: ClassPlan,
    draws: &mut Draws,
) -> Option<(String, Vec<String>)> {
    let numbers = story.numbers.iter().map(|column| column.name.as_str());
    let words = story.words.iter().chain([&story.graded]).map(|column| column.name.as_str());
    let item = story.item.iter().map(|item| item.column.as_str());
    let others = [story.id.as_str(), &story.binary.name, &story.number.name];
    let taken = numbers.chain(words).chain(item).chain(others).collect();
    let key = [&*brief.scenario.domain, brief.scenario.key()];
    let question = if plan.pictured {
        let item = story.item.as_ref();
        let shown = item.is_some_and(|item| item.medium.modality() == Modality::Image);
        if !shown || brief.preset != Preset::Large {
            return None;
        }
        ClassQuestion::of_pictures(key[1], plan.count, &taken, draws)?
    } else {
        ClassQuestion::draw(key, plan.count, &taken, draws)?
    };
    Some((question.column.clone(), question.classes(plan.count, draws)))
}

/// From a target's score to its values, with cuts at the wanted class shares among `scores`.
pub(super) fn link(
    blueprint: &Blueprint,
    index: usize,
    number: Option<&NumberTarget>,
    scores: &[f64],
    draws: &mut Draws,
) -> Link {
    let target = &blueprint.targets[index];
    let Some(number) = number else {
        let (least, most) = if blueprint.item().is_some() { (0.08, 0.14) } else { (0.12, 0.2) };
        let noise = percent(louder(blueprint) * draws.between(least, most));
        let mut shifted: Vec<f64> =
            scores.iter().map(|score| score + noise * draws.logistic()).collect();
        shifted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let value = shifted[floor((shifted.len() - 1) as f64 * share)];
            (value * 1000.0).round() / 1000.0
        };
        let rare = match blueprint.formulation {
            Formulation::Multilabel => {
                let usual = percent(draws.between(0.25, 0.5));
                Some(positive(blueprint).unwrap_or(usual))
            }
            // Only the first useful row of a query counts: were most of them useful, any order
            // would do.
            Formulation::Ranking if blueprint.metric == Metric::Mrr => {
                Some(percent(draws.between(0.25, 0.35)))
            }
            _ => positive(blueprint),
        };
        let classes = target.classes.len();
        let cuts = (1..classes)
            .map(|cut| match rare {
                Some(share) => at(1.0 - share * (classes - cut) as f64 / (classes - 1) as f64),
                None => at(cut as f64 / classes as f64),
            })
            .collect();
        return Link::Graded { cuts, noise };
    };
    let noise = percent(louder(blueprint) * draws.between(0.2, 0.35));
    let (low, high, decimals) = (number.low, number.high, number.decimals);
    let four = crate::numeric::rounding::digits;
    let straight =
        matches!(blueprint.metric, Metric::Rmse | Metric::R2 | Metric::Pearson | Metric::Spearman);
    if straight || low <= 0.0 || high / low < 8.0 {
        let (center, scale) = (f64::midpoint(low, high), (high - low) / 7.0);
        return Link::Linear { center: four(center), scale: four(scale), noise, decimals };
    }
    let spread = (libm::log(high / low) / 5.0).min(0.4);
    // Enough digits that rounding small values does not eat the signal.
    let decimals = decimals + usize::from(low < 5.0) + usize::from(low < 0.5);
    let center = f64::midpoint(libm::log(low), libm::log(high));
    Link::Exponential { center: four(center), scale: four(spread), noise, decimals }
}

/// How many times as large as usual the noise of a target is.
fn louder(blueprint: &Blueprint) -> f64 {
    let dna = &blueprint.dna;
    if !structure::shapes(blueprint) {
        return 1.0;
    }
    let heavy = if dna.has(Trait::HeavyNoise) { 1.8 } else { 1.0 };
    heavy * if dna.has(Trait::WeakSignal) { 1.6 } else { 1.0 }
}

/// The share of rows that are positive, where it is set.
fn positive(blueprint: &Blueprint) -> Option<f64> {
    blueprint.mutations.iter().find_map(|mutation| match mutation {
        Mutation::Imbalance { share } => Some(*share),
        _ => None,
    })
}

/// How the task's form follows from the seed's.
fn derivation(brief: &Brief<'_>) -> Derivation {
    let cell = brief.slot.cell;
    let data = match dna::distance(brief.seed, cell) {
        Distance::None => return Derivation::Exact,
        Distance::Question => "the data keeps its kind",
        Distance::Data | Distance::Both => match cell.modality {
            Modality::Tabular => "records are summarised into one row of columns each",
            Modality::TimeSeries => "records are followed in time, per source",
            Modality::Image => "records are shown as pictures",
            Modality::Text => "records are told in words",
            Modality::Audio => "records are heard",
            Modality::Graph => "records become nodes and edges",
            Modality::Multimodal => "records become items with columns beside them",
        },
    };
    let asks = match cell.formulation {
        Formulation::Binary => "one of two classes",
        Formulation::Multiclass => "one of several classes",
        Formulation::Regression => "one number per row",
        Formulation::Forecasting => "the next values of each source",
        Formulation::Multilabel => "any number of labels",
        Formulation::MultiTarget => "several numbers per row",
        Formulation::Quantiles => "three quantiles of one number per row",
        Formulation::Ranking => "the order of the rows of each query",
        Formulation::Matching => "whether two things are the same",
        Formulation::Segmentation => "the pixels that belong to something",
        Formulation::Detection => "the boxes around things",
        Formulation::Reconstruction => "the clean picture",
        Formulation::Normalisation => "what is written, as it is read aloud",
        Formulation::Extraction => "the piece of a text that says what is asked for",
        Formulation::Retrieval => "which known individual a row is of",
        Formulation::Recommendation => "what someone chooses next",
        Formulation::Positions => "an answer to each position of a sequence",
    };
    Derivation::Reformulated {
        from: Dna::of(brief.seed).asks,
        how: format!("{data}; the target becomes {asks}"),
    }
}

fn titled(title: &str, variant: usize) -> String {
    if variant == 0 { title.to_owned() } else { format!("{title} (season {})", variant + 1) }
}

/// Rounded to two decimals.
pub(super) fn percent(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
