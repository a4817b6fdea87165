//! From a plan to a script: how hard it is to code, and the script in one piece.

use super::answer::{read_complexity, read_python};
use super::asker::Asker;
use super::prompt::{Question, Weight, title};
use super::settings::{CoderSettings, CodingMode};
use crate::run::job::AutoMindJob;
use crate::run::node::Operator;
use crate::run::node_facts::CodingStyle;
use crate::run::open::{Undone, undone};
use crate::search::operator::Unreadable;
use jail::exec::Run;
use jail::limits::RunLimits;
use sandbox::env::EpisodeFault;
use tasks::units::Span;

/// The complexity of a plan where the player gives none that can be read.
const UNREADABLE: f64 = 5.0;
/// Seconds that a script may take to compile.
const COMPILING: u64 = 10;
/// Characters of what a compiler says that are shown.
const SAID: usize = 1_500;

/// How the plan of a node is coded, and its complexity where that was asked for.
pub(super) fn style(
    asker: &Asker<'_>,
    settings: &CoderSettings,
    operator: Operator,
    plan: &str,
) -> Result<(CodingStyle, Option<f64>), Undone> {
    let mode = match operator {
        Operator::Improve | Operator::Crossover => settings.improve,
        Operator::Draft | Operator::Debug => settings.mode,
    };
    match mode {
        CodingMode::OnePass => return Ok((CodingStyle::OnePass, None)),
        CodingMode::Stepwise => return Ok((CodingStyle::Stepwise, None)),
        CodingMode::Adaptive => {}
    }
    let question = Question::new(AutoMindJob::Complexity, asker.task()).files(asker.task()).text(
        title::PLAN,
        plan,
        Weight::Stays,
    );
    let score = asker.ask_for(&question, read_complexity)?.unwrap_or(UNREADABLE);
    let style =
        if score > settings.threshold { CodingStyle::Stepwise } else { CodingStyle::OnePass };
    Ok((style, Some(score)))
}

/// A script of the whole plan, or why there is none. `before` is code that is to be changed or
/// repaired, with what it printed.
///
/// Up to `answers` are asked for until one compiles; the last one that has a script is taken
/// even if it does not, since what is wrong with it can be repaired.
pub(super) fn one_pass(
    asker: &Asker<'_>,
    settings: &CoderSettings,
    plan: &str,
    before: Option<(&str, &str)>,
) -> Result<Result<String, String>, Undone> {
    let mut question = Question::new(AutoMindJob::Code, asker.task()).files(asker.task()).text(
        title::PLAN,
        plan,
        Weight::Stays,
    );
    if let Some((code, output)) = before {
        question = question.python(title::CODE, code).text(title::OUTPUT, output, Weight::Output);
    }
    compiling(asker, settings, &question, "")
}

/// An answer to `question` whose script compiles after `so_far`.
pub(super) fn compiling(
    asker: &Asker<'_>,
    settings: &CoderSettings,
    question: &Question,
    so_far: &str,
) -> Result<Result<String, String>, Undone> {
    let mut last = None;
    let more = u32::try_from(settings.answers.saturating_sub(1)).unwrap_or(u32::MAX);
    let found = asker.ask(question, more, |text| {
        let code = match read_python(text) {
            Ok(code) => code,
            Err(unreadable) => return Ok(Err(unreadable)),
        };
        let checked = compile(asker, &format!("{so_far}{code}"))?;
        last = Some(code.clone());
        Ok(checked.map(|()| code).map_err(|said| {
            Unreadable(format!(
                "The code does not compile. Give it again, whole and without the fault.\n\n{}",
                crate::fence::fenced("text", &said)
            ))
        }))
    })?;
    Ok(found.or_else(|reason| last.ok_or(reason)))
}

/// Whether `code` compiles: in the jail, since a compiler can be made to run for ever, or to crash.
fn compile(asker: &Asker<'_>, code: &str) -> Result<Result<(), String>, Undone> {
    let literal = serde_json::to_string(code).expect("a text");
    let check = format!("compile({literal}, \"solution.py\", \"exec\")\n");
    let fault = |fault| undone(EpisodeFault::Execution(fault));
    let agent = &asker.open.run;
    let mut workspace = agent.suite.sandbox().empty_workspace().map_err(fault)?;
    agent.stop.watch(workspace.cancel().map_err(fault)?);
    let limits = RunLimits { time_limit: Span::seconds(COMPILING), ..RunLimits::default() };
    let run: Run = workspace.run(&check, &limits).map_err(fault)?;
    if run.outcome.is_finished() {
        return Ok(Ok(()));
    }
    let said = run.stderr.text();
    let skipped = said.chars().count().saturating_sub(SAID);
    let end: String = said.chars().skip(skipped).collect();
    Ok(Err(format!("{end}[compiling it {}]", run.outcome)))
}
