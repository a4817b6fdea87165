//! Linear layers in f32 on the CPU through oneDNN, with the weight in the layout that its kernels
//! read.
//!
//! libtorch has an operator that brings a weight into that layout and one that multiplies by it,
//! made for `torch.compile`; tch binds neither. Both are reached through functions of the C
//! interface that libtorch has for compiled models (`torch/csrc/inductor/aoti_torch/c/shim.h` and
//! `shim_cpu.h`), which turn exceptions into error codes and write their messages to standard
//! error. They are looked up when the program runs, so that a libtorch without oneDNN works too.
//!
//! There is no gradient. When it pays to call this is the business of [`CpuLinear`].

use super::cpu_linear::CpuLinear;
use libloading::os::unix::Library;
use std::ffi::c_char;
use std::mem::ManuallyDrop;
use std::ops::RangeInclusive;
use std::ptr;
use std::sync::OnceLock;
use tch::{Device, Kind, Tensor};
use torch_sys::C_tensor;

/// A weight `[O, I]` in the layout of oneDNN: a copy, as large as the weight.
#[derive(Debug)]
pub struct PackedWeight {
    packed: Tensor, // [O, I], opaque to all other operations
    inputs: i64,
    rows: RangeInclusive<i64>,
}

impl PackedWeight {
    /// Packs `weight` `[O, I]`. None if `choice` never uses oneDNN for it, or if it is not in f32
    /// on the CPU.
    pub fn new(weight: &Tensor, choice: CpuLinear) -> Option<Self> {
        let is_float = weight.kind() == Kind::Float && weight.device() == Device::Cpu;
        let &[outputs, inputs] = weight.size().as_slice() else { return None };
        if !is_float || outputs * inputs == 0 {
            return None;
        }
        let rows = choice.rows(outputs, inputs)?;
        Some(Self { packed: Functions::find()?.pack(weight)?, inputs, rows })
    }

    /// Whether oneDNN is to multiply `x`, any number of rows `[.., I]`, by this weight.
    pub fn takes(&self, x: &Tensor) -> bool {
        let count = i64::try_from(x.numel()).unwrap_or(0);
        self.rows.contains(&(count / self.inputs))
    }

    /// `x Wᵀ` without a gradient: `[.., I]` in f32 to `[.., O]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let functions = Functions::find().expect("a weight was packed by them");
        functions.linear(x, self)
    }
}

/// `x Wᵀ + b`, through the packed copy of W if there is one that takes so many rows: `[.., I]` to
/// `[.., O]`. Only the other way has a gradient.
pub(super) fn linear(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    packed: Option<&PackedWeight>,
) -> Tensor {
    match packed {
        Some(packed) if packed.takes(x) => {
            let mut product = packed.forward(x);
            match bias {
                Some(bias) => product.g_add_(bias),
                None => product,
            }
        }
        _ => x.linear(weight, bias),
    }
}

/// Whether libtorch has what is needed here.
pub(crate) fn is_available() -> bool {
    Functions::find().is_some()
}

/// `aoti_torch_call_dispatcher(name, overload, stack)`: calls an operator with the arguments on
/// the stack, one word of 64 bits each, and leaves its results there. All words here are pointers.
type CallDispatcher = unsafe extern "C" fn(*const c_char, *const c_char, *mut *mut C_tensor) -> i32;
const _: () = assert!(size_of::<*mut C_tensor>() == size_of::<u64>(), "a pointer is a word");

/// `aoti_torch_cpu__linear_pointwise(x, weight, bias, function, scalars, scalar count, algorithm,
/// result)`: a linear layer and, if one is named, a function of its output.
type LinearPointwise = unsafe extern "C" fn(
    *mut C_tensor,
    *mut C_tensor,
    *mut *mut C_tensor,
    *const c_char,
    *const *const f64,
    i64,
    *const *const c_char,
    *mut *mut C_tensor,
) -> i32;

/// The functions of libtorch that reach oneDNN.
#[derive(Debug, Clone, Copy)]
struct Functions {
    call_dispatcher: CallDispatcher,
    linear_pointwise: LinearPointwise,
}

impl Functions {
    fn find() -> Option<Self> {
        static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
        *FUNCTIONS.get_or_init(|| {
            let this = Library::this();
            #[expect(unsafe_code, reason = "looking up a function has no safe form")]
            // SAFETY: the types are those that libtorch's headers declare, with `AtenTensorHandle`
            // as what it is behind the declaration and in tch's C interface: an `at::Tensor*`.
            unsafe {
                let call_dispatcher =
                    *this.get::<CallDispatcher>(b"aoti_torch_call_dispatcher\0").ok()?;
                let linear_pointwise =
                    *this.get::<LinearPointwise>(b"aoti_torch_cpu__linear_pointwise\0").ok()?;
                Some(Self { call_dispatcher, linear_pointwise })
            }
        })
    }

    /// A copy of `weight` `[O, I]`, f32 on the CPU, in the layout of oneDNN.
    fn pack(self, weight: &Tensor) -> Option<Tensor> {
        // The dispatcher takes over the handle, and the weight itself stays ours.
        let mut handle = ManuallyDrop::new(weight.detach().contiguous());
        // The second argument is the number of rows to expect. It is left out: one copy serves all.
        let mut stack = [handle.as_mut_ptr(), ptr::null_mut()];
        #[expect(unsafe_code, reason = "a C function")]
        // SAFETY: the operator takes a tensor and an optional number and returns a tensor, so
        // that two words are read and the first is written. Null is the absent number. The
        // handle was allocated as libtorch frees it, and nobody else uses or frees it; if the call
        // fails before it is taken over, it leaks. A result is a handle that is ours alone.
        unsafe {
            let name = c"mkldnn::_reorder_linear_weight";
            let code = (self.call_dispatcher)(name.as_ptr(), c"".as_ptr(), stack.as_mut_ptr());
            (code == 0).then(|| Tensor::from_ptr(stack[0]))
        }
    }

    /// `x Wᵀ`: `[.., I]` in f32 on the CPU to `[.., O]`.
    fn linear(self, x: &Tensor, weight: &PackedWeight) -> Tensor {
        let shape = x.size();
        let is_float = x.kind() == Kind::Float && x.device() == Device::Cpu;
        assert!(
            is_float && shape.last() == Some(&weight.inputs),
            "a linear layer of {} inputs in f32 on the CPU got {shape:?}",
            weight.inputs
        );
        let mut out = ptr::null_mut();
        #[expect(unsafe_code, reason = "a C function")]
        // SAFETY: both handles are borrowed for the call, which reads them and keeps neither. Null
        // stands for no bias, no scalars and no algorithm; `none` is the function that changes
        // nothing. Type and shape were checked. Where the code is zero, `out` is a handle that is
        // ours alone.
        let code = unsafe {
            (self.linear_pointwise)(
                x.as_ptr().cast_mut(),
                weight.packed.as_ptr().cast_mut(),
                ptr::null_mut(),
                c"none".as_ptr(),
                ptr::null(),
                0,
                ptr::null(),
                &raw mut out,
            )
        };
        assert!(
            code == 0 && !out.is_null(),
            "oneDNN failed to multiply {shape:?} by {:?}; libtorch has logged the reason",
            weight.packed.size()
        );
        #[expect(unsafe_code, reason = "tch has no safe way from a handle to a tensor")]
        // SAFETY: a handle that was just made and that nobody else has.
        unsafe {
            Tensor::from_ptr(out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::whole_linear::testing::{gap as gap_of_product, wave};
    use proptest::prelude::*;

    /// The largest difference to `x Wᵀ`, rows of any shape.
    fn gap(found: &Tensor, x: &Tensor, weight: &Tensor) -> f64 {
        let (outputs, inputs) = (weight.size()[0], weight.size()[1]);
        let (found, x) = (found.reshape([-1, outputs]), x.reshape([-1, inputs]));
        gap_of_product(&found, &x, &weight.tr())
    }

    fn packed(weight: &Tensor) -> PackedWeight {
        PackedWeight::new(weight, CpuLinear::Onednn).expect("this libtorch has oneDNN")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn packed_products_equal_plain_ones(
            rows in 1_i64..70, inputs in 512_i64..700, outputs in 1_i64..200, threads in 1..3_i32,
        ) {
            tch::set_num_threads(threads);
            let (x, weight) = (wave(&[rows, inputs], 0.7), wave(&[outputs, inputs], 1.3));
            let packed = packed(&weight);
            prop_assert!(packed.takes(&x));
            let found = packed.forward(&x);
            prop_assert_eq!(found.size(), [rows, outputs]);
            prop_assert!(gap(&found, &x, &weight) <= 1e-6);
            prop_assert!(gap(&x.linear(&weight, None::<&Tensor>), &x, &weight) <= 1e-6);
            // One layout serves every number of rows, and a product repeats to the bit.
            prop_assert_eq!(&packed.forward(&x), &found);
        }
    }

    #[test]
    fn packed_products_of_policies_shapes_equal_plain_ones() {
        let shapes = [(1280, 640), (3840, 640), (640, 1920), (3000, 640), (64, 512)];
        for (outputs, inputs) in shapes {
            let weight = wave(&[outputs, inputs], 0.9);
            let packed = packed(&weight);
            for rows in [1, 8, 15, 16, 64, 300] {
                let x = wave(&[rows, inputs], 0.3);
                let found = gap(&packed.forward(&x), &x, &weight);
                assert!(found <= 1e-6, "{rows} x {inputs} x {outputs}: {found}");
            }
        }
    }

    #[test]
    fn rows_may_have_several_axes_and_strides() {
        let weight = wave(&[24, 512], 0.9);
        let packed = packed(&weight);
        let x = wave(&[3, 512, 5], 0.4).transpose(1, 2); // [3, 5, 512]
        let found = packed.forward(&x);
        assert_eq!(found.size(), [3, 5, 24]);
        assert!(gap(&found, &x, &weight) <= 1e-6);
    }

    #[test]
    fn weight_is_a_copy_and_what_is_not_float_is_not_packed() {
        let mut weight = wave(&[8, 512], 0.9).set_requires_grad(true);
        let packed = packed(&weight);
        let x = wave(&[4, 512], 0.4);
        let before = packed.forward(&x);
        assert!(!before.requires_grad());
        let _ = tch::no_grad(|| weight.zero_());
        assert_eq!(packed.forward(&x), before);

        let choice = CpuLinear::Onednn;
        assert!(PackedWeight::new(&weight.to_kind(Kind::BFloat16), choice).is_none());
        assert!(PackedWeight::new(&wave(&[8], 0.9), choice).is_none());
        assert!(
            PackedWeight::new(&Tensor::zeros([0, 4], (Kind::Float, Device::Cpu)), choice).is_none()
        );
        assert!(PackedWeight::new(&weight, CpuLinear::Mkl).is_none());
    }

    #[test]
    #[should_panic(expected = "512 inputs")]
    fn rows_of_another_width_are_refused() {
        let _ = packed(&wave(&[8, 512], 0.9)).forward(&wave(&[4, 8], 0.4));
    }
}
