//! The page: an index and a part for each task.

use super::choice::{self, Choice, Wish};
use super::parts::section;
use super::task::{FileKind, GalleryTask};
use super::{GalleryError, charts, graphs, leaks, markdown, pictures, sounds, tables, texts};
use crate::corpus::folder;
use crate::show::authors::authors;
use crate::show::rating::{self, level_text};
use crate::spec::blueprint::{Derivation, Link, Target};
use crate::spec::layout::ItemLayout;
use crate::spec::mix::name;
use crate::spec::mutation::{Mutation, SENTINEL};
use crate::spec::rule::Rule;
use camino::Utf8Path;
use maud::{Markup, html};
use rayon::prelude::*;
use std::fmt::Write as _;
use tasks::metrics::Direction;
use tasks::rating::Ratings;
use tasks::task::TaskDir;
use web::chart::short;
use web::page::Document;

const STYLE: &str = include_str!("style.css");

/// The page of the corpus or task in `dir`, as HTML.
///
/// # Errors
/// [`GalleryError`], which names the file or option that is to blame.
pub fn page(dir: &Utf8Path, wish: &Wish) -> Result<String, GalleryError> {
    if dir.join("task.json").is_file() {
        let task = GalleryTask::open(TaskDir::open(dir)?)?;
        let title = &task.dir.manifest().title;
        // The folder around a task's is its corpus.
        let ratings = Ratings::read(dir.parent().unwrap_or(dir))?;
        return Ok(Document { title, style: STYLE, body: part(&task, &ratings, true)? }.html());
    }
    let ratings = Ratings::read(dir)?;
    let Choice { tasks, matching, left_out } = choice::choose(dir, wish)?;
    let part = |dir: &TaskDir| part(&GalleryTask::open(dir.clone())?, &ratings, false);
    let parts = tasks.par_iter().map(part).collect::<Result<Vec<_>, GalleryError>>()?;
    let title = dir.file_name().unwrap_or("corpus");
    let body = html! {
        header {
            h1 { (title) }
            p {
                (tasks.len()) " of " (matching) " tasks, every kind in turn."
                @if !left_out.is_empty() {
                    " Kinds without room on this page: " (left_out.join(", ")) "."
                }
            }
        }
        (index(&tasks))
        @for part in parts { (part) }
    };
    Ok(Document { title, style: STYLE, body }.html())
}

/// Links to the tasks, by kind.
fn index(tasks: &[TaskDir]) -> Markup {
    html! {
        nav aria-label="tasks" {
            dl {
                @for group in tasks.chunk_by(|a, b| choice::cell(a) == choice::cell(b)) {
                    dt { (group.first().map(choice::cell).map_or_else(String::new, |c| c.to_string())) }
                    dd {
                        @for task in group {
                            @let manifest = task.manifest();
                            a href=(format!("#{}", manifest.id)) { (manifest.title) } " "
                        }
                    }
                }
            }
        }
    }
}

/// All there is to see of one task; `alone` if the page has no other.
fn part(task: &GalleryTask, ratings: &Ratings, alone: bool) -> Result<Markup, GalleryError> {
    let manifest = task.dir.manifest();
    let id = manifest.id.as_str();
    let mut sections = Vec::new();
    for items in task.items() {
        sections.push(match items.kind {
            FileKind::Picture => ("Pictures", Some(pictures::show(task, items)?)),
            FileKind::Sound => ("Recordings", Some(sounds::show(task, items)?)),
            FileKind::Graph => ("Graphs", Some(graphs::show(task, items)?)),
            FileKind::Document => ("Documents", Some(texts::documents(task, items)?)),
        });
    }
    sections.push(("Network", graphs::neighbourhood(task)?));
    sections.push(("Texts", texts::show(task)));
    sections.push(("Series", charts::series(task)));
    sections.push(("Table", Some(tables::head(task))));
    let leaks = leaks::report(task)?;
    Ok(html! {
        article.task.card id=(id) {
            @if alone { h1 { (manifest.title) } } @else { h2 { (manifest.title) } }
            p.note { code { (id) } }
            (facts(task, ratings))
            details.description open[alone] {
                summary { "Description, as solvers see it" }
                (markdown::render(&task.description))
            }
            @for (heading, contents) in sections { (section(heading, contents)) }
            div.pair {
                (section("Ladder", Some(charts::ladder(manifest))))
                (section("Target", Some(charts::targets(task))))
            }
            (section("Solvers", solvers(task, ratings)))
            (section("Hidden rule", Some(rule(task))))
            (section("Mutations", Some(mutations(task))))
            (section("Leak report", Some(leaks)))
            @if !alone { p.note { a href="#top" { "to the top" } } }
        }
    })
}

fn facts(task: &GalleryTask, ratings: &Ratings) -> Markup {
    let manifest = task.dir.manifest();
    let direction = match manifest.direction() {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let derivation = match &task.blueprint.derivation {
        Derivation::Exact => "asks what the seed asks".to_owned(),
        Derivation::Reformulated { from, how } => format!("from {from}: {how}"),
    };
    let mut rows = format!("{} train, {} test", manifest.rows.train, manifest.rows.test);
    if let Some(layout) = task.blueprint.queries() {
        let _ = write!(rows, ", {} per `{}`", layout.rows, layout.column);
    }
    let facts = [
        ("kind", choice::cell(&task.dir).to_string()),
        ("metric", format!("{}, {direction}", manifest.metric)),
        ("rows", rows),
        ("split", name(&manifest.split)),
        ("domain", manifest.domain.clone()),
        ("family", folder::family(manifest).to_owned()),
        ("seed", manifest.seed_task.clone()),
        ("derivation", derivation),
        ("level", level_text(ratings.level(manifest))),
        ("made by", authors(manifest)),
    ];
    html! {
        dl.facts {
            @for (key, value) in facts { div { dt { (key) } dd { (markdown::inline(&value)) } } }
        }
    }
}

/// What solvers that know no rule made of the task.
fn solvers(task: &GalleryTask, ratings: &Ratings) -> Option<Markup> {
    let lines = rating::lines(ratings, task.dir.manifest());
    (!lines.is_empty()).then(|| html! { pre.rule { (lines) } })
}

/// Each target's terms, one per line, and how the target follows from their sum; the rule of
/// pictures, which have no such targets, clause by clause.
fn rule(task: &GalleryTask) -> Markup {
    if task.blueprint.targets.is_empty() {
        let clauses = task.blueprint.formula().replace("; ", ";\n");
        return html! { pre.rule { (clauses) } };
    }
    if let Some(generator) = task.blueprint.generator() {
        let links = task.blueprint.targets.iter();
        let links = links.map(|target| (&target.column, link(&target.link, &target.classes)));
        return html! {
            pre.rule { (generator.code) }
            p.note { "A generator draws the rows; scores are in units of their spread." }
            @for (column, link) in links { pre.rule { (column) ": " (link) } }
        };
    }
    let several = task.blueprint.targets.len() > 1;
    let formula = |target: &Target| {
        let mut text = if several { format!("{}: ", target.column) } else { String::new() };
        text.push_str("score =\n");
        text.extend(target.rule.iter().map(terms));
        if let Some(spread) = &target.spread {
            text.push_str("spread =\n");
            text.push_str(&terms(spread));
        }
        text + &link(&target.link, &target.classes)
    };
    html! {
        @for target in &task.blueprint.targets { pre.rule { (formula(target)) } }
        p.note { "z[…] is a term in units of its own spread." }
        @if task.blueprint.network().is_some() {
            p.note {
                code { ".near" } " is a column's mean over a row's neighbours, "
                code { "node.degree" } " their number."
            }
        }
        @if let Some(layout) = task.blueprint.item() { (statistics(task, layout)) }
    }
}

/// What the statistics mean that the rule uses, with their ranges.
fn statistics(task: &GalleryTask, layout: &ItemLayout) -> Markup {
    let used = |name: &str| {
        let column = format!("{}.{name}", layout.column);
        task.blueprint.targets.iter().any(|target| {
            target.rule.as_ref().is_some_and(|rule| rule.to_string().contains(&column))
        })
    };
    html! {
        dl.facts {
            @for statistic in layout.medium.statistics().iter().filter(|s| used(s.name)) {
                div {
                    dt { (statistic.name) }
                    dd { (statistic.means) "; " (short(statistic.low)) " to " (short(statistic.high)) }
                }
            }
        }
    }
}

fn link(link: &Link, classes: &[String]) -> String {
    match link {
        Link::Graded { cuts, noise } => {
            let cuts: Vec<String> = cuts.iter().map(|cut| short(*cut)).collect();
            let classes = if classes.is_empty() {
                String::new()
            } else {
                format!(" into {}", classes.join(" | "))
            };
            format!("score + {} logistic noise, cut at {}{classes}", short(*noise), cuts.join(", "))
        }
        Link::Nominal { centres, spread, .. } => format!(
            "{} classes, each a region around a point in the space of the scores, with a spread of {}",
            centres.len(),
            short(*spread)
        ),
        Link::Linear { center, scale, noise, .. } => {
            format!(
                "{} + {} (score + {} normal noise)",
                short(*center),
                short(*scale),
                short(*noise)
            )
        }
        Link::Exponential { center, scale, noise, .. } => format!(
            "exp({} + {} (score + {} normal noise))",
            short(*center),
            short(*scale),
            short(*noise)
        ),
        Link::Heteroscedastic { center, scale, noise, growth, logarithmic, .. } => {
            let value = format!(
                "{} + {} (score + {} exp({} spread) normal noise)",
                short(*center),
                short(*scale),
                short(*noise),
                short(*growth)
            );
            let value = if *logarithmic { format!("exp({value})") } else { value };
            format!("{value}, the spread held to ±{}", Link::HELD)
        }
    }
}

fn mutations(task: &GalleryTask) -> Markup {
    let texts = task.blueprint.mutations.iter().map(|mutation| in_words(task, mutation));
    html! {
        @if task.blueprint.mutations.is_empty() {
            p { "None: the data is clean." }
        } @else {
            ul { @for text in texts { li { (markdown::inline(&text)) } } }
        }
    }
}

/// The terms of a rule, a line each.
fn terms(rule: &Rule) -> String {
    let mut text = String::new();
    for (index, term) in rule.terms.iter().enumerate() {
        let sign = if term.weight < 0.0 { '-' } else { '+' };
        let sign = if index == 0 && sign == '+' { ' ' } else { sign };
        let _ = writeln!(text, "  {sign} {:.3} z[{}]", term.weight.abs(), term.expr);
    }
    text
}

/// A mutation in words, as Markdown.
fn in_words(task: &GalleryTask, mutation: &Mutation) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    match mutation {
        Mutation::LabelNoise { share } => {
            format!("label noise: {} of labels drawn anew", percent(*share))
        }
        Mutation::Imbalance { share } => {
            format!("imbalance: {} of rows in class 1", percent(*share))
        }
        Mutation::Missing { column, share } => {
            format!("missing: {} of `{column}`", percent(*share))
        }
        Mutation::Sentinel { column, share } => {
            format!("sentinel: {} of `{column}` is {SENTINEL}", percent(*share))
        }
        Mutation::Units { column, companion, factor, share } => format!(
            "units: {} of `{column}` is multiplied with {}, as `{companion}` says",
            percent(*share),
            short(*factor)
        ),
        Mutation::Echo { column, name, noise } => format!(
            "echo: `{name}` repeats `{column}` with noise of {} of its spread",
            percent(*noise)
        ),
        Mutation::Channels { .. } | Mutation::Rescaled { .. } | Mutation::NearDuplicates { .. } => {
            mutation.to_string()
        }
        Mutation::Blemish { name, strength } => {
            let known =
                task.blueprint.item().into_iter().flat_map(|l| l.medium.reader().blemishes());
            let means = known.into_iter().find(|blemish| blemish.name == name);
            let means = means.map_or(String::new(), |known| format!(": {}", known.means));
            format!("blemish: `{name}`, strength {}{means}", short(*strength))
        }
    }
}
