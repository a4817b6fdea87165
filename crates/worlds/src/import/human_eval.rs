//! The file of HumanEval.

use super::{Benchmark, ImportError, ReleasedFile, SourceFile, check_apart, new_task, without_dev};
use crate::folder::NewTask;
use crate::grams::{grams, own_window};
use crate::human_eval::FunctionItem;
use crate::kind::Sizes;
use crate::spec::TaskSpec;
use std::collections::HashSet;

pub(super) const FILES: [ReleasedFile; 1] = [ReleasedFile {
    name: "HumanEval.jsonl",
    rows: 164,
    hash: "7ded9fa0d8808ba29da1791e81196ee8ad930d82e9a780f53349594fb55014b5",
    source: "data/HumanEval.jsonl.gz of github.com/openai/human-eval or of the Python package human_eval, unpacked",
}];

/// Functions for dev, of the half that is not the test.
const DEV: usize = 20;

fn checked(item: FunctionItem) -> Result<FunctionItem, &'static str> {
    if !item.test.contains("def check(") {
        return Err("its `test` does not define `check`");
    }
    if !item.prompt.contains(&format!("def {}(", item.entry_point)) {
        return Err("its `prompt` does not begin the function that `entry_point` names");
    }
    Ok(FunctionItem { evidence: None, ..item })
}

fn asked(item: &FunctionItem) -> &str {
    &item.prompt
}

/// The task with this file: the first half for training and dev, the second half the test, as Agent²
/// RL-Bench splits it.
pub(super) fn task(files: &[SourceFile], seed: u64) -> Result<NewTask, ImportError> {
    let benchmark = Benchmark::HumanEval;
    let [file] = files else { unreachable!("as many files as it has") };
    let mut public = file.items(checked)?;
    let test = public.split_off(public.len() / 2);
    check_apart(benchmark, public.iter().map(asked), test.iter().map(asked))?;
    let (train, dev) = without_dev(benchmark, public, DEV, seed, asked)?;
    let told: HashSet<[u8; 16]> = train.iter().flat_map(|item| grams(&item.solution())).collect();
    let sealed = |item: FunctionItem| {
        let evidence = own_window(&item.prompt, &told);
        FunctionItem { evidence, ..item }
    };
    let [dev, test] = [dev, test].map(|items| items.into_iter().map(sealed).collect());
    new_task(benchmark, files, [train, dev, test], page)
}

/// The page that an agent reads of the task.
fn page(spec: &TaskSpec) -> String {
    let Sizes { train, dev, test } = spec.items;
    format!(
        "# HumanEval\n\n\
         A policy reads the signature and the docstring of a function in Python, and writes a program of \
         at most {} tokens.\n\n\
         - Of its text, the first fenced block is the program, or all of it if there is none. Blanks \
         and line ends at the beginning are removed. The program is put behind what the policy read, \
         and run.\n\
         - It passes if the function passes the hidden tests; 3 seconds of time are allowed. Programs see \
         no files, no network and no tests.\n\n\
         **Score**: the share of functions that pass, greedily decoded (pass@1).\n\n\
         **Data**: `public/train.jsonl` has {train} functions of the first half of HumanEval, one a line \
         as released: `task_id`, `prompt`, `entry_point`, `canonical_solution`, `test`. The {dev} hidden \
         ones for the scores during the run are the rest of that half; the {test} for the final score are \
         the second half.\n",
        spec.limits.turn_tokens
    )
}
