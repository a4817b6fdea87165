//! Presets: a scaffold with all its settings under one name, as files and flags give them.

use crate::automind::run::AutoMind;
use crate::automind::settings::AutoMindSettings;
use crate::linear::run::Linear;
use crate::linear::settings::LinearSettings;
use crate::run::agent::{AgentRest, AgentRun, AgentRunError};
use crate::search::run::Search;
use crate::search::settings::SearchSettings;
use camino::Utf8Path;
use fs_err as fs;
use jail::limits::RunLimits;
use sandbox::env::{EpisodeConfig, Feedback};
use serde::{Deserialize, Serialize};
use tasks::submission::MOST_BYTES;
use tasks::units::ByteSize;

/// A scaffold with its settings, feedback mode and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PresetFile", into = "PresetFile")]
pub struct Preset {
    /// Name of the scaffold, as in reports.
    pub scaffold: String,
    /// What it is told of the test rows. Default: whether a submission is valid.
    pub feedback: Feedback,
    /// The most bytes of a submission. Default: 64 MiB.
    pub submission_limit: ByteSize,
    /// Limits on each script.
    pub limits: RunLimits,
    /// How scripts are made: the section `[search]`, `[automind]` or `[linear]`.
    pub settings: ScaffoldSettings,
}

/// The settings of a scaffold of any kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaffoldSettings {
    /// It keeps many scripts and chooses among them.
    Search(SearchSettings),
    /// It is a search that plans before it codes, and may try tricks of a knowledge base.
    #[serde(rename = "automind")]
    AutoMind(AutoMindSettings),
    /// It has one conversation.
    Linear(LinearSettings),
}

/// A preset as it is in a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetFile {
    scaffold: String,
    #[serde(default = "validate")]
    feedback: Feedback,
    #[serde(default = "most_bytes")]
    submission_limit: ByteSize,
    #[serde(default)]
    limits: RunLimits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    search: Option<SearchSettings>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    automind: Option<AutoMindSettings>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    linear: Option<LinearSettings>,
}

impl TryFrom<PresetFile> for Preset {
    type Error = &'static str;

    fn try_from(file: PresetFile) -> Result<Self, Self::Error> {
        let PresetFile { scaffold, feedback, submission_limit, limits, search, automind, linear } =
            file;
        let settings = match (search, automind, linear) {
            (Some(search), None, None) => ScaffoldSettings::Search(search),
            (None, Some(automind), None) => ScaffoldSettings::AutoMind(automind),
            (None, None, Some(linear)) => ScaffoldSettings::Linear(linear),
            _ => {
                return Err(
                    "a preset has one of the sections `[search]`, `[automind]` and `[linear]`",
                );
            }
        };
        Ok(Self { scaffold, feedback, submission_limit, limits, settings })
    }
}

impl From<Preset> for PresetFile {
    fn from(preset: Preset) -> Self {
        let Preset { scaffold, feedback, submission_limit, limits, settings } = preset;
        let (search, automind, linear) = match settings {
            ScaffoldSettings::Search(search) => (Some(search), None, None),
            ScaffoldSettings::AutoMind(automind) => (None, Some(automind), None),
            ScaffoldSettings::Linear(linear) => (None, None, Some(linear)),
        };
        Self { scaffold, feedback, submission_limit, limits, search, automind, linear }
    }
}

impl ScaffoldSettings {
    /// Begins a run, or goes on with it, until it is over or has to pause.
    ///
    /// # Errors
    /// [`AgentRunError`]; [`AgentRunError::NoGuidance`] if people are to advise a search.
    pub fn play(&self, run: AgentRun<'_>) -> Result<AgentRest, AgentRunError> {
        if !matches!(self, Self::Linear(_)) && run.guide.link().is_some() {
            return Err(AgentRunError::NoGuidance);
        }
        match self {
            Self::Search(settings) => Search { run, settings }.run(),
            Self::AutoMind(settings) => AutoMind { run, settings }.run(),
            Self::Linear(settings) => Linear { run, settings }.run(),
        }
    }

    /// Scripts of one run that are in the making at once, at least 1.
    pub fn workers(&self) -> usize {
        match self {
            Self::Search(search) => search.workers.max(1) as usize,
            Self::AutoMind(automind) => automind.workers.max(1) as usize,
            Self::Linear(_) => 1,
        }
    }

    /// What a step is called.
    pub fn step_name(&self) -> &'static str {
        match self {
            Self::Search(_) | Self::AutoMind(_) => "node",
            Self::Linear(_) => "turn",
        }
    }

    /// Most steps of a search, or turns.
    pub fn steps(&self) -> u32 {
        match self {
            Self::Search(search) => search.steps,
            Self::AutoMind(automind) => automind.steps,
            Self::Linear(linear) => linear.turns,
        }
    }
}

fn validate() -> Feedback {
    Feedback::Validate
}

fn most_bytes() -> ByteSize {
    ByteSize::new(MOST_BYTES)
}

/// The presets that are built in: name and text.
const BUILTIN: [(&str, &str); 21] = [
    ("react", include_str!("../presets/react.toml")),
    ("mle-agent", include_str!("../presets/mle-agent.toml")),
    ("drafts", include_str!("../presets/drafts.toml")),
    ("aide", include_str!("../presets/aide.toml")),
    ("aira-greedy", include_str!("../presets/aira-greedy.toml")),
    ("aira-mcts", include_str!("../presets/aira-mcts.toml")),
    ("aira-evo", include_str!("../presets/aira-evo.toml")),
    ("ml-master", include_str!("../presets/ml-master.toml")),
    ("automind", include_str!("../presets/automind.toml")),
    ("automind-micro", include_str!("../presets/automind-micro.toml")),
    ("lite-react", include_str!("../presets/lite-react.toml")),
    ("lite-aide", include_str!("../presets/lite-aide.toml")),
    ("lite-aira", include_str!("../presets/lite-aira.toml")),
    ("sandmle-table1", include_str!("../presets/sandmle-table1.toml")),
    ("sandmle-table2-aide", include_str!("../presets/sandmle-table2-aide.toml")),
    ("sandmle-table2-aira", include_str!("../presets/sandmle-table2-aira.toml")),
    ("sandmle-table3-mle-agent", include_str!("../presets/sandmle-table3-mle-agent.toml")),
    (
        "sandmle-table3-mle-agent-as-released",
        include_str!("../presets/sandmle-table3-mle-agent-as-released.toml"),
    ),
    ("sandmle-table3-aide", include_str!("../presets/sandmle-table3-aide.toml")),
    ("sandmle-figure7", include_str!("../presets/sandmle-figure7.toml")),
    ("mlebench-aide", include_str!("../presets/mlebench-aide.toml")),
];

/// Why a preset cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    /// There is no preset and no file of that name.
    #[error("there is no preset `{given}`; one of {}, or a file", names().join(", "))]
    Unknown {
        /// The name that was given.
        given: String,
    },
    /// A file cannot be read.
    #[error("failed to read the preset")]
    Io(#[from] std::io::Error),
    /// A file, or the value of a setting, is not understood.
    #[error("failed to use the preset `{name}`")]
    Malformed {
        /// The preset.
        name: String,
        /// What is wrong.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A setting that is not `KEY=VALUE`.
    #[error("`{given}` is not KEY=VALUE, such as `search.steps=20`")]
    Setting {
        /// What was given.
        given: String,
    },
    /// Limits that are not accepted.
    #[error("the limits of the preset `{name}` are not accepted")]
    Limits {
        /// The preset.
        name: String,
        /// Which.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Names of the presets that are built in.
pub fn names() -> Vec<&'static str> {
    BUILTIN.iter().map(|(name, _)| *name).collect()
}

impl Preset {
    /// The preset of a name, or in a file, with settings of it replaced: each is `KEY=VALUE`,
    /// where the key is a path such as `search.steps` and the value is written as in TOML; text
    /// needs no quotes. `steps` alone means `search.steps` or `automind.steps`, `turns` alone
    /// `linear.turns`.
    ///
    /// # Errors
    /// [`PresetError`].
    ///
    /// # Examples
    /// ```rust
    /// use agents::preset::Preset;
    ///
    /// let preset = Preset::load("aide", &["steps=7".to_owned(), "limits.time_limit=5s".to_owned()])?;
    /// assert_eq!((preset.scaffold.as_str(), preset.settings.steps()), ("aide", 7));
    /// assert!(Preset::load("aide", &["search.stepps=7".to_owned()]).is_err());
    /// # Ok::<(), agents::preset::PresetError>(())
    /// ```
    pub fn load(name: &str, settings: &[String]) -> Result<Self, PresetError> {
        let builtin = BUILTIN.iter().find(|(builtin, _)| *builtin == name);
        let text = match builtin {
            Some((_, text)) => (*text).to_owned(),
            None if Utf8Path::new(name).is_file() => fs::read_to_string(name)?,
            None => return Err(PresetError::Unknown { given: name.to_owned() }),
        };
        let malformed = |source: toml::de::Error| PresetError::Malformed {
            name: name.to_owned(),
            source: Box::new(source),
        };
        let mut table: toml::Table = toml::from_str(&text).map_err(malformed)?;
        for setting in settings {
            set(&mut table, setting)?;
        }
        let preset: Self = table.try_into().map_err(malformed)?;
        preset.limits.check().map_err(|source| PresetError::Limits {
            name: name.to_owned(),
            source: Box::new(source),
        })?;
        Ok(preset)
    }

    /// Scripts of one run that are in the making at once, at least 1.
    pub fn workers(&self) -> usize {
        self.settings.workers()
    }

    /// The rules of its scripts.
    pub fn episode(&self) -> EpisodeConfig {
        EpisodeConfig {
            feedback: self.feedback,
            submission_limit: self.submission_limit,
            policy: self.limits.clone(),
            ..EpisodeConfig::default()
        }
    }
}

fn set(table: &mut toml::Table, setting: &str) -> Result<(), PresetError> {
    let wrong = || PresetError::Setting { given: setting.to_owned() };
    let (key, value) = setting.split_once('=').ok_or_else(wrong)?;
    let value = toml::from_str::<toml::Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let top = ["scaffold", "feedback", "submission_limit"];
    let path = if key.contains('.') || top.contains(&key) {
        key.to_owned()
    } else if let Some(kind) =
        ["linear", "automind"].into_iter().find(|kind| table.contains_key(*kind))
    {
        format!("{kind}.{key}")
    } else {
        format!("search.{key}")
    };
    let mut at = table;
    let mut names = path.split('.').peekable();
    while let Some(name) = names.next() {
        if name.is_empty() {
            return Err(wrong());
        }
        if names.peek().is_none() {
            at.insert(name.to_owned(), value);
            return Ok(());
        }
        let entry = at.entry(name).or_insert_with(|| toml::Table::new().into());
        at = entry.as_table_mut().ok_or_else(wrong)?;
    }
    Err(wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_preset_loads() {
        for name in names() {
            let preset =
                Preset::load(name, &[]).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert!(!preset.scaffold.is_empty());
            let text = toml::to_string(&preset).unwrap();
            assert_eq!(toml::from_str::<Preset>(&text).unwrap(), preset, "{name}");
        }
    }

    #[test]
    fn presets_for_competitions_have_the_limits_of_benchmarks() {
        for name in names() {
            let preset = Preset::load(name, &[]).unwrap();
            // Submissions of that size are of competitions alone.
            if preset.submission_limit > most_bytes() {
                let time_limit = preset.limits.time_limit;
                let expected = RunLimits { time_limit, ..RunLimits::benchmark() };
                assert_eq!(preset.limits, expected, "{name}");
            }
        }
    }

    #[test]
    fn settings_replace_values_and_wrong_ones_are_refused() {
        let load = |setting: &str| Preset::load("aide", &[setting.to_owned()]);
        assert_eq!(load("feedback=tier").unwrap().feedback, Feedback::Tier);
        let ScaffoldSettings::Search(search) =
            load("search.operators.temperature=0.0").unwrap().settings
        else {
            panic!("aide is a search");
        };
        assert_eq!(search.operators.temperature, 0.0);
        let react = Preset::load("react", &["turns=5".to_owned()]).unwrap();
        assert_eq!(react.settings.steps(), 5);
        for wrong in ["steps", "=3", "search..steps=3", "scaffold.name=a", "steps=many", "a.b=1"] {
            assert!(load(wrong).is_err(), "{wrong}");
        }
        assert!(matches!(Preset::load("nope", &[]), Err(PresetError::Unknown { .. })));
        assert!(load("limits.memory=0").is_err());
    }
}
