//! Questions as raw data: in the shape of TableInstruct, mostly as programs where the tasks want
//! words.

use super::asked::TableQuestion;
use crate::pool::{RawRow, exactly};
use rand::seq::IndexedRandom as _;
use serde_json::json;
use tasks::stream::Stream;

/// The share of rows whose response is a program.
pub const PROGRAMS: f64 = 0.6;

/// The page about the raw data.
pub(crate) const README: &str = "# tables\n\n\
    Questions about tables, in the shape of TableInstruct: `questions.jsonl` has an object a line with \
    `qtype`, `qsubtype`, `instruction_type`, `instruction`, `table` (`columns` and `data`), `question` \
    and `response`.\n\n\
    ## Reasoning quality\n\n\
    - Four kinds of instruction: `DP` (the answer alone), `TCoT` (steps in words), `SCoT` (steps in \
    Python, with their result, not run) and `PoT` (a program that prints the answer).\n\
    - 60 % are `PoT`, also of the types of question whose task wants words; the others are equally many.\n\
    - Tables are objects of JSON here, and lines with bars in what the tasks ask.\n\
    - Charts have a program under every kind of instruction.\n\
    - The answers are right.\n";

/// What each kind of instruction asks for.
const INSTRUCTIONS: [(&str, &str); 4] = [
    ("DP", "Answer the question about the table. End with `Final Answer: ANSWER`."),
    ("TCoT", "Answer the question about the table step by step. End with `Final Answer: ANSWER`."),
    (
        "SCoT",
        "Answer the question about the table by steps in Python whose results you give yourself. End \
         with `Final Answer: ANSWER`.",
    ),
    ("PoT", "Write a program that reads `table.csv` and prints `Final Answer: ANSWER`."),
];

/// The rows of one task.
pub(super) fn rows(qtype: &str, items: &[TableQuestion], stream: &Stream) -> Vec<RawRow> {
    let programs = exactly(PROGRAMS, items.len(), &stream.child("programs"));
    let mut rng = stream.child("instructions").rng();
    let row = |(item, is_program): (&TableQuestion, bool)| {
        let (words, program) = INSTRUCTIONS.split_at(3);
        let options = if is_program { program } else { words };
        let &(kind, instruction) = options.choose(&mut rng).unwrap_or(&INSTRUCTIONS[0]);
        let row = json!({
            "qtype": qtype,
            "qsubtype": item.kind,
            "instruction_type": kind,
            "instruction": instruction,
            "table": item.table.json(),
            "question": item.question,
            "response": response(kind, item),
        });
        RawRow::json("questions.jsonl", row)
    };
    items.iter().zip(programs).map(row).collect()
}

fn response(kind: &str, item: &TableQuestion) -> String {
    let TableQuestion { steps, code, answer, .. } = item;
    if item.chart.is_some() {
        return format!("```python\n{code}\n```");
    }
    match kind {
        "DP" => format!("Final Answer: {answer}"),
        "TCoT" => format!("{steps}\nFinal Answer: {answer}"),
        "SCoT" => format!("```python\n{code}\n```\nResult: {answer}\nFinal Answer: {answer}"),
        _ => format!(
            "```python\nimport pandas as pd\ndf = pd.read_csv(\"table.csv\")\n{code}\n\
             print(f\"Final Answer: {{answer}}\")\n```"
        ),
    }
}
