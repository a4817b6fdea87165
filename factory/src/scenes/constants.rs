//! Answers that look at no picture, which must not earn a medal.

use super::detection::mean_boxes;
use ndarray::Array2;
use tasks::boxes::{Detection as Found, Object};
use tasks::cells;
use tasks::mask::Mask;
use tasks::prediction::Prediction;
use tasks::values::Values;

/// The cells of constant rows worth trying, given the training truth and a picture's edge.
pub fn constants(prediction: &Prediction, train: &Values, side: usize) -> Vec<Vec<String>> {
    let rows = match train {
        Values::Masks(known) => Values::Masks(masks(known, side)),
        Values::Objects(known) => match prediction {
            Prediction::Boxes { classes, .. } => {
                Values::Detections(boxes(known, classes.len(), side))
            }
            _ => return Vec::new(),
        },
        Values::Images { images, frame } => {
            Values::Images { images: greys(images, frame.levels), frame: *frame }
        }
        _ => return Vec::new(),
    };
    (0..rows.len()).filter_map(|row| cells::write(prediction, &rows, row)).collect()
}

/// Nothing, everything, discs in the middle, and the mean mask cut at several shares.
fn masks(known: &[Mask], side: usize) -> Vec<Mask> {
    let mut shares = Array2::<f64>::zeros((side, side));
    for mask in known {
        for (share, set) in shares.iter_mut().zip(mask.pixels(side, side)) {
            *share += f64::from(u8::from(set)) / known.len() as f64;
        }
    }
    let most = shares.iter().copied().fold(0.0, f64::max);
    let middle = (side - 1) as f64 / 2.0;
    let disc = |share: f64| {
        let inside = |pixel: usize| {
            let (x, y) = ((pixel % side) as f64 - middle, (pixel / side) as f64 - middle);
            x * x + y * y <= (share * side as f64).powi(2)
        };
        (0..side * side).map(inside).collect::<Vec<bool>>()
    };
    let cut = |tenths: f64| shares.iter().map(|v| *v >= most * tenths / 10.0).collect();
    let mut candidates = vec![vec![false; side * side], vec![true; side * side]];
    candidates.extend([0.15, 0.25, 0.35, 0.5].map(disc));
    candidates.extend([2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0].map(cut));
    candidates.iter().map(|pixels| Mask::from_pixels(pixels, side, side)).collect()
}

/// Nothing, boxes in the middle, the mean boxes, and the mean boxes all over the picture.
fn boxes(known: &[Vec<Object>], classes: usize, side: usize) -> Vec<Vec<Found>> {
    let means = mean_boxes(known, classes);
    let sure = |object: Object| Found { object, confidence: 1.0 };
    let middle = |share: f64| -> Vec<Found> {
        let (edge, size) = (side as f64, share * side as f64);
        let from = (edge - size) / 2.0;
        (0..classes)
            .map(|class| sure(Object { class, x: from, y: from, w: size, h: size }))
            .collect()
    };
    let all_over = |cells: usize| -> Vec<Found> {
        let width = side as f64 / cells as f64;
        let at = |cell: usize, mean: &Object| {
            let place = |cell: usize, size: f64| (cell as f64 + 0.5) * width - size / 2.0;
            let (x, y) = (place(cell % cells, mean.w), place(cell / cells, mean.h));
            sure(Object { x, y, ..*mean })
        };
        (0..cells * cells).flat_map(|cell| means.iter().map(move |m| at(cell, m))).collect()
    };
    let mut candidates = vec![Vec::new(), means.iter().copied().map(sure).collect()];
    candidates.extend([0.2, 0.3, 0.5, 1.0].map(middle));
    candidates.extend([3, 4, 5].map(all_over));
    candidates
}

/// Even greys, the mean picture and the median picture.
fn greys(known: &[Vec<u16>], levels: u32) -> Vec<Vec<u16>> {
    let pixels = known.first().map_or(0, Vec::len);
    let level =
        |sixths: u32| vec![u16::try_from((levels - 1) * sixths / 6).unwrap_or(u16::MAX); pixels];
    let mean = |pixel: usize| {
        let sum: usize = known.iter().map(|image| usize::from(image[pixel])).sum();
        u16::try_from((sum + known.len() / 2) / known.len()).unwrap_or(u16::MAX)
    };
    let median = |pixel: usize| {
        let mut values: Vec<u16> = known.iter().map(|image| image[pixel]).collect();
        values.sort_unstable();
        values[values.len() / 2]
    };
    let mut candidates: Vec<Vec<u16>> = (0..=6).map(level).collect();
    candidates.push((0..pixels).map(mean).collect());
    candidates.push((0..pixels).map(median).collect());
    candidates
}
