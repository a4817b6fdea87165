//! Bundles that keep answers and evaluator beside the data.

use crate::fixture::{CANARY, TemporaryFolder, config, python, suite};
use sandbox::env::{Action, Episode, Feedback, ScoreFeedback};
use std::process::Command;
use tasks::thresholds::Milestone;

/// Tries all the usual ways to the answers and says what it found.
const ATTACK: &str = r#"
import os

found = []
for name in ("answer.csv", "evaluator.py", "threshold.json", "generate_task_env.py", "notes/copy.txt"):
    for folder in ("input", "/work/input", ".", "..", "/", "/tasks/a-bundle", "/work/evaluation"):
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            found.append(path)
# Everything but programs and the kernel's own files, by the front door and by two others.
for door in ("", "/proc/self/root", "/proc/1/root"):
    for top in os.listdir(door or "/") if os.access(door or "/", os.R_OK) else ():
        if top in ("usr", "opt", "root", "proc", "sys", "lib", "lib64", "bin"):
            continue
        for folder, _, names in os.walk(f"{door}/{top}"):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    if os.path.isfile(path) and CANARY.encode() in open(path, "rb").read(1 << 20):
                        found.append(path)
                except OSError:
                    pass
for pid in os.listdir("/proc"):
    for part in ("environ", "cmdline", "cwd", "fd"):
        try:
            with open(f"/proc/{pid}/{part}", "rb") as file:
                if CANARY.encode() in file.read():
                    found.append(f"{pid}/{part}")
        except OSError:
            pass
# What the mounts came from: no way back to the released folder.
with open("/proc/self/mountinfo") as file:
    for line in file:
        source = line.split()[3]
        for name in ("answer.csv", "evaluator.py"):
            if os.path.exists(os.path.join(source, name)):
                found.append(source)
try:
    os.link("input/train.csv", "/work/link")
    found.append("a hard link across mounts")
except OSError:
    pass
print("FOUND", found)
print("SEEN", sorted(os.listdir("input")), os.listdir("input/notes"), os.listdir("input/images"))
"#;

#[test]
fn an_attack_script_finds_no_answers_in_a_bundle() {
    let folder = TemporaryFolder::new();
    folder.bundle("A_bundle", 10);
    let tasks = folder.open();
    let suite = suite(tasks);
    let task = &suite.tasks()[0];
    assert_eq!(task.id().as_str(), "a-bundle");
    let expected =
        ["answer.csv", "evaluator.py", "generate_task_env.py", "notes/copy.txt", "threshold.json"];
    assert_eq!(task.public().withheld(), expected);
    let mut episode = suite.reset(task, &config(Feedback::Full)).unwrap();
    // Grading once first, so that whatever it leaves behind would be there to find. The canary
    // is put together by the script: it must not find itself.
    python(
        &mut episode,
        "import shutil; shutil.copy('input/sample_submission.csv', 'submission.csv')",
    );
    assert!(episode.step(&Action::Score).unwrap().feedback.unwrap().valid);
    let (left, right) = CANARY.split_at(5);
    let seen = python(&mut episode, &format!("CANARY = {left:?} + {right:?}\n{ATTACK}"));
    assert!(seen.contains("FOUND []"), "{seen}");
    let files = "['description.md', 'images', 'notes', 'sample_submission.csv', 'test.csv', 'train.csv'] [] ['t0.txt']";
    assert!(seen.contains(files), "{seen}");
}

#[test]
fn evaluator_score_is_used_for_the_final_rows() {
    let folder = TemporaryFolder::new();
    folder.bundle("b", 40);
    let tasks = folder.open();
    let suite = suite(tasks);
    let mut episode = suite.reset(&suite.tasks()[0], &config(Feedback::Full)).unwrap();
    let write = |episode: &mut Episode, value: &str| {
        let code = format!(
            "rows = [line.split(',')[0] for line in open('input/test.csv')][1:]\n\
             open('submission.csv', 'w').write('id,y\\n' + ''.join(f'{{row}},{value}\\n' for row in rows))"
        );
        python(episode, &code)
    };
    write(&mut episode, "0.3518281828");
    let step = episode.step(&Action::Score).unwrap();
    assert_eq!(step.feedback, Some(ScoreFeedback { valid: true, tier: Some(Milestone::Bronze) }));
    assert!(
        step.observation.text.contains("score: 0.08000 (lower is better)"),
        "{:?}",
        step.observation
    );
    write(&mut episode, "nan");
    let step = episode.step(&Action::Score).unwrap();
    assert!(
        step.observation.text.contains("`nan` is not a finite number"),
        "{:?}",
        step.observation
    );
    write(&mut episode, "-2000");
    let step = episode.step(&Action::Score).unwrap();
    assert_eq!(step.feedback, Some(ScoreFeedback { valid: false, tier: None }));
    // The evaluator's own words quote the answers, and so stay with us.
    assert!(!step.observation.text.contains(CANARY), "{:?}", step.observation);
    assert!(step.observation.text.contains("does not accept"), "{:?}", step.observation);
    write(&mut episode, "0.2718281828");
    let grade = episode.close().unwrap().grade.unwrap();
    assert_eq!((grade.score, grade.tier), (0.0, Some(Milestone::Gold)));
}

#[test]
fn the_command_line_runs_and_grades_on_a_bundle() {
    let folder = TemporaryFolder::new();
    folder.bundle("b", 4);
    let task = folder.path().join("b");
    let script = folder.write("solve.py", "import os\nassert not os.path.exists('input/answer.csv')\n\
                                           import shutil; shutil.copy('input/sample_submission.csv', 'submission.csv')");
    let output = Command::new(env!("CARGO_BIN_EXE_sandbox"))
        .args(["run", task.as_str(), script.as_str(), "--grade", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["run"]["outcome"], "finished");
    let grade = &report["grade"];
    assert_eq!(
        (&grade["score"], &grade["tier"]),
        (&CANARY.parse::<f64>().unwrap().into(), &serde_json::Value::Null)
    );
    assert_eq!(grade["thresholds"]["bronze_threshold"], 0.1);
}
