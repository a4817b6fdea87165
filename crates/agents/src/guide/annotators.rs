//! Who may do what: `annotators.toml`, a table for each person and program.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use tasks::files;
use tasks::stream::unguessable;
use web::token::Token;

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Look.
    Viewer,
    /// Also advise, hold and judge.
    Annotator,
    /// Also change and retract what others have posted.
    Lead,
    /// Tell turns and get guidance, and nothing else: agents, not people.
    Agent,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Annotator, Self::Lead, Self::Agent];

    /// Its name in files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Annotator => "annotator",
            Self::Lead => "lead",
            Self::Agent => "agent",
        }
    }
}

/// A text that is no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of the roles `viewer`, `annotator`, `lead` and `agent`")]
pub struct BadRole(String);

impl FromStr for Role {
    type Err = BadRole;

    fn from_str(text: &str) -> Result<Self, BadRole> {
        let role = Self::ALL.into_iter().find(|role| role.name() == text);
        role.ok_or_else(|| BadRole(text.to_owned()))
    }
}

/// Somebody with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotator {
    /// Their name, which stands in journals.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// What they show.
    pub token: Token,
}

/// Why a list of annotators cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AnnotatorsError {
    /// The file could not be read or written.
    #[error("failed to use the list of annotators")]
    Io(#[from] io::Error),
    /// It is not in its form.
    #[error("failed to read `{path}`")]
    Malformed {
        /// The file.
        path: Utf8PathBuf,
        /// What is wrong.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A token that is no hash.
    #[error("the token of `{name}` in `{path}` is no BLAKE3 hash; `agents guide token` writes one")]
    Token {
        /// The file.
        path: Utf8PathBuf,
        /// Whose.
        name: String,
    },
    /// A name that cannot be one.
    #[error(
        "`{0}` is no name of an annotator: it needs 1 to 64 letters, digits, `-`, `_`, `.` or `@`, and \
         stands in the list once"
    )]
    Name(String),
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnnotatorsFile {
    #[serde(default)]
    annotator: Vec<AnnotatorTable>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnnotatorTable {
    name: String,
    role: Role,
    /// BLAKE3 of the secret, in hexadecimal digits.
    token: String,
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    (1..=64).contains(&name.chars().count()) && name.chars().all(allowed)
}

fn read_file(path: &Utf8Path) -> Result<AnnotatorsFile, AnnotatorsError> {
    toml::from_str(&fs::read_to_string(path)?).map_err(|source| AnnotatorsError::Malformed {
        path: path.to_owned(),
        source: Box::new(source),
    })
}

/// Reads a list.
///
/// # Errors
/// [`AnnotatorsError`].
pub fn read_annotators(path: &Utf8Path) -> Result<Vec<Annotator>, AnnotatorsError> {
    let mut found: Vec<Annotator> = Vec::new();
    for AnnotatorTable { name, role, token } in read_file(path)?.annotator {
        if !is_name(&name) || found.iter().any(|other| other.name == name) {
            return Err(AnnotatorsError::Name(tasks::text::one_line(&name).into_owned()));
        }
        let Some(token) = Token::from_hex(&token) else {
            return Err(AnnotatorsError::Token { path: path.to_owned(), name });
        };
        found.push(Annotator { name, role, token });
    }
    Ok(found)
}

/// Gives `name` a role and a new token, in a list that is made if there is none; an earlier token of
/// that name is no longer valid. Returns the secret, which is kept nowhere.
///
/// # Errors
/// [`AnnotatorsError`].
pub fn add_annotator(path: &Utf8Path, name: &str, role: Role) -> Result<String, AnnotatorsError> {
    if !is_name(name) {
        return Err(AnnotatorsError::Name(tasks::text::one_line(name).into_owned()));
    }
    let mut file = if path.exists() { read_file(path)? } else { AnnotatorsFile::default() };
    let secret = unguessable()?;
    let token = Token::new(&secret, 1).map_err(io::Error::other)?.hex();
    file.annotator.retain(|other| other.name != name);
    file.annotator.push(AnnotatorTable { name: name.to_owned(), role, token });
    let text = toml::to_string(&file).map_err(io::Error::other)?;
    files::write_atomic(path, text.as_bytes())?;
    Ok(secret)
}

/// A list that is read again when its file changes, so that who is removed is out at once.
pub(super) struct Annotators {
    path: Utf8PathBuf,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Time of change and size of the file.
    stamp: Option<(SystemTime, u64)>,
    list: Vec<Annotator>,
}

impl fmt::Debug for Annotators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Annotators").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Annotators {
    pub(super) fn open(path: &Utf8Path) -> Result<Self, AnnotatorsError> {
        read_annotators(path)?;
        Ok(Self { path: path.to_owned(), known: Mutex::default() })
    }

    /// Who shows this token, if anybody does. Takes the same time for every wrong one of a list.
    pub(super) fn find(&self, token: &Token) -> Option<Annotator> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let metadata = fs::metadata(&self.path).ok();
        let stamp = metadata.and_then(|data| Some((data.modified().ok()?, data.len())));
        if stamp.is_none() || stamp != known.stamp {
            // A list that cannot be read lets nobody in.
            known.list = read_annotators(&self.path).unwrap_or_else(|error| {
                let error = tasks::text::with_causes(&error);
                tracing::warn!(error, "nobody is let in");
                Vec::new()
            });
            known.stamp = stamp;
        }
        known.list.iter().fold(None, |found, annotator| {
            if annotator.token == *token { Some(annotator.clone()) } else { found }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_given_once_and_taken_back_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap().join("annotators.toml");
        let first = add_annotator(&path, "ann", Role::Annotator).unwrap();
        let list = Annotators::open(&path).unwrap();
        let shown = |secret: &str| Token::new(secret, 1).unwrap();
        assert_eq!(list.find(&shown(&first)).unwrap().name, "ann");
        assert!(!fs::read_to_string(&path).unwrap().contains(&first));
        add_annotator(&path, "bot", Role::Agent).unwrap();
        let second = add_annotator(&path, "ann", Role::Lead).unwrap();
        assert_eq!(list.find(&shown(&first)), None);
        assert_eq!(list.find(&shown(&second)).unwrap().role, Role::Lead);
        fs::remove_file(&path).unwrap();
        assert_eq!(list.find(&shown(&second)), None);
        for wrong in ["", "a b", "a\n", &"x".repeat(65)] {
            assert!(matches!(
                add_annotator(&path, wrong, Role::Viewer),
                Err(AnnotatorsError::Name(_))
            ));
        }
    }
}
