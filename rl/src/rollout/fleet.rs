//! Episodes on a fleet of environment servers (`rollout.sandboxes`).

use super::settings::RolloutSettings;
use crate::run::settings::{SettingsError, require};
use agents::remote::{Fleet, FleetOptions, RemoteError, ServerAddress};

/// The setting with the addresses.
const KEY: &str = "rollout.sandboxes";
/// The variable with the token that all servers of a fleet ask for.
const TOKEN: &str = "SANDBOX_TOKEN";

/// Connects to the servers that `settings` names; `None` if there are none, and episodes are played
/// on this machine. The token comes from `SANDBOX_TOKEN`, since settings are written to disk.
///
/// # Errors
/// [`RemoteError`] if an address is malformed, or no server takes episodes.
pub fn connect(settings: &RolloutSettings) -> Result<Option<Fleet>, RemoteError> {
    if settings.sandboxes.is_empty() {
        return Ok(None);
    }
    let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
    let with_token = |address: ServerAddress| match &token {
        Some(token) => address.with_token(token),
        None => address,
    };
    let addresses = settings.sandboxes.iter().map(|address| address.parse().map(with_token));
    Fleet::connect(addresses.collect::<Result<_, _>>()?, FleetOptions::default()).map(Some)
}

/// Checks the addresses in settings, which may have no token: settings are written to disk.
///
/// # Errors
/// [`SettingsError::Range`].
pub(super) fn check(addresses: &[String]) -> Result<(), SettingsError> {
    for text in addresses {
        match text.parse::<ServerAddress>() {
            // As the error shows it: what was given may have a token in it.
            Err(error) => require(false, KEY, &error, "addresses such as `http://10.0.0.5:8765`")?,
            Ok(address) => require(
                !address.has_token(),
                KEY,
                &format!("{address} with a token"),
                "addresses without one, since settings are written to disk: set SANDBOX_TOKEN",
            )?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_settings_are_well_formed_and_without_a_token() {
        let found = |address: &str| check(&["http://a:1".to_owned(), address.to_owned()]);
        found("http://b").unwrap();
        for (address, words) in
            [("b:8765", "no address of a server"), ("http://agent:secret@b", "SANDBOX_TOKEN")]
        {
            let error = found(address).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains(KEY), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
