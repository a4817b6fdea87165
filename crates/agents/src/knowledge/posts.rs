//! Posts of practitioners that users import: the entries of AutoMind's knowledge base, one JSON
//! object a line, with the competition or paper that each comes from.
//!
//! ```json
//! {"title": "...", "introduction": "...", "tags": {"Hard Label": ["Soft Label"]},
//!  "solutions": {"1st place": "..."}, "origin": "a-competition"}
//! ```

use super::card::TrickId;
use super::labels::{LabelTree, TaskLabels};
use super::statement::statement;
use super::words::slug;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An imported post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// `post-` and the first 12 digits of the BLAKE3 of its origin, title and solutions.
    pub id: TrickId,
    /// Id of the competition or DOI of the paper that it comes from. The leak check goes by it.
    pub origin: String,
    /// Title, usually the competition's.
    pub title: String,
    /// The competition's description.
    pub introduction: String,
    /// Its labels; empty if nobody has labelled it.
    pub labels: TaskLabels,
    /// Texts of solutions by their names.
    pub solutions: BTreeMap<String, String>,
}

/// A post as it is in a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PostLine {
    title: String,
    introduction: String,
    #[serde(default)]
    tags: TaskLabels,
    solutions: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
}

/// Why posts cannot be imported.
#[derive(Debug, thiserror::Error)]
#[error("{file}, line {line}: {what}")]
pub struct PostError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what is expected.
    pub what: String,
}

impl Post {
    /// What the descriptions of tasks are compared with.
    pub(super) fn text(&self) -> String {
        format!("{}. {}", self.title, statement(&self.introduction))
    }

    /// The line of a file.
    ///
    /// # Errors
    /// Never in practice: all keys are texts.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        let Self { id: _, origin, title, introduction, labels, solutions } = self.clone();
        let origin = Some(origin);
        let line = PostLine { title, introduction, tags: labels, solutions, origin };
        Ok(serde_json::to_string(&line)? + "\n")
    }
}

/// Reads posts, one a line. Labels get the capital letters of the tree; an unknown hard label is an
/// error, an unknown soft one is kept, as models may use words of their own. A post without an
/// origin gets its title in the form of an id.
///
/// # Errors
/// [`PostError`].
pub fn parse_posts(file: &str, text: &str, tree: &LabelTree) -> Result<Vec<Post>, PostError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            post(line, tree).map_err(|what| PostError {
                file: file.to_owned(),
                line: index + 1,
                what,
            })
        })
        .collect()
}

fn post(line: &str, tree: &LabelTree) -> Result<Post, String> {
    let read: PostLine = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let PostLine { title, introduction, tags, solutions, origin } = read;
    if title.trim().is_empty() || introduction.trim().is_empty() {
        return Err("`title` and `introduction` have a text".to_owned());
    }
    if !solutions.values().any(|text| !text.trim().is_empty()) {
        return Err("`solutions` has at least one with a text".to_owned());
    }
    let origin = origin.map_or_else(|| slug(&title), |origin| origin.trim().to_owned());
    if origin.is_empty() {
        return Err(
            "add `origin`, the id of the competition or the DOI of the paper: the leak check goes \
             by it, and the title is no name"
                .to_owned(),
        );
    }
    let labels = known(&tags, tree)?;
    let mut hasher = blake3::Hasher::new();
    let texts = solutions.iter().flat_map(|(name, text)| [name, text]);
    for part in [&origin, &title].into_iter().chain(texts) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let id = format!("post-{}", &hasher.finalize().to_hex()[..12]);
    let id = TrickId::new(id).expect("hexadecimal digits are small letters");
    Ok(Post { id, origin, title, introduction, labels, solutions })
}

/// Labels in the tree's capital letters.
fn known(tags: &TaskLabels, tree: &LabelTree) -> Result<TaskLabels, String> {
    let mut labels = TaskLabels::default();
    for (hard, soft) in tags.iter() {
        let Some(hard) = tree.find_hard(hard) else {
            let names: Vec<&str> = tree.hard().iter().map(|hard| hard.name.as_str()).collect();
            return Err(format!(
                "`tags`: there is no hard label `{hard}`; one of {}",
                names.join(", ")
            ));
        };
        labels.insert_hard(hard);
        for soft in soft {
            let soft = tree.find_soft(hard, soft).unwrap_or(soft.trim());
            labels.insert(super::labels::Label { hard: hard.to_owned(), soft: soft.to_owned() });
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::fixture::TREE;

    const LINE: &str = r#"{"title":"Dogs vs. Cats","introduction":"Tell dogs from cats.","tags":{"graph learning":["link prediction","own words"]},"solutions":{"1st":"A net."}}"#;

    fn parse(text: &str) -> Result<Vec<Post>, String> {
        let tree = LabelTree::parse("labels.toml", TREE).unwrap();
        parse_posts("posts.jsonl", text, &tree).map_err(|error| error.to_string())
    }

    #[test]
    fn post_gets_an_origin_and_goes_round() {
        let posts = parse(&format!("{LINE}\n\n")).unwrap();
        let [post] = posts.as_slice() else { panic!("one post") };
        assert_eq!(post.origin, "dogs-vs-cats");
        assert_eq!(post.labels.to_string(), "Graph Learning: Link Prediction, own words");
        assert_eq!(parse(&post.to_line().unwrap()).unwrap(), posts);
    }

    #[test]
    fn wrong_posts_are_refused_with_their_line() {
        let said = |from: &str, to: &str| {
            parse(&format!("{LINE}\n{}", LINE.replace(from, to))).unwrap_err()
        };
        assert!(said("Tell dogs from cats.", " ").starts_with("posts.jsonl, line 2: `title` and"));
        assert!(said("A net.", "").contains("`solutions` has at least one"));
        assert!(said("\"title\"", "\"name\"").contains("unknown field `name`"));
        assert!(said("graph learning", "Nope").contains("no hard label `Nope`; one of"));
        assert!(said("Dogs vs. Cats", "狗").contains("add `origin`"));
        assert!(said("{\"title", "{{\"title").contains("column"));
    }
}
