//! Each way to end is told apart from the others.

use crate::fixture::{SandboxFixture, assert_finished, policy, script, within};
use jail::exec::Outcome;
use jail::limits::RunLimits;
use std::time::Duration;
use tasks::units::ByteSize;

#[test]
fn exits_and_signals_are_reported() {
    let place = SandboxFixture::quick();
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
fn deadline_ends_sleeping_spinning_and_signal_ignoring_scripts() {
    let place = SandboxFixture::quick();
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
fn output_limit_ends_only_scripts_beyond_it() {
    let place = SandboxFixture::quick();
    let workspace = place.workspace();
    let tight = RunLimits { output_limit: ByteSize::mib(1), ..policy() };
    let run = workspace.run("while True: print('x' * 1000)", &tight).unwrap();
    assert_eq!(run.outcome, Outcome::OutputLimit);
    let total = run.stdout.total();
    assert!(total > 1 << 20 && total < 2 << 20, "its pipe, not its speed, bounds {total}");
    assert!(run.stdout.text().len() < 40 << 10);
    let run =
        workspace.run("import sys\nprint('x' * 500_000)\nprint('y', file=sys.stderr)", &tight);
    assert_finished("inside", &run.unwrap());
    let run =
        workspace.run("import sys; sys.stdout.buffer.write(bytes(range(256)))", &tight).unwrap();
    assert_eq!(run.stdout.total(), 256, "binary output is no error");
}
