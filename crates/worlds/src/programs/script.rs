//! The script that calls a policy's function, and what it prints.
//!
//! The script has the arguments of the tests and not their results, which are compared outside of
//! the jail: whatever a program does in there, it can only pass by finding the results.

use super::completion::program_of;
use super::{ProgramItem, ProgramTest, Value};
use serde_json::Value as Json;

/// Calls the function and prints a line of JSON for each call, after all of them: `[result]`, or
/// the name of the exception.
const CALLS: &str = "
import json as _json

def _plain(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if type(value) is list:
        return [_plain(item) for item in value]
    if type(value) is dict and all(type(name) is str for name in value):
        return {name: _plain(item) for name, item in value.items()}
    raise TypeError(f'{type(value).__name__} is no result')

_lines = []
for _arguments in [@ARGUMENTS@]:
    try:
        _lines.append(_json.dumps([_plain(@NAME@(*_arguments))], allow_nan=False))
    except Exception as _error:
        _lines.append(_json.dumps(type(_error).__name__))
print()
print('\\n'.join(_lines))
";

/// The prompt, the program and the calls, as HumanEval puts them together.
pub(super) fn script(item: &ProgramItem, text: &str) -> String {
    // With a comma at the end, one argument is a tuple too.
    let tuple = |test: &ProgramTest| {
        let arguments: Vec<String> = test.arguments.iter().map(Value::to_string).collect();
        format!("({},)", arguments.join(", "))
    };
    let arguments: Vec<String> = item.tests.iter().map(tuple).collect();
    let calls =
        CALLS.replace("@NAME@", &item.entry_point).replace("@ARGUMENTS@", &arguments.join(", "));
    format!("{}{}\n{calls}", item.prompt, program_of(text))
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Called {
    /// It returned this.
    Returned(Json),
    /// It raised an exception of this type.
    Raised(String),
}

/// What the calls of a script came to; `None` if it did not print so many results at its end.
pub(super) fn results(printed: &str, count: usize) -> Option<Vec<Called>> {
    let lines: Vec<&str> = printed.lines().collect();
    let last = lines.get(lines.len().checked_sub(count)?..)?;
    let read = |line: &&str| match serde_json::from_str(line).ok()? {
        Json::Array(mut result) if result.len() == 1 => result.pop().map(Called::Returned),
        Json::String(exception) => Some(Called::Raised(exception)),
        _ => None,
    };
    last.iter().map(read).collect()
}
