//! Scripted agents: a ladder of known capability that needs no model.
//!
//! constant < linear < forest < operators < oracle. They calibrate corpora (each rung must win
//! more than the one below), make SFT data, and test the whole house end to end. All but the
//! oracle see only what any agent sees: the brief prompt and the public files. The oracle is
//! handed the hidden rule's own transforms.

use super::composed::Composition;
use super::facts::Facts;
use super::items::ItemKind;
use super::recipe::Recipe;
use super::runner::{RunnerContext, ScriptedJob};
use crate::grammar::{ToolCallFormat, answer_turn, cut_hermes_turn};
use crate::play::{Conversation, EpisodeKey, Reply};
use crate::prompt::Prompt;
use crate::trajectory::{Segment, Source, Trajectory};
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt};
use sandbox::env::{Action, EpisodeFault};
use serde::{Deserialize, Serialize};
use tasks::stream::Stream;
use tasks::task::{Formulation, Task};

/// The rungs of the ladder, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedLevel {
    /// Submits the sample submission.
    Constant,
    /// A linear or logistic model on all columns.
    Linear,
    /// A random forest on all columns.
    Forest,
    /// Searches products, ratios and lags, then averages a linear model and a forest.
    Operators,
    /// Fits on the hidden rule's own transforms.
    Oracle,
}

impl ScriptedLevel {
    /// All rungs, weakest first.
    pub const ALL: [Self; 5] =
        [Self::Constant, Self::Linear, Self::Forest, Self::Operators, Self::Oracle];

    /// The rungs that see only public files, which are those fit to be imitated.
    pub const PUBLIC: [Self; 4] = [Self::Constant, Self::Linear, Self::Forest, Self::Operators];

    /// The name as in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Linear => "linear",
            Self::Forest => "forest",
            Self::Operators => "operators",
            Self::Oracle => "oracle",
        }
    }
}

/// Whose scripts a scripted agent writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Approach {
    /// Those of a rung of the ladder.
    Level(ScriptedLevel),
    /// Scripts put together from parts that are drawn at random: feature steps, a transform of the
    /// target, one or two models. Where a task has no table of numbers and words with one target,
    /// those of a public rung.
    Composed,
}

impl Approach {
    /// The name as in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Level(level) => level.name(),
            Self::Composed => "composed",
        }
    }
}

impl From<ScriptedLevel> for Approach {
    fn from(level: ScriptedLevel) -> Self {
        Self::Level(level)
    }
}

/// What the scripts of an agent are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptStyle {
    /// To be measured. Pictures, sounds, texts and graphs are read by the functions that the
    /// factory recorded with each task, which its own baselines use; they are long.
    Evaluation,
    /// To be imitated by SFT. Items are read by a few lines that use nothing that an agent cannot
    /// see and no name of a column. About one first turn in seven is broken on style, so that
    /// there is a failure to recover from: a policy that was never shown one submits whatever it
    /// has, which is nothing.
    Demonstration,
}

/// Share of demonstrations that begin with a broken turn.
const ERROR_RATE: f64 = 0.15;

/// Plays one episode of a scripted agent and returns its text-only trajectory.
///
/// # Errors
/// An [`EpisodeFault`].
pub fn play(
    place: &RunnerContext<'_>,
    job: &ScriptedJob<'_>,
    prompt: &Prompt,
) -> Result<Trajectory, EpisodeFault> {
    let ScriptedJob { task, approach, attempt } = *job;
    let stream = place.stream.child(task.id().as_str()).child(approach.name()).index(attempt);
    let mut episode = place.world.open(task.id())?;
    let mut segments = vec![
        Segment::text(Source::Prompt, prompt.system.as_str()),
        Segment::text(Source::Prompt, prompt.user.as_str()),
    ];
    let mut agent = ScriptedAgent::new(approach, task, prompt, place.style, place.format, stream);
    let mut turn = agent.first_turn();
    let ending = loop {
        let reply = episode.respond(&turn)?;
        segments.push(Segment::text(Source::Model, turn));
        match reply {
            Reply::End(ending) => break ending,
            Reply::Observe(text) => {
                turn = agent.next_turn(&text);
                segments.push(Segment::text(Source::Environment, text));
            }
        }
    };
    let agent = format!("scripted/{}", approach.name());
    let attempt = EpisodeKey { task: task.id(), agent: &agent, number: attempt };
    let (omissions, summaries) = (Vec::new(), Vec::new());
    let conversation = Conversation { segments, omissions, guidance: None, summaries, ending };
    Ok(episode.close()?.trajectory(attempt, conversation))
}

/// An agent that knows beforehand what it will do, turn by turn.
#[derive(Debug)]
pub struct ScriptedAgent {
    format: ToolCallFormat,
    first: String,
    /// The first turn as it was meant to be, if it is broken.
    retry: Option<String>,
    asks_score: bool,
    fallback: String,
    stage: ScriptedStage,
    thoughts: [&'static str; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptedStage {
    Submitted,
    FellBack,
    Scored,
}

impl ScriptedAgent {
    /// One whose free choices are drawn from `stream`. `format` changes how calls are written, and
    /// nothing else.
    pub fn new(
        approach: impl Into<Approach>,
        task: &Task,
        prompt: &Prompt,
        style: ScriptStyle,
        format: ToolCallFormat,
        stream: Stream,
    ) -> Self {
        let mut rng = stream.rng();
        let facts = Facts::from_task(task);
        let item = ItemKind::from_prompt(prompt);
        let code = |recipe: &Recipe| recipe.code(&facts, style, item);
        let approach = approach.into();
        let composed = match approach {
            Approach::Composed if item.is_none() => composed(&facts, &mut rng),
            _ => None,
        };
        let level = match approach {
            Approach::Level(level) => level,
            Approach::Composed => {
                let rungs = ScriptedLevel::PUBLIC;
                rungs.choose(&mut rng).copied().unwrap_or(ScriptedLevel::Constant)
            }
        };
        let thought = opening_thoughts(level).choose(&mut rng).copied().unwrap_or_default();
        let recipe = Recipe::draw(level, &mut rng);
        let fallback = Recipe::draw(ScriptedLevel::Constant, &mut rng);
        let (thought, script) = composed.unwrap_or_else(|| (thought.to_owned(), code(&recipe)));
        let mut first = format.python_turn(&thought, &script);
        let mut slips = stream.child("slip").rng();
        let retry =
            (style == ScriptStyle::Demonstration && slips.random_bool(ERROR_RATE)).then(|| {
                first = slipped(&thought, &script, format, &mut slips);
                format.python_turn("It failed. Write it again, with care.", &script)
            });
        Self {
            format,
            first,
            retry,
            asks_score: rng.random_bool(0.5),
            fallback: format.python_turn("It failed. Fall back to the sample.", &code(&fallback)),
            stage: ScriptedStage::Submitted,
            thoughts: [
                "It ran. Check it.",
                "It ran. Submit it.",
                "That is what this approach gives. Submit it.",
            ],
        }
    }

    /// The text of its first turn: a script.
    pub fn first_turn(&self) -> String {
        self.first.clone()
    }

    /// The text of the turn that follows an observation.
    pub fn next_turn(&mut self, observation: &str) -> String {
        let [check, submit, settled] = self.thoughts;
        let failed = observation.starts_with("failed") || observation.starts_with("malformed");
        let (stage, turn) = match self.stage {
            ScriptedStage::Submitted if failed => match self.retry.take() {
                Some(retry) => (ScriptedStage::Submitted, retry),
                None => (ScriptedStage::FellBack, self.fallback.clone()),
            },
            ScriptedStage::Submitted | ScriptedStage::FellBack if self.asks_score => {
                (ScriptedStage::Scored, self.format.score_turn(check))
            }
            ScriptedStage::Submitted | ScriptedStage::FellBack => {
                (ScriptedStage::Scored, answer_turn(submit))
            }
            ScriptedStage::Scored => (ScriptedStage::Scored, answer_turn(settled)),
        };
        self.stage = stage;
        turn
    }
}

/// The plan and the script of parts that are drawn; none for a task of another kind.
fn composed(facts: &Facts, rng: &mut impl Rng) -> Option<(String, String)> {
    let is_table = facts.labelled.is_none() && facts.formulation != Some(Formulation::Positions);
    let composition = Composition::draw(rng);
    let prediction = facts.prediction.as_ref().filter(|_| is_table)?;
    Some((composition.thought(), composition.code(prediction)?))
}

/// A turn that runs the script, with a slip in it that is sure to fail: cut off, or without one of
/// its imports. The slip is the same in both formats.
fn slipped(thought: &str, script: &str, format: ToolCallFormat, rng: &mut impl Rng) -> String {
    let turn = slipped_code(&ToolCallFormat::Code.python_turn(thought, script), rng);
    match (format, ToolCallFormat::Code.parse(&turn).action) {
        (ToolCallFormat::Code, _) => turn,
        (ToolCallFormat::Hermes, Action::Python { code }) => format.python_turn(thought, &code),
        (ToolCallFormat::Hermes, _) => {
            let code = turn.split_once("<code>\n").map_or("", |(_, code)| code);
            cut_hermes_turn(thought, code)
        }
    }
}

fn slipped_code(turn: &str, rng: &mut impl Rng) -> String {
    let lines: Vec<&str> = turn.lines().collect();
    let is_import = |line: &&str| line.starts_with("import ") || line.starts_with("from ");
    let imports: Vec<usize> = (0..lines.len()).filter(|&line| is_import(&lines[line])).collect();
    match imports.choose(rng) {
        Some(&missing) if rng.random_bool(0.5) => {
            [&lines[..missing], &lines[missing + 1..]].concat().join("\n")
        }
        _ => lines[..rng.random_range(3..lines.len() - 2)].join("\n"),
    }
}

fn opening_thoughts(approach: ScriptedLevel) -> &'static [&'static str] {
    match approach {
        ScriptedLevel::Constant => &[
            "Start with the sample submission.",
            "A constant is a safe first entry.",
            "Send the sample as it is.",
        ],
        ScriptedLevel::Linear => &[
            "Few rows, so a linear model.",
            "Fit a linear model on all columns.",
            "A simple scaled linear model is enough.",
        ],
        ScriptedLevel::Forest => &[
            "A forest handles mixed columns.",
            "Fit a random forest on all columns.",
            "Trees need no scaling, so try a forest.",
        ],
        ScriptedLevel::Operators => &[
            "Columns may act together. Search pairs of columns.",
            "Build products and ratios, keep the best, then average two models.",
            "Look for interactions first, then fit a line and a forest.",
        ],
        ScriptedLevel::Oracle => &["Use the known transforms."],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_the_same_in_both_formats() {
        let script = "import pandas as pd\nimport numpy as np\nx = \"a\"\nprint(x)\nprint(np.pi)";
        let (mut cut, mut missing) = (0, 0);
        for seed in 0..40 {
            let slip = |format| {
                slipped("Try.", script, format, &mut Stream::root(seed).child("slip").rng())
            };
            let (code, hermes) = (slip(ToolCallFormat::Code), slip(ToolCallFormat::Hermes));
            let actions =
                [ToolCallFormat::Code.parse(&code), ToolCallFormat::Hermes.parse(&hermes)]
                    .map(|turn| turn.action);
            match &actions {
                [Action::Python { code }, Action::Python { code: hermes }] => {
                    missing += 1;
                    assert_eq!(code, hermes);
                    assert_eq!(code.lines().count() + 1, script.lines().count());
                }
                [Action::Malformed { .. }, Action::Malformed { .. }] => {
                    cut += 1;
                    let said = code.split_once("<code>\n").map_or("", |(_, said)| said);
                    assert_eq!(hermes, cut_hermes_turn("Try.", said));
                }
                others => panic!("{others:?}"),
            }
        }
        assert!(cut > 5 && missing > 5, "{cut} {missing}");
    }
}
