//! Problems against an evaluation of their own worked steps.

use super::{Arithmetic, ArithmeticItem, draw, last_number};
use crate::kind::{Kind as _, Scale};
use std::collections::BTreeSet;
use tasks::stream::Stream;

fn items(scale: Scale) -> Vec<ArithmeticItem> {
    let stream = Stream::root(2).child(scale.name());
    (0..3000).filter_map(|number| draw::draw(scale, stream.index(number))).collect()
}

/// The value of `a+b`, `a-b`, `a*b`, `a/b` or `a*b/100`, if it is whole.
fn evaluate(sum: &str) -> Option<i64> {
    let number = |text: &str| text.parse::<i64>().unwrap();
    if let Some((a, b)) = sum.strip_suffix("/100").and_then(|sum| sum.split_once('*')) {
        let product = number(a) * number(b);
        return (product % 100 == 0).then_some(product / 100);
    }
    let at = sum.find(['+', '-', '*', '/']).unwrap();
    let (a, b) = (number(&sum[..at]), number(&sum[at + 1..]));
    match &sum[at..=at] {
        "+" => Some(a + b),
        "-" => Some(a - b),
        "*" => Some(a * b),
        _ => (a % b == 0).then_some(a / b),
    }
}

#[test]
fn steps_are_whole_use_known_numbers_and_end_with_the_answer() {
    for scale in Scale::ALL {
        let items = items(scale);
        assert!(items.len() > 1500, "{}", items.len());
        for item in items {
            let mut known: BTreeSet<i64> = crate::grams::words(&item.question)
                .iter()
                .filter_map(|word| word.parse().ok())
                .collect();
            // `twice` is told as a word, and percentages are of a hundred.
            known.extend([2, 100]);
            let mut last = None;
            for bracket in item.answer.split("<<").skip(1) {
                let (sum, rest) = bracket.split_once('=').unwrap();
                let value: i64 = rest.split_once(">>").unwrap().0.parse().unwrap();
                assert_eq!(evaluate(sum), Some(value), "{item:?}");
                assert!(value > 0, "{item:?}");
                assert!(scale == Scale::Full || value < 100, "{item:?}");
                let mut used =
                    sum.split(['+', '-', '*', '/']).map(|number| number.parse::<i64>().unwrap());
                assert!(used.all(|number| known.contains(&number)), "{item:?}");
                known.insert(value);
                last = Some(value);
            }
            assert_eq!(last, Some(item.number), "{item:?}");
            assert_eq!(item.answer.matches("<<").count(), item.steps);
            assert!(item.answer.ends_with(&format!("#### {}", item.number)));
            assert_eq!(last_number(&item.answer), Some(item.number.to_string().as_str()));
            assert!(!item.question.contains(['{', '}']), "{item:?}");
        }
    }
}

#[test]
fn steps_are_as_many_as_the_scale_says() {
    let steps = |scale| items(scale).iter().map(|item| item.steps).collect::<BTreeSet<_>>();
    assert_eq!(steps(Scale::Tiny), BTreeSet::from([1, 2]));
    assert_eq!(steps(Scale::Full), (1..=8).collect());
}

#[test]
fn long_problems_have_a_number_that_is_not_needed() {
    for item in items(Scale::Full).iter().filter(|item| item.steps >= 5) {
        let used: BTreeSet<&str> = item
            .answer
            .split(|c: char| !c.is_ascii_digit())
            .filter(|text| !text.is_empty())
            .collect();
        let words = crate::grams::words(&item.question);
        let told = words.iter().filter(|word| word.parse::<i64>().is_ok());
        let unused = told.filter(|number| !used.contains(number.as_str()));
        // A number that is not needed may be equal to one that is.
        let is_distracted = unused.count() > 0
            || ["years old", "marbles", "miles", "degrees", "minutes late", "houses"]
                .iter()
                .any(|told| item.question.contains(told));
        assert!(is_distracted, "{item:?}");
    }
}

#[test]
fn problems_read_well() {
    let stream = Stream::root(9);
    let mut texts = Vec::new();
    for steps in 1..=8 {
        let mut rng = stream.index(steps as u64).rng();
        let mut draws = std::iter::repeat_with(|| draw::with_steps(steps, Scale::Full, &mut rng));
        texts.push(Arithmetic::render(&(), &draws.find_map(|item| item).unwrap()));
    }
    insta::assert_snapshot!(texts.join("\n\n"));
}
