//! The metrics as pages define them: an implementation that was written from these texts alone
//! against the native grader, on random inputs with ties and edge cases.

use factory::page::definition;
use serde_json::json;
use std::collections::BTreeSet;
use support::random::MetricCase;
use support::{random, reference};
use tasks::metrics::{Metric, MetricError};
use tasks::stream::Stream;

const CASES_PER_KIND: u64 = 40;
const TOLERANCE: f64 = 1e-9;

fn request(case: &MetricCase) -> serde_json::Value {
    let text = definition(case.metric, &case.prediction)
        .unwrap_or_else(|| panic!("no page text for {} of {:?}", case.metric, case.prediction));
    json!({
        "text": text,
        "prediction": case.prediction,
        "truth": case.cells(&case.truth),
        "predicted": case.cells(&case.predicted),
    })
}

#[test]
fn what_pages_define_is_what_the_grader_computes() {
    let mut cases = Vec::new();
    for metric in Metric::ALL {
        for (index, kind) in random::kinds(metric).into_iter().enumerate() {
            let stream = Stream::root(6).child(metric.name()).index(index as u64);
            cases.extend((0..CASES_PER_KIND).map(|i| random::case(metric, kind, stream.index(i))));
        }
    }
    let requests = cases.iter().map(request).collect();
    let answers = reference::ask("factory/tests/reference/definitions.py", requests);
    let (mut named, mut scored) = (BTreeSet::new(), 0);
    for (case, answer) in cases.iter().zip(&answers) {
        let text = request(case);
        assert_eq!(answer["metric"], case.metric.name(), "{text}");
        named.insert(case.metric.name());
        match (&case.score, answer["score"].as_f64()) {
            (Ok(native), Some(read)) => {
                let gap = (native - read).abs() / native.abs().max(1.0);
                assert!(gap <= TOLERANCE, "{}: {native}, read {read}, {text}", case.metric);
                scored += 1;
            }
            (Err(_), None) => {}
            (native, read) => panic!("{}: {native:?}, read {read:?}, {text}", case.metric),
        }
    }
    assert_eq!(named.len(), Metric::ALL.len());
    assert!(scored > cases.len() / 2, "{scored} of {}", cases.len());
    println!("{scored} of {} cases have a score; metrics: {named:?}", cases.len());
}

/// Submissions that are refused because the page says that there is no score.
#[test]
fn undefined_scores_are_those_that_pages_name() {
    let mut undefined = BTreeSet::new();
    for metric in Metric::ALL {
        for kind in random::kinds(metric) {
            for index in 0..200 {
                let case = random::case(metric, kind, Stream::root(7).index(index));
                let Err(error) = &case.score else { continue };
                if *error != MetricError::Overflow {
                    let text = definition(metric, &case.prediction).unwrap();
                    assert!(text.contains("undefined"), "{metric}: {error}: {text}");
                    undefined.insert(metric.name());
                }
            }
        }
    }
    assert!(undefined.len() > 5, "{undefined:?}");
}
