//! A draft that is planned in stages, from published methods: do two of them go together, which of
//! their parts can be built, an outline, a check, a detailed plan, another check. Source: `AutoMind`,
//! section 3.2 and its release.

use super::answer::{
    CompatibleVerdict, MethodModule, PlanCheck, read_detailed, read_draft, read_modules,
    read_object,
};
use super::asker::Asker;
use super::prompt::{Question, Weight, title};
use crate::run::job::AutoMindJob;
use crate::run::knowledge::ReadyMethod;
use crate::run::open::Undone;
use crate::search::operator::Unreadable;
use std::fmt::Write as _;

/// Times that a plan is written until a check finds nothing.
const TRIES: u32 = 3;

/// A result of a stage, or why it has none.
type Stage<T> = Result<Result<T, String>, Undone>;

/// The value of a stage; a stage without one ends the whole.
macro_rules! staged {
    ($stage:expr) => {
        match $stage? {
            Ok(value) => value,
            Err(reason) => return Ok(Err(reason)),
        }
    };
}

/// A detailed plan that uses one or two methods, or why there is none.
pub(super) fn draft_from_papers(
    asker: &Asker<'_>,
    memory: &str,
    papers: &[ReadyMethod],
) -> Stage<String> {
    let mut papers = papers;
    if papers.len() > 1 {
        let question = question(asker, AutoMindJob::Compatible).text(
            title::PAPERS,
            &shown(papers),
            Weight::Stays,
        );
        let verdict = staged!(asker.ask_for(&question, read_object::<CompatibleVerdict>));
        if !verdict.yes {
            papers = &papers[..1];
        }
    }
    let mut modules = String::new();
    for paper in papers {
        let question = question(asker, AutoMindJob::Modules).text(
            title::PAPERS,
            &shown(std::slice::from_ref(paper)),
            Weight::Stays,
        );
        for module in staged!(asker.ask_for(&question, read_modules)) {
            modules.push_str(&text(&module));
        }
    }
    let outline = staged!(checked(asker, AutoMindJob::Abstract, read_draft, |question| {
        question.text(title::MODULES, &modules, Weight::Stays).text(
            title::MEMORY,
            memory,
            Weight::Memory,
        )
    }));
    let plan = staged!(checked(asker, AutoMindJob::Detailed, read_detailed, |question| {
        question.text(title::PLAN, &outline, Weight::Stays).text(
            title::MODULES,
            &modules,
            Weight::Stays,
        )
    }));
    Ok(Ok(plan))
}

/// A text that a check has nothing against, written anew with the objection of the last check.
fn checked(
    asker: &Asker<'_>,
    job: AutoMindJob,
    read: impl Fn(&str) -> Result<String, Unreadable>,
    with: impl Fn(Question) -> Question,
) -> Stage<String> {
    let mut objection = String::new();
    for _ in 0..TRIES {
        let asked = with(question(asker, job)).text(title::OBJECTION, &objection, Weight::Stays);
        let plan = staged!(asker.ask_for(&asked, &read));
        let check = question(asker, AutoMindJob::Check).text(title::PLAN, &plan, Weight::Stays);
        let PlanCheck { why, ok } = staged!(asker.ask_for(&check, read_object::<PlanCheck>));
        if ok {
            return Ok(Ok(plan));
        }
        objection = why;
    }
    Ok(Err(format!("{TRIES} plans from papers were objected to: {objection}")))
}

fn question(asker: &Asker<'_>, job: AutoMindJob) -> Question {
    Question::new(job, asker.task()).files(asker.task())
}

fn shown(papers: &[ReadyMethod]) -> String {
    papers.iter().fold(String::new(), |mut all, paper| {
        let _ = writeln!(all, "Paper `{}`: {}\n{}\n", paper.id, paper.title, paper.text);
        all
    })
}

fn text(module: &MethodModule) -> String {
    let MethodModule { name, description, inputs, place, when } = module;
    format!("{name} (in {place})\n{description}\nInputs: {inputs}\nWhen: {when}\n\n")
}
