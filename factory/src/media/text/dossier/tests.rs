//! What dossiers promise in every genre; [`super::super::tests`] has what all texts promise.

use super::*;
use crate::data::likeness::grams;
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

/// Every trade with two registers, so that every register comes several times.
fn genres() -> Vec<Genre> {
    let genre = |(place, trade): (usize, &Trade)| {
        let registers = [place, place + 3].map(|place| Register::ALL[place % 6]);
        registers.map(|register| Genre { trade: *trade, register })
    };
    Trade::ALL.iter().enumerate().flat_map(genre).collect()
}

/// Values, texts and what is read of them.
fn sample(
    genre: Genre,
    task: u64,
    rows: u64,
    blemishes: &[(&str, f64)],
) -> Vec<(Vec<f64>, String)> {
    let stream = Stream::root(task).child("dossiers");
    let blemishes: BTreeMap<String, f64> =
        blemishes.iter().map(|(name, strength)| ((*name).to_owned(), *strength)).collect();
    let look = Look {
        format: Format::Text,
        stream: stream.child("look"),
        vocabulary: &[],
        subject: None,
        genre: Some(genre),
        source: None,
        samples: None,
        blemishes: &blemishes,
    };
    let row = |row: u64| {
        let mut draws = Draws::new(stream.child("row").index(row));
        let values: Vec<f64> =
            STATISTICS.iter().map(|s| draws.between(s.low, s.high).round()).collect();
        let text = Dossier.render(&values, &look, &mut draws);
        (values, String::from_utf8(text).unwrap())
    };
    (0..rows).map(row).collect()
}

#[test]
fn clean_and_shuffled_dossiers_say_exactly_what_was_drawn() {
    for (task, genre) in (0..).zip(genres()) {
        for blemishes in [&[][..], &[("shuffle", 1.0), ("bare", 0.5), ("distractors", 4.0)]] {
            for (values, text) in sample(genre, task, 12, blemishes) {
                let read = Dossier.read(text.as_bytes()).unwrap().estimates;
                assert_eq!(read, values, "{genre:?}\n{text}");
            }
        }
    }
}

/// The sentences of a dossier, by what parts them.
fn sentences(text: &str) -> Vec<&str> {
    text.split(['.', '?', '\n']).map(str::trim).filter(|s| s.contains(' ')).collect()
}

#[test]
fn no_sentence_stands_more_than_twice_and_two_dossiers_share_few() {
    for (task, genre) in (100..).zip(genres()) {
        let texts = sample(genre, task, 8, &[("distractors", 4.0)]);
        for (_, text) in &texts {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for sentence in sentences(text) {
                *counts.entry(sentence).or_default() += 1;
            }
            let most = counts.iter().max_by_key(|(_, count)| **count).unwrap();
            assert!(*most.1 <= 2, "{most:?}\n{text}");
        }
        let held: Vec<BTreeSet<&str>> =
            texts.iter().map(|(_, text)| sentences(text).into_iter().collect()).collect();
        let runs: Vec<BTreeSet<u64>> =
            texts.iter().map(|(_, text)| grams(text).into_iter().collect()).collect();
        for one in 0..texts.len() {
            for other in 0..one {
                let shared = held[one].intersection(&held[other]).count() as f64;
                let share = shared / held[one].len().min(held[other].len()) as f64;
                assert!(share < 0.4, "{genre:?}: {share} of the sentences");
                let shared = runs[one].intersection(&runs[other]).count() as f64;
                let jaccard = shared / runs[one].union(&runs[other]).count() as f64;
                assert!(jaccard < 0.25, "{genre:?}: {jaccard}");
            }
        }
    }
}

#[test]
fn lengths_are_those_of_a_task_and_texts_have_no_odd_blanks() {
    let mut means = Vec::new();
    for task in 0..60 {
        let genre = Genre { trade: Trade::ALL[task % 8], register: Register::ALL[task / 8 % 6] };
        let texts = sample(genre, task as u64, 6, &[("typos", 0.1)]);
        let counts: Vec<f64> =
            texts.iter().map(|(_, text)| text.split_whitespace().count() as f64).collect();
        assert!(counts.iter().all(|count| (300.0..=3100.0).contains(count)), "{counts:?}");
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        assert!(counts.iter().all(|count| (count / mean - 1.0).abs() < 0.25), "{counts:?}");
        means.push(mean);
        for (_, text) in texts {
            assert!(
                text.ends_with('\n') && !text.contains("\n\n\n") && !text.contains("  "),
                "{text}"
            );
            assert!(text.lines().all(|line| line == line.trim()), "{text}");
            assert!(!text.contains(['{', '}', '[', ']', '<', '>', '|']), "{text}");
        }
    }
    let share = |is: fn(&&f64) -> bool| means.iter().filter(is).count() as f64 / means.len() as f64;
    assert!(
        share(|mean| **mean < 1000.0) > 0.3 && share(|mean| **mean > 1400.0) > 0.2,
        "{means:?}"
    );
}

#[test]
fn tasks_draw_a_genre_where_the_story_has_none() {
    let blemishes = BTreeMap::new();
    let genres: BTreeSet<Genre> = (0..60)
        .map(|task| {
            let look = Look {
                format: Format::Text,
                stream: Stream::root(task),
                vocabulary: &[],
                subject: None,
                genre: None,
                source: None,
                samples: None,
                blemishes: &blemishes,
            };
            Volume::new(&look).genre
        })
        .collect();
    assert!(genres.len() > 25);
}

#[test]
fn the_words_alone_do_not_say_how_things_stand() {
    // The same words, entries and sentences in another order: the reader must find other values.
    let genre = Genre { trade: Trade::Plant, register: Register::Log };
    let mut differ = 0;
    for (values, text) in sample(genre, 7, 20, &[]) {
        let mut blocks: Vec<&str> = text.trim_end().split("\n\n").collect();
        let heads: Vec<&str> =
            blocks[1..].iter().map(|block| block.split_once('\n').unwrap().0).collect();
        let bodies: Vec<&str> =
            blocks[1..].iter().map(|block| block.split_once('\n').unwrap().1).collect();
        let turned: Vec<String> = heads
            .iter()
            .zip(bodies.iter().rev())
            .map(|(head, body)| format!("{head}\n{body}"))
            .collect();
        blocks.truncate(1);
        let turned = format!("{}\n\n{}\n", blocks[0], turned.join("\n\n"));
        let [ours, theirs] = [&text, &turned].map(|text| Dossier.read(text.as_bytes()).unwrap());
        let bag = |reading: &Reading| (reading.plain.clone(), reading.generic[15..18].to_vec());
        assert_eq!(bag(&ours), bag(&theirs));
        assert_eq!(theirs.estimates[6], -values[6], "thanks change halves");
        differ += usize::from(ours.estimates[4] != theirs.estimates[4]);
    }
    assert!(differ > 12, "{differ}");
}
