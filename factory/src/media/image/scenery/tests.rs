//! What scenes promise for every subject.

use super::{Scenery, Subject};
use crate::media::{Format, ItemReader, Look, Medium};
use crate::numeric::draws::Draws;
use crate::numeric::rounding::round;
use std::collections::BTreeMap;
use tasks::stream::Stream;

/// Items of a task with a subject: what was drawn, and the files.
fn items(subject: Subject, task: u64, rows: u64) -> (Vec<Vec<f64>>, Vec<Vec<u8>>) {
    let stream = Stream::root(task);
    let look = Look {
        format: Format::Jpeg,
        stream,
        vocabulary: &[],
        subject: Some(subject),
        genre: None,
        source: None,
        samples: None,
        blemishes: &BTreeMap::new(),
    };
    let item = |row: u64| {
        let mut draws = Draws::new(stream.child("item").index(row));
        let values: Vec<f64> = Scenery
            .statistics()
            .iter()
            .map(|s| round(draws.between(s.low, s.high), s.decimals))
            .collect();
        let file = Scenery.render(&values, &look, &mut draws);
        (values, file)
    };
    (0..rows).map(item).unzip()
}

fn r2(truth: &[f64], forecast: &[f64]) -> f64 {
    let mean = truth.iter().sum::<f64>() / truth.len() as f64;
    let error: f64 = truth.iter().zip(forecast).map(|(t, f)| (t - f) * (t - f)).sum();
    1.0 - error / truth.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>()
}

/// Of things of any form; [`super::super::tests`] has the bounds of a task in the middle.
#[test]
fn statistics_of_every_subject_are_read_back() {
    // Task 202 has the smallest pictures, in which marks and gaps are a few pixels wide.
    let tasks = (40..).zip(Subject::ALL).chain(Subject::ALL.map(|subject| (202, subject)));
    for (task, subject) in tasks {
        let (drawn, files) = items(subject, task, 40);
        let read: Vec<Vec<f64>> =
            files.iter().map(|file| Scenery.read(file).unwrap().estimates).collect();
        for (index, statistic) in Scenery.statistics().iter().enumerate() {
            let column = |rows: &[Vec<f64>]| rows.iter().map(|row| row[index]).collect::<Vec<_>>();
            let found = r2(&column(&drawn), &column(&read));
            assert!(found >= 0.75, "{subject:?} {task} {}: {found:.3}", statistic.name);
        }
    }
}
