//! The items of one part of a task, as an environment that rollouts play.

use crate::kind::{Kind, Scale, mean_score};
use crate::part::Part;
use crate::playing::Playing;
use crate::runner::{ProgramRules, PythonModule, Runner};
use crate::spec::TaskSpec;
use agents::play::{Closed, EpisodeFault, Play, Reply, World};
use agents::prompt::{Prompt, PromptError};
use agents::trajectory::{EnvironmentVerdict, Segment};
use jail::exec::Outcome;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tasks::stream::Stream;
use tasks::task::TaskId;

/// Wall time of an episode, generation included. Replies take microseconds, so it bounds the policy
/// alone, and only stops one that hangs.
pub(crate) const WALL_LIMIT: Duration = Duration::from_hours(1);

/// A [`World`] whose items can be listed, solved and shown, whatever its kind.
pub trait Environment: World {
    /// The task that the items belong to.
    fn spec(&self) -> &TaskSpec;

    /// The part that the items are.
    fn part(&self) -> Part;

    /// The ids of all items, in order.
    fn items(&self) -> Vec<&TaskId>;

    /// Whether episodes are judged by runs of what the policy wrote. Such an environment opens no
    /// episode before it has a runner.
    fn runs_programs(&self) -> bool;

    /// What a sandbox should import before it runs programs of this environment
    /// ([`SandboxOptions::modules`](jail::exec::SandboxOptions)); nothing by default.
    fn modules(&self) -> Vec<String> {
        Vec::new()
    }

    /// Hands in what runs programs. Environments that run none ignore it.
    fn set_runner(&mut self, runner: Arc<dyn Runner>);

    /// The score of a policy from its verdicts, one an item, in any order: in [0, 1], and by most
    /// kinds the mean of their scores ([`Kind::AGGREGATE`]). `None` without verdicts, or where one is of
    /// another kind. The mean by default.
    ///
    /// # Errors
    /// [`EpisodeFault::Aggregate`] if it takes a user's program, and that fails.
    fn score(&self, verdicts: &[&EnvironmentVerdict]) -> Result<Option<f64>, EpisodeFault> {
        Ok(mean_score(verdicts))
    }

    /// The turns of an oracle, which earn full marks; `None` if there is no such item, or nobody knows
    /// an answer.
    fn solve(&self, item: &TaskId) -> Option<Vec<String>>;

    /// The turns of an expert that knows no more than the prompt and the replies; `None` if there
    /// is no such item, or it is sealed. By default, where a prompt has one answer, the oracle's.
    fn expert(&self, item: &TaskId) -> Option<Vec<String>> {
        if self.part().is_sealed() { None } else { self.solve(item) }
    }

    /// What of its prompt is about the item alone, without worked examples; `None` if there is no such
    /// item.
    fn question(&self, item: &TaskId) -> Option<String>;

    /// A conversation of exercises ([`Kind::exercise`]); `None`, which is the default, if there are none
    /// of this kind.
    fn exercise(&self, _stream: Stream) -> Option<Vec<Segment>> {
        None
    }

    /// Plays an item by random turns.
    ///
    /// # Errors
    /// [`EpisodeFault::UnknownItem`].
    fn play_at_random(&self, item: &TaskId, stream: Stream) -> Result<Closed, EpisodeFault>;

    /// The item in a few lines for people, its answer included; `None` if there is no such item.
    fn render(&self, item: &TaskId) -> Option<String>;

    /// Texts of a sealed item that must not be in public files ([`Kind::evidence`]); `None` if
    /// there is no such item.
    fn evidence(&self, item: &TaskId) -> Option<String>;
}

/// The items of one part of a task of the kind `K`.
#[derive(Debug)]
pub struct GeneratedWorld<K: Kind> {
    spec: TaskSpec,
    part: Part,
    ground: K::Ground,
    items: BTreeMap<TaskId, K::Item>,
    runner: Option<Arc<dyn Runner>>,
    /// Whether the runner has the package that programs need, once it was asked.
    has_module: OnceLock<bool>,
}

impl<K: Kind> GeneratedWorld<K> {
    /// The environment with these items.
    pub fn new(
        spec: TaskSpec,
        part: Part,
        ground: K::Ground,
        items: BTreeMap<TaskId, K::Item>,
    ) -> Self {
        Self { spec, part, ground, items, runner: None, has_module: OnceLock::new() }
    }

    /// The item with this id.
    pub fn item(&self, id: &TaskId) -> Option<&K::Item> {
        self.items.get(id)
    }

    /// What all items share.
    pub fn ground(&self) -> &K::Ground {
        &self.ground
    }

    fn scale(&self) -> Scale {
        self.spec.scale()
    }

    /// Refuses an item whose programs need a package that the runner has not.
    fn check_module(
        &self,
        item: &TaskId,
        runner: &dyn Runner,
        rules: &ProgramRules,
    ) -> Result<(), EpisodeFault> {
        let Some(module) = rules.module else { return Ok(()) };
        let has_module = if let Some(found) = self.has_module.get() {
            *found
        } else {
            let run = runner.run(&format!("import {}\n", module.name), rules)?;
            let found = run.outcome == Outcome::Finished;
            // Only what an import said is remembered: a slow host may do better next time.
            if found || matches!(run.outcome, Outcome::Raised { .. }) {
                *self.has_module.get_or_init(|| found)
            } else {
                found
            }
        };
        if has_module {
            return Ok(());
        }
        let PythonModule { name, install, .. } = module;
        Err(EpisodeFault::MissingModule { item: item.clone(), module: name, install })
    }

    fn start(&self, item: &TaskId) -> Result<Playing<'_, K::Episode<'_>>, EpisodeFault> {
        let found = self.items.get(item);
        let found = found.ok_or_else(|| EpisodeFault::UnknownItem(item.clone()))?;
        let runner = match (&K::PROGRAM_RULES, self.runner.as_deref()) {
            (Some(rules), Some(runner)) => {
                self.check_module(item, runner, rules)?;
                Some((runner, *rules))
            }
            (Some(_), None) => return Err(EpisodeFault::NoRunner(item.clone())),
            (None, _) => None,
        };
        Ok(Playing::new(K::open(&self.ground, found), runner, self.spec.limits.turns))
    }
}

impl<K: Kind> World for GeneratedWorld<K> {
    fn prompt(&self, item: &TaskId) -> Result<Prompt, PromptError> {
        let found = self.items.get(item).ok_or_else(|| PromptError::UnknownTask(item.clone()))?;
        Ok(K::prompt(&self.ground, found, self.scale()))
    }

    fn wall_limit(&self) -> Duration {
        WALL_LIMIT
    }

    fn open(&self, item: &TaskId) -> Result<Box<dyn Play + '_>, EpisodeFault> {
        Ok(Box::new(self.start(item)?))
    }
}

impl<K: Kind> Environment for GeneratedWorld<K> {
    fn spec(&self) -> &TaskSpec {
        &self.spec
    }

    fn part(&self) -> Part {
        self.part
    }

    fn items(&self) -> Vec<&TaskId> {
        self.items.keys().collect()
    }

    fn runs_programs(&self) -> bool {
        K::PROGRAM_RULES.is_some()
    }

    fn modules(&self) -> Vec<String> {
        let module = K::PROGRAM_RULES.as_ref().and_then(|rules| rules.module);
        let names = module.iter().flat_map(|module| module.preload);
        names.map(|&name| name.to_owned()).collect()
    }

    fn set_runner(&mut self, runner: Arc<dyn Runner>) {
        self.runner = Some(runner);
        self.has_module = OnceLock::new();
    }

    fn score(&self, verdicts: &[&EnvironmentVerdict]) -> Result<Option<f64>, EpisodeFault> {
        Ok(K::AGGREGATE.score(verdicts))
    }

    fn solve(&self, item: &TaskId) -> Option<Vec<String>> {
        Some(K::solve(&self.ground, self.items.get(item)?))
    }

    fn expert(&self, item: &TaskId) -> Option<Vec<String>> {
        if self.part.is_sealed() {
            return None;
        }
        Some(K::expert(&self.ground, self.items.get(item)?))
    }

    fn question(&self, item: &TaskId) -> Option<String> {
        Some(K::question(&self.ground, self.items.get(item)?, self.scale()))
    }

    fn exercise(&self, stream: Stream) -> Option<Vec<Segment>> {
        K::exercise(self.scale(), stream)
    }

    fn play_at_random(&self, item: &TaskId, stream: Stream) -> Result<Closed, EpisodeFault> {
        let mut play = self.start(item)?;
        let mut rng = stream.rng();
        loop {
            let turn = K::random(play.episode(), &mut rng);
            if let Reply::End(_) = play.respond(&turn)? {
                return Ok(play.finish());
            }
        }
    }

    fn render(&self, item: &TaskId) -> Option<String> {
        Some(K::render(&self.ground, self.items.get(item)?))
    }

    fn evidence(&self, item: &TaskId) -> Option<String> {
        Some(K::evidence(&self.ground, self.items.get(item)?))
    }
}
