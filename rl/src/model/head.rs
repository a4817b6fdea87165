//! The head: the last norm and the output layer, with logits in f32 whatever the weights are.
//!
//! A logit of 16 to 32 in bf16 is a multiple of 0.125. So on a GPU the product of two bf16 matrices
//! is not rounded to bf16 again. libtorch cannot differentiate that product; its gradient is the
//! same two products as that of any linear layer, and is taken here. In f32 it is an ordinary
//! linear layer.

use super::gradients::Gradients;
use super::onednn::PackedWeight;
use super::qwen3::{Qwen3, rms_norm};
use super::whole_linear;
use tch::{Kind, Tensor, no_grad_guard};

/// The head of a model.
#[derive(Debug)]
pub(super) struct Head<'m> {
    pub(super) norm: &'m Tensor,   // [C]
    pub(super) weight: &'m Tensor, // [V, C]
    /// The weight once more, for oneDNN, where generation uses it.
    pub(super) packed: Option<&'m PackedWeight>,
    pub(super) eps: f64,
}

impl Head<'_> {
    fn normed(&self, hidden: &Tensor) -> Tensor {
        rms_norm(hidden, self.norm, self.eps)
    }

    /// Hidden states `[N, C]` to logits `[N, V]` in f32, without gradient.
    pub(super) fn logits(&self, hidden: &Tensor) -> Tensor {
        let _guard = no_grad_guard();
        let normed = self.normed(hidden);
        match self.packed {
            Some(packed) if packed.takes(&normed) => packed.forward(&normed),
            _ => product(&normed, &self.weight.tr()),
        }
    }
}

/// `x y` in f32: `[A, B]` and `[B, D]` of one type to `[A, D]`.
fn product(x: &Tensor, y: &Tensor) -> Tensor {
    if x.device().is_cuda() && x.kind() != Kind::Float {
        x.mm_dtype(y, Kind::Float)
    } else {
        x.mm(y).to_kind(Kind::Float)
    }
}

/// A pass through the head, with what its gradient needs.
#[derive(Debug)]
pub struct HeadPass<'m> {
    model: &'m Qwen3,
    hidden: Tensor, // [N, C], a leaf
    normed: Tensor, // [N, C], with its graph
    logits: Tensor, // [N, V], a leaf
}

impl<'m> HeadPass<'m> {
    /// Of hidden states `[N, C]`.
    pub fn new(model: &'m Qwen3, hidden: &Tensor) -> Self {
        let hidden = hidden.detach().set_requires_grad(true);
        let head = model.head();
        let normed = head.normed(&hidden);
        let (rows, weight) = (normed.detach(), head.weight.detach());
        let logits = if rows.kind() == Kind::Float {
            whole_linear::linear(&rows, &weight, None)
        } else {
            product(&rows, &weight.tr())
        };
        let logits = logits.set_requires_grad(true);
        Self { model, hidden, normed, logits }
    }

    /// `[N, V]`, in f32. A loss is to be a function of them.
    pub fn logits(&self) -> &Tensor {
        &self.logits
    }

    /// Adds the gradients of `loss`, a scalar, to `gradients`, and returns that of the hidden
    /// states: `[N, C]`.
    pub fn backward(self, loss: &Tensor, gradients: &mut Gradients) -> Tensor {
        let Self { model, hidden, normed, logits } = self;
        let by_logits = gradients.collect(loss, &[], &logits).to_kind(normed.kind());
        let weight = model.head().weight.detach();
        let parameter = model.head_parameter();
        let rows = normed.detach();
        let found = whole_linear::gradients(&rows, &weight, &by_logits, parameter.is_some());
        let (by_rows, by_weight) = found.unwrap_or_else(|| {
            let by_weight = || product(&by_logits.tr(), &rows);
            (by_logits.mm(&weight), parameter.is_some().then(by_weight))
        });
        if let (Some(parameter), Some(by_weight)) = (parameter, by_weight) {
            gradients.add(&[parameter], vec![by_weight]);
        }
        let weighted = (normed * by_rows).sum(Kind::Float);
        gradients.collect(&weighted, model.norm_parameter().as_slice(), &hidden)
    }
}
