//! Fenced blocks: how prompts show texts that may hold anything, and how answers are read.

use crate::search::operator::Unreadable;

/// A block of an answer or a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencedBlock {
    /// What follows the opening fence, such as `python`.
    pub info: String,
    /// Its lines.
    pub body: String,
}

/// `text` between fences that it cannot close: they are longer than any run of backticks in it.
///
/// # Examples
/// ```rust
/// use agents::fence::fenced;
///
/// assert_eq!(fenced("text", "a"), "```text\na\n```\n");
/// assert_eq!(fenced("", "```\njob: verify"), "````\n```\njob: verify\n````\n");
/// ```
pub fn fenced(info: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{info}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// The length of the fence that `line` is, and what follows it.
fn fence(line: &str) -> Option<(usize, &str)> {
    let line = line.trim();
    let rest = line.trim_start_matches('`');
    let length = line.len() - rest.len();
    (length >= 3 && !rest.contains('`')).then_some((length, rest.trim()))
}

/// A text in lines, with those within fences marked: `(line, block)`, where `block` is the number
/// of the block that the line is in. Fences themselves are left out. The last value says whether the
/// last block has an end.
pub(crate) fn walk<'a>(
    text: &'a str,
    mut see: impl FnMut(&'a str, Option<usize>),
) -> (Vec<&'a str>, bool) {
    let (mut infos, mut open) = (Vec::new(), None);
    for line in text.lines() {
        match (open, fence(line)) {
            (None, Some((length, info))) => {
                open = Some(length);
                infos.push(info);
            }
            (Some(length), Some((closing, ""))) if closing >= length => open = None,
            (Some(_), _) => see(line, Some(infos.len() - 1)),
            (None, None) => see(line, None),
        }
    }
    (infos, open.is_none())
}

/// The text after the thoughts of a model that writes them between `<think>` and `</think>`.
pub(crate) fn without_thoughts(text: &str) -> &str {
    text.rsplit_once("</think>").map_or(text, |(_, after)| after)
}

/// The blocks of an answer, in their order. Thoughts before `</think>` do not count.
///
/// # Errors
/// [`Unreadable`] if the last block has no end.
pub fn blocks(text: &str) -> Result<Vec<FencedBlock>, Unreadable> {
    let mut bodies: Vec<String> = Vec::new();
    let (infos, ended) = walk(without_thoughts(text), |line, block| {
        if let Some(block) = block {
            bodies.resize(block + 1, String::new());
            bodies[block].push_str(line);
            bodies[block].push('\n');
        }
    });
    if !ended {
        return Err(Unreadable(
            "The fenced block has no end. End it with as many backticks as it begins with, on a \
             line of their own."
                .to_owned(),
        ));
    }
    bodies.resize(infos.len(), String::new());
    let blocks = infos.into_iter().zip(bodies);
    Ok(blocks.map(|(info, body)| FencedBlock { info: info.to_owned(), body }).collect())
}

/// The sections of a prompt: titles after `# `, and what stands below each between fences, joined.
/// Lines within fences are never titles.
pub fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    walk(text, |line, block| match (block, line.strip_prefix("# "), sections.last_mut()) {
        (None, Some(title), _) => sections.push((title.trim().to_owned(), String::new())),
        (Some(_), _, Some((_, body))) => {
            body.push_str(line);
            body.push('\n');
        }
        _ => {}
    });
    sections
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_end_only_with_fences_of_their_length() {
        let text = "Plan.\n````json\n{\"a\": 1}\n```\nstill\n````\nMore.\n```python\nx\n```\n";
        let found = blocks(text).unwrap();
        assert_eq!(found[0].body, "{\"a\": 1}\n```\nstill\n");
        assert_eq!((found[1].info.as_str(), found[1].body.as_str()), ("python", "x\n"));
        assert!(blocks("```json\n{}").unwrap_err().0.contains("no end"));
        assert_eq!(blocks("<think>```</think>a").unwrap(), []);
        assert_eq!(blocks("```\n```").unwrap().len(), 1);
    }

    #[test]
    fn sections_are_titles_outside_of_fences() {
        let page = "# The plan\n```\njob: verify\n# The code\n";
        let text =
            format!("# The task\n\n{}\n# The plan\n\n{}", fenced("text", page), fenced("", "p"));
        let found = sections(&text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], ("The task".to_owned(), page.to_owned()));
        assert_eq!(found[1], ("The plan".to_owned(), "p\n".to_owned()));
    }

    proptest! {
        #[test]
        fn any_text_is_read_back_from_between_fences(text in "[`a#\\n :~{}]{0,60}", info in "[a-z]{0,5}") {
            let whole = format!("# A\n\n{}\n# B\n\n{}", fenced(&info, &text), fenced("", "b"));
            let found = sections(&whole);
            prop_assert_eq!(found.len(), 2);
            let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
            // Line breaks at the end are not kept.
            let expected = lines(text.trim_end_matches('\n'));
            let got = lines(&found[0].1);
            prop_assert_eq!(got.iter().take(expected.len()).collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
            prop_assert_eq!(&found[1].1, "b\n");
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,200}", more in "[`\\n a]{0,80}") {
            let _ = blocks(&format!("{text}{more}"));
            let _ = sections(&format!("{more}{text}"));
        }
    }
}
