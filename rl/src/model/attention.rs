//! Grouped-query attention with a norm on every query and key head.

use super::kv_cache::{KvCache, Rows};
use super::linear::Linear;
use super::rope::Angles;
use tch::{Kind, Tensor};

/// Sizes that a layer needs at every step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heads {
    pub(super) query: i64, // H
    pub(super) key: i64,   // K
    pub(super) size: i64,  // D
}

#[derive(Debug)]
pub(super) struct Attention {
    pub(super) qkv_proj: Linear, // [(H + 2K) D, C]
    pub(super) o_proj: Linear,   // [C, H D]
    pub(super) q_norm: Tensor,   // [D]
    pub(super) k_norm: Tensor,   // [D]
    pub(super) heads: Heads,
    pub(super) eps: f64,
}

/// What all layers share of a pass over whole sequences.
#[derive(Debug)]
pub(super) struct WholeStep {
    pub(super) lengths: Vec<i64>, // N in all
    pub(super) angles: Angles,    // [N, 1, D]
}

/// What all layers share of a step over cached rows.
#[derive(Debug)]
pub(super) struct CachedStep<'a> {
    pub(super) rows: &'a Rows,
    pub(super) positions: &'a Tensor, // [B, T]
    pub(super) reach: i64,
    pub(super) angles: Angles, // [B, T, 1, D]
    pub(super) mask: Tensor,   // [B, 1, G T, R], 0 where visible and -inf elsewhere
}

impl Attention {
    /// Projects, norms and rotates `[.., C]`: queries `[.., H, D]`, keys and values `[.., K, D]`.
    fn project(&self, x: &Tensor, angles: &Angles) -> (Tensor, Tensor, Tensor) {
        let Heads { query: h, key: k, size: d } = self.heads;
        let mut shape = x.size();
        shape.pop();
        shape.extend([h + 2 * k, d]);
        let qkv = self.qkv_proj.forward(x).view(shape.as_slice());
        // One norm and one rotation for queries and keys together; their gains differ per head.
        let gain =
            Tensor::cat(&[self.q_norm.expand([h, d], false), self.k_norm.expand([k, d], false)], 0);
        let qk = qkv.narrow(-2, 0, h + k).rms_norm([d], None::<&Tensor>, self.eps) * gain;
        let qk = angles.rotate(&qk);
        (qk.narrow(-2, 0, h), qk.narrow(-2, h, k), qkv.narrow(-2, h + k, k))
    }

    /// Whole sequences, packed: `[N, C]` to `[N, C]`.
    pub(super) fn forward(&self, x: &Tensor, step: &WholeStep) -> Tensor {
        let (n, _) = x.size2().expect("packed activations are [N, C]");
        // 1. Project.
        let (q, k, v) = self.project(x, &step.angles);
        // 2. Each sequence attends to itself. Splitting and joining go back as one operation
        //    each, where narrowing would make a gradient of full size per sequence.
        let parts = |x: &Tensor| x.split_with_sizes(step.lengths.as_slice(), 0);
        let heads_first = |x: &Tensor| x.transpose(0, 1).unsqueeze(0); // [1, H, T, D]
        let attend = |((q, k), v): ((Tensor, Tensor), Tensor)| {
            let (q, k, v) = (heads_first(&q), heads_first(&k), heads_first(&v));
            let none = None::<&Tensor>;
            let out = Tensor::scaled_dot_product_attention(&q, &k, &v, none, 0.0, true, None, true);
            out.squeeze_dim(0).transpose(0, 1) // [T, H, D]
        };
        let out: Vec<Tensor> =
            parts(&q).into_iter().zip(parts(&k)).zip(parts(&v)).map(attend).collect();
        // 3. (N, H, D) -> (N, C)
        self.o_proj.forward(&Tensor::cat(&out, 0).reshape([n, -1]))
    }

    /// New tokens of rows whose past is cached: `[B, T, C]` to `[B, T, C]`.
    pub(super) fn forward_cached(
        &self,
        x: &Tensor,
        step: &CachedStep<'_>,
        layer: usize,
        cache: &mut KvCache,
    ) -> Tensor {
        let (b, t, _) = x.size3().expect("activations are [B, T, C]");
        let Heads { query: h, key: k, size: d } = self.heads;
        let group = h / k;
        // 1. Project, and let the new keys and values join the past.
        let (q, keys, values) = self.project(x, &step.angles);
        cache.write(layer, step.rows, step.positions, &keys, &values);
        let (keys, values) = cache.read(layer, step.rows, step.reach); // [B, K, R, D]
        // 2. The G queries of one key head are rows of one matrix, so that keys and values are
        //    read in place and never repeated: (B, T, K G, D) -> (B, K, G T, D).
        let q =
            q.reshape([b, t, k, group, d]).permute([0, 2, 3, 1, 4]).reshape([b, k, group * t, d]);
        // 3. Attend.
        let out = Tensor::scaled_dot_product_attention(
            &q,
            &keys,
            &values,
            Some(&step.mask),
            0.0,
            false,
            None,
            false,
        );
        // 4. (B, K, G T, D) -> (B, T, C)
        let out = out.view([b, k, group, t, d]).permute([0, 3, 1, 2, 4]).reshape([b, t, h * d]);
        self.o_proj.forward(&out)
    }
}

/// What tokens at `positions [B, T]` must not look at: `[B, 1, G T, R]` for `group` queries per
/// key head and `reach` positions.
pub(super) fn causal_mask(positions: &Tensor, reach: i64, group: i64, kind: Kind) -> Tensor {
    let (b, t) = positions.size2().expect("positions are [B, T]");
    let device = positions.device();
    let past = Tensor::arange(reach, (Kind::Int64, device));
    let hidden = past.view([1, 1, reach]).gt_tensor(&positions.unsqueeze(2)); // [B, T, R]
    Tensor::zeros([b, t, reach], (kind, device))
        .masked_fill(&hidden, f64::NEG_INFINITY)
        .unsqueeze(1) // [B, 1, T, R]
        .expand([b, group, t, reach], false)
        .reshape([b, 1, group * t, reach])
}
