//! Named recipes: the settings files in `configs/`, built in, so that `--config sandmle` works
//! wherever the program is.

use crate::run::settings::SettingsError;
use camino::Utf8PathBuf;
use fs_err as fs;
use toml::Table;

/// The name and the TOML text of each recipe.
const RECIPES: [(&str, &str); 4] = [
    ("curriculum", include_str!("../../../configs/curriculum.toml")),
    ("format", include_str!("../../../configs/format.toml")),
    ("sandmle", include_str!("../../../configs/sandmle.toml")),
    ("sparse", include_str!("../../../configs/sparse.toml")),
];

/// Whether this is the name of a recipe that the program brings along.
pub fn is_built_in(name: &str) -> bool {
    RECIPES.iter().any(|(known, _)| *known == name)
}

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

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = open("sandmel").unwrap_err().to_string();
        assert!(
            error.contains("`sandmel`")
                && error.contains("`curriculum`, `format`, `sandmle`, `sparse`"),
            "{error}"
        );
    }
}
