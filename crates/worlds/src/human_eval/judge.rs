//! The scripts that judge a program, and what they print.

use super::FunctionItem;
use crate::programs::program_of;
use crate::runner::{ProgramRules, ProgramRun};
use jail::exec::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tasks::units::{ByteSize, Span};

/// Limits of a run of the tests: their code is trusted, and the results that they compare are not.
pub(super) const RULES: ProgramRules =
    ProgramRules { time_limit: Span::seconds(20), memory: ByteSize::mib(1024), module: None };

const TESTS: &str = include_str!("tests.py");
const PROGRAM: &str = include_str!("program.py");

/// What the tests said.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tested {
    /// `wrong` or `raised`; `None` if all passed.
    pub(super) mistake: Option<String>,
    /// The arguments of each call, as Python writes them.
    pub(super) calls: Vec<String>,
}

/// How a call ended: `returned` with the result, or `raised` with the type of the exception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended(String, String);

/// A value for a script: a text of JSON is a text of Python too.
fn value(of: &impl Serialize) -> String {
    format!("json.loads({})", json!(json!(of).to_string()))
}

/// The script that tests the released solution and says which calls the tests make.
pub(super) fn recording(item: &FunctionItem) -> String {
    format!("{TESTS}\n\nrecord({})\n", value(item))
}

/// The script that puts a program behind its prompt and makes the calls.
pub(super) fn calling(item: &FunctionItem, text: &str, calls: &[String]) -> String {
    let (program, calls) = (program_of(text), json!(calls));
    format!("{}{program}\n{PROGRAM}\n_print_calls({}, {calls})\n", item.prompt, item.entry_point)
}

/// The script that tests these results of the calls.
pub(super) fn comparing(item: &FunctionItem, calls: &[String], results: &[Ended]) -> String {
    let (item, calls, results) = (value(item), value(&calls), value(&results));
    format!("{TESTS}\n\ncompare({item}, {calls}, {results})\n")
}

/// What a program's calls came to, or the tag of what went wrong with its run.
pub(super) fn results(run: &ProgramRun, count: usize) -> Result<Vec<Ended>, &'static str> {
    if let Some(mistake) = run.mistake() {
        return Err(mistake);
    }
    let lines: Vec<&str> = run.printed.lines().collect();
    let last = lines.len().checked_sub(count).and_then(|from| lines.get(from..));
    let read = |line: &&str| serde_json::from_str(line).ok();
    last.and_then(|last| last.iter().map(read).collect()).ok_or("no_result")
}

/// What the tests said, or how their script failed.
pub(super) fn tested(run: &ProgramRun) -> Result<Tested, String> {
    if run.outcome != Outcome::Finished {
        return Err(format!("its tests {}", run.outcome));
    }
    let last = run.printed.lines().last().unwrap_or_default();
    serde_json::from_str(last).map_err(|_| "its tests ended their own process".to_owned())
}
