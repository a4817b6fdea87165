//! Pages, parts and players of the shop.

use super::{Catalogue, Shop, ShopEpisode, ShopGoal, catalogue, expert};
use crate::generate::generate;
use crate::kind::{Episode as _, Kind as _, Scale};
use crate::part::Part;
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tasks::task::TaskId;

/// A tiny shop with the goals of each part.
fn shop() -> (Catalogue, BTreeMap<Part, Vec<ShopGoal>>) {
    let sizes = Shop::outline(Scale::Tiny).sizes;
    let task = TaskId::new("shop").unwrap();
    let drawn = generate::<Shop>(&task, Scale::Tiny, &sizes, Stream::root(4)).unwrap();
    let goals = drawn.parts.into_iter();
    (drawn.ground, goals.map(|(part, goals)| (part, goals.into_values().collect())).collect())
}

#[test]
fn parts_have_goals_on_products_of_their_own() {
    let (catalogue, goals) = shop();
    for (part, goals) in goals {
        for goal in goals {
            assert_eq!(catalogue.products()[goal.product].part(), part);
        }
    }
}

#[test]
fn a_tenth_of_the_words_with_another_form_are_replaced() {
    let (_, goals) = shop();
    let (mut replaced, mut all) = (0, 0);
    for goal in goals.values().flatten() {
        for (plain, told) in goal.attributes.iter().zip(&goal.told) {
            all += usize::from(super::words::synonym(plain).is_some());
            replaced += usize::from(plain != told);
            assert!(goal.instruction.contains(told));
        }
    }
    let share =
        f64::from(u32::try_from(replaced).unwrap()) / f64::from(u32::try_from(all).unwrap());
    assert!((0.05..0.15).contains(&share), "{replaced} of {all}");
}

#[test]
fn the_expert_mostly_finds_what_fits() {
    let (catalogue, goals) = shop();
    for (part, goals) in goals {
        let rewards = goals.iter().map(|goal| {
            let mut episode = ShopEpisode::new(&catalogue, goal);
            for turn in expert::expert(&catalogue, goal) {
                assert!(episode.respond(&turn).understood, "{turn}");
            }
            episode.verdict().reward
        });
        let mean = rewards.sum::<f64>() / goals.len() as f64;
        assert!(mean > 0.7 && mean < 1.0, "{part}: {mean}");
    }
}

#[test]
fn pages_and_buttons_follow_each_other() {
    let catalogue = catalogue::draw(Scale::Tiny, Stream::root(1));
    let goal = Shop::draw(&catalogue, catalogue.products()[0].part(), Scale::Tiny, Stream::root(2));
    let goal = goal.unwrap_or_else(|| {
        let draws = (0..99).map(|number| Stream::root(2).index(number));
        let mut draws =
            draws.filter_map(|stream| Shop::draw(&catalogue, Part::Train, Scale::Tiny, stream));
        draws.next().unwrap()
    });
    let mut episode = ShopEpisode::new(&catalogue, &goal);
    let mut lines = vec![goal.instruction.clone()];
    let oracle = expert::oracle(&catalogue, &goal);
    let found = oracle.iter().find(|turn| turn.starts_with("click[b")).unwrap().clone();
    let mut turns = vec!["click[next >]".to_owned(), oracle[0].clone()];
    turns.extend(["search[red]", "click[next >]", "click[< prev]"].map(str::to_owned));
    turns.push(found);
    turns.extend(
        ["click[features]", "click[< prev]", "Click[Description]", "click[< prev]"]
            .map(str::to_owned),
    );
    turns.extend(oracle.iter().skip(2).cloned());
    for turn in turns {
        let answer = episode.respond(&turn);
        lines.push(format!("> {turn}\n{}", answer.observation));
    }
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(episode.verdict().reward, 1.0);
}
