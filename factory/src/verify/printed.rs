//! Does the description give the rule away?

use super::Refusal;
use crate::package::Staged;
use crate::spec::blueprint::Blueprint;
use fs_err as fs;
use std::collections::BTreeSet;

/// Successive tokens of a formula that a page may not hold.
const GRAM: usize = 4;
/// Significant digits from which a number is the rule's own.
const DIGITS: usize = 3;

/// Neither the formula, nor one of its terms, nor a piece or a number of it stands in the
/// description.
pub(super) fn rule_is_not_printed(task: &Staged) -> Result<(), Refusal> {
    let page = fs::read(task.dir.public().path().join("description.md"))
        .map_err(|error| Refusal::Contract(error.to_string()))?;
    rule_is_not_on_page(&String::from_utf8_lossy(&page), &task.draft.facts.blueprint)
}

/// The same of the text of a description.
pub(crate) fn rule_is_not_on_page(page: &str, blueprint: &Blueprint) -> Result<(), Refusal> {
    let formulas = blueprint.clauses();
    let without_blanks = squeezed(page);
    if let Some(whole) = formulas.iter().find(|text| without_blanks.contains(&squeezed(text))) {
        return Err(Refusal::RulePrinted(whole.clone()));
    }
    let told = tokens(page);
    let grams: BTreeSet<&[String]> = told.windows(GRAM).collect();
    // Rows are counted on every page, and the example of a submission is made of ids.
    let rows = blueprint.rows;
    let counted = [rows.train, rows.test].map(|rows| rows.to_string());
    let prose = tokens(&without_examples(page));
    let numbers: BTreeSet<&String> =
        prose.iter().filter(|token| !counted.contains(token)).collect();
    for formula in &formulas {
        let tokens = tokens(formula);
        let speaks = |gram: &[String]| gram.iter().any(|token| is_word(token));
        let piece = tokens.windows(GRAM).find(|gram| speaks(gram) && grams.contains(gram));
        if let Some(gram) = piece {
            return Err(Refusal::RulePrinted(gram.join(" ")));
        }
        let number = tokens.iter().find(|token| digits(token) >= DIGITS && numbers.contains(token));
        if let Some(number) = number {
            return Err(Refusal::RulePrinted(number.clone()));
        }
    }
    Ok(())
}

/// Text without blanks and quotes, so that spacing hides nothing.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '`').collect::<String>().to_lowercase()
}

/// Identifiers, numbers and operators, however they are spaced or quoted.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut open = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        // A point is part of a name or number only where one goes on.
        let inside =
            c.is_alphanumeric() || c == '_' || (c == '.' && next.is_alphanumeric() && open);
        if inside {
            if !open {
                tokens.push(String::new());
            }
            if let Some(last) = tokens.last_mut() {
                last.extend(c.to_lowercase());
            }
        } else if !c.is_whitespace() && c != '`' && c != '\\' {
            // Signs as typeset.
            let sign = match c {
                '−' | '–' => '-',
                '×' | '·' => '*',
                '÷' => '/',
                other => other,
            };
            tokens.push(sign.to_string());
        }
        open = inside;
    }
    tokens
}

/// A page without what stands between fences.
fn without_examples(page: &str) -> String {
    page.split("```").step_by(2).collect::<Vec<_>>().join("\n")
}

fn is_word(token: &str) -> bool {
    token.chars().any(char::is_alphanumeric)
}

/// Significant digits of a number; none of anything else.
pub(super) fn digits(token: &str) -> usize {
    if token.parse::<f64>().is_err() || !token.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    let figures = token.replace('.', "");
    let figures = figures.trim_start_matches('0');
    // Zeros before the point are how large it is, not how exact.
    if token.contains('.') { figures.len() } else { figures.trim_end_matches('0').len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_do_not_depend_on_spacing_quotes_or_signs() {
        let plain = tokens("(photo.count - 9.05) / 2.94 * b_c");
        assert_eq!(plain, ["(", "photo.count", "-", "9.05", ")", "/", "2.94", "*", "b_c"]);
        assert_eq!(tokens("( `photo.count`−9.05 )÷2.94 × b_c"), plain);
        assert_eq!(tokens("It is 9.05. Then."), ["it", "is", "9.05", ".", "then", "."]);
    }

    #[test]
    fn digits_are_those_that_count() {
        let cases = [("0.483", 3), ("96.5", 3), ("100", 1), ("101", 3), ("0.0404", 3), ("9", 1)];
        for (token, count) in cases {
            assert_eq!(digits(token), count, "{token}");
        }
        assert_eq!((digits("inf"), digits("nan"), digits("z")), (0, 0, 0));
    }

    #[test]
    fn fences_hold_examples() {
        assert_eq!(without_examples("a\n```\n123\n```\nb"), "a\n\n\nb");
    }
}
