//! What the code of a card must not do.

use super::card::Trick;

/// Names in code that start processes, open connections or look at the machine.
const CODE_NAMES: [&str; 16] = [
    "subprocess",
    "os.system",
    "os.popen",
    "os.environ",
    "socket",
    "urllib",
    "requests",
    "httpx",
    "ftplib",
    "shutil",
    "expanduser",
    "Path.home",
    "__import__",
    "importlib",
    "eval(",
    "exec(",
];

/// What the code of a trick has that reaches beyond the public files of a run; `None` if nothing.
pub(super) fn code_reads(trick: &Trick) -> Option<String> {
    let code = &trick.snippet.as_ref()?.code;
    if let Some(name) = CODE_NAMES.iter().find(|name| code.contains(*name)) {
        return Some((*name).to_owned());
    }
    texts_of_code(code).into_iter().find(|text| {
        let mut start = text.chars();
        let is_absolute =
            start.next() == Some('/') && start.next().is_some_and(char::is_alphabetic);
        let parts = || text.split('/');
        is_absolute
            || text.starts_with('~')
            || text.contains("://")
            || parts().any(|part| part == "..")
            || ["answer.csv", "private"].iter().any(|name| parts().any(|part| part == *name))
    })
}

/// What stands between quotes in Python code.
fn texts_of_code(code: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut open: Option<(char, String)> = None;
    let mut escaped = false;
    for c in code.chars() {
        match &mut open {
            Some((quote, text)) => {
                if escaped {
                    escaped = false;
                    text.push(c);
                } else if c == '\\' {
                    escaped = true;
                } else if c == *quote || c == '\n' {
                    texts.extend(open.take().map(|(_, text)| text));
                } else {
                    text.push(c);
                }
            }
            None if c == '"' || c == '\'' => open = Some((c, String::new())),
            None => {}
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::card::{Slot, Snippet};
    use crate::knowledge::fixture::base;

    #[test]
    fn code_that_reaches_outside_is_excluded() {
        let mut trick = base().tricks()[0].clone();
        let mut reads = |code: &str| {
            trick.snippet = Some(Snippet { slot: Slot::Read, code: code.to_owned() });
            code_reads(&trick)
        };
        for code in [
            "open('/etc/passwd')",
            "pd.read_csv(\"../private/answer.csv\")",
            "open('~/x')",
            "import subprocess",
            "pd.read_csv('https://x.y')",
            "open('input/../x')",
            "eval('1')",
            "open(f'{p}/private/x')",
        ] {
            assert!(reads(code).is_some(), "{code}");
        }
        for code in [
            "Image.open('input/' + p)",
            "glob(p + '/*.png')",
            "x = a / b",
            "s.str.extract('[^/.]*')",
            "p.str.count('/')",
            "x.eval",
            "re.sub(r'\\d', '', t)",
        ] {
            assert_eq!(reads(code), None, "{code}");
        }
    }
}
