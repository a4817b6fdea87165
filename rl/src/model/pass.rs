//! The forward and backward pass over whole sequences, with gradient checkpointing.
//!
//! libtorch would keep the graph of the whole pass, with every activation in it. Here each layer
//! has a graph of its own. Without gradient checkpointing it is kept; with it, only the layer's
//! input is kept, and the graph is recomputed in the backward pass (Chen et al. 2016), so that the
//! activations of one layer at a time are in memory.
//! Gradients go into [`Gradients`] as they appear and never into the tensors themselves.

use super::attention::WholeStep;
use super::gradients::Gradients;
use super::packed::Packed;
use super::qwen3::Qwen3;
use tch::{Kind, Tensor, no_grad_guard};

/// The forward pass over packed sequences, with what its backward pass needs.
#[derive(Debug)]
pub struct Pass<'m> {
    model: &'m Qwen3,
    packed: Packed,
    step: WholeStep,
    visits: Vec<Visit>,
    hidden: Tensor, // [N, C]
}

/// The state of one layer that its backward pass needs.
#[derive(Debug)]
struct Visit {
    /// The layer's input, a leaf of the graph.
    input: Tensor, // [N, C]
    /// The layer's output with its graph; `None` if it is recomputed in the backward pass.
    output: Option<Tensor>, // [N, C]
}

impl<'m> Pass<'m> {
    /// Runs all layers. With `recompute` (gradient checkpointing), only each layer's input is kept.
    pub fn new(model: &'m Qwen3, packed: Packed, recompute: bool) -> Self {
        let step = model.whole_step(&packed);
        let mut hidden = {
            let _guard = no_grad_guard();
            model.embed(&packed.ids)
        };
        let mut visits = Vec::new();
        for layer in model.layers() {
            let input = hidden.detach().set_requires_grad(true);
            let output = if recompute {
                let _guard = no_grad_guard();
                layer.forward(&input, &step)
            } else {
                layer.forward(&input, &step)
            };
            hidden = output.detach();
            visits.push(Visit { input, output: (!recompute).then_some(output) });
        }
        Self { model, packed, step, visits, hidden }
    }

    /// The output of the last layer: `[N, C]`, without gradient.
    pub fn hidden(&self) -> &Tensor {
        &self.hidden
    }

    /// Given the gradient of [`Self::hidden`], `[N, C]`, adds the gradients of layers and
    /// embedding to `gradients`.
    pub fn backward(self, gradient: Tensor, gradients: &mut Gradients) {
        let mut gradient = gradient;
        let layers = self.model.layers().iter().zip(self.visits).enumerate();
        for (index, (layer, Visit { input, output })) in layers.rev() {
            let output = output.unwrap_or_else(|| layer.forward(&input, &self.step));
            // libtorch's C interface starts from ones; this product has the gradient we mean.
            let weighted = (output * gradient).sum(Kind::Float);
            gradient = gradients.collect(&weighted, &layer.parameters(index), &input);
        }
        if let Some(embedding) = self.model.embedding() {
            let weighted = (self.model.embed(&self.packed.ids) * gradient).sum(Kind::Float);
            gradients.collect_last(&weighted, &[embedding]);
        }
    }
}
