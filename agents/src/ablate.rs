//! `agents ablate`: arms against each other on the same tasks with the same seeds.

use crate::bench::{Bar, complain_of_cache, ready};
use crate::cli::AblateArgs;
use crate::players::Players;
use crate::run::check_roles;
use crate::{INCOMPLETE, INTERRUPTED, complain, say};
use agents::knowledge::{KnowledgeDesk, TrickRecord};
use agents::preset::Preset;
use agents::run::stop::AgentStop;
use agents::run::trial::TrialCache;
use anyhow::Result;
use camino::Utf8PathBuf;
use evals::ablation::arms::ArmsFile;
use evals::ablation::output::{ArmConditions, take_up, with_facts, write};
use evals::ablation::summary::{Ablation, AblationFrame};
use evals::bench::conditions::BenchConditions;
use evals::bench::runner::{Bench, BenchPlayed, BenchProgress, BenchRest};
use std::collections::BTreeMap;
use std::iter;
use std::process::ExitCode;
use tasks::task::TaskId;

pub(crate) fn ablate(args: &AblateArgs, stop: &AgentStop) -> Result<ExitCode> {
    let eval = &args.eval;
    let preset = Preset::load(&eval.preset, &eval.settings)?;
    let file = ArmsFile::load(&args.arms, &preset)?;
    let arms = file.resolve(&eval.preset, &eval.settings, args.base.as_deref(), args.calls)?;
    let base = crate::knowledge::open(&eval.base)?;
    let roles = eval.model.roles.iter().map(String::as_str);
    let models: Vec<&str> = iter::once(eval.model.model.as_str()).chain(roles).collect();
    // Before anything is played, the folders of all arms are looked at.
    let mut folders: Vec<(&str, &Preset, Utf8PathBuf)> = Vec::new();
    for (name, preset) in arms.played() {
        let conditions = ArmConditions {
            bench: eval.bench.to_string(),
            model: models.join(", "),
            knowledge: base.hash().to_owned(),
            preset: preset.clone(),
        };
        folders.push((name, preset, take_up(&eval.out, name, &conditions)?));
    }
    let workers = folders.iter().map(|(_, preset, _)| preset.workers()).max().unwrap_or(1);
    let Some((field, machine)) = ready(eval, workers)? else {
        return Ok(ExitCode::from(INCOMPLETE));
    };
    let players = Players::open(&eval.model, Some(&eval.sources), &eval.out)?;
    for (_, preset, _) in &folders {
        check_roles(preset, &players)?;
    }
    let record = eval.sources.uses.as_deref().map(TrickRecord::read).transpose()?;
    let knowledge =
        KnowledgeDesk { base: &base, embedder: players.embedder(), record: record.as_ref() };
    let runs = machine.suite.tasks().len() as u64 * eval.seeds * folders.len() as u64;
    let bar = Bar::new(runs)?;
    let trials = eval.script_cache.then(TrialCache::default);
    let mut played: BTreeMap<String, BenchPlayed> = BTreeMap::new();
    // Seed by seed, so that an ablation that is stopped has pairs.
    for seed in 0..eval.seeds {
        for (name, preset, folder) in &folders {
            let bench = Bench {
                machine: &machine,
                preset,
                agent: name,
                players: &players,
                knowledge: &knowledge,
                trials: trials.as_ref(),
                price: players.price(),
                out: folder,
                seeds: seed + 1,
                jobs: eval.jobs,
                grade_steps: eval.grade_steps || args.calls.is_some() || arms.has_cuts(),
                boards: eval.boards.as_deref(),
                stop,
                progress: &OneSeed { bar: &bar, seed },
            };
            // What earlier passes played is read.
            played.insert((*name).to_owned(), bench.play()?);
        }
    }
    bar.finish();
    complain_of_cache(trials.as_ref());
    let mut unfinished = Vec::new();
    let mut with = BTreeMap::new();
    for (name, _, folder) in &folders {
        let Some(played) = played.remove(*name) else { continue };
        unfinished.extend(played.unfinished());
        with.insert((*name).to_owned(), with_facts(folder, played.runs)?);
    }
    let frame = AblationFrame {
        bench: field.name.clone(),
        model: players.name().to_owned(),
        calls: args.calls.map(u64::from),
        slip: players.slip(),
    };
    let ablation = Ablation::from_runs(&arms, &with, frame)?;
    if ablation.arms.iter().any(|arm| arm.runs > 0) {
        let first = folders.first().map_or(&preset, |(_, preset, _)| *preset);
        let conditions = BenchConditions::new(eval.bench, first, &machine, eval.seeds, eval.jobs);
        write(&eval.out, &file, &ablation, &field, &with, &conditions)?;
        say(ablation.text().trim_end());
        complain(&format!("the page is `{}`", eval.out.join("ablation.html")));
    }
    complain(&format!("the runs are in `{}`{}", eval.out.join("arms"), players.spent()));
    for text in &unfinished {
        complain(text);
    }
    Ok(if stop.is_asked() {
        ExitCode::from(INTERRUPTED)
    } else if unfinished.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCOMPLETE)
    })
}

/// Shows the runs of one seed; those before were shown.
struct OneSeed<'a> {
    bar: &'a Bar,
    seed: u64,
}

impl BenchProgress for OneSeed<'_> {
    fn rest(&self, task: &TaskId, seed: u64, rest: &BenchRest) {
        if seed == self.seed {
            self.bar.rest(task, seed, rest);
        }
    }
}
