//! Statistics for the terminal.

use super::figure::{Figure, NEAR};
use super::funnel::Rate;
use super::groups::Counts;
use super::paper;
use super::statistics::Statistics;
use super::structure::StructureRow;
use crate::data::likeness::ALIKE;
use crate::numeric::intervals::Quantiles;
use crate::page::{MaskedSentence, PageDiversity};
use crate::roles::RoleCost;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use tasks::rating::Level;

/// The statistics as text for a terminal, in sections.
pub fn text(statistics: &Statistics) -> String {
    let sections = [
        head(statistics),
        statistics.figures.iter().map(figure).collect::<Vec<_>>().join("\n"),
        sizes(statistics),
        passage(statistics),
        coverage(&statistics.coverage),
        counts("Families", &statistics.families),
        held_out(statistics),
        structure(&statistics.structure),
        levels(statistics),
        counts("Metrics", &statistics.metrics),
        counts("Mutations", &statistics.mutations),
        quantiles(
            "Left to discover: (R3 - R2) / (ceiling - R0)",
            &statistics.discovery,
            &|value| format!("{value:.3}"),
        ),
        quantiles("Milliseconds per attempt", &statistics.passage.milliseconds, &|value| {
            format!("{value:.0}")
        }),
        likeness(statistics),
        pages(&statistics.pages),
    ];
    let told: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    let mut text = told.join("\n");
    text.truncate(text.trim_end().len());
    text
}

fn head(statistics: &Statistics) -> String {
    let splits: Vec<String> =
        statistics.splits.iter().map(|(split, count)| format!("{count} {split}")).collect();
    let state = if statistics.complete { "" } else { ", unfinished" };
    format!(
        "{} tasks ({}), seed {}, factory {}{state}\n",
        statistics.tasks,
        splits.join(", "),
        statistics.seed,
        statistics.factory
    )
}

fn figure(figure: &Figure) -> String {
    let mut text = format!(
        "{:<24}{:>6}{:>9}   {:<15}{:>8}{:>8}\n",
        format!("{} (figure 3)", figure.title),
        "tasks",
        "ours",
        "95 % interval",
        "asked",
        "paper"
    );
    for share in &figure.shares {
        let outside = if share.interval.holds(share.paper) { "" } else { "  outside" };
        let interval =
            format!("{:.1} - {:.1}", 100.0 * share.interval.low, 100.0 * share.interval.high);
        let _ = writeln!(
            text,
            "  {:<22}{:>6}{:>9.1}   {interval:<15}{:>8.1}{:>8.1}{outside}",
            share.name,
            share.count,
            100.0 * share.share,
            100.0 * share.asked,
            100.0 * share.paper,
        );
    }
    let mark = if figure.far { format!("FAR, above {NEAR}") } else { "near".to_owned() };
    let _ = writeln!(
        text,
        "  Jensen-Shannon distance {:.4} ({mark}); divergence {:.5} bits; chance alone {:.4}",
        figure.distance, figure.divergence, figure.chance
    );
    text
}

fn sizes(statistics: &Statistics) -> String {
    let sizes = &statistics.sizes;
    let most = sizes.bins.iter().map(|bin| bin.train.max(bin.test)).max().unwrap_or(0);
    let mut text = format!("{:<14}{:>6}{:>6}\n", "Rows (figure 5)", "train", "test");
    for bin in sizes.bins.iter().filter(|bin| bin.train + bin.test > 0) {
        let _ = writeln!(
            text,
            "  {:<13}{:>6}{:>6}  {:<20} {}",
            bin.label(),
            bin.train,
            bin.test,
            bar('#', bin.train, most),
            bar('-', bin.test, most)
        );
    }
    let ((low, high), (usual_low, usual_high)) = (paper::SIZES, paper::USUAL_SIZES);
    let _ = writeln!(
        text,
        "  {} tasks train on {low} to {high} rows, as the paper's are meant to; {} on {usual_low} \
         to {usual_high}, as most of them do",
        sizes.in_range, sizes.usual
    );
    text
}

fn structure(rows: &[StructureRow]) -> String {
    if rows.iter().all(|row| row.quantiles.is_none()) {
        return String::new();
    }
    let mut text =
        format!("{:<26}{:>6}{:>9}{:>9}{:>9}\n", "Structure", "tasks", "5 %", "median", "95 %");
    for row in rows {
        let Some(Quantiles { q05, median, q95, .. }) = &row.quantiles else { continue };
        let (name, tasks) = (&row.statistic, row.tasks);
        let _ = writeln!(text, "  {name:<24}{tasks:>6}{q05:>9.2}{median:>9.2}{q95:>9.2}");
    }
    text
}

fn bar(ink: char, count: usize, most: usize) -> String {
    std::iter::repeat_n(ink, (20 * count).div_ceil(most.max(1))).collect()
}

fn passage(statistics: &Statistics) -> String {
    let passage = &statistics.passage;
    let mut text =
        format!("{:<26}{:>6}{:>9}   {:<26}{:>6}{:>9}\n", "Funnel", "", "", "paper", "", "");
    for step in &passage.steps {
        let _ = writeln!(
            text,
            "  {:<24}{:>6}{:>7.1} %   {:<26}{:>6}{:>7.1} %",
            step.name,
            step.count,
            100.0 * step.share,
            step.paper_name,
            step.paper,
            100.0 * step.paper_share
        );
    }
    let _ = writeln!(text, "  attempts accepted {}", rate(&passage.accepted));
    let _ = writeln!(
        text,
        "  slots filled {}; the paper's {:.1} % counts tasks after repeats, as this does",
        rate(&passage.filled),
        100.0 * passage.paper
    );
    let attempts: Vec<String> =
        passage.attempts.iter().map(|(tries, slots)| format!("{slots} in {tries}")).collect();
    let _ = writeln!(text, "  slots by attempts: {}", attempts.join(", "));
    for (stage, reasons) in &passage.reasons {
        for (reason, count) in reasons {
            let _ = writeln!(text, "  refused {count:>5}  {stage}: {reason}");
        }
    }
    let _ = writeln!(text, "  {:.1} s over all attempts", passage.seconds);
    if let Some(cost) = &passage.cost {
        let _ = writeln!(text, "  {}", paid(cost));
    }
    text
}

/// What chat models consumed, in a line.
fn paid(cost: &RoleCost) -> String {
    let price = cost.cost_micro_usd.map_or("price unknown".to_owned(), |micro| {
        format!("{}.{:06} USD", micro / 1_000_000, micro % 1_000_000)
    });
    format!(
        "{} calls of chat models: {} prompt and {} completion tokens, {price}",
        cost.calls, cost.prompt_tokens, cost.completion_tokens
    )
}

fn rate(rate: &Rate) -> String {
    format!(
        "{} of {}: {:.1} % ({:.1} - {:.1})",
        rate.count,
        rate.total,
        100.0 * rate.share,
        100.0 * rate.interval.low,
        100.0 * rate.interval.high
    )
}

fn coverage(coverage: &BTreeMap<String, Counts>) -> String {
    let columns: BTreeSet<&String> = coverage.values().flat_map(Counts::keys).collect();
    let mut text = format!("{:<14}", "Coverage");
    for column in &columns {
        let _ = write!(text, "{column:>15}");
    }
    text.push('\n');
    for (modality, row) in coverage {
        let _ = write!(text, "  {modality:<12}");
        for column in &columns {
            let cell = row.get(*column).map_or("·".to_owned(), ToString::to_string);
            let _ = write!(text, "{cell:>15}");
        }
        text.push('\n');
    }
    text
}

fn counts(title: &str, counts: &Counts) -> String {
    let mut order: Vec<(&String, &usize)> = counts.iter().collect();
    order.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let list: Vec<String> = order.iter().map(|(name, count)| format!("{name} {count}")).collect();
    format!("{title}: {}\n", list.join(", "))
}

/// What is new in held-out tasks.
fn held_out(statistics: &Statistics) -> String {
    let mut text = format!(
        "{:<24}{:>9}{:>10}{:>10}{:>14}\n",
        "Held out", "distinct", "training", "val alone", "new val tasks"
    );
    for row in &statistics.held_out {
        let new = format!("{} of {}", row.new_tasks, row.tasks);
        let _ = writeln!(
            text,
            "  {:<22}{:>9}{:>10}{:>10}{new:>14}",
            row.respect, row.distinct, row.trained, row.held_out
        );
    }
    text
}

/// How hard tasks are, by what the level follows from and by modality.
fn levels(statistics: &Statistics) -> String {
    let mut text = format!("{:<24}", "Level of difficulty");
    for level in Level::ALL {
        let _ = write!(text, "{level:>6}");
    }
    text.push('\n');
    let sources = statistics.levels.iter().map(|(source, counts)| (format!("by {source}"), counts));
    let kinds = statistics.levels_by_modality.iter().map(|(kind, counts)| (kind.clone(), counts));
    for (name, counts) in sources.chain(kinds) {
        let _ = write!(text, "  {name:<22}");
        for level in Level::ALL {
            let count = counts.get(&level.to_string()).copied().unwrap_or(0);
            let _ = write!(text, "{count:>6}");
        }
        text.push('\n');
    }
    text
}

fn quantiles(
    title: &str,
    rows: &BTreeMap<String, Quantiles>,
    write: &dyn Fn(f64) -> String,
) -> String {
    let mut text = format!(
        "{title}\n  {:<24}{:>6}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
        "", "count", "least", "5 %", "25 %", "median", "75 %", "95 %", "most"
    );
    for (kind, q) in rows {
        let _ = write!(text, "  {kind:<24}{:>6}", q.count);
        for value in [q.least, q.q05, q.q25, q.median, q.q75, q.q95, q.most] {
            let _ = write!(text, "{:>9}", write(value));
        }
        text.push('\n');
    }
    text
}

fn likeness(statistics: &Statistics) -> String {
    let likeness = &statistics.likeness;
    let mut text =
        format!("Rules: {} different in {} tasks\n", statistics.unique_rules, statistics.tasks);
    for tasks in statistics.shared_rules.values() {
        let _ = writeln!(text, "  the same rule: {}", tasks.join(", "));
    }
    let _ = writeln!(
        text,
        "Descriptions alike (Jaccard of 5-grams above {ALIKE}): {} of {} pairs ({:.3} %), {} of {} \
         descriptions ({:.1} %)",
        likeness.alike_pairs,
        likeness.pairs,
        100.0 * likeness.alike_pairs_share,
        likeness.alike,
        likeness.descriptions,
        100.0 * likeness.alike_share
    );
    for pair in &likeness.closest {
        let _ = writeln!(text, "  {:.3}  {} and {}", pair.jaccard, pair.one, pair.other);
    }
    text
}

fn pages(pages: &PageDiversity) -> String {
    let mut text = format!("Pages: {} looked at", pages.pages);
    if let Some(words) = &pages.words {
        let _ = write!(
            text,
            "; words {:.0} at least, {:.0} in the middle, {:.0} at most",
            words.least, words.median, words.most
        );
    }
    let _ = write!(
        text,
        "\n  distinct 4-grams: {} of {} ({:.1} %), of the prose alone {} of {} ({:.1} %)\n  ROUGE-L with the nearest page \
         {:.3}\n  sentences of the prose that another page has too: {} of {} ({:.1} %)\n",
        pages.whole.distinct,
        pages.whole.all,
        100.0 * pages.whole.share,
        pages.prose.distinct,
        pages.prose.all,
        100.0 * pages.prose.share,
        pages.nearest_rouge_l,
        pages.shared_sentences,
        pages.sentences,
        100.0 * pages.shared_sentences_share
    );
    let _ = writeln!(
        text,
        "  self-BLEU-4 without the list `At a glance` {:.3}, of the prose alone {:.3}",
        pages.self_bleu_4, pages.self_bleu_4_prose
    );
    let most = [
        ("of the prose", &pages.most_frequent_masked_sentence),
        ("of whole pages", &pages.most_frequent_masked_sentence_whole),
    ];
    for (of, found) in most {
        let Some(MaskedSentence { sentence, share }) = found else { continue };
        let _ = writeln!(
            text,
            "  most frequent masked sentence {of}: in {:.1} % of pages: {sentence}",
            100.0 * share
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn price_is_written_in_dollars_to_the_millionth() {
        let cost = RoleCost {
            calls: 9,
            prompt_tokens: 27_000,
            completion_tokens: 8000,
            cost_micro_usd: Some(1_020_304),
        };
        let line = "9 calls of chat models: 27000 prompt and 8000 completion tokens, 1.020304 USD";
        assert_eq!(paid(&cost), line);
        let unknown = RoleCost { cost_micro_usd: None, ..cost };
        assert!(paid(&unknown).ends_with("price unknown"));
    }
}
