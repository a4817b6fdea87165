//! Checks on the files themselves, through the sandbox's own grader.

use super::Refusal;
use crate::numeric::intervals::quantile;
use crate::package::{Draft, Staged};
use crate::roles::TaskFacts;
use camino::Utf8Path;
use fs_err as fs;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;
use tasks::grade::{GradeError, NativeGrader};
use tasks::prediction::{MOST_TEXT, Prediction};
use tasks::submission::Part;
use tasks::task::TaskDir;
use tasks::text::with_causes;
use tasks::thresholds::Milestone;

/// Checks that files agree with the manifest.
pub(super) fn intact(task: &Staged) -> Result<(), Refusal> {
    task.dir.check_files().map_err(|error| Refusal::Contract(error.to_string()))?;
    let thresholds: tasks::thresholds::Thresholds =
        serde_json::from_slice(&read(task, "prepared/private/threshold.json")?)
            .map_err(|error| Refusal::Contract(error.to_string()))?;
    if thresholds != task.dir.manifest().thresholds {
        return Err(Refusal::Contract("`threshold.json` differs from `task.json`".to_owned()));
    }
    Ok(())
}

/// The public half holds no files but those in the manifest.
pub(super) fn no_stranger(task: &Staged) -> Result<(), Refusal> {
    strangers(task).into_iter().next().map_or(Ok(()), Err)
}

/// A refusal for each file of the public half that is not in the manifest.
pub(super) fn strangers(task: &Staged) -> Vec<Refusal> {
    let mut found = Vec::new();
    if let Err(error) = unknown(task, task.dir.public().path(), &mut found) {
        found.push(contract(error));
    }
    found
}

fn unknown(task: &Staged, folder: &Utf8Path, found: &mut Vec<Refusal>) -> io::Result<()> {
    let mut entries = folder.read_dir_utf8()?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by(|one, other| one.path().cmp(other.path()));
    for entry in entries {
        if entry.file_type()?.is_dir() {
            unknown(task, entry.path(), found)?;
            continue;
        }
        let path = entry.path().strip_prefix(task.dir.path()).unwrap_or(entry.path());
        if !task.dir.manifest().hashes.contains_key(path.as_str()) {
            found.push(Refusal::Contract(format!("`{path}` is not in the manifest")));
        }
    }
    Ok(())
}

/// Equation (1) on the graded sample submission.
pub(super) fn ordered(task: &Staged) -> Result<(), Refusal> {
    let grader = open(task)?;
    let sample = read(task, "prepared/public/sample_submission.csv")?;
    let sample = grader.grade(&sample, Part::All).map_err(Refusal::SampleInvalid)?;
    let thresholds = grader.thresholds();
    if !thresholds.strictly_ordered(sample.score, grader.metric().direction()) {
        return Err(Refusal::NotOrdered(format!("sample {} and {thresholds:?}", sample.score)));
    }
    Ok(())
}

/// The truth, submitted, earns gold.
pub(super) fn perfect_answer_earns_gold(task: &Staged) -> Result<(), Refusal> {
    let grade = open(task)?.grade(&perfect(&task.dir)?, Part::All);
    match grade {
        Ok(grade) if grade.tier == Some(Milestone::Gold) => Ok(()),
        _ => Err(Refusal::PerfectNotGold),
    }
}

/// The sample submission is valid and earns nothing.
pub(super) fn sample_is_unrewarded(task: &Staged) -> Result<(), Refusal> {
    let sample = read(task, "prepared/public/sample_submission.csv")?;
    let grade = open(task)?.grade(&sample, Part::All).map_err(Refusal::SampleInvalid)?;
    match grade.tier {
        None => Ok(()),
        Some(_) => Err(Refusal::SampleRewarded(grade.score)),
    }
}

/// No constant reaches bronze: every class, a grid of probabilities, or quantiles of the
/// training target.
pub(super) fn no_constant_medals(task: &Staged) -> Result<(), Refusal> {
    let grader = open(task)?;
    let sample = read(task, "prepared/public/sample_submission.csv")?;
    let sample = String::from_utf8_lossy(&sample);
    for cells in constants(&task.draft.facts) {
        let csv = filled(&sample, &cells);
        let Ok(grade) = grader.grade(&csv, Part::All) else { continue };
        if grade.tier >= Some(Milestone::Bronze) {
            let constant = cells.join(",");
            return Err(Refusal::ConstantMedals { constant, score: grade.score });
        }
    }
    Ok(())
}

/// Broken submissions are refused, and the refusal is the submission's fault.
pub(super) fn malformed_is_refused(task: &Staged) -> Result<(), Refusal> {
    let grader = open(task)?;
    let sample = read(task, "prepared/public/sample_submission.csv")?;
    let sample = String::from_utf8_lossy(&sample);
    for (what, csv) in malformed(&sample, &task.dir.manifest().prediction) {
        match grader.grade(csv.as_bytes(), Part::All) {
            Err(GradeError::Submission(_)) => {}
            _ => return Err(Refusal::MalformedAccepted(what)),
        }
    }
    Ok(())
}

/// What no grader may accept, each with its fault in words, made from a sample submission.
pub(super) fn malformed(sample: &str, prediction: &Prediction) -> [(&'static str, String); 7] {
    let lines: Vec<&str> = sample.lines().collect();
    let (header, first) = (lines[0], lines[1]);
    let join = |lines: &[&str]| format!("{}\n", lines.join("\n"));
    let (id, _) = first.split_once(',').unwrap_or((first, ""));
    let width = header.matches(',').count();
    let broken_row = format!("{id},{}", broken(prediction));
    let (what, odd_row) = match prediction {
        // Any word can be a text or an identifier.
        Prediction::Text { .. } => {
            ("a text that is too long", format!("{id},{}", "x".repeat(MOST_TEXT + 1)))
        }
        Prediction::Ids { most, .. } => {
            let ids: Vec<String> = (0..=*most).map(|id| format!("id_{id}")).collect();
            ("too many identifiers", format!("{id},{}", ids.join(" ")))
        }
        _ => ("a value that is not a number", format!("{id}{}", ",nan".repeat(width))),
    };
    [
        ("a missing row", join(&lines[..lines.len() - 1])),
        ("a repeated row", join(&[&lines[..], &[first]].concat())),
        ("an unknown id", sample.replacen(id, "unknown", 1)),
        ("a wrong header", sample.replacen(header, &format!("{header}x"), 1)),
        (what, join(&[&[header, &odd_row], &lines[2..]].concat())),
        ("a cell of the wrong form", join(&[&[header, &broken_row], &lines[2..]].concat())),
        ("nothing in it", String::new()),
    ]
}

/// Constant submissions worth trying.
fn constants(facts: &TaskFacts) -> Vec<Vec<String>> {
    let TaskFacts { blueprint, assets, .. } = facts;
    match &blueprint.prediction {
        Prediction::Label { classes, .. } => classes.iter().map(|c| vec![c.clone()]).collect(),
        Prediction::Probability { .. } => {
            (0..=20).map(|step| vec![format!("{:.2}", f64::from(step) / 20.0)]).collect()
        }
        Prediction::ClassProbabilities { classes, .. } => {
            let one = |chosen: usize| {
                let rest = 0.1 / (classes.len() - 1) as f64;
                let cell = |class| if class == chosen { 0.9 } else { rest };
                (0..classes.len()).map(|class| format!("{:.6}", cell(class))).collect()
            };
            let even = vec![format!("{:.6}", 1.0 / classes.len() as f64); classes.len()];
            (0..classes.len()).map(one).chain([even]).collect()
        }
        Prediction::Number { .. } => {
            let mut values = assets.train_truth.as_numbers();
            values.sort_by(f64::total_cmp);
            let quantile = |share: usize| values[(values.len() - 1) * share / 20];
            (0..=20).map(|share| vec![format!("{:.6}", quantile(share))]).collect()
        }
        Prediction::Quantiles { .. } => {
            let mut values = assets.train_truth.as_numbers();
            values.sort_by(f64::total_cmp);
            let cell = |share: f64| format!("{:.6}", quantile(&values, share));
            // Ranges of every width around the middle, and one number three times.
            let range = |tail: usize| {
                let tail = tail as f64 / 20.0;
                [tail, 0.5, 1.0 - tail].map(cell).to_vec()
            };
            let one = |share: usize| vec![cell(share as f64 / 20.0); 3];
            (0..10).map(range).chain((0..=20).map(one)).collect()
        }
        Prediction::Numbers { columns } => {
            let quantiles: Vec<Vec<f64>> = assets
                .train_truth
                .parts()
                .iter()
                .map(|part| {
                    let mut values = part.as_numbers();
                    values.sort_by(f64::total_cmp);
                    (0..=20).map(|share| values[(values.len() - 1) * share / 20]).collect()
                })
                .collect();
            let row = |share: usize| -> Vec<String> {
                let cell = |column: usize| format!("{:.6}", quantiles[column][share]);
                (0..columns.len()).map(cell).collect()
            };
            (0..=20).map(row).collect()
        }
        Prediction::Probabilities { columns } => (0..=20)
            .map(|step| vec![format!("{:.2}", f64::from(step) / 20.0); columns.len()])
            .collect(),
        Prediction::Flags { labels, .. } => {
            let subset = |bits: usize| {
                let held = labels.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
                vec![held.map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(" ")]
            };
            (0..1_usize << labels.len().min(8)).map(subset).collect()
        }
        Prediction::Relevance { .. } => vec![vec!["0".to_owned()]],
        prediction => {
            let truth = assets.train_truth.values(prediction);
            blueprint.kind().constants(prediction, &truth)
        }
    }
}

/// A cell as it is written into a table.
fn quoted(cell: &str) -> Cow<'_, str> {
    if cell.contains([',', '"']) {
        Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(cell)
    }
}

/// A submission with these cells in every row, with the header and the ids of another one.
fn filled(sample: &str, cells: &[String]) -> Vec<u8> {
    let row = cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",");
    let mut csv = String::new();
    for (index, line) in sample.lines().enumerate() {
        let (id, _) = line.split_once(',').unwrap_or((line, ""));
        let _ = if index == 0 { writeln!(csv, "{line}") } else { writeln!(csv, "{id},{row}") };
    }
    csv.into_bytes()
}

/// The answers on disk in the form of a submission.
fn perfect(dir: &TaskDir) -> Result<Vec<u8>, Refusal> {
    let answers = fs::read(dir.path().join("prepared/private/answer.csv")).map_err(contract)?;
    let manifest = dir.manifest();
    let answers = String::from_utf8_lossy(&answers);
    Ok(submitted(&answers, &manifest.id_column, &manifest.prediction).into_bytes())
}

/// Answers in the form of a submission.
pub(super) fn submitted(answers: &str, id_column: &str, prediction: &Prediction) -> String {
    let classes = match prediction {
        Prediction::ClassProbabilities { classes, .. } => classes,
        Prediction::Boxes { .. } => return sure(answers),
        Prediction::Quantiles { columns, .. } => {
            let line = |line: &str| {
                let (id, truth) = line.split_once(',').unwrap_or((line, ""));
                format!("{id},{truth},{truth},{truth}\n")
            };
            let header = format!("{id_column},{}\n", columns.join(","));
            return header + &answers.lines().skip(1).map(line).collect::<String>();
        }
        // Grades are scores that rank perfectly; the query between id and grade is not submitted.
        Prediction::Relevance { .. } => {
            let line = |line: &str| {
                let cells: Vec<&str> = line.split(',').collect();
                format!("{},{}\n", cells[0], cells[cells.len() - 1])
            };
            return answers.lines().map(line).collect();
        }
        _ => return answers.to_owned(),
    };
    let mut csv = format!("{id_column},{}\n", classes.join(","));
    for line in answers.lines().skip(1) {
        let (id, truth) = line.split_once(',').unwrap_or((line, ""));
        let cells: Vec<&str> =
            classes.iter().map(|class| if class == truth { "1" } else { "0" }).collect();
        let _ = writeln!(csv, "{id},{}", cells.join(","));
    }
    csv
}

/// Boxes of an answer file, with full confidence in each.
fn sure(answers: &str) -> String {
    let line = |(index, line): (usize, &str)| {
        let (id, boxes) = line.split_once(',').unwrap_or((line, ""));
        if index == 0 {
            return format!("{line}\n");
        }
        let words: Vec<&str> = boxes.split_ascii_whitespace().collect();
        let found: Vec<String> = words
            .chunks(5)
            .map(|found| format!("{} 1 {}", found[0], found[1..].join(" ")))
            .collect();
        format!("{id},{}\n", found.join(" "))
    };
    answers.lines().enumerate().map(line).collect()
}

/// A cell that breaks the rules of its kind in the way that is easiest to overlook.
pub(crate) fn broken(prediction: &Prediction) -> String {
    match prediction {
        Prediction::Mask { width, height, .. } => format!("{} 2", width * height),
        Prediction::Boxes { classes, .. } => format!("{} 0.5 1 1 8", classes[0]),
        Prediction::Pixels { width, height, .. } => vec!["0"; width * height - 1].join(" "),
        Prediction::Text { .. } => "two\tcells".to_owned(),
        Prediction::Ids { .. } => "id_a id_b id_a".to_owned(),
        other => ",nan".repeat(other.columns().len())[1..].to_owned(),
    }
}

fn open(task: &Staged) -> Result<NativeGrader, Refusal> {
    NativeGrader::open(&task.dir).map_err(|error| Refusal::Contract(with_causes(&error)))
}

fn read(task: &Staged, path: &str) -> Result<Vec<u8>, Refusal> {
    fs::read(task.dir.path().join(path)).map_err(contract)
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn contract(error: std::io::Error) -> Refusal {
    Refusal::Contract(error.to_string())
}

/// The draft's files are those on disk.
pub(super) fn same_files(task: &Staged, draft: &Draft) -> Result<(), Refusal> {
    draft.files.iter().try_for_each(|(path, bytes)| same_file(task, path, bytes))
}

/// A refusal for each file of the draft that is another on disk.
pub(super) fn changed_files(task: &Staged, draft: &Draft) -> Vec<Refusal> {
    draft.files.iter().filter_map(|(path, bytes)| same_file(task, path, bytes).err()).collect()
}

fn same_file(task: &Staged, path: &str, bytes: &[u8]) -> Result<(), Refusal> {
    if read(task, path)? == bytes {
        return Ok(());
    }
    Err(Refusal::NotReproducible(path.to_owned()))
}
