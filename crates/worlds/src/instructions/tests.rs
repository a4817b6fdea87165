//! Topics, the writer, the judge, and what players earn.

use super::draw::{FULFILLED, gamed, ideal};
use super::text::sentences;
use super::topics::{TOPICS, Topic};
use super::{InstructionItem, Instructions, Judge, Qualities};
use crate::grams::words;
use crate::kind::{Kind as _, Scale};
use crate::part::Part;
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

fn items(part: Part, scale: Scale) -> Vec<InstructionItem> {
    let judge = Instructions::ground(scale, Stream::root(1));
    let stream = Stream::root(8).child(part.name()).child(scale.name());
    let draw = |number| Instructions::draw(&judge, part, scale, stream.index(number));
    (0..1500).filter_map(draw).collect()
}

#[test]
fn sentences_have_their_own_word_of_the_topic_and_no_other() {
    let mut names = BTreeSet::new();
    for topic in &TOPICS {
        assert!(names.insert(topic.name), "{}", topic.name);
        for (word, sentence) in &topic.sentences {
            let found: BTreeSet<String> =
                words(sentence).into_iter().filter(|word| topic.has(word)).collect();
            assert_eq!(found, BTreeSet::from([(*word).to_owned()]), "{sentence}");
            assert_eq!(sentences(sentence), 1, "{sentence}");
            assert!(sentence.ends_with('.') && sentence.len() < 50, "{sentence}");
            assert!(!words(sentence).iter().any(|word| word == "i" || word == "thank"));
        }
    }
    for part in [Part::Dev, Part::Test] {
        assert!(TOPICS.iter().filter(|topic| topic.only == Some(part)).count() >= 4);
    }
}

#[test]
fn references_fulfil_six_of_ten_wishes_and_ideal_answers_all() {
    for scale in Scale::ALL {
        let items = items(Part::Train, scale);
        assert!(items.len() > 1000, "{} of 1500 draws", items.len());
        let (mut fulfilled, mut asked): (usize, usize) = (0, 0);
        for item in &items {
            let best = ideal(item).unwrap();
            assert!(item.wishes.iter().all(|wish| wish.is_fulfilled(&best)), "{item:?}: {best}");
            let of = |text: &str| item.wishes.iter().map(|wish| wish.is_fulfilled(text)).collect();
            let reference: Vec<bool> = of(&item.reference);
            fulfilled += reference.iter().filter(|done| **done).count();
            asked += reference.len();
            // Gaming changes the length alone.
            let [short, long] = gamed(item).unwrap();
            assert_eq!((of(&short), of(&long)), (reference.clone(), reference), "{item:?}");
            for text in [&best, &short, &long, &item.reference] {
                let topic = Topic::named(&item.topic).unwrap();
                assert!(words(text).iter().any(|word| topic.has(word)), "{item:?}: {text}");
            }
        }
        let share = fulfilled as f64 / asked as f64;
        assert!((share - FULFILLED).abs() < 0.05, "{share}");
    }
}

#[test]
fn half_of_the_sealed_items_are_on_topics_of_their_own() {
    let mut topics: BTreeMap<Part, BTreeSet<String>> = BTreeMap::new();
    for part in Part::ALL {
        let items = items(part, Scale::Tiny);
        let is_own = |item: &&InstructionItem| Topic::named(&item.topic).unwrap().only.is_some();
        let own = items.iter().filter(is_own).count() as f64 / items.len() as f64;
        let expected = if part.is_sealed() { 0.45..0.55 } else { 0.0..0.01 };
        assert!(expected.contains(&own), "{part}: {own}");
        let own = items.iter().filter(is_own).map(|item| item.topic.clone()).collect();
        topics.insert(part, own);
    }
    assert!(topics[&Part::Dev].is_disjoint(&topics[&Part::Test]));
}

#[test]
fn instructions_read_well() {
    let mut texts = Vec::new();
    for scale in Scale::ALL {
        for item in items(Part::Test, scale).iter().take(12) {
            let [short, long] = gamed(item).unwrap();
            let best = ideal(item).unwrap();
            let reference = &item.reference;
            texts.push(format!(
                "{}\n--- reference\n{reference}\n--- ideal\n{best}\n--- short\n{short}\n--- long\n{long}\n",
                item.instruction
            ));
        }
    }
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn judges_prefer_fulfilled_relevant_fresh_and_longer_answers() {
    let middle = Qualities { fulfilment: 0.5, relevance: 0.8, repetition: 0.1, length: 150 };
    let mut preferences = BTreeSet::new();
    for seed in 0..20 {
        let judge = Judge::draw(Stream::root(seed));
        assert_eq!(judge.preference(middle, middle), 0.5);
        for better in [
            Qualities { fulfilment: 1.0, ..middle },
            Qualities { relevance: 1.0, ..middle },
            Qualities { repetition: 0.0, ..middle },
            Qualities { length: 300, ..middle },
        ] {
            let (won, lost) = (judge.preference(better, middle), judge.preference(middle, better));
            assert!(won > 0.5 && (won + lost - 1.0).abs() < 1e-12, "{better:?}: {won}");
        }
        preferences
            .insert(judge.preference(Qualities { fulfilment: 1.0, ..middle }, middle).to_bits());
    }
    assert!(preferences.len() > 15, "judges of other suites have other weights");
    let nothing = Qualities { fulfilment: 0.0, relevance: 0.0, repetition: 0.0, length: 0 };
    assert_eq!(Judge::draw(Stream::root(0)).preference(nothing, middle), 0.0);
}
