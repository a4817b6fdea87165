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

/// What a line asks for.
enum Action<'a> {
    Search(&'a str),
    Answer(&'a str),
}

impl<'a> Action<'a> {
    /// `None` if the line is no action.
    fn read(line: &'a str) -> Option<Self> {
        let (verb, rest) = line.trim().split_once('[')?;
        let (verb, argument) = (verb.trim(), rest.strip_suffix(']')?);
        if verb.eq_ignore_ascii_case("search") {
            return Some(Self::Search(argument));
        }
        verb.eq_ignore_ascii_case("answer").then_some(Self::Answer(argument))
    }
}

impl Episode for SearchEpisode<'_> {
    fn respond(&mut self, text: &str) -> Answer {
        // What stands before the first action is a thought.
        let (observation, understood) = match text.lines().find_map(Action::read) {
            Some(Action::Search(query)) => {
                self.searches += 1;
                (self.encyclopedia.search(query), true)
            }
            Some(Action::Answer(answer)) => {
                self.answer = Some(answer.to_owned());
                (String::new(), true)
            }
            None => {
                ("Write search[words] or answer[answer] on a line of its own.".to_owned(), false)
            }
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
