//! The reward of purchases against WebShop's formula, in Python.

use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::collections::BTreeMap;
use support::reference;
use tasks::stream::Stream;
use worlds::shop::{Product, Purchase, ShopGoal, reward};

const REFERENCE: &str = "crates/worlds/tests/reference/shop.py";
const CASES: u64 = 4000;
/// Few words, so that texts share some.
const WORDS: [&str; 24] = [
    "alvex", "steel", "quiet", "kettle", "lamp", "red", "blue", "soft", "large", "small", "warm",
    "oak", "borune", "desk", "mug", "wool", "light", "dark", "sofa", "glass", "thin", "round",
    "fast", "new",
];
const NAMES: [&str; 3] = ["color", "size", "fit"];

fn some(most: usize, rng: &mut ChaCha8Rng) -> Vec<String> {
    let count = rng.random_range(0..=most);
    (0..count).filter_map(|_| WORDS.choose(rng)).map(|word| (*word).to_owned()).collect()
}

fn options(rng: &mut ChaCha8Rng) -> BTreeMap<String, String> {
    let names = NAMES.iter().filter(|_| rng.random_bool(0.6)).collect::<Vec<_>>();
    let mut value = || (*WORDS[..6].choose(rng).unwrap_or(&"red")).to_owned();
    names.into_iter().map(|name| ((*name).to_owned(), value())).collect()
}

fn product(rng: &mut ChaCha8Rng) -> Product {
    Product {
        id: "b1".to_owned(),
        title: some(14, rng).join(if rng.random_bool(0.5) { " " } else { ", " }),
        category: ["kitchen kettle", "office desk"][rng.random_range(0..2)].to_owned(),
        attributes: some(4, rng),
        options: BTreeMap::new(),
        cents: rng.random_range(900..=1100),
        description: some(4, rng).join(" "),
        features: some(2, rng),
    }
}

#[test]
fn rewards_are_those_of_webshops_formula_on_fuzzed_purchases() {
    let case = |case: u64| {
        let mut rng = Stream::root(0).child("purchases").index(case).rng();
        let (target, bought) = (product(&mut rng), product(&mut rng));
        let mut attributes = some(3, &mut rng);
        if rng.random_bool(0.3) {
            attributes.push("soft wool".to_owned());
        }
        let goal = ShopGoal {
            instruction: String::new(),
            product: 0,
            attributes,
            told: Vec::new(),
            options: options(&mut rng),
            limit: rng.random_range(900..=1100),
        };
        (target, goal, bought, options(&mut rng))
    };
    let cases: Vec<_> = (0..CASES).map(case).collect();
    let question = |(target, goal, bought, options): &(Product, ShopGoal, Product, _)| json!({"target": target, "goal": goal, "bought": bought, "options": options});
    let answers = reference::ask(REFERENCE, cases.iter().map(question).collect());
    let mut factors: BTreeMap<String, usize> = BTreeMap::new();
    for ((target, goal, bought, options), answer) in cases.iter().zip(&answers) {
        let purchase = Purchase { product: bought, options: options.clone() };
        let found = reward(target, goal, &purchase);
        assert_eq!(Some(found), answer["reward"].as_f64(), "{target:?} {goal:?} {purchase:?}");
        *factors.entry(answer["factor"].to_string()).or_default() += 1;
    }
    for factor in ["0.0", "0.1", "0.5", "1.0"] {
        let count = factors.get(factor).copied().unwrap_or_default();
        assert!(count > 50, "{factor} occurs {count} times: {factors:?}");
    }
}
