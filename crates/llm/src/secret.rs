//! Keys of providers, and texts from outside without them.

use camino::Utf8Path;
use fs_err as fs;
use std::borrow::Cow;
use std::fmt;
use std::os::unix::fs::PermissionsExt as _;

/// A key of a provider. Nothing shows it: not `Debug`, not `Display`, and it has no serde.
#[derive(Clone)]
pub struct ApiKey(String);

/// Why a text or file is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The key is too short, or has characters that no header can carry.
    #[error(
        "a key has at least {} letters, digits and marks, without spaces and quotes; for a server \
         without keys, set none",
        ApiKey::LEAST_BYTES
    )]
    Malformed,
    /// Other users may read the file.
    #[error("`{path}` can be read by other users; run `chmod 600 {path}`")]
    Permissions {
        /// The file.
        path: String,
    },
    /// The file could not be read.
    #[error("failed to read the key")]
    Io(#[from] std::io::Error),
}

impl ApiKey {
    /// Shorter texts occur by chance, and could not be removed from texts.
    const LEAST_BYTES: usize = 8;

    /// A key from text; space around it is dropped.
    ///
    /// # Errors
    /// [`KeyError::Malformed`].
    pub fn new(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        let allowed = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'\'');
        if text.len() >= Self::LEAST_BYTES && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(KeyError::Malformed)
        }
    }

    /// The key in a file of mode 600 or stricter.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn from_file(path: &Utf8Path) -> Result<Self, KeyError> {
        if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
            return Err(KeyError::Permissions { path: path.to_string() });
        }
        Self::new(&fs::read_to_string(path)?)
    }

    /// The key itself, for a header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// `text` without `key`, other keys in common forms (`Bearer …`, `sk-…`), and credentials in URLs.
/// Each is replaced by `***`.
pub(crate) fn scrub<'a>(text: &'a str, key: Option<&ApiKey>) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    if let Some(key) = key
        && text.contains(key.expose())
    {
        text = Cow::Owned(text.replace(key.expose(), "***"));
    }
    for (mark, least) in [("Bearer ", 16), ("bearer ", 16), ("sk-", 16)] {
        if text.contains(mark) {
            text = Cow::Owned(mask_after(&text, mark, least));
        }
    }
    if text.contains("://") {
        text = Cow::Owned(mask_credentials(&text));
    }
    text
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=')
}

/// Masks runs of at least `least` key characters after `mark`, where `mark` begins a word.
fn mask_after(text: &str, mark: &str, least: usize) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(mark) {
        let (before, after) = (&rest[..start], &rest[start + mark.len()..]);
        let begins_word = !before.bytes().next_back().is_some_and(|b| b.is_ascii_alphanumeric());
        let length = after.bytes().take_while(|&byte| is_key_byte(byte)).count();
        masked.push_str(before);
        masked.push_str(mark);
        if begins_word && length >= least {
            masked.push_str("***");
            rest = &after[length..];
        } else {
            rest = after;
        }
    }
    masked + rest
}

/// Masks `user:password` in `scheme://user:password@host`.
fn mask_credentials(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        masked.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "/?#\"'<>".contains(c));
        let authority = &after[..end.unwrap_or(after.len())];
        rest = match authority.rfind('@') {
            Some(at) => {
                masked.push_str("***");
                &after[at..]
            }
            None => after,
        };
    }
    masked + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn key_debug_and_display_show_nothing() {
        let key = ApiKey::new(" sk-abcdefgh12345678\n").unwrap();
        assert_eq!(format!("{key} {key:?} {:?}", Some(&key)), "*** *** Some(***)");
        assert_eq!(key.expose(), "sk-abcdefgh12345678");
    }

    #[test]
    fn key_malformed_is_refused_without_being_shown() {
        for text in
            ["", "EMPTY", "with space in it", "with\nline-break", "quoted\"quoted", "äöüäöüäöü"]
        {
            let error = ApiKey::new(text).unwrap_err().to_string();
            assert!(text.is_empty() || !error.contains(text), "{error}");
        }
    }

    #[test]
    fn key_file_readable_by_others_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("key");
        fs::write(&path, "sk-abcdefgh12345678\n").unwrap();
        for (mode, accepted) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(ApiKey::from_file(&path).is_ok(), accepted, "{mode:o}");
        }
    }

    #[test]
    fn scrub_keys_and_credentials_go_and_prose_stays() {
        let key = ApiKey::new("my-private-key").unwrap();
        let scrub = |text| scrub(text, Some(&key)).into_owned();
        assert_eq!(scrub("bad key my-private-key!"), "bad key ***!");
        assert_eq!(
            scrub("Authorization: Bearer abcdefgh12345678, x"),
            "Authorization: Bearer ***, x"
        );
        assert_eq!(scrub("Incorrect: sk-proj-abcdefgh1234_5678."), "Incorrect: sk-***");
        assert_eq!(scrub("http://user:pass@proxy:80/x a@b"), "http://***@proxy:80/x a@b");
        for prose in
            ["a bearer of news", "risk-adjusted-returns-matter", "https://a.b/c@d", "sk-learn"]
        {
            assert_eq!(scrub(prose), prose);
        }
    }

    proptest! {
        #[test]
        fn scrubbed_text_never_holds_the_key(
            before in "[a-z:/@ ]{0,12}", after in ".{0,12}", key in "[a-zA-Z0-9_-]{8,40}",
        ) {
            let text = format!("{before}{key}{after}{key}");
            let scrubbed = scrub(&text, Some(&ApiKey::new(&key).unwrap())).into_owned();
            prop_assert!(!scrubbed.contains(&key), "{}", scrubbed);
        }
    }
}
