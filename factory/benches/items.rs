//! Microseconds per item of every medium that renders, for rendering and for reading.
//!
//! `cargo bench -p factory --bench items`. Each figure is the median of the items of several
//! tasks, clean and blemished, so that it bears a busy machine.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

use factory::media::{Format, Look, Medium, MediumKind};
use factory::numeric::draws::Draws;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;
use tasks::stream::Stream;

/// Items per medium.
const ITEMS: u64 = 300;
/// Tasks that they are spread over.
const TASKS: u64 = 10;

fn main() {
    println!("median microseconds per item, {ITEMS} items");
    println!("{:18} {:>8} {:>8} {:>8}", "medium", "render", "read", "sum");
    for kind in MediumKind::ALL {
        // Given items are not rendered.
        let Some(medium) = kind.medium() else { continue };
        for format in medium.formats() {
            let [render, read] = timed(medium, *format);
            let name = format!("{kind:?} {format:?}").to_lowercase();
            println!("{name:18} {render:8.1} {read:8.1} {:8.1}", render + read);
        }
    }
}

/// Medians of rendering and reading, in microseconds.
fn timed(medium: &dyn Medium, format: Format) -> [f64; 2] {
    let vocabulary: Vec<String> = ["valve", "clerk", "pump", "scale"].map(str::to_owned).to_vec();
    let (mut renders, mut reads) = (Vec::new(), Vec::new());
    for item in 0..ITEMS {
        let task = item % TASKS;
        let stream = Stream::root(task);
        // Half of the tasks are clean, the others have one blemish at its middle.
        let kinds = medium.blemishes();
        let blemishes: BTreeMap<String, f64> = kinds
            .iter()
            .cycle()
            .nth((task / 2) as usize)
            .filter(|_| task % 2 == 1)
            .map(|blemish| (blemish.name.to_owned(), f64::midpoint(blemish.low, blemish.high)))
            .into_iter()
            .collect();
        let look = Look {
            format,
            stream,
            vocabulary: &vocabulary,
            subject: None,
            genre: None,
            source: None,
            samples: None,
            blemishes: &blemishes,
        };
        let mut draws = Draws::new(stream.child("item").index(item));
        let values: Vec<f64> = medium
            .statistics()
            .iter()
            .map(|s| factory::numeric::rounding::round(draws.between(s.low, s.high), s.decimals))
            .collect();
        let started = Instant::now();
        let bytes = black_box(medium.render(&values, &look, &mut draws));
        renders.push(started.elapsed().as_secs_f64() * 1e6);
        let started = Instant::now();
        let reading = black_box(medium.read(&bytes));
        reads.push(started.elapsed().as_secs_f64() * 1e6);
        assert!(reading.is_ok(), "a medium reads what it rendered");
    }
    [median(renders), median(reads)]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
