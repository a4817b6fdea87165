//! `agents report`: evaluations side by side.

use crate::cli::ReportArgs;
use crate::say;
use anyhow::{Context as _, Result, bail};
use camino::Utf8Path;
use evals::bench::conditions::{BenchConditions, CONDITIONS};
use evals::bench::outcome::BenchRun;
use evals::bench::output::{PaperRows, leaderboard};
use evals::bench::paper::{self, PaperBeside, PaperRow};
use evals::bench::suite::BenchName;
use evals::bench::summary::{BenchField, BenchTable};
use evals::report::RunPages;
use fs_err as fs;
use std::collections::BTreeSet;
use std::process::ExitCode;
use tasks::files;

pub(crate) fn report(args: &ReportArgs) -> Result<ExitCode> {
    let mut runs: Vec<BenchRun> = Vec::new();
    let page_folder = args.html.as_deref().and_then(Utf8Path::parent);
    let page_folder = page_folder.filter(|folder| !folder.as_str().is_empty());
    let mut pages = RunPages::default();
    for out in &args.evaluations {
        let of = read(out)?;
        pages.find(&of, out, page_folder.unwrap_or(Utf8Path::new(".")));
        runs.extend(of);
    }
    let lite = BenchField::lite();
    let on_lite = |run: &&BenchRun| lite.competitions.contains(&run.competition);
    let conditions: Vec<(&Utf8Path, BenchConditions)> = args
        .evaluations
        .iter()
        .filter_map(|out| Some((out.as_path(), conditions(out).transpose()?)))
        .map(|(out, read)| Ok((out, read?)))
        .collect::<Result<_>>()?;
    let are_of = |bench| conditions.iter().any(|(_, of)| of.bench == bench);
    let field = match runs.iter().filter(on_lite).count() {
        _ if are_of(BenchName::MleDojo) => corpus(BenchName::MleDojo, &runs),
        _ if are_of(BenchName::Mlebench) => corpus(BenchName::Mlebench, &runs),
        0 => corpus(BenchName::Synthetic, &runs),
        count if count == runs.len() => lite,
        _ => {
            bail!("some runs are on competitions and some on tasks of a corpus; report them apart")
        }
    };
    let mut tables = Vec::new();
    for group in BenchTable::groups(&runs) {
        let table = BenchTable::from_runs(&field, &group, args.pad_missing)
            .context("the evaluations do not make a table")?;
        say(table.to_string().trim_end());
        let paper = args.beside.as_deref().map(|wanted| beside(&table, wanted)).transpose()?;
        tables.push((table, paper.unwrap_or_default()));
    }
    if let Some(path) = &args.json {
        let tables: Vec<&BenchTable> = tables.iter().map(|(table, _)| table).collect();
        files::write_json(path, &tables)?;
    }
    if let Some(path) = &args.html {
        files::write_atomic(
            path,
            leaderboard(&field, tables, &pages, lines(&conditions)).html().as_bytes(),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The runs of an evaluation: of `runs.json`, or the one run in `run.json`.
fn read(out: &Utf8Path) -> Result<Vec<BenchRun>> {
    let (all, one) = (out.join("runs.json"), out.join("run.json"));
    let path = if all.is_file() { &all } else { &one };
    if !path.is_file() {
        bail!(
            "`{out}` holds no evaluation: neither `runs.json` nor `run.json`; `agents eval --out \
             {out}` makes one"
        );
    }
    let text = fs::read_to_string(path)?;
    let read = if path == &all {
        serde_json::from_str(&text)
    } else {
        serde_json::from_str(&text).map(|run| vec![run])
    };
    read.with_context(|| format!("`{path}` is not of this version; run `agents eval` again"))
}

/// Under which conditions an evaluation ran; `None` of one run alone.
fn conditions(out: &Utf8Path) -> Result<Option<BenchConditions>> {
    let path = out.join(CONDITIONS);
    if !path.is_file() {
        return Ok(None);
    }
    let read = serde_json::from_str(&fs::read_to_string(&path)?);
    Ok(Some(read.with_context(|| format!("`{path}` is not of this version"))?))
}

/// The conditions of all evaluations, each under its folder where there are several.
fn lines(conditions: &[(&Utf8Path, BenchConditions)]) -> Vec<(String, String)> {
    let several = conditions.len() > 1;
    let name = |out: &Utf8Path, name: String| if several { format!("{out}: {name}") } else { name };
    conditions
        .iter()
        .flat_map(|(out, of)| {
            of.lines().into_iter().map(move |(line, text)| (name(out, line), text))
        })
        .collect()
}

/// The tasks that were played, as the field of a table.
fn corpus(bench: BenchName, runs: &[BenchRun]) -> BenchField {
    let played: BTreeSet<&String> = runs.iter().map(|run| &run.competition).collect();
    BenchField { name: bench.to_string(), competitions: played.into_iter().cloned().collect() }
}

/// Rows of the paper whose scaffold an agent of ours has, beside it.
fn beside(table: &BenchTable, wanted: &str) -> Result<PaperRows> {
    let all = table.field.competitions.len();
    let rows: Vec<PaperRow> =
        paper::rows().into_iter().filter(|row| row.competitions() == all).collect();
    let chosen: Vec<&PaperRow> = match wanted {
        "paper" => rows.iter().collect(),
        name => rows.iter().filter(|row| row.label().contains(name)).collect(),
    };
    if chosen.is_empty() {
        let labels: Vec<String> = rows.iter().map(PaperRow::label).collect();
        bail!(
            "no row of the paper on {all} tasks has `{wanted}` in its name; there are:\n{}",
            labels.join("\n")
        );
    }
    let mut found = Vec::new();
    for ours in &table.rows {
        let scaffold = ours.agent.split('/').next().unwrap_or_default();
        for row in chosen.iter().filter(|row| scaffold.starts_with(row.scaffold.as_str())) {
            let differences = paper::beside(row, table, ours)?;
            say(&format!("\n{} beside {}, in competitions:", ours.label(), row.label()));
            for PaperBeside { measure, theirs, ours, difference } in &differences {
                say(&format!(
                    "  {:12} {ours:5.1} and {theirs:5.1}: {difference:+.1}",
                    measure.name()
                ));
            }
            found.push(((*row).clone(), ours.agent.clone(), differences));
        }
    }
    if found.is_empty() {
        let scaffolds: BTreeSet<&str> = chosen.iter().map(|row| row.scaffold.as_str()).collect();
        let scaffolds: Vec<&str> = scaffolds.into_iter().collect();
        bail!("no agent here has a scaffold of those rows: {}", scaffolds.join(", "));
    }
    Ok(found)
}
