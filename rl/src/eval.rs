//! Policies and scripted agents on the same tasks, with the same seeds.

pub mod benchmark;
pub mod player;
pub mod sample;
pub mod world;

use crate::generate::NativeGenerator;
use crate::model::Qwen3;
use crate::rollout::{
    ContextOverflow, EpisodeRequest, GuideSettings, Policy, RolloutContext, RolloutGuide,
    RolloutSettings, fleet, rollout,
};
use crate::run::settings::{Checked, SettingsError, Validate, is_off, require};
use crate::run::stop::Stop;
use crate::run::view::Stages;
use crate::run::watchdog::Heartbeat;
use crate::text::tokenizer::Tokenizer;
use crate::train::presets::{Dtype, Scale};
use agents::play::World;
use agents::remote::RemoteWorld;
use agents::scaffold::react::{EpisodeRules, MleWorld};
use agents::scaffold::scripted::{Approach, ScriptedLevel};
use agents::script_cache::CachedWorld;
use camino::{Utf8Path, Utf8PathBuf};
use evals::evaluation::Evaluation;
use evals::runner::{
    AgentError, Contestant, EpisodeSlot, EvaluationProgress, Protocol, RunError, Scripted, Take,
    evaluate,
};
use indicatif::ProgressBar;
use jail::exec::SandboxOptions;
use sandbox::env::TaskSuite;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeSet;
use tasks::stream::Stream;
use tasks::task::{Opening, Split};

/// The settings of `rl eval`.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `split` | `val` | which tasks |
/// | `attempts` | 4 | episodes per agent and task |
/// | `scripted` | no | whether the scripted ladder takes part |
/// | `composed` | no | whether the scripted agent that puts scripts together from parts takes part |
/// | `guide` | none | see [`GuideSettings`]: people, or a scripted person, advise the policies |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalSettings {
    /// The corpus.
    pub tasks: Utf8PathBuf,
    /// Names and sources of the policies, in the order of the table.
    pub policies: Vec<(String, String)>,
    /// Whether the scripted ladder takes part.
    pub scripted: bool,
    /// Whether the scripted agent that puts scripts together from parts takes part: the one that a
    /// small policy imitates.
    #[serde(default, skip_serializing_if = "is_off")]
    pub composed: bool,
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
    /// People who may advise the policies. Guided episodes are another task than unguided ones, so
    /// scripted agents, whom nobody advises, take no part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guide: Option<GuideSettings>,
}

impl EvalSettings {
    /// The keys that may change when an evaluation is resumed: what changes nothing but speed.
    pub const FREE: [&str; 4] = [
        "rollout.sandboxes",
        "rollout.script_cache",
        "rollout.script_cache_folder",
        "rollout.workers",
    ];

    /// Defaults for policies of this scale.
    pub fn defaults(scale: Scale) -> Self {
        Self {
            tasks: Utf8PathBuf::new(),
            policies: Vec::new(),
            scripted: false,
            composed: false,
            split: Split::Val,
            attempts: 4,
            seed: 0,
            dtype: scale.dtype(),
            rollout: RolloutSettings {
                context_overflow: ContextOverflow::Evict,
                ..scale.rollout()
            },
            rules: scale.rules(),
            guide: None,
        }
    }
}

impl Validate for EvalSettings {
    type Error = SettingsError;

    fn verify(&self) -> Result<(), SettingsError> {
        self.rules.episode.policy.check()?;
        require(self.attempts > 0, "attempts", &self.attempts, "at least 1")?;
        check_names(&self.policies)?;
        require(
            self.rollout.engine.is_none(),
            "rollout.engine",
            &"set",
            "left out: evaluation samples in this process; for a policy on a server of its own, \
             see `agents eval`",
        )?;
        let has_scripted = self.scripted || self.composed;
        require(
            self.guide.is_none() || !has_scripted,
            "guide",
            &"given beside scripted agents",
            "left out with `scripted` and `composed`: nobody advises scripted agents, and guided and \
             unguided episodes are not compared",
        )?;
        self.guide.as_ref().map_or(Ok(()), GuideSettings::check)?;
        self.rollout.check()
    }
}

/// Whether the names of policies are different, and fit for files.
fn check_names(policies: &[(String, String)]) -> Result<(), SettingsError> {
    let mut names = BTreeSet::new();
    for (name, _) in policies {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_fit = name.chars().all(plain) && !name.starts_with('.');
        let expected = "a name of letters, digits, `-`, `_` and `.`";
        require(is_fit && !name.is_empty(), "policy", name, expected)?;
        require(names.insert(name), "policy", name, "another name than any other policy's")?;
    }
    Ok(())
}

/// A policy that takes part.
#[derive(Debug)]
pub struct PolicyContestant {
    /// Its name in the table.
    pub name: String,
    /// Its weights.
    pub model: Qwen3,
    /// Its vocabulary.
    pub tokenizer: Tokenizer,
}

/// Runs all agents with exact resume; writes `evaluation.json`, and each agent's episodes into
/// `out` as they end. Which episodes share a batch changes rounding, so an evaluation that was
/// interrupted repeats up to that.
///
/// # Errors
/// [`RunError`].
pub fn run(
    settings: &Checked<EvalSettings>,
    policies: &[PolicyContestant],
    out: &Utf8Path,
    stages: &dyn Stages,
) -> Result<Evaluation, RunError> {
    let suite = TaskSuite::open(&settings.tasks, &Opening::default(), SandboxOptions::default())?;
    let world = MleWorld { suite: &suite, rules: &settings.rules };
    let root = Stream::root(settings.seed).child("eval");
    let workers = settings.rollout.workers;
    let stream = root.child("scripted");
    // Shared by all agents: what a script does does not depend on who wrote it.
    let script_cache = settings.rollout.open_script_cache(suite.sandbox())?;
    let local = script_cache.as_ref().map(|cache| CachedWorld::new(&world, cache));
    let local = local.as_ref().map_or(&world as &dyn World, |cached| cached);
    let format = settings.rules.tool_call_format;
    let ladder = ScriptedLevel::ALL.map(Approach::Level).into_iter().filter(|_| settings.scripted);
    let composed = settings.composed.then_some(Approach::Composed);
    let scripted: Vec<Scripted<'_>> = ladder
        .chain(composed)
        .map(|approach| Scripted { approach, world: local, format, workers, stream })
        .collect();
    let fleet = fleet::connect(&settings.rollout)?;
    let remote = fleet.as_ref().map(|fleet| RemoteWorld {
        fleet,
        tasks: suite.tasks(),
        rules: &settings.rules,
    });
    remote.as_ref().map_or(Ok(()), RemoteWorld::check)?;
    let remote = remote.as_ref().map(|remote| remote as &dyn World);
    let cached =
        remote.zip(script_cache.as_ref()).map(|(remote, cache)| CachedWorld::new(remote, cache));
    let played = cached.as_ref().map(|cached| cached as &dyn World).or(remote).unwrap_or(local);
    let opened = settings.guide.as_ref().map(|guide| guide.open(&out.join("guide"))).transpose()?;
    let guide = opened.as_ref().map(|source| RolloutGuide {
        source,
        turns: settings.rules.episode.budget.turns,
        feedback: Some(settings.rules.episode.feedback),
    });
    let rollouts: Vec<Rollouts<'_>> = policies
        .iter()
        .map(|policy| Rollouts { policy, settings, world: played, guide, root })
        .collect();
    let mut contestants: Vec<&dyn Contestant> = Vec::new();
    contestants.extend(scripted.iter().map(|agent| agent as &dyn Contestant));
    contestants.extend(rollouts.iter().map(|agent| agent as &dyn Contestant));
    let (split, attempts, seed) = (settings.split, settings.attempts, settings.seed);
    let protocol = Protocol { world, split, attempts, seed, out };
    let bar = EvaluationBar { stages, bar: RefCell::new(ProgressBar::hidden()) };
    let evaluation = evaluate(&protocol, &contestants, &bar)?;
    if let Some(cache) = &script_cache {
        let found = cache.take_use();
        tracing::info!(
            scripts = found.scripts,
            cached_scripts = found.share(),
            cache_checks = found.checks,
            cache_mismatches = found.mismatches,
            "script cache"
        );
    }
    Ok(evaluation)
}

/// A policy's episodes.
struct Rollouts<'a> {
    policy: &'a PolicyContestant,
    settings: &'a EvalSettings,
    world: &'a dyn World,
    guide: Option<RolloutGuide<'a>>,
    root: Stream,
}

impl Contestant for Rollouts<'_> {
    fn name(&self) -> String {
        self.policy.name.clone()
    }

    fn run(&self, slots: &[EpisodeSlot<'_>], take: &mut Take<'_>) -> Result<(), AgentError> {
        let PolicyContestant { name, model, tokenizer } = self.policy;
        // The policy's name is not part of the address: all policies have the same draws.
        let root = self.root.child("policy");
        let jobs = slots.iter().map(|&EpisodeSlot { task, attempt }| {
            let stream = root.child(task.id().as_str()).index(attempt);
            EpisodeRequest { task: task.id(), attempt, stream }
        });
        let jobs: Vec<EpisodeRequest<'_>> = jobs.collect();
        let context = RolloutContext {
            world: self.world,
            settings: &self.settings.rollout,
            guide: self.guide,
            // Ctrl-C ends an evaluation at once: episodes that are done stay done.
            stop: &Stop::default(),
            heartbeat: &Heartbeat::default(),
        };
        let mut generator = NativeGenerator::new(model, self.settings.rollout.capacity());
        let policy = Policy { name, tokenizer };
        rollout(&mut generator, policy, context, &jobs, &mut |played| take(played.trajectory()))?;
        Ok(())
    }
}

/// A progress bar per agent; where none can be seen, a line of the log for each tenth.
struct EvaluationBar<'a> {
    stages: &'a dyn Stages,
    bar: RefCell<ProgressBar>,
}

impl EvaluationProgress for EvaluationBar<'_> {
    fn begin(&self, agent: &str, done: u64, all: u64) {
        let bar = self.stages.stage("evaluating", all);
        bar.set_position(done);
        bar.set_message(agent.to_owned());
        *self.bar.borrow_mut() = bar;
    }

    fn tick(&self) {
        let bar = self.bar.borrow();
        bar.inc(1);
        let (done, all) = (bar.position(), bar.length().unwrap_or(1));
        let tenths = |episodes: u64| 10 * episodes / all;
        if bar.is_hidden() && tenths(done) > tenths(done - 1) {
            tracing::info!(agent = bar.message(), done, all, "evaluating");
        }
    }

    fn end(&self) {
        self.bar.borrow().finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_limits_of_scripts_are_refused() {
        let mut settings = EvalSettings::defaults(Scale::Tiny);
        settings.verify().unwrap();
        settings.rules.episode.policy.time_limit = tasks::units::Span::seconds(0);
        let error = settings.verify().unwrap_err();
        assert!(matches!(error, SettingsError::Policy(_)), "{error}");
        let reason = std::error::Error::source(&error).unwrap().to_string();
        assert!(reason.contains("time_limit"), "{reason}");
    }

    #[test]
    fn guided_policies_are_not_compared_with_scripted_agents() {
        let person = Some(Utf8PathBuf::from("ann.toml"));
        let guide = Some(GuideSettings { person, ..GuideSettings::default() });
        let settings = |scripted, composed| EvalSettings {
            guide: guide.clone(),
            scripted,
            composed,
            ..EvalSettings::defaults(Scale::Tiny)
        };
        settings(false, false).verify().unwrap();
        for settings in [settings(true, false), settings(false, true)] {
            let refused = settings.verify().unwrap_err().to_string();
            assert!(refused.contains("`guide`") && refused.contains("not compared"), "{refused}");
        }
        let text = toml::to_string(&EvalSettings::defaults(Scale::Tiny)).unwrap();
        assert!(!text.contains("guide"), "unguided settings are written as ever: {text}");
    }

    #[test]
    fn policy_names_must_be_file_names() {
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
