//! The packages of MLE-bench's environment, and which of them a Python lacks.

use agents::run::python::{PythonFactsError, installed};
use jail::exec::Sandbox;

/// The packages of `environment/requirements.txt` of MLE-bench, at its commit 783b15a.
const MLEBENCH: [&str; 92] = [
    "accelerate",
    "albumentations",
    "anthropic",
    "bayesian-optimization",
    "bayespy",
    "biopython",
    "catboost",
    "cython",
    "dacite",
    "datasets",
    "efficientnet-pytorch",
    "evaluate",
    "fastai",
    "faust-cchardet",
    "gym",
    "h5py",
    "hmmlearn",
    "hyperopt",
    "imagecodecs",
    "imbalanced-learn",
    "imgaug",
    "implicit",
    "ipykernel",
    "ipython",
    "jsonlines",
    "kaggle",
    "keras",
    "kornia",
    "langchain-anthropic",
    "langchain",
    "levenshtein",
    "librosa",
    "lightgbm",
    "markovify",
    "matplotlib",
    "nbformat",
    "networkx",
    "nltk",
    "numba",
    "numpy",
    "ogb",
    "openai",
    "opencv-python",
    "optuna",
    "pandas",
    "pdf2image",
    "peft",
    "pillow",
    "plotly",
    "py7zr",
    "pyarrow",
    "pydicom",
    "pyocr",
    "pyparsing",
    "pypdf",
    "pytest",
    "pytorch-lightning",
    "pytz",
    "pyyaml",
    "ranger21",
    "resampy",
    "rouge-score",
    "sacrebleu",
    "scikit-image",
    "scikit-learn",
    "scikit-optimize",
    "scikit-surprise",
    "scipy",
    "seaborn",
    "segmentation-models-pytorch",
    "sentence-transformers",
    "sentencepiece",
    "sklearn-pandas",
    "spacy",
    "sympy",
    "tensorflow-hub",
    "tensorflow",
    "tensorpack",
    "tf-keras",
    "tiktoken",
    "timm",
    "torch-geometric",
    "torch",
    "torchaudio",
    "torchinfo",
    "torchmetrics",
    "torchtext",
    "torchvision",
    "tqdm",
    "transformers",
    "xgboost",
    "xlrd",
];

/// Packages that are the same to an import.
const SAME: [(&str, &str); 1] = [("opencv-python", "opencv-python-headless")];

/// Packages of MLE-bench's environment that the Python of `sandbox` has not, in the order of the
/// alphabet.
///
/// # Errors
/// [`PythonFactsError`].
pub fn missing_packages(sandbox: &Sandbox) -> Result<Vec<String>, PythonFactsError> {
    let asked: Vec<&str> = MLEBENCH.into_iter().chain(SAME.map(|(_, other)| other)).collect();
    let (_, found) = installed(sandbox, &asked)?;
    let same = |name: &str| SAME.into_iter().find(|(one, _)| *one == name).map(|(_, other)| other);
    let has = |name: &str| {
        found.contains_key(name) || same(name).is_some_and(|other| found.contains_key(other))
    };
    Ok(MLEBENCH.into_iter().filter(|name| !has(name)).map(str::to_owned).collect())
}
