//! Guided runs as samples: what each context reads, what is trained on, and what replay proves.

use crate::fixture::Fixture;
use crate::guided::{Advised, conversation, guided, react, trajectory};
use agents::grammar::{answer_turn, python_turn, score_turn};
use agents::guide::event::{TurnPart, TurnVerdict, Verdict};
use agents::guide::export::{
    ExportError, ExportSettings, Exported, PlaysAgain, SampleContext, export, read_samples,
};
use agents::guide::guidance::{GuidanceText, TurnRange};
use agents::guide::people::Person;
use agents::guide::store::Store;
use agents::guide::verdicts::Trained::{Action, Nothing, Whole};
use agents::linear::again::{RecordedRuns, RunsAgain};
use agents::run::stop::AgentStop;
use agents::trajectory::{EpisodeEnding, Source, Trajectory};
use fs_err as fs;
use std::sync::{Arc, Mutex};
use tasks::thresholds::Milestone;

const SUBMIT: &str = "import shutil\nshutil.copy('input/sample_submission.csv', 'submission.csv')";

fn played(turns: &[String], says: &[(u32, &'static str, &'static str)]) -> (Fixture, Arc<Store>) {
    let (fixture, store) = guided();
    let player = Advised {
        store: Arc::clone(&store),
        turns: turns.to_vec(),
        says: says.iter().map(|(turn, name, text)| (*turn, *name, None, *text)).collect(),
        away_from: u32::MAX,
        shown: Mutex::default(),
    };
    fixture.play("run", &react(), &player).unwrap();
    (fixture, store)
}

/// A run that fails once, is advised, looks at the data, and hands something in.
fn usual() -> (Fixture, Arc<Store>) {
    played(
        &[
            python_turn("First.", "import nothing_of_that_name"),
            python_turn("Look.", "import os\nprint(sorted(os.listdir('input')))"),
            python_turn("Submit.", SUBMIT),
            answer_turn("Done."),
        ],
        &[(0, "a", "Look at the data first."), (1, "b", "Then submit something.")],
    )
}

fn exported(fixture: &Fixture, settings: &ExportSettings) -> Exported {
    let runs = RecordedRuns::read(&[fixture.run_folder("run")]).unwrap();
    let again = RunsAgain {
        runs: &runs,
        suite: &fixture.suite,
        python: &fixture.view.python,
        weights: None,
        stop: &AgentStop::default(),
    };
    let again: Option<&dyn PlaysAgain> = Some(&again);
    export(&fixture.run_folder("store"), settings, again).unwrap()
}

fn context(context: SampleContext) -> ExportSettings {
    ExportSettings { context, ..ExportSettings::default() }
}

fn judge(store: &Store, turn: u32, verdict: Verdict) {
    let verdict =
        TurnVerdict { turn, part: TurnPart::Turn, verdict, reason: "As an example.".to_owned() };
    store.judge(&conversation(store), Person { name: "ann", leads: false }, verdict).unwrap();
}

fn texts(trajectory: &Trajectory, source: Source) -> Vec<&str> {
    let segments = trajectory.segments.iter().filter(|segment| segment.source == source);
    segments.map(|segment| segment.text.as_str()).collect()
}

#[test]
fn kept_sample_is_the_trajectory_of_the_run_with_a_mask_beside_it() {
    let (fixture, store) = usual();
    let Exported { samples, manifest, verdicts } =
        exported(&fixture, &context(SampleContext::Keep));
    let [sample] = samples.as_slice() else { panic!("{samples:?}") };
    assert_eq!(sample.trained, [Nothing, Whole, Whole, Whole]);
    let mut found = sample.trajectory.clone();
    let own = trajectory(&fixture);
    // The agent measures when a piece reached it, the journal when it was sent.
    for (piece, own) in found.guidance.iter_mut().zip(&own.guidance) {
        assert!((piece.waited_seconds - own.waited_seconds).abs() < 1.0);
        piece.waited_seconds = own.waited_seconds;
    }
    assert_eq!(found, own);
    assert_eq!((manifest.samples, manifest.contexts.keep), (1, 1));
    assert_eq!((manifest.turns.whole, manifest.turns.nothing), (3, 1));
    assert_eq!(manifest.verdicts.found_by_rule["raised"], 1);
    assert_eq!((manifest.guidance.heard, manifest.guidance.words), (2, 8));
    assert_eq!(verdicts.len(), 1);
    // A person's word counts more than a rule's.
    judge(&store, 0, Verdict::Keep);
    judge(&store, 1, Verdict::Drop);
    let again = exported(&fixture, &context(SampleContext::Keep));
    assert_eq!(again.samples[0].trained, [Whole, Nothing, Whole, Whole]);
    assert_eq!(again.manifest.verdicts.dropped_by["person"], 1);
    assert_eq!(again.manifest.verdicts.judged_by_people, 2);
}

#[test]
fn excised_sample_is_what_is_left_where_replay_confirms_it() {
    let (fixture, store) = usual();
    let excise = context(SampleContext::Excise);
    let Exported { samples, manifest, .. } = exported(&fixture, &excise);
    let sample = &samples[0];
    assert_eq!(manifest.contexts.excise_confirmed, 1, "{:?}", manifest.contexts);
    assert_eq!((sample.context, manifest.turns.cut), (SampleContext::Excise, 1));
    assert_eq!(sample.trained, [Whole; 3]);
    sample.check().unwrap();
    let own = trajectory(&fixture);
    assert_eq!(
        texts(&sample.trajectory, Source::Model),
        texts(&own, Source::Model)[1..],
        "the failed turn is gone"
    );
    assert_eq!(texts(&sample.trajectory, Source::Environment).len(), 2);
    assert_eq!(texts(&sample.trajectory, Source::Guide), Vec::<&str>::new());
    assert!(sample.trajectory.guidance.is_empty() && sample.trajectory.guided);
    let prompt = texts(&sample.trajectory, Source::Prompt).concat();
    assert!(!prompt.contains("real_user"), "it reads as a run without people");
    assert_eq!(sample.trajectory.grade(), own.grade());
    assert_eq!(sample.trajectory.ending, EpisodeEnding::Answered);
    // The end is cut off: the submission counts all the same.
    judge(&store, 3, Verdict::Drop);
    let cut = exported(&fixture, &excise);
    assert_eq!(cut.samples[0].trajectory.ending, EpisodeEnding::Budget);
    assert_eq!(cut.manifest.contexts.excise_confirmed, 1);
    // Nothing would be handed in without it.
    judge(&store, 2, Verdict::Drop);
    let refuted = exported(&fixture, &excise);
    assert_eq!(refuted.manifest.contexts.excise_fell_back["other_grade"], 1);
    assert_eq!(refuted.samples[0].context, SampleContext::Quiet);
    assert_eq!(refuted.samples[0].trained, [Nothing, Whole, Nothing, Nothing]);
    assert_eq!(refuted.samples[0].trajectory.guidance.len(), 2, "no dropout is asked for");
}

#[test]
fn turn_that_later_ones_need_is_not_excised() {
    let (fixture, store) = played(
        &[
            python_turn("Write.", "open('note.txt', 'w').write('42')"),
            python_turn("Read.", "print(open('note.txt').read())"),
            python_turn("Submit.", SUBMIT),
            answer_turn("Done."),
        ],
        &[],
    );
    judge(&store, 0, Verdict::Drop);
    let Exported { samples, manifest, .. } = exported(&fixture, &context(SampleContext::Excise));
    assert_eq!(manifest.contexts.excise_fell_back["other_observation"], 1);
    assert_eq!(samples[0].context, SampleContext::Quiet);
    // Without the run there is nothing to play.
    let runs = RecordedRuns::default();
    let again = RunsAgain {
        runs: &runs,
        suite: &fixture.suite,
        python: &fixture.view.python,
        weights: None,
        stop: &AgentStop::default(),
    };
    let store = fixture.run_folder("store");
    let excise = context(SampleContext::Excise);
    let unable = export(&store, &excise, Some(&again)).unwrap();
    assert_eq!(unable.manifest.contexts.excise_fell_back["no_run"], 1);
    let refused = export(&store, &excise, None);
    assert!(matches!(refused, Err(ExportError::NoReplay)));
}

#[test]
fn excise_of_nothing_changes_nothing_but_advice() {
    let turns = [python_turn("Submit.", SUBMIT), score_turn("Is it good?"), answer_turn("Done.")];
    let (fixture, _store) = played(&turns, &[]);
    let excised = exported(&fixture, &context(SampleContext::Excise));
    assert_eq!(excised.manifest.contexts.excise_as_recorded, 1);
    let quiet = ExportSettings { guidance_dropout: 1.0, ..context(SampleContext::Quiet) };
    let quiet = exported(&fixture, &quiet);
    assert_eq!(quiet.manifest.contexts.quiet_without_advice, 1);
    assert_eq!(excised.samples[0].trajectory, quiet.samples[0].trajectory);
    assert_eq!(excised.samples[0].trained, quiet.samples[0].trained);
    let kept = &exported(&fixture, &context(SampleContext::Keep)).samples[0].trajectory;
    assert_eq!(kept.segments[1..], excised.samples[0].trajectory.segments[1..]);
}

#[test]
fn quiet_samples_lose_their_advice_by_a_draw_that_repeats() {
    let (fixture, _store) = usual();
    let quiet = |share, seed| {
        let settings =
            ExportSettings { guidance_dropout: share, seed, ..context(SampleContext::Quiet) };
        exported(&fixture, &settings).samples[0].trajectory.guidance.len()
    };
    assert_eq!((quiet(0.0, 0), quiet(1.0, 0)), (2, 0));
    let drawn: Vec<usize> = (0..30).map(|seed| quiet(0.5, seed)).collect();
    assert!(drawn.contains(&0) && drawn.contains(&2), "all of it or none: {drawn:?}");
    assert_eq!(drawn, (0..30).map(|seed| quiet(0.5, seed)).collect::<Vec<_>>());
    let wrong = ExportSettings { guidance_dropout: 1.5, ..ExportSettings::default() };
    let refused = export(&fixture.run_folder("store"), &wrong, None);
    assert!(matches!(refused, Err(ExportError::Dropout(_))));
}

#[test]
fn settings_choose_thoughts_masks_and_runs() {
    let (fixture, store) = usual();
    let all = ExportSettings { masked: false, ..ExportSettings::default() };
    assert_eq!(exported(&fixture, &all).samples[0].trained, [Whole; 4]);
    let bare = ExportSettings { thoughts: false, ..ExportSettings::default() };
    let bare = exported(&fixture, &bare);
    for text in texts(&bare.samples[0].trajectory, Source::Model) {
        assert!(text.starts_with("<tool_call>") || text.starts_with("<answer>"), "{text}");
    }
    let gold = ExportSettings { tier: Some(Milestone::Gold), ..ExportSettings::default() };
    assert_eq!(exported(&fixture, &gold).manifest.left_out["below_tier"], 1);
    for turn in 0..4 {
        judge(&store, turn, Verdict::Drop);
    }
    let nothing = exported(&fixture, &ExportSettings::default());
    assert_eq!(nothing.manifest.left_out["nothing_trained"], 1);
    assert!(nothing.samples.is_empty());
    // A person's drop with advice, and a verdict on a part.
    let (fixture, store) = guided();
    let player = Advised {
        store: Arc::clone(&store),
        turns: vec![python_turn("Try.", "print(1)"), python_turn("On.", "print(2)")],
        says: Vec::new(),
        away_from: 2,
        shown: Mutex::default(),
    };
    fixture.play("run", &react(), &player).unwrap();
    let (id, ann) = (conversation(&store), Person { name: "ann", leads: false });
    let drop = Some(TurnRange { from: 0, to: 0 });
    let what = GuidanceText { text: "Not that.".to_owned(), about: Some(0), drop };
    store.post(&id, ann, "a".parse().unwrap(), what).unwrap();
    let open = exported(&fixture, &ExportSettings::default());
    assert_eq!(open.manifest.left_out["not_over"], 1);
    let player = Advised {
        turns: vec![String::new(), String::new(), answer_turn("Done.")],
        away_from: u32::MAX,
        ..player
    };
    fixture.play("run", &react(), &player).unwrap();
    let part = TurnVerdict {
        turn: 1,
        part: TurnPart::Thought,
        verdict: Verdict::Drop,
        reason: String::new(),
    };
    store.judge(&id, ann, part).unwrap();
    let over = exported(&fixture, &ExportSettings::default());
    // The end has no valid submission.
    assert_eq!(over.samples[0].trained, [Nothing, Action, Nothing]);
    assert_eq!(over.manifest.verdicts.found_by_rule["advised"], 1);
    assert_eq!(over.manifest.verdicts.found_by_rule["early_answer"], 1);
}

#[test]
fn export_twice_gives_the_same_bytes_that_are_read_back() {
    let (fixture, _store) = usual();
    let excise = context(SampleContext::Excise);
    let folders = ["one", "two"].map(|name| fixture.run_folder(name));
    for folder in &folders {
        exported(&fixture, &excise).write(folder).unwrap();
    }
    for file in ["samples.jsonl", "verdicts.jsonl", "manifest.json"] {
        let [one, two] = folders.each_ref().map(|folder| fs::read(folder.join(file)).unwrap());
        assert!(!one.is_empty() && one == two, "{file}");
    }
    let read = read_samples(&folders[0]).unwrap();
    assert_eq!(read, exported(&fixture, &excise).samples);
    let path = folders[0].join("samples.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"trained\":[", "\"trained\":[\"whole\",", 1)).unwrap();
    let refused = read_samples(&folders[0]).unwrap_err();
    assert!(refused.to_string().contains("`trained` has 4 turns"), "{refused}");
}
