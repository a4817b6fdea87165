//! A linear layer over fused projections, each with an optional low-rank adapter.

use super::cpu_linear::CpuLinear;
use super::load::LoadError;
use super::onednn::{self, PackedWeight};
use super::whole_linear;
use tch::{Kind, Tensor};

/// `y = x Wᵀ + b`, the bias only where there is one. Published projections that share their input lie in one matrix, their outputs one
/// behind the other; each may have an adapter.
#[derive(Debug)]
pub(super) struct FusedLinear {
    weight: Tensor,       // [O, I]
    bias: Option<Tensor>, // [O]
    /// Whether it is for generation, which has no gradient; else for updates.
    generates: bool,
    /// The matrix once more, for oneDNN, where generation uses it.
    packed: Option<PackedWeight>,
    parts: Vec<FusedPart>,
}

/// One published projection.
#[derive(Debug)]
struct FusedPart {
    /// Its published name, such as `self_attn.q_proj`.
    name: &'static str,
    start: i64,
    width: i64,
    adapter: Option<Adapter>,
}

/// A low-rank update of one projection: `scale · (x Aᵀ) Bᵀ` (Hu et al. 2021, §4.1).
#[derive(Debug)]
struct Adapter {
    down: Tensor, // A: [r, I]
    up: Tensor,   // B: [O', r]
    scale: f64,
}

/// A published projection, as [`FusedLinear::join`] takes it.
#[derive(Debug)]
pub(super) struct Projection {
    /// Its published name, such as `self_attn.q_proj`.
    pub(super) name: &'static str,
    pub(super) weight: Tensor,       // [O', I]
    pub(super) bias: Option<Tensor>, // [O']
}

/// A `[r, I]` and B `[O', r]` of the projection with the given published name, from O' and I;
/// none if it is to have no adapter.
pub(super) type MakePart<'a> =
    dyn FnMut(&'static str, i64, i64) -> Result<Option<(Tensor, Tensor)>, LoadError> + 'a;

impl FusedLinear {
    /// Joins projections, of the kind and on the device that `leaf` gives them. All of them have a
    /// bias, or none has.
    pub(super) fn join(projections: Vec<Projection>, leaf: &dyn Fn(&Tensor) -> Tensor) -> Self {
        let mut start = 0;
        let (mut parts, mut weights, mut biases) = (Vec::new(), Vec::new(), Vec::new());
        for Projection { name, weight, bias } in projections {
            let width = weight.size()[0];
            parts.push(FusedPart { name, start, width, adapter: None });
            start += width;
            weights.push(weight);
            biases.extend(bias);
        }
        assert!(biases.is_empty() || biases.len() == weights.len(), "a bias each, or none");
        let bias = (!biases.is_empty()).then(|| leaf(&Tensor::cat(&biases, 0)));
        let weight = leaf(&Tensor::cat(&weights, 0));
        Self { weight, bias, generates: false, packed: None, parts }
    }

    /// `[.., I]` to `[.., O]`.
    pub(super) fn forward(&self, x: &Tensor) -> Tensor {
        let plain = if self.generates {
            onednn::linear(x, &self.weight, self.bias.as_ref(), self.packed.as_ref())
        } else {
            whole_linear::linear(x, &self.weight, self.bias.as_ref())
        };
        if !self.is_adapted() {
            return plain;
        }
        let updated = |part: &FusedPart| {
            let plain = plain.narrow(-1, part.start, part.width);
            part.adapter.as_ref().map_or_else(|| plain.shallow_clone(), |a| &plain + a.update(x))
        };
        Tensor::cat(&self.parts.iter().map(updated).collect::<Vec<_>>(), -1)
    }

    /// The same layer for generation: it shares the matrix, or has a copy into which adapters
    /// are merged, if `merge` asks for that and there are any; and has one packed for oneDNN where
    /// `choice` uses that.
    pub(super) fn for_generation(&self, merge: bool, choice: CpuLinear) -> Self {
        let merges = merge && self.is_adapted();
        let weight = if merges {
            Tensor::cat(&self.parts.iter().map(|part| self.merged(part)).collect::<Vec<_>>(), 0)
        } else {
            self.weight.shallow_clone()
        };
        let part = |&FusedPart { name, start, width, ref adapter }: &FusedPart| {
            let adapter = adapter.as_ref().filter(|_| !merges).map(Adapter::shared);
            FusedPart { name, start, width, adapter }
        };
        let packed = PackedWeight::new(&weight, choice);
        let bias = self.bias.as_ref().map(Tensor::shallow_clone);
        Self { weight, bias, generates: true, packed, parts: self.parts.iter().map(part).collect() }
    }

    fn is_adapted(&self) -> bool {
        self.parts.iter().any(|part| part.adapter.is_some())
    }

    /// The matrix itself, all projections in it.
    pub(super) fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// The biases of all projections, one behind the other: `[O]`.
    pub(super) fn bias(&self) -> Option<&Tensor> {
        self.bias.as_ref()
    }

    /// The projections under their published names, adapters merged in.
    pub(super) fn published(&self) -> Vec<Projection> {
        let part = |part: &FusedPart| Projection {
            name: part.name,
            weight: self.merged(part),
            bias: self.bias.as_ref().map(|bias| bias.detach().narrow(0, part.start, part.width)),
        };
        self.parts.iter().map(part).collect()
    }

    /// The matrix of a projection, `[O', I]`, with its adapter merged in.
    fn merged(&self, part: &FusedPart) -> Tensor {
        let plain = self.weight.detach().narrow(0, part.start, part.width);
        let merged = part.adapter.as_ref().map(|adapter| adapter.merged_into(&plain));
        merged.unwrap_or(plain)
    }

    /// Freezes the matrix and the bias, and gives an adapter to each projection that `make` has one for.
    pub(super) fn adapt(&mut self, scale: f64, make: &mut MakePart<'_>) -> Result<(), LoadError> {
        let (kind, device) = (self.weight.kind(), self.weight.device());
        let leaf = |x: &Tensor| x.to_kind(kind).to_device(device).detach().set_requires_grad(true);
        self.weight = self.weight.detach();
        self.bias = self.bias.take().map(|bias| bias.detach());
        let inputs = self.weight.size()[1];
        for part in &mut self.parts {
            part.adapter = make(part.name, part.width, inputs)?.map(|(down, up)| Adapter {
                down: leaf(&down),
                up: leaf(&up),
                scale,
            });
        }
        Ok(())
    }

    /// A and B of every adapter, with the projection's published name.
    pub(super) fn adapters(&self) -> impl Iterator<Item = (&'static str, &Tensor, &Tensor)> {
        self.parts.iter().filter_map(|part| {
            part.adapter.as_ref().map(|adapter| (part.name, &adapter.down, &adapter.up))
        })
    }
}

impl Adapter {
    fn shared(&self) -> Self {
        Self { down: self.down.shallow_clone(), up: self.up.shallow_clone(), scale: self.scale }
    }

    fn update(&self, x: &Tensor) -> Tensor {
        x.linear(&self.down, None::<&Tensor>).linear(&self.up, None::<&Tensor>) * self.scale
    }

    /// `W + scale · B A`, added in f32 whatever the type, so that it is rounded once.
    fn merged_into(&self, weight: &Tensor) -> Tensor {
        let wide = |x: &Tensor| x.detach().to_kind(Kind::Float);
        let update = wide(&self.up).matmul(&wide(&self.down)) * self.scale;
        (wide(weight) + update).to_kind(weight.kind())
    }
}
