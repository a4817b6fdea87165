//! Runs a Python script on a made-up task in the sandbox and grades the submission that it wrote.
//!
//! ```text
//! cargo build && cargo run -p sandbox --example run_and_grade
//! ```
//! Needs the Python environment that `make venv` installs.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

mod made_up_task;

use camino::Utf8Path;
use jail::limits::RunLimits;
use sandbox::env::TaskSuite;
use std::error::Error;
use tasks::submission::{MOST_BYTES, Part};
use tasks::task::Opening;
use tasks::units::{ByteSize, Span};

/// Scripts start in the work dir; the public files of the task are in `input`.
const SCRIPT: &str = r#"
import pandas as pd

test = pd.read_csv("input/test.csv")
test["y"] = test["hours"] / 12
test[["id", "y"]].to_csv("submission.csv", index=False)
print(len(test), "rows predicted")
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = made_up_task::write(Utf8Path::from_path(folder.path()).ok_or("not UTF-8")?)?;

    // Starts the sandbox and a warmed interpreter, which all runs share.
    let suite = TaskSuite::open(&path, &Opening::default(), made_up_task::options())?;
    let task = &suite.tasks()[0];
    println!("isolation level: {}", suite.sandbox().tier());

    let workspace = suite.sandbox().workspace(task.id())?;
    let limits = RunLimits {
        time_limit: Span::seconds(30),
        memory: ByteSize::mib(512),
        ..RunLimits::default()
    };
    let run = workspace.run(SCRIPT, &limits)?;
    print!("the script {}; it printed: {}", run.outcome, run.stdout.text());

    let csv = workspace.collect("submission.csv", MOST_BYTES)?;
    let grade = suite.graders().open(task)?.grade(&csv, Part::All)?;
    println!("score {:.3}, tier {}", grade.score, grade.tier.map_or("none", |tier| tier.name()));
    Ok(())
}
