//! A player of searches that needs no model: it draws scripts, changes one thing in them, and
//! sometimes breaks them. It tests searches, and shows what a search gains over drafts alone.

use super::facts::Facts;
use super::items::ItemKind;
use super::recipe::{Recipe, TargetKind};
use super::scripted::{ScriptStyle, ScriptedLevel};
use crate::grammar::ToolCallFormat;
use crate::linear;
use crate::prompt::{Prompt, PromptError, PromptStyle};
use crate::run::node::Operator;
use crate::run::player::{Answer, Ask, Asked, Player, PlayerFault};
use jail::exec::Mode;
use rand::seq::IndexedRandom as _;
use rand::{Rng, RngExt as _};
use tasks::metrics::Direction;
use tasks::prediction::Prediction;
use tasks::stream::Stream;
use tasks::task::Task;

/// Share of scripts that are broken when they are written, be it by a draft, a change or a repair.
const ERROR_RATE: f64 = 0.2;
/// What a broken script has in the place of the name that it needs.
const SLIP: [&str; 2] = ["pd.read_csv(\"input/test.csv\")", "pd.read_cvs(\"input/test.csv\")"];
/// What a script's first line begins with; the choices that made it follow.
const CHOICES: &str = "# choices: ";

/// Draws, changes and repairs scripts for one task, by `(seed, task, node, attempt)` alone.
///
/// A draft is a linear model or a forest. A change sets one choice of its parent anew: the penalty,
/// the number of trees, the size of leaves, the number of constructed columns, or the approach,
/// for which a search over products and ratios of columns is open as well. A crossover takes each
/// choice from either parent. One script in five is broken.
#[derive(Debug)]
pub struct Mutator {
    facts: Facts,
    item: Option<ItemKind>,
    direction: Direction,
    target: TargetKind,
    stream: Stream,
}

impl Mutator {
    /// The player for `task`, whose scores improve in `direction`; `None` where predictions are
    /// not columns of a table, as masks and boxes are not.
    ///
    /// # Errors
    /// [`PromptError`] if the task's page cannot be read.
    pub fn new(task: &Task, direction: Direction, seed: u64) -> Result<Option<Self>, PromptError> {
        let facts = Facts::from_task(task);
        let prompt = Prompt::new(task, PromptStyle::Brief, ToolCallFormat::Code, Mode::Script)?;
        let target = facts.prediction.as_ref().and_then(TargetKind::from_prediction);
        let stream = Stream::root(seed).child(task.id().as_str()).child("mutator");
        let item = ItemKind::from_prompt(&prompt);
        Ok(target.map(|target| Self { facts, item, direction, target, stream }))
    }

    /// The script of a recipe, with the line that states its choices and its validation.
    fn script(&self, recipe: &Recipe, is_broken: bool) -> String {
        let body = recipe.code(&self.facts, ScriptStyle::Demonstration, self.item);
        let fit = "m.fit(x[:n], y)\n";
        let (before, after) = body.split_once(fit).expect("every recipe for columns fits a model");
        let mut code = format!("{}\n{before}{}{fit}{after}\n", choices(recipe), self.validation());
        if is_broken {
            code = code.replacen(SLIP[0], SLIP[1], 1);
        }
        code
    }

    /// Five-fold validation of the model `m` by a measure that improves in the task's direction.
    fn validation(&self) -> String {
        let higher = self.direction == Direction::HigherIsBetter;
        let binary = matches!(self.facts.prediction, Some(Prediction::Probability { .. }));
        let probabilities =
            matches!(self.facts.prediction, Some(Prediction::ClassProbabilities { .. }));
        let (scoring, value) = match (self.target, higher) {
            (TargetKind::Class, true) if binary => ("roc_auc", "v.mean()"),
            (TargetKind::Class, false) if binary || probabilities => ("neg_log_loss", "-v.mean()"),
            (TargetKind::Class | TargetKind::Flags, true) => ("accuracy", "v.mean()"),
            (TargetKind::Class | TargetKind::Flags, false) => ("accuracy", "1 - v.mean()"),
            (TargetKind::Number | TargetKind::Numbers | TargetKind::Quantiles, true) => {
                ("r2", "v.mean()")
            }
            (TargetKind::Number | TargetKind::Numbers | TargetKind::Quantiles, false) => {
                ("neg_root_mean_squared_error", "-v.mean()")
            }
        };
        format!(
            "from sklearn.model_selection import cross_val_score\n\
             v = cross_val_score(m, x[:n], y, cv=5, scoring=\"{scoring}\")\n\
             print(\"Validation score:\", {value})\n"
        )
    }
}

impl Player for Mutator {
    fn name(&self) -> String {
        "mutator".to_owned()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        let mut rng = self.stream.index(u64::from(ask.node.0)).index(u64::from(ask.attempt)).rng();
        let operator = match ask.what {
            Asked::Script(operator) => operator,
            Asked::Turn(_) if ask.parents.is_empty() => Operator::Draft,
            Asked::Turn(_) => Operator::Improve,
            Asked::AutoMind(_) | Asked::Knowledge(_) => {
                let reason = "the mutator writes no plans; `script:engineer` does".to_owned();
                return Err(PlayerFault::Refused(reason));
            }
            Asked::Summary(_) => {
                let best = ask.parents.first().map_or("There is no script yet.", String::as_str);
                return Ok(Answer::whole(format!("The best script so far:\n\n{best}")));
            }
            Asked::Judgement => {
                let judged = "{\"is_bug\": false, \"summary\": \"It ran.\", \"metric\": null}";
                return Ok(Answer::whole(judged));
            }
        };
        let recipe = choose(operator, ask.parents, &mut rng);
        let code = self.script(&recipe, rng.random_bool(ERROR_RATE));
        let plan = choices(&recipe);
        let plan = format!("A script with these {}.", plan.trim_start_matches("# "));
        Ok(Answer::whole(match ask.what {
            Asked::Turn(agent) => linear::script_turn(agent, &plan, &code),
            Asked::Script(_)
            | Asked::Judgement
            | Asked::Summary(_)
            | Asked::AutoMind(_)
            | Asked::Knowledge(_) => {
                format!("{plan}\n\n```python\n{code}```\n")
            }
        }))
    }
}

/// The choices of a new script.
fn choose(operator: Operator, parents: &[String], rng: &mut impl Rng) -> Recipe {
    let known: Vec<Recipe> = parents.iter().filter_map(|code| read_choices(code)).collect();
    let draft = |rng: &mut _| {
        let simple = [ScriptedLevel::Linear, ScriptedLevel::Forest];
        let approach = simple.choose(rng).copied().unwrap_or(ScriptedLevel::Linear);
        Recipe::draw(approach, rng)
    };
    match (operator, known.as_slice()) {
        (Operator::Debug, [parent, ..]) => *parent,
        (Operator::Improve, [parent, ..]) => change(*parent, rng),
        (Operator::Crossover, [one, other, ..]) => Recipe {
            approach: if rng.random() { one.approach } else { other.approach },
            strength: if rng.random() { one.strength } else { other.strength },
            trees: if rng.random() { one.trees } else { other.trees },
            leaf: if rng.random() { one.leaf } else { other.leaf },
            keep: if rng.random() { one.keep } else { other.keep },
        },
        _ => draft(rng),
    }
}

/// One choice set anew.
fn change(parent: Recipe, rng: &mut impl Rng) -> Recipe {
    let mut changed = Recipe::draw(parent.approach, rng);
    let kept = parent;
    match rng.random_range(0..4) {
        0 => {
            let approaches =
                [ScriptedLevel::Linear, ScriptedLevel::Forest, ScriptedLevel::Operators];
            let others: Vec<_> = approaches.into_iter().filter(|a| *a != parent.approach).collect();
            let approach = others.choose(rng).copied().unwrap_or(parent.approach);
            changed = Recipe { approach, ..kept };
        }
        1 => changed = Recipe { strength: changed.strength, ..kept },
        2 => changed = Recipe { trees: changed.trees, leaf: changed.leaf, ..kept },
        _ => changed = Recipe { keep: changed.keep, ..kept },
    }
    changed
}

fn choices(recipe: &Recipe) -> String {
    let Recipe { approach, strength, trees, leaf, keep } = recipe;
    let approach = approach.name();
    format!("{CHOICES}{approach} strength={strength} trees={trees} leaf={leaf} keep={keep}")
}

/// The choices that a script states; `None` for a script of somebody else.
fn read_choices(code: &str) -> Option<Recipe> {
    let line = code.lines().next()?.strip_prefix(CHOICES)?;
    let mut words = line.split(' ');
    let name = words.next()?;
    let approach = ScriptedLevel::ALL.into_iter().find(|level| level.name() == name)?;
    let mut value = |key: &str| words.next()?.strip_prefix(key)?.strip_prefix('=');
    let strength = value("strength")?;
    Some(Recipe {
        approach,
        strength: ["0.1", "1", "10"].into_iter().find(|known| *known == strength)?,
        trees: value("trees")?.parse().ok()?,
        leaf: value("leaf")?.parse().ok()?,
        keep: value("keep")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_written() {
        for (index, level) in (0..50).zip(ScriptedLevel::PUBLIC.into_iter().cycle()) {
            let mut rng = Stream::root(0).index(index).rng();
            let recipe = Recipe::draw(level, &mut rng);
            let code = format!("{}\nimport pandas as pd\n", choices(&recipe));
            assert_eq!(read_choices(&code), Some(recipe));
            let changed = change(recipe, &mut rng);
            let differs =
                |one: &dyn Fn(&Recipe) -> String| usize::from(one(&recipe) != one(&changed));
            let count = differs(&|r| r.approach.name().to_owned())
                + differs(&|r| r.strength.to_owned())
                + differs(&|r| format!("{} {}", r.trees, r.leaf))
                + differs(&|r| r.keep.to_string());
            assert!(count <= 1, "one choice at a time");
        }
        assert_eq!(read_choices("import pandas as pd\n"), None);
    }
}
