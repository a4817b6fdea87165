//! Where tensors live.
//!
//! The binary is linked to libtorch's CPU half alone, so it starts anywhere. The CUDA half is
//! loaded at start-up where a driver is there; it then registers itself with libtorch. That must
//! come before libtorch is asked anything that has to do with GPUs, seeds included: it looks for
//! the other half once, and what it does not find then it never finds.

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{CStr, c_char, c_int, c_uint};
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
    /// The CUDA half came too late.
    #[error("libtorch was asked about GPUs before its CUDA half was loaded, and now ignores it")]
    TooLate,
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
                if !tch::utils::has_cudart() {
                    return Err(DeviceError::TooLate);
                }
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

/// Finds the device, and sets libtorch up.
///
/// # Errors
/// [`DeviceError`] if a GPU was asked for by name and cannot be used.
pub fn set_up(choice: DeviceChoice, threads: Option<i32>) -> Result<Device, DeviceError> {
    if let Some(threads) = threads {
        tch::set_num_threads(threads);
    }
    let device = choice.resolve()?;
    // Nothing draws from libtorch's own generator; a fixed seed makes that easy to see. Not
    // before the device: the seed goes to GPUs too, and those must be known by then.
    tch::manual_seed(0);
    tracing::info!(?device, threads = tch::get_num_threads(), "libtorch");
    Ok(device)
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
        return gpu_memory(c_int::try_from(index).ok()?);
    }
    let text = fs_err::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// How much memory of `device` is free, in bytes, where that can be found out.
pub fn free_memory(device: Device) -> Option<u64> {
    let used = memory_in_use(device).unwrap_or(0);
    memory(device).map(|all| all.saturating_sub(used))
}

/// How much of a GPU's memory is in use, by whomever, in bytes; none for the CPU. What libtorch
/// has once taken it keeps, so after a piece of work this is the most that the work took; only
/// where a GPU is full does libtorch give something back on the way.
pub fn memory_in_use(device: Device) -> Option<u64> {
    type Get = unsafe extern "C" fn(*mut c_int) -> c_int;
    type Set = unsafe extern "C" fn(c_int) -> c_int;
    type MemoryInfo = unsafe extern "C" fn(*mut usize, *mut usize) -> c_int;
    let Device::Cuda(index) = device else { return None };
    let index = c_int::try_from(index).ok()?;
    let (mut before, mut free, mut total) = (0, 0, 0);
    #[expect(
        unsafe_code,
        reason = "CUDA's runtime has no safe interface, and libtorch's C one no word"
    )]
    // SAFETY: these are the signatures of the runtime's functions, which came with libtorch's
    // CUDA half; they write numbers and nothing else. The runtime's idea of the current GPU, a
    // thread's own, is put back.
    let done = unsafe {
        let runtime = Library::this();
        let get = runtime.get::<Get>(b"cudaGetDevice\0").ok()?;
        let set = runtime.get::<Set>(b"cudaSetDevice\0").ok()?;
        let info = runtime.get::<MemoryInfo>(b"cudaMemGetInfo\0").ok()?;
        get(&raw mut before) == 0 && set(index) == 0 && {
            let told = info(&raw mut free, &raw mut total) == 0;
            set(before) == 0 && told
        }
    };
    done.then(|| u64::try_from(total - free).ok())?
}

/// What the maker calls it, where that can be found out.
pub fn name(device: Device) -> Option<String> {
    if let Device::Cuda(index) = device {
        return gpu_name(c_int::try_from(index).ok()?);
    }
    let text = fs_err::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(line.trim_start_matches([' ', '\t', ':']).trim().to_owned())
}

fn gpu_name(index: c_int) -> Option<String> {
    type Init = unsafe extern "C" fn(c_uint) -> c_int;
    type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
    type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
    let (mut handle, mut text) = (0, [0_u8; 256]);
    #[expect(
        unsafe_code,
        reason = "the driver has no safe interface, and libtorch's C interface lacks this"
    )]
    // SAFETY: these are the signatures of the driver's functions, and the last one writes no more
    // than the length that it is given.
    let done = unsafe {
        let driver = Library::this();
        let init = driver.get::<Init>(b"cuInit\0").ok()?;
        let get = driver.get::<Get>(b"cuDeviceGet\0").ok()?;
        let name = driver.get::<Name>(b"cuDeviceGetName\0").ok()?;
        init(0) == 0
            && get(&raw mut handle, index) == 0
            && name(text.as_mut_ptr().cast(), 255, handle) == 0
    };
    let name = CStr::from_bytes_until_nul(&text).ok().filter(|_| done)?;
    Some(name.to_string_lossy().into_owned())
}

/// Waits until `device` has done all that it was asked to, so that a clock can be read.
pub fn synchronize(device: Device) {
    if let Device::Cuda(index) = device {
        Cuda::synchronize(i64::try_from(index).unwrap_or(0));
    }
}

/// All memory of a GPU, in bytes, also before anything was done on it.
fn gpu_memory(index: c_int) -> Option<u64> {
    type Init = unsafe extern "C" fn(c_uint) -> c_int;
    type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
    type Total = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
    let (mut handle, mut bytes) = (0, 0);
    #[expect(
        unsafe_code,
        reason = "the driver has no safe interface, and libtorch's C one no word"
    )]
    // SAFETY: the driver is loaded, or it has no such symbols, and these are the signatures of the
    // three functions, which write a number each and nothing else.
    let done = unsafe {
        let driver = Library::this();
        let init = driver.get::<Init>(b"cuInit\0").ok()?;
        let get = driver.get::<Get>(b"cuDeviceGet\0").ok()?;
        let total = driver.get::<Total>(b"cuDeviceTotalMem_v2\0").ok()?;
        init(0) == 0 && get(&raw mut handle, index) == 0 && total(&raw mut bytes, handle) == 0
    };
    done.then(|| u64::try_from(bytes).ok())?
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
    fn memory_of_a_missing_device_is_unknown() {
        // Without CUDA's libraries these are unknown; the calls must not crash.
        if !Cuda::is_available() {
            assert_eq!(memory_in_use(Device::Cuda(0)), None);
            assert_eq!(name(Device::Cuda(0)), None);
        }
        assert_eq!(memory_in_use(Device::Cpu), None);
        synchronize(Device::Cpu);
    }

    #[test]
    fn auto_is_a_gpu_where_there_is_one() {
        let found = DeviceChoice::Auto.resolve().unwrap();
        let expected = if Cuda::is_available() { Device::Cuda(0) } else { Device::Cpu };
        assert_eq!(found, expected);
    }
}
