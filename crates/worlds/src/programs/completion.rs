//! What of a policy's text is the program, as the released evaluation of HumanEval takes it.

/// The program in a text: the first fenced block whose fence has nothing but a word behind it, or
/// the whole text if there is none, without blanks and line ends at its beginning.
///
/// That is what the released evaluation does (OpenCompass, `humaneval_postprocess_v2`). The body of
/// a function alone so loses the indentation of its first line: a policy has to write the whole
/// function.
///
/// # Examples
/// ```rust
/// use worlds::programs::program_of;
///
/// assert_eq!(program_of("Sure:\n```python\ndef f():\n    pass\n```"), "def f():\n    pass\n");
/// assert_eq!(program_of("\n    return 1\n"), "return 1\n");
/// ```
pub fn program_of(text: &str) -> &str {
    first_block(text).unwrap_or(text).trim_start_matches(is_space)
}

const FENCE: &str = "```";

/// What lies between the first opening fence and the fence after it.
fn first_block(text: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(found) = text[from..].find(FENCE) {
        let fence = from + found;
        let behind = text[fence + FENCE.len()..].trim_start_matches(is_word);
        if let Some(block) = behind.strip_prefix('\n') {
            // Without a closing fence, a later opening fence has none either.
            return block.find(FENCE).map(|end| &block[..end]);
        }
        // The fence may begin at the next backtick.
        from = fence + 1;
    }
    None
}

/// Python's `\w`.
fn is_word(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

/// What Python's `strip` removes: white space, and four separators of ASCII.
fn is_space(letter: char) -> bool {
    letter.is_whitespace() || ('\x1c'..='\x1f').contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_or_the_whole_text_is_the_program() {
        for (text, program) in [
            ("", ""),
            ("  def f(): 0", "def f(): 0"),
            ("a\n```\nb\n```\nc", "b\n"),
            ("```python\nb```", "b"),
            ("```python b\nc\n```", "```python b\nc\n```"),
            ("```\nb\n``", "```\nb\n``"),
            ("````\nb\n```", "b\n"),
            ("``` \nx\n```\ny\n```", "y\n"),
            ("```a\n```b\nc\n```", ""),
        ] {
            assert_eq!(program_of(text), program, "{text:?}");
        }
    }
}
