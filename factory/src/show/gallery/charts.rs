//! Charts of numbers: the ladder, how the target is spread, and series over time.

use super::task::{GalleryTarget, GalleryTask};
use maud::{Markup, html};
use std::collections::BTreeMap;
use tasks::metrics::Direction;
use tasks::task::Manifest;
use web::chart::{ChartRow, Curve, Histogram, Key, LadderChart, LineChart, Mark, RowChart, legend};

/// Bars of a histogram.
const BINS: usize = 18;
/// Series and targets on a page.
const MOST: usize = 12;

/// The baselines and the milestones on one axis.
pub(super) fn ladder(manifest: &Manifest) -> Markup {
    let thresholds = &manifest.thresholds;
    let ladder = LadderChart {
        metric: manifest.metric.to_string(),
        lower_is_better: manifest.direction() == Direction::LowerIsBetter,
        baselines: manifest.baselines.ladder,
        ceiling: manifest.baselines.ceiling,
        milestones: [
            thresholds.median_threshold,
            thresholds.bronze_threshold,
            thresholds.silver_threshold,
            thresholds.gold_threshold,
        ],
    };
    ladder.html()
}

/// How each target is spread in the two tables.
pub(super) fn targets(task: &GalleryTask) -> Markup {
    let rows = (task.train.rows.len(), task.test.rows.len());
    let hits = |values: &[f64], class: f64| values.iter().filter(|v| **v == class).count();
    let row = |name: &str, target: &GalleryTarget, class: f64| {
        shares(name, hits(&target.train, class), hits(&target.test, class), rows)
    };
    let flags = task.targets.len() > 1 && task.targets.iter().all(|t| t.classes.len() == 2);
    let charts: Vec<Markup> = if flags {
        // What does not hold is the rest of the rows: a row less per label.
        let labels = task.targets.iter().map(|target| row(&target.name, target, 1.0));
        vec![classes("rows for which each label holds", labels.collect())]
    } else {
        let chart = |target: &GalleryTarget| {
            if target.classes.is_empty() {
                return histogram(target);
            }
            let of = |(class, name): (usize, &String)| row(name, target, class as f64);
            classes(&target.name, target.classes.iter().enumerate().map(of).collect())
        };
        task.targets.iter().take(MOST).map(chart).collect()
    };
    html! {
        div.cards.wide { @for chart in charts { (chart) } }
        (legend(&[(Key::Bar(0), "train"), (Key::Bar(1), "test, as shares of their rows")]))
    }
}

/// The share of training and of test rows that belong to a class; `rows` are all rows of the two
/// tables.
fn shares(name: &str, train: usize, test: usize, rows: (usize, usize)) -> ChartRow {
    let mark = |count: usize, rows: usize, series: usize| {
        let percent = 100.0 * count as f64 / rows.max(1) as f64;
        (Mark::bar(percent, series), format!("{percent:.1} % ({count})"))
    };
    ChartRow {
        label: name.to_owned(),
        note: String::new(),
        detail: name.to_owned(),
        marks: vec![mark(train, rows.0, 0), mark(test, rows.1, 1)],
    }
}

fn classes(title: &str, rows: Vec<ChartRow>) -> Markup {
    let (title, x_label) = (title.to_owned(), "% of rows".to_owned());
    RowChart { title, x_label, rows, reversed: false, reference: None }.html()
}

/// Filled bars for training rows, an outline over them for test rows.
fn histogram(target: &GalleryTarget) -> Markup {
    let chart = Histogram {
        title: target.name.clone(),
        x_label: "height: % of rows".to_owned(),
        sample: target.train.clone(),
        other: target.test.clone(),
        bins: BINS,
    };
    chart.html()
}

/// Each series of a forecasting task: what is known, and what is to be forecast.
pub(super) fn series(task: &GalleryTask) -> Option<Markup> {
    let (Some(spec), [target]) = (task.blueprint.series(), &task.targets[..]) else {
        return None;
    };
    // Known and future points by series.
    let mut lines: BTreeMap<&str, [Vec<(f64, f64)>; 2]> = BTreeMap::new();
    for (table, values, part) in [(&task.train, &target.train, 0), (&task.test, &target.test, 1)] {
        let (series, step) = table.place(&spec.series.name).zip(table.place(&spec.step))?;
        for (row, value) in table.rows.iter().zip(values) {
            let step = row[step].parse().unwrap_or(0.0);
            lines.entry(&row[series]).or_default()[part].push((step, *value));
        }
    }
    let count = lines.len();
    let chart = |(name, [known, future]): (&str, [Vec<(f64, f64)>; 2])| {
        let curve = |name: &str, points| Curve { name: name.to_owned(), points };
        let chart = LineChart {
            title: name.to_owned(),
            x_label: spec.step.clone(),
            curves: vec![curve("train", known), curve("test", future)],
            y_range: None,
        };
        chart.figure()
    };
    let parts = lines.into_iter().take(MOST).map(|(name, parts)| chart((name, joined(parts))));
    Some(html! {
        p.note {
            (target.name) " over " (spec.step)
            @if count > MOST { "; " (MOST) " of " (count) " series" }
        }
        div.cards.wide { @for part in parts { (part) } }
        (legend(&[(Key::Line(0), "train"), (Key::Line(1), "test, to be forecast")]))
    })
}

/// Both parts in order of time, the second one beginning where the first one ends.
fn joined([mut known, mut future]: [Vec<(f64, f64)>; 2]) -> [Vec<(f64, f64)>; 2] {
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    future.extend(known.last());
    future.sort_by(|a, b| a.0.total_cmp(&b.0));
    [known, future]
}
