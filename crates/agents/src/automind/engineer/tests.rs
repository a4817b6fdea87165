use super::reading::{Form, Reading};
use super::*;
use crate::scaffold::items::ItemKind;

fn reading(form: Form) -> Reading {
    Reading {
        form,
        task: String::new(),
        metric: "accuracy".to_owned(),
        higher: true,
        item: None,
        in_names: false,
    }
}

fn card(id: &str, slot: Slot) -> PlannedCard {
    PlannedCard { id: id.to_owned(), slot, code: format!("x[\"{id}\"] = \"```\"\n") }
}

#[test]
fn plans_are_read_as_they_are_written() {
    let mut rng = Stream::root(0).rng();
    for model in PlainModel::ALL {
        let mut spec = Spec::plain(model);
        for _ in 0..20 {
            spec.vary(&mut rng);
            spec.take(card("products", Slot::Features));
            spec.take(card("logs", Slot::Target));
            assert_eq!(Spec::read(&spec.text(&reading(Form::Number))), Some(spec.clone()));
        }
        spec.repairs = vec!["read_csvv".to_owned()];
        assert_eq!(Spec::read(&spec.text(&reading(Form::Number))), Some(spec.clone()));
        assert_eq!(spec.cards.len(), 2);
        spec.take(card("ranks", Slot::Target));
        let ids: Vec<&str> = spec.cards.iter().map(|card| card.id.as_str()).collect();
        assert_eq!(ids, ["products", "ranks"], "one card of that slot");
    }
    assert_eq!(Spec::read("Fit a forest."), None);
}

#[test]
fn variation_changes_one_thing() {
    let mut rng = Stream::root(0).rng();
    for _ in 0..100 {
        let spec = Spec::plain(PlainModel::Forest);
        let mut varied = spec.clone();
        varied.vary(&mut rng);
        let words = |spec: &Spec| {
            let text = spec.text(&reading(Form::Number));
            text.lines().next().unwrap().split(' ').map(str::to_owned).collect::<Vec<_>>()
        };
        let differ = words(&spec).iter().zip(&words(&varied)).filter(|(a, b)| a != b).count();
        assert_eq!(differ, 1);
    }
}

#[test]
fn improvement_of_a_repaired_plan_is_written_anew() {
    let mut rng = Stream::root(0).rng();
    let mut spec = Spec::plain(PlainModel::Line);
    spec.repairs = vec!["read_csvv".to_owned()];
    let varied = improvement(spec.clone(), None, &mut rng);
    assert_eq!(varied.repairs, [] as [&str; 0]);
    assert_ne!(varied, Spec::plain(PlainModel::Line), "one thing is another");
    let with_card = improvement(spec, Some(card("products", Slot::Features)), &mut rng);
    assert_eq!((with_card.repairs.len(), with_card.cards.len()), (0, 1));
}

#[test]
fn every_form_has_three_parts_and_reports_its_validation() {
    let forms = [
        Form::Number,
        Form::Probability,
        Form::Label,
        Form::ClassProbabilities,
        Form::Numbers,
        Form::Quantiles,
        Form::Probabilities,
        Form::Flags,
        Form::Relevance,
        Form::Mask,
        Form::Boxes,
        Form::Pixels,
        Form::Text,
        Form::Ids,
        Form::Unknown,
    ];
    for form in forms {
        for model in PlainModel::ALL {
            let spec = Spec::plain(model);
            let parts = skeleton::parts(
                &spec,
                &Reading { item: Some(ItemKind::Pictures), ..reading(form) },
            );
            assert!(parts.iter().all(|part| part.ends_with('\n')), "{form:?}");
            let code = parts.concat();
            for part in ["validation.json", "submission.csv", "print(\"validation:\""] {
                assert!(code.contains(part), "{form:?}: {part}");
            }
            assert!(!code.contains("{value}") && !code.contains("{most}"), "{form:?}");
        }
    }
}

#[test]
fn scripts_have_the_lines_that_their_plan_names() {
    for form in [Form::Number, Form::Label, Form::Mask, Form::Unknown] {
        let reading = reading(form);
        let count = |lines| {
            let spec = Spec { lines, ..Spec::plain(PlainModel::Forest) };
            let text = spec.text(&reading);
            assert_eq!(Spec::read(&text), Some(spec.clone()));
            assert_eq!(planned_lines(&text), lines);
            let parts = skeleton::parts(&spec, &reading);
            assert!(parts[2].ends_with("print(\"validation:\", float(_metric))\n"));
            breakable_lines(&parts.concat())
        };
        let shortest = count(None);
        assert!(shortest < 60, "{form:?}: {shortest}");
        assert_eq!(count(Some(10)), shortest.max(10), "{form:?}");
        for lines in [61, 62, 63, 120] {
            assert_eq!(count(Some(lines)), lines as usize, "{form:?}");
        }
    }
}

#[test]
fn long_plans_are_called_hard() {
    let scores = [1, 20, 70, 88, 89, 120, 500].map(complexity_of_lines);
    assert_eq!(scores, [1.0, 1.0, 3.0, 3.5, 4.0, 5.0, 5.0]);
    assert_eq!(EngineerSkill::from_text("lines=20-120").unwrap().lines, Some((20, 120)));
    assert_eq!(EngineerSkill::from_text("lines=30").unwrap().lines, Some((30, 30)));
    for wrong in ["lines=9-3", "lines=a-b", "lines=-1", "lines=1-9999"] {
        assert!(EngineerSkill::from_text(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn snippets_stand_in_their_slots() {
    let mut spec = Spec::plain(PlainModel::Line);
    let slots = [Slot::Read, Slot::Clean, Slot::Features, Slot::Target, Slot::Model, Slot::Post];
    // Taken in the wrong order.
    for slot in slots.into_iter().rev() {
        spec.take(PlannedCard {
            id: slot.name().to_owned(),
            slot,
            code: format!("# {}\n", slot.name()),
        });
    }
    let parts =
        skeleton::parts(&spec, &Reading { item: Some(ItemKind::Texts), ..reading(Form::Number) });
    let code = parts.concat();
    let places: Vec<usize> =
        slots.iter().map(|slot| code.find(&format!("# {}\n", slot.name())).unwrap()).collect();
    assert!(places.is_sorted(), "{code}");
    assert!(!code.contains("CountVectorizer") && !code.contains("Ridge"), "the cards replace both");
    let mask = Reading { task: "segmentation".to_owned(), ..reading(Form::Mask) };
    spec.take(PlannedCard {
        id: "d".to_owned(),
        slot: Slot::Draw,
        code: "s[t] = \"\"\nif n:\n    s[t] = \"1 1\"\n".to_owned(),
    });
    let code = skeleton::parts(&spec, &mask).concat();
    assert!(
        code.contains("    s[t] = \"\"\n    if n:\n        s[t] = \"1 1\"\n    return s\n"),
        "{code}"
    );
}

#[test]
fn deaf_engineers_ignore_their_share_of_cards() {
    let engineer = Engineer::new(0, EngineerSkill { deaf: 0.3, ..EngineerSkill::default() });
    let ignored = (0..1000).filter(|id| engineer.is_deaf_to(&format!("card-{id}"))).count();
    assert!((250..350).contains(&ignored), "{ignored}");
    assert!(!Engineer::new(0, EngineerSkill::default()).is_deaf_to("card"));
}

/// What it may not see: the handle of a task, through which private files are reached.
#[test]
fn engineer_sees_nothing_but_prompts() {
    let sources = [
        include_str!("mod.rs"),
        include_str!("drawn.rs"),
        include_str!("reading.rs"),
        include_str!("retriever.rs"),
        include_str!("scores.rs"),
        include_str!("skeleton.rs"),
        include_str!("slip.rs"),
        include_str!("spec.rs"),
    ];
    for source in sources {
        for word in [
            "task::Task",
            "TaskSuite",
            "Manifest",
            "private",
            "provenance",
            "fs_err",
            "std::fs",
            "oracle",
            "Facts",
        ] {
            let shown: Vec<&str> = source
                .lines()
                .filter(|line| line.contains(word) && !line.trim_start().starts_with("//"))
                .collect();
            assert!(shown.is_empty(), "{word}: {shown:?}");
        }
    }
}
