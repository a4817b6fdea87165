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

/// Mean over the classes in the truth, and over `thresholds`, of the average precision: the mean
/// over the recalls 0, .01, ..., 1 of the highest precision at that recall or above (0 where it
/// is not reached). `t` and `p` hold the boxes of each image; detections of other classes do not
/// count. At most 16 thresholds.
///
/// Detections count from the most confident to the least, ties in the order of images and of
/// the cell. Within an image each takes the free true box of highest IoU, the last of equals,
/// if that IoU is at least the threshold, and is a false positive otherwise.
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
    // Image by image, each detection of a class that counts, and where it is a hit.
    let mut outcomes: Vec<Vec<DetectionHits>> = vec![Vec::new(); classes.len()];
    for (objects, detections) in t.iter().zip(p) {
        let mut detections: Vec<&Detection> = detections.iter().collect();
        // Stable, so that ties stay in order.
        detections.sort_by(|a, b| {
            let classes = a.object.class.cmp(&b.object.class);
            classes.then_with(|| descending(a.confidence, b.confidence))
        });
        for detections in detections.chunk_by(|a, b| a.object.class == b.object.class) {
            let class = detections[0].object.class;
            if let Ok(place) = classes.binary_search(&class) {
                matches(objects, detections, thresholds, &mut outcomes[place]);
            }
        }
    }
    let mut sum = 0.0;
    for (class, outcomes) in classes.iter().zip(&mut outcomes) {
        let total = t.iter().flatten().filter(|object| object.class == *class).count() as f64;
        outcomes.sort_by(|a, b| descending(a.confidence, b.confidence));
        for index in 0..thresholds.len() {
            sum += average_precision(outcomes, index, total);
        }
    }
    Ok(sum / (classes.len() * thresholds.len()) as f64)
}

/// A detection, and whether it found a box at each of the thresholds, a bit each.
#[derive(Debug, Clone, Copy)]
struct DetectionHits {
    confidence: f64,
    hits: u16,
}

impl DetectionHits {
    fn hit(self, threshold: usize) -> bool {
        self.hits >> threshold & 1 == 1
    }
}

/// The average precision of one class of `total` boxes at one threshold.
fn average_precision(outcomes: &[DetectionHits], threshold: usize, total: f64) -> f64 {
    let mut hits = outcomes.iter().filter(|outcome| outcome.hit(threshold)).count();
    // From the last detection to the first, with the highest precision from there on: each recall
    // is first reached at one of them. The product rounds as in COCO's own list of recalls.
    let recalls: Vec<f64> = (0..=100).map(|percent| f64::from(percent) * 0.01).collect();
    let mut precisions = vec![0.0; recalls.len()];
    let mut open = recalls.partition_point(|recall| *recall <= hits as f64 / total);
    let mut highest: f64 = 0.0;
    for (index, outcome) in outcomes.iter().enumerate().rev() {
        highest = highest.max(hits as f64 / (index + 1) as f64);
        if outcome.hit(threshold) || index == 0 {
            hits -= usize::from(outcome.hit(threshold));
            let before = hits as f64 / total;
            while open > 0 && (index == 0 || recalls[open - 1] > before) {
                open -= 1;
                precisions[open] = highest;
            }
        }
    }
    precisions.iter().sum::<f64>() / recalls.len() as f64
}

/// Matches the detections of one class in one image, the most confident first, and adds the
/// outcomes.
fn matches(
    objects: &[Object],
    detections: &[&Detection],
    thresholds: &[f64],
    outcomes: &mut Vec<DetectionHits>,
) {
    let class = detections[0].object.class;
    let objects: Vec<&Object> = objects.iter().filter(|object| object.class == class).collect();
    let mut free = vec![true; objects.len() * thresholds.len()];
    let mut overlaps = vec![0.0; objects.len()];
    for detection in detections {
        for (overlap, object) in overlaps.iter_mut().zip(&objects) {
            *overlap = detection.object.iou(object);
        }
        let mut hits = 0;
        for (index, threshold) in thresholds.iter().enumerate() {
            let free = &mut free[index * objects.len()..(index + 1) * objects.len()];
            let (mut best, mut place) = (*threshold, None);
            for (object, overlap) in overlaps.iter().enumerate() {
                if free[object] && *overlap >= best {
                    (best, place) = (*overlap, Some(object));
                }
            }
            if let Some(place) = place {
                free[place] = false;
                hits |= 1 << index;
            }
        }
        outcomes.push(DetectionHits { confidence: detection.confidence, hits });
    }
}
