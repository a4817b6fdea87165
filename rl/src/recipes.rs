//! Named recipes: the settings files in `configs/`, built in, so that `--config sandmle` works
//! wherever the program is.

use crate::settings::SettingsError;
use camino::Utf8PathBuf;
use fs_err as fs;
use toml::Table;

/// Names and contents.
const RECIPES: [(&str, &str); 2] = [
    ("sandmle", include_str!("../../configs/sandmle.toml")),
    ("sparse", include_str!("../../configs/sparse.toml")),
];

/// The recipe of this name, or the file of this name.
///
/// # Errors
/// [`SettingsError`] if it is neither, or the file cannot be read or parsed.
pub fn open(name: &str) -> Result<Table, SettingsError> {
    let path = Utf8PathBuf::from(name);
    let text = match RECIPES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => (*text).to_owned(),
        None if path.is_file() => fs::read_to_string(&path)?,
        None => {
            let known = RECIPES.map(|(name, _)| format!("`{name}`")).join(", ");
            return Err(SettingsError::NoRecipe { name: name.to_owned(), known });
        }
    };
    text.parse().map_err(|source| SettingsError::Parse { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpo::TrainSettings;
    use crate::presets::Scale;
    use crate::settings::resolve;
    use agents::reward::RewardWeights;
    use sandbox::env::Feedback;

    fn resolved(recipe: &str, scale: Scale) -> TrainSettings {
        resolve(&TrainSettings::defaults(scale), Some(recipe), Table::new(), &[]).unwrap()
    }

    /// The dotted keys of a table's values.
    fn keys(prefix: &str, table: &Table) -> Vec<String> {
        let key = |(key, value): (&String, &toml::Value)| match value {
            toml::Value::Table(inner) => keys(&format!("{prefix}{key}."), inner),
            _ => vec![format!("{prefix}{key}")],
        };
        table.iter().flat_map(key).collect()
    }

    #[test]
    fn the_papers_recipe_is_the_large_default_but_for_feedback_and_context() {
        let mut expected = TrainSettings::defaults(Scale::Large);
        expected.rules.episode.feedback = Feedback::Full;
        expected.rollout.context = 40_960;
        let found = resolved("sandmle", Scale::Large);
        assert_eq!(found, expected);
        found.check().unwrap();
    }

    #[test]
    fn the_papers_recipe_names_every_option() {
        let all = Table::try_from(TrainSettings::defaults(Scale::Large)).unwrap();
        let named = keys("", &open("sandmle").unwrap());
        let yours = ["model", "tasks", "seed", "rollout.workers", "rollout.threads"];
        for key in keys("", &all) {
            // Limits of the jail other than time are the sandbox's own.
            let of_the_jail = key.starts_with("rules.episode.policy.");
            assert!(
                named.contains(&key) || yours.contains(&key.as_str()) || of_the_jail,
                "`{key}` is not in configs/sandmle.toml"
            );
        }
    }

    #[test]
    fn the_sparse_recipe_changes_the_reward_alone() {
        let mut expected = TrainSettings::defaults(Scale::Tiny);
        expected.rules.reward = RewardWeights::SPARSE;
        assert_eq!(resolved("sparse", Scale::Tiny), expected);
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = open("sandmel").unwrap_err().to_string();
        assert!(error.contains("`sandmel`") && error.contains("`sandmle`, `sparse`"), "{error}");
    }
}
