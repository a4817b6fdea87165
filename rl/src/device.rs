//! Where tensors live.
//!
//! The binary is linked to libtorch's CPU half alone, so it starts anywhere. The CUDA half is
//! loaded at start-up where a driver is there; it then registers itself with libtorch.

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::fmt;
use std::str::FromStr;
use tch::{Cuda, Device};

/// What the user asked for: `auto`, `cpu`, `cuda` or `cuda:N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// The first GPU where there is one, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// One GPU, or an error.
    Cuda(usize),
}

/// Why a device could not be had.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// Not a device's name.
    #[error("`{0}` is not a device; use `auto`, `cpu`, `cuda` or `cuda:1`")]
    Name(String),
    /// No driver or no CUDA half.
    #[error("failed to load CUDA; is there an NVIDIA driver? `--device cpu` works without")]
    NoCuda(#[source] libloading::Error),
    /// The library is there but sees fewer GPUs.
    #[error("`cuda:{index}` was asked for, but libtorch sees {count} GPU(s)")]
    NoSuchGpu {
        /// The one asked for.
        index: usize,
        /// How many there are.
        count: i64,
    },
}

impl FromStr for DeviceChoice {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Self, DeviceError> {
        let bad = || DeviceError::Name(name.to_owned());
        match name.split_once(':') {
            None if name == "auto" => Ok(Self::Auto),
            None if name == "cpu" => Ok(Self::Cpu),
            None if name == "cuda" => Ok(Self::Cuda(0)),
            Some(("cuda", index)) => index.parse().map(Self::Cuda).map_err(|_| bad()),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

impl DeviceChoice {
    /// Finds the device, loading CUDA if it is needed and there.
    ///
    /// # Errors
    /// [`DeviceError`] if a GPU was asked for by name and cannot be used.
    pub fn resolve(self) -> Result<Device, DeviceError> {
        match self {
            Self::Cpu => Ok(Device::Cpu),
            Self::Auto => match load_cuda() {
                Ok(()) if Cuda::is_available() => Ok(Device::Cuda(0)),
                _ => Ok(Device::Cpu),
            },
            Self::Cuda(index) => {
                load_cuda().map_err(DeviceError::NoCuda)?;
                let count = Cuda::device_count();
                let there = i64::try_from(index).is_ok_and(|index| index < count);
                if there {
                    Ok(Device::Cuda(index))
                } else {
                    Err(DeviceError::NoSuchGpu { index, count })
                }
            }
        }
    }
}

/// Loads the driver, then libtorch's CUDA half. The driver comes first because it is small and
/// its absence is the common case, while the other is a gigabyte.
fn load_cuda() -> Result<(), libloading::Error> {
    for name in ["libcuda.so.1", "libtorch_cuda.so"] {
        #[expect(unsafe_code, reason = "loading a library has no safe form")]
        // SAFETY: both libraries are meant to be loaded this way, by PyTorch itself among others,
        // and their initialisers have no requirement that we do not meet. They are never unloaded,
        // because libtorch keeps pointers into the second.
        let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL)? };
        std::mem::forget(library);
    }
    Ok(())
}

/// How much memory `device` has, in bytes, where that can be found out: all of a GPU's, what is
/// free of the computer's.
pub fn memory(device: Device) -> Option<u64> {
    if let Device::Cuda(index) = device {
        return gpu_memory(i32::try_from(index).ok()?);
    }
    let text = fs_err::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Asks the driver, because libtorch's C interface has no word for it.
#[expect(unsafe_code, reason = "calling into a library has no safe form")]
fn gpu_memory(index: i32) -> Option<u64> {
    // SAFETY: the three functions have had these signatures since CUDA 3.2. They write through the
    // pointers before they return, and are called with initialised places of the right types.
    unsafe {
        let driver = Library::open(Some("libcuda.so.1"), RTLD_NOW).ok()?;
        let init = driver.get::<unsafe extern "C" fn(u32) -> i32>(b"cuInit\0").ok()?;
        let get =
            driver.get::<unsafe extern "C" fn(*mut i32, i32) -> i32>(b"cuDeviceGet\0").ok()?;
        let total = driver
            .get::<unsafe extern "C" fn(*mut usize, i32) -> i32>(b"cuDeviceTotalMem_v2\0")
            .ok()?;
        let (mut device, mut bytes) = (0, 0);
        let done =
            init(0) == 0 && get(&raw mut device, index) == 0 && total(&raw mut bytes, device) == 0;
        done.then_some(bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for name in ["auto", "cpu", "cuda:3"] {
            assert_eq!(name.parse::<DeviceChoice>().unwrap().to_string(), name);
        }
        assert_eq!("cuda".parse::<DeviceChoice>().unwrap(), DeviceChoice::Cuda(0));
        for name in ["gpu", "cuda:x", "cuda:", "", "cpu:0"] {
            assert!(name.parse::<DeviceChoice>().is_err(), "{name}");
        }
    }

    #[test]
    fn the_memory_of_this_computer_is_known() {
        let bytes = memory(Device::Cpu).unwrap();
        assert!((1 << 20..1 << 50).contains(&bytes), "{bytes}");
    }

    #[test]
    fn auto_always_finds_something() {
        assert!(DeviceChoice::Auto.resolve().is_ok());
    }
}
