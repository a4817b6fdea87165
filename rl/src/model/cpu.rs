//! Generation on the CPU in f32: what lies between two matrix products, as plain loops.
//!
//! libtorch takes some forty operations a layer for this, and starting one costs more than doing
//! it where a policy is tiny; its attention goes through general matrix products, which are slow
//! where a row asks with the few queries of one token. Here a norm, a gate, the norm and rotation
//! of heads, and the attention of one new token are one function each. None of them has a
//! gradient. Everything else (training, other types, GPUs, several new tokens at once) takes the
//! plain path beside the calls, which tests compare these functions with.
//!
//! Inner loops run over lanes of eight numbers, which the compiler turns into vector instructions
//! where the processor has them.

#![expect(
    clippy::inline_always,
    reason = "a loop has the instructions of the function that it is compiled into"
)]

use super::attention::Heads;
use super::rope::Angles;
use libloading::os::unix::Library;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use tch::{Device, Kind, Tensor};

/// Numbers that one vector instruction works on.
const LANES: usize = 8;

/// The least count of numbers for which a second thread is used.
const SHARED: usize = 1 << 15;

/// Whether the functions here support `x`: contiguous, f32 and on the CPU.
pub(super) fn takes(x: &Tensor) -> bool {
    #[cfg(test)]
    if tests::PLAIN.get() {
        return false;
    }
    x.device() == Device::Cpu && x.kind() == Kind::Float && x.is_contiguous()
}

/// Whether [`attend`] supports heads of this size.
pub(super) fn takes_heads(heads: Heads) -> bool {
    size(heads.size).is_multiple_of(LANES)
}

/// `x / sqrt(mean(x²) + eps) · gain` over the last axis: `[.., C]` to `[.., C]`.
pub(super) fn rms_norm(x: &Tensor, gain: &Tensor, eps: f64) -> Tensor {
    let mut out = x.empty_like();
    let (gain, eps) = (floats(gain), narrow(eps));
    let part = gain.len() * rows_per_thread(x.numel() / gain.len());
    let parts = floats_mut(&mut out).chunks_mut(part).zip(floats(x).chunks(part)).collect();
    share(parts, x.numel(), &|(out, x)| norm_rows(out, x, gain, eps));
    out
}

/// `silu(gate) · up`: `[.., 2 F]`, the gate in front, to `[.., F]`.
pub(super) fn gated(gate_up: &Tensor) -> Tensor {
    let mut shape = gate_up.size();
    let width = shape.pop().expect("activations have a width") / 2;
    shape.push(width);
    let mut out = Tensor::empty(shape.as_slice(), (Kind::Float, Device::Cpu));
    let width = size(width);
    let part = width * rows_per_thread(out.numel() / width);
    let from = floats(gate_up).chunks(2 * part);
    let parts = floats_mut(&mut out).chunks_mut(part).zip(from).collect();
    share(parts, gate_up.numel(), &|(out, gate_up)| gate_rows(out, gate_up, width));
    out
}

/// Norms the query and key heads of `qkv [.., H + 2 K, D]`, if they have gains, and turns them by
/// `angles`, in place.
pub(super) fn norm_and_rotate(
    qkv: &mut Tensor,
    gains: Option<[&Tensor; 2]>,
    angles: &Angles,
    heads: Heads,
    eps: f64,
) {
    let (query, key, d) = (size(heads.query), size(heads.key), size(heads.size));
    let eps = narrow(eps);
    let [q_gain, k_gain] = gains.map_or([None; 2], |gains| gains.map(|gain| Some(floats(gain))));
    let (cos, sin) = (floats(&angles.cos), floats(&angles.sin));
    let count = qkv.numel();
    let width = (query + 2 * key) * d;
    let tokens = rows_per_thread(count / width);
    let angles = cos.chunks(d * tokens).zip(sin.chunks(d * tokens));
    let parts = floats_mut(qkv).chunks_mut(width * tokens).zip(angles).collect();
    share(parts, count, &|(tokens, (cos, sin)): (&mut [f32], (&[f32], &[f32]))| {
        let angles = cos.chunks_exact(d).zip(sin.chunks_exact(d));
        for (token, angles) in tokens.chunks_exact_mut(width).zip(angles) {
            let (queries, rest) = token.split_at_mut(query * d);
            for (heads, gain) in [(queries, q_gain), (&mut rest[..key * d], k_gain)] {
                match gain {
                    Some(gain) => norm_and_turn_heads(heads, gain, angles, eps),
                    None => turn_heads(heads, angles),
                }
            }
        }
    });
}

/// One new token for each row: attends to the first `lengths [B]` places of the row, the new one
/// being the last of them. Rows of length 0 are padding, and zeros come out.
///
/// `qkv [B, 1, H + 2 K, D]` is normed and rotated; `keys` and `values` are views `[B, K, R, D]` of
/// the cache. With `stores`, the new key and value are put into them first. Returns `[B, 1, H D]`.
pub(super) fn attend(
    qkv: &Tensor,
    [keys, values]: [&mut Tensor; 2],
    stores: bool,
    lengths: &[usize],
    heads: Heads,
) -> Tensor {
    let (query, key, d) = (size(heads.query), size(heads.key), size(heads.size));
    let shape = [qkv.size()[0], 1, heads.query * heads.size];
    let mut out = Tensor::empty(shape, (Kind::Float, Device::Cpu));
    let (mut keys, mut values) = (CacheView::new(keys), CacheView::new(values));
    let new = floats(qkv);
    let width = (query + 2 * key) * d;
    if stores {
        for (row, (token, &length)) in new.chunks_exact(width).zip(lengths).enumerate() {
            for head in (0..key).filter(|_| length > 0) {
                let part = |first: usize| &token[(first + head) * d..(first + head + 1) * d];
                keys.put(row, head, length - 1, part(query));
                values.put(row, head, length - 1, part(query + key));
            }
        }
    }
    let work = lengths.iter().sum::<usize>() * query * d;
    let scale = narrow((heads.size as f64).sqrt().recip());
    // A row at a time, because rows are of unequal length.
    let parts = floats_mut(&mut out).chunks_exact_mut(query * d).enumerate().collect();
    share(parts, work, &|(row, out): (usize, &mut [f32])| {
        let length = lengths[row];
        if length == 0 {
            out.fill(0.0);
            return;
        }
        let mut scores = vec![0.0; length];
        let queries = new[row * width..].chunks_exact(d);
        for (head, (q, out)) in queries.zip(out.chunks_exact_mut(d)).enumerate() {
            let group = head * key / query;
            let (keys, values) = (keys.get(row, group, length), values.get(row, group, length));
            attend_head(q, keys, values, scale, &mut scores, out);
        }
    });
    out
}

/// Keys or values of cached rows: a view `[B, K, R, D]` in which the places of one row and head
/// lie one behind the other.
struct CacheView<'a> {
    all: &'a mut [f32],
    row: usize,
    head: usize,
    d: usize,
}

impl<'a> CacheView<'a> {
    fn new(view: &'a mut Tensor) -> Self {
        let (shape, strides) = (view.size(), view.stride());
        let ([b, k, r, d], [row, head, place, one]) = (&shape[..], &strides[..]) else {
            panic!("cached rows have four axes")
        };
        let right = view.device() == Device::Cpu && view.kind() == Kind::Float;
        assert!(right && place == d && *one == 1, "places lie one behind the other");
        let extent = if view.numel() == 0 { 0 } else { (b - 1) * row + (k - 1) * head + r * d };
        let (row, head, d) = (size(*row), size(*head), size(*d));
        #[expect(unsafe_code, reason = "libtorch has no safe way to a tensor's numbers")]
        // SAFETY: the view's last number is the `extent`th from its first, within one storage,
        // which lives as long as the borrowed view. A model and its cache belong to one thread,
        // and no operation of libtorch runs while this module holds the slice.
        let all = unsafe { slice_mut(view, size(extent)) };
        Self { all, row, head, d }
    }

    fn put(&mut self, row: usize, head: usize, place: usize, numbers: &[f32]) {
        let start = row * self.row + head * self.head + place * self.d;
        self.all[start..start + self.d].copy_from_slice(numbers);
    }

    fn get(&self, row: usize, head: usize, places: usize) -> &[f32] {
        &self.all[row * self.row + head * self.head..][..places * self.d]
    }
}

/// Defines a function that runs a loop with wide vectors where the processor has them.
macro_rules! vectorised {
    ($name:ident = $of:ident($($argument:ident: $type:ty),*)) => {
        fn $name($($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide($($argument: $type),*) {
                    $of::<true>($($argument),*);
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    #[expect(unsafe_code, reason = "the compiler cannot see the check above")]
                    // SAFETY: the processor has what the function is compiled for.
                    unsafe {
                        return wide($($argument),*);
                    }
                }
            }
            $of::<false>($($argument),*);
        }
    };
}

vectorised!(norm_rows = norm_rows_of(out: &mut [f32], x: &[f32], gain: &[f32], eps: f32));
vectorised!(gate_rows = gate_rows_of(out: &mut [f32], gate_up: &[f32], width: usize));
vectorised!(turn_heads = turn_heads_of(x: &mut [f32], angles: (&[f32], &[f32])));
vectorised!(norm_and_turn_heads = norm_and_turn_heads_of(
    x: &mut [f32], gain: &[f32], angles: (&[f32], &[f32]), eps: f32
));
vectorised!(attend_head = attend_head_of(
    q: &[f32], keys: &[f32], values: &[f32], scale: f32, scores: &mut [f32], out: &mut [f32]
));

#[inline(always)]
fn norm_rows_of<const FUSED: bool>(out: &mut [f32], x: &[f32], gain: &[f32], eps: f32) {
    for (out, x) in out.chunks_exact_mut(gain.len()).zip(x.chunks_exact(gain.len())) {
        let shrink = shrink::<FUSED>(x, eps);
        for ((out, x), gain) in out.iter_mut().zip(x).zip(gain) {
            *out = x * shrink * gain;
        }
    }
}

#[inline(always)]
fn gate_rows_of<const FUSED: bool>(out: &mut [f32], gate_up: &[f32], width: usize) {
    for (out, both) in out.chunks_exact_mut(width).zip(gate_up.chunks_exact(2 * width)) {
        let (gate, up) = both.split_at(width);
        for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
            *out = gate / (1.0 + exp::<FUSED>(-gate)) * up;
        }
    }
}

/// Heads of one token, whose cosines and signed sines are `angles`, as in `rope`.
#[inline(always)]
fn turn_heads_of<const FUSED: bool>(x: &mut [f32], (cos, sin): (&[f32], &[f32])) {
    let half = cos.len() / 2;
    let ((cos_a, cos_b), (sin_a, sin_b)) = (cos.split_at(half), sin.split_at(half));
    for head in x.chunks_exact_mut(cos.len()) {
        let (a, b) = head.split_at_mut(half);
        for i in 0..half {
            let (x, y) = (a[i], b[i]);
            a[i] = add::<FUSED>(x, cos_a[i], y * sin_a[i]);
            b[i] = add::<FUSED>(y, cos_b[i], x * sin_b[i]);
        }
    }
}

/// The same for heads that have a norm.
#[inline(always)]
fn norm_and_turn_heads_of<const FUSED: bool>(
    x: &mut [f32],
    gain: &[f32],
    (cos, sin): (&[f32], &[f32]),
    eps: f32,
) {
    let half = gain.len() / 2;
    let ((gain_a, gain_b), (cos_a, cos_b), (sin_a, sin_b)) =
        (gain.split_at(half), cos.split_at(half), sin.split_at(half));
    for head in x.chunks_exact_mut(gain.len()) {
        let shrink = shrink::<FUSED>(head, eps);
        let (a, b) = head.split_at_mut(half);
        for i in 0..half {
            let (x, y) = (a[i] * shrink * gain_a[i], b[i] * shrink * gain_b[i]);
            a[i] = x * cos_a[i] + y * sin_a[i];
            b[i] = y * cos_b[i] + x * sin_b[i];
        }
    }
}

/// `softmax(q K^T · scale) V` for one query `[D]`; `scores` has a place for every key.
#[inline(always)]
fn attend_head_of<const FUSED: bool>(
    q: &[f32],
    keys: &[f32],
    values: &[f32],
    scale: f32,
    scores: &mut [f32],
    out: &mut [f32],
) {
    for (score, key) in scores.iter_mut().zip(keys.chunks_exact(q.len())) {
        *score = dot::<FUSED>(q, key) * scale;
    }
    let most = largest(scores);
    for score in scores.iter_mut() {
        *score = exp::<FUSED>(*score - most);
    }
    let total = 1.0 / sum(scores);
    // As many sums at once as fit into registers: each is a chain of additions.
    let mut start = 0;
    while start + 4 * LANES <= out.len() {
        weigh::<FUSED, { 4 * LANES }>(scores, values, q.len(), start, total, out);
        start += 4 * LANES;
    }
    while start < out.len() {
        weigh::<FUSED, LANES>(scores, values, q.len(), start, total, out);
        start += LANES;
    }
}

/// `W` numbers of `Σ_r weight_r value_r · scale`, from `start` on.
#[inline(always)]
fn weigh<const FUSED: bool, const W: usize>(
    weights: &[f32],
    values: &[f32],
    d: usize,
    start: usize,
    scale: f32,
    out: &mut [f32],
) {
    let mut sums = [0.0; W];
    for (weight, value) in weights.iter().zip(values.chunks_exact(d)) {
        let value = &value[start..start + W];
        for i in 0..W {
            sums[i] = add::<FUSED>(*weight, value[i], sums[i]);
        }
    }
    for (out, sum) in out[start..start + W].iter_mut().zip(sums) {
        *out = sum * scale;
    }
}

/// `1 / sqrt(mean(x²) + eps)`
#[inline(always)]
fn shrink<const FUSED: bool>(x: &[f32], eps: f32) -> f32 {
    (dot::<FUSED>(x, x) / x.len() as f32 + eps).sqrt().recip()
}

#[inline(always)]
fn dot<const FUSED: bool>(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for i in 0..LANES {
            sums[i] = add::<FUSED>(a[i], b[i], sums[i]);
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    fold(sums, |a, b| a + b) + rest
}

#[inline(always)]
fn sum(x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for i in 0..LANES {
            sums[i] += chunk[i];
        }
    }
    fold(sums, |a, b| a + b) + rest.iter().sum::<f32>()
}

#[inline(always)]
fn largest(x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let more = |a: f32, b: f32| if b > a { b } else { a };
    let mut most = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        for i in 0..LANES {
            most[i] = more(most[i], chunk[i]);
        }
    }
    rest.iter().fold(fold(most, more), |a, b| more(a, *b))
}

/// All lanes to one number, by halves.
#[inline(always)]
fn fold(x: [f32; LANES], join: impl Fn(f32, f32) -> f32) -> f32 {
    // Or the compiler sees the pairs that are joined here and makes vectors of two, which doubles
    // the time of a dot product.
    let [a, b, c, d, e, f, g, h] = std::hint::black_box(x);
    join(join(join(a, e), join(c, g)), join(join(b, f), join(d, h)))
}

/// `a b + c`
#[inline(always)]
fn add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// The exponential to within two units in the last place (Cephes, `expf`): `2^n` times a
/// polynomial in what is left of the argument, which beyond ±87 counts as ±87.
#[inline(always)]
fn exp<const FUSED: bool>(x: f32) -> f32 {
    // Adding 1.5 · 2^23 rounds to a whole number and leaves it in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, the first of which has few bits, so that `n` times it is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 87.0);
    let shifted = add::<FUSED>(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let x = add::<FUSED>(n, -LN2_LOW, add::<FUSED>(n, -LN2_HIGH, x));
    let mut sum = 1.987_569_2e-4;
    for factor in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5, 1.0, 1.0] {
        sum = add::<FUSED>(sum, x, factor);
    }
    sum * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// Rows per thread, of `rows` in all.
fn rows_per_thread(rows: usize) -> usize {
    rows.div_ceil(threads()).max(1)
}

/// The number of threads that libtorch uses.
fn threads() -> usize {
    usize::try_from(tch::get_num_threads()).unwrap_or(1).max(1)
}

/// Runs `work` on all `parts`, in all on `numbers` numbers, with libtorch's own threads. Beside
/// other threads, each would wait for libtorch's, which spin.
fn share<P: Send>(parts: Vec<P>, numbers: usize, work: &(impl Fn(P) + Sync)) {
    let threads = threads().min(parts.len());
    match parallel() {
        Some(parallel) if threads > 1 && numbers >= SHARED => {
            let parts: Vec<_> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
            let next = AtomicUsize::new(0);
            let work = || {
                while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let part = part.lock().unwrap_or_else(PoisonError::into_inner).take();
                    part.into_iter().for_each(work);
                }
            };
            team(parallel, threads, &work);
        }
        _ => parts.into_iter().for_each(work),
    }
}

/// `GOMP_parallel` of the GNU OpenMP runtime, which libtorch comes with: calls a function with
/// one argument on so many threads at once and waits for all.
type Parallel = unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void, c_uint, c_uint);

/// None with another runtime; then one thread does everything.
fn parallel() -> Option<Parallel> {
    static PARALLEL: OnceLock<Option<Parallel>> = OnceLock::new();
    *PARALLEL.get_or_init(|| {
        #[expect(unsafe_code, reason = "looking up a function has no safe form")]
        // SAFETY: the function's type is the one that the runtime has published since GCC 4.9.
        unsafe {
            Library::this().get::<Parallel>(b"GOMP_parallel\0").ok().map(|found| *found)
        }
    })
}

fn team<W: Fn() + Sync>(parallel: Parallel, threads: usize, work: &W) {
    extern "C" fn call<W: Fn() + Sync>(work: *mut c_void) {
        #[expect(unsafe_code, reason = "a C function pointer cannot be a closure")]
        // SAFETY: this is the reference that `team` was given, which outlives the call because the
        // runtime waits for all threads.
        let work = unsafe { &*work.cast_const().cast::<W>() };
        work();
    }
    let threads = c_uint::try_from(threads).unwrap_or(1);
    #[expect(unsafe_code, reason = "a C function")]
    // SAFETY: `call` takes what is passed, `W` may be called from several threads at once, and a
    // panic in it ends the process instead of crossing into C.
    unsafe {
        parallel(call::<W>, std::ptr::from_ref(work).cast_mut().cast(), threads, 0);
    }
}

fn floats(x: &Tensor) -> &[f32] {
    assert!(takes(x), "these functions take contiguous f32 on the CPU");
    let length = x.numel();
    if length == 0 {
        return &[];
    }
    #[expect(unsafe_code, reason = "libtorch has no safe way to a tensor's numbers")]
    // SAFETY: a contiguous f32 tensor on the CPU is that many floats from its first on, and lives
    // as long as the borrow. A model and its activations belong to one thread, and no operation of
    // libtorch runs while this module holds the slice.
    unsafe {
        std::slice::from_raw_parts(x.data_ptr().cast::<f32>(), length)
    }
}

fn floats_mut(x: &mut Tensor) -> &mut [f32] {
    assert!(takes(x), "these functions take contiguous f32 on the CPU");
    let length = x.numel();
    #[expect(unsafe_code, reason = "libtorch has no safe way to a tensor's numbers")]
    // SAFETY: as above; the caller has just created the tensor, so its storage is not shared.
    unsafe {
        slice_mut(x, length)
    }
}

/// `length` floats from the tensor's first on.
#[expect(unsafe_code, reason = "libtorch has no safe way to a tensor's numbers")]
/// # Safety
/// The floats must lie in one storage that is not read or written elsewhere meanwhile.
unsafe fn slice_mut(x: &mut Tensor, length: usize) -> &mut [f32] {
    if length == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(x.data_ptr().cast::<f32>(), length) }
}

fn size(x: i64) -> usize {
    usize::try_from(x).expect("sizes are not negative")
}

#[expect(clippy::cast_possible_truncation, reason = "activations are f32")]
fn narrow(x: f64) -> f32 {
    x as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        CacheRows, CacheShape, CpuLinear, Family, KvCache, Mixture, NewTokens, Packed, Qwen3,
        Qwen3Config, signed,
    };
    use proptest::prelude::*;
    use std::cell::Cell;
    use tasks::stream::Stream;

    thread_local! {
        /// Whether this thread takes the path of GPUs.
        pub(super) static PLAIN: Cell<bool> = const { Cell::new(false) };
    }

    const OPTIONS: (Kind, Device) = (Kind::Float, Device::Cpu);

    /// Numbers without a pattern that a mistake could hide in, within ±2.
    fn wave(shape: &[i64], pace: f64) -> Tensor {
        let count = shape.iter().product::<i64>();
        ((Tensor::arange(count, OPTIONS) * pace + pace).sin() * 2.0).view(shape)
    }

    fn gap(a: &Tensor, b: &Tensor) -> f64 {
        if a.numel() == 0 { 0.0 } else { (a - b).abs().max().double_value(&[]) }
    }

    #[test]
    fn exponentials_are_right_to_the_last_places() {
        let mut worst: f64 = 0.0;
        for step in -8700..8700 {
            let x = step as f32 / 100.0;
            let exact = f64::from(x).exp();
            for found in [exp::<false>(x), exp::<true>(x)] {
                worst = worst.max((f64::from(found) - exact).abs() / exact);
            }
        }
        assert!(worst < 2.5e-7, "{worst}");
        assert_eq!(exp::<true>(0.0), 1.0);
        assert!(exp::<true>(-1e9) < 1e-37 && exp::<false>(f32::NEG_INFINITY) < 1e-37);
        assert!(exp::<true>(f32::NAN).is_nan());
    }

    /// The path that a GPU takes, in the type in which differences show: a prompt, what continues
    /// it, and single tokens, in rows that are read in place and in rows that are listed.
    #[test]
    fn generation_without_these_functions_equals_the_plain_pass() {
        let mixture = Mixture {
            experts: 5,
            per_token: 2,
            intermediate_size: 24,
            normalise: true,
            sparse_step: 1,
            dense_layers: vec![0],
        };
        let (qwen2, qwen3) = (Family::Qwen2, Family::Qwen3);
        for (family, mixture) in [(qwen3, None), (qwen3, Some(mixture)), (qwen2, None)] {
            // As many inputs as oneDNN is to have.
            let config = Qwen3Config {
                family,
                mixture,
                head_dim: if family == qwen2 { 128 } else { 32 },
                hidden_size: 512,
                num_hidden_layers: 2,
                ..Qwen3Config::tiny(60, 1, 2)
            };
            let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(3));
            for mut parameter in model.parameters() {
                if parameter.name.ends_with("bias") {
                    let bias = wave(&parameter.tensor.size(), 0.41);
                    tch::no_grad(|| parameter.tensor.copy_(&bias));
                }
            }
            let ids: Vec<i64> = (0..26).map(|i| (i * 7) % 60).collect();
            let plain = model.forward(&Packed::new(ids.chunks(13), Device::Cpu)).view([2, 13, 60]);
            for (listed, choice) in [
                (false, CpuLinear::Mkl),
                (true, CpuLinear::Mkl),
                (false, CpuLinear::Onednn),
                (true, CpuLinear::Onednn),
            ] {
                let model = model.for_generation(true, choice);
                let mut cache = KvCache::new(&config, 0, 0, Kind::Float, Device::Cpu);
                cache.resize(&[], 0, CacheShape { rows: 3, capacity: 16, reserve: 70 });
                let rows = if listed {
                    CacheRows::Listed(Tensor::from_slice(&[2_i64, 0]))
                } else {
                    CacheRows::Span { first: 1, count: 2 }
                };
                let mut read = |from: i64, to: i64| {
                    let ids = Tensor::from_slice(&ids).view([2, 13]).narrow(1, from, to - from);
                    let positions = Tensor::arange_start(from, to, (Kind::Int64, Device::Cpu));
                    let positions = positions.expand([2, to - from], false).contiguous();
                    let new = NewTokens {
                        ids: &ids.contiguous(),
                        positions: &positions,
                        rows: &rows,
                        reach: to,
                        all_begin: from == 0,
                    };
                    let hidden =
                        model.forward_cached(&new, &mut cache).view([-1, config.hidden_size]);
                    model.logits(&hidden).view([2, to - from, 60])
                };
                PLAIN.set(true);
                let parts = [(0, 5), (5, 11), (11, 12), (12, 13)].map(|(from, to)| read(from, to));
                PLAIN.set(false);
                let apart = gap(&Tensor::cat(&parts, 1), &plain);
                assert!(apart < 1e-5, "listed: {listed}, {config:?}: {apart}");
            }
        }
    }

    proptest! {
        #[test]
        fn rows_are_as_libtorch_makes_them(
            rows in 1_i64..300, width in 1_i64..150, threads in 1..3_i32,
        ) {
            tch::set_num_threads(threads);
            let (x, gain) = (wave(&[rows, 2 * width], 0.37), wave(&[2 * width], 0.71));
            let expected = x.rms_norm([2 * width], Some(&gain), 1e-6);
            prop_assert!(gap(&rms_norm(&x, &gain, 1e-6), &expected) < 1e-5);
            let halves = x.chunk(2, -1);
            prop_assert!(gap(&gated(&x), &(halves[0].silu() * &halves[1])) < 1e-5);
        }

        #[test]
        fn heads_are_turned_as_the_formula_says(
            tokens in 1_i64..40, key in 1_i64..4, group in 1_i64..4, half in 1_i64..20,
        ) {
            let heads = Heads { query: key * group, key, size: 2 * half };
            let (all, d) = (heads.query + 2 * key, heads.size);
            let (q_norm, k_norm) = (wave(&[d], 0.91), wave(&[d], 0.57));
            let angles = Angles { cos: wave(&[tokens, 1, d], 0.13), sin: wave(&[tokens, 1, d], 0.29) };
            let before = wave(&[tokens, all, d], 0.83);
            let mut found = before.copy();
            norm_and_rotate(&mut found, Some([&q_norm, &k_norm]), &angles, heads, 1e-6);
            let parts = before.split_with_sizes([heads.query, key, key], 1);
            let norm = |x: &Tensor, gain| angles.rotate(&x.rms_norm([d], Some(gain), 1e-6));
            let expected = [norm(&parts[0], &q_norm), norm(&parts[1], &k_norm), parts[2].copy()];
            prop_assert!(gap(&found, &Tensor::cat(&expected, 1)) < 1e-5);
            let mut found = before.copy();
            norm_and_rotate(&mut found, None, &angles, heads, 1e-6);
            let turned = [angles.rotate(&parts[0]), angles.rotate(&parts[1]), parts[2].copy()];
            prop_assert!(gap(&found, &Tensor::cat(&turned, 1)) < 1e-5);
        }

        #[test]
        fn one_token_attends_to_its_own_row_and_nothing_else(
            lengths in prop::collection::vec(0_usize..90, 1..9), key in 1_i64..4,
            group in 1_i64..4, lanes in 1_i64..9, stores: bool, threads in 1..3_i32,
        ) {
            tch::set_num_threads(threads);
            let heads = Heads { query: key * group, key, size: 8 * lanes };
            let (rows, d) = (signed(lengths.len()), heads.size);
            let qkv = wave(&[rows, 1, heads.query + 2 * key, d], 0.83);
            // Rows of a larger grid, as the cache has them.
            let grid = |pace| wave(&[rows + 2, key, 100, d], pace);
            let (all_keys, all_values) = (grid(0.19), grid(0.43));
            let view = |grid: &Tensor| grid.narrow(0, 1, rows).narrow(2, 0, 90);
            let (mut keys, mut values) = (view(&all_keys), view(&all_values));
            let untouched = all_keys.copy();
            let found = attend(&qkv, [&mut keys, &mut values], stores, &lengths, heads);
            if !stores {
                prop_assert_eq!(gap(&all_keys, &untouched), 0.0);
            }
            let parts = qkv.split_with_sizes([heads.query, key, key], 2);
            for (row, &length) in (0..).zip(&lengths) {
                let found = found.get(row);
                if length == 0 {
                    prop_assert_eq!(found.abs().max().double_value(&[]), 0.0);
                    continue;
                }
                let past = |grid: &Tensor| grid.get(row + 1).narrow(1, 0, signed(length)).unsqueeze(0);
                let (keys, values) = (past(&all_keys), past(&all_values));
                if stores {
                    let new = |part: &Tensor| part.get(row).get(0);
                    prop_assert_eq!(gap(&keys.get(0).select(1, -1), &new(&parts[1])), 0.0);
                    prop_assert_eq!(gap(&values.get(0).select(1, -1), &new(&parts[2])), 0.0);
                }
                let q = parts[0].get(row).transpose(0, 1).unsqueeze(0); // [1, H, 1, D]
                let none = None::<&Tensor>;
                let expected = Tensor::scaled_dot_product_attention(
                    &q, &keys, &values, none, 0.0, false, None, true,
                );
                prop_assert!(gap(&found.view([-1]), &expected.view([-1])) < 1e-5);
            }
        }
    }
}
