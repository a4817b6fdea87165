//! The Python that scripts run with: its version, and the packages that a prompt names.

use jail::exec::Sandbox;
use jail::limits::RunLimits;
use sandbox::env::EpisodeFault;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Packages that are named to agents if they are installed, in the order of prompts.
const KNOWN: [&str; 33] = [
    "numpy",
    "pandas",
    "scipy",
    "scikit-learn",
    "statsmodels",
    "polars",
    "pyarrow",
    "fastparquet",
    "xgboost",
    "lightgbm",
    "catboost",
    "torch",
    "torchvision",
    "torchaudio",
    "timm",
    "transformers",
    "tokenizers",
    "sentence-transformers",
    "tensorflow",
    "keras",
    "opencv-python-headless",
    "opencv-python",
    "pillow",
    "scikit-image",
    "albumentations",
    "librosa",
    "soundfile",
    "pydicom",
    "nltk",
    "spacy",
    "networkx",
    "bayesian-optimization",
    "optuna",
];

const ASK: &str = "\
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for name in NAMES:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        pass
print(json.dumps([\".\".join(map(str, sys.version_info[:3])), found]))
";

const ASK_ALL: &str = "\
import json, sys
from importlib.metadata import distributions
found = {d.metadata[\"Name\"]: d.version for d in distributions()}
print(json.dumps([\".\".join(map(str, sys.version_info[:3])), found]))
";

/// The Python that scripts run with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PythonFacts {
    /// Its version, such as `3.11.7`.
    pub version: String,
    /// Versions of the packages that are named to agents, by name.
    pub packages: BTreeMap<String, String>,
}

/// Why it is not known what scripts run with.
#[derive(Debug, thiserror::Error)]
pub enum PythonFactsError {
    /// The script that asks could not be run.
    #[error("failed to ask the sandbox for its Python packages")]
    Fault(#[from] EpisodeFault),
    /// It ran and did not answer.
    #[error("the sandbox's Python did not list its packages: {0}")]
    Answer(String),
}

/// The version of the Python of `sandbox`, and versions of those of `names` that are installed.
///
/// # Errors
/// [`PythonFactsError`].
pub fn installed(
    sandbox: &Sandbox,
    names: &[&str],
) -> Result<(String, BTreeMap<String, String>), PythonFactsError> {
    let names = serde_json::to_string(names).expect("texts");
    answer(sandbox, &ASK.replace("NAMES", &names))
}

/// What a script prints that asks for versions.
fn answer(
    sandbox: &Sandbox,
    script: &str,
) -> Result<(String, BTreeMap<String, String>), PythonFactsError> {
    let workspace = sandbox.empty_workspace().map_err(EpisodeFault::Execution)?;
    let run = workspace.run(script, &RunLimits::default()).map_err(EpisodeFault::Execution)?;
    let printed = run.stdout.text();
    serde_json::from_str(printed.trim())
        .map_err(|_| PythonFactsError::Answer(format!("it {}; {}", run.outcome, run.stderr.text())))
}

/// The version of the Python of `sandbox`, and versions of all packages that are installed.
///
/// # Errors
/// [`PythonFactsError`].
pub fn all_installed(
    sandbox: &Sandbox,
) -> Result<(String, BTreeMap<String, String>), PythonFactsError> {
    answer(sandbox, ASK_ALL)
}

impl PythonFacts {
    /// Asks the Python of `sandbox`.
    ///
    /// # Errors
    /// [`PythonFactsError`].
    pub fn ask(sandbox: &Sandbox) -> Result<Self, PythonFactsError> {
        let (version, packages) = installed(sandbox, &KNOWN)?;
        Ok(Self { version, packages })
    }

    /// Names of the packages in the order of prompts, with commas between them.
    pub fn list(&self) -> String {
        self.names().collect::<Vec<_>>().join(", ")
    }

    /// Names of the packages in the order of prompts.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        KNOWN.into_iter().filter(|name| self.packages.contains_key(*name))
    }
}
