//! `sandbox grade` reads what an episode would read, and no more.

use camino::Utf8Path;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::process::Command;
use std::time::{Duration, Instant};
use support::manifest::manifest;

const SECRET: &str = "secret-7c1f";

#[test]
fn path_on_the_command_line_is_read_like_an_episodes_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let root = folder.join("alpha");
    for half in ["public", "private"] {
        fs_err::create_dir_all(root.join("prepared").join(half)).unwrap();
    }
    let answers = root.join("prepared/private/answer.csv");
    fs_err::write(&answers, "id,y\n3,1\n4,0\n").unwrap();
    fs_err::write(root.join("task.json"), manifest("alpha", 2, [0.9, 0.8, 0.7, 0.6])).unwrap();
    let truth = folder.join("truth.csv");
    fs_err::write(&truth, "id,has_cactus\n3,1\n4,0\n").unwrap();

    let at = |name: &str| folder.join(name);
    fs_err::write(at("good.csv"), "id,y,has_cactus\n3,1,1\n4,0,0\n").unwrap();
    fs_err::write(at("ours.csv"), "id,y\n3,1\n4,0\n").unwrap();
    fs_err::hard_link(at("ours.csv"), at("twin.csv")).unwrap();
    fs_err::write(at("secret"), format!("{SECRET}\n")).unwrap();
    std::os::unix::fs::symlink(at("secret"), at("link.csv")).unwrap();
    mknodat(CWD, at("pipe.csv").as_str(), FileType::Fifo, Mode::RUSR, 0).unwrap();
    fs_err::create_dir(at("folder.csv")).unwrap();
    let large = fs_err::File::create(at("large.csv")).unwrap();
    large.file().set_len((64 << 20) + 1).unwrap();

    let grade = |arguments: &[&str]| {
        let started = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox"));
        let output = command.arg("grade").args(arguments).output().unwrap();
        assert!(started.elapsed() < Duration::from_mins(1), "{arguments:?} waited");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let task = |name: &str| grade(&[root.as_str(), at(name).as_str()]);
    assert_eq!(task("ours.csv"), (Some(0), "roc_auc: 1 (Gold)\n".to_owned()));
    // On a command line a second name is no attack.
    assert_eq!(task("twin.csv").0, Some(0));
    for (name, reason) in [
        ("link.csv", "is or goes through a link"),
        ("pipe.csv", "is a named pipe, not a regular file"),
        ("folder.csv", "is a directory, not a regular file"),
        ("large.csv", "has 67108865 bytes; at most 64MiB are read"),
    ] {
        let (code, said) = task(name);
        assert_eq!(code, Some(4), "{name}: {said}");
        assert!(said.starts_with("invalid submission: `") && said.contains(reason), "{said}");
        assert!(!said.contains(SECRET), "{said}");
    }
    assert_eq!(task("nothing.csv").0, Some(2));

    // The grader of a competition: what is no file is no submission there.
    let cactus = ["--competition", "aerial-cactus-identification", "--answers", truth.as_str()];
    let competition =
        |name: &str| grade(&[&cactus[..], &["--submission", at(name).as_str()]].concat());
    assert_eq!(competition("good.csv").0, Some(0));
    for (name, reason) in [
        ("link.csv", "is or goes through a link"),
        ("pipe.csv", "there is no CSV file"),
        ("large.csv", "at most 64MiB are read"),
    ] {
        let (code, said) = competition(name);
        assert_eq!(code, Some(4), "{name}: {said}");
        assert!(said.contains(reason) && !said.contains(SECRET), "{said}");
    }
}
