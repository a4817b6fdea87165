//! The policy: a Qwen3 decoder, its weights and its cache.

mod config;
mod kv_cache;
mod load;
mod qwen3;

pub use config::{ConfigError, Qwen3Config};
pub use kv_cache::{KvCache, Rows};
pub use load::{LoadError, Weights, save_folder, write_safetensors};
pub use qwen3::{Parameter, Qwen3};
