//! Python source as far as rules look at it: words, texts and signs, without comments.
//!
//! It is read and never run. What a script puts together at run time, such as a name of a file in a
//! formatted text, is not seen.

use std::path::{Component, Path};

/// A part of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name, a keyword or a number.
    Word(String),
    /// What stands between quotes, as it is written there.
    Text(String),
    /// Any other character that is no blank.
    Sign(char),
}

impl Token {
    fn is_word(&self, name: &str) -> bool {
        matches!(self, Self::Word(word) if word == name)
    }

    fn is_sign(&self, sign: char) -> bool {
        *self == Self::Sign(sign)
    }
}

/// The tokens of a script, and the script without comments.
fn scan(code: &str) -> (Vec<Token>, String) {
    let (mut tokens, mut plain) = (Vec::new(), String::with_capacity(code.len()));
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        if c == '#' {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        let length = if c == '"' || c == '\'' {
            let (text, length) = quoted(rest, c);
            // A prefix such as `f` or `rb` is no word of its own.
            if let Some(Token::Word(word)) = tokens.last()
                && plain.ends_with(word.as_str())
                && word.len() <= 2
                && word.chars().all(|c| "rbfuRBFU".contains(c))
            {
                tokens.pop();
            }
            tokens.push(Token::Text(text.to_owned()));
            length
        } else if c.is_alphanumeric() || c == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let length = end.unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..length].to_owned()));
            length
        } else {
            if !c.is_whitespace() {
                tokens.push(Token::Sign(c));
            }
            c.len_utf8()
        };
        plain.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    (tokens, plain)
}

/// What stands between the quotes that `rest` begins with, and the length with the quotes.
fn quoted(rest: &str, quote: char) -> (&str, usize) {
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let is_triple = rest.starts_with(&triple);
    let width = if is_triple { 3 } else { 1 };
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(width) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if is_triple && rest[at..].starts_with(&triple) {
            return (&rest[3..at], at + 3);
        } else if !is_triple && (c == quote || c == '\n') {
            // A text that is not closed ends with its line, as a mistake.
            return (&rest[1..at], at + usize::from(c == quote));
        }
    }
    (&rest[width.min(rest.len())..], rest.len())
}

/// The tokens of a script.
pub(crate) fn tokens(code: &str) -> Vec<Token> {
    scan(code).0
}

/// The script without comments, without blanks at the ends of lines and without empty lines.
pub(crate) fn normalised(code: &str) -> String {
    let plain = scan(code).1;
    let lines = plain.lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a script has a statement that could do something: more than comments, texts, `pass` and
/// `...`.
pub(crate) fn has_statement(code: &str) -> bool {
    tokens(code).iter().any(|token| match token {
        Token::Word(word) => word != "pass",
        Token::Text(_) => false,
        Token::Sign(sign) => !matches!(sign, '.' | ';' | '(' | ')'),
    })
}

/// Texts of a script.
pub(crate) fn texts(tokens: &[Token]) -> impl Iterator<Item = &str> {
    tokens.iter().filter_map(|token| match token {
        Token::Text(text) => Some(text.as_str()),
        Token::Word(_) | Token::Sign(_) => None,
    })
}

/// Functions and methods that write a whole file, whose name is their first argument that is a text.
const WRITERS: [&str; 19] = [
    "dump",
    "save",
    "save_model",
    "save_file",
    "savefig",
    "savetxt",
    "savez",
    "savez_compressed",
    "to_csv",
    "to_excel",
    "to_feather",
    "to_hdf",
    "to_html",
    "to_json",
    "to_markdown",
    "to_parquet",
    "to_pickle",
    "write_csv",
    "write_parquet",
];

/// The files that a script writes anew, as far as their names stand in it; a file that is appended to
/// is not one. In the order of the script, each as often as it is written.
pub(crate) fn written_files(tokens: &[Token]) -> Vec<String> {
    let mut files = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        if !tokens.get(at + 1).is_some_and(|next| next.is_sign('(')) {
            continue;
        }
        let (arguments, after) = texts_of_call(tokens, at + 1);
        let is_mode = |text: &&String| {
            text.len() <= 3 && text.chars().all(|c| "rwaxbt+".contains(c)) && !text.is_empty()
        };
        let written = match word.as_str() {
            "open" => {
                let truncates =
                    arguments.iter().skip(1).find(is_mode).is_some_and(|mode| mode.contains('w'));
                arguments.first().filter(|_| truncates)
            }
            // Path("x").write_text(...), Path("x").open("w")
            "Path" => {
                let method = tokens.get(after).filter(|dot| dot.is_sign('.'));
                let method = method.and_then(|_| tokens.get(after + 1));
                let writes = method.is_some_and(|method| {
                    method.is_word("write_text")
                        || method.is_word("write_bytes")
                        || method.is_word("open")
                            && texts_of_call(tokens, after + 2)
                                .0
                                .iter()
                                .any(|mode| is_mode(&mode) && mode.contains('w'))
                });
                arguments.first().filter(|_| writes)
            }
            word if WRITERS.contains(&word) => {
                let appends = arguments.iter().skip(1).any(|mode| mode == "a");
                arguments.first().filter(|_| !appends)
            }
            _ => None,
        };
        files.extend(written.map(|file| file_name(file).to_owned()));
    }
    files
}

/// The arguments of a call that are a text alone, and the token after its closing bracket. `open` is the
/// place of the opening one.
fn texts_of_call(tokens: &[Token], open: usize) -> (Vec<String>, usize) {
    let (mut depth, mut found) = (0_usize, Vec::new());
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => {
                depth -= 1;
                if depth == 0 {
                    return (found, at + 1);
                }
            }
            Token::Text(text) if depth == 1 => {
                let begins = matches!(tokens[at - 1], Token::Sign('(' | ',' | '='));
                let ends = matches!(tokens.get(at + 1), Some(Token::Sign(')' | ',')));
                if begins && ends {
                    found.push(text.clone());
                }
            }
            Token::Text(_) | Token::Word(_) | Token::Sign(_) => {}
        }
    }
    (found, tokens.len())
}

/// A name of a file in the work dir without `./` before it.
pub(crate) fn file_name(text: &str) -> &str {
    text.trim_start_matches("./")
}

/// The folder of an agent, as its scripts see it.
const OWN: &str = "/work";
/// Folders of a system where no script has anything to do. `/tmp` is left out, which is the script's own.
const SYSTEM: [&str; 15] = [
    "boot", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "proc", "root", "run", "srv",
    "sys", "usr", "var",
];

/// Whether a text of a script is a path that leaves the folder of the agent.
pub(crate) fn leaves_folder(text: &str) -> bool {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/._-~*".contains(c);
    if text.is_empty() || text.contains("//") || !text.chars().all(is_path) {
        return false;
    }
    if text == "~" || text.starts_with("~/") {
        return true;
    }
    let inside = match text.strip_prefix('/') {
        None => text,
        Some(absolute) => match text.strip_prefix(OWN) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            _ => return SYSTEM.contains(&absolute.split('/').next().unwrap_or_default()),
        },
    };
    let mut depth = 0_usize;
    for component in Path::new(inside).components() {
        match component {
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comments_are_left_out_and_texts_are_kept() {
        let code = "x = 'a # b'  # c\n\n# d\ny = r\"\\\"\" + f'''e\n'f''' \n";
        let found = tokens(code);
        let all: Vec<&str> = texts(&found).collect();
        assert_eq!(all, ["a # b", "\\\"", "e\n'f"]);
        let words = found.iter().filter(|token| matches!(token, Token::Word(_))).count();
        assert_eq!(words, 2, "prefixes are no words: {found:?}");
        assert_eq!(normalised(code), "x = 'a # b'\ny = r\"\\\"\" + f'''e\n'f'''");
        assert_eq!(normalised("if x:\n    y"), "if x:\n    y");
        assert_eq!(texts(&tokens("print('open\nx")).collect::<Vec<_>>(), ["open"]);
    }

    #[test]
    fn statements_are_told_from_what_does_nothing() {
        for nothing in ["", "# a\n", "pass", "'''All of it.'''\npass  # b", "...", "\n \n;"] {
            assert!(!has_statement(nothing), "{nothing:?}");
        }
        for something in ["x", "1", "print()", "'a'.upper()", "[]", "x = 1  # a"] {
            assert!(has_statement(something), "{something:?}");
        }
    }

    #[test]
    fn written_files_are_those_that_are_written_anew() {
        let files = |code: &str| written_files(&tokens(code));
        for (code, expected) in [
            ("open('a.txt', 'w').write(x)", "a.txt"),
            ("with open(file='a.txt', mode=\"wb\") as f: pass", "a.txt"),
            ("df.to_csv('./a.csv', index=False)", "a.csv"),
            ("df.to_csv(\n    'a.csv',\n    sep='\\t')", "a.csv"),
            ("torch.save(model.state_dict(), 'm.pt')", "m.pt"),
            ("joblib.dump(model, 'm.bin', compress=3)", "m.bin"),
            ("np.save('x.npy', x['a'])", "x.npy"),
            ("Path('a.txt').write_text('b')", "a.txt"),
            ("pathlib.Path('a.txt').open('w')", "a.txt"),
        ] {
            assert_eq!(files(code), [expected], "{code}");
        }
        for code in [
            "open('a.txt').read()",
            "open('a.txt', 'r')",
            "open('a.txt', 'a')",
            "open('a.txt', 'r+')",
            "df.to_csv('a.csv', mode='a')",
            "pd.read_csv('a.csv')",
            "Path('a.txt').read_text()",
            "Path('a.txt').open()",
            "to_csv",
            "df.to_csv(name)",
            "df.to_csv('out/' + name)",
            "# df.to_csv('a.csv')",
            "open('a.txt'",
        ] {
            assert_eq!(files(code), Vec::<String>::new(), "{code}");
        }
    }

    #[test]
    fn paths_that_leave_the_folder_are_told_from_texts_that_do_not() {
        for outside in [
            "/etc/passwd",
            "/proc/self/environ",
            "../other/answers.csv",
            "a/../../b",
            "/work/../etc",
            "~/.ssh",
            "~",
            "..",
            "/root",
            "/home",
        ] {
            assert!(leaves_folder(outside), "{outside}");
        }
        for inside in [
            "input/train.csv",
            "./a",
            "a/../b",
            "/work/input/train.csv",
            "/work",
            "/tmp/x",
            "/dev/null",
            "/",
            "",
            "https://x/../..",
            "km/h",
            "a .. b",
            "/etc passwd is a file",
            "/working",
        ] {
            assert!(!leaves_folder(inside), "{inside}");
        }
    }

    proptest! {
        #[test]
        fn no_script_makes_the_reader_panic(code in "[\\PC\n'\"\\\\#()\\[\\],=.]{0,80}") {
            let found = tokens(&code);
            let _ = written_files(&found);
            let _ = has_statement(&code);
            for text in texts(&found) {
                let _ = leaves_folder(text);
            }
            let once = normalised(&code);
            prop_assert!(once.lines().all(|line| !line.trim_end().is_empty()));
        }
    }
}
