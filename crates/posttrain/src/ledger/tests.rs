use super::*;
use crate::clock::manual::ManualTime;
use crate::clock::{Budget, BudgetChange, ClockMode, Origin, PauseReason};
use crate::digest::Digest;
use crate::refusal::{Refusal, RefusalCode};
use camino::Utf8Path;
use fs_err as fs;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;
use tasks::task::TaskId;
use worlds::Direction;

pub(crate) fn facts(machine: &ManualTime) -> RunFacts {
    RunFacts {
        task: TaskId::new("household").unwrap(),
        suite: Digest::of(b"suite"),
        base: Digest::of(b"base"),
        protocol: Protocol::Sealed,
        direction: Direction::Higher,
        failure_score: 0.0,
        aggregate: Aggregate::Mean,
        budget: Budget { limit_ms: 60_000, clock: ClockMode::Paused },
        limits: SubmissionLimits {
            submissions: Some(200),
            refusals: 1_000,
            grading_share: Some(0.5),
            waiting: 8,
        },
        grader: vec!["rl".to_owned(), "eval".to_owned()],
        program: "0.1.0".to_owned(),
        origin: Origin::now(machine),
    }
}

pub(crate) fn scored(score: f64) -> Scored {
    Scored { score, items: 60, results: Digest::of(b"results"), seconds: 1.25, attempts: 1 }
}

pub(crate) fn submitted(id: u64, model: u8, copy: bool) -> SubmittedModel {
    SubmittedModel {
        id,
        request: RequestFacts {
            model_path: format!("output/step-{id}"),
            note: id.is_multiple_of(2).then(|| "a \"note\"\n".to_owned()),
            used_ms: 10 * id,
        },
        model: Digest::of(&[model]),
        bytes: 1_000,
        facts: ModelFacts {
            copy,
            foreign: false,
            changed: if copy { 0.0 } else { 0.1 + 0.2 },
            cosine: 1.0,
            adapter: false,
            other_tokenizer: false,
            left_out: Vec::new(),
        },
    }
}

/// The event that a draw stands for, which may well not be possible.
fn event(state: &State, (kind, value): (u8, u8)) -> Event {
    let waiting = state.first_waiting().map_or(1, |(id, _)| id);
    let score = f64::from(value) / 7.0;
    let refusal = Refusal::new(RefusalCode::Pickle, "no pickles");
    let reason = if value < 128 { PauseReason::Grading } else { PauseReason::Operator };
    match kind % 14 {
        0 => Event::Baseline(scored(score)),
        1 => Event::Budget(BudgetChange::Started),
        2 => Event::Budget(BudgetChange::Paused { reason }),
        3 => Event::Budget(BudgetChange::Resumed { reason }),
        4..=6 => Event::Submitted(submitted(state.next_id(), value % 6, value % 11 == 0)),
        7 | 8 => Event::Graded { id: waiting, scored: scored(score) },
        9 => {
            let submission = state.submissions().get(&waiting);
            let of = submission.and_then(|one| state.known(one.digest()?)).flatten();
            let score = match of {
                Some(of) => state.submissions()[&of].scored().unwrap().score,
                None => state.baseline().map_or(0.0, |baseline| baseline.score),
            };
            Event::Cached { id: waiting, of, score }
        }
        10 => Event::Refused { id: waiting, request: None, refusal },
        11 => {
            let request = submitted(state.next_id(), value, false).request;
            Event::Refused { id: state.next_id(), request: Some(request), refusal }
        }
        12 => Event::Failed { id: waiting, fault: "the grader was killed".to_owned(), busy: false },
        _ if value > 200 => Event::Ended { why: EndReason::Time },
        _ => {
            let which = state.next_final().unwrap_or(Which::Base);
            let id = state.final_id(which);
            let is_there = which == Which::Base || id.is_some();
            Event::Final { which, id, scored: is_there.then(|| scored(score)) }
        }
    }
}

/// A ledger of what is possible of these draws, which are preceded by a start.
pub(crate) fn play(folder: &Utf8Path, draws: &[(u8, u8)], reopen: bool) -> Ledger {
    let machine = Arc::new(ManualTime::default());
    machine.pass(5_000);
    let mut ledger = Ledger::create(folder, facts(&machine), machine.clone()).unwrap();
    for &draw in [(0, 9), (1, 0)].iter().chain(draws) {
        machine.pass(u64::from(draw.1) * 10);
        let before = ledger.state().clone();
        match ledger.append(event(&before, draw)) {
            Ok(()) => {}
            Err(LedgerError::Event(_)) => assert_eq!(*ledger.state(), before, "nothing happened"),
            Err(error) => panic!("{error:?}"),
        }
        if reopen && draw.1.is_multiple_of(5) {
            if draw.1.is_multiple_of(2) {
                machine.boot_again();
            }
            drop(ledger);
            ledger = Ledger::open(folder, machine.clone()).unwrap();
        }
    }
    ledger
}

pub(crate) fn with_folder<T>(work: impl FnOnce(&Utf8Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    work(Utf8Path::from_path(folder.path()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn replayed_ledger_is_the_live_state(
        draws in vec(any::<(u8, u8)>(), 0..60), reopen in any::<bool>()
    ) {
        with_folder(|folder| {
            let ledger = play(folder, &draws, reopen);
            let lines = read_lines(folder).unwrap();
            assert_eq!(book_state(folder, &lines), *ledger.state());
            assert_eq!(ledger.head(), (lines.len() as u64 - 1, lines.last().unwrap().hash));
            // The best never falls, and grades are never given twice.
            let mut best = f64::NEG_INFINITY;
            for end in 1..=lines.len() {
                if let Some((_, scored)) = book_state(folder, &lines[..end]).best() {
                    assert!(scored.score >= best);
                    best = scored.score;
                }
            }
        });
    }

    #[test]
    fn changed_dropped_swapped_and_repeated_lines_are_detected(
        draws in vec(any::<(u8, u8)>(), 4..40),
        kind in 0..5,
        place in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        bit in 0_u8..7,
    ) {
        with_folder(|folder| {
            drop(play(folder, &draws, false));
            let path = folder.join("ledger.jsonl");
            let before = fs::read(&path).unwrap();
            let mut lines: Vec<Vec<u8>> =
                before.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
            let (one, two) = (place.index(lines.len()), other.index(lines.len()));
            match kind {
                0 => {
                    let byte = other.index(lines[one].len());
                    lines[one][byte] ^= 1 << bit;
                }
                1 => drop(lines.remove(one)),
                2 => lines.swap(one, two),
                3 => lines.insert(two, lines[one].clone()),
                _ => lines.truncate(one),
            }
            let after = lines.concat();
            if after != before {
                fs::write(&path, after).unwrap();
                let read = read_lines(folder);
                assert!(read.is_err(), "kind {kind} at {one}, {two}");
            }
        });
    }
}

fn book_state(folder: &Utf8Path, lines: &[SealedEntry]) -> State {
    super::book::replay(folder, lines).unwrap()
}

#[test]
fn line_that_is_torn_anywhere_never_happened() {
    with_folder(|folder| {
        let machine = Arc::new(ManualTime::default());
        let mut ledger = Ledger::create(folder, facts(&machine), machine.clone()).unwrap();
        ledger.append(Event::Baseline(scored(0.25))).unwrap();
        let (path, head) = (folder.join("ledger.jsonl"), folder.join("head.json"));
        let (whole, named) = (fs::read(&path).unwrap(), fs::read(&head).unwrap());
        ledger.append(Event::Budget(BudgetChange::Started)).unwrap();
        drop(ledger);
        let torn = fs::read(&path).unwrap();
        for end in whole.len()..torn.len() {
            fs::write(&path, &torn[..end]).unwrap();
            fs::write(&head, &named).unwrap();
            let mut ledger = Ledger::open(folder, machine.clone()).unwrap();
            assert_eq!(ledger.state().baseline(), Some(&scored(0.25)));
            assert!(!ledger.state().spending().is_started());
            ledger.append(Event::Budget(BudgetChange::Started)).unwrap();
            assert_eq!(read_lines(folder).unwrap().len(), 4);
        }
    });
}

#[test]
fn ledger_is_used_by_one_server_and_begun_once() {
    with_folder(|folder| {
        let machine = Arc::new(ManualTime::default());
        let open = || Ledger::open(folder, machine.clone());
        assert!(matches!(open(), Err(LedgerError::Missing(_))));
        let ledger = Ledger::create(folder, facts(&machine), machine.clone()).unwrap();
        assert!(matches!(open(), Err(LedgerError::Locked(_))));
        drop(ledger);
        let again = Ledger::create(folder, facts(&machine), machine.clone());
        assert!(matches!(again, Err(LedgerError::Exists(_))));
        open().unwrap();
    });
}

#[test]
fn rewritten_line_with_a_hash_of_its_own_breaks_the_chain() {
    with_folder(|folder| {
        drop(play(folder, &[(4, 1), (7, 70), (4, 2), (7, 140)], false));
        let path = folder.join("ledger.jsonl");
        let lines = read_lines(folder).unwrap();
        let write = |lines: &[SealedEntry]| {
            let text: Vec<String> =
                lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
            fs::write(&path, text.concat()).unwrap();
        };
        let graded = |entry: &SealedEntry| matches!(entry.entry.event, Event::Graded { .. });
        let place = lines.iter().position(graded).unwrap();
        let mut forged = lines.clone();
        let mut entry = forged[place].entry.clone();
        entry.event = Event::Graded { id: 1, scored: scored(99.0) };
        forged[place] = entry.seal();
        write(&forged);
        let error = read_lines(folder).unwrap_err();
        assert!(matches!(error, LedgerError::Line { line, source: LineError::Chain, .. }
            if line == place + 2));
        // With every later hash made anew, the head still knows better.
        for index in place + 1..forged.len() {
            let mut entry = forged[index].entry.clone();
            entry.prev = forged[index - 1].hash;
            forged[index] = entry.seal();
        }
        write(&forged);
        assert!(matches!(read_lines(folder), Err(LedgerError::Head(_))));
    });
}
