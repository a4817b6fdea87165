//! What RDKit says of molecules: the script that asks it in the sandbox, and its reply, checked.
//!
//! The script has the answer and what the question shows; the truth stays outside. RDKit is loaded
//! before runs begin ([`PythonModule::preload`]), so a run takes some hundredths of a second and
//! there is no need to collect answers.

use crate::runner::{ProgramRules, ProgramRun, PythonModule};
use jail::exec::Outcome;
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use tasks::units::{ByteSize, Span};

/// What the script may use. Importing RDKit takes seconds on a busy machine.
pub(super) const RULES: ProgramRules = ProgramRules {
    time_limit: Span::seconds(30),
    memory: ByteSize::mib(1024),
    module: Some(PythonModule {
        name: "rdkit",
        install: ".venv/bin/uv pip install --python .venv/bin/python --require-hashes -r \
                  python/requirements-chemistry.txt",
        preload: &[
            "rdkit.Chem",
            "rdkit.Chem.Crippen",
            "rdkit.Chem.Descriptors",
            "rdkit.Chem.QED",
            "rdkit.Chem.Scaffolds.MurckoScaffold",
            "rdkit.Chem.rdFingerprintGenerator",
        ],
    }),
};

const SCRIPT: &str = include_str!("scorer.py");

/// The longest SMILES that RDKit is asked about.
const LONGEST: usize = 500;

/// What can be asked about a molecule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The bits of its fingerprint.
    Bits,
    /// Its Murcko scaffold.
    Scaffold,
    LogP,
    Qed,
    Solubility,
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Self::Bits => "bits",
            Self::Scaffold => "scaffold",
            Self::LogP => "log_p",
            Self::Qed => "qed",
            Self::Solubility => "solubility",
        }
    }
}

/// What RDKit says of a molecule, as far as it was asked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    /// Its canonical SMILES.
    pub(super) smiles: String,
    pub(super) groups: BTreeMap<String, usize>,
    #[serde(default)]
    pub(super) bits: BTreeSet<u32>,
    #[serde(default)]
    pub(super) scaffold: Option<Scaffold>,
    #[serde(default)]
    pub(super) log_p: Option<f64>,
    #[serde(default)]
    pub(super) qed: Option<f64>,
    #[serde(default)]
    pub(super) solubility: Option<f64>,
}

/// A Murcko scaffold.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scaffold {
    pub(super) smiles: String,
    pub(super) bits: BTreeSet<u32>,
}

/// Whether a text can be a SMILES at all: one word of a sane length. RDKit would take a second word
/// for a name.
pub(super) fn is_word(text: &str) -> bool {
    text.len() <= LONGEST && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The script that describes molecules, and counts groups by their patterns.
pub(super) fn script(molecules: &[&str], wanted: &[Wanted], groups: &[(&str, &str)]) -> String {
    let wanted: Vec<&str> = wanted.iter().map(|one| one.name()).collect();
    let groups: BTreeMap<&str, &str> = groups.iter().copied().collect();
    let question = json!({"molecules": molecules, "wanted": wanted, "groups": groups});
    // A text of JSON is a text of Python too.
    let question = json!(question.to_string());
    format!("{SCRIPT}\n\nprint()\nprint(answer(json.loads({question})))\n")
}

/// The descriptions in the last line of what the script printed, `None` of texts that are no
/// molecules. Nothing at all if the run failed, or if it did not say something sensible of as many.
pub(super) fn read(run: &ProgramRun, molecules: usize) -> Option<Vec<Option<Description>>> {
    if run.outcome != Outcome::Finished {
        return None;
    }
    let all: Vec<Option<Description>> = serde_json::from_str(run.printed.lines().last()?).ok()?;
    let is_sensible = |one: &Description| {
        let scaffold = one.scaffold.iter().flat_map(|scaffold| &scaffold.bits);
        let numbers = [one.log_p, one.qed, one.solubility];
        one.bits.iter().chain(scaffold).all(|bit| *bit < 1024)
            && numbers.iter().flatten().all(|number| number.is_finite())
    };
    (all.len() == molecules && all.iter().flatten().all(is_sensible)).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn replies_that_make_no_sense_are_not_taken() {
        let reply = |printed: &str, outcome| {
            let printed = printed.to_owned();
            read(&ProgramRun { outcome, printed, wall: Duration::ZERO }, 1)
        };
        let good = r#"[{"smiles": "C", "groups": {}, "bits": [240], "log_p": 0.6}]"#;
        assert!(reply(good, Outcome::Finished).is_some());
        assert_eq!(reply("[null]", Outcome::Finished), Some(vec![None]));
        assert_eq!(reply(good, Outcome::TimedOut), None);
        for printed in [
            "",
            "[]",
            "[null, null]",
            r#"[{"smiles": "C", "groups": {}, "bits": [1024]}]"#,
            r#"[{"smiles": "C", "groups": {}, "log_p": "high"}]"#,
            r#"[{"smiles": "C", "groups": {}, "score": 1}]"#,
        ] {
            assert_eq!(reply(printed, Outcome::Finished), None, "{printed}");
        }
    }

    #[test]
    fn a_smiles_is_one_word() {
        for (text, is) in [("CCO", true), ("", false), ("CC O", false), ("C\u{e9}", false)] {
            assert_eq!(is_word(text), is, "{text:?}");
        }
        assert!(!is_word(&"C".repeat(LONGEST + 1)));
    }
}
