//! A planner without a model: a table from what went wrong to the next change.
//!
//! It knows the tasks of the suite `ftdojo`, whose raw data has, or can be given, reasoning by code alone,
//! and those of users whose raw data is questions with answers. It is the measure for planners that ask a
//! model, and makes every test of the loop possible.

use super::check::{Check, CheckOutcome, ErrorClass, Rejection};
use super::diagnosis::{Diagnosis, Evaluated, Gap, GapKind};
use super::experiment::{Experiment, ExperimentOutcome};
use super::fault::StageError;
use super::form::FormExample;
use super::planner::{Briefing, Opinion, Planner, Revision};
use super::proposal::{
    DataProposal, Focus, Proposal, SamplingRule, SourceShare, Synthesis, Teacher,
};
use crate::dojo::{Content, DatasetInfo, FileInfo, SourceInfo};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tasks::json::sorted;
use worlds::score::Mistake;
use worlds::{TaskWorld, WorldName};

/// The script without its plan.
const SCRIPT: &str = include_str!("process_data.py");
/// What the script calls raw data whose rows are questions with answers.
const ROWS: &str = "rows";
/// The columns of such rows; the script knows the same.
const FORMS_OF_ROWS: [&[&str]; 4] =
    [&["messages"], &["instruction", "output"], &["prompt", "completion"], &["question", "answer"]];
/// The form of a filter that drops long answers.
const SHORT: (&str, &str) = ("answers of at most ", " words");
/// Passes over the samples at first, and what doubling and halving keep to.
const EPOCHS: (u64, u64, u64) = (3, 1, 24);
/// A final loss above this share of the first one counts as underfitting.
pub(super) const LITTLE: f64 = 0.5;
/// The share of items with a mistake of form that is too many.
const MANY: f64 = 0.2;
/// The share of wrong answers from which on there is little to forget.
const MOST: f64 = 0.5;

/// The scripted planner.
///
/// # Examples
/// ```rust
/// use posttrain::ft::Scripted;
/// use worlds::WorldName;
///
/// assert!(Scripted::knows(WorldName::Aime));
/// assert!(!Scripted::knows(WorldName::Household));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scripted;

/// What a task is trained on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recipe {
    sources: Vec<String>,
    subset: Option<&'static str>,
    /// The form of its answers, for the script.
    form: &'static str,
    /// What else teaches steps.
    beside: Option<&'static str>,
}

impl Recipe {
    fn of(world: WorldName) -> Option<Self> {
        let of = |source: &str, subset, form, beside| {
            let sources = vec![source.to_owned()];
            Self { sources, subset, form, beside }
        };
        let tables = |subset, form, beside| of("tables", Some(subset), form, beside);
        let raw = |source, subset| of(source, Some(subset), "json", None);
        Some(match world {
            WorldName::Aime => of("mathematics", None, "boxed", None),
            WorldName::Finqa => of("finance", None, "choice", None),
            WorldName::TableNr => tables("NumericalReasoning", "final", Some("mathematics")),
            WorldName::TableFc => tables("FactChecking", "final", None),
            WorldName::TableDa => tables("DataAnalysis", "final", None),
            WorldName::TableVis => tables("Visualization", "program", None),
            WorldName::Noc4pc => raw("patents", "noc4pc"),
            WorldName::Par4pc => raw("patents", "par4pc"),
            WorldName::Pi4pc => raw("patents", "pi4pc"),
            WorldName::MolUnd => raw("chemistry", "mol_und"),
            WorldName::MolEdit => raw("chemistry", "mol_edit"),
            WorldName::MolOpt => raw("chemistry", "mol_opt"),
            WorldName::Reaction => raw("chemistry", "reaction"),
            _ => return None,
        })
    }

    /// For a task of a user: all sources that have questions with answers.
    fn of_rows(pool: &DatasetInfo) -> Option<Self> {
        let has_rows = |source: &&SourceInfo| !files_of_rows(source).is_empty();
        let sources: Vec<String> =
            pool.sources.iter().filter(has_rows).map(|source| source.name.clone()).collect();
        (!sources.is_empty()).then_some(Self { sources, subset: None, form: ROWS, beside: None })
    }
}

/// The files of a source whose rows are questions with answers, in a form that the script knows.
fn files_of_rows(source: &SourceInfo) -> Vec<&str> {
    let has_rows = |file: &&FileInfo| match &file.content {
        Content::Table { columns, .. } => FORMS_OF_ROWS
            .iter()
            .any(|keys| keys.iter().all(|key| columns.iter().any(|column| column.name == *key))),
        Content::Other => false,
    };
    source.files.iter().filter(has_rows).map(|file| file.path.as_str()).collect()
}

/// A change of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    MoreEpochs,
    FewerEpochs,
    HigherRate,
    LowerRate,
    SmallerBatch,
    ShorterAnswers,
    OtherSampling(SamplingRule),
    MixIn,
    FewerSamples,
}

/// What the changes are for, in the order in which they are tried.
fn table(briefing: &Briefing<'_>, parent: Option<&Experiment>) -> Vec<(Change, String)> {
    let mut wanted: Vec<(Change, String)> = Vec::new();
    // What has just failed comes first.
    if let Some(ExperimentOutcome::Rejected { class, stage, .. }) =
        briefing.experiments.last().map(|experiment| &experiment.outcome)
    {
        let why = format!("the last experiment failed at the stage `{stage}`");
        let changes: &[Change] = match class {
            ErrorClass::Oom => &[Change::SmallerBatch],
            ErrorClass::Config => &[Change::LowerRate, Change::FewerEpochs],
            ErrorClass::Data => &[Change::ShorterAnswers, Change::FewerSamples],
            ErrorClass::Env | ErrorClass::Planner => &[],
        };
        wanted.extend(changes.iter().map(|change| (*change, why.clone())));
    }
    let found = parent.and_then(Experiment::evaluated).unwrap_or(briefing.baseline);
    let cut = found.share(Mistake::Truncated);
    if cut > MANY {
        wanted.push((
            Change::ShorterAnswers,
            format!("{:.0} % of the answers are cut off", 100.0 * cut),
        ));
    }
    let unread = found.share(Mistake::Format) + found.share(Mistake::Empty);
    if unread > MANY {
        let why = format!("{:.0} % of the answers cannot be read", 100.0 * unread);
        wanted.push((Change::MoreEpochs, why.clone()));
        wanted.push((Change::HigherRate, why));
    }
    if let Some(ExperimentOutcome::Evaluated { losses: Some((first, last)), .. }) =
        parent.map(|parent| &parent.outcome)
    {
        let left = last / first.max(f64::MIN_POSITIVE);
        let wrong = found.share(Mistake::Wrong);
        let mut why = format!("the loss has fallen from {first:.2} to {last:.2}");
        let changes = if left > LITTLE {
            [Change::MoreEpochs, Change::HigherRate]
        } else if wrong > MOST {
            // Nothing is learnt by heart while hardly any answer is right.
            why = format!("{why}, and {:.0} % of the answers are wrong", 100.0 * wrong);
            [Change::MoreEpochs, Change::MixIn]
        } else {
            [Change::FewerEpochs, Change::MixIn]
        };
        wanted.extend(changes.map(|change| (change, why.clone())));
    }
    let wrong = format!("{:.0} % of the answers are wrong", 100.0 * found.share(Mistake::Wrong));
    let rest = [
        Change::OtherSampling(SamplingRule::Diversity),
        Change::MoreEpochs,
        Change::MixIn,
        Change::HigherRate,
        Change::OtherSampling(SamplingRule::Difficulty),
        Change::LowerRate,
        Change::FewerEpochs,
        Change::ShorterAnswers,
        Change::OtherSampling(SamplingRule::Quality),
        Change::SmallerBatch,
        Change::FewerSamples,
    ];
    wanted.extend(rest.map(|change| (change, wrong.clone())));
    wanted
}

impl Scripted {
    /// Whether it knows what an environment is to be trained on.
    pub fn knows(world: WorldName) -> bool {
        Recipe::of(world).is_some()
    }

    pub(super) fn recipe(briefing: &Briefing<'_>) -> Result<Recipe, Rejection> {
        let task = &briefing.task.id;
        let unknown = || {
            planner(format!(
                "the scripted planner knows no script for `{task}`; give a planner that asks a model"
            ))
        };
        match briefing.task.world {
            TaskWorld::Generated(world) => Recipe::of(world).ok_or_else(unknown),
            TaskWorld::HumanEval => Err(unknown()),
            TaskWorld::Custom => Recipe::of_rows(briefing.pool).ok_or_else(|| {
                let forms = FORMS_OF_ROWS.map(|keys| format!("`{}`", keys.join("` and `")));
                planner(format!(
                    "no file of the raw data has rows that the scripted planner can use, which have {}; \
                     bring some into such a form, or give a planner that asks a model",
                    forms.join(", or ")
                ))
            }),
        }
    }

    /// The proposal that everything begins with.
    pub(super) fn first(briefing: &Briefing<'_>, recipe: Recipe) -> Proposal {
        let Recipe { sources, subset, .. } = recipe;
        let share = 1.0 / sources.len() as f64;
        let names = sources.join("`, `");
        let of = |source: String| SourceShare { source, subset: subset.map(str::to_owned), share };
        Proposal {
            reason: format!("`{names}` has what the task asks for, and its flaws can be filtered"),
            focus: Focus::Both,
            data: DataProposal {
                sources: sources.into_iter().map(of).collect(),
                filters: vec!["has steps in words, once each".to_owned()],
                sampling: SamplingRule::Quality,
                synthesis: Synthesis { teacher: Teacher::None, what: String::new() },
                target_samples: briefing.settings.limits.samples,
            },
            training: BTreeMap::from([("epochs".to_owned(), json!(EPOCHS.0))]),
            addresses: "the base does not know the form of the answers".to_owned(),
            expects: briefing.baseline.primary,
            reuse_data: false,
            // Most raw rows have no steps at all.
            accept_retention: true,
        }
    }
}

impl Planner for Scripted {
    fn propose(&mut self, briefing: &Briefing<'_>) -> Result<Proposal, StageError> {
        let recipe = Self::recipe(briefing)?;
        let first = Self::first(briefing, recipe.clone());
        let parent = briefing.parent();
        let is_new = |proposal: &Proposal| {
            !briefing.experiments.iter().any(|earlier| proposal.repeats(&earlier.proposal))
        };
        if briefing.experiments.is_empty() {
            return Ok(first);
        }
        // What is changed is the best one, or what was tried last while there is none.
        let from = parent.or(briefing.experiments.last()).map_or(&first, |it| &it.proposal);
        let expects = parent.and_then(Experiment::evaluated).unwrap_or(briefing.baseline).primary;
        for (change, why) in table(briefing, parent) {
            let Some(mut proposal) = changed(from, change, &recipe, briefing) else { continue };
            proposal.focus = match (parent, change.is_of_training()) {
                (None, _) => Focus::Both,
                (Some(_), true) => Focus::Training,
                (Some(_), false) => Focus::Data,
            };
            proposal.reuse_data = proposal.focus == Focus::Training;
            proposal.reason = format!("{change:?}, for {why}");
            (proposal.addresses, proposal.expects) = (why, expects);
            if is_new(&proposal) {
                return Ok(proposal);
            }
        }
        Err(planner("every change of the table was tried; end the run here".to_owned()).into())
    }

    fn write_script(
        &mut self,
        briefing: &Briefing<'_>,
        proposal: &Proposal,
        _: Option<Revision<'_>>,
    ) -> Result<String, StageError> {
        let recipe = Self::recipe(briefing)?;
        let exams: Vec<&str> = briefing
            .pool
            .sources
            .iter()
            .filter(|source| source.name == "finance")
            .flat_map(|source| source.files.iter().map(|file| file.path.as_str()))
            .collect();
        let files: BTreeMap<&str, Vec<&str>> = briefing
            .pool
            .sources
            .iter()
            .map(|source| (source.name.as_str(), files_of_rows(source)))
            .collect();
        let example = |FormExample { system, answer, .. }: &FormExample| json!([system, answer]);
        let examples: Vec<Value> = briefing.form.of_each_system().map(example).collect();
        let plan = json!({
            "sources": proposal.data.sources,
            "sampling": proposal.data.sampling,
            "target": proposal.data.target_samples,
            "most_words": proposal.data.filters.iter().find_map(|filter| most_words(filter)),
            "reasoning_words": briefing.settings.checks.reasoning_words,
            "form": recipe.form,
            "examples": examples,
            "seed": briefing.seed,
            "exams": exams,
            "files": files,
        });
        // A text of JSON is a text of Python too.
        let text = Value::from(sorted(plan).to_string()).to_string();
        Ok(format!("import json\n\nPLAN = json.loads({text})\n\n{SCRIPT}"))
    }

    fn write_config(
        &mut self,
        _: &Briefing<'_>,
        proposal: &Proposal,
        _: Option<Revision<'_>>,
    ) -> Result<String, StageError> {
        let mut table = toml::Table::new();
        for (key, value) in &proposal.training {
            let value = toml::Value::try_from(value)
                .map_err(|error| planner(format!("`training.{key}` is no setting: {error}")))?;
            put(&mut table, key, value).ok_or_else(|| {
                planner(format!("`training.{key}` is below a setting that is no table"))
            })?;
        }
        Ok(toml::to_string(&table).map_err(|error| planner(error.to_string()))?)
    }

    fn judge(&mut self, _: &Briefing<'_>, checks: &[Check]) -> Result<Opinion, StageError> {
        let rejected = checks.iter().find_map(|check| Some((check.stage, check.rejection()?)));
        let warnings: Vec<&str> = checks
            .iter()
            .filter_map(|check| match &check.outcome {
                CheckOutcome::Warned { messages } => Some(messages),
                _ => None,
            })
            .flatten()
            .map(String::as_str)
            .collect();
        let execution = match &rejected {
            Some((stage, rejection)) => format!("{stage}: {rejection}"),
            None => "every stage passed".to_owned(),
        };
        Ok(Opinion {
            execution,
            return_checking: if warnings.is_empty() {
                "nothing was found".to_owned()
            } else {
                warnings.join("; ")
            },
            code: "made from the planner's own script".to_owned(),
            final_decision: rejected.is_none(),
        })
    }

    fn diagnose(
        &mut self,
        briefing: &Briefing<'_>,
        experiment: &Experiment,
    ) -> Result<Diagnosis, StageError> {
        match &experiment.outcome {
            ExperimentOutcome::Rejected { stage, class, message } => Ok(Diagnosis {
                summary: format!("it failed at the stage `{stage}`"),
                gaps: Vec::new(),
                reason: message.clone(),
                next: "change what the class names".to_owned(),
                error_class: Some(*class),
            }),
            ExperimentOutcome::Evaluated { evaluated, acceptance, losses } => {
                let before = briefing.baseline.primary;
                Ok(Diagnosis {
                    summary: format!(
                        "{:.4}, the base {before:.4}; {} % of the resamples say that it is better than \
                         the best before",
                        evaluated.primary,
                        (100.0 * acceptance.agree).round()
                    ),
                    gaps: gaps(evaluated, *losses),
                    reason: losses.map_or_else(
                        || "there are no losses".to_owned(),
                        |(first, last)| format!("the loss has fallen from {first:.2} to {last:.2}"),
                    ),
                    next: "the first change of the table that was not tried".to_owned(),
                    error_class: None,
                })
            }
        }
    }
}

/// What a model lacks, by its mistakes and its losses.
fn gaps(evaluated: &Evaluated, losses: Option<(f64, f64)>) -> Vec<Gap> {
    let mut found = Vec::new();
    let mut add = |dimension: &str, evidence: String, kind| {
        found.push(Gap { dimension: dimension.to_owned(), evidence, kind });
    };
    let percent = |share: f64| format!("{:.0} % of the items", 100.0 * share);
    for (mistake, kind) in [
        (Mistake::Format, GapKind::Format),
        (Mistake::Truncated, GapKind::Format),
        (Mistake::Empty, GapKind::Format),
        (Mistake::Wrong, GapKind::Reasoning),
    ] {
        let share = evaluated.share(mistake);
        if share > MANY {
            add(mistake.name(), percent(share), kind);
        }
    }
    let worst = evaluated.by_subtask.iter().min_by(|one, other| one.1.0.total_cmp(&other.1.0));
    if let Some((kind, (score, count))) = worst {
        add(kind, format!("{score:.2} on {count} items"), GapKind::Knowledge);
    }
    if let Some((first, last)) = losses.filter(|(first, last)| last / first > LITTLE) {
        add("training", format!("the loss ends at {last:.2} of {first:.2}"), GapKind::Underfit);
    }
    found
}

impl Change {
    fn is_of_training(self) -> bool {
        matches!(
            self,
            Self::MoreEpochs
                | Self::FewerEpochs
                | Self::HigherRate
                | Self::LowerRate
                | Self::SmallerBatch
        )
    }
}

/// A proposal with a change; `None` where it would change nothing.
pub(super) fn changed(
    from: &Proposal,
    change: Change,
    recipe: &Recipe,
    briefing: &Briefing<'_>,
) -> Option<Proposal> {
    let mut proposal = from.clone();
    let default = |key: &str| {
        let setting = briefing.schema.settings().find(|setting| setting.key == key)?;
        // Bases of the suite are small; a large one's own defaults come with a planner that asks a model.
        setting.default.get("small").and_then(Value::as_f64)
    };
    let current = |key: &str| {
        let set = from.training.get(key).and_then(Value::as_f64);
        set.or_else(|| default(key))
    };
    let epochs = from.training.get("epochs").and_then(Value::as_u64).unwrap_or(EPOCHS.0);
    match change {
        Change::MoreEpochs => {
            let more = (2 * epochs).min(EPOCHS.2);
            (more != epochs).then(|| set(&mut proposal, "epochs", json!(more)))?;
        }
        Change::FewerEpochs => {
            let fewer = (epochs / 2).max(EPOCHS.1);
            (fewer != epochs).then(|| set(&mut proposal, "epochs", json!(fewer)))?;
        }
        Change::HigherRate => {
            let rate = 2.0 * current("learning_rate")?;
            (rate <= briefing.settings.limits.learning_rate)
                .then(|| set(&mut proposal, "learning_rate", json!(rate)))?;
        }
        Change::LowerRate => {
            set(&mut proposal, "learning_rate", json!(current("learning_rate")? / 2.0));
        }
        Change::SmallerBatch => {
            let batch = from.training.get("batch").and_then(Value::as_u64).unwrap_or(16);
            (batch > 1).then(|| set(&mut proposal, "batch", json!(batch / 2)))?;
        }
        Change::ShorterAnswers => {
            let words = from.data.filters.iter().find_map(|filter| most_words(filter));
            let fewer = words.map_or(briefing.task.limits.turn_tokens / 2, |words| words / 2);
            let least = u32::try_from(briefing.settings.checks.reasoning_words).ok()? + 4;
            proposal.data.filters.retain(|filter| most_words(filter).is_none());
            (fewer >= least)
                .then(|| proposal.data.filters.push(format!("{}{fewer}{}", SHORT.0, SHORT.1)))?;
        }
        Change::OtherSampling(rule) => {
            (rule != from.data.sampling).then(|| proposal.data.sampling = rule)?;
        }
        Change::MixIn => {
            let beside = recipe.beside.filter(|_| from.data.sources.len() == 1)?;
            proposal.data.sources[0].share = 0.9;
            let share = SourceShare { source: beside.to_owned(), subset: None, share: 0.1 };
            proposal.data.sources.push(share);
        }
        Change::FewerSamples => {
            let fewer = from.data.target_samples / 2;
            (fewer >= 50).then(|| proposal.data.target_samples = fewer)?;
        }
    }
    Some(proposal)
}

/// Sets a dotted key; none if something on the way is no table.
fn put(table: &mut toml::Table, key: &str, value: toml::Value) -> Option<()> {
    let mut place = table;
    let (path, last) = key.rsplit_once('.').unwrap_or(("", key));
    for name in path.split('.').filter(|name| !name.is_empty()) {
        let empty = || toml::Value::Table(toml::Table::new());
        place = place.entry(name).or_insert_with(empty).as_table_mut()?;
    }
    place.insert(last.to_owned(), value);
    Some(())
}

fn set(proposal: &mut Proposal, key: &str, value: Value) {
    proposal.training.insert(key.to_owned(), value);
}

/// The number of words in a filter that drops long answers.
fn most_words(filter: &str) -> Option<u32> {
    filter.strip_prefix(SHORT.0)?.strip_suffix(SHORT.1)?.parse().ok()
}

pub(super) fn planner(message: String) -> Rejection {
    Rejection::new(ErrorClass::Planner, message)
}
