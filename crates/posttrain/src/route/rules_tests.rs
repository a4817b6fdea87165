//! Each rule on both of its sides.

use super::*;
use crate::digest::Digest;
use crate::ledger::{ModelFacts, RequestFacts, Scored};
use crate::record::UseEnd;
use serde_json::json;

fn submission(path: &str, note: Option<&str>, copy: bool, outcome: Outcome) -> Submission {
    let facts = ModelFacts {
        copy,
        foreign: false,
        changed: if copy { 0.0 } else { 0.9 },
        cosine: 1.0,
        adapter: false,
        other_tokenizer: false,
        left_out: Vec::new(),
    };
    let note = note.map(str::to_owned);
    Submission {
        request: RequestFacts { model_path: path.to_owned(), note, used_ms: 0 },
        time: String::new(),
        model: Some((Digest::ZERO, 1, facts)),
        outcome,
    }
}

fn stage(folder: &str, route: Route, settings: serde_json::Value) -> TrainerFacts {
    let settings = serde_json::from_value(settings).unwrap();
    TrainerFacts {
        folder: folder.to_owned(),
        route,
        settings,
        updates: Some(20),
        first_loss: Some(2.0),
        losses: vec![Some(1.0)],
        parents: Vec::new(),
    }
}

fn tool_use(line: &str, code: Option<i32>) -> ToolUse {
    let mut words = line.split_whitespace().map(str::to_owned);
    ToolUse {
        number: 1,
        program: words.next().unwrap(),
        arguments: words.collect(),
        began_ms: 0,
        is_refused: false,
        end: code.map(|code| UseEnd {
            code: Some(code),
            signal: None,
            seconds: 1.0,
            trainer: None,
        }),
    }
}

fn change(path: &str, text: &str) -> CodeChange {
    CodeChange { path: path.to_owned(), before: None, now: Some(text.to_owned()) }
}

/// The finding about a submission of `output/m`, the second one.
fn second(
    submission: &Submission,
    stages: &[TrainerFacts],
    uses: &[ToolUse],
    changes: &[CodeChange],
) -> RouteFinding {
    let attempt = Attempt { id: 2, submission, stages, uses, changes };
    let first = RouteFinding {
        route: Route::Sft,
        chain: vec![Route::Sft],
        by: Evidence::Code,
        because: Vec::new(),
        online: None,
    };
    find(&attempt, &BTreeMap::from([(1, first)]), &BTreeMap::from([(1, "output/first")]))
}

fn plain() -> Submission {
    submission("output/m/checkpoints/step-000020", None, false, Outcome::Waiting)
}

#[test]
fn weights_of_the_base_are_a_copy_whatever_else_is_said() {
    let copy = submission("output/m", Some("GRPO"), true, Outcome::Waiting);
    let found = second(&copy, &[stage("m", Route::Sft, json!({}))], &[], &[]);
    assert_eq!((found.route, found.by), (Route::Copy, Evidence::Ledger));
    let found = second(&plain(), &[], &[], &[]);
    assert_ne!(found.route, Route::Copy);
}

#[test]
fn weights_that_were_submitted_before_came_the_same_way() {
    let scored = Scored { score: 0.5, items: 1, results: Digest::ZERO, seconds: 1.0, attempts: 1 };
    let again =
        |of| submission("output/m", None, false, Outcome::Cached { of, scored: scored.clone() });
    let found = second(&again(Some(1)), &[], &[], &[change("a.py", "GRPOTrainer(m)")]);
    assert_eq!(found.route, Route::Sft);
    assert!(found.because[0].contains("submission 1"));
    let found = second(&again(None), &[], &[], &[change("a.py", "GRPOTrainer(m)")]);
    assert_eq!(found.route, Route::Grpo);
}

#[test]
fn stages_beside_the_model_are_its_chain_and_count_before_the_code() {
    let stages = [stage("m", Route::Grpo, json!({})), stage("sft", Route::Sft, json!({}))];
    let changes = [change("train.py", "DPOTrainer(m)")];
    let found = second(&plain(), &stages, &[], &changes);
    assert_eq!((found.route, found.by), (Route::Grpo, Evidence::Checkpoint));
    assert_eq!(found.chain, [Route::Sft, Route::Grpo]);
    assert!(found.online.unwrap().contains("20 updates"));
    let none = TrainerFacts { updates: None, ..stage("m", Route::Grpo, json!({})) };
    assert_eq!(second(&plain(), &[none], &[], &[]).online, None, "no update was made");
}

#[test]
fn imitation_of_what_the_policy_sampled_is_rft_and_of_other_data_is_not() {
    let stage = |file: &str| [stage("m", Route::Sft, json!({ "data": [file] }))];
    let uses = [tool_use("rl sample --world d --out /workspace/output/own", Some(0))];
    let found = second(&plain(), &stage("/workspace/output/own/samples.jsonl"), &uses, &[]);
    assert_eq!(found.route, Route::Rft);
    assert_eq!(second(&plain(), &stage("hand.jsonl"), &uses, &[]).route, Route::Sft);
}

#[test]
fn use_that_wrote_the_model_counts_and_one_that_failed_elsewhere_does_not() {
    let sft = tool_use("rl sft --world d --out /workspace/output/m", Some(0));
    let failed = tool_use("rl train --world d --out /workspace/output/other", Some(1));
    let found = second(&plain(), &[], &[sft.clone(), failed.clone()], &[]);
    assert_eq!((found.route, found.by), (Route::Sft, Evidence::Toolbox));
    // It was killed after a checkpoint, and is where the model is from all the same.
    let killed = tool_use("rl train --world d --out output/m", None);
    assert_eq!(second(&plain(), &[], &[killed], &[]).route, Route::Grpo);
    let found = second(&plain(), &[], &[failed], &[change("a.py", "SFTTrainer(m)")]);
    assert_eq!((found.route, found.by), (Route::Sft, Evidence::Code));
    let refused = ToolUse { is_refused: true, ..sft };
    assert_eq!(second(&plain(), &[], &[refused], &[]).by, Evidence::Code);
}

#[test]
fn folder_is_inside_by_its_whole_names() {
    assert!(is_inside("output/m/checkpoints/step-1", "/workspace/output/m"));
    assert!(is_inside("output/m", "output/m/"));
    assert!(!is_inside("output/m2", "output/m"));
    assert!(!is_inside("output/m", "/workspace/output/"));
}

#[test]
fn code_that_begins_with_an_earlier_submission_goes_on_with_its_chain() {
    let train = "model = load('output/first')\nGRPOTrainer(model).train()\n";
    let found = second(&plain(), &[], &[], &[change("train.py", train)]);
    assert_eq!(found.chain, [Route::Sft, Route::Grpo]);
    assert!(found.online.is_some());
    let other = train.replace("output/first", "output/first-of-all");
    let found = second(&plain(), &[], &[], &[change("train.py", &other)]);
    assert_eq!(found.chain, [Route::Grpo]);
}

#[test]
fn code_that_did_not_change_leads_where_it_led_and_a_note_counts_last() {
    let noted = submission("output/m", Some("DPO"), false, Outcome::Waiting);
    let found = second(&noted, &[], &[], &[]);
    assert_eq!((found.route, found.by), (Route::Sft, Evidence::Code));
    let unsaid = [change("eval.py", "print(1)")];
    assert_eq!(second(&noted, &[], &[], &unsaid).by, Evidence::Note);
    let found = second(&plain(), &[], &[], &unsaid);
    assert_eq!((found.route, found.by), (Route::Other, Evidence::Ledger));
    let without = Submission { model: None, ..plain() };
    assert_eq!(second(&without, &[], &[], &unsaid).route, Route::None);
}

#[test]
fn what_was_tried_is_more_than_what_led_to_the_best() {
    let best = second(&plain(), &[stage("m", Route::Sft, json!({}))], &[], &[]);
    let mut refused = tool_use("rl train", None);
    refused.is_refused = true;
    let uses = [tool_use("rl merge --model a", Some(1)), refused];
    let after = [change("dpo.py", "DPOTrainer(m)")];
    assert_eq!(attempted([&best], &uses, &after), [Route::Sft, Route::Merge, Route::Dpo].into());
    assert_eq!(adopted(Some(&best)), [Route::Sft].into());
    assert_eq!(adopted(None), BTreeSet::new());
}
