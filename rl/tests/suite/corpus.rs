//! A corpus written by hand: small tables in which `y` follows `a`.

use agents::grammar::ToolCallFormat;
use agents::prompt::{Prompt, PromptStyle};
use agents::scaffold::scripted::ScriptedLevel;
use agents::trajectory::{self, EpisodeEnding, Segment, Source, Trajectory};
use camino::Utf8Path;
use fs_err as fs;
use jail::exec::Mode;
use std::fmt::Write as _;
use tasks::task::{Corpus, Split, Task};

/// Writes two training tasks and a held-out one below `folder`.
pub(crate) fn write(folder: &Utf8Path) {
    for (id, split) in [("one", "train"), ("two", "train"), ("three", "val")] {
        let root = folder.join(id);
        let (public, private) = (root.join("prepared/public"), root.join("prepared/private"));
        fs::create_dir_all(&public).unwrap();
        fs::create_dir_all(&private).unwrap();
        let shift = id.len() as u64;
        // A full-period sequence stands in for noise: no generator is worth having here.
        let value = |row: u64| (row * 37 + shift * 11) % 101;
        let label = |row: u64| u64::from(value(row) + (row * 53) % 30 > 65);
        let (mut train, mut test) = ("id,a,b,y\n".to_owned(), "id,a,b\n".to_owned());
        let (mut sample, mut answer) = ("id,y\n".to_owned(), "id,y\n".to_owned());
        for row in 0..90 {
            if row < 50 {
                let _ = writeln!(train, "{row},{},{},{}", value(row), row % 7, label(row));
            } else {
                let _ = writeln!(test, "{row},{},{}", value(row), row % 7);
                let _ = writeln!(sample, "{row},0.5");
                let _ = writeln!(answer, "{row},{}", label(row));
            }
        }
        fs::write(public.join("train.csv"), train).unwrap();
        fs::write(public.join("test.csv"), test).unwrap();
        fs::write(public.join("sample_submission.csv"), sample).unwrap();
        let description = format!(
            "# {id}\n\n## At a glance\n- Task: binary classification\n- Target: `y` (probability of class 1)\n- Metric: roc_auc (higher is better)\n\n## Data\n"
        );
        fs::write(public.join("description.md"), description).unwrap();
        fs::write(private.join("answer.csv"), answer).unwrap();
        fs::write(root.join("task.json"), manifest(id, split)).unwrap();
    }
}

fn manifest(id: &str, split: &str) -> String {
    serde_json::json!({
        "version": tasks::task::MANIFEST_VERSION, "id": id, "title": id, "seed_task": "none",
        "domain": "retail", "modality": "tabular", "formulation": "binary", "metric": "roc_auc",
        "id_column": "id", "prediction": {"kind": "probability", "column": "y"},
        "thresholds": {
            "gold_threshold": 0.99, "silver_threshold": 0.9, "bronze_threshold": 0.8,
            "median_threshold": 0.6
        },
        "baselines": {"ladder": [0.5, 0.7, 0.85, 0.95], "ceiling": 1.0},
        "rows": {"train": 50, "test": 40}, "split": split, "provenance": null, "hashes": {}
    })
    .to_string()
}

/// Writes the demonstrations of a run of `rl sft` with `--attempts 1` as if they had been played,
/// every one of them a single turn.
pub(crate) fn demonstrate(tasks: &Utf8Path, run: &Utf8Path, turn: &str) {
    let corpus = Corpus::open(tasks).unwrap();
    let mut played = Vec::new();
    for task in corpus.split(Split::Train) {
        let prompt =
            Prompt::new(&Task::from(task), PromptStyle::Brief, ToolCallFormat::Code, Mode::Script)
                .unwrap();
        for approach in ScriptedLevel::PUBLIC {
            let agent = format!("scripted/{}", approach.name());
            played.push(episode(task.id().as_str(), &agent, &prompt, turn));
        }
    }
    fs::create_dir(run).unwrap();
    trajectory::append(&run.join("demonstrations.jsonl"), &played).unwrap();
}

fn episode(task: &str, agent: &str, prompt: &Prompt, turn: &str) -> Trajectory {
    let segment = |source, text: &str| Segment::text(source, text);
    serde_json::from_value(serde_json::json!({
        "version": trajectory::TRAJECTORY_VERSION, "task": task, "agent": agent, "attempt": 0,
        "feedback": "tier", "turns": [], "ending": EpisodeEnding::Answered, "timed_out": false,
        "segments": [
            segment(Source::Prompt, &prompt.system), segment(Source::Prompt, &prompt.user),
            segment(Source::Model, turn),
        ],
        "outcome": {"mle": {"grade": null, "refusal": null}},
        "reward": {"format": 0.0, "execution": 0.0, "tier": 0.0},
    }))
    .unwrap()
}
