//! What a user asks for: raw options and the checked request.

use crate::spec::levels::Levels;
use crate::spec::limits::RoleLimits;
use crate::spec::mix::{self, Mix, MixError};
use crate::spec::role_settings::RoleSettings;
use crate::spec::shard::Shard;
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use tasks::rating::Level;

/// Options as they come from the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Name of a seed set, a folder or a file.
    pub seeds: String,
    /// Number of tasks, training and held-out ones together.
    pub count: usize,
    /// Held-out tasks among them; 2/9 of `count` if not given.
    pub val_count: Option<usize>,
    /// Where the corpus goes.
    pub out: Utf8PathBuf,
    /// The seed of all random streams of the corpus; not a seed competition.
    pub seed: u64,
    /// Slots that are worked on at a time; 0 for one per core.
    pub jobs: usize,
    /// Slots at a time, those included that wait for a chat model. Of no effect where all roles
    /// are built in.
    pub concurrency: usize,
    /// Go on even if models fill hardly any slot.
    pub carry_on: bool,
    /// Modalities to make; all if empty.
    pub modalities: Vec<String>,
    /// Formulations to make; all if empty.
    pub formulations: Vec<String>,
    /// `name=share` of modalities, formulations, cells and domains.
    pub shares: Vec<String>,
    /// Sizes of the tables.
    pub preset: Preset,
    /// The levels of difficulty to make; all if empty.
    pub levels: Vec<Level>,
    /// How often roles are asked.
    pub limits: RoleLimits,
    /// What plays the roles.
    pub roles: RoleSettings,
    /// The part of the corpus to make; all of it if not given.
    pub shard: Option<Shard>,
}

/// How large the tables are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Small training sets, and test sets large enough for a small standard error of scores.
    #[default]
    Large,
    /// About a fifth of all rows are tested on, as in the paper.
    Paper,
}

/// Checked options: what decides the content of a corpus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The value of `--seeds`: name of a set, folder or file.
    pub seeds: String,
    /// Fingerprint of the seeds' contents.
    pub seeds_fingerprint: String,
    /// Number of tasks, training and held-out ones together.
    pub count: usize,
    /// Held-out tasks among them.
    pub val_count: usize,
    /// The seed of all random streams of the corpus; not a seed competition.
    pub seed: u64,
    /// Shares of kinds of tasks and of domains.
    pub mix: Mix,
    /// Sizes of the tables.
    pub preset: Preset,
    /// The levels of difficulty that tasks may have. Left out of a record where all are allowed.
    #[serde(default, skip_serializing_if = "Levels::are_any")]
    pub levels: Levels,
    /// How often roles are asked. Left out of a record where they are the default ones.
    #[serde(default, skip_serializing_if = "RoleLimits::is_default")]
    pub limits: RoleLimits,
    /// What plays the roles. Left out of a record where all of them are built in.
    #[serde(default, skip_serializing_if = "RoleSettings::is_builtin")]
    pub roles: RoleSettings,
}

/// Why options cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// The requested number of tasks is 0.
    #[error("`--count 0` makes nothing; ask for at least one task")]
    NoTasks,
    /// More held out than made.
    #[error("`--val-count {val_count}` is more than `--count {count}`")]
    TooManyHeldOut {
        /// The requested number of held-out tasks.
        val_count: usize,
        /// The requested number of all tasks.
        count: usize,
    },
    /// Nothing would be made.
    #[error("`--concurrency 0` makes nothing; at least one slot must be made at a time")]
    NoConcurrency,
    /// A limit that leaves no call.
    #[error("the limit `{0}` is 0; every limit must be at least 1")]
    ZeroLimit(&'static str),
    /// The modalities, formulations or shares cannot be used.
    #[error(transparent)]
    Mix(#[from] MixError),
}

impl Options {
    /// Slots that are worked on at a time: `jobs`, or the number of processors where that is 0.
    pub fn threads(&self) -> usize {
        match self.jobs {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            jobs => jobs,
        }
    }

    /// Checks the options.
    ///
    /// # Errors
    /// [`OptionsError`].
    pub fn check(
        &self,
        seeds_fingerprint: String,
        domains: &[String],
    ) -> Result<Request, OptionsError> {
        if self.count == 0 {
            return Err(OptionsError::NoTasks);
        }
        if self.concurrency == 0 {
            return Err(OptionsError::NoConcurrency);
        }
        if let Some(limit) = self.limits.zero() {
            return Err(OptionsError::ZeroLimit(limit));
        }
        let val_count = self.val_count.unwrap_or(self.count * 2 / 9);
        if val_count > self.count {
            return Err(OptionsError::TooManyHeldOut { val_count, count: self.count });
        }
        let modalities = mix::chosen(&self.modalities, |cell| mix::name(&cell.modality))?;
        let formulations = mix::chosen(&self.formulations, |cell| mix::name(&cell.formulation))?;
        let mix = Mix::paper()
            .only(|cell| modalities(cell) && formulations(cell))?
            .with_shares(&self.shares, domains)?;
        Ok(Request {
            seeds: self.seeds.clone(),
            seeds_fingerprint,
            count: self.count,
            val_count,
            seed: self.seed,
            mix,
            preset: self.preset,
            levels: self.levels.clone().into(),
            limits: self.limits,
            roles: self.roles.clone(),
        })
    }
}

impl Request {
    /// Largest number of attempts at a slot.
    pub fn attempts(&self, slot: u64) -> u64 {
        self.roles.attempts(self.limits, self.seed, slot)
    }
}

#[cfg(test)]
impl Request {
    /// A small request for tests.
    pub(crate) fn for_tests() -> Self {
        Self {
            seeds: crate::spec::seed_set::MLEBENCH.to_owned(),
            seeds_fingerprint: String::new(),
            count: 9,
            val_count: 2,
            seed: 0,
            mix: Mix::paper(),
            preset: Preset::Large,
            levels: Levels::default(),
            limits: RoleLimits::default(),
            roles: RoleSettings::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(count: usize, val_count: Option<usize>) -> Options {
        Options {
            seeds: "mlebench".to_owned(),
            count,
            val_count,
            out: Utf8PathBuf::from("corpus"),
            seed: 0,
            jobs: 0,
            concurrency: 16,
            carry_on: false,
            modalities: Vec::new(),
            formulations: Vec::new(),
            shares: Vec::new(),
            preset: Preset::Large,
            levels: Vec::new(),
            limits: RoleLimits::default(),
            roles: RoleSettings::default(),
            shard: None,
        }
    }

    #[test]
    fn two_ninths_are_held_out_unless_said_otherwise() {
        assert_eq!(options(72, None).check(String::new(), &[]).unwrap().val_count, 16);
        assert_eq!(options(72, Some(0)).check(String::new(), &[]).unwrap().val_count, 0);
    }

    #[test]
    fn impossible_counts_are_refused() {
        assert!(options(0, None).check(String::new(), &[]).is_err());
        assert!(options(3, Some(4)).check(String::new(), &[]).is_err());
    }

    #[test]
    fn limit_of_zero_is_refused_with_its_name() {
        let limits = RoleLimits { operator: 0, ..RoleLimits::default() };
        let options = Options { limits, ..options(3, None) };
        let error = options.check(String::new(), &[]).unwrap_err();
        assert!(error.to_string().contains("`operator`"), "{error}");
    }

    #[test]
    fn request_without_limits_has_the_default_ones_and_is_written_without_them() {
        let usual = serde_json::to_value(Request::for_tests()).unwrap();
        assert!(usual.get("limits").is_none());
        assert_eq!(serde_json::from_value::<Request>(usual).unwrap(), Request::for_tests());
        let limits = RoleLimits { attempts: 12, ..RoleLimits::default() };
        let request = Request { limits, ..Request::for_tests() };
        let written = serde_json::to_value(&request).unwrap();
        assert_eq!(written["limits"]["attempts"], 12);
        assert_eq!(serde_json::from_value::<Request>(written).unwrap(), request);
    }
}
