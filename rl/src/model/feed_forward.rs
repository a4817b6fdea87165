//! The feed-forward half of a layer: one gated network, or a choice of many.

use super::config::Mixture;
use super::cpu;
use super::cpu_linear::CpuLinear;
use super::linear::FusedLinear;
use super::load::{Fetch, LoadError};
use tch::{Kind, Tensor};

#[derive(Debug)]
pub(super) enum FeedForward {
    Dense(Mlp),
    Experts(Experts),
}

impl FeedForward {
    /// `[.., C]` to `[.., C]`.
    pub(super) fn forward(&self, x: &Tensor) -> Tensor {
        match self {
            Self::Dense(mlp) => mlp.forward(x),
            Self::Experts(experts) => experts.forward(x),
        }
    }

    /// The same for generation, with adapters merged if `merge` asks for that, and matrices packed
    /// as `choice` needs them. Experts are multiplied all at once, by another operator.
    pub(super) fn for_generation(&self, merge: bool, choice: CpuLinear) -> Self {
        match self {
            Self::Dense(mlp) => Self::Dense(Mlp {
                gate_up_proj: mlp.gate_up_proj.for_generation(merge, choice),
                down_proj: mlp.down_proj.for_generation(merge, choice),
            }),
            Self::Experts(experts) => Self::Experts(Experts {
                router: experts.router.for_generation(merge, choice),
                gate_up_proj: experts.gate_up_proj.shallow_clone(),
                down_proj: experts.down_proj.shallow_clone(),
                ..*experts
            }),
        }
    }

    /// The same without a gradient, for `x` that [`cpu`] takes.
    pub(super) fn forward_cpu(&self, x: &Tensor) -> Tensor {
        match self {
            Self::Dense(mlp) => mlp.forward_cpu(x),
            Self::Experts(experts) => experts.forward(x),
        }
    }
}

/// `down(silu(gate x) * up x)` (Shazeer 2020, "`SwiGLU`").
#[derive(Debug)]
pub(super) struct Mlp {
    pub(super) gate_up_proj: FusedLinear, // [2 F, C]
    pub(super) down_proj: FusedLinear,    // [C, F]
}

impl Mlp {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.down_proj.forward(&gated(&self.gate_up_proj.forward(x)))
    }

    /// The same without a gradient, for generation on the CPU.
    fn forward_cpu(&self, x: &Tensor) -> Tensor {
        self.down_proj.forward(&cpu::gated(&self.gate_up_proj.forward(x)))
    }
}

/// `[.., 2 F]` to `[.., F]`.
fn gated(gate_up: &Tensor) -> Tensor {
    // Splitting goes back as one operation, where narrowing would make two gradients of full size.
    let halves = gate_up.chunk(2, -1);
    halves[0].silu() * &halves[1]
}

/// A mixture of gated networks; each token is routed to the k with the largest router logits
/// (Shazeer et al. 2017; Qwen3 technical report, §2). There is no load-balancing loss: the router
/// keeps its published balance.
#[derive(Debug)]
pub(super) struct Experts {
    pub(super) router: FusedLinear,  // [E, C]
    pub(super) gate_up_proj: Tensor, // [E, 2 F, C]
    pub(super) down_proj: Tensor,    // [E, C, F]
    per_token: i64,                  // k
    /// Whether the weights of the visited experts are scaled to add up to one.
    normalise: bool,
}

impl Experts {
    /// Fetches the experts of one layer by their published names and joins them; `c` is the width
    /// of the residual stream.
    pub(super) fn fetch(
        mixture: &Mixture,
        c: i64,
        router: FusedLinear,
        leaf: &dyn Fn(&Tensor) -> Tensor,
        get: &mut Fetch<'_>,
    ) -> Result<Self, LoadError> {
        let f = mixture.intermediate_size;
        let (mut gate_up, mut down) = (Vec::new(), Vec::new());
        for expert in 0..mixture.experts {
            let mut part =
                |name: &str, shape: [i64; 2]| get(&format!("mlp.experts.{expert}.{name}"), &shape);
            let both = [part("gate_proj", [f, c])?, part("up_proj", [f, c])?];
            gate_up.push(Tensor::cat(&both, 0));
            down.push(part("down_proj", [c, f])?);
        }
        Ok(Self {
            router,
            gate_up_proj: leaf(&Tensor::stack(&gate_up, 0)),
            down_proj: leaf(&Tensor::stack(&down, 0)),
            per_token: mixture.per_token,
            normalise: mixture.normalise,
        })
    }

    pub(super) fn freeze(&mut self) {
        self.gate_up_proj = self.gate_up_proj.detach();
        self.down_proj = self.down_proj.detach();
    }

    /// Gate `[F, C]`, up `[F, C]` and down `[C, F]` of every expert, as views.
    pub(super) fn each(&self) -> Vec<(Tensor, Tensor, Tensor)> {
        let (gate_up, down) = (self.gate_up_proj.detach(), self.down_proj.detach());
        let f = down.size()[2];
        gate_up
            .unbind(0)
            .into_iter()
            .zip(down.unbind(0))
            .map(|(gate_up, down)| (gate_up.narrow(0, 0, f), gate_up.narrow(0, f, f), down))
            .collect()
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let shape = x.size();
        let x = x.reshape([-1, self.down_proj.size()[1]]); // [N, C]
        let k = self.per_token;
        // 1. Which experts, and how much of each. Probabilities are f32, as in the reference.
        let scores = self.router.forward(&x).softmax(-1, Kind::Float); // [N, E]
        let (shares, chosen) = scores.topk(k, -1, true, true); // [N, k]
        let shares = if self.normalise {
            &shares / shares.sum_dim_intlist([-1].as_slice(), true, Kind::Float)
        } else {
            shares
        };
        // 2. Visits in the order of experts, so that each expert's tokens are neighbours.
        let visits = chosen.view([-1]);
        let (_, order) = visits.sort_stable(true, 0, false); // [N k]
        let token = order.divide_scalar_mode(k, "floor");
        // Not `bincount`, which has a GPU wait for the least and the largest.
        let counts = Tensor::zeros([self.gate_up_proj.size()[0]], (Kind::Int64, x.device()))
            .scatter_add(0, &visits, &visits.ones_like());
        let ends = counts.cumsum(0, Kind::Int);
        // 3. All experts at once.
        let grouped = |x: &Tensor, weight: &Tensor| {
            let weight = weight.transpose(1, 2);
            x.internal_grouped_mm(&weight, Some(&ends), None::<&Tensor>, None)
        };
        let hidden = gated(&grouped(&x.index_select(0, &token), &self.gate_up_proj));
        let out = grouped(&hidden, &self.down_proj); // [N k, C]
        // 4. Back to tokens.
        let shares = shares.to_kind(x.kind()).view([-1]).index_select(0, &order).unsqueeze(1);
        x.zeros_like().index_add(0, &token, &(out * shares)).view(shape.as_slice())
    }
}
