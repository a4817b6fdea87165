//! The output of a script as players see it.

use jail::exec::Outcome;
use std::fmt::Write as _;

/// An output longer than this is cut, as AIDE does.
const OUTPUT: usize = 5_100;
/// Characters of a cut output, at either end.
pub(crate) const OUTPUT_END: usize = 2_500;
/// The same where the context is full.
pub(crate) const SHORT_END: usize = 500;

/// The beginning and the end of a long text.
pub(crate) fn cut(text: &str, end: usize) -> String {
    let count = text.chars().count();
    if count <= OUTPUT.min(2 * end + 100) {
        return text.to_owned();
    }
    let head: String = text.chars().take(end).collect();
    let tail: String = text.chars().skip(count - end).collect();
    format!("{head}\n[... {} characters left out ...]\n{tail}", count - 2 * end)
}

/// What a script printed, how it ended, and what became of its submission.
pub(crate) fn output_text(
    outcome: &Outcome,
    stdout: &str,
    stderr: &str,
    validity: &Result<(), String>,
    told: Option<String>,
) -> String {
    let mut text = String::new();
    for stream in [stdout, stderr] {
        if !stream.trim_end().is_empty() {
            text.push_str(stream.trim_end());
            text.push('\n');
        }
    }
    match outcome {
        Outcome::Finished => text.push_str("[the script finished]\n"),
        outcome => drop(writeln!(text, "[the script failed: it {outcome}]")),
    }
    match (validity, told) {
        (Err(reason), _) => drop(writeln!(text, "[{reason}]")),
        (Ok(()), Some(told)) => drop(writeln!(text, "[{told}]")),
        (Ok(()), None) => text.push_str("[the submission is valid]\n"),
    }
    text
}
