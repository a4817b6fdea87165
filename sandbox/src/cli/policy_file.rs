//! A policy as people write it: a TOML or JSON file with the fields of
//! [`RunLimits`](jail::limits::RunLimits), and `work_dir`, `work_files` and `work_dir_on`.

use super::failure::UsageError;
use super::limits::{CheckedLimits, RawKeep, RawLimits};
use camino::Utf8Path;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::fmt;
use tasks::text::one_line;

/// What a file may say.
const KEYS: [&str; 14] = [
    "time_limit",
    "memory",
    "processes",
    "cpus",
    "gpus",
    "open_files",
    "file_size",
    "scratch",
    "stdout",
    "stderr",
    "output_limit",
    "work_dir",
    "work_files",
    "work_dir_on",
];
/// The same of a stream.
const ENDS: [&str; 2] = ["head", "tail"];

/// A table in its file's order, in which no key may come twice.
struct Entries(Vec<(String, Value)>);

/// What is wrong with a key.
struct Wrong {
    /// The key, below that of its table if it has one.
    path: Vec<String>,
    why: String,
}

/// Reads a policy file.
///
/// # Errors
/// [`UsageError`], with the file and, of what is wrong in it, the line and the key.
pub(super) fn read(path: &Utf8Path) -> Result<RawLimits, UsageError> {
    let text = fs_err::read_to_string(path).map_err(UsageError::at("failed to read the policy"))?;
    let at = |line: Option<usize>, why: &str| {
        let line = line.map_or(String::new(), |line| format!(":{line}"));
        UsageError::new(format!("{}{line}: {}", one_line(path.as_str()), one_line(why)))
    };
    let Entries(entries) = match path.extension() {
        Some("toml") => toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            at(before.map(|before| before.matches('\n').count() + 1), error.message())
        })?,
        Some("json") => serde_json::from_str(&text)
            .map_err(|error| at(Some(error.line()), &error.to_string()))?,
        _ => return Err(at(None, "the name of a policy ends with `.toml` or `.json`")),
    };
    let located = |Wrong { path, why }: Wrong| at(line_of(&text, &path), &why);
    let raw = from_entries(entries).map_err(located)?;
    // Checked here too, while it is known where the values come from.
    CheckedLimits::try_from(raw.clone()).map_err(|error| {
        let path = error.field.split('.').map(str::to_owned).collect();
        located(Wrong { path, why: error.to_string() })
    })?;
    Ok(raw)
}

fn from_entries(entries: Vec<(String, Value)>) -> Result<RawLimits, Wrong> {
    let mut raw = RawLimits::default();
    for (key, value) in entries {
        match key.as_str() {
            "time_limit" => raw.time_limit = parse(&[key], value)?,
            "memory" => raw.memory = parse(&[key], value)?,
            "processes" => raw.processes = parse(&[key], value)?,
            "cpus" => raw.cpus = parse(&[key], value)?,
            "gpus" => raw.gpus = parse(&[key], value)?,
            "open_files" => raw.open_files = parse(&[key], value)?,
            "file_size" => raw.file_size = parse(&[key], value)?,
            "scratch" => raw.scratch = parse(&[key], value)?,
            "stdout" => raw.stdout = keep(&key, value)?,
            "stderr" => raw.stderr = keep(&key, value)?,
            "output_limit" => raw.output_limit = parse(&[key], value)?,
            "work_dir" => raw.work_dir = parse(&[key], value)?,
            "work_files" => raw.work_files = parse(&[key], value)?,
            "work_dir_on" => raw.work_dir_on = parse(&[key], value)?,
            _ => return Err(unknown(vec![key], &KEYS)),
        }
    }
    Ok(raw)
}

fn keep(table: &str, value: Value) -> Result<RawKeep, Wrong> {
    let Entries(entries) = serde_json::from_value(value).map_err(|error| Wrong {
        why: format!("`{table}`: {error}"),
        path: vec![table.to_owned()],
    })?;
    let mut keep = RawKeep::default();
    for (key, value) in entries {
        let path = [table.to_owned(), key];
        match path[1].as_str() {
            "head" => keep.head = parse(&path, value)?,
            "tail" => keep.tail = parse(&path, value)?,
            _ => return Err(unknown(path.to_vec(), &ENDS)),
        }
    }
    Ok(keep)
}

/// A value; `null` is as good as silence.
fn parse<T: DeserializeOwned>(path: &[String], value: Value) -> Result<Option<T>, Wrong> {
    serde_json::from_value(value).map_err(|error| Wrong {
        path: path.to_vec(),
        why: format!("`{}`: {error}", path.join(".")),
    })
}

fn unknown(path: Vec<String>, known: &[&str]) -> Wrong {
    let why = format!("`{}` is no limit; there are {}", path.join("."), known.join(", "));
    Wrong { path, why }
}

/// The line, from 1, on which a key stands: the first with its name after that of its table.
fn line_of(text: &str, path: &[String]) -> Option<usize> {
    let mut lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
    let mut found = None;
    for name in path {
        let names = |line: &str| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
                .any(|word| word == name)
        };
        // Both may be on one line.
        if found.is_none_or(|(_, line): (usize, &str)| !names(line)) {
            found = Some(lines.find(|(_, line)| names(line))?);
        }
    }
    found.map(|(number, _)| number + 1)
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LimitsVisitor;
        impl<'de> Visitor<'de> for LimitsVisitor {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of limits")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries: Vec<(String, Value)> = Vec::new();
                while let Some((key, value)) = map.next_entry()? {
                    if entries.iter().any(|(other, _)| *other == key) {
                        let why = format!("`{key}` is there twice");
                        return Err(serde::de::Error::custom(why));
                    }
                    entries.push((key, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(LimitsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jail::limits::RunLimits;
    use tasks::units::Span;

    fn read_as(ending: &str, text: &str) -> Result<RawLimits, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("policy.{ending}"));
        fs_err::write(&path, text).unwrap();
        let path = Utf8Path::from_path(&path).unwrap();
        read(path).map_err(|error| error.to_string().replace(path.as_str(), "policy"))
    }

    #[test]
    fn printed_policy_round_trips() {
        let policy = RunLimits { time_limit: Span::seconds(7), ..RunLimits::default() };
        let raw = read_as("json", &serde_json::to_string_pretty(&policy).unwrap()).unwrap();
        assert_eq!(CheckedLimits::try_from(raw).unwrap().policy, policy);
        let raw = read_as("toml", &toml::to_string(&policy).unwrap()).unwrap();
        assert_eq!(CheckedLimits::try_from(raw).unwrap().policy, policy);
    }

    #[test]
    fn errors_of_policy_files_name_line_and_key() {
        for (ending, text, said) in [
            (
                "toml",
                "# memory\n\nmemory = '2GB'\n",
                "policy:3: `memory`: `2GB` is not a size such as",
            ),
            ("toml", "time_limit = 5\n", "policy:1: `time_limit`: invalid type"),
            (
                "toml",
                "memory = '1GiB'\ntimelimit = '5s'\n",
                "policy:2: `timelimit` is no limit; there are time_limit, memory,",
            ),
            (
                "toml",
                "[stderr]\nhead = '1KiB'\n[stdout]\nhead = '1GiB'\n",
                "policy:4: `stdout.head` is 1GiB; it must be 0 to 256MiB",
            ),
            (
                "toml",
                "stdout = { heads = '1KiB' }\n",
                "policy:1: `stdout.heads` is no limit; there are head, tail",
            ),
            ("toml", "processes = 1\nprocesses = 2\n", "policy:2: duplicate key"),
            ("toml", "processes\n", "policy:1: "),
            (
                "json",
                "{\n \"processes\": 0\n}",
                "policy:2: `processes` is 0; it must be 1 to 32768",
            ),
            ("json", "{\n \"cpus\": 0\n}", "policy:2: `cpus` is 0; it must be 1 to 4096"),
            (
                "json",
                "{\"memory\": \"1GiB\",\n \"memory\": \"2GiB\"}",
                "policy:2: `memory` is there twice",
            ),
            ("json", "{\n\"memory\": }", "policy:2: expected value"),
            ("json", "[]", "policy:1: invalid type: sequence, expected a table of limits"),
            ("yaml", "memory: 1", "policy: the name of a policy ends with `.toml` or `.json`"),
        ] {
            let error = read_as(ending, text).unwrap_err();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }
}
