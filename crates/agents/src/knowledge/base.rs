//! The knowledge base: all cards, labels and families, frozen by one hash.
//!
//! ```text
//! labels.toml                     hard and soft labels
//! families.toml                   competitions that share data
//! tricks/<hard label>.toml        tricks
//! methods/<hard label>.toml       published methods
//! posts.jsonl                     imported posts, in bases of users only
//! ```

use super::card::{Method, Trick, TrickId};
use super::card_file::{Placed, parse_methods, parse_tricks};
use super::compared_page::ComparedPage;
use super::families::Families;
use super::labels::{LabelTree, TaskLabels};
use super::lexical::Lexical;
use super::posts::{Post, PostError, parse_posts};
use super::source::{CardError, SourceFile};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::BTreeMap;
use std::io;
use std::sync::OnceLock;

const LABELS: &str = "labels.toml";
const FAMILIES: &str = "families.toml";
const POSTS: &str = "posts.jsonl";

/// Files that are part of the program, by their paths in `knowledge/`.
macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../knowledge/", $name)))),+]
    };
}

/// Sorted by name. A test compares the list with the folder.
const SHIPPED: [(&str, &str); 24] = shipped![
    "families.toml",
    "labels.toml",
    "methods/anomaly-detection.toml",
    "methods/computer-vision.toml",
    "methods/cross-modal.toml",
    "methods/general-machine-learning.toml",
    "methods/graph-learning.toml",
    "methods/natural-language-processing.toml",
    "methods/recommender-systems.toml",
    "methods/reinforcement-learning.toml",
    "methods/security-and-privacy.toml",
    "methods/sequential-modeling.toml",
    "methods/signal-processing.toml",
    "tricks/anomaly-detection.toml",
    "tricks/computer-vision.toml",
    "tricks/cross-modal.toml",
    "tricks/general-machine-learning.toml",
    "tricks/graph-learning.toml",
    "tricks/natural-language-processing.toml",
    "tricks/recommender-systems.toml",
    "tricks/reinforcement-learning.toml",
    "tricks/security-and-privacy.toml",
    "tricks/sequential-modeling.toml",
    "tricks/signal-processing.toml",
];

/// Why a knowledge base cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    /// A file cannot be read.
    #[error("failed to read the knowledge base")]
    Io(#[from] io::Error),
    /// A card, the labels or the families are wrong.
    #[error("{0}")]
    Card(Box<CardError>),
    /// A post is wrong.
    #[error(transparent)]
    Post(#[from] PostError),
    /// A path is no knowledge base.
    #[error(
        "`{path}` is no knowledge base: {what}; give a folder with `labels.toml`, `tricks/` and \
         `methods/`, or a file that `agents knowledge build` wrote"
    )]
    Form {
        /// The path.
        path: Utf8PathBuf,
        /// What is missing.
        what: String,
    },
}

impl From<CardError> for KnowledgeError {
    fn from(error: CardError) -> Self {
        Self::Card(Box::new(error))
    }
}

/// What is ranked for a task: a trick or an imported post.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry<'a> {
    Trick(&'a Trick),
    Post(&'a Post),
}

impl Entry<'_> {
    pub(super) fn id(&self) -> &TrickId {
        match self {
            Self::Trick(trick) => &trick.id,
            Self::Post(post) => &post.id,
        }
    }

    pub(super) fn labels(&self) -> TaskLabels {
        match self {
            Self::Trick(trick) => trick.labels.iter().cloned().collect(),
            Self::Post(post) => post.labels.clone(),
        }
    }

    /// What the descriptions of tasks are compared with.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Trick(trick) => trick.text(),
            Self::Post(post) => post.text(),
        }
    }
}

/// Tricks, methods, posts, labels and families of competitions.
///
/// # Examples
/// ```rust
/// use agents::knowledge::Knowledge;
///
/// let base = Knowledge::shipped();
/// assert!(!base.tricks().is_empty());
/// assert_eq!(base.hash().len(), 64);
/// ```
#[derive(Debug)]
pub struct Knowledge {
    tricks: Vec<Trick>,
    methods: Vec<Method>,
    posts: Vec<Post>,
    labels: LabelTree,
    families: Families,
    hash: String,
    lexical: OnceLock<Lexical>,
    compared_posts: OnceLock<Vec<ComparedPage>>,
}

impl Knowledge {
    /// The base that is part of the program.
    pub fn shipped() -> &'static Self {
        static SHIPPED_BASE: OnceLock<Knowledge> = OnceLock::new();
        SHIPPED_BASE.get_or_init(|| {
            let files = shipped_files();
            Self::from_files(&files).unwrap_or_else(|error| {
                panic!("tests read all files that are shipped, and this build has others: {error}")
            })
        })
    }

    /// The base in a folder of the form above; or the shipped base with the posts of a file
    /// `*.jsonl`, as `agents knowledge build` writes it.
    ///
    /// # Errors
    /// [`KnowledgeError`].
    pub fn read(path: &Utf8Path) -> Result<Self, KnowledgeError> {
        let form =
            |what: &str| KnowledgeError::Form { path: path.to_owned(), what: what.to_owned() };
        if path.is_dir() {
            if !path.join(LABELS).is_file() {
                return Err(form("it has no `labels.toml`"));
            }
            return Self::from_files(&folder_files(path)?);
        }
        if path.extension() != Some("jsonl") {
            fs::metadata(path)?;
            return Err(form("it is neither a folder nor a file `*.jsonl`"));
        }
        let mut files = shipped_files();
        files.insert(path.to_string(), fs::read_to_string(path)?);
        Self::from_files(&files)
    }

    /// The base of these files by their names.
    ///
    /// # Errors
    /// [`KnowledgeError::Card`], [`KnowledgeError::Post`].
    pub(super) fn from_files(files: &BTreeMap<String, String>) -> Result<Self, KnowledgeError> {
        let text = |name: &str| files.get(name).map_or("", String::as_str);
        let labels = LabelTree::parse(LABELS, text(LABELS))?;
        let families = Families::parse(FAMILIES, text(FAMILIES))?;
        let (mut tricks, mut methods, mut posts) = (Vec::new(), Vec::new(), Vec::new());
        for (name, text) in files {
            let source = SourceFile { name, text };
            if name.starts_with("tricks/") {
                let cards = parse_tricks(source, &labels)?;
                tricks.extend(cards.into_iter().map(|card| (source, card)));
            } else if name.starts_with("methods/") {
                let cards = parse_methods(source, &labels)?;
                methods.extend(cards.into_iter().map(|card| (source, card)));
            } else if is_posts(name) {
                posts.extend(parse_posts(name, text, &labels)?);
            }
        }
        check_names(&tricks, &methods)?;
        let mut base = Self {
            tricks: tricks.into_iter().map(|(_, placed)| placed.card).collect(),
            methods: methods.into_iter().map(|(_, placed)| placed.card).collect(),
            posts,
            labels,
            families,
            hash: hash(files),
            lexical: OnceLock::new(),
            compared_posts: OnceLock::new(),
        };
        base.tricks.sort_by(|a, b| a.id.cmp(&b.id));
        base.methods.sort_by(|a, b| a.id.cmp(&b.id));
        base.posts.sort_by(|a, b| a.id.cmp(&b.id));
        base.posts.dedup_by(|a, b| a.id == b.id);
        Ok(base)
    }

    /// BLAKE3 over all files with their names, in hexadecimal. Journals and reports state it.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// All tricks, in the order of their names.
    pub fn tricks(&self) -> &[Trick] {
        &self.tricks
    }

    /// The trick of a name.
    pub fn trick(&self, id: &TrickId) -> Option<&Trick> {
        let at = self.tricks.binary_search_by(|trick| trick.id.cmp(id)).ok()?;
        self.tricks.get(at)
    }

    /// All methods, in the order of their names.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// The method of a name.
    pub fn method(&self, id: &TrickId) -> Option<&Method> {
        let at = self.methods.binary_search_by(|method| method.id.cmp(id)).ok()?;
        self.methods.get(at)
    }

    /// All imported posts, in the order of their names; the shipped base has none.
    pub fn posts(&self) -> &[Post] {
        &self.posts
    }

    /// The post of a name.
    pub fn post(&self, id: &TrickId) -> Option<&Post> {
        let at = self.posts.binary_search_by(|post| post.id.cmp(id)).ok()?;
        self.posts.get(at)
    }

    /// All labels.
    pub fn labels(&self) -> &LabelTree {
        &self.labels
    }

    /// Families of competitions.
    pub fn families(&self) -> &Families {
        &self.families
    }

    /// The lexical embedder that is fitted to the entries of this base.
    pub fn lexical(&self) -> &Lexical {
        self.lexical.get_or_init(|| Lexical::fit(self.entries().iter().map(Entry::text)))
    }

    /// The posts in their order, as the leak check compares them.
    pub(super) fn compared_posts(&self) -> &[ComparedPage] {
        self.compared_posts.get_or_init(|| {
            self.posts.iter().map(|post| ComparedPage::of_post(self.lexical(), post)).collect()
        })
    }

    /// Tricks, then posts.
    pub(super) fn entries(&self) -> Vec<Entry<'_>> {
        let posts = self.posts.iter().map(Entry::Post);
        self.tricks.iter().map(Entry::Trick).chain(posts).collect()
    }
}

/// Checks that no two cards have one name, and that excluded tricks exist.
fn check_names(
    tricks: &[(SourceFile<'_>, Placed<Trick>)],
    methods: &[(SourceFile<'_>, Placed<Method>)],
) -> Result<(), CardError> {
    let mut places: BTreeMap<&TrickId, &str> = BTreeMap::new();
    let of_tricks = tricks.iter().map(|(source, placed)| (source, &placed.card.id, &placed.id));
    let of_methods = methods.iter().map(|(source, placed)| (source, &placed.card.id, &placed.id));
    for (source, id, span) in of_tricks.chain(of_methods) {
        if let Some(other) = places.insert(id, source.name) {
            let message = format!("a card in {other} has the name `{id}` too");
            return Err(source.error(span.clone(), message));
        }
    }
    for (source, placed) in tricks {
        for (id, span) in placed.card.excludes.iter().zip(&placed.excludes) {
            let is_known =
                *id != placed.card.id && tricks.iter().any(|(_, other)| other.card.id == *id);
            if !is_known {
                let message = format!("there is no other trick `{id}`");
                return Err(source.error(span.clone(), message));
            }
        }
    }
    Ok(())
}

/// Whether a file holds posts.
fn is_posts(name: &str) -> bool {
    Utf8Path::new(name).extension() == Some("jsonl")
}

fn shipped_files() -> BTreeMap<String, String> {
    SHIPPED.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// The files of a base in a folder.
fn folder_files(path: &Utf8Path) -> Result<BTreeMap<String, String>, KnowledgeError> {
    let mut files = BTreeMap::new();
    for name in [LABELS, FAMILIES, POSTS] {
        if path.join(name).is_file() {
            files.insert(name.to_owned(), fs::read_to_string(path.join(name))?);
        }
    }
    for folder in ["tricks", "methods"] {
        if !path.join(folder).is_dir() {
            continue;
        }
        for entry in path.join(folder).read_dir_utf8()? {
            let entry = entry?;
            if entry.path().extension() == Some("toml") {
                let name = format!("{folder}/{}", entry.file_name());
                files.insert(name, fs::read_to_string(entry.path())?);
            }
        }
    }
    Ok(files)
}

fn hash(files: &BTreeMap<String, String>) -> String {
    let mut hasher = blake3::Hasher::new();
    for (name, text) in files {
        // The name of a file outside the base is the user's.
        let name = if is_posts(name) { POSTS } else { name };
        for part in [name, text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::fixture::{TREE, files};

    #[test]
    fn shipped_list_is_the_folder() {
        let folder = Utf8Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/knowledge"));
        let read = Knowledge::read(folder).unwrap();
        assert_eq!(read.hash(), Knowledge::shipped().hash(), "a file is missing in `SHIPPED`");
        assert!(SHIPPED.is_sorted());
    }

    #[test]
    fn hash_depends_on_every_file() {
        let base = Knowledge::from_files(&files()).unwrap();
        let mut other = files();
        other.insert("methods/more.toml".to_owned(), "# nothing\n".to_owned());
        assert_ne!(Knowledge::from_files(&other).unwrap().hash(), base.hash());
    }

    #[test]
    fn cards_of_one_name_and_unknown_excludes_are_refused() {
        let mut twice = files();
        let card = twice["tricks/all.toml"].split("\n\n").next().unwrap().to_owned();
        twice.insert("tricks/more.toml".to_owned(), card);
        let error = Knowledge::from_files(&twice).unwrap_err().to_string();
        assert!(
            error.starts_with("tricks/more.toml, line 2, `id`: a card in tricks/all"),
            "{error}"
        );
        let mut unknown = files();
        let text = unknown["tricks/all.toml"].replacen(
            "needs = []",
            "needs = []\nexcludes = [\"nope\"]",
            1,
        );
        unknown.insert("tricks/all.toml".to_owned(), text);
        let error = Knowledge::from_files(&unknown).unwrap_err().to_string();
        assert!(error.contains("there is no other trick `nope`"), "{error}");
    }

    #[test]
    fn read_says_what_a_path_must_hold() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        let error = Knowledge::read(path).unwrap_err().to_string();
        assert!(error.contains("it has no `labels.toml`"), "{error}");
        assert!(matches!(Knowledge::read(&path.join("none.toml")), Err(KnowledgeError::Io(_))));
        fs::write(path.join(LABELS), TREE).unwrap();
        assert!(Knowledge::read(path).unwrap().tricks().is_empty());
        fs::write(path.join("posts.txt"), "").unwrap();
        assert!(matches!(
            Knowledge::read(&path.join("posts.txt")),
            Err(KnowledgeError::Form { .. })
        ));
        fs::write(path.join("mine.jsonl"), "").unwrap();
        let with_posts = Knowledge::read(&path.join("mine.jsonl")).unwrap();
        assert_eq!(with_posts.tricks().len(), Knowledge::shipped().tricks().len());
    }
}
