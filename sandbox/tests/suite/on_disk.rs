//! Work dirs on the disk of the host.

use crate::fixture::{SandboxFixture, assert_finished, policy, quick, script};
use crate::tiers::left_out;
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::{Mode, Outcome, SandboxOptions, WorkDirStorage};
use jail::isolation::IsolationLevel;
use jail::limits::RunLimits;
use std::process::Command;
use tasks::units::ByteSize;

fn on_disk() -> SandboxOptions {
    SandboxOptions { work_dir_on: WorkDirStorage::Disk, ..quick() }
}

/// The folders in the host's folder for temporary files whose owner is this process.
fn own_folders() -> Vec<Utf8PathBuf> {
    let mine = format!("-{}-", std::process::id());
    let all = Utf8Path::from_path(&std::env::temp_dir()).unwrap().read_dir_utf8().unwrap();
    all.map(|entry| entry.unwrap().path().to_owned())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.starts_with("mle-sandbox-") && name.contains(&mine))
        })
        .collect()
}

#[test]
fn files_are_on_the_host_and_go_with_their_work_dir() {
    if !crate::fixture::is_alone("on_disk::files_are_on_the_host_and_go_with_their_work_dir") {
        return;
    }
    let place = SandboxFixture::with(on_disk());
    let workspace = place.workspace();
    let write = "import os\nos.makedirs('deep/er')\nopen('deep/er/model.bin', 'wb').write(bytes(9 << 20))\n\
                 os.symlink('/etc/passwd', 'link')\nos.mkdir('shut', 0)\n\
                 for i in range(3000): open(f'deep/{i}', 'w').close()\n\
                 print(sorted(os.listdir('.')), os.path.exists('input/train.csv'))";
    let run = workspace.run(write, &policy()).unwrap();
    assert_finished("the first", &run);
    let [folder] = &own_folders()[..] else { panic!("{:?}", own_folders()) };
    let work_dir = folder.read_dir_utf8().unwrap().next().unwrap().unwrap().path().to_owned();
    assert_eq!(fs_err::metadata(work_dir.join("deep/er/model.bin")).unwrap().len(), 9 << 20);
    // The next run of the episode finds them, another episode does not.
    let run = workspace
        .run("import os\nassert os.path.getsize('deep/er/model.bin') == 9 << 20", &policy());
    assert_finished("the second", &run.unwrap());
    assert_finished("another", &place.run("import os\nassert os.listdir() == ['input']"));
    assert_eq!(workspace.collect("deep/er/model.bin", 16 << 20).unwrap().len(), 9 << 20);
    workspace.collect("link", 1 << 20).unwrap_err();

    drop(workspace);
    assert!(!work_dir.exists() && folder.exists());
    let folder = folder.clone();
    drop(place);
    assert!(!folder.exists());
}

#[test]
fn limit_holds_in_scripts_and_in_sessions() {
    let options = SandboxOptions { work_dir: ByteSize::mib(8), work_files: 50, ..on_disk() };
    let place = SandboxFixture::with(options);
    for mode in [Mode::Script, Mode::Session] {
        if mode == Mode::Session && place.sandbox.tier() == IsolationLevel::T3 {
            continue;
        }
        for code in [
            "open('a', 'wb').write(bytes(9 << 20))",
            "for i in range(60): open(f'f{i}', 'w').close()",
            "import os\nf = open('a', 'wb'); f.write(bytes(6 << 20))\ng = open('b', 'wb'); g.write(bytes(6 << 20))",
        ] {
            let workspace = place.workspace().in_mode(mode).unwrap();
            let run = workspace.run(code, &policy()).unwrap();
            assert_eq!(run.outcome, Outcome::DiskLimit, "{mode:?}: {code}");
        }
        // A file that only claims to be large takes no room.
        let workspace = place.workspace().in_mode(mode).unwrap();
        let run = workspace.run("open('a', 'wb').truncate(200 << 20)", &policy()).unwrap();
        assert_finished("sparse", &run);
    }
}

/// What `sandbox run` says of a script, with work dirs on a disk of 100 MiB; none if this user may
/// not mount one.
fn on_a_small_disk(work_dir: &str, script: &str) -> Option<(Option<i32>, String)> {
    let folder = tempfile::tempdir().unwrap();
    let corpus = crate::fixture::SuiteCorpus::new();
    let file = folder.path().join("script.py");
    fs_err::write(&file, script).unwrap();
    let disk = folder.path().join("disk");
    fs_err::create_dir(&disk).unwrap();
    let mounted = "mount -t tmpfs -o size=100m none \"$0\" && TMPDIR=\"$0\" exec \"$@\"";
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", mounted])
        .arg(&disk)
        .arg(env!("CARGO_BIN_EXE_sandbox"))
        .args(["run", "--work-dir-on", "disk", "--work-dir", work_dir, "--file-size", "1GiB"])
        .arg(corpus.path().join("alpha"))
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    if said.contains("unshare failed") || said.contains("mount: ") {
        left_out("a full disk", &said);
        return None;
    }
    Some((output.status.code(), said))
}

#[test]
fn full_disk_of_the_host_is_a_fault_and_a_passed_limit_is_not() {
    let write = |mib: u32| format!("open('a', 'wb').write(bytes({mib} << 20))");
    let Some((code, said)) = on_a_small_disk("90MiB", &write(10)) else { return };
    assert!(said.contains("finished"), "{code:?} {said}");
    let (_, said) = on_a_small_disk("20MiB", &write(25)).unwrap();
    assert!(said.contains("disk space"), "{said}");
    // Inside of the limit, but the disk has not that much: also if the script goes on as if it had.
    let slow = write(60) + "\nimport time\ntime.sleep(1)";
    let silent = format!("try:\n  {}\nexcept OSError: pass", write(120));
    for script in [slow, silent] {
        let (code, said) = on_a_small_disk("200MiB", &script).unwrap();
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("the disk with the work dirs has less than"), "{said}");
    }
}

#[test]
fn benchmark_policy_holds_the_shared_memory_of_a_data_loader() {
    // As PyTorch passes batches between processes: a file in `/dev/shm` without a name.
    let share = script(
        "
        import mmap, os
        file = os.open('/dev/shm/batch', os.O_RDWR | os.O_CREAT)
        os.unlink('/dev/shm/batch')
        os.posix_fallocate(file, 0, 200 << 20)
        batch = mmap.mmap(file, 200 << 20)
        child = os.fork()
        if child == 0:
            for at in range(0, 200 << 20, 1 << 20):
                batch[at:at + (1 << 20)] = b'\\x07' * (1 << 20)
            os._exit(0)
        os.waitpid(child, 0)
        print(sum(batch[::1 << 20]))
        ",
    );
    let place = SandboxFixture::with(SandboxOptions {
        warm_up: false,
        modules: vec!["numpy".to_owned()],
        ..SandboxOptions::benchmark()
    });
    let run = place.workspace().run(&share, &RunLimits::benchmark()).unwrap();
    assert_finished("a data loader", &run);
    assert_eq!(run.stdout.text(), "1400\n");
    assert!(!place.run(&share).outcome.is_finished(), "the default policy has no room for it");
}
