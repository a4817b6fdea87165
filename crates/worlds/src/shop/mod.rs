//! `shop`: a catalogue, pages and a purchase, after the pattern of WebShop.
//!
//! `goal -> (search[…] | click[…] -> page)* -> purchase -> reward`
//!
//! A goal is drawn from a product: its category, two of its attributes, its options and a price
//! limit. Products belong to one part each, so hidden goals are on products that no training goal
//! is on.

mod catalogue;
mod episode;
mod expert;
mod goal;
mod page;
mod prompt;
mod reward;
#[cfg(test)]
mod tests;
mod words;

pub use catalogue::{Catalogue, Product};
pub use episode::ShopEpisode;
pub use goal::ShopGoal;
pub use reward::{Purchase, reward};

use crate::kind::{Kind, Outline, Scale, Sizes};
use crate::part::Part;
use crate::spec::{Limits, TaskKind};
use agents::prompt::Prompt;
use rand_chacha::ChaCha8Rng;
use tasks::stream::Stream;

/// The kind `shop`.
#[derive(Debug)]
pub struct Shop;

impl Kind for Shop {
    type Item = ShopGoal;
    type Ground = Catalogue;
    type Episode<'a> = ShopEpisode<'a>;

    const NAME: &'static str = "shop";
    const VERSION: u32 = 1;

    fn outline(scale: Scale) -> Outline {
        let (sizes, limits) = match scale {
            Scale::Tiny => (
                Sizes { train: 400, dev: 60, test: 200 },
                Limits { turns: 12, turn_tokens: 24, context: 2560 },
            ),
            Scale::Full => (
                Sizes { train: 1000, dev: 100, test: 100 },
                Limits { turns: 50, turn_tokens: 100, context: 16_384 },
            ),
        };
        Outline {
            level: 3,
            kind: TaskKind::Interactive,
            objective: "Find and buy the product that an instruction describes.",
            output: "one action a turn: search[words] or click[button]",
            metric: "success",
            limits,
            sizes,
            forbidden: &["oracle", "sealed", "target_product"],
        }
    }

    fn describe(scale: Scale) -> String {
        prompt::description(&Self::outline(scale))
    }

    fn ground(scale: Scale, stream: Stream) -> Catalogue {
        catalogue::draw(scale, stream)
    }

    fn draw(ground: &Catalogue, part: Part, _: Scale, stream: Stream) -> Option<ShopGoal> {
        goal::draw(ground, part, stream)
    }

    fn key(item: &ShopGoal) -> String {
        item.key()
    }

    fn evidence(ground: &Catalogue, item: &ShopGoal) -> String {
        // The instruction with the product that it was drawn from.
        format!("{} {}", ground.products()[item.product].id, item.instruction)
    }

    fn prompt(_: &Catalogue, item: &ShopGoal, _: Scale) -> Prompt {
        prompt::prompt(item)
    }

    fn open<'a>(ground: &'a Catalogue, item: &'a ShopGoal) -> ShopEpisode<'a> {
        ShopEpisode::new(ground, item)
    }

    fn solve(ground: &Catalogue, item: &ShopGoal) -> Vec<String> {
        expert::oracle(ground, item)
    }

    fn random(episode: &ShopEpisode<'_>, rng: &mut ChaCha8Rng) -> String {
        episode.random(rng)
    }

    fn expert(ground: &Catalogue, item: &ShopGoal) -> Vec<String> {
        expert::expert(ground, item)
    }

    fn render(ground: &Catalogue, item: &ShopGoal) -> String {
        item.render(ground)
    }
}
