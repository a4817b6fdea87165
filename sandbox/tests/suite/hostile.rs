//! One program per barrier. See the programs for what each tries.

use crate::fixture::{CANARY, Place, assert_finished, hostile, policy, script};
use sandbox::policy::ByteSize;

/// Programs that check for themselves that they got nothing.
const TRIES: &[&str] = &[
    "answers_by_relative_path",
    "answers_by_search_of_the_whole_tree",
    "answers_through_proc",
    "answers_through_symlinks",
    "secrets_in_the_environment",
    "secrets_in_inherited_descriptors",
    "network_sockets",
    "host_unix_sockets",
    "other_tasks",
    "other_processes",
    "kernel_calls",
    "new_namespaces",
    "ptrace_a_parent",
    "raise_own_limits",
    "write_to_python",
    "write_to_data",
    "become_root",
    "devices",
    "clocks",
    "x86_doors",
];

#[test]
fn hostile_programs_get_nothing() {
    let place = Place::quick();
    let mut failures = Vec::new();
    for name in TRIES {
        let code = hostile(name)
            .replace("@CORPUS@", place.corpus.path().as_str())
            .replace("@CANARY@", &CANARY.chars().rev().collect::<String>());
        let run = place.workspace().run(&code, &policy()).unwrap();
        if !run.outcome.is_finished() {
            failures.push(format!("{name}: {}\n{}", run.outcome, run.stderr.text()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn no_program_is_left_out() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile");
    let mut there: Vec<String> = fs_err::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.trim_end_matches(".py").to_owned())
        .collect();
    there.sort();
    let mut known: Vec<&str> = TRIES.to_vec();
    known.sort_unstable();
    assert_eq!(there, known);
}

#[test]
fn episodes_do_not_see_each_other() {
    let place = Place::quick();
    let first = place.workspace();
    let secret = "open('secret.txt', 'w').write('of episode one')";
    assert_finished("leave a secret", &first.run(secret, &policy()).unwrap());
    let look = &script(
        r"
        import os
        for folder, _, files in os.walk('/'):
            assert 'secret.txt' not in files, folder
        assert os.listdir('/workspaces') == []
        ",
    );
    assert_finished("look for it", &place.run(look));
}

#[test]
fn what_a_run_patches_is_whole_again_in_the_next() {
    let place = Place::quick();
    let workspace = place.workspace();
    let patch = &script(
        r"
        import builtins, json, sys, numpy, signal, gc
        builtins.open = None; json.dumps = None; numpy.array = None
        sys.path[:] = []; sys.modules.clear()
        for thing in gc.get_objects():
            if type(thing).__name__ in ('Server', 'Run'):
                thing.__dict__.clear()
        ",
    );
    assert_finished("patch", &workspace.run(patch, &policy()).unwrap());
    let use_them = &script(
        r"
        import json, numpy
        assert json.dumps([1]) == '[1]' and numpy.array([1]).sum() == 1
        open('x', 'w').close()
        ",
    );
    assert_finished("use", &workspace.run(use_them, &policy()).unwrap());
}

#[test]
fn the_number_of_processes_is_bounded_from_both_sides() {
    let place = Place::quick();
    let bomb = &script(
        r"
        import os, time
        made = 0
        try:
            while made < 500:
                if os.fork() == 0:
                    time.sleep(60); os._exit(0)
                made += 1
        except BlockingIOError:
            pass
        print(made)
        ",
    );
    let tight = sandbox::policy::Policy { processes: 20, ..policy() };
    let run = place.workspace().run(bomb, &tight).unwrap();
    assert_finished("bomb", &run);
    let made: u32 = run.stdout.text().trim().parse().unwrap();
    assert!((15..20).contains(&made), "{made}");
    assert!(run.wall.as_secs() < 20, "its children were waited for");
    assert_finished("after", &place.run("import subprocess; subprocess.run(['true'], check=True)"));
}

#[test]
fn memory_is_bounded_from_both_sides() {
    let place = Place::quick();
    let tight = sandbox::policy::Policy { memory: ByteSize::mib(300), ..policy() };
    let take = |mib: u32| format!("import numpy as np\nx = np.ones({mib} << 17); print(x.sum())");
    let workspace = place.workspace();
    assert_finished("inside", &workspace.run(&take(200), &tight).unwrap());
    let run = workspace.run(&take(400), &tight).unwrap();
    assert_eq!(run.outcome, sandbox::exec::Outcome::OutOfMemory, "{}", run.stderr.text());
    // Not around the limit either, by ways that belong to no process.
    let shared = "import mmap\nmmap.mmap(-1, 400 << 20)\n";
    assert!(!workspace.run(shared, &tight).unwrap().outcome.is_finished());
}

#[test]
fn memory_is_bounded_over_many_children() {
    let place = Place::quick();
    let tight = sandbox::policy::Policy { memory: ByteSize::mib(300), ..policy() };
    let share = |children: u32| {
        script(&format!(
            r"
            import os, time
            for _ in range({children}):
                if os.fork() == 0:
                    held = bytearray(100 << 20); time.sleep(20); os._exit(0)
            time.sleep(1)
            "
        ))
    };
    let workspace = place.workspace();
    assert_finished("inside", &workspace.run(&share(2), &tight).unwrap());
    let run = workspace.run(&share(6), &tight).unwrap();
    assert_eq!(run.outcome, sandbox::exec::Outcome::OutOfMemory);
    // Daemons count too: they hang on the reaper.
    let daemons = share(6)
        .replace("import os, time", "import os, time\nif os.fork(): time.sleep(5); os._exit(0)");
    let run = workspace.run(&daemons, &tight).unwrap();
    assert_eq!(run.outcome, sandbox::exec::Outcome::OutOfMemory);
    assert_finished("after", &place.run("pass"));
}
