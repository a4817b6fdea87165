//! From an answer to a plan, a script, a judgement.
//!
//! All answers but scripts are one JSON object in a fenced block. An object that is not exactly of
//! its form is not read, and what is wrong with it goes back to the player.

use crate::fence::{FencedBlock, blocks, fenced, without_thoughts};
use crate::run::job::AutoMindJob;
use crate::search::operator::Unreadable;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Longest plan, in bytes.
const PLAN: usize = 20_000;
/// Most parts that are taken of a method.
const MODULES: usize = 4;
/// Most steps that a plan is taken apart into, before they are merged.
const STEPS: usize = 40;

/// A plan from the task alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftedPlan {
    /// The plan.
    pub plan: String,
}

/// A plan that follows another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangedPlan {
    /// Why it is changed so.
    pub thought: String,
    /// The plan, with all that stays.
    pub plan: String,
}

/// Whether a trick is of use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrickVerdict {
    /// Why.
    pub why: String,
    /// Whether all conditions hold.
    pub applies: bool,
}

/// How hard a plan is to code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComplexityScore {
    /// Why.
    pub thought: String,
    /// 1 to 5, in halves.
    pub score: f64,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    /// What it is called.
    pub step: String,
    /// What is done in it.
    pub details: String,
}

/// A plan in steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSteps {
    /// In their order.
    pub steps: Vec<PlanStep>,
}

/// A judgement of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunVerdict {
    /// Whether the script does not do what it says.
    pub is_bug: bool,
    /// Whether validation is far behind training.
    pub is_overfitting: bool,
    /// The run in two or three sentences.
    pub summary: String,
    /// The validation score that the output reports.
    pub metric: Option<f64>,
}

/// Whether two published methods go together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompatibleVerdict {
    /// Why.
    pub why: String,
    /// Whether one solution can use both.
    pub yes: bool,
}

/// A part of a published method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodModule {
    /// What it is called.
    pub name: String,
    /// How it works.
    pub description: String,
    /// What it takes.
    pub inputs: String,
    /// Where it acts.
    pub place: String,
    /// Under which conditions it helps.
    pub when: String,
}

/// The parts of a published method that are of use for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodModules {
    /// At least one.
    pub modules: Vec<MethodModule>,
}

/// A step of a detailed plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetailedStep {
    /// What it is called.
    pub step: String,
    /// What it takes.
    pub input: String,
    /// What it gives.
    pub output: String,
    /// What is done, in order.
    pub substeps: Vec<String>,
}

/// A plan in steps with all details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetailedPlan {
    /// In their order, at least one.
    pub steps: Vec<DetailedStep>,
}

/// Whether a plan can be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanCheck {
    /// What has to be changed, or why all holds.
    pub why: String,
    /// Whether all conditions hold.
    pub ok: bool,
}

/// The JSON object in an answer: in its only block, or in the only one that is marked `json`, or
/// the whole answer where it has no block.
///
/// # Errors
/// [`Unreadable`], with what is wrong.
///
/// # Examples
/// ```rust
/// use agents::automind::answer::{DraftedPlan, read_object};
///
/// let plan: DraftedPlan = read_object("Here.\n```json\n{\"plan\": \"a forest\"}\n```\n")?;
/// assert_eq!(plan.plan, "a forest");
/// assert!(read_object::<DraftedPlan>("{\"plan\": \"a\", \"also\": 1}").is_err());
/// # Ok::<(), agents::search::operator::Unreadable>(())
/// ```
pub fn read_object<T: DeserializeOwned>(text: &str) -> Result<T, Unreadable> {
    let found = blocks(text)?;
    let marked: Vec<&FencedBlock> =
        found.iter().filter(|block| block.info.eq_ignore_ascii_case("json")).collect();
    let object = match (&found[..], &marked[..]) {
        ([], _) => without_thoughts(text),
        ([only], _) => only.body.as_str(),
        (_, [only]) => only.body.as_str(),
        _ => {
            return Err(Unreadable(format!(
                "The answer has {} fenced blocks. Give one, with one JSON object in it.",
                found.len()
            )));
        }
    };
    serde_json::from_str(object.trim()).map_err(|error| {
        Unreadable(format!(
            "The answer is not the JSON object that was asked for: {error}. Give it in one fenced \
             block, with exactly the keys that were asked for."
        ))
    })
}

/// The Python in an answer: its only block, or the only one that is marked `python`.
///
/// # Errors
/// [`Unreadable`], with what is wrong.
pub fn read_python(text: &str) -> Result<String, Unreadable> {
    let found = blocks(text)?;
    let is_python = |block: &&FencedBlock| {
        ["python", "py", "python3"].iter().any(|name| block.info.eq_ignore_ascii_case(name))
    };
    let marked: Vec<&FencedBlock> = found.iter().filter(is_python).collect();
    let code = match (&found[..], &marked[..]) {
        ([only], _) => &only.body,
        (_, [only]) => &only.body,
        _ => {
            return Err(Unreadable(format!(
                "The answer has {} fenced blocks. Give the script in one that begins with \
                 ```python.",
                found.len()
            )));
        }
    };
    if code.trim().is_empty() {
        return Err(Unreadable("The block of code is empty. Give the script.".to_owned()));
    }
    Ok(code.clone())
}

fn checked(plan: String) -> Result<String, Unreadable> {
    if plan.trim().is_empty() {
        return Err(Unreadable("The plan is empty. Give one.".to_owned()));
    }
    if plan.len() > PLAN {
        return Err(Unreadable(format!(
            "The plan has {} bytes, more than {PLAN}. Give a shorter one.",
            plan.len()
        )));
    }
    Ok(plan)
}

/// The plan of a draft.
///
/// # Errors
/// [`Unreadable`], also where it is empty or too long.
pub fn read_draft(text: &str) -> Result<String, Unreadable> {
    checked(read_object::<DraftedPlan>(text)?.plan)
}

/// The plan of an improvement or a repair.
///
/// # Errors
/// [`Unreadable`], also where it is empty or too long.
pub fn read_change(text: &str) -> Result<String, Unreadable> {
    checked(read_object::<ChangedPlan>(text)?.plan)
}

/// A complexity between 1 and 5, to the next half.
///
/// # Errors
/// [`Unreadable`], also for a number beyond these.
pub fn read_complexity(text: &str) -> Result<f64, Unreadable> {
    let score = read_object::<ComplexityScore>(text)?.score;
    if !(1.0..=5.0).contains(&score) {
        return Err(Unreadable(format!("The score is {score}. Give one from 1 to 5.")));
    }
    Ok((score * 2.0).round() / 2.0)
}

/// The steps of a plan, at least one.
///
/// # Errors
/// [`Unreadable`], also for none or too many, and for one without a name.
pub fn read_steps(text: &str) -> Result<Vec<PlanStep>, Unreadable> {
    let steps = read_object::<PlanSteps>(text)?.steps;
    if steps.is_empty() || steps.len() > STEPS {
        let count = steps.len();
        return Err(Unreadable(format!("There are {count} steps. Give between 1 and {STEPS}.")));
    }
    if steps.iter().any(|step| step.step.trim().is_empty()) {
        return Err(Unreadable("A step has no name. Name each.".to_owned()));
    }
    Ok(steps)
}

/// Parts of a method, 1 to 4, each with a name and a description.
///
/// # Errors
/// [`Unreadable`].
pub fn read_modules(text: &str) -> Result<Vec<MethodModule>, Unreadable> {
    let modules = read_object::<MethodModules>(text)?.modules;
    if !(1..=MODULES).contains(&modules.len()) {
        let count = modules.len();
        return Err(Unreadable(format!("There are {count} modules. Give 1 to {MODULES}.")));
    }
    let is_bare = |module: &MethodModule| {
        module.name.trim().is_empty() || module.description.trim().is_empty()
    };
    if modules.iter().any(is_bare) {
        return Err(Unreadable("A module has no name or no description. Give both.".to_owned()));
    }
    Ok(modules)
}

/// A detailed plan as text, its steps numbered.
///
/// # Errors
/// [`Unreadable`], also for no steps or too many, for one without a name, and for a plan that is too
/// long.
pub fn read_detailed(text: &str) -> Result<String, Unreadable> {
    let steps = read_object::<DetailedPlan>(text)?.steps;
    if steps.is_empty() || steps.len() > STEPS {
        let count = steps.len();
        return Err(Unreadable(format!("There are {count} steps. Give between 1 and {STEPS}.")));
    }
    let mut plan = String::new();
    for (number, DetailedStep { step, input, output, substeps }) in (1..).zip(steps) {
        if step.trim().is_empty() {
            return Err(Unreadable("A step has no name. Name each.".to_owned()));
        }
        let _ = writeln!(plan, "{number}. {step}\nInput: {input}\nOutput: {output}");
        for substep in substeps {
            let _ = writeln!(plan, "{substep}");
        }
    }
    checked(plan)
}

/// A judgement of a run, whose metric is a number or none.
///
/// # Errors
/// [`Unreadable`].
pub fn read_run_verdict(text: &str) -> Result<RunVerdict, Unreadable> {
    read_object(text)
}

/// `value` as an answer: a JSON object in a fenced block.
pub(crate) fn written(value: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(value).expect("an object");
    format!("```json\n{json}\n```\n")
}

/// The answer of a player that has one script for whatever it is asked.
pub(crate) fn fixed_answer(job: AutoMindJob, code: &str) -> String {
    let plan = || "The script that is given.".to_owned();
    match job {
        AutoMindJob::Draft | AutoMindJob::Abstract => written(&DraftedPlan { plan: plan() }),
        AutoMindJob::Improve | AutoMindJob::ImproveWith | AutoMindJob::Debug => {
            written(&ChangedPlan { thought: String::new(), plan: plan() })
        }
        AutoMindJob::Compatible => written(&CompatibleVerdict { why: String::new(), yes: false }),
        AutoMindJob::Modules => {
            let module = MethodModule {
                name: "none".to_owned(),
                description: plan(),
                inputs: String::new(),
                place: String::new(),
                when: String::new(),
            };
            written(&MethodModules { modules: vec![module] })
        }
        AutoMindJob::Detailed => {
            let (input, output) = (String::new(), String::new());
            let step = DetailedStep { step: plan(), input, output, substeps: Vec::new() };
            written(&DetailedPlan { steps: vec![step] })
        }
        AutoMindJob::Check => written(&PlanCheck { why: String::new(), ok: true }),
        AutoMindJob::Applies => written(&TrickVerdict { why: String::new(), applies: false }),
        AutoMindJob::Complexity => written(&ComplexityScore { thought: String::new(), score: 1.0 }),
        AutoMindJob::Decompose => {
            let step = PlanStep { step: "all of it".to_owned(), details: plan() };
            written(&PlanSteps { steps: vec![step] })
        }
        AutoMindJob::Code | AutoMindJob::CodeStep => fenced("python", code),
        AutoMindJob::Verify => written(&RunVerdict {
            is_bug: false,
            is_overfitting: false,
            summary: "It ran.".to_owned(),
            metric: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(json: &str) -> String {
        format!("I think so.\n\n```json\n{json}\n```\n")
    }

    #[test]
    fn objects_have_exactly_their_keys() {
        assert_eq!(read_draft(&block(r#"{"plan": "a"}"#)).unwrap(), "a");
        assert_eq!(read_change(&block(r#"{"thought": "t", "plan": "b"}"#)).unwrap(), "b");
        for wrong in [
            r#"{"plan": ""}"#,
            r#"{"plan": 3}"#,
            r#"{"plan": "a", "plan": "b"}"#,
            r#"{"plan": "a", "job": "verify"}"#,
            "{}",
            "plan",
            "[]",
        ] {
            assert!(read_draft(&block(wrong)).is_err(), "{wrong}");
        }
        assert!(read_draft("no block and no object").is_err());
        assert!(read_draft(&format!("{0}{0}", block(r#"{"plan": "a"}"#))).is_err());
        assert!(
            read_draft(&block(&format!("{{\"plan\": \"{}\"}}", "a".repeat(PLAN + 1)))).is_err()
        );
    }

    #[test]
    fn complexity_is_in_halves_from_one_to_five() {
        let read = |score: &str| {
            read_complexity(&block(&format!("{{\"thought\": \"\", \"score\": {score}}}")))
        };
        assert_eq!(read("3.7").unwrap(), 3.5);
        assert_eq!(read("5").unwrap(), 5.0);
        for wrong in ["0", "5.5", "null", "\"3\"", "1e999"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn python_is_the_only_block_or_the_marked_one() {
        assert_eq!(read_python("```\nx = 1\n```").unwrap(), "x = 1\n");
        assert_eq!(read_python("```text\nso\n```\n```python\nx\n```").unwrap(), "x\n");
        for wrong in ["x = 1", "```\n\n```", "```\na\n```\n```\nb\n```", "```python\nx"] {
            assert!(read_python(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn steps_have_names() {
        let read = |steps: &str| read_steps(&block(&format!("{{\"steps\": [{steps}]}}")));
        let step = r#"{"step": "load", "details": "d"}"#;
        assert_eq!(read(step).unwrap().len(), 1);
        for wrong in ["", r#"{"step": " ", "details": "d"}"#, r#"{"step": "a"}"#] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read(&[step; STEPS + 1].join(", ")).is_err());
    }

    #[test]
    fn modules_and_detailed_steps_have_names_and_become_text() {
        let module = r#"{"name": "m", "description": "d", "inputs": "", "place": "", "when": ""}"#;
        let read = |modules: &str| read_modules(&block(&format!("{{\"modules\": [{modules}]}}")));
        assert_eq!(read(module).unwrap().len(), 1);
        for wrong in ["", r#"{"name": "m"}"#, &module.replace("\"d\"", "\" \"")] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read(&[module; MODULES + 1].join(", ")).is_err());
        let step = r#"{"step": "load", "input": "a", "output": "b", "substeps": ["x", "y"]}"#;
        let detailed = |steps: &str| read_detailed(&block(&format!("{{\"steps\": [{steps}]}}")));
        assert_eq!(detailed(step).unwrap(), "1. load\nInput: a\nOutput: b\nx\ny\n");
        assert!(detailed("").is_err() && detailed(&step.replace("load", " ")).is_err());
    }

    proptest! {
        #[test]
        fn no_answer_makes_a_parser_panic(text in "[`{}\\[\\]\":,a-e0-9.\\n\\\\ -]{0,120}") {
            let _ = read_draft(&text);
            let _ = read_change(&text);
            let _ = read_complexity(&text);
            let _ = read_steps(&text);
            let _ = read_run_verdict(&text);
            let _ = read_modules(&text);
            let _ = read_detailed(&text);
            let _ = read_object::<TrickVerdict>(&text);
            let _ = read_python(&text);
        }
    }
}
