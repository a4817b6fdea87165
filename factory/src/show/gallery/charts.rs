//! Plots of numbers: how the target is spread, and series over time.

use super::html::{short, shortened};
use super::task::{Target, Task};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use web::html::escape;

/// Bars of a histogram.
const BINS: usize = 18;
/// Series and targets on a page.
const MOST: usize = 12;

/// A bar's label, and how many training and test rows it stands for.
type Pair = (String, usize, usize);

/// How each target is spread in the two tables.
pub(super) fn targets(task: &Task) -> String {
    let mut html = String::from("<div class=\"cards wide\">\n");
    let hits = |values: &[f64], class: f64| values.iter().filter(|v| **v == class).count();
    let rows = (task.train.rows.len(), task.test.rows.len());
    let flags = task.targets.len() > 1 && task.targets.iter().all(|t| t.classes.len() == 2);
    if flags {
        // What does not hold is the rest of the rows: a bar less per label.
        let pair = |target: &Target| {
            (target.name.clone(), hits(&target.train, 1.0), hits(&target.test, 1.0))
        };
        let pairs: Vec<Pair> = task.targets.iter().map(pair).collect();
        let _ = writeln!(
            html,
            "<figure>{}<figcaption>rows for which each label holds</figcaption></figure>",
            bars(&pairs, rows)
        );
    }
    for target in task.targets.iter().take(if flags { 0 } else { MOST }) {
        let pair = |(class, name): (usize, &String)| {
            let class = class as f64;
            (name.clone(), hits(&target.train, class), hits(&target.test, class))
        };
        let pairs: Vec<Pair> = target.classes.iter().enumerate().map(pair).collect();
        let chart = if pairs.is_empty() { histogram(target) } else { bars(&pairs, rows) };
        let _ = writeln!(
            html,
            "<figure>{chart}<figcaption>{}</figcaption></figure>",
            escape(&target.name)
        );
    }
    let legend = "<p class=\"note\"><span class=\"key train\"></span> train \
                  <span class=\"key test\"></span> test, as shares of their rows</p>";
    html + "</div>\n" + legend
}

/// Two bars, for train and test, per label; `rows` are all rows of the two tables.
fn bars(pairs: &[Pair], rows: (usize, usize)) -> String {
    let share = |count: usize, rows: usize| count as f64 / rows.max(1) as f64;
    let shares = |pair: &Pair| [share(pair.1, rows.0), share(pair.2, rows.1)];
    let most = pairs.iter().flat_map(shares).fold(1e-9, f64::max);
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 360 {}\" role=\"img\" aria-label=\"classes\">\n",
        pairs.len() * 34 + 4
    );
    for (index, pair) in pairs.iter().enumerate() {
        let top = index * 34 + 4;
        let [train, test] = shares(pair);
        let (first, second) = (160.0 * train / most, 160.0 * test / most);
        let _ = writeln!(
            svg,
            "<text x=\"0\" y=\"{}\">{}</text>\
             <rect class=\"train\" x=\"110\" y=\"{top}\" width=\"{first:.1}\" height=\"13\"/>\
             <rect class=\"test\" x=\"110\" y=\"{}\" width=\"{second:.1}\" height=\"13\"/>\
             <text class=\"small\" x=\"{:.1}\" y=\"{}\">{:.1} % ({})</text>\
             <text class=\"small\" x=\"{:.1}\" y=\"{}\">{:.1} % ({})</text>",
            top + 17,
            shortened(&pair.0, 16),
            top + 14,
            first + 114.0,
            top + 10,
            100.0 * train,
            pair.1,
            second + 114.0,
            top + 24,
            100.0 * test,
            pair.2,
        );
    }
    svg + "</svg>"
}

/// Filled bars for training rows, a line over test rows.
fn histogram(target: &Target) -> String {
    let values = || target.train.iter().chain(&target.test).copied();
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    if !(low.is_finite() && high.is_finite()) {
        return String::new();
    }
    let width = if high > low { high - low } else { 1.0 };
    let shares = |values: &[f64]| {
        let mut counts = [0.0; BINS];
        for value in values {
            let bin = crate::numeric::draws::floor((value - low) / width * BINS as f64);
            counts[bin.min(BINS - 1)] += 1.0 / values.len().max(1) as f64;
        }
        counts
    };
    let (train, test) = (shares(&target.train), shares(&target.test));
    let most = train.iter().chain(&test).copied().fold(1e-9, f64::max);
    let step = 360.0 / BINS as f64;
    let height = |share: f64| 96.0 * share / most;
    let mut svg = String::from(
        "<svg class=\"chart\" viewBox=\"0 0 360 122\" role=\"img\" aria-label=\"histogram\">\n",
    );
    let mut line = String::from("M0 102");
    for (bin, (train, test)) in train.into_iter().zip(test).enumerate() {
        let left = step * bin as f64;
        let _ = writeln!(
            svg,
            "<rect class=\"train\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            left + 0.5,
            102.0 - height(train),
            step - 1.0,
            height(train)
        );
        let _ = write!(line, "V{:.1}H{:.1}", 102.0 - height(test), left + step);
    }
    let middle = f64::midpoint(low, high);
    let _ = write!(
        svg,
        "<path class=\"test line\" d=\"{line}\"/><path class=\"axis\" d=\"M0 102H360\"/>\
         <text class=\"small\" x=\"0\" y=\"117\">{}</text>\
         <text class=\"small middle\" x=\"180\" y=\"117\">{}</text>\
         <text class=\"small end\" x=\"360\" y=\"117\">{}</text></svg>",
        short(low),
        short(middle),
        short(high)
    );
    svg
}

/// Each series of a forecasting task: what is known, and what is to be forecast.
pub(super) fn series(task: &Task) -> String {
    let (Some(spec), [target]) = (task.blueprint.series(), &task.targets[..]) else {
        return String::new();
    };
    let mut lines: BTreeMap<&str, Vec<(f64, f64, bool)>> = BTreeMap::new();
    for (table, values, hidden) in
        [(&task.train, &target.train, false), (&task.test, &target.test, true)]
    {
        let places = table.place(&spec.series.name).zip(table.place(&spec.step));
        let Some((series, step)) = places else { return String::new() };
        for (row, value) in table.rows.iter().zip(values) {
            let step = row[step].parse().unwrap_or(0.0);
            lines.entry(&row[series]).or_default().push((step, *value, hidden));
        }
    }
    let count = lines.len();
    let mut html = String::from("<div class=\"cards series\">\n");
    for (name, points) in lines.iter_mut().take(MOST) {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let _ = writeln!(
            html,
            "<figure>{}<figcaption>{}</figcaption></figure>",
            curve(points),
            escape(name)
        );
    }
    html.push_str("</div>\n");
    let _ = write!(
        html,
        "<p class=\"note\">{} over {}: <span class=\"key train\"></span> train, \
         <span class=\"key test\"></span> test{}</p>",
        escape(&target.name),
        escape(&spec.step),
        if count > MOST { format!("; {MOST} of {count} series") } else { String::new() }
    );
    html
}

/// Points in order of time as two lines, the second one beginning where the first one ends.
fn curve(points: &[(f64, f64, bool)]) -> String {
    let (first, last) = match points {
        [first, .., last] => (first.0, last.0),
        _ => return String::new(),
    };
    let low = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let x = |step: f64| 360.0 * (step - first) / (last - first).max(1e-9);
    let y = |value: f64| 96.0 - 88.0 * (value - low) / (high - low).max(1e-9);
    let path = |points: &[(f64, f64, bool)]| {
        let place = |(index, point): (usize, &(f64, f64, bool))| {
            format!("{}{:.1} {:.1}", if index == 0 { 'M' } else { 'L' }, x(point.0), y(point.1))
        };
        points.iter().enumerate().map(place).collect::<String>()
    };
    let cut = points.iter().position(|point| point.2).unwrap_or(points.len());
    format!(
        "<svg class=\"chart\" viewBox=\"0 -4 360 124\" role=\"img\" aria-label=\"series\">\
         <path class=\"train line\" d=\"{}\"/><path class=\"test line\" d=\"{}\"/>\
         <path class=\"axis\" d=\"M0 102H360\"/>\
         <text class=\"small\" x=\"0\" y=\"116\">{}</text>\
         <text class=\"small end\" x=\"360\" y=\"116\">{}</text>\
         <text class=\"small middle\" x=\"180\" y=\"116\">{} to {}</text></svg>",
        path(&points[..cut]),
        path(&points[cut.saturating_sub(1)..]),
        short(first),
        short(last),
        short(low),
        short(high)
    )
}
