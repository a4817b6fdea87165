//! Each rule on both of its sides.

use super::*;
use crate::digest::Digest;
use crate::ledger::{ModelFacts, RequestFacts, Scored};
use crate::record::{TrainerFacts, UseEnd};
use crate::route::Route;
use tasks::task::TaskId;

fn items(scores: &[f64], tag: &str) -> Vec<ItemScore> {
    let item = |(number, score): (usize, &f64)| ItemScore {
        id: TaskId::new(&format!("shop-dev-{number:05}")).unwrap(),
        score: *score,
        tags: if *score > 0.0 { Vec::new() } else { vec![tag.to_owned()] },
    };
    scores.iter().enumerate().map(item).collect()
}

/// A hundred items, of which the first `won` are won.
fn won(won: usize, tag: &str) -> Vec<ItemScore> {
    let scores: Vec<f64> = (0..100).map(|number| if number < won { 1.0 } else { 0.0 }).collect();
    items(&scores, tag)
}

fn class(found: Option<FailureFinding>) -> Option<Failure> {
    found.map(|found| found.failure)
}

#[test]
fn worse_score_is_a_failure_beyond_chance_alone() {
    let of =
        |base, now, tag: &str| class(of_items(&won(base, ""), &won(now, tag), Direction::Higher));
    assert_eq!(of(62, 2, "wrong"), Some(Failure::RolloutWrong), "nothing is left");
    assert_eq!(of(62, 44, "wrong"), Some(Failure::Unknown), "worse, and half is left");
    assert_eq!(of(62, 44, "format"), Some(Failure::RolloutWrong), "lost by form");
    assert_eq!(of(62, 60, "wrong"), None, "two items are chance");
    assert_eq!(of(62, 62, "wrong"), None);
    assert_eq!(of(62, 80, "wrong"), None, "it is better");
    let lower = of_items(&won(10, ""), &won(60, ""), Direction::Lower);
    assert_eq!(class(lower), Some(Failure::Unknown), "where less is better, more is worse");
}

#[test]
fn log_shows_memory_before_errors_and_plain_talk_shows_nothing() {
    for (text, failure) in [
        ("torch.OutOfMemoryError: CUDA out of memory.", Some(Failure::OutOfMemory)),
        ("Traceback (most recent call last):\n  File\nMemoryError", Some(Failure::OutOfMemory)),
        ("{'loss': nan, 'step': 4}", Some(Failure::Diverged)),
        ("Traceback (most recent call last):\n  File 'a'\nKeyError: 'x'", Some(Failure::CodeError)),
        ("start.sh: line 3: rll: command not found", Some(Failure::CodeError)),
        ("step 4, loss 0.31\nno errors, memory 3 GiB", None),
        ("the loss of nan-free data", None),
        ("", None),
    ] {
        assert_eq!(class(of_log(text)), failure, "{text}");
    }
    let found =
        of_log("x\nTraceback (most recent call last):\n  File 'a'\nKeyError: 'x'\n").unwrap();
    assert!(found.because.contains("KeyError: 'x'"), "{}", found.because);
}

fn tool_use(end: Option<UseEnd>) -> ToolUse {
    let program = "rl".to_owned();
    ToolUse { number: 1, program, arguments: Vec::new(), began_ms: 0, is_refused: false, end }
}

#[test]
fn use_fails_by_its_code_its_signal_or_its_loss() {
    let facts = |loss| TrainerFacts {
        folder: "sft".to_owned(),
        route: Route::Sft,
        settings: std::collections::BTreeMap::new(),
        updates: Some(1),
        first_loss: Some(1.0),
        losses: vec![loss],
        parents: Vec::new(),
    };
    let end = |code, signal, loss| {
        let trainer = Some(facts(loss));
        class(of_use(&tool_use(Some(UseEnd { code, signal, seconds: 1.0, trainer }))))
    };
    assert_eq!(end(Some(0), None, Some(0.5)), None);
    assert_eq!(end(Some(0), None, None), Some(Failure::Diverged));
    assert_eq!(end(Some(2), None, Some(0.5)), Some(Failure::CodeError));
    assert_eq!(end(None, Some(9), Some(0.5)), Some(Failure::Unknown));
    assert_eq!(end(Some(137), None, Some(0.5)), Some(Failure::Unknown));
    assert_eq!(end(None, Some(15), Some(0.5)), None, "it was asked to end");
    assert_eq!(end(Some(143), None, Some(0.5)), None);
    assert_eq!(class(of_use(&tool_use(None))), None);
}

fn submission(copy: bool, outcome: Outcome) -> Submission {
    let facts = ModelFacts {
        copy,
        foreign: false,
        changed: 0.0,
        cosine: 1.0,
        adapter: false,
        other_tokenizer: false,
        left_out: Vec::new(),
    };
    Submission {
        request: RequestFacts { model_path: "output/m".to_owned(), note: None, used_ms: 0 },
        time: String::new(),
        model: Some((Digest::ZERO, 1, facts)),
        outcome,
    }
}

fn graded() -> Outcome {
    Outcome::Graded(Scored {
        score: 0.5,
        items: 1,
        results: Digest::ZERO,
        seconds: 1.0,
        attempts: 1,
    })
}

#[test]
fn copy_is_a_fallback_unless_a_trained_model_follows() {
    assert_eq!(class(of_submission(&submission(true, graded()), true, None)), None);
    let last = of_submission(&submission(true, graded()), false, None);
    assert_eq!(class(last), Some(Failure::CopyFallback));
    assert_eq!(class(of_submission(&submission(false, graded()), false, None)), None);
}

#[test]
fn refusal_is_not_evaluable_and_weights_that_are_not_finite_have_diverged() {
    let of = |code| {
        let refused = Outcome::Refused(Refusal::new(code, "no"));
        class(of_submission(&submission(false, refused), true, None))
    };
    assert_eq!(of(RefusalCode::Pickle), Some(Failure::NotEvaluable));
    assert_eq!(of(RefusalCode::NotFinite), Some(Failure::Diverged));
    let ours = Outcome::Failed { fault: "disk".to_owned(), busy: false };
    assert_eq!(class(of_submission(&submission(false, ours), true, None)), None, "a fault of ours");
}

#[test]
fn run_without_a_score_says_why_and_one_that_goes_on_does_not() {
    let run = RunEnd {
        ended: Some(EndReason::Time),
        submissions: (0, 0),
        killed_for_memory: 0,
        code: None,
        log: None,
    };
    let found = of_log("KeyError\nTraceback (most recent call last):\nKeyError: 'x'").unwrap();
    for (run, failure) in [
        (run, Some(Failure::TimeoutNoSubmission)),
        (RunEnd { log: Some(&found), ..run }, Some(Failure::CodeError)),
        (RunEnd { killed_for_memory: 1, ..run }, Some(Failure::OutOfMemory)),
        (RunEnd { submissions: (4, 0), ..run }, Some(Failure::NotEvaluable)),
        (RunEnd { submissions: (4, 1), ..run }, None),
        (RunEnd { ended: None, ..run }, None),
        (RunEnd { ended: Some(EndReason::Agent), code: Some(3), ..run }, Some(Failure::CodeError)),
        (RunEnd { ended: Some(EndReason::Agent), code: Some(0), ..run }, Some(Failure::Unknown)),
    ] {
        assert_eq!(class(of_run(&run)), failure, "{run:?}");
    }
}
