//! Reading journals that were cut or are not what they should be.

use crate::fixture::{ANN, BOB, end, folder, opening, report, says};
use agents::guide::conversation::Conversation;
use agents::guide::event::{Event, EventLine, TurnMark, TurnPart, TurnVerdict, Verdict};
use agents::guide::exchange::Update;
use agents::guide::ids::ConversationId;
use agents::guide::store::{Store, read_conversation};
use fs_err as fs;
use proptest::prelude::*;

fn id() -> ConversationId {
    "run".parse().unwrap()
}

/// The journal of a conversation in which everything happens.
fn journal() -> String {
    let (_kept, folder) = folder();
    let store = Store::open(&folder).unwrap();
    store.open_conversation(&id(), opening()).unwrap();
    store.hold_run(&id(), ANN).unwrap();
    store.draft(&id(), ANN, "loo".to_owned()).unwrap();
    store.post(&id(), ANN, "a".parse().unwrap(), says("Look.")).unwrap();
    store.post(&id(), BOB, "b".parse().unwrap(), says("Wait.")).unwrap();
    store.edit(&id(), ANN, &"a".parse().unwrap(), says("Look again.")).unwrap();
    store.release_run(&id(), ANN).unwrap();
    store.retract(&id(), BOB, &"b".parse().unwrap()).unwrap();
    for (turn, have) in [(0, 0), (1, 4)] {
        let update = Update { turn, have, listens: true, report: report(turn) };
        store.exchange(&id(), update).unwrap();
    }
    store.mark(&id(), BOB, TurnMark { turn: 1, note: "odd".to_owned() }).unwrap();
    let verdict = TurnVerdict {
        turn: 0,
        part: TurnPart::Action,
        verdict: Verdict::Drop,
        reason: "no".to_owned(),
    };
    store.judge(&id(), ANN, verdict).unwrap();
    store.post(&id(), BOB, "c".parse().unwrap(), says("Too late.")).unwrap();
    store.open_conversation(&id(), opening()).unwrap();
    store.close_conversation(&id(), 4, end()).unwrap();
    fs::read_to_string(folder.join("conversations/run/journal.jsonl")).unwrap()
}

fn lines(journal: &str) -> Vec<EventLine> {
    journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_kind_of_event_is_read_as_it_was_written() {
    let journal = journal();
    let lines = lines(&journal);
    let again: Vec<String> =
        lines.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
    assert_eq!(again.join("\n"), journal.trim_end());
    let mut kinds: Vec<String> = lines
        .iter()
        .map(|line| serde_json::to_value(&line.event).unwrap()["kind"].to_string())
        .collect();
    kinds.sort();
    kinds.dedup();
    // All but `lost`, for which nobody waits here.
    assert_eq!(kinds.len(), 15, "{kinds:?}");
}

#[test]
fn prefix_of_a_journal_folds_at_any_byte() {
    let journal = journal();
    let (_kept, folder) = folder();
    let path = folder.join("conversations/run/journal.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let first = journal.find('\n').unwrap() + 1;
    for end in 0..=journal.len() {
        fs::write(&path, &journal[..end]).unwrap();
        let read = read_conversation(&folder, &id());
        assert_eq!(read.is_ok(), end >= first, "{end}: {read:?}");
        let whole = journal[..end].matches('\n').count();
        if let Ok((conversation, _)) = read {
            assert_eq!(conversation.seq, whole as u64);
        }
    }
}

#[test]
fn journal_of_another_version_is_named_and_a_broken_line_too() {
    let (_kept, folder) = folder();
    let path = folder.join("conversations/run/journal.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for (from, to, words) in [
        ("\"version\":1", "\"version\":2", "version 2"),
        ("\"seq\":2", "\"seq\":9", "line 2"),
        ("\"kind\":\"held\"", "\"kind\":\"hold\"", "line 2"),
        ("\"kind\":\"sent\"", "\"kind\":\"late\"", "nothing is late before the end"),
    ] {
        let text = journal();
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        for error in
            [Store::open(&folder).unwrap_err(), read_conversation(&folder, &id()).unwrap_err()]
        {
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}

proptest! {
    #[test]
    fn lines_in_any_order_and_number_never_panic(
        picks in prop::collection::vec((0_usize..18, 0_u64..25, prop::option::of("ann|bob")), 0..60),
    ) {
        let all = lines(&journal());
        let mut conversation: Option<Conversation> = None;
        for (index, (pick, seq, by)) in picks.into_iter().enumerate() {
            let mut line = all[pick % all.len()].clone();
            // In order where it may be, or not.
            line.seq = if seq < 20 { index as u64 + 1 } else { seq };
            line.by = line.by.and(by);
            match &mut conversation {
                None => {
                    line.event = if seq < 20 { all[0].event.clone() } else { line.event };
                    conversation = Conversation::begin(id(), line).ok();
                }
                Some(conversation) => {
                    let before = conversation.clone();
                    if conversation.apply(line.clone()).is_err() {
                        prop_assert_eq!(&before, &*conversation, "a refused line changes nothing");
                    } else {
                        let is_taken = matches!(line.event, Event::Opened(_));
                        prop_assert!(!is_taken && conversation.seq == before.seq + 1);
                    }
                    let _ = (conversation.state(), conversation.headline());
                }
            }
        }
    }
}
