//! Gradients, added up outside of the tensors they belong to.

use super::qwen3::Parameter;
use std::collections::BTreeMap;
use tch::{Kind, Tensor, no_grad_guard};

/// The gradient of every parameter that has one, by the parameter's name, in f32 whatever the
/// parameter's own type: in bf16, a sum over many micro-batches would lose its small terms.
#[derive(Debug, Default)]
pub struct Gradients {
    sums: BTreeMap<String, Tensor>,
}

impl Gradients {
    /// Differentiates `loss`, a scalar: adds the gradients of `parameters` and returns that of
    /// the leaf `input`.
    pub fn collect(&mut self, loss: &Tensor, parameters: &[Parameter], input: &Tensor) -> Tensor {
        let leaves: Vec<&Tensor> =
            parameters.iter().map(|parameter| &parameter.tensor).chain([input]).collect();
        let mut found = Tensor::run_backward(&[loss], &leaves, false, false);
        let last = found.pop().expect("one gradient per leaf");
        self.add(parameters, found);
        last
    }

    /// The same where nothing lies below.
    pub fn collect_last(&mut self, loss: &Tensor, parameters: &[Parameter]) {
        let leaves: Vec<&Tensor> = parameters.iter().map(|parameter| &parameter.tensor).collect();
        self.add(parameters, Tensor::run_backward(&[loss], &leaves, false, false));
    }

    /// Adds `found` to the gradients of `parameters`, one for one.
    pub(super) fn add(&mut self, parameters: &[Parameter], found: Vec<Tensor>) {
        let _guard = no_grad_guard();
        for (parameter, gradient) in parameters.iter().zip(found) {
            // What a loss does not depend on has no gradient.
            if !gradient.defined() {
                continue;
            }
            match self.sums.get_mut(&parameter.name) {
                Some(sum) => {
                    let _ = sum.g_add_(&gradient.to_kind(Kind::Float));
                }
                None => {
                    self.sums.insert(parameter.name.clone(), gradient.to_kind(Kind::Float));
                }
            }
        }
    }

    /// Takes a parameter's gradient out.
    pub fn take(&mut self, name: &str) -> Option<Tensor> {
        self.sums.remove(name)
    }

    /// Names and gradients, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.sums.iter().map(|(name, sum)| (name.as_str(), sum))
    }

    /// Whether nothing has been added yet.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }
}
