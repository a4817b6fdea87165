//! `--config`: flags of `posttrain run` and `posttrain ft` in a file.

use super::UsageError;
use anyhow::{Context as _, Result};
use std::ffi::OsString;
use toml::{Table, Value};

/// The recipes that are part of this program, by name.
const RECIPES: [(&str, &str); 4] = [
    ("rlbench-tiny", include_str!("../../../../configs/rlbench-tiny.toml")),
    ("rlbench-paper", include_str!("../../../../configs/rlbench-paper.toml")),
    ("ftdojo-tiny", include_str!("../../../../configs/ftdojo-tiny.toml")),
    ("ftdojo-paper", include_str!("../../../../configs/ftdojo-paper.toml")),
];

/// The words of a command line in which the flags of a recipe stand before those that were given, which
/// win. A command line without `--config` is as it was.
///
/// # Errors
/// A [`UsageError`] for a recipe that cannot be read.
pub(crate) fn expand(words: Vec<OsString>) -> Result<Vec<OsString>> {
    let is = |at: usize, text: &str| words.get(at).is_some_and(|word| word == text);
    if !is(1, "run") && !is(1, "ft") {
        return Ok(words);
    }
    // What follows `--` is the grader's.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let joined = |word: &OsString| Some(word.to_str()?.strip_prefix("--config=")?.to_owned());
    let apart = words[..end].iter().position(|word| word == "--config");
    let (at, count) = match apart {
        Some(at) => (Some(at), 2),
        None => (words[..end].iter().position(|word| joined(word).is_some()), 1),
    };
    let Some(at) = at else { return Ok(words) };
    let name = match count {
        1 => joined(&words[at]),
        _ => words[..end].get(at + 1).and_then(|word| Some(word.to_str()?.to_owned())),
    };
    // The parser says what is missing.
    let Some(name) = name else { return Ok(words) };
    let flags = flags(&read(&name)?, &name)?.into_iter().map(OsString::from);
    let given = words[2..at].iter().chain(&words[at + count..]).cloned();
    Ok(words[..2].iter().cloned().chain(flags).chain(given).collect())
}

fn read(name: &str) -> Result<Table> {
    let text = match RECIPES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => (*text).to_owned(),
        None => fs_err::read_to_string(name).map_err(|error| {
            let known: Vec<&str> = RECIPES.iter().map(|(name, _)| *name).collect();
            let known = known.join(", ");
            UsageError(format!("`{name}` is no recipe ({known}) and no file: {error}"))
        })?,
    };
    text.parse::<Table>().with_context(|| format!("failed to read the recipe `{name}`"))
}

/// The tables that a recipe may have: their keys are flags with the table's name before them.
const TABLES: [&str; 1] = ["gateway"];

/// A table as flags.
fn flags(table: &Table, name: &str) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inside) if TABLES.contains(&key.as_str()) => {
                all.extend(plain_flags(inside, name, &format!("{key}-"))?);
            }
            _ => {
                let one = Table::from_iter([(key.clone(), value.clone())]);
                all.extend(plain_flags(&one, name, "")?);
            }
        }
    }
    Ok(all)
}

/// A table without tables as flags, which begin with `prefix`.
fn plain_flags(table: &Table, name: &str, prefix: &str) -> Result<Vec<String>> {
    let mut flags = Vec::new();
    for (key, value) in table {
        let value = match value {
            Value::Array(list) if list.iter().all(Value::is_str) => {
                list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
            }
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(_) | Value::Array(_) | Value::Table(_) | Value::Datetime(_) => {
                let what = format!(
                    "`{prefix}{key}` in the recipe `{name}` is not a text, a number or a list of texts"
                );
                return Err(UsageError(what).into());
            }
        };
        flags.push(format!("--{prefix}{key}={value}"));
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(line: &str) -> Vec<String> {
        let words = line.split_whitespace().map(OsString::from).collect();
        let all = expand(words).unwrap();
        all.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn flags_of_a_recipe_stand_before_those_that_are_given() {
        let all =
            expanded("posttrain run suite --config rlbench-tiny --budget 5m -- grader --config x");
        let text = all.join(" ");
        assert!(text.starts_with("posttrain run --budget=10m --clock=paused"), "{text}");
        assert!(text.ends_with("suite --budget 5m -- grader --config x"), "{text}");
        assert_eq!(expanded("posttrain run s --config=rlbench-tiny").last().unwrap(), "s");
        for line in ["posttrain run s -- grader --config x", "posttrain audit --config x"] {
            assert_eq!(expanded(line).join(" "), line);
        }
    }

    #[test]
    fn table_of_the_gateway_is_its_flags() {
        let text =
            "budget = '5m'\n[gateway]\nmodels = ['openai:a', 'local:b']\ntokens = 70\ncost = 0.5";
        let all = flags(&text.parse().unwrap(), "mine").unwrap().join(" ");
        let expected =
            "--budget=5m --gateway-cost=0.5 --gateway-models=openai:a,local:b --gateway-tokens=70";
        assert_eq!(all, expected);
        let wrong = "[gateway]\nmodels = [1]".parse().unwrap();
        assert!(flags(&wrong, "mine").unwrap_err().to_string().contains("`gateway-models`"));
    }

    #[test]
    fn recipe_that_is_not_there_or_holds_tables_is_refused() {
        let line = ["posttrain", "run", "--config", "none"].map(OsString::from).into();
        assert!(expand(line).unwrap_err().to_string().contains("rlbench-paper"));
        let table = "[grader]\nname = 1".parse().unwrap();
        assert!(flags(&table, "mine").unwrap_err().to_string().contains("`grader`"));
    }
}
