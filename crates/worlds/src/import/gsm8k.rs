//! GSM8K: its problems as items of `arithmetic`.

use super::{Benchmark, ImportError, ReleasedFile, SourceFile, check_apart, new_task, without_dev};
use crate::arithmetic::ArithmeticItem;
use crate::folder::NewTask;
use crate::kind::Sizes;
use crate::spec::TaskSpec;
use serde::Deserialize;

pub(super) const FILES: [ReleasedFile; 2] = [
    ReleasedFile {
        name: "train.jsonl",
        rows: 7473,
        hash: "da96483b5604301bab740fe4b6ffafdc0170777fc4f1ba79abfc1be2434693ab",
        source: "in grade_school_math/data of github.com/openai/grade-school-math",
    },
    ReleasedFile {
        name: "test.jsonl",
        rows: 1319,
        hash: "0b697290c2ea42cfaa092e4694cfa5596b1a44a0b2e9fcad81fcb62ceedefc7f",
        source: "in grade_school_math/data of github.com/openai/grade-school-math",
    },
];

/// Problems for dev, as many as the generated task has.
const DEV: usize = 500;

/// A line of the files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    question: String,
    answer: String,
}

/// The item of a row. Its answer is as released, without the commas in its last number: the last number
/// of `1,080` is read as `080`.
fn item(row: Row) -> Result<ArithmeticItem, &'static str> {
    let Some((steps, number)) = row.answer.rsplit_once("####") else {
        return Err("its answer has no `####` before the number");
    };
    let number: i64 = number
        .trim()
        .replace(',', "")
        .parse()
        .map_err(|_| "what is behind `####` is no whole number")?;
    Ok(ArithmeticItem {
        question: row.question,
        answer: format!("{steps}#### {number}"),
        number,
        steps: steps.lines().filter(|line| !line.trim().is_empty()).count(),
        story: Vec::new(),
    })
}

fn asked(item: &ArithmeticItem) -> &str {
    &item.question
}

/// The task with these files, as [`FILES`] names them.
pub(super) fn task(files: &[SourceFile], seed: u64) -> Result<NewTask, ImportError> {
    let benchmark = Benchmark::Gsm8k;
    let [train, test] = files else { unreachable!("as many files as it has") };
    let (train, test) = (train.items(item)?, test.items(item)?);
    check_apart(benchmark, train.iter().map(asked), test.iter().map(asked))?;
    let (train, dev) = without_dev(benchmark, train, DEV, seed, asked)?;
    if test.is_empty() {
        return Err(ImportError::TooFew(benchmark.name()));
    }
    new_task(benchmark, files, [train, dev, test], page)
}

/// The page that an agent reads of the task.
fn page(spec: &TaskSpec) -> String {
    let Sizes { train, dev, test } = spec.items;
    format!(
        "# GSM8K\n\n\
         A policy reads four worked examples and a problem of GSM8K, and writes an answer of at most {} \
         tokens.\n\n\
         - The answer counts as right if its last number is the right one. What follows a new \
         `Question:` in it is not looked at.\n\
         - A number may have a minus and a fraction. Do not write thousands with a comma.\n\n\
         **Score**: the share of right answers, greedily decoded.\n\n\
         **Data**: `public/train.jsonl` has {train} problems of the released training set, one a line: \
         `question`, `answer` (worked steps with sums as `<<a+b=c>>`, then `####` and the answer), \
         `number`, and the number of `steps`. The {dev} hidden problems for the scores during the run \
         are the rest of the training set; the {test} for the final score are the released test set.\n",
        spec.limits.turn_tokens
    )
}
