//! `examples/trl` trains our checkpoints on the tasks of `sandbox serve` as they are: their
//! `response_template` makes turns of either format tool calls.

use crate::corpus;
use crate::server::scripted_with;
use crate::trl::{python, repository};
use agents::grammar::ToolCallFormat;
use camino::Utf8Path;
use fs_err as fs;
use rl::text::tokenizer::{Pieces, Tokenizer};
use serde_json::Value;
use support::servers::ServedTasks;

/// Two steps on a CPU, with two groups of four episodes each.
const SETTINGS: &str = "--max_steps 2 --per_device_train_batch_size 8 --num_generations 4 \
    --max_completion_length 300 --max_tool_calling_iterations 2 --gradient_checkpointing false \
    --bf16 false --use_cpu true --logging_steps 1 --save_strategy no --report_to none \
    --disable_tqdm true";

#[test]
#[ignore = "needs TRL; `make test-trl` installs it and runs this"]
fn checkpoints_are_trained_by_trl_on_served_tasks_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let tasks = dir.join("tasks");
    corpus::write(&tasks);
    let server = ServedTasks::start(&tasks, &dir.join("records"), "127.0.0.1:0", &[]);
    let url = server.url();
    let example = repository().join("examples");
    let rows = dir.join("rows.jsonl");
    python(&[example.join("rows.py").as_str(), &url, rows.as_str()]);
    let script = "import shutil; shutil.copy('input/sample_submission.csv', 'submission.csv')";
    for format in ToolCallFormat::ALL {
        // No token twice: without the line ends that a policy writes around tags.
        let turn = match format {
            ToolCallFormat::Code => {
                format!("<think>Try.</think><tool_call>python<code>{script}</code></tool_call>")
            }
            ToolCallFormat::Hermes => {
                format!("<think>Try.</think>{}", format.python_call(script))
            }
        };
        let texts: Vec<String> =
            [turn.clone(), "user\nassistant\n".to_owned()].into_iter().cycle().take(10).collect();
        let tokenizer = Tokenizer::train_for(&texts, 600, Pieces::Lines, format).unwrap();
        let folder = dir.join(format.name());
        fs::create_dir(&folder).unwrap();
        // So that some turns of a group differ, which gives it a gradient.
        scripted_with(&folder, &tokenizer, &turn, 9.0);
        let out = dir.join(format!("{}-trl", format.name()));

        let program = example.join("trl/grpo.py");
        let mut arguments = vec![program.as_str(), "--model", folder.as_str()];
        arguments.extend(["--rows", rows.as_str(), "--url", &url]);
        arguments.extend(["--output_dir", out.as_str()]);
        arguments.extend(SETTINGS.split_whitespace());
        python(&arguments);
        let state = fs::read_to_string(out.join("trainer_state.json")).unwrap();
        let state: Value = serde_json::from_str(&state).unwrap();
        let log = state["log_history"].as_array().unwrap();
        let steps: Vec<&Value> = log.iter().filter(|line| !line["loss"].is_null()).collect();
        println!("{}: {steps:?}", format.name());
        assert_eq!(steps.len(), 2, "{log:?}");
        for step in &steps {
            // A valid submission earns 0.2; the server pays nothing for thoughts.
            assert!(step["reward"].as_f64().unwrap() > 0.05, "{step}");
            assert!(step["tools/call_frequency"].as_f64().unwrap() >= 1.0, "{step}");
            assert!(step["tools/failure_frequency"].as_f64().unwrap() < 0.1, "{step}");
            assert!(step["loss"].as_f64().unwrap().is_finite(), "{step}");
        }
        assert!(steps.iter().any(|step| step["grad_norm"].as_f64().unwrap() > 0.0), "{steps:?}");
    }
}
