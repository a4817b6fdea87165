//! Settings, resolved once: flags over file over defaults.
//!
//! Defaults are a value of the settings' own type, so every key has one and a key that does not
//! exist is refused. The result is checked once ([`Validate::check`]), and written beside what it
//! produced. Keys of the previous release ([`RENAMED_KEYS`]) are read, with a warning.

use crate::run::{guide, recipes};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Deref;
use tasks::files;
use toml::{Table, Value};

/// Keys of the previous release, each with its name now.
pub const RENAMED_KEYS: [(&str, &str); 16] = [
    ("rate", "learning_rate"),
    ("group", "group_size"),
    ("patience", "early_stopping_patience"),
    ("max_draws", "dynamic_sampling.max_rounds"),
    ("importance_cap", "tis_cap"),
    ("memory.micro_tokens", "memory.max_tokens_per_micro_batch"),
    ("memory.recompute", "memory.gradient_checkpointing"),
    ("normalisation.spread", "advantage.std"),
    ("normalisation.epsilon", "advantage.epsilon"),
    ("normalisation.mask_order", "advantage.mask_order"),
    ("adam.clip_norm", "adam.max_grad_norm"),
    ("adam.moments", "adam.optim"),
    ("rollout.rows", "rollout.max_num_seqs"),
    ("rollout.context", "rollout.max_model_len"),
    ("rollout.lockstep", "rollout.deterministic"),
    ("rollout.overflow", "rollout.context_overflow"),
];

/// Values of the previous release, each with its key's name now and its own name now.
const RENAMED_VALUES: [(&str, &str, &str); 5] = [
    ("adam.optim", "full", "adamw"),
    ("adam.optim", "eight-bit", "adamw-8bit"),
    ("adam.optim", "offload", "adamw-offload"),
    ("rollout.context_overflow", "stop", "end"),
    ("rollout.context_overflow", "drop", "evict"),
];

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file could not be read or written.
    #[error("failed to read or write settings")]
    Io(#[from] std::io::Error),
    /// The file is not TOML.
    #[error("failed to parse `{path}`")]
    Parse {
        /// The path of the settings file.
        path: Utf8PathBuf,
        /// The parser's error, with line and column.
        #[source]
        source: toml::de::Error,
    },
    /// There is neither such a recipe nor such a file.
    #[error("`{name}` is neither a file nor a recipe; recipes are {known}")]
    NoRecipe {
        /// As it was named.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A `--set` is not `KEY=VALUE`.
    #[error("`{0}` is not of the form KEY=VALUE, such as `rollout.sampling.temperature=0.8`")]
    Assignment(String),
    /// A key or value does not exist or has the wrong type.
    #[error("settings do not fit: {}", .0.message())]
    Fit(toml::de::Error),
    /// A key is given under its old and its new name.
    #[error("`{old}` is the old name of `{new}`, and both are set; remove `{old}`")]
    BothNames {
        /// The key's name in the previous release.
        old: &'static str,
        /// The key's name in this release.
        new: &'static str,
    },
    /// The run's folder cannot be made.
    #[error("`{folder}` cannot be used for the run's files; choose another `--out`")]
    Folder {
        /// The folder given by `--out`.
        folder: Utf8PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The defaults themselves cannot be written as TOML.
    #[error("failed to write settings as TOML")]
    Write(#[from] toml::ser::Error),
    /// A value is out of its range.
    #[error("`{key}` is {got}; it must be {expected}")]
    Range {
        /// The dotted key.
        key: &'static str,
        /// The value that was found.
        got: String,
        /// The values that are allowed.
        expected: &'static str,
    },
    /// A limit of scripts makes no sense.
    #[error("`rules.episode.policy` makes no sense")]
    Policy(#[from] jail::limits::range::OutOfRange),
    /// The folder holds a run that was started with other settings.
    #[error(
        "`{folder}` holds a run with other settings ({differences}); repeat them to continue it, or choose another `--out`"
    )]
    OtherRun {
        /// The folder given by `--out`.
        folder: Utf8PathBuf,
        /// Which keys differ, and how.
        differences: String,
    },
}

impl SettingsError {
    /// The values that are accepted at a dotted key, if it is that one that was refused.
    pub(crate) fn expected_of(&self, key: &str) -> Option<String> {
        match self {
            Self::Range { key: refused, expected, .. } => {
                (*refused == key).then(|| (*expected).to_owned())
            }
            Self::Policy(error) => {
                let is_it = key.strip_prefix("rules.episode.policy.") == Some(error.field);
                is_it.then(|| error.accepted.clone())
            }
            _ => None,
        }
    }
}

/// Settings whose values must be checked before they are used.
pub trait Validate: Sized {
    /// Why they are refused.
    type Error;

    /// Checks what types cannot.
    ///
    /// # Errors
    /// Says which setting is out of its range.
    fn verify(&self) -> Result<(), Self::Error>;

    /// The same settings, known to be good.
    ///
    /// # Errors
    /// As [`Self::verify`].
    fn check(self) -> Result<Checked<Self>, Self::Error> {
        self.verify()?;
        Ok(Checked(self))
    }
}

/// Settings that were checked. [`Validate::check`] is the only way to have some.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked<S>(S);

impl<S> Checked<S> {
    /// The settings, to be changed and checked again.
    pub fn into_inner(self) -> S {
        self.0
    }
}

impl<S> Deref for Checked<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

/// Lays `config` (a recipe's name or a file), then `flags`, then `assignments` (each
/// `dotted.key=value`) over `defaults`. Old names of keys are read, with a warning.
///
/// # Errors
/// [`SettingsError`] for unreadable files, unknown keys and values of the wrong type.
pub fn resolve<S: Serialize + DeserializeOwned>(
    defaults: &S,
    config: Option<&str>,
    flags: Table,
    assignments: &[String],
) -> Result<S, SettingsError> {
    let mut table = Table::try_from(defaults)?;
    if let Some(config) = config {
        lay_over(&mut table, renamed_aloud(recipes::open(config)?)?);
    }
    lay_over(&mut table, renamed_aloud(flags)?);
    for assignment in assignments {
        lay_over(&mut table, renamed_aloud(assigned(assignment)?)?);
    }
    table.try_into().map_err(SettingsError::Fit)
}

/// The table with the names of this release, after a warning for every old one.
fn renamed_aloud(mut table: Table) -> Result<Table, SettingsError> {
    for (old, new) in rename(&mut table)? {
        warn_of_old_name(old, new);
    }
    Ok(table)
}

/// Warns on standard error that a key, metric or flag has another name now.
pub fn warn_of_old_name(old: &str, new: &str) {
    tracing::warn!("`{old}` is now called `{new}`; the next release refuses the old name");
}

/// Gives keys and values of the previous release their names of this one, and returns the old and
/// the new name of every key that was renamed.
///
/// # Errors
/// [`SettingsError::BothNames`] if the new name is there as well.
fn rename(table: &mut Table) -> Result<Vec<(&'static str, &'static str)>, SettingsError> {
    let mut found = Vec::new();
    for (old, new) in RENAMED_KEYS {
        let Some(value) = remove(table, old) else { continue };
        if at(table, new).is_some() {
            return Err(SettingsError::BothNames { old, new });
        }
        let is_old =
            |(key, before, _): &&(&str, &str, &str)| *key == new && value.as_str() == Some(*before);
        let renamed = RENAMED_VALUES.iter().find(is_old);
        let value = renamed.map_or(value.clone(), |(.., now)| Value::String((*now).to_owned()));
        lay_over(table, nested(new, value));
        found.push((old, new));
    }
    Ok(found)
}

/// Removes the value at a dotted key, and tables that are empty without it.
fn remove(table: &mut Table, key: &str) -> Option<Value> {
    let Some((first, rest)) = key.split_once('.') else { return table.remove(key) };
    let inner = table.get_mut(first)?.as_table_mut()?;
    let value = remove(inner, rest)?;
    if inner.is_empty() {
        table.remove(first);
    }
    Some(value)
}

/// A table that holds nothing but `value` at a dotted key.
fn nested(key: &str, value: Value) -> Table {
    let (path, last) = key.rsplit_once('.').map_or((None, key), |(path, last)| (Some(path), last));
    let table = Table::from_iter([(last.trim().to_owned(), value)]);
    match path {
        Some(path) => nested(path, Value::Table(table)),
        None => table,
    }
}

fn lay_over(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay_over(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// `a.b=1` as a table. What is not a TOML value is a string, so quotes may be left out.
fn assigned(assignment: &str) -> Result<Table, SettingsError> {
    let bad = || SettingsError::Assignment(assignment.to_owned());
    let (key, text) = assignment.split_once('=').ok_or_else(bad)?;
    if key.split('.').any(|part| part.trim().is_empty()) {
        return Err(bad());
    }
    let parsed =
        format!("value = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("value"));
    let value = parsed.unwrap_or_else(|| Value::String(text.to_owned()));
    Ok(nested(key, value))
}

/// Writes `settings` into the run's folder. If the folder holds a run, its settings must be the
/// same, except for the keys in `free`; old names of keys are replaced. A folder that holds nothing
/// but settings is free.
///
/// # Errors
/// [`SettingsError::OtherRun`] if they differ.
pub fn claim(
    folder: &Utf8Path,
    settings: &impl Serialize,
    free: &[&str],
) -> Result<(), SettingsError> {
    let unusable = |source| SettingsError::Folder { folder: folder.to_owned(), source };
    fs::create_dir_all(folder).map_err(unusable)?;
    let path = folder.join("settings.toml");
    let table = Table::try_from(settings)?;
    if let Some(before) = written(folder)? {
        let before = renamed_aloud(before)?;
        let mut differences = Vec::new();
        differ("", &before, &table, free, &mut differences);
        if !differences.is_empty() {
            return Err(SettingsError::OtherRun {
                folder: folder.to_owned(),
                differences: differences.join(", "),
            });
        }
    }
    files::write_atomic(&path, toml::to_string_pretty(&table)?.as_bytes()).map_err(unusable)
}

/// The settings of the run in this folder, under the names of this release; `None` if there is no
/// run, or one without results.
///
/// # Errors
/// [`SettingsError`] if they cannot be read.
pub fn of_run(folder: &Utf8Path) -> Result<Option<Table>, SettingsError> {
    let mut table = written(folder)?;
    table.as_mut().map(rename).transpose()?;
    Ok(table)
}

/// The settings of the run in this folder as they were written.
fn written(folder: &Utf8Path) -> Result<Option<Table>, SettingsError> {
    let path = folder.join("settings.toml");
    if !path.is_file() {
        return Ok(None);
    }
    // Settings and a guide alone are the trace of a start that failed before it made anything.
    let begun = ["settings.toml", guide::FILE];
    let has_results = folder
        .read_dir_utf8()?
        .filter_map(Result::ok)
        .any(|entry| !entry.file_name().starts_with('.') && !begun.contains(&entry.file_name()));
    if !has_results {
        return Ok(None);
    }
    let text = fs::read_to_string(&path)?;
    text.parse().map(Some).map_err(|source| SettingsError::Parse { path, source })
}

/// The value of a dotted key that the user's own file or an assignment sets, under the key's old or
/// new name; `None` if only a built-in recipe or nothing sets it.
///
/// # Errors
/// [`SettingsError`] if the file cannot be read or an assignment is malformed.
pub fn own(
    key: &str,
    config: Option<&str>,
    assignments: &[String],
) -> Result<Option<Value>, SettingsError> {
    let file = config.filter(|name| !recipes::is_built_in(name));
    let mut table = file.map(recipes::open).transpose()?.unwrap_or_default();
    rename(&mut table)?;
    for assignment in assignments {
        let mut assigned = assigned(assignment)?;
        rename(&mut assigned)?;
        lay_over(&mut table, assigned);
    }
    Ok(at(&table, key).cloned())
}

/// The value at a dotted key.
pub fn at<'t>(table: &'t Table, key: &str) -> Option<&'t Value> {
    let mut parts = key.split('.');
    let first = table.get(parts.next()?);
    parts.fold(first, |value, part| value?.get(part))
}

fn differ(prefix: &str, before: &Table, now: &Table, free: &[&str], found: &mut Vec<String>) {
    let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let name = format!("{prefix}{key}");
        if free.contains(&name.as_str()) {
            continue;
        }
        match (before.get(key), now.get(key)) {
            (Some(Value::Table(a)), Some(Value::Table(b))) => {
                differ(&format!("{name}."), a, b, free, found);
            }
            (a, b) if a == b => (),
            (a, b) => {
                let show =
                    |value: Option<&Value>| value.map_or("unset".to_owned(), ToString::to_string);
                found.push(format!("`{name}` was {} and is {}", show(a), show(b)));
            }
        }
    }
}

/// For settings that are left out of files while they are off.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_off(flag: &bool) -> bool {
    !*flag
}

/// For the corpus of a run that has another place to play, or none.
pub(crate) fn is_nowhere(folder: &Utf8PathBuf) -> bool {
    folder.as_str().is_empty()
}

/// Returns an error unless a value is in its range.
///
/// # Errors
/// [`SettingsError::Range`] unless `holds`.
pub fn require(
    holds: bool,
    key: &'static str,
    got: &impl ToString,
    expected: &'static str,
) -> Result<(), SettingsError> {
    if holds { Ok(()) } else { Err(SettingsError::Range { key, got: got.to_string(), expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::grpo::TrainSettings;
    use crate::train::presets::Scale;
    use serde::Deserialize;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct InnerSettings {
        rate: f64,
        name: String,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        steps: u64,
        inner: InnerSettings,
    }

    impl Validate for Outer {
        type Error = SettingsError;

        fn verify(&self) -> Result<(), SettingsError> {
            require(self.steps > 0, "steps", &self.steps, "at least 1")
        }
    }

    fn defaults() -> Outer {
        Outer { steps: 10, inner: InnerSettings { rate: 0.5, name: "a".into() } }
    }

    fn set(assignments: &[&str]) -> Result<Outer, SettingsError> {
        let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
        resolve(&defaults(), None, Table::new(), &assignments)
    }

    #[test]
    fn each_layer_covers_the_one_below() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("s.toml");
        fs::write(&path, "steps = 20\n[inner]\nrate = 0.25\n").unwrap();
        let flags = "steps = 30".parse().unwrap();
        let found: Outer =
            resolve(&defaults(), Some(path.as_str()), flags, &["inner.name=b c".into()]).unwrap();
        assert_eq!(
            found,
            Outer { steps: 30, inner: InnerSettings { rate: 0.25, name: "b c".into() } }
        );
    }

    #[test]
    fn user_settings_are_distinguished_from_a_recipes() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(dir.path()).unwrap();
        let path = folder.join("s.toml");
        fs::write(&path, "[adam]\nmoments = \"offload\"\n").unwrap();
        let found = |config, assignments: &[&str]| {
            let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
            let found = own("adam.optim", config, &assignments).unwrap();
            found.and_then(|value| value.as_str().map(str::to_owned))
        };
        assert_eq!(found(None, &["adam.beta1=0.5"]), None);
        assert_eq!(found(Some("sandmle"), &[]), None);
        assert_eq!(found(Some("sandmle"), &["adam.optim=adamw"]).as_deref(), Some("adamw"));
        // The file has the key and the value of the previous release.
        assert_eq!(found(Some(path.as_str()), &[]).as_deref(), Some("adamw-offload"));
        assert_eq!(found(Some(path.as_str()), &["adam.optim=adamw"]).as_deref(), Some("adamw"));

        let run = folder.join("run");
        claim(&run, &defaults(), &[]).unwrap();
        assert_eq!(of_run(&run).unwrap(), None, "nothing was made yet");
        fs::write(run.join("metrics.jsonl"), "").unwrap();
        let table = of_run(&run).unwrap().unwrap();
        assert_eq!(at(&table, "inner.name").and_then(Value::as_str), Some("a"));
        assert_eq!(at(&table, "inner.speed"), None);
        assert_eq!(at(&table, "steps.more"), None);
    }

    #[test]
    fn changed_settings_must_be_checked_again() {
        let mut settings = defaults().check().unwrap().into_inner();
        settings.steps = 0;
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains("`steps` is 0"), "{error}");
    }

    #[test]
    fn unknown_keys_and_malformed_values_are_refused() {
        let unknown = set(&["inner.speed=1"]).unwrap_err();
        assert!(unknown.to_string().contains("speed"), "{unknown}");
        assert!(matches!(set(&["steps=many"]), Err(SettingsError::Fit(_))));
        assert!(matches!(set(&["steps"]), Err(SettingsError::Assignment(_))));
        assert!(matches!(set(&["inner..rate=1"]), Err(SettingsError::Assignment(_))));
    }

    /// Settings of `rl train` that have every key of [`RENAMED_KEYS`].
    fn large() -> TrainSettings {
        TrainSettings::defaults(Scale::Large)
    }

    #[test]
    fn every_old_key_is_read_as_its_new_one() {
        let settings = Table::try_from(large()).unwrap();
        for (old, new) in RENAMED_KEYS {
            let value = at(&settings, new).unwrap_or_else(|| panic!("`{new}` is no key"));
            assert!(at(&settings, old).is_none(), "`{old}` is still a key");
            let mut table = nested(old, value.clone());
            assert_eq!(rename(&mut table).unwrap(), [(old, new)]);
            assert_eq!(table, nested(new, value.clone()));
            let assignment = format!("{old}={value}");
            let found: TrainSettings =
                resolve(&large(), None, Table::new(), &[assignment]).unwrap();
            assert_eq!(found, large());
            let mut both = nested(old, value.clone());
            lay_over(&mut both, nested(new, value.clone()));
            assert!(matches!(rename(&mut both), Err(SettingsError::BothNames { .. })), "{old}");
        }
        for (key, old, new) in RENAMED_VALUES {
            let (old_key, _) = RENAMED_KEYS.into_iter().find(|(_, now)| *now == key).unwrap();
            let mut table = assigned(&format!("{old_key}={old}")).unwrap();
            rename(&mut table).unwrap();
            assert_eq!(at(&table, key), Some(&Value::String(new.to_owned())));
            let overlaid = resolve::<TrainSettings>(&large(), None, table, &[]);
            assert!(overlaid.is_ok(), "`{new}` is no value of `{key}`");
        }
    }

    #[test]
    fn a_run_with_old_keys_is_the_same_run() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let path = dir.join("settings.toml");
        let mut old = Table::try_from(large()).unwrap();
        for (before, now) in RENAMED_KEYS {
            let value = remove(&mut old, now).unwrap();
            let is_new =
                |(key, _, new): &&(&str, &str, &str)| *key == now && value.as_str() == Some(*new);
            let value = RENAMED_VALUES
                .iter()
                .find(is_new)
                .map_or(value.clone(), |(_, old, _)| Value::String((*old).to_owned()));
            lay_over(&mut old, nested(before, value));
        }
        let text = toml::to_string_pretty(&old).unwrap();
        for line in ["\nrate = ", "moments = \"full\"", "overflow = \"stop\"", "[normalisation]"] {
            assert!(text.contains(line), "{text}");
        }
        fs::write(&path, text).unwrap();
        fs::write(dir.join("metrics.jsonl"), "").unwrap();
        assert_eq!(of_run(dir).unwrap().unwrap(), Table::try_from(large()).unwrap());
        let other = TrainSettings { learning_rate: 1.0, ..large() };
        let error = claim(dir, &other, &[]).unwrap_err().to_string();
        assert!(error.contains("`learning_rate` was 0.000001 and is 1.0"), "{error}");
        claim(dir, &large(), &[]).unwrap();
        let written: Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        assert_eq!(written, Table::try_from(large()).unwrap());
        assert_eq!(
            own("adam.optim", None, &["adam.moments=offload".into()]).unwrap().unwrap().as_str(),
            Some("adamw-offload")
        );
    }

    #[test]
    fn a_folder_belongs_to_one_set_of_settings() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        claim(dir, &Outer { steps: 99, ..defaults() }, &[]).unwrap();
        claim(dir, &defaults(), &[]).unwrap();
        fs::write(dir.join("metrics.jsonl"), "").unwrap();
        claim(dir, &defaults(), &[]).unwrap();
        claim(dir, &Outer { steps: 11, ..defaults() }, &["steps"]).unwrap();
        let inner = InnerSettings { rate: 0.1, name: "a".into() };
        let error = claim(dir, &Outer { inner, ..defaults() }, &["steps"]).unwrap_err().to_string();
        assert!(error.contains("`inner.rate` was 0.5 and is 0.1"), "{error}");
    }
}
