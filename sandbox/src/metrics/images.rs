//! Metrics of restored images. `t` is the truth, `p` the prediction: intensities below
//! `frame.levels`, row-major `[height, width]`.

use super::MetricError;

/// Format of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Pixels from left to right.
    pub width: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Number of intensities; the largest is one less.
    pub levels: u32,
}

/// An exact image has no noise and an infinite ratio; it counts this many dB, as does
/// whatever comes closer. One pixel of 64 x 64 off by 1 of 255 has 84 dB.
const PSNR_LIMIT: f64 = 100.0;

/// Side of SSIM's window.
const WINDOW: usize = 7;

/// 10 log10((levels - 1)² / mean((t - p)²)), at most 100 dB, which an exact image has.
pub fn psnr(t: &[u16], p: &[u16], frame: Frame) -> f64 {
    let squares = t.iter().zip(p).map(|(t, p)| f64::from(t.abs_diff(*p)).powi(2));
    let error = squares.sum::<f64>() / t.len() as f64;
    if error == 0.0 {
        return PSNR_LIMIT;
    }
    (10.0 * libm::log10(range(frame).powi(2) / error)).min(PSNR_LIMIT)
}

/// Mean over all windows of 7 x 7 pixels inside the image of
/// (2 μt μp + c1)(2 σtp + c2) / ((μt² + μp² + c1)(σt² + σp² + c2)), with c1 = (.01 L)²,
/// c2 = (.03 L)², L = levels - 1, and (co)variances with ddof 1 (Wang et al. 2004, eq. 13, with
/// the uniform window of scikit-image's `structural_similarity`).
///
/// # Errors
/// [`MetricError::SmallImage`] if no window fits.
pub fn ssim(t: &[u16], p: &[u16], frame: Frame) -> Result<f64, MetricError> {
    let Frame { width, height, .. } = frame;
    if width < WINDOW || height < WINDOW {
        return Err(MetricError::SmallImage(WINDOW));
    }
    let (c1, c2) = ((0.01 * range(frame)).powi(2), (0.03 * range(frame)).powi(2));
    let n = (WINDOW * WINDOW) as f64;
    let pair = |place: usize| (f64::from(t[place]), f64::from(p[place]));
    let (mut sum, mut windows) = (0.0, 0.0);
    for top in 0..=height - WINDOW {
        for left in 0..=width - WINDOW {
            // Sums and products of whole numbers are exact here, so no cancellation spoils the
            // variances.
            let (mut st, mut sp, mut stt, mut spp, mut stp) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for y in top..top + WINDOW {
                for x in left..left + WINDOW {
                    let (t, p) = pair(y * width + x);
                    st += t;
                    sp += p;
                    stt += t * t;
                    spp += p * p;
                    stp += t * p;
                }
            }
            let (mt, mp) = (st / n, sp / n);
            let moment = |product: f64, a: f64, b: f64| (n * product - a * b) / (n * (n - 1.0));
            let (vt, vp, cov) = (moment(stt, st, st), moment(spp, sp, sp), moment(stp, st, sp));
            sum += (2.0 * mt * mp + c1) * (2.0 * cov + c2)
                / ((mt * mt + mp * mp + c1) * (vt + vp + c2));
            windows += 1.0;
        }
    }
    Ok(sum / windows)
}

fn range(frame: Frame) -> f64 {
    f64::from(frame.levels) - 1.0
}
