//! The form that a task asks for: whether its scorer can read an answer, and whether the answer stands
//! behind reasoning.
//!
//! The scorer itself reads the answers: each is given to an episode on a public item, whose verdict says
//! whether anything could be read. So a format is checked here exactly as it will be later.

use super::fault::FtFault;
use super::sample::Sample;
use agents::prompt::Prompt;
use agents::trajectory::EpisodeOutcome;
use std::sync::Arc;
use tasks::task::TaskId;
use worlds::score::Mistake;
use worlds::{Environment, Runner, TaskFolder};

/// Answers of a task whose scorer runs programs that are read: each is a run.
const PROGRAMS: usize = 8;
/// Where an answer begins, in any of the forms that tasks ask for.
const ANSWERS: [&str; 4] = [r"\boxed{", "{\"", "Final Answer:", "Answer:"];
/// Full marks, but for rounding.
const FULL: f64 = 0.999;
/// Where a program begins. It is an answer, or steps that are no words.
const PROGRAM: &str = "```";

/// What a task asks for, by its public items.
#[derive(Debug)]
pub struct AnswerForm {
    world: Box<dyn Environment>,
    /// An item of each system message; items with other ones are answered in other forms.
    items: Vec<(String, TaskId)>,
    examples: Vec<FormExample>,
}

/// A public item: what is asked, and an answer that earns full marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormExample {
    /// The system message that the scorer sends.
    pub system: String,
    /// The user's message.
    pub question: String,
    /// The answer.
    pub answer: String,
}

impl AnswerForm {
    /// The form of a task; `runner` runs the programs of tasks that are scored by runs.
    ///
    /// # Errors
    /// [`FtFault`] if its public items cannot be read, or there are none.
    pub fn open(task: &TaskFolder, runner: Arc<dyn Runner>) -> Result<Self, FtFault> {
        let mut world = task.train()?;
        world.set_runner(runner);
        let none = || FtFault::NoExamples(task.spec().id.to_string());
        let (mut items, mut examples) = (Vec::new(), Vec::new());
        for item in world.items() {
            let answer = world.expert(item).and_then(|turns| turns.into_iter().next());
            let answer = answer.ok_or_else(none)?;
            let Prompt { system, user: question, .. } = world.prompt(item)?;
            if !items.iter().any(|(known, _)| *known == system) {
                items.push((system.clone(), item.clone()));
            }
            examples.push(FormExample { system, question, answer });
        }
        if items.is_empty() {
            return Err(none());
        }
        Ok(Self { world, items, examples })
    }

    /// Whether the scorer sends this system message.
    pub fn has_system(&self, system: &str) -> bool {
        self.items.iter().any(|(known, _)| known == system)
    }

    /// An example of each system message.
    pub fn of_each_system(&self) -> impl Iterator<Item = &FormExample> {
        let of = |(system, _): &(String, TaskId)| {
            self.examples.iter().find(|example| example.system == *system)
        };
        self.items.iter().filter_map(of)
    }

    /// The public items.
    pub fn examples(&self) -> &[FormExample] {
        &self.examples
    }

    /// Whether answers have reasoning: the examples do.
    pub fn wants_reasoning(&self, words: usize) -> bool {
        self.examples.iter().all(|example| has_reasoning(&example.answer, words))
    }

    /// Whether the task's scorer gives full marks to the examples, can say something of nothing, and makes
    /// one score of all: of a scorer that a user wrote.
    ///
    /// # Errors
    /// [`FtFault::Example`] for the first example that has less, [`FtFault::Episode`] if the scorer fails.
    pub fn check_scorer(&self) -> Result<(), FtFault> {
        let mut verdicts = Vec::new();
        for item in self.world.items() {
            let answer = self.world.expert(item).and_then(|turns| turns.into_iter().next());
            for text in [answer.as_deref().unwrap_or_default(), ""] {
                let mut play = self.world.open(item)?;
                play.respond(text)?;
                let closed = play.close()?;
                let reward = closed.reward.total();
                if reward < FULL && !text.is_empty() {
                    return Err(FtFault::Example { item: item.to_string(), reward });
                }
                if let EpisodeOutcome::World(verdict) = closed.outcome {
                    verdicts.push(verdict);
                }
            }
        }
        self.world.score(&verdicts.iter().collect::<Vec<_>>())?;
        Ok(())
    }

    /// How many of so many answers are worth reading.
    pub(super) fn read_of(&self, count: usize) -> usize {
        if self.world.runs_programs() { count.min(PROGRAMS) } else { count }
    }

    /// What the scorer cannot read of a sample's answer; `None` if it reads it, right or wrong.
    pub(super) fn mistake(&self, sample: &Sample) -> Result<Option<Mistake>, FtFault> {
        let known = self.items.iter().find(|(system, _)| *system == sample.system);
        let (_, item) = known.unwrap_or(&self.items[0]);
        let mut play = self.world.open(item)?;
        play.respond(&sample.output)?;
        let EpisodeOutcome::World(verdict) = play.close()?.outcome else { return Ok(None) };
        // A program that fails is none of them: it is on another table than this item's.
        let unread = [Mistake::Empty, Mistake::Truncated, Mistake::Format];
        Ok(unread.into_iter().find(|mistake| verdict.tags.iter().any(|tag| tag == mistake.name())))
    }
}

/// Whether so many words stand before the answer.
pub(super) fn has_reasoning(text: &str, words: usize) -> bool {
    let starts = ANSWERS.iter().filter_map(|start| text.rfind(start));
    let end = starts.chain(text.find(PROGRAM)).min().unwrap_or(text.len());
    text[..end].split_whitespace().count() >= words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_is_what_stands_before_the_answer() {
        for (text, expected) in [
            ("3 + 4 = 7\n\\boxed{7}", true),
            ("\\boxed{7}", false),
            ("7 \\boxed{7}", false),
            ("A has spring, lever. {\"answer\": [\"A\"]}", true),
            ("{\"answer\": [\"A\"]}", false),
            ("5 % of 200 is 10. Answer: B", true),
            ("Answer: B", false),
            ("Final Answer: 1, 2, 3, 4", false),
            ("I draw a chart.\n```python\nplt.bar(x, y)\n```", true),
            ("```python\nplt.bar(x, y)\n```", false),
        ] {
            assert_eq!(has_reasoning(text, 3), expected, "{text}");
        }
        assert!(has_reasoning("", 0));
    }
}
