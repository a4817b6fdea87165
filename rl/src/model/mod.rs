//! Qwen3 and Qwen2.5 in libtorch, weights in and out in Hugging Face's format.

mod attention;
mod config;
mod cpu;
mod cpu_linear;
mod drawn;
mod feed_forward;
mod fresh;
mod gradients;
mod head;
mod induction;
mod kv_cache;
mod linear;
mod load;
mod lora;
mod onednn;
mod packed;
mod pass;
mod prefix_tree;
mod qwen3;
mod rope;
mod shapes;
mod signed;
mod whole_linear;

pub use config::{ConfigError, Family, Mixture, Qwen3Config, RopeScaling, Yarn};
pub use cpu_linear::CpuLinear;
pub use fresh::InitialAttention;
pub use gradients::Gradients;
pub use head::HeadPass;
pub use kv_cache::{CacheRows, CacheShape, KvCache};
pub use load::{
    LoadError, Weights, save_folder, save_weights, save_whole, write_safetensors, write_weights,
};
pub use lora::{ADAPTERS, Lora, LoraSettings, LoraTarget};
pub use onednn::PackedWeight;
pub(crate) use onednn::is_available as has_onednn;
pub use packed::Packed;
pub use pass::Pass;
pub use prefix_tree::PrefixTree;
pub use qwen3::{NewTokens, Parameter, Qwen3};
pub use shapes::{PUBLISHED, Published};
pub(crate) use signed::signed;
