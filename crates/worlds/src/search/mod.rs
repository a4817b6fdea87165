//! `search`: a fictional encyclopedia and questions over several pages, after the pattern of
//! DeepSearchQA.
//!
//! `question -> (search[…] -> snippets)* -> answer[…] -> right or not`
//!
//! The index is closed, so the same search gives the same snippets for ever. A question walks two
//! to four relations, and its answer is one name or year, or a set of names.

mod encyclopedia;
mod episode;
mod judge;
mod names;
mod prompt;
mod question;
mod relation;
#[cfg(test)]
mod tests;

pub use encyclopedia::{Encyclopedia, Entity, EntityKind};
pub use episode::SearchEpisode;
pub use judge::{SetRule, is_correct};
pub use question::{Asked, SearchQuestion};
pub use relation::Relation;

use crate::kind::{Kind, Outline, Scale, Sizes};
use crate::part::Part;
use crate::spec::{Limits, TaskKind};
use agents::prompt::Prompt;
use rand_chacha::ChaCha8Rng;
use tasks::stream::Stream;

/// The kind `search`.
#[derive(Debug)]
pub struct Search;

impl Kind for Search {
    type Item = SearchQuestion;
    type Ground = Encyclopedia;
    type Episode<'a> = SearchEpisode<'a>;

    const NAME: &'static str = "search";
    const VERSION: u32 = 2;

    fn outline(scale: Scale) -> Outline {
        let (sizes, limits) = match scale {
            Scale::Tiny => (
                Sizes { train: 300, dev: 60, test: 200 },
                Limits { turns: 6, turn_tokens: 64, context: 1536 },
            ),
            Scale::Full => (
                Sizes { train: 100, dev: 100, test: 200 },
                Limits { turns: 6, turn_tokens: 256, context: 8192 },
            ),
        };
        Outline {
            level: 3,
            kind: TaskKind::Interactive,
            objective: "Answer a question with the help of a search in an encyclopedia.",
            output: "one action a turn, on a line of its own: search[words] or answer[answer]",
            metric: "accuracy",
            limits,
            sizes,
            forbidden: &["oracle", "sealed", "gold_answer"],
        }
    }

    fn describe(scale: Scale) -> String {
        prompt::description(&Self::outline(scale))
    }

    fn ground(scale: Scale, stream: Stream) -> Encyclopedia {
        encyclopedia::draw(scale, stream)
    }

    fn draw(ground: &Encyclopedia, part: Part, _: Scale, stream: Stream) -> Option<SearchQuestion> {
        question::draw(ground, part, stream)
    }

    fn key(item: &SearchQuestion) -> String {
        item.question.clone()
    }

    fn evidence(_: &Encyclopedia, item: &SearchQuestion) -> String {
        let words = crate::grams::words(&format!("{} {}", item.question, item.answers.join(" ")));
        words[words.len().saturating_sub(crate::grams::GRAM)..].join(" ")
    }

    fn prompt(_: &Encyclopedia, item: &SearchQuestion, _: Scale) -> Prompt {
        prompt::prompt(item)
    }

    fn open<'a>(ground: &'a Encyclopedia, item: &'a SearchQuestion) -> SearchEpisode<'a> {
        SearchEpisode::new(ground, item)
    }

    fn solve(ground: &Encyclopedia, item: &SearchQuestion) -> Vec<String> {
        item.walk(ground)
    }

    fn expert(ground: &Encyclopedia, item: &SearchQuestion) -> Vec<String> {
        item.expert(ground)
    }

    fn random(episode: &SearchEpisode<'_>, rng: &mut ChaCha8Rng) -> String {
        episode.random(rng)
    }

    fn render(_: &Encyclopedia, item: &SearchQuestion) -> String {
        format!("{}\n  {}", item.question, item.answers.join("; "))
    }
}
