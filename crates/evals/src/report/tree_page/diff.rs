//! What changed from one script to another, by lines.

use maud::{Markup, html};
use similar::{Algorithm, ChangeTag, TextDiff};

/// Scripts with more lines are not compared.
const MOST_LINES: usize = 2000;
/// Unchanged lines around a change.
const CONTEXT: usize = 2;

/// The changes from `old` to `new`, which is in a sentence called `name`, in at most about `limit`
/// bytes.
pub(super) fn script_diff(old: &str, new: &str, name: &str, limit: usize) -> Markup {
    if old == new {
        return html! { p.note { "The same script as " (name) "." } };
    }
    let (before, after) = (old.lines().count(), new.lines().count());
    if before.max(after) > MOST_LINES {
        return html! { p.note { "Too many lines to compare with " (name) "." } };
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(old, new);
    let same: usize = diff
        .ops()
        .iter()
        .filter(|op| op.tag() == similar::DiffTag::Equal)
        .map(|op| op.new_range().len())
        .sum();
    // Two texts in one would be longer than both, and say less.
    if same * 5 < before.max(after) {
        return html! {
            p.note { "Another script: " (same) " of " (after) " lines are those of " (name) "." }
        };
    }
    let mut parts: Vec<(ChangeTag, String)> = Vec::new();
    let (mut length, mut whole) = (0, true);
    'groups: for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            parts.push((ChangeTag::Equal, "  …\n".to_owned()));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = change.value().trim_end_matches(['\n', '\r']);
            length += line.len() + 3;
            if length > limit {
                whole = false;
                break 'groups;
            }
            let line = format!("{} {}\n", change.tag(), line);
            match parts.last_mut() {
                Some((tag, text)) if *tag == change.tag() => text.push_str(&line),
                _ => parts.push((change.tag(), line)),
            }
        }
    }
    html! {
        pre.diff {
            @for (tag, text) in &parts {
                @match tag {
                    ChangeTag::Insert => { ins { (text) } }
                    ChangeTag::Delete => { del { (text) } }
                    ChangeTag::Equal => { (text) }
                }
            }
        }
        @if !whole { p.cut { "Further changes are left out." } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(range: std::ops::Range<u32>) -> String {
        range.map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat()
    }

    #[test]
    fn diff_shows_changed_lines_with_their_sign_and_two_around() {
        let old = lines(0..20);
        let new = old.replace("line 9\n", "if a < b:\n");
        let html = script_diff(&old, &new, "node 3", 8192).into_string();
        let expected = "<pre class=\"diff\">  line 7\n  line 8\n<del>- line 9\n</del>\
                        <ins>+ if a &lt; b:\n</ins>  line 10\n  line 11\n</pre>";
        assert_eq!(html, expected);
    }

    #[test]
    fn diff_of_equal_strange_long_and_large_scripts_says_so() {
        let said =
            |old: &str, new: &str, limit| script_diff(old, new, "node 3", limit).into_string();
        assert!(said("a\n", "a\n", 99).contains("The same script as node 3"));
        assert!(said(&lines(0..9), &lines(90..99), 99).contains("0 of 9 lines"));
        assert!(said(&lines(0..2001), "a\n", 99).contains("Too many lines"));
        let cut = said(&lines(0..50), &lines(20..50), 99);
        assert!(cut.len() < 250 && cut.contains("Further changes are left out"), "{cut}");
    }
}
