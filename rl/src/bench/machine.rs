//! The device itself: its name, how fast it copies and multiplies, and what is in use on it.

use super::floor::Speed;
use crate::run::device;
use crate::run::metrics::resident_memory;
use serde::{Deserialize, Serialize};
use std::time::Instant;
use tch::{Device, Kind, Tensor, no_grad_guard};

/// Where something was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `cpu` or `cuda:N`.
    pub device: String,
    /// The product name of a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its memory in bytes: all of a GPU's, what was free of the computer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The number of libtorch threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<i32>,
}

impl Machine {
    /// The description of `device`.
    pub fn from_device(device: Device) -> Self {
        Self {
            device: name(device),
            name: device::name(device),
            memory: device::memory(device),
            threads: Some(tch::get_num_threads()),
        }
    }
}

/// The name of the device on the command line.
pub(super) fn name(device: Device) -> String {
    match device {
        Device::Cuda(index) => format!("cuda:{index}"),
        _ => "cpu".to_owned(),
    }
}

/// Seconds that `work` takes, from an idle device to an idle device.
pub(super) fn timed<T>(device: Device, work: impl FnOnce() -> T) -> (T, f64) {
    device::synchronize(device);
    let began = Instant::now();
    let done = work();
    device::synchronize(device);
    (done, began.elapsed().as_secs_f64())
}

/// How often an operation is measured; the median counts.
const REPEATS: usize = 9;

impl Speed {
    /// Measures `device` with products of type `kind`. Takes 4 GiB of a GPU for a moment, or
    /// a quarter GiB of the computer's memory.
    pub fn measure(kind: Kind, device: Device) -> Self {
        let _guard = no_grad_guard();
        // Much larger than any cache.
        let (bytes, side, products): (i64, i64, usize) =
            if device.is_cuda() { (2 << 30, 8192, 10) } else { (128 << 20, 1024, 1) };
        let source = Tensor::zeros([bytes], (Kind::Uint8, device));
        let mut copy = Tensor::zeros([bytes], (Kind::Uint8, device));
        let seconds = median(device, &mut || copy.copy_(&source));
        drop((source, copy));
        let bandwidth = 2.0 * bytes as f64 / seconds;

        // Not zeros, which a GPU multiplies with less power and therefore faster.
        let matrix = || Tensor::empty([side, side], (kind, device)).normal_(0.0, 1.0);
        let (a, b) = (matrix(), matrix());
        let mut product = Tensor::empty([side, side], (kind, device));
        let seconds = median(device, &mut || {
            for _ in 0..products {
                let _ = a.matmul_out(&product, &b);
            }
        });
        // Read, so that the product cannot be optimised away.
        let _ = product.g_mul_scalar_(0.0);
        let operations = products as f64 * 2.0 * (side as f64).powi(3) / seconds;
        Self { bandwidth, operations }
    }
}

/// The median time of `work`, in seconds, after two runs to warm up.
fn median(device: Device, work: &mut dyn FnMut()) -> f64 {
    for _ in 0..2 {
        work();
    }
    let mut seconds: Vec<f64> = (0..REPEATS).map(|_| timed(device, &mut *work).1).collect();
    seconds.sort_by(f64::total_cmp);
    seconds[REPEATS / 2]
}

/// Memory of one case, in bytes. On a GPU it is the driver's figure, the context and
/// other programs included; on the CPU what this process has resident.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// In use before the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The largest value during the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<u64>,
    /// The plan of `rl plan` for the same settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<u64>,
}

/// Reads memory at the ends of pieces of work.
#[derive(Debug)]
pub(super) struct Gauge {
    device: Device,
    seen: MemoryUse,
}

impl Gauge {
    pub(super) fn start(device: Device) -> Self {
        let now = if device.is_cuda() { device::memory_in_use(device) } else { resident_memory() };
        Self { device, seen: MemoryUse { before: now, peak: now, planned: None } }
    }

    /// Takes note of what the work so far has needed. On the CPU the kernel has kept the most;
    /// libtorch keeps what it has taken of a GPU.
    pub(super) fn mark(&mut self) {
        let now = if self.device.is_cuda() {
            device::memory_in_use(self.device)
        } else {
            peak_resident()
        };
        self.seen.peak = self.seen.peak.max(now);
    }

    pub(super) fn seen(&self, planned: Option<u64>) -> MemoryUse {
        MemoryUse { planned, ..self.seen }
    }
}

/// The most that this process ever had resident, in bytes.
fn peak_resident() -> Option<u64> {
    let text = fs_err::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_computer_has_a_speed_and_a_name() {
        let speed = Speed::measure(Kind::Float, Device::Cpu);
        // Between a floppy drive and all the GPUs of a rack.
        assert!((1e8..1e14).contains(&speed.bandwidth), "{speed:?}");
        assert!((1e8..1e17).contains(&speed.operations), "{speed:?}");
        let machine = Machine::from_device(Device::Cpu);
        assert_eq!(machine.device, "cpu");
        assert!(machine.memory.is_some());
    }

    #[test]
    fn a_gauge_sees_what_was_held_in_between() {
        let mut gauge = Gauge::start(Device::Cpu);
        drop(Tensor::ones([64 << 20], (Kind::Uint8, Device::Cpu)));
        gauge.mark();
        let seen = gauge.seen(Some(1));
        assert!(seen.peak.unwrap() >= seen.before.unwrap() + (32 << 20), "{seen:?}");
        assert_eq!(seen.planned, Some(1));
    }
}
