//! Answers from what texts say, without looking at how they were made.

use super::claim::Code;
use super::lexicon::{ELEMENTS, FIELDS};
use super::{Noc4pc, Novelty, Par4pc, Pi4pc, PriorArt, WRONG};
use crate::kind::Scale;
use crate::pool::RawRow;
use crate::single::Question;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

fn items<Q: Question>(scale: Scale, count: u64) -> Vec<Q::Item> {
    let stream = Stream::root(5).child(Q::NAME).child(scale.name());
    (0..count).filter_map(|number| Q::draw(scale, &mut stream.index(number).rng())).collect()
}

/// The elements that a text names, in either wording.
fn read(text: &str) -> BTreeSet<&'static str> {
    let text = format!(" {} ", crate::grams::words(text).join(" "));
    let names = |words: &str| text.contains(&format!(" {words} "));
    // `toothed wheel` names no `wheel`.
    let plain = ELEMENTS
        .iter()
        .fold(text.clone(), |text, element| text.replace(&format!(" {} ", element.other), " | "));
    ELEMENTS
        .iter()
        .filter(|element| names(element.other) || plain.contains(&format!(" {} ", element.name)))
        .map(|element| element.name)
        .collect()
}

/// Every smallest choice of one document, or two of one field, whose texts name all of the claim.
fn choices(claim: &str, documents: &[&str]) -> Vec<Vec<usize>> {
    let (_, rest) = claim.split_once(" with ").unwrap();
    let wanted = read(rest);
    let sets: Vec<_> =
        documents.iter().map(|text| read(text.split_once(" with ").unwrap().1)).collect();
    let field = |text: &str| text.split(':').next().unwrap().to_lowercase();
    assert!(documents.iter().all(|text| FIELDS.contains(&field(text).as_str())));
    let all = |chosen: &[usize]| {
        let union: BTreeSet<_> = chosen.iter().flat_map(|&one| sets[one].iter()).collect();
        wanted.iter().all(|element| union.contains(element))
    };
    let one: Vec<Vec<usize>> =
        (0..documents.len()).map(|one| vec![one]).filter(|chosen| all(chosen)).collect();
    if !one.is_empty() {
        return one;
    }
    let pairs = (0..documents.len()).flat_map(|a| (0..a).map(move |b| vec![b, a]));
    pairs
        .filter(|pair| field(documents[pair[0]]) == field(documents[pair[1]]) && all(pair))
        .collect()
}

#[test]
fn prior_art_is_the_only_smallest_choice_by_the_texts() {
    for scale in Scale::ALL {
        let items = items::<Par4pc>(scale, 1500);
        assert!(items.len() > 500, "{}", items.len());
        for PriorArt { claim, documents, answer } in &items {
            let texts: Vec<&str> = documents.iter().map(|one| one.text.as_str()).collect();
            let expected: Vec<usize> =
                answer.iter().map(|&letter| letter as usize - 'A' as usize).collect();
            assert_eq!(choices(&claim.text(), &texts), [expected], "{claim:?} {texts:?}");
        }
        let pairs = items.iter().filter(|item| item.answer.len() == 2).count();
        assert!((0.2..0.8).contains(&(pairs as f64 / items.len() as f64)), "{pairs}");
    }
}

#[test]
fn codes_follow_from_the_texts_and_are_equally_frequent() {
    for scale in Scale::ALL {
        let items = items::<Noc4pc>(scale, 1500);
        let mut counts: BTreeMap<Code, usize> = BTreeMap::new();
        for Novelty { claim, documents, code } in &items {
            *counts.entry(*code).or_default() += 1;
            let texts: Vec<&str> = documents.iter().map(|one| one.text.as_str()).collect();
            let expected = match choices(&claim.text(), &texts).first().map(Vec::len) {
                None => Code::Allow,
                Some(1) => Code::NotNew,
                Some(_) => Code::Obvious,
            };
            assert_eq!(*code, expected, "{claim:?} {texts:?}");
        }
        for (code, count) in counts {
            let share = count as f64 / items.len() as f64;
            assert!((0.25..0.42).contains(&share), "{code:?}: {share}");
        }
    }
}

#[test]
fn one_paragraph_names_the_element_by_its_text() {
    for scale in Scale::ALL {
        for item in items::<Pi4pc>(scale, 500) {
            let element = item.element.as_str();
            let found: Vec<u32> = item
                .paragraphs
                .iter()
                .filter(|paragraph| read(&paragraph.text).contains(element))
                .map(|paragraph| paragraph.id)
                .collect();
            assert_eq!(found, [item.answer], "{item:?}");
        }
    }
}

#[test]
fn questions_read_well() {
    let mut texts = Vec::new();
    for scale in Scale::ALL {
        texts.extend(items::<Par4pc>(scale, 4).iter().take(1).map(Par4pc::render));
        texts.extend(items::<Noc4pc>(scale, 4).iter().take(1).map(Noc4pc::render));
        texts.extend(items::<Pi4pc>(scale, 4).iter().take(1).map(Pi4pc::render));
    }
    insta::assert_snapshot!(texts.join("\n\n"));
}

/// The share of raw rows whose label, read by `label`, is not that of their item.
fn wrong<Q: Question>(label: fn(&Value) -> Value, truth: fn(&Q::Item) -> Value) -> f64 {
    let items = items::<Q>(Scale::Tiny, 2500);
    assert!(items.len() > 1000, "{}", items.len());
    let rows = Q::raw(&items, Stream::root(8));
    assert_eq!(rows.len(), items.len());
    let is_wrong = |(row, item): (&RawRow, &Q::Item)| {
        label(&serde_json::from_str(&row.line).unwrap()) != truth(item)
    };
    let wrong = rows.iter().zip(&items).filter(|&pair| is_wrong(pair)).count();
    wrong as f64 / items.len() as f64
}

#[test]
fn as_many_raw_labels_are_wrong_as_the_page_states() {
    let gold = |row: &Value| row["gold_answers"].clone();
    let shares = [
        wrong::<Par4pc>(gold, Par4pc::truth),
        wrong::<Noc4pc>(|row| row["answer"].clone(), Noc4pc::truth),
        wrong::<Pi4pc>(gold, |item| json!([item.answer])),
    ];
    for share in shares {
        assert!((share - WRONG).abs() < 0.01, "{shares:?}");
    }
}
