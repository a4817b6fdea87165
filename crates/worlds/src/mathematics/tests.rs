//! Formulas against brute force, and problems for people to read.

use super::{Aime, MathProblem, TEMPLATES, brute_force};
use crate::kind::Scale;
use crate::single::Question as _;
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

fn problems(scale: Scale, count: u64) -> Vec<MathProblem> {
    let stream = Stream::root(3).child(scale.name());
    (0..count).filter_map(|number| Aime::draw(scale, &mut stream.index(number).rng())).collect()
}

#[test]
fn formulas_agree_with_brute_force_on_every_template() {
    let names: BTreeSet<&str> =
        TEMPLATES.iter().copied().flatten().map(|template| template.name).collect();
    assert_eq!(names.len(), 41);
    for (scale, count) in [(Scale::Tiny, 20_000), (Scale::Full, 6000)] {
        let problems = problems(scale, count);
        let mut by_template: BTreeMap<&str, usize> = BTreeMap::new();
        for problem in &problems {
            *by_template.entry(&problem.template).or_default() += 1;
            assert_eq!(brute_force(problem), Some(problem.answer), "{problem:?}");
            assert!((0..1000).contains(&problem.answer), "{problem:?}");
        }
        assert_eq!(by_template.keys().copied().collect::<BTreeSet<_>>(), names);
        for (name, found) in by_template {
            assert!(found >= 20, "{name} at {scale:?}: {found} draws of {count} can be used");
        }
    }
}

#[test]
fn answers_are_not_the_same_few_numbers() {
    let problems = problems(Scale::Tiny, 4000);
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for problem in &problems {
        *counts.entry(problem.answer).or_default() += 1;
    }
    let most = counts.values().max().unwrap();
    assert!(*most * 20 < problems.len(), "{most} of {}", problems.len());
}

#[test]
fn problems_read_well() {
    let mut seen = BTreeSet::new();
    let mut texts = Vec::new();
    for scale in Scale::ALL {
        seen.clear();
        for problem in problems(scale, 3000) {
            if seen.insert(problem.template.clone()) {
                texts.push((problem.template.clone(), scale.name(), Aime::render(&problem)));
            }
        }
    }
    texts.sort();
    let texts = texts.iter().map(|(name, scale, text)| format!("{name}, {scale}\n{text}"));
    insta::assert_snapshot!(texts.collect::<Vec<_>>().join("\n\n"));
}
