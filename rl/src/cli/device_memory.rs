//! The memory of devices as a flag has it.

use std::str::FromStr;
use tasks::units::{ByteSize, UnitError};

/// The memory of one device, or of several alike: `80GiB`, `8x80GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeviceMemory {
    /// How many devices there are; a run uses one.
    count: u32,
    /// Memory of each.
    pub(super) each: ByteSize,
}

impl FromStr for DeviceMemory {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let several = text.split_once('x').and_then(|(count, each)| {
            let count = count.parse().ok().filter(|count| *count > 0)?;
            Some((count, each))
        });
        let (count, each) = several.unwrap_or((1, text));
        Ok(Self { count, each: each.parse()? })
    }
}

impl DeviceMemory {
    /// What is to be said of more than one device.
    pub(super) fn note(self) -> Option<String> {
        let Self { count, .. } = self;
        (count > 1).then(|| format!("of the {count} devices, `rl train` uses one"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_device_or_several_alike() {
        let of = |text: &str| text.parse::<DeviceMemory>();
        let one = of("80GiB").unwrap();
        assert_eq!((one.count, one.each, one.note()), (1, ByteSize::mib(80 << 10), None));
        let eight = of("8x80GiB").unwrap();
        assert_eq!((eight.count, eight.each), (8, one.each));
        assert!(eight.note().unwrap().contains("8 devices"));
        for wrong in ["", "x80GiB", "0x80GiB", "8x", "8x80G"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
