//! Policies and scripted agents on the same tasks, with the same seeds.

use crate::generate::NativeGenerator;
use crate::model::Qwen3;
use crate::rollout::episodes::{left_out, stored};
use crate::rollout::{
    ContextOverflow, Job, Policy, RolloutContext, RolloutError, RolloutSettings, rollout,
};
use crate::run::settings::{Checked, Settings, SettingsError, require};
use crate::run::stop::Stop;
use crate::run::view::Stages;
use crate::run::watchdog::Heartbeat;
use crate::text::tokenizer::Tokenizer;
use crate::train::presets::{Dtype, Scale};
use agents::scaffold::react::{EpisodeRules, MleWorld};
use agents::scaffold::runner::{RunContext, ScriptedError, ScriptedJob, run_episodes};
use agents::scaffold::scripted::{ScriptStyle, ScriptedLevel};
use agents::trajectory::{self, Trajectory, TrajectoryError};
use camino::{Utf8Path, Utf8PathBuf};
use evals::evaluation::{EVALUATION_VERSION, Evaluation, Row};
use fs_err as fs;
use indicatif::ProgressBar;
use jail::exec::Options;
use sandbox::env::{EpisodeFault, SuiteError, TaskSuite};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tasks::files;
use tasks::stream::Stream;
use tasks::task::{Opening, Split, Task};

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
    pub rules: EpisodeRules,
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
            rollout: RolloutSettings {
                context_overflow: ContextOverflow::Evict,
                ..scale.rollout()
            },
            rules: scale.rules(),
        }
    }
}

impl Settings for EvalSettings {
    type Error = SettingsError;

    fn verify(&self) -> Result<(), SettingsError> {
        self.rules.episode.policy.check()?;
        require(self.attempts > 0, "attempts", &self.attempts, "at least 1")?;
        let mut names = BTreeSet::new();
        for (name, _) in &self.policies {
            // It is that of a file, too.
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            let is_fit = name.chars().all(plain) && !name.starts_with('.');
            let expected = "a name of letters, digits, `-`, `_` and `.`";
            require(is_fit && !name.is_empty(), "policy", name, expected)?;
            require(names.insert(name), "policy", name, "another name than any other policy's")?;
        }
        self.rollout.check()
    }
}

/// Why nothing could be compared.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// No place to play.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// Episodes could not be played.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// Scripted agents could not play.
    #[error(transparent)]
    Scripted(#[from] ScriptedError<TrajectoryError>),
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

/// Plays all agents; writes `evaluation.json`, and each agent's episodes into `out` as they end.
/// Episodes that are there already are not played again, those that broke are. Who shares a batch
/// changes rounding, so an evaluation that was interrupted repeats up to that.
///
/// # Errors
/// [`EvalError`].
pub fn run(
    settings: &Checked<EvalSettings>,
    contestants: &[Contestant],
    out: &Utf8Path,
    stages: &dyn Stages,
) -> Result<Evaluation, EvalError> {
    let suite = TaskSuite::open(&settings.tasks, &Opening::default(), Options::default())?;
    let contest = Contest {
        settings,
        world: MleWorld { suite: &suite, rules: &settings.rules },
        tasks: suite.split(settings.split)?,
        root: Stream::root(settings.seed).child("eval"),
        out,
        stages,
    };
    let mut rows = Vec::new();
    if settings.scripted {
        for approach in ScriptedLevel::ALL {
            let agent = format!("scripted/{}", approach.name());
            rows.push(
                contest.row(&agent, &|slots, record| contest.ladder(approach, slots, record))?,
            );
        }
    }
    for contestant in contestants {
        rows.push(
            contest.row(&contestant.name, &|slots, record| {
                contest.policy(contestant, slots, record)
            })?,
        );
    }
    let evaluation = Evaluation {
        version: EVALUATION_VERSION,
        split: settings.split,
        tasks: contest.tasks.len(),
        attempts: settings.attempts,
        feedback: settings.rules.episode.feedback,
        seed: settings.seed,
        rows,
    };
    files::write_json(&out.join("evaluation.json"), &evaluation)?;
    Ok(evaluation)
}

/// Where the episodes of an agent are, in the folder of an evaluation.
pub fn episodes_of(agent: &str, out: &Utf8Path) -> Utf8PathBuf {
    out.join("episodes").join(format!("{agent}.jsonl"))
}

/// What all agents share.
struct Contest<'a> {
    settings: &'a EvalSettings,
    world: MleWorld<'a>,
    tasks: Vec<&'a Task>,
    root: Stream,
    out: &'a Utf8Path,
    stages: &'a dyn Stages,
}

/// A task, and which attempt at it.
type Slot<'a> = (&'a Task, u64);

/// How an agent plays.
type Play<'a> = dyn Fn(&[Slot<'_>], &mut Record) -> Result<(), EvalError> + 'a;

/// Keeps an agent's episodes as they end.
struct Record {
    path: Utf8PathBuf,
    bar: ProgressBar,
    last_fault: String,
}

impl Record {
    /// Takes what came of one more.
    fn take(&mut self, played: Result<&Trajectory, &EpisodeFault>) -> Result<(), TrajectoryError> {
        self.bar.inc(1);
        self.tell();
        match played {
            Ok(trajectory) => trajectory::append(&self.path, std::slice::from_ref(trajectory)),
            Err(fault) => {
                self.last_fault = left_out(fault);
                Ok(())
            }
        }
    }

    /// Where no bar can be seen, each tenth goes to the log.
    fn tell(&self) {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(1));
        let tenths = |episodes: u64| 10 * episodes / all;
        if self.bar.is_hidden() && tenths(done) > tenths(done - 1) {
            tracing::info!(agent = self.bar.message(), done, all, "evaluating");
        }
    }
}

impl Contest<'_> {
    /// One agent's row. Has `play` play what is not on disk yet.
    fn row(&self, agent: &str, play: &Play<'_>) -> Result<Row, EvalError> {
        let path = episodes_of(agent, self.out);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))?;
        let mut trajectories = stored(&path)?;
        let done: BTreeSet<_> = trajectories.iter().map(Trajectory::key).collect();
        let attempts = 0..self.settings.attempts;
        let mut slots: Vec<Slot<'_>> =
            self.tasks.iter().flat_map(|&task| attempts.clone().map(move |n| (task, n))).collect();
        let all = slots.len();
        slots.retain(|(task, attempt)| !done.contains(&(task.id(), agent, *attempt)));
        if !slots.is_empty() {
            let bar = self.stages.stage("evaluating", all as u64);
            bar.set_position((all - slots.len()) as u64);
            bar.set_message(agent.to_owned());
            let mut record = Record { path: path.clone(), bar, last_fault: String::new() };
            play(&slots, &mut record)?;
            record.bar.finish();
            trajectories = stored(&path)?;
            if trajectories.is_empty() {
                let last = record.last_fault;
                return Err(EvalError::AllFaulted { agent: agent.to_owned(), last });
            }
        }
        trajectories.sort_by(|a, b| a.key().cmp(&b.key()));
        Ok(Row::of(agent, &trajectories, all - trajectories.len()))
    }

    fn policy(
        &self,
        contestant: &Contestant,
        slots: &[Slot<'_>],
        record: &mut Record,
    ) -> Result<(), EvalError> {
        let settings = self.settings;
        // The policy's name is not part of the address: all policies draw the same numbers.
        let root = self.root.child("policy");
        let jobs = slots.iter().map(|&(task, attempt)| {
            let stream = root.child(task.id().as_str()).index(attempt);
            Job { task: task.id(), attempt, stream }
        });
        let jobs: Vec<Job<'_>> = jobs.collect();
        let policy = Policy { name: &contestant.name, tokenizer: &contestant.tokenizer };
        let context = RolloutContext {
            world: &self.world,
            settings: &settings.rollout,
            // Ctrl-C ends an evaluation at once: episodes that are done stay done.
            stop: &Stop::default(),
            heartbeat: &Heartbeat::default(),
        };
        let mut generator = NativeGenerator::new(&contestant.model, settings.rollout.capacity());
        rollout(&mut generator, policy, context, &jobs, &mut |played| {
            record.take(played.trajectory())
        })?;
        Ok(())
    }

    fn ladder(
        &self,
        approach: ScriptedLevel,
        slots: &[Slot<'_>],
        record: &mut Record,
    ) -> Result<(), EvalError> {
        let stage = RunContext {
            world: self.world,
            style: ScriptStyle::Evaluation,
            workers: self.settings.rollout.workers,
            stream: self.root.child("scripted"),
        };
        let jobs = slots.iter().map(|&(task, attempt)| ScriptedJob { task, approach, attempt });
        let jobs: Vec<ScriptedJob<'_>> = jobs.collect();
        Ok(run_episodes(&stage, &jobs, &mut |played| record.take(played.as_ref()))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_scripts_that_make_no_sense_are_refused() {
        let mut settings = EvalSettings::defaults(Scale::Tiny);
        settings.verify().unwrap();
        settings.rules.episode.policy.time_limit = tasks::units::Span::seconds(0);
        let error = settings.verify().unwrap_err();
        assert!(matches!(error, SettingsError::Policy(_)), "{error}");
        let reason = std::error::Error::source(&error).unwrap().to_string();
        assert!(reason.contains("time_limit"), "{reason}");
    }

    #[test]
    fn names_of_policies_are_names_of_files() {
        let check = |names: &[&str]| {
            let policies =
                names.iter().map(|&name| (name.to_owned(), "folder".to_owned())).collect();
            EvalSettings { policies, ..EvalSettings::defaults(Scale::Tiny) }.verify()
        };
        check(&["sft", "qwen3_0.6b", "grpo-2"]).unwrap();
        for names in [&["sft", "sft"][..], &["../sft"], &["scripted/forest"], &[".sft"], &["a b"]] {
            let refused = check(names).unwrap_err().to_string();
            assert!(refused.contains("`policy` is") && refused.contains("name"), "{refused}");
        }
    }
}
