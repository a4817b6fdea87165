//! Cards: a trick that practitioners use, and a published method.
//!
//! ```toml
//! [[trick]]
//! id = "products-and-ratios"
//! title = "Products and ratios of columns, kept by F value"
//! stage = "features"
//! labels = ["General Machine Learning/Regression"]
//! when = "few numeric columns, trees stall, an interaction is plausible"
//! how = "..."
//! why = "..."
//! risk = "..."
//! cost = "seconds"
//! needs = ["scikit-learn"]
//! excludes = ["polynomial-ridge"]
//! slot = "features"
//! code = """..."""
//! ```

use super::labels::Label;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most words of [`Trick::how`].
pub const TRICK_WORDS: usize = 120;
/// Most lines of [`Snippet::code`] that are not blank.
pub const CODE_LINES: usize = 15;

/// The name of a card or of an imported post: small letters, digits and single hyphens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TrickId(String);

/// A text that cannot be the name of a card.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name of small letters, digits and single hyphens, such as `a-name-2`")]
pub struct TrickIdError(String);

impl TrickId {
    /// The name in `text`.
    ///
    /// # Errors
    /// [`TrickIdError`] if it is not kebab-case.
    ///
    /// # Examples
    /// ```rust
    /// use agents::knowledge::TrickId;
    ///
    /// assert_eq!(TrickId::new("target-mean-2")?.as_str(), "target-mean-2");
    /// assert!(TrickId::new("Target mean").is_err() && TrickId::new("a--b").is_err());
    /// # Ok::<(), agents::knowledge::TrickIdError>(())
    /// ```
    pub fn new(text: impl Into<String>) -> Result<Self, TrickIdError> {
        let text = text.into();
        let fits = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        if text.split('-').all(fits) { Ok(Self(text)) } else { Err(TrickIdError(text)) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TrickId {
    type Error = TrickIdError;

    fn try_from(text: String) -> Result<Self, TrickIdError> {
        Self::new(text)
    }
}

impl From<TrickId> for String {
    fn from(id: TrickId) -> Self {
        id.0
    }
}

impl fmt::Display for TrickId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The part of a solution that a trick is about, in the order of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Reading items: pictures, sounds, texts, graphs.
    Read,
    /// Gaps, outliers, types.
    Clean,
    /// Which rows validate.
    Split,
    /// Columns made of columns.
    Features,
    /// Another form of the target.
    Target,
    /// The estimator.
    Model,
    /// How it is fitted.
    Train,
    /// How it is measured.
    Validate,
    /// What is done to predictions.
    Post,
}

impl Stage {
    /// All stages, in the order of a script.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::Clean,
        Self::Split,
        Self::Features,
        Self::Target,
        Self::Model,
        Self::Train,
        Self::Validate,
        Self::Post,
    ];

    /// The name as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Clean => "clean",
            Self::Split => "split",
            Self::Features => "features",
            Self::Target => "target",
            Self::Model => "model",
            Self::Train => "train",
            Self::Validate => "validate",
            Self::Post => "post",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The place in a script at which a snippet stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    /// Items become columns of numbers of `x`. One at a time.
    Read,
    /// `x` still has words, gaps and dates.
    Clean,
    /// `x` holds numbers without gaps.
    Features,
    /// Changes `y` and sets `undo`. One at a time.
    Target,
    /// Sets `m`. One at a time.
    Model,
    /// Changes `p` and `o` alike.
    Post,
    /// Makes `s` from the items, where boxes, masks or pixels are asked for. One at a time.
    Draw,
}

impl Slot {
    /// All slots, in the order of a script.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Clean,
        Self::Features,
        Self::Target,
        Self::Model,
        Self::Post,
        Self::Draw,
    ];

    /// The slot of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|slot| slot.name() == name)
    }

    /// The name as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Clean => "clean",
            Self::Features => "features",
            Self::Target => "target",
            Self::Model => "model",
            Self::Post => "post",
            Self::Draw => "draw",
        }
    }

    /// Whether a script has at most one snippet of this slot.
    pub fn is_single(self) -> bool {
        matches!(self, Self::Read | Self::Target | Self::Model | Self::Draw)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a trick costs on a small task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardCost {
    /// Seconds on one core.
    Seconds,
    /// Minutes on one core.
    Minutes,
    /// Needs a GPU to be worth it.
    Gpu,
}

impl CardCost {
    /// The name as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Minutes => "minutes",
            Self::Gpu => "gpu",
        }
    }
}

impl fmt::Display for CardCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Code that carries a trick out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snippet {
    /// Where it stands in a script.
    pub slot: Slot,
    /// Python over the variables of the slot, at most [`CODE_LINES`] lines.
    pub code: String,
}

/// A trick of practitioners.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trick {
    /// Unique in a knowledge base; shown to models.
    pub id: TrickId,
    /// What it is, in a line.
    pub title: String,
    /// The part of a solution that it is about.
    pub stage: Stage,
    /// The tasks that it is for, at least one, all of the label tree.
    pub labels: Vec<Label>,
    /// The signs that it may help.
    pub when: String,
    /// What to do, at most [`TRICK_WORDS`] words.
    pub how: String,
    /// Why it helps, in one sentence.
    pub why: String,
    /// When it hurts.
    pub risk: String,
    /// What it costs.
    pub cost: CardCost,
    /// Packages that it imports, as pip names them.
    pub needs: Vec<String>,
    /// Tricks that it does not go with.
    pub excludes: Vec<TrickId>,
    /// Code, if there is any.
    pub snippet: Option<Snippet>,
}

impl Trick {
    /// What the descriptions of tasks are compared with.
    pub(super) fn text(&self) -> String {
        format!("{}. {}. {}", self.title, self.when, self.how)
    }

    /// All that people and models read of it.
    pub(super) fn prose(&self) -> [&str; 5] {
        [&self.title, &self.when, &self.how, &self.why, &self.risk]
    }
}

/// A published method, in our words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Method {
    /// Unique among methods and tricks.
    pub id: TrickId,
    /// Title of the paper.
    pub title: String,
    /// Its authors.
    pub authors: String,
    /// Where it was published.
    pub venue: String,
    /// When, 1900 to 2100.
    pub year: u16,
    /// The tasks that it is for, at least one, all of the label tree.
    pub labels: Vec<Label>,
    /// The problem that it solves.
    pub task: String,
    /// The data that it takes.
    pub data: String,
    /// Where it is used.
    pub domain: String,
    /// The part of a solution that it is about.
    pub phase: String,
    /// How it works.
    pub idea: String,
    /// What it needs.
    pub inputs: String,
    /// When it is worth trying.
    pub when: String,
}

impl Method {
    /// All that people and models read of it.
    pub(super) fn prose(&self) -> [&str; 8] {
        let Self { title, task, data, domain, phase, idea, inputs, when, .. } = self;
        [title, task, data, domain, phase, idea, inputs, when]
    }
}
