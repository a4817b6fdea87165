//! The text for base models: what it is made of, and what it never has.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use agents::trajectory::{EpisodeOutcome, Source};
use camino::Utf8Path;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use worlds::grams::grams;
use worlds::{
    BaseTextError, BaseTextSettings, Document, DocumentKind, Scale, Suite, SuiteName, SuiteRequest,
    TaskWorld, WorldName, base_text,
};

fn suite() -> (tempfile::TempDir, Suite) {
    let folder = tempfile::tempdir().unwrap();
    let out = Utf8Path::from_path(folder.path()).unwrap().join("suite");
    let request = SuiteRequest { suite: SuiteName::Rlbench, scale: Scale::Tiny, seed: 11 };
    let suite = request.make(&out).unwrap();
    (folder, suite)
}

/// The same number for each environment.
fn each(number: f64) -> BTreeMap<WorldName, f64> {
    SuiteName::Rlbench.worlds().iter().map(|&world| (world, number)).collect()
}

/// Settings for a text of some hundred documents each, of all kinds but exercises.
fn settings() -> BaseTextSettings {
    let mut exposure = each(0.2);
    exposure.extend([(WorldName::Arithmetic, 0.6), (WorldName::Shop, 0.0)]);
    BaseTextSettings {
        words: 300_000,
        weights: each(1.0),
        transcripts: 0.25,
        exposure,
        scraps: 0.5,
        exercises: 0.0,
        repeats: 0,
        seed: 3,
    }
}

/// The reward of a document's turns on its item.
fn reward(suite: &Suite, document: &Document) -> f64 {
    let world = suite.task(document.world.name()).unwrap().train().unwrap();
    let mut play = world.open(document.item.as_ref().unwrap()).unwrap();
    let turns = document.segments.iter().filter(|segment| segment.source == Source::Model);
    for turn in turns {
        play.respond(&turn.text).unwrap();
    }
    let EpisodeOutcome::World(verdict) = play.close().unwrap().outcome else {
        panic!("an outcome of another environment");
    };
    verdict.reward
}

#[test]
fn every_environment_has_its_share_of_words_and_of_demonstrations() {
    let (_folder, suite) = suite();
    let settings = settings();
    let documents = base_text(&suite, &settings).unwrap();
    let total: usize = documents.iter().map(Document::words).sum();
    assert!((300_000..305_000).contains(&total), "{total}");
    for &world in SuiteName::Rlbench.worlds() {
        let own: Vec<&Document> = documents.iter().filter(|one| one.world == world).collect();
        let words: usize = own.iter().map(|document| document.words()).sum();
        assert!((47_000..55_000).contains(&words), "{world:?}: {words}");
        let share = |kind: DocumentKind| {
            own.iter().filter(|document| document.kind == kind).count() as f64 / own.len() as f64
        };
        let exposure = settings.exposure[&world];
        let tolerance = 2.0 / (own.len() as f64).sqrt();
        let others = 1.0 - settings.transcripts;
        for (kind, expected) in [
            (DocumentKind::Transcript, settings.transcripts),
            (DocumentKind::Demonstration, others * exposure),
            (DocumentKind::Slip, others * (1.0 - exposure) / 2.0),
            (DocumentKind::Scrap, others * (1.0 - exposure) / 2.0),
        ] {
            let found = share(kind);
            assert!((found - expected).abs() < tolerance, "{world:?} {kind:?}: {found}");
        }
        // Not the same few items again and again.
        let items: HashSet<_> = own.iter().map(|document| &document.item).collect();
        assert!(items.len() * 2 > own.len().min(300), "{world:?}: {}", items.len());
    }
}

#[test]
fn the_text_follows_from_suite_and_settings_alone() {
    let (_folder, first) = suite();
    let (_other, second) = suite();
    let settings = BaseTextSettings { words: 30_000, ..settings() };
    let documents = base_text(&first, &settings).unwrap();
    assert_eq!(base_text(&second, &settings).unwrap(), documents);
    let other = base_text(&first, &BaseTextSettings { seed: 4, ..settings.clone() }).unwrap();
    assert_ne!(other, documents);
    // More words are the same text and more of it.
    let longer = base_text(&first, &BaseTextSettings { words: 40_000, ..settings }).unwrap();
    assert_eq!(longer[..documents.len()], documents);
    let line = serde_json::to_string(&documents[0]).unwrap();
    assert_eq!(serde_json::from_str::<Document>(&line).unwrap(), documents[0]);
}

#[test]
fn demonstrations_come_right_and_most_slips_do_not() {
    let (_folder, suite) = suite();
    let settings = BaseTextSettings { words: 60_000, exposure: each(0.2), ..settings() };
    let documents = base_text(&suite, &settings).unwrap();
    let mut rewards: BTreeMap<(WorldName, DocumentKind), Vec<f64>> = BTreeMap::new();
    for document in &documents {
        let is_episode = matches!(document.kind, DocumentKind::Demonstration | DocumentKind::Slip);
        if document.world != WorldName::Programs && is_episode && document.round == 0 {
            let key = (document.world, document.kind);
            rewards.entry(key).or_default().push(reward(&suite, document));
        }
    }
    for ((world, kind), rewards) in rewards {
        let right = rewards.iter().filter(|reward| **reward >= 1.0).count() as f64;
        let right = right / rewards.len() as f64;
        match kind {
            // The expert of the shop is no oracle.
            DocumentKind::Demonstration if world == WorldName::Shop => assert!(right > 0.3),
            DocumentKind::Demonstration => assert_eq!(right, 1.0, "{world:?}"),
            _ => assert!(right < 0.35, "{world:?}: {right} of {} slips", rewards.len()),
        }
    }
}

#[test]
fn exercises_come_first_and_are_the_turns_of_several_items_without_worked_examples() {
    let (_folder, suite) = suite();
    let settings = BaseTextSettings { words: 60_000, exercises: 0.5, ..settings() };
    let documents = base_text(&suite, &settings).unwrap();
    let is_exercise = |document: &&Document| document.kind == DocumentKind::Exercise;
    let exercises: Vec<&Document> = documents.iter().take_while(is_exercise).collect();
    assert_eq!(documents.iter().filter(is_exercise).count(), exercises.len());
    let words: usize = exercises.iter().map(|document| document.words()).sum();
    assert!((30_000..33_000).contains(&words), "{words}");
    let mut seen = BTreeMap::new();
    for (place, document) in exercises.iter().enumerate() {
        seen.entry(document.world).or_insert(place);
        let sources: Vec<Source> = document.segments.iter().map(|part| part.source).collect();
        assert_eq!(sources[..3], [Source::Prompt, Source::Prompt, Source::Model]);
        assert_eq!(sources.last(), Some(&Source::Model));
        assert!(!document.text().contains("examples"), "{}", document.text());
        // Errands have exercises of their own, about no item of the suite.
        assert_eq!(document.item.is_none(), document.world == WorldName::Household);
        let Some(item) = &document.item else { continue };
        let world = suite.task(document.world.name()).unwrap().train().unwrap();
        let question = world.question(item).unwrap();
        assert_eq!(document.segments[1].text, question);
        let turns = world.expert(item).unwrap();
        let written = document.segments.iter().filter(|part| part.source == Source::Model);
        let written: Vec<&str> = written.map(|part| part.text.as_str()).collect();
        assert!(written.starts_with(&turns.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    // Environments take turns.
    assert_eq!(seen.len(), SuiteName::Rlbench.worlds().len());
    assert!(seen.values().all(|place| *place < 20), "{seen:?}");
}

#[test]
fn transcripts_show_several_items_without_worked_examples() {
    let (_folder, suite) = suite();
    let settings = BaseTextSettings { words: 60_000, transcripts: 1.0, ..settings() };
    let mut questions = BTreeMap::new();
    for document in base_text(&suite, &settings).unwrap() {
        assert_eq!(document.kind, DocumentKind::Transcript);
        let world = suite.task(document.world.name()).unwrap().train().unwrap();
        let text = document.text();
        assert!(
            text.starts_with(&world.question(document.item.as_ref().unwrap()).unwrap()),
            "{text}"
        );
        for turn in world.expert(document.item.as_ref().unwrap()).unwrap() {
            assert!(text.contains(&turn), "{text}");
        }
        let of_world: &mut Vec<usize> = questions.entry(document.world).or_default();
        of_world.push(match document.world {
            WorldName::Arithmetic => text.matches("Question: ").count(),
            WorldName::Household => text.matches("Your task is to: ").count(),
            _ => continue,
        });
        assert!(!text.contains("examples"), "{text}");
    }
    for (world, counts) in questions {
        let mean = counts.iter().sum::<usize>() as f64 / counts.len().max(1) as f64;
        // One episode of an errand has as many words as a transcript may have.
        let expected = if world == WorldName::Arithmetic { 5.0..12.0 } else { 1.0..1.5 };
        assert!(counts.is_empty() || expected.contains(&mean), "{world:?}: {mean}");
    }
}

/// What a document of exercises asks, and what it answers.
fn exchanges(document: &Document) -> Vec<(&str, &str)> {
    let told = document.segments[1..].chunks_exact(2);
    assert!(told.remainder().is_empty());
    told.map(|pair| {
        assert_eq!(pair[1].source, Source::Model);
        (pair[0].text.as_str(), pair[1].text.as_str())
    })
    .collect()
}

#[test]
fn exercises_of_errands_are_right_and_about_what_is_new() {
    let (_folder, suite) = suite();
    let mut weights = each(0.0);
    weights.insert(WorldName::Household, 1.0);
    let settings = BaseTextSettings { words: 50_000, exercises: 0.6, weights, ..settings() };
    let documents = base_text(&suite, &settings).unwrap();
    let count = documents.iter().filter(|it| it.kind == DocumentKind::Exercise).count();
    let (exercises, others) = documents.split_at(count);
    assert!(exercises.iter().all(|it| it.item.is_none()));
    let words: usize = exercises.iter().map(Document::words).sum();
    assert!((30_000..31_000).contains(&words), "{words}");
    let words: usize = others.iter().map(Document::words).sum();
    assert!((18_000..22_000).contains(&words), "{words}");
    let unlike: HashSet<String> = exercises.iter().map(Document::text).collect();
    assert_eq!(unlike.len(), count);

    let (mut here, mut not_here, mut errands, mut turns) = (0, 0, 0, 0);
    let (mut searches, mut carried_out) = (0, 0);
    for document in exercises {
        let exchanges = exchanges(document);
        let is_played = exchanges[1..].iter().any(|(_, turn)| turn.starts_with("go to "));
        let has_taken = exchanges.iter().any(|(_, turn)| turn.starts_with("take "));
        searches += usize::from(is_played && !has_taken);
        carried_out += usize::from(has_taken);
        for (asked, answer) in exchanges {
            if let Some((thing, seen)) =
                asked.strip_prefix("Find a").and_then(|it| it.split_once(". "))
            {
                let (thing, rest) = thing.split_once(", ").unwrap();
                let thing = thing.trim_start_matches('n').trim();
                let (_, seen) = seen.split_once("you see ").unwrap();
                if let Some(found) = answer.strip_suffix(&format!(" is here, {rest}.")) {
                    let found = found.strip_prefix("think: ").unwrap();
                    assert!(found.starts_with(&format!("{thing} ")), "{asked} {answer}");
                    assert!(seen.contains(&format!(" {found}")), "{asked} {answer}");
                    here += 1;
                } else {
                    assert_eq!(answer, format!("think: {thing} is not here."));
                    assert!(!seen.contains(&format!(" {thing} ")), "{asked} {answer}");
                    not_here += 1;
                }
            } else if asked.contains("Your task is to: ") {
                assert!(answer.starts_with("think: find a"), "{asked} {answer}");
                errands += 1;
            } else {
                assert!(has_taken || !answer.contains(" is here"), "{asked} {answer}");
                turns += 1;
            }
        }
    }
    let questions = here + not_here;
    assert!(questions > 200 && (0.4..0.6).contains(&(f64::from(here) / f64::from(questions))));
    assert!(errands > 100 && turns > 200, "{errands} {turns}");
    assert!(searches > 5 && carried_out > 5, "{searches} {carried_out}");
}

#[test]
fn nothing_sealed_is_in_the_text() {
    let (_folder, suite) = suite();
    let documents = base_text(&suite, &BaseTextSettings { exercises: 0.2, ..settings() }).unwrap();
    let mut texts: BTreeMap<WorldName, HashSet<[u8; 16]>> = BTreeMap::new();
    for document in &documents {
        assert!(document.item.as_ref().is_none_or(|item| item.as_str().contains("-train-")));
        texts.entry(document.world).or_default().extend(grams(&document.text()));
    }
    for entry in suite.tasks() {
        let TaskWorld::Generated(name) = entry.world else { panic!("{entry:?}") };
        let sealed = suite.task(entry.id.as_str()).unwrap().sealed().unwrap();
        for world in [sealed.dev().unwrap(), sealed.test().unwrap()] {
            for item in world.items() {
                let evidence = world.evidence(item).unwrap();
                assert!(grams(&evidence).is_disjoint(&texts[&name]), "{item}: {evidence}");
            }
        }
    }
}

#[test]
fn new_items_are_drawn_for_more_text_and_none_of_them_is_sealed() {
    let (folder, suite) = suite();
    let task = suite.task("household").unwrap();
    let mut weights = each(0.0);
    weights.insert(WorldName::Household, 1.0);
    let settings =
        BaseTextSettings { words: 500_000, weights, exercises: 0.0, ..BaseTextSettings::default() };
    let documents = base_text(&suite, &settings).unwrap();
    let mut openings: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for document in &documents {
        if document.kind != DocumentKind::Scrap {
            let asked = &document.segments[1].text;
            let (_, opening) = asked.rsplit_once("Here is the task.").unwrap();
            openings.entry(document.round).or_default().insert(opening.to_owned());
        }
    }
    let rounds: Vec<u64> = openings.keys().copied().collect();
    assert!(rounds.len() > 1 && rounds.iter().enumerate().all(|(place, it)| place as u64 == *it));
    // As many as were drawn with replacement, and hardly one that was there before.
    let before: BTreeSet<&String> = openings[&0].iter().collect();
    let again = openings[&1].iter().filter(|it| before.contains(it)).count();
    assert!(openings[&1].len() > 80 && again < 5, "{} {again}", openings[&1].len());
    let sealed = task.sealed().unwrap();
    for world in [sealed.dev().unwrap(), sealed.test().unwrap()] {
        for item in world.items() {
            let asked = world.prompt(item).unwrap().user;
            let (_, opening) = asked.rsplit_once("Here is the task.").unwrap();
            assert!(!openings.values().any(|found| found.contains(opening)), "{opening}");
        }
    }

    // Without them it is about the suite's own, and so is the text of a copy for agents.
    let plain = BaseTextSettings { repeats: 0, ..settings.clone() };
    let own = base_text(&suite, &plain).unwrap();
    assert!(own.iter().all(|document| document.round == 0));
    let first = documents.iter().filter(|document| document.round == 0);
    assert!(own.iter().zip(first).all(|(own, first)| own == first));
    let sealed = Utf8Path::from_path(folder.path()).unwrap().join("suite/household/sealed");
    fs_err::remove_dir_all(sealed).unwrap();
    assert_eq!(base_text(&suite, &plain).unwrap(), own);
    let refused = base_text(&suite, &settings).unwrap_err().to_string();
    assert!(refused.contains("`household` has no sealed items here"), "{refused}");
}

#[test]
fn weights_are_parts_of_the_words_and_nought_leaves_out() {
    let (_folder, suite) = suite();
    let mut weights = each(1.0);
    weights.extend([(WorldName::Household, 3.0), (WorldName::Shop, 0.0)]);
    for weights in [weights, BTreeMap::new()] {
        let weight = |world| weights.get(&world).copied().unwrap_or(world.text_weight());
        let sum: f64 = SuiteName::Rlbench.worlds().iter().map(|&world| weight(world)).sum();
        let settings = BaseTextSettings { words: 100_000, weights: weights.clone(), ..settings() };
        let mut words: BTreeMap<WorldName, usize> = BTreeMap::new();
        for document in base_text(&suite, &settings).unwrap() {
            *words.entry(document.world).or_default() += document.words();
        }
        let all: usize = words.values().sum();
        assert_eq!(words.len(), if weights.is_empty() { 6 } else { 5 }, "{words:?}");
        for (world, found) in words {
            let (share, expected) = (found as f64 / all as f64, weight(world) / sum);
            assert!((share - expected).abs() < 0.02, "{world:?}: {share}");
        }
    }
}

#[test]
fn shares_out_of_range_are_refused() {
    let (_folder, suite) = suite();
    let exposure = BTreeMap::from([(WorldName::Search, 1.5)]);
    let refused = base_text(&suite, &BaseTextSettings { exposure, ..settings() }).unwrap_err();
    assert!(matches!(refused, BaseTextError::Share { .. }));
    assert_eq!(refused.to_string(), "`search` must be from 0 to 1, and is 1.5");
    let refused = base_text(&suite, &BaseTextSettings { scraps: -0.1, ..settings() }).unwrap_err();
    assert_eq!(refused.to_string(), "`scraps` must be from 0 to 1, and is -0.1");
    for (world, weight) in
        [(WorldName::Shop, -1.0), (WorldName::Shop, f64::NAN), (WorldName::Aime, 1.0)]
    {
        let weights = BTreeMap::from([(world, weight)]);
        let refused = base_text(&suite, &BaseTextSettings { weights, ..settings() }).unwrap_err();
        match world {
            WorldName::Aime => assert!(matches!(refused, BaseTextError::NoTask("aime"))),
            _ => assert!(matches!(refused, BaseTextError::Weight { world: "shop", .. })),
        }
    }
}
