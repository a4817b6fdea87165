//! Families of competitions: knowledge from one is never used for another of the same family.

use super::source::{CardError, SourceFile};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// Families by the ids of their competitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Families {
    /// Name of the family of each competition, whose id is in small letters.
    families: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FamiliesFile {
    #[serde(default)]
    family: Vec<FamilyFields>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FamilyFields {
    name: String,
    competitions: Vec<Spanned<String>>,
}

impl Families {
    /// Reads `families.toml`.
    ///
    /// # Errors
    /// [`CardError`] if it is malformed or a competition is in two families.
    pub fn parse(name: &str, text: &str) -> Result<Self, CardError> {
        let source = SourceFile { name, text };
        let file: FamiliesFile = toml::from_str(text).map_err(|error| source.malformed(&error))?;
        let mut families = BTreeMap::new();
        for family in file.family {
            for id in family.competitions {
                let key = id.get_ref().to_lowercase();
                if let Some(other) = families.insert(key, family.name.clone()) {
                    let message = format!("`{}` is in the family `{other}` too", id.get_ref());
                    return Err(source.error(id.span(), message));
                }
            }
        }
        Ok(Self { families })
    }

    /// The name of the family of a competition.
    pub fn family(&self, competition: &str) -> Option<&str> {
        self.families.get(&competition.to_lowercase()).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn competition_is_in_one_family() {
        let text = "[[family]]\nname = \"Birds\"\ncompetitions = [\"a-2019\", \"A-2020\"]\n";
        let families = Families::parse("families.toml", text).unwrap();
        assert_eq!(families.family("a-2020"), Some("Birds"));
        assert_eq!(families.family("b"), None);
        let twice = format!("{text}[[family]]\nname = \"Other\"\ncompetitions = [\"a-2020\"]\n");
        let error = Families::parse("families.toml", &twice).unwrap_err();
        assert_eq!((error.line, error.column), (6, 17));
    }
}
