//! Statistics as one HTML page that needs nothing else: no scripts, no fonts, no pictures.

use super::figure::{Figure, NEAR};
use super::groups::Counts;
use super::paper;
use super::statistics::Statistics;
use crate::data::likeness::ALIKE;
use crate::numeric::intervals::Quantiles;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use web::html::escape;

const STYLE: &str = include_str!("page.css");

/// The statistics as a self-contained HTML page.
pub fn page(statistics: &Statistics) -> String {
    let mut body = head(statistics);
    let _ = write!(
        body,
        "<h2>Kinds of tasks, beside figure 3</h2>\
         <p class=\"key\"><span>ours</span><span class=\"reach\">95&nbsp;% interval (Wilson)</span>\
         <span class=\"theirs thin\">the paper's share</span></p><div class=\"grid\">{}</div>\
         <p class=\"soft\">The distance is Jensen-Shannon's: the square root of the divergence in \
         bits, 0 to 1, far above {NEAR}. Chance is the distance of a corpus of this size drawn at \
         random from the paper's shares.</p>",
        statistics.figures.iter().map(figure).collect::<String>()
    );
    body.push_str(&passage(statistics));
    body.push_str(&sizes(statistics));
    let _ = write!(body, "<h2>Modality and formulation</h2>{}", coverage(&statistics.coverage));
    let _ = write!(
        body,
        "<h2>Rules, metrics, mutations</h2><div class=\"grid\">{}{}{}</div>",
        counts("Families of rules", &statistics.families),
        counts("Metrics", &statistics.metrics),
        counts("Mutations", &statistics.mutations)
    );
    let _ = write!(
        body,
        "<h2>Left to discover</h2><p class=\"soft\">(R3 − R2) / (ceiling − R0): of the way from a \
         constant to the ceiling, the part that only the rule's own transforms go. Box: the middle \
         half; thin line: 5 to 95&nbsp;%.</p><div class=\"card\">{}</div>",
        boxes(&statistics.discovery)
    );
    body.push_str(&times(statistics));
    body.push_str(&likeness(statistics));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Statistics of a corpus</title><style>\n{STYLE}</style></head>\n\
         <body>{body}</body></html>\n"
    )
}

/// A name as it is read.
fn plain(name: &str) -> String {
    escape(&name.replace('_', " "))
}

fn percent(share: f64) -> String {
    format!("{:.1}&nbsp;%", 100.0 * share)
}

fn head(statistics: &Statistics) -> String {
    let splits: Vec<String> = statistics
        .splits
        .iter()
        .map(|(split, count)| format!("{count} {}", plain(split)))
        .collect();
    let state = if statistics.complete { "" } else { " It is unfinished." };
    let accepted = &statistics.passage.accepted;
    let likeness = &statistics.likeness;
    let farthest = statistics.figures.iter().map(|figure| figure.distance).fold(0.0, f64::max);
    let numbers = [
        (statistics.tasks.to_string(), "tasks".to_owned()),
        (percent(accepted.share), format!("of {} attempts accepted", accepted.total)),
        (format!("{farthest:.3}"), "largest distance from figure 3".to_owned()),
        (statistics.unique_rules.to_string(), "different rules".to_owned()),
        (percent(likeness.alike_share), "descriptions with a near twin".to_owned()),
    ];
    let mut cards = String::new();
    for (number, words) in numbers {
        let _ = write!(cards, "<div class=\"card\"><b>{number}</b><span>{words}</span></div>");
    }
    format!(
        "<h1>A corpus of {} tasks</h1><p class=\"soft\">{}; seed {}, made by factory {}.{state}</p>\
         <div class=\"cards\">{cards}</div>",
        statistics.tasks,
        splits.join(", "),
        statistics.seed,
        escape(&statistics.factory)
    )
}

fn figure(figure: &Figure) -> String {
    let largest = figure
        .shares
        .iter()
        .flat_map(|share| [share.interval.high, share.paper])
        .fold(0.01, f64::max);
    let place = |share: f64| 100.0 * share / largest;
    let mut text = format!("<section class=\"card\"><h3>{}</h3>", plain(&figure.title));
    for share in &figure.shares {
        let _ = write!(
            text,
            "<div class=\"row\" title=\"{} tasks; 95 % interval {:.1} to {:.1} %; asked {:.1} %; \
             paper {:.1} %\"><span>{}</span><div class=\"track\"><i style=\"width:{:.2}%\"></i>\
             <div class=\"reach\" style=\"left:{:.2}%;width:{:.2}%\"></div>\
             <div class=\"mark\" style=\"left:{:.2}%\"></div></div><span>{}</span></div>",
            share.count,
            100.0 * share.interval.low,
            100.0 * share.interval.high,
            100.0 * share.asked,
            100.0 * share.paper,
            plain(&share.name),
            place(share.share),
            place(share.interval.low),
            place(share.interval.high - share.interval.low),
            place(share.paper),
            percent(share.share),
        );
    }
    let (class, word) = if figure.far { ("bad", "far") } else { ("good", "near") };
    let _ = write!(
        text,
        "<p>Distance <span class=\"{class}\">{:.4} ({word})</span><br><span class=\"soft\">\
         divergence {:.5} bits, chance {:.4}</span></p></section>",
        figure.distance, figure.divergence, figure.chance
    );
    text
}

/// A named bar with a number behind it.
fn bar(name: &str, class: &str, share: f64, number: &str) -> String {
    format!(
        "<div class=\"row\"><span>{name}</span><div class=\"track\">\
         <i class=\"{class}\" style=\"width:{:.2}%\"></i></div><span>{number}</span></div>",
        100.0 * share
    )
}

fn passage(statistics: &Statistics) -> String {
    let passage = &statistics.passage;
    let mut ours = String::new();
    let mut theirs = String::new();
    for step in &passage.steps {
        let label = |name: &str, share: f64| {
            format!("{name} <span class=\"soft\">{}</span>", percent(share))
        };
        ours.push_str(&bar(
            &label(&step.name, step.share),
            "",
            step.share,
            &step.count.to_string(),
        ));
        let label = label(&step.paper_name, step.paper_share);
        theirs.push_str(&bar(&label, "theirs", step.paper_share, &step.paper.to_string()));
    }
    let refusals: usize = passage.reasons.values().flat_map(BTreeMap::values).sum();
    let mut reasons = String::new();
    for (stage, by_reason) in &passage.reasons {
        for (reason, count) in by_reason {
            let label = format!("{} <span class=\"soft\">{}</span>", plain(reason), plain(stage));
            let share = *count as f64 / refusals.max(1) as f64;
            reasons.push_str(&bar(&label, "", share, &count.to_string()));
        }
    }
    if reasons.is_empty() {
        reasons.push_str("<p class=\"soft\">Nothing was refused.</p>");
    }
    let tries: Vec<String> = passage
        .attempts
        .iter()
        .map(|(tries, slots)| format!("{slots} slots took {tries}"))
        .collect();
    let filled = &passage.filled;
    format!(
        "<h2>From attempts to tasks</h2><div class=\"grid\">\
         <section class=\"card\"><h3>Our attempts</h3>{ours}</section>\
         <section class=\"card\"><h3>The paper's tasks</h3>{theirs}</section>\
         <section class=\"card\"><h3>Why {refusals} attempts were refused</h3>{reasons}</section></div>\
         <p>Accepted: {} of attempts ({:.1} to {:.1}&nbsp;%); {} of {} slots hold a task in the end \
         ({}). <span class=\"soft\">The paper's {} counts tasks after up to five tries at a stage, \
         which compares with slots. {}.</span></p>",
        percent(passage.accepted.share),
        100.0 * passage.accepted.interval.low,
        100.0 * passage.accepted.interval.high,
        filled.count,
        filled.total,
        percent(filled.share),
        percent(passage.paper),
        tries.join(", ")
    )
}

fn sizes(statistics: &Statistics) -> String {
    let sizes = &statistics.sizes;
    let most = sizes.bins.iter().map(|bin| bin.train.max(bin.test)).max().unwrap_or(0).max(1);
    let mut bars = String::new();
    for bin in sizes.bins.iter().filter(|bin| bin.train + bin.test > 0) {
        for (class, count) in [("", bin.train), ("test", bin.test)] {
            let label = if class.is_empty() { bin.label() } else { String::new() };
            bars.push_str(&bar(&label, class, count as f64 / most as f64, &count.to_string()));
        }
    }
    let ((low, high), (usual_low, usual_high)) = (paper::SIZES, paper::USUAL_SIZES);
    format!(
        "<h2>Rows per task, beside figure 5</h2><p class=\"key\"><span>training rows</span>\
         <span class=\"test\">test rows</span></p><div class=\"card\">{bars}</div>\
         <p class=\"soft\">{} of {} tasks train on {low} to {high} rows, as the paper's are meant \
         to; {} on {usual_low} to {usual_high}, as most of them do.</p>",
        sizes.in_range, statistics.tasks, sizes.usual
    )
}

fn coverage(coverage: &BTreeMap<String, Counts>) -> String {
    let columns: BTreeSet<&String> = coverage.values().flat_map(Counts::keys).collect();
    let most = coverage.values().flat_map(Counts::values).copied().max().unwrap_or(1);
    let mut text = String::from("<div class=\"scroll\"><table><tr><th></th>");
    for column in &columns {
        let _ = write!(text, "<th>{}</th>", plain(column));
    }
    text.push_str("<th>all</th></tr>");
    for (modality, row) in coverage {
        let _ = write!(text, "<tr><td>{}</td>", plain(modality));
        for column in &columns {
            match row.get(*column) {
                Some(count) => {
                    let ink = 12.0 + 43.0 * *count as f64 / most as f64;
                    let _ = write!(
                        text,
                        "<td class=\"cell\" style=\"background:color-mix(in srgb, var(--ours) \
                         {ink:.0}%, transparent)\">{count}</td>"
                    );
                }
                None => text.push_str("<td class=\"cell soft\">·</td>"),
            }
        }
        let _ = write!(text, "<td>{}</td></tr>", row.values().sum::<usize>());
    }
    text.push_str("</table></div>");
    text
}

fn counts(title: &str, counts: &Counts) -> String {
    let mut order: Vec<(&String, usize)> =
        counts.iter().map(|(name, count)| (name, *count)).collect();
    order.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let most = order.first().map_or(1, |(_, count)| *count).max(1);
    let bars: String = order
        .iter()
        .map(|(name, count)| bar(&plain(name), "", *count as f64 / most as f64, &count.to_string()))
        .collect();
    format!("<section class=\"card\"><h3>{title}</h3>{bars}</section>")
}

/// A box and its whiskers per kind, on a scale from the least or 0 to the most.
fn boxes(rows: &BTreeMap<String, Quantiles>) -> String {
    let low = rows.values().map(|q| q.least).fold(0.0, f64::min);
    let high = rows.values().map(|q| q.most).fold(f64::MIN_POSITIVE, f64::max);
    let place = |value: f64| 100.0 * (value - low) / (high - low);
    let mut text = String::new();
    for (kind, q) in rows {
        let _ = write!(
            text,
            "<div class=\"row\" title=\"{} tasks, from {:.3} to {:.3}\"><span>{}</span>\
             <div class=\"track\"><div class=\"reach\" style=\"left:{:.2}%;width:{:.2}%\"></div>\
             <div class=\"box\" style=\"left:{:.2}%;width:{:.2}%\"></div>\
             <div class=\"mid\" style=\"left:{:.2}%\"></div></div><span>{:.3}</span></div>",
            q.count,
            q.least,
            q.most,
            plain(kind),
            place(q.q05),
            place(q.q95) - place(q.q05),
            place(q.q25),
            place(q.q75) - place(q.q25),
            place(q.median),
            q.median
        );
    }
    text
}

fn times(statistics: &Statistics) -> String {
    let mut rows = String::new();
    for (kind, q) in &statistics.passage.milliseconds {
        let _ = write!(
            rows,
            "<tr><td>{}</td><td>{}</td><td>{:.0}</td><td>{:.0}</td><td>{:.0}</td><td>{:.0}</td></tr>",
            plain(kind),
            q.count,
            q.q05,
            q.median,
            q.q95,
            q.most
        );
    }
    format!(
        "<h2>Milliseconds per attempt</h2><div class=\"scroll\"><table><tr><th></th><th>attempts</th>\
         <th>5&nbsp;%</th><th>median</th><th>95&nbsp;%</th><th>most</th></tr>{rows}</table></div>\
         <p class=\"soft\">{:.1} s over all attempts, one after the other.</p>",
        statistics.passage.seconds
    )
}

fn likeness(statistics: &Statistics) -> String {
    let likeness = &statistics.likeness;
    let mut rows = String::new();
    for pair in &likeness.closest {
        let class = if pair.jaccard > ALIKE { "bad" } else { "" };
        let _ = write!(
            rows,
            "<tr><td class=\"{class}\">{:.3}</td><td class=\"words\">{}</td>\
             <td class=\"words\">{}</td></tr>",
            pair.jaccard,
            escape(&pair.one),
            escape(&pair.other)
        );
    }
    let mut shared = String::new();
    for tasks in statistics.shared_rules.values() {
        let _ = write!(shared, "<p class=\"bad\">The same rule: {}</p>", escape(&tasks.join(", ")));
    }
    format!(
        "<h2>ScoreFeedback twice?</h2><p>{} of {} pairs of descriptions ({:.3}&nbsp;%) have more than {ALIKE} \
         of their runs of five words in common (Jaccard); {} of {} descriptions are in such a pair. \
         The closest:</p><div class=\"scroll\"><table>{rows}</table></div>{shared}",
        likeness.alike_pairs,
        likeness.pairs,
        100.0 * likeness.alike_pairs_share,
        likeness.alike,
        likeness.descriptions,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_the_page() {
        assert_eq!(plain("<a_b>&\""), "&lt;a b&gt;&amp;&quot;");
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        for word in ["http", "url(", "@import", "<script"] {
            assert!(!STYLE.contains(word), "{word}");
        }
    }
}
