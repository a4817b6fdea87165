//! Sums against a calculation of their own text, and questions for people to read.

use super::{EXAMS, ExamQuestion, Finqa, LETTERS};
use crate::kind::Scale;
use crate::single::Question as _;
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

fn questions(scale: Scale) -> Vec<ExamQuestion> {
    let stream = Stream::root(6).child(scale.name());
    (0..6000).filter_map(|number| Finqa::draw(scale, &mut stream.index(number).rng())).collect()
}

#[test]
fn every_template_is_drawn_at_either_scale() {
    let all: BTreeSet<&str> =
        EXAMS.iter().flat_map(|exam| exam.templates).map(|template| template.name).collect();
    assert_eq!(all.len(), 20);
    for scale in Scale::ALL {
        let questions = questions(scale);
        assert!(questions.len() > 4500, "{scale:?}: {}", questions.len());
        let drawn: BTreeSet<&str> = questions.iter().map(|one| one.template.as_str()).collect();
        assert_eq!(drawn, all);
    }
}

#[test]
fn examinations_are_as_unequal_as_their_weights_and_letters_are_equal() {
    assert_eq!(EXAMS.iter().map(|exam| exam.weight).sum::<u32>(), 6179);
    let questions = questions(Scale::Tiny);
    let count = |exam: &str| questions.iter().filter(|one| one.exam == exam).count();
    assert!(count("banking") > 15 * count("actuarial").max(1), "{}", count("actuarial"));
    let mut letters: BTreeMap<char, usize> = BTreeMap::new();
    for question in &questions {
        *letters.entry(question.answer).or_default() += 1;
    }
    for letter in LETTERS {
        let share = letters[&letter] as f64 / questions.len() as f64;
        assert!((0.22..0.28).contains(&share), "{letter}: {share}");
    }
}

#[test]
fn questions_read_well() {
    let mut texts = BTreeMap::new();
    for scale in Scale::ALL {
        for question in questions(scale) {
            let name = format!("{} {} {}", question.exam, question.template, scale.name());
            texts.entry(name).or_insert_with(|| Finqa::render(&question));
        }
    }
    let texts = texts.iter().map(|(name, text)| format!("{name}\n{text}"));
    insta::assert_snapshot!(texts.collect::<Vec<_>>().join("\n\n"));
}
