//! Published weights in and out: Hugging Face folders of safetensors.

use super::config::{ConfigError, Qwen3Config};
use super::lora::save_adapters;
use super::qwen3::Qwen3;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use memmap2::Mmap;
use safetensors::tensor::{Dtype, SafeTensors, View};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::Permissions;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use tasks::files;
use tch::{Device, Kind, Tensor};

/// Why weights could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file is missing or unreadable.
    #[error("failed to read or write the model's files")]
    Io(#[from] std::io::Error),
    /// The configuration was refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No weights at all.
    #[error("`{0}` has neither `model.safetensors` nor `model.safetensors.index.json`")]
    NoWeights(Utf8PathBuf),
    /// The shard index is not what it should be.
    #[error("failed to parse `{path}`")]
    Index {
        /// The path of the shard index.
        path: Utf8PathBuf,
        /// The parser's error, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// The shard index names a file outside the folder.
    #[error("`{path}` names the shard `{shard}`, which is not a plain file name")]
    ShardName {
        /// The path of the shard index.
        path: Utf8PathBuf,
        /// The shard's name in the index.
        shard: String,
    },
    /// Not a safetensors file, or a damaged one.
    #[error("`{path}` is damaged or not a safetensors file; copy or download it again")]
    Format {
        /// The path of the safetensors file.
        path: Utf8PathBuf,
        /// The error of the safetensors library.
        #[source]
        source: safetensors::SafeTensorError,
    },
    /// A weight that the shape needs is not there.
    #[error("the weight `{0}` is missing; the files are incomplete or belong to another model")]
    Missing(String),
    /// A weight has another shape.
    #[error("the weight `{name}` has shape {found:?}; `config.json` asks for {expected:?}")]
    Shape {
        /// The name of the weight.
        name: String,
        /// Its shape on disk.
        found: Vec<i64>,
        /// The shape that `config.json` implies.
        expected: Vec<i64>,
    },
    /// A weight has a type we do not read.
    #[error("the weight `{name}` has the type {dtype:?}; F64, F32, F16 and BF16 can be read")]
    Dtype {
        /// The name of the weight.
        name: String,
        /// Its type on disk.
        dtype: Dtype,
    },
    /// The model cannot run in this type.
    #[error("a model cannot run in {0:?}; choose f32, bf16 or f16")]
    Kind(Kind),
    /// An adapter of a kind that is not implemented.
    #[error("`{path}` has a `{field}` that is not supported; only plain LoRA adapters are")]
    Adapter {
        /// The path of `adapter_config.json`.
        path: Utf8PathBuf,
        /// The key that is not supported.
        field: &'static str,
    },
    /// A target that the model lacks.
    #[error(
        "no layer has a `{0}` that can be adapted; experts have none: leave it out of `lora.targets`"
    )]
    NoProjection(String),
    /// Adapters that belong to nothing.
    #[error(
        "`{path}` holds {found} tensors, of which the model has a place for {used}; it belongs to another model"
    )]
    Strays {
        /// The path of the adapters' file.
        path: Utf8PathBuf,
        /// How many have a place.
        used: usize,
        /// How many there are.
        found: usize,
    },
    /// libtorch could not copy or convert a weight.
    #[error("libtorch refused the weight `{name}`")]
    Torch {
        /// The name of the weight.
        name: String,
        /// The error that libtorch returned.
        #[source]
        source: tch::TchError,
    },
}

/// Where one weight lies.
#[derive(Debug)]
struct WeightEntry {
    shard: usize,
    dtype: Dtype,
    shape: Vec<i64>,
    bytes: Range<usize>,
}

/// The memory-mapped weights of a folder, by their published names.
#[derive(Debug)]
pub struct Weights {
    shards: Vec<Mmap>,
    entries: BTreeMap<String, WeightEntry>,
}

/// Where a weight of the given name and shape comes from.
pub(super) type Fetch<'a> = dyn FnMut(&str, &[i64]) -> Result<Tensor, LoadError> + 'a;

#[derive(Deserialize)]
struct ShardIndex {
    weight_map: BTreeMap<String, String>,
}

impl Weights {
    /// Maps `model.safetensors`, or all shards that `model.safetensors.index.json` names.
    ///
    /// # Errors
    /// [`LoadError`] if there are none, or a file is damaged.
    pub fn open(folder: &Utf8Path) -> Result<Self, LoadError> {
        let single = folder.join("model.safetensors");
        let index = folder.join("model.safetensors.index.json");
        let paths = if single.is_file() {
            vec![single]
        } else if index.is_file() {
            let parsed: ShardIndex = serde_json::from_slice(&fs::read(&index)?)
                .map_err(|source| LoadError::Index { path: index.clone(), source })?;
            let names: BTreeSet<String> = parsed.weight_map.into_values().collect();
            let plain = |name: &String| Utf8Path::new(name).file_name() == Some(name);
            if let Some(shard) = names.iter().find(|name| !plain(name)) {
                return Err(LoadError::ShardName { path: index, shard: shard.clone() });
            }
            names.iter().map(|name| folder.join(name)).collect()
        } else {
            return Err(LoadError::NoWeights(folder.to_owned()));
        };
        Self::map(&paths)
    }

    /// Maps the given safetensors files.
    ///
    /// # Errors
    /// [`LoadError`] if a file is missing or damaged.
    pub fn map(paths: &[Utf8PathBuf]) -> Result<Self, LoadError> {
        let (mut shards, mut entries) = (Vec::new(), BTreeMap::new());
        for (shard, path) in paths.iter().enumerate() {
            let file = fs::File::open(path)?;
            #[expect(unsafe_code, reason = "mapping a file has no safe form")]
            // SAFETY: the map is read-only and private to this value. Checkpoints appear by rename
            // and are never written in place, so the mapped file does not change.
            let map = unsafe { Mmap::map(file.file())? };
            let format = |source| LoadError::Format { path: path.clone(), source };
            let (header, metadata) = SafeTensors::read_metadata(&map).map_err(format)?;
            // The length of the header stands before it in eight bytes; then come the data.
            let start = header + 8;
            for (name, info) in metadata.tensors() {
                let (from, to) = info.data_offsets;
                let shape =
                    info.shape.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
                let bytes = start + from..start + to;
                entries.insert(name, WeightEntry { shard, dtype: info.dtype, shape, bytes });
            }
            shards.push(map);
        }
        Ok(Self { shards, entries })
    }

    /// Every name, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// One weight, copied out of the map, in the type it has on disk.
    ///
    /// # Errors
    /// [`LoadError`] if it is missing or has another shape or an unreadable type.
    pub fn tensor(&self, name: &str, shape: &[i64]) -> Result<Tensor, LoadError> {
        let entry = self.entries.get(name).ok_or_else(|| LoadError::Missing(name.to_owned()))?;
        if entry.shape != shape {
            return Err(LoadError::Shape {
                name: name.to_owned(),
                found: entry.shape.clone(),
                expected: shape.to_vec(),
            });
        }
        let kind = match entry.dtype {
            Dtype::F64 => Kind::Double,
            Dtype::F32 => Kind::Float,
            Dtype::F16 => Kind::Half,
            Dtype::BF16 => Kind::BFloat16,
            Dtype::U8 => Kind::Uint8,
            dtype => return Err(LoadError::Dtype { name: name.to_owned(), dtype }),
        };
        Tensor::f_from_data_size(&self.shards[entry.shard][entry.bytes.clone()], shape, kind)
            .map_err(|source| LoadError::Torch { name: name.to_owned(), source })
    }
}

/// A tensor whose bytes are copied when the writer reaches it.
struct Stored {
    tensor: Tensor,
    dtype: Dtype,
    shape: Vec<usize>,
}

impl View for &Stored {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let mut bytes = vec![0; self.data_len()];
        let tensor = self.tensor.to_device(Device::Cpu).contiguous();
        tensor.copy_data_u8(&mut bytes, tensor.numel());
        bytes.into()
    }

    fn data_len(&self) -> usize {
        self.tensor.numel() * self.tensor.kind().elt_size_in_bytes()
    }
}

/// Writes tensors as one safetensors file, marked as PyTorch's so that transformers accepts it.
///
/// # Errors
/// [`LoadError`] if a tensor has a type the format lacks here, or the file cannot be written.
pub fn write_safetensors(
    path: &Utf8Path,
    tensors: &BTreeMap<String, Tensor>,
) -> Result<(), LoadError> {
    let mut stored = BTreeMap::new();
    for (name, tensor) in tensors {
        let dtype = match tensor.kind() {
            Kind::Double => Dtype::F64,
            Kind::Float => Dtype::F32,
            Kind::Half => Dtype::F16,
            Kind::BFloat16 => Dtype::BF16,
            Kind::Uint8 => Dtype::U8,
            kind => return Err(LoadError::Kind(kind)),
        };
        let shape = tensor.size().iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
        stored.insert(name, Stored { tensor: tensor.detach(), dtype, shape });
    }
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    safetensors::serialize_to_file(&stored, Some(metadata), path.as_std_path())
        .map_err(|source| LoadError::Format { path: path.to_owned(), source })?;
    // The library writes a temporary file that only its owner can read. The checkpoint gets the
    // read permissions of its folder.
    let folder = path.parent().filter(|folder| !folder.as_str().is_empty());
    let mode = fs::metadata(folder.unwrap_or(Utf8Path::new(".")))?.permissions().mode();
    fs::set_permissions(path, Permissions::from_mode(mode & 0o666))?;
    // The library does not sync the file; a checkpoint must survive a power failure.
    fs::File::open(path)?.sync_all()?;
    Ok(())
}

/// Writes what is trained of `model` into `folder`: its adapters in PEFT's format if it has any,
/// else the whole model.
///
/// # Errors
/// [`LoadError`] if a file cannot be written.
pub fn save_folder(model: &Qwen3, folder: &Utf8Path) -> Result<(), LoadError> {
    match model.lora() {
        Some(lora) => save_adapters(model, lora, folder),
        None => save_whole(model, folder),
    }
}

/// The largest file that weights are written into, in bytes: what transformers takes.
const SHARD_BYTES: usize = 5_000_000_000;

/// Writes weights as `model.safetensors`, or in numbered shards of at most `shard_bytes` with an
/// index. A weight that alone is larger has a shard of its own.
///
/// # Errors
/// [`LoadError`] if a file cannot be written.
pub fn write_weights(
    folder: &Utf8Path,
    weights: &BTreeMap<String, Tensor>,
    shard_bytes: usize,
) -> Result<(), LoadError> {
    let mut shards: Vec<BTreeMap<String, Tensor>> = vec![BTreeMap::new()];
    let (mut total, mut filled) = (0, 0);
    for (name, tensor) in weights {
        let bytes = tensor.numel() * tensor.kind().elt_size_in_bytes();
        if filled > 0 && filled + bytes > shard_bytes {
            shards.push(BTreeMap::new());
            filled = 0;
        }
        total += bytes;
        filled += bytes;
        let shard = shards.last_mut().expect("there is always one");
        shard.insert(name.clone(), tensor.shallow_clone());
    }
    if let [shard] = shards.as_slice() {
        return write_safetensors(&folder.join("model.safetensors"), shard);
    }
    let mut weight_map = BTreeMap::new();
    for (index, shard) in shards.iter().enumerate() {
        let file = format!("model-{:05}-of-{:05}.safetensors", index + 1, shards.len());
        write_safetensors(&folder.join(&file), shard)?;
        weight_map.extend(shard.keys().map(|name| (name, file.clone())));
    }
    let index = serde_json::json!({"metadata": {"total_size": total}, "weight_map": weight_map});
    Ok(files::write_json(&folder.join("model.safetensors.index.json"), &index)?)
}

/// Writes `model` into `folder` as transformers expects it: weights, `config.json` and
/// `generation_config.json`. Adapters are merged in.
///
/// # Errors
/// [`LoadError`] if a file cannot be written.
pub fn save_whole(model: &Qwen3, folder: &Utf8Path) -> Result<(), LoadError> {
    save_weights(model, &model.published(), folder)
}

/// As [`save_whole`], with these weights instead of the model's own, of the same names and shapes.
///
/// # Errors
/// [`LoadError`] if a file cannot be written.
pub fn save_weights(
    model: &Qwen3,
    weights: &BTreeMap<String, Tensor>,
    folder: &Utf8Path,
) -> Result<(), LoadError> {
    let config: &Qwen3Config = model.config();
    write_weights(folder, weights, SHARD_BYTES)?;
    let dtype = match model.kind() {
        Kind::BFloat16 => "bfloat16",
        Kind::Half => "float16",
        _ => "float32",
    };
    let mut value = serde_json::to_value(config).map_err(std::io::Error::other)?;
    // Under both names, for readers before and after transformers 5.
    value["dtype"] = dtype.into();
    value["torch_dtype"] = dtype.into();
    files::write_json(&folder.join("config.json"), &value)?;
    let generation = serde_json::json!({
        "do_sample": true,
        "temperature": 1.0,
        "eos_token_id": value["eos_token_id"],
        "bos_token_id": value["bos_token_id"],
        "pad_token_id": value["pad_token_id"],
    });
    files::write_json(&folder.join("generation_config.json"), &generation)?;
    Ok(())
}
