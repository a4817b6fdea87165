//! Generators of `tests/generators`, and what their headers say must happen.
//!
//! A hostile generator is a few functions that take the place of those of an honest one, which
//! its header names. The first line says what it tries. Then:
//!
//! | line | meaning |
//! | --- | --- |
//! | `# base: NAME` | the honest generator that it is appended to, and with it the form of its rows |
//! | `# must: CODE` | the code of the refusal, or `accepted` |
//! | `# later: TEXT` | for accepted ones: the check on the finished task that refuses it |

use factory::generator::GeneratorSpec;
use factory::spec::generated::ItemForm;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/generators");

pub(crate) struct HostileGenerator {
    pub(crate) name: String,
    /// The first line.
    pub(crate) tries: String,
    pub(crate) base: String,
    pub(crate) must: String,
    pub(crate) later: Option<String>,
    pub(crate) code: String,
}

/// The code of an honest generator.
pub(crate) fn honest(name: &str) -> String {
    fs_err::read_to_string(format!("{FOLDER}/honest/{name}.py")).unwrap()
}

/// What the honest generators are asked for.
pub(crate) fn spec(name: &str) -> GeneratorSpec {
    let number = |text: &str| text.parse().unwrap();
    let (item, rows) = match name {
        "table" => {
            let numbers = ["load 0 100 b 1", "speed 1 9 u 2", "age 1 60 s 1"].map(number).to_vec();
            let words = serde_json::from_str(r#"["wood: oak ash elm"]"#).unwrap();
            return GeneratorSpec { rows: 300, numbers, words, targets: 1, item: None };
        }
        "picture" => (ItemForm::Picture { height: 24, width: 24, colour: false }, 200),
        "sound" => (ItemForm::Sound { samples: 2000 }, 200),
        "text" => (ItemForm::Text, 200),
        other => panic!("there is no honest generator `{other}`"),
    };
    let numbers = vec![number("load 0 100 b 1")];
    GeneratorSpec { rows, numbers, words: Vec::new(), targets: 1, item: Some(item) }
}

impl HostileGenerator {
    /// All of them by name, or those that `PROGRAMS` in the environment names, divided by commas.
    pub(crate) fn all() -> Vec<Self> {
        let chosen = std::env::var("PROGRAMS").ok();
        let mut all: Vec<Self> = fs_err::read_dir(format!("{FOLDER}/hostile"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|file| Self::read(file.strip_suffix(".py").unwrap()))
            .filter(|one| {
                chosen.as_ref().is_none_or(|names| names.split(',').any(|name| name == one.name))
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn read(name: &str) -> Self {
        let own = fs_err::read_to_string(format!("{FOLDER}/hostile/{name}.py")).unwrap();
        let header = |key: &str| {
            own.lines().find_map(|line| line.strip_prefix(&format!("# {key}: "))).map(str::to_owned)
        };
        let base = header("base").unwrap();
        Self {
            name: name.to_owned(),
            tries: own.lines().next().unwrap().trim_matches('"').to_owned(),
            must: header("must").unwrap(),
            later: header("later"),
            code: format!("{}\n\n{own}", honest(&base)),
            base,
        }
    }
}
