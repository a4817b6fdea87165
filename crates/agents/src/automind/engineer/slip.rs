//! Slips of the pen: a line that is broken in a way that shows only when it runs, and that a
//! traceback names.

use rand::{Rng, RngExt as _};

/// The identifiers of a line with their places.
fn identifiers(line: &str) -> Vec<(usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (start, is_part(c)) {
            (None, true) => start = Some(at),
            (Some(begin), false) => {
                found.push((begin, &line[begin..at]));
                start = None;
            }
            _ => {}
        }
    }
    found.retain(|(_, word)| !word.starts_with(|c: char| c.is_ascii_digit()));
    found
}

/// The place in a line where a letter too many breaks it: after what is called, or what is imported.
/// Only lines at the top level have one, since they always run: so a script is whole with the
/// probability (1 - slip)^lines.
fn place(line: &str) -> Option<usize> {
    let is_import = line.starts_with("import ") || line.starts_with("from ");
    let may_not_run = line.starts_with(char::is_whitespace);
    if may_not_run || line.starts_with("def ") || line.starts_with('#') || line.contains('\'') {
        return None;
    }
    let words = identifiers(line);
    // Not within a text.
    let quoted = |at: usize| line[..at].matches('"').count() % 2 == 1;
    let last_letter = |(at, word): &(usize, &str)| {
        let end = at + word.len();
        (!quoted(*at) && word.ends_with(|c: char| c.is_ascii_alphabetic())).then_some(end)
    };
    if is_import {
        // `import numpy as np` is broken in its module, `from a import b` in the name.
        let named = match words.iter().position(|(_, word)| *word == "as") {
            Some(at) => words.get(at.checked_sub(1)?),
            None => words.last(),
        };
        return named.and_then(last_letter);
    }
    let is_called = |(at, word): &&(usize, &str)| line[at + word.len()..].starts_with('(');
    let keywords = ["in", "and", "or", "not", "if", "else", "for", "lambda", "print", "return"];
    let called = words.iter().filter(is_called).find(|(_, word)| !keywords.contains(word));
    called.and_then(last_letter)
}

/// Lines of `code` that can have a slip.
pub(super) fn breakable(code: &str) -> usize {
    code.lines().filter(|line| place(line).is_some()).count()
}

/// `code` with a slip in each line that can have one, with this probability.
pub(super) fn with_slips(code: &str, probability: f64, rng: &mut impl Rng) -> String {
    let mut written = String::with_capacity(code.len());
    for line in code.lines() {
        match place(line) {
            // A draw for each line, so that others do not change with it.
            Some(at) if rng.random::<f64>() < probability => {
                let (before, after) = line.split_at(at);
                written.push_str(before);
                written.extend(before.chars().next_back());
                written.push_str(after);
            }
            _ => written.push_str(line),
        }
        written.push('\n');
    }
    written
}

/// The misspelt name that the last error of an output names, if it is one that `code` has.
pub(super) fn named(output: &str, code: &str) -> Option<String> {
    let error = output
        .lines()
        .rev()
        .find(|line| line.split(':').next().is_some_and(|name| name.ends_with("Error")))?;
    let in_code = identifiers(code);
    error
        .split('\'')
        .skip(1)
        .step_by(2)
        .filter_map(|quoted| quoted.rsplit('.').next())
        .find(|word| {
            let mut letters = word.chars().rev();
            let is_doubled = letters.next().is_some_and(|last| letters.next() == Some(last));
            is_doubled && in_code.iter().any(|(_, known)| known == word)
        })
        .map(str::to_owned)
}

/// `code` with a misspelt name set right.
pub(super) fn repaired(code: &str, name: &str) -> String {
    let right = &name[..name.len().saturating_sub(1)];
    let mut written = String::with_capacity(code.len());
    for line in code.lines() {
        let mut from = 0;
        for (at, word) in identifiers(line) {
            if word == name {
                written.push_str(&line[from..at]);
                written.push_str(right);
                from = at + word.len();
            }
        }
        written.push_str(&line[from..]);
        written.push('\n');
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::stream::Stream;

    fn broken(line: &str) -> String {
        with_slips(line, 1.0, &mut Stream::root(0).rng()).trim_end().to_owned()
    }

    #[test]
    fn slips_are_in_what_is_called_or_imported() {
        for (line, expected) in [
            ("import numpy as np", "import numpyy as np"),
            ("from sklearn.linear_model import Ridge", "from sklearn.linear_model import Ridgee"),
            ("a = pd.read_csv(\"input/train.csv\")", "a = pd.read_csvv(\"input/train.csv\")"),
            ("    d.append([m, g.std()])", "    d.append([m, g.std()])"),
            ("d.append([m, g.std()])", "d.appendd([m, g.std()])"),
            ("y = a[t]", "y = a[t]"),
            ("def one(m, x):", "def one(m, x):"),
            ("t = \"f(x)\"", "t = \"f(x)\""),
            ("for i in (1, 2):", "for i in (1, 2):"),
            ("k = f1(x)", "k = f1(x)"),
        ] {
            assert_eq!(broken(line), expected);
        }
        let lines = "a = f(x)\n".repeat(10_000);
        let rate = with_slips(&lines, 0.01, &mut Stream::root(1).rng()).matches("ff").count();
        assert!((60..140).contains(&rate), "{rate}");
    }

    #[test]
    fn traceback_names_what_is_misspelt_and_no_more() {
        let code = "import pandas as pd\nx = pd.read_csvv(1)\nglass(x)\n";
        let output = "Traceback (most recent call last):\n  File \"s.py\", line 2\n\
                      AttributeError: module 'pandas' has no attribute 'read_csvv'\n[the script failed]\n";
        let name = named(output, code);
        assert_eq!(name.as_deref(), Some("read_csvv"));
        assert!(repaired(code, "read_csvv").contains("pd.read_csv(1)"));
        assert_eq!(named("KeyError: 'class'\n", code), None);
        assert_eq!(named("NameError: name 'lenn' is not defined\n", code), None);
        assert_eq!(named("no error at all", code), None);
        let dotted = "ModuleNotFoundError: No module named 'sklearnn'\n";
        assert_eq!(named(dotted, "import sklearnn\n").as_deref(), Some("sklearnn"));
    }
}
