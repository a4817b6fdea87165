//! Linear layers of whole sequences, with a gradient.
//!
//! In f32 on the CPU they go through oneDNN where that is faster ([`trains`]). libtorch's
//! operator for it has a gradient whose products oneDNN computes, too. It reads and gives tensors in
//! a layout that no other operation takes, so rows are converted before and after it.
//!
//! oneDNN makes kernels for each number of rows, and keeps them; libtorch keeps more beside them: two
//! megabytes for each number, for ever. So rows of zeros are added, up to one of few numbers.

use super::cpu_linear::trains;
use tch::{Device, Kind, Tensor};

/// Numbers of rows are multiples of at least this.
const LEAST_UNIT: u64 = 256;

/// `x Wᵀ + b`: `[N, I]` to `[N, O]`.
pub(super) fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
    if !takes(x, weight) {
        return x.linear(weight, bias);
    }
    let product = through_onednn(x, weight);
    bias.map_or_else(|| product.shallow_clone(), |bias| &product + bias)
}

fn through_onednn(x: &Tensor, weight: &Tensor) -> Tensor {
    let product = filled_up(x).to_mkldnn().mkldnn_linear(weight, None::<&Tensor>);
    product.to_dense(None, false).narrow(0, 0, x.size()[0])
}

/// `x` `[N, I]` with rows of zeros up to a multiple of a sixteenth of the next power of two, and of
/// 256: there are eight such numbers between a power of two and the next, and at most an eighth of
/// the rows are zeros from 2,048 rows on.
fn filled_up(x: &Tensor) -> Tensor {
    let rows = u64::try_from(x.size()[0]).unwrap_or(0);
    let unit = (rows.next_power_of_two() / 16).max(LEAST_UNIT);
    let missing = rows.next_multiple_of(unit) - rows;
    match i64::try_from(missing) {
        Ok(0) | Err(_) => x.shallow_clone(),
        Ok(missing) => x.constant_pad_nd([0, 0, 0, missing]),
    }
}

/// The gradient of `x` `[N, I]`, and that of the weight `[O, I]` if it is trained, from the gradient
/// `[N, O]` of `x Wᵀ`. None where oneDNN is not to compute them.
pub(super) fn gradients(
    x: &Tensor,
    weight: &Tensor,
    gradient: &Tensor,
    is_trained: bool,
) -> Option<(Tensor, Option<Tensor>)> {
    if !takes(x, weight) {
        return None;
    }
    let (rows, x, gradient) = (x.size()[0], filled_up(x), filled_up(gradient).to_mkldnn());
    let by_x = Tensor::mkldnn_linear_backward_input(x.size(), &gradient, weight);
    let by_weight = is_trained
        .then(|| x.to_mkldnn().mkldnn_linear_backward_weights(&gradient, weight, false).0);
    Some((by_x.to_dense(None, false).narrow(0, 0, rows), by_weight))
}

/// Whether oneDNN is to multiply `x` `[N, I]` by `weight` `[O, I]`.
fn takes(x: &Tensor, weight: &Tensor) -> bool {
    let is_float = |it: &Tensor| it.kind() == Kind::Float && it.device() == Device::Cpu;
    let (&[rows, _], &[outputs, inputs]) = (x.size().as_slice(), weight.size().as_slice()) else {
        return false;
    };
    is_float(x) && is_float(weight) && trains(rows, outputs, inputs)
}

/// Numbers and differences for tests of products.
#[cfg(test)]
pub(super) mod testing {
    use tch::{Device, Kind, Tensor};

    /// Numbers without a pattern that a mistake could hide in, within ±2.
    pub(crate) fn wave(shape: &[i64], pace: f64) -> Tensor {
        let count = shape.iter().product::<i64>();
        let numbers = Tensor::arange(count, (Kind::Double, Device::Cpu)) * pace + pace;
        (numbers.sin() * 2.0).to_kind(Kind::Float).view(shape)
    }

    /// The largest difference of `found` to `a b`, as a share of what the terms of a sum amount to
    /// without their signs.
    pub(crate) fn gap(found: &Tensor, a: &Tensor, b: &Tensor) -> f64 {
        let [a, b] = [a, b].map(|it| it.detach().to_kind(Kind::Double));
        let most = a.abs().mm(&b.abs()).clamp_min(1e-30);
        ((found.detach() - a.mm(&b)).abs() / most).max().double_value(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{gap, wave};
    use super::*;

    #[test]
    fn products_and_gradients_are_those_of_a_linear_layer() {
        for (rows, inputs, outputs) in [(1, 512, 512), (3, 513, 517), (700, 640, 1500)] {
            let leaf = |shape: &[i64], pace| wave(shape, pace).set_requires_grad(true);
            let (x, weight) = (leaf(&[rows, inputs], 0.7), leaf(&[outputs, inputs], 1.3));
            let gradient = wave(&[rows, outputs], 0.3);
            let plain = |x: &Tensor, weight: &Tensor| x.linear(weight, None::<&Tensor>);
            for multiply in [through_onednn, plain] {
                let found = multiply(&x, &weight);
                assert!(gap(&found, &x, &weight.tr()) <= 1e-6, "{rows} {inputs} {outputs}");
                let loss = (&found * &gradient).sum(Kind::Float);
                let by = Tensor::run_backward(&[&loss], &[&x, &weight], false, false);
                assert!(gap(&by[0], &gradient, &weight) <= 1e-6, "{rows} {inputs} {outputs}");
                assert!(gap(&by[1], &gradient.tr(), &x) <= 1e-6, "{rows} {inputs} {outputs}");
                assert_eq!(multiply(&x, &weight), found, "a product repeats to the bit");
            }
        }
    }

    #[test]
    fn gradients_by_hand_are_those_of_a_linear_layer() {
        let (x, weight) = (wave(&[700, 512], 0.7), wave(&[512, 512], 1.3));
        let gradient = wave(&[700, 512], 0.3);
        if !takes(&x, &weight) {
            // Not a processor on which oneDNN is the faster one.
            assert!(gradients(&x, &weight, &gradient, true).is_none());
            return;
        }
        let (found, none) = gradients(&x, &weight, &gradient, false).unwrap();
        assert!(none.is_none() && gap(&found, &gradient, &weight) <= 1e-6);
        let (same, of_weight) = gradients(&x, &weight, &gradient, true).unwrap();
        assert!(same == found && gap(&of_weight.unwrap(), &gradient.tr(), &x) <= 1e-6);
    }

    #[test]
    fn numbers_of_rows_are_few() {
        let filled = |rows: i64| filled_up(&wave(&[rows, 2], 0.7)).size()[0];
        assert_eq!([1, 256, 257, 4096, 4097].map(filled), [256, 256, 512, 4096, 4608]);
        let distinct: std::collections::BTreeSet<i64> = (2049..=4096).map(filled).collect();
        assert_eq!(distinct.len(), 8);
        let x = wave(&[300, 2], 0.7);
        assert_eq!(filled_up(&x).narrow(0, 0, 300), x);
        assert_eq!(filled_up(&x).narrow(0, 300, 212).abs().max().double_value(&[]), 0.0);
    }

    #[test]
    fn frozen_weight_has_no_gradient_and_rows_have_theirs() {
        let x = wave(&[8, 512], 0.7).set_requires_grad(true);
        let weight = wave(&[512, 512], 1.3);
        let loss = through_onednn(&x, &weight).sum(Kind::Float);
        let by = Tensor::run_backward(&[&loss], &[&x], false, false);
        let ones = Tensor::ones([8, 512], (Kind::Float, Device::Cpu));
        assert!(gap(&by[0], &ones, &weight) <= 1e-6);
    }

    #[test]
    fn bias_is_added_and_has_the_sum_of_gradients() {
        for rows in [3, 4096] {
            let (x, weight) = (wave(&[rows, 512], 0.7), wave(&[640, 512], 1.3));
            let bias = wave(&[640], 0.9).set_requires_grad(true);
            let found = linear(&x, &weight, Some(&bias));
            assert!(gap(&(&found - &bias), &x, &weight.tr()) <= 1e-6);
            let gradient = wave(&[rows, 640], 0.3);
            let loss = (found * &gradient).sum(Kind::Float);
            let by = Tensor::run_backward(&[&loss], &[&bias], false, false);
            let ones = Tensor::ones([1, rows], (Kind::Float, Device::Cpu));
            assert!(gap(&by[0].unsqueeze(0), &ones, &gradient) <= 1e-6);
        }
    }

    #[test]
    fn other_types_and_shapes_are_left_to_libtorch() {
        let (x, weight) = (wave(&[4096, 512], 0.7), wave(&[512, 512], 1.3));
        assert!(!takes(&x.to_kind(Kind::BFloat16), &weight.to_kind(Kind::BFloat16)));
        assert!(!takes(&x.view([64, 64, 512]), &weight));
        assert!(!takes(&x.narrow(0, 0, 1), &weight));
    }
}
