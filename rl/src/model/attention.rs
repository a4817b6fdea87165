//! Grouped-query attention, in Qwen3 with a norm on every query and key head.

use super::config::Qwen3Config;
use super::cpu;
use super::cpu_linear::CpuLinear;
use super::kv_cache::{CacheRows, KvCache};
use super::linear::FusedLinear;
use super::packed::{Packed, Piece};
use super::rope::Angles;
use tch::{Kind, Tensor};

/// The number and size of heads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heads {
    pub(super) query: i64, // H
    pub(super) key: i64,   // K
    pub(super) size: i64,  // D
}

impl Heads {
    pub(super) fn from_config(config: &Qwen3Config) -> Self {
        let (query, key) = (config.num_attention_heads, config.num_key_value_heads);
        Self { query, key, size: config.head_dim }
    }
}

#[derive(Debug)]
pub(super) struct Attention {
    pub(super) qkv_proj: FusedLinear, // [(H + 2K) D, C]
    pub(super) o_proj: FusedLinear,   // [C, H D]
    pub(super) norms: Option<HeadNorms>,
    pub(super) heads: Heads,
    pub(super) eps: f64,
}

/// The gains of the norms on query and key heads.
#[derive(Debug)]
pub(super) struct HeadNorms {
    pub(super) query: Tensor, // [D]
    pub(super) key: Tensor,   // [D]
    /// Both, one head below the other, joined once for generation. Training does not change them.
    joined: Option<Tensor>, // [H + K, D]
}

impl HeadNorms {
    /// Of gains `[D]`.
    pub(super) fn new(query: Tensor, key: Tensor) -> Self {
        Self { query, key, joined: None }
    }

    /// Gains of query and key heads, one head below the other: `[H + K, D]`.
    fn join(&self, heads: Heads) -> Tensor {
        let Heads { query: h, key: k, size: d } = heads;
        Tensor::cat(&[self.query.expand([h, d], false), self.key.expand([k, d], false)], 0)
    }

    fn gains(&self, heads: Heads) -> Tensor {
        self.joined.as_ref().map_or_else(|| self.join(heads), Tensor::shallow_clone)
    }

    fn for_generation(&self, heads: Heads) -> Self {
        let [query, key] = [&self.query, &self.key].map(Tensor::shallow_clone);
        Self { query, key, joined: Some(self.join(heads)) }
    }
}

/// The inputs that all layers share in a pass over whole sequences.
#[derive(Debug)]
pub(super) struct WholeStep {
    pieces: Vec<Piece>, // of the N packed tokens
    /// What each piece must not look at, `[T, S]`: 0 where a token attends, -inf where it does not. S is
    /// T and the tokens before. None at the start of sequences, which is plain causal attention.
    masks: Vec<Option<Tensor>>,
    angles: Angles, // [N, 1, D]
}

impl WholeStep {
    /// For `packed`, with masks of type `kind`.
    pub(super) fn new(packed: &Packed, angles: Angles, kind: Kind) -> Self {
        let (pieces, device) = (&packed.pieces, packed.ids.device());
        let mask = |piece: &Piece| {
            let length = piece.length;
            let earlier: i64 = piece.before.iter().map(|&before| pieces[before].length).sum();
            (earlier > 0).then(|| {
                let shape = [length, earlier + length];
                Tensor::full(shape, f64::NEG_INFINITY, (kind, device)).triu(earlier + 1)
            })
        };
        Self { pieces: pieces.clone(), masks: pieces.iter().map(mask).collect(), angles }
    }
}

/// The inputs that all layers share in a step over cached rows.
#[derive(Debug)]
pub(super) struct CachedStep<'a> {
    pub(super) rows: &'a CacheRows,
    pub(super) index: Tensor,         // of the rows, [B]
    pub(super) positions: &'a Tensor, // [B, T]
    pub(super) reach: i64,
    pub(super) angles: Angles, // [B, T, 1, D]
    pub(super) past: Past,
}

/// The cached positions that new tokens attend to, besides the tokens before them in the same step.
#[derive(Debug)]
pub(super) enum Past {
    /// None: all rows begin in this step.
    None,
    /// One new token a row, which looks at so many places of it, itself included: `[B]`, 0 for
    /// padding. For what [`cpu`] takes.
    Places(Vec<usize>),
    /// Every place below the step's reach for which this is 0 and not -inf: `[B, 1, G T, R]`.
    Mask(Tensor),
}

impl Attention {
    /// The same for generation: with gains joined once, adapters merged if `merge` asks for it, and
    /// matrices packed as `choice` needs them.
    pub(super) fn for_generation(&self, merge: bool, choice: CpuLinear) -> Self {
        Self {
            qkv_proj: self.qkv_proj.for_generation(merge, choice),
            o_proj: self.o_proj.for_generation(merge, choice),
            norms: self.norms.as_ref().map(|norms| norms.for_generation(self.heads)),
            ..*self
        }
    }

    /// Projects, norms where there are norms, and rotates `[.., C]`: queries `[.., H, D]`, keys and values `[.., K, D]`.
    fn project(&self, x: &Tensor, angles: &Angles) -> (Tensor, Tensor, Tensor) {
        let Heads { query: h, key: k, size: d } = self.heads;
        let mut shape = x.size();
        shape.pop();
        shape.extend([h + 2 * k, d]);
        let qkv = self.qkv_proj.forward(x).view(shape.as_slice());
        // One norm and one rotation for queries and keys together; their gains differ per head.
        let normed = |heads: &Tensor| match &self.norms {
            None => heads.shallow_clone(),
            Some(norms) => heads.rms_norm([d], None::<&Tensor>, self.eps) * norms.gains(self.heads),
        };
        // Splitting goes back as one operation, where narrowing would make a gradient of full size
        // per part.
        let [qk, v] = split(&qkv, [h + k, k]);
        let qk = angles.rotate(&normed(&qk));
        let [q, k] = split(&qk, [h, k]);
        (q, k, v)
    }

    /// Queries, keys and values of `[.., H + 2 K, D]`.
    fn parts(&self, qkv: &Tensor) -> (Tensor, Tensor, Tensor) {
        let Heads { query: h, key: k, .. } = self.heads;
        (qkv.narrow(-2, 0, h), qkv.narrow(-2, h, k), qkv.narrow(-2, h + k, k))
    }

    /// What one new token of each row attends to, `[B, 1, H D]`, after its key and value, which
    /// are in `qkv [B, 1, H + 2 K, D]`, joined the past.
    fn attend_one(
        &self,
        qkv: &Tensor,
        lengths: &[usize],
        step: &CachedStep<'_>,
        layer: usize,
        cache: &mut KvCache,
    ) -> Tensor {
        // Rows that are read in place are written there, too.
        let in_place = matches!(step.rows, CacheRows::Span { .. });
        if !in_place {
            let (_, keys, values) = self.parts(qkv);
            cache.write(layer, &step.index, step.positions, &keys, &values);
        }
        let (mut keys, mut values) = cache.read(layer, step.rows, step.reach); // [B, K, R, D]
        cpu::attend(qkv, [&mut keys, &mut values], in_place, lengths, self.heads)
    }

    /// Whole sequences, packed: `[N, C]` to `[N, C]`.
    pub(super) fn forward(&self, x: &Tensor, step: &WholeStep) -> Tensor {
        let (n, _) = x.size2().expect("packed activations are [N, C]");
        // 1. Project.
        let (q, k, v) = self.project(x, &step.angles);
        // 2. Each piece attends to itself and to what it continues. Splitting and joining go back as
        //    one operation each, where narrowing would make a gradient of full size per piece.
        let lengths: Vec<i64> = step.pieces.iter().map(|piece| piece.length).collect();
        let [q, k, v] = [q, k, v].map(|x| x.split_with_sizes(lengths.as_slice(), 0));
        let heads_first = |x: &Tensor| x.transpose(0, 1).unsqueeze(0); // [1, H, T, D]
        let attend = |(index, piece): (usize, &Piece)| {
            let q = heads_first(&q[index]);
            let out = match &step.masks[index] {
                None => attend_causal(&q, &heads_first(&k[index]), &heads_first(&v[index])),
                Some(mask) => {
                    let whole = |parts: &[Tensor]| {
                        let parts = piece.before.iter().chain([&index]).map(|&part| &parts[part]);
                        heads_first(&Tensor::cat(&parts.collect::<Vec<_>>(), 0))
                    };
                    let (k, v, mask) = (whole(&k), whole(&v), Some(mask));
                    Tensor::scaled_dot_product_attention(&q, &k, &v, mask, 0.0, false, None, true)
                }
            };
            out.squeeze_dim(0).transpose(0, 1) // [T, H, D]
        };
        let out: Vec<Tensor> = step.pieces.iter().enumerate().map(attend).collect();
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
        // 1. Project.
        let (q, keys, values) = if cpu::takes(x) {
            let mut qkv = self.qkv_proj.forward(x).view([b, t, h + 2 * k, d]);
            let gains = self.norms.as_ref().map(|norms| [&norms.query, &norms.key]);
            cpu::norm_and_rotate(&mut qkv, gains, &step.angles, self.heads, self.eps);
            if let Past::Places(lengths) = &step.past {
                return self.o_proj.forward(&self.attend_one(&qkv, lengths, step, layer, cache));
            }
            self.parts(&qkv)
        } else {
            self.project(x, &step.angles)
        };
        // 2. Let the new keys and values join the past, and attend.
        cache.write(layer, &step.index, step.positions, &keys, &values);
        let out = if let Past::Mask(mask) = &step.past {
            let (keys, values) = cache.read(layer, step.rows, step.reach);
            self.attend_masked(&q, &keys, &values, mask)
        } else {
            let [q, k, v] = [q, keys, values].map(|x| x.transpose(1, 2)); // [B, H, T, D]
            attend_causal(&q, &k, &v).transpose(1, 2).reshape([b, t, h * d])
        };
        self.o_proj.forward(&out)
    }

    /// New queries `[B, T, H, D]` on cached keys and values `[B, K, R, D]`: `[B, T, H D]`.
    fn attend_masked(&self, q: &Tensor, keys: &Tensor, values: &Tensor, mask: &Tensor) -> Tensor {
        let Heads { query: h, key: k, size: d } = self.heads;
        let (b, t, group) = (q.size()[0], q.size()[1], h / k);
        // The G queries of one key head are rows of one matrix, so that keys and values are read
        // in place and never repeated: (B, T, K G, D) -> (B, K, G T, D).
        let q =
            q.reshape([b, t, k, group, d]).permute([0, 2, 3, 1, 4]).reshape([b, k, group * t, d]);
        let mask = Some(mask);
        let out =
            Tensor::scaled_dot_product_attention(&q, keys, values, mask, 0.0, false, None, false);
        // (B, K, G T, D) -> (B, T, H D)
        out.view([b, k, group, t, d]).permute([0, 3, 1, 2, 4]).reshape([b, t, h * d])
    }
}

/// Causal attention over whole sequences: queries `[B, H, T, D]`, keys and values `[B, K, T, D]`,
/// to `[B, H, T, D]`.
fn attend_causal(q: &Tensor, k: &Tensor, v: &Tensor) -> Tensor {
    Tensor::scaled_dot_product_attention(q, k, v, None::<&Tensor>, 0.0, true, None, true)
}

/// Heads `[.., H, D]` in two parts of the given sizes.
fn split(heads: &Tensor, sizes: [i64; 2]) -> [Tensor; 2] {
    let parts = heads.split_with_sizes(sizes.as_slice(), -2);
    parts.try_into().expect("as many parts as sizes")
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
