//! Metrics of restored images. `t` is the truth, `p` the prediction: intensities below
//! `frame.levels`, row-major `[height, width]`.

use super::MetricError;
use std::ops::{AddAssign, SubAssign};

/// Format of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageFormat {
    /// Pixels from left to right.
    pub width: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Number of intensities; the largest is one less.
    pub levels: u32,
}

/// An exact image has no noise and an infinite ratio; it counts this many dB, and no image
/// counts more. One pixel of 64 x 64 off by 1 of 255 has 84 dB.
const PSNR_LIMIT: f64 = 100.0;

/// Side of SSIM's window.
const WINDOW: usize = 7;

/// The root mean squared error over all pixels of all images.
pub fn rmse(t: &[Vec<u16>], p: &[Vec<u16>]) -> f64 {
    mean(t, p, |t, p| (t - p).powi(2)).sqrt()
}

/// The mean absolute error over all pixels of all images.
pub fn mae(t: &[Vec<u16>], p: &[Vec<u16>]) -> f64 {
    mean(t, p, |t, p| (t - p).abs())
}

fn mean(t: &[Vec<u16>], p: &[Vec<u16>], error: impl Fn(f64, f64) -> f64) -> f64 {
    let pixels = t.iter().flatten().zip(p.iter().flatten());
    let count: usize = t.iter().map(Vec::len).sum();
    pixels.map(|(t, p)| error(f64::from(*t), f64::from(*p))).sum::<f64>() / count as f64
}

/// 10 log10((levels - 1)² / mean((t - p)²)), at most 100 dB, which an exact image has.
pub fn psnr(t: &[u16], p: &[u16], frame: ImageFormat) -> f64 {
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
pub fn ssim(t: &[u16], p: &[u16], frame: ImageFormat) -> Result<f64, MetricError> {
    let ImageFormat { width, height, .. } = frame;
    if width < WINDOW || height < WINDOW {
        return Err(MetricError::SmallImage(WINDOW));
    }
    let (c1, c2) = ((0.01 * range(frame)).powi(2), (0.03 * range(frame)).powi(2));
    let n = (WINDOW * WINDOW) as f64;
    let moment = |product: f64, a: f64, b: f64| (n * product - a * b) / (n * (n - 1.0));
    let (mut sum, mut windows) = (0.0, 0.0);
    let mut columns = vec![WindowSums::default(); width];
    for bottom in 0..height {
        for (x, column) in columns.iter_mut().enumerate() {
            *column += WindowSums::of_pixel(t[bottom * width + x], p[bottom * width + x]);
            if let Some(above) = bottom.checked_sub(WINDOW) {
                *column -= WindowSums::of_pixel(t[above * width + x], p[above * width + x]);
            }
        }
        if bottom + 1 < WINDOW {
            continue;
        }
        let mut window = WindowSums::default();
        for right in 0..width {
            window += columns[right];
            if let Some(left) = right.checked_sub(WINDOW) {
                window -= columns[left];
            }
            if right + 1 < WINDOW {
                continue;
            }
            let [st, sp, stt, spp, stp] = window.0.map(|sum| sum as f64);
            let (mt, mp) = (st / n, sp / n);
            let (vt, vp, cov) = (moment(stt, st, st), moment(spp, sp, sp), moment(stp, st, sp));
            sum += (2.0 * mt * mp + c1) * (2.0 * cov + c2)
                / ((mt * mt + mp * mp + c1) * (vt + vp + c2));
            windows += 1.0;
        }
    }
    Ok(sum / windows)
}

/// Σ t, Σ p, Σ t², Σ p² and Σ tp over some pixels. They are whole numbers, so that a pixel can
/// leave again without a trace; no cancellation spoils the variances.
#[derive(Debug, Clone, Copy, Default)]
struct WindowSums([u64; 5]);

impl WindowSums {
    fn of_pixel(t: u16, p: u16) -> Self {
        let (t, p) = (u64::from(t), u64::from(p));
        Self([t, p, t * t, p * p, t * p])
    }
}

impl AddAssign for WindowSums {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, value)| *sum += value);
    }
}

impl SubAssign for WindowSums {
    fn sub_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, value)| *sum -= value);
    }
}

fn range(frame: ImageFormat) -> f64 {
    f64::from(frame.levels) - 1.0
}
