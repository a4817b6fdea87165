//! The command as a user meets it: reproducible, interruptible, clear about mistakes.

use camino::{Utf8Path, Utf8PathBuf};
use factory::corpus::folder::RECORD_VERSION;
use fs_err as fs;
use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use support::folders::corpus_files;

const COUNT: &str = "6";
/// Kinds of data whose files are soon made, for tests to which it is all one what tasks hold.
pub(crate) const LIGHT: &str = "tabular,time_series,graph";

/// A temporary folder and the command that works in it.
struct GenerateCommand(tempfile::TempDir);

impl GenerateCommand {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.0.path()).unwrap().join(name)
    }

    fn generate(out: &Utf8Path, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_factory"));
        command.args(["generate", "--count", COUNT, "--out", out.as_str()]).args(more);
        command
    }

    /// The same of [`LIGHT`] kinds.
    fn generate_light(out: &Utf8Path, more: &[&str]) -> Command {
        let mut command = Self::generate(out, &["--modality", LIGHT]);
        command.args(more);
        command
    }
}

fn run(mut command: Command) -> Output {
    command.output().unwrap()
}

fn complaint(output: &Output) -> String {
    complaint_with(output, 1)
}

fn complaint_with(output: &Output, code: i32) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

#[test]
fn threads_and_folders_leave_no_trace() {
    let desk = GenerateCommand::new();
    let (one, two) = (desk.path("one"), desk.path("elsewhere/two"));
    for (out, jobs, locale) in [(&one, "1", "C"), (&two, "2", "de_DE.UTF-8")] {
        let mut command = GenerateCommand::generate(out, &["--jobs", jobs]);
        command.env("LC_ALL", locale).env("TMPDIR", desk.path("")).env("TZ", "Asia/Tokyo");
        let output = run(command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let ledger = |corpus: &Utf8Path| fs::read_to_string(corpus.join("ledger.jsonl")).unwrap();
    assert_eq!(ledger(&one), ledger(&two));
    let (one, two) = (corpus_files(&one), corpus_files(&two));
    assert!(one.len() > 6 * 8);
    assert!(one == two, "the corpora differ");
}

#[test]
fn another_seed_shares_nothing() {
    let desk = GenerateCommand::new();
    // Rows without their ids, and with what is in the files that they name.
    let rows = |seed: &str| {
        let out = desk.path(seed);
        assert!(run(GenerateCommand::generate(&out, &["--seed", seed])).status.success());
        let files = corpus_files(&out);
        let mut rows = BTreeSet::new();
        for (path, table) in files.iter().filter(|(path, _)| path.ends_with("train.csv")) {
            let folder = path.trim_end_matches("train.csv");
            for line in std::str::from_utf8(table).unwrap().lines().skip(1) {
                let cells = line.split(',').skip(1).flat_map(|cell| {
                    let file = files.get(&format!("{folder}{cell}"));
                    file.cloned().unwrap_or_else(|| format!("{cell},").into_bytes())
                });
                rows.insert(cells.collect::<Vec<u8>>());
            }
        }
        rows
    };
    assert!(rows("42").is_disjoint(&rows("43")));
}

#[test]
fn a_killed_run_is_finished_by_the_same_command() {
    let desk = GenerateCommand::new();
    let (whole, broken) = (desk.path("whole"), desk.path("broken"));
    assert!(run(GenerateCommand::generate_light(&whole, &[])).status.success());
    for milliseconds in [60, 250, 500] {
        let mut child = GenerateCommand::generate_light(&broken, &["--jobs", "2"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // What is left where a run is killed while it writes the record.
    fs::write(broken.join(".corpus.json.1.tmp"), "{").unwrap();
    let output = run(GenerateCommand::generate_light(&broken, &["--resume"]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(corpus_files(&whole) == corpus_files(&broken), "the corpora differ");
    // Nothing is lost or doubled in the ledger either.
    let ledger = |corpus: &Utf8Path| fs::read_to_string(corpus.join("ledger.jsonl")).unwrap();
    assert_eq!(ledger(&whole), ledger(&broken));
}

#[test]
fn a_damaged_line_of_the_ledger_is_named_and_made_again() {
    let desk = GenerateCommand::new();
    let corpus = desk.path("corpus");
    assert!(run(GenerateCommand::generate_light(&corpus, &[])).status.success());
    let whole = corpus_files(&corpus);
    let ledger = corpus.join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1] = "{\"slot\": 1,";
    fs::write(&ledger, lines.join("\n") + "\n").unwrap();
    let output = run(GenerateCommand::generate_light(&corpus, &[]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("ledger.jsonl` is damaged in line 2"), "{said}");
    assert!(corpus_files(&corpus) == whole, "the corpus changed");
}

#[test]
fn a_finished_corpus_verifies_and_can_be_looked_at() {
    let desk = GenerateCommand::new();
    let out = desk.path("corpus");
    assert!(run(GenerateCommand::generate_light(&out, &[])).status.success());
    let factory = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_factory"));
        command.args(args);
        run(command)
    };
    let output = factory(&["verify", out.as_str()]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("6 of 6 tasks pass"));
    let corpus = tasks::task::Corpus::open(&out).unwrap();
    let task = &corpus.tasks()[0];
    let output = factory(&["inspect", task.path().as_str()]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in
        ["train.csv", "R2 forest = bronze", "ceiling", "rule: ", " is better)", "mutations: "]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    // Words, and nothing as a program writes it.
    for raw in ["{\"", "IsBetter", "[\""] {
        assert!(!text.contains(raw), "{raw} is in\n{text}");
    }
    // A copy has times of its own, which say in which order it was made. One time for all says
    // nothing.
    let touch = |path: &Utf8Path, seconds: u64| {
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    };
    for (task, of) in corpus.tasks().iter().zip(0..) {
        for (file, at) in task.manifest().hashes.keys().zip(0..) {
            let at = if of == 0 { 7 } else { at };
            touch(&task.path().join(file), 1_700_000_000 + at);
        }
    }
    let output = factory(&["verify", out.as_str()]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("--fix-times") && said.contains("1 of 6 tasks pass"), "{said}");
    let output = factory(&["verify", out.as_str(), "--fix-times"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("6 of 6 tasks pass"));
    // A task that someone has changed fails, with its name, a reason and a code of its own.
    fs::write(task.public().path().join("train.csv"), "id\n1\n").unwrap();
    let output = factory(&["verify", out.as_str()]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains(&format!("{}: not_reproducible", task.id())), "{text}");
    assert!(text.contains("5 of 6 tasks pass"), "{text}");
}

#[test]
fn mistakes_get_one_clear_error_and_leave_nothing_behind() {
    let desk = GenerateCommand::new();
    let out = desk.path("corpus");
    let ended = |more: &[&str], code| {
        let text = complaint_with(&run(GenerateCommand::generate(&out, more)), code);
        assert!(!out.exists(), "a folder was left by {more:?}");
        text
    };
    // Flags that make no sense; what a folder holds is no fault of flags.
    let refused = |more: &[&str]| ended(more, 2);
    assert!(refused(&["--seeds", "mlbench"]).contains("Known sets: mlebench"));
    assert!(refused(&["--seeds", "leaf-classification"]).contains("kept for evaluation"));
    assert!(refused(&["--modality", "imgae"]).contains("audio, graph, image"));
    assert!(refused(&["--modality", "audio", "--formulation", "ranking"]).contains("cells are"));
    assert!(refused(&["--shares", "image=0.7,text=0.7"]).contains("more than 1"));
    assert!(refused(&["--shares", "audio/ranking=0.5"]).contains("no `audio/ranking` tasks"));
    assert!(refused(&["--val-count", "7"]).contains("more than `--count 6`"));
    assert!(ended(&["--resume"], 1).contains("leave `--resume` out"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_factory"));
    command.args(["generate", "--count", "99999999", "--out", out.as_str()]);
    assert!(complaint_with(&run(command), 2).contains("make several corpora"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_factory"));
    command.args(["generate", "--count", "0", "--out", out.as_str()]);
    assert!(complaint_with(&run(command), 2).contains("at least one task"));

    let file = desk.path("file");
    fs::write(&file, "").unwrap();
    let text = complaint(&run(GenerateCommand::generate(&file.join("corpus"), &[])));
    assert!(text.contains("check that it is writable"), "{text}");
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("thesis.txt"), "").unwrap();
    let text = complaint(&run(GenerateCommand::generate(&out, &[])));
    assert!(text.contains("choose another `--out`"), "{text}");
    assert!(out.join("thesis.txt").is_file());
}

#[test]
fn other_options_do_not_continue_a_corpus() {
    let desk = GenerateCommand::new();
    let out = desk.path("corpus");
    assert!(run(GenerateCommand::generate_light(&out, &[])).status.success());
    let before = corpus_files(&out);
    let text = complaint(&run(GenerateCommand::generate_light(&out, &["--seed", "9"])));
    assert!(text.contains("`seed` = 0, not 9"), "{text}");
    let text = complaint(&run(GenerateCommand::generate(&out, &["--modality", "tabular"])));
    assert!(text.contains("modality, formulation and shares"), "{text}");
    assert!(before == corpus_files(&out));
}

#[test]
fn corpus_of_an_older_version_is_not_continued() {
    let desk = GenerateCommand::new();
    let out = desk.path("corpus");
    assert!(run(GenerateCommand::generate_light(&out, &[])).status.success());
    let record = fs::read_to_string(out.join("corpus.json")).unwrap();
    let now = format!("\"version\": {RECORD_VERSION}");
    fs::write(out.join("corpus.json"), record.replacen(&now, "\"version\": 1", 1)).unwrap();
    let before = corpus_files(&out);
    let text = complaint(&run(GenerateCommand::generate_light(&out, &["--resume"])));
    let expected = format!("version 1, and this build makes version {RECORD_VERSION}");
    assert!(text.contains(&expected), "{text}");
    assert!(text.contains("another `--out`"), "{text}");
    assert!(before == corpus_files(&out));
}

#[test]
fn a_seed_file_of_ones_own_serves_alone() {
    let desk = GenerateCommand::new();
    let seed = desk.path("pump.toml");
    let text = include_str!("../../../seeds/mlebench/spaceship-titanic.toml")
        .replace("spaceship-titanic", "pump")
        .replace("\"dev\"", "\"own\"");
    fs::write(&seed, &text).unwrap();
    let out = desk.path("corpus");
    let output = run(GenerateCommand::generate(&out, &["--seeds", seed.as_str()]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let corpus = tasks::task::Corpus::open(&out).unwrap();
    assert!(corpus.tasks().iter().all(|task| task.manifest().seed_task == "pump"));
    fs::write(&seed, text.replace("summary =", "sumary =")).unwrap();
    let text =
        complaint(&run(GenerateCommand::generate(&desk.path("b"), &["--seeds", seed.as_str()])));
    assert!(text.contains("pump.toml") && text.contains("sumary"), "{text}");
}
