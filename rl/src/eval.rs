//! Policies and scripted agents on the same tasks, with the same seeds.

use crate::episodes::Episodes;
use crate::metrics;
use crate::model::Qwen3;
use crate::presets::{Dtype, Scale};
use crate::rollout::{Job, Overflow, Place, Policy, RolloutError, RolloutSettings, rollout};
use crate::settings::{SettingsError, require};
use crate::sft::Stages;
use crate::stop::Stop;
use crate::tokenizer::Tokenizer;
use crate::watchdog::Heartbeat;
use agents::evaluation::{EVALUATION_VERSION, Evaluation, Row};
use agents::playground::{Playground, PlaygroundError};
use agents::scaffold::ladder::{ScriptedError, ScriptedJob, Stage, play_all};
use agents::scaffold::react::Rules;
use agents::scaffold::scripted::{Approach, Purpose};
use agents::trajectory::{self, TrajectoryError};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use sandbox::files;
use sandbox::stream::Stream;
use sandbox::task::{Split, TaskDir};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;

/// The settings of `rl eval`.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `split` | `val` | which tasks |
/// | `attempts` | 4 | episodes per agent and task |
/// | `scripted` | no | whether the scripted ladder takes part |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalSettings {
    /// The corpus.
    pub tasks: Utf8PathBuf,
    /// Names and sources of the policies, in the order of the table.
    pub policies: Vec<(String, String)>,
    /// Whether the scripted ladder takes part.
    pub scripted: bool,
    /// Which tasks.
    pub split: Split,
    /// Episodes per agent and task.
    pub attempts: u64,
    /// The seed of everything.
    pub seed: u64,
    /// The type of weights and activations.
    pub dtype: Dtype,
    /// How episodes are generated.
    pub rollout: RolloutSettings,
    /// The rules of episodes.
    pub rules: Rules,
}

impl EvalSettings {
    /// Defaults for policies of this scale.
    pub fn defaults(scale: Scale) -> Self {
        Self {
            tasks: Utf8PathBuf::new(),
            policies: Vec::new(),
            scripted: false,
            split: Split::Val,
            attempts: 4,
            seed: 0,
            dtype: scale.dtype(),
            rollout: RolloutSettings { overflow: Overflow::Drop, ..scale.rollout() },
            rules: scale.rules(),
        }
    }

    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`SettingsError::Range`] naming the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        require(self.attempts > 0, "attempts", &self.attempts, "at least 1")?;
        self.rollout.check()
    }
}

/// Why nothing could be compared.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// No place to play.
    #[error(transparent)]
    Playground(#[from] PlaygroundError),
    /// Episodes could not be played.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// Scripted agents could not play.
    #[error(transparent)]
    Scripted(#[from] ScriptedError<Infallible>),
    /// Episodes of an earlier start cannot be read.
    #[error(transparent)]
    Trajectories(#[from] TrajectoryError),
    /// A file could not be written.
    #[error("failed to write the evaluation")]
    Io(#[from] std::io::Error),
    /// Every episode of an agent broke.
    #[error("every episode of `{agent}` broke; the last said: {last}")]
    AllFaulted {
        /// The agent.
        agent: String,
        /// What the last one said.
        last: String,
    },
}

/// A policy that takes part.
#[derive(Debug)]
pub struct Contestant {
    /// Its name in the table.
    pub name: String,
    /// Its weights.
    pub model: Qwen3,
    /// Its vocabulary.
    pub tokenizer: Tokenizer,
}

/// Plays all agents; writes `evaluation.json` and each agent's episodes into `out`. Agents whose
/// episodes are there already are not played again.
///
/// # Errors
/// [`EvalError`].
pub fn run(
    settings: &EvalSettings,
    contestants: &[Contestant],
    out: &Utf8Path,
    stages: &dyn Stages,
) -> Result<Evaluation, EvalError> {
    let playground = Playground::open(&settings.tasks)?;
    let tasks = playground.tasks(settings.split)?;
    let root = Stream::root(settings.seed).child("eval");
    let mut rows = Vec::new();
    if settings.scripted {
        for approach in Approach::ALL {
            let name = format!("scripted/{}", approach.name());
            rows.push(once(out, &name, &mut || {
                ladder(settings, &playground, &tasks, approach, root, stages)
            })?);
        }
    }
    for contestant in contestants {
        let play = &mut || policy(settings, &playground, &tasks, contestant, root, stages);
        rows.push(once(out, &contestant.name, play)?);
    }
    let evaluation = Evaluation {
        version: EVALUATION_VERSION,
        split: settings.split,
        tasks: tasks.len(),
        attempts: settings.attempts,
        feedback: settings.rules.episode.feedback,
        seed: settings.seed,
        rows,
    };
    files::write_json(&out.join("evaluation.json"), &evaluation)?;
    Ok(evaluation)
}

/// One agent's row, from its stored episodes or by playing them.
fn once(
    out: &Utf8Path,
    name: &str,
    play: &mut dyn FnMut() -> Result<Episodes, EvalError>,
) -> Result<Row, EvalError> {
    let folder = out.join("episodes");
    let stem = name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "-");
    let (path, faults_path) =
        (folder.join(format!("{stem}.jsonl")), folder.join(format!("{stem}.faults")));
    if path.is_file() {
        metrics::mend(&path)?;
        let faults = fs::read_to_string(&faults_path)?.trim().parse().unwrap_or(0);
        return Ok(Row::of(name, &trajectory::read(&path)?, faults));
    }
    let Episodes { trajectories, faults, last_fault } = play()?;
    if trajectories.is_empty() {
        return Err(EvalError::AllFaulted { agent: name.to_owned(), last: last_fault });
    }
    fs::create_dir_all(&folder)?;
    let mut text = Vec::new();
    for trajectory in &trajectories {
        serde_json::to_writer(&mut text, trajectory).map_err(std::io::Error::from)?;
        text.push(b'\n');
    }
    // The episodes come last: where they are, the agent is done.
    files::write_atomic(&faults_path, format!("{faults}\n").as_bytes())?;
    files::write_atomic(&path, &text)?;
    Ok(Row::of(name, &trajectories, faults))
}

fn policy(
    settings: &EvalSettings,
    playground: &Playground,
    tasks: &[&TaskDir],
    contestant: &Contestant,
    root: Stream,
    stages: &dyn Stages,
) -> Result<Episodes, EvalError> {
    let mut jobs = Vec::new();
    for task in tasks.iter().copied() {
        for attempt in 0..settings.attempts {
            // The policy's name is not part of the address: all policies draw the same numbers.
            let stream = root.child("policy").child(task.id().as_str()).index(attempt);
            jobs.push(Job { task, attempt, stream });
        }
    }
    let bar = stages.stage("evaluating", jobs.len() as u64);
    bar.set_message(contestant.name.clone());
    let policy = Policy {
        name: &contestant.name,
        model: &contestant.model,
        tokenizer: &contestant.tokenizer,
    };
    let place = Place {
        sandbox: playground.sandbox(),
        rules: &settings.rules,
        settings: &settings.rollout,
        // Ctrl-C ends an evaluation at once: agents that are done stay done.
        stop: &Stop::default(),
        heartbeat: &Heartbeat::default(),
    };
    let rollout = rollout(policy, place, &jobs, &mut || bar.inc(1))?;
    bar.finish();
    let mut episodes = Episodes::default();
    for played in rollout.played {
        episodes.take(played.into_trajectory());
    }
    Ok(episodes)
}

fn ladder(
    settings: &EvalSettings,
    playground: &Playground,
    tasks: &[&TaskDir],
    approach: Approach,
    root: Stream,
    stages: &dyn Stages,
) -> Result<Episodes, EvalError> {
    let mut jobs = Vec::new();
    for task in tasks.iter().copied() {
        jobs.extend((0..settings.attempts).map(|attempt| ScriptedJob { task, approach, attempt }));
    }
    let bar = stages.stage("evaluating", jobs.len() as u64);
    bar.set_message(format!("scripted/{}", approach.name()));
    let stage = Stage {
        sandbox: playground.sandbox(),
        rules: &settings.rules,
        purpose: Purpose::Ladder,
        workers: settings.rollout.workers,
        stream: root.child("scripted"),
    };
    let mut episodes = Episodes::default();
    play_all(&stage, &jobs, &mut |played| {
        bar.inc(1);
        episodes.take(played);
        Ok(())
    })?;
    bar.finish();
    episodes.trajectories.sort_by(|a, b| (&a.task, a.attempt).cmp(&(&b.task, b.attempt)));
    Ok(episodes)
}
