//! Statistics as one HTML page that needs nothing else: no scripts, no fonts, no pictures.

use super::figure::{Figure, NEAR};
use super::groups::Counts;
use super::paper;
use super::statistics::Statistics;
use super::structure::StructureRow;
use crate::data::likeness::ALIKE;
use crate::numeric::intervals::Quantiles;
use crate::page::PageDiversity;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};
use tasks::rating::Level;
use web::chart::{ChartRow, Key, Mark, RowChart, legend};
use web::page::{Document, scroll};

const STYLE: &str = include_str!("page.css");

/// The statistics as a self-contained HTML page.
pub fn page(statistics: &Statistics) -> String {
    let body = html! {
        (head(statistics))
        (figures(&statistics.figures))
        (passage(statistics))
        (sizes(statistics))
        h2 { "Modality and formulation" }
        div.card { (scroll("tasks by modality and formulation", &coverage(&statistics.coverage))) }
        h2 { "Rules, metrics, mutations" }
        div.grid {
            (bar_chart("Families of rules", &statistics.families))
            (bar_chart("Metrics", &statistics.metrics))
            (bar_chart("Mutations", &statistics.mutations))
        }
        (held_out(statistics))
        (structure(&statistics.structure))
        (levels(statistics))
        (discovery(&statistics.discovery))
        (times(statistics))
        (likeness(statistics))
        (pages(&statistics.pages))
    };
    Document { title: "Statistics of a corpus", style: STYLE, body }.html()
}

/// How hard tasks are, by what the level follows from and by modality.
fn levels(statistics: &Statistics) -> Markup {
    let sources = statistics.levels.iter().map(|(source, counts)| (format!("by {source}"), counts));
    let kinds = statistics.levels_by_modality.iter().map(|(kind, counts)| (plain(kind), counts));
    let table = html! {
        table {
            tr {
                td {}
                @for level in Level::ALL { th.number scope="col" { (level.number()) } }
            }
            @for (name, counts) in sources.chain(kinds) {
                tr {
                    th scope="row" { (name) }
                    @for level in Level::ALL {
                        td.number { (counts.get(&level.to_string()).copied().unwrap_or(0)) }
                    }
                }
            }
        }
    };
    html! {
        h2 { "Level of difficulty" }
        div.card { (scroll("tasks by level of difficulty", &table)) }
        p.note {
            "1: a first look wins a medal, 2: a careful engineer, 3: a specialist or a network, 4: "
            "none, but the median is reached, 5: not even that. Tasks that no solver has rated "
            "(" code { "factory rate" } ") are placed by their ladder."
        }
    }
}

/// What is new in held-out tasks.
fn held_out(statistics: &Statistics) -> Markup {
    let table = html! {
        table {
            thead { tr {
                th { "respect" } th.num { "different ones" } th.num { "in training" }
                th.num { "held out alone" } th.num { "held-out tasks that are new" }
            } }
            tbody {
                @for row in &statistics.held_out {
                    tr {
                        td { (row.respect) } td.num { (row.distinct) } td.num { (row.trained) }
                        td.num { (row.held_out) } td.num { (row.new_tasks) " of " (row.tasks) }
                    }
                }
            }
        }
    };
    html! {
        h2 { "What is held out" }
        div.card { (scroll("what held-out tasks have that training tasks do not", &table)) }
        p.note {
            "The skeleton of a rule is the types of its terms, without columns, constants and signs. "
            "A held-out task is new in a respect if no training task shares anything of it."
        }
    }
}

/// What the public tables show of the tasks' structure.
fn structure(rows: &[StructureRow]) -> Markup {
    let number = |value: f64| format!("{value:.2}");
    let table = html! {
        table {
            thead { tr {
                th { "statistic" } th.num { "tasks" } th.num { "5 %" } th.num { "median" }
                th.num { "95 %" }
            } }
            tbody {
                @for row in rows {
                    @if let Some(found) = &row.quantiles {
                        tr {
                            td { (row.statistic) } td.num { (row.tasks) }
                            td.num { (number(found.q05)) } td.num { (number(found.median)) }
                            td.num { (number(found.q95)) }
                        }
                    }
                }
            }
        }
    };
    html! {
        h2 { "Structure" }
        div.card { (scroll("the structure of tasks, from their public tables", &table)) }
        p.note { "Over the tasks that have it, measured on `train.csv` and `test.csv` alone." }
    }
}

/// A name as it is read.
fn plain(name: &str) -> String {
    name.replace('_', " ")
}

fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", 100.0 * share)
}

/// A chart in a card of its own.
fn card(chart: &RowChart) -> Markup {
    html! { section.card { (chart.html()) } }
}

fn head(statistics: &Statistics) -> Markup {
    let splits: Vec<String> = statistics
        .splits
        .iter()
        .map(|(split, count)| format!("{count} {}", plain(split)))
        .collect();
    let accepted = &statistics.passage.accepted;
    let farthest = statistics.figures.iter().map(|figure| figure.distance).fold(0.0, f64::max);
    let numbers = [
        (statistics.tasks.to_string(), "tasks".to_owned()),
        (percent(accepted.share), format!("of {} attempts accepted", accepted.total)),
        (format!("{farthest:.3}"), "largest distance from figure 3".to_owned()),
        (statistics.unique_rules.to_string(), "different rules".to_owned()),
        (percent(statistics.likeness.alike_share), "descriptions with a near twin".to_owned()),
    ];
    html! {
        h1 { "A corpus of " (statistics.tasks) " tasks" }
        p.note {
            (splits.join(", ")) "; seed " (statistics.seed) ", made by factory "
            (statistics.factory) "."
            @if !statistics.complete { " It is unfinished." }
        }
        div.numbers {
            @for (number, words) in numbers { div.card { b { (number) } small { (words) } } }
        }
    }
}

fn figures(figures: &[Figure]) -> Markup {
    let keys = [
        (Key::Bar(0), "ours"),
        (Key::Interval, "95 % interval (Wilson)"),
        (Key::Target, "the paper's share"),
    ];
    html! {
        h2 { "Kinds of tasks, beside figure 3" }
        (legend(&keys))
        div.grid { @for shown in figures { (figure(shown)) } }
        p.note {
            "The distance is Jensen-Shannon's: the square root of the divergence in bits, 0 to 1, "
            "far above " (NEAR) ". Chance is the distance of a corpus of this size drawn at random "
            "from the paper's shares."
        }
    }
}

fn figure(figure: &Figure) -> Markup {
    let rows = figure.shares.iter().map(|share| {
        let (low, high) = (100.0 * share.interval.low, 100.0 * share.interval.high);
        ChartRow {
            label: plain(&share.name),
            note: String::new(),
            detail: format!(
                "{} tasks; 95 % interval {low:.1} to {high:.1} %; asked {}; paper {}",
                share.count,
                percent(share.asked),
                percent(share.paper)
            ),
            marks: vec![(
                Mark::Bar {
                    value: 100.0 * share.share,
                    series: 0,
                    interval: Some((low, high)),
                    target: Some(100.0 * share.paper),
                },
                percent(share.share),
            )],
        }
    });
    let chart = RowChart {
        title: plain(&figure.title),
        x_label: "% of tasks".to_owned(),
        rows: rows.collect(),
        reversed: false,
        reference: None,
    };
    let (class, word) = if figure.far { ("bad", "far") } else { ("good", "near") };
    html! {
        section.card {
            (chart.html())
            p {
                "Distance " span class=(class) { (format!("{:.4} ({word})", figure.distance)) } br;
                small {
                    (format!("divergence {:.5} bits, chance {:.4}", figure.divergence, figure.chance))
                }
            }
        }
    }
}

/// A bar with its share as a remark and its count as the number.
fn share_row(name: &str, note: String, share: f64, count: usize, series: usize) -> ChartRow {
    ChartRow {
        label: name.to_owned(),
        note,
        detail: String::new(),
        marks: vec![(Mark::bar(100.0 * share, series), count.to_string())],
    }
}

fn passage(statistics: &Statistics) -> Markup {
    let passage = &statistics.passage;
    let chart = |title: &str, x_label: &str, rows: Vec<ChartRow>| RowChart {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        rows,
        reversed: false,
        reference: None,
    };
    let ours = passage
        .steps
        .iter()
        .map(|step| share_row(&step.name, percent(step.share), step.share, step.count, 0));
    let theirs = passage.steps.iter().map(|step| {
        share_row(&step.paper_name, percent(step.paper_share), step.paper_share, step.paper, 1)
    });
    let refusals: usize = passage.reasons.values().flat_map(BTreeMap::values).sum();
    let reasons = passage.reasons.iter().flat_map(|(stage, by_reason)| {
        by_reason.iter().map(move |(reason, count)| {
            let share = *count as f64 / refusals.max(1) as f64;
            share_row(&plain(reason), plain(stage), share, *count, 0)
        })
    });
    let reasons: Vec<ChartRow> = reasons.collect();
    let tries: Vec<String> = passage
        .attempts
        .iter()
        .map(|(tries, slots)| format!("{slots} slots took {tries}"))
        .collect();
    let (accepted, filled) = (&passage.accepted, &passage.filled);
    html! {
        h2 { "From attempts to tasks" }
        div.grid {
            (card(&chart("Our attempts", "% of attempts", ours.collect())))
            (card(&chart("The paper's tasks", "% of tasks", theirs.collect())))
            @if reasons.is_empty() {
                section.card { h3 { "Refusals" } p.note { "Nothing was refused." } }
            } @else {
                (card(&chart(
                    &format!("Why {refusals} attempts were refused"), "% of refusals", reasons
                )))
            }
        }
        p {
            "Accepted: " (percent(accepted.share)) " of attempts ("
            (format!("{:.1}", 100.0 * accepted.interval.low)) " to "
            (percent(accepted.interval.high)) "); " (filled.count) " of " (filled.total)
            " slots hold a task in the end (" (percent(filled.share)) ")."
        }
        p.note {
            "The paper's " (percent(passage.paper)) " counts tasks after up to five tries at a "
            "stage, which compares with slots. " (tries.join(", ")) "."
        }
    }
}

fn sizes(statistics: &Statistics) -> Markup {
    let sizes = &statistics.sizes;
    let row = |label: String, train: usize, test: usize| ChartRow {
        label,
        note: String::new(),
        detail: String::new(),
        marks: vec![
            (Mark::bar(train as f64, 0), train.to_string()),
            (Mark::bar(test as f64, 1), test.to_string()),
        ],
    };
    let bins = sizes.bins.iter().filter(|bin| bin.train + bin.test > 0);
    let chart = RowChart {
        title: String::new(),
        x_label: "tasks with so many rows".to_owned(),
        rows: bins.map(|bin| row(bin.label(), bin.train, bin.test)).collect(),
        reversed: false,
        reference: None,
    };
    let ((low, high), (usual_low, usual_high)) = (paper::SIZES, paper::USUAL_SIZES);
    html! {
        h2 { "Rows per task, beside figure 5" }
        (legend(&[(Key::Bar(0), "training rows"), (Key::Bar(1), "test rows")]))
        div.grid { (card(&chart)) }
        p.note {
            (sizes.in_range) " of " (statistics.tasks) " tasks train on " (low) " to " (high)
            " rows, as the paper's are meant to; " (sizes.usual) " on " (usual_low) " to "
            (usual_high) ", as most of them do."
        }
    }
}

/// A table of counts; the more tasks, the darker the cell.
fn coverage(coverage: &BTreeMap<String, Counts>) -> Markup {
    let columns: BTreeSet<&String> = coverage.values().flat_map(Counts::keys).collect();
    let most = coverage.values().flat_map(Counts::values).copied().max().unwrap_or(1);
    let shade = |count: usize| {
        let share = 8.0 + 27.0 * count as f64 / most as f64;
        format!("background:color-mix(in srgb, var(--c0) {share:.0}%, transparent)")
    };
    html! {
        table {
            tr {
                td {}
                @for column in &columns { th.cell scope="col" { (plain(column)) } }
                th.number scope="col" { "all" }
            }
            @for (modality, row) in coverage {
                tr {
                    th scope="row" { (plain(modality)) }
                    @for column in &columns {
                        @match row.get(*column) {
                            Some(count) => td.cell style=(shade(*count)) { (count) },
                            None => td.cell.faint { "·" },
                        }
                    }
                    td.number { (row.values().sum::<usize>()) }
                }
            }
        }
    }
}

fn bar_chart(title: &str, counts: &Counts) -> Markup {
    let mut order: Vec<(&String, usize)> =
        counts.iter().map(|(name, count)| (name, *count)).collect();
    order.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let bars: Vec<(String, f64, String)> = order
        .into_iter()
        .map(|(name, count)| (plain(name), count as f64, count.to_string()))
        .collect();
    card(&RowChart::bars(title, "tasks", &bars))
}

/// What only the rule's own transforms find, by kind of task.
fn discovery(rows: &BTreeMap<String, Quantiles>) -> Markup {
    let row = |(kind, q): (&String, &Quantiles)| ChartRow {
        label: plain(kind),
        note: String::new(),
        detail: format!("{} tasks, from {:.3} to {:.3}", q.count, q.least, q.most),
        marks: vec![(
            Mark::Spread { outer: (q.q05, q.q95), inner: (q.q25, q.q75), median: q.median },
            format!("{:.3}", q.median),
        )],
    };
    let chart = RowChart {
        title: String::new(),
        x_label: "(R3 − R2) / (ceiling − R0)".to_owned(),
        rows: rows.iter().map(row).collect(),
        reversed: false,
        reference: None,
    };
    html! {
        h2 { "Left to discover" }
        p.note {
            "(R3 − R2) / (ceiling − R0): of the way from a constant to the ceiling, the part that "
            "only the rule's own transforms go. Box: the middle half of the tasks, with the median; "
            "whiskers: 5 to 95 %."
        }
        div.grid { (card(&chart)) }
    }
}

fn times(statistics: &Statistics) -> Markup {
    let table = html! {
        table {
            tr {
                td {}
                @for name in ["attempts", "5 %", "median", "95 %", "most"] {
                    th.number scope="col" { (name) }
                }
            }
            @for (kind, q) in &statistics.passage.milliseconds {
                tr {
                    th scope="row" { (plain(kind)) }
                    td.number { (q.count) }
                    @for value in [q.q05, q.median, q.q95, q.most] {
                        td.number { (format!("{value:.0}")) }
                    }
                }
            }
        }
    };
    html! {
        h2 { "Milliseconds per attempt" }
        div.card { (scroll("milliseconds per attempt", &table)) }
        p.note {
            (format!("{:.1} s", statistics.passage.seconds))
            " over all attempts, one after the other."
        }
    }
}

fn likeness(statistics: &Statistics) -> Markup {
    let likeness = &statistics.likeness;
    let table = html! {
        table {
            tr {
                th scope="col" { "in common" }
                th scope="col" { "one" }
                th scope="col" { "other" }
            }
            @for pair in &likeness.closest {
                tr {
                    td class=[(pair.jaccard > ALIKE).then_some("bad")] {
                        (format!("{:.3}", pair.jaccard))
                    }
                    td.words { (pair.one) }
                    td.words { (pair.other) }
                }
            }
        }
    };
    html! {
        h2 { "Similar descriptions" }
        p {
            (likeness.alike_pairs) " of " (likeness.pairs) " pairs of descriptions ("
            (format!("{:.3} %", 100.0 * likeness.alike_pairs_share)) ") have more than " (ALIKE)
            " of their runs of five words in common (Jaccard); " (likeness.alike) " of "
            (likeness.descriptions) " descriptions are in such a pair. The closest:"
        }
        div.card { (scroll("the closest pairs of descriptions", &table)) }
        @for tasks in statistics.shared_rules.values() {
            p.bad { "The same rule: " (tasks.join(", ")) }
        }
    }
}

fn pages(pages: &PageDiversity) -> Markup {
    let rows = [
        ("distinct runs of four words", percent(pages.whole.share)),
        ("the same of the prose alone", percent(pages.prose.share)),
        ("ROUGE-L with the nearest page, mean", format!("{:.3}", pages.nearest_rouge_l)),
        ("sentences of the prose that another page has too", percent(pages.shared_sentences_share)),
        ("self-BLEU-4", format!("{:.3}", pages.self_bleu_4)),
        ("the same of the prose alone", format!("{:.3}", pages.self_bleu_4_prose)),
        (
            "pages with the most frequent masked sentence of the prose",
            percent(pages.most_frequent_masked_sentence.as_ref().map_or(0.0, |most| most.share)),
        ),
    ];
    let words = pages.words.as_ref().map(|words| {
        (
            "words of a page, median",
            format!("{:.0} ({:.0} to {:.0})", words.median, words.least, words.most),
        )
    });
    let table = html! {
        table {
            @for (name, value) in rows.into_iter().chain(words) {
                tr { th scope="row" { (name) } td.number { (value) } }
            }
        }
    };
    html! {
        h2 { "Pages" }
        div.card { (scroll("diversity of description pages", &table)) }
        p.note {
            (pages.pages) " description pages, evenly spaced. Prose is what stands outside of headings, "
            "tables, examples and the sections whose form is fixed; sentences of three words or more "
            "count."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_markup_stays_text() {
        let counts = Counts::from([("<a_b>&\"".to_owned(), 1)]);
        let html = bar_chart("Families", &counts).into_string();
        assert!(html.contains("&lt;a b&gt;&amp;") && !html.contains("<a"), "{html}");
    }

    #[test]
    fn style_fetches_nothing() {
        for word in ["http", "url(", "@import"] {
            assert!(!STYLE.contains(word), "{word}");
        }
    }
}
