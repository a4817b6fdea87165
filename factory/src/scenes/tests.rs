//! What scenes promise: reproducible drawings, rungs in order, pages that say how to submit.

use super::detection::Detection;
use super::reconstruction::Reconstruction;
use super::segmentation::Segmentation;
use super::*;

fn scenes() -> Vec<SceneRule> {
    let mut draws = Draws::new(Stream::root(4));
    vec![
        SceneRule::Segmentation(Segmentation::plan(&mut draws)),
        SceneRule::Detection(Detection::plan(2, &mut draws)),
        SceneRule::Reconstruction(Reconstruction::plan(&mut draws)),
    ]
}

#[test]
fn rules_survive_being_written_and_differ_in_their_hashes() {
    let mut hashes = Vec::new();
    for rule in scenes() {
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<SceneRule>(&text).unwrap(), rule);
        hashes.push(rule.canonical_hash());
    }
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 3);
}

#[test]
fn the_same_draws_give_the_same_picture() {
    for rule in scenes() {
        let draw = |row| {
            let mut draws = Draws::new(Stream::root(8).index(row));
            rule.scene().draw(&Strengths::new(), &mut draws)
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1).picture, draw(2).picture);
    }
}

#[test]
fn slips_move_the_truth_and_nothing_else() {
    for rule in scenes().into_iter().take(2) {
        let draw = |slip: f64| {
            let mut draws = Draws::new(Stream::root(9));
            let strengths = Strengths::from([(JITTER.name.to_owned(), slip)]);
            rule.scene().draw(&strengths, &mut draws)
        };
        let (clean, slipped) = (draw(0.0), draw(0.8));
        assert_eq!((clean.picture, clean.ideal), (slipped.picture, slipped.ideal));
        assert_ne!(clean.truth, slipped.truth);
    }
}
