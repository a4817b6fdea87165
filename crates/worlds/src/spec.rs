//! `task.toml`: what a task is, in the form that people read and write.
//!
//! A file is read into [`TaskFile`], where unknown keys are refused, and checked into a
//! [`TaskSpec`].

use crate::custom;
use crate::kind::{Aggregate, Outline, Scale, Sizes};
use crate::name::WorldName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::task::TaskId;

/// Whether a task is one answer or an episode of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// One answer to one prompt.
    Static,
    /// Turns and replies.
    Interactive,
}

/// Which scores are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Higher is better.
    Higher,
    /// Lower is better.
    Lower,
}

/// Limits of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Turns of the policy, 1 to 1,000.
    pub turns: u32,
    /// Tokens of one turn, 1 to 100,000.
    pub turn_tokens: u32,
    /// Tokens of the whole conversation, prompt included; more than `turn_tokens`.
    pub context: u32,
}

/// How the policy is sampled when it is graded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// 0 is greedy; 0 to 2.
    pub temperature: f64,
}

/// Where the items come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// From a generator of this crate.
    Generated {
        /// The seed of the suite. Left out of the copy that an agent sees, because the sealed
        /// items follow from it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
        /// The version of the generator.
        version: u32,
        /// The scale of the suite.
        scale: Scale,
    },
    /// From files of the user.
    Folder {
        /// The hash (BLAKE3, hexadecimal) of each file, by its path in the task's folder.
        hashes: BTreeMap<String, String>,
    },
}

/// What the items of a task are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TaskWorld {
    /// A generated environment.
    Generated(WorldName),
    /// Items and a scorer of a user ([`crate::custom`]).
    Custom,
    /// Functions of HumanEval ([`crate::human_eval`]).
    HumanEval,
}

impl TaskWorld {
    /// The name as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generated(world) => world.name(),
            Self::Custom => crate::custom::NAME,
            Self::HumanEval => crate::human_eval::NAME,
        }
    }

    /// The version of what its items are written as.
    pub fn version(self) -> u32 {
        match self {
            Self::Generated(world) => world.version(),
            Self::Custom => crate::custom::VERSION,
            Self::HumanEval => crate::human_eval::VERSION,
        }
    }
}

impl From<WorldName> for TaskWorld {
    fn from(world: WorldName) -> Self {
        Self::Generated(world)
    }
}

impl From<TaskWorld> for String {
    fn from(world: TaskWorld) -> Self {
        world.name().to_owned()
    }
}

/// A name that no environment has.
#[derive(Debug, thiserror::Error)]
#[error("`{found}` is no environment; there are {}", .known.join(", "))]
pub struct UnknownWorld {
    found: String,
    known: Vec<&'static str>,
}

impl TryFrom<String> for TaskWorld {
    type Error = UnknownWorld;
    fn try_from(found: String) -> Result<Self, UnknownWorld> {
        let of_files = [Self::Custom, Self::HumanEval];
        let all = || WorldName::ALL.into_iter().map(Self::Generated).chain(of_files);
        let world = all().find(|world| world.name() == found);
        world.ok_or_else(|| UnknownWorld { found, known: all().map(Self::name).collect() })
    }
}

/// `task.toml` as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    id: TaskId,
    level: u8,
    world: TaskWorld,
    kind: TaskKind,
    direction: Direction,
    failure_score: f64,
    objective: String,
    output: String,
    turns: u32,
    turn_tokens: u32,
    context: u32,
    sampling: Sampling,
    score: ScoreTable,
    items: Sizes,
    audit: AuditTable,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScoreTable {
    metric: String,
    threshold: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AuditTable {
    forbidden: Vec<String>,
}

/// A task, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSpec {
    /// Name of the task; ids of items begin with it.
    pub id: TaskId,
    /// 1: a verifier; 2: a judge; 3: an environment of many turns.
    pub level: u8,
    /// The environment that its items are of.
    pub world: TaskWorld,
    /// One answer, or an episode of turns.
    pub kind: TaskKind,
    /// Which scores are better.
    pub direction: Direction,
    /// The score of a run without a valid submission.
    pub failure_score: f64,
    /// What the policy is to do, in a sentence.
    pub objective: String,
    /// The form of its output, in a few words.
    pub output: String,
    /// Limits of an episode.
    pub limits: Limits,
    /// How the policy is sampled when it is graded.
    pub sampling: Sampling,
    /// The name of the score.
    pub metric: String,
    /// The score that an episode must exceed to count as won.
    pub threshold: f64,
    /// Number of items.
    pub items: Sizes,
    /// Words that must not occur in the code of an agent that plays fair.
    pub forbidden: Vec<String>,
    /// Where the items come from.
    pub source: Source,
}

/// What is wrong with a `task.toml`.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// It cannot be read as TOML with these keys.
    #[error("it cannot be read")]
    Parse(#[from] toml::de::Error),
    /// A value is out of its range.
    #[error("`{key}` must be {expected}, and is {found}")]
    Range {
        /// The key.
        key: &'static str,
        /// The accepted values.
        expected: &'static str,
        /// The value.
        found: String,
    },
}

impl TaskSpec {
    /// The spec of a generated task.
    pub fn generated(
        id: TaskId,
        world: WorldName,
        outline: &Outline,
        seed: u64,
        version: u32,
        scale: Scale,
    ) -> Self {
        let source = Source::Generated { seed: Some(seed), version, scale };
        Self::of_outline(id, world.into(), outline, source)
    }

    /// The spec of a task like those of a kind, with scores that are better the higher they are.
    pub(crate) fn of_outline(
        id: TaskId,
        world: TaskWorld,
        outline: &Outline,
        source: Source,
    ) -> Self {
        Self {
            id,
            level: outline.level,
            world,
            kind: outline.kind,
            direction: Direction::Higher,
            failure_score: 0.0,
            objective: outline.objective.to_owned(),
            output: outline.output.to_owned(),
            limits: outline.limits,
            sampling: Sampling { temperature: 0.0 },
            metric: outline.metric.to_owned(),
            threshold: 0.0,
            items: outline.sizes,
            forbidden: outline.forbidden.iter().map(|&word| word.to_owned()).collect(),
            source,
        }
    }

    /// Whether the score of a policy is the mean of its scores on items, and not a win rate or another
    /// figure that all of them make together.
    pub fn is_mean(&self) -> bool {
        match self.world {
            TaskWorld::Generated(name) => matches!(name.aggregate(), Aggregate::Mean),
            TaskWorld::Custom => self.metric != custom::AGGREGATE,
            TaskWorld::HumanEval => true,
        }
    }

    /// Reads and checks a `task.toml`.
    ///
    /// # Errors
    /// [`SpecError`].
    pub fn from_toml(text: &str) -> Result<Self, SpecError> {
        Self::try_from(toml::from_str::<TaskFile>(text)?)
    }

    /// The file that this is read from.
    pub fn to_toml(&self) -> String {
        toml::to_string(&TaskFile::from(self.clone())).expect("tables come after plain values")
    }

    /// The spec as an agent may see it: without the seed, from which the sealed items follow.
    #[must_use]
    pub fn without_seed(&self) -> Self {
        let mut spec = self.clone();
        if let Source::Generated { seed, .. } = &mut spec.source {
            *seed = None;
        }
        spec
    }

    /// The scale of its items. Files of a user are those of the published benchmarks.
    pub fn scale(&self) -> Scale {
        match self.source {
            Source::Generated { scale, .. } => scale,
            Source::Folder { .. } => Scale::Full,
        }
    }
}

/// Refuses `found` unless it is `accepted`.
fn check(
    accepted: bool,
    key: &'static str,
    expected: &'static str,
    found: &dyn std::fmt::Display,
) -> Result<(), SpecError> {
    if accepted {
        Ok(())
    } else {
        Err(SpecError::Range { key, expected, found: found.to_string() })
    }
}

impl TryFrom<TaskFile> for TaskSpec {
    type Error = SpecError;
    fn try_from(file: TaskFile) -> Result<Self, SpecError> {
        let TaskFile { turns, turn_tokens, context, items, .. } = file;
        check((1..=3).contains(&file.level), "level", "1, 2 or 3", &file.level)?;
        check((1..=1000).contains(&turns), "turns", "1 to 1000", &turns)?;
        check(
            file.kind == TaskKind::Interactive || turns == 1,
            "turns",
            "1 for a static task",
            &turns,
        )?;
        check((1..=100_000).contains(&turn_tokens), "turn_tokens", "1 to 100000", &turn_tokens)?;
        check(
            turn_tokens < context && context <= 1_000_000,
            "context",
            "more than `turn_tokens` and at most 1000000",
            &context,
        )?;
        let temperature = file.sampling.temperature;
        check((0.0..=2.0).contains(&temperature), "temperature", "0 to 2", &temperature)?;
        check(file.failure_score.is_finite(), "failure_score", "finite", &file.failure_score)?;
        check(file.score.threshold.is_finite(), "threshold", "finite", &file.score.threshold)?;
        for (key, count) in [("train", items.train), ("dev", items.dev), ("test", items.test)] {
            check((1..100_000).contains(&count), key, "1 to 99999", &count)?;
        }
        check(!file.objective.trim().is_empty(), "objective", "a sentence", &"empty")?;
        check(!file.output.trim().is_empty(), "output", "a few words", &"empty")?;
        check(!file.score.metric.trim().is_empty(), "metric", "a name", &"empty")?;
        let words = &file.audit.forbidden;
        check(
            words.iter().all(|word| !word.trim().is_empty()),
            "forbidden",
            "words",
            &"an empty text among them",
        )?;
        if let Source::Folder { hashes } = &file.source {
            let is_hash =
                |hash: &String| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
            check(
                !hashes.is_empty() && hashes.values().all(is_hash),
                "hashes",
                "a table of 64 hexadecimal digits per file",
                &format!("{hashes:?}"),
            )?;
        }
        Ok(Self {
            id: file.id,
            level: file.level,
            world: file.world,
            kind: file.kind,
            direction: file.direction,
            failure_score: file.failure_score,
            objective: file.objective,
            output: file.output,
            limits: Limits { turns, turn_tokens, context },
            sampling: file.sampling,
            metric: file.score.metric,
            threshold: file.score.threshold,
            items,
            forbidden: file.audit.forbidden,
            source: file.source,
        })
    }
}

impl From<TaskSpec> for TaskFile {
    fn from(spec: TaskSpec) -> Self {
        Self {
            id: spec.id,
            level: spec.level,
            world: spec.world,
            kind: spec.kind,
            direction: spec.direction,
            failure_score: spec.failure_score,
            objective: spec.objective,
            output: spec.output,
            turns: spec.limits.turns,
            turn_tokens: spec.limits.turn_tokens,
            context: spec.limits.context,
            sampling: spec.sampling,
            score: ScoreTable { metric: spec.metric, threshold: spec.threshold },
            items: spec.items,
            audit: AuditTable { forbidden: spec.forbidden },
            source: spec.source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> TaskSpec {
        let (world, scale) = (WorldName::Household, Scale::Tiny);
        TaskSpec::generated(
            TaskId::new("household").unwrap(),
            world,
            &world.outline(scale),
            7,
            1,
            scale,
        )
    }

    #[test]
    fn a_spec_round_trips_through_its_file() {
        let text = spec().to_toml();
        assert_eq!(TaskSpec::from_toml(&text).unwrap(), spec());
        insta::assert_snapshot!(text);
    }

    #[test]
    fn unknown_keys_and_values_out_of_range_are_refused() {
        let text = spec().to_toml();
        for (from, to, message) in [
            ("level = 3", "level = 4", "`level` must be 1, 2 or 3, and is 4"),
            ("level = 3", "level = 3\nlevels = 3", "it cannot be read"),
            ("temperature = 0.0", "temperature = 3.0", "`temperature` must be 0 to 2, and is 3"),
            ("temperature = 0.0", "temperature = nan", "`temperature` must be 0 to 2, and is NaN"),
            ("turns = 40", "turns = 0", "`turns` must be 1 to 1000, and is 0"),
            ("\"interactive\"", "\"static\"", "`turns` must be 1 for a static task, and is 40"),
            ("dev = 60", "dev = 0", "`dev` must be 1 to 99999, and is 0"),
            ("context = 2560", "context = 16", "`context` must be more than `turn_tokens`"),
            ("world = \"household\"", "world = \"garden\"", "it cannot be read"),
            ("version = 1", "version = 1\nhash = 1", "it cannot be read"),
            ("kind = \"generated\"", "kind = \"folder\"", "it cannot be read"),
        ] {
            assert!(text.contains(from), "{text}");
            let refused = TaskSpec::from_toml(&text.replacen(from, to, 1)).unwrap_err();
            assert!(refused.to_string().contains(message), "{to}: {refused}");
        }
    }

    #[test]
    fn what_agents_see_has_no_seed() {
        let text = spec().without_seed().to_toml();
        assert!(!text.contains("seed"), "{text}");
        assert_eq!(TaskSpec::from_toml(&text).unwrap(), spec().without_seed());
    }

    #[test]
    fn items_of_a_folder_are_hashed() {
        let source = |hash: &str| {
            let hashes = BTreeMap::from([("public/train.jsonl".to_owned(), hash.to_owned())]);
            TaskSpec { source: Source::Folder { hashes }, ..spec() }
        };
        let good = source(&"0a".repeat(32));
        assert_eq!(TaskSpec::from_toml(&good.to_toml()).unwrap(), good);
        assert!(TaskSpec::from_toml(&source("0a").to_toml()).is_err());
    }
}
