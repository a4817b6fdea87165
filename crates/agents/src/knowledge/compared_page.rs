//! Descriptions as the leak check compares them.

use super::lexical::{Lexical, SparseVector, dot};
use super::posts::Post;
use super::statement::{prose, statement};
use super::words::{runs, words};
use std::collections::BTreeSet;

/// Words of a run.
pub(super) const RUN: usize = 8;

/// A description in the forms in which it is compared. In a page with its paragraphs in another order,
/// headings say nothing of what stands below them, so that the prose of either is held against all of
/// the other.
#[derive(Debug)]
pub(super) struct ComparedPage {
    whole: SparseVector,
    prose: SparseVector,
    statement: SparseVector,
    whole_words: Vec<String>,
    prose_words: Vec<String>,
}

impl ComparedPage {
    pub(super) fn new(lexical: &Lexical, description: &str, statement: &str) -> Self {
        let prose = prose(description);
        Self {
            whole: lexical.vector(description),
            prose: lexical.vector(&prose),
            statement: lexical.vector(statement),
            whole_words: words(description),
            prose_words: words(&prose),
        }
    }

    /// Of an imported post.
    pub(super) fn of_post(lexical: &Lexical, post: &Post) -> Self {
        Self::new(lexical, &post.introduction, &statement(&post.introduction))
    }

    /// The largest cosine of two forms, 0 to 1.
    pub(super) fn cosine(&self, other: &Self) -> f64 {
        let pairs = [
            (&self.prose, &other.prose),
            (&self.whole, &other.prose),
            (&self.prose, &other.whole),
            (&self.statement, &other.statement),
        ];
        pairs.iter().map(|(a, b)| dot(a, b)).fold(0.0, f64::max)
    }

    /// The runs that both have and that do not overlap: one stock phrase of twelve words is one run of
    /// eight, not five. The larger count of both directions.
    pub(super) fn shared_runs<'a>(&'a self, other: &'a Self) -> Vec<&'a [String]> {
        let shared = |ours: &'a [String], theirs: &'a [String]| {
            let theirs = runs(theirs, RUN);
            let (mut shared, mut at) = (BTreeSet::new(), 0);
            while let Some(run) = ours.get(at..at + RUN) {
                let is_shared = theirs.contains(run);
                at += if is_shared { RUN } else { 1 };
                if is_shared {
                    shared.insert(run);
                }
            }
            shared
        };
        let whole = shared(&self.whole_words, &other.prose_words);
        let prose = shared(&self.prose_words, &other.whole_words);
        if whole.len() >= prose.len() { whole } else { prose }.into_iter().collect()
    }
}
