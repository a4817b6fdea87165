//! Questions of every kind, for people to read.

use super::{TableDa, TableFc, TableNr, TableQuestion, TableVis};
use crate::kind::Scale;
use crate::single::Question;
use std::collections::BTreeMap;
use tasks::stream::Stream;

fn questions<Q: Question<Item = TableQuestion>>(scale: Scale) -> Vec<TableQuestion> {
    let stream = Stream::root(4).child(Q::NAME).child(scale.name());
    (0..2000).filter_map(|number| Q::draw(scale, &mut stream.index(number).rng())).collect()
}

/// One question of each kind.
fn shown<Q: Question<Item = TableQuestion>>(scale: Scale) -> BTreeMap<String, String> {
    let questions = questions::<Q>(scale).into_iter();
    questions
        .map(|item| (format!("{} {} {}", Q::NAME, item.kind, scale.name()), Q::render(&item)))
        .collect()
}

#[test]
fn there_are_eighteen_kinds_and_they_read_well() {
    let mut all = BTreeMap::new();
    for scale in Scale::ALL {
        all.extend(shown::<TableNr>(scale));
        all.extend(shown::<TableFc>(scale));
        all.extend(shown::<TableDa>(scale));
        all.extend(shown::<TableVis>(scale));
    }
    // Charts are one kind in five forms.
    assert_eq!(all.len(), 2 * (17 + 5));
    let texts: Vec<String> = all.iter().map(|(kind, text)| format!("{kind}\n{text}")).collect();
    insta::assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn statements_are_as_often_true_as_false() {
    for scale in Scale::ALL {
        let all = questions::<TableFc>(scale);
        let checks: Vec<bool> = all
            .iter()
            .filter(|one| one.kind == "multi_hop")
            .map(|one| one.answer == "yes")
            .collect();
        let share = checks.iter().filter(|&&holds| holds).count() as f64 / checks.len() as f64;
        assert!((0.45..0.75).contains(&share), "{scale:?}: {share}");
    }
}
