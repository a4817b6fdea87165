//! Walks, snippets and parts.

use super::question::{Asked, pairs};
use super::{Encyclopedia, Search, SearchEpisode, SearchQuestion, SetRule};
use crate::generate::generate;
use crate::kind::{Episode as _, Kind as _, Scale};
use crate::part::Part;
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;
use tasks::task::TaskId;

/// A tiny encyclopedia with the questions of each part.
fn drawn() -> (Encyclopedia, BTreeMap<Part, Vec<SearchQuestion>>) {
    let sizes = Search::outline(Scale::Tiny).sizes;
    let task = TaskId::new("search").unwrap();
    let drawn = generate::<Search>(&task, Scale::Tiny, &sizes, Stream::root(4)).unwrap();
    let parts = drawn.parts.into_iter();
    (drawn.ground, parts.map(|(part, all)| (part, all.into_values().collect())).collect())
}

#[test]
fn each_search_of_a_walk_shows_what_the_next_one_needs() {
    let (encyclopedia, questions) = drawn();
    for question in questions.values().flatten() {
        let mut episode = SearchEpisode::new(&encyclopedia, question);
        let entities = encyclopedia.entities();
        let mut here = question.start;
        let mut needed: Vec<Vec<String>> = Vec::new();
        for relation in &question.path {
            here = entities[here].facts[relation];
            needed.push(vec![entities[here].name.clone()]);
        }
        if question.asked != Asked::Name {
            needed.push(question.answers.clone());
        }
        let turns = question.walk(&encyclopedia);
        assert_eq!(turns.len(), needed.len() + 1);
        for (turn, needed) in turns.iter().zip(needed) {
            let shown = episode.respond(turn).observation;
            assert!(needed.iter().all(|name| shown.contains(name)), "{turn}\n{shown}\n{needed:?}");
            assert!(shown.lines().count() <= 3);
        }
    }
}

#[test]
fn the_expert_says_what_it_was_shown_and_takes_the_steps_of_the_walk() {
    let (encyclopedia, questions) = drawn();
    for question in questions.values().flatten() {
        let mut episode = SearchEpisode::new(&encyclopedia, question);
        let (turns, walk) = (question.expert(&encyclopedia), question.walk(&encyclopedia));
        assert_eq!(turns.len(), walk.len());
        let mut shown = String::new();
        for (turn, step) in turns.iter().zip(&walk) {
            let (thoughts, action) = turn.rsplit_once('\n').unwrap_or(("", turn));
            assert_eq!(thoughts.is_empty(), shown.is_empty());
            assert!(shown.contains(thoughts), "{turn}\n{shown}");
            if action.starts_with("search[") {
                assert_eq!(action, step);
            }
            let answer = episode.respond(turn);
            assert!(answer.understood);
            shown = answer.observation;
        }
        assert_eq!(episode.verdict().reward, 1.0);
    }
}

#[test]
fn the_first_line_that_is_an_action_counts() {
    let (encyclopedia, questions) = drawn();
    let question = &questions[&Part::Train][0];
    let respond = |text: &str| SearchEpisode::new(&encyclopedia, question).respond(text);
    let plain = respond("search[the mayor]");
    for text in ["I see [two] towns.\nsearch[the mayor]", " Search [the mayor] \nanswer[x]"] {
        assert_eq!(respond(text).observation, plain.observation, "{text}");
    }
    assert!(respond("So it is he.\n\nanswer[Ada Fenn]").over);
    for text in ["", "Now search[the mayor].", "search[the mayor] and more", "search the mayor"] {
        assert!(!respond(text).understood, "{text}");
    }
}

#[test]
fn training_questions_walk_training_pairs_and_half_of_the_others_one_of_their_own() {
    let (_, questions) = drawn();
    for (part, questions) in questions {
        let own = questions.iter().filter(|question| {
            let pairs = pairs(&question.path, question.asked);
            assert!(pairs.iter().all(|&pair| pair == Part::Train || pair == part));
            part.is_sealed() && pairs.contains(&part)
        });
        let share = own.count() as f64 / questions.len() as f64;
        let expected = if part.is_sealed() { 0.5 } else { 0.0 };
        assert!((share - expected).abs() < 0.2, "{part}: {share}");
        let hops: BTreeSet<usize> = questions.iter().map(SearchQuestion::hops).collect();
        assert_eq!(hops, BTreeSet::from([2, 3, 4]));
    }
}

#[test]
fn longer_lists_count_only_where_containment_does() {
    let (encyclopedia, questions) = drawn();
    let question = questions[&Part::Train].iter().find(|question| question.answers.len() > 1);
    let question = question.unwrap();
    let more = format!("answer[{}; Somebody Else]", question.answers.join("; "));
    let reward = |rule| {
        let mut episode = SearchEpisode::new(&encyclopedia, question).with_rule(rule);
        assert!(episode.respond(&more).over);
        episode.verdict().reward
    };
    assert_eq!((reward(SetRule::Strict), reward(SetRule::Containment)), (0.0, 1.0));
}

#[test]
fn an_encyclopedia_is_read_back_and_checked() {
    let (encyclopedia, _) = drawn();
    let text = serde_json::to_string(&encyclopedia).unwrap();
    assert!(serde_json::from_str::<Encyclopedia>(&text).unwrap() == encyclopedia);
    let lost = text.replacen("\"born_in\":", "\"born_in\":9", 1);
    let refused = serde_json::from_str::<Encyclopedia>(&lost).unwrap_err();
    assert!(refused.to_string().contains("is about no entity"), "{refused}");
}
