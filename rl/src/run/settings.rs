//! Settings, resolved once: flags over file over defaults.
//!
//! Defaults are a value of the settings' own type, so every key has one and a key that does not
//! exist is refused. The result is checked once ([`Settings::check`]), and written beside what it
//! produced.

use crate::run::recipes;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Deref;
use tasks::files;
use toml::{Table, Value};

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file could not be read or written.
    #[error("failed to read or write settings")]
    Io(#[from] std::io::Error),
    /// The file is not TOML.
    #[error("failed to parse `{path}`")]
    Parse {
        /// The file.
        path: Utf8PathBuf,
        /// Where and why.
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
    /// The run's folder cannot be made.
    #[error("`{folder}` cannot be used for the run's files; choose another `--out`")]
    Folder {
        /// The folder.
        folder: Utf8PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The defaults themselves cannot be written as TOML.
    #[error("failed to write settings as TOML")]
    Write(#[from] toml::ser::Error),
    /// A value is out of its range.
    #[error("`{key}` is {got}; it must be {expected}")]
    Range {
        /// The key.
        key: &'static str,
        /// Its value.
        got: String,
        /// The range.
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
        /// The folder.
        folder: Utf8PathBuf,
        /// Which keys differ, and how.
        differences: String,
    },
}

/// Settings whose values must be checked before they are used.
pub trait Settings: Sized {
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

/// Settings that were checked. [`Settings::check`] is the only way to have some.
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

/// Lays `config` (a recipe's name or a file), then `flags`, then `assignments` (each `dotted.key=value`) over `defaults`.
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
        lay_over(&mut table, recipes::open(config)?);
    }
    lay_over(&mut table, flags);
    for assignment in assignments {
        lay_over(&mut table, assigned(assignment)?);
    }
    table.try_into().map_err(SettingsError::Fit)
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
    let nested = key.rsplit('.').fold(value, |value, part| {
        Value::Table(Table::from_iter([(part.trim().to_owned(), value)]))
    });
    match nested {
        Value::Table(table) => Ok(table),
        _ => Err(bad()),
    }
}

/// Writes `settings` into the run's folder, or checks that the run there was started with the
/// same, keys in `free` apart. A folder that holds nothing but settings is free.
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
    if let Some(before) = of_run(folder)? {
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

/// The settings of the run in this folder; none if there is no run, or one without results.
///
/// # Errors
/// [`SettingsError`] if they cannot be read.
pub fn of_run(folder: &Utf8Path) -> Result<Option<Table>, SettingsError> {
    let path = folder.join("settings.toml");
    if !path.is_file() {
        return Ok(None);
    }
    // Settings alone are the trace of a start that failed before it made anything.
    let has_results = folder
        .read_dir_utf8()?
        .filter_map(Result::ok)
        .any(|entry| !entry.file_name().starts_with('.') && entry.file_name() != "settings.toml");
    if !has_results {
        return Ok(None);
    }
    let text = fs::read_to_string(&path)?;
    text.parse().map(Some).map_err(|source| SettingsError::Parse { path, source })
}

/// The value of a dotted key that a file of the user's own or an assignment sets. What a built-in
/// recipe says does not count.
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
    for assignment in assignments {
        lay_over(&mut table, assigned(assignment)?);
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

/// Checks a range.
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
    use serde::Deserialize;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        rate: f64,
        name: String,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        steps: u64,
        inner: Inner,
    }

    impl Settings for Outer {
        type Error = SettingsError;

        fn verify(&self) -> Result<(), SettingsError> {
            require(self.steps > 0, "steps", &self.steps, "at least 1")
        }
    }

    fn defaults() -> Outer {
        Outer { steps: 10, inner: Inner { rate: 0.5, name: "a".into() } }
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
        assert_eq!(found, Outer { steps: 30, inner: Inner { rate: 0.25, name: "b c".into() } });
    }

    #[test]
    fn what_the_user_sets_is_told_from_what_a_recipe_says() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(dir.path()).unwrap();
        let path = folder.join("s.toml");
        fs::write(&path, "[adam]\nmoments = \"offload\"\n").unwrap();
        let found = |config, assignments: &[&str]| {
            let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
            let found = own("adam.moments", config, &assignments).unwrap();
            found.and_then(|value| value.as_str().map(str::to_owned))
        };
        assert_eq!(found(None, &["adam.beta1=0.5"]), None);
        assert_eq!(found(Some("sandmle"), &[]), None);
        assert_eq!(found(Some("sandmle"), &["adam.moments=full"]).as_deref(), Some("full"));
        assert_eq!(found(Some(path.as_str()), &[]).as_deref(), Some("offload"));
        assert_eq!(found(Some(path.as_str()), &["adam.moments=full"]).as_deref(), Some("full"));

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
    fn settings_that_were_checked_can_be_changed_only_to_be_checked_again() {
        let mut settings = defaults().check().unwrap().into_inner();
        settings.steps = 0;
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains("`steps` is 0"), "{error}");
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        let unknown = set(&["inner.speed=1"]).unwrap_err();
        assert!(unknown.to_string().contains("speed"), "{unknown}");
        assert!(matches!(set(&["steps=many"]), Err(SettingsError::Fit(_))));
        assert!(matches!(set(&["steps"]), Err(SettingsError::Assignment(_))));
        assert!(matches!(set(&["inner..rate=1"]), Err(SettingsError::Assignment(_))));
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
        let inner = Inner { rate: 0.1, name: "a".into() };
        let error = claim(dir, &Outer { inner, ..defaults() }, &["steps"]).unwrap_err().to_string();
        assert!(error.contains("`inner.rate` was 0.5 and is 0.1"), "{error}");
    }
}
