//! An agent's code as text in which words can be looked for: without comments, with its loops.
//!
//! This reads Python and shell scripts by their lines, and understands neither. What it must not do is
//! take a comment, a docstring or the name of another thing for something that is done.

use std::collections::BTreeMap;

/// Calls that are followed from a loop, into functions of the same text.
const DEPTH: usize = 3;

/// Whether a file of this path is code.
pub(super) fn is_code(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, ending)) => matches!(ending, "py" | "sh" | "bash" | "ipynb"),
        None => true,
    }
}

/// The lines of a text, numbered from 1, without comments and texts over several lines.
pub(super) fn lines(text: &str) -> Vec<(usize, String)> {
    let (mut kept, mut open): (Vec<(usize, String)>, Option<&str>) = (Vec::new(), None);
    for (index, line) in text.lines().enumerate() {
        let (mut rest, mut out, mut quote) = (line, String::new(), None);
        while let Some(next) = rest.chars().next() {
            if let Some(end) = open {
                match rest.find(end) {
                    Some(at) => (rest, open) = (&rest[at + 3..], None),
                    None => break,
                }
                continue;
            }
            if quote.is_none()
                && let Some(begin) = [r#"""""#, "'''"].into_iter().find(|b| rest.starts_with(b))
            {
                (rest, open) = (&rest[3..], Some(begin));
                continue;
            }
            match (quote, next) {
                (None, '#') if out.is_empty() || out.ends_with([' ', '\t', ';', ')']) => break,
                (None, '"' | '\'') => quote = Some(next),
                (Some(open), next) if open == next => quote = None,
                _ => {}
            }
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
        let out = out.trim_end();
        if !out.is_empty() {
            kept.push((index + 1, out.to_owned()));
        }
    }
    kept
}

/// Whether a text has a word: letters and digits do not stand directly before or after it. One that ends
/// with `*` may go on.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let (word, goes_on) = word.strip_suffix('*').map_or((word, false), |word| (word, true));
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric)
            && (goes_on || !after.is_some_and(char::is_alphanumeric))
    })
}

/// A text as a command line would have it: words alone, with single spaces.
pub(super) fn flat(text: &str) -> String {
    let plain = text.replace(['"', '\'', ',', '[', ']', '(', ')', '\\'], " ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    format!(" {} ", words.join(" "))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The lines below the one at `at` that are indented deeper.
fn block(lines: &[(usize, String)], at: usize) -> &[(usize, String)] {
    let outer = indent(&lines[at].1);
    let inside = lines[at + 1..].iter().take_while(|(_, line)| indent(line) > outer).count();
    &lines[at + 1..at + 1 + inside]
}

/// The loops of a text: where each begins, and what is done in it, with the bodies of the text's own
/// functions that it calls.
pub(super) fn loops(lines: &[(usize, String)]) -> Vec<(usize, String)> {
    let joined = |block: &[(usize, String)]| {
        let texts: Vec<&str> = block.iter().map(|(_, line)| line.as_str()).collect();
        texts.join("\n")
    };
    let mut functions = BTreeMap::new();
    for (at, (_, line)) in lines.iter().enumerate() {
        let definition = line.trim_start();
        let definition = definition.strip_prefix("async ").unwrap_or(definition);
        if let Some((name, _)) =
            definition.strip_prefix("def ").and_then(|rest| rest.split_once('('))
        {
            functions.insert(name.trim().to_owned(), joined(block(lines, at)));
        }
    }
    let is_loop =
        |line: &str| ["for ", "while ", "async for "].iter().any(|word| line.starts_with(word));
    let mut all = Vec::new();
    for (at, (number, line)) in lines.iter().enumerate() {
        if !is_loop(line.trim_start()) {
            continue;
        }
        let mut text = joined(block(lines, at));
        let mut called: Vec<&str> = Vec::new();
        for _ in 0..DEPTH {
            let calls =
                |name: &&String| has_word(&text, name) && text.contains(&format!("{name}("));
            let new: Vec<&str> = functions
                .keys()
                .filter(calls)
                .map(String::as_str)
                .filter(|name| !called.contains(name))
                .collect();
            for name in new {
                text = format!("{text}\n{}", functions[name]);
                called.push(name);
            }
        }
        all.push((*number, text));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        lines(text).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn comments_and_docstrings_are_no_code_and_hashes_in_texts_are_no_comments() {
        let text = "# GRPOTrainer later\nx = '#### 4'  # and PPO\n\"\"\"Uses\nDPO.\"\"\"\ny = 1\n";
        assert_eq!(texts(text), ["x = '#### 4'", "y = 1"]);
        assert_eq!(texts("a = \"\"\"one\"\"\" + b\necho $#\n"), ["a =  + b", "echo $#"]);
        assert_eq!(lines("\n\nz = 2")[0].0, 3);
    }

    #[test]
    fn words_end_where_letters_do() {
        for (text, word, is_there) in [
            ("trainer = Trainer(x)", "Trainer", true),
            ("SFTTrainer(x)", "Trainer", false),
            ("compute_advantages(r)", "advantage*", true),
            ("disadvantage", "advantage*", false),
            ("é_step", "step", true),
        ] {
            assert_eq!(has_word(text, word), is_there, "{text}: {word}");
        }
        assert!(flat("run([\"rl\", \"sft\"])").contains(" rl sft "));
    }

    #[test]
    fn loop_has_the_bodies_of_the_functions_that_it_calls() {
        let text = "def play(m):\n    return m.generate()\n\ndef idle():\n    pass\n\n\
                    for step in range(9):\n    batch = play(model)\n    loss.backward()\nprint(1)\n";
        let found = loops(&lines(text));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 7);
        assert!(found[0].1.contains("m.generate()") && !found[0].1.contains("print"));
        assert!(!found[0].1.contains("pass"));
    }
}
