//! The pages of the shop and their buttons.

use super::catalogue::{Catalogue, Product};
use std::collections::BTreeMap;

/// Hits of a search, at most.
pub(super) const HITS: usize = 50;
/// Products on a page of results.
pub(super) const ON_PAGE: usize = 10;

pub(super) const BACK: &str = "back to search";
pub(super) const NEXT: &str = "next >";
pub(super) const PREVIOUS: &str = "< prev";
pub(super) const DESCRIPTION: &str = "description";
pub(super) const FEATURES: &str = "features";
pub(super) const BUY: &str = "buy now";

/// What a search found, and which page of it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Results {
    pub(super) hits: Vec<usize>,
    pub(super) page: usize,
}

/// A page of text behind a button of a product's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Description,
    Features,
}

/// The page that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    Search,
    Results(Results),
    Product {
        results: Results,
        product: usize,
        chosen: BTreeMap<String, String>,
        /// The page of text that is open on top.
        detail: Option<Detail>,
    },
}

impl Results {
    /// The products on the open page.
    pub(super) fn shown(&self) -> &[usize] {
        let first = (self.page * ON_PAGE).min(self.hits.len());
        &self.hits[first..(first + ON_PAGE).min(self.hits.len())]
    }

    fn pages(&self) -> usize {
        self.hits.len().div_ceil(ON_PAGE).max(1)
    }
}

impl Page {
    /// The page as the policy reads it.
    pub(super) fn text(&self, catalogue: &Catalogue) -> String {
        match self {
            Self::Search => "Search page. Actions: search[words]".to_owned(),
            Self::Results(results) => {
                let (page, pages) = (results.page + 1, results.pages());
                let mut lines = vec![format!("Results, page {page} of {pages}.")];
                for &hit in results.shown() {
                    let product = &catalogue.products()[hit];
                    lines.push(format!("[{}] {} {}", product.id, product.title, product.price()));
                }
                lines.push(buttons(&self.frame()));
                lines.join("\n")
            }
            Self::Product { product, chosen, detail: None, .. } => {
                let product = &catalogue.products()[*product];
                let mut lines = vec![format!("{} {}", product.title, product.price())];
                for (name, values) in &product.options {
                    let value = chosen.get(name).map(|value| format!(" = {value}"));
                    let value = value.unwrap_or_default();
                    lines.push(format!("{name}{value}: {}", buttons(values)));
                }
                lines.push(buttons(&self.frame()));
                lines.join("\n")
            }
            Self::Product { product, detail: Some(detail), .. } => {
                let product = &catalogue.products()[*product];
                format!("{}\n{}", detail.text(product), buttons(&self.frame()))
            }
        }
    }

    /// The buttons that do not depend on products.
    fn frame(&self) -> Vec<&'static str> {
        match self {
            Self::Search => Vec::new(),
            Self::Results(results) => {
                let mut frame = vec![BACK];
                frame.extend((results.page > 0).then_some(PREVIOUS));
                frame.extend((results.page + 1 < results.pages()).then_some(NEXT));
                frame
            }
            Self::Product { detail: None, .. } => {
                vec![DESCRIPTION, FEATURES, BUY, PREVIOUS, BACK]
            }
            Self::Product { detail: Some(_), .. } => vec![PREVIOUS, BACK],
        }
    }

    /// All buttons, as they are clicked.
    pub(super) fn buttons(&self, catalogue: &Catalogue) -> Vec<String> {
        let mut all: Vec<String> = self.frame().into_iter().map(str::to_owned).collect();
        match self {
            Self::Search | Self::Product { detail: Some(_), .. } => {}
            Self::Results(results) => {
                all.extend(results.shown().iter().map(|&hit| catalogue.products()[hit].id.clone()));
            }
            Self::Product { product, detail: None, .. } => {
                all.extend(catalogue.products()[*product].options.values().flatten().cloned());
            }
        }
        all
    }
}

impl Detail {
    fn text(self, product: &Product) -> String {
        match self {
            Self::Description => product.description.clone(),
            Self::Features => format!("Features: {}.", product.features.join(", ")),
        }
    }
}

fn buttons(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("[{}]", name.as_ref())).collect::<Vec<_>>().join(" ")
}
