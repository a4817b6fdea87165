//! Scripts that each run in a work dir of their own, and a cache for players who write the same
//! script more than once.

use super::agent::AgentRun;
use crate::script_cache::task_key;
use jail::exec::{Mode, Outcome, Run};
use sandbox::env::{EpisodeFault, TrialDir, TrialResult};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The file in which a script reports its validation.
const VALIDATION_FILE: &str = "validation.json";
/// Most bytes of that file.
const MOST_VALIDATION: u64 = 1 << 20;
/// The most that a cache holds.
const MOST_BYTES: usize = 512 << 20;
/// One recorded result in so many is compared with a real run.
const CHECK_ONE_IN: u64 = 50;

/// What a script left that ran in a work dir of its own.
#[derive(Debug, Clone)]
pub(crate) struct ScriptTrial {
    /// How it ended, what it printed, and its submission.
    pub(crate) result: TrialResult,
    /// The bytes of its [`VALIDATION_FILE`], if there is one.
    pub(crate) validation: Option<Vec<u8>>,
    /// Whether an equal script ran before, and this is what that one left.
    pub(crate) cached: bool,
}

impl ScriptTrial {
    /// What the last run in `dir` left.
    pub(crate) fn of(dir: &TrialDir<'_>, run: Run) -> Result<Self, EpisodeFault> {
        let validation = dir.file(VALIDATION_FILE, MOST_VALIDATION);
        Ok(Self { result: dir.result(run)?, validation, cached: false })
    }

    /// Whether it says the same as another one. Times and memory may differ.
    fn equals(&self, other: &Self) -> bool {
        let (one, two) = (&self.result, &other.result);
        self.validation == other.validation
            && one.run.outcome == two.run.outcome
            && one.run.stdout.text() == two.run.stdout.text()
            && one.submission == two.submission
            && one.validity == two.validity
            && one.told == two.told
    }

    /// What it takes in memory, about.
    fn bytes(&self) -> usize {
        let TrialResult { run, submission, .. } = &self.result;
        let printed = run.stdout.text().len() + run.stderr.text().len();
        let files = [submission, &self.validation].into_iter().flatten().map(Vec::len);
        1024 + printed + files.sum::<usize>()
    }
}

/// Runs `code` in a new work dir, for `limit` at most where that is less than the limit of a script;
/// or recalls what an equal script left, where the run has a [`TrialCache`].
pub(crate) fn try_fresh(
    run: &AgentRun<'_>,
    code: &str,
    limit: Duration,
) -> Result<ScriptTrial, EpisodeFault> {
    let really = || {
        let watch = |cancel| run.stop.watch(cancel);
        let dir = TrialDir::open(run.suite, run.task, run.config, Mode::Script, &watch)?;
        let ran = dir.run(code, limit)?;
        ScriptTrial::of(&dir, ran)
    };
    let Some(cache) = run.trials else { return really() };
    let key = trial_key(run, code);
    match cache.recall(key) {
        Recalled::Known(known) if known.result.run.wall <= limit => Ok(*known),
        Recalled::ToCheck(known) => {
            let trial = really()?;
            cache.check(key, &known, &trial);
            Ok(trial)
        }
        Recalled::Known(_) | Recalled::Nothing => {
            let trial = really()?;
            cache.record(key, &trial);
            Ok(trial)
        }
    }
}

type TrialKey = [u8; 32];

/// The address of a script's result: the task with its files, the limits and the feedback mode, the
/// script. The Python is that of the command, which the cache does not outlive.
fn trial_key(run: &AgentRun<'_>, code: &str) -> TrialKey {
    let config = serde_json::to_string(run.config).expect("settings are JSON");
    let conditions = format!("{} {config}", task_key(run.task));
    let mut hasher = blake3::Hasher::new_derive_key("mle-agents trial cache v1");
    hasher.update(&(conditions.len() as u64).to_le_bytes());
    hasher.update(conditions.as_bytes()).update(code.as_bytes());
    *hasher.finalize().as_bytes()
}

/// What scripts left, by task, limits and script, for runs of one command: a script that recurs is
/// answered from memory, and one answer in fifty is compared with a real run. Scripts that ended by
/// a limit or a signal are run each time, since that may depend on the machine.
///
/// At most 512 MiB are held; what is beyond that is run.
///
/// It makes sense for scripted players, who have few scripts; a recalled script takes no time of a
/// run's limit.
#[derive(Debug, Default)]
pub struct TrialCache {
    state: Mutex<TrialCacheState>,
}

/// What a [`TrialCache`] was used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrialCacheUse {
    /// Scripts that were asked for.
    pub scripts: u64,
    /// Those among them that were answered from memory.
    pub cached: u64,
    /// Recorded results that were compared with a real run.
    pub checks: u64,
    /// Real runs that left something else.
    pub mismatches: u64,
}

#[derive(Debug, Default)]
struct TrialCacheState {
    /// `None` for scripts whose results vary.
    known: HashMap<TrialKey, Option<Box<ScriptTrial>>>,
    bytes: usize,
    uses: TrialCacheUse,
}

enum Recalled {
    Known(Box<ScriptTrial>),
    /// The real run is made, to be compared with this.
    ToCheck(Box<ScriptTrial>),
    Nothing,
}

impl TrialCache {
    /// What it was used for so far.
    pub fn uses(&self) -> TrialCacheUse {
        self.state().uses
    }

    fn recall(&self, key: TrialKey) -> Recalled {
        let mut state = self.state();
        state.uses.scripts += 1;
        let Some(Some(known)) = state.known.get(&key).cloned() else { return Recalled::Nothing };
        if (state.uses.cached + state.uses.checks + 1).is_multiple_of(CHECK_ONE_IN) {
            state.uses.checks += 1;
            return Recalled::ToCheck(known);
        }
        state.uses.cached += 1;
        Recalled::Known(Box::new(ScriptTrial { cached: true, ..*known }))
    }

    fn record(&self, key: TrialKey, trial: &ScriptTrial) {
        let outcome = &trial.result.run.outcome;
        let repeats = match outcome {
            Outcome::Finished | Outcome::Raised { .. } | Outcome::Exited { .. } => true,
            Outcome::TimedOut
            | Outcome::OutOfMemory
            | Outcome::DiskLimit
            | Outcome::OutputLimit
            | Outcome::Killed { .. } => false,
        };
        let bytes = trial.bytes();
        let mut state = self.state();
        if repeats && state.bytes + bytes <= MOST_BYTES && !state.known.contains_key(&key) {
            state.bytes += bytes;
            state.known.insert(key, Some(Box::new(trial.clone())));
        }
    }

    /// Compares a result with that of a real run. If they differ, the script is run each time.
    fn check(&self, key: TrialKey, known: &ScriptTrial, real: &ScriptTrial) {
        if !known.equals(real) {
            let mut state = self.state();
            state.uses.mismatches += 1;
            state.known.insert(key, None);
        }
    }

    fn state(&self) -> MutexGuard<'_, TrialCacheState> {
        // Nothing panics while the lock is held, so the state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
