//! Which library computes linear layers in f32 on a CPU.
//!
//! libtorch sends them to MKL. It also contains oneDNN, which [`onednn`] calls and which is faster
//! for some processors and sizes. The choice follows from the processor, the size of the weight and
//! the number of rows alone, never from a clock: a run that is resumed on the same machine must
//! compute the same bits. `docs/BUDGETS.md` has the measurements that the rule follows, and
//! `cargo bench -p rl --bench linear` repeats them.

use super::onednn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// The library that computes linear layers in f32 on a CPU during generation. (In updates it is
/// always as with `Auto`.) Both are exact to
/// rounding. Means nothing on a GPU or in bf16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CpuLinear {
    /// oneDNN where it was measured to be faster on processors of this kind, else MKL.
    #[default]
    Auto,
    /// MKL always; no copies of weights.
    Mkl,
    /// oneDNN for all weights of at least 512 inputs.
    Onednn,
}

/// The fewest inputs of a weight that oneDNN multiplies by. For fewer than some 450 libtorch's oneDNN
/// (2.11) takes other kernels (`gemm:jit` in the output of `ONEDNN_VERBOSE=1`), and with these one run in
/// five of a test ended with a damaged heap (`docs/LOG.md`).
const LEAST_INPUTS: i64 = 512;

/// The fewest multiplications and additions of a product for which calling oneDNN pays, where its
/// kernels are the faster ones.
const LEAST_WORK: i64 = 1 << 20;
/// The fewest rows for which it does. A product of fewer is bound by reading the weight.
const LEAST_ROWS: i64 = 4;
/// The same for a product of whole sequences with a gradient: rows are converted for oneDNN, and
/// what it gives is converted back, three times each way.
const LEAST_TRAINED_WORK: i64 = 1 << 24;
/// The rows for which MKL's AVX-512 kernels are slow on a weight of at least [`LEAST_WEIGHT`]
/// elements. From 16 rows on it has others.
const FEW_ROWS: RangeInclusive<i64> = 8..=15;
const LEAST_WEIGHT: i64 = 1 << 19;

impl CpuLinear {
    /// Whether this is the default.
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }

    /// The numbers of rows for which oneDNN multiplies by a weight `[outputs, inputs]`; none if it never
    /// does.
    pub(crate) fn rows(self, outputs: i64, inputs: i64) -> Option<RangeInclusive<i64>> {
        self.rows_on(Processor::this(), outputs, inputs).filter(|_| onednn::is_available())
    }

    fn rows_on(
        self,
        processor: Processor,
        outputs: i64,
        inputs: i64,
    ) -> Option<RangeInclusive<i64>> {
        let weight = outputs * inputs;
        match (self, processor) {
            _ if inputs < LEAST_INPUTS => None,
            (Self::Onednn, _) => Some(1..=i64::MAX),
            (Self::Auto, Processor::OtherAvx512) => {
                let weight = weight.max(1);
                Some(LEAST_ROWS.max((LEAST_WORK + weight - 1) / weight)..=i64::MAX)
            }
            (Self::Auto, Processor::IntelAvx512) if weight >= LEAST_WEIGHT => Some(FEW_ROWS),
            _ => None,
        }
    }
}

/// Whether oneDNN multiplies so many rows of whole sequences by a weight `[outputs, inputs]`, and
/// computes the gradients of that.
pub(super) fn trains(rows: i64, outputs: i64, inputs: i64) -> bool {
    trains_on(Processor::this(), rows, outputs, inputs) && onednn::is_available()
}

/// On Intel's processors MKL is the faster one for many rows.
fn trains_on(processor: Processor, rows: i64, outputs: i64, inputs: i64) -> bool {
    // The gradient of the rows is a product with as many inputs as the weight has outputs.
    processor == Processor::OtherAvx512
        && inputs.min(outputs) >= LEAST_INPUTS
        && rows.saturating_mul(outputs * inputs) >= LEAST_TRAINED_WORK
}

impl fmt::Display for CpuLinear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Mkl => "mkl",
            Self::Onednn => "onednn",
        })
    }
}

/// Processors by the kernels that the two libraries have for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Processor {
    /// Intel's with AVX-512, which both libraries use.
    IntelAvx512,
    /// Other makers' with AVX-512: oneDNN uses it, MKL has AVX2 for them.
    OtherAvx512,
    /// All others. Where both use AVX2, MKL is the faster one.
    Other,
}

impl Processor {
    /// The one of this machine.
    fn this() -> Self {
        static THIS: OnceLock<Processor> = OnceLock::new();
        *THIS.get_or_init(Self::detect)
    }

    #[cfg(target_arch = "x86_64")]
    fn detect() -> Self {
        // What oneDNN asks for before it uses AVX-512.
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        // The maker's name, in the order EBX, EDX, ECX.
        let leaf = std::arch::x86_64::__cpuid(0);
        let name = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes);
        match (has_avx512, name.as_flattened() == b"GenuineIntel") {
            (false, _) => Self::Other,
            (true, true) => Self::IntelAvx512,
            (true, false) => Self::OtherAvx512,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn detect() -> Self {
        Self::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_follows_from_processor_weight_and_rows() {
        let takes = |choice: CpuLinear, processor, outputs, rows| {
            let taken = choice.rows_on(processor, outputs, LEAST_INPUTS);
            taken.is_some_and(|taken| taken.contains(&rows))
        };
        let (intel, other, narrow) =
            (Processor::IntelAvx512, Processor::OtherAvx512, Processor::Other);
        for processor in [intel, other, narrow] {
            assert!(takes(CpuLinear::Onednn, processor, 1, 1));
            assert!(!takes(CpuLinear::Mkl, processor, 1 << 21, 10));
            // Whatever is asked for, few inputs are not for oneDNN.
            for choice in [CpuLinear::Auto, CpuLinear::Onednn] {
                assert_eq!(choice.rows_on(processor, 1 << 30, LEAST_INPUTS - 1), None);
            }
        }
        assert!(!takes(CpuLinear::Auto, narrow, 1 << 21, 10));
        for (outputs, rows, is_taken) in
            [(1 << 10, 7, false), (1 << 10, 8, true), (1 << 21, 16, false), (1_000, 8, false)]
        {
            assert_eq!(takes(CpuLinear::Auto, intel, outputs, rows), is_taken, "{outputs} {rows}");
        }
        for (outputs, rows, is_taken) in
            [(1 << 5, 63, false), (1 << 5, 64, true), (1 << 21, 3, false), (1 << 21, 4, true)]
        {
            assert_eq!(takes(CpuLinear::Auto, other, outputs, rows), is_taken, "{outputs} {rows}");
        }
    }

    #[test]
    fn updates_use_onednn_where_it_has_the_wider_kernels_and_products_are_large() {
        for (processor, rows, outputs, inputs, is_taken) in [
            (Processor::OtherAvx512, 1 << 6, 512, 512, true),
            (Processor::OtherAvx512, (1 << 6) - 1, 512, 512, false),
            (Processor::OtherAvx512, i64::MAX, 511, 1 << 20, false),
            (Processor::OtherAvx512, i64::MAX, 1 << 20, 511, false),
            (Processor::IntelAvx512, 1 << 12, 1 << 10, 1 << 10, false),
            (Processor::Other, 1 << 12, 1 << 10, 1 << 10, false),
        ] {
            let found = trains_on(processor, rows, outputs, inputs);
            assert_eq!(found, is_taken, "{processor:?} {rows} {outputs} {inputs}");
        }
    }

    #[test]
    fn names_in_settings_are_those_shown() {
        for choice in [CpuLinear::Auto, CpuLinear::Mkl, CpuLinear::Onednn] {
            let name = serde_json::to_value(choice).unwrap();
            assert_eq!(name, choice.to_string());
            assert_eq!(serde_json::from_value::<CpuLinear>(name).unwrap(), choice);
        }
    }
}
