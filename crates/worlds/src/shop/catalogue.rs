//! The products, and the index by which they are found.

use super::words::{BRANDS, DEPARTMENTS, SERIES};
use crate::bm25::Index;
use crate::kind::Scale;
use crate::part::Part;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

/// One product.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// A short code, as buttons show it.
    pub id: String,
    /// Maker, series, two attributes, department and what it is.
    pub title: String,
    /// Department and kind, such as `kitchen kettle`.
    pub category: String,
    /// All its attributes.
    pub attributes: Vec<String>,
    /// The options that it comes in, with their values.
    pub options: BTreeMap<String, Vec<String>>,
    /// Price in cents.
    pub cents: u32,
    /// The page behind the button `Description`.
    pub description: String,
    /// The page behind the button `Features`.
    pub features: Vec<String>,
}

/// All products with their index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "CatalogueFile", into = "CatalogueFile")]
pub struct Catalogue {
    products: Vec<Product>,
    index: Index,
}

/// A catalogue as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogueFile {
    products: Vec<Product>,
}

impl From<CatalogueFile> for Catalogue {
    fn from(file: CatalogueFile) -> Self {
        Self::new(file.products)
    }
}

impl From<Catalogue> for CatalogueFile {
    fn from(catalogue: Catalogue) -> Self {
        Self { products: catalogue.products }
    }
}

impl Catalogue {
    /// Indexes products by all their words.
    pub fn new(products: Vec<Product>) -> Self {
        let texts: Vec<String> = products.iter().map(Product::text).collect();
        let index = Index::new(texts.iter().map(String::as_str));
        Self { products, index }
    }

    /// The products.
    pub fn products(&self) -> &[Product] {
        &self.products
    }

    /// The best products for a query, best first, by position.
    pub(super) fn search(&self, query: &str, count: usize) -> Vec<usize> {
        self.index.search(query, count)
    }
}

impl Product {
    /// All words of the product.
    pub(super) fn text(&self) -> String {
        let features = self.features.join(" ");
        format!("{} {} {} {features}", self.title, self.category, self.description)
    }

    /// The part whose goals may be on this product, in these shares of ten: training six, dev one,
    /// test three.
    pub(super) fn part(&self) -> Part {
        match Stream::root(0).child("shop parts").child(&self.id).seed() % 10 {
            0..=5 => Part::Train,
            6 => Part::Dev,
            _ => Part::Test,
        }
    }

    /// The price as pages show it.
    pub(super) fn price(&self) -> String {
        dollars(self.cents)
    }
}

/// Cents as dollars.
pub(super) fn dollars(cents: u32) -> String {
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Products of each kind.
fn per_noun(scale: Scale) -> usize {
    match scale {
        Scale::Tiny => 12,
        Scale::Full => 25,
    }
}

/// Draws a catalogue. No two products have the same title.
pub(super) fn draw(scale: Scale, stream: Stream) -> Catalogue {
    let mut products = Vec::new();
    let mut titles = BTreeSet::new();
    for department in &DEPARTMENTS {
        for noun in department.nouns {
            let mut rng = stream.child(noun).rng();
            let mut made = 0;
            while made < per_noun(scale) {
                let attributes: Vec<&str> =
                    department.attributes.sample(&mut rng, 4).copied().collect();
                let [first, second, third, fourth] = attributes[..] else { continue };
                let brand = BRANDS.choose(&mut rng).copied().unwrap_or_default();
                let series = SERIES.choose(&mut rng).copied().unwrap_or_default();
                let section = department.name;
                let title = format!("{brand} {series} {first} {second} {section} {noun}");
                let (low, high) = department.prices;
                let odd = [0, 49, 95, 99].choose(&mut rng).copied().unwrap_or_default();
                let cents = rng.random_range(low..=high) * 100 + odd;
                let options = department.options.iter().map(|(name, values)| {
                    let mut values: Vec<String> =
                        values.iter().map(|value| (*value).to_owned()).collect();
                    values.shuffle(&mut rng);
                    values.truncate(rng.random_range(2..=4));
                    ((*name).to_owned(), values)
                });
                let options = options.collect();
                if !titles.insert(title.clone()) {
                    continue;
                }
                made += 1;
                products.push(Product {
                    id: String::new(),
                    title,
                    category: format!("{} {noun}", department.name),
                    attributes: attributes.iter().map(|word| (*word).to_owned()).collect(),
                    options,
                    cents,
                    description: format!("This {noun} by {brand} is {first} and {third}."),
                    features: vec![second.to_owned(), fourth.to_owned()],
                });
            }
        }
    }
    // Codes say nothing of the order in which products were drawn.
    let mut rng = stream.child("codes").rng();
    products.shuffle(&mut rng);
    let mut codes: Vec<usize> = (0..9000).collect();
    codes.shuffle(&mut rng);
    for (product, code) in products.iter_mut().zip(codes) {
        product.id = format!("b{}", 1000 + code);
    }
    Catalogue::new(products)
}
