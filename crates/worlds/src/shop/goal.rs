//! What is to be bought, as facts and as an instruction.

use super::catalogue::{Catalogue, dollars};
use super::words::synonym;
use crate::part::Part;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::stream::Stream;

/// Goals in which words are replaced as people do, in a hundred, and in these the share of words
/// that have another form: together about a tenth of all words that have one.
const HUMAN: f64 = 0.25;
const REPLACED: f64 = 0.4;
/// Prices that a limit is rounded to, in cents.
const ROUND: u32 = 1000;

/// One goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShopGoal {
    /// What the policy is told.
    pub instruction: String,
    /// The product that the goal was drawn from, by position in the catalogue.
    pub product: usize,
    /// Attributes that the product must have.
    pub attributes: Vec<String>,
    /// The same as the instruction words them.
    pub told: Vec<String>,
    /// Options that must be chosen.
    pub options: BTreeMap<String, String>,
    /// The price that must not be exceeded, in cents.
    pub limit: u32,
}

impl ShopGoal {
    pub(super) fn key(&self) -> String {
        format!("{} {:?} {:?}", self.product, self.attributes, self.options)
    }

    pub(super) fn render(&self, catalogue: &Catalogue) -> String {
        let product = &catalogue.products()[self.product];
        let (id, price) = (&product.id, product.price());
        format!("{}\n  {id}: {} ({price})", self.instruction, product.title)
    }
}

/// One candidate: a goal on a product of this part.
pub(super) fn draw(catalogue: &Catalogue, part: Part, stream: Stream) -> Option<ShopGoal> {
    let mut rng = stream.rng();
    let position = rng.random_range(0..catalogue.products().len());
    let product = &catalogue.products()[position];
    if product.part() != part {
        return None;
    }
    let mut attributes: Vec<String> = product.attributes.sample(&mut rng, 2).cloned().collect();
    attributes.sort();
    let mut options = BTreeMap::new();
    for (name, values) in &product.options {
        options.insert(name.clone(), values.choose(&mut rng)?.clone());
    }
    // The next round price, or a few above it.
    let limit = (product.cents / ROUND + rng.random_range(1..=3)) * ROUND;
    let is_human = rng.random_bool(HUMAN);
    let mut told = |word: &str| match synonym(word) {
        Some(other) if is_human && rng.random_bool(REPLACED) => other.to_owned(),
        _ => word.to_owned(),
    };
    let told: Vec<String> = attributes.iter().map(|word| told(word)).collect();
    let words = told.join(", ");
    let noun = product.category.rsplit(' ').next().unwrap_or_default();
    let chosen: Vec<String> =
        options.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let (chosen, limit_text) = (chosen.join(", "), dollars(limit));
    let instruction = match stream.child("wording").seed() % 3 {
        0 => format!("I want a {noun}: {words}, {chosen}, for at most {limit_text}."),
        1 => format!("Find me a {noun} ({words}) with {chosen}, not above {limit_text}."),
        _ => format!("Buy a {noun} for up to {limit_text}: {words}; {chosen}."),
    };
    Some(ShopGoal { instruction, product: position, attributes, told, options, limit })
}
