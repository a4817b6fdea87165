//! Disks that are full, folders that cannot be written, checkpoints that are broken: a clear error,
//! and the last good checkpoint as it was.

use crate::corpus;
use crate::killed::{command, finish};
use crate::loops::{checkpoints, curve};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::process::Command;

const FILES: [&str; 4] =
    ["model.safetensors", "trainer/optimizer.safetensors", "tokenizer.json", "training.json"];

/// A run with checkpoints of steps 10, 20 and 30.
struct DamagedRun {
    arguments: Vec<String>,
    out: Utf8PathBuf,
    curve: Vec<serde_json::Value>,
    last: Vec<Vec<u8>>,
}

impl DamagedRun {
    fn make(dir: &Utf8Path) -> Self {
        let tasks = dir.join("tasks");
        corpus::write(&tasks);
        let arguments = ["sft", "--tasks", tasks.as_str(), "--attempts", "1", "--epochs", "15"];
        let sizes = ["--set", "batch=4", "--set", "vocab_size=320", "--set", "checkpoint_every=10"];
        let all = ["--set", "keep=100"];
        let arguments: Vec<&str> = [&arguments[..], &sizes, &all].concat();
        let out = dir.join("run");
        corpus::demonstrate(&tasks, &out, "<answer>submission</answer>");
        finish(&arguments, &out);
        let curve = curve(&out);
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        let mut run = Self { arguments, out, curve, last: Vec::new() };
        run.last = run.read(30);
        run
    }

    fn step(&self, step: u64) -> Utf8PathBuf {
        self.out.join(format!("checkpoints/step-{step:06}"))
    }

    fn read(&self, step: u64) -> Vec<Vec<u8>> {
        FILES.map(|file| fs::read(self.step(step).join(file)).unwrap()).to_vec()
    }

    fn with<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        self.arguments.iter().map(String::as_str).chain(more.iter().copied()).collect()
    }

    /// Runs it and returns what it complains about.
    fn fails(&self, command: &mut Command) -> String {
        let status = command.status().unwrap();
        assert_eq!(status.code(), Some(1));
        let log = fs::read_to_string(self.out.with_extension("log")).unwrap();
        log.lines().last().unwrap().to_owned()
    }

    fn assert_as_undisturbed(&self) {
        assert_eq!(curve(&self.out), self.curve);
        assert!(self.read(30) == self.last, "the last checkpoint differs");
    }
}

#[test]
fn damaged_files_are_named_and_intact_ones_kept() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let run = DamagedRun::make(dir);
    let good = run.read(20);

    // A disk without room for the optimizer's state. A limit on the size of files fails like a full
    // disk does, at the same calls, and needs no disk.
    fs::remove_dir_all(run.step(30)).unwrap();
    let limit = fs::metadata(run.step(20).join("model.safetensors")).unwrap().len() * 3 / 2;
    let plain = command(&run.arguments.iter().map(String::as_str).collect::<Vec<_>>(), &run.out);
    let mut limited = Command::new("bash");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -S -f $0; exec \"$@\""])
        .arg((limit / 1024).to_string())
        .arg(plain.get_program())
        .args(plain.get_args())
        .stdout(std::process::Stdio::null())
        .stderr(fs::File::create(run.out.with_extension("log")).unwrap().into_parts().0);
    let error = run.fails(&mut limited);
    assert!(error.contains("failed to save the checkpoint of step 30"), "{error}");
    assert!(error.contains(&format!("`{}` is whole", run.step(20))), "{error}");
    assert!(error.contains("too large") && !error.contains("damaged"), "{error}");
    assert_eq!(checkpoints(&run.out), [run.step(10), run.step(20)], "and no debris");
    assert!(run.read(20) == good);
    finish(&run.with(&[]), &run.out);
    run.assert_as_undisturbed();

    // Files cut short or gone.
    let path = |file: &str| run.step(30).join(file);
    let cut = |file: &str| {
        let bytes = fs::read(path(file)).unwrap();
        fs::write(path(file), &bytes[..bytes.len() - 7]).unwrap();
    };
    let remove = |file: &str| fs::remove_file(path(file)).unwrap();
    for (file, is_cut) in [
        ("model.safetensors", true),
        ("trainer/optimizer.safetensors", true),
        ("training.json", true),
        ("trainer/optimizer.safetensors", false),
        ("tokenizer.json", false),
    ] {
        let whole = fs::read(path(file)).unwrap();
        if is_cut {
            cut(file);
        } else {
            remove(file);
        }
        let error = run.fails(&mut command(&run.with(&[]), &run.out));
        let newest = format!("the newest checkpoint of the run, `{}`, is damaged", run.step(30));
        assert!(error.contains(&newest) && error.contains(file), "{error}");
        assert!(error.contains(&format!("add `--resume {}`", run.step(20))), "{error}");
        if file == "tokenizer.json" {
            // As a source of weights it is just as broken; and this is how to go on.
            let evaluate = ["eval", "--tasks", "nowhere", "--policy"];
            let policy = format!("a={}", run.out);
            let arguments = [&evaluate[..], &[policy.as_str()]].concat();
            let mut evaluate = command(&arguments, &dir.join("eval"));
            assert_eq!(evaluate.status().unwrap().code(), Some(1));
            finish(&run.with(&["--resume", run.step(20).as_str()]), &run.out);
        } else {
            fs::write(path(file), whole).unwrap();
        }
    }
    run.assert_as_undisturbed();

    // Checkpoints that are not there.
    let error = run.fails(&mut command(&run.with(&["--resume", "step-000015"]), &run.out));
    assert!(
        error.contains("no checkpoint `step-000015`") && error.contains("step-000010"),
        "{error}"
    );
    let error = run.fails(&mut command(&run.with(&["--resume", "best"]), &run.out));
    assert!(error.contains("no checkpoint `best`"), "{error}");
    run.assert_as_undisturbed();
}

#[test]
fn folders_that_cannot_be_written_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let file = dir.join("file");
    fs::write(&file, "").unwrap();
    let out = file.join("run");
    let arguments = ["sft", "--tasks", "nowhere", "--out", out.as_str(), "--device", "cpu"];
    let output = Command::new(env!("CARGO_BIN_EXE_rl")).args(arguments).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains(&format!("`{out}` cannot be used for the run's files")), "{error}");
}
