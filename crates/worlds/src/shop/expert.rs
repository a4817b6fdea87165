//! The players of the shop: an oracle that knows the product, and an expert that reads the
//! instruction and the pages.

use super::catalogue::Catalogue;
use super::episode::ShopEpisode;
use super::goal::ShopGoal;
use super::page::{BUY, HITS, NEXT, ON_PAGE, Page};
use crate::grams::words;
use crate::kind::Episode as _;

/// Buys the product that the goal was drawn from.
pub(super) fn oracle(catalogue: &Catalogue, goal: &ShopGoal) -> Vec<String> {
    let product = &catalogue.products()[goal.product];
    let hits = catalogue.search(&product.title, HITS);
    let rank = hits.iter().position(|&hit| hit == goal.product).unwrap_or_default();
    let mut turns = vec![format!("search[{}]", product.title.to_lowercase())];
    turns.extend(std::iter::repeat_n(format!("click[{NEXT}]"), rank / ON_PAGE));
    turns.push(format!("click[{}]", product.id));
    turns.extend(purchase(goal));
    turns
}

/// The clicks on a product's page: the options that are asked for, and the purchase.
fn purchase(goal: &ShopGoal) -> impl Iterator<Item = String> {
    let options = goal.options.values().map(|value| format!("click[{value}]"));
    options.chain(std::iter::once(format!("click[{BUY}]")))
}

/// Searches for what the instruction says, and buys the first product on the first page that is of
/// the right kind, not too dear and comes in the options; failing that, the first one.
pub(super) fn expert(catalogue: &Catalogue, goal: &ShopGoal) -> Vec<String> {
    let noun = catalogue.products()[goal.product].category.rsplit(' ').next().unwrap_or_default();
    let search = format!("search[{noun} {}]", goal.told.join(" "));
    let mut episode = ShopEpisode::new(catalogue, goal);
    episode.respond(&search);
    let Page::Results(results) = episode.page() else { return vec![search] };
    let fits = |hit: &&usize| {
        let product = &catalogue.products()[**hit];
        words(&product.title).iter().any(|word| word == noun) && product.cents <= goal.limit
    };
    let fitting: Vec<usize> = results.shown().iter().filter(fits).copied().collect();
    let Some(first) = fitting.first().or(results.shown().first()).copied() else {
        return vec![search];
    };
    let product = &catalogue.products()[first];
    let mut turns = vec![search, format!("click[{}]", product.id)];
    // Values that the product does not come in have no button.
    let has = |turn: &String| {
        let value = turn.trim_start_matches("click[").trim_end_matches(']');
        value == BUY || product.options.values().flatten().any(|option| option == value)
    };
    turns.extend(purchase(goal).filter(has));
    turns
}
