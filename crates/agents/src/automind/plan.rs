//! From a decision to a plan.

use super::answer::{TrickVerdict, read_change, read_draft, read_object};
use super::asker::Asker;
use super::prompt::{Question, Weight, title, trick_text};
use crate::fence::fenced;
use crate::run::job::AutoMindJob;
use crate::run::knowledge::ReadyTrick;
use crate::run::node::NodeId;
use crate::run::node_facts::{AutoMindFacts, TriedTrick};
use crate::run::open::Undone;
use std::fmt::Write as _;

/// The node that a decision builds on, as prompts show it.
#[derive(Debug, Clone)]
pub(super) struct ParentNode {
    pub(super) id: NodeId,
    pub(super) plan: String,
    pub(super) code: String,
    pub(super) output: String,
    /// The trick that it tries, if it does not work yet.
    pub(super) applying: Option<TriedTrick>,
}

/// A plan, or why there is none.
type Planned = Result<Result<String, String>, Undone>;

/// A plan from the task alone; `tricks` are shown with it.
pub(super) fn draft(asker: &Asker<'_>, memory: &str, tricks: &[ReadyTrick]) -> Planned {
    let mut shown = String::new();
    for trick in tricks {
        let _ = writeln!(shown, "{}", trick_text(trick));
        if let Some(snippet) = &trick.snippet {
            let code = fenced("python", &snippet.code);
            let _ = writeln!(shown, "Code:\n{code}");
        }
    }
    let question = Question::new(AutoMindJob::Draft, asker.task())
        .files(asker.task())
        .text(title::TRICKS, &shown, Weight::Stays)
        .text(title::MEMORY, memory, Weight::Memory);
    asker.ask_for(&question, read_draft)
}

/// A plan that changes one thing of `parent`: it takes `trick` in, if there is one that applies.
pub(super) fn improve(
    asker: &Asker<'_>,
    parent: &ParentNode,
    memory: &str,
    trick: Option<&ReadyTrick>,
    facts: &mut AutoMindFacts,
) -> Planned {
    let trick = match trick {
        Some(trick) if applies(asker, parent, trick)? => Some(trick),
        Some(trick) => {
            facts.declined = Some(trick.id.clone());
            None
        }
        None => None,
    };
    let job = if trick.is_some() { AutoMindJob::ImproveWith } else { AutoMindJob::Improve };
    let mut question = Question::new(job, asker.task()).files(asker.task()).text(
        title::MEMORY,
        memory,
        Weight::Memory,
    );
    question = shown(question, parent);
    if let Some(trick) = trick {
        facts.applied.insert(trick.id.clone());
        facts.applying = Some(TriedTrick { trick: trick.id.clone(), base: parent.id });
        question = question.trick(trick);
    }
    asker.ask_for(&question, read_change)
}

/// A plan that repairs `parent`.
pub(super) fn debug(asker: &Asker<'_>, parent: &ParentNode) -> Planned {
    let question = Question::new(AutoMindJob::Debug, asker.task()).files(asker.task());
    asker.ask_for(&shown(question, parent), read_change)
}

/// Whether a trick is tried on `parent`; not where that cannot be read.
fn applies(asker: &Asker<'_>, parent: &ParentNode, trick: &ReadyTrick) -> Result<bool, Undone> {
    let question = Question::new(AutoMindJob::Applies, asker.task())
        .files(asker.task())
        .text(title::PLAN, &parent.plan, Weight::Stays)
        .trick(trick);
    let verdict = asker.ask_for(&question, read_object::<TrickVerdict>)?;
    Ok(verdict.is_ok_and(|verdict| verdict.applies))
}

fn shown(question: Question, parent: &ParentNode) -> Question {
    question.text(title::PLAN, &parent.plan, Weight::Stays).python(title::CODE, &parent.code).text(
        title::OUTPUT,
        &parent.output,
        Weight::Output,
    )
}
