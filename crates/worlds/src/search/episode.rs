//! An episode: searches and one answer.

use super::encyclopedia::Encyclopedia;
use super::judge::{SetRule, is_correct};
use super::question::{Asked, SearchQuestion};
use crate::kind::{Answer, Episode};
use agents::trajectory::EnvironmentVerdict;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

/// An episode on one question.
#[derive(Debug)]
pub struct SearchEpisode<'a> {
    encyclopedia: &'a Encyclopedia,
    question: &'a SearchQuestion,
    rule: SetRule,
    answer: Option<String>,
    searches: usize,
}

impl<'a> SearchEpisode<'a> {
    /// Before the first turn; sets are judged strictly.
    pub fn new(encyclopedia: &'a Encyclopedia, question: &'a SearchQuestion) -> Self {
        Self { encyclopedia, question, rule: SetRule::Strict, answer: None, searches: 0 }
    }

    /// The same with another rule for sets.
    #[must_use]
    pub fn with_rule(self, rule: SetRule) -> Self {
        Self { rule, ..self }
    }

    /// A search or an answer with some name.
    pub(super) fn random(&self, rng: &mut ChaCha8Rng) -> String {
        let name = self.encyclopedia.entities().choose(rng).map_or("", |entity| &entity.name);
        let verb = if rng.random_bool(0.5) { "search" } else { "answer" };
        format!("{verb}[{name}]")
    }
}

impl Episode for SearchEpisode<'_> {
    fn respond(&mut self, text: &str) -> Answer {
        let line = text.trim().lines().next().unwrap_or_default().trim();
        let argument = |verb: &str| {
            let (found, rest) = line.split_once('[')?;
            found.trim().eq_ignore_ascii_case(verb).then(|| rest.strip_suffix(']'))?
        };
        let (observation, understood) = if let Some(query) = argument("search") {
            self.searches += 1;
            (self.encyclopedia.search(query), true)
        } else if let Some(answer) = argument("answer") {
            self.answer = Some(answer.to_owned());
            (String::new(), true)
        } else {
            ("Write search[words] or answer[answer].".to_owned(), false)
        };
        Answer { observation, understood, thought: false, over: self.answer.is_some() }
    }

    fn verdict(&self) -> EnvironmentVerdict {
        let gold = &self.question.answers;
        let given = self.answer.as_deref();
        let is_right = given.is_some_and(|answer| is_correct(gold, answer, self.rule));
        let score = if is_right { 1.0 } else { 0.0 };
        let kind = match self.question.asked {
            Asked::Name => "name",
            Asked::Year => "year",
            Asked::Subjects(_) => "set",
        };
        let mut tags = vec![kind.to_owned(), format!("hops_{}", self.question.hops())];
        match given {
            None => tags.push("no_answer".to_owned()),
            Some(answer) if !is_right => {
                let has_all = is_correct(gold, answer, SetRule::Containment);
                tags.push(if has_all { "too_many" } else { "wrong" }.to_owned());
            }
            Some(_) => {}
        }
        let detail = json!({"answer": given, "gold": gold, "searches": self.searches});
        EnvironmentVerdict { reward: score, score, tags, detail }
    }
}
