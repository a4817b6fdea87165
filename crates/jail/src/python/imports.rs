//! What a script imports, so that the zygote imports it first.
//!
//! What the zygote has imported takes none of a script's time and memory. Importing all that scripts
//! commonly use takes seconds; what no script names is left out. Where a script's text does not say for
//! sure what it will import, everything is.

use std::collections::BTreeSet;

/// Modules of the standard library that load no other libraries and run nobody's code: whoever
/// imports only these needs nothing more.
const HARMLESS: &str = "\
    __future__ abc argparse array ast base64 binascii bisect calendar cmath collections \
    contextlib copy csv ctypes dataclasses datetime decimal difflib enum errno fnmatch \
    fractions functools gc glob gzip hashlib heapq inspect io itertools json locale logging \
    math mmap numbers operator os pathlib platform pprint queue random re resource secrets \
    select shutil signal socket statistics string struct sys tempfile textwrap threading time \
    traceback types typing unicodedata uuid warnings weakref zipfile zlib";

/// Words by which a script may load what it does not name as an import.
const DYNAMIC: [&str; 5] = ["__import__", "importlib", "exec", "eval", "runpy"];

/// What is to be imported before `script` runs: part of `modules`, in their order.
pub(crate) fn needed(script: &str, modules: &[String]) -> Vec<String> {
    match named(script) {
        None => modules.to_vec(),
        Some(wanted) => {
            modules.iter().filter(|module| wanted.contains(top(module))).cloned().collect()
        }
    }
}

/// The libraries that a script names; none if it may load others.
fn named(script: &str) -> Option<BTreeSet<&'static str>> {
    let words: BTreeSet<&str> = script.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    if DYNAMIC.iter().any(|word| words.contains(word)) {
        return None;
    }
    let mut named = BTreeSet::new();
    for module in imported(script) {
        match module {
            "numpy" => named.extend(["numpy"]),
            "pandas" => named.extend(["numpy", "pandas"]),
            "scipy" => named.extend(["numpy", "scipy"]),
            // It loads pandas, too, if that is there.
            "sklearn" => named.extend(["numpy", "pandas", "scipy", "sklearn"]),
            module if HARMLESS.split(' ').any(|harmless| harmless == module) => {}
            // It may build on any of them.
            _ => return None,
        }
    }
    Some(named)
}

/// The top-level names after `import` and `from`, wherever a line or statement may begin. Text in
/// strings counts as well, which only makes for more.
fn imported(script: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for statement in script.split(['\n', '\r', ';', ':']) {
        let statement = statement.trim_start();
        if let Some(list) = after(statement, "import") {
            names.extend(list.split(',').map(first_word));
        } else if let Some(module) = after(statement, "from") {
            names.push(first_word(module));
        }
    }
    names
}

/// What follows a keyword.
fn after<'a>(statement: &'a str, keyword: &str) -> Option<&'a str> {
    let rest = statement.strip_prefix(keyword)?;
    rest.starts_with(|c: char| c.is_whitespace() || c == '\\').then_some(rest)
}

/// The module's name up to its first dot; empty for what is no name.
fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")
}

fn top(module: &str) -> &str {
    module.split('.').next().unwrap_or(module)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::SandboxOptions;

    fn of(script: &str) -> Vec<String> {
        needed(script, &SandboxOptions::default().modules)
    }

    #[test]
    fn only_what_a_script_names_is_loaded() {
        assert_eq!(of("pass"), [""; 0]);
        assert_eq!(
            of("from __future__ import annotations\nimport os, json\nfrom pathlib import Path"),
            [""; 0]
        );
        assert_eq!(of("import numpy as np"), ["numpy"]);
        assert_eq!(of("def f():\n  import pandas.api"), ["numpy", "pandas"]);
        assert_eq!(of("try: import os, numpy\nexcept ImportError: pass"), ["numpy"]);
        let all = SandboxOptions::default().modules;
        assert_eq!(of("x = 1; from sklearn.linear_model import Ridge"), all);
        let scipy = ["scipy", "scipy.stats", "scipy.optimize", "scipy.signal"];
        assert_eq!(of("import scipy"), [&["numpy"], &scipy[..]].concat());
        assert_eq!(needed("import pandas", &["pandas.api".to_owned()]), ["pandas.api"]);
    }

    #[test]
    fn uncertain_imports_load_all_modules() {
        let all = SandboxOptions::default().modules;
        for script in [
            "__import__('pandas')",
            "import importlib",
            "import lightgbm",
            "from matplotlib import pyplot",
            "exec(open('x').read())",
            "import \\\n numpy",
            "from . import x",
            "import pickle",
        ] {
            assert_eq!(of(script), all, "{script}");
        }
    }
}
