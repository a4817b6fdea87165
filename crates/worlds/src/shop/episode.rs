//! An episode: actions in, pages out, until something is bought.

use super::catalogue::Catalogue;
use super::goal::ShopGoal;
use super::page::{BACK, BUY, DESCRIPTION, Detail, FEATURES, HITS, NEXT, PREVIOUS, Page, Results};
use super::reward::{Purchase, reward};
use crate::grams::words;
use crate::kind::{Answer, Episode};
use agents::trajectory::EnvironmentVerdict;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::collections::BTreeMap;

/// The reward from which a purchase counts as a success, as in the released evaluation.
const SUCCESS: f64 = 0.5;
/// The answer to what cannot be carried out.
pub(super) const NOTHING: &str = "There is no such action here.";

/// An episode on one goal.
#[derive(Debug)]
pub struct ShopEpisode<'a> {
    catalogue: &'a Catalogue,
    goal: &'a ShopGoal,
    page: Page,
    bought: Option<(usize, BTreeMap<String, String>)>,
    invalid: usize,
    searches: usize,
}

impl<'a> ShopEpisode<'a> {
    /// The search page.
    pub fn new(catalogue: &'a Catalogue, goal: &'a ShopGoal) -> Self {
        Self { catalogue, goal, page: Page::Search, bought: None, invalid: 0, searches: 0 }
    }

    /// An action that would be carried out now.
    pub(super) fn random(&self, rng: &mut ChaCha8Rng) -> String {
        if let Some(button) = self.page.buttons(self.catalogue).choose(rng) {
            return format!("click[{button}]");
        }
        let product = self.catalogue.products().choose(rng);
        let words = words(product.map_or("", |product| &product.title));
        format!("search[{}]", words.choose(rng).map_or("", String::as_str))
    }

    pub(super) fn page(&self) -> &Page {
        &self.page
    }

    /// Carries out an action; `false` if it is none, or none that this page has.
    fn act(&mut self, text: &str) -> bool {
        let text = text.trim().to_lowercase();
        let argument = |verb: &str| text.strip_prefix(verb)?.strip_prefix('[')?.strip_suffix(']');
        if let (Some(query), Page::Search) = (argument("search"), &self.page) {
            self.searches += 1;
            let hits = self.catalogue.search(query, HITS);
            self.page = Page::Results(Results { hits, page: 0 });
            return true;
        }
        match argument("click").map(str::trim) {
            Some(button) if self.page.buttons(self.catalogue).iter().any(|b| b == button) => {
                self.click(button);
                true
            }
            _ => false,
        }
    }

    /// Follows a button of the open page.
    fn click(&mut self, button: &str) {
        let page = std::mem::replace(&mut self.page, Page::Search);
        self.page = match (page, button) {
            (_, BACK) | (Page::Search, _) => Page::Search,
            (Page::Results(results), NEXT) => {
                Page::Results(Results { page: results.page + 1, ..results })
            }
            (Page::Results(results), PREVIOUS) => {
                Page::Results(Results { page: results.page.saturating_sub(1), ..results })
            }
            (Page::Results(results), id) => {
                let products = self.catalogue.products();
                let found = results.shown().iter().find(|&&hit| products[hit].id == id).copied();
                match found {
                    Some(product) => {
                        let chosen = BTreeMap::new();
                        Page::Product { results, product, chosen, detail: None }
                    }
                    None => Page::Results(results),
                }
            }
            (Page::Product { results, product, chosen, detail: Some(_) }, _) => {
                Page::Product { results, product, chosen, detail: None }
            }
            (Page::Product { results, .. }, PREVIOUS) => Page::Results(results),
            (Page::Product { results, product, mut chosen, detail: None }, button) => {
                let mut detail = None;
                match button {
                    DESCRIPTION => detail = Some(Detail::Description),
                    FEATURES => detail = Some(Detail::Features),
                    BUY => self.bought = Some((product, chosen.clone())),
                    value => {
                        let options = &self.catalogue.products()[product].options;
                        let option =
                            options.iter().find(|(_, values)| values.iter().any(|v| v == value));
                        if let Some((name, _)) = option {
                            chosen.insert(name.clone(), value.to_owned());
                        }
                    }
                }
                Page::Product { results, product, chosen, detail }
            }
        };
    }
}

impl Episode for ShopEpisode<'_> {
    fn respond(&mut self, text: &str) -> Answer {
        let line = text.trim().lines().next().unwrap_or_default();
        let understood = self.act(line);
        self.invalid += usize::from(!understood);
        let observation =
            if understood { self.page.text(self.catalogue) } else { NOTHING.to_owned() };
        Answer { observation, understood, thought: false, over: self.bought.is_some() }
    }

    fn verdict(&self) -> EnvironmentVerdict {
        let products = self.catalogue.products();
        let target = &products[self.goal.product];
        let mut tags = Vec::new();
        let mut detail = json!({"invalid": self.invalid, "searches": self.searches});
        let earned = match &self.bought {
            None => {
                tags.push("nothing_bought".to_owned());
                0.0
            }
            Some((product, options)) => {
                let product = &products[*product];
                detail["bought"] = json!(product.id);
                if product.category != target.category {
                    tags.push("other_category".to_owned());
                }
                if product.cents > self.goal.limit {
                    tags.push("too_dear".to_owned());
                }
                if self.goal.options.iter().any(|(name, value)| options.get(name) != Some(value)) {
                    tags.push("options".to_owned());
                }
                reward(target, self.goal, &Purchase { product, options: options.clone() })
            }
        };
        let score = if earned >= SUCCESS { 1.0 } else { 0.0 };
        EnvironmentVerdict { reward: earned, score, tags, detail }
    }
}
