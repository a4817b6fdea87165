//! Several series over time, in long form: one row per series and step.

use super::assets::Order;
use super::latents;
use crate::data::table;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::SeriesSpec;
use crate::spec::rule::Frame;
use polars::prelude::DataFrame;
use tasks::stream::Stream;

/// How much of a driver's latent value carries over to the next step.
const PERSISTENCE: f64 = 0.35;

/// Draws drivers, regimes and calendar, clean and as written. Every series' first steps are
/// training rows, its last ones test rows; written rows are sorted by step, then series.
pub fn draw(blueprint: &Blueprint, spec: &SeriesSpec, stream: Stream) -> (Frame, DataFrame, Order) {
    let steps = spec.train_steps + spec.horizon;
    let count = spec.series.words.len();
    let rows = steps * count;
    let mut frame = Frame { rows, block: steps, ..Frame::default() };
    let mut names = Vec::with_capacity(rows);
    let mut time = Vec::with_capacity(rows);
    let mut season = Vec::with_capacity(rows);
    let mut regimes = Vec::with_capacity(rows);
    for (index, name) in spec.series.words.iter().enumerate() {
        let mut draws = Draws::new(stream.child("regime").index(index as u64));
        let mut regime = draws.whole(0, 1);
        for step in 0..steps {
            if draws.chance(1.0 / spec.regime_steps) {
                regime = 1 - regime;
            }
            names.push(name.clone());
            time.push((step + 1) as f64);
            season.push((step % spec.period) as f64);
            regimes.push(spec.regime.words[regime].clone());
        }
    }
    let own = |name: &str| {
        let mut values = Vec::with_capacity(rows);
        for index in 0..count {
            let mut draws = Draws::new(stream.child("driver").child(name).index(index as u64));
            let mut latent = draws.normal();
            for _ in 0..steps {
                values.push(latent);
                let fresh = (1.0 - PERSISTENCE * PERSISTENCE).sqrt() * draws.normal();
                latent = PERSISTENCE * latent + fresh;
            }
        }
        values
    };
    let drivers = blueprint.numbers.iter().map(|driver| driver.name.as_str());
    let latents = latents::draw(drivers, &blueprint.follows, own);
    for driver in &blueprint.numbers {
        let values = latents[driver.name.as_str()].iter();
        let values = values.map(|latent| super::tabular::place(driver, *latent)).collect();
        frame.numbers.insert(driver.name.clone(), values);
    }
    let mut columns = vec![
        table::texts(&spec.series.name, &names),
        table::numbers(&spec.step, &time, 0),
        table::numbers(&spec.season, &season, 0),
        table::texts(&spec.regime.name, &regimes),
    ];
    for column in &blueprint.numbers {
        columns.push(table::numbers(&column.name, &frame.numbers[&column.name], column.decimals));
    }
    let table = table::from_columns(columns);
    frame.words.insert(spec.series.name.clone(), names);
    frame.words.insert(spec.regime.name.clone(), regimes);
    frame.numbers.insert(spec.step.clone(), time);
    frame.numbers.insert(spec.season.clone(), season);
    let by_time = |range: std::ops::Range<usize>| -> Vec<usize> {
        range.flat_map(|step| (0..count).map(move |index| index * steps + step)).collect()
    };
    let order =
        Order { train: by_time(0..spec.train_steps), test: by_time(spec.train_steps..steps) };
    (frame, table, order)
}
