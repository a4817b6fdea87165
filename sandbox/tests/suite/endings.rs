//! Each way to end is told apart from the others.

use crate::fixture::{Place, assert_finished, policy, quick, script, within};
use sandbox::exec::{Options, Outcome};
use sandbox::policy::{ByteSize, Policy};
use std::time::Duration;

#[test]
fn exits_and_signals_are_what_they_are() {
    let place = Place::quick();
    let workspace = place.workspace();
    let outcome = |code: &str| workspace.run(code, &policy()).unwrap().outcome;
    assert_eq!(outcome(""), Outcome::Finished);
    assert_eq!(outcome("import sys; sys.exit()"), Outcome::Finished);
    assert_eq!(outcome("import sys; sys.exit(3)"), Outcome::Exited { code: 3 });
    assert_eq!(outcome("import sys; sys.exit('no')"), Outcome::Exited { code: 1 });
    assert_eq!(outcome("import os; os._exit(4)"), Outcome::Exited { code: 4 });
    assert_eq!(outcome("raise ValueError"), Outcome::Raised { exception: "ValueError".into() });
    assert_eq!(outcome("import os; os.abort()"), Outcome::Killed { signal: libc::SIGABRT });
    assert_eq!(
        outcome("import ctypes; ctypes.string_at(0)"),
        Outcome::Killed { signal: libc::SIGSEGV }
    );
    assert_eq!(
        outcome("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
        Outcome::Killed { signal: libc::SIGKILL }
    );
    assert_eq!(
        outcome("import os, signal; os.kill(0, signal.SIGTERM)"),
        Outcome::Killed { signal: libc::SIGTERM }
    );
    // Everybody but oneself and the reaper, which is nobody.
    assert_eq!(
        outcome("import os, signal\ntry: os.kill(-1, signal.SIGKILL)\nexcept OSError: pass\n"),
        Outcome::Finished
    );
    assert_eq!(
        outcome(
            "import os, signal\nfor n in range(1, 65):\n  try: os.kill(1, n)\n  except OSError: pass\n"
        ),
        Outcome::Finished
    );
    assert_eq!(
        outcome("def f(): f()\nf()"),
        Outcome::Raised { exception: "RecursionError".into() }
    );
    // With its guard off, recursion eats memory or time until it meets that limit.
    let bottomless = "import sys; sys.setrecursionlimit(10**9)\ndef f(): f()\nf()";
    let run = workspace.run(bottomless, &within(Duration::from_secs(2))).unwrap();
    assert!(!run.outcome.is_finished());
}

#[test]
fn the_deadline_holds_against_sleep_spin_and_deafness() {
    let place = Place::quick();
    let workspace = place.workspace();
    let limit = Duration::from_millis(800);
    let spin = &script(
        r"
        import signal
        for n in range(1, 65):
            try: signal.signal(n, signal.SIG_IGN)
            except (OSError, ValueError): pass
        print('deaf')
        while True: pass
        ",
    );
    let daemon = &script(
        r"
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: time.sleep(60)
            os._exit(0)
        time.sleep(60)
        ",
    );
    for code in ["import time; time.sleep(60)", spin, daemon] {
        let run = workspace.run(code, &within(limit)).unwrap();
        assert_eq!(run.outcome, Outcome::TimedOut, "{code}");
        assert!(run.wall >= limit && run.wall < limit + Duration::from_secs(5), "{:?}", run.wall);
    }
    let run = workspace.run(spin, &within(limit)).unwrap();
    assert_eq!(run.stdout.text(), "deaf\n", "what was printed before the deadline is kept");
    let short = "import time; time.sleep(0.1)";
    assert_finished("inside", &workspace.run(short, &within(Duration::from_secs(20))).unwrap());
}

#[test]
fn a_daemon_dies_with_its_run() {
    let place = Place::quick();
    let workspace = place.workspace();
    let code = &script(
        r"
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for i in range(200):
                    open('alive', 'w').write(str(i)); time.sleep(0.05)
            os._exit(0)
        time.sleep(0.3)
        ",
    );
    let run = workspace.run(code, &policy()).unwrap();
    assert_finished("start a daemon", &run);
    assert!(run.wall < Duration::from_secs(8), "nobody waited for it");
    let before = workspace.collect("alive", 100).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(workspace.collect("alive", 100).unwrap(), before);
}

#[test]
fn output_is_bounded_from_both_sides() {
    let place = Place::quick();
    let workspace = place.workspace();
    let tight = Policy { output_limit: ByteSize::mib(1), ..policy() };
    let run = workspace.run("while True: print('x' * 1000)", &tight).unwrap();
    assert_eq!(run.outcome, Outcome::OutputLimit);
    assert!(run.stdout.total() > 1 << 20 && run.stdout.total() < 8 << 20);
    assert!(run.stdout.text().len() < 40 << 10);
    let run =
        workspace.run("import sys\nprint('x' * 500_000)\nprint('y', file=sys.stderr)", &tight);
    assert_finished("inside", &run.unwrap());
    let run =
        workspace.run("import sys; sys.stdout.buffer.write(bytes(range(256)))", &tight).unwrap();
    assert_eq!(run.stdout.total(), 256, "binary output is no error");
}

#[test]
fn disk_is_bounded_from_both_sides() {
    let options = Options { work_dir: ByteSize::mib(8), work_files: 50, ..quick() };
    let place = Place::with(options);
    let policy = Policy { file_size: ByteSize::mib(4), scratch: ByteSize::mib(4), ..policy() };
    let outcome = |code: &str| place.workspace().run(code, &policy).unwrap().outcome;
    assert_eq!(outcome("open('a', 'wb').write(bytes(3 << 20))"), Outcome::Finished);
    assert_eq!(outcome("open('a', 'wb').write(bytes(5 << 20))"), Outcome::DiskLimit);
    let many = "for i in range(3): open(str(i), 'wb').write(bytes(3 << 20))";
    assert_eq!(outcome(many), Outcome::DiskLimit);
    assert_eq!(outcome("for i in range(40): open(str(i), 'wb').close()"), Outcome::Finished);
    assert_eq!(outcome("for i in range(60): open(str(i), 'wb').close()"), Outcome::DiskLimit);
    for folder in ["/tmp", "/dev/shm"] {
        let fill =
            format!("for i in range(2): open(f'{folder}/{{i}}', 'wb').write(bytes(3 << 20))");
        assert_eq!(outcome(&fill), Outcome::DiskLimit, "{folder}");
    }
    let descriptors = "files = [open('/dev/null') for _ in range(1000)]";
    assert_eq!(outcome(descriptors), Outcome::Raised { exception: "OSError".into() });
}

#[test]
fn a_script_cannot_pass_its_failure_off_as_ours() {
    let place = Place::quick();
    let workspace = place.workspace();
    // Every shared page that is still mapped is overwritten, in the hope of the gate.
    let code = &script(
        r"
        import gc, mmap, os
        for thing in gc.get_objects():
            if isinstance(thing, mmap.mmap):
                try: thing[0:2] = b'\\x02\\x00'
                except ValueError: pass
        maps = open('/proc/self/maps').read()
        import ctypes
        for line in maps.splitlines():
            if 'rw-s' in line:
                start = int(line.split('-')[0], 16)
                ctypes.memset(start, 2, 4096)
        os._exit(9)
        ",
    );
    let run = workspace.run(code, &policy()).expect("no fault");
    assert!(!run.outcome.is_finished());
}
