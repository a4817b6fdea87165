//! The reward of a purchase.
//!
//! ```text
//! r = r_type · (attributes hit + options hit + [price ≤ limit]) / (attributes + options + 1)
//! ```
//! as WebShop has it, over exact tokens where it compares texts loosely.

use super::catalogue::Product;
use super::goal::ShopGoal;
use crate::grams::words;
use std::collections::{BTreeMap, BTreeSet};

/// The share of the title's words above which titles are of one type.
const MIDDLE: f64 = 0.2;

/// What was bought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase<'a> {
    /// The product.
    pub product: &'a Product,
    /// The options that were chosen.
    pub options: BTreeMap<String, String>,
}

/// The reward in [0, 1] of a purchase for a goal that was drawn from the product `target`.
pub fn reward(target: &Product, goal: &ShopGoal, purchase: &Purchase<'_>) -> f64 {
    let bought = purchase.product;
    let text: BTreeSet<String> = words(&bought.text()).into_iter().collect();
    let has = |attribute: &String| {
        bought.attributes.contains(attribute)
            || words(attribute).iter().all(|word| text.contains(word))
    };
    let attributes = goal.attributes.iter().filter(|attribute| has(attribute)).count();
    let options = goal.options.iter();
    let options =
        options.filter(|(name, value)| purchase.options.get(*name) == Some(value)).count();
    let price = usize::from(bought.cents <= goal.limit);
    let hits = attributes + options + price;
    let asked = goal.attributes.len() + goal.options.len() + 1;
    let title = words(&target.title);
    let found: BTreeSet<String> = words(&bought.title).into_iter().collect();
    let shared = title.iter().collect::<BTreeSet<_>>();
    let shared = shared.into_iter().filter(|word| found.contains(*word)).count();
    // Of an empty title nothing can be shared; WebShop takes the middle then.
    let shared = if title.is_empty() { MIDDLE } else { shared as f64 / title.len() as f64 };
    type_factor(target.category == bought.category, shared) * hits as f64 / asked as f64
}

/// The factor for the type of what was bought: whether it is of the category that was asked for,
/// and the share of the title's words that its title has.
fn type_factor(is_same_category: bool, shared_title: f64) -> f64 {
    if shared_title == 0.0 {
        0.0
    } else if shared_title < 0.1 {
        0.1
    } else if is_same_category || shared_title > MIDDLE {
        1.0
    } else {
        0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_for_the_type_is_that_of_webshop() {
        for (category, title, factor) in [
            (true, 1.0, 1.0),
            (true, 0.15, 1.0),
            (true, 0.05, 0.1),
            (true, 0.0, 0.0),
            (false, 0.5, 1.0),
            (false, 0.2, 0.5),
            (false, 0.1, 0.5),
            (false, 0.09, 0.1),
            (false, 0.0, 0.0),
        ] {
            assert_eq!(type_factor(category, title), factor, "{category} {title}");
        }
    }

    #[test]
    fn every_part_of_the_goal_counts_the_same() {
        let product = |title: &str, attributes: &[&str], cents| Product {
            id: "b1".to_owned(),
            title: title.to_owned(),
            category: "kitchen kettle".to_owned(),
            attributes: attributes.iter().map(|word| (*word).to_owned()).collect(),
            options: BTreeMap::new(),
            cents,
            description: String::new(),
            features: Vec::new(),
        };
        let target = product("Alvex steel kettle", &["steel", "quiet"], 900);
        let options = BTreeMap::from([("color".to_owned(), "red".to_owned())]);
        let goal = ShopGoal {
            instruction: String::new(),
            product: 0,
            attributes: vec!["quiet".to_owned(), "steel".to_owned()],
            told: Vec::new(),
            options: options.clone(),
            limit: 1000,
        };
        let of = |product: &Product, options: &BTreeMap<String, String>| {
            reward(&target, &goal, &Purchase { product, options: options.clone() })
        };
        assert_eq!(of(&target, &options), 1.0);
        assert_eq!(of(&target, &BTreeMap::new()), 0.75);
        let dear = product("Alvex steel kettle", &["steel"], 1001);
        assert_eq!(of(&dear, &options), 0.5);
        let other = product("Borune lamp", &["steel", "quiet"], 900);
        assert_eq!(of(&other, &options), 0.0);
    }
}
