//! Writes a small made-up task to a temporary folder and grades three submissions to it.
//!
//! ```text
//! cargo run -p tasks --example grade_a_submission
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use camino::Utf8Path;
use fs_err as fs;
use std::error::Error;
use tasks::grade::NativeGrader;
use tasks::submission::Part;
use tasks::task::{MANIFEST_VERSION, TaskDir};

const SUBMISSIONS: [(&str, &str); 3] = [
    ("the mean of the training rows", "id,rent\na,700\nb,700\nc,700\nd,700\n"),
    ("a line through them", "rent,id\n660,d\n890,c\n760,b\n510,a\n"),
    ("a row too few", "id,rent\na,510\nb,760\nc,890\n"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let folder = Utf8Path::from_path(folder.path()).ok_or("the path is not UTF-8")?;
    let path = folder.join("flat-rents");
    write_task(&path)?;

    let task = TaskDir::open(&path)?;
    let grader = NativeGrader::open(&task)?;
    println!("{}: {} is better when lower", task.id(), grader.metric());
    for (name, csv) in SUBMISSIONS {
        match grader.grade(csv.as_bytes(), Part::All) {
            Ok(grade) => {
                let tier = grade.tier.map_or("none", |tier| tier.name());
                println!("{name}: score {:.2}, tier {tier}", grade.score);
            }
            // Of the task's own faults, such as unreadable answers, the agent is not to blame.
            Err(error) if error.is_fault() => return Err(error.into()),
            Err(error) => println!("{name}: {error}"),
        }
    }
    Ok(())
}

/// Writes what every task of the factory has: a manifest, public data, private answers.
fn write_task(path: &Utf8Path) -> Result<(), Box<dyn Error>> {
    let (public, private) = (path.join("prepared/public"), path.join("prepared/private"));
    fs::create_dir_all(&public)?;
    fs::create_dir_all(&private)?;
    fs::write(public.join("description.md"), "Predict the rent of each flat from its area.\n")?;
    fs::write(public.join("train.csv"), "id,area,rent\nr1,30,550\nr2,50,730\nr3,60,820\n")?;
    fs::write(public.join("test.csv"), "id,area\na,25\nb,52\nc,70\nd,40\n")?;
    fs::write(private.join("answer.csv"), "id,rent\na,500\nb,750\nc,900\nd,640\n")?;
    let manifest = serde_json::json!({
        "version": MANIFEST_VERSION,
        "id": "flat-rents",
        "title": "Rents of flats",
        "seed_task": "none",
        "domain": "housing",
        "modality": "tabular",
        "formulation": "regression",
        "metric": "rmse",
        "id_column": "id",
        "prediction": {"kind": "number", "column": "rent"},
        "thresholds": {
            "gold_threshold": 10.0,
            "silver_threshold": 20.0,
            "bronze_threshold": 40.0,
            "median_threshold": 80.0,
        },
        "baselines": {"ladder": [146.0, 60.0, 30.0, 15.0], "ceiling": 5.0},
        "rows": {"train": 3, "test": 4},
        "split": "train",
        "provenance": null,
        "hashes": {},
    });
    fs::write(path.join("task.json"), manifest.to_string())?;
    Ok(())
}
