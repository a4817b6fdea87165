//! Which file of a model is what, by its name.

use camino::Utf8Path;

/// What a file in a submitted folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// `config.json`.
    Config,
    /// `*.safetensors` but for an adapter's.
    Weights,
    /// `adapter_config.json`.
    AdapterConfig,
    /// `adapter_model.safetensors`.
    AdapterWeights,
    /// Part of a tokenizer or a chat template.
    Text,
    /// Weights or state in a form that runs code when it is loaded, or that is not read.
    Pickle,
    /// Code.
    Code,
    /// Nothing of a model.
    Other,
}

pub(super) const CONFIG: &str = "config.json";
pub(super) const WEIGHTS: &str = "model.safetensors";
pub(super) const ADAPTER_CONFIG: &str = "adapter_config.json";
pub(super) const ADAPTER_WEIGHTS: &str = "adapter_model.safetensors";

/// The files of a tokenizer and its chat template. The base's are what judges.
pub(super) const TEXTS: [&str; 10] = [
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "generation_config.json",
    "merges.txt",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
];

const PICKLES: [&str; 14] = [
    "bin", "ckpt", "dill", "gguf", "h5", "joblib", "msgpack", "npy", "npz", "onnx", "pickle",
    "pkl", "pt", "pth",
];
const CODE: [&str; 12] =
    ["bash", "dylib", "exe", "ipynb", "js", "lua", "py", "pyc", "pyd", "rb", "sh", "so"];

impl FileKind {
    pub(super) fn of(name: &str) -> Self {
        match name {
            CONFIG => return Self::Config,
            ADAPTER_CONFIG => return Self::AdapterConfig,
            ADAPTER_WEIGHTS => return Self::AdapterWeights,
            name if TEXTS.contains(&name) => return Self::Text,
            _ => {}
        }
        let extension = Utf8Path::new(name).extension().unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "safetensors" => Self::Weights,
            extension if PICKLES.contains(&extension) => Self::Pickle,
            extension if CODE.contains(&extension) => Self::Code,
            _ => Self::Other,
        }
    }
}
