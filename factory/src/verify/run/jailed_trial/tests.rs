//! Evaluators in the jail: the template passes on every kind of prediction, wrong and hostile ones
//! are refused with their code. The sandbox's launcher must have been built
//! (`cargo build -p sandbox`).

use super::*;
use crate::generator::GeneratorJail;
use crate::page::rendered_task::RenderedTask;
use crate::roles::{developer, operator};
use crate::spec::mix::Cell;

fn trial() -> JailedTrial {
    JailedTrial::new(GeneratorJail::start(1).unwrap().sandbox().clone())
}

/// The first task of a kind whose ladder has scores.
fn facts(cell: Cell) -> TaskFacts {
    let mut tasks = (0..5).map(|index| RenderedTask::new(cell, index).blueprint);
    tasks.find_map(|blueprint| developer::develop(&blueprint, None).ok()).unwrap()
}

/// The refusal of an evaluator.
fn refusal(trial: &JailedTrial, facts: &TaskFacts, code: &str) -> RoleRefusal {
    match trial.try_out(facts, code).unwrap_err() {
        RoleCheckError::Refused(refusal) => refusal,
        RoleCheckError::Fault(fault) => panic!("{fault}"),
    }
}

#[test]
fn built_in_evaluator_passes_on_every_kind_of_prediction() {
    let trial = trial();
    let mut kinds = Vec::new();
    for cell in Cell::all() {
        let kind = std::mem::discriminant(&RenderedTask::new(cell, 0).blueprint.prediction);
        if kinds.contains(&kind) {
            continue;
        }
        kinds.push(kind);
        let facts = facts(cell);
        let code = operator::evaluator(&facts.blueprint);
        trial.try_out(&facts, &code).unwrap_or_else(|error| panic!("{cell}: {error}"));
    }
    assert!(kinds.len() >= 8, "{} kinds of predictions", kinds.len());
}

#[test]
fn wrong_and_hostile_evaluators_are_refused_with_their_code() {
    let facts = facts("tabular/regression".parse().unwrap());
    let template = operator::evaluator(&facts.blueprint);
    let limits = RunLimits { time_limit: Span::seconds(4), ..JailedTrial::limits() };
    let trial = trial().with_limits(limits);
    let end = "    print(json.dumps(result))";
    let direction = "result[\"is_lower_better\"] = SETTINGS";
    let cases = [
        // Another score, another direction, other thresholds.
        ("value = float(SCORE", "value = 1.5 * float(SCORE", DISAGREES, "it says"),
        (direction, "result[\"is_lower_better\"] = not SETTINGS", DISAGREES, "direction are wrong"),
        (
            end,
            "    result[\"bronze_threshold\"] *= 1.01\n    print(json.dumps(result))",
            DISAGREES,
            "it awards",
        ),
        // Valid submissions are refused, broken ones are scored.
        (
            "        result[\"score\"] = value",
            "        result[\"score\"] = None",
            DISAGREES,
            "it refuses",
        ),
        (
            "value = float(word)",
            "value = float(word.replace('nan', '0'))",
            ACCEPTS,
            "the grader refuses it",
        ),
        ("set(submission.index) != set(truth.index)", "False", FAILS, "KeyError in line"),
        // No verdict.
        (end, "    raise RuntimeError(truth.to_csv())", FAILS, "it raises RuntimeError in line"),
        (
            end,
            "    raise type('A' + truth.to_csv()[:90].replace(',', '_'), (Exception,), {})",
            FAILS,
            "it raises an exception in line",
        ),
        (
            end,
            "    print(truth.to_csv())\n    print(json.dumps(result))",
            FAILS,
            "not one JSON object",
        ),
        (
            end,
            "    result[\"score\"] = math.nan\n    print(json.dumps(result))",
            FAILS,
            "not one JSON object",
        ),
        (end, "    while True: pass", FAILS, "it takes more than 4s"),
        (end, "    import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)", FAILS, "signal 9"),
        (end, "    while True: print('x' * 4096)", FAILS, "it printed too much"),
        ("return 0 if", "return 1 if", FAILS, "exit code"),
        ("import argparse", "import a_library_of_nobody", FAILS, "ModuleNotFoundError in line"),
    ];
    for (from, to, code, said) in cases {
        assert!(template.contains(from), "the evaluator has no `{from}`");
        let found = refusal(&trial, &facts, &template.replace(from, to));
        assert!(found.code == code && found.detail.contains(said), "{to}: {}: {found}", found.code);
        // What is printed of the answers begins with ids, and none of them is told.
        let told = facts.assets.test_ids.iter().find(|id| found.detail.contains(*id));
        assert_eq!(told, None, "{found}");
    }
    // None of them left anything behind.
    trial.try_out(&facts, &template).unwrap();
}

#[test]
fn place_is_the_last_line_of_the_evaluator_and_nothing_else_of_a_traceback() {
    let code = "import json\n\n    raise KeyError(secret)\n";
    let traceback = "Traceback (most recent call last):\n  \
                     File \"task/source/evaluator.py\", line 1, in <module>\n  \
                     File \"task/source/evaluator.py\", line 3, in main\n    secret\n\
                     KeyError: 'secret'\n";
    assert_eq!(place(traceback, code), " in line 3: `raise KeyError(secret)`");
    for forged in
        ["", "evaluator.py\", line 99", "evaluator.py\", line x", "evaluator.py\", line 0"]
    {
        assert_eq!(place(forged, code), "", "{forged}");
    }
}
