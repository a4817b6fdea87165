//! `arithmetic`: word problems with worked steps, after the pattern of GSM8K.
//!
//! `scene + story -> expression graph -> question, worked steps, answer`
//!
//! A problem is one answer to one prompt. It is right if the last number in it, before any new
//! `Question:`, is the answer.

mod draw;
mod expression;
mod extract;
mod prompt;
mod scene;
mod story;
#[cfg(test)]
mod tests;

pub use extract::{last_number, matches_answer};

use crate::generate::as_text;
use crate::grams::{GRAM, words};
use crate::kind::{Answer, Episode, Kind, Outline, Scale, Sizes};
use crate::part::Part;
use crate::spec::{Limits, TaskKind};
use agents::prompt::Prompt;
use agents::trajectory::EnvironmentVerdict;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tasks::stream::Stream;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArithmeticItem {
    /// The problem in words.
    pub question: String,
    /// Worked steps, each with its sum as `<<a+b=c>>`, and the answer behind `####`.
    pub answer: String,
    /// The answer.
    pub number: i64,
    /// Steps of the solution.
    pub steps: usize,
    /// The story without names: its scene, its events and their numbers.
    pub story: Vec<String>,
}

/// The kind `arithmetic`.
#[derive(Debug)]
pub struct Arithmetic;

/// An episode: one answer.
#[derive(Debug)]
pub struct ArithmeticEpisode<'a> {
    item: &'a ArithmeticItem,
    found: Option<String>,
    is_over: bool,
}

impl Episode for ArithmeticEpisode<'_> {
    fn respond(&mut self, text: &str) -> Answer {
        self.found = last_number(text).map(str::to_owned);
        self.is_over = true;
        Answer {
            observation: String::new(),
            understood: self.found.is_some(),
            thought: false,
            over: true,
        }
    }

    fn verdict(&self) -> EnvironmentVerdict {
        let number = self.item.number;
        let is_right = self.found.as_deref().is_some_and(|found| matches_answer(found, number));
        let score = if is_right { 1.0 } else { 0.0 };
        let mut tags = vec![format!("steps_{}", self.item.steps)];
        match (&self.found, is_right) {
            (_, true) => {}
            (Some(_), false) => tags.push("wrong".to_owned()),
            (None, false) if self.is_over => tags.push("format".to_owned()),
            (None, false) => tags.push("empty".to_owned()),
        }
        let detail = json!({"answer": number, "found": self.found});
        EnvironmentVerdict { reward: score, score, tags, detail }
    }
}

impl Kind for Arithmetic {
    type Item = ArithmeticItem;
    type Ground = ();
    type Episode<'a> = ArithmeticEpisode<'a>;

    const NAME: &'static str = "arithmetic";
    const VERSION: u32 = 1;

    fn outline(scale: Scale) -> Outline {
        let (sizes, limits) = match scale {
            Scale::Tiny => (
                Sizes { train: 2000, dev: 200, test: 400 },
                Limits { turns: 1, turn_tokens: 96, context: 768 },
            ),
            Scale::Full => (
                Sizes { train: 7473, dev: 500, test: 1319 },
                Limits { turns: 1, turn_tokens: 512, context: 4096 },
            ),
        };
        Outline {
            level: 1,
            kind: TaskKind::Static,
            objective: "Solve a word problem about whole numbers.",
            output: "worked steps, then the answer as the last number",
            metric: "accuracy",
            limits,
            sizes,
            forbidden: &["oracle", "sealed"],
        }
    }

    fn describe(scale: Scale) -> String {
        prompt::description(&Self::outline(scale))
    }

    fn ground(_: Scale, _: Stream) {}

    fn draw((): &(), _: Part, scale: Scale, stream: Stream) -> Option<ArithmeticItem> {
        draw::draw(scale, stream)
    }

    fn key(item: &ArithmeticItem) -> String {
        as_text(&item.story)
    }

    fn evidence((): &(), item: &ArithmeticItem) -> String {
        // The last window of a copy of the problem with its solution ends with the answer.
        let words = words(&format!("{} {}", item.question, item.answer));
        words[words.len().saturating_sub(GRAM)..].join(" ")
    }

    fn prompt((): &(), item: &ArithmeticItem, scale: Scale) -> Prompt {
        prompt::prompt(item, scale)
    }

    fn question((): &(), item: &ArithmeticItem, _: Scale) -> String {
        prompt::question(item)
    }

    fn open<'a>((): &'a (), item: &'a ArithmeticItem) -> ArithmeticEpisode<'a> {
        ArithmeticEpisode { item, found: None, is_over: false }
    }

    fn solve((): &(), item: &ArithmeticItem) -> Vec<String> {
        vec![item.answer.clone()]
    }

    fn random(_: &ArithmeticEpisode<'_>, rng: &mut ChaCha8Rng) -> String {
        format!("#### {}", rng.random_range(0..100))
    }

    fn render((): &(), item: &ArithmeticItem) -> String {
        format!("{}\n{}", item.question, item.answer)
    }
}
