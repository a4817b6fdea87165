//! Metrics of boxes: COCO's evaluation (Lin et al. 2014; `pycocotools` 2.0), for boxes of any
//! size and at most [`MAX_BOXES`](crate::boxes::MAX_BOXES) per image.

use super::MetricError;
use super::ranking::descending;
use crate::boxes::{Detection, Object};

/// .5, .55, ..., .95, with the roundings of `numpy.linspace(.5, .95, 10)`.
pub fn thresholds() -> [f64; 10] {
    let step = (0.95 - 0.5) / 9.0;
    let mut thresholds = [0.95; 10];
    for (index, threshold) in thresholds.iter_mut().take(9).enumerate() {
        *threshold = 0.5 + index as f64 * step;
    }
    thresholds
}

/// Mean over the classes in the truth, and over `thresholds`, of [`average_precision`].
/// `t` and `p` hold the boxes of each image; detections of other classes do not count.
///
/// # Errors
/// [`MetricError::NoTruth`] if the truth holds no box.
pub fn mean_average_precision(
    t: &[Vec<Object>],
    p: &[Vec<Detection>],
    thresholds: &[f64],
) -> Result<f64, MetricError> {
    let mut classes: Vec<usize> = t.iter().flatten().map(|object| object.class).collect();
    classes.sort_unstable();
    classes.dedup();
    if classes.is_empty() {
        return Err(MetricError::NoTruth);
    }
    let mut sum = 0.0;
    for class in &classes {
        for threshold in thresholds {
            sum += average_precision(t, p, *class, *threshold);
        }
    }
    Ok(sum / (classes.len() * thresholds.len()) as f64)
}

/// Mean over the recalls 0, .01, ..., 1 of the highest precision at that recall or above
/// (0 where it is not reached), for one class.
///
/// Detections count from the most confident to the least, ties in the order of images and of
/// the cell. Within an image each takes the free true box of highest IoU, the last of equals,
/// if that IoU is at least `threshold`, and is a false positive otherwise.
pub fn average_precision(
    t: &[Vec<Object>],
    p: &[Vec<Detection>],
    class: usize,
    threshold: f64,
) -> f64 {
    let total = t.iter().flatten().filter(|object| object.class == class).count() as f64;
    let mut outcomes: Vec<(f64, bool)> = Vec::new();
    for (objects, detections) in t.iter().zip(p) {
        outcomes.extend(matches(objects, detections, class, threshold));
    }
    // Stable, so that ties stay in order.
    outcomes.sort_by(|a, b| descending(a.0, b.0));
    let mut hits = 0.0;
    let mut curve: Vec<(f64, f64)> = Vec::with_capacity(outcomes.len());
    for (index, (_, hit)) in outcomes.iter().enumerate() {
        hits += f64::from(u8::from(*hit));
        curve.push((hits / total, hits / (index + 1) as f64));
    }
    for index in (1..curve.len()).rev() {
        curve[index - 1].1 = curve[index - 1].1.max(curve[index].1);
    }
    let precision = |recall: f64| {
        let place = curve.partition_point(|(reached, _)| *reached < recall);
        curve.get(place).map_or(0.0, |(_, precision)| *precision)
    };
    // The product rounds as in COCO's own list of recalls.
    (0..=100).map(|percent| precision(f64::from(percent) * 0.01)).sum::<f64>() / 101.0
}

/// Confidence of each detection of `class` in one image, from the highest, and whether it
/// found a box.
fn matches(
    objects: &[Object],
    detections: &[Detection],
    class: usize,
    threshold: f64,
) -> Vec<(f64, bool)> {
    let objects: Vec<&Object> = objects.iter().filter(|object| object.class == class).collect();
    let mut detections: Vec<&Detection> =
        detections.iter().filter(|found| found.object.class == class).collect();
    detections.sort_by(|a, b| descending(a.confidence, b.confidence));
    let mut free = vec![true; objects.len()];
    let mut found = |detection: &Detection| {
        let (mut best, mut place) = (threshold, None);
        for (index, object) in objects.iter().enumerate() {
            let iou = detection.object.iou(object);
            if free[index] && iou >= best {
                (best, place) = (iou, Some(index));
            }
        }
        if let Some(place) = place {
            free[place] = false;
        }
        (detection.confidence, place.is_some())
    };
    detections.into_iter().map(&mut found).collect()
}
