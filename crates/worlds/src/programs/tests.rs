//! How functions read, and that each family has enough of them.

use super::draw::{families, with_parameters};
use super::script::{Called, results};
use super::{Programs, family::Topic};
use crate::kind::{Kind as _, Scale};
use crate::part::Part;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

#[test]
fn functions_read_well() {
    let mut texts = Vec::new();
    for (topic, family) in families() {
        let stream = Stream::root(4).child(family.name);
        let mut rng = stream.rng();
        let middle: Vec<i64> = family
            .parameters
            .iter()
            .map(|parameter| (parameter.range().start() + parameter.range().end()) / 2)
            .collect();
        let mut draws = std::iter::repeat_with(|| {
            with_parameters(topic, family, &middle, Scale::Tiny, &mut rng)
        });
        let item =
            draws.by_ref().take(50).flatten().next().unwrap_or_else(|| panic!("{}", family.name));
        texts.push(Programs::render(&(), &item));
    }
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn topics_have_families_of_their_own_and_some_that_only_one_part_has() {
    let mut names = BTreeSet::new();
    let mut counts: BTreeMap<(Topic, Option<Part>), usize> = BTreeMap::new();
    for (topic, family) in families() {
        assert!(names.insert(family.name), "{}", family.name);
        *counts.entry((topic, family.only)).or_default() += 1;
        let functions: i64 = family
            .parameters
            .iter()
            .map(|parameter| parameter.range().end() - parameter.range().start() + 1)
            .product();
        assert!((8..=300).contains(&functions), "{} has {functions}", family.name);
    }
    for topic in [Topic::Integers, Topic::Strings, Topic::Lists, Topic::Dictionaries] {
        assert_eq!(counts[&(topic, Some(Part::Dev))], 1);
        assert_eq!(counts[&(topic, Some(Part::Test))], 2);
        assert!(counts[&(topic, None)] >= 18);
    }
}

#[test]
fn results_are_the_last_lines() {
    let returned = |value| Some(vec![Called::Returned(value)]);
    for (printed, count, expected) in [
        ("\n[1]\n", 1, returned(json!(1))),
        ("a\n[0]\n\n[\"x\"]\n", 1, returned(json!("x"))),
        ("\n\"KeyError\"\n", 1, Some(vec![Called::Raised("KeyError".to_owned())])),
        ("\n[1]\n", 2, None),
        ("\n[1, 2]\n", 1, None),
        ("\n[1\n", 1, None),
        ("", 1, None),
    ] {
        assert_eq!(results(printed, count), expected, "{printed:?}");
    }
}
