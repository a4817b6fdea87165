//! Labels: a hard one for a field of machine learning, soft ones for kinds of tasks within it.

use super::source::{CardError, SourceFile};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use toml::Spanned;

/// The hard label of tasks that no other hard label fits.
pub const GENERAL: &str = "General Machine Learning";

/// A soft label below a hard one, written `Hard Label/Soft Label`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label {
    /// The field.
    pub hard: String,
    /// The kind of task within it.
    pub soft: String,
}

/// A text that is not of the form `Hard Label/Soft Label`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not of the form `Hard Label/Soft Label`")]
pub struct LabelFormError(String);

impl FromStr for Label {
    type Err = LabelFormError;

    fn from_str(text: &str) -> Result<Self, LabelFormError> {
        let wrong = || LabelFormError(text.to_owned());
        let (hard, soft) = text.split_once('/').ok_or_else(wrong)?;
        let is_name = |part: &str| !part.is_empty() && part.trim() == part && !part.contains('/');
        if !is_name(hard) || !is_name(soft) {
            return Err(wrong());
        }
        Ok(Self { hard: hard.to_owned(), soft: soft.to_owned() })
    }
}

impl TryFrom<String> for Label {
    type Error = LabelFormError;

    fn try_from(text: String) -> Result<Self, LabelFormError> {
        text.parse()
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.to_string()
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.hard, self.soft)
    }
}

/// All hard labels in the order of the file, each with its soft ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelTree {
    labels: Vec<HardLabel>,
}

/// A hard label with its soft ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardLabel {
    /// The field.
    pub name: String,
    /// Kinds of tasks within it, in the order of the file.
    pub soft: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelsFile {
    label: Vec<LabelFields>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelFields {
    hard: Spanned<String>,
    soft: Vec<Spanned<String>>,
}

impl LabelTree {
    /// Reads `labels.toml`.
    ///
    /// # Errors
    /// [`CardError`] if it is malformed, a label stands there twice or is no name.
    ///
    /// # Examples
    /// ```rust
    /// use agents::knowledge::LabelTree;
    ///
    /// let text = "[[label]]\nhard = \"Graph Learning\"\nsoft = [\"Link Prediction\"]\n";
    /// let tree = LabelTree::parse("labels.toml", text)?;
    /// assert!(tree.contains(&"Graph Learning/Link Prediction".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Self, CardError> {
        let source = SourceFile { name, text };
        let file: LabelsFile = toml::from_str(text).map_err(|error| source.malformed(&error))?;
        let mut seen = BTreeSet::new();
        let mut labels = Vec::new();
        for LabelFields { hard, soft } in file.label {
            let name = hard.get_ref().clone();
            if !seen.insert(name.clone()) {
                let message = format!("the hard label `{name}` stands here twice");
                return Err(source.error(hard.span(), message));
            }
            let mut names: Vec<String> = Vec::new();
            for label in soft {
                let text = format!("{name}/{}", label.get_ref());
                if let Err(error) = text.parse::<Label>() {
                    return Err(source.error(label.span(), error.to_string()));
                }
                if names.contains(label.get_ref()) {
                    let message = format!("the label `{text}` stands here twice");
                    return Err(source.error(label.span(), message));
                }
                names.push(label.into_inner());
            }
            labels.push(HardLabel { name, soft: names });
        }
        Ok(Self { labels })
    }

    /// All hard labels with their soft ones.
    pub fn hard(&self) -> &[HardLabel] {
        &self.labels
    }

    /// The soft labels of a hard one; empty for an unknown one.
    pub fn soft(&self, hard: &str) -> &[String] {
        self.labels.iter().find(|label| label.name == hard).map_or(&[], |label| &label.soft)
    }

    /// Whether the tree has a label.
    pub fn contains(&self, label: &Label) -> bool {
        self.soft(&label.hard).contains(&label.soft)
    }

    /// The label whose name is most like that of one that the tree does not have; `None` if no name
    /// is much like it.
    pub fn nearest(&self, label: &Label) -> Option<Label> {
        let asked = label.to_string();
        let all = self.labels.iter().flat_map(|hard| {
            let of = |soft: &String| Label { hard: hard.name.clone(), soft: soft.clone() };
            hard.soft.iter().map(of)
        });
        let alike = all.map(|known| (strsim::jaro_winkler(&asked, &known.to_string()), known));
        alike.filter(|(alike, _)| *alike > 0.9).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, l)| l)
    }

    /// The hard label of the name, whatever its capital letters.
    pub(super) fn find_hard(&self, name: &str) -> Option<&str> {
        let name = name.trim();
        let known = self.labels.iter().find(|label| label.name.eq_ignore_ascii_case(name))?;
        Some(&known.name)
    }

    /// The soft label of the name, whatever its capital letters.
    pub(super) fn find_soft(&self, hard: &str, name: &str) -> Option<&str> {
        let name = name.trim();
        self.soft(hard).iter().find(|soft| soft.eq_ignore_ascii_case(name)).map(String::as_str)
    }
}

/// The labels of a task or a post: hard ones, each with the soft ones that hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskLabels(BTreeMap<String, BTreeSet<String>>);

impl TaskLabels {
    /// Whether one of `labels` is among these, soft label and all.
    pub fn has_any(&self, labels: &[Label]) -> bool {
        labels
            .iter()
            .any(|label| self.soft(&label.hard).is_some_and(|soft| soft.contains(&label.soft)))
    }

    /// Adds a label.
    pub fn insert(&mut self, label: Label) {
        self.0.entry(label.hard).or_default().insert(label.soft);
    }

    /// Adds a hard label without a soft one.
    pub fn insert_hard(&mut self, hard: impl Into<String>) {
        self.0.entry(hard.into()).or_default();
    }

    /// Hard labels with their soft ones, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        self.0.iter().map(|(hard, soft)| (hard.as_str(), soft))
    }

    /// The soft labels of a hard one; `None` if that does not hold.
    pub fn soft(&self, hard: &str) -> Option<&BTreeSet<String>> {
        self.0.get(hard)
    }

    /// The hard labels, in the order of their names.
    pub fn hard(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Label> for TaskLabels {
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        let mut all = Self::default();
        labels.into_iter().for_each(|label| all.insert(label));
        all
    }
}

impl fmt::Display for TaskLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (hard, soft)) in self.iter().enumerate() {
            let soft: Vec<&str> = soft.iter().map(String::as_str).collect();
            let (gap, soft) = (if index > 0 { "; " } else { "" }, soft.join(", "));
            write!(f, "{gap}{hard}: {}", if soft.is_empty() { "-" } else { &soft })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::fixture::TREE;

    #[test]
    fn tree_finds_labels_and_near_misses() {
        let tree = LabelTree::parse("labels.toml", TREE).unwrap();
        let label = |text: &str| text.parse::<Label>().unwrap();
        assert!(tree.contains(&label("General Machine Learning/Regression")));
        assert!(!tree.contains(&label("Graph Learning/Regression")));
        let near = tree.nearest(&label("General Machine Learning/Regresion")).unwrap();
        assert_eq!(near.soft, "Regression");
        assert_eq!(tree.nearest(&label("x/y")), None);
        assert_eq!(tree.find_hard("graph learning"), Some("Graph Learning"));
        assert_eq!(tree.find_soft("Graph Learning", " link prediction"), Some("Link Prediction"));
        for wrong in ["a", "a/", "/b", "a/b/c", "a / b"] {
            assert!(wrong.parse::<Label>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn label_that_stands_twice_is_refused() {
        let twice = TREE.replace("\"Link Prediction\"", "\"Node Classification\"");
        let error = LabelTree::parse("labels.toml", &twice).unwrap_err();
        assert!(error.message.contains("stands here twice"), "{error}");
    }

    #[test]
    fn labels_of_a_task_are_printed_by_field() {
        let labels: TaskLabels = ["B/z", "A/y", "A/x"].iter().map(|l| l.parse().unwrap()).collect();
        assert_eq!(labels.to_string(), "A: x, y; B: z");
        let json = serde_json::to_string(&labels).unwrap();
        assert_eq!(json, r#"{"A":["x","y"],"B":["z"]}"#);
    }
}
