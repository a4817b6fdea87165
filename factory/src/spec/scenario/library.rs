//! The stories that are embedded in the program, one file per domain.

use super::{Scenario, Story};
use crate::spec::embedded;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The content of one scenario file: all stories of a domain, each with its `key`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DomainFile {
    #[serde(default)]
    table: Vec<toml::Table>,
    #[serde(default)]
    series: Vec<toml::Table>,
    #[serde(default)]
    scene: Vec<toml::Table>,
    #[serde(default)]
    challenge: Vec<toml::Table>,
}

/// Why the embedded scenarios could not be read: a fault of this crate, which its tests find.
#[derive(Debug, thiserror::Error)]
#[error("failed to parse the scenarios `{file}`\n{message}")]
pub struct ScenarioError {
    /// Name of the embedded file.
    file: String,
    /// What is wrong, and where.
    message: String,
}

/// All scenarios, in order of domain and file.
///
/// # Errors
/// [`ScenarioError`] if one is malformed.
pub fn all() -> Result<Vec<Scenario>, ScenarioError> {
    let mut scenarios = Vec::new();
    for (file, text) in embedded::SCENARIOS {
        scenarios.extend(of_domain(file.trim_end_matches(".toml"), text).map_err(|message| {
            let file = file.to_owned();
            ScenarioError { file, message }
        })?);
    }
    Ok(scenarios)
}

/// The stories in the text of a domain's file.
fn of_domain(domain: &str, text: &str) -> Result<Vec<Scenario>, String> {
    let file: DomainFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut scenarios = Vec::new();
    let mut add = |(key, story)| scenarios.push(Scenario::new(domain.to_owned(), key, story));
    for table in file.table {
        add(keyed(table, |story| Story::Table(Box::new(story)))?);
    }
    for table in file.series {
        add(keyed(table, |story| Story::Series(Box::new(story)))?);
    }
    for table in file.scene {
        add(keyed(table, |story| Story::Scene(Box::new(story)))?);
    }
    for table in file.challenge {
        add(keyed(table, |story| Story::Challenge(Box::new(story)))?);
    }
    Ok(scenarios)
}

/// The key of a story, and the story of its other fields.
fn keyed<T: DeserializeOwned>(
    mut table: toml::Table,
    story: impl Fn(T) -> Story,
) -> Result<(String, Story), String> {
    let Some(toml::Value::String(key)) = table.remove("key") else {
        return Err("a story without a text as its `key`".to_owned());
    };
    let fields = table.try_into().map_err(|error| format!("the story `{key}`: {error}"))?;
    Ok((key, story(fields)))
}

/// The domains of the stories, sorted.
pub fn domains(stories: &[Scenario]) -> Vec<String> {
    let mut domains: Vec<String> = stories.iter().map(|story| story.domain.clone()).collect();
    domains.sort();
    domains.dedup();
    domains
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::MediumKind;
    use crate::spec::mix::Cell;
    use crate::spec::scenario::{Cause, correlation};
    use std::collections::BTreeSet;

    #[test]
    fn there_are_enough_scenarios_over_enough_domains() {
        let scenarios = all().unwrap();
        let domains: BTreeSet<&str> = scenarios.iter().map(|s| s.domain.as_str()).collect();
        let keys: BTreeSet<&str> = scenarios.iter().map(Scenario::key).collect();
        assert!(scenarios.len() >= 60, "{}", scenarios.len());
        assert!(domains.len() >= 12, "{domains:?}");
        assert_eq!(keys.len(), scenarios.len(), "keys are unique");
        for cell in Cell::all() {
            let count = scenarios.iter().filter(|story| story.serves(cell)).count();
            assert!(count >= 8, "{cell}: {count}");
        }
    }

    #[test]
    fn stories_say_what_causes_what_and_which_columns_go_together() {
        for scenario in all().unwrap() {
            let key = scenario.key();
            let (targets, numbers) = match &scenario.story {
                Story::Table(story) => {
                    let pair = story.item.as_ref().map(|item| item.medium);
                    if pair == Some(MediumKind::Pair) {
                        continue;
                    }
                    (vec![story.graded.name.clone()], &story.numbers)
                }
                Story::Series(story) => (vec![story.target.name.clone()], &story.drivers),
                Story::Scene(_) | Story::Challenge(_) => continue,
            };
            let causes = targets.iter().map(|target| scenario.story.causes_of(target));
            assert!(causes.map(<[Cause]>::len).min() >= Some(2), "{key} has no causes");
            let follows = scenario.story.follows();
            let mut sizes = Vec::new();
            for (at, one) in numbers.iter().enumerate() {
                for other in &numbers[at + 1..] {
                    sizes.push(correlation(follows, &one.name, &other.name).abs());
                }
            }
            sizes.sort_by(f64::total_cmp);
            // A story of three drivers has three pairs.
            let least = if numbers.len() > 3 { 0.15 } else { 0.0 };
            assert!(sizes[sizes.len() / 2] >= least, "{key}: {sizes:?}");
        }
    }

    #[test]
    fn networks_are_told_of_in_many_domains_and_serve_nodes_alone() {
        let nodes: Cell = "graph/multiclass".parse().unwrap();
        let scenarios = all().unwrap();
        let network = |scenario: &&Scenario| match &scenario.story {
            Story::Table(story) => story.network.is_some(),
            _ => false,
        };
        let told: Vec<&Scenario> = scenarios.iter().filter(network).collect();
        let domains: BTreeSet<&str> = told.iter().map(|story| story.domain.as_str()).collect();
        assert!(told.len() >= 12 && domains.len() >= 8, "{} over {domains:?}", told.len());
        for cell in Cell::all() {
            let serving = told.iter().filter(|story| story.serves(cell)).count();
            assert_eq!(serving, if cell == nodes { told.len() } else { 0 }, "{cell}");
        }
        let all = scenarios.iter().filter(|story| story.serves(nodes)).count();
        assert_eq!(all, told.len(), "a graph per row has no class");
    }

    #[test]
    fn every_embedded_story_passes_its_check() {
        for scenario in all().unwrap() {
            let key = scenario.key();
            assert!(key.len() <= 60, "{key}");
            scenario.story.check().unwrap_or_else(|error| panic!("{key}: {error}"));
        }
    }

    #[test]
    fn unknown_field_of_a_story_is_refused_with_its_key() {
        let (file, text) = embedded::SCENARIOS[0];
        let text = text.replacen("title = ", "heading = \"x\"\ntitle = ", 1);
        let error = of_domain(file, &text).unwrap_err();
        assert!(error.contains("the story `") && error.contains("heading"), "{error}");
    }
}
