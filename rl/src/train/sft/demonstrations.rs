//! Episodes of scripted agents or answers of searches, to be imitated, and the policy of a built-in shape that begins with them.

use super::best::best;
use super::error::{Halt, SftError};
use super::example::{Example, NamedExample};
use super::settings::SftSettings;
use crate::checkpoint::source::BuiltIn;
use crate::model::{Qwen3, Qwen3Config};
use crate::run::stop::Stop;
use crate::run::view::Stages;
use crate::text::tokenizer::{Tokenizer, TokenizerError};
use crate::world::{self, TrainingItems};
use agents::grammar::ToolCallFormat;
use agents::guide::export::{Sample, read_samples};
use agents::scaffold::react::MleWorld;
use agents::scaffold::runner::{RunnerContext, ScriptedJob, run_episodes};
use agents::scaffold::scripted::ScriptStyle;
use agents::script_cache::{CachedWorld, ScriptCache};
use agents::search::samples::{self, SearchAsk};
use agents::trajectory::{self, Source, Trajectory};
use camino::Utf8Path;
use fs_err as fs;
use jail::exec::SandboxOptions;
use sandbox::env::{Action, SuiteError, TaskSuite};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use tasks::files;
use tasks::stream::Stream;
use tasks::task::{Collection, Opening, Split, Task, TaskId};
use tch::{Device, Kind};

/// Plays what has not been played yet and returns all demonstrations in a fixed order.
pub(super) fn demonstrate(
    settings: &SftSettings,
    out: &Utf8Path,
    stream: Stream,
    stages: &dyn Stages,
    stop: &Stop,
) -> Result<Vec<Trajectory>, SftError> {
    let path = out.join("demonstrations.jsonl");
    let mut played = trajectory::resume(&path)?;
    let done: BTreeSet<_> = played.iter().map(Trajectory::key).collect();
    let collection =
        Collection::open(&settings.tasks, &Opening::default()).map_err(SuiteError::from)?;
    let tasks = collection.for_training().map_err(SuiteError::from)?.split(Split::Train);
    if tasks.is_empty() {
        return Err(SuiteError::EmptySplit(Split::Train).into());
    }
    let mut jobs = Vec::new();
    for task in tasks {
        for approach in settings.demonstrations.approaches() {
            for attempt in 0..settings.attempts {
                let name = format!("scripted/{}", approach.name());
                if !done.contains(&(task.id(), name.as_str(), attempt)) {
                    jobs.push(ScriptedJob { task, approach, attempt });
                }
            }
        }
    }
    let (mut faults, mut last) = (0, String::new());
    if !jobs.is_empty() {
        let suite =
            TaskSuite::open(&settings.tasks, &Opening::default(), SandboxOptions::default())?;
        let bar = stages.stage("playing", (played.len() + jobs.len()) as u64);
        bar.set_position(played.len() as u64);
        let world = MleWorld { suite: &suite, rules: &settings.rules };
        // Two attempts are often the same script.
        let cache = ScriptCache::open(settings.script_cache_folder.as_deref(), suite.sandbox())?;
        let stage = RunnerContext {
            world: &CachedWorld::new(&world, &cache),
            format: settings.rules.tool_call_format,
            style: ScriptStyle::Demonstration,
            workers: settings.workers,
            stream,
        };
        let _watch = stop.abandons(suite.sandbox());
        run_episodes(&stage, &jobs, &mut |result| {
            bar.inc(1);
            match result {
                Ok(trajectory) => {
                    trajectory::append(&path, std::slice::from_ref(&trajectory))?;
                    played.push(trajectory);
                }
                // It failed because the sandbox was asked to stop.
                Err(_) if stop.is_requested() => return Err(Halt::Stopped),
                Err(fault) => {
                    faults += 1;
                    last = tasks::text::with_causes(&fault);
                    tracing::warn!(fault = last, "a demonstration broke");
                }
            }
            Ok(())
        })?;
        bar.finish();
    }
    // A stray fault costs one demonstration; many mean that the place is broken.
    if faults * 10 > jobs.len() {
        return Err(SftError::Faults { faults, episodes: jobs.len(), last });
    }
    played.sort_by(|a, b| a.key().cmp(&b.key()));
    Ok(played)
}

/// The good answers of searches on training tasks of the corpus, each once, and the conversations of
/// linear agents on them that reached the median, in a fixed order. They are taken over once: searches that go on change nothing for a run that is resumed.
pub(super) fn from_searches(
    settings: &SftSettings,
    out: &Utf8Path,
) -> Result<Vec<Trajectory>, SftError> {
    let path = out.join("demonstrations.jsonl");
    if path.is_file() {
        return Ok(trajectory::read(&path)?);
    }
    let collection =
        Collection::open(&settings.tasks, &Opening::default()).map_err(SuiteError::from)?;
    let trainable = collection.for_training().map_err(SuiteError::from)?;
    let train: BTreeSet<&TaskId> =
        trainable.split(Split::Train).into_iter().map(Task::id).collect();
    let (mut chosen, mut all) = (BTreeMap::new(), 0);
    let mut demonstrations: Vec<Trajectory> = Vec::new();
    for folder in &settings.searches {
        for ask in samples::read(folder)? {
            all += 1;
            if ask.is_gain && train.contains(&ask.task) {
                chosen.entry((ask.id.clone(), ask.answer.clone())).or_insert(ask);
            }
        }
        for conversation in samples::read_conversations(folder)? {
            all += 1;
            let reached = conversation.grade().is_some_and(|grade| grade.tier.is_some());
            if reached && train.contains(&conversation.task) {
                demonstrations.push(conversation);
            }
        }
    }
    demonstrations.extend(chosen.values().map(SearchAsk::trajectory));
    if demonstrations.is_empty() {
        return Err(SftError::NothingToImitate { all });
    }
    tracing::info!(all, chosen = demonstrations.len(), "answers of agents");
    demonstrations.sort_by(|a, b| a.key().cmp(&b.key()));
    write(&path, &demonstrations)?;
    Ok(demonstrations)
}

/// The best of the policy's own episodes on training tasks of the corpus, in a fixed order. They
/// are taken over once, too.
pub(super) fn from_episodes(
    settings: &SftSettings,
    out: &Utf8Path,
) -> Result<Vec<Trajectory>, SftError> {
    let path = out.join("demonstrations.jsonl");
    if path.is_file() {
        return Ok(trajectory::read(&path)?);
    }
    let train = training_tasks(settings)?;
    let (chosen, all) = best(&settings.episodes, settings.best_of, &train)?;
    if chosen.is_empty() {
        return Err(SftError::NoReward { all });
    }
    tracing::info!(all, chosen = chosen.len(), "the policy's own episodes");
    write(&path, &chosen)?;
    Ok(chosen)
}

/// The names of what may be trained on.
fn training_tasks(settings: &SftSettings) -> Result<BTreeSet<TaskId>, SftError> {
    if let Some(folder) = &settings.world {
        return Ok(world::open_train(folder)?.train.into_iter().collect());
    }
    let collection =
        Collection::open(&settings.tasks, &Opening::default()).map_err(SuiteError::from)?;
    let trainable = collection.for_training().map_err(SuiteError::from)?;
    Ok(trainable.split(Split::Train).into_iter().map(|task| task.id().clone()).collect())
}

/// The expert's episodes on the training items of a task of a suite, in their order. They are
/// written down once, for people and for `rl report`.
pub(super) fn from_expert(folder: &Utf8Path, out: &Utf8Path) -> Result<Vec<Trajectory>, SftError> {
    let path = out.join("demonstrations.jsonl");
    if path.is_file() {
        return Ok(trajectory::read(&path)?);
    }
    let TrainingItems { world, train, .. } = world::open_train(folder)?;
    let demonstrations = train
        .iter()
        .map(|item| worlds::demonstrate(&*world, item))
        .collect::<Result<Vec<_>, _>>()?;
    write(&path, &demonstrations)?;
    Ok(demonstrations)
}

/// The samples of guided runs on training tasks of the corpus, in their order.
pub(super) fn from_samples(settings: &SftSettings) -> Result<Vec<NamedExample>, SftError> {
    let train = training_tasks(settings)?;
    let (mut chosen, mut all) = (Vec::new(), 0);
    for folder in &settings.samples {
        for sample in read_samples(folder)? {
            all += 1;
            if train.contains(&sample.trajectory.task) {
                chosen.push(sample);
            }
        }
    }
    if chosen.is_empty() {
        return Err(SftError::NoSamples { all });
    }
    tracing::info!(all, chosen = chosen.len(), "samples of guided runs");
    let named = |sample: Sample| NamedExample {
        name: format!("{} attempt {}", sample.trajectory.task, sample.trajectory.attempt),
        example: Example::Guided(Box::new(sample)),
    };
    Ok(chosen.into_iter().map(named).collect())
}

/// Checks that the scripts to imitate, if there are any, stand in calls of `format`.
///
/// # Errors
/// [`SftError::OtherFormat`] if all of them stand in calls of the other one.
pub(super) fn check_format(
    demonstrations: &[Trajectory],
    format: ToolCallFormat,
) -> Result<(), SftError> {
    let has_scripts = |format: ToolCallFormat| {
        let segments = demonstrations.iter().flat_map(|demonstration| &demonstration.segments);
        let mut turns = segments.filter(|segment| segment.source == Source::Model);
        turns.any(|turn| matches!(format.parse(&turn.text).action, Action::Python { .. }))
    };
    let other =
        ToolCallFormat::ALL.into_iter().find(|other| *other != format && has_scripts(*other));
    match other {
        Some(found) if !has_scripts(format) => {
            Err(SftError::OtherFormat { set: format.name(), found: found.name() })
        }
        _ => Ok(()),
    }
}

fn write(path: &Utf8Path, demonstrations: &[Trajectory]) -> Result<(), SftError> {
    let mut lines = Vec::new();
    for demonstration in demonstrations {
        serde_json::to_writer(&mut lines, demonstration).map_err(io::Error::from)?;
        lines.push(b'\n');
    }
    fs::create_dir_all(path.parent().expect("a file lies in a folder"))?;
    Ok(files::write_atomic(path, &lines)?)
}

/// A policy of a built-in shape with fresh weights and a tokenizer trained on the demonstrations, as the
/// settings have both.
pub(super) fn fresh(
    shape: BuiltIn,
    examples: &[NamedExample],
    settings: &SftSettings,
    device: Device,
    stream: Stream,
) -> Result<(Qwen3, Tokenizer), TokenizerError> {
    let texts: Vec<String> = examples.iter().flat_map(|it| it.example.texts()).collect();
    let SftSettings { vocab_size, initial_attention: attention, .. } = *settings;
    let format = settings.rules.tool_call_format;
    let tokenizer = Tokenizer::train_for(&texts, vocab_size, settings.pieces(shape), format)?;
    let control = tokenizer.control();
    let size = i64::try_from(tokenizer.vocab_size()).unwrap_or(i64::MAX);
    let (end_of_turn, end_of_text) = (control.end_of_turn, control.end_of_text);
    let config = match shape {
        BuiltIn::Tiny => Qwen3Config::tiny(size, end_of_turn, end_of_text),
        BuiltIn::Small => Qwen3Config::small(size, end_of_turn, end_of_text),
    };
    Ok((Qwen3::fresh(&config, attention, Kind::Float, device, stream), tokenizer))
}
