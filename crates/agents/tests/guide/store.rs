//! What either side asks of a store.

use crate::fixture::{ANN, BOB, end, folder, opening, report, says};
use agents::guide::channel::{GuideLink, LocalChannel, OnLost};
use agents::guide::context::context;
use agents::guide::conversation::{Conversation, ConversationState};
use agents::guide::error::{GuideError, StoreError};
use agents::guide::event::{TurnPart, TurnVerdict, Verdict};
use agents::guide::exchange::{Delivery, Update};
use agents::guide::guidance::{GuidanceState, GuidanceText, TurnRange};
use agents::guide::guided_run::{GuidedRun, Interrupted};
use agents::guide::ids::{ConversationId, GuidanceId};
use agents::guide::people::Person;
use agents::guide::store::{Store, read_conversation};
use agents::guide::turn::{End, Opening, TurnReport};
use agents::trajectory::Source;
use camino::Utf8Path;
use fs_err as fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn id() -> ConversationId {
    "run".parse().unwrap()
}

fn name(text: &str) -> GuidanceId {
    text.parse().unwrap()
}

fn opened(folder: &Utf8Path) -> Store {
    let store = Store::open(folder).unwrap();
    store.open_conversation(&id(), opening()).unwrap();
    store
}

fn tell(store: &Store, turn: u32, have: u64) -> Delivery {
    store.exchange(&id(), Update { turn, have, listens: true, report: report(turn) }).unwrap()
}

fn texts(delivery: &Delivery) -> Vec<&str> {
    delivery.guidance.iter().map(|piece| piece.text.as_str()).collect()
}

#[test]
fn two_people_are_both_heard_in_order_and_equal_texts_are_two() {
    let (_kept, folder) = folder();
    let store = opened(&folder);
    for (person, piece, text) in [(ANN, "a", "Same."), (BOB, "b", "Same."), (ANN, "c", "More.")] {
        store.post(&id(), person, name(piece), says(text)).unwrap();
    }
    let delivery = tell(&store, 0, 0);
    assert_eq!(texts(&delivery), ["Same.", "Same.", "More."]);
    let by: Vec<&str> = delivery.guidance.iter().map(|piece| piece.by.as_str()).collect();
    assert_eq!(by, ["ann", "bob", "ann"]);
    assert_eq!(tell(&store, 0, 0).guidance.len(), 3, "not acknowledged, so sent again");
    let have = delivery.guidance[2].seq;
    assert!(tell(&store, 1, have).guidance.is_empty());
    let taken = store.post(&id(), BOB, name("a"), says("Mine."));
    assert!(matches!(taken, Err(GuideError::Taken(_))));
}

#[test]
fn older_turns_leave_memory_and_are_read_from_the_journal() {
    let (_kept, folder) = folder();
    let check = |store: &Store| {
        let known = read_conversation(&folder, &id()).unwrap().0;
        let all = known.turns.all();
        assert_eq!(all.len(), 80);
        for (from, to) in [(0, u32::MAX), (0, 1), (3, 50), (40, 80), (79, 80), (80, 90), (9, 9)] {
            let wanted = from.min(80) as usize..to.min(80) as usize;
            assert_eq!(store.turns(&id(), from, to).unwrap(), all[wanted], "{from} to {to}");
        }
        let recent = |conversation: &Conversation| conversation.turns.recent().len();
        assert_eq!(store.headlines(), [known.headline()]);
        store.read(&id(), recent).unwrap()
    };
    let store = opened(&folder);
    for turn in 0..80 {
        if turn % 7 == 0 {
            store.post(&id(), ANN, name(&turn.to_string()), says("Look.")).unwrap();
        }
        tell(&store, turn, 0);
    }
    assert!((16..=32).contains(&check(&store)));
    // Told again, as after a restart of the agent's side; and otherwise than before.
    assert_eq!(tell(&store, 5, 0).expects, 80);
    let update = Update { turn: 5, have: 0, listens: true, report: report(6) };
    let other = store.exchange(&id(), update);
    assert!(matches!(other, Err(GuideError::TurnDiffers { turn: 5 })), "{other:?}");
    drop(store);
    let store = Store::open(&folder).unwrap();
    assert!((16..=32).contains(&check(&store)));
    store.close_conversation(&id(), 0, end()).unwrap();
    assert!(check(&store) <= 2, "of a run that is over hardly anything is kept");
    drop(store);
    assert!(check(&Store::open(&folder).unwrap()) <= 2);
}

#[test]
fn piece_is_edited_and_retracted_while_it_waits_and_not_after() {
    let (_kept, folder) = folder();
    let store = opened(&folder);
    let lead = Person { name: "lea", leads: true };
    store.post(&id(), ANN, name("a"), says("Look.")).unwrap();
    let others = store.edit(&id(), BOB, &name("a"), says("No."));
    assert!(matches!(others, Err(GuideError::NotYours(_))));
    store.edit(&id(), lead, &name("a"), says("Look there.")).unwrap();
    store.post(&id(), BOB, name("b"), says("Stop.")).unwrap();
    for _ in 0..2 {
        let state = store.retract(&id(), BOB, &name("b")).unwrap().state;
        assert_eq!(state, GuidanceState::Retracted);
    }
    assert_eq!(texts(&tell(&store, 0, 0)), ["Look there."]);
    let late = store.edit(&id(), ANN, &name("a"), says("Elsewhere."));
    assert!(matches!(late, Err(GuideError::NotQueued(GuidanceState::Sent))));
    let late = store.retract(&id(), ANN, &name("a"));
    assert!(matches!(late, Err(GuideError::NotQueued(GuidanceState::Sent))));
    let unknown = store.retract(&id(), ANN, &name("z"));
    assert!(matches!(unknown, Err(GuideError::UnknownPiece(_))));
}

#[test]
fn limits_of_texts_and_of_the_queue_hold_on_both_sides() {
    let (_kept, folder) = folder();
    let store = opened(&folder);
    let large = "x".repeat(8 << 10);
    for number in 0..8 {
        store.post(&id(), ANN, name(&format!("g{number}")), says(&large)).unwrap();
    }
    let full = store.post(&id(), ANN, name("one-more"), says("x"));
    assert!(matches!(full, Err(GuideError::QueueFull { waiting: 65_536, .. })));
    // What waits may change within its own room.
    store.edit(&id(), ANN, &name("g0"), says("short")).unwrap();
    store.post(&id(), ANN, name("one-more"), says("x")).unwrap();
    let long = store.post(&id(), ANN, name("long"), says(&format!("{large}x")));
    assert!(matches!(long, Err(GuideError::TooLong { bytes: 8193, most: 8192 })));
    tell(&store, 0, 0);
    let wrong = [
        says(" \n"),
        GuidanceText { about: Some(1), ..says("x") },
        GuidanceText { drop: Some(TurnRange { from: 0, to: 1 }), ..says("x") },
        GuidanceText { drop: Some(TurnRange { from: 1, to: 0 }), ..says("x") },
    ];
    for what in wrong {
        let refused = store.post(&id(), BOB, name("wrong"), what.clone());
        assert!(matches!(refused, Err(GuideError::Invalid(_))), "{what:?}");
    }
}

#[test]
fn advice_after_the_end_is_late_and_kept() {
    let (_kept, folder) = folder();
    {
        let store = opened(&folder);
        tell(&store, 0, 0);
        store.post(&id(), ANN, name("a"), says("Just before.")).unwrap();
        for _ in 0..2 {
            let late = store.close_conversation(&id(), 0, end()).unwrap();
            assert_eq!(late.iter().map(|piece| piece.id.as_str()).collect::<Vec<_>>(), ["a"]);
        }
        let late = store.post(&id(), ANN, name("b"), says("Just after.")).unwrap();
        assert_eq!(late.state, GuidanceState::Late);
        let over =
            store.exchange(&id(), Update { turn: 1, have: 0, listens: true, report: report(1) });
        assert!(matches!(over, Err(GuideError::Ended)));
        assert!(store.open_conversation(&id(), opening()).unwrap().is_over);
    }
    let store = Store::open(&folder).unwrap();
    let kept: Vec<String> = store
        .read(&id(), |conversation| {
            conversation.pieces(GuidanceState::Late).map(|piece| piece.what.text.clone()).collect()
        })
        .unwrap();
    assert_eq!(kept, ["Just before.", "Just after."]);
}

#[test]
fn turn_that_is_told_otherwise_or_by_another_run_is_refused() {
    let (_kept, folder) = folder();
    let store = opened(&folder);
    tell(&store, 0, 0);
    let differs = Update { turn: 0, have: 0, listens: true, report: report(7) };
    assert!(matches!(store.exchange(&id(), differs), Err(GuideError::TurnDiffers { turn: 0 })));
    let ahead = Update { turn: 1, have: 9, listens: true, report: report(1) };
    let refused = store.exchange(&id(), ahead);
    assert!(matches!(refused, Err(GuideError::Ahead { have: 9, sent: 0 })));
    let other = Opening { attempt: 1, ..opening() };
    let refused = store.open_conversation(&id(), other);
    assert!(matches!(refused, Err(GuideError::OtherRun(_))));
    let early = Update { turn: 5, have: 0, listens: true, report: report(5) };
    assert_eq!(store.exchange(&id(), early).unwrap().expects, 1);
    assert!(matches!(Store::open(&folder), Err(StoreError::Locked(_))));
}

#[test]
fn long_texts_are_blobs_and_the_context_of_a_turn_is_what_was_read() {
    let (_kept, folder) = folder();
    let store = opened(&folder);
    let long = "y".repeat(4097);
    let first = TurnReport { observation: Some(long.clone()), ..report(0) };
    store.post(&id(), ANN, name("a"), says("Look.")).unwrap();
    let update = Update { turn: 0, have: 0, listens: true, report: first };
    let have = store.exchange(&id(), update).unwrap().guidance[0].seq;
    tell(&store, 1, have);
    let last = TurnReport { left_out: vec![0], ..report(2) };
    store.exchange(&id(), Update { turn: 2, have, listens: true, report: last }).unwrap();
    let journal = fs::read_to_string(folder.join("conversations/run/journal.jsonl")).unwrap();
    assert!(!journal.contains(&long) && journal.contains("\"bytes\":4097"));
    let read = |turn| {
        let conversation = store.read(&id(), Clone::clone).unwrap();
        let parts = context(&conversation, store.blobs(), turn)?;
        Ok::<_, GuideError>(
            parts.into_iter().map(|part| (part.source, part.text)).collect::<Vec<_>>(),
        )
    };
    assert_eq!(read(0).unwrap().len(), 2);
    let second = read(1).unwrap();
    assert_eq!(second[3], (Source::Environment, long));
    assert_eq!(second[4], (Source::Guide, "Look.".to_owned()));
    let third: Vec<Source> = read(2).unwrap().into_iter().map(|part| part.0).collect();
    assert_eq!(
        third,
        [Source::Prompt, Source::Prompt, Source::Guide, Source::Model, Source::Environment]
    );
    assert!(read(3).is_err());
}

#[test]
fn latest_verdict_counts_and_all_are_kept() {
    let (_kept, folder) = folder();
    let store = opened(&folder);
    tell(&store, 0, 0);
    let says =
        |verdict| TurnVerdict { turn: 0, part: TurnPart::Turn, verdict, reason: String::new() };
    let counts = |store: &Store| {
        store
            .read(&id(), |conversation| {
                let all = conversation.verdicts.len();
                (all, conversation.verdict(0, TurnPart::Turn).map(|by| by.verdict.verdict))
            })
            .unwrap()
    };
    store.judge(&id(), ANN, says(Verdict::Drop)).unwrap();
    store.judge(&id(), BOB, says(Verdict::Keep)).unwrap();
    assert_eq!(counts(&store), (2, Some(Verdict::Keep)));
    store.judge(&id(), ANN, says(Verdict::Drop)).unwrap();
    assert_eq!(counts(&store), (2, Some(Verdict::Keep)), "said before");
    store.judge(&id(), ANN, says(Verdict::Undecided)).unwrap();
    assert_eq!(counts(&store), (2, None));
}

fn run(store: &Arc<Store>) -> GuidedRun {
    let channel = Box::new(LocalChannel(Arc::clone(store)));
    let link = GuideLink { channel, on_lost: OnLost::Continue };
    GuidedRun::new(link, id(), opening(), [])
}

#[test]
fn held_agent_waits_until_it_is_released_or_the_limit_is_over() {
    let (_kept, folder) = folder();
    fs::write(folder.join("guide.toml"), "version = 1\nhold_limit = \"2s\"\n").unwrap();
    let store = Arc::new(opened(&folder));
    let mut agent = run(&store);
    store.hold_run(&id(), ANN).unwrap();
    assert_eq!(store.headlines()[0].state, ConversationState::Holding);
    let released = Arc::clone(&store);
    let person = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        // It waits too, so that its author can still change it.
        released.post(&id(), ANN, name("a"), says("See.")).unwrap();
        std::thread::sleep(Duration::from_millis(700));
        released.edit(&id(), ANN, &name("a"), says("Look.")).unwrap();
        released.release_run(&id(), BOB).unwrap();
    });
    let pieces = agent.listen(0, &|turn| Ok(report(turn)), &|| false).unwrap();
    assert_eq!(pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>(), ["Look."]);
    agent.wrote_down(&pieces);
    person.join().unwrap();

    store.hold_run(&id(), ANN).unwrap();
    let began = Instant::now();
    agent.listen(1, &|turn| Ok(report(turn)), &|| false).unwrap();
    assert!((Duration::from_millis(1500)..Duration::from_secs(10)).contains(&began.elapsed()));
    assert_ne!(store.headlines()[0].state, ConversationState::Holding);

    store.hold_run(&id(), ANN).unwrap();
    let stopped = agent.listen(2, &|turn| Ok(report(turn)), &|| true);
    assert!(matches!(stopped, Err(Interrupted::Stopped)));
}

#[test]
fn sweep_ends_holds_of_people_who_are_gone_and_finds_silent_agents() {
    let (_kept, folder) = folder();
    fs::write(folder.join("guide.toml"), "version = 1\nlost_after = \"50ms\"\n").unwrap();
    let store = opened(&folder);
    store.hold_run(&id(), ANN).unwrap();
    store.sweep(|_| false).unwrap();
    assert_eq!(store.headlines()[0].held_by.as_deref(), Some("ann"));
    store.sweep(|name| name == "ann").unwrap();
    assert_eq!(store.headlines()[0].held_by, None);
    std::thread::sleep(Duration::from_millis(60));
    store.sweep(|_| false).unwrap();
    assert_eq!(store.headlines()[0].state, ConversationState::Lost);
    tell(&store, 0, 0);
    assert_eq!(store.headlines()[0].state, ConversationState::Working);
}

#[test]
fn store_that_was_lost_gets_the_whole_record_and_its_guidance_counts() {
    let (_kept, folder) = folder();
    let (old, new) = (folder.join("old"), folder.join("new"));
    let store = Arc::new(opened(&old));
    let mut agent = run(&store);
    store.post(&id(), ANN, name("a"), says("First.")).unwrap();
    let told = |turn| Ok(report(turn));
    let first = agent.listen(0, &told, &|| false).unwrap();
    agent.wrote_down(&first);
    agent.listen(1, &told, &|| false).unwrap();
    let heard: Vec<(GuidanceId, u64)> =
        first.iter().map(|piece| (piece.id.clone(), piece.seq)).collect();

    let store = Arc::new(Store::open(&new).unwrap());
    let channel = Box::new(LocalChannel(Arc::clone(&store)));
    let link = GuideLink { channel, on_lost: OnLost::Continue };
    let mut agent = GuidedRun::new(link, id(), opening(), heard);
    assert!(agent.listen(2, &told, &|| false).unwrap().is_empty());
    store.post(&id(), ANN, name("b"), says("Second.")).unwrap();
    let second = agent.listen(3, &told, &|| false).unwrap();
    assert_eq!(second.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>(), ["Second."]);
    agent.wrote_down(&second);
    let end = End { ending: "steps".to_owned(), grade: None, refusal: None };
    assert_eq!(agent.finish(5, &end, &told, &|| false).unwrap(), Some(Vec::new()));
    assert_eq!(store.headlines()[0].turns, 5);
}
