//! The settings of a store.

use super::error::StoreError;
use super::event::GUIDE_VERSION;
use camino::Utf8Path;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use tasks::files;
use tasks::units::Span;

/// The settings of a store, as `guide.toml` has them.
///
/// | key | meaning | default |
/// | --- | --- | --- |
/// | `lost_after` | silence of an agent after which its conversation counts as lost | 10 min |
/// | `hold_limit` | longest time that a person can have an agent wait | 10 min |
/// | `hold_grace` | time that the person's connection may be gone before a hold ends | 30 s |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSettings {
    /// Version of the store.
    pub version: u32,
    /// Silence of an agent after which its conversation counts as lost.
    pub lost_after: Span,
    /// Longest time that a person can have an agent wait.
    pub hold_limit: Span,
    /// Time that the person's connection may be gone before a hold ends.
    pub hold_grace: Span,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            version: GUIDE_VERSION,
            lost_after: Span::seconds(600),
            hold_limit: Span::seconds(600),
            hold_grace: Span::seconds(30),
        }
    }
}

impl StoreSettings {
    /// Those of the store in `folder`, which gets the default ones if it has none.
    pub(super) fn of(folder: &Utf8Path) -> Result<Self, StoreError> {
        let path = folder.join("guide.toml");
        if !path.is_file() {
            let settings = Self::default();
            let text = toml::to_string(&settings).map_err(std::io::Error::other)?;
            files::write_atomic(&path, text.as_bytes())?;
            return Ok(settings);
        }
        let settings: Self = toml::from_str(&fs::read_to_string(&path)?).map_err(|source| {
            StoreError::Settings { path: path.clone(), source: Box::new(source) }
        })?;
        if settings.version != GUIDE_VERSION {
            return Err(StoreError::Version { path, found: settings.version.into() });
        }
        Ok(settings)
    }
}
