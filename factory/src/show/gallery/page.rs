//! The page: an index and a part for each task.

use super::choice::{self, Choice, Wish};
use super::html::{section, short};
use super::task::{Kind, Task};
use super::{
    GalleryError, charts, graphs, ladder, leaks, markdown, pictures, sounds, tables, texts,
};
use crate::corpus::folder;
use crate::spec::blueprint::{Derivation, Link};
use crate::spec::mix::name;
use crate::spec::mutation::Mutation;
use camino::Utf8Path;
use rayon::prelude::*;
use std::fmt::Write as _;
use tasks::metrics::Direction;
use tasks::task::TaskDir;
use web::html::escape;

const STYLE: &str = include_str!("style.css");

/// The page of the corpus or task in `dir`, as HTML.
///
/// # Errors
/// [`GalleryError`], which names the file or option that is to blame.
pub fn page(dir: &Utf8Path, wish: &Wish) -> Result<String, GalleryError> {
    if dir.join("task.json").is_file() {
        let task = Task::open(TaskDir::open(dir)?)?;
        return Ok(document(&task.dir.manifest().title, &part(&task, true)?));
    }
    let Choice { tasks, matching, left_out } = choice::choose(dir, wish)?;
    let part = |dir: &TaskDir| part(&Task::open(dir.clone())?, false);
    let parts = tasks.par_iter().map(part).collect::<Result<Vec<_>, GalleryError>>()?;
    let title = dir.file_name().unwrap_or("corpus");
    let mut body = format!(
        "<header><h1>{}</h1>\n<p>{} of {matching} tasks, every kind in turn.{}</p></header>\n",
        escape(title),
        tasks.len(),
        if left_out.is_empty() {
            String::new()
        } else {
            format!(" Kinds without room on this page: {}.", escape(&left_out.join(", ")))
        }
    );
    body.push_str(&index(&tasks));
    body.push_str(&parts.concat());
    Ok(document(title, &body))
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(title)
    )
}

/// Links to the tasks, by kind.
fn index(tasks: &[TaskDir]) -> String {
    let mut html = String::from("<nav><dl>\n");
    let mut last = None;
    for task in tasks {
        let manifest = task.manifest();
        let cell = choice::cell(task);
        if last != Some(cell) {
            let end = if last.is_some() { "</dd>\n" } else { "" };
            let _ = write!(html, "{end}<dt>{}</dt><dd>", escape(&cell.to_string()));
            last = Some(cell);
        }
        let _ = write!(
            html,
            "<a href=\"#{}\">{}</a> ",
            escape(manifest.id.as_str()),
            escape(&manifest.title)
        );
    }
    html + "</dd>\n</dl></nav>\n"
}

/// All there is to see of one task; `alone` if the page has no other.
fn part(task: &Task, alone: bool) -> Result<String, GalleryError> {
    let manifest = task.dir.manifest();
    let level = if alone { "h1" } else { "h2" };
    let mut html = format!(
        "<article class=\"task\" id=\"{id}\">\n<{level}>{}</{level}>\n<p class=\"note\"><code>{id}</code></p>\n",
        escape(&manifest.title),
        id = escape(manifest.id.as_str())
    );
    html.push_str(&facts(task));
    let open = if alone { " open=\"open\"" } else { "" };
    let _ = writeln!(
        html,
        "<details class=\"description\"{open}><summary>Description, as solvers see it</summary>\n{}</details>",
        markdown::render(&task.description)
    );
    for items in task.items() {
        let (heading, shown) = match items.kind {
            Kind::Picture => ("Pictures", pictures::show(task, items)?),
            Kind::Sound => ("Recordings", sounds::show(task, items)?),
            Kind::Graph => ("Graphs", graphs::show(task, items)?),
            Kind::Document => ("Documents", texts::documents(task, items)?),
        };
        html.push_str(&section(heading, &shown));
    }
    html.push_str(&section("Network", &graphs::neighbourhood(task)?));
    html.push_str(&section("Texts", &texts::show(task)));
    html.push_str(&section("Series", &charts::series(task)));
    html.push_str(&section("Table", &tables::head(task)));
    html.push_str("<div class=\"pair\">\n");
    html.push_str(&section("Ladder", &ladder::plot(manifest)));
    html.push_str(&section("Target", &charts::targets(task)));
    html.push_str("</div>\n");
    html.push_str(&section("Hidden rule", &rule(task)));
    html.push_str(&section("Mutations", &mutations(task)));
    html.push_str(&section("Leak report", &leaks::report(task)?));
    if !alone {
        html.push_str("<p class=\"note\"><a href=\"#top\">to the top</a></p>\n");
    }
    Ok(html + "</article>\n")
}

fn facts(task: &Task) -> String {
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
    ];
    let mut html = String::from("<dl class=\"facts\">\n");
    for (key, value) in facts {
        let _ = writeln!(html, "<div><dt>{key}</dt><dd>{}</dd></div>", markdown::inline(&value));
    }
    html + "</dl>\n"
}

/// Each target's terms, one per line, and how the target follows from their sum; the rule of
/// pictures, which have no such targets, clause by clause.
fn rule(task: &Task) -> String {
    if task.blueprint.targets.is_empty() {
        let clauses = task.blueprint.formula().replace("; ", ";\n");
        return format!("<pre class=\"rule\">{}</pre>\n", escape(&clauses));
    }
    let mut html = String::new();
    let several = task.blueprint.targets.len() > 1;
    for target in &task.blueprint.targets {
        let mut text = if several { format!("{}: ", target.column) } else { String::new() };
        text.push_str("score =\n");
        for (index, term) in target.rule.terms.iter().enumerate() {
            let sign = if term.weight < 0.0 { '-' } else { '+' };
            let sign = if index == 0 && sign == '+' { ' ' } else { sign };
            let _ = writeln!(text, "  {sign} {:.3} z[{}]", term.weight.abs(), term.expr);
        }
        let _ = write!(text, "{}", link(&target.link, &target.classes));
        let _ = writeln!(html, "<pre class=\"rule\">{}</pre>", escape(&text));
    }
    html.push_str("<p class=\"note\">z[…] is a term in units of its own spread.</p>\n");
    if task.blueprint.network().is_some() {
        html.push_str("<p class=\"note\"><code>.near</code> is a column's mean over a row's neighbours, <code>node.degree</code> their number.</p>\n");
    }
    if let Some(layout) = task.blueprint.item() {
        let used = |name: &str| {
            let column = format!("{}.{name}", layout.column);
            task.blueprint.targets.iter().any(|target| target.rule.to_string().contains(&column))
        };
        html.push_str("<dl class=\"facts\">\n");
        for statistic in layout.medium.medium().statistics().iter().filter(|s| used(s.name)) {
            let _ = writeln!(
                html,
                "<div><dt>{}</dt><dd>{}; {} to {}</dd></div>",
                escape(statistic.name),
                escape(statistic.means),
                short(statistic.low),
                short(statistic.high)
            );
        }
        html.push_str("</dl>\n");
    }
    html
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
    }
}

fn mutations(task: &Task) -> String {
    if task.blueprint.mutations.is_empty() {
        return "<p>None: the data is clean.</p>".to_owned();
    }
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut html = String::from("<ul>\n");
    for mutation in &task.blueprint.mutations {
        let text = match mutation {
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
                format!(
                    "sentinel: {} of `{column}` is {}",
                    percent(*share),
                    crate::spec::mutation::SENTINEL
                )
            }
            Mutation::Units { column, companion, factor, share } => format!(
                "units: {} of `{column}` is multiplied with {}, as `{companion}` says",
                percent(*share),
                short(*factor)
            ),
            Mutation::Echo { column, name, noise } => {
                format!(
                    "echo: `{name}` repeats `{column}` with noise of {} of its spread",
                    percent(*noise)
                )
            }
            Mutation::Blemish { name, strength } => {
                let known =
                    task.blueprint.item().into_iter().flat_map(|l| l.medium.medium().blemishes());
                let means = known.into_iter().find(|blemish| blemish.name == name);
                let means = means.map_or(String::new(), |known| format!(": {}", known.means));
                format!("blemish: `{name}`, strength {}{means}", short(*strength))
            }
        };
        let _ = writeln!(html, "<li>{}</li>", markdown::inline(&text));
    }
    html + "</ul>"
}
