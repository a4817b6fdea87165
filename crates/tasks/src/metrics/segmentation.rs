//! Metrics of one mask. `t` is the truth, `p` the prediction; two empty masks agree fully.

use crate::mask::Mask;

/// 2 |t ∩ p| / (|t| + |p|); 1 if both are empty. Dice (1945).
pub fn dice(t: &Mask, p: &Mask) -> f64 {
    let areas = t.area() + p.area();
    if areas == 0 { 1.0 } else { 2.0 * t.overlap(p) as f64 / areas as f64 }
}

/// |t ∩ p| / |t ∪ p|; 1 if both are empty. Jaccard (1901).
pub fn iou(t: &Mask, p: &Mask) -> f64 {
    let (shared, union) = shared_and_union(t, p);
    if union == 0 { 1.0 } else { shared as f64 / union as f64 }
}

/// Share of the thresholds .5, .55, ..., .95 that the IoU is strictly above; 1 if both masks
/// are empty, 0 if one is. (Kaggle's TGS Salt; its grader in MLE-bench reads an empty
/// prediction as the full image, which would pay for no answer, so this one does not.)
pub fn iou_passes(t: &Mask, p: &Mask) -> f64 {
    let (shared, union) = shared_and_union(t, p);
    if union == 0 {
        return 1.0;
    }
    // In twentieths and whole pixels: no rounding decides what lies above.
    let passes = (10..20).filter(|twentieths| 20 * shared > twentieths * union).count();
    passes as f64 / 10.0
}

fn shared_and_union(t: &Mask, p: &Mask) -> (usize, usize) {
    let shared = t.overlap(p);
    (shared, t.area() + p.area() - shared)
}
