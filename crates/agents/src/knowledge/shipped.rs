//! Tests of the base that is shipped: counts, coverage, packages, nothing said twice.

use super::base::Knowledge;
use super::card::{TRICK_WORDS, Trick};
use super::card_code::code_reads;
use super::exclusions::Exclusions;
use super::query::Query;
use super::retrieve::{RetrievalSettings, retrieve};
use super::task_labels::tests::cells;
use super::words::{count_words, words};
use std::collections::{BTreeMap, BTreeSet};

/// Word-4-grams that two cards may share, as the Jaccard index of their sets.
const ALIKE: f64 = 0.3;
/// Tricks of each label that tasks have.
const PER_LABEL: usize = 8;
/// Hard labels of the 22 competitions of low complexity and of the 16 of the paper.
const COMPETITIONS: [&str; 5] = [
    "Computer Vision",
    "Natural Language Processing",
    "Signal Processing",
    "Sequential Modeling",
    "General Machine Learning",
];

fn base() -> &'static Knowledge {
    Knowledge::shipped()
}

fn codes(tricks: &[Trick]) -> usize {
    tricks.iter().filter(|trick| trick.snippet.is_some()).count()
}

#[test]
fn shipped_base_has_its_counts() {
    assert_eq!(base().labels().hard().len(), 11);
    let soft: usize = base().labels().hard().iter().map(|hard| hard.soft.len()).sum();
    assert_eq!(soft, 75);
    let (tricks, methods) = (base().tricks().len(), base().methods().len());
    assert!(tricks >= 200, "{tricks} tricks");
    assert!(methods >= 60, "{methods} methods");
    let codes = codes(base().tricks());
    assert!(codes >= 80, "{codes} snippets");
}

#[test]
fn shipped_cards_keep_their_lengths() {
    for trick in base().tricks() {
        let id = &trick.id;
        assert!(count_words(&trick.how) <= TRICK_WORDS, "{id}: how");
        assert!(count_words(&trick.title) <= 20, "{id}: title");
        for (name, text) in [("when", &trick.when), ("why", &trick.why), ("risk", &trick.risk)] {
            assert!(count_words(text) <= 60, "{id}: {name} has {} words", count_words(text));
        }
        let ends = trick.why.trim_end_matches('.').matches(". ").count();
        assert_eq!(ends, 0, "{id}: why is one sentence");
        assert_eq!(code_reads(trick), None, "{id}: code");
    }
}

#[test]
fn shipped_cards_need_only_locked_packages() {
    let locked = include_str!("../../../../python/requirements.txt");
    let locked: BTreeSet<&str> =
        locked.lines().filter_map(|line| Some(line.split_once("==")?.0)).collect();
    for trick in base().tricks() {
        for name in &trick.needs {
            assert!(locked.contains(name.as_str()), "{} needs `{name}`", trick.id);
        }
    }
}

#[test]
fn shipped_cards_say_nothing_twice() {
    let texts: Vec<(&str, Vec<String>)> = base()
        .tricks()
        .iter()
        .map(|trick| (trick.id.as_str(), words(&trick.prose().join(" "))))
        .chain(
            base()
                .methods()
                .iter()
                .map(|method| (method.id.as_str(), words(&method.prose()[1..].join(" ")))),
        )
        .collect();
    let sets: Vec<(&str, BTreeSet<&[String]>)> =
        texts.iter().map(|(id, words)| (*id, words.windows(4).collect())).collect();
    let mut alike = Vec::new();
    for (at, (id, ours)) in sets.iter().enumerate() {
        for (other, theirs) in &sets[at + 1..] {
            let shared = ours.intersection(theirs).count();
            let all = ours.len() + theirs.len() - shared;
            let jaccard = if all == 0 { 0.0 } else { shared as f64 / all as f64 };
            if jaccard >= ALIKE {
                alike.push(format!("{id} and {other}: {jaccard:.2}"));
            }
        }
    }
    assert!(alike.is_empty(), "{alike:#?}");
}

#[test]
fn every_label_of_tasks_has_its_tricks() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for trick in base().tricks() {
        let hard: BTreeSet<&str> = trick.labels.iter().map(|label| label.hard.as_str()).collect();
        for hard in hard {
            *counts.entry(hard).or_default() += 1;
        }
    }
    let cells: Vec<_> = cells().collect();
    let hard = cells.iter().flat_map(|(_, labels)| labels.hard()).chain(COMPETITIONS);
    for hard in hard {
        let count = counts.get(hard).copied().unwrap_or_default();
        assert!(count >= PER_LABEL, "{hard} has {count} tricks");
    }
}

#[test]
fn every_cell_reaches_tricks_and_code() {
    let mut wrong = Vec::new();
    for (name, labels) in cells() {
        let query = Query {
            task: "task".to_owned(),
            statement: name.clone(),
            labels,
            description: String::new(),
            columns: [].into(),
        };
        let settings = RetrievalSettings::default();
        let ranked =
            retrieve(base(), &query, &Exclusions::default(), &settings, base().lexical()).unwrap();
        let ready = ranked.ready(base(), 12);
        let codes = ready.iter().filter(|id| base().trick(id).unwrap().snippet.is_some()).count();
        if ready.len() < 6 || codes < 3 {
            wrong.push(format!("{name}: {} tricks, {codes} with code", ready.len()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
