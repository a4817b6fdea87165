//! `programs`: functions to write from a docstring with examples, after the pattern of HumanEval.
//!
//! `family + parameters -> signature, docstring, solution, tests -> program -> results of its calls`
//!
//! A family has one text in Python and one function in this crate. The results of examples and
//! tests come from the function here, so generation starts no process; tests compare it with the
//! text in a real Python. The two know nothing of each other: where they disagree, one is wrong.

mod completion;
mod dictionaries;
mod draw;
mod episode;
mod family;
mod integers;
mod lists;
mod prompt;
mod script;
mod strings;
#[cfg(test)]
mod tests;
mod value;

pub use completion::program_of;
pub use episode::ProgramEpisode;
pub use value::Value;

use crate::generate::as_text;
use crate::kind::{Kind, Outline, Scale, Sizes};
use crate::part::Part;
use crate::runner::ProgramRules;
use crate::spec::{Limits, TaskKind};
use agents::prompt::Prompt;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use tasks::stream::Stream;

/// One function to write. `prompt`, `entry_point` and `canonical_solution` are as in HumanEval's
/// files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramItem {
    /// `integers`, `strings`, `lists` or `dictionaries`.
    pub topic: String,
    /// Name of the family.
    pub family: String,
    /// The constants in the function; of words and choices the positions.
    pub parameters: Vec<i64>,
    /// Whether training has no function of this family.
    pub is_new_family: bool,
    /// Signature and docstring.
    pub prompt: String,
    /// Name of the function.
    pub entry_point: String,
    /// The body of a right function, indented.
    pub canonical_solution: String,
    /// What is called, and what must come out.
    pub tests: Vec<ProgramTest>,
}

/// A call and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramTest {
    /// The arguments, in their order.
    pub arguments: Vec<Value>,
    /// What the function returns.
    pub result: Value,
}

impl ProgramTest {
    /// The call as Python writes it.
    pub fn call(&self, name: &str) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(Value::to_string).collect();
        format!("{name}({})", arguments.join(", "))
    }
}

impl ProgramItem {
    /// A right answer: the whole function without its docstring.
    pub fn solution(&self) -> String {
        let signature = self.prompt.lines().next().unwrap_or_default();
        format!("{signature}\n{}", self.canonical_solution)
    }

    /// The tests as a function `check`, as HumanEval's files have them.
    pub fn check(&self) -> String {
        let line = |test: &ProgramTest| {
            format!("    assert {} == {}\n", test.call("candidate"), test.result)
        };
        let lines: String = self.tests.iter().map(line).collect();
        format!("def check(candidate):\n{lines}")
    }
}

/// The kind `programs`.
#[derive(Debug)]
pub struct Programs;

impl Kind for Programs {
    type Item = ProgramItem;
    type Ground = ();
    type Episode<'a> = ProgramEpisode<'a>;

    const NAME: &'static str = "programs";
    const VERSION: u32 = 1;
    const PROGRAM_RULES: Option<ProgramRules> = Some(ProgramRules::SHORT);

    fn outline(scale: Scale) -> Outline {
        let (sizes, limits) = match scale {
            Scale::Tiny => (
                Sizes { train: 400, dev: 82, test: 200 },
                Limits { turns: 1, turn_tokens: 96, context: 768 },
            ),
            Scale::Full => (
                Sizes { train: 82, dev: 82, test: 82 },
                Limits { turns: 1, turn_tokens: 512, context: 4096 },
            ),
        };
        Outline {
            level: 1,
            kind: TaskKind::Static,
            objective: "Write a function in Python from its docstring.",
            output: "the whole function, in a fenced block or alone",
            metric: "pass_at_1",
            limits,
            sizes,
            forbidden: &["oracle", "sealed"],
        }
    }

    fn describe(scale: Scale) -> String {
        prompt::description(&Self::outline(scale))
    }

    fn ground(_: Scale, _: Stream) {}

    fn draw((): &(), part: Part, scale: Scale, stream: Stream) -> Option<ProgramItem> {
        draw::draw(part, scale, stream)
    }

    fn key(item: &ProgramItem) -> String {
        format!("{} {:?}", item.family, item.parameters)
    }

    fn evidence((): &(), item: &ProgramItem) -> String {
        // The body follows from the docstring for who knows the family, but the results of the
        // tests are told to nobody.
        as_text(&item.tests)
    }

    fn prompt((): &(), item: &ProgramItem, _: Scale) -> Prompt {
        prompt::prompt(item)
    }

    fn open<'a>((): &'a (), item: &'a ProgramItem) -> ProgramEpisode<'a> {
        ProgramEpisode::new(item)
    }

    fn solve((): &(), item: &ProgramItem) -> Vec<String> {
        vec![item.solution()]
    }

    fn random(episode: &ProgramEpisode<'_>, rng: &mut ChaCha8Rng) -> String {
        // A function that returns one of the right results, whatever it is asked.
        let item = episode.item();
        let result =
            item.tests.choose(rng).map_or_else(String::new, |test| test.result.to_string());
        let signature = item.prompt.lines().next().unwrap_or_default();
        format!("{signature}\n    return {result}\n")
    }

    fn render((): &(), item: &ProgramItem) -> String {
        format!("{}{}\n{}", item.prompt, item.canonical_solution, item.check())
    }
}
