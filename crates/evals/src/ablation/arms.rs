//! The arms of an ablation, from a file or by the name of a set.

use agents::preset::{Preset, PresetError, ScaffoldSettings};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;

/// The sets that are built in.
pub const SETS: [&str; 3] = ["knowledge", "coding", "policy"];

/// Arms as a file has them.
///
/// # Examples
/// ```rust
/// use evals::ablation::arms::ArmsFile;
///
/// let file = ArmsFile::from_toml(
///     r#"
///     base = "none"
///     [[arm]]
///     name = "none"
///     set = ["automind.tricks.knowledge=none"]
///     [[arm]]
///     name = "retrieved"
///     [[arm]]
///     name = "first-draft"
///     of = "none"
///     steps = 1
///     "#,
/// )?;
/// assert_eq!(file.arms.len(), 3);
/// # Ok::<(), evals::ablation::arms::ArmsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmsFile {
    /// The arm that the others are compared with. Default: the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The arms, in the order of tables.
    #[serde(default, rename = "arm")]
    pub arms: Vec<ArmEntry>,
}

/// One arm of a file: it is played, or it is `of` another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmEntry {
    /// Its name: lower-case letters, digits and dashes.
    pub name: String,
    /// A preset by name, or a TOML file. Default: that of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Settings of the preset, each `KEY=VALUE` as `--set` takes them, after those of the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// The arm whose runs it takes, as if they had ended after `steps` steps; nothing is played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Steps of the arm `of`, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
}

/// An arm, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Its name, which is that of its folder.
    pub name: String,
    /// Where its runs come from.
    pub runs: ArmRuns,
}

/// Where the runs of an arm come from.
#[derive(Debug, Clone, PartialEq)]
pub enum ArmRuns {
    /// They are played with this preset.
    Played(Box<Preset>),
    /// They are those of another arm, as if they had ended after so many steps.
    Cut {
        /// The other arm.
        of: String,
        /// The steps.
        steps: usize,
    },
}

/// The arms of an ablation, checked: at least two, with different names.
#[derive(Debug, Clone, PartialEq)]
pub struct Arms {
    /// The arm that the others are compared with.
    pub base: String,
    /// All of them, in the order of tables.
    pub arms: Vec<Arm>,
}

/// Why arms cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArmsError {
    /// Neither a set nor a file.
    #[error(
        "there are no arms `{0}`: name one of knowledge, coding and policy, or a TOML file with a table `[[arm]]` for each arm"
    )]
    Unknown(String),
    /// The file cannot be read.
    #[error("failed to read the arms")]
    Io(#[from] io::Error),
    /// The file is not in the form of arms.
    #[error("failed to use the arms in `{path}`")]
    Malformed {
        /// The file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// The text is not in the form of arms.
    #[error("the arms are not understood")]
    Toml(#[from] Box<toml::de::Error>),
    /// Nothing to compare.
    #[error(
        "an ablation compares at least two arms, and there are {0}: add a table `[[arm]]` for each"
    )]
    TooFew(usize),
    /// A name that no folder should have.
    #[error("`{0}` is no name of an arm: use 1 to 40 lower-case letters, digits and dashes")]
    Name(String),
    /// Two arms of one name.
    #[error("two arms are called `{0}`: give each a name of its own")]
    Twice(String),
    /// The base is no arm.
    #[error("the base `{base}` is none of the arms: name one of {}", arms.join(", "))]
    Base {
        /// The name that was given.
        base: String,
        /// Those that there are.
        arms: Vec<String>,
    },
    /// An arm of another one's runs that is not well described.
    #[error(
        "the arm `{0}` must have `of`, the name of an arm that is played, with `steps` of at least 1, \
         and then neither `preset` nor `set`; a played arm sets its steps by `set = [\"steps=12\"]`"
    )]
    Cut(String),
    /// The preset of an arm cannot be used.
    #[error("failed to use the settings of the arm `{arm}`")]
    Preset {
        /// The arm.
        arm: String,
        /// What is wrong.
        #[source]
        source: Box<PresetError>,
    },
    /// A built-in set on another scaffold.
    #[error(
        "the arms `{set}` change settings of automind, and the preset has the scaffold \
         `{scaffold}`: use `--preset automind-micro` or `--preset automind`, or a file of arms"
    )]
    NoAutoMind {
        /// The set.
        set: String,
        /// The scaffold of the preset.
        scaffold: String,
    },
}

impl ArmsFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`ArmsError::Toml`].
    pub fn from_toml(text: &str) -> Result<Self, ArmsError> {
        toml::from_str(text).map_err(|error| ArmsError::Toml(Box::new(error)))
    }

    /// The set of a name for a preset, or the arms in a file.
    ///
    /// # Errors
    /// [`ArmsError`].
    pub fn load(name: &str, preset: &Preset) -> Result<Self, ArmsError> {
        if SETS.contains(&name) {
            return Self::builtin(name, preset);
        }
        if !Utf8Path::new(name).is_file() {
            return Err(ArmsError::Unknown(name.to_owned()));
        }
        let text = fs::read_to_string(name)?;
        toml::from_str(&text)
            .map_err(|error| ArmsError::Malformed { path: name.into(), source: Box::new(error) })
    }

    fn builtin(name: &str, preset: &Preset) -> Result<Self, ArmsError> {
        let ScaffoldSettings::AutoMind(automind) = &preset.settings else {
            return Err(ArmsError::NoAutoMind {
                set: name.to_owned(),
                scaffold: preset.scaffold.clone(),
            });
        };
        let arm = |name: &str, set: &[String]| ArmEntry {
            name: name.to_owned(),
            preset: None,
            set: set.to_vec(),
            of: None,
            steps: None,
        };
        let (base, arms) = match name {
            "knowledge" => {
                let selections = ["none", "random", "retrieved", "wrong-labels"];
                let set = |selection: &str| [format!("automind.tricks.knowledge={selection}")];
                ("none", selections.map(|name| arm(name, &set(name))).to_vec())
            }
            "coding" => {
                let modes = ["adaptive", "one-pass", "stepwise"];
                // Improvements too: coded in one pass, they would hide most of what differs.
                let set = |mode: &str| {
                    ["mode", "improve"].map(|key| format!("automind.coder.{key}={mode}"))
                };
                ("one-pass", modes.map(|name| arm(name, &set(name))).to_vec())
            }
            _ => {
                // AIDE's own settings, and as many drafts.
                let aide = ["rule=\"aide\"", "debug_probability=0.5", "debug_depth=3"];
                let aide = aide.map(|setting| format!("automind.policy.{setting}"));
                let draft = ArmEntry {
                    of: Some("automind".to_owned()),
                    steps: Some(automind.policy.drafts),
                    ..arm("best-draft", &[])
                };
                (
                    "aide",
                    vec![
                        arm("automind", &["automind.policy.rule=automind".to_owned()]),
                        arm("aide", &aide),
                        draft,
                    ],
                )
            }
        };
        Ok(Self { base: Some(base.to_owned()), arms })
    }

    /// Checks the arms and loads their presets: that of the command is `preset`, with its `settings`.
    /// `base` replaces the file's. With `calls`, arms of automind end after so many questions.
    ///
    /// # Errors
    /// [`ArmsError`].
    pub fn resolve(
        &self,
        preset: &str,
        settings: &[String],
        base: Option<&str>,
        calls: Option<u32>,
    ) -> Result<Arms, ArmsError> {
        if self.arms.len() < 2 {
            return Err(ArmsError::TooFew(self.arms.len()));
        }
        let names: Vec<String> = self.arms.iter().map(|arm| arm.name.clone()).collect();
        let mut known = BTreeSet::new();
        for name in &names {
            let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if !(1..=40).contains(&name.len()) || !name.chars().all(fits) {
                return Err(ArmsError::Name(name.clone()));
            }
            if !known.insert(name) {
                return Err(ArmsError::Twice(name.clone()));
            }
        }
        let base = base.or(self.base.as_deref()).unwrap_or(&names[0]).to_owned();
        if !names.contains(&base) {
            return Err(ArmsError::Base { base, arms: names });
        }
        let arms = self.arms.iter().map(|entry| {
            let runs = match (&entry.of, entry.steps) {
                (None, None) => ArmRuns::Played(Box::new(entry.preset(preset, settings, calls)?)),
                (Some(of), Some(steps @ 1..)) if entry.preset.is_none() && entry.set.is_empty() => {
                    let played = |arm: &&ArmEntry| arm.name == *of && arm.of.is_none();
                    if !self.arms.iter().any(|arm| played(&arm)) {
                        return Err(ArmsError::Cut(entry.name.clone()));
                    }
                    ArmRuns::Cut { of: of.clone(), steps }
                }
                _ => return Err(ArmsError::Cut(entry.name.clone())),
            };
            Ok(Arm { name: entry.name.clone(), runs })
        });
        Ok(Arms { base, arms: arms.collect::<Result<_, _>>()? })
    }
}

impl ArmEntry {
    fn preset(
        &self,
        preset: &str,
        settings: &[String],
        calls: Option<u32>,
    ) -> Result<Preset, ArmsError> {
        // Settings of the command are of its preset, not of another one.
        let (name, mut all) = match &self.preset {
            None => (preset, settings.to_vec()),
            Some(own) => (own.as_str(), Vec::new()),
        };
        all.extend(self.set.iter().cloned());
        let load = |all: &[String]| {
            Preset::load(name, all).map_err(|source| ArmsError::Preset {
                arm: self.name.clone(),
                source: Box::new(source),
            })
        };
        let mut loaded = load(&all)?;
        if let (ScaffoldSettings::AutoMind(automind), Some(calls)) = (&mut loaded.settings, calls) {
            automind.calls = Some(calls);
        }
        Ok(loaded)
    }
}

impl Arms {
    /// Those that are played, with their presets.
    pub fn played(&self) -> impl Iterator<Item = (&str, &Preset)> {
        self.arms.iter().filter_map(|arm| match &arm.runs {
            ArmRuns::Played(preset) => Some((arm.name.as_str(), &**preset)),
            ArmRuns::Cut { .. } => None,
        })
    }

    /// Whether some arm is of another one's runs.
    pub fn has_cuts(&self) -> bool {
        self.arms.iter().any(|arm| matches!(arm.runs, ArmRuns::Cut { .. }))
    }
}
