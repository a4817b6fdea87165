//! `agents knowledge`: the knowledge base, without an agent.

mod tried;

use crate::cli::{
    KnowledgeAuditArgs, KnowledgeBase, KnowledgeBuildArgs, KnowledgeCommand, KnowledgeListArgs,
    KnowledgeQueryArgs, KnowledgeShowArgs, ModelArgs,
};
use crate::players::Players;
use crate::{complain, say};
use agents::knowledge::{
    ChatJobs, Knowledge, Labeler, Method, ModelLabeler, NobodyAsked, Post, Query, RankedEntry,
    RetrievalSettings, RuleLabeler, Stage, TaskLabels, Trick, TrickId, audit, check_leaks,
    parse_posts, retrieve,
};
use anyhow::{Context as _, Result, bail};
use camino::Utf8Path;
use fs_err as fs;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;
use tasks::files;
use tasks::task::{Collection, Opening};

/// Exclusions that are shown one by one; the rest is counted.
const SHOWN_EXCLUSIONS: usize = 40;

pub(crate) fn knowledge(command: &KnowledgeCommand) -> Result<ExitCode> {
    match command {
        KnowledgeCommand::List(args) => list(args),
        KnowledgeCommand::Show(args) => show(args),
        KnowledgeCommand::Query(args) => query(args),
        KnowledgeCommand::Build(args) => build(args),
        KnowledgeCommand::Audit(args) => audit_cards(args),
        KnowledgeCommand::Try(args) => tried::try_cards(args),
        KnowledgeCommand::Stats(args) => stats(args),
    }
}

/// A base of the user's, or the shipped one.
pub(crate) enum Opened {
    Shipped(&'static Knowledge),
    Read(Box<Knowledge>),
}

impl std::ops::Deref for Opened {
    type Target = Knowledge;

    fn deref(&self) -> &Knowledge {
        match self {
            Self::Shipped(base) => base,
            Self::Read(base) => base,
        }
    }
}

pub(crate) fn open(base: &KnowledgeBase) -> Result<Opened> {
    if base.knowledge == "shipped" {
        return Ok(Opened::Shipped(Knowledge::shipped()));
    }
    Ok(Opened::Read(Box::new(Knowledge::read(Utf8Path::new(&base.knowledge))?)))
}

/// Lines with columns of one width each; numbers stand right.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| {
            let is_number = cell.parse::<f64>().is_ok();
            if is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn cells<const N: usize>(row: [&str; N]) -> Vec<String> {
    row.map(str::to_owned).to_vec()
}

fn list(args: &KnowledgeListArgs) -> Result<ExitCode> {
    let base = open(&args.base)?;
    let stage = args.stage.as_deref().map(stage).transpose()?;
    let label = args.label.as_deref().map(str::to_lowercase);
    let fits = |labels: &[agents::knowledge::Label]| {
        let has = |wanted: &String| {
            labels.iter().any(|label| label.to_string().to_lowercase().contains(wanted))
        };
        label.as_ref().is_none_or(has)
    };
    let mut rows = vec![cells(["name", "stage", "cost", "slot", "title"])];
    for trick in base.tricks() {
        if stage.is_none_or(|stage| trick.stage == stage) && fits(&trick.labels) {
            let slot = trick.snippet.as_ref().map_or("-", |snippet| snippet.slot.name());
            let (stage, cost) = (trick.stage.name(), trick.cost.name());
            rows.push(cells([trick.id.as_str(), stage, cost, slot, &trick.title]));
        }
    }
    if stage.is_none() {
        for method in base.methods().iter().filter(|method| fits(&method.labels)) {
            rows.push(cells([method.id.as_str(), "method", "-", "-", &method.title]));
        }
    }
    if rows.len() == 1 {
        bail!("no card has that stage and label; `agents knowledge stats` counts what there is");
    }
    say(&table(&rows));
    Ok(ExitCode::SUCCESS)
}

fn stage(name: &str) -> Result<Stage> {
    let names: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
    let found = Stage::ALL.into_iter().find(|stage| stage.name() == name);
    found.with_context(|| format!("there is no stage `{name}`; one of {}", names.join(", ")))
}

fn show(args: &KnowledgeShowArgs) -> Result<ExitCode> {
    let base = open(&args.base)?;
    let id = TrickId::new(&args.id)?;
    if let Some(trick) = base.trick(&id) {
        show_trick(trick);
    } else if let Some(method) = base.method(&id) {
        show_method(method);
    } else if let Some(post) = base.post(&id) {
        show_post(post);
    } else {
        let parts: Vec<&str> = args.id.split('-').filter(|part| part.len() > 2).collect();
        let names = base.tricks().iter().map(|trick| &trick.id);
        let names = names.chain(base.methods().iter().map(|method| &method.id));
        let near: Vec<&str> = names
            .map(TrickId::as_str)
            .filter(|name| parts.iter().any(|part| name.contains(part)))
            .take(5)
            .collect();
        let hint = if near.is_empty() {
            "`agents knowledge list` shows all names".to_owned()
        } else {
            format!("there are {}", near.join(", "))
        };
        bail!("there is no card `{id}`; {hint}");
    }
    Ok(ExitCode::SUCCESS)
}

fn show_trick(trick: &Trick) {
    let labels: Vec<String> = trick.labels.iter().map(ToString::to_string).collect();
    let excludes: Vec<&str> = trick.excludes.iter().map(TrickId::as_str).collect();
    let or_none = |list: String| if list.is_empty() { "-".to_owned() } else { list };
    let rows = [
        ("title", trick.title.clone()),
        ("stage", trick.stage.name().to_owned()),
        ("labels", labels.join("; ")),
        ("when", trick.when.clone()),
        ("how", trick.how.clone()),
        ("why", trick.why.clone()),
        ("risk", trick.risk.clone()),
        ("cost", trick.cost.name().to_owned()),
        ("needs", or_none(trick.needs.join(", "))),
        ("excludes", or_none(excludes.join(", "))),
    ];
    show_rows(&trick.id, &rows);
    if let Some(snippet) = &trick.snippet {
        say(&format!("\nslot {}:\n{}", snippet.slot, snippet.code.trim_end()));
    }
}

fn show_method(method: &Method) {
    let labels: Vec<String> = method.labels.iter().map(ToString::to_string).collect();
    let rows = [
        ("title", method.title.clone()),
        ("authors", method.authors.clone()),
        ("venue", format!("{}, {}", method.venue, method.year)),
        ("labels", labels.join("; ")),
        ("task", method.task.clone()),
        ("data", method.data.clone()),
        ("domain", method.domain.clone()),
        ("phase", method.phase.clone()),
        ("idea", method.idea.clone()),
        ("inputs", method.inputs.clone()),
        ("when", method.when.clone()),
    ];
    show_rows(&method.id, &rows);
}

fn show_post(post: &Post) {
    let solutions: Vec<&str> = post.solutions.keys().map(String::as_str).collect();
    let rows = [
        ("title", post.title.clone()),
        ("origin", post.origin.clone()),
        ("labels", post.labels.to_string()),
        ("solutions", solutions.join("; ")),
    ];
    show_rows(&post.id, &rows);
}

fn show_rows(id: &TrickId, rows: &[(&str, String)]) {
    let rows = rows.iter().map(|(name, text)| cells([name, text]));
    say(&format!("{id}\n{}", table(&rows.collect::<Vec<_>>())));
}

fn query(args: &KnowledgeQueryArgs) -> Result<ExitCode> {
    let base = open(&args.base)?;
    let opening = Opening { checkout: args.mlebench.clone(), mledojo: args.mledojo.clone() };
    let collection = Collection::open(&args.task, &opening)?;
    let [task] = collection.tasks() else {
        bail!("`{}` has {} tasks; name the folder of one", args.task, collection.tasks().len());
    };
    let query = Query::from_task(task)?;
    let settings = RetrievalSettings::default();
    let exclusions = check_leaks(&base, &query, &NobodyAsked, &settings, base.lexical())?;
    let ranked = retrieve(&base, &query, &exclusions, &settings, base.lexical())?;
    let ready: BTreeSet<TrickId> = ranked.ready(&base, args.most).into_iter().collect();
    say(&format!("statement  {}", query.statement));
    say(&format!("labels     {}", query.labels));
    say(&format!(
        "base       {} tricks, {} posts, {}",
        base.tricks().len(),
        base.posts().len(),
        base.hash()
    ));
    let mut rows = vec![cells(["", "name", "score", "d", "part", "t", "part", "shared labels"])];
    for entry in ranked.entries.iter().take(args.show) {
        rows.push(ranked_row(entry, ready.contains(&entry.id)));
    }
    say(&format!("\n{}", table(&rows)));
    let left = ranked.entries.len().saturating_sub(args.show);
    if left > 0 {
        say(&format!("{left} more have lower scores; --show N shows more"));
    }
    say(&format!("\n* the {} tricks that stand ready", ready.len()));
    if exclusions.is_empty() {
        say("nothing is excluded");
    }
    for (id, reasons) in exclusions.iter().take(SHOWN_EXCLUSIONS) {
        let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
        say(&format!("excluded: {id}: {}", reasons.join("; ")));
    }
    if exclusions.len() > SHOWN_EXCLUSIONS {
        say(&format!("excluded: {} more", exclusions.len() - SHOWN_EXCLUSIONS));
    }
    Ok(ExitCode::SUCCESS)
}

fn ranked_row(entry: &RankedEntry, is_ready: bool) -> Vec<String> {
    let number = |value: f64| format!("{value:.3}");
    let terms: Vec<String> = entry
        .labels
        .iter()
        .map(|term| {
            format!("{} {:.3} (mean {:.3}, best {:.3})", term.hard, term.term, term.mean, term.best)
        })
        .collect();
    vec![
        if is_ready { "*" } else { " " }.to_owned(),
        entry.id.to_string(),
        number(entry.score),
        number(entry.d),
        number(entry.description_part),
        number(entry.t),
        number(entry.labels_part),
        terms.join("; "),
    ]
}

fn build(args: &KnowledgeBuildArgs) -> Result<ExitCode> {
    if args.out.extension() != Some("jsonl") {
        bail!("`{}` is no name that `--knowledge` takes for posts; end it with `.jsonl`", args.out);
    }
    let tree = Knowledge::shipped().labels();
    let text = fs::read_to_string(&args.posts)?;
    let posts = parse_posts(args.posts.as_str(), &text, tree)?;
    if posts.is_empty() {
        bail!(
            "`{}` has no posts; each line is {{\"title\": ..., \"introduction\": ..., \"tags\": {{}}, \
             \"solutions\": {{...}}, \"origin\": ...}}",
            args.posts
        );
    }
    let (labeler, players): (Box<dyn Labeler>, _) = match &args.model {
        None => (Box::new(RuleLabeler), None),
        Some(model) => {
            let players = Players::open(
                &ModelArgs {
                    model: model.clone(),
                    models: args.models.clone(),
                    prices: args.prices.clone(),
                    budget_usd: args.budget_usd,
                    replay: args.replay.clone(),
                    roles: Vec::new(),
                },
                None,
                args.out
                    .parent()
                    .filter(|folder| !folder.as_str().is_empty())
                    .unwrap_or(".".into()),
            )?;
            let Some((chat, model)) = players.chat() else {
                bail!("`--model` is a chat model here, such as `openai:NAME`");
            };
            let jobs = Arc::new(ChatJobs::new(Arc::clone(chat), model, 0));
            (Box::new(ModelLabeler::new(jobs)), Some(players))
        }
    };
    let count = posts.len();
    let mut labelled = 0;
    let mut lines: BTreeMap<TrickId, String> = BTreeMap::new();
    for post in posts {
        if lines.contains_key(&post.id) {
            continue;
        }
        let post = if post.labels.is_empty() {
            labelled += 1;
            post.labelled_by(&*labeler, tree)?
        } else {
            post
        };
        lines.insert(post.id.clone(), post.to_line()?);
    }
    let text: String = lines.values().map(String::as_str).collect();
    files::write_atomic(&args.out, text.as_bytes())?;
    let base = Knowledge::read(&args.out)?;
    let twice = count - lines.len();
    say(&format!(
        "{} posts in `{}`, {labelled} of them labelled here, {twice} left out as repetitions; with the shipped cards: {}",
        lines.len(),
        args.out,
        base.hash()
    ));
    if let Some(players) = players {
        complain(&format!("done{}", players.spent()));
    }
    say(&format!("to ask it: agents knowledge query --task DIR --knowledge {}", args.out));
    Ok(ExitCode::SUCCESS)
}

fn audit_cards(args: &KnowledgeAuditArgs) -> Result<ExitCode> {
    let base = open(&args.base)?;
    let opening = Opening { checkout: args.mlebench.clone(), mledojo: args.mledojo.clone() };
    let collection = Collection::open(&args.tasks, &opening)?;
    let findings = audit(&base, collection.tasks())?;
    let cards = base.tricks().len() + base.methods().len();
    let tasks = collection.tasks().len();
    if findings.is_empty() {
        say(&format!("{cards} cards share no words or names with {tasks} tasks"));
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![cells(["card", "task", "shared"])];
    for finding in &findings {
        let task = finding.task.as_deref().unwrap_or("(code)");
        rows.push(cells([finding.card.as_str(), task, &format!("`{}`", finding.what)]));
    }
    say(&table(&rows));
    let refused: BTreeSet<&TrickId> = findings.iter().map(|finding| &finding.card).collect();
    bail!(
        "{} of {cards} cards are refused; reword them, or keep them out of what is evaluated on these \
         tasks",
        refused.len()
    );
}

fn stats(args: &KnowledgeBase) -> Result<ExitCode> {
    let base = open(args)?;
    let mut rows = vec![cells(["hard label", "tricks", "code", "methods", "posts"])];
    for hard in base.labels().hard() {
        let has = |labels: &[agents::knowledge::Label]| {
            labels.iter().any(|label| label.hard == hard.name)
        };
        let tricks: Vec<&Trick> = base.tricks().iter().filter(|trick| has(&trick.labels)).collect();
        let code = tricks.iter().filter(|trick| trick.snippet.is_some()).count();
        let methods = base.methods().iter().filter(|method| has(&method.labels)).count();
        let labelled = |labels: &TaskLabels| labels.soft(&hard.name).is_some();
        let posts = base.posts().iter().filter(|post| labelled(&post.labels)).count();
        let counts = [tricks.len(), code, methods, posts].map(|count| count.to_string());
        rows.push([vec![hard.name.clone()], counts.to_vec()].concat());
    }
    let code = base.tricks().iter().filter(|trick| trick.snippet.is_some()).count();
    let all = [base.tricks().len(), code, base.methods().len(), base.posts().len()];
    rows.push([vec!["all".to_owned()], all.map(|count| count.to_string()).to_vec()].concat());
    say(&table(&rows));
    let mut rows = vec![cells(["stage", "tricks", "code"])];
    for stage in Stage::ALL {
        let tricks: Vec<&Trick> =
            base.tricks().iter().filter(|trick| trick.stage == stage).collect();
        let code = tricks.iter().filter(|trick| trick.snippet.is_some()).count();
        rows.push(cells([stage.name(), &tricks.len().to_string(), &code.to_string()]));
    }
    say(&format!("\n{}", table(&rows)));
    say("\nA card counts under each of its labels, and once under `all`.");
    say(&format!("hash {}", base.hash()));
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_aligns_words_left_and_numbers_right() {
        let rows = [cells(["name", "n"]), cells(["a", "10"]), cells(["long name", "5"])];
        assert_eq!(table(&rows), "name       n\na          10\nlong name   5");
    }
}
