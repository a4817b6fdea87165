//! Names of conversations and of pieces of guidance.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::str::FromStr;
use tasks::stream::unguessable;

/// Most characters of a name.
const LONGEST: usize = 64;

/// A text that is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is no name: it needs 1 to {LONGEST} of the characters a-z, A-Z, 0-9, `-` and `_`"
)]
pub struct BadName {
    /// What was given, its first characters, as one line.
    given: String,
}

fn check(text: &str) -> Result<(), BadName> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if (1..=LONGEST).contains(&text.len()) && text.chars().all(allowed) {
        return Ok(());
    }
    let given: String = text.chars().take(LONGEST).collect();
    Err(BadName { given: tasks::text::one_line(&given).into_owned() })
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// One that nobody else has, and that cannot be guessed.
            ///
            /// # Errors
            /// The system's.
            pub fn draw() -> io::Result<Self> {
                unguessable().map(Self)
            }
        }

        impl FromStr for $name {
            type Err = BadName;

            fn from_str(text: &str) -> Result<Self, BadName> {
                check(text)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;

            fn try_from(text: String) -> Result<Self, BadName> {
                check(&text)?;
                Ok(Self(text))
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// Name of a conversation. The agent's side draws it, so that a request to open one can be sent
    /// twice and opens one.
    ConversationId
}

name! {
    /// Name of a piece of guidance. The person's side draws it, so that the same piece can be sent
    /// twice and is one.
    GuidanceId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_folder_and_have_no_odd_characters() {
        for name in ["a", "task-001_react_0", &"x".repeat(64)] {
            assert_eq!(name.parse::<ConversationId>().unwrap().as_str(), name);
        }
        for wrong in ["", ".", "..", "a/b", "a b", "ä", "a\n", &"x".repeat(65)] {
            assert!(wrong.parse::<ConversationId>().is_err(), "{wrong:?}");
            let json = serde_json::to_string(wrong).unwrap();
            assert!(serde_json::from_str::<GuidanceId>(&json).is_err(), "{wrong:?}");
        }
        assert_ne!(GuidanceId::draw().unwrap(), GuidanceId::draw().unwrap());
    }
}
